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

package decide_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// failedOnly is a batch whose pods all failed.
func failedOnly(from, to int) appv1alpha1.ChangePod {
	batch := newBatch(pods(from, to), done)
	for _, pod := range namesOf(pods(from, to)) {
		result(pod, "unpass", "find error")(&batch)
	}
	return batch
}

func TestDecideListsEveryPodByHowFarItIs(t *testing.T) {
	g := NewWithT(t)
	status := decide.Decide(newWorkload(batchesOf(10)), see(9, batches(failedOnly(1, 1), newBatch(pods(2, 3))),
		finished(pods(1, 3)), passed(4, 6), finished(pods(7, 8))), now).Status
	g.Expect(namesOf(status.DefenseCheckFailPods)).To(HaveExactElements("sleep-1"))
	g.Expect(namesOf(status.DefenseCheckingPods)).To(HaveExactElements("sleep-2", "sleep-3"))
	g.Expect(namesOf(status.DefenseCheckPassPods)).To(HaveExactElements("sleep-4", "sleep-5", "sleep-6"))
	g.Expect(namesOf(status.DefensePreparingPods)).To(HaveExactElements("sleep-7", "sleep-8"))
	g.Expect(status.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 9, Preparing: 2, Checking: 2, Passed: 3, Failed: 1}))
}

func TestDecideLists500PodsAtMostFailedOnesFirst(t *testing.T) {
	type lengths struct{ failed, checking, preparing, passed int }
	for _, row := range []struct {
		name     string
		seen     decide.Observation
		expected lengths
		counts   appv1alpha1.PodCounts
	}{
		{"exactly 500 are all listed", see(5000, passed(1, 500)), lengths{passed: 500}, appv1alpha1.PodCounts{Desired: 5000, Passed: 500}},
		{"of 501 one is left out", see(5000, passed(1, 501)), lengths{passed: 500}, appv1alpha1.PodCounts{Desired: 5000, Passed: 501}},
		{"failed pods take the room of others",
			see(5000, batches(failedOnly(1, 300), newBatch(pods(301, 600))), finished(pods(1, 600)), passed(601, 900), finished(pods(901, 920))),
			lengths{failed: 300, checking: 200}, appv1alpha1.PodCounts{Desired: 5000, Failed: 300, Checking: 300, Preparing: 20, Passed: 300}},
		{"failed pods alone reach the cap", see(5000, batches(failedOnly(1, 700))),
			lengths{failed: 500}, appv1alpha1.PodCounts{Desired: 5000, Failed: 700}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			status := decide.Decide(newWorkload(batchesOf(500)), row.seen, now).Status
			g.Expect(lengths{len(status.DefenseCheckFailPods), len(status.DefenseCheckingPods),
				len(status.DefensePreparingPods), len(status.DefenseCheckPassPods)}).To(Equal(row.expected))
			g.Expect(status.Counts).To(Equal(row.counts))
		})
	}
}

func TestDecideKeepsAStatusFarBelowEtcdsLimitAt5000Replicas(t *testing.T) {
	g := NewWithT(t)
	batch := failedOnly(1, 5000)
	for i := range batch.Spec.PodInfos {
		name := strings.Repeat("a", 243) + batch.Spec.PodInfos[i].Pod[len("sleep-"):]
		batch.Spec.PodInfos[i].Pod, batch.Spec.PodInfos[i].HostName, batch.Spec.PodInfos[i].App = name, name, name
		batch.Status.PodResults[i].Pod = name
		batch.Status.PodResults[i].Message = strings.Repeat("m", 1024)
	}
	status := decide.Decide(newWorkload(), see(5000, batches(batch)), now).Status
	g.Expect(status.Counts.Failed).To(Equal(int32(5000)))
	raw, err := json.Marshal(status)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(raw)).To(BeNumerically("<", 1<<20), "names and messages are as long as they may be")
}

