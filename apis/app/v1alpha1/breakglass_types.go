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

// ConditionUsable of a BreakGlass: it lets releases through.
const ConditionUsable = "Usable"

// Reasons of ConditionUsable.
const (
	// ReasonBreakGlassOpen means that it has time and uses left.
	ReasonBreakGlassOpen = "Open"
	// ReasonBreakGlassExpired means that its time is over.
	ReasonBreakGlassExpired = "Expired"
	// ReasonBreakGlassUsedUp means that all its uses are taken.
	ReasonBreakGlassUsedUp = "UsedUp"
	// ReasonBreakGlassUnattributed means that the admission webhook has not recorded who created it: it has no effect.
	ReasonBreakGlassUnattributed = "Unattributed"
)

// BreakGlassOverride is what a BreakGlass lets releases pass.
//
// +kubebuilder:validation:Enum=Freeze;Suspension;Approval;Pace
type BreakGlassOverride string

const (
	// OverrideFreeze passes ChangeFreezes.
	OverrideFreeze BreakGlassOverride = "Freeze"
	// OverrideSuspension passes the suspension of a workload and the quarantine of a version.
	OverrideSuspension BreakGlassOverride = "Suspension"
	// OverrideApproval passes the approvals that steps need.
	OverrideApproval BreakGlassOverride = "Approval"
	// OverridePace passes the steps of a ReleasePolicy: the release is rolled out at once.
	OverridePace BreakGlassOverride = "Pace"
)

// BreakGlassSpec defines which releases pass what. It can't be changed.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a BreakGlass can't be changed: create another one"
// +kubebuilder:validation:XValidation:rule="duration(self.for) >= duration('1m') && duration(self.for) <= duration('24h')",message="for is from 1m to 24h"
type BreakGlassSpec struct {
	// reason says why, such as the number of an incident. It is kept with each use.
	// +kubebuilder:validation:MinLength=3
	// +kubebuilder:validation:MaxLength=256
	Reason string `json:"reason"`
	// workloads are those of the namespace whose releases pass.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	Workloads []WorkloadSelector `json:"workloads"`
	// overrides are what the releases pass: Freeze for ChangeFreezes, Suspension for the suspension of a workload and the quarantine
	// of a version, Approval for the approvals of steps, Pace for the steps themselves.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=4
	// +listType=set
	Overrides []BreakGlassOverride `json:"overrides"`
	// for is how long releases pass, from the creation, such as 2h, from 1m to 24h.
	For metav1.Duration `json:"for"`
	// uses is how many releases pass.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=50
	// +kubebuilder:default=1
	// +optional
	Uses int32 `json:"uses,omitempty"`
	// requestedBy is the user who created it. Written by the admission webhook: what a client sets is replaced.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	RequestedBy string `json:"requestedBy,omitempty"`
}

// BreakGlassPass is how a release passed by a BreakGlass.
type BreakGlassPass struct {
	// name is the name of the BreakGlass.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid is the UID of the BreakGlass.
	UID types.UID `json:"uid"`
	// user is the user who made the release, or let it go on.
	// +kubebuilder:validation:MaxLength=253
	User string `json:"user"`
	// time is when it was admitted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
	// overrides are what the release passed.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Overrides []BreakGlassOverride `json:"overrides,omitempty"`
	// would lists what would have stopped the release otherwise.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	Would []string `json:"would"`
}

// BreakGlassUse is a release that passed.
type BreakGlassUse struct {
	// kind and workload are the kind and the name of the workload.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// +kubebuilder:validation:MaxLength=253
	Workload string `json:"workload"`
	// release is the number of the release.
	Release int64 `json:"release"`
	// version is the version of the release.
	// +kubebuilder:validation:MaxLength=32
	Version string `json:"version"`
	// user is the user who made the release, or let it go on.
	// +kubebuilder:validation:MaxLength=253
	User string `json:"user"`
	// time is when it was admitted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
	// would lists what would have stopped the release otherwise.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	Would []string `json:"would"`
}

// BreakGlassStatus is the evidence of the use of a BreakGlass.
type BreakGlassStatus struct {
	// uses are the releases that passed. They stay when their records are removed.
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Uses []BreakGlassUse `json:"uses,omitempty"`
	// conditions are Usable.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// BreakGlass lets releases pass for a time that would otherwise be frozen or denied, and keeps the evidence. The operator never deletes it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=breakglasses,singular=breakglass,shortName=bg,categories=altershield
// +kubebuilder:printcolumn:name="BY",type=string,JSONPath=`.spec.requestedBy`
// +kubebuilder:printcolumn:name="OVERRIDES",type=string,JSONPath=`.spec.overrides`
// +kubebuilder:printcolumn:name="USABLE",type=string,JSONPath=`.status.conditions[?(@.type=="Usable")].status`
// +kubebuilder:printcolumn:name="WHY",type=string,JSONPath=`.status.conditions[?(@.type=="Usable")].reason`
// +kubebuilder:printcolumn:name="USED BY",type=string,JSONPath=`.status.uses[*].user`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.spec.reason`
type BreakGlass struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines which releases pass what.
	// +required
	Spec BreakGlassSpec `json:"spec"`
	// status is the evidence of its use.
	// +optional
	Status BreakGlassStatus `json:"status,omitzero"`
}

// BreakGlassList is a list of BreakGlasses.
//
// +kubebuilder:object:root=true
type BreakGlassList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []BreakGlass `json:"items"`
}
