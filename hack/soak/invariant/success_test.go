/*
Copyright 2026 The AlterShield Operator Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package invariant_test

import (
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
)

func TestSuccessTakesOneWithAllItsPodsPassed(t *testing.T) {
	g := NewWithT(t)
	writes := newStory().
		batch("create", "1", "a", 1, false, []string{"x", "y"}, nil).
		batch("patch", "1", "a", 1, true, []string{"x", "y"}, nil).
		record("a", 1, "Success", "AllPodsPassed", 2, 2).after(time.Hour).
		record("a", 1, "Success", "AllPodsPassed", 2, 2).writes
	result := invariant.Success(writes, system())
	g.Expect(result.Violations).To(BeEmpty())
	g.Expect(result.Observations).To(Equal(1))
}

func TestSuccessCatchesOneWithoutEnoughPassedPods(t *testing.T) {
	for name, writes := range map[string][]history.Write{
		"none is in a batch": newStory().record("a", 1, "Success", "AllPodsPassed", 1, 1).writes,
		"a batch is still checked": newStory().batch("create", "1", "a", 1, false, []string{"x"}, nil).
			record("a", 1, "Success", "AllPodsPassed", 1, 1).writes,
		"a pod failed": newStory().batch("patch", "1", "a", 1, true, []string{"x", "y"}, []string{"y"}).after(11*time.Second).
			batch("patch", "1", "a", 1, true, []string{"x", "y"}, []string{"y"}).
			record("a", 1, "Success", "AllPodsPassed", 2, 2).writes,
		"its batches are of an earlier release": newStory().batch("patch", "1", "a", 1, true, []string{"x"}, nil).
			record("a", 2, "Success", "AllPodsPassed", 1, 1).writes,
		"the status says so": newStory().batch("patch", "1", "a", 1, true, []string{"x", "y"}, nil).
			record("a", 1, "Success", "AllPodsPassed", 2, 1).writes,
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(invariant.Success(writes, system()).Violations).To(ConsistOf(ContainSubstring("desired: ChangeWorkload")))
		})
	}
}

func TestSuccessForgivesABatchWhoseEndHasNoAnswer(t *testing.T) {
	g := NewWithT(t)
	checked := newStory().batch("create", "1", "a", 1, false, []string{"x"}, nil).
		write(history.Write{User: "operator", Verb: "patch", Resource: "changepods", Subresource: "status", Name: "1", Unanswered: true})
	g.Expect(invariant.Success(slices.Clone(checked.record("a", 1, "Success", "AllPodsPassed", 1, 1).writes), system()).Violations).To(BeEmpty())
	again := newStory()
	again.writes = checked.writes[:2]
	g.Expect(invariant.Success(again.batch("patch", "1", "a", 1, false, []string{"x"}, nil).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).writes, system()).Violations).To(HaveLen(1), "an answer came later")
}

func TestSuccessForgivesABatchThatWasDeletedJustBefore(t *testing.T) {
	after := func(delay time.Duration) []string {
		return invariant.Success(newStory().
			batch("patch", "1", "a", 1, true, []string{"x"}, nil).batch("patch", "2", "a", 1, true, []string{"y"}, nil).
			write(history.Write{Verb: "delete", Resource: "changepods", Ended: "2"}).after(delay).
			record("a", 1, "Success", "AllPodsPassed", 2, 2).writes, system()).Violations
	}
	g := NewWithT(t)
	g.Expect(after(10*time.Second)).To(BeEmpty(), "it may not have been seen")
	g.Expect(after(11 * time.Second)).To(ConsistOf(ContainSubstring("1 live ones in its batches, of 2 desired")))
}

func TestSuccessCountsAPodOnceThatComesIntoAnotherBatch(t *testing.T) {
	NewWithT(t).Expect(invariant.Success(newStory().
		batch("patch", "1", "a", 1, true, []string{"x"}, nil).write(history.Write{Verb: "delete", Resource: "changepods", Ended: "1"}).
		batch("patch", "2", "a", 1, true, []string{"x"}, nil).
		record("a", 1, "Success", "AllPodsPassed", 2, 2).writes, system()).Violations).To(ConsistOf(ContainSubstring("1 live ones in its batches, of 2 desired")))
}

func TestSuccessCatchesABadVerdictOnAnOrderWhichHasNoPods(t *testing.T) {
	g := NewWithT(t)
	with := func(failed ...string) []string {
		return invariant.Success(newStory().
			batch("patch", "1", "a", 1, true, []string{"x"}, nil).
			batch("patch", "2", "a", 1, true, nil, failed).
			record("a", 1, "Success", "AllPodsPassed", 1, 1).after(time.Hour).
			record("a", 1, "Success", "AllPodsPassed", 1, 1).writes, system()).Violations
	}
	g.Expect(with()).To(BeEmpty())
	g.Expect(with("change order")).To(ConsistOf(ContainSubstring("pods [change order] have a bad verdict")))
}

func TestSuccessCatchesOneWithoutEnoughLivingPods(t *testing.T) {
	pod := func(verb, subresource string, over bool) history.Write {
		return history.Write{Verb: verb, Resource: "pods", Subresource: subresource, Pod: &history.Pod{UID: "y", Over: over}}
	}
	after := func(delay time.Duration, writes ...history.Write) []string {
		story := newStory().batch("patch", "1", "a", 1, true, []string{"x", "y"}, nil)
		for _, write := range writes {
			story = story.write(write)
		}
		return invariant.Success(story.after(delay).
			record("a", 1, "Success", "AllPodsPassed", 2, 2).writes, system()).Violations
	}
	then := func(write history.Write, delay time.Duration) []string { return after(delay, write) }
	evicted, runs, deleted := pod("patch", "status", true), pod("patch", "status", false), pod("delete", "", false)
	runs.Pod.Runs = true
	g := NewWithT(t)
	g.Expect(after(time.Minute, evicted, runs)).To(BeEmpty(), "it runs again")
	g.Expect(after(time.Minute, evicted, runs, evicted)).To(HaveLen(1))
	g.Expect(after(time.Minute, deleted, runs)).To(HaveLen(1), "until its grace period ends")
	g.Expect(after(time.Minute, evicted, deleted, runs)).To(HaveLen(1))
	g.Expect(after(time.Minute, evicted, pod("patch", "", false))).To(HaveLen(1), "another write")
	g.Expect(then(pod("patch", "status", false), time.Minute)).To(BeEmpty())
	g.Expect(then(pod("patch", "status", true), 5*time.Second)).To(BeEmpty(), "it may not have been seen")
	g.Expect(then(pod("patch", "status", true), 6*time.Second)).To(ConsistOf(ContainSubstring("1 live ones in its batches, of 2 desired")))
	g.Expect(then(history.Write{Verb: "delete", Resource: "pods", Ended: "y"}, 11*time.Second)).To(HaveLen(1))
	g.Expect(then(history.Write{Verb: "delete", Resource: "pods", Ended: "z"}, 11*time.Second)).To(BeEmpty())
	g.Expect(then(history.Write{Verb: "delete", Resource: "pods", Namespace: "bank", Name: "y", Ended: "another y"}, 11*time.Second)).To(BeEmpty())
}

func TestSuccessForgivesTheEndOfAPodWhileTheAPIServerWrites(t *testing.T) {
	passed := newStory().batch("patch", "1", "a", 1, true, []string{"y"}, nil).
		write(history.Write{Verb: "delete", Resource: "pods", Ended: "y"}).after(20 * time.Second)
	passed.waited = 16 * time.Second
	g := NewWithT(t)
	g.Expect(invariant.Success(passed.record("a", 1, "Success", "AllPodsPassed", 1, 1).writes, system()).Violations).To(BeEmpty())
	passed.writes[2].Asked = began.Add(6 * time.Second)
	g.Expect(invariant.Success(passed.writes, system()).Violations).To(ConsistOf(ContainSubstring("0 live ones in its batches, of 1 desired")))
}

func TestSuccessDoesNotCountATimeTwiceInWhichTheOperatorWasDown(t *testing.T) {
	g := NewWithT(t)
	down := system()
	down.Down = []invariant.Interval{{From: began.Add(2 * time.Second), To: began.Add(9 * time.Second)}, {From: began, To: began.Add(8 * time.Second)}}
	after := func(delay time.Duration) []string {
		return invariant.Success(newStory().
			batch("patch", "1", "a", 1, true, []string{"x"}, nil).
			record("a", 1, "Success", "AllPodsPassed", 1, 1).
			batch("patch", "1", "a", 1, true, []string{"x"}, []string{"x"}).after(delay).
			record("a", 1, "Suspend", "PodsFailed", 1, 0).writes, down).Violations
	}
	g.Expect(after(19 * time.Second)).To(BeEmpty())
	g.Expect(after(20 * time.Second)).To(HaveLen(1))
}

func TestSuccessDoesNotCountATimeInWhichTheAPIServerWasSlow(t *testing.T) {
	busy := newStory().
		batch("patch", "1", "a", 1, true, []string{"x"}, nil).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).
		batch("patch", "1", "a", 1, true, []string{"x"}, []string{"x"}).after(5 * time.Second)
	busy.waited = 5 * time.Second
	writes := busy.write(history.Write{User: "admin", Verb: "patch", Resource: "pods", Name: "other"}).after(9*time.Second).
		record("a", 1, "Suspend", "PodsFailed", 1, 0).writes
	writes[len(writes)-1].Asked = writes[len(writes)-1].Time
	g, slow := NewWithT(t), system()
	g.Expect(invariant.Success(writes, slow).Violations).To(HaveLen(1))
	slow.Down = invariant.Slow(writes)
	g.Expect(invariant.Success(writes, slow).Violations).To(BeEmpty())
}

func TestUntilHasAWriteWhoseAnswerCameLaterThanThatOfAFollowingOne(t *testing.T) {
	write := func(revision int64, answered time.Duration) history.Write {
		return history.Write{Revision: revision, Time: began.Add(answered)}
	}
	late, next, after := write(1, 40*time.Second), write(2, time.Second), write(3, 41*time.Second)
	g := NewWithT(t)
	g.Expect(invariant.Until(began.Add(2*time.Second), []history.Write{next, late, after})).To(Equal([]history.Write{late, next}))
	g.Expect(invariant.Until(began, []history.Write{next, late, after})).To(BeEmpty())
	g.Expect(invariant.Until(began.Add(time.Minute), []history.Write{next, late, after})).To(Equal([]history.Write{late, next, after}))
}

func TestSlowJoinsTheTimesOfSlowWrites(t *testing.T) {
	at := func(from, to time.Duration) history.Write {
		return history.Write{Asked: began.Add(from), Time: began.Add(to)}
	}
	NewWithT(t).Expect(invariant.Slow([]history.Write{
		at(20*time.Second, 22*time.Second), at(0, 3*time.Second), at(2*time.Second, 5*time.Second), at(time.Second, 4*time.Second), at(10*time.Second, 11*time.Second),
	})).To(Equal([]invariant.Interval{{From: began, To: began.Add(5 * time.Second)}, {From: began.Add(20 * time.Second), To: began.Add(22 * time.Second)}}))
}

func TestSuccessForgivesAVerdictThatCameJustBefore(t *testing.T) {
	g := NewWithT(t)
	writes := newStory().
		batch("patch", "1", "a", 1, true, []string{"x"}, []string{"x"}).after(time.Second).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).after(time.Second).
		record("a", 1, "Suspend", "PodsFailed", 1, 0).writes
	g.Expect(invariant.Success(writes, system()).Violations).To(BeEmpty())
}

func TestSuccessCatchesABadVerdictUnlessItEndsSoon(t *testing.T) {
	late := func(delay time.Duration) []history.Write {
		return newStory().
			batch("patch", "1", "a", 1, true, []string{"x"}, nil).
			record("a", 1, "Success", "AllPodsPassed", 1, 1).
			batch("patch", "1", "a", 1, true, []string{"x"}, []string{"x"}).after(delay).
			record("a", 1, "Suspend", "PodsFailed", 1, 0).writes
	}
	g := NewWithT(t)
	g.Expect(invariant.Success(late(time.Second), system()).Violations).To(BeEmpty())
	g.Expect(invariant.Success(late(11*time.Second), system()).Violations).To(ConsistOf(ContainSubstring("pods [x] have a bad verdict")))
	down := system()
	down.Down = []invariant.Interval{{From: began.Add(-time.Minute)}}
	g.Expect(invariant.Success(late(11*time.Second), down).Violations).To(BeEmpty())
}

func TestSuccessCatchesABadVerdictThatIsKeptToTheEnd(t *testing.T) {
	g := NewWithT(t)
	shown := newStory().
		batch("patch", "1", "a", 1, true, []string{"x"}, nil).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).
		batch("patch", "1", "a", 1, true, []string{"x"}, []string{"x"}).after(time.Minute)
	deleted := shown.write(history.Write{User: "operator", Verb: "delete", Resource: "changeworkloads", Ended: "cw-a"})
	g.Expect(invariant.Success(deleted.writes, system()).Violations).To(HaveLen(1))
	withdrawn := newStory().
		batch("patch", "1", "a", 1, true, []string{"x"}, nil).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).
		batch("patch", "1", "a", 1, true, []string{"x"}, []string{"x"}).after(time.Second).
		batch("patch", "1", "a", 1, true, []string{"x"}, nil).after(time.Minute).
		batch("create", "2", "a", 1, false, []string{"z"}, nil)
	g.Expect(invariant.Success(withdrawn.writes, system()).Violations).To(BeEmpty())
}

func TestSuccessForgetsTheVerdictsOfADeletedBatch(t *testing.T) {
	g := NewWithT(t)
	writes := newStory().
		batch("patch", "1", "a", 1, true, []string{"x"}, []string{"x"}).
		write(history.Write{User: "admin", Verb: "delete", Resource: "changepods", Ended: "1"}).after(time.Minute).
		batch("patch", "2", "a", 1, true, []string{"x"}, nil).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).after(time.Minute).
		record("a", 1, "Success", "AllPodsPassed", 1, 1).writes
	g.Expect(invariant.Success(writes, system()).Violations).To(BeEmpty())
}
