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
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// awaitingSmoke has a policy wait for a condition, for a minute after a bake of 30 seconds.
func awaitingSmoke(onTimeout string) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.BakeSeconds, policy.Spec.IntervalSeconds = 30, 15
		policy.Spec.Checks = []appv1alpha1.VerificationCheck{{
			Name: "smoke", Type: "Condition", Condition: &appv1alpha1.ConditionCheck{Kind: "SmokeTest", Name: "smoke", Type: "Passed"},
			OnInconclusive: "Hold", TimeoutSeconds: 60, OnTimeout: appv1alpha1.CheckFallback(onTimeout),
		}}
	}
}

func onError(fallback string) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.Checks[0].OnError = appv1alpha1.CheckFallback(fallback)
	}
}

// smoked is the result of the check that is awaited.
func smoked(verdict, reason, message string, held, cleared time.Time) appv1alpha1.CheckResult {
	return appv1alpha1.CheckResult{
		Policy: "shop/web", Name: "smoke", Type: "Condition", Mode: "Enforce", Verdict: appv1alpha1.CheckVerdict(verdict), Reason: reason, Message: message,
		HeldUntil: decide.StoredTime(held), ClearedTime: decide.StoredTime(cleared),
	}
}

// says has the condition say something.
func says(answer plugin.Answer) seenOption {
	return func(seen *decide.Observation) {
		seen.Verification.Answers = map[decide.CheckID]plugin.Answer{{Policy: "shop/web", Name: "smoke"}: answer}
	}
}

// waitsSince is a batch that was opened so many seconds ago and isn't done.
func waitsSince(seconds int) seenOption {
	return func(seen *decide.Observation) {
		finished(realPods(1, 2))(seen)
		batches(newBatch(realPods(1, 2), openedAt(now.Add(time.Duration(-seconds)*time.Second)), func(batch *appv1alpha1.ChangePod) {
			batch.Status.Status = "PostWait"
		}))(seen)
	}
}

var (
	unknown = plugin.Answer{Verdict: "Inconclusive", Reason: "ConditionUnknown", Message: "SmokeTest smoke: Passed is Unknown"}
	isAway  = plugin.Answer{Verdict: "Inconclusive", Reason: "ReadFailed", Message: "it is away", Broken: true}
	isBusy  = plugin.Answer{Verdict: "Inconclusive", Reason: "SourceThrottled", Message: "too many", Broken: true}
	isTrue  = plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "SmokeTest smoke: Passed is True"}
	isFalse = plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "SmokeTest smoke: Passed is False"}
)