func TestDecideWritesAStatusWithNews(t *testing.T) {
	at := func(after time.Duration) time.Time { return now.Add(after) }
	// base is a release of 25 pods in batches of ten of which ten are being checked, stored at now: it waits five
	// minutes for the next batch.
	base := func(t *testing.T) *story {
		s := &story{t: t, workload: newWorkload(batchesOf(10)), seen: see(25, finished(pods(1, 10))), now: now}
		s.workload.Spec.WaitTimeThreshold = 300
		s.decide()
		s.store(decide.Decide(s.workload, s.seen, now).Status)
		s.workload.Status.UpdateTimeUnix, s.workload.Status.UpdateTime = now.Unix(), "2026-11-21 10:00:00"
		return s
	}
	for _, row := range []struct {
		name    string
		change  func(*story)
		after   time.Duration
		written bool
		wait    time.Duration
	}{
		{"progress isn't written at once, but after Wait",
			func(s *story) { finished(pods(11, 14))(&s.seen) }, 70 * time.Second, false, 50 * time.Second},
		{"progress isn't written a second before two minutes are over",
			func(s *story) { finished(pods(11, 14))(&s.seen) }, 119 * time.Second, false, time.Second},
		{"progress is written after two minutes",
			func(s *story) { finished(pods(11, 14))(&s.seen) }, 2 * time.Minute, true, 0},
		{"progress is written at once where the last write seems to be to come", func(s *story) {
			finished(pods(11, 14))(&s.seen)
			s.workload.Status.UpdateTimeUnix = now.Add(24 * time.Hour).Unix()
		}, time.Second, true, 0},
		{"passed pods alone are progress", func(s *story) { s.check() }, 90 * time.Second, false, 30 * time.Second},
		{"a pod of a later batch is progress", func(s *story) {
			finished(pods(11, 20))(&s.seen)
			batches(newBatch(pods(11, 20), openedAt(at(30*time.Second))))(&s.seen)
		}, 30 * time.Second, false, 90 * time.Second},
		{"a failed pod is news", func(s *story) { result("sleep-1", "unpass", "")(&s.seen.Batches[0]) }, time.Second, true, 0},
		{"a new reason is news", func(s *story) { s.seen.Paused = true }, time.Second, true, 0},
		{"a new state is news", func(s *story) { s.check(); s.seen.Desired = 10 }, time.Second, true, 0},
		{"a new release is news", func(s *story) { s.workload.Spec.Release = 2 }, time.Second, true, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			s := base(t)
			row.change(s)
			decision := decide.Decide(s.workload, s.seen, at(row.after))
			g.Expect(decision.WriteStatus).To(Equal(row.written))
			if row.written {
				g.Expect(decision.Status.UpdateTimeUnix).To(Equal(at(row.after).Unix()))
				return
			}
			g.Expect(decision.Status.UpdateTimeUnix).To(Equal(now.Unix()))
			g.Expect(decision.Wait).To(Equal(row.wait))
		})
	}
}

func TestDecideWritesFurtherFailedPods(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(suspendedBefore)
	decision := decide.Decide(workload, see(5, suspended, batches(failedOnly(1, 2))), now.Add(time.Second))
	g.Expect(decision.WriteStatus).To(BeTrue())
}

func TestDecideWritesANewStateUnderTheSameReason(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(batchesOf(10), stored("Running", "Unknown", "DeploymentPaused"), deadline(now))
	decision := decide.Decide(workload, see(25, paused, finished(pods(1, 4))), now)
	g.Expect(string(decision.Status.Status)).To(Equal("TimeOutPreThreshold"))
	g.Expect(decision.WriteStatus).To(BeTrue())
}

func TestDecideWritesTheEndOfSuspended(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(suspendedBefore)
	decision := decide.Decide(workload, see(5, blockingOff, batches(failedOnly(1, 1))), now.Add(time.Second))
	g.Expect(decision.Status.Conditions).To(haveCondition("Suspended", "False", "BlockingDisabled"))
	g.Expect(decision.WriteStatus).To(BeTrue())
}

func TestDecideWaitsForTheSoonerOfDeadlineAndWrite(t *testing.T) {
	for _, row := range []struct {
		name     string
		deadline time.Duration
		wait     time.Duration
	}{
		{"the deadline comes first", 20 * time.Second, 20 * time.Second},
		{"the write comes first", 150 * time.Second, 2 * time.Minute},
		{"the deadline has passed", -time.Second, 2 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(batchesOf(10), stored("TimeOutPreThreshold", "Unknown", "ThresholdTimeout"), deadline(now.Add(row.deadline)))
			decision := decide.Decide(workload, see(25), now)
			g.Expect(decision.WriteStatus).To(BeFalse())
			g.Expect(decision.Wait).To(Equal(row.wait))
		})
	}
}

func TestDecideKeepsTheTransitionTimeWhileTheStatusStays(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"))
	since := workload.Status.Conditions[0].LastTransitionTime
	g.Expect(decide.Decide(workload, see(5, paused), now).Status.Conditions[0].LastTransitionTime).To(Equal(since))
	g.Expect(decide.Decide(workload, see(5, passed(1, 5)), now).Status.Conditions[0].LastTransitionTime).To(Equal(metav1.NewTime(now)))
}

