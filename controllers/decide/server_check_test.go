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
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// ofServer has a policy judge the verdicts of the server instead of the health of pods.
func ofServer(policy *appv1alpha1.VerificationPolicy) {
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "server", Type: "Server"}}
}

func onInconclusive(then string) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.Checks[0].OnInconclusive = appv1alpha1.InconclusiveFallback(then)
	}
}

func serverCheck(batch *appv1alpha1.ChangePod) { batch.Spec.ServerCheck = true }

// judgedBatch is a batch whose verdicts checks judge.
func judgedBatch(from, to int, options ...batchOption) appv1alpha1.ChangePod {
	return newBatch(realPods(from, to), append([]batchOption{serverCheck}, options...)...)
}

// judgedOrder is the same for the order.
func judgedOrder(options ...batchOption) appv1alpha1.ChangePod {
	return newBatch(nil, append([]batchOption{serverCheck, func(batch *appv1alpha1.ChangePod) { batch.Namespace, batch.Spec.Order = "default", true }}, options...)...)
}

// hearing applies a verdict.
func hearing(stage, outcome string) batchOption {
	return func(batch *appv1alpha1.ChangePod) {
		batch.Status, _ = decide.ApplyVerdict(batch, verifier.Delivery{CheckID: "node-1", Stage: appv1alpha1.CheckStage(stage), Verdict: verifier.Verdict{
			Outcome: verifier.Outcome(outcome), Reason: "error rate: 5xx above 1%",
		}}, now)
	}
}

// missing ends a batch without a verdict.
func missing(phase, reason, message string) batchOption {
	return func(batch *appv1alpha1.ChangePod) {
		doneWith(phase)(batch)
		batch.Status.Conditions = []metav1.Condition{{Type: "Verified", Status: "True", Reason: reason, Message: message}}
	}
}

func served(seen *decide.Observation)       { seen.Verifier = aServer() }
func servedClosed(seen *decide.Observation) { served(seen); seen.Verifier.FailClosed = true }

func verdictsOf(results []appv1alpha1.PodSummary) []string {
	verdicts := []string{}
	for _, result := range results {
		verdicts = append(verdicts, result.Pod+" "+string(result.Verdict)+" "+result.Message)
	}
	return verdicts
}

func TestApplyVerdictLeavesABadOneToTheChecks(t *testing.T) {
	const failed = "unpass error rate: 5xx above 1%"
	fails, passes := []string{"sleep-1 " + failed, "sleep-2 " + failed}, []string{"sleep-1 pass ", "sleep-2 pass "}
	const byChecks = "a bad verdict of AlterShield Server, in serverResults, fails nothing by the checks of VerificationPolicies"
	for name, row := range map[string]struct {
		batch                 appv1alpha1.ChangePod
		phase, verified       string
		message               string
		results, serverResult []string
	}{
		"a pass before the batch": {judgedBatch(1, 2, in("PreSubmitted"), hearing("PRE", "pass")), "PostWait ", "Verified is Unknown: Verifying",
			"the batch is about to be checked", []string{}, []string{}},
		"a fail before the batch, which goes on": {judgedBatch(1, 2, in("PreSubmitted"), hearing("PRE", "fail")), "PostWait ", "Verified is Unknown: Verifying",
			"the batch is about to be checked", []string{}, fails},
		"a fail before the batch that comes late": {judgedBatch(1, 2, missing("PreTimeout", "CheckTimeout", "no verdict"), hearing("PRE", "fail")),
			"ExecuteDone PreFailed", "Verified is True: CheckTimeout", "no verdict", passes, fails},
		"a pass after the batch": {judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "pass")), "ExecuteDone PostFinish", "Verified is True: PodsPassed",
			"no pod failed", passes, passes},
		"a fail after the batch": {judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "fail")), "ExecuteDone PostFinish", "Verified is True: PodsPassed",
			byChecks, passes, fails},
		"a fail before the batch and a pass after it": {judgedBatch(1, 2, in("PreSubmitted"), hearing("PRE", "fail"), hearing("POST", "pass")),
			"ExecuteDone PostFinish", "Verified is True: PodsPassed", byChecks, passes, fails},
		"a pass after the batch of which a user failed a pod": {judgedBatch(1, 2, in("PostSubmitted"), result("sleep-2", "unpass", "seen by eye"), hearing("POST", "pass")),
			"ExecuteDone PostFinish", "Verified is False: PodsFailed", "pod sleep-2 failed its check: seen by eye", []string{"sleep-1 pass ", "sleep-2 unpass seen by eye"}, passes},
		"a fail of the order": {judgedOrder(in("PreSubmitted"), hearing("PRE", "fail")), "PostWait ", "Verified is Unknown: Verifying",
			"the check after the rollout follows its last step", []string{}, []string{"change order " + failed}},
		"a fail of the order after the last step": {judgedOrder(in("PostSubmitted"), hearing("POST", "fail")), "ExecuteDone PostFinish", "Verified is True: PodsPassed",
			byChecks, []string{"change order pass "}, []string{"change order " + failed}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status := row.batch.Status
			g.Expect(string(status.Status) + " " + status.Message).To(Equal(row.phase))
			g.Expect(told(status.Conditions, "Verified")).To(Equal(row.verified))
			g.Expect(messageOf(status.Conditions, "Verified")).To(Equal(row.message))
			g.Expect(verdictsOf(status.PodResults)).To(Equal(row.results))
			g.Expect(verdictsOf(status.ServerResults)).To(Equal(row.serverResult))
		})
	}
}

