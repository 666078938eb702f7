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
	"iter"
	"slices"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// AwaitedCheck is a check that holds a batch after its bake.
type AwaitedCheck struct {
	// Until is when the hold ends, zero for a check that has yet to be made at the end of the bake.
	Until time.Time
	// Fails reports whether the pods fail then.
	Fails bool
	// Message says what the batch waits for.
	Message string
}

// holds reports whether pods wait for a check that can't tell.
func holds(policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck) bool {
	return check.OnInconclusive == appv1alpha1.InconclusiveHold && !IsPhased(check.Phase) && isEnforced(policy, check)
}

// holding returns the checks of a release for which pods wait while they can't tell.
func holding(verification *appv1alpha1.ReleaseVerification) iter.Seq2[*appv1alpha1.AppliedPolicy, *appv1alpha1.VerificationCheck] {
	return func(yield func(*appv1alpha1.AppliedPolicy, *appv1alpha1.VerificationCheck) bool) {
		if verification == nil {
			return
		}
		for i := range verification.Policies {
			policy := &verification.Policies[i]
			for j := range policy.Checks {
				if check := &policy.Checks[j]; holds(policy, check) && !yield(policy, check) {
					return
				}
			}
		}
	}
}

func mayHold(verification *appv1alpha1.ReleaseVerification) bool {
	for range holding(verification) {
		return true
	}
	return false
}

// IsHeld reports whether checks may hold batches of a release: the end of the release or its suspension, and a workload that left change control
// or moved on, end that at once.
func IsHeld(workload *appv1alpha1.ChangeWorkload) bool {
	status := &workload.Status
	if status.ObservedRelease != workload.Spec.Release || !isVerifying(status) || !mayHold(status.Verification) {
		return false
	}
	return !leftControl(status) && !hasReason(status.Conditions, appv1alpha1.ReasonSuperseded)
}

// isVerifying reports whether a release has neither failed nor been verified.
func isVerifying(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return status.Status != appv1alpha1.ChangeWorkloadSuspend && status.Status != appv1alpha1.ChangeWorkloadFailed && !wasVerified(status)
}

// awaitedChecks returns the checks that hold a batch whose bake ends at a time.
func awaitedChecks(workload *appv1alpha1.ChangeWorkload, baked time.Time) (awaited []AwaitedCheck) {
	if baked.IsZero() || !IsHeld(workload) {
		return nil
	}
	for policy, check := range holding(workload.Status.Verification) {
		result := storedResult(workload.Status.Checks, policy, check, baked)
		if result.Verdict == appv1alpha1.CheckFail || isCleared(&result, baked) || hasTimedOut(&result) {
			continue
		}
		held := AwaitedCheck{Fails: check.OnTimeout == appv1alpha1.FallbackFail, Message: describeHold(&result, check.OnTimeout)}
		if result.HeldUntil != nil {
			held.Until = result.HeldUntil.Time
		}
		awaited = append(awaited, held)
	}
	return awaited
}

func isCleared(result *appv1alpha1.CheckResult, baked time.Time) bool {
	return result.ClearedTime != nil && !baked.After(result.ClearedTime.Time)
}

// isHolding reports whether pods wait for a check, or a release does for one of a phase, which has no verdict before it lets the release go on.
func isHolding(result *appv1alpha1.CheckResult) bool {
	waits := result.Verdict == appv1alpha1.CheckInconclusive || IsPhased(result.Phase) && result.Verdict == appv1alpha1.CheckPending
	return result.HeldUntil != nil && waits && result.Reason != appv1alpha1.ReasonHoldTimeout
}

// describeHold describes for what pods wait, and until when.
func describeHold(result *appv1alpha1.CheckResult, onTimeout appv1alpha1.CheckFallback) string {
	if !isHolding(result) {
		return ""
	}
	then := "then they pass"
	if onTimeout == appv1alpha1.FallbackFail {
		then = "then they fail"
	}
	return fmt.Sprintf("the pods wait for check %s of VerificationPolicy %s until %s, %s: %s",
		result.Name, result.Policy, result.HeldUntil.UTC().Format(time.RFC3339), then, cmp.Or(result.Message, result.Reason))
}

// firstHold describes the first check for which the pods of a release wait, empty if there is none.
func firstHold(status *appv1alpha1.ChangeWorkloadStatus) string {
	for policy, check := range holding(status.Verification) {
		at := slices.IndexFunc(status.Checks, func(result appv1alpha1.CheckResult) bool {
			return result.Policy == policy.Policy && result.Name == check.Name
		})
		if at >= 0 && isHolding(&status.Checks[at]) {
			return describeHold(&status.Checks[at], check.OnTimeout)
		}
	}
	return ""
}

