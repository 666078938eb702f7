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
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// callbackArrival is how long after a change of the leader callbacks may arrive that no process accepted meanwhile.
const callbackArrival = 5 * time.Second

// checkThreshold is how long each stage of a check may take, in seconds, as documented.
const checkThreshold = 120

// CheckFacts are what the check of a batch depends on besides the batch.
type CheckFacts struct {
	verifier.State
	// Order is the state of the release's order; empty where it is not known yet, Open where the verifier needs none.
	Order appv1alpha1.OrderState
	// Due reports whether the check of the order is due that follows the last step.
	Due bool
	// Over reports whether the release has ended, so that the verifier can't be asked any more.
	Over bool
	// Asked reports whether the call that the batch waits for was made and failed.
	Asked bool
	// BakedUntil is until when VerificationPolicies check the pods before the batch may pass, zero where none does.
	BakedUntil time.Time
	// Awaited are their checks for which the batch waits after its bake.
	Awaited []AwaitedCheck
	// Failed are their checks that pods of the batch failed, and that its status doesn't show yet.
	Failed []appv1alpha1.CheckResult
	// Unjudged reports whether no check decides any more what follows from the verdicts of the verifier.
	Unjudged bool
	// Since is when this process began to reconcile batches. Earlier delays are not the verifier's.
	Since time.Time
}

// FactsOf returns the facts about the check of a batch from the record of its release.
func FactsOf(workload *appv1alpha1.ChangeWorkload, changePod *appv1alpha1.ChangePod, of verifier.State) CheckFacts {
	facts, own := CheckFacts{State: of, Due: AwaitsOrder(workload)}, changePod.Spec.Release
	facts.BakedUntil, facts.Failed = bakedUntil(workload, changePod), ChecksFailed(workload, changePod)
	facts.Unjudged = IsUnjudged(workload, changePod)
	facts.Awaited = awaitedChecks(workload, facts.BakedUntil)
	facts.Configured = of.Configured && (of.ChecksOrders || !changePod.Spec.Order)
	order, isCurrent := workload.Status.Order, workload.Spec.Release == own
	switch {
	case !facts.Configured:
	case of.Announced && order != nil && order.Release == own:
		facts.Order = order.State
	case !of.Announced && isCurrent:
		facts.Order = appv1alpha1.OrderOpen
	default:
		facts.Over = !isCurrent
	}
	return facts
}

// CheckAnswer is the answer of the verifier to a call.
type CheckAnswer struct {
	// Call is the call that was made. The answer to a call that is no longer due is ignored.
	Call CheckCall
	// CheckID is the id of the check that CallBegin began.
	CheckID string
	// Verdict is that of the stage where it is known: it was polled, or found by CallFinish.
	Verdict verifier.Verdict
	// Err is the error of the call.
	Err error
}

// NextCall returns the call to make for a batch at now. A verifier that delivers its verdicts is polled only at the deadline: a
// delivery may have been lost.
func NextCall(changePod *appv1alpha1.ChangePod, facts CheckFacts, now time.Time) CheckCall {
	if !facts.Configured || facts.Over || awaitsSteps(changePod) {
		return CallNone
	}
	expired, call := isExpired(changePod, now), edgesOf(changePod.Status.Status).call
	switch call {
	case CallBegin:
		if facts.mayBegin(changePod, now) {
			return call
		}
	case CallFinish:
		return facts.finishCall(changePod, expired, now)
	case CallAskPre, CallAskPost:
		if expired || !facts.Delivers {
			return call
		}
	}
	return CallNone
}

// finishCall returns the call to make for a batch whose pods are there.
func (f CheckFacts) finishCall(changePod *appv1alpha1.ChangePod, expired bool, now time.Time) CheckCall {
	switch {
	case f.bakes(now) || f.awaits(now) != nil:
		return CallNone
	case expired && (f.Asked && !wasHeld(changePod) || f.SwitchedOff):
		return CallAskPost // the batch may have been reported and only the answer lost
	case f.SwitchedOff:
		return CallNone
	case f.Delivers && f.wasDue(changePod) && now.Before(f.Since.Add(callbackArrival)):
		// A fail can't be polled. Reported again before its callback arrives, a failed stage would begin anew.
		return CallAskBeforeFinish
	}
	return CallFinish
}

