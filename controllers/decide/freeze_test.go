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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// friday is a freeze that began an hour ago and ends in an hour.
func friday() *decide.InForce {
	return &decide.InForce{By: "ops/friday", Reason: "no releases on Friday evening", Since: now.Add(-time.Hour), Until: now.Add(time.Hour), Concurrent: 5}
}

// parkedBy is a release that was parked at its admission, while a freeze is on or none is.
func parkedBy(inForce *decide.InForce) seenOption {
	return func(seen *decide.Observation) {
		seen.Paused, seen.Rolling, seen.Hold = true, true, decide.Held
		seen.Freeze = decide.Freeze{Parked: &appv1alpha1.Frozen{Release: 1, By: []string{"ops/friday"}, Concurrent: 5}, InForce: inForce}
	}
}

func withFreeze(change func(*decide.Freeze)) seenOption {
	return func(seen *decide.Observation) { change(&seen.Freeze) }
}

// brokenAt is a release that alice let pass freezes by a BreakGlass.
func brokenAt(at time.Time) seenOption { return passedAt(at, "Freeze") }

// passedAt is a release that alice let pass by a BreakGlass what it overrides.
func passedAt(at time.Time, overrides ...appv1alpha1.BreakGlassOverride) seenOption {
	return withFreeze(func(freeze *decide.Freeze) {
		freeze.Pass = &appv1alpha1.BreakGlassPass{User: "alice", Time: metav1.NewTime(at), Overrides: overrides}
	})
}

// frozen is a release that waits for the end of the freeze on Friday.
func frozen(workload *appv1alpha1.ChangeWorkload) {
	stored("Running", "Unknown", "Frozen")(workload)
	workload.Status.Frozen = &appv1alpha1.FrozenRelease{By: "ops/friday", Until: &metav1.Time{Time: now.Add(time.Hour)}}
	workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: "Frozen", Status: "True", Reason: "ChangeFreeze"})
}