func TestAdvanceChangePodLeavesAMissedCheckToTheChecks(t *testing.T) {
	const timeout = "the check after the batch gave no verdict within 120 seconds"
	unjudged := func(facts *decide.CheckFacts) { facts.Unjudged = true }
	for name, row := range map[string]struct {
		batch    appv1alpha1.ChangePod
		facts    decide.CheckFacts
		call     string
		verified string
		message  string
		results  []string
	}{
		"no verdict":                         {judgedBatch(1, 1, in("PostSubmitted"), deadlineOver), checked(), "ask POST", "Verified is True: CheckTimeout", timeout, []string{}},
		"no verdict, and the policy is fail": {judgedBatch(1, 1, in("PostSubmitted"), deadlineOver), checked(failureFails), "ask POST", "Verified is True: CheckTimeout", timeout, []string{}},
		"checks that are switched off":       {judgedBatch(1, 1, in("PostWait")), checked(switchedOff), "", "Verified is True: CheckSwitchedOff", "AlterShield Server has switched its checks off", []string{}},
		"no server":                          {judgedBatch(1, 1), checked(unconfigured), "", "Verified is True: CheckNotConfigured", "no AlterShield Server is configured", []string{}},
		"no verdict, and no check is left":   {judgedBatch(1, 1, in("PostSubmitted"), deadlineOver), checked(unjudged), "ask POST", "Verified is True: CheckTimeout", timeout + ": the pods count as passed", []string{}},
		"no check is left, the policy is fail": {judgedBatch(1, 1, in("PostSubmitted"), deadlineOver), checked(unjudged, failureFails), "ask POST", "Verified is False: PodsFailed",
			"pod sleep-1 failed its check: not checked, and the failure policy is fail: " + timeout, []string{"sleep-1 unpass not checked, and the failure policy is fail: " + timeout}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status := decide.AdvanceChangePod(&row.batch, row.facts, decide.CheckAnswer{Call: decide.CheckCall(row.call)}, now)
			g.Expect(told(status.Conditions, "Verified")).To(Equal(row.verified))
			g.Expect(messageOf(status.Conditions, "Verified")).To(Equal(row.message))
			g.Expect(verdictsOf(status.PodResults)).To(Equal(row.results))
			g.Expect(status.ServerResults).To(BeEmpty())
		})
	}
}

func TestAdvanceChangePodHasBadVerdictsCountOnceNoCheckIsLeft(t *testing.T) {
	const failed = "unpass error rate: 5xx above 1%"
	byCheck := func(batch *appv1alpha1.ChangePod) {
		batch.Status.Checks = []appv1alpha1.CheckResult{{Policy: "shop/web", Name: "server", Type: "Server", Pods: []appv1alpha1.CheckedPod{{Pod: "sleep-1", UID: "sleep-1"}}}}
	}
	for name, row := range map[string]struct {
		batch    appv1alpha1.ChangePod
		unjudged bool
		results  []string
		kept     int
	}{
		"a check is left":          {judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "fail")), false, []string{"sleep-1 pass ", "sleep-2 pass "}, 2},
		"none is left":             {judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "fail")), true, []string{"sleep-1 " + failed, "sleep-2 " + failed}, 0},
		"none is left, all passed": {judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "pass")), true, []string{"sleep-1 pass ", "sleep-2 pass "}, 0},
		"none is left before the batch is done": {judgedBatch(1, 2, in("PreSubmitted"), hearing("PRE", "fail")), true,
			[]string{"sleep-1 " + failed, "sleep-2 " + failed}, 0},
		"a check failed a pod that a user let pass": {judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "fail"), byCheck), true,
			[]string{"sleep-1 pass ", "sleep-2 " + failed}, 0},
		"the order": {judgedOrder(in("PreSubmitted"), hearing("PRE", "fail")), true, []string{"change order " + failed}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			status := decide.AdvanceChangePod(&row.batch, checked(func(facts *decide.CheckFacts) { facts.Unjudged = row.unjudged }), decide.CheckAnswer{}, now)
			g.Expect(verdictsOf(status.PodResults)).To(Equal(row.results))
			g.Expect(status.ServerResults).To(HaveLen(row.kept))
		})
	}
}

