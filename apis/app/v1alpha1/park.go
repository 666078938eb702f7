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

// Park is the value of AnnotationParked: why a release is parked.
//
// +kubebuilder:object:generate=false
type Park struct {
	// Release is the number of the release. The record is void for other releases.
	Release int64 `json:"release"`
	// Reason is RollbackPodsFailed or RollbackRequested.
	Reason RollbackReason `json:"reason"`
	// Message explains the reason.
	Message string `json:"message,omitempty"`
	// User is the user who requested the park; empty if it was automatic.
	User string `json:"user,omitempty"`
	// Time is the time of the park.
	Time metav1.Time `json:"time"`
}

// ParkOf returns the park of a release in the annotations of its workload, nil if there is none. Any editor can write the annotation
// while no webhook is called.
func ParkOf(annotations map[string]string, release int64) *Park {
	var park Park
	if json.Unmarshal([]byte(annotations[AnnotationParked]), &park) != nil || park.Release != release || !isWritable(park.Time.Time) {
		return nil
	}
	if park.Reason != RollbackPodsFailed && park.Reason != RollbackRequested || len(park.Message) > maxRollbackMessage {
		return nil
	}
	return &park
}
