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
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestDecideLetsPodsRun(t *testing.T) {
	at := atStep(2, 5, "StepRunning")
	begun := stored("Running", "Unknown", "Verifying")
	all := int32(decide.LetAll)
	rolledBackFrom := func(seen *decide.Observation) {
		seen.RolledBack = &appv1alpha1.Rollback{Release: 2, Reason: "PodsNotRunning"}
	}
	holdsNow := withFreeze(func(freeze *decide.Freeze) {
		freeze.InForce = friday()
		freeze.InForce.Holds = true
	})
	failing := batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error")))
	for _, row := range []struct {
		name   string
		before workloadOption
		seen   decide.Observation
		let    int32
	}{
		{"all of a release without steps", begun, see(20), all},
		{"none before the status has a step", begun, see(20, inSteps("Gates")), 0},
		{"none before the first step", atStep(0, 0, "OnHold"), see(20, inSteps("Gates")), 0},
		{"those of the stored step", at, see(20, inSteps("Gates")), 5},
		{"not those of the next step before it is stored", at, see(20, inSteps("Gates"), passed(1, 5), approved(approval("bob"))), 5},
		{"not more than the stored status has if it is scaled up", at, see(40, inSteps("Gates")), 5},
		{"fewer at once if it is scaled down", at, see(8, inSteps("Gates")), 2},
		{"none while one failed", at, see(20, inSteps("Gates"), failing), 0},
		{"none while one failed although blocking is off", at, see(20, inSteps("Gates"), blockingOff, failing), 0},
		{"those of the step in place of others in a freeze", at, see(20, inSteps("Gates"), holdsNow), 5},
		{"none of a template that was changed without the webhooks", at, see(20, inSteps("Gates"), unseen), 0},
		{"none by a partition in a freeze", at, see(20, inSteps("Partition"), holdsNow), 0},
		{"none while a parked release is on hold", at, see(20, inSteps("Partition"), hold("held"), paused, parked("Requested")), 0},
		{"those of the step by a partition", at, see(20, inSteps("Partition")), 5},
		{"not all before the end is stored", at, see(20, inSteps("Gates"), optedOut), 5},
		{"all once the end is stored", paceEnded("NotControlled"), see(20, inSteps("Gates"), optedOut), all},
		{"all once the end is stored although one failed", paceEnded("WentOn"), see(20, inSteps("Gates"), failing), all},
		{"none once the end is stored while a failed one is held", paceEnded("PolicyRemoved"), see(20, inSteps("Gates"), failing, paused, hold("held")), 0},
		{"none once the end is stored while a freeze holds it", paceEnded("PolicyRemoved"), see(20, inSteps("Gates"), holdsNow, paused, hold("held")), 0},
		{"all once the end is stored without change control", paceEnded("NotControlled"), see(20, inSteps("Gates"), optedOut, failing, paused, hold("held")), all},
		{"no further ones of a release that is superseded", paceEnded("Superseded"), see(20, moved, later), 5},
		{"no further ones of it before it is stored that it left change control", paceEnded("Superseded"), see(20, moved, later, optedOut), 5},
		{"all once that is stored", paceEnded("NotControlled"), see(20, moved, later, optedOut), all},
		{"all after that", paceEnded("NotControlled"), see(20, moved, later), all},
		{"none of a release that was rolled back", paceEnded("Superseded"), see(20, moved, later, rolledBackFrom), 0},
		{"those in place of others after a release whose pace ended before", paceEnded("WentOn"), see(20, moved, later), all},
		{"those of the step while the cache is behind", at, see(20, moved), 5},
		{"none while the cache is behind and no step is stored", begun, see(20, moved), 0},
		{"all of a verified release", stored("Success", "True", "AllPodsPassed"), see(20, moved, later), all},
		{"all without change control", begun, see(20, optedOut), all},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := decide.Decide(newWorkload(row.before), row.seen, now)
			NewWithT(t).Expect(decision.Let).To(Equal(row.let))
		})
	}
	t.Run("with those that passed", func(t *testing.T) {
		seen := see(20, inSteps("Gates"), passed(1, 2), finished(pods(3, 3)))
		for i := range seen.Finished {
			seen.Finished[i].UID = "p-1"
			if i > 0 {
				seen.Finished[i].UID = "p-2"
			}
		}
		seen.Batches[0].Spec.PodInfos = seen.Finished[:2]
		decision := decide.Decide(newWorkload(at), seen, now)
		NewWithT(t).Expect(decision.Passed.UnsortedList()).To(ConsistOf(BeEquivalentTo("p-1"), BeEquivalentTo("p-2")))
	})
}

