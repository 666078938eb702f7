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

// Conditions of ReleasePolicies and of paced releases.
const (
	// ConditionPaced on a ChangeWorkload is True while its release is rolled out in steps, and False once it isn't any more, or where it
	// can't be. Releases without a ReleasePolicy have no such condition.
	ConditionPaced = "Paced"
	// ConditionGated on a ReleasePolicy: new pods get gates where the steps need them.
	ConditionGated = "Gated"
)

// Reasons of ConditionPaced that is True, besides ReasonAwaitingOrder and ReasonAwaitingCheck: the change order, or a check before the first pod or
// after the last one, has yet to pass; and ReasonPermissionMissing: the operator may not delete the pods that those of the step replace.
const (
	// ReasonStepRunning means that pods of the step are awaited or checked.
	ReasonStepRunning = "StepRunning"
	// ReasonSoaking means that all pods of the step passed and soak.
	ReasonSoaking = "Soaking"
	// ReasonAwaitingApproval means that the next step needs approvals.
	ReasonAwaitingApproval = "AwaitingApproval"
	// ReasonApprovalDenied means that a ChangeApproval denies the next step.
	ReasonApprovalDenied = "ApprovalDenied"
	// ReasonStepDeadline means that the step didn't end in time.
	ReasonStepDeadline = "StepDeadline"
	// ReasonStepFailed means that a pod of the release failed: no further pods come.
	ReasonStepFailed = "StepFailed"
	// ReasonPaceOnHold means that the release waits for something else first: the end of a freeze, its first nodes, or a ReleasePolicy that is gone.
	ReasonPaceOnHold = "OnHold"
)

// Reasons of ConditionPaced that is False, besides ReasonSuperseded, ReasonResumed, ReasonNotControlled and ReasonBreakGlass.
const (
	// ReasonAllSteps means that every step is done.
	ReasonAllSteps = "AllSteps"
	// ReasonPolicyRemoved means that no ReleasePolicy with steps selects the workload any more.
	ReasonPolicyRemoved = "PolicyRemoved"
	// ReasonNoLever means that nothing holds back the pods of the workload.
	ReasonNoLever = "NoLever"
	// ReasonVersionVerified means that the version was verified before: its pods come at once.
	ReasonVersionVerified = "VersionVerified"
	// ReasonPacePassed means that a user let the release go on to all pods.
	ReasonPacePassed = "WentOn"
)

// Reasons of ConditionReady of a ReleasePolicy.
const (
	// ReasonPolicyValid means that the policy is in effect.
	ReasonPolicyValid = "Valid"
	// ReasonPolicyInvalid means that its spec is unusable: it concerns no workload.
	ReasonPolicyInvalid = "Invalid"
)

// Reasons of ConditionGated.
const (
	// ReasonGatedByPolicy means that a MutatingAdmissionPolicy adds the gates.
	ReasonGatedByPolicy = "MutatingAdmissionPolicy"
	// ReasonGatesMissing means that nothing that adds gates was found any more, and that it may be back in a moment.
	ReasonGatesMissing = "Missing"
	// ReasonGatedByWebhook means that a webhook adds the gates: while no replica of the operator answers, pods come without.
	ReasonGatedByWebhook = "Webhook"
	// ReasonNotGated means that neither is installed.
	ReasonNotGated = "NotInstalled"
)

// Traffic is when the pods of a release get traffic.
//
// +kubebuilder:validation:Enum=With;Before
type Traffic string

const (
	// TrafficWith checks the pods of a step under traffic: pods beyond the step aren't started.
	TrafficWith Traffic = "With"
	// TrafficBefore checks pods before they get traffic.
	TrafficBefore Traffic = "Before"
)

// Capacity is what happens to the capacity of a workload while its release is paced.
//
// +kubebuilder:validation:Enum=Keep;AsDeclared
type Capacity string

const (
	// CapacityKeep takes no pod away before a new one is available.
	CapacityKeep Capacity = "Keep"
	// CapacityAsDeclared leaves the strategy of the workload as it is.
	CapacityAsDeclared Capacity = "AsDeclared"
)

// OnFail is what happens to a paced release that fails.
//
// +kubebuilder:validation:Enum=Hold;Park;Undo
type OnFail string

const (
	// OnFailHold holds the rollout.
	OnFailHold OnFail = "Hold"
	// OnFailPark holds the rollout and lets the pods of the release come back as before, where the kind can be parked.
	OnFailPark OnFail = "Park"
	// OnFailUndo rolls back the release.
	OnFailUndo OnFail = "Undo"
)

// DeadlineAction is what happens to a release whose step doesn't end in time.
//
// +kubebuilder:validation:Enum=Hold;Undo;GoOn
type DeadlineAction string

const (
	// DeadlineHold waits on.
	DeadlineHold DeadlineAction = "Hold"
	// DeadlineUndo rolls back the release.
	DeadlineUndo DeadlineAction = "Undo"
	// DeadlineGoOn goes on to the next step.
	DeadlineGoOn DeadlineAction = "GoOn"
)

// ReleaseStep is a step of a release.
//
// +kubebuilder:validation:XValidation:rule="has(self.replicas) != has(self.percent)",message="a step has replicas or percent"
// +kubebuilder:validation:XValidation:rule="!has(self.soak) || duration(self.soak) >= duration('0s') && duration(self.soak) <= duration('168h')",message="soak is up to 168h"
type ReleaseStep struct {
	// replicas is the number of pods that run the release by the end of the step.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100000
	// +optional
	Replicas int32 `json:"replicas,omitempty"`
	// percent is that number as a percentage of the replicas that the workload has at the time, rounded up.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	// +optional
	Percent int32 `json:"percent,omitempty"`
	// soak is how long the pods of the step have to stay without a failure after all of them passed, such as 5m, up to 168h.
	// +optional
	Soak *metav1.Duration `json:"soak,omitempty"`
	// approvals is how many users, besides the author of the release, have to approve it before the step begins.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=10
	// +optional
	Approvals int32 `json:"approvals,omitempty"`
}

