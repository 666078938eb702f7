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
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// made has the check of a policy made in a phase, for a minute at most.
func made(phase string) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) {
		check := &policy.Spec.Checks[0]
		check.Phase, check.OnInconclusive, check.TimeoutSeconds = appv1alpha1.CheckPhase(phase), "", 60
		if check.OnTimeout == "" {
			check.OnTimeout = "Fail"
		}
		policy.Spec.IntervalSeconds = 15
	}
}

// phased is the result of a check of a phase that is awaited.
func phased(phase, verdict, reason, message string, held time.Time) appv1alpha1.CheckResult {
	result := smoked(verdict, reason, message, held, time.Time{})
	result.Phase = appv1alpha1.CheckPhase(phase)
	return result
}

func noNewPods(seen *decide.Observation) { seen.Verification.Pods.New = nil }

// leadsFor is how long the leader has been there.
func leadsFor(since time.Duration) seenOption {
	return func(seen *decide.Observation) { seen.Verification.Since = now.Add(-since) }
}

func TestDecideHoldsTheFirstStepForACheckBeforeIt(t *testing.T) {
	pass, fail := checking("web", "Enforce", awaitingSmoke("Pass"), made("Before")), checking("web", "Enforce", awaitingSmoke("Fail"), made("Before"))
	never, minute := time.Time{}, now.Add(time.Minute)
	asked := []workloadOption{atStep(0, 0, "AwaitingCheck")}
	const began = "True StepRunning step 1 of 3: 1 of 5 pods; 0 of them passed"
	const waits = "True AwaitingCheck step 1 of 3: the release waits for check smoke of VerificationPolicy shop/web"
	for _, row := range []struct {
		name     string
		policy   appv1alpha1.VerificationPolicy
		stored   []workloadOption
		known    appv1alpha1.CheckResult
		seen     []seenOption
		check    string
		held     time.Time
		paced    string
		progress string
		wait     time.Duration
	}{
		{"before it is asked", fail, []workloadOption{atStep(0, 0, "AwaitingOrder")}, phased("Before", "Pending", "", "", never), []seenOption{says(isTrue)},
			"shop/web smoke: Enforce Pending  ", never, waits, "0/1", 0},
		{"while its first look is under way", fail, asked, phased("Before", "Pending", "", "", never), []seenOption{lookIsUnderWay},
			"shop/web smoke: Enforce Pending  ", minute, waits + " until 2026-11-21T10:01:00Z, then it fails", "0/1, smoke holds", 15 * time.Second},
		{"as it fails", pass, asked, phased("Before", "Pending", "", "", never), []seenOption{says(isFalse)},
			"shop/web smoke: Enforce Pending CheckFailed SmokeTest smoke: Passed is False", minute,
			waits + " until 2026-11-21T10:01:00Z, then it goes on: SmokeTest smoke: Passed is False", "0/1, smoke holds", 15 * time.Second},
		{"as it can't tell", pass, asked, phased("Before", "Pending", "", "", never), []seenOption{says(unknown)},
			"shop/web smoke: Enforce Pending ConditionUnknown SmokeTest smoke: Passed is Unknown", minute,
			waits + " until 2026-11-21T10:01:00Z, then it goes on: SmokeTest smoke: Passed is Unknown", "0/1, smoke holds", 15 * time.Second},
		{"as it can't be made", pass, asked, phased("Before", "Pending", "", "", never), []seenOption{says(isAway)},
			"shop/web smoke: Enforce Pending ReadFailed it is away", minute,
			waits + " until 2026-11-21T10:01:00Z, then it goes on: it is away", "0/1, smoke holds", 15 * time.Second},
		{"until the same time at the next look", pass, asked, phased("Before", "Pending", "CheckFailed", "before", now.Add(4*time.Second)), []seenOption{says(unknown)},
			"shop/web smoke: Enforce Pending ConditionUnknown SmokeTest smoke: Passed is Unknown", now.Add(4 * time.Second),
			waits + " until 2026-11-21T10:00:04Z, then it goes on: SmokeTest smoke: Passed is Unknown", "0/1, smoke holds", 4 * time.Second},
		{"as before while the next look is under way", pass, asked, phased("Before", "Pending", "CheckFailed", "before", now.Add(40*time.Second)), []seenOption{lookIsUnderWay},
			"shop/web smoke: Enforce Pending CheckFailed before", now.Add(40 * time.Second),
			waits + " until 2026-11-21T10:00:40Z, then it goes on: before", "0/1, smoke holds", 15 * time.Second},
		{"until it passes", fail, asked, phased("Before", "Pending", "CheckFailed", "before", now.Add(40*time.Second)), []seenOption{says(isTrue)},
			"shop/web smoke: Enforce Pass CheckPassed SmokeTest smoke: Passed is True", never, began, "1/1", 0},
		{"but not again after it passed", fail, asked, phased("Before", "Pass", "CheckPassed", "before", never), []seenOption{says(isFalse)},
			"shop/web smoke: Enforce Pass CheckPassed before", never, began, "1/1", 0},
		{"until its time is over", pass, asked, phased("Before", "Pending", "CheckFailed", "before", now), []seenOption{says(isFalse)},
			"shop/web smoke: Enforce Inconclusive HoldTimeout it didn't pass within 60 seconds: SmokeTest smoke: Passed is False", now, began, "0/1", 0},
		{"until its time is over, also while a look is under way", pass, asked, phased("Before", "Pending", "CheckFailed", "before", now), []seenOption{lookIsUnderWay},
			"shop/web smoke: Enforce Inconclusive HoldTimeout it didn't pass within 60 seconds: before", now, began, "0/1", 0},
		{"until its time is over without any answer", pass, asked, phased("Before", "Pending", "", "", now), []seenOption{lookIsUnderWay},
			"shop/web smoke: Enforce Inconclusive HoldTimeout it didn't pass within 60 seconds: it has no answer", now, began, "0/1", 0},
		{"until its time is over, and fails the release then", fail, asked, phased("Before", "Pending", "CheckFailed", "before", now), []seenOption{says(isFalse)},
			"shop/web smoke: Enforce Fail HoldTimeout it didn't pass within 60 seconds: SmokeTest smoke: Passed is False; change order", now,
			"True StepFailed step 0 of 3: 0 of 5 pods: no further pods come: the change order failed its check: it didn't pass within 60 seconds: SmokeTest smoke: Passed is False",
			"0/1, smoke Fail", 0},
		{"but not for an error that passes", checking("web", "Enforce", awaitingSmoke("Fail"), made("Before"), onError("Pass")), asked,
			phased("Before", "Pending", "", "", never), []seenOption{says(isAway)},
			"shop/web smoke: Enforce Inconclusive ReadFailed it is away", never, began, "0/1", 0},
		{"but not for an error that fails", checking("web", "Enforce", awaitingSmoke("Pass"), made("Before"), onError("Fail")), asked,
			phased("Before", "Pending", "", "", never), []seenOption{says(isAway)},
			"shop/web smoke: Enforce Fail ReadFailed it is away; change order", never,
			"True StepFailed step 0 of 3: 0 of 5 pods: no further pods come: the change order failed its check: it is away", "0/1, smoke Fail", 0},
		{"but not if it only warns", checking("web", "Warn", awaitingSmoke("Fail"), made("Before")), []workloadOption{atStep(0, 0, "AwaitingOrder")},
			phased("Before", "Pending", "", "", never), []seenOption{says(isFalse)},
			"shop/web smoke: Warn Pending CheckFailed SmokeTest smoke: Passed is False", never, began, "0/1", 15 * time.Second},
		{"but not once it only warns", checking("web", "Warn", awaitingSmoke("Fail"), made("Before")), asked,
			phased("Before", "Pending", "CheckFailed", "before", minute), []seenOption{says(isFalse)},
			"shop/web smoke: Warn Pending CheckFailed SmokeTest smoke: Passed is False", never, began, "0/1", 15 * time.Second},
		{"but not while something else does", fail, asked, phased("Before", "Pending", "CheckFailed", "before", now.Add(time.Second)), []seenOption{says(isTrue), unseen},
			"shop/web smoke: Enforce Pass CheckPassed SmokeTest smoke: Passed is True", never, "True OnHold the pod template was changed without the admission webhooks", "1/1", 0},
		{"anew after its time was over while no leader was there", fail, asked, phased("Before", "Pending", "CheckFailed", "before", now.Add(-10*time.Second)), []seenOption{lookIsUnderWay, leadsFor(time.Second)},
			"shop/web smoke: Enforce Pending CheckFailed before", minute, waits + " until 2026-11-21T10:01:00Z, then it fails: before", "0/1, smoke holds", 15 * time.Second},
		{"anew after something else did", fail, []workloadOption{atStep(0, 0, "OnHold")}, phased("Before", "Pending", "CheckFailed", "before", now.Add(time.Second)), []seenOption{says(isFalse)},
			"shop/web smoke: Enforce Pending  ", never, waits, "0/1", 0},
		{"but not once a user lets it go on", fail, asked, phased("Before", "Pending", "CheckFailed", "before", minute), []seenOption{says(isFalse), goOn(1)},
			"shop/web smoke: Enforce Skipped NotPaced the steps of the release began or ended without it: see the condition Paced", never, began, "0/1", 0},
		{"but not at a later step", fail, []workloadOption{atStep(1, 1, "StepRunning")}, phased("Before", "Pending", "", "", never), []seenOption{says(isFalse)},
			"shop/web smoke: Enforce Skipped NotPaced the steps of the release began or ended without it: see the condition Paced", never, began, "0/1", 0},
		{"but not after the steps ended", fail, []workloadOption{paceEnded("PolicyRemoved")}, phased("Before", "Pending", "", "", never), []seenOption{says(isFalse)},
			"shop/web smoke: Enforce Skipped NotPaced the steps of the release began or ended without it: see the condition Paced", never, "False PolicyRemoved ", "0/1", 0},
		{"but not without steps", fail, []workloadOption{stored("Running", "Unknown", "Verifying")}, phased("Before", "Pending", "", "", never),
			[]seenOption{withPace(func(pace *decide.Pace) { *pace = decide.Pace{} })},
			"shop/web smoke: Enforce Skipped NotPaced the release isn't rolled out in steps: nothing holds back its first pod", never, " ", "0/1", 0},
		{"but not for a kind without pods that keep running", fail, asked, phased("Before", "Pending", "", "", never),
			[]seenOption{func(seen *decide.Observation) { seen.Verification.Pods = nil }},
			"shop/web smoke: Enforce Skipped NoPods a Deployment has no pods that keep running", never, began, "0/1", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			known := row.known
			workload := newWorkload(append(row.stored, begun(policies(row.policy), known), func(workload *appv1alpha1.ChangeWorkload) {
				workload.Status.Verification.Policies[0].Mode = "Enforce" // when the release began
				workload.Spec.CreateTimeUnix = now.Add(-10 * time.Second).Unix()
			})...)
			decision := decide.Decide(workload, see(5, append([]seenOption{inSteps("Gates"), under(row.policy), noNewPods}, row.seen...)...), now)
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(decision.Status.Checks[0].HeldUntil).To(Equal(decide.StoredTime(row.held)))
			g.Expect(decision.Status.Checks[0].Phase).To(BeEquivalentTo("Before"))
			g.Expect(conditionOf(decision.Status, "Paced") + " " + messageOf(decision.Status.Conditions, "Paced")).To(Equal(row.paced))
			g.Expect(decision.Status.Verification.Progress).To(Equal(row.progress))
			if row.wait != 0 {
				g.Expect(decision.Wait).To(Equal(row.wait))
			}
			g.Expect(string(decision.Status.Status)).To(Equal(map[bool]string{true: "Suspend", false: "Running"}[decision.Status.Checks[0].Verdict == "Fail"]))
		})
	}
}

