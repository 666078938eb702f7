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

package ratio

import (
	"fmt"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// Check is a check of the type Ratio.
type Check struct{ Spec *appv1alpha1.RatioCheck }

var (
	_ measure.PastCheck = Check{}
	_ measure.Paired    = Check{}
)

// Source names the VerificationSource that has the counters.
func (c Check) Source() string { return c.Spec.SourceRef.Name }

// Queries returns the queries of the bad events and of all events of the pods of a workload, each a series by pod.
func (c Check) Queries(release *checks.Scene, names appv1alpha1.SourceLabels) ([]string, error) {
	return c.queries(func(metric string, matching []*labels.Matcher) string {
		return measure.SumByPod(release, names, metric, matching)
	})
}

// queries returns the queries of the bad events and of all events.
func (c Check) queries(query func(metric string, matching []*labels.Matcher) string) ([]string, error) {
	totalMatchers, err := measure.Matchers(c.Spec.Total.Matchers)
	if err != nil {
		return nil, fmt.Errorf("total.%w", err)
	}
	badMatchers, err := measure.Matchers(c.Spec.Bad.Matchers)
	if err != nil {
		return nil, fmt.Errorf("bad.%w", err)
	}
	badMetric := c.Spec.Bad.Metric
	if badMetric == "" {
		badMetric, badMatchers = c.Spec.Total.Metric, append(badMatchers, totalMatchers...)
	}
	return []string{query(badMetric, badMatchers), query(c.Spec.Total.Metric, totalMatchers)}, nil
}

// Judge judges a release by its counters.
func (c Check) Judge(release *checks.Scene, readings measure.Readings, terms measure.Terms) checks.Finding {
	var past Past
	if readings.Past != nil {
		past.Counters = c.countersOf(readings.Past)
	}
	if read := readings.Others; read != nil {
		past.Others = Rates{Moments: read.Moments, Bad: rateOf(read.Answer(0)), Total: rateOf(read.Answer(1))}
	}
	return Judge(release, &c.Spec.RatioObjective, c.countersOf(&readings), past, terms)
}

// countersOf returns the counters that were read.
func (c Check) countersOf(readings *measure.Readings) Counters {
	return Counters{Moments: readings.Moments, Bad: readings.ByPod(0), Total: readings.ByPod(1), Apart: !c.IsPair()}
}

// IsPair reports whether the bad events are counted by the metric of all events.
func (c Check) IsPair() bool {
	return c.Spec.Bad.Metric == "" || c.Spec.Bad.Metric == c.Spec.Total.Metric
}

// rateOf returns the values of an answer of one series, nil if it has none.
func rateOf(answer []measure.Series) []float64 {
	if len(answer) == 0 {
		return nil
	}
	return answer[0].Values
}

// NeedsPast reports whether a release is compared with the time before it.
func (c Check) NeedsPast(release *checks.Scene, readings measure.Readings, warmup time.Duration) bool {
	return NeedsPast(release, &c.Spec.RatioObjective, c.countersOf(&readings), warmup)
}

// QueriesOfOthers returns the queries of the rates of bad events and of all events on the other pods of the namespace.
func (c Check) QueriesOfOthers(release *checks.Scene, names appv1alpha1.SourceLabels) ([]string, error) {
	return c.queries(func(metric string, matching []*labels.Matcher) string {
		return measure.RateOfOthers(release, names, metric, matching)
	})
}

// Problems returns why the check is unusable, each with its field.
func (c Check) Problems() (problems []string) {
	for _, selector := range []struct {
		field string
		texts []string
	}{{"bad", c.Spec.Bad.Matchers}, {"total", c.Spec.Total.Matchers}} {
		if _, err := measure.Matchers(selector.texts); err != nil {
			problems = append(problems, selector.field+"."+err.Error())
		}
	}
	return problems
}

// LeastLooks returns how many looks the check needs to fail.
func (c Check) LeastLooks(interval int32) int32 { return LeastLooks(&c.Spec.RatioObjective, interval) }

// Spends returns which part of the false alarms of a release it may cause.
func (c Check) Spends() measure.Spending { return Spends(&c.Spec.RatioObjective) }