func TestIsUnjudgedOnceThePolicyIsGone(t *testing.T) {
	policy := checking("web", "Observe", ofServer)
	batch, plain, later := judgedBatch(1, 1), newBatch(realPods(1, 1)), judgedBatch(1, 1, func(batch *appv1alpha1.ChangePod) { batch.Spec.Release = 2 })
	running := stored("Running", "Unknown", "Verifying")
	for name, row := range map[string]struct {
		workload *appv1alpha1.ChangeWorkload
		batch    appv1alpha1.ChangePod
		unjudged bool
	}{
		"a policy has such a check":             {newWorkload(running, begun(policies(policy))), batch, false},
		"the policy has other checks":           {newWorkload(running, begun(policies(checking("web", "Observe")))), batch, true},
		"no policy is left":                     {newWorkload(running), batch, true},
		"the batch was opened without policies": {newWorkload(running), plain, false},
		"the release has yet to be observed":    {newWorkload(running), later, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(decide.IsUnjudged(row.workload, &row.batch)).To(Equal(row.unjudged))
			g.Expect(decide.FactsOf(row.workload, &row.batch, aServer()).Unjudged).To(Equal(row.unjudged))
		})
	}
}

func TestDecideChecksAReleaseByTheVerdictsOfTheServer(t *testing.T) {
	const timeout = "the check after the batch gave no verdict within 120 seconds"
	passes := judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "pass"))
	rest := judgedBatch(3, 5, in("PostSubmitted"), hearing("POST", "pass"))
	fails := judgedBatch(3, 5, in("PostSubmitted"), hearing("POST", "fail"))
	one := judgedBatch(3, 3, in("PreSubmitted"), hearing("PRE", "fail"))
	late := judgedBatch(3, 5, missing("PostTimeout", "CheckTimeout", timeout))
	off := judgedBatch(3, 5, missing("PostFailed", "CheckSwitchedOff", "AlterShield Server has switched its checks off"))
	withdrawn := judgedBatch(3, 5, missing("PostFailed", "CheckWithdrawn", "the batch was not checked, and no pod failed"))
	ended := judgedBatch(3, 5, missing("PostFailed", "ReleaseEnded", "the release ended before the batch was checked"))
	const failed = "Fail CheckFailed AlterShield Server failed 3 pods: error rate: 5xx above 1%; sleep-3; sleep-4; sleep-5"
	for name, row := range map[string]struct {
		policy   appv1alpha1.VerificationPolicy
		seen     []seenOption
		status   string
		progress string
		check    string
	}{
		"that passes so far":                  {checking("web", "Enforce", ofServer), []seenOption{served, batches(passes)}, "Running", "0/1", "Enforce Pending  "},
		"that passes":                         {checking("web", "Enforce", ofServer), []seenOption{served, batches(passes, rest)}, "Success", "1/1", "Enforce Pass CheckPassed "},
		"that fails":                          {checking("web", "Enforce", ofServer), []seenOption{served, batches(passes, fails)}, "Suspend", "0/1, server Fail", "Enforce " + failed},
		"that fails before a batch":           {checking("web", "Enforce", ofServer), []seenOption{served, batches(passes, one)}, "Suspend", "0/1, server Fail", "Enforce Fail CheckFailed AlterShield Server failed pod sleep-3: error rate: 5xx above 1%; sleep-3"},
		"that fails, but observed":            {checking("web", "Observe", ofServer), []seenOption{served, batches(passes, fails)}, "Success", "0/1, server Fail", "Observe " + failed},
		"that fails before a batch, observed": {checking("web", "Observe", ofServer), []seenOption{served, batches(passes, one)}, "Running", "0/1, server Fail", "Observe Fail CheckFailed AlterShield Server failed pod sleep-3: error rate: 5xx above 1%; sleep-3"},
		"that fails, with a warning":          {checking("web", "Warn", ofServer), []seenOption{served, batches(passes, fails)}, "Success", "0/1, server Fail", "Warn " + failed},
		"without a server":                    {checking("web", "Enforce", ofServer), []seenOption{batches(passes)}, "Running", "0/1", "Enforce Skipped CheckNotConfigured no AlterShield Server is configured"},
		"without a verdict":                   {checking("web", "Enforce", ofServer), []seenOption{served, batches(passes, late)}, "Success", "0/1", "Enforce Inconclusive CheckTimeout " + timeout},
		"without a verdict, which fails":      {checking("web", "Enforce", ofServer, onError("Fail")), []seenOption{served, batches(passes, late)}, "Suspend", "0/1, server Fail", "Enforce Fail CheckTimeout " + timeout + "; sleep-3; sleep-4; sleep-5"},
		"without a verdict, which an operator fails": {checking("web", "Enforce", ofServer), []seenOption{servedClosed, batches(passes, late)}, "Suspend", "0/1, server Fail",
			"Enforce Fail CheckTimeout " + timeout + "; sleep-3; sleep-4; sleep-5"},
		"without a verdict, which a policy lets pass": {checking("web", "Enforce", ofServer, onError("Pass")), []seenOption{servedClosed, batches(passes, late)}, "Success", "0/1",
			"Enforce Inconclusive CheckTimeout " + timeout},
		"without a verdict that must be": {checking("web", "Enforce", ofServer, onInconclusive("Fail")), []seenOption{served, batches(passes, late)}, "Success", "0/1", "Enforce Inconclusive CheckTimeout " + timeout},
		"that is switched off":           {checking("web", "Enforce", ofServer), []seenOption{servedClosed, batches(passes, off)}, "Success", "0/1", "Enforce Inconclusive CheckSwitchedOff AlterShield Server has switched its checks off"},
		"that is switched off and must have passed": {checking("web", "Enforce", ofServer, onInconclusive("Fail")), []seenOption{served, batches(passes, off)}, "Suspend", "0/1, server Fail",
			"Enforce Fail CheckSwitchedOff AlterShield Server has switched its checks off; sleep-3; sleep-4; sleep-5"},
		"whose failure a user withdrew": {checking("web", "Enforce", ofServer, onError("Fail"), onInconclusive("Fail")), []seenOption{served, batches(passes, withdrawn)}, "Success", "0/1",
			"Enforce Inconclusive CheckWithdrawn the batch was not checked, and no pod failed"},
		"that ended before a batch": {checking("web", "Enforce", ofServer, onError("Fail")), []seenOption{served, batches(passes, ended)}, "Success", "1/1", "Enforce Pass CheckPassed "},
		"without a verdict on one batch, and with a bad one": {checking("web", "Enforce", ofServer, onError("Fail")), []seenOption{served, batches(
			judgedBatch(1, 1, missing("PreFailed", "ServerUnavailable", "no answer")), judgedBatch(2, 2, missing("PreFailed", "ServerUnavailable", "no answer")), fails)},
			"Suspend", "0/1, server Fail", "Enforce " + failed + "; sleep-1; sleep-2"},
		"whose order fails": {checking("web", "Enforce", ofServer), []seenOption{served, batches(passes), func(seen *decide.Observation) {
			order := judgedOrder(in("PreSubmitted"), hearing("PRE", "fail"))
			seen.OrderCheck = &order
		}}, "Suspend", "0/1, server Fail", "Enforce Fail CheckFailed AlterShield Server failed the change order: error rate: 5xx above 1%; change order"},
		"of pods that end by themselves": {checking("web", "Enforce", ofServer), []seenOption{served, batches(passes, fails), func(seen *decide.Observation) { seen.Verification.Pods = nil }},
			"Suspend", "0/1, server Fail", "Enforce " + failed},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(row.policy)))
			decision := decide.Decide(workload, see(5, append([]seenOption{under(row.policy), finished(realPods(1, 5))}, row.seen...)...), now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Suspend).To(Equal(row.status == "Suspend"))
			g.Expect(decision.Status.Verification.Progress).To(Equal(row.progress))
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements("shop/web server: " + row.check))
		})
	}
}