func TestDecideHoldsBatchesWhileACheckCanNotTell(t *testing.T) {
	running := stored("Running", "Unknown", "Verifying")
	pass, fail := checking("web", "Enforce", awaitingSmoke("Pass")), checking("web", "Enforce", awaitingSmoke("Fail"))
	never := time.Time{}
	const isUnknown = "shop/web smoke: Enforce Inconclusive ConditionUnknown SmokeTest smoke: Passed is Unknown"
	const waits = "the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:01:00Z, then they pass: SmokeTest smoke: Passed is Unknown"
	const waiting = "waiting for pods or checking them: kubectl get changepods shows each batch"
	for _, row := range []struct {
		name          string
		policy        appv1alpha1.VerificationPolicy
		known         []appv1alpha1.CheckResult
		seen          []seenOption
		check         string
		held, cleared time.Time
		progress      string
		message       string
		wait          time.Duration
	}{
		{"as it is unknown at the end of the bake", pass, nil, []seenOption{says(unknown), waitsSince(30)},
			isUnknown, now.Add(time.Minute), never, "0/1, smoke holds", waits, 15 * time.Second},
		{"but not while the look is under way", pass, nil, []seenOption{lookIsUnderWay, waitsSince(30)},
			"shop/web smoke: Enforce Pending  ", never, never, "0/1", waiting, 15 * time.Second},
		{"as before while the next look is under way", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now.Add(40*time.Second), never)},
			[]seenOption{lookIsUnderWay, waitsSince(50)}, "shop/web smoke: Enforce Inconclusive ConditionUnknown before", now.Add(40 * time.Second), never,
			"0/1, smoke holds", "the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:00:40Z, then they pass: before", 15 * time.Second},
		{"until its time is over, also while a look is under way", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now, never)},
			[]seenOption{lookIsUnderWay, waitsSince(90)}, "shop/web smoke: Enforce Inconclusive HoldTimeout it could not tell within 60 seconds: before", now, never,
			"0/1", waiting, 0},
		{"although it passed before, but not while the next look is under way", pass, []appv1alpha1.CheckResult{smoked("Pass", "CheckPassed", "before", never, now.Add(-time.Second))},
			[]seenOption{lookIsUnderWay, waitsSince(30)}, "shop/web smoke: Enforce Pass CheckPassed before", never, now.Add(-time.Second), "1/1", waiting, 15 * time.Second},
		{"but not during the bake", pass, nil, []seenOption{says(unknown), waitsSince(20)},
			"shop/web smoke: Enforce Pending  ", never, never, "0/1", waiting, 10 * time.Second},
		{"as its object can't be read", pass, nil, []seenOption{says(isAway), waitsSince(30)},
			"shop/web smoke: Enforce Inconclusive ReadFailed it is away", now.Add(time.Minute), never, "0/1, smoke holds",
			"the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:01:00Z, then they pass: it is away", 15 * time.Second},
		{"but not for an error that passes", checking("web", "Enforce", awaitingSmoke("Pass"), onError("Pass")), nil, []seenOption{says(isAway), waitsSince(30)},
			"shop/web smoke: Enforce Inconclusive ReadFailed it is away", never, now, "0/1", waiting, 0},
		{"but not for an error that fails", checking("web", "Enforce", awaitingSmoke("Pass"), onError("Fail")), nil, []seenOption{says(isAway), waitsSince(30)},
			"shop/web smoke: Enforce Fail ReadFailed it is away; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5", never, now, "0/1, smoke Fail", "", 0},
		{"as it is asked too much, which is no error", checking("web", "Enforce", awaitingSmoke("Pass"), onError("Fail")), nil, []seenOption{says(isBusy), waitsSince(30)},
			"shop/web smoke: Enforce Inconclusive SourceThrottled too many", now.Add(time.Minute), never, "0/1, smoke holds",
			"the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:01:00Z, then they pass: too many", 15 * time.Second},
		{"as it is asked too much, until its time is over", checking("web", "Enforce", awaitingSmoke("Pass"), onError("Fail")),
			[]appv1alpha1.CheckResult{smoked("Inconclusive", "SourceThrottled", "before", now, never)}, []seenOption{says(isBusy), waitsSince(90)},
			"shop/web smoke: Enforce Inconclusive HoldTimeout it could not tell within 60 seconds: too many", now, never, "0/1", waiting, 0},
		{"but not if it passes", pass, nil, []seenOption{says(isTrue), waitsSince(30)},
			"shop/web smoke: Enforce Pass CheckPassed SmokeTest smoke: Passed is True", never, now, "1/1", waiting, 0},
		{"but not if it fails", pass, nil, []seenOption{says(isFalse), waitsSince(30)},
			"shop/web smoke: Enforce Fail CheckFailed SmokeTest smoke: Passed is False; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5", never, now, "0/1, smoke Fail", "", 0},
		{"until the same time at the next look", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now.Add(40*time.Second), never)},
			[]seenOption{says(unknown), waitsSince(50)}, "shop/web smoke: Enforce Inconclusive ConditionUnknown before", now.Add(40 * time.Second), never,
			"0/1, smoke holds", "the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:00:40Z, then they pass: before", 15 * time.Second},
		{"for another reason than before", fail, []appv1alpha1.CheckResult{smoked("Inconclusive", "ObjectMissing", "before", now.Add(4*time.Second), never)},
			[]seenOption{says(unknown), waitsSince(86)}, isUnknown, now.Add(4 * time.Second), never, "0/1, smoke holds",
			"the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:00:04Z, then they fail: SmokeTest smoke: Passed is Unknown", 4 * time.Second},
		{"until it can", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now.Add(40*time.Second), never)},
			[]seenOption{says(isTrue), waitsSince(50)}, "shop/web smoke: Enforce Pass CheckPassed SmokeTest smoke: Passed is True", never, now, "1/1", waiting, 0},
		{"until its time is over", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now, never)},
			[]seenOption{says(unknown), waitsSince(90)},
			"shop/web smoke: Enforce Inconclusive HoldTimeout it could not tell within 60 seconds: SmokeTest smoke: Passed is Unknown", now, never, "0/1", waiting, 0},
		{"until its time is over, and fails then", fail, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now, never)},
			[]seenOption{says(unknown), waitsSince(90)}, "shop/web smoke: Enforce Fail HoldTimeout it could not tell within 60 seconds: SmokeTest smoke: Passed is Unknown" +
				"; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5", now, never, "0/1, smoke Fail", "", 0},
		{"anew after its time was over while no leader was there", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now.Add(-10*time.Second), never)},
			[]seenOption{lookIsUnderWay, waitsSince(100), leadsFor(time.Second)}, "shop/web smoke: Enforce Inconclusive ConditionUnknown before", now.Add(time.Minute), never, "0/1, smoke holds",
			"the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:01:00Z, then they pass: before", 15 * time.Second},
		{"until its time is over since a leader is there", fail, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now, never)},
			[]seenOption{lookIsUnderWay, waitsSince(90), leadsFor(30 * time.Second)}, "shop/web smoke: Enforce Fail HoldTimeout it could not tell within 60 seconds: before" +
				"; sleep-1; sleep-2; sleep-3; sleep-4; sleep-5", now, never, "0/1, smoke Fail", "", 0},
		{"but not again after its time was over before a leader was there", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "HoldTimeout", "before", now.Add(-time.Hour), never)},
			[]seenOption{says(unknown), waitsSince(30), leadsFor(time.Second)}, "shop/web smoke: Enforce Inconclusive HoldTimeout before", now.Add(-time.Hour), never, "0/1", waiting, 0},
		{"but not again after its time was over", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "HoldTimeout", "before", now.Add(-time.Hour), never)},
			[]seenOption{says(unknown), waitsSince(30)}, "shop/web smoke: Enforce Inconclusive HoldTimeout before", now.Add(-time.Hour), never, "0/1", waiting, 0},
		{"although it passed before", pass, []appv1alpha1.CheckResult{smoked("Pass", "CheckPassed", "before", never, now.Add(-time.Second))},
			[]seenOption{says(unknown), waitsSince(30)}, isUnknown, now.Add(time.Minute), now.Add(-time.Second), "0/1, smoke holds", waits, 15 * time.Second},
		{"but not those that it let pass", pass, []appv1alpha1.CheckResult{smoked("Pass", "CheckPassed", "before", never, now)},
			[]seenOption{says(unknown), waitsSince(30)}, "shop/web smoke: Enforce Pass CheckPassed before", never, now, "1/1", waiting, 0},
		{"but not if it only warns", checking("web", "Enforce", awaitingSmoke("Pass"), checkMode("Warn")), nil, []seenOption{says(unknown), waitsSince(30)},
			"shop/web smoke: Warn Pending  ", never, never, "0/1", waiting, 0},
		{"but not without pods", pass, nil, []seenOption{says(unknown), waitsSince(30), func(seen *decide.Observation) { seen.Verification.Pods.New = nil }},
			isUnknown, never, now, "0/1", waiting, 0},
		{"but not those of a kind without pods that keep running", pass, nil, []seenOption{waitsSince(30), func(seen *decide.Observation) {
			seen.Verification.Pods = nil
		}}, "shop/web smoke: Enforce Skipped NoPods a Deployment has no pods that keep running", never, now, "0/1", waiting, 0},
		{"but not after the last one is done", pass, []appv1alpha1.CheckResult{smoked("Inconclusive", "ConditionUnknown", "before", now.Add(time.Minute), never)},
			[]seenOption{says(unknown), ran(1, 2)}, "shop/web smoke: Enforce Inconclusive ConditionUnknown before", never, never, "0/1", waiting, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(running, begun(policies(row.policy), row.known...), batchesOf(5), deadline(now.Add(time.Hour)))
			decision := decide.Decide(workload, see(5, append([]seenOption{under(row.policy)}, row.seen...)...), now)
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.check))
			result := decision.Status.Checks[0]
			g.Expect(result.HeldUntil).To(Equal(decide.StoredTime(row.held)))
			g.Expect(result.ClearedTime).To(Equal(decide.StoredTime(row.cleared)))
			g.Expect(decision.Status.Verification.Progress).To(Equal(row.progress))
			if row.message != "" {
				g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal(row.message))
			}
			if row.wait != 0 {
				g.Expect(decision.Wait).To(Equal(row.wait))
			}
			g.Expect(string(decision.Status.Status)).To(Equal(map[bool]string{true: "Suspend", false: "Running"}[result.Verdict == "Fail"]))
		})
	}
}

