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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// advance is one step of a batch.
type advance struct {
	status appv1alpha1.ChangePodStatus
	batch  *appv1alpha1.ChangePod
	facts  CheckFacts
	answer CheckAnswer
	now    time.Time
}

// step moves a batch that is not done along one of the edges of its phase, or leaves it in that phase.
func (a *advance) step() {
	ways := edgesOf(a.status.Status)
	next := ways.after(a.answer.Verdict.Outcome, a.batch.Spec.ServerCheck)
	switch {
	case ways.call == CallNone: // a user has written a final phase into the status
		enter(&a.status, a.status.Status, a.now)
	case a.facts.Over:
		a.release(ways.unchecked)
	case !a.facts.Configured && a.facts.bakes(a.now):
		a.bake()
	case !a.facts.Configured && a.facts.awaits(a.now) != nil:
		a.awaitCheck(a.facts.awaits(a.now))
	case !a.facts.Configured && !a.facts.BakedUntil.IsZero():
		a.baked()
	case !a.facts.Configured:
		a.excuse(ways.unchecked, appv1alpha1.ReasonCheckNotConfigured, a.counted("no AlterShield Server is configured", "passed"))
	case awaitsSteps(a.batch):
		a.awaitSteps(ways)
	case a.answer.Err == nil && next != "":
		a.conclude(next)
	case ways.call == CallBegin:
		a.begin(ways)
	case ways.call == CallFinish:
		a.finish(ways)
	default:
		a.await(ways)
	}
}

// conclude applies the verdict of an answer. A fail gets the time of its arrival, like one that is delivered.
func (a *advance) conclude(next appv1alpha1.ChangePodPhase) {
	if a.answer.Verdict.Outcome == verifier.Fail {
		arrived := metav1.NewMicroTime(a.now)
		a.status.VerdictTime = &arrived
	}
	conclude(&a.status, a.batch, a.answer.Verdict, next, a.now)
}

// begin handles the wait for the verifier to accept the check before the batch.
func (a *advance) begin(ways edges) {
	switch {
	case a.facts.SwitchedOff:
		a.switchedOff(ways)
	case a.facts.Order == appv1alpha1.OrderRefused:
		a.giveUp(ways.unchecked, appv1alpha1.ReasonOrderRefused, a.facts.Name+" refused the change order of the release")
	case hasEnded(a.facts.Order):
		a.release(ways.unchecked)
	case a.answer.Call == CallBegin && a.answer.Err == nil:
		a.status.ChangePodID = a.answer.CheckID
		enter(&a.status, ways.taken, a.now)
	case a.answer.Call == CallBegin:
		a.hold(appv1alpha1.ChangePodPreWait, ways, a.answer.Err)
	case a.facts.isLate(a.batch, a.now):
		a.giveUpWaiting(ways.unchecked)
	case a.facts.Order == appv1alpha1.OrderPending:
		a.wait(appv1alpha1.ChangePodPreWait, appv1alpha1.ReasonAwaitingOrder, a.facts.Name+" has not accepted the change order of the release yet")
	}
}

// awaitSteps has the stage after the last step begin once it is due, with its deadline.
func (a *advance) awaitSteps(ways edges) {
	switch {
	case hasEnded(a.facts.Order):
		a.release(ways.unchecked)
	case a.facts.Due:
		enter(&a.status, appv1alpha1.ChangePodPostWait, a.now)
	}
}

// finish handles the wait for the verifier to accept the check after the batch.
func (a *advance) finish(ways edges) {
	switch {
	case a.facts.bakes(a.now):
		a.bake()
	case a.facts.awaits(a.now) != nil:
		a.awaitCheck(a.facts.awaits(a.now))
	case a.facts.SwitchedOff:
		a.switchedOff(ways)
	case a.answer.Call == CallFinish && a.answer.Err == nil:
		enter(&a.status, ways.taken, a.now)
	case a.answer.Call == CallFinish:
		a.endBake()
		a.hold(appv1alpha1.ChangePodPostWait, ways, a.answer.Err)
	case a.answer.Call == CallAskPost:
		a.giveUpWaiting(ways.unchecked)
	}
}

// await handles the wait for a verdict, until the deadline.
func (a *advance) await(ways edges) {
	if a.answer.Call == CallNone || !isExpired(a.batch, a.now) {
		return
	}
	when, seconds := "before", a.status.PreTimeoutThreshold
	if ways.stage == appv1alpha1.StagePost {
		when, seconds = "after", a.status.PostTimeoutThreshold
	}
	a.giveUp(ways.unchecked, appv1alpha1.ReasonCheckTimeout, fmt.Sprintf("the check %s %s gave no verdict within %d seconds", when, subjectOf(a.batch), seconds))
}