func TestDecideWaitsForTheEndOfAFreeze(t *testing.T) {
	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	for _, row := range []struct {
		name      string
		before    workloadOption
		seen      decide.Observation
		condition string
		message   string
		verified  string
		// resume, unhold and thaw are what to write, wait is when to look again.
		resume, unhold, thaw bool
		wait                 time.Duration
	}{
		{"from its beginning", stored("", "Unknown", ""), see(5, parkedBy(friday())), "True ChangeFreeze",
			"ChangeFreeze ops/friday is on until 2026-11-21T11:00:00Z: no releases on Friday evening", "Unknown Frozen", false, false, false, time.Hour},
		{"until it ends", frozen, see(5, parkedBy(nil)), "False Thawed",
			"the freeze has ended: the rollout goes on", "Unknown Verifying", true, false, true, 0},
		{"longer if others go on before it", frozen, see(5, parkedBy(nil), withFreeze(func(freeze *decide.Freeze) { freeze.Ahead, freeze.Free = 5, now.Add(10*time.Minute) })),
			"True Thawing", "the freeze has ended; of the releases that it parked in this namespace, 5 go on at a time", "Unknown Frozen", false, false, false, 10 * time.Minute},
		{"not if fewer do", frozen, see(5, parkedBy(nil), withFreeze(func(freeze *decide.Freeze) { freeze.Ahead = 4 })),
			"False Thawed", "the freeze has ended: the rollout goes on", "Unknown Verifying", true, false, true, 0},
		{"until it doesn't freeze the release any more", frozen, see(5, parkedBy(nil), withFreeze(func(freeze *decide.Freeze) { freeze.Left = "ops/friday" })),
			"False Thawed", "ChangeFreeze ops/friday doesn't freeze the release any more: the rollout goes on", "Unknown Verifying", true, false, true, 0},
		{"longer for others that it doesn't concern either", frozen, see(5, parkedBy(nil), withFreeze(func(freeze *decide.Freeze) {
			freeze.Left, freeze.Ahead, freeze.Free = "ops/friday", 5, now.Add(10*time.Minute)
		})), "True Thawing", "ChangeFreeze ops/friday doesn't freeze the release any more; of the releases that it parked in this namespace, 5 go on at a time",
			"Unknown Frozen", false, false, false, 10 * time.Minute},
		{"not for others if the mark names no number", frozen, see(5, parkedBy(nil), withFreeze(func(freeze *decide.Freeze) { freeze.Parked.Concurrent = 0 })),
			"False Thawed", "the freeze has ended: the rollout goes on", "Unknown Verifying", true, false, true, 0},
		{"until a user resumes it by a BreakGlass", frozen, see(5, parkedBy(friday()), hold("resumed"), brokenAt(now)),
			"False BreakGlass", "alice let the release go on by a BreakGlass", "Unknown Verifying", false, true, true, 0},
		{"until an excepted user resumes it that passed by a BreakGlass before", frozen,
			see(5, parkedBy(friday()), hold("resumed"), brokenAt(now.Add(-2*time.Hour))),
			"False Resumed", "a user resumed the rollout", "Unknown Verifying", false, true, true, 0},
		{"until a user resumes it that passed its approvals alone by a BreakGlass", frozen,
			see(5, parkedBy(friday()), hold("resumed"), passedAt(now, "Approval")),
			"False Resumed", "a user resumed the rollout", "Unknown Verifying", false, true, true, 0},
		{"until a user resumes it while no webhook is called", frozen, see(5, parkedBy(friday()), hold("resumed")),
			"False Resumed", "a user resumed the rollout", "Unknown Verifying", false, true, true, 0},
		{"until the mark is removed while no webhook is called", frozen, see(5, parkedBy(friday()), withFreeze(func(freeze *decide.Freeze) { freeze.Parked = nil })),
			"False Resumed", "a user resumed the rollout", "Unknown Verifying", true, false, false, 0},
		{"until its namespace is opted out", frozen, see(5, parkedBy(friday()), optedOut),
			"False NotControlled", "the Deployment left change control", "Unknown NamespaceOptedOut", true, false, true, 0},
		{"until its kind is only observed", frozen, see(5, paused, func(seen *decide.Observation) { seen.Observed = true }),
			"False NotControlled", "the Deployment left change control", "Unknown DeploymentPaused", false, false, false, 0},
		{"until the next release", frozen, see(5, moved, later), "False Superseded", "the Deployment has moved on to another release", "Unknown Superseded", false, false, false, 0},
		{"under the pause of a user, who ends it", frozen, see(5, parkedBy(nil), hold(""), paused), "False Thawed",
			"the freeze has ended; the Deployment is paused by a user", "Unknown DeploymentPaused", false, false, true, 0},
		{"under the pause of a step", frozen, see(5, parkedBy(nil), hold("step"), paused), "False Thawed",
			"the freeze has ended: the rollout goes on", "Unknown Verifying", false, false, true, 0},
		{"held if a pod fails meanwhile", frozen, see(5, parkedBy(nil), failed), "False Thawed",
			"the freeze has ended; the rollout stays paused, as the release failed", "False PodsFailed", false, false, true, 0},
		{"not held if a pod fails meanwhile while blocking is off", frozen, see(5, parkedBy(nil), failed, blockingOff), "False Thawed",
			"the freeze has ended: the rollout goes on", "False PodsFailed", true, false, true, 0},
		{"held if a pod fails on its first nodes", frozen, see(5, parkedBy(nil), failed, blockingOff, firstOn()), "False Thawed",
			"the freeze has ended; the rollout stays paused, as the release failed", "False PodsFailed", false, false, true, 0},
		{"held if a user parks it meanwhile", frozen, see(5, parkedBy(nil), failed, blockingOff, parked("Requested")), "False Thawed",
			"the freeze has ended; the rollout stays paused, as the release is parked", "False PodsFailed", false, false, true, 0},
		{"held if it is parked by itself meanwhile", frozen, see(5, parkedBy(nil), failed, blockingOff, parked("PodsFailed")), "False Thawed",
			"the freeze has ended; the rollout stays paused, as the release is parked", "False PodsFailed", false, false, true, 0},
		{"held if it is a Job whose template failed before", frozen, see(1, parkedBy(nil), job, runs, refused), "False Thawed",
			"the freeze has ended; the rollout stays paused, as its pod template failed its check in jobs.migrate--x--1", "Unknown Refused", false, false, true, 0},
		{"not if no freeze parked it", stored("Running", "Unknown", "Verifying"), see(5, rolling, withFreeze(func(freeze *decide.Freeze) { freeze.InForce = friday() })),
			"", "", "Unknown Verifying", false, false, false, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			record := newWorkload(row.before)
			decision := decide.Decide(record, row.seen, now)
			g.Expect(conditionOf(decision.Status, "Frozen")).To(Equal(row.condition))
			g.Expect(messageOf(decision.Status.Conditions, "Frozen")).To(Equal(row.message))
			g.Expect(conditionOf(decision.Status, "Verified")).To(Equal(row.verified))
			if row.seen.Freeze.Parked != nil {
				g.Expect(decision.Resume || decision.Unhold || decision.Thaw).To(BeFalse(), "the status shows the reason first")
			}
			record.Status = decision.Status
			decision = decide.Decide(record, row.seen, now)
			g.Expect(decision.Resume).To(Equal(row.resume), "resume")
			g.Expect(decision.Unhold).To(Equal(row.unhold), "unhold")
			g.Expect(decision.Thaw).To(Equal(row.thaw), "thaw")
			g.Expect(decision.Pause).To(Equal(row.seen.First != nil && row.thaw), "a failure on the first nodes is marked as one")
			if row.wait > 0 {
				g.Expect(decision.Wait).To(Equal(row.wait))
				g.Expect(decision.Status.Frozen).To(Equal(&appv1alpha1.FrozenRelease{By: "ops/friday", Until: &metav1.Time{Time: now.Add(row.wait)}}))
			} else if decision.Status.Frozen != nil {
				g.Expect(decision.Status.Frozen.Until).To(BeNil())
			}
		})
	}
}

