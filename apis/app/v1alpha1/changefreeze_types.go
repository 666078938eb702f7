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

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Conditions of a ChangeFreeze.
const (
	// ConditionActive: releases are frozen now.
	ConditionActive = "Active"
	// ConditionFrozen on a ChangeWorkload: the release waits for the end of a ChangeFreeze.
	ConditionFrozen = "Frozen"
)

// Reasons of ConditionActive, and of ConditionReady of a ChangeFreeze.
const (
	// ReasonFreezeActive means that the freeze is on.
	ReasonFreezeActive = "FreezeActive"
	// ReasonFreezeAhead means that the freeze has yet to begin.
	ReasonFreezeAhead = "FreezeAhead"
	// ReasonFreezeOver means that the freeze doesn't begin again.
	ReasonFreezeOver = "FreezeOver"
	// ReasonFreezeInvalid means that the spec is unusable: the freeze has no effect.
	ReasonFreezeInvalid = "Invalid"
	// ReasonFreezeValid means that the spec is in effect.
	ReasonFreezeValid = "Valid"
)

// Reasons of ConditionFrozen.
const (
	// ReasonChangeFreeze means that a ChangeFreeze is on.
	ReasonChangeFreeze = "ChangeFreeze"
	// ReasonThawing means that the freeze has ended, or doesn't freeze the release any more, and releases that were parked before this one are under way.
	ReasonThawing = "Thawing"
	// ReasonThawed means that the freeze has ended, or doesn't freeze the release any more, and the release goes on.
	ReasonThawed = "Thawed"
	// ReasonBreakGlass means that a BreakGlass let the release through.
	ReasonBreakGlass = "BreakGlass"
)

// FreezeAction is what happens to a release during a freeze.
//
// +kubebuilder:validation:Enum=Park;Deny;Warn
type FreezeAction string

const (
	// FreezePark admits a release and holds its rollout until the freeze ends. A release whose rollout can't be held is denied.
	FreezePark FreezeAction = "Park"
	// FreezeDeny denies a release.
	FreezeDeny FreezeAction = "Deny"
	// FreezeWarn admits a release with a warning.
	FreezeWarn FreezeAction = "Warn"
)

// FreezeRunning is what happens to a release that is under way when a freeze begins.
//
// +kubebuilder:validation:Enum=Finish;Hold
type FreezeRunning string

const (
	// FreezeFinish lets it finish.
	FreezeFinish FreezeRunning = "Finish"
	// FreezeHold holds its rollout until the freeze ends.
	FreezeHold FreezeRunning = "Hold"
)

// Weekday is a day of the week.
//
// +kubebuilder:validation:Enum=Mon;Tue;Wed;Thu;Fri;Sat;Sun
type Weekday string

// FreezeWindow is a time that returns each week.
type FreezeWindow struct {
	// days are the days on which the window begins; every day if there are none.
	// +kubebuilder:validation:MaxItems=7
	// +listType=set
	// +optional
	Days []Weekday `json:"days,omitempty"`
	// from is the time at which the window begins on the wall clock, such as 16:00. A time that the clocks skip is the time at which
	// they skip it. If they show it twice, the first one counts.
	// +kubebuilder:validation:Pattern=`^([01][0-9]|2[0-3]):[0-5][0-9]$`
	From string `json:"from"`
	// to is the time at which the window ends on the wall clock, up to 24:00. If it is not after from, it is that of the next day. If
	// the clocks show it twice, the second one counts.
	// +kubebuilder:validation:Pattern=`^(([01][0-9]|2[0-3]):[0-5][0-9]|24:00)$`
	To string `json:"to"`
	// timeZone is a name of the IANA database, such as Asia/Shanghai or UTC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone"`
}

// FreezeDates is a time between two dates.
type FreezeDates struct {
	// from is the date and the time at which it begins on the wall clock, such as 2026-12-24T00:00.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$`
	From string `json:"from"`
	// to is the date and the time at which it ends on the wall clock.
	// +kubebuilder:validation:Pattern=`^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}$`
	To string `json:"to"`
	// timeZone is a name of the IANA database, such as Asia/Shanghai or UTC.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	TimeZone string `json:"timeZone"`
}

// WorkloadSelector selects workloads of a kind.
//
// +kubebuilder:validation:XValidation:rule="!(has(self.name) && has(self.selector))",message="name and selector exclude each other"
type WorkloadSelector struct {
	// kind is the kind and its API group, such as Deployment.apps or LeaderWorkerSet.leaderworkerset.x-k8s.io.
	// +kubebuilder:validation:Pattern=`^[A-Z][A-Za-z0-9]*\.[a-z0-9.-]+$`
	// +kubebuilder:validation:MaxLength=317
	Kind string `json:"kind"`
	// name selects one workload.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	Name string `json:"name,omitempty"`
	// selector selects workloads by their labels. Without name and selector, all workloads of the kind are selected.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
}

