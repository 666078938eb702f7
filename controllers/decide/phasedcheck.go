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
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
)

// IsPhased reports whether a check is made before the first pod of a release or after the last one, and not while they come.
func IsPhased(phase appv1alpha1.CheckPhase) bool {
	return phase == appv1alpha1.PhaseBefore || phase == appv1alpha1.PhaseAfter
}

// phaseShown returns the phase of a check as results and questions show it: that of most checks, During, is empty.
func phaseShown(check *appv1alpha1.VerificationCheck) appv1alpha1.CheckPhase {
	if IsPhased(check.Phase) {
		return check.Phase
	}
	return ""
}

// looksNow reports whether a check of a phase looks at a release in the state that its record shows. One that is enforced looks while the release
// waits for it; any other one, for which nothing waits, from the begin of the release in steps, or from when it is verified.
func looksNow(workload *appv1alpha1.ChangeWorkload, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck) bool {
	status := &workload.Status
	switch {
	case !isObserved(workload): // what is stored is of an earlier release of the version
		return false
	case check.Phase == appv1alpha1.PhaseAfter:
		return wasVerified(status) || isEnforced(policy, check) && hasReason(status.Conditions, appv1alpha1.ReasonAwaitingCheck)
	}
	return status.Pace != nil && (!isEnforced(policy, check) || status.Pace.Step == 0 && waitsFor(status, appv1alpha1.ReasonAwaitingCheck))
}

func isEnforced(policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck) bool {
	return LowerMode(policy.Mode, check.Mode) == appv1alpha1.CheckEnforce
}

// waitsFor reports whether a paced release waits for a reason.
func waitsFor(status *appv1alpha1.ChangeWorkloadStatus, reason string) bool {
	paced := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionPaced)
	return isPaced(status) && paced.Reason == reason
}

// awaitedCheck describes the first check of a phase for which a release has to wait, empty if there is none.
func awaitedCheck(status *appv1alpha1.ChangeWorkloadStatus, phase appv1alpha1.CheckPhase) string {
	if status.Verification == nil {
		return ""
	}
	for i := range status.Verification.Policies {
		policy := &status.Verification.Policies[i]
		for j := range policy.Checks {
			check := &policy.Checks[j]
			if check.Phase != phase || !isEnforced(policy, check) {
				continue
			}
			if result := storedResult(status.Checks, policy, check, time.Time{}); result.Verdict == appv1alpha1.CheckPending {
				return describeAwaited(&result, check)
			}
		}
	}
	return ""
}

func describeAwaited(result *appv1alpha1.CheckResult, check *appv1alpha1.VerificationCheck) string {
	described := fmt.Sprintf("check %s of VerificationPolicy %s", result.Name, result.Policy)
	if result.HeldUntil == nil {
		return described
	}
	then := "goes on"
	if check.OnTimeout == appv1alpha1.FallbackFail {
		then = "fails"
	}
	described += fmt.Sprintf(" until %s, then it %s", result.HeldUntil.UTC().Format(time.RFC3339), then)
	if told := cmp.Or(result.Message, result.Reason); told != "" {
		described += ": " + told
	}
	return described
}

// failedStart reports whether a release failed by a check before its first pod. It fails the change order, whose check shows it.
func failedStart(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return slices.ContainsFunc(status.Checks, func(result appv1alpha1.CheckResult) bool {
		return result.Phase == appv1alpha1.PhaseBefore && result.Enforced
	})
}

// makePhased makes a check before the first pod or after the last one, until it has its only verdict, and merges what it finds with its result.
func (e *examination) makePhased(
	result *appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck,
) (again time.Duration) {
	mode := LowerMode(policy.Mode, check.Mode)
	if result.Verdict != appv1alpha1.CheckFail {
		result.Mode = mode
	}
	if result.Verdict != appv1alpha1.CheckPending {
		return 0
	}
	if skipped := e.skip(check, mode); skipped.Reason != "" {
		result.HeldUntil = nil
		e.conclude(result, mode, skipped)
		return 0
	}
	if !looksNow(e.workload, policy, check) {
		result.HeldUntil, result.Reason, result.Message, result.Numbers = nil, "", "", nil
		return 0
	}
	left, found := e.awaitPhased(result, check, mode).Sub(e.now), e.ask(policy, check)
	found.Broken = found.Broken && !comesLater(found)
	switch {
	case found.Verdict == appv1alpha1.CheckPass, found.Verdict == appv1alpha1.CheckFail && check.Phase == appv1alpha1.PhaseAfter:
		result.HeldUntil = nil
	case found.Broken && check.OnError != "":
		result.HeldUntil = nil
		found = e.without(found, check, check.OnError)
	case left <= 0:
		told := cmp.Or(found.Message, found.Reason, result.Message, "it has no answer")
		if found.Verdict == appv1alpha1.CheckPending { // there is no answer but the last one
			found.Numbers = result.Numbers
		}
		found.Reason, found.Message = appv1alpha1.ReasonHoldTimeout, fmt.Sprintf("it didn't pass within %d seconds: %s", check.TimeoutSeconds, told)
		found = e.without(found, check, check.OnTimeout)
	default:
		if found.Reason != "" { // else it is being asked
			tell(result, &found)
		}
		return Sooner(untilNextLook(policy, e.turns.scheduleOf(policy, check, e.workload), e.now), left)
	}
	e.conclude(result, mode, found)
	return 0
}

