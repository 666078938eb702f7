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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IgnoredSuspend is the value of AnnotationIgnoredSuspendBy: the last release that passed a suspension, and its author.
//
// +kubebuilder:object:generate=false
type IgnoredSuspend struct {
	// User is the user name of the author.
	User string `json:"user"`
	// Time is the time of admission.
	Time metav1.MicroTime `json:"time"`
	// Version is the version of the release.
	Version string `json:"version"`
	// Release is the number of the release, as in AnnotationRelease. The record is void for other releases.
	Release int64 `json:"release"`
}

// IgnoredSuspendOf returns the record in the annotations of a workload.
func IgnoredSuspendOf(annotations map[string]string) (record IgnoredSuspend, found bool) {
	err := json.Unmarshal([]byte(annotations[AnnotationIgnoredSuspendBy]), &record)
	if err != nil || record.User == "" || !isWritable(record.Time.Time) {
		return IgnoredSuspend{}, false
	}
	return record, true
}
