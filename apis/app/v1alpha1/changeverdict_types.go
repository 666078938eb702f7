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
)

// ReportedVerdict is the verdict that others report on a release.
//
// +kubebuilder:validation:Enum=Pass;Fail;Inconclusive
type ReportedVerdict string

const (
	// ReportedPass means that the release passes.
	ReportedPass ReportedVerdict = "Pass"
	// ReportedFail means that pods of the release fail.
	ReportedFail ReportedVerdict = "Fail"
	// ReportedInconclusive means that it can't be told.
	ReportedInconclusive ReportedVerdict = "Inconclusive"
)

// ChangeVerdictSpec is the check of a release that waits for a verdict. It can't be changed.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the spec of a ChangeVerdict can't be changed: the verdict is one on this release"
type ChangeVerdictSpec struct {
	// workload is the workload that was released, in the namespace of the ChangeVerdict.
	Workload ReleasedWorkload `json:"workload"`
	// release is the number of the release.
	// +kubebuilder:validation:Minimum=1
	Release int64 `json:"release"`
	// version is the version of the release, 32 hex digits.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	Version string `json:"version"`
	// policy is the VerificationPolicy that asks, as <namespace>/<name>.
	// +kubebuilder:validation:MaxLength=507
	Policy string `json:"policy"`
	// check is the name of the check in its policy.
	// +kubebuilder:validation:MaxLength=32
	Check string `json:"check"`
	// mode is the mode of the check when it first asked: Observe, Warn or Enforce.
	Mode CheckMode `json:"mode"`
}

// ReportedPod is a pod that failed by the report of a verifier.
type ReportedPod struct {
	// name is the name of the pod.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// message says what was found of the pod.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
}

// ChangeVerdictStatus is the verdict of a verifier. It is there once there is a verdict.
//
// +kubebuilder:validation:XValidation:rule="!has(self.pods) || self.verdict == 'Fail'",message="pods are those that failed, and verdict isn't Fail"
type ChangeVerdictStatus struct {
	// verdict is Pass, Fail or Inconclusive. It can be set once.
	Verdict ReportedVerdict `json:"verdict"`
	// reason is the reason of the verdict, in CamelCase.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*$`
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
	// message says what was found.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// pods are those that failed; all pods of the release if it names none that finished.
	// +kubebuilder:validation:MaxItems=100
	// +listType=map
	// +listMapKey=name
	// +optional
	Pods []ReportedPod `json:"pods,omitempty"`
	// reporter is the user who reported the verdict. Written by the admission webhook: what a client sets is replaced.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Reporter string `json:"reporter"`
	// reportedAt is when the verdict was reported. Written by the admission webhook.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	ReportedAt metav1.Time `json:"reportedAt"`
}

// ChangeVerdict is the place for the verdict of others on one release, for a check that is answered asynchronously. The operator creates it, a
// verifier reports the verdict in its status. It goes with the next release.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:validation:XValidation:rule="!has(oldSelf.status) || has(self.status) && self.status == oldSelf.status",message="the verdict was reported before: it can't be changed or taken back"
// +kubebuilder:resource:path=changeverdicts,singular=changeverdict,shortName=cv,categories=altershield
// +kubebuilder:printcolumn:name="WORKLOAD",type=string,JSONPath=`.spec.workload.name`
// +kubebuilder:printcolumn:name="RELEASE",type=integer,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="CHECK",type=string,JSONPath=`.spec.check`
// +kubebuilder:printcolumn:name="VERDICT",type=string,JSONPath=`.status.verdict`
// +kubebuilder:printcolumn:name="REPORTER",type=string,JSONPath=`.status.reporter`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="KIND",type=string,priority=1,JSONPath=`.spec.workload.kind`
// +kubebuilder:printcolumn:name="POLICY",type=string,priority=1,JSONPath=`.spec.policy`
// +kubebuilder:printcolumn:name="MESSAGE",type=string,priority=1,JSONPath=`.status.message`
type ChangeVerdict struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the check of a release that waits for a verdict.
	// +required
	Spec ChangeVerdictSpec `json:"spec"`
	// status is the verdict, absent until there is one.
	// +optional
	Status *ChangeVerdictStatus `json:"status,omitempty"`
}

// ChangeVerdictList is a list of ChangeVerdicts.
//
// +kubebuilder:object:root=true
type ChangeVerdictList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangeVerdict `json:"items"`
}