// The pods on the first nodes aren't replaced as long as the workload has the mark of the freeze.
func TestDecideRemovesTheMarkOfAFreezeBeforeTheFirstNodes(t *testing.T) {
	g, record := NewWithT(t), newWorkload(frozen)
	seen := see(5, parkedBy(nil), firstOn(), withFirst(func(first *decide.First) { first.Nodes = []string{"a", "b", "c"} }))
	decision := decide.Decide(record, seen, now)
	g.Expect(decision.Thaw).To(BeFalse(), "the status shows the reason first")
	record.Status = decision.Status
	decision = decide.Decide(record, seen, now)
	g.Expect(conditionOf(decision.Status, "Frozen")).To(Equal("False Thawed"))
	g.Expect(conditionOf(decision.Status, "FirstNodes")).To(Equal("Unknown Verifying"))
	g.Expect(decision.Thaw).To(BeTrue())
	g.Expect(decision.Resume || decision.Unhold).To(BeFalse(), "the rollout stays paused for its first nodes")
}

func TestDecideCountsAReleaseThatWasParkedAndThawedWhileNoLeaderWasThere(t *testing.T) {
	g, own := NewWithT(t), newWorkload(stored("", "Unknown", ""))
	own.Status = decide.Decide(own, see(5, parkedBy(nil)), now).Status
	g.Expect(conditionOf(own.Status, "Frozen")).To(Equal("False Thawed"))
	g.Expect(own.Status.Frozen).To(Equal(&appv1alpha1.FrozenRelease{By: "ops/friday"}))
	g.Expect(decide.IsThawing(own)).To(BeTrue(), "others wait for it")
}

func TestDecideStillWaitsForTheEndOfAFreezeIfTheCacheShowsTheReleaseBefore(t *testing.T) {
	g, workload := NewWithT(t), newWorkload(frozen)
	behind := decide.Decide(workload, see(5, moved), now)
	g.Expect(conditionOf(behind.Status, "Frozen")).To(Equal("True ChangeFreeze"))
	g.Expect(behind.Status.Frozen).To(Equal(workload.Status.Frozen))
	g.Expect(behind.Resume || behind.Thaw).To(BeFalse())
	workload.Status = behind.Status
	g.Expect(conditionOf(decide.Decide(workload, see(5, parkedBy(friday())), now).Status, "Frozen")).To(Equal("True ChangeFreeze"))
}