func TestDecidePausesARolloutThatWaitsForAStep(t *testing.T) {
	at1, at2 := atStep(1, 1, "Soaking", soakUntil(now.Add(time.Minute))), atStep(2, 5, "StepRunning")
	rests := func(seen *decide.Observation) { paused(seen); seen.Hold = decide.HeldForStep }
	held := func(seen *decide.Observation) { paused(seen); seen.Hold = decide.Held }
	failing := failed(1, 1, "sleep-1")
	gone := withPace(func(pace *decide.Pace) { pace.Policy = nil })
	holdsNow := withFreeze(func(freeze *decide.Freeze) {
		freeze.InForce = friday()
		freeze.InForce.Holds = true
	})
	thawed := func(at workloadOption) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) {
			at(workload)
			workload.Status.Frozen = &appv1alpha1.FrozenRelease{By: "ops/friday"}
			workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: "Frozen", Status: "False", Reason: "Thawed"})
		}
	}
	type effects struct{ Rest, Pause, Resume, Unhold, Unpace, Override bool }
	for _, row := range []struct {
		name   string
		before workloadOption
		seen   decide.Observation
		want   effects
	}{
		{"a Deployment before the first step", atStep(0, 0, "OnHold"), see(20, inSteps("Gates")), effects{Rest: true}},
		{"not before the status has a step", stored("Running", "Unknown", "Verifying"), see(20, inSteps("Gates")), effects{}},
		{"once the pods of the step are there", at1, see(20, inSteps("Gates"), passed(1, 1)), effects{Rest: true}},
		{"not while pods of the step are awaited", at2, see(20, inSteps("Gates"), passed(1, 4)), effects{}},
		{"not at the last step", atStep(3, 20, "StepRunning"), see(20, inSteps("Gates"), passed(1, 19)), effects{}},
		{"not while the last step soaks", atStep(3, 20, "StepRunning"), see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) {
			spec.Steps[2].Soak = &metav1.Duration{Duration: time.Minute}
		}), passed(1, 20)), effects{}},
		{"not again", at1, see(20, inSteps("Gates"), passed(1, 1), rests), effects{}},
		{"not if a user has paused it, nor does it go on then", at1, see(20, inSteps("Gates"), passed(1, 1), paused), effects{}},
		{"until the next step is stored", at2, see(20, inSteps("Gates"), passed(1, 1), rests), effects{Resume: true}},
		{"not that of a user until then", at2, see(20, inSteps("Gates"), passed(1, 1), paused), effects{}},
		{"longer if a pod fails", at1, see(20, inSteps("Gates"), failing, rests), effects{Pause: true}},
		{"as before if a pod fails and blocking is off", at1, see(20, inSteps("Gates"), failing, rests, blockingOff), effects{}},
		{"and is kept so for a failure", at1, see(20, inSteps("Gates"), failing, held), effects{}},
		{"until the verdict is withdrawn, and then for the step", at1, see(20, inSteps("Gates"), passed(1, 1), held), effects{Rest: true, Unhold: true}},
		{"until the verdict is withdrawn in mid-step", at2, see(20, inSteps("Gates"), passed(1, 1), held), effects{Resume: true}},
		{"that starts paused, until a step is stored", stored("Running", "Unknown", "Verifying"), see(20, inSteps("Gates"), rests), effects{}},
		{"that starts paused, until the first step is stored", atStep(0, 0, "AwaitingOrder"), see(20, inSteps("Gates"), rests), effects{}},
		{"that starts paused, also while it has no replicas", atStep(0, 0, "OnHold"), see(0, inSteps("Gates"), rests), effects{}},
		{"that starts parked, until the first step is stored", thawed(atStep(0, 0, "AwaitingApproval")), see(20, inSteps("Gates"), parkedBy(nil)), effects{Rest: true, Unhold: true}},
		{"longer if a freeze begins", at1, see(20, inSteps("Gates"), passed(1, 1), rests, holdsNow), effects{Pause: true}},
		{"until the freeze ends", thawed(at2), see(20, inSteps("Gates"), parkedBy(nil)), effects{Resume: true}},
		{"until a user goes on in spite of a failure", at1, see(20, inSteps("Gates"), failing, hold("resumed")), effects{Override: true}},
		{"until the end is stored", paceEnded("PolicyRemoved"), see(20, inSteps("Gates"), gone, rests), effects{Resume: true, Unpace: true}},
		{"not beyond the end, although it isn't paused", paceEnded("AllSteps"), see(20, inSteps("Gates")), effects{Unpace: true}},
		{"beyond the end if one failed", paceEnded("PolicyRemoved"), see(20, inSteps("Gates"), gone, failing, held), effects{}},
		{"beyond the end if one fails now", paceEnded("PolicyRemoved"), see(20, inSteps("Gates"), gone, failing, rests), effects{Pause: true}},
		{"beyond the end if a freeze begins now", paceEnded("PolicyRemoved"), see(20, inSteps("Nodes"), gone, rests, holdsNow), effects{Pause: true}},
		{"not beyond the end if one failed and blocking is off", paceEnded("PolicyRemoved"), see(20, inSteps("Gates"), gone, failing, rests, blockingOff), effects{Unpace: true}},
		{"not beyond the end if a user went on in spite of a failure", paceEnded("Resumed"), see(20, inSteps("Gates"), failing, hold("overridden")), effects{Unpace: true}},
		{"nor if a user does so after the end", paceEnded("PolicyRemoved"), see(20, inSteps("Partition"), failing, hold("resumed")), effects{Unpace: true, Override: true}},
		{"not without change control", paceEnded("NotControlled"), see(20, inSteps("Gates"), optedOut, failing, held), effects{Resume: true, Unpace: true}},
		{"nothing of another release", paceEnded("Superseded"), see(20, moved, later), effects{}},

		{"a StatefulSet before the first step stays paused", atStep(0, 0, "OnHold"), see(20, inSteps("Partition"), rests), effects{Rest: true}},
		{"a StatefulSet rests at its partition", at1, see(20, inSteps("Partition"), passed(1, 1)), effects{Rest: true}},
		{"a StatefulSet doesn't rest while pods of the step are awaited", at2, see(20, inSteps("Partition"), passed(1, 4)), effects{}},
		{"a StatefulSet that is scaled up rests until the status has more pods for the step", at2, see(40, inSteps("Partition"), passed(1, 5), rests), effects{Rest: true}},
		{"a StatefulSet goes on then", atStep(2, 10, "StepRunning"), see(40, inSteps("Partition"), passed(1, 5), rests), effects{}},
		{"a DaemonSet needs no pause", at1, see(20, inSteps("Nodes"), passed(1, 1)), effects{}},
		{"a StatefulSet is held if a pod fails", at2, see(20, inSteps("Partition"), failing), effects{Pause: true}},
		{"a StatefulSet never goes on to all pods if the verdict is withdrawn", at2, see(20, inSteps("Partition"), passed(1, 1), held), effects{Unhold: true}},
		{"nor after a freeze", thawed(at2), see(20, inSteps("Partition"), parkedBy(nil)), effects{Unhold: true}},
		{"nor if a user ends the pause of a freeze", thawed(at2), see(20, inSteps("Partition"), parkedBy(nil), hold("resumed")), effects{Unhold: true}},
		{"a StatefulSet gets its own partition at the end", paceEnded("AllSteps"), see(20, inSteps("Partition")), effects{Unpace: true}},
		{"a DaemonSet that is let go on", paceEnded("PolicyRemoved"), see(20, inSteps("Nodes"), rests, gone), effects{Unpace: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			d := decide.Decide(newWorkload(row.before), row.seen, now)
			g.Expect(effects{d.Rest, d.Pause, d.Resume, d.Unhold, d.Unpace, d.Override}).To(Equal(row.want))
		})
	}
}

