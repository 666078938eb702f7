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

// RatioBaseline is what the ratio of the new pods is compared with.
// +kubebuilder:validation:Enum=Auto;Concurrent;Before
type RatioBaseline string

// The baselines.
const (
	// BaselineAuto is Concurrent, or Before for a release with too few looks at new and old pods at the same time.
	BaselineAuto RatioBaseline = "Auto"
	// BaselineConcurrent is the old pods in the same looks.
	BaselineConcurrent RatioBaseline = "Concurrent"
	// BaselineBefore is the old pods in the half an hour before the release.
	BaselineBefore RatioBaseline = "Before"
)

// RatioComparison compares the ratio of the new pods with that of the old ones.
type RatioComparison struct {
	// baseline is Concurrent for the old pods in the same time, Before for those in the half an hour before the release, and Auto for Concurrent
	// as long as there are old pods beside the new ones, and otherwise Before. With Before, new pods fail only with three times the old ratio,
	// for more than three minutes, and not while other pods of the namespace have more bad events, too.
	// +kubebuilder:default=Auto
	// +optional
	Baseline RatioBaseline `json:"baseline,omitempty"`
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

// RatioObjective is with what a ratio of events is compared.
type RatioObjective struct {
	// comparison compares with the old pods. It takes four looks at least, and fails at most one good release of a hundred, together with
	// all other comparisons of the release.
	// +optional
	Comparison *RatioComparison `json:"comparison,omitempty"`
	// threshold compares with a fixed ratio.
	// +optional
	Threshold *RatioThreshold `json:"threshold,omitempty"`
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

	RatioObjective `json:",inline"`
}

// LatencyCheck judges a release by its slow requests, by a histogram that each pod has. Which requests are slow is told by the buckets that
// all pods have: a time between two bounds counts as the upper one, and with one above all bounds the check is Inconclusive.
//
// +kubebuilder:validation:XValidation:rule="has(self.comparison) != has(self.threshold)",message="either comparison or threshold is needed"
// +kubebuilder:validation:XValidation:rule="has(self.thresholdSeconds) || !has(self.threshold)",message="threshold needs thresholdSeconds"
type LatencyCheck struct {
	// sourceRef names the VerificationSource that has the histogram.
	SourceRef SourceReference `json:"sourceRef"`
	// metric is the name of a classic histogram, without _bucket, such as http_request_duration_seconds.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_:][a-zA-Z0-9_:]*$`
	// +kubebuilder:validation:MaxLength=256
	Metric string `json:"metric"`
	// matchers are label matchers of PromQL, such as path!="/health". Those of the namespace and of the pods are added.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Matchers []string `json:"matchers,omitempty"`
	// thresholdSeconds is the time above which a request is slow. Without it, that is the bound below which 95% of the requests of the old
	// pods were before the release.
	// +kubebuilder:validation:Pattern=`^[0-9]{1,6}(\.[0-9]{1,6})?$`
	// +optional
	ThresholdSeconds string `json:"thresholdSeconds,omitempty"`

	RatioObjective `json:",inline"`
}

// GaugeComparison compares the values of the new pods with those of the old ones.
type GaugeComparison struct {
	// tolerance is how many times the values of the old pods are tolerated.
	// +kubebuilder:validation:Pattern=`^[1-9][0-9]{0,2}(\.[0-9]{1,4})?$`
	// +kubebuilder:default="1.2"
	// +optional
	Tolerance string `json:"tolerance,omitempty"`
	// minDelta is the smallest difference that counts, in the unit of the metric.
	// +kubebuilder:validation:Pattern=`^[0-9]{1,15}(\.[0-9]{1,9})?$`
	// +kubebuilder:default="0"
	// +optional
	MinDelta string `json:"minDelta,omitempty"`
}

// GaugeCheck judges a release by a value of each pod, such as the length of a queue: higher is worse. A pod counts once, with the median of its
// values, and all are compared at the end of the check. That needs three new pods; fewer fail only if all have higher values than every old one,
// of which there are five.
type GaugeCheck struct {
	// sourceRef names the VerificationSource that has the gauge.
	SourceRef SourceReference `json:"sourceRef"`
	// metric is the name of a gauge, such as work_queue_depth. Series of the same pod are added.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_:][a-zA-Z0-9_:]*$`
	// +kubebuilder:validation:MaxLength=256
	Metric string `json:"metric"`
	// matchers are label matchers of PromQL. Those of the namespace and of the pods are added.
	// +kubebuilder:validation:MaxItems=8
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Matchers []string `json:"matchers,omitempty"`
	// comparison compares with the old pods.
	// +kubebuilder:default={}
	// +optional
	Comparison GaugeComparison `json:"comparison,omitzero"`
}

// AlertsCheck fails a release if an alert fires that didn't before it began. Alerts of pods that don't run the release don't count, nor do those
// of other namespaces, unless matchLabels has the label of the namespace.
type AlertsCheck struct {
	// sourceRef names the VerificationSource that has the alerts: the series ALERTS of a Prometheus with rules.
	SourceRef SourceReference `json:"sourceRef"`
	// matchLabels are labels that the alerts have, such as severity: page.
	// +kubebuilder:validation:MaxProperties=8
	// +kubebuilder:validation:XValidation:rule="self.all(name, name.matches('^[a-zA-Z_][a-zA-Z0-9_]*$') && !(name in ['alertstate', '__name__']) && size(self[name]) <= 256)",message="matchLabels has names of labels, but not alertstate, with values of at most 256 characters"
	// +optional
	MatchLabels map[string]string `json:"matchLabels,omitempty"`
}

// QueryCheck judges a release by a query in PromQL that returns one value. It is allowed in policies of the operator's namespace, and for sources
// with enforceNamespace: else a query could read series of every namespace.
//
// +kubebuilder:validation:XValidation:rule="has(self.max) || has(self.min)",message="max or min is needed"
type QueryCheck struct {
	// sourceRef names the VerificationSource that is asked.
	SourceRef SourceReference `json:"sourceRef"`
	// query is the query. Values of its matchers may have the variables $namespace, $workload, $kind, $version, $newPods and $oldPods; the last
	// two name at most 100 pods, and are for the operators =~ and !~.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Query string `json:"query"`
	// max is the largest value that passes.
	// +kubebuilder:validation:Pattern=`^-?[0-9]{1,15}(\.[0-9]{1,9})?$`
	// +optional
	Max string `json:"max,omitempty"`
	// min is the smallest value that passes.
	// +kubebuilder:validation:Pattern=`^-?[0-9]{1,15}(\.[0-9]{1,9})?$`
	// +optional
	Min string `json:"min,omitempty"`
	// consecutive is how many looks running must not pass. Those without a value don't count.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=60
	// +kubebuilder:default=3
	// +optional
	Consecutive int32 `json:"consecutive,omitempty"`
}