// The order and the checks before the first pod hold one after the other, the checks last.
func TestDecideAsksBeforeTheFirstStepOnceNothingElseHoldsIt(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Fail"), made("Before"))
	s := &story{t: t, workload: newWorkload(), now: now, seen: see(2, under(policy), noNewPods, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) {
		spec.Steps = []appv1alpha1.ReleaseStep{{Percent: 100, Approvals: 1}}
	}), byServer())}
	s.workload.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{UID: "d-1"}
	asked := func() int {
		s.decide()
		return len(decide.Questions(s.workload, s.seen.Verification.Pods, s.now))
	}
	g.Expect(asked()).To(BeZero())
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True AwaitingOrder"))
	s.seen.OrderCheck = newOrderCheck(betweenSteps)
	g.Expect(asked()).To(BeZero())
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True AwaitingApproval"))
	approved(approval("bob"))(&s.seen)
	g.Expect(asked()).To(Equal(1))
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True AwaitingCheck"))
	question := decide.Questions(s.workload, s.seen.Verification.Pods, s.now)[0]
	g.Expect(question.Phase).To(BeEquivalentTo("Before"))
	g.Expect(question.Last).To(BeFalse())
	says(isFalse)(&s.seen)
	g.Expect(asked()).To(Equal(1), "again")
	g.Expect(s.workload.Status.Pace.Step).To(BeZero())
	says(isTrue)(&s.seen)
	g.Expect(asked()).To(BeZero(), "it passed")
	g.Expect(s.workload.Status.Pace.Step).To(BeEquivalentTo(1))
}