func TestDecideMovesTheEntryTimeWithTheState(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"))
	workload.Status.EntryTime, workload.Status.EntryTimeUnix = "2026-11-20 10:00:00", 1795168800
	g.Expect(decide.Decide(workload, see(5, paused), now).Status.EntryTime).To(Equal("2026-11-20 10:00:00"))
	g.Expect(decide.Decide(workload, see(5, passed(1, 5)), now).Status.EntryTime).To(Equal("2026-11-21 10:00:00"))
	g.Expect(decide.Decide(workload, see(5, passed(1, 5)), now).Status.EntryTimeUnix).To(Equal(int64(1795255200)))
}

func TestDecideWritesNothingForASettledRelease(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(), seen: see(5, passed(1, 5)), now: now}
	s.decide()
	finished(pods(6, 8))(&s.seen)
	s.seen.Desired = 8
	s.now = now.Add(time.Hour)
	decision := s.decide()
	g.Expect(decision.WriteStatus).To(BeFalse())
	g.Expect(decision.Wait).To(BeZero())
	g.Expect(decision.Status.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 5, Passed: 5}), "its last word stands")
}

func TestDecideTwiceOnTheSameFactsDecidesNothingNew(t *testing.T) {
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
	}{
		{"a new release", newWorkload(), see(5)},
		{"a new release with pods", newWorkload(), see(5, finished(pods(1, 5)))},
		{"an incomplete batch", newWorkload(batchesOf(10)), see(25, finished(pods(1, 25)))},
		{"a timeout with pods", newWorkload(batchesOf(10), stored("Running", "Unknown", "Verifying"), deadline(now)), see(25, finished(pods(1, 4)))},
		{"a timeout without pods", newWorkload(stored("Running", "Unknown", "Verifying"), deadline(now)), see(25)},
		{"a paused Deployment", newWorkload(), see(5, paused, finished(pods(1, 2)))},
		{"a failed pod", newWorkload(), see(5, failed(1, 5, "sleep-2"))},
		{"a failed pod with blocking off", newWorkload(), see(5, blockingOff, failed(1, 5, "sleep-2"))},
		{"a success", newWorkload(release(2)), see(5, suspended, passed(1, 5), others(other(older, 1, stored("Success", "True", "AllPodsPassed"))))},
		{"a corrected verdict", newWorkload(suspendedBefore), see(5, suspended, passed(1, 5))},
		{"no replicas", newWorkload(), see(0, suspended)},
		{"a superseded release", newWorkload(stored("Running", "Unknown", "Verifying")), see(5, moved)},
		{"an older release that fails", newWorkload(stored("Success", "True", "AllPodsPassed")), see(5, moved, failed(1, 5, "sleep-2"))},
		{"an opted-out namespace", newWorkload(), see(5, optedOut, finished(pods(1, 2)))},
		{"a version released again", newWorkload(stored("Success", "True", "AllPodsPassed"), release(2)), see(5)},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			s := &story{t: t, workload: row.workload, seen: row.seen, now: now.Add(300 * time.Millisecond)}
			g.Expect(s.decide().WriteStatus).To(BeTrue())
			second := s.decide()
			g.Expect(second.WriteStatus).To(BeFalse())
			g.Expect(second.Suspend || second.IsFinal()).To(BeFalse())
			g.Expect(second.Batches).To(BeEmpty())
			s.now = s.now.Add(time.Hour)
			s.decide()
			g.Expect(s.decide().WriteStatus).To(BeFalse(), "and an hour later once at most")
		})
	}
}

func TestDecideLeavesWhatItWasGivenAsItIs(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(suspendedBefore, remembering(older))
	seen := see(9, suspended, batches(failedOnly(1, 1), newBatch(pods(2, 3))), finished(pods(1, 8)),
		others(other("a", 1), other("b", 4), other("c", 2)))
	workloadBefore, batchBefore, othersBefore := workload.DeepCopy(), seen.Batches[0].DeepCopy(), []string{"a", "b", "c"}
	decide.Decide(workload, seen, now)
	seen.Batches[0].Status.PodResults = nil
	decide.Decide(workload, see(1, passed(1, 1), others(seen.Others...)), now)
	g.Expect(workload).To(Equal(workloadBefore))
	g.Expect(seen.Batches[0].Spec).To(Equal(batchBefore.Spec), "it is shared with the cache")
	for i, version := range othersBefore {
		g.Expect(seen.Others[i].Spec.Reversion).To(Equal(version))
	}
}
