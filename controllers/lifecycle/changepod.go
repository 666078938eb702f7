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

package lifecycle

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

// AdvanceChangePod returns the status that a batch comes to at now. No AlterShield Server is configured, so its check
// can't be submitted and it ends ExecuteDone with the message PreFailed; a batch that is done is judged again, since
// verdicts may be set by hand.
func AdvanceChangePod(changePod *appv1alpha1.ChangePod, now time.Time) appv1alpha1.ChangePodStatus {
	next := changePod.DeepCopy()
	if next.Status.Status != appv1alpha1.ChangePodExecuteDone {
		next.Status.Status = appv1alpha1.ChangePodExecuteDone
		next.Status.Message = string(appv1alpha1.ChangePodPreFailed)
	}
	condition := changePodVerified(Judge(next), next.Status.Message)
	condition.ObservedGeneration = changePod.Generation
	condition.LastTransitionTime = metav1.NewTime(now)
	meta.SetStatusCondition(&next.Status.Conditions, condition)
	if !equality.Semantic.DeepEqual(changePod.Status, next.Status) {
		next.Status.UpdateTime, next.Status.UpdateTimeUnix = Stamp(now)
	}
	return next.Status
}

func changePodVerified(judgement Judgement, message string) metav1.Condition {
	verified := metav1.Condition{Type: appv1alpha1.ConditionVerified}
	switch {
	case len(judgement.Unknown) > 0:
		verified.Status, verified.Reason = metav1.ConditionFalse, appv1alpha1.ReasonUnknownPods
		verified.Message = fmt.Sprintf("podResults fail pods that are not in spec.podInfos: %s; the batch counts as failed",
			podNames(judgement.Unknown))
	case len(judgement.Failed) > 0:
		verified.Status, verified.Reason = metav1.ConditionFalse, appv1alpha1.ReasonPodsFailed
		verified.Message = Failures(judgement.Failed)
	case message == string(appv1alpha1.ChangePodPreFailed):
		verified.Status, verified.Reason = metav1.ConditionTrue, appv1alpha1.ReasonCheckNotConfigured
		verified.Message = "no AlterShield Server is configured: the pods count as passed"
	default:
		verified.Status, verified.Reason = metav1.ConditionTrue, appv1alpha1.ReasonPodsPassed
		verified.Message = "no pod failed"
	}
	return verified
}

// maxNamedPods keeps messages readable where thousands of pods fail.
const maxNamedPods = 5

// Failures says which pods failed and why.
func Failures(pods []appv1alpha1.PodSummary) string {
	var parts []string
	for _, pod := range pods[:min(len(pods), maxNamedPods)] {
		part := "pod " + pod.Pod + " failed its check"
		if pod.Message != "" {
			part += ": " + pod.Message
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "; ") + andMore(len(pods))
}

// maxEventNote is what the API server takes as the note of an Event, in bytes.
const maxEventNote = 1024

// EventNote shortens a text to what fits into an Event: one that is too long would be refused, and nobody told.
func EventNote(text string) string {
	if len(text) <= maxEventNote {
		return text
	}
	const ending = "..."
	cut := maxEventNote - len(ending)
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + ending
}

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