// A hold is shown once, not at every look.
func TestDecideWritesNothingWhileACheckHolds(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Pass"))
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)), batchesOf(5), deadline(now.Add(time.Hour)))
	seen := see(5, under(policy), waitsSince(30), says(unknown))
	workload.Status = decide.Decide(workload, seen, now).Status
	unknown := unknown
	unknown.Message = "SmokeTest smoke: Passed is Unknown, 2 of 3 steps"
	says(unknown)(&seen)
	g.Expect(decide.Decide(workload, seen, now.Add(15*time.Second)).WriteStatus).To(BeFalse())
}

func TestDecideEndsAHold(t *testing.T) {
	policy := checking("web", "Enforce", awaitingSmoke("Pass"))
	until := now.Add(time.Minute)
	for _, row := range []struct {
		name   string
		stored workloadOption
		seen   []seenOption
		held   *metav1.Time
	}{
		{"not of itself", stored("Running", "Unknown", "Verifying"), []seenOption{under(policy)}, decide.StoredTime(until)},
		{"of a release that was superseded", stored("Running", "Unknown", "Verifying"), []seenOption{under(policy), moved}, nil},
		{"of a namespace that left change control", stored("Running", "Unknown", "Verifying"), []seenOption{under(policy), optedOut}, nil},
		{"of a policy whose mode was lowered", stored("Running", "Unknown", "Verifying"), []seenOption{under(checking("web", "Warn", awaitingSmoke("Pass")))}, nil},
		{"of a suspended release", stored("Suspend", "False", "PodsFailed"), []seenOption{under(policy), func(seen *decide.Observation) {
			seen.Batches[0].Status.PodResults = []appv1alpha1.PodSummary{{Pod: "sleep-1", Verdict: "unpass"}}
		}}, nil},
		{"of a release that is verified as it has fewer replicas", stored("Running", "Unknown", "Verifying"), []seenOption{under(policy), func(seen *decide.Observation) {
			seen.Desired = 1
			passed(3, 3)(seen)
		}}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(row.stored, begun(policies(policy), smoked("Inconclusive", "ConditionUnknown", "before", until, time.Time{})), batchesOf(5))
			decision := decide.Decide(workload, see(5, append([]seenOption{waitsSince(40), says(unknown)}, row.seen...)...), now)
			g.Expect(decision.Status.Checks).To(HaveLen(1))
			g.Expect(decision.Status.Checks[0].HeldUntil).To(Equal(row.held))
			g.Expect(decision.WriteStatus).To(BeTrue())
		})
	}
	deleted := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy), smoked("Inconclusive", "ConditionUnknown", "before", until, time.Time{})))
	NewWithT(t).Expect(decide.Decide(deleted, see(5, waitsSince(40), under()), now).Status.Checks).To(BeEmpty())
}