// bakesOf returns when the bakes of the batches end that aren't done, none if no check holds batches.
func bakesOf(status *appv1alpha1.ChangeWorkloadStatus, batches []appv1alpha1.ChangePod) (ends []time.Time) {
	if !mayHold(status.Verification) || !isVerifying(status) {
		return nil
	}
	for i := range batches {
		if batch := &batches[i]; batch.Status.Status != appv1alpha1.ChangePodExecuteDone && !batch.Spec.Order {
			ends = append(ends, bakeEnd(status, batch))
		}
	}
	return ends
}

// isDue reports whether a batch whose bake is over waits for a check, and returns how long it takes until a further one does, 0 for never.
func (e *examination) isDue(
	result *appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck,
) (due bool, again time.Duration) {
	if !holds(policy, check) || result.Verdict == appv1alpha1.CheckFail || hasTimedOut(result) {
		return false, 0
	}
	for _, end := range e.bakes {
		switch {
		case isCleared(result, end):
		case e.now.Before(end):
			again = Sooner(again, end.Sub(e.now))
		default:
			due = true
		}
	}
	return due, again
}

// hasTimedOut reports whether a check let the pods pass although it could not tell. Then it holds no further ones.
func hasTimedOut(result *appv1alpha1.CheckResult) bool {
	return result.HeldUntil != nil && !isHolding(result)
}

// await decides whether the batches whose bake is over wait for a check, by what it found of all that was seen so far, as if its time had ended.
// It returns the finding that counts.
func (e *examination) await(
	result *appv1alpha1.CheckResult, policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, found checks.Finding,
) checks.Finding {
	id := CheckID{policy.Policy, check.Name}
	found.Broken = found.Broken && !comesLater(found) && (check.Job == nil || e.seen.Answers[id].Final) // a script that hasn't ended may yet start
	if e.seen.Awaited[id] {
		if !isHolding(result) {
			return found
		}
		// What was found before stands until then, but not longer than the hold.
		found.Verdict, found.Reason, found.Message, found.Numbers = result.Verdict, result.Reason, result.Message, result.Numbers
	}
	if found.Verdict != appv1alpha1.CheckInconclusive || found.Broken && check.OnError != "" || len(e.seen.Pods.New) == 0 {
		found.Final = true
		result.HeldUntil, result.ClearedTime = nil, StoredTime(e.now)
		return found
	}
	if left := e.hold(result, check).Sub(e.now); left > 0 {
		found.Again = Sooner(termsOf(policy, e.workload, e.turns.scheduleOf(policy, check, e.workload), e.now).Again, left)
		return found
	}
	message := fmt.Sprintf("it could not tell within %d seconds: %s", check.TimeoutSeconds, cmp.Or(found.Message, found.Reason))
	found.Reason, found.Message = appv1alpha1.ReasonHoldTimeout, message
	if check.OnTimeout == appv1alpha1.FallbackFail {
		return e.fail(found)
	}
	return found
}

// comesLater reports whether only too much is asked, so that the look comes later: that is no error, and what waits for the check goes on to.
func comesLater(found checks.Finding) bool { return found.Reason == appv1alpha1.ReasonSourceThrottled }

// endHolds ends the wait of pods for checks.
func endHolds(results []appv1alpha1.CheckResult) {
	for i := range results {
		endHold(&results[i])
	}
}

func endHold(result *appv1alpha1.CheckResult) {
	if isHolding(result) {
		result.HeldUntil = nil
	}
}

// BeganToHold reports whether pods of a release wait for a check and didn't before. A release for which a check of a phase is being asked waits only
// once that has an answer which doesn't let it go on.
func BeganToHold(before, after *appv1alpha1.ChangeWorkload, result *appv1alpha1.CheckResult) bool {
	waits := func(result *appv1alpha1.CheckResult) bool { return isHolding(result) && result.Reason != "" }
	return waits(result) && !hadResult(before, after, result, waits)
}

// HoldTimedOut reports whether pods of a release waited for a check for as long as its policy lets them, which is news.
func HoldTimedOut(before, after *appv1alpha1.ChangeWorkload, result *appv1alpha1.CheckResult) bool {
	timedOut := func(result *appv1alpha1.CheckResult) bool {
		return result.Reason == appv1alpha1.ReasonHoldTimeout && result.HeldUntil != nil
	}
	return timedOut(result) && !hadResult(before, after, result, timedOut)
}
