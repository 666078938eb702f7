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

package routers

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// status is the result of a callback.
type status string

const (
	statusApplied   status = "applied"
	statusStale     status = "stale"
	statusParked    status = "parked"
	statusUnknown   status = "unknown"
	statusIgnored   status = "ignored"
	statusUnsigned  status = "unsigned"
	statusExpired   status = "expired"
	statusMalformed status = "malformed"
	statusTooLarge  status = "too_large"
	// statusUnavailable is of a callback whose signature can't be checked: it is no proof of a verdict.
	statusUnavailable status = "unavailable"
	statusFailed      status = "failed"
)

// metrics counts callbacks and verdicts.
type metrics struct {
	callbacks *prometheus.CounterVec
	verdicts  *prometheus.CounterVec
	delay     prometheus.Histogram
}

// newMetrics returns registered metrics.
func newMetrics(registry prometheus.Registerer) (*metrics, error) {
	result := &metrics{
		callbacks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_callbacks_total",
			Help: "Callbacks of AlterShield Server by result: applied, stale, parked until their ChangePod is known, unknown, ignored, failed, or rejected as unsigned, expired, malformed, too_large, or unavailable where the signature can't be checked.",
		}, []string{"status"}),
		verdicts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_verdicts_total",
			Help: "Verdicts of callbacks that were applied to a ChangePod, by stage (PRE or POST) and verdict (pass or fail).",
		}, []string{"stage", "verdict"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "altershield_verdict_seconds",
			Help:    "Time from the finish of a pod, in whole seconds, to the callback with the verdict that decided it. Verdicts that a poll found don't count.",
			Buckets: []float64{1, 2, 5, 10, 20, 30, 60, 120, 240, 600},
		}),
	}
	for _, collector := range []prometheus.Collector{result.callbacks, result.verdicts, result.delay} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of callbacks: %w", err)
		}
	}
	// Prometheus sees no increase when a counter appears, so each starts at 0.
	for _, status := range []status{
		statusApplied, statusStale, statusParked, statusUnknown, statusIgnored,
		statusUnsigned, statusExpired, statusMalformed, statusTooLarge, statusUnavailable, statusFailed,
	} {
		result.callbacks.WithLabelValues(string(status))
	}
	for _, stage := range []appv1alpha1.CheckStage{appv1alpha1.StagePre, appv1alpha1.StagePost} {
		result.verdicts.WithLabelValues(string(stage), string(verifier.Pass))
		result.verdicts.WithLabelValues(string(stage), string(verifier.Fail))
	}
	return result, nil
}

func (m *metrics) count(result status, delivery verifier.Delivery) {
	m.callbacks.WithLabelValues(string(result)).Inc()
	if result == statusApplied {
		m.verdicts.WithLabelValues(string(delivery.Stage), string(delivery.Verdict.Outcome)).Inc()
	}
}

// decided observes how long the pods of a batch waited for the verdict that arrived now.
func (m *metrics) decided(pods []appv1alpha1.PodSummary, delivery verifier.Delivery, now time.Time) {
	if delivery.Stage == appv1alpha1.StagePre && delivery.Verdict.Outcome == verifier.Pass {
		return
	}
	for _, pod := range pods {
		if pod.FinishTimeUnix > 0 {
			m.delay.Observe(max(now.Sub(time.Unix(pod.FinishTimeUnix, 0)), 0).Seconds())
		}
	}
}