// The health of pods and rules have no looks, and hold as well.
func TestDecideHoldsBatchesForChecksWithoutLooks(t *testing.T) {
	hold := func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.BakeSeconds, policy.Spec.IntervalSeconds = 30, 15
		check := &policy.Spec.Checks[0]
		check.OnInconclusive, check.TimeoutSeconds, check.OnTimeout = "Hold", 60, "Pass"
	}
	common := func(seen *decide.Observation) {
		seen.Verification.Pods.Others = map[appv1alpha1.PodSignal]int{"Restarts": 3}
	}
	health, ruled := checking("web", "Enforce", hold), checking("web", "Enforce", by("oldPods[0].ready"), hold)
	for _, row := range []struct {
		name    string
		policy  appv1alpha1.VerificationPolicy
		seen    []seenOption
		verdict string
		holds   bool
	}{
		{"with a common cause", health, []seenOption{crashing(2), common}, "Inconclusive CommonCause", true},
		{"that found nothing", health, nil, "Pass CheckPassed", false},
		{"that can't be evaluated", ruled, nil, "Inconclusive EvaluationError", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begunWith(t, policies(row.policy)), batchesOf(5), deadline(now.Add(time.Hour)))
			decision := decide.Decide(workload, see(5, append([]seenOption{under(row.policy), compiling(t), waitsSince(30)}, row.seen...)...), now)
			result := decision.Status.Checks[0]
			g.Expect(string(result.Verdict) + " " + result.Reason).To(Equal(row.verdict))
			g.Expect(result.HeldUntil != nil).To(Equal(row.holds))
			g.Expect(result.ClearedTime != nil).To(Equal(!row.holds))
			if row.holds {
				g.Expect(decision.Wait).To(Equal(15 * time.Second))
			}
		})
	}
}

// One look is no verdict of a check that fails by three.
func TestDecideHoldsBatchesWhileTheLastLookDoesNotPass(t *testing.T) {
	for _, row := range []struct {
		last    float64
		verdict string
		holds   bool
	}{
		{1, "Pass CheckPassed 1 at the last of 2 looks", false},
		{3, "Inconclusive InProgress 3 is above 2 in 1 of 3 looks running", true},
	} {
		g := NewWithT(t)
		policy := checking("web", "Enforce", awaitingSmoke("Pass"), func(policy *appv1alpha1.VerificationPolicy) {
			check := &policy.Spec.Checks[0]
			check.Type, check.Condition, check.Query = "Query", nil, &appv1alpha1.QueryCheck{Max: "2", Consecutive: 3}
		})
		workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)), batchesOf(5), deadline(now.Add(time.Hour)))
		seen := see(5, under(policy), waitsSince(30))
		seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "smoke"}: {
			Moments: []time.Time{now.Add(-15 * time.Second), now}, Answers: [][]measure.Series{{{Values: []float64{1, row.last}}}},
		}}
		result := decide.Decide(workload, seen, now).Status.Checks[0]
		g.Expect(string(result.Verdict) + " " + result.Reason + " " + result.Message).To(Equal(row.verdict))
		g.Expect(result.HeldUntil != nil).To(Equal(row.holds))
		g.Expect(result.ClearedTime != nil).To(Equal(!row.holds))
	}
}

