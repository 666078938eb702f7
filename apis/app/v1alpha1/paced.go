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
	"encoding/json"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Lever is what holds back the pods of a paced release.
type Lever string

const (
	// LeverGates are gates on the pods of the release, added at their creation.
	LeverGates Lever = "Gates"
	// LeverPartition is a field of the workload that keeps a number of pods at the previous revision.
	LeverPartition Lever = "Partition"
	// LeverNodes is the deletion of pods by the operator, while the controller of the workload replaces none.
	LeverNodes Lever = "Nodes"
)

// Gates of pods. The names are both that of the scheduling gate and the type of the readiness gate.
const (
	// GateStart is the value of LabelGate for pods that start by the step.
	GateStart = "start"
	// GateReady is the value of LabelGate for pods that get traffic once they passed.
	GateReady = "ready"
)

// Paced is the value of AnnotationPaced: the present release of a workload is rolled out in steps.
//
// +kubebuilder:object:generate=false
type Paced struct {
	// Release is the number of the release. The record is void for other releases.
	Release int64 `json:"release"`
	// Policy is the ReleasePolicy that counted when the release was admitted, as <namespace>/<name>.
	Policy string `json:"policy"`
	// Lever is what holds back the pods.
	Lever Lever `json:"lever"`
	// Traffic is when the pods get traffic.
	Traffic Traffic `json:"traffic,omitempty"`
	// New reports whether the workload is new: there are no earlier pods to protect, so that the release has one step, without approvals. Only
	// with TrafficBefore; otherwise a new workload isn't paced.
	New bool `json:"new,omitempty"`
	// Rests reports whether the operator has paused the rollout because a step waits. Only with LeverGates: the others pause it all the time.
	Rests bool `json:"rests,omitempty"`
	// GatedFrom is the first ordinal that no pod of the workload had when the release was admitted: the pods from there on, which it gains
	// later, get a gate before they start. It is nil where nothing adds gates, or where pods have no ordinals.
	GatedFrom *int32 `json:"gatedFrom,omitempty"`
	// From has the fields that the operator overwrites while it paces the release, as the kind remembers them; empty for none.
	From json.RawMessage `json:"from,omitempty"`
}

// PacedOf returns the record of a paced release in the annotations of its workload, nil if there is none.
func PacedOf(annotations map[string]string, release int64) *Paced {
	var paced Paced
	if json.Unmarshal([]byte(annotations[AnnotationPaced]), &paced) != nil || paced.Release != release || paced.Lever == "" {
		return nil
	}
	return &paced
}

// OriginalsOf returns the fields that the operator overwrote on a workload with these annotations, to hold or to pace its rollout, in JSON;
// empty if it overwrote none.
func OriginalsOf(annotations map[string]string) string {
	var paced Paced
	if json.Unmarshal([]byte(annotations[AnnotationPaced]), &paced) == nil && len(paced.From) > 0 {
		return string(paced.From)
	}
	return annotations[AnnotationHeldFrom]
}

// GoOn is a request of a user that a paced release goes on.
//
// +kubebuilder:object:generate=false
type GoOn struct {
	// Release is the number of the release.
	Release int64
	// Step is the step to go on to, from 1; 0 for all pods.
	Step int32
	// User is the user who asked for it; empty if the admission webhook did not record it.
	User string
	// Reason is why, as the user says.
	Reason string
}

// GoOnAll is the step of AnnotationGoOn that lets a release go on to all pods.
const GoOnAll = "all"

// ParseGoOn parses a value of AnnotationGoOn.
func ParseGoOn(value string) (GoOn, bool) {
	release, step, found := strings.Cut(value, ":")
	number, err := strconv.ParseInt(release, 10, 64)
	if !found || err != nil || number < 1 {
		return GoOn{}, false
	}
	if step == GoOnAll {
		return GoOn{Release: number}, true
	}
	to, err := strconv.ParseInt(step, 10, 32)
	if err != nil || to < 1 {
		return GoOn{}, false
	}
	return GoOn{Release: number, Step: int32(to)}, true
}

// GoOnOf returns the request in the annotations of a workload that its release goes on, nil if there is none for it.
func GoOnOf(annotations map[string]string, release int64) *GoOn {
	asked, ok := ParseGoOn(annotations[AnnotationGoOn])
	if !ok || asked.Release != release {
		return nil
	}
	asked.User, asked.Reason = annotations[AnnotationGoOnBy], ReasonOfRequest(annotations, AnnotationGoOn, AnnotationGoOnReason)
	return &asked
}

// ReasonOfRequest returns why a user wrote the request in the annotations of a workload, empty if the reason is missing or of another request.
func ReasonOfRequest(annotations map[string]string, request, reason string) string {
	given, found := strings.CutPrefix(annotations[reason], annotations[request]+" ")
	if !found || annotations[request] == "" {
		return ""
	}
	return given
}

// ReleasePace is the progress of a paced release.
type ReleasePace struct {
	// policy is the ReleasePolicy, as <namespace>/<name>.
	// +kubebuilder:validation:MaxLength=507
	Policy string `json:"policy"`
	// lever is what holds back the pods: Gates, Partition or Nodes.
	Lever Lever `json:"lever"`
	// gatedFrom is the first ordinal whose pods get a gate before they start: those of a StatefulSet that is scaled up while its pods are
	// replaced. Absent where the lever is not Partition, or where nothing adds gates.
	// +optional
	GatedFrom *int32 `json:"gatedFrom,omitempty"`
	// step is the step that the release is at, from 1; 0 before the first one.
	// +optional
	Step int32 `json:"step"`
	// progress is the step and the number of steps, such as 2/3.
	// +optional
	Progress string `json:"progress,omitempty"`
	// target is the number of pods that may run the release.
	// +optional
	Target int32 `json:"target"`
	// desired is the number of desired pods from which target was computed. While no ReleasePolicy selects the workload, target stays.
	// +optional
	Desired int32 `json:"desired,omitempty"`
	// next is the next step, such as 25%; absent at the last one.
	// +optional
	Next string `json:"next,omitempty"`
	// since is the time at which the step began.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	Since *metav1.Time `json:"since,omitempty"`
	// soakUntil is the time at which the soak of the step ends; absent before all its pods passed.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	SoakUntil *metav1.Time `json:"soakUntil,omitempty"`
	// deadline is the time by which the pods of the step have to pass; absent without a limit.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// policyUntil is until when the release waits for a ReleasePolicy with steps, as none selects its workload any more; absent while one does, or it is frozen.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	PolicyUntil *metav1.Time `json:"policyUntil,omitempty"`
	// approvalSince is since when the next step has waited for approvals alone; absent while it doesn't.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	ApprovalSince *metav1.Time `json:"approvalSince,omitempty"`
	// approvedBy are the users whose approvals let the step begin.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	ApprovedBy []string `json:"approvedBy,omitempty"`
	// asked is what the operator asked for when the release failed or its step didn't end in time: Park or Undo; absent if it asked for
	// nothing.
	// +optional
	Asked OnFail `json:"asked,omitempty"`
	// wentOn is the step to which a user let the release go on, once it began: the same request has no effect any more.
	// +optional
	WentOn int32 `json:"wentOn,omitempty"`
	// passes are the last 20 steps that users let the release pass, oldest first.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Passes []PacePass `json:"passes,omitempty"`
}

// PacePass is a request of a user that a release goes on.
type PacePass struct {
	// to is the step, or all.
	To string `json:"to"`
	// user is the user who asked for it.
	// +optional
	User string `json:"user,omitempty"`
	// reason is why, as the user says.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
	// time is when it took effect.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
}