func TestDecideAsksBeforeTheFirstNodes(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Fail"), made("Before"))
	seen := see(5, under(policy), noNewPods, inSteps("Gates"), func(seen *decide.Observation) {
		seen.First, seen.Hold, seen.Paused = &decide.First{Asked: true, Nodes: []string{"a"}, Of: map[types.UID]string{}}, "held", true
	})
	s := &story{t: t, workload: newWorkload(), seen: seen, now: now}
	s.decide()
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True AwaitingCheck"))
	g.Expect(s.workload.Status.FirstNodes).To(BeNil())
	says(isTrue)(&s.seen)
	g.Expect(s.decide().Status.FirstNodes).NotTo(BeNil())
}

// A release that a check before its first pod failed has a place where a user lets it pass.
func TestDecideOpensTheCheckOfTheOrderIfAReleaseMayNotStart(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Fail"), made("Before"))
	s := &story{t: t, now: now, seen: see(5, under(policy), noNewPods, inSteps("Gates"), says(isFalse)),
		workload: newWorkload(atStep(0, 0, "AwaitingCheck"), begun(policies(policy), phased("Before", "Pending", "CheckFailed", "before", now)))}
	decision := s.decide()
	g.Expect(decision.OpenOrderCheck).To(BeTrue())
	g.Expect(decision.Suspend).To(BeTrue())
	g.Expect(decision.Let).To(BeZero())
	s.seen.OrderCheck = newOrderCheck()
	advance := func() appv1alpha1.ChangePodStatus {
		s.seen.OrderCheck.Status = decide.AdvanceChangePod(s.seen.OrderCheck, decide.FactsOf(s.workload, s.seen.OrderCheck, verifier.State{}), decide.CheckAnswer{}, s.now)
		return s.seen.OrderCheck.Status
	}
	status := advance()
	g.Expect(status.Status).To(BeEquivalentTo("ExecuteDone"))
	g.Expect(status.PodResults).To(HaveExactElements(appv1alpha1.PodSummary{Namespace: status.PodResults[0].Namespace, Pod: "change order", Verdict: "unpass",
		Message: "it didn't pass within 60 seconds: SmokeTest smoke: Passed is False (VerificationPolicy shop/web smoke)"}))
	decision = s.decide()
	g.Expect(decision.OpenOrderCheck).To(BeFalse(), "there is one")
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True StepFailed"))

	s.seen.OrderCheck.Status.PodResults[0].Verdict = "pass" // by hand
	advance()
	decision = s.decide()
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True StepRunning"))
	g.Expect(string(s.workload.Status.Status)).To(Equal("Running"))
}