// A script that hasn't ended may yet start, and fail.
func TestDecideHoldsBatchesForAScriptThatHasNotStarted(t *testing.T) {
	unschedulable := plugin.Answer{Verdict: "Inconclusive", Reason: "JobNotStarted", Message: "unschedulable", Broken: true}
	interrupted := plugin.Answer{Verdict: "Inconclusive", Reason: "JobInterrupted", Message: "evicted", Broken: true, Final: true}
	runs := func(policy *appv1alpha1.VerificationPolicy) {
		check := &policy.Spec.Checks[0]
		check.Type, check.Condition, check.Job = "Job", nil, &appv1alpha1.JobCheck{}
	}
	for _, row := range []struct {
		onError string
		answer  plugin.Answer
		verdict string
		holds   bool
		asked   int
	}{
		{"Pass", unschedulable, "Inconclusive JobNotStarted", true, 1},
		{"Fail", unschedulable, "Inconclusive JobNotStarted", true, 1},
		{"Pass", interrupted, "Inconclusive JobInterrupted", false, 0},
		{"Fail", interrupted, "Fail JobInterrupted", false, 0},
	} {
		t.Run(row.onError+" "+row.answer.Reason, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Enforce", awaitingSmoke("Pass"), runs, onError(row.onError))
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)), batchesOf(5), deadline(now.Add(time.Hour)))
			seen := see(5, under(policy), waitsSince(30), says(row.answer))
			workload.Status = decide.Decide(workload, seen, now).Status
			result := workload.Status.Checks[0]
			g.Expect(string(result.Verdict) + " " + result.Reason).To(Equal(row.verdict))
			g.Expect(result.HeldUntil != nil).To(Equal(row.holds))
			g.Expect(decide.Questions(workload, seen.Verification.Pods, now)).To(HaveLen(row.asked))
		})
	}
}

// What told once is not asked about further batches, so they must not wait for another answer.
func TestDecideLetsFurtherBatchesPassByTheOnlyVerdictOfACheck(t *testing.T) {
	script := func(policy *appv1alpha1.VerificationPolicy) {
		check := &policy.Spec.Checks[0]
		check.Type, check.Condition, check.Job = "Job", nil, &appv1alpha1.JobCheck{}
	}
	reports := func(policy *appv1alpha1.VerificationPolicy) {
		check := &policy.Spec.Checks[0]
		check.Type, check.Condition, check.HTTP = "HTTP", nil, &appv1alpha1.HTTPCheck{Answer: "Asynchronous"}
	}
	for name, row := range map[string]struct {
		policy policyOption
		answer plugin.Answer
		check  string
	}{
		"of a script that passed":             {script, plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "exit code 0", Final: true}, "shop/web smoke: Enforce Pass CheckPassed exit code 0"},
		"of a script that can't be run":       {script, plugin.Answer{Verdict: "Inconclusive", Reason: "JobInterrupted", Message: "evicted", Broken: true, Final: true}, "shop/web smoke: Enforce Inconclusive JobInterrupted evicted"},
		"of a plug-in that reported its pass": {reports, plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "no drift", Final: true}, "shop/web smoke: Enforce Pass CheckPassed no drift"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Enforce", awaitingSmoke("Pass"), row.policy, onError("Pass"))
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)), batchesOf(5), deadline(now.Add(time.Hour)))
			workload.Status = decide.Decide(workload, see(5, under(policy), waitsSince(30), says(row.answer)), now).Status
			g.Expect(toldChecks(workload.Status.Checks)).To(HaveExactElements(row.check))
			later := see(5, under(policy), waitsSince(20))
			g.Expect(decide.Questions(workload, later.Verification.Pods, now.Add(10*time.Second))).To(BeEmpty())
			workload.Status = decide.Decide(workload, later, now.Add(10*time.Second)).Status
			g.Expect(toldChecks(workload.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(workload.Status.Checks[0].HeldUntil).To(BeNil())
			g.Expect(workload.Status.Checks[0].ClearedTime).To(Equal(decide.StoredTime(now.Add(10 * time.Second))))
		})
	}
}