// MayBeReported reports whether a batch whose report is due may have been reported already, by an attempt without an answer or by the
// leader before.
func (f CheckFacts) MayBeReported(changePod *appv1alpha1.ChangePod) bool {
	return f.Asked || f.wasDue(changePod)
}

// wasDue reports whether the report of a batch was due under the leader before.
func (f CheckFacts) wasDue(changePod *appv1alpha1.ChangePod) bool {
	due := time.Unix(changePod.Status.UpdateTimeUnix, 0)
	if verdict := changePod.Status.VerdictTime; verdict != nil {
		due = verdict.Time
	}
	return due.Before(f.Since)
}

func (f CheckFacts) mayBegin(changePod *appv1alpha1.ChangePod, now time.Time) bool {
	return f.Order == appv1alpha1.OrderOpen && !f.SwitchedOff && !f.isLate(changePod, now)
}

// isLate reports whether a batch has waited long enough for the verifier. Time in the operator's own queue, or without a running
// operator, does not count.
func (f CheckFacts) isLate(changePod *appv1alpha1.ChangePod, now time.Time) bool {
	if !isExpired(changePod, now) {
		return false
	}
	if f.Order == appv1alpha1.OrderOpen {
		return f.Asked
	}
	return !now.Before(f.Since.Add(checkThreshold * time.Second))
}

// AdvanceChangePod returns the next status of a batch, given the answer to NextCall. A batch that is done is judged again, since
// users may edit its verdicts.
func AdvanceChangePod(changePod *appv1alpha1.ChangePod, facts CheckFacts, answer CheckAnswer, now time.Time) appv1alpha1.ChangePodStatus {
	if answer.Call != NextCall(changePod, facts, now) {
		answer = CheckAnswer{}
	}
	next := advance{status: *changePod.Status.DeepCopy(), batch: changePod, facts: facts, answer: answer, now: now}
	if next.status.Status != appv1alpha1.ChangePodExecuteDone {
		next.status.PreTimeoutThreshold, next.status.PostTimeoutThreshold = thresholds(&next.status)
		next.step()
	}
	next.fail()
	next.takeServerResults()
	return concludeChangePod(changePod, next.status, now)
}

// overdueWait is the requeue interval of a batch that is past its deadline because its release is not announced yet.
const overdueWait = 5 * time.Second

// CheckWait returns the time after which a batch has to be reconciled again, 0 where only an event can change it.
func CheckWait(changePod *appv1alpha1.ChangePod, now time.Time) time.Duration {
	if changePod.Status.Status == appv1alpha1.ChangePodExecuteDone || awaitsSteps(changePod) {
		return 0
	}
	if left := deadlineOf(changePod).Sub(now); left > 0 {
		return left
	}
	return overdueWait
}

func isExpired(changePod *appv1alpha1.ChangePod, now time.Time) bool {
	return !now.Before(deadlineOf(changePod))
}

// deadlineOf returns the deadline of a batch. It counts from the creation of a batch whose status has none.
func deadlineOf(changePod *appv1alpha1.ChangePod) time.Time {
	if changePod.Status.Deadline != nil {
		return changePod.Status.Deadline.Time
	}
	pre, _ := thresholds(&changePod.Status)
	return time.Unix(changePod.Spec.CreateTimeUnix, 0).Add(time.Duration(pre) * time.Second)
}

func thresholds(status *appv1alpha1.ChangePodStatus) (pre, post int32) {
	pre, post = status.PreTimeoutThreshold, status.PostTimeoutThreshold
	if pre <= 0 {
		pre = checkThreshold
	}
	if post <= 0 {
		post = checkThreshold
	}
	return pre, post
}
