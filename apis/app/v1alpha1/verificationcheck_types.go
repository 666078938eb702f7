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

// CheckType is what a check looks at.
//
// +kubebuilder:validation:Enum=PodHealth;Rule;Ratio;Latency;Gauge;Alerts;Query;HTTP;Condition;Job;Server
type CheckType string

const (
	// CheckPodHealth looks at the status of the pods.
	CheckPodHealth CheckType = "PodHealth"
	// CheckRule evaluates an expression over the pods.
	CheckRule CheckType = "Rule"
	// CheckRatio compares counters of the new and the old pods.
	CheckRatio CheckType = "Ratio"
	// CheckLatency compares how many requests of the new and of the old pods are slow.
	CheckLatency CheckType = "Latency"
	// CheckGauge compares a value of the new and the old pods.
	CheckGauge CheckType = "Gauge"
	// CheckAlerts looks for alerts that fire.
	CheckAlerts CheckType = "Alerts"
	// CheckQuery compares the result of a query with a fixed one.
	CheckQuery CheckType = "Query"
	// CheckHTTP asks a plug-in.
	CheckHTTP CheckType = "HTTP"
	// CheckCondition reads a condition of an object.
	CheckCondition CheckType = "Condition"
	// CheckJob runs a script.
	CheckJob CheckType = "Job"
	// CheckServer takes the verdicts of AlterShield Server.
	CheckServer CheckType = "Server"
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

// CheckFallback is what follows if a check has no verdict of its own.
//
// +kubebuilder:validation:Enum=Pass;Fail
type CheckFallback string

const (
	// FallbackPass fails nothing.
	FallbackPass CheckFallback = "Pass"
	// FallbackFail fails all new pods.
	FallbackFail CheckFallback = "Fail"
)

// InconclusiveFallback is what follows if a check can't tell whether a release failed.
//
// +kubebuilder:validation:Enum=Pass;Hold;Fail
type InconclusiveFallback string

const (
	// InconclusiveHold has the pods wait until the check can tell, for a time.
	InconclusiveHold InconclusiveFallback = "Hold"
	// InconclusiveFail fails all new pods at the end of the check; a check of the type PodHealth or Rule has none, and fails them at once.
	InconclusiveFail InconclusiveFallback = "Fail"
)

// CheckPhase is when a check is made.
//
// +kubebuilder:validation:Enum=Before;During;After
type CheckPhase string

const (
	// PhaseBefore has the first pod of a release in steps wait until the check passes.
	PhaseBefore CheckPhase = "Before"
	// PhaseDuring looks at the pods as they come.
	PhaseDuring CheckPhase = "During"
	// PhaseAfter has a release whose pods all passed wait for the check before it is verified.
	PhaseAfter CheckPhase = "After"
)

// VerificationCheck is one check of a policy.
//
// +kubebuilder:validation:XValidation:rule="!has(self.podHealth) || self.type == 'PodHealth'",message="podHealth is for type PodHealth only"
// +kubebuilder:validation:XValidation:rule="has(self.rule) == (self.type == 'Rule')",message="rule is needed for type Rule, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.ratio) == (self.type == 'Ratio')",message="ratio is needed for type Ratio, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.latency) == (self.type == 'Latency')",message="latency is needed for type Latency, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.gauge) == (self.type == 'Gauge')",message="gauge is needed for type Gauge, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.alerts) == (self.type == 'Alerts')",message="alerts is needed for type Alerts, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.query) == (self.type == 'Query')",message="query is needed for type Query, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.http) == (self.type == 'HTTP')",message="http is needed for type HTTP, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.condition) == (self.type == 'Condition')",message="condition is needed for type Condition, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.job) == (self.type == 'Job')",message="job is needed for type Job, and for it only"
// +kubebuilder:validation:XValidation:rule="has(self.timeoutSeconds) == (has(self.onInconclusive) && self.onInconclusive == 'Hold' || has(self.phase) && self.phase != 'During')",message="timeoutSeconds is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"
// +kubebuilder:validation:XValidation:rule="has(self.onTimeout) == (has(self.onInconclusive) && self.onInconclusive == 'Hold' || has(self.phase) && self.phase != 'During')",message="onTimeout is needed with onInconclusive: Hold, phase: Before or phase: After, and only with them"
// +kubebuilder:validation:XValidation:rule="!has(self.phase) || self.phase == 'During' || self.type in ['Rule', 'Alerts', 'Query', 'HTTP', 'Condition', 'Job']",message="phase: Before and phase: After are for the types Rule, Alerts, Query, HTTP, Condition and Job: the others watch pods while they come"
// +kubebuilder:validation:XValidation:rule="!has(self.phase) || self.phase == 'During' || !has(self.onInconclusive) || self.onInconclusive == 'Hold'",message="phase: Before and phase: After wait for a verdict: onTimeout is what follows without one, not onInconclusive"
// +kubebuilder:validation:XValidation:rule="self.type != 'Server' || !has(self.onInconclusive) || self.onInconclusive != 'Hold'",message="onInconclusive: Hold isn't for type Server: each batch waits for the server anyway"
type VerificationCheck struct {
	// name identifies the check in its policy.
	// +kubebuilder:validation:Pattern=`^[a-z]([-a-z0-9]*[a-z0-9])?$`
	// +kubebuilder:validation:MaxLength=32
	Name string `json:"name"`
	// type is what the check looks at: PodHealth for the status of the pods, Rule for an expression over them, Ratio for counters, Latency for
	// the time of requests, Gauge for a value of each pod, Alerts for those that fire, Query for one of PromQL,
	// HTTP for a plug-in, Condition for a condition of an object, Job for a script, Server for the verdicts of AlterShield Server on the batches.
	// A policy with a check of the type Server has to be in the namespace of the operator.
	Type CheckType `json:"type"`
	// mode is what follows if the check fails. It may be lower than that of the policy, in the order Observe, Warn, Enforce; a higher
	// one has no effect.
	// +optional
	Mode CheckMode `json:"mode,omitempty"`
	// phase is when the check is made. During, the default, looks at the pods as they come. Before has the first pod of a release in steps wait
	// until the check passes; it is skipped for other releases, whose start nothing holds back. After has a release whose pods all passed wait
	// for the check before it is verified. Both ask every intervalSeconds, for timeoutSeconds at most, and nothing waits in modes other than
	// Enforce.
	// +optional
	Phase CheckPhase `json:"phase,omitempty"`
	// onInconclusive is what follows if the check can't tell whether the release failed: Pass by default, or Fail for a check that
	// must have passed. With Hold in the mode Enforce, no further pod passes after its bake until the check can tell; in other modes,
	// Hold is Pass.
	// +optional
	OnInconclusive InconclusiveFallback `json:"onInconclusive,omitempty"`
	// timeoutSeconds is how long pods wait for a check that can't tell, with onInconclusive: Hold, and the release for one with the phase Before or
	// After.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=86400
	// +optional
	TimeoutSeconds int32 `json:"timeoutSeconds,omitempty"`
	// onTimeout is what follows then: Pass lets them pass, and those that come later too; Fail fails all new pods, with the phase Before the
	// release.
	// +optional
	OnTimeout CheckFallback `json:"onTimeout,omitempty"`
	// onError is what follows if the check can't be made, such as that its source doesn't answer until its end: Pass by default, or Fail.
	// Without it, onInconclusive: Hold holds then, too, and for a check of the type Server the flag --altershield-failure-policy decides.
	// +optional
	OnError CheckFallback `json:"onError,omitempty"`
	// podHealth configures a check of the type PodHealth.
	// +optional
	PodHealth *PodHealthCheck `json:"podHealth,omitempty"`
	// rule configures a check of the type Rule.
	// +optional
	Rule *RuleCheck `json:"rule,omitempty"`
	// ratio configures a check of the type Ratio.
	// +optional
	Ratio *RatioCheck `json:"ratio,omitempty"`
	// latency configures a check of the type Latency.
	// +optional
	Latency *LatencyCheck `json:"latency,omitempty"`
	// gauge configures a check of the type Gauge.
	// +optional
	Gauge *GaugeCheck `json:"gauge,omitempty"`
	// alerts configures a check of the type Alerts.
	// +optional
	Alerts *AlertsCheck `json:"alerts,omitempty"`
	// query configures a check of the type Query.
	// +optional
	Query *QueryCheck `json:"query,omitempty"`
	// http configures a check of the type HTTP.
	// +optional
	HTTP *HTTPCheck `json:"http,omitempty"`
	// condition configures a check of the type Condition.
	// +optional
	Condition *ConditionCheck `json:"condition,omitempty"`
	// job configures a check of the type Job.
	// +optional
	Job *JobCheck `json:"job,omitempty"`
}