func TestDecideChecksThePodsOfAStep(t *testing.T) {
	for _, row := range []struct {
		name    string
		before  []workloadOption
		seen    decide.Observation
		status  string
		reason  string
		batches []int
		waits   bool
	}{
		{"as one batch", []workloadOption{batchesOf(10), atStep(2, 5, "StepRunning")}, see(20, inSteps("Gates"), finished(pods(1, 5))), "Running", "Paced", []int{5}, false},
		{"once all are there", []workloadOption{batchesOf(10), atStep(2, 5, "StepRunning")}, see(20, inSteps("Gates"), finished(pods(1, 4))), "Running", "Paced", nil, true},
		{"without waiting for those of the next step", []workloadOption{batchesOf(10), atStep(2, 5, "StepRunning")}, see(20, inSteps("Gates"), passed(1, 5)), "Running", "Paced", nil, false},
		{"without a timeout while it waits", []workloadOption{batchesOf(10), atStep(2, 5, "StepRunning"), deadline(now.Add(-time.Second))}, see(20, inSteps("Gates"), passed(1, 5)), "Running", "Paced", nil, false},
		{"with a timeout while pods are late", []workloadOption{batchesOf(10), atStep(2, 5, "StepRunning"), deadline(now.Add(-time.Second))}, see(20, inSteps("Gates"), passed(1, 4)),
			"TimeOutPreThreshold", "ThresholdTimeout", nil, true},
		{"and more at once where they came without a gate", []workloadOption{batchesOf(10), atStep(2, 5, "StepRunning")}, see(20, inSteps("Gates"), passed(1, 5), finished(pods(6, 8))), "Running", "Paced", []int{3}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before...), row.seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Status.Conditions).To(haveCondition("Verified", "Unknown", row.reason))
			g.Expect(sizes(decision.Batches)).To(HaveExactElements(row.batches))
			g.Expect(decision.Status.WaitDeadline != nil).To(Equal(row.waits))
		})
	}
	t.Run("after a timeout it runs again", func(t *testing.T) {
		record := newWorkload(batchesOf(10), atStep(2, 5, "StepRunning"))
		record.Status.Status = "TimeOutPreThreshold"
		decision := decide.Decide(record, see(20, inSteps("Gates"), passed(1, 5)), now)
		NewWithT(t).Expect(string(decision.Status.Status)).To(Equal("Running"))
	})
}

