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

package altershield

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// result is the result of a call in the metrics.
type result string

const (
	resultOK           result = "ok"
	resultExists       result = "exists"
	resultAccepted     result = "accepted"
	resultNotYet       result = "not_yet"
	resultRefused      result = "refused"
	resultUnauthorized result = "unauthorized"
	resultUnavailable  result = "unavailable"
	resultSkipped      result = "skipped"
)

// Metrics are the metrics of the calls.
type Metrics struct {
	requests    *prometheus.CounterVec
	seconds     *prometheus.HistogramVec
	up          prometheus.Gauge
	switchedOff prometheus.Gauge
}

// NewMetrics returns registered metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	metrics := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_server_requests_total",
			Help: "Calls of AlterShield Server by result: ok, exists, accepted, not_yet, refused, unauthorized, unavailable, or skipped because the server didn't answer before. Cancelled calls don't count.",
		}, []string{"call", "result"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "altershield_server_request_seconds",
			Help: "Duration of the calls sent to AlterShield Server.",
		}, []string{"call"}),
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "altershield_server_up",
			Help: "1 if AlterShield Server answered the last call or heartbeat, 0 if there was no answer or an unusable one.",
		}),
		switchedOff: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "altershield_server_checks_switched_off",
			Help: "1 if checks are switched off at AlterShield Server, else 0.",
		}),
	}
	for _, collector := range []prometheus.Collector{metrics.requests, metrics.seconds, metrics.up, metrics.switchedOff} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of AlterShield Server: %w", err)
		}
	}
	// Prometheus sees no increase when a counter appears, so each starts at 0.
	for _, call := range []call{orderOpen, orderBegin, orderClose, checkBegin, checkFinish, checkPoll, heartbeatCall} {
		for _, result := range []result{
			resultOK, resultExists, resultAccepted, resultNotYet, resultRefused, resultUnauthorized, resultUnavailable, resultSkipped,
		} {
			metrics.requests.WithLabelValues(string(call), string(result))
		}
	}
	return metrics, nil
}

// count counts a call, unless it was cancelled.
func (m *Metrics) count(call call, outcome result, err error) {
	if label := resultOf(outcome, err); label != "" {
		m.requests.WithLabelValues(string(call), string(label)).Inc()
	}
}

// resultOf returns the result of a call; empty if it was cancelled.
func resultOf(outcome result, err error) result {
	switch kindOf(err) {
	case "":
		return outcome
	case KindCancelled:
		return ""
	case KindSkipped:
		return resultSkipped
	case KindRefused:
		return resultRefused
	case KindUnauthorized:
		return resultUnauthorized
	case KindNotYet:
		return resultNotYet
	}
	return resultUnavailable
}

// observe observes the duration of a call that was sent and not cancelled, and whether the server is up.
func (m *Metrics) observe(call call, duration time.Duration, kind Kind) {
	if kind.isNoAttempt() {
		return
	}
	m.seconds.WithLabelValues(string(call)).Observe(duration.Seconds())
	m.up.Set(asGauge(!kind.isOutage()))
}

func asGauge(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}
