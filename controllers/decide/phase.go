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

// CheckCall is a call of the verifier.
type CheckCall string

const (
	// CallNone is no call.
	CallNone CheckCall = ""
	// CallBegin begins the check before the batch.
	CallBegin CheckCall = "begin"
	// CallFinish reports that the batch has taken effect, and begins the check after it.
	CallFinish CheckCall = "finish"
	// CallAskPre polls the verdict of the check before the batch.
	CallAskPre CheckCall = "ask PRE"
	// CallAskPost polls that of the check after the batch.
	CallAskPost CheckCall = "ask POST"
	// CallAskBeforeFinish polls it for a batch that the leader before may have reported, while a callback may be under way.
	CallAskBeforeFinish CheckCall = "ask POST before finish"
)

// edges lead out of a phase of a ChangePod. An empty phase is no edge.
type edges struct {
	// stage is the stage of the check whose verdict counts.
	stage appv1alpha1.CheckStage
	// call is the call that the batch needs, empty at its end.
	call CheckCall
	// taken is the phase after the verifier accepted the call.
	taken appv1alpha1.ChangePodPhase
	// pass and fail are the phases after the verdict of the stage.
	pass, fail appv1alpha1.ChangePodPhase
	// unchecked is the phase after the check ended without a verdict.
	unchecked appv1alpha1.ChangePodPhase
}

// edgesOf is the state machine of a ChangePod, as drawn in the package comment. All other phases are final.
func edgesOf(phase appv1alpha1.ChangePodPhase) edges {
	const pre, post = appv1alpha1.StagePre, appv1alpha1.StagePost
	switch phase {
	case appv1alpha1.ChangePodInit, appv1alpha1.ChangePodPreWait:
		return edges{stage: pre, call: CallBegin, taken: appv1alpha1.ChangePodPreSubmitted, unchecked: appv1alpha1.ChangePodPreFailed}
	case appv1alpha1.ChangePodPreSubmitted:
		return edges{
			stage: pre, call: CallAskPre,
			pass: appv1alpha1.ChangePodPostWait, fail: appv1alpha1.ChangePodPreFailed, unchecked: appv1alpha1.ChangePodPreTimeout,
		}
	case appv1alpha1.ChangePodPreTimeout: // a late pass changes nothing
		return edges{stage: pre, fail: appv1alpha1.ChangePodPreFailed}
	case appv1alpha1.ChangePodPostWait: // the verdict may overtake the answer to the call
		return edges{
			stage: post, call: CallFinish, taken: appv1alpha1.ChangePodPostSubmitted,
			pass: appv1alpha1.ChangePodPostFinish, fail: appv1alpha1.ChangePodPostFinish, unchecked: appv1alpha1.ChangePodPostFailed,
		}
	case appv1alpha1.ChangePodPostSubmitted:
		return edges{
			stage: post, call: CallAskPost,
			pass: appv1alpha1.ChangePodPostFinish, fail: appv1alpha1.ChangePodPostFinish, unchecked: appv1alpha1.ChangePodPostTimeout,
		}
	case appv1alpha1.ChangePodPostFailed, appv1alpha1.ChangePodPostTimeout:
		return edges{stage: post, pass: appv1alpha1.ChangePodPostFinish, fail: appv1alpha1.ChangePodPostFinish}
	}
	return edges{}
}

// after returns the phase that a verdict of the stage leads to. A fail before the batch doesn't end its check where checks of VerificationPolicies
// decide what follows from it.
func (e edges) after(outcome verifier.Outcome, serverCheck bool) appv1alpha1.ChangePodPhase {
	switch {
	case outcome == verifier.Pass, outcome == verifier.Fail && serverCheck && e.call == CallAskPre:
		return e.pass
	case outcome == verifier.Fail:
		return e.fail
	}
	return ""
}

// phaseOf returns the phase that a batch is in: at ExecuteDone, the one that it ended with.
func phaseOf(status *appv1alpha1.ChangePodStatus) appv1alpha1.ChangePodPhase {
	if status.Status == appv1alpha1.ChangePodExecuteDone {
		return appv1alpha1.ChangePodPhase(status.Message)
	}
	return status.Status
}

// enter puts a status into a phase, which at the end of the check is its message.
func enter(status *appv1alpha1.ChangePodStatus, phase appv1alpha1.ChangePodPhase, now time.Time) {
	status.Status = phase
	switch phase {
	case appv1alpha1.ChangePodPreSubmitted:
		status.PreSubmitTime, status.PreSubmitTimeUnix = Stamp(now)
		status.Deadline = afterSeconds(now, status.PreTimeoutThreshold)
	case appv1alpha1.ChangePodPostWait:
		status.Deadline = afterSeconds(now, status.PostTimeoutThreshold)
	case appv1alpha1.ChangePodPostSubmitted:
		status.PostSubmitTime, status.PostSubmitTimeUnix = Stamp(now)
		status.Deadline = afterSeconds(now, status.PostTimeoutThreshold)
	default:
		status.Status, status.Message, status.Deadline = appv1alpha1.ChangePodExecuteDone, string(phase), nil
	}
}
