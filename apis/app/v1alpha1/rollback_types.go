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
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RollbackReason is the reason of a rollback.
//
// +kubebuilder:validation:Enum=PodsNotRunning;PodsFailed;Requested
type RollbackReason string

const (
	// RollbackPodsNotRunning means that pods of the release didn't run in time.
	RollbackPodsNotRunning RollbackReason = "PodsNotRunning"
	// RollbackPodsFailed means that pods of the release failed their check.
	RollbackPodsFailed RollbackReason = "PodsFailed"
	// RollbackRequested means that a user requested it.
	RollbackRequested RollbackReason = "Requested"
)

// maxRollbackMessage is the maximum length of a message in the CRD.
const maxRollbackMessage = 512

// Rollback records the rollback of a workload from a release to an earlier version.
type Rollback struct {
	// version is the version that the workload left.
	Version string `json:"version"`
	// release is the number of the release that the workload left.
	Release int64 `json:"release"`
	// to is the version to which the workload went back.
	To string `json:"to"`
	// toRelease is the number of the release that the rollback made.
	ToRelease int64 `json:"toRelease"`
	// unstamped means that the pod template that the workload went back to has no version label, as before change control: with
	// one, pods that never left it would restart.
	// +optional
	Unstamped bool `json:"unstamped,omitempty"`
	// reason is the reason of the rollback.
	Reason RollbackReason `json:"reason"`
	// message explains the reason.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
	// user is the user who requested the rollback; empty if it was automatic.
	// +optional
	User string `json:"user,omitempty"`
	// time is the time of the rollback, in RFC 3339.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
	// refusedUntil is the end of the version's quarantine, during which it is denied at admission; absent if there is none.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	RefusedUntil *metav1.Time `json:"refusedUntil,omitempty"`
}

// IsAutomatic reports whether the rollback was not requested by a user.
func (r *Rollback) IsAutomatic() bool { return r.Reason != RollbackRequested }

// IsSound reports whether the operator may have written a record. Any editor can write the annotation while no webhook is called,
// and the API server would reject a ChangeWorkload with an invalid copy of it.
func (r *Rollback) IsSound() bool {
	known := r.Reason == RollbackPodsNotRunning || r.Reason == RollbackPodsFailed || r.Reason == RollbackRequested
	return known && !r.Time.IsZero() && len(r.Message) <= maxRollbackMessage
}

// RollbacksOf returns the rollbacks in the annotations of a workload, newest first. It leaves out those whose times would be
// unreadable once written again: one of them would make the whole list unreadable.
func RollbacksOf(annotations map[string]string) []Rollback {
	var rollbacks []Rollback
	if json.Unmarshal([]byte(annotations[AnnotationRollbacks]), &rollbacks) != nil {
		return nil
	}
	return slices.DeleteFunc(rollbacks, func(rollback Rollback) bool {
		return !isWritable(rollback.Time.Time) || rollback.RefusedUntil != nil && !isWritable(rollback.RefusedUntil.Time)
	})
}

// isWritable reports whether a time has a year of four digits in UTC, the form in which it is written. With another offset, times
// beyond these years can be read.
func isWritable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// ReleaseRecord is the value of AnnotationReleasedBy: the author and the changes of a release.
//
// +kubebuilder:object:generate=false
type ReleaseRecord struct {
	// User is the user name of the author. For a rollback it is the user who requested it, or the operator.
	User string `json:"user"`
	// Time is the time of admission.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
	// Version is the version of the release.
	Version string `json:"version"`
	// Release is the number of the release. The record is void for other releases.
	Release int64 `json:"release"`
	// Changes lists the changes of the pod template, one per line. Values that may be secret are not shown.
	Changes []string `json:"changes,omitempty"`
	// Reason is why the release was made, from AnnotationReason.
	Reason string `json:"reason,omitempty"`
	// Ended is what the release ended; nil if nothing. The webhook restores it if it is called again for the same request, after
	// another webhook reverted the template.
	Ended *Ended `json:"ended,omitempty"`
	// Computed is the version of the content with which a rollback began that has another version. The webhook compares it if it is called again for
	// the same request: another webhook may have changed the content.
	Computed string `json:"computed,omitempty"`
}

// Ended is what a release ended on its workload.
//
// +kubebuilder:object:generate=false
type Ended struct {
	// Hold reports whether the release ended the operator's pause.
	Hold bool `json:"hold,omitempty"`
	// IgnoredSuspend reports whether LabelIgnoredSuspend was consumed.
	IgnoredSuspend bool `json:"ignoredSuspend,omitempty"`
	// Rollback is the dropped request for a rollback.
	Rollback string `json:"rollback,omitempty"`
	// Reason is the removed AnnotationReason, PauseReason the removed AnnotationPauseReason.
	Reason      string `json:"reason,omitempty"`
	PauseReason string `json:"pauseReason,omitempty"`
}

// ReleaseRecordOf returns the record in the annotations of a workload.
func ReleaseRecordOf(annotations map[string]string) (record ReleaseRecord, found bool) {
	err := json.Unmarshal([]byte(annotations[AnnotationReleasedBy]), &record)
	if err != nil || record.User == "" || !isWritable(record.Time.Time) {
		return ReleaseRecord{}, false
	}
	return record, true
}
