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

// RollbackReason says why a Deployment went back to an earlier version.
//
// +kubebuilder:validation:Enum=PodsNotRunning;PodsFailed;Requested
type RollbackReason string

const (
	// RollbackPodsNotRunning means: pods of the release didn't run in time.
	RollbackPodsNotRunning RollbackReason = "PodsNotRunning"
	// RollbackPodsFailed means: pods of the release failed their check.
	RollbackPodsFailed RollbackReason = "PodsFailed"
	// RollbackRequested means: a user asked for it.
	RollbackRequested RollbackReason = "Requested"
)

// maxRollbackMessage is the longest message of a rollback, as the CRD has it.
const maxRollbackMessage = 512

// Rollback records that a Deployment left a release for an earlier version.
type Rollback struct {
	// version is the version that the Deployment left.
	Version string `json:"version"`
	// release is the number of the release that it left.
	Release int64 `json:"release"`
	// to is the version that it went back to.
	To string `json:"to"`
	// toRelease is the number of the release that the rollback made.
	ToRelease int64 `json:"toRelease"`
	// reason is why.
	Reason RollbackReason `json:"reason"`
	// message says more, for people.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Message string `json:"message,omitempty"`
	// user is who asked for it; empty where the operator decided.
	// +optional
	User string `json:"user,omitempty"`
	// time is when, in RFC 3339.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
	// refusedUntil is until when the version is refused at admission; absent where it is not.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	RefusedUntil *metav1.Time `json:"refusedUntil,omitempty"`
}

// IsAutomatic reports whether the operator decided.
func (r *Rollback) IsAutomatic() bool { return r.Reason != RollbackRequested }

// IsSound reports whether an operator may have written a record. Where no webhook looks anybody may write the annotation, and a
// ChangeWorkload that repeats nonsense would be refused.
func (r *Rollback) IsSound() bool {
	known := r.Reason == RollbackPodsNotRunning || r.Reason == RollbackPodsFailed || r.Reason == RollbackRequested
	return known && !r.Time.IsZero() && len(r.Message) <= maxRollbackMessage
}

// RollbacksOf reads the rollbacks of a Deployment from its annotations, newest first. One whose times nobody could read once
// they are written again is left out: it would take all others with it.
func RollbacksOf(annotations map[string]string) []Rollback {
	var rollbacks []Rollback
	if json.Unmarshal([]byte(annotations[AnnotationRollbacks]), &rollbacks) != nil {
		return nil
	}
	return slices.DeleteFunc(rollbacks, func(rollback Rollback) bool {
		return !isWritable(rollback.Time.Time) || rollback.RefusedUntil != nil && !isWritable(rollback.RefusedUntil.Time)
	})
}

// isWritable reports whether a time has a year of four digits in UTC, which is how it is written. With another offset it may be read
// without.
func isWritable(t time.Time) bool {
	year := t.UTC().Year()
	return year >= 0 && year <= 9999
}

// ReleaseRecord is the value of AnnotationReleasedBy: who made a release, and what changed.
//
// +kubebuilder:object:generate=false
type ReleaseRecord struct {
	// User is the name that the API server knows the user by; of a rollback, who asked for it, or the operator.
	User string `json:"user"`
	// Time is when the release was admitted.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
	// Version is the version of the release.
	Version string `json:"version"`
	// Release is the number of the release: the record speaks of no other one.
	Release int64 `json:"release"`
	// Changes are the changes of the pod template, one a line. Values that may be secret are not shown.
	Changes []string `json:"changes,omitempty"`
	// Ended is what the release ended, nil where it ended nothing. The webhook gives it back if it is called again within the
	// request, after another webhook took the release back.
	Ended *Ended `json:"ended,omitempty"`
}

// Ended is what a release ended on its Deployment.
//
// +kubebuilder:object:generate=false
type Ended struct {
	// Hold reports whether the operator's pause ended.
	Hold bool `json:"hold,omitempty"`
	// IgnoredSuspend reports whether LabelIgnoredSuspend was consumed.
	IgnoredSuspend bool `json:"ignoredSuspend,omitempty"`
	// Rollback is the request for a rollback that ended.
	Rollback string `json:"rollback,omitempty"`
}

// ReleaseRecordOf reads the record from the annotations of a Deployment.
func ReleaseRecordOf(annotations map[string]string) (record ReleaseRecord, found bool) {
	err := json.Unmarshal([]byte(annotations[AnnotationReleasedBy]), &record)
	if err != nil || record.User == "" || !isWritable(record.Time.Time) {
		return ReleaseRecord{}, false
	}
	return record, true
}
