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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

func observedAt(recorded time.Time) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Spec.Observed, workload.Spec.CreateTimeUnix = true, recorded.Unix()
	}
}

func recordedAt(recorded time.Time) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.CreateTimeUnix = recorded.Unix() }
}

func TestObserveRelease(t *testing.T) {
	old, complete := now.Add(-time.Hour), func(seen *decide.Sighting) { seen.Complete = true }
	type records = []appv1alpha1.ChangeWorkload
	for _, row := range []struct {
		name     string
		change   func(*decide.Sighting)
		records  records
		number   int64
		baseline bool
	}{
		{"a workload from before is a baseline", complete, nil, 7, true},
		{"one that is being rolled out is a release", nil, nil, 7, false},
		{"one that was just created is a release", func(seen *decide.Sighting) { seen.Complete, seen.Created = true, now.Add(-29*time.Second) }, nil, 7, false},
		{"a run from before that has ended is nothing", func(seen *decide.Sighting) { seen.Complete, seen.Ended = true, true }, nil, 0, false},
		{"a run that ended at once is a release", func(seen *decide.Sighting) { seen.Complete, seen.Ended, seen.Created = true, true, now }, nil, 7, false},
		{"another version is a release", complete, records{other(older, 3, observedAt(old))}, 7, false},
		{"the newest version is none, also after a scaling", complete, records{other(version, 3, observedAt(old)), other(older, 2, observedAt(old))}, 0, false},
		{"an older version is a release", complete, records{other(version, 3, observedAt(old)), other(older, 4, observedAt(old))}, 7, false},
		{"the numbers rise without the generation", complete, records{other(older, 9, observedAt(old))}, 10, false},
		{"the version that was enforced last is none", complete, records{other(version, 2, recordedAt(now)), other(older, 7, observedAt(old))}, 0, false},
		{"an enforced one before is no longer the newest", complete, records{other(version, 12, recordedAt(old)), other(older, 3, observedAt(now))}, 13, false},
		{"without an observed one, the first is a baseline", complete, records{other(older, 12, recordedAt(old))}, 13, true},
		{"without a version, there is none", func(seen *decide.Sighting) { seen.Version = "" }, nil, 0, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			seen := decide.Sighting{Version: version, Generation: 7, Created: old}
			if row.change != nil {
				row.change(&seen)
			}
			release, baseline, isNew := decide.ObserveRelease(seen, row.records, now)
			g.Expect(isNew).To(Equal(row.number > 0))
			if isNew {
				g.Expect(release).To(Equal(decide.Release{Version: version, Number: row.number}))
				g.Expect(baseline).To(Equal(row.baseline))
			}
		})
	}
}

// observing changes an observation of a failed release to one that is only observed, on a workload with marks of a time when it was enforced.
func observing(seen *decide.Observation) {
	seen.Observed, seen.Blocking, seen.Suspended, seen.Rolling = true, true, true, true
	seen.Hold, seen.Trial, seen.Recurs, seen.Templates = decide.Held, true, false, 10
	seen.Parked = &appv1alpha1.Park{Reason: appv1alpha1.RollbackRequested}
	seen.First = &decide.First{Asked: true, Nodes: []string{"node-1"}}
}

func TestDecideWritesNothingToAnObservedWorkload(t *testing.T) {
	for name, row := range map[string]struct {
		verdict  func(*appv1alpha1.ChangePod)
		expected string
	}{
		"whose pods failed": {func(batch *appv1alpha1.ChangePod) {
			done(batch)
			batch.Status.PodResults = pods(1, 1)
			batch.Status.PodResults[0].Verdict = "unpass"
		}, "Suspend"},
		"whose pods passed":      {done, "Success"},
		"whose pods are checked": {func(*appv1alpha1.ChangePod) {}, "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(observedAt(now))
			seen := decide.Observation{
				Kind: "StatefulSet", OptedIn: true, Current: true, Rollout: decide.Rollout{Desired: 1}, Finished: pods(1, 1),
				Batches: []appv1alpha1.ChangePod{newBatch(pods(1, 1), row.verdict)}, LastNumber: 1,
			}
			observing(&seen)
			decision := decide.Decide(workload, seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.expected))
			g.Expect([]bool{decision.Suspend, decision.Lift, decision.Pause, decision.Resume, decision.Override, decision.Unhold, decision.Try, decision.Keep}).
				To(HaveEach(false))
			if row.expected == "Suspend" {
				suspended := meta.FindStatusCondition(decision.Status.Conditions, "Suspended")
				g.Expect(suspended.Status).To(Equal(metav1.ConditionFalse))
				g.Expect(suspended.Reason + ": " + suspended.Message).To(Equal(
					"Observing: the mode of the kind StatefulSet is Observe: with Enforce the release would have been suspended"))
			}
		})
	}
}

