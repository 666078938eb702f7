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
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// advance is one step of a batch.
type advance struct {
	status appv1alpha1.ChangePodStatus
	batch  *appv1alpha1.ChangePod
	facts  CheckFacts
	now    time.Time
}

func (a *advance) step(call CheckCall, answer CheckAnswer) {
	phase := a.status.Status
	switch {
	case phase == appv1alpha1.ChangePodExecuteDone:
	case a.facts.Over:
		a.release(unchecked(phase))
	case phase == appv1alpha1.ChangePodInit, phase == appv1alpha1.ChangePodPreWait:
		a.fromPreWait(call, answer)
	case phase == appv1alpha1.ChangePodPreSubmitted:
		a.fromPreSubmitted(call, answer)
	case phase == appv1alpha1.ChangePodPostWait:
		a.fromPostWait(call, answer)
	case phase == appv1alpha1.ChangePodPostSubmitted:
		a.fromPostSubmitted(call, answer)
	default: // a phase that is passed through, left by somebody's hand
		finishCheck(&a.status, phase)
	}
}

// unchecked is the phase through which a batch ends that gets no further than phase.
func unchecked(phase appv1alpha1.ChangePodPhase) appv1alpha1.ChangePodPhase {
	switch phase {
	case appv1alpha1.ChangePodPreSubmitted:
		return appv1alpha1.ChangePodPreTimeout
	case appv1alpha1.ChangePodPostWait:
		return appv1alpha1.ChangePodPostFailed
	case appv1alpha1.ChangePodPostSubmitted:
		return appv1alpha1.ChangePodPostTimeout
	}
	return appv1alpha1.ChangePodPreFailed
}

func (a *advance) fromPreWait(call CheckCall, answer CheckAnswer) {
	const failed = appv1alpha1.ChangePodPreFailed
	switch {
	case a.needsNoCheck(failed):
	case a.facts.Order == appv1alpha1.OrderRefused:
		a.giveUp(failed, appv1alpha1.ReasonOrderRefused, "AlterShield Server refused the change order of the release")
	case hasEnded(a.facts.Order):
		a.release(failed)
	case call == CallBegin && answer.Err == nil:
		a.status.Status, a.status.ChangePodID = appv1alpha1.ChangePodPreSubmitted, answer.CheckID
		a.status.PreSubmitTime, a.status.PreSubmitTimeUnix = Stamp(a.now)
		a.status.Deadline = afterSeconds(a.now, a.status.PreTimeoutThreshold)
	case call == CallBegin:
		a.hold(appv1alpha1.ChangePodPreWait, failed, answer.Err)
	case a.facts.isLate(a.batch, a.now):
		a.giveUpWaiting(failed)
	case a.facts.Order == appv1alpha1.OrderPending:
		a.wait(appv1alpha1.ChangePodPreWait, appv1alpha1.ReasonAwaitingOrder, "AlterShield Server has not taken the change order of the release yet")
	}
}

func (a *advance) fromPreSubmitted(call CheckCall, answer CheckAnswer) {
	const timeout = appv1alpha1.ChangePodPreTimeout
	switch {
	case !a.facts.Configured:
		a.needsNoCheck(timeout)
	case call == CallPollPre && answer.Err == nil && answer.Passed:
		goOn(&a.status, a.now)
	case call == CallPollPre:
		a.giveUp(timeout, appv1alpha1.ReasonCheckTimeout,
			fmt.Sprintf("the check before the batch gave no verdict within %d seconds", a.status.PreTimeoutThreshold))
	}
}

func (a *advance) fromPostWait(call CheckCall, answer CheckAnswer) {
	const failed = appv1alpha1.ChangePodPostFailed
	switch {
	case a.pollPassed(call, answer):
	case a.needsNoCheck(failed):
	case call == CallFinish && answer.Err == nil:
		a.status.Status = appv1alpha1.ChangePodPostSubmitted
		a.status.PostSubmitTime, a.status.PostSubmitTimeUnix = Stamp(a.now)
		a.status.Deadline = afterSeconds(a.now, a.status.PostTimeoutThreshold)
	case call == CallFinish:
		a.hold(appv1alpha1.ChangePodPostWait, failed, answer.Err)
	case call == CallPollPost:
		a.giveUpWaiting(failed)
	}
}

