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
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// ApplyVerdict returns the next status of a batch after a verdict. applied is false for a verdict that changes nothing: one of another
// check, of a stage that is over, or one that is known. A verdict after the deadline still counts.
func ApplyVerdict(changePod *appv1alpha1.ChangePod, delivery verifier.Delivery, now time.Time) (status appv1alpha1.ChangePodStatus, applied bool) {
	next := nextPhase(changePod, delivery)
	if next == "" {
		return changePod.Status, false
	}
	status = *changePod.Status.DeepCopy()
	conclude(&status, changePod, delivery.Verdict, next, now)
	arrived := metav1.NewMicroTime(now)
	status.VerdictTime = &arrived
	return concludeChangePod(changePod, status, now), true
}

// nextPhase returns the phase that a delivered verdict leads to, empty where the verdict changes nothing.
func nextPhase(changePod *appv1alpha1.ChangePod, delivery verifier.Delivery) appv1alpha1.ChangePodPhase {
	ways := edgesOf(phaseOf(&changePod.Status))
	if delivery.CheckID == "" || delivery.CheckID != changePod.Status.ChangePodID || delivery.Stage != ways.stage {
		return ""
	}
	return ways.after(delivery.Verdict.Outcome, changePod.Spec.ServerCheck)
}

// conclude moves the status of a batch to the phase next after a verdict. At the end of the check the pods get the verdict; a bad one that is
// left to checks is kept at once, and fails none of them. That of an order waits for the last step between its stages, without a deadline.
func conclude(
	status *appv1alpha1.ChangePodStatus, batch *appv1alpha1.ChangePod, verdict verifier.Verdict, next appv1alpha1.ChangePodPhase, now time.Time,
) {
	isOver := edgesOf(next).call == CallNone
	if batch.Spec.ServerCheck {
		if isOver || verdict.Outcome == verifier.Fail {
			status.ServerResults = resultsOf(batch, status.ServerResults, verdict)
		}
		verdict = verifier.Verdict{Outcome: verifier.Pass}
	}
	if isOver {
		status.PodResults = resultsOf(batch, status.PodResults, verdict)
	}
	enter(status, next, now)
	if batch.Spec.Order {
		status.Deadline = nil
	}
}

// EarlyVerdict returns the verdict for a batch that arrived before its check was known, if there is one that still counts.
func EarlyVerdict(workload *appv1alpha1.ChangeWorkload, changePod *appv1alpha1.ChangePod) (verifier.Delivery, bool) {
	for _, early := range workload.Status.EarlyVerdicts {
		delivery := verifier.Delivery{
			CheckID: early.ChangePodID, Stage: early.Stage, Verdict: verifier.Verdict{Outcome: verifier.Pass, Reason: early.Message},
		}
		if early.Verdict == appv1alpha1.VerdictUnpass {
			delivery.Verdict.Outcome = verifier.Fail
		}
		if nextPhase(changePod, delivery) != "" {
			return delivery, true
		}
	}
	return verifier.Delivery{}, false
}

// Awaits reports whether a batch waits for the verdict of a stage. Other batches may accept one as well, but are then likely out of
// date.
func Awaits(changePod *appv1alpha1.ChangePod, stage appv1alpha1.CheckStage) bool {
	ways := edgesOf(changePod.Status.Status)
	return ways.stage == stage && (ways.call == CallAskPre || ways.call == CallAskPost)
}

// notCheckedByPolicy is the start of the message of a pod that failed because it was not checked.
const notCheckedByPolicy = "not checked, and the failure policy is fail: "

// resultsOf returns the results of the pods of a batch after a verdict, given those that are known. A pod that failed stays failed, such as by
// a user meanwhile.
func resultsOf(changePod *appv1alpha1.ChangePod, known []appv1alpha1.PodSummary, verdict verifier.Verdict) []appv1alpha1.PodSummary {
	own, byHand := map[string]appv1alpha1.PodSummary{}, map[string]appv1alpha1.PodSummary{}
	for _, pod := range verdict.Pods {
		own[pod.Pod] = pod
	}
	for _, result := range known {
		if result.Verdict == appv1alpha1.VerdictUnpass && !strings.HasPrefix(result.Message, notCheckedByPolicy) {
			byHand[result.Pod] = result
		}
	}
	checked := CheckedBy(changePod)
	results := make([]appv1alpha1.PodSummary, 0, len(checked)+len(byHand))
	for _, pod := range checked {
		pod.Verdict = appv1alpha1.VerdictPass
		if verdict.Outcome == verifier.Fail {
			pod.Verdict, pod.Message = appv1alpha1.VerdictUnpass, shortText(verdict.Reason)
		}
		if result, found := own[pod.Pod]; found {
			pod.Verdict, pod.Message = result.Verdict, shortText(result.Message)
		}
		if result, failed := byHand[pod.Pod]; failed {
			pod.Verdict, pod.Message = result.Verdict, result.Message
			delete(byHand, pod.Pod)
		}
		results = append(results, pod)
	}
	for _, result := range known {
		if _, unknown := byHand[result.Pod]; unknown && len(results) < appv1alpha1.MaxStatusPods {
			results = append(results, result)
			delete(byHand, result.Pod)
		}
	}
	return results
}

func afterSeconds(now time.Time, seconds int32) *metav1.Time {
	return afterWindow(now, time.Duration(seconds)*time.Second)
}
