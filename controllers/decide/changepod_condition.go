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
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// concludeChangePod returns the next status of changePod with its Verified condition and update time.
func concludeChangePod(changePod *appv1alpha1.ChangePod, status appv1alpha1.ChangePodStatus, now time.Time) appv1alpha1.ChangePodStatus {
	next := appv1alpha1.ChangePod{Spec: changePod.Spec, Status: *status.DeepCopy()}
	condition := changePodVerified(&next)
	condition.ObservedGeneration = changePod.Generation
	condition.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&next.Status.Conditions, condition)
	if !equality.Semantic.DeepEqual(changePod.Status, next.Status) {
		next.Status.UpdateTime, next.Status.UpdateTimeUnix = Stamp(now)
	}
	return next.Status
}

// changePodVerified returns the Verified condition of a batch: its outcome, or the progress of its check. The cause of a missed
// check is kept from when that was decided.
func changePodVerified(changePod *appv1alpha1.ChangePod) metav1.Condition {
	verified := metav1.Condition{Type: appv1alpha1.ConditionVerified, Status: metav1.ConditionTrue}
	judgement := Judge(changePod)
	known := meta.FindStatusCondition(changePod.Status.Conditions, appv1alpha1.ConditionVerified)
	switch {
	case len(judgement.Unknown) > 0:
		verified.Status, verified.Reason = metav1.ConditionFalse, appv1alpha1.ReasonUnknownPods
		verified.Message = fmt.Sprintf("podResults has the verdict unpass for pods that are not in spec.podInfos: %s; the batch counts as failed",
			podNames(judgement.Unknown))
	case len(judgement.Failed) > 0:
		verified.Status, verified.Reason = metav1.ConditionFalse, appv1alpha1.ReasonPodsFailed
		verified.Message = Failures(judgement.Failed)
	case changePod.Status.Status != appv1alpha1.ChangePodExecuteDone:
		verified.Status = metav1.ConditionUnknown
		verified.Reason, verified.Message = progressOf(changePod, known)
	case changePod.Status.Message == string(appv1alpha1.ChangePodPostFinish):
		verified.Reason, verified.Message = appv1alpha1.ReasonPodsPassed, "no pod failed"
		switch {
		case FailedAtServer(changePod):
			verified.Message = "a bad verdict of AlterShield Server, in serverResults, fails nothing by the checks of VerificationPolicies"
		case changePod.Spec.Order:
			verified.Message = "the " + changeOrder + " passed"
		}
	case known != nil && known.Status != metav1.ConditionFalse:
		verified.Reason, verified.Message = known.Reason, known.Message
	default:
		verified.Reason, verified.Message = appv1alpha1.ReasonCheckWithdrawn, "the batch was not checked, and no pod failed"
	}
	return verified
}

// MissedCheck returns why a batch was not checked although it had to be. missed is false where it was checked, or no check was
// wanted.
func MissedCheck(changePod *appv1alpha1.ChangePod) (cause string, missed bool) {
	verified := meta.FindStatusCondition(changePod.Status.Conditions, appv1alpha1.ConditionVerified)
	if verified == nil || changePod.Status.Status != appv1alpha1.ChangePodExecuteDone ||
		changePod.Status.Message == string(appv1alpha1.ChangePodPostFinish) || wasFailedBefore(changePod) {
		return "", false
	}
	switch verified.Reason {
	case appv1alpha1.ReasonCheckNotConfigured, appv1alpha1.ReasonCheckSwitchedOff, appv1alpha1.ReasonReleaseEnded:
		return "", false
	}
	return verified.Message, true
}

// wasFailedBefore reports whether the check before the batch failed.
func wasFailedBefore(changePod *appv1alpha1.ChangePod) bool {
	return changePod.Status.Message == string(appv1alpha1.ChangePodPreFailed) && changePod.Status.VerdictTime != nil
}

// progressOf returns how far a check is. It keeps the cause of a wait, such as a server that can't be reached.
func progressOf(changePod *appv1alpha1.ChangePod, known *metav1.Condition) (reason, message string) {
	switch changePod.Status.Status {
	case appv1alpha1.ChangePodPreSubmitted:
		message = "the check before " + subjectOf(changePod) + " is under way"
	case appv1alpha1.ChangePodPostSubmitted:
		message = "the check after " + subjectOf(changePod) + " is under way"
	default:
		if known != nil && known.Status == metav1.ConditionUnknown && isHeldUp(known.Reason) {
			return known.Reason, known.Message
		}
		message = subjectOf(changePod) + " is about to be checked"
		if awaitsSteps(changePod) {
			message = "the check after the rollout follows its last step"
		}
	}
	return appv1alpha1.ReasonVerifying, message
}

func isHeldUp(reason string) bool {
	return reason == appv1alpha1.ReasonServerUnavailable || reason == appv1alpha1.ReasonUnauthorized || reason == appv1alpha1.ReasonAwaitingOrder ||
		reason == appv1alpha1.ReasonBaking || reason == appv1alpha1.ReasonAwaitingCheck
}

// explain records why a batch waits or was not checked.
func explain(status *appv1alpha1.ChangePodStatus, reason, message string, now time.Time) {
	meta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: appv1alpha1.ConditionVerified, Status: metav1.ConditionUnknown, Reason: reason, Message: message,
		LastTransitionTime: metav1.NewTime(now),
	})
}

// maxNamedPods keeps messages readable where thousands of pods fail.
const maxNamedPods = 5

// Failures describes the pods that failed, and why they did.
func Failures(pods []appv1alpha1.PodSummary) string {
	var parts []string
	for _, pod := range pods[:min(len(pods), maxNamedPods)] {
		part := "pod " + pod.Pod
		if pod.Pod == changeOrder {
			part = "the " + changeOrder
		}
		part += " failed its check"
		if pod.Message != "" {
			part += ": " + pod.Message
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ") + andMore(len(pods))
}

// FailureOf describes why a release failed: its failed pods, or the fault that its workload shows.
func FailureOf(status *appv1alpha1.ChangeWorkloadStatus) string {
	if len(status.DefenseCheckFailPods) > 0 {
		return Failures(status.DefenseCheckFailPods)
	}
	verified := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionVerified)
	if verified == nil || verified.Reason != appv1alpha1.ReasonWorkloadFailed {
		return ""
	}
	return verified.Message
}

// maxText is the most bytes of a message in a status. The API server rejects a pod summary with more characters.
const maxText = 1024

func shortText(text string) string { return Shorten(text, maxText) }

// Shorten truncates a text to limit bytes, between two characters.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ending = "..."
	cut := limit - len(ending)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ending
}

// maxUser is the longest name of a user that the API records, in bytes.
const maxUser = 253

// ShortUser returns the name of a user as the API records it.
func ShortUser(name string) string { return Shorten(name, maxUser) }

func podNames(pods []appv1alpha1.PodSummary) string {
	var names []string
	for _, pod := range pods[:min(len(pods), maxNamedPods)] {
		names = append(names, pod.Pod)
	}
	return strings.Join(names, ", ") + andMore(len(pods))
}

func andMore(count int) string {
	if count <= maxNamedPods {
		return ""
	}
	return fmt.Sprintf(" and %d more", count-maxNamedPods)
}
