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

package webhooks

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// decision is the decision of a webhook on a request.
type decision string

const (
	decisionStamped        decision = "stamped"
	decisionDenied         decision = "denied"
	decisionRefused        decision = "refused"
	decisionIgnored        decision = "suspension_ignored"
	decisionRefusalIgnored decision = "refusal_ignored"
	decisionReturned       decision = "returned_to_verified"
	decisionRuleBroken     decision = "rule_broken"
	decisionParked         decision = "parked"
	decisionFrozen         decision = "frozen"
	decisionBreakGlass     decision = "break_glass"
)

// Metrics counts the decisions of the webhooks, without dry runs and requests that the cache doesn't confirm.
type Metrics struct {
	decisions *prometheus.CounterVec
}

// NewMetrics registers the counter.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	metrics := &Metrics{decisions: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "altershield_admission_decisions_total",
		Help: "Decisions of the webhooks on releases: stamped, even if the release is denied afterwards; on suspended workloads denied, suspension_ignored or returned_to_verified; on versions that were rolled back refused or refusal_ignored; on updates and deletions that a ControlledKind doesn't allow rule_broken; during a ChangeFreeze parked, or frozen if it is denied; break_glass if it passes by a BreakGlass. First releases don't count. One decision per second counts for each workload, after a burst of 20.",
	}, []string{"decision"})}
	if err := registry.Register(metrics.decisions); err != nil {
		return nil, fmt.Errorf("registering the metrics of admission: %w", err)
	}
	// Prometheus sees no increase when a counter appears, so each starts at 0.
	for _, decision := range []decision{
		decisionStamped, decisionDenied, decisionRefused, decisionIgnored, decisionRefusalIgnored, decisionReturned, decisionRuleBroken,
		decisionParked, decisionFrozen, decisionBreakGlass,
	} {
		metrics.decisions.WithLabelValues(string(decision))
	}
	return metrics, nil
}