// A script that could not tell before the end of a bake is asked about again: what it says at its end would be lost otherwise.
func TestDecideAsksForTheEndOfAScriptAgainWhilePodsMayWaitForIt(t *testing.T) {
	const isLate, isInterrupted = "shop/web smoke: Enforce Inconclusive JobTimedOut late", "shop/web smoke: Enforce Inconclusive JobInterrupted evicted"
	script := func(policy *appv1alpha1.VerificationPolicy) {
		check := &policy.Spec.Checks[0]
		check.Type, check.Condition, check.Job = "Job", nil, &appv1alpha1.JobCheck{}
	}
	for _, row := range []struct {
		answer plugin.Answer
		mode   string
		check  string
		asked  int
		holds  bool
	}{
		{plugin.Answer{Verdict: "Inconclusive", Reason: "JobTimedOut", Message: "late", Final: true}, "Enforce", isLate, 1, true},
		{plugin.Answer{Verdict: "Inconclusive", Reason: "JobInterrupted", Message: "evicted", Broken: true, Final: true}, "Enforce", isInterrupted, 1, false},
		{plugin.Answer{Verdict: "Inconclusive", Reason: "JobTimedOut", Message: "late", Final: true}, "Observe", "shop/web smoke: Observe Inconclusive JobTimedOut late", 0, false},
	} {
		t.Run(row.mode+" "+row.answer.Reason, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", row.mode, awaitingSmoke("Pass"), script, onError("Pass"))
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)), batchesOf(5), deadline(now.Add(time.Hour)))
			seen, baked := see(5, under(policy), waitsSince(20), says(row.answer)), now.Add(10*time.Second)
			workload.Status = decide.Decide(workload, seen, now).Status
			g.Expect(toldChecks(workload.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(decide.Questions(workload, seen.Verification.Pods, baked)).To(HaveLen(row.asked))
			if row.asked == 0 {
				seen.Verification.Answers = nil
			}
			workload.Status = decide.Decide(workload, seen, baked).Status
			g.Expect(toldChecks(workload.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(workload.Status.Checks[0].HeldUntil != nil).To(Equal(row.holds))
		})
	}
}

// A plug-in that can't be asked at the end of a bake may yet report, for the time of the policy.
func TestDecideAwaitsTheVerdictOnPodsThatPassedWithoutIt(t *testing.T) {
	reports := func(policy *appv1alpha1.VerificationPolicy) {
		check := &policy.Spec.Checks[0]
		check.Type, check.Condition, check.HTTP = "HTTP", nil, &appv1alpha1.HTTPCheck{Answer: "Asynchronous"}
	}
	policy := checking("web", "Enforce", awaitingSmoke("Pass"), reports, onError("Pass"))
	for name, known := range map[string][]appv1alpha1.CheckResult{
		"at once":       nil,
		"after a while": {smoked("Inconclusive", "NoVerdict", "no verdict was reported", now.Add(40*time.Second), time.Time{})},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy), known...), batchesOf(5), deadline(now.Add(time.Hour)))
			seen := see(5, under(policy), waitsSince(30), says(plugin.Broken("SourceUnavailable", "HTTP 500")))
			workload.Status = decide.Decide(workload, seen, now).Status
			g.Expect(workload.Status.Checks[0].HeldUntil).To(BeNil())
			g.Expect(workload.Status.Checks[0].ClearedTime).To(Equal(decide.StoredTime(now)), "the pods pass")
			g.Expect(decide.Questions(workload, seen.Verification.Pods, now.Add(time.Minute))).To(HaveLen(1))
			says(plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "drift", Final: true})(&seen)
			g.Expect(string(decide.Decide(workload, seen, now.Add(time.Minute)).Status.Status)).To(Equal("Suspend"))
		})
	}
}

func TestDecideSaysWhatAReleaseInStepsWaitsFor(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Fail"))
	workload := newWorkload(stored("Running", "Unknown", "Paced"), begun(policies(policy)), atStep(1, 2, "StepRunning"))
	seen := see(5, under(policy), waitsSince(30), says(unknown), inSteps("Pause"))
	decision := decide.Decide(workload, seen, now)
	g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(HavePrefix("the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:01:00Z, then they fail: "))
}

func TestAdvanceChangePodHoldsABatchAfterItsBake(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Pass"))
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
	batch := newBatch(realPods(1, 2), openedAt(now))
	advance := func(at time.Time) {
		batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, verifier.State{}), decide.CheckAnswer{}, at)
	}
	advance(now)
	before := batch.Status
	baked := now.Add(30 * time.Second)
	advance(baked)
	g.Expect(batch.Status).To(Equal(before), "nothing is written until the check was made")
	g.Expect(decide.CheckWait(&batch, baked)).To(Equal(5 * time.Second))

	workload.Status.Checks[0] = smoked("Inconclusive", "ConditionUnknown", "Passed is Unknown", baked.Add(time.Minute), time.Time{})
	advance(baked)
	g.Expect(string(batch.Status.Status)).To(Equal("PostWait"))
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is Unknown: AwaitingCheck"))
	g.Expect(messageOf(batch.Status.Conditions, "Verified")).To(Equal(
		"the pods wait for check smoke of VerificationPolicy shop/web until 2026-11-21T10:01:30Z, then they pass: Passed is Unknown"))
	g.Expect(decide.CheckWait(&batch, baked)).To(Equal(time.Minute))
	before = batch.Status
	advance(baked.Add(59 * time.Second))
	g.Expect(batch.Status).To(Equal(before), "nothing is written meanwhile")
	advance(baked.Add(time.Minute))
	g.Expect(batch.Status.Message).To(Equal("PostFinish"))
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is True: PodsPassed"))
}

