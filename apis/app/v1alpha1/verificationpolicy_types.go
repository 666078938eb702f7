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

// CheckMode is what follows if a check fails.
//
// +kubebuilder:validation:Enum=Observe;Warn;Enforce
type CheckMode string

const (
	// CheckObserve only records the failure.
	CheckObserve CheckMode = "Observe"
	// CheckWarn also writes an Event, and warns the author of the next release.
	CheckWarn CheckMode = "Warn"
	// CheckEnforce fails the pods, as a verdict of AlterShield Server does.
	CheckEnforce CheckMode = "Enforce"
)

// VerificationTerms are how a policy checks the releases that it concerns.
type VerificationTerms struct {
	// mode is Observe to record failures only, Warn to also write Events and warn the author of the next release, or Enforce to fail the pods and suspend the workload.
	// +kubebuilder:default=Observe
	// +optional
	Mode CheckMode `json:"mode,omitempty"`
	// bakeSeconds is how long a batch of pods is checked before it passes, if the mode is Enforce; shorter if all enforced checks passed early.
	// In other modes, metrics of a release are looked at for as long after it was verified.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +kubebuilder:default=300
	// +optional
	BakeSeconds int32 `json:"bakeSeconds"`
	// watchSeconds is how long a release is still checked after it was verified. If it fails then, its workload is suspended.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=86400
	// +optional
	WatchSeconds int32 `json:"watchSeconds,omitempty"`
	// warmupSeconds is how long metrics of a pod don't count after it finished.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +kubebuilder:default=60
	// +optional
	WarmupSeconds int32 `json:"warmupSeconds"`
	// intervalSeconds is the time between two looks at metrics. It should be no less than the interval at which they are scraped. A release
	// whose last pod finished more than 60 intervals ago has longer ones.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=300
	// +kubebuilder:default=15
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
	// failWhen says when failed checks of the policy fail their pods, if there is more than one: CEL over checks.<name>, which is Pass, Fail,
	// Inconclusive or Skipped. A failure counts once failWhen is true whatever verdict the pending checks will have. Without it, each failed
	// check fails its pods.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	FailWhen string `json:"failWhen,omitempty"`
	// checks are what is checked.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=16
	// +listType=map
	// +listMapKey=name
	Checks []VerificationCheck `json:"checks"`
}

// VerificationPolicySpec defines which releases are checked, and how.
type VerificationPolicySpec struct {
	// namespaceSelector selects the namespaces of the workloads, by their labels. It is allowed only in the namespace of the operator.
	// Without it, a policy concerns workloads of its own namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// workloads are those whose releases the policy concerns; all if there are none. Every policy that concerns a workload counts: one
	// can add to another, and never loosen it.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Workloads []WorkloadSelector `json:"workloads,omitempty"`

	VerificationTerms `json:",inline"`
}

// VerificationPolicyStatus is the observed state of a policy.
type VerificationPolicyStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// workloads is the number of workloads that the policy concerns.
	// +optional
	Workloads int32 `json:"workloads"`
	// failed is the number of their present releases that failed a check of the policy, whatever its mode.
	// +optional
	Failed int32 `json:"failed"`
	// conditions contains Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// VerificationPolicy defines how the operator itself checks releases.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=verificationpolicies,singular=verificationpolicy,shortName=vpol,categories=altershield
// +kubebuilder:printcolumn:name="MODE",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="BAKE",type=integer,JSONPath=`.spec.bakeSeconds`
// +kubebuilder:printcolumn:name="WATCH",type=integer,JSONPath=`.spec.watchSeconds`
// +kubebuilder:printcolumn:name="WORKLOADS",type=integer,JSONPath=`.status.workloads`
// +kubebuilder:printcolumn:name="FAILED",type=integer,JSONPath=`.status.failed`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="MESSAGE",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type VerificationPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines which releases are checked, and how.
	// +required
	Spec VerificationPolicySpec `json:"spec"`
	// status is the observed state of the policy.
	// +optional
	Status VerificationPolicyStatus `json:"status,omitzero"`
}

// VerificationPolicyList is a list of VerificationPolicies.
//
// +kubebuilder:object:root=true
type VerificationPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VerificationPolicy `json:"items"`
}