func TestDecideHoldsAReleaseUnderWayWhenAFreezeBegins(t *testing.T) {
	holds := func(seen *decide.Observation) {
		seen.Freeze.InForce = friday()
		seen.Freeze.InForce.Holds = true
	}
	before := stored("Running", "Unknown", "Verifying")
	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	for _, row := range []struct {
		name   string
		before workloadOption
		seen   decide.Observation
		pause  bool
		// held reports whether it is held already.
		held bool
	}{
		{name: "one that began before it", before: before, seen: see(5, rolling, holds), pause: true},
		{name: "one whose hold for a failed pod would end now", before: before, seen: see(5, rolling, paused, hold("held"), holds), held: true},
		{"not a rollback", func(workload *appv1alpha1.ChangeWorkload) {
			before(workload)
			workload.Spec.Rollback = &appv1alpha1.Rollback{}
		}, see(5, rolling, holds), false, false},
		{"not one that passed by a BreakGlass", before, see(5, rolling, holds, brokenAt(now.Add(-time.Hour))), false, false},
		{"one that passed something else by a BreakGlass", before, see(5, rolling, holds, passedAt(now.Add(-time.Hour), "Suspension", "Approval")), true, false},
		{"one that passed by a BreakGlass before it", before, see(5, rolling, holds, brokenAt(now.Add(-time.Hour-time.Second))), true, false},
		{name: "one that failed while blocking is off", before: before, seen: see(5, rolling, holds, failed, blockingOff), pause: true},
		{name: "one that failed just now", before: before, seen: see(5, rolling, holds, failed), pause: true},
		{name: "one that failed in steps", before: before, seen: see(5, rolling, holds, failed, blockingOff, inSteps("Gates"), paused, hold("step")), pause: true},
		{"not one that is held as it failed", before, see(5, rolling, holds, failed, suspended, hold("held")), false, false},
		{"not one that failed and that a user resumed", before, see(5, rolling, holds, failed, suspended, hold("overridden")), false, false},
		{"not one that failed and whose pods are all new", before, see(5, holds, failed, blockingOff), false, false},
		{"not one that is only observed", before, see(5, rolling, holds, func(seen *decide.Observation) { seen.Observed = true }), false, false},
		{"not by a freeze that lets it finish", before, see(5, rolling, withFreeze(func(freeze *decide.Freeze) { freeze.InForce = friday() })), false, false},
		{"not one that is rolled out already", before, see(5, holds), false, false},
		{"not one that a user has paused", before, see(5, rolling, paused, holds), false, false},
		{"not where the namespace is opted out", before, see(5, rolling, holds, optedOut), false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before), row.seen, now)
			g.Expect(decision.Pause).To(Equal(row.pause))
			if row.pause || row.held {
				g.Expect(decision.Freeze).To(Equal(&appv1alpha1.Frozen{Release: 1, By: []string{"ops/friday"}, Concurrent: 5}))
			} else {
				g.Expect(decision.Freeze).To(BeNil())
			}
			g.Expect(decision.Resume || decision.Thaw).To(BeFalse())
		})
	}
}

func TestDecideDoesNotHoldAReleaseThatAUserResumedDuringTheFreeze(t *testing.T) {
	holds := func(seen *decide.Observation) {
		seen.Freeze.InForce = friday()
		seen.Freeze.InForce.Holds = true
	}
	ended := func(reason string, ago time.Duration) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) {
			stored("Running", "Unknown", "Verifying")(workload)
			workload.Status.Frozen = &appv1alpha1.FrozenRelease{By: "ops/friday"}
			workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{
				Type: "Frozen", Status: "False", Reason: reason, LastTransitionTime: metav1.NewTime(now.Add(-ago))})
		}
	}
	for _, row := range []struct {
		name   string
		before workloadOption
		pause  bool
	}{
		{"that still is on", ended("Resumed", time.Minute), false},
		{"in the second of its beginning", ended("Resumed", time.Hour), false},
		{"but during one before it", ended("Resumed", time.Hour+time.Second), true},
		{"but one that went on after one before it", ended("Thawed", time.Hour), true},
		{"but one that left change control and returned", ended("NotControlled", time.Minute), true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before), see(5, rolling, holds), now)
			g.Expect(decision.Pause).To(Equal(row.pause))
			g.Expect(decision.Freeze != nil).To(Equal(row.pause))
		})
	}
}