func TestDecideWaitsAfterTheLastPodForACheck(t *testing.T) {
	pass, fail := checking("web", "Enforce", awaitingSmoke("Pass"), made("After")), checking("web", "Enforce", awaitingSmoke("Fail"), made("After"))
	never, minute := time.Time{}, now.Add(time.Minute)
	asked, running := stored("Running", "Unknown", "AwaitingCheck"), stored("Running", "Unknown", "Verifying")
	const waits = "Unknown AwaitingCheck every desired pod finished and passed; the release waits for check smoke of VerificationPolicy shop/web"
	const verified = "True AllPodsPassed every desired pod finished and passed"
	const all = "; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5"
	inTheEnd := func(seen *decide.Observation) { inSteps("Gates")(seen) }
	for _, row := range []struct {
		name     string
		policy   appv1alpha1.VerificationPolicy
		stored   workloadOption
		known    appv1alpha1.CheckResult
		seen     []seenOption
		check    string
		held     time.Time
		verified string
		status   string
	}{
		{"not before all pods passed", fail, running, phased("After", "Pending", "", "", never), []seenOption{says(isFalse), ran(1, 4)},
			"shop/web smoke: Enforce Pending  ", never, "Unknown Verifying waiting for pods or checking them: kubectl get changepods shows each batch", "Running"},
		{"before it is asked", fail, running, phased("After", "Pending", "", "", never), []seenOption{says(isTrue), ran(1, 5)},
			"shop/web smoke: Enforce Pending  ", never, waits, "Running"},
		{"while its first look is under way", fail, asked, phased("After", "Pending", "", "", never), []seenOption{lookIsUnderWay, ran(1, 5)},
			"shop/web smoke: Enforce Pending  ", minute, waits + " until 2026-11-21T10:01:00Z, then it fails", "Running"},
		{"as it can't tell", pass, asked, phased("After", "Pending", "", "", never), []seenOption{says(unknown), ran(1, 5)},
			"shop/web smoke: Enforce Pending ConditionUnknown SmokeTest smoke: Passed is Unknown", minute,
			waits + " until 2026-11-21T10:01:00Z, then it goes on: SmokeTest smoke: Passed is Unknown", "Running"},
		{"until it passes", fail, asked, phased("After", "Pending", "ConditionUnknown", "before", now.Add(40*time.Second)), []seenOption{says(isTrue), ran(1, 5)},
			"shop/web smoke: Enforce Pass CheckPassed SmokeTest smoke: Passed is True", never, verified, "Success"},
		{"until it fails", pass, asked, phased("After", "Pending", "ConditionUnknown", "before", now.Add(40*time.Second)), []seenOption{says(isFalse), ran(1, 5)},
			"shop/web smoke: Enforce Fail CheckFailed SmokeTest smoke: Passed is False" + all, never, "False PodsFailed pod sleep-1 failed its check: SmokeTest smoke: Passed is False; " +
				"pod sleep-2 failed its check: SmokeTest smoke: Passed is False; pod sleep-3 failed its check: SmokeTest smoke: Passed is False; pod sleep-4 failed its check: SmokeTest smoke: Passed is False; " +
				"pod sleep-5 failed its check: SmokeTest smoke: Passed is False", "Suspend"},
		{"until its time is over", pass, asked, phased("After", "Pending", "ConditionUnknown", "before", now), []seenOption{says(unknown), ran(1, 5)},
			"shop/web smoke: Enforce Inconclusive HoldTimeout it didn't pass within 60 seconds: SmokeTest smoke: Passed is Unknown", now, verified, "Success"},
		{"until its time is over, and fails then", fail, asked, phased("After", "Pending", "ConditionUnknown", "before", now), []seenOption{lookIsUnderWay, ran(1, 5)},
			"shop/web smoke: Enforce Fail HoldTimeout it didn't pass within 60 seconds: before" + all, now, "", "Suspend"},
		{"anew after its time was over while no leader was there", fail, asked, phased("After", "Pending", "ConditionUnknown", "before", now.Add(-10*time.Second)),
			[]seenOption{lookIsUnderWay, ran(1, 5), leadsFor(time.Second)}, "shop/web smoke: Enforce Pending ConditionUnknown before", minute,
			waits + " until 2026-11-21T10:01:00Z, then it fails: before", "Running"},
		{"anew after its time was over right after that", fail, asked, phased("After", "Pending", "ConditionUnknown", "before", now), []seenOption{says(unknown), ran(1, 5), leadsFor(29 * time.Second)},
			"shop/web smoke: Enforce Pending ConditionUnknown SmokeTest smoke: Passed is Unknown", minute,
			waits + " until 2026-11-21T10:01:00Z, then it fails: SmokeTest smoke: Passed is Unknown", "Running"},
		{"until the same time if that isn't over then", fail, asked, phased("After", "Pending", "ConditionUnknown", "before", now.Add(time.Second)), []seenOption{lookIsUnderWay, ran(1, 5), leadsFor(time.Second)},
			"shop/web smoke: Enforce Pending ConditionUnknown before", now.Add(time.Second), waits + " until 2026-11-21T10:00:01Z, then it fails: before", "Running"},
		{"until its time is over since", fail, asked, phased("After", "Pending", "ConditionUnknown", "before", now), []seenOption{lookIsUnderWay, ran(1, 5), leadsFor(30 * time.Second)},
			"shop/web smoke: Enforce Fail HoldTimeout it didn't pass within 60 seconds: before" + all, now, "", "Suspend"},
		{"but not for an error that passes", checking("web", "Enforce", awaitingSmoke("Fail"), made("After"), onError("Pass")), asked, phased("After", "Pending", "", "", never),
			[]seenOption{says(isAway), ran(1, 5)}, "shop/web smoke: Enforce Inconclusive ReadFailed it is away", never, verified, "Success"},
		{"not while pods are added, and then anew", fail, stored("Running", "Unknown", "Verifying"), phased("After", "Pending", "ConditionUnknown", "before", now.Add(time.Second)),
			[]seenOption{says(unknown), ran(1, 5), func(seen *decide.Observation) { seen.Desired = 6 }},
			"shop/web smoke: Enforce Pending  ", never, "Unknown Verifying waiting for pods or checking them: kubectl get changepods shows each batch", "Running"},
		{"also if a user paused the workload", fail, asked, phased("After", "Pending", "", "", never), []seenOption{lookIsUnderWay, ran(1, 5), func(seen *decide.Observation) { seen.Paused = true }},
			"shop/web smoke: Enforce Pending  ", minute, waits + " until 2026-11-21T10:01:00Z, then it fails", "Running"},
		{"but not if it only warns", checking("web", "Warn", awaitingSmoke("Fail"), made("After")), running, phased("After", "Pending", "", "", never), []seenOption{ran(1, 5)},
			"shop/web smoke: Warn Pending  ", never, verified, "Success"},
		{"but not once it only warns", checking("web", "Warn", awaitingSmoke("Fail"), made("After")), asked, phased("After", "Pending", "ConditionUnknown", "before", minute),
			[]seenOption{says(unknown), ran(1, 5)}, "shop/web smoke: Warn Pending  ", never, verified, "Success"},
		{"in steps", fail, atStep(3, 5, "StepRunning"), phased("After", "Pending", "", "", never), []seenOption{ran(1, 5), inTheEnd},
			"shop/web smoke: Enforce Pending  ", never, waits, "Running"},
		{"in steps, until it passes", fail, func(workload *appv1alpha1.ChangeWorkload) {
			atStep(3, 5, "AwaitingCheck")(workload)
			workload.Status.Conditions[0].Reason = "AwaitingCheck"
		}, phased("After", "Pending", "", "", never), []seenOption{ran(1, 5), inTheEnd, says(isTrue)},
			"shop/web smoke: Enforce Pass CheckPassed SmokeTest smoke: Passed is True", never, verified, "Success"},
		{"but not of a rollout that was complete when it was first observed", fail, func(workload *appv1alpha1.ChangeWorkload) {
			running(workload)
			workload.Spec.Baseline = true
		}, phased("After", "Pending", "", "", never), []seenOption{ran(1, 5)},
			"shop/web smoke: Enforce Skipped Baseline the rollout was complete when the Deployment was first observed", never,
			"True Baseline the rollout was complete when the Deployment was first observed: its pods are not checked", "Success"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(row.stored, begun(policies(row.policy), row.known), batchesOf(5), func(workload *appv1alpha1.ChangeWorkload) {
				workload.Status.Verification.Policies[0].Mode = "Enforce" // when the release began
			})
			decision := decide.Decide(workload, see(5, append([]seenOption{under(row.policy)}, row.seen...)...), now)
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(decision.Status.Checks[0].HeldUntil).To(Equal(decide.StoredTime(row.held)))
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			if row.verified != "" {
				g.Expect(conditionOf(decision.Status, "Verified") + " " + messageOf(decision.Status.Conditions, "Verified")).To(Equal(row.verified))
			}
			g.Expect(decision.Verified).To(Equal(row.status == "Success" && row.verified == verified))
			workload.Status = decision.Status
			g.Expect(decide.IsInProgress(workload)).To(Equal(row.status == "Running"))
		})
	}
}

