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
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// What a verifier may answer to a request besides success. Any other error says that it could not be asked, or didn't
// answer: asking again may help.
var (
	// ErrRefused says that the verifier will not do what it was asked: asking again is no use.
	ErrRefused = errors.New("refused")
	// ErrUnauthorized says that the verifier doesn't know the operator, which its administrator can mend.
	ErrUnauthorized = errors.New("unauthorized")
	// ErrNotYet says that the check before the batch still runs, so the check after it can't begin.
	ErrNotYet = errors.New("not yet")
)

// Order announces a release to a verifier.
type Order struct {
	// ID identifies the release for ever, in at most 128 bytes.
	ID string
	// Namespace and Deployment name what is released.
	Namespace, Deployment string
	// Version is the release version, Release its number.
	Version string
	Release int64
}

// Batch is a batch of pods that a verifier checks.
type Batch struct {
	Order Order
	// Number counts the batches of the release from 0.
	Number int
	// Total is how many batches the release is expected to have.
	Total int
	// Last says that no further batch is expected.
	Last bool
	Pods []appv1alpha1.PodSummary
}

// CheckVerdict is what a verifier says of a batch.
type CheckVerdict struct {
	// CheckID is the verifier's id of the check.
	CheckID string
	Stage   appv1alpha1.CheckStage
	Passed  bool
	// Reason says why it failed; empty where that is not known.
	Reason string
}

// ApplyVerdict is the status that a batch comes to by a verdict; applied is false for one that changes nothing: of
// another check, of a stage that is over, or told before. A verdict that comes after its deadline still counts.
func ApplyVerdict(changePod *appv1alpha1.ChangePod, verdict CheckVerdict, now time.Time) (status appv1alpha1.ChangePodStatus, applied bool) {
	if verdict.CheckID == "" || verdict.CheckID != changePod.Status.ChangePodID || !isAwaited(changePod, verdict) {
		return changePod.Status, false
	}
	next := changePod.DeepCopy()
	arrived := metav1.NewMicroTime(now)
	next.Status.VerdictTime = &arrived
	switch {
	case verdict.Stage == appv1alpha1.StagePost:
		next.Status.PodResults = resultsOf(changePod, verdict)
		finishCheck(&next.Status, appv1alpha1.ChangePodPostFinish)
	case !verdict.Passed:
		next.Status.PodResults = resultsOf(changePod, verdict)
		finishCheck(&next.Status, appv1alpha1.ChangePodPreFailed)
	default:
		goOn(&next.Status, now)
	}
	return concludeChangePod(changePod, next.Status, now), true
}

// EarlyVerdict is the verdict for a batch that arrived before its check was known, if there is one that still counts.
func EarlyVerdict(workload *appv1alpha1.ChangeWorkload, changePod *appv1alpha1.ChangePod) (CheckVerdict, bool) {
	for _, early := range workload.Status.EarlyVerdicts {
		verdict := CheckVerdict{
			CheckID: early.ChangePodID, Stage: early.Stage, Passed: early.Verdict != appv1alpha1.VerdictUnpass, Reason: early.Message,
		}
		if verdict.CheckID != "" && verdict.CheckID == changePod.Status.ChangePodID && isAwaited(changePod, verdict) {
			return verdict, true
		}
	}
	return CheckVerdict{}, false
}

// Awaits says that a batch was seen to wait for the verdict of a stage. Other batches may take one as well, but then what
// was seen of them is likely out of date.
func Awaits(changePod *appv1alpha1.ChangePod, stage appv1alpha1.CheckStage) bool {
	if stage == appv1alpha1.StagePre {
		return changePod.Status.Status == appv1alpha1.ChangePodPreSubmitted
	}
	return changePod.Status.Status == appv1alpha1.ChangePodPostSubmitted
}

// isAwaited says whether a verdict of this stage is still news.
func isAwaited(changePod *appv1alpha1.ChangePod, verdict CheckVerdict) bool {
	late := func(message appv1alpha1.ChangePodPhase) bool {
		return changePod.Status.Status == appv1alpha1.ChangePodExecuteDone && changePod.Status.Message == string(message)
	}
	if verdict.Stage == appv1alpha1.StagePre {
		return Awaits(changePod, verdict.Stage) || !verdict.Passed && late(appv1alpha1.ChangePodPreTimeout)
	}
	// The answer to our notice that the batch has taken effect may be overtaken by the verdict.
	return changePod.Status.Status == appv1alpha1.ChangePodPostWait || Awaits(changePod, verdict.Stage) ||
		late(appv1alpha1.ChangePodPostTimeout) || late(appv1alpha1.ChangePodPostFailed)
}

// notCheckedByPolicy begins the message of a pod that failed because it was not checked.
const notCheckedByPolicy = "not checked, and the failure policy is fail: "

// resultsOf gives every pod of the batch the verdict: the verifier speaks of the batch as a whole. What somebody failed by
// hand meanwhile stays failed.
func resultsOf(changePod *appv1alpha1.ChangePod, verdict CheckVerdict) []appv1alpha1.PodSummary {
	byHand := map[string]appv1alpha1.PodSummary{}
	for _, result := range changePod.Status.PodResults {
		if result.Verdict == appv1alpha1.VerdictUnpass && !strings.HasPrefix(result.Message, notCheckedByPolicy) {
			byHand[result.Pod] = result
		}
	}
	results := make([]appv1alpha1.PodSummary, 0, len(changePod.Spec.PodInfos)+len(byHand))
	for _, pod := range changePod.Spec.PodInfos {
		pod.Verdict = appv1alpha1.VerdictPass
		if !verdict.Passed {
			pod.Verdict, pod.Message = appv1alpha1.VerdictUnpass, shortText(verdict.Reason)
		}
		if result, failed := byHand[pod.Pod]; failed {
			pod.Verdict, pod.Message = result.Verdict, result.Message
			delete(byHand, pod.Pod)
		}
		results = append(results, pod)
	}
	for _, result := range changePod.Status.PodResults {
		if _, unknown := byHand[result.Pod]; unknown && len(results) < appv1alpha1.MaxStatusPods {
			results = append(results, result)
			delete(byHand, result.Pod)
		}
	}
	return results
}

// goOn lets a batch whose first stage passed be reported.
func goOn(status *appv1alpha1.ChangePodStatus, now time.Time) {
	status.Status, status.Deadline = appv1alpha1.ChangePodPostWait, afterSeconds(now, status.PostTimeoutThreshold)
}

// finishCheck ends the check of a batch; last is the phase that it comes from.
func finishCheck(status *appv1alpha1.ChangePodStatus, last appv1alpha1.ChangePodPhase) {
	status.Status, status.Message, status.Deadline = appv1alpha1.ChangePodExecuteDone, string(last), nil
}

func afterSeconds(now time.Time, seconds int32) *metav1.Time {
	return afterWindow(now, time.Duration(seconds)*time.Second)
}
