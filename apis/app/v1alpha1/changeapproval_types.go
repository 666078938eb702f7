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

// ConditionCounted of a ChangeApproval: it counts for the release that it names.
const ConditionCounted = "Counted"

// Reasons of ConditionCounted.
const (
	// ReasonApprovalCounted means that the release is present and the approval counts.
	ReasonApprovalCounted = "Counted"
	// ReasonApprovalLapsed means that the workload is at another release, or is gone.
	ReasonApprovalLapsed = "Lapsed"
	// ReasonApprovalUnattributed means that the admission webhook did not record who created it: it counts nothing.
	ReasonApprovalUnattributed = "Unattributed"
)

// ApprovalDecision is the decision of an approver.
//
// +kubebuilder:validation:Enum=Approve;Deny
type ApprovalDecision string

const (
	// DecisionApprove approves a release.
	DecisionApprove ApprovalDecision = "Approve"
	// DecisionDeny keeps a release from its next step that needs approvals.
	DecisionDeny ApprovalDecision = "Deny"
)

// ReleasedWorkload identifies the workload of a release.
type ReleasedWorkload struct {
	// kind is the kind and its API group, such as Deployment.apps.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=317
	Kind string `json:"kind"`
	// name is the name of the workload.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ChangeApprovalSpec approves or denies one release. It can't be changed.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a ChangeApproval can't be changed: delete it and create another one"
type ChangeApprovalSpec struct {
	// workload is the workload, in the namespace of the ChangeApproval.
	Workload ReleasedWorkload `json:"workload"`
	// version is the version of the release, 32 hex digits.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	Version string `json:"version"`
	// release is the number of the release.
	// +kubebuilder:validation:Minimum=1
	Release int64 `json:"release"`
	// decision is Approve or Deny.
	// +kubebuilder:default=Approve
	// +optional
	Decision ApprovalDecision `json:"decision,omitempty"`
	// reason says why, such as the number of a change request.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
	// approvedBy is the user who created it. Written by the admission webhook: what a client sets is replaced.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ApprovedBy string `json:"approvedBy,omitempty"`
	// groups are those of the user that the ReleasePolicy named as approvers when it was created. Written by the admission webhook. An approval
	// counts while the policy still names the user or one of them.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Groups []string `json:"groups,omitempty"`
	// uid is the UID of the workload. Written by the admission webhook.
	// +kubebuilder:validation:Type=string
	// +optional
	UID types.UID `json:"uid,omitempty"`
}

// ChangeApprovalStatus is the observed state of an approval.
type ChangeApprovalStatus struct {
	// conditions is Counted.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ChangeApproval approves a step of a release. Created by the approver, who is never the author of the release. It lapses with the release;
// deleting it withdraws it until the step begins.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=changeapprovals,singular=changeapproval,shortName=ca,categories=altershield
// +kubebuilder:printcolumn:name="KIND",type=string,JSONPath=`.spec.workload.kind`
// +kubebuilder:printcolumn:name="WORKLOAD",type=string,JSONPath=`.spec.workload.name`
// +kubebuilder:printcolumn:name="RELEASE",type=integer,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="DECISION",type=string,JSONPath=`.spec.decision`
// +kubebuilder:printcolumn:name="BY",type=string,JSONPath=`.spec.approvedBy`
// +kubebuilder:printcolumn:name="COUNTED",type=string,JSONPath=`.status.conditions[?(@.type=="Counted")].status`
// +kubebuilder:printcolumn:name="WHY",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Counted")].reason`
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.spec.reason`
type ChangeApproval struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec approves or denies one release.
	// +required
	Spec ChangeApprovalSpec `json:"spec"`
	// status is the observed state of the approval.
	// +optional
	Status ChangeApprovalStatus `json:"status,omitzero"`
}

// ChangeApprovalList is a list of ChangeApprovals.
//
// +kubebuilder:object:root=true
type ChangeApprovalList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangeApproval `json:"items"`
}