// Nothing waits for a check that isn't enforced. It has its verdict all the same, as an enforced one would.
func TestDecideAsksAReleaseThatIsVerified(t *testing.T) {
	policy := checking("web", "Observe", awaitingSmoke("Fail"), made("After"))
	unasked := func(since time.Duration) seenOption {
		return func(seen *decide.Observation) { lookIsUnderWay(seen); leadsFor(since)(seen) }
	}
	for _, row := range []struct {
		name   string
		ago    time.Duration
		seen   seenOption
		check  string
		asked  int
		again  time.Duration
		policy appv1alpha1.VerificationPolicy
	}{
		{"that can't tell yet", time.Second, says(unknown), "shop/web smoke: Observe Pending ConditionUnknown SmokeTest smoke: Passed is Unknown", 1, 15 * time.Second, policy},
		{"that passes", 50 * time.Second, says(isTrue), "shop/web smoke: Observe Pass CheckPassed SmokeTest smoke: Passed is True", 1, 0, policy},
		{"that would have failed", 50 * time.Second, says(isFalse), "shop/web smoke: Observe Fail CheckFailed SmokeTest smoke: Passed is False; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5", 1, 0, policy},
		{"that would have failed in time", time.Minute, says(unknown),
			"shop/web smoke: Observe Fail HoldTimeout it didn't pass within 60 seconds: SmokeTest smoke: Passed is Unknown; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5", 1, 0, policy},
		{"whose time was over while no leader was there", time.Hour, unasked(20 * time.Second), "shop/web smoke: Observe Pending  ", 1, 10 * time.Second, policy},
		{"whose time was over since", time.Hour, unasked(30 * time.Second),
			"shop/web smoke: Observe Fail HoldTimeout it didn't pass within 60 seconds: it has no answer; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5", 1, 0, policy},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-row.ago)), begun(policies(row.policy), appv1alpha1.CheckResult{
				Policy: "shop/web", Name: "smoke", Type: "Condition", Mode: "Observe", Phase: "After", Verdict: "Pending",
			}))
			seen := see(5, under(row.policy), ran(1, 5), row.seen)
			g.Expect(decide.Questions(workload, seen.Verification.Pods, now)).To(HaveLen(row.asked))
			before := workload.DeepCopy()
			decision := decide.Decide(workload, seen, now)
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(string(decision.Status.Status)).To(Equal("Success"))
			g.Expect(decision.Wait).To(Equal(row.again))
			after := workload.DeepCopy()
			after.Status = decision.Status
			g.Expect(decide.HoldTimedOut(before, after, &after.Status.Checks[0])).To(BeFalse(), "nothing waited")
			g.Expect(decide.BeganToHold(before, after, &after.Status.Checks[0])).To(BeFalse())
			g.Expect(decide.Questions(after, seen.Verification.Pods, now)).To(HaveLen(map[bool]int{true: 1}[row.again != 0]))
		})
	}
}