func TestDecideLooksAgainAtAFreezeThatEndsWithinThisSecond(t *testing.T) {
	g, late := NewWithT(t), now.Add(400*time.Millisecond)
	ending := friday()
	ending.Until = now.Add(700 * time.Millisecond)
	g.Expect(decide.Decide(newWorkload(frozen), see(5, parkedBy(ending)), late).Wait).To(Equal(time.Second))
	beginning := withFreeze(func(freeze *decide.Freeze) { freeze.NextHold = now })
	going := newWorkload(stored("Running", "Unknown", "Verifying"), deadline(now.Add(time.Hour)))
	g.Expect(decide.Decide(going, see(5, rolling, beginning), late).Wait).To(Equal(time.Second))
}

func TestDecideMarksAParkedReleaseThatAnotherFreezeTakesOver(t *testing.T) {
	saturday := func(concurrent int32) *decide.InForce {
		return &decide.InForce{By: "ops/saturday", Until: now.Add(time.Hour), Concurrent: concurrent}
	}
	edited := friday()
	edited.Concurrent = 2
	for name, row := range map[string]struct {
		seen decide.Observation
		mark *appv1alpha1.Frozen
	}{
		"another one":                    {see(5, parkedBy(saturday(1))), &appv1alpha1.Frozen{Release: 1, By: []string{"ops/saturday", "ops/friday"}, Concurrent: 1}},
		"another one with its number":    {see(5, parkedBy(saturday(5))), &appv1alpha1.Frozen{Release: 1, By: []string{"ops/saturday", "ops/friday"}, Concurrent: 5}},
		"itself, with another number":    {see(5, parkedBy(edited)), &appv1alpha1.Frozen{Release: 1, By: []string{"ops/friday"}, Concurrent: 2}},
		"itself":                         {see(5, parkedBy(friday())), nil},
		"none":                           {see(5, parkedBy(nil)), nil},
		"another one, but it is resumed": {see(5, parkedBy(saturday(1)), hold("resumed")), nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(decide.Decide(newWorkload(frozen), row.seen, now).Freeze).To(Equal(row.mark))
		})
	}
}

func TestDecideWaitsForOthersThatTheLastFreezeParked(t *testing.T) {
	g, record := NewWithT(t), newWorkload(frozen)
	record.Status.Frozen.By = "ops/holidays" // it began during the other one, and ended after it
	others := withFreeze(func(freeze *decide.Freeze) { freeze.Ahead = 5 })
	decision := decide.Decide(record, see(5, parkedBy(nil), others), now)
	g.Expect(decision.Status.Frozen.By).To(Equal("ops/holidays"))
	decision = decide.Decide(newWorkload(stored("", "Unknown", "")), see(5, parkedBy(nil), others), now)
	g.Expect(decision.Status.Frozen.By).To(Equal("ops/friday"), "it was never seen during the freeze")
}

func TestDecideLooksAgainWhenAFreezeBegins(t *testing.T) {
	g, going := NewWithT(t), newWorkload(stored("Running", "Unknown", "Verifying"), deadline(now.Add(time.Hour)))
	next := withFreeze(func(freeze *decide.Freeze) { freeze.NextHold = now.Add(7 * time.Second) })
	g.Expect(decide.Decide(going, see(5, rolling, next), now).Wait).To(Equal(7 * time.Second))

	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	g.Expect(decide.Decide(going, see(5, rolling, next, failed, blockingOff), now).Wait).To(Equal(7*time.Second), "one that fails now")
	stopped := newWorkload(stored("Suspend", "False", "PodsFailed"), deadline(now.Add(time.Hour)))
	g.Expect(decide.Decide(stopped, see(5, rolling, next, failed, blockingOff), now).Wait).To(Equal(7*time.Second), "one that failed and goes on")
	g.Expect(decide.Decide(stopped, see(5, rolling, next, failed, suspended, hold("held")), now).Wait).NotTo(Equal(7*time.Second), "one that is held")
}