// A batch that doesn't bake waits as well.
func TestAdvanceChangePodHoldsABatchWithoutABake(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Pass"), baking(0))
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
	batch := newBatch(realPods(1, 2), openedAt(now))
	advance := func() string {
		batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, verifier.State{}), decide.CheckAnswer{}, now)
		return string(batch.Status.Status)
	}
	g.Expect(advance()).To(BeEmpty())
	workload.Status.Checks[0] = smoked("Inconclusive", "ConditionUnknown", "Passed is Unknown", now.Add(time.Minute), time.Time{})
	g.Expect(advance()).To(Equal("PostWait"))
	workload.Status.Checks[0] = smoked("Pass", "CheckPassed", "", time.Time{}, now)
	g.Expect(advance()).To(Equal("ExecuteDone"))

	begins := see(5, under(policy), finished(realPods(1, 2)))
	g.Expect(decide.Decide(newWorkload(), begins, now).Batches).To(BeEmpty(), "before the status has the policies")
	g.Expect(decide.Decide(newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy))), begins, now).Batches).To(HaveLen(2))
}

func TestAdvanceChangePodEndsAHold(t *testing.T) {
	until := now.Add(time.Minute)
	unknown, never := smoked("Inconclusive", "ConditionUnknown", "Passed is Unknown", until, time.Time{}), time.Time{}
	running := stored("Running", "Unknown", "Verifying")
	for _, row := range []struct {
		name      string
		stored    workloadOption
		onTimeout string
		result    appv1alpha1.CheckResult
		at        time.Time
		holds     bool
	}{
		{"not before its end", running, "Pass", unknown, until.Add(-time.Second), true},
		{"at its end", running, "Pass", unknown, until, false},
		{"at its end not before the check failed", running, "Fail", unknown, until, true},
		{"once the check failed", running, "Fail", smoked("Fail", "HoldTimeout", "", until, never), until, false},
		{"once the check let pods pass", running, "Pass", smoked("Pass", "CheckPassed", "", never, now), now, false},
		{"not for pods that came later", running, "Pass", smoked("Pass", "CheckPassed", "", never, now.Add(-time.Second)), now, true},
		{"of a suspended release", stored("Suspend", "False", "PodsFailed"), "Pass", unknown, now, false},
		{"of a refused release", stored("Failed", "False", "OrderRefused"), "Pass", unknown, now, false},
		{"of a verified release", stored("Success", "True", "AllPodsPassed"), "Pass", unknown, now, false},
		{"not of a release without replicas", stored("Success", "Unknown", "NoReplicas"), "Pass", unknown, now, true},
		{"of a superseded release", stored("Running", "Unknown", "Superseded"), "Pass", unknown, now, false},
		{"of a namespace that left change control", stored("Running", "Unknown", "NamespaceOptedOut"), "Pass", unknown, now, false},
		{"of a kind that is not enforced", stored("Running", "Unknown", "KindNotEnforced"), "Pass", unknown, now, false},
		{"of a version that is released again", func(workload *appv1alpha1.ChangeWorkload) { running(workload); workload.Spec.Release = 2 }, "Pass", unknown, now, false},
		{"of a check that only warns now", func(workload *appv1alpha1.ChangeWorkload) {
			running(workload)
			workload.Status.Verification.Policies[0].Checks[0].Mode = "Warn"
		}, "Pass", unknown, now, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Enforce", awaitingSmoke(row.onTimeout))
			workload := newWorkload(begun(policies(policy), row.result), row.stored)
			batch := newBatch(realPods(1, 2), openedAt(now.Add(-30*time.Second)))
			status := decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, verifier.State{}), decide.CheckAnswer{}, row.at)
			g.Expect(string(status.Status)).To(Equal(map[bool]string{true: string(batchStatus(row.result)), false: "ExecuteDone"}[row.holds]))
		})
	}
}

// Only its release knows whether a hold whose time was over while no leader was there begins anew.
func TestAdvanceChangePodHoldsABatchUntilItsReleaseEndsAHoldThatNobodyAttended(t *testing.T) {
	until := now.Add(-time.Second)
	unknown, late := smoked("Inconclusive", "ConditionUnknown", "Passed is Unknown", until, time.Time{}), smoked("Inconclusive", "HoldTimeout", "it could not tell", until, time.Time{})
	for _, row := range []struct {
		name   string
		result appv1alpha1.CheckResult
		leads  time.Duration
		state  string
	}{
		{"that was over before", unknown, 0, "PostWait"},
		{"that was over right after", unknown, 30 * time.Second, "PostWait"},
		{"but not one that was over since", unknown, 31 * time.Second, "ExecuteDone"},
		{"but not one that timed out", late, 0, "ExecuteDone"},
	} {
		t.Run(row.name, func(t *testing.T) {
			workload := newWorkload(begun(policies(checking("web", "Enforce", awaitingSmoke("Pass"))), row.result), stored("Running", "Unknown", "Verifying"))
			batch := newBatch(realPods(1, 2), openedAt(now.Add(-90*time.Second)))
			facts := decide.FactsOf(workload, &batch, verifier.State{})
			facts.Since = now.Add(-row.leads)
			NewWithT(t).Expect(string(decide.AdvanceChangePod(&batch, facts, decide.CheckAnswer{}, now).Status)).To(Equal(row.state))
		})
	}
}