func TestDecideEndsTheWaitForAPhase(t *testing.T) {
	policy := checking("web", "Enforce", awaitingSmoke("Fail"), made("After"))
	until := now.Add(time.Minute)
	asked := stored("Running", "Unknown", "AwaitingCheck")
	for _, row := range []struct {
		name   string
		stored workloadOption
		seen   []seenOption
		held   *metav1.Time
	}{
		{"not of itself", asked, []seenOption{under(policy)}, decide.StoredTime(until)},
		{"of a release that was superseded", asked, []seenOption{under(policy), moved}, nil},
		{"of a namespace that left change control", asked, []seenOption{under(policy), optedOut}, nil},
		{"of a policy whose mode was lowered", asked, []seenOption{under(checking("web", "Warn", awaitingSmoke("Fail"), made("After")))}, nil},
		{"of a suspended release", stored("Suspend", "False", "PodsFailed"), []seenOption{under(policy), func(seen *decide.Observation) {
			seen.Batches[0].Status.PodResults = []appv1alpha1.PodSummary{{Pod: "sleep-1", Verdict: "unpass"}}
		}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(row.stored, begun(policies(policy), phased("After", "Pending", "ConditionUnknown", "before", until)), batchesOf(5))
			decision := decide.Decide(workload, see(5, append([]seenOption{ran(1, 5), says(unknown)}, row.seen...)...), now)
			g.Expect(decision.Status.Checks).To(HaveLen(1))
			g.Expect(decision.Status.Checks[0].HeldUntil).To(Equal(row.held))
		})
	}
	deleted := newWorkload(asked, begun(policies(policy), phased("After", "Pending", "ConditionUnknown", "before", until)), batchesOf(5))
	decision := decide.Decide(deleted, see(5, ran(1, 5), under()), now)
	NewWithT(t).Expect(decision.Status.Checks).To(BeEmpty())
	NewWithT(t).Expect(decision.Verified).To(BeTrue())
}