func TestDecideSettlesABaselineWithoutAnOrder(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(observedAt(now), func(workload *appv1alpha1.ChangeWorkload) { workload.Spec.Baseline = true })
	seen := decide.Observation{
		Kind: "StatefulSet", OptedIn: true, Current: true, Observed: true, Rollout: decide.Rollout{Desired: 2}, Finished: pods(1, 2),
		Verifier: verifier.State{Announced: true},
	}
	decision := decide.Decide(workload, seen, now)
	g.Expect(string(decision.Status.Status)).To(Equal("Success"))
	g.Expect(meta.FindStatusCondition(decision.Status.Conditions, "Verified").Reason).To(Equal("Baseline"))
	g.Expect(decision.Order).To(Equal(decide.OrderPlan{}))
	g.Expect(decision.Batches).To(BeEmpty())
	g.Expect(decision.Wait).To(BeZero())
	g.Expect(decision.IsFinal()).To(BeFalse(), "an upgrade may bring thousands of them")
	g.Expect(decide.NeedsPods(workload)).To(BeFalse())
}

func TestDecideLooksAtAnObservedReleaseAgainLessAndLessOften(t *testing.T) {
	for age, wait := range map[time.Duration]time.Duration{
		0: 2 * time.Second, 40 * time.Second: 5 * time.Second, time.Hour: time.Minute,
	} {
		g := NewWithT(t)
		workload := newWorkload(observedAt(now.Add(-age)), stored("Running", metav1.ConditionUnknown, "Verifying"), deadline(now.Add(2*time.Minute)))
		seen := decide.Observation{Kind: "StatefulSet", OptedIn: true, Current: true, Observed: true, Rollout: decide.Rollout{Desired: 25}}
		g.Expect(decide.Decide(workload, seen, now).Wait).To(Equal(wait))
		paused := seen
		paused.Paused = true
		g.Expect(decide.Decide(workload, paused, now).Wait).NotTo(Equal(wait))
		seen.Observed = false
		g.Expect(decide.Decide(workload, seen, now).Wait).NotTo(Equal(wait))
	}
}

func TestDecideRemovesObservedReleasesBeforeOthers(t *testing.T) {
	g := NewWithT(t)
	seen := decide.Observation{
		Kind: "StatefulSet", OptedIn: true, Current: true, Rollout: decide.Rollout{Desired: 1}, Records: 1, Finished: pods(1, 1),
		Batches: []appv1alpha1.ChangePod{newBatch(pods(1, 1), done)}, LastNumber: 1,
	}
	workload := newWorkload(release(2))
	seen.Batches[0].Spec.Release = 2
	all := []appv1alpha1.ChangeWorkload{other(older, 1), other(repair, 9, observedAt(now))}
	seen.Others, seen.Observations = decide.SameMode(workload, all)
	decision := decide.Decide(workload, seen, now)
	g.Expect(decision.Prune).To(HaveLen(1))
	g.Expect(decision.Prune[0].Spec.Reversion).To(Equal(repair))
}

func TestDecideKeepsEnforcedReleasesWhileTheirKindIsObserved(t *testing.T) {
	seen := decide.Observation{
		Kind: "StatefulSet", OptedIn: true, Current: true, Observed: true, Rollout: decide.Rollout{Desired: 1}, Finished: pods(1, 1),
		Batches: []appv1alpha1.ChangePod{newBatch(pods(1, 1), done)}, LastNumber: 1,
	}
	workload := newWorkload(release(9), observedAt(now))
	seen.Batches[0].Spec.Release = 9
	seen.Others, seen.Observations = decide.SameMode(workload, []appv1alpha1.ChangeWorkload{
		other(older, 1, stored("Success", metav1.ConditionTrue, "AllPodsPassed")), other(repair, 8, observedAt(now.Add(-time.Hour))),
	})
	decision := decide.Decide(workload, seen, now)
	g := NewWithT(t)
	g.Expect(decision.Verified).To(BeTrue())
	g.Expect(decision.Prune).To(HaveLen(1))
	g.Expect(decision.Prune[0].Spec.Reversion).To(Equal(repair))
}