func TestDecideKeepsWhatTheServerSaidOnceItIsGone(t *testing.T) {
	policy := checking("web", "Observe", ofServer, watching(600))
	for name, verdict := range map[string]appv1alpha1.CheckVerdict{"a pass": "Pass", "a fail": "Fail", "neither": "Inconclusive"} {
		t.Run(name, func(t *testing.T) {
			workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now), begun(policies(policy), appv1alpha1.CheckResult{
				Policy: "shop/web", Name: "server", Type: "Server", Mode: "Observe", Verdict: verdict,
			}))
			decision := decide.Decide(workload, see(5, under(policy), finished(realPods(1, 5)), batches(judgedBatch(1, 5, done))), now)
			NewWithT(t).Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements("shop/web server: Observe " + string(verdict) + "  "))
		})
	}
}

// The pods of the order and of a batch fail in their own results, where a user may withdraw that.
func TestAdvanceChangePodFailsWhatTheServerFailedByAnEnforcedCheck(t *testing.T) {
	for name, row := range map[string]struct {
		batch   appv1alpha1.ChangePod
		results []string
	}{
		"the pods of a batch": {judgedBatch(1, 2, in("PostSubmitted"), hearing("POST", "fail")), []string{
			"sleep-1 unpass error rate: 5xx above 1% (VerificationPolicy shop/web server)", "sleep-2 unpass error rate: 5xx above 1% (VerificationPolicy shop/web server)"}},
		"the order": {judgedOrder(in("PreSubmitted"), hearing("PRE", "fail")), []string{"change order unpass error rate: 5xx above 1% (VerificationPolicy shop/web server)"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Enforce", ofServer)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
			seen := see(5, under(policy), served, finished(realPods(1, 5)))
			if row.batch.Spec.Order {
				seen.OrderCheck = &row.batch
			} else {
				seen.Batches = []appv1alpha1.ChangePod{row.batch}
			}
			workload.Status = decide.Decide(workload, seen, now).Status
			facts := decide.FactsOf(workload, &row.batch, aServer())
			g.Expect(facts.Failed).To(HaveLen(1))
			row.batch.Status = decide.AdvanceChangePod(&row.batch, facts, decide.CheckAnswer{}, now)
			g.Expect(verdictsOf(row.batch.Status.PodResults)).To(Equal(row.results))
			g.Expect(row.batch.Status.Conditions).To(haveCondition("Verified", "False", "PodsFailed"))
			g.Expect(decide.ChecksFailed(workload, &row.batch)).To(BeEmpty())
			hearing("POST", "pass")(&row.batch)
			g.Expect(verdictsOf(row.batch.Status.PodResults)).To(Equal(row.results), "a pass after the batch changes nothing")

			row.batch.Status.PodResults[0].Verdict, row.batch.Status.PodResults[0].Message = "pass", "by hand"
			row.batch.Status = decide.AdvanceChangePod(&row.batch, decide.FactsOf(workload, &row.batch, aServer()), decide.CheckAnswer{}, now)
			g.Expect(verdictsOf(row.batch.Status.PodResults)[0]).To(HaveSuffix(" pass by hand"))
			if !row.batch.Spec.Order {
				seen.Batches[0] = row.batch
			}
			g.Expect(decide.Decide(workload, seen, now).Status.Counts.Failed).To(Equal(int32(len(row.results) - 1)))
		})
	}
}