// batchStatus is the phase of a batch that a check holds: its first one until the check was made.
func batchStatus(result appv1alpha1.CheckResult) appv1alpha1.ChangePodPhase {
	if result.HeldUntil == nil {
		return ""
	}
	return "PostWait"
}

func TestNextCallWaitsForACheckThatHoldsABatch(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", awaitingSmoke("Pass"))
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), orderIn("Open", 1), begun(policies(policy)))
	batch := newBatch(realPods(1, 2), openedAt(now.Add(-30*time.Second)), func(batch *appv1alpha1.ChangePod) {
		batch.Status = appv1alpha1.ChangePodStatus{Status: "PostWait", ChangePodID: "7", Deadline: &metav1.Time{Time: now}}
	})
	call := func(at time.Time) string {
		return string(decide.NextCall(&batch, decide.FactsOf(workload, &batch, aServer()), at))
	}
	advance := func(answer decide.CheckAnswer, at time.Time) string {
		batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, aServer()), answer, at)
		return told(batch.Status.Conditions, "Verified")
	}
	g.Expect(call(now)).To(BeEmpty())
	workload.Status.Checks[0] = smoked("Inconclusive", "ConditionUnknown", "Passed is Unknown", now.Add(time.Minute), time.Time{})
	g.Expect(call(now)).To(BeEmpty())
	g.Expect(advance(decide.CheckAnswer{}, now)).To(Equal("Verified is Unknown: AwaitingCheck"))
	g.Expect(decide.CheckWait(&batch, now)).To(Equal(time.Minute))

	told := now.Add(10 * time.Second)
	workload.Status.Checks[0] = smoked("Pass", "CheckPassed", "", time.Time{}, told)
	g.Expect(call(told)).To(Equal("finish"))
	refused := decide.CheckAnswer{Call: "finish", Err: errors.Join(verifier.ErrNotYet, errors.New("busy"))}
	g.Expect(advance(refused, told)).To(Equal("Verified is Unknown: Verifying"))
	g.Expect(batch.Status.Deadline.Time).To(BeTemporally("==", told.Add(2*time.Minute)), "the server has its full time")
	g.Expect(advance(refused, told.Add(time.Second))).To(Equal("Verified is Unknown: Verifying"))
	g.Expect(batch.Status.Deadline.Time).To(BeTemporally("==", told.Add(2*time.Minute)), "once")
	g.Expect(call(told)).To(Equal("finish"))
	g.Expect(advance(decide.CheckAnswer{Call: "finish"}, told)).To(Equal("Verified is Unknown: Verifying"))
	g.Expect(string(batch.Status.Status)).To(Equal("PostSubmitted"))
}

func TestBeganToHoldAndHoldTimedOut(t *testing.T) {
	never := time.Time{}
	holds := smoked("Inconclusive", "ConditionUnknown", "", now.Add(time.Minute), never)
	over := smoked("Inconclusive", "HoldTimeout", "", now, never)
	of := func(release int64, results ...appv1alpha1.CheckResult) *appv1alpha1.ChangeWorkload {
		workload := newWorkload()
		workload.Status.ObservedRelease, workload.Status.Checks = release, results
		return workload
	}
	for name, row := range map[string]struct {
		before      *appv1alpha1.ChangeWorkload
		result      appv1alpha1.CheckResult
		began, over bool
	}{
		"it began":                        {of(1, smoked("Pending", "", "", never, never)), holds, true, false},
		"it goes on":                      {of(1, holds), holds, false, false},
		"it began in another release":     {of(2, holds), holds, true, false},
		"its time is over":                {of(1, holds), over, false, true},
		"its time was over":               {of(1, over), over, false, false},
		"its time is over, and it failed": {of(1, holds), smoked("Fail", "HoldTimeout", "", now, never), false, true},
		"it can tell":                     {of(1, holds), smoked("Pass", "CheckPassed", "", never, now), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(decide.BeganToHold(row.before, of(1, row.result), &row.result)).To(Equal(row.began))
			g.Expect(decide.HoldTimedOut(row.before, of(1, row.result), &row.result)).To(Equal(row.over))
		})
	}
}