// Whatever happens, no more pods are let run than the stored step has, the target of a step is never 0, steps never go back, and the end is
// for ever.
func TestDecideKeepsTheLawsOfSteps(t *testing.T) {
	levers := []appv1alpha1.Lever{"Gates", "Partition", "Nodes"}
	for seed := range uint64(100) {
		random := rand.New(rand.NewPCG(seed, 17))
		chance := func(percent int) bool { return random.IntN(100) < percent }
		spec := func(spec *appv1alpha1.ReleasePolicySpec) {
			for i := range spec.Steps {
				spec.Steps[i].Approvals = int32(random.IntN(2))
			}
			if chance(50) {
				limit([]appv1alpha1.DeadlineAction{"Hold", "Undo", "GoOn"}[random.IntN(3)])(spec)
			}
			onFail([]appv1alpha1.OnFail{"Hold", "Park", "Undo"}[random.IntN(3)])(spec)
		}
		record := newWorkload(atStep(0, 0, "OnHold"))
		record.Status = appv1alpha1.ChangeWorkloadStatus{}
		s := &story{t: t, workload: record, seen: see(20, inSteps(levers[random.IntN(3)], spec)), now: now}
		paused(&s.seen)
		s.seen.Hold = decide.HeldForStep
		if chance(50) {
			byServer()(&s.seen)
		}
		var ended bool
		for range 60 {
			s.now = s.now.Add(time.Duration(random.IntN(240)) * time.Second)
			meddle(s, random, chance)
			before := s.workload.DeepCopy()
			decision := s.decide()
			obeys(t, before, s, decision)
			after := decision.Status
			if ended && (conditionOf(after, "Paced")[:5] != "False" || decision.Rest) {
				t.Fatalf("seed %d: the pace begins again: %s", seed, conditionOf(after, "Paced"))
			}
			ended = ended || conditionOf(after, "Paced") != "" && conditionOf(after, "Paced")[:5] == "False"
			if decision.Unpace {
				s.seen.Pace.Mark = nil
			}
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
		}
	}
}