func TestBatchesDontBakeForTheServerAlone(t *testing.T) {
	batch := judgedBatch(1, 1, openedAt(now))
	for name, row := range map[string]struct {
		policy appv1alpha1.VerificationPolicy
		baked  time.Time
	}{
		"the server": {checking("web", "Enforce", ofServer, baking(300)), time.Unix(now.Unix(), 0)},
		"the server and more checks": {checking("web", "Enforce", baking(300), func(policy *appv1alpha1.VerificationPolicy) {
			policy.Spec.Checks = append(policy.Spec.Checks, appv1alpha1.VerificationCheck{Name: "server", Type: "Server"})
		}), time.Unix(now.Unix()+300, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(row.policy)))
			facts := decide.FactsOf(workload, &batch, verifier.State{})
			if name == "the server" {
				g.Expect(facts.BakedUntil).To(BeZero())
				return
			}
			g.Expect(facts.BakedUntil).To(Equal(row.baked))
			status := decide.AdvanceChangePod(&batch, facts, decide.CheckAnswer{}, row.baked)
			g.Expect(status.Message).To(Equal("PostFinish"))
			g.Expect(status.ServerResults).To(BeEmpty(), "there is no server that said anything")
			g.Expect(verdictsOf(status.PodResults)).To(Equal([]string{"sleep-1 pass "}))
		})
	}
}

func TestFailureArrivedWithAnEnforcedVerdictOfTheServer(t *testing.T) {
	fails := judgedBatch(3, 5, in("PostSubmitted"), hearing("POST", "fail"))
	for mode, arrived := range map[string]time.Time{"Enforce": now, "Observe": {}} {
		t.Run(mode, func(t *testing.T) {
			policy := checking("web", mode, ofServer)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
			decision := decide.Decide(workload, see(5, under(policy), served, finished(realPods(1, 5)), batches(fails)), now)
			NewWithT(t).Expect(decide.FailureArrived(&decision.Status, []appv1alpha1.ChangePod{fails})).To(BeTemporally("==", arrived))
		})
	}
}
