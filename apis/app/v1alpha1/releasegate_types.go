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

// ReleaseGateName is the name of the ReleaseGate of each namespace.
const ReleaseGateName = "altershield"

// ReleaseGateSpec lists versions whose pods, or some of them, come without a gate.
type ReleaseGateSpec struct {
	// verified has the verified versions as keys, and the workload of each as its value. Pods that carry the gate label and another
	// version get a gate at their creation.
	// +kubebuilder:validation:MaxProperties=5000
	// +optional
	Verified map[string]string `json:"verified,omitempty"`
	// gatedFrom has unverified versions of StatefulSets as keys, and as values the first ordinal whose pods get a gate before they start.
	// Those below start by the partition of the StatefulSet.
	// +kubebuilder:validation:MaxProperties=5000
	// +optional
	GatedFrom map[string]int32 `json:"gatedFrom,omitempty"`
}

// ReleaseGate lists the versions of a namespace whose pods come without a gate. Written by the operator, read by the
// MutatingAdmissionPolicy and the webhook that add gates. Without it no pod of the namespace gets one.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=releasegates,singular=releasegate,shortName=rg,categories=altershield
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type ReleaseGate struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec lists versions whose pods come without a gate.
	// +optional
	Spec ReleaseGateSpec `json:"spec,omitzero"`
}

// ReleaseGateList is a list of ReleaseGates.
//
// +kubebuilder:object:root=true
type ReleaseGateList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReleaseGate `json:"items"`
}