// A release that waits for its first run would run unverified during the freeze.
func TestDecideLooksAgainWhenAFreezeBeginsThatHoldsARelease(t *testing.T) {
	refused := stored("Failed", "Unknown", "OrderRefused")
	running := func(reason string) workloadOption { return stored("Running", "Unknown", reason) }
	for _, row := range []struct {
		name   string
		before workloadOption
		seen   decide.Observation
		holds  bool
	}{
		{"that waits for its next run", running("AwaitingRun"), see(1, cron), true},
		{"whose next run waits for another", running("RunBlocked"), see(1, cron, blockedBy("Job backup-0")), true},
		{"that runs", running("Running"), see(1, cron, runs), true},
		{"whose run is stuck", running("RunStuck"), see(1, cron, runStuck), true},
		{"whose run failed, so that the next one is awaited", running("RunFailed"), see(1, cron, runFailed), true},
		{"that waits for its first nodes", awaiting, see(5, firstOn("a")), true},
		{"that waits for an approval", atStep(2, 5, "AwaitingApproval"), see(20, inSteps("Gates")), true},
		{"that a verifier refused to check", refused, see(5, rolling), true},
		{"not the Job that is under way", running("Running"), see(1, job, runs), false},
		{"not a run on trial, whose schedule is suspended", running("Running"), see(1, cron, trial, runs, hold("held")), false},
		{"not one that a user has suspended", running("CronJobPaused"), see(1, cron, paused), false},
		{"not one that a user resumed", running("AwaitingRun"), see(1, cron, hold("overridden")), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, record := NewWithT(t), newWorkload(row.before)
			during := row.seen
			holding(&during)
			g.Expect(decide.Decide(record, during, now).Freeze != nil).To(Equal(row.holds), "during the freeze")
			row.seen.Freeze.NextHold = now.Add(10 * time.Second)
			wait := decide.Decide(record, row.seen, now).Wait
			if !row.holds {
				g.Expect(wait).NotTo(Equal(10*time.Second), "before it")
				return
			}
			g.Expect(wait).To(Equal(10*time.Second), "before it")
			g.Expect(decide.MayFreeze(record)).To(BeTrue(), "one that begins at once, as an incident lock does")
		})
	}
	for _, reason := range []string{"CronJobPaused", "Superseded", "TemplateUnseen", "Refused", "NoReplicas", "Frozen"} {
		NewWithT(t).Expect(decide.MayFreeze(newWorkload(running(reason)))).To(BeFalse(), reason)
	}
}

// While it is frozen, the webhook doesn't let it be resumed.
func TestDecideExplainsAFailedReleaseThatIsFrozen(t *testing.T) {
	failed := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	decision := decide.Decide(newWorkload(frozen), see(5, parkedBy(friday()), failed, suspended), now)
	NewWithT(t).Expect(messageOf(decision.Status.Conditions, "Suspended")).To(Equal("further releases of the Deployment are denied until a repair or a " +
		"verified version succeeds; its rollout is frozen: see the condition Frozen"))
}