// StepDeadline limits the time of a step.
//
// +kubebuilder:validation:XValidation:rule="duration(self.perStep) >= duration('10s') && duration(self.perStep) <= duration('168h')",message="perStep is from 10s to 168h"
type StepDeadline struct {
	// perStep is how long the pods of a step may take to pass, besides their soak, from 10s to 168h. Time that the release waits for approvals, a freeze
	// or its first nodes doesn't count.
	PerStep metav1.Duration `json:"perStep"`
	// then is Hold to wait on, Undo to roll back the release, or GoOn to begin the next step.
	// +kubebuilder:default=Hold
	// +optional
	Then DeadlineAction `json:"then,omitempty"`
}

// Approvers selects users who may approve releases, besides their permission to create ChangeApprovals.
type Approvers struct {
	// users are user names of the API server. A service account counts only if it is named here, as
	// system:serviceaccount:<namespace>:<name>.
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

// ReleasePolicySpec defines how releases are rolled out.
//
// +kubebuilder:validation:XValidation:rule="!has(self.steps) || self.steps.size() == 0 || has(self.steps[self.steps.size() - 1].percent) && self.steps[self.steps.size() - 1].percent == 100",message="the last step must be percent: 100"
// +kubebuilder:validation:XValidation:rule="!has(self.stuckAfter) || duration(self.stuckAfter) == duration('0s') || duration(self.stuckAfter) >= duration('1s')",message="stuckAfter is 0s (never) or at least 1s"
type ReleasePolicySpec struct {
	// namespaceSelector selects the namespaces of the workloads, by their labels. It is allowed only in the namespace of the operator.
	// Without it, a policy concerns workloads of its own namespace.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// workloads are those whose releases the policy concerns; all if there are none. Of several policies, one in the namespace of the
	// workload counts, and of those the one that selects it most specifically: by name, by the most labels, by kind.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Workloads []WorkloadSelector `json:"workloads,omitempty"`
	// traffic is With to check the pods of a step under traffic, or Before to give a pod no traffic before it passed its check. A change
	// takes effect with the next release.
	// +kubebuilder:default=With
	// +optional
	Traffic Traffic `json:"traffic,omitempty"`
	// capacity is Keep to take no pod away before a new one is available: while a Deployment is paced, its maxUnavailable is 0 and its
	// maxSurge at least 1. AsDeclared leaves its strategy as it is.
	// +kubebuilder:default=Keep
	// +optional
	Capacity Capacity `json:"capacity,omitempty"`
	// steps are the steps of a release. Without steps, releases aren't paced.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Steps []ReleaseStep `json:"steps,omitempty"`
	// onFail is Hold to hold the rollout of a release that fails, Park to also let its pods come back as before, or Undo to roll it back.
	// +kubebuilder:default=Hold
	// +optional
	OnFail OnFail `json:"onFail,omitempty"`
	// deadline limits the time of a step. Without it, a step waits without a limit.
	// +optional
	Deadline *StepDeadline `json:"deadline,omitempty"`
	// stuckAfter is how long the pods of a release may take to run before it is rolled back; 0s for never. It takes precedence over the
	// annotation stuck-after and over the setting.
	// +optional
	StuckAfter *metav1.Duration `json:"stuckAfter,omitempty"`
	// approvers are those who may approve releases; all users who may create a ChangeApproval if absent. Service accounts have to be named.
	// +optional
	Approvers *Approvers `json:"approvers,omitempty"`
}

// MatchedWorkload is a workload that a ReleasePolicy concerns.
type MatchedWorkload struct {
	// kind is the kind of the workload and its API group, such as Deployment.apps.
	// +kubebuilder:validation:MaxLength=317
	Kind string `json:"kind"`
	// namespace is its namespace.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// name is its name.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MaxMatched caps the list of workloads in the status of a ReleasePolicy.
const MaxMatched = 100

// ReleasePolicyStatus is the observed state of a policy.
type ReleasePolicyStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// workloads is the number of workloads that the policy concerns.
	// +optional
	Workloads int32 `json:"workloads"`
	// paced is the number of releases that are rolled out in steps now.
	// +optional
	Paced int32 `json:"paced"`
	// matched are the workloads that the policy concerns, at most 100.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	Matched []MatchedWorkload `json:"matched,omitempty"`
	// conditions are Ready and Gated.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ReleasePolicy defines the steps in which releases are rolled out.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=releasepolicies,singular=releasepolicy,shortName=rp,categories=altershield
// +kubebuilder:printcolumn:name="TRAFFIC",type=string,JSONPath=`.spec.traffic`
// +kubebuilder:printcolumn:name="WORKLOADS",type=integer,JSONPath=`.status.workloads`
// +kubebuilder:printcolumn:name="PACED",type=integer,JSONPath=`.status.paced`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="GATES",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Gated")].reason`
type ReleasePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines how releases are rolled out.
	// +required
	Spec ReleasePolicySpec `json:"spec"`
	// status is the observed state of the policy.
	// +optional
	Status ReleasePolicyStatus `json:"status,omitzero"`
}

// ReleasePolicyList is a list of ReleasePolicies.
//
// +kubebuilder:object:root=true
type ReleasePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ReleasePolicy `json:"items"`
}
