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

package runnable

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Metrics counts the obstacles to rollbacks.
type Metrics struct {
	obstacles *prometheus.CounterVec
}

// NewMetrics registers the counter for workloads of the kinds.
func NewMetrics(registry prometheus.Registerer, kinds workload.Registry) (*Metrics, error) {
	metrics := &Metrics{obstacles: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "altershield_rollback_obstacles_total",
		Help: "Rollbacks and parks that could not be made, by the kind of the workload and the reason for them: PodsNotRunning, PodsFailed, Requested or ReleasePolicy. Each obstacle of a release counts once, as its Event ReleaseNotRolledBack or ReleaseNotParked.",
	}, []string{"kind", "reason"})}
	if err := registry.Register(metrics.obstacles); err != nil {
		return nil, fmt.Errorf("registering the metrics of obstacles: %w", err)
	}
	for _, kind := range kinds {
		metrics.Begin(kind)
	}
	return metrics, nil
}

// Begin makes the counters of a kind start at 0: Prometheus sees no increase when a counter appears.
func (m *Metrics) Begin(kind workload.Kind) {
	for _, reason := range rollback.CountedReasons() {
		m.obstacles.WithLabelValues(kind.GroupVersionKind().Kind, reason)
	}
}