func TestAheadOf(t *testing.T) {
	waits := func(name string, seconds int64, options ...workloadOption) appv1alpha1.ChangeWorkload {
		record := newWorkload(frozen)
		record.Name, record.Spec.CreateTimeUnix = name, seconds
		for _, option := range options {
			option(record)
		}
		return *record
	}
	thawed := func(ago time.Duration, verified string) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) {
			workload.Status.Conditions[0].Reason = verified
			workload.Status.Conditions[1] = metav1.Condition{Type: "Frozen", Status: "False", Reason: "Thawed", LastTransitionTime: metav1.NewTime(now.Add(-ago))}
		}
	}
	settled := func(workload *appv1alpha1.ChangeWorkload) {
		workload.Status.Conditions[0] = metav1.Condition{Type: "Verified", Status: "True", Reason: "AllPodsPassed"}
	}
	removed := func(workload *appv1alpha1.ChangeWorkload) { workload.DeletionTimestamp = &metav1.Time{Time: now} }
	orphaned := func(workload *appv1alpha1.ChangeWorkload) { workload.OwnerReferences = nil }
	own := waits("own", now.Unix()-45)
	for _, row := range []struct {
		name  string
		other appv1alpha1.ChangeWorkload
		ahead int32
		free  time.Time
	}{
		{"one that was recorded earlier", waits("a", now.Unix()-46), 1, time.Time{}},
		{"one that was recorded later", waits("a", now.Unix()-44), 0, time.Time{}},
		{"of one recorded at the same time, the name decides", waits("a", now.Unix()-45), 1, time.Time{}},
		{"of one recorded at the same time, the name decides otherwise", waits("z", now.Unix()-45), 0, time.Time{}},
		{"itself", own, 0, time.Time{}},
		{"one that another freeze parked", waits("a", now.Unix()-46, func(workload *appv1alpha1.ChangeWorkload) { workload.Status.Frozen.By = "default/lock" }), 0, time.Time{}},
		{"one that wasn't observed yet", waits("a", now.Unix()-60, release(2)), 1, time.Unix(now.Unix()+1740, 0)},
		{"one that wasn't observed yet and was recorded later", waits("a", now.Unix()-30, release(2)), 0, time.Time{}},
		{"one that wasn't observed for too long", waits("a", now.Unix()-1800, release(2)), 0, time.Time{}},
		{"one whose Job runs", waits("a", now.Unix()-44, thawed(10*time.Minute, "Running")), 1, now.Add(20 * time.Minute)},
		{"one that waits for its first nodes", waits("a", now.Unix()-44, thawed(10*time.Minute, "FirstNodes")), 1, now.Add(20 * time.Minute)},
		{"one that is rolled out in steps", waits("a", now.Unix()-44, thawed(10*time.Minute, "Paced")), 1, now.Add(20 * time.Minute)},
		{"one that is late", waits("a", now.Unix()-44, thawed(10*time.Minute, "ThresholdTimeout")), 1, now.Add(20 * time.Minute)},
		{"one that waits for its next run", waits("a", now.Unix()-44, thawed(10*time.Minute, "AwaitingRun")), 1, now.Add(20 * time.Minute)},
		{"one whose next run waits for another", waits("a", now.Unix()-44, thawed(10*time.Minute, "RunBlocked")), 1, now.Add(20 * time.Minute)},
		{"one that a user has paused", waits("a", now.Unix()-46, thawed(time.Minute, "DeploymentPaused")), 0, time.Time{}},
		{"one that failed", waits("a", now.Unix()-46, thawed(time.Minute, "PodsFailed")), 0, time.Time{}},
		{"one that is being removed", waits("a", now.Unix()-46, removed), 0, time.Time{}},
		{"one under way that is being removed", waits("a", now.Unix()-46, thawed(time.Minute, "Verifying"), removed), 0, time.Time{}},
		{"one that its deleted workload left", waits("a", now.Unix()-46, orphaned), 0, time.Time{}},
		{"one that a user resumed", waits("a", now.Unix()-46, thawed(time.Minute, "Verifying"), func(workload *appv1alpha1.ChangeWorkload) {
			workload.Status.Conditions[1].Reason = "Resumed"
		}), 0, time.Time{}},
		{"one that is under way", waits("a", now.Unix()-44, thawed(10*time.Minute, "Verifying")), 1, now.Add(20 * time.Minute)},
		{"one that has been under way for too long", waits("a", now.Unix()-46, thawed(30*time.Minute, "Verifying")), 0, time.Time{}},
		{"one that is verified", waits("a", now.Unix()-46, thawed(time.Minute, "Verifying"), settled), 0, time.Time{}},
		{"one that no freeze parked", *newWorkload(stored("Running", "Unknown", "Verifying")), 0, time.Time{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			ahead, free := decide.AheadOf(&own, &appv1alpha1.Frozen{Release: 1, By: []string{"ops/friday", "default/lock"}}, []appv1alpha1.ChangeWorkload{row.other}, now)
			g.Expect(ahead).To(Equal(row.ahead))
			g.Expect(free).To(Equal(row.free))
		})
	}
}

func TestAheadOfCountsThoseThatTheLastFreezeParked(t *testing.T) {
	g, parked := NewWithT(t), &appv1alpha1.Frozen{Release: 1, By: []string{"ops/friday"}}
	own, other := newWorkload(frozen), newWorkload(frozen)
	own.Name, other.Name = "b", "a"
	ahead := func() int32 {
		count, _ := decide.AheadOf(own, parked, []appv1alpha1.ChangeWorkload{*other}, now)
		return count
	}
	g.Expect(ahead()).To(BeEquivalentTo(1))
	own.Status.Frozen.By = "ops/holidays" // it began during the other one, and ended after it
	g.Expect(ahead()).To(BeEquivalentTo(0))
	other.Status.Frozen.By = "ops/holidays"
	g.Expect(ahead()).To(BeEquivalentTo(1))
	own.Status.ObservedRelease = 7 // what its status shows is of an earlier release
	g.Expect(ahead()).To(BeEquivalentTo(0))
}
