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

package changeworkload

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Metrics counts what becomes of releases.
type Metrics struct {
	releases *prometheus.CounterVec
	batches  prometheus.Counter
}

// NewMetrics registers the counters.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	metrics := &Metrics{
		releases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_releases_total",
			Help: "Releases by the status that they came to: Running, TimeOutPreThreshold, Success or Suspend.",
		}, []string{"status"}),
		batches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "altershield_batches_opened_total",
			Help: "Batches of pods that were opened for checking.",
		}),
	}
	for _, collector := range []prometheus.Collector{metrics.releases, metrics.batches} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of releases: %w", err)
		}
	}
	return metrics, nil
}

// entered counts a release whose new status was saved.
func (m *Metrics) entered(status appv1alpha1.ChangeWorkloadPhase) {
	m.releases.WithLabelValues(string(status)).Inc()
}