func (a *advance) fromPostSubmitted(call CheckCall, answer CheckAnswer) {
	const timeout = appv1alpha1.ChangePodPostTimeout
	switch {
	case a.pollPassed(call, answer):
	case !a.facts.Configured:
		a.needsNoCheck(timeout)
	case call == CallPollPost:
		a.giveUp(timeout, appv1alpha1.ReasonCheckTimeout,
			fmt.Sprintf("the check after the batch gave no verdict within %d seconds", a.status.PostTimeoutThreshold))
	}
}

// pollPassed takes a polled pass for the verdict. A polled fail is none: the server answers so while the check still runs.
func (a *advance) pollPassed(call CheckCall, answer CheckAnswer) bool {
	if call == CallNone || answer.Err != nil || !answer.Passed {
		return false
	}
	a.status.PodResults = resultsOf(a.batch, CheckVerdict{Passed: true})
	finishCheck(&a.status, appv1alpha1.ChangePodPostFinish)
	return true
}

// needsNoCheck ends the check where nobody wants it.
func (a *advance) needsNoCheck(last appv1alpha1.ChangePodPhase) bool {
	switch {
	case !a.facts.Configured:
		a.excuse(last, appv1alpha1.ReasonCheckNotConfigured, "no AlterShield Server is configured: the pods count as passed")
	case a.facts.SwitchedOff:
		a.excuse(last, appv1alpha1.ReasonCheckSwitchedOff, "AlterShield Server has switched its checks off: the pods count as passed")
	default:
		return false
	}
	return true
}

// hold keeps a batch waiting for a verifier that can't be asked, and ends the check where it refuses.
func (a *advance) hold(phase, failed appv1alpha1.ChangePodPhase, err error) {
	if errors.Is(err, ErrRefused) {
		a.giveUp(failed, appv1alpha1.ReasonCheckRefused, err.Error())
		return
	}
	if errors.Is(err, ErrNotYet) && a.status.Status == phase {
		return
	}
	a.wait(phase, troubleReason(err), err.Error())
}

// wait keeps the first account of a trouble: each further attempt would be a write that tells nothing new.
func (a *advance) wait(phase appv1alpha1.ChangePodPhase, reason, message string) {
	deadline := deadlineOf(a.batch)
	if a.status.Deadline == nil {
		a.status.Deadline = afterWindow(deadline, 0)
	}
	known := meta.FindStatusCondition(a.status.Conditions, appv1alpha1.ConditionVerified)
	if a.status.Status == phase && known != nil && known.Reason == reason {
		return
	}
	a.status.Status = phase
	explain(&a.status, reason, shortText(message), a.now)
}

// giveUpWaiting ends a wait for the verifier to take the check, with what is known of why it did not.
func (a *advance) giveUpWaiting(last appv1alpha1.ChangePodPhase) {
	reason, message := appv1alpha1.ReasonServerUnavailable, "AlterShield Server did not take the check in time"
	known := meta.FindStatusCondition(a.status.Conditions, appv1alpha1.ConditionVerified)
	if known != nil && isHeldUp(known.Reason) {
		message += ": " + known.Message
	}
	a.giveUp(last, reason, message)
}

// giveUp ends a check that could not be made. By default only an explicit verdict fails a pod; a failure policy of
// "fail" makes every batch fail that was not checked.
func (a *advance) giveUp(last appv1alpha1.ChangePodPhase, reason, message string) {
	if hasEnded(a.facts.Order) {
		a.release(last)
		return
	}
	if !a.facts.FailClosed {
		a.excuse(last, reason, message+": the pods count as passed")
		return
	}
	a.status.PodResults = resultsOf(a.batch, CheckVerdict{Reason: notCheckedByPolicy + message})
	a.excuse(last, reason, message+": the pods count as failed")
}

// release ends a check that nobody waits for any more.
func (a *advance) release(last appv1alpha1.ChangePodPhase) {
	a.excuse(last, appv1alpha1.ReasonReleaseEnded, "the release ended before the batch was checked")
}

// excuse ends a check without a verdict.
func (a *advance) excuse(last appv1alpha1.ChangePodPhase, reason, message string) {
	explain(&a.status, reason, shortText(message), a.now)
	finishCheck(&a.status, last)
}

func hasEnded(state appv1alpha1.OrderState) bool {
	return state == appv1alpha1.OrderSuccess || state == appv1alpha1.OrderRollback || state == appv1alpha1.OrderCancel
}
