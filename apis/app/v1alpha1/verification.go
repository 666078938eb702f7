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

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// AnnotationBuiltInPolicy on the MutatingWebhookConfiguration of the kinds says that the VerificationPolicy builtin was created once.
const AnnotationBuiltInPolicy = "altershield.defense.antgroup.com/built-in-policy"

// CheckVerdict is the verdict of a check of a VerificationPolicy on a release.
//
// +kubebuilder:validation:Enum=Pending;Pass;Fail;Inconclusive;Skipped
type CheckVerdict string

const (
	// CheckPending means that the release isn't verified yet and that the check found nothing so far.
	CheckPending CheckVerdict = "Pending"
	// CheckPass means that the check found nothing.
	CheckPass CheckVerdict = "Pass"
	// CheckFail means that the release is worse than before. It stands until the end of the release.
	CheckFail CheckVerdict = "Fail"
	// CheckInconclusive means that the check found something that it can't blame on the release.
	CheckInconclusive CheckVerdict = "Inconclusive"
	// CheckSkipped means that the check doesn't concern workloads of the kind.
	CheckSkipped CheckVerdict = "Skipped"
)

// Reasons of a check.
const (
	// ReasonCheckPassed means that nothing was found.
	ReasonCheckPassed = "CheckPassed"
	// ReasonCheckFailed means that pods of the release failed the check.
	ReasonCheckFailed = "CheckFailed"
	// ReasonCommonCause means that pods which don't run the release have the same trouble.
	ReasonCommonCause = "CommonCause"
	// ReasonEvaluationError means that the expression of a rule can't be evaluated.
	ReasonEvaluationError = "EvaluationError"
	// ReasonNoPods means that workloads of the kind have no pods that keep running.
	ReasonNoPods = "NoPods"
	// ReasonNotPaced means that the start of the release can't wait for the check: it isn't rolled out in steps, or began them already.
	ReasonNotPaced = "NotPaced"
	// ReasonHoldTimeout means that the pods waited for the check for as long as its policy lets them, and that it still can't tell. With the
	// phases Before and After, that the check didn't pass in this time.
	ReasonHoldTimeout = "HoldTimeout"
)

// Caps of lists in a status.
const (
	// MaxAppliedPolicies caps the VerificationPolicies of a release; those of the operator's namespace come first, then the oldest.
	MaxAppliedPolicies = 8
	// MaxLeftOut caps the names of the policies that don't check a release for want of room.
	MaxLeftOut = 100
	// MaxCheckResults caps the checks of a release.
	MaxCheckResults = 32
	// MaxBatchChecks caps the failed checks in the status of a batch.
	MaxBatchChecks = 8
	// MaxCheckedPods caps the pods of a check that failed.
	MaxCheckedPods = 100
)

// ReleaseVerification is how the VerificationPolicies check a release.
type ReleaseVerification struct {
	// progress is how many checks passed, such as 1/2, and the name of one that failed or how many policies were left out.
	// +optional
	Progress string `json:"progress,omitempty"`
	// wouldFail has the names of the checks that failed in a mode other than Enforce, and so failed no pods.
	// +optional
	WouldFail string `json:"wouldFail,omitempty"`
	// leftOut has the policies that concern the workload but don't check the release, as others have all the checks that a release may have.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	LeftOut []string `json:"leftOut,omitempty"`
	// policies are those that concerned the workload when the release began, as they were then. A policy that is deleted, or doesn't
	// concern the workload any more, or whose mode is lowered, takes effect at once; any other change with the next release.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Policies []AppliedPolicy `json:"policies,omitempty"`
	// oldPods is what the pods from before the release had been through when it began.
	// +optional
	OldPods OldPods `json:"oldPods,omitzero"`
}

// AppliedPolicy is a VerificationPolicy as it was when a release began.
type AppliedPolicy struct {
	// policy is the VerificationPolicy, as <namespace>/<name>.
	// +kubebuilder:validation:MaxLength=507
	Policy string `json:"policy"`
	// uid is its UID.
	// +kubebuilder:validation:Type=string
	UID types.UID `json:"uid"`
	// generation is its generation at that time.
	Generation int64 `json:"generation"`

	VerificationTerms `json:",inline"`
}