// A version that is released again is asked about anew, not as its earlier release.
func TestDecideAsksNothingOfAnEarlierRelease(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Observe", awaitingSmoke("Fail"), made("After"))
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-time.Hour)), begun(policies(policy)))
	workload.Spec.Release = 3
	decision := decide.Decide(workload, see(5, under(policy)), now)
	g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements("shop/web smoke: Observe Pending  "))
}

func TestDecideBakesNothingForACheckOfAPhase(t *testing.T) {
	g := NewWithT(t)
	for phase, opened := range map[string]OmegaMatcher{"Before": Not(BeEmpty()), "After": Not(BeEmpty()), "During": BeEmpty(), "": BeEmpty()} {
		policy := checking("web", "Enforce", made(phase), baking(300))
		first := decide.Decide(newWorkload(), see(5, under(policy), finished(realPods(1, 5))), now)
		g.Expect(first.Batches).To(opened, phase)
	}
}

func TestDecideTellsOfTheWaitForAPhaseOnce(t *testing.T) {
	g := NewWithT(t)
	asking, waiting := newWorkload(), newWorkload()
	asking.Status.Checks = []appv1alpha1.CheckResult{phased("Before", "Pending", "", "", now.Add(time.Minute))}
	waiting.Status.Checks = []appv1alpha1.CheckResult{phased("Before", "Pending", "CheckFailed", "", now.Add(time.Minute))}
	g.Expect(decide.BeganToHold(newWorkload(), asking, &asking.Status.Checks[0])).To(BeFalse(), "it may pass at once")
	g.Expect(decide.BeganToHold(asking, waiting, &waiting.Status.Checks[0])).To(BeTrue())
	g.Expect(decide.BeganToHold(waiting, waiting, &waiting.Status.Checks[0])).To(BeFalse())
}