func (a *advance) switchedOff(ways edges) {
	a.excuse(ways.unchecked, appv1alpha1.ReasonCheckSwitchedOff, a.counted(a.facts.Name+" has switched its checks off", "passed"))
}

// hold keeps a batch waiting for an unavailable verifier, and ends the check where the verifier refuses it.
func (a *advance) hold(phase appv1alpha1.ChangePodPhase, ways edges, err error) {
	if errors.Is(err, verifier.ErrRefused) {
		a.giveUp(ways.unchecked, appv1alpha1.ReasonCheckRefused, err.Error())
		return
	}
	if errors.Is(err, verifier.ErrNotYet) && a.status.Status == phase {
		return
	}
	a.grant(ways)
	a.wait(phase, troubleReason(err), err.Error())
}

// grant gives the verifier its full time, once, where the deadline had passed before it was asked, as no operator ran.
func (a *advance) grant(ways edges) {
	wasAsked := hasReason(a.status.Conditions, appv1alpha1.ReasonServerUnavailable, appv1alpha1.ReasonUnauthorized)
	if wasAsked || !isExpired(a.batch, a.now) {
		return
	}
	a.status.Deadline = afterSeconds(a.now, a.status.PreTimeoutThreshold)
	if ways.stage == appv1alpha1.StagePost {
		a.status.Deadline = afterSeconds(a.now, a.status.PostTimeoutThreshold)
	}
}

// wait keeps the first message about a problem: later attempts would cost a write each and add nothing.
func (a *advance) wait(phase appv1alpha1.ChangePodPhase, reason, message string) {
	deadline := deadlineOf(a.batch)
	if a.status.Deadline == nil {
		a.status.Deadline = afterWindow(deadline, 0)
	}
	if a.status.Status == phase && hasReason(a.status.Conditions, reason) {
		return
	}
	a.status.Status = phase
	explain(&a.status, reason, shortText(message), a.now)
}

// giveUpWaiting ends the wait for the verifier to accept the check, with the known cause.
func (a *advance) giveUpWaiting(last appv1alpha1.ChangePodPhase) {
	reason, message := appv1alpha1.ReasonServerUnavailable, a.facts.Name+" did not accept the check in time"
	known := meta.FindStatusCondition(a.status.Conditions, appv1alpha1.ConditionVerified)
	if known != nil && isHeldUp(known.Reason) {
		message += ": " + known.Message
	}
	a.giveUp(last, reason, message)
}

// giveUp ends a check that could not be made. By default only an explicit verdict fails a pod; with the failure policy "fail",
// an unchecked batch fails.
func (a *advance) giveUp(last appv1alpha1.ChangePodPhase, reason, message string) {
	if hasEnded(a.facts.Order) {
		a.release(last)
		return
	}
	if !a.facts.FailClosed || a.isJudged() {
		a.excuse(last, reason, a.counted(message, "passed"))
		return
	}
	a.status.PodResults = resultsOf(a.batch, a.status.PodResults, verifier.Verdict{Outcome: verifier.Fail, Reason: notCheckedByPolicy + message})
	a.excuse(last, reason, a.counted(message, "failed"))
}

// release ends the check of a batch whose release has ended.
func (a *advance) release(last appv1alpha1.ChangePodPhase) {
	a.excuse(last, appv1alpha1.ReasonReleaseEnded, "the release ended before "+subjectOf(a.batch)+" was checked")
}

// excuse ends a check without a verdict.
func (a *advance) excuse(last appv1alpha1.ChangePodPhase, reason, message string) {
	explain(&a.status, reason, shortText(message), a.now)
	enter(&a.status, last, a.now)
}

// counted returns why a check could not be made, and how it counts where no check of a VerificationPolicy decides that.
func (a *advance) counted(why, how string) string {
	switch {
	case a.isJudged():
		return why
	case a.batch.Spec.Order:
		return why + ": the change order counts as " + how
	}
	return why + ": the pods count as " + how
}

// isJudged reports whether checks of VerificationPolicies decide what follows from the verdict of the verifier.
func (a *advance) isJudged() bool { return a.batch.Spec.ServerCheck && !a.facts.Unjudged }

func hasEnded(state appv1alpha1.OrderState) bool {
	return state == appv1alpha1.OrderSuccess || state == appv1alpha1.OrderRollback || state == appv1alpha1.OrderCancel
}
