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

package rollback

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Metrics counts rollbacks, parks and deleted pods, and measures the delay of the rollbacks of stuck releases.
type Metrics struct {
	rollbacks *prometheus.CounterVec
	parks     *prometheus.CounterVec
	pods      *prometheus.CounterVec
	delay     prometheus.Histogram
}

// NewMetrics registers the metrics of workloads of the kinds.
func NewMetrics(registry prometheus.Registerer, kinds workload.Registry) (*Metrics, error) {
	metrics := &Metrics{
		rollbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_rollbacks_total",
			Help: "Rollbacks by the kind of the workload and their reason: PodsNotRunning, PodsFailed, Requested or ReleasePolicy.",
		}, []string{"kind", "reason"}),
		parks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_parks_total",
			Help: "Parked releases by the kind of the workload and the reason: PodsFailed, Requested or ReleasePolicy.",
		}, []string{"kind", "reason"}),
		pods: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_deleted_pods_total",
			Help: "Pods that the operator deleted, by the kind of their workload and the cause: Park, FirstNodes, Step, or Unstick where one kept a rollout from going on.",
		}, []string{"kind", "cause"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "altershield_stuck_rollback_delay_seconds",
			Help:    "Time from the moment at which a pod of a release should have been running to the rollback of the release.",
			Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		}),
	}
	for _, collector := range []prometheus.Collector{metrics.rollbacks, metrics.parks, metrics.pods, metrics.delay} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of rollbacks: %w", err)
		}
	}
	for _, kind := range kinds {
		metrics.Begin(kind)
	}
	return metrics, nil
}

// Begin makes the counters of a kind start at 0: Prometheus sees no increase when a counter appears.
func (m *Metrics) Begin(kind workload.Kind) {
	name := kind.GroupVersionKind().Kind
	for _, reason := range CountedReasons() {
		m.rollbacks.WithLabelValues(name, reason)
	}
	if _, ok := kind.(workload.NodeBound); ok {
		m.pods.WithLabelValues(name, causeFirstNodes)
	}
	if _, ok := kind.(workload.Parker); ok {
		for _, reason := range CountedReasons()[1:] { // pods that don't run can't be parked
			m.parks.WithLabelValues(name, reason)
		}
		m.pods.WithLabelValues(name, causePark)
		m.pods.WithLabelValues(name, causeUnstick)
	}
}