// skip returns why a check of a phase isn't made, a finding without a reason if it is.
func (e *examination) skip(check *appv1alpha1.VerificationCheck, mode appv1alpha1.CheckMode) checks.Finding {
	skipped := func(reason, message string) checks.Finding {
		return checks.Finding{Verdict: appv1alpha1.CheckSkipped, Reason: reason, Message: message}
	}
	stored, pace := StoredPace(e.workload), e.workload.Status.Pace
	switch {
	case e.seen.Pods == nil:
		return e.withoutPods()
	case e.workload.Spec.Baseline:
		return skipped(appv1alpha1.ReasonBaseline, "the rollout was complete when the "+e.kind+" was first observed")
	case check.Phase == appv1alpha1.PhaseAfter, stored == nil && e.pace.Mark != nil:
		return checks.Finding{}
	case stored == nil || pace == nil:
		return skipped(appv1alpha1.ReasonNotPaced, "the release isn't rolled out in steps: nothing holds back its first pod")
	case mode == appv1alpha1.CheckEnforce && (!isPaced(&e.workload.Status) || pace.Step > 0 || e.pace.GoOn != nil):
		return skipped(appv1alpha1.ReasonNotPaced, "the steps of the release began or ended without it: see the condition Paced")
	}
	return checks.Finding{}
}

// awaitPhased returns until when a check has time for its verdict, and has the release held until then if it waits.
func (e *examination) awaitPhased(
	result *appv1alpha1.CheckResult, check *appv1alpha1.VerificationCheck, mode appv1alpha1.CheckMode,
) time.Time {
	if mode == appv1alpha1.CheckEnforce {
		return e.hold(result, check)
	}
	result.HeldUntil = nil
	timeout := time.Duration(check.TimeoutSeconds) * time.Second
	return laterOf(phaseBegan(e.workload, check.Phase).Add(timeout), e.seen.Since.Add(attended))
}

// hold returns until when a check is awaited, as it is stored. The time begins anew if it was over before a leader could ask anybody.
func (e *examination) hold(result *appv1alpha1.CheckResult, check *appv1alpha1.VerificationCheck) time.Time {
	if result.HeldUntil == nil || endedUnattended(result.HeldUntil.Time, e.seen.Since, e.now) {
		result.HeldUntil = afterWindow(e.now, time.Duration(check.TimeoutSeconds)*time.Second)
	}
	return result.HeldUntil.Time
}

// phaseBegan returns since when a check of a phase is asked for which nothing waits.
func phaseBegan(workload *appv1alpha1.ChangeWorkload, phase appv1alpha1.CheckPhase) time.Time {
	if phase == appv1alpha1.PhaseAfter {
		return time.Unix(workload.Status.EntryTimeUnix, 0)
	}
	return time.Unix(workload.Spec.CreateTimeUnix, 0)
}

// ask returns what a check of a phase finds now, Pending while its look is under way.
func (e *examination) ask(policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck) checks.Finding {
	id := CheckID{policy.Policy, check.Name}
	terms := measure.Terms{
		Warmup: time.Duration(policy.WarmupSeconds) * time.Second, Ended: true, Wait: time.Duration(check.TimeoutSeconds) * time.Second,
	}
	answer, answered := e.seen.Answers[id]
	readings, read := e.seen.Readings[id]
	present, isPresent := Measured(check).(measure.Present)
	isBefore := check.Phase == appv1alpha1.PhaseBefore
	switch {
	case check.Rule != nil && isBefore:
		return e.seen.Rules.Evaluate(e.seen.Pods, check.Rule)
	case check.Rule != nil:
		return e.seen.Rules.Judge(e.seen.Pods, check.Rule)
	case answered:
		found := plugin.Judge(e.seen.Pods, answer, terms)
		found.Broken = found.Broken && (check.Job == nil || answer.Final) // a Job whose pod can't be scheduled may yet be made
		return found
	case read && readings.Reason != "":
		return measure.Broken(readings.Reason, readings.Message, terms)
	case read && isBefore && isPresent:
		return present.JudgePresent(e.seen.Pods, readings)
	case read:
		return Measured(check).Judge(e.seen.Pods, readings, terms)
	}
	return checks.Finding{Verdict: appv1alpha1.CheckPending}
}

// without returns what follows from a check of a phase that didn't pass. Before the first pod, there is the change order to fail.
func (e *examination) without(
	found checks.Finding, check *appv1alpha1.VerificationCheck, then appv1alpha1.CheckFallback,
) checks.Finding {
	switch {
	case then != appv1alpha1.FallbackFail:
		return checks.Finding{Verdict: appv1alpha1.CheckInconclusive, Reason: found.Reason, Message: found.Message, Numbers: found.Numbers}
	case check.Phase == appv1alpha1.PhaseAfter:
		return e.fail(found)
	}
	return checks.Finding{
		Verdict: appv1alpha1.CheckFail, Reason: found.Reason, Message: found.Message, Numbers: found.Numbers,
		Pods: []appv1alpha1.CheckedPod{{Pod: changeOrder, Message: found.Message}},
	}
}
