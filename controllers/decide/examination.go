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

package decide

import (
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/podhealth"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// examination makes the checks of a release at a time.
type examination struct {
	workload     *appv1alpha1.ChangeWorkload
	verification *appv1alpha1.ReleaseVerification
	seen         Verification
	// kind is that of the workload.
	kind string
	// pace is what is known of the steps of the release.
	pace *Pace
	// bakes are when the bakes of the batches end that may wait for a check.
	bakes []time.Time
	// checked are the batches of the release and the check of its order, server is the state of their verifier.
	checked iter.Seq[*appv1alpha1.ChangePod]
	server  verifier.State
	// turns are those of the checks that look at metrics.
	turns turns
	now   time.Time
}

// makeCheck makes one check, and merges what it finds with its result.
func (e *examination) makeCheck(
	result *appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck,
) (again time.Duration) {
	if IsPhased(check.Phase) {
		return e.makePhased(result, policy, check)
	}
	return e.makeDuring(result, policy, check)
}

// makeDuring makes a check that looks at the pods as they come. Pods are added to those that failed.
func (e *examination) makeDuring(
	result *appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck,
) (again time.Duration) {
	due, next := e.isDue(result, policy, check)
	if due && isOver(e.workload, policy, check, result) { // it isn't asked about further pods: its only verdict lets them pass as well
		result.ClearedTime, due = StoredTime(e.now), false
	}
	mode, found := LowerMode(policy.Mode, check.Mode), e.find(policy, check, due)
	if due {
		found = e.await(result, policy, check, found)
	} else {
		endHold(result)
	}
	waits := due && found.Verdict == appv1alpha1.CheckInconclusive && result.HeldUntil != nil
	if result.Verdict != appv1alpha1.CheckPass { // a source that is away later takes no verdict back
		found = e.fallBack(check, found)
	}
	switch {
	case result.Verdict == appv1alpha1.CheckFail:
		if found.Verdict == appv1alpha1.CheckFail && result.Mode == mode {
			addPods(result, found.Pods)
		}
	case waits:
		e.keepWaiting(result, mode, found)
	case found.Verdict == appv1alpha1.CheckPass && !found.Final, found.Verdict == result.Verdict, isAway(check, result, found): // what was inconclusive stays so
		result.Mode = mode
	default:
		e.conclude(result, mode, found)
	}
	return Sooner(found.Again, next)
}

// isAway reports whether what a check has found is only that its source, or its pods, are away by now.
func isAway(check *appv1alpha1.VerificationCheck, result *appv1alpha1.CheckResult, found checks.Finding) bool {
	return hasLooks(check.Type) && result.Verdict == appv1alpha1.CheckPass && found.Verdict == appv1alpha1.CheckInconclusive ||
		found.Verdict == appv1alpha1.CheckSkipped && result.Verdict != appv1alpha1.CheckPending
}

// keepWaiting merges what a check for which pods wait found with its result: it can't tell yet, or for another reason, or its time is over.
func (e *examination) keepWaiting(result *appv1alpha1.CheckResult, mode appv1alpha1.CheckMode, found checks.Finding) {
	switch {
	case result.Verdict != found.Verdict:
		e.conclude(result, mode, found)
	case result.Reason != found.Reason:
		tell(result, &found)
	default:
		result.Mode = mode
	}
}

// conclude gives a check the verdict that it found.
func (e *examination) conclude(result *appv1alpha1.CheckResult, mode appv1alpha1.CheckMode, found checks.Finding) {
	result.Mode, result.Verdict, result.Since = mode, found.Verdict, metav1.NewTime(e.now.Truncate(time.Second))
	tell(result, &found)
	addPods(result, found.Pods)
}

// fallBack returns what follows from what was found: a check without a verdict fails all pods if its policy wants that.
func (e *examination) fallBack(check *appv1alpha1.VerificationCheck, found checks.Finding) checks.Finding {
	fails := check.OnInconclusive == appv1alpha1.InconclusiveFail
	if found.Broken {
		fails = check.OnError == appv1alpha1.FallbackFail
	}
	if found.Verdict != appv1alpha1.CheckInconclusive || !fails || check.Type == appv1alpha1.CheckServer { // which fails the pods of its batches
		return found
	}
	return e.fail(found)
}

// fail returns that all new pods failed by what was found.
func (e *examination) fail(found checks.Finding) checks.Finding {
	failed := measure.Failed(e.seen.Pods, found.Reason, found.Message)
	failed.Numbers = found.Numbers
	return failed
}

// find returns what a check finds of the pods of a release, with ended as if its time had ended.
func (e *examination) find(policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, ended bool) checks.Finding {
	schedule := e.turns.scheduleOf(policy, check, e.workload)
	terms := termsOf(policy, e.workload, schedule, e.now)
	if ended && !terms.Ended {
		terms.Ended, terms.Wait = true, time.Duration(check.TimeoutSeconds)*time.Second
	}
	switch {
	case check.Type == appv1alpha1.CheckServer: // which checks workloads without such pods, too
		return e.judgeServer(check)
	case e.seen.Pods == nil:
		return e.withoutPods()
	case e.seen.Awaited[CheckID{policy.Policy, check.Name}]: // the look neither counts nor fails anything before it is there
		return checks.Passed(untilNextLook(policy, schedule, e.now))
	case check.Rule != nil:
		return e.seen.Rules.Judge(e.seen.Pods, check.Rule)
	case check.HTTP != nil, check.Condition != nil, check.Job != nil:
		return e.judgeAnswer(policy, check, schedule, terms)
	case hasLooks(check.Type):
		return e.judgeMetrics(policy, check, schedule, terms)
	default:
		return judgeHealth(check, e.seen.Pods, e.now)
	}
}

func (e *examination) withoutPods() checks.Finding {
	return checks.Finding{
		Verdict: appv1alpha1.CheckSkipped, Reason: appv1alpha1.ReasonNoPods, Message: "a " + e.kind + " has no pods that keep running",
	}
}

// judgeMetrics judges the metrics of the pods. A check without an answer has nothing to judge before its end.
func (e *examination) judgeMetrics(
	policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, schedule Schedule, terms measure.Terms,
) checks.Finding {
	readings, asked := e.seen.Readings[CheckID{policy.Policy, check.Name}]
	measured := Measured(check)
	switch {
	case measured == nil || !asked && !terms.Ended:
		return checks.Passed(0)
	case !asked: // what isn't seen must not pass for what isn't there, such as an alert
		return plugin.Judge(e.seen.Pods, plugin.Answer{}, terms)
	case readings.Reason != "" && e.seen.Replayed: // of the past, there is no later answer
		return measure.Broken(readings.Reason, readings.Message, terms)
	case readings.Reason != "":
		return measure.Broken(readings.Reason, readings.Message, e.withoutAnswer(terms, readings.Reason, readings.Unsent, policy, schedule))
	}
	terms.Share = shareOf(measured, budget(e.verification))
	return measured.Judge(e.seen.Pods, readings, terms)
}

// judgeAnswer judges what others say of the pods. Nobody is asked about a release without any, or one that is suspended.
func (e *examination) judgeAnswer(
	policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, schedule Schedule, terms measure.Terms,
) checks.Finding {
	answer, asked := e.seen.Answers[CheckID{policy.Policy, check.Name}]
	if !asked && !terms.Ended {
		return checks.Passed(0)
	}
	if answer.Broken {
		terms = e.withoutAnswer(terms, answer.Reason, answer.Unsent, policy, schedule)
	}
	return plugin.Judge(e.seen.Pods, answer, terms)
}

func judgeHealth(check *appv1alpha1.VerificationCheck, pods *checks.Scene, now time.Time) checks.Finding {
	var signals []appv1alpha1.PodSignal
	if check.PodHealth != nil {
		signals = check.PodHealth.Signals
	}
	return podhealth.Judge(pods, signals, now)
}
