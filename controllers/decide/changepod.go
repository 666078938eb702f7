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
)

// checkThreshold is how long each stage of a check may take, in seconds, as documented.
const checkThreshold = 120

// CheckFacts is what the check of a batch depends on besides the batch.
type CheckFacts struct {
	Verifier
	// Order is the state of the release's order; empty where it is not known yet.
	Order appv1alpha1.OrderState
	// Over says that the release has ended and nothing is left to ask under.
	Over bool
	// Asked says that the verifier was asked for what the batch waits for, and didn't take it.
	Asked bool
	// Since is when the operator began to look after batches: what it didn't do before is not the verifier's fault.
	Since time.Time
}

// CheckCall is a question to the verifier.
type CheckCall string

const (
	// CallNone asks nothing.
	CallNone CheckCall = ""
	// CallBegin asks for the check before the batch.
	CallBegin CheckCall = "begin"
	// CallFinish says that the batch has taken effect and asks for the check after it.
	CallFinish CheckCall = "finish"
	// CallPollPre asks whether the check before the batch has passed, whose verdict didn't come.
	CallPollPre CheckCall = "poll PRE"
	// CallPollPost asks the same of the check after the batch.
	CallPollPost CheckCall = "poll POST"
)

// CheckAnswer is what the verifier answered.
type CheckAnswer struct {
	// Call is what was asked. The answer to a question that is no longer open counts for nothing.
	Call CheckCall
	// CheckID is the id of the check that CallBegin began.
	CheckID string
	// Passed says that the stage is known to have passed: by a poll, or because CallFinish found that out.
	Passed bool
	// Err says why there is no answer.
	Err error
}

// NextCall is the question to ask about a batch at now. The verdicts come by themselves; only at the end of a wait is the
// verifier asked, for a verdict that got lost.
func NextCall(changePod *appv1alpha1.ChangePod, facts CheckFacts, now time.Time) CheckCall {
	if !facts.Configured || facts.Over {
		return CallNone
	}
	expired := isExpired(changePod, now)
	switch changePod.Status.Status {
	case appv1alpha1.ChangePodInit, appv1alpha1.ChangePodPreWait:
		if facts.mayBegin(changePod, now) {
			return CallBegin
		}
	case appv1alpha1.ChangePodPreSubmitted:
		if expired {
			return CallPollPre
		}
	case appv1alpha1.ChangePodPostWait:
		if expired && (facts.Asked || facts.SwitchedOff) {
			return CallPollPost // the batch may have been reported, and only the answer been lost
		}
		if !facts.SwitchedOff {
			return CallFinish
		}
	case appv1alpha1.ChangePodPostSubmitted:
		if expired {
			return CallPollPost
		}
	}
	return CallNone
}

func (f CheckFacts) mayBegin(changePod *appv1alpha1.ChangePod, now time.Time) bool {
	return f.Order == appv1alpha1.OrderOpen && !f.SwitchedOff && !f.isLate(changePod, now)
}

// isLate says that a batch waited for the verifier long enough. Time that it spent in the operator's own queue, or while
// there was no operator, doesn't count.
func (f CheckFacts) isLate(changePod *appv1alpha1.ChangePod, now time.Time) bool {
	if !isExpired(changePod, now) {
		return false
	}
	if f.Order == appv1alpha1.OrderOpen {
		return f.Asked
	}
	return !now.Before(f.Since.Add(checkThreshold * time.Second))
}

// AdvanceChangePod is the status that a batch comes to at now, given the answer to NextCall. A batch that is done is
// judged again, since verdicts may be set by hand.
func AdvanceChangePod(changePod *appv1alpha1.ChangePod, facts CheckFacts, answer CheckAnswer, now time.Time) appv1alpha1.ChangePodStatus {
	call := NextCall(changePod, facts, now)
	if answer.Call != call {
		call = CallNone
	}
	next := advance{status: *changePod.Status.DeepCopy(), batch: changePod, facts: facts, now: now}
	if next.status.Status != appv1alpha1.ChangePodExecuteDone {
		next.status.PreTimeoutThreshold, next.status.PostTimeoutThreshold = thresholds(&next.status)
	}
	next.step(call, answer)
	return concludeChangePod(changePod, next.status, now)
}

// overdueWait is when to look again at a batch that waits beyond its deadline, as its release was not announced yet.
const overdueWait = 5 * time.Second

// CheckWait is how long a status may stay as it is, 0 where only an event can change it.
func CheckWait(changePod *appv1alpha1.ChangePod, now time.Time) time.Duration {
	if changePod.Status.Status == appv1alpha1.ChangePodExecuteDone {
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

// deadlineOf counts from the creation of a batch that was not written to yet.
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
