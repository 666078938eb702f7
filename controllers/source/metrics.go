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

package source

import (
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	codeOK      = "OK"
	codeSkipped = "Skipped"
)

// Metrics are the metrics of the queries.
type Metrics struct {
	requests *prometheus.CounterVec
	up       *prometheus.GaugeVec

	mutex sync.Mutex
	// known are the sources that are there: a query that is under way when its source goes isn't counted.
	known map[string]bool
}

// NewMetrics returns registered metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	metrics := &Metrics{
		known: map[string]bool{},
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_source_requests_total",
			Help: "Queries of a VerificationSource by outcome: OK, SourceUnavailable, SourceThrottled, Unauthorized, BadQuery, QueryFailed, TooLarge, PartialAnswer, AddressRefused, or Skipped because the source didn't answer before or the limits are reached. Shared queries count once.",
		}, []string{"source", "code"}),
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "altershield_source_up",
			Help: "1 if a VerificationSource answered the last query, whatever the answer, else 0.",
		}, []string{"source"}),
	}
	for _, collector := range []prometheus.Collector{metrics.requests, metrics.up} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of VerificationSources: %w", err)
		}
	}
	return metrics, nil
}

// begin makes the counters of a source start at 0: Prometheus sees no increase when a counter appears.
func (m *Metrics) begin(source string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	m.known[source] = true
	for _, code := range []string{
		codeOK, codeSkipped, string(KindUnavailable), string(KindThrottled), string(KindUnauthorized), string(KindBadQuery),
		string(KindQueryFailed), string(KindTooLarge), string(KindPartial), string(KindRefused),
	} {
		m.requests.WithLabelValues(source, code)
	}
}

// answered counts a query that was sent, or that the guard refused. The kind is empty for an answer.
func (m *Metrics) answered(source string, kind Kind) {
	code, up := string(kind), 1.0
	switch kind {
	case "":
		code = codeOK
	case KindUnavailable, KindRefused:
		up = 0
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known[source] {
		m.requests.WithLabelValues(source, code).Inc()
		m.up.WithLabelValues(source).Set(up)
	}
}

func (m *Metrics) skipped(source string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known[source] {
		m.requests.WithLabelValues(source, codeSkipped).Inc()
	}
}

// end removes the metrics of a source.
func (m *Metrics) end(source string) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	delete(m.known, source)
	m.requests.DeletePartialMatch(prometheus.Labels{"source": source})
	m.up.DeleteLabelValues(source)
}