// meddle changes what is seen.
func meddle(s *story, random *rand.Rand, chance func(int) bool) {
	stage := func(percent int, change func()) {
		if chance(percent) {
			change()
		}
	}
	stage(10, func() { s.seen.Desired = int32(random.IntN(41)) })
	stage(40, func() { // pods come, and go
		s.seen.Finished = pods(1+random.IntN(3), random.IntN(int(s.seen.Desired)+1))
	})
	stage(50, s.check)
	stage(5, func() {
		if len(s.seen.Batches) > 0 {
			result(s.seen.Batches[0].Spec.PodInfos[0].Pod, "unpass", "find error")(&s.seen.Batches[0])
		}
	})
	stage(30, func() {
		for i := range s.seen.Batches {
			s.seen.Batches[i].Status.PodResults = nil
		}
	})
	stage(20, func() { s.seen.Pace.Approvals = []appv1alpha1.ChangeApproval{approval("bob")} })
	stage(10, func() { s.seen.Pace.Approvals = nil })
	stage(5, func() { goOn(int32(random.IntN(4)))(&s.seen) })
	stage(10, func() { s.seen.Pace.GoOn = nil })
	stage(10, func() { s.seen.Freeze.InForce = friday(); s.seen.Freeze.InForce.Holds = true })
	stage(30, func() { s.seen.Freeze.InForce = nil })
	stage(2, func() { s.seen.Pace.Policy = nil })
	stage(2, func() { s.seen.Pace.Policy = newPolicy() })
	stage(2, func() { s.seen.Pace.Obstacle = "no gates are installed" })
	stage(2, func() { s.seen.OptedIn = !s.seen.OptedIn })
	stage(10, func() {
		s.seen.Hold = []decide.Hold{decide.NotHeld, decide.HeldForStep, decide.HeldForStep, decide.Held, decide.Held, decide.Resumed}[random.IntN(6)]
		s.seen.Paused = s.seen.Hold.IsHeld()
	})
	stage(3, func() { s.seen.Current = !s.seen.Current })
	if !s.seen.Verifier.ChecksOrders {
		return
	}
	stage(20, func() {
		s.seen.OrderCheck = newOrderCheck([]batchOption{opened, in("PreSubmitted"), betweenSteps, in("PostSubmitted"), doneWith("PostFinish")}[random.IntN(5)])
	})
	stage(3, func() { s.seen.OrderCheck = nil })
}

// obeys checks the laws of steps.
func obeys(t *testing.T, before *appv1alpha1.ChangeWorkload, s *story, decision decide.Decision) {
	t.Helper()
	stored, next := before.Status, decision.Status
	condition := conditionOf(stored, "Paced")
	switch {
	case strings.HasPrefix(condition, "True") && decision.Let > stored.Pace.Target:
		t.Errorf("%d pods are let run, more than the %d of the stored step", decision.Let, stored.Pace.Target)
	case condition == "" && s.seen.Pace.Mark != nil && s.seen.OptedIn && decision.Let > 0:
		t.Errorf("%d pods are let run before a step is stored", decision.Let)
	case strings.HasPrefix(condition, "True") && strings.HasPrefix(conditionOf(next, "Paced"), "True") && stored.Pace.Step == 0 && decision.Resume:
		t.Errorf("the rollout goes on before the first step")
	case decision.Unpace && !strings.HasPrefix(condition, "False"):
		t.Errorf("the mark is removed before the end is stored")
	}
	if next.Pace != nil {
		obeysSteps(t, stored, s.seen, decision)
		obeysOrder(t, stored, s.seen, decision)
	}
}

func obeysSteps(t *testing.T, stored appv1alpha1.ChangeWorkloadStatus, seen decide.Observation, decision decide.Decision) {
	t.Helper()
	next := decision.Status
	isPaced := strings.HasPrefix(conditionOf(next, "Paced"), "True")
	if next.Pace.Step > 0 && next.Pace.Target < 1 {
		t.Errorf("the target of step %d is %d", next.Pace.Step, next.Pace.Target)
	}
	if isPaced && seen.Current && next.Pace.Target > max(seen.Desired, 1) {
		t.Errorf("the target of step %d is %d of %d", next.Pace.Step, next.Pace.Target, seen.Desired)
	}
	if decision.Verified && isPaced {
		t.Errorf("it is verified while it is paced")
	}
	if stored.Pace != nil && next.Pace.Step < stored.Pace.Step {
		t.Errorf("step %d comes after step %d", next.Pace.Step, stored.Pace.Step)
	}
	if stored.Pace != nil && next.Pace.Step > stored.Pace.Step && len(next.DefenseCheckFailPods) > 0 {
		t.Errorf("a step begins although a pod failed")
	}
}

func obeysOrder(t *testing.T, stored appv1alpha1.ChangeWorkloadStatus, seen decide.Observation, decision decide.Decision) {
	t.Helper()
	check := seen.OrderCheck
	begins := decision.Status.Pace.Step > 0 && (stored.Pace == nil || stored.Pace.Step == 0)
	isBefore := check == nil || check.Status.Status == "" || check.Status.Status == "PreSubmitted"
	if begins && seen.Verifier.ChecksOrders && isBefore {
		t.Errorf("the first step begins before the order passed")
	}
	if decision.Verified && check != nil && check.Status.Status != "ExecuteDone" {
		t.Errorf("it is verified before the order passed")
	}
}