// OldPods is what the pods from before a release had been through when it began.
type OldPods struct {
	// pods is their number.
	// +optional
	Pods int32 `json:"pods,omitempty"`
	// seconds is how long they had lived, together.
	// +optional
	Seconds int64 `json:"seconds,omitempty"`
	// restarts is how often their containers had been restarted.
	// +optional
	Restarts int64 `json:"restarts,omitempty"`
	// outOfMemory is how many of them had a container that ran out of memory when it ended last.
	// +optional
	OutOfMemory int32 `json:"outOfMemory,omitempty"`
}

// CheckResult is the result of a check.
type CheckResult struct {
	// policy is the VerificationPolicy, as <namespace>/<name>.
	// +kubebuilder:validation:MaxLength=507
	Policy string `json:"policy"`
	// name is the name of the check in its policy.
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// type is the type of the check.
	Type CheckType `json:"type"`
	// phase is the phase of the check, empty for During.
	// +optional
	Phase CheckPhase `json:"phase,omitempty"`
	// mode is the mode of the check: at the time, if it failed.
	Mode CheckMode `json:"mode"`
	// verdict is Pending, Pass, Fail, Inconclusive or Skipped.
	Verdict CheckVerdict `json:"verdict"`
	// enforced reports whether the failure fails the pods: the mode is Enforce, and failWhen of the policy agrees.
	// +optional
	Enforced bool `json:"enforced,omitempty"`
	// reason is the reason of the verdict, in CamelCase.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
	// message is what was found.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
	// numbers are those behind the message. Checks that measure nothing have none.
	// +optional
	Numbers *CheckNumbers `json:"numbers,omitempty"`
	// since is when the verdict became what it is.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Since metav1.Time `json:"since"`
	// heldUntil is until when pods wait for a check that can't tell, with onInconclusive: Hold, or the release for one with the phase Before or
	// After. One that is over stays: the check holds no further pods of the release.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	HeldUntil *metav1.Time `json:"heldUntil,omitempty"`
	// clearedTime is when a check with onInconclusive: Hold let pods pass last: those whose bake ended by then don't wait for it.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	ClearedTime *metav1.Time `json:"clearedTime,omitempty"`
	// pods are the pods that failed, at most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Pods []CheckedPod `json:"pods,omitempty"`
}

// CheckNumbers are the numbers by which a check was decided, decimals with six digits. Those that its test doesn't have, or that aren't known or are
// infinite, are omitted. They are written with the message, and never without it.
type CheckNumbers struct {
	// new is what was measured on the pods of the release: a ratio of events such as 0.032, the median of a gauge, restarts a pod-minute, or the value
	// of a query.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	New string `json:"new,omitempty"`
	// old is the same of the pods that they were compared with.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Old string `json:"old,omitempty"`
	// ratio is new/old, 1 if both are 0.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Ratio string `json:"ratio,omitempty"`
	// evidence is the e-value against the tolerated ratio: the check fails only if it reaches the threshold.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Evidence string `json:"evidence,omitempty"`
	// pValue is how likely such a difference is within the tolerance: the check fails only if it doesn't exceed the threshold.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	PValue string `json:"pValue,omitempty"`
	// threshold is that of evidence or pValue. Without either it is the limit of new.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	Threshold string `json:"threshold,omitempty"`
	// minimumDetectable is the smallest ratio that would have been found with a probability of 80%.
	// +kubebuilder:validation:MaxLength=16
	// +optional
	MinimumDetectable string `json:"minimumDetectable,omitempty"`
	// podsSeen is how many of podsWanted new pods had the metric, for a gauge. Where events are counted, each look at a pod counts.
	// +optional
	PodsSeen *int32 `json:"podsSeen,omitempty"`
	// podsWanted is how many should have had it.
	// +optional
	PodsWanted *int32 `json:"podsWanted,omitempty"`
	// oldPodsSeen is how many of oldPodsWanted old pods had it.
	// +optional
	OldPodsSeen *int32 `json:"oldPodsSeen,omitempty"`
	// oldPodsWanted is how many should have had it.
	// +optional
	OldPodsWanted *int32 `json:"oldPodsWanted,omitempty"`
}

// CheckedPod is a pod that failed a check.
type CheckedPod struct {
	// pod is the name of the pod.
	// +kubebuilder:validation:MaxLength=253
	Pod string `json:"pod"`
	// uid is its UID.
	// +kubebuilder:validation:Type=string
	UID types.UID `json:"uid"`
	// message is what was found of the pod.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
}