// FreezeException selects users whose releases a freeze doesn't concern.
type FreezeException struct {
	// users are user names of the API server.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Users []string `json:"users,omitempty"`
	// groups are groups of users of the API server.
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=253
	// +listType=set
	// +optional
	Groups []string `json:"groups,omitempty"`
}

// FreezeThaw limits how many parked releases start at the end of a freeze.
type FreezeThaw struct {
	// concurrent is how many parked releases of a namespace are under way at a time.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000
	// +kubebuilder:default=5
	// +optional
	Concurrent int32 `json:"concurrent,omitempty"`
}

// ChangeFreezeSpec defines when and where releases are frozen.
//
// +kubebuilder:validation:XValidation:rule="has(self.expires) != (has(self.windows) && self.windows.size() > 0 || has(self.dates) && self.dates.size() > 0)",message="a freeze has windows or dates, or it is an incident lock, which begins now and requires expires"
// +kubebuilder:validation:XValidation:rule="!has(self.expires) || duration(self.expires) >= duration('1m') && duration(self.expires) <= duration('168h')",message="expires is from 1m to 168h: extend a lock by changing it"
type ChangeFreezeSpec struct {
	// namespaces selects the namespaces whose releases are frozen, by their labels. It is allowed only in the namespace of the operator.
	// Without it, the releases of the namespace of the ChangeFreeze are frozen.
	// +optional
	Namespaces *metav1.LabelSelector `json:"namespaces,omitempty"`
	// workloads are those whose releases are frozen; all if there are none.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Workloads []WorkloadSelector `json:"workloads,omitempty"`
	// windows are the times of each week. The freeze is on in any of them.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Windows []FreezeWindow `json:"windows,omitempty"`
	// dates are further times of the freeze.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	Dates []FreezeDates `json:"dates,omitempty"`
	// expires is how long an incident lock lasts from its creation, such as 8h. It is required without windows and dates.
	// +optional
	Expires *metav1.Duration `json:"expires,omitempty"`
	// action is Park to admit a release and hold its rollout until the freeze ends, Deny to deny it, or Warn to admit it with a warning.
	// +kubebuilder:default=Park
	// +optional
	Action FreezeAction `json:"action,omitempty"`
	// running is Finish to let a release finish that is under way when the freeze begins, or Hold to hold its rollout until the freeze
	// ends.
	// +kubebuilder:default=Finish
	// +optional
	Running FreezeRunning `json:"running,omitempty"`
	// except are users whose releases are not frozen. Rollbacks by the operator never are.
	// +optional
	Except *FreezeException `json:"except,omitempty"`
	// thaw limits how many parked releases start when the freeze ends.
	// +kubebuilder:default={}
	// +optional
	Thaw FreezeThaw `json:"thaw,omitzero"`
	// reason is shown to those whose release is frozen.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
}

// ChangeFreezeStatus is the observed state of a freeze.
type ChangeFreezeStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// active reports whether releases are frozen.
	// +optional
	Active bool `json:"active"`
	// until is when the active freeze ends; absent if none is active.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// next is when the next freeze begins; absent if none is known.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	Next *metav1.Time `json:"next,omitempty"`
	// parked is the number of releases that wait for the end of the freeze.
	// +optional
	Parked int32 `json:"parked"`
	// conditions are Active and Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ChangeFreeze keeps releases from starting for a time.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=changefreezes,singular=changefreeze,shortName=cf,categories=altershield
// +kubebuilder:printcolumn:name="ACTION",type=string,JSONPath=`.spec.action`
// +kubebuilder:printcolumn:name="ACTIVE",type=string,JSONPath=`.status.conditions[?(@.type=="Active")].status`
// +kubebuilder:printcolumn:name="UNTIL",type=string,JSONPath=`.status.until`
// +kubebuilder:printcolumn:name="NEXT",type=string,JSONPath=`.status.next`
// +kubebuilder:printcolumn:name="PARKED",type=integer,JSONPath=`.status.parked`
// +kubebuilder:printcolumn:name="READY",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.spec.reason`
type ChangeFreeze struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines when and where releases are frozen.
	// +required
	Spec ChangeFreezeSpec `json:"spec"`
	// status is the observed state of the freeze.
	// +optional
	Status ChangeFreezeStatus `json:"status,omitzero"`
}

// ChangeFreezeList is a list of ChangeFreezes.
//
// +kubebuilder:object:root=true
type ChangeFreezeList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangeFreeze `json:"items"`
}
