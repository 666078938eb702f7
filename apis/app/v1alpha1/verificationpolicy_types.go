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
// +kubebuilder:validation:Enum=PodHealth;Rule;Ratio
type CheckType string

const (
	// CheckPodHealth looks at the status of the pods.
	CheckPodHealth CheckType = "PodHealth"
	// CheckRule evaluates an expression over the pods.
	CheckRule CheckType = "Rule"
	// CheckRatio compares counters of the new and the old pods.
	CheckRatio CheckType = "Ratio"
)

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

// RuleCheck is a rule of one's own over the pods of a release, in CEL. It has the variables newPods, the finished pods of the release, and
// oldPods, the pods of other versions that still exist, with the fields name, node, labels, ready, restarts, oomKilled and since of each;
// release with version, number and time; and workload with kind, namespace, name and replicas.
type RuleCheck struct {
	// expression is true as long as the pods of the release pass. It is evaluated once the first of them has finished, and whenever another
	// one does, a container ends, or a pod stops being ready or is ready again. When it is false, all of them fail. It may cost 200,000
	// units, where the API server allows 1,000,000: distinct(), which compares each pod with all others, is possible for 300 of them.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	Expression string `json:"expression"`
	// messageExpression returns the text that says what failed. Without it, the expression says so.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	MessageExpression string `json:"messageExpression,omitempty"`
}

// SourceReference names a VerificationSource in the namespace of the operator.
type SourceReference struct {
	// name is the name of the VerificationSource.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// MetricSelector selects series by the name of their metric and by their labels.
type MetricSelector struct {
	// metric is the name of a counter, such as http_requests_total.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_:][a-zA-Z0-9_:]*$`
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Metric string `json:"metric,omitempty"`
	// matchers are label matchers of PromQL, such as code=~"5..". Those of the namespace and of the pods are added.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Matchers []string `json:"matchers,omitempty"`
}

// RatioComparison compares the ratio of the new pods with that of the old ones in the same time.
type RatioComparison struct {
	// tolerance is how many times the ratio of the old pods is tolerated.
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,2}(\.[0-9]{1,4})?$`
	// +kubebuilder:default="1.5"
	// +optional
	Tolerance string `json:"tolerance,omitempty"`
	// minDelta is the smallest difference of the ratios that counts, in percent.
	// +kubebuilder:validation:Pattern=`^[0-9]{1,2}(\.[0-9]{1,4})?%$`
	// +kubebuilder:default="0.5%"
	// +optional
	MinDelta string `json:"minDelta,omitempty"`
	// minEvents is the number of bad events on the new pods that a failure needs.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +kubebuilder:default=5
	// +optional
	MinEvents int32 `json:"minEvents,omitempty"`
}

// RatioThreshold compares the ratio of the new pods with a fixed one.
type RatioThreshold struct {
	// max is the largest ratio that passes, in percent.
	// +kubebuilder:validation:Pattern=`^[0-9]{1,2}(\.[0-9]{1,4})?%$`
	Max string `json:"max"`
	// consecutive is how many looks running must exceed it.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +kubebuilder:default=3
	// +optional
	Consecutive int32 `json:"consecutive,omitempty"`
	// minEvents is the number of events, good and bad, that a look needs to count.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=1000000
	// +kubebuilder:default=20
	// +optional
	MinEvents int32 `json:"minEvents,omitempty"`
}

// RatioCheck judges the ratio of bad events to all of them, by two counters that each pod has. Each look counts what was added since the one
// before. Pods of which less than 80% have series, or with too little traffic to tell, are Inconclusive and fail nothing.
//
// +kubebuilder:validation:XValidation:rule="has(self.comparison) != has(self.threshold)",message="either comparison or threshold is needed"
// +kubebuilder:validation:XValidation:rule="has(self.total.metric)",message="total.metric is needed"
// +kubebuilder:validation:XValidation:rule="has(self.bad.metric) || has(self.bad.matchers)",message="bad needs a metric or matchers"
type RatioCheck struct {
	// sourceRef names the VerificationSource that has the counters.
	SourceRef SourceReference `json:"sourceRef"`
	// total counts all events.
	Total MetricSelector `json:"total"`
	// bad counts the bad ones. Its metric is that of total, with the matchers of both, unless it names its own.
	Bad MetricSelector `json:"bad"`
	// comparison compares with the old pods. It takes four looks at least, and fails at most one good release of a hundred, together with
	// all other comparisons of the release.
	// +optional
	Comparison *RatioComparison `json:"comparison,omitempty"`
	// threshold compares with a fixed ratio.
	// +optional
	Threshold *RatioThreshold `json:"threshold,omitempty"`
}

// VerificationCheck is one check of a policy.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podHealth) || self.type == 'PodHealth'",message="podHealth is for type PodHealth only"
// +kubebuilder:validation:XValidation:rule="has(self.rule) == (self.type == 'Rule')",message="rule is needed for type Rule, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.ratio) == (self.type == 'Ratio')",message="ratio is needed for type Ratio, and for it only"
type VerificationCheck struct {
	// name identifies the check in its policy.
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// type is what the check looks at: PodHealth for the status of the pods, Rule for an expression over them, Ratio for counters.
	Type CheckType `json:"type"`
	// mode is what follows if the check fails. It may be lower than that of the policy, in the order Observe, Warn, Enforce; a higher
	// one has no effect.
	// +optional
	Mode CheckMode `json:"mode,omitempty"`
	// podHealth configures a check of the type PodHealth.
	// +optional
	PodHealth *PodHealthCheck `json:"podHealth,omitempty"`
	// rule configures a check of the type Rule.
	// +optional
	Rule *RuleCheck `json:"rule,omitempty"`
	// ratio configures a check of the type Ratio.
	// +optional
	Ratio *RatioCheck `json:"ratio,omitempty"`
}

// VerificationTerms are how a policy checks the releases that it concerns.
type VerificationTerms struct {
	// mode is Observe to record failures only, Warn to also write Events, or Enforce to fail the pods and suspend the workload.
	// +kubebuilder:default=Observe
	// +optional
	Mode CheckMode `json:"mode,omitempty"`
	// bakeSeconds is how long a batch of pods is checked before it passes, if the mode is Enforce. In other modes, metrics of a release are
	// looked at for as long after it was verified.
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
	// that is watched for more than 60 intervals has longer ones.
	// +kubebuilder:validation:Minimum=10
	// +kubebuilder:validation:Maximum=300
	// +kubebuilder:default=15
	// +optional
	IntervalSeconds int32 `json:"intervalSeconds,omitempty"`
	// failWhen says when failed checks of the policy fail their pods, if there is more than one: CEL over checks.<name>, which is Pending,
	// Pass, Fail, Inconclusive or Skipped. Without it, each of them does.
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
