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

package changepod

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Metrics counts batches and orders that were not checked although they had to be.
type Metrics struct {
	missed *prometheus.CounterVec
}

// NewMetrics registers the counter.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	metrics := &Metrics{missed: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "altershield_batches_not_checked_total",
		Help: "Batches of pods, and change orders, that AlterShield Server was to check and did not, by the message of their ChangePod: PreFailed, PreTimeout, PostFailed or PostTimeout.",
	}, []string{"message"})}
	if err := registry.Register(metrics.missed); err != nil {
		return nil, fmt.Errorf("registering the metrics of batches: %w", err)
	}
	// Prometheus sees no increase when a counter appears, so each starts at 0.
	for _, phase := range []appv1alpha1.ChangePodPhase{
		appv1alpha1.ChangePodPreFailed, appv1alpha1.ChangePodPreTimeout, appv1alpha1.ChangePodPostFailed, appv1alpha1.ChangePodPostTimeout,
	} {
		metrics.missed.WithLabelValues(string(phase))
	}
	return metrics, nil
}
