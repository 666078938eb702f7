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
	// CheckWarn also writes an Event.
	CheckWarn CheckMode = "Warn"
	// CheckEnforce fails the pods, as a verdict of AlterShield Server does.
	CheckEnforce CheckMode = "Enforce"
)

// CheckType is what a check looks at.
//
// +kubebuilder:validation:Enum=PodHealth
type CheckType string

// CheckPodHealth looks at the status of the pods.
const CheckPodHealth CheckType = "PodHealth"

// PodSignal is a trouble that the status of a pod shows.
//
// +kubebuilder:validation:Enum=Restarts;OOMKilled;ReadinessLost
type PodSignal string

const (
	// SignalRestarts fails if containers restart more often than those of the old pods did: by an exact test of the counts, which
	// tolerates three times the old rate, or if one of them restarted twice and no container of an old pod ever did.
	SignalRestarts PodSignal = "Restarts"
	// SignalOOMKilled fails if a container ran out of memory and none of the old pods did.
	SignalOOMKilled PodSignal = "OOMKilled"
	// SignalReadinessLost fails if two pods, or more than a tenth of the checked ones, are not ready for 30 seconds after they were.
	SignalReadinessLost PodSignal = "ReadinessLost"
)

// PodHealthCheck looks at the status of the pods after they finished. Trouble that the old pods have as well, or pods of three other
// workloads of the namespace or of the node, has a common cause and fails nothing. Pods that are evicted or deleted don't count.
type PodHealthCheck struct {
	// signals are what fails the check; all of them if there are none.
	// +kubebuilder:validation:MaxItems=8
	// +listType=set
	// +optional
	Signals []PodSignal `json:"signals,omitempty"`
}

// VerificationCheck is one check of a policy.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podHealth) || self.type == 'PodHealth'",message="podHealth is for type PodHealth only"
type VerificationCheck struct {
	// name identifies the check in its policy.
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// type is what the check looks at: PodHealth.
	Type CheckType `json:"type"`
	// mode is what follows if the check fails. It may be lower than that of the policy, in the order Observe, Warn, Enforce; a higher
	// one has no effect.
	// +optional
	Mode CheckMode `json:"mode,omitempty"`
	// podHealth configures a check of the type PodHealth.
	// +optional
	PodHealth *PodHealthCheck `json:"podHealth,omitempty"`
}

// VerificationTerms are how a policy checks the releases that it concerns.
type VerificationTerms struct {
	// mode is Observe to record failures only, Warn to also write Events, or Enforce to fail the pods and suspend the workload.
	// +kubebuilder:default=Observe
	// +optional
	Mode CheckMode `json:"mode,omitempty"`
	// bakeSeconds is how long a batch of pods is checked before it passes, if the mode is Enforce.
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