// What each type finds of the present.
func TestDecideAsksEachTypeOfCheckInAPhase(t *testing.T) {
	id := decide.CheckID{Policy: "shop/web", Name: "own"}
	moments := []time.Time{now.Add(-30 * time.Second), now}
	alerts := func(labels map[string]string, values ...float64) seenOption {
		return func(seen *decide.Observation) {
			seen.Verification.Readings = map[decide.CheckID]measure.Readings{id: {
				Moments: moments, NamespaceLabel: "namespace", PodLabel: "pod", Answers: [][]measure.Series{{{Labels: labels, Values: values}}},
			}}
		}
	}
	fails := func(reason, message string) seenOption {
		return func(seen *decide.Observation) {
			seen.Verification.Readings = map[decide.CheckID]measure.Readings{id: {Reason: reason, Message: message}}
		}
	}
	away, throttled := fails("SourceUnavailable", "it is away"), fails("SourceThrottled", "too many")
	answers := func(answer plugin.Answer) seenOption {
		return func(seen *decide.Observation) {
			seen.Verification.Answers = map[decide.CheckID]plugin.Answer{id: answer}
		}
	}
	typed := func(check appv1alpha1.VerificationCheck) policyOption {
		return func(policy *appv1alpha1.VerificationPolicy) {
			check.Name = "own"
			policy.Spec.Checks = []appv1alpha1.VerificationCheck{check}
		}
	}
	alert := typed(appv1alpha1.VerificationCheck{Type: "Alerts", Alerts: &appv1alpha1.AlertsCheck{}})
	strict := typed(appv1alpha1.VerificationCheck{Type: "Alerts", OnError: "Fail", Alerts: &appv1alpha1.AlertsCheck{}})
	query := typed(appv1alpha1.VerificationCheck{Type: "Query", Query: &appv1alpha1.QueryCheck{Max: "2", Consecutive: 3}})
	job := typed(appv1alpha1.VerificationCheck{Type: "Job", OnError: "Fail", Job: &appv1alpha1.JobCheck{}})
	old := func(seen *decide.Observation) { seen.Verification.Pods.Old = []checks.Pod{{Name: "old", Ready: true}} }
	firing := map[string]string{"alertname": "Down", "alertstate": "firing"}
	for _, row := range []struct {
		name, phase string
		option      policyOption
		seen        []seenOption
		check       string
	}{
		{"an alert that fires since before", "Before", alert, []seenOption{alerts(firing, 1, 1)}, "Pending CheckFailed alert Down fires"},
		{"an alert that is over", "Before", alert, []seenOption{alerts(firing, 1, measure.None(moments)[0])}, "Pass CheckPassed no alert fires"},
		{"an alert that fires since before, afterwards", "After", alert, []seenOption{alerts(firing, 1, 1)}, "Pass CheckPassed no alert fires that didn't before"},
		{"a source that is away", "Before", alert, []seenOption{away}, "Pending SourceUnavailable it is away"},
		{"a source that is away where an error fails", "Before", strict, []seenOption{away}, "Fail SourceUnavailable it is away"},
		{"a source that is asked too much", "Before", strict, []seenOption{throttled}, "Pending SourceThrottled too many"},
		{"a source that is asked too much, afterwards", "After", strict, []seenOption{throttled}, "Pending SourceThrottled too many"},
		{"a value beyond its limit", "Before", query, []seenOption{alerts(nil, 1, 3)}, "Pending CheckFailed 3 is above 2"},
		{"a value within its limits", "Before", query, []seenOption{alerts(nil, 3, 2)}, "Pass CheckPassed 2"},
		{"values within their limits", "After", query, []seenOption{alerts(nil, 3, 2)}, "Pass CheckPassed 2 at the last of 2 looks"},
		{"a value beyond its limit, afterwards", "After", query, []seenOption{alerts(nil, 1, 3)}, "Pending InProgress 3 is above 2 in 1 of 3 looks running"},
		{"a rule of old pods that holds", "Before", by("oldPods.all(p, p.ready)"), []seenOption{old}, "Pass CheckPassed "},
		{"a rule of old pods that doesn't", "Before", by("oldPods.size() == 0"), []seenOption{old}, "Pending CheckFailed the expression is false: oldPods.size() == 0"},
		{"a rule of new pods", "After", by("newPods.size() == 5"), nil, "Pass CheckPassed "},
		{"a rule of new pods that fails", "After", by("newPods.size() == 4"), nil, "Fail CheckFailed the expression is false: newPods.size() == 4"},
		{"a script that can't start yet", "After", job, []seenOption{answers(plugin.Broken("JobNotStarted", "unschedulable"))}, "Pending JobNotStarted unschedulable"},
		{"a script that didn't start", "After", job, []seenOption{answers(plugin.Answer{Verdict: "Inconclusive", Reason: "JobNotStarted", Message: "unschedulable", Broken: true, Final: true})},
			"Fail JobNotStarted unschedulable"},
		{"a script that runs", "After", job, []seenOption{answers(plugin.Answer{Verdict: "Inconclusive", Reason: "JobRunning", Message: "not finished yet"})}, "Pending JobRunning not finished yet"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Enforce", row.option, made(row.phase))
			paced, batches := []workloadOption{atStep(0, 0, "AwaitingCheck")}, noNewPods
			if row.phase == "After" {
				paced, batches = []workloadOption{stored("Running", "Unknown", "AwaitingCheck")}, ran(1, 5)
			}
			pending := appv1alpha1.CheckResult{Policy: "shop/web", Name: "own", Type: policy.Spec.Checks[0].Type, Mode: "Enforce", Phase: appv1alpha1.CheckPhase(row.phase), Verdict: "Pending"}
			workload := newWorkload(append(paced, begunWith(t, policies(policy)), func(workload *appv1alpha1.ChangeWorkload) {
				workload.Status.Checks = []appv1alpha1.CheckResult{pending}
			})...)
			seen := see(5, under(policy), compiling(t), batches)
			if row.phase == "Before" {
				inSteps("Gates")(&seen)
			}
			for _, option := range row.seen {
				option(&seen)
			}
			result := decide.Decide(workload, seen, now).Status.Checks[0]
			g.Expect(string(result.Verdict) + " " + result.Reason + " " + result.Message).To(Equal(row.check))
			if hasLooks := policy.Spec.Checks[0].Rule == nil; hasLooks {
				asked, questions := decide.AskedChecks(workload, seen.Verification.Pods, now), decide.Questions(workload, seen.Verification.Pods, now)
				g.Expect(len(asked) + len(questions)).To(Equal(1))
				g.Expect(len(asked) > 0 && asked[0].Ended).To(BeFalse())
				present := row.phase == "Before" || policy.Spec.Checks[0].Type == "Query"
				g.Expect(len(asked) == 0 || asked[0].Present == present).To(BeTrue())
			}
		})
	}
}
