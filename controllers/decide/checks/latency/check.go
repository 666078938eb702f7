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

// Package latency judges a release by the ratio of slow requests to all, from a histogram of each pod.
package latency

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/common/model"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// ReasonNoBucket means that the buckets of the histogram don't tell which requests are slow.
const ReasonNoBucket = "NoBucket"

// Check is a check of the type Latency.
type Check struct{ Spec *appv1alpha1.LatencyCheck }

var _ measure.PastCheck = Check{}

// Source names the VerificationSource that has the histogram.
func (c Check) Source() string { return c.Spec.SourceRef.Name }

// Queries returns the query of the buckets of the pods of a workload, each a series by pod and bound.
func (c Check) Queries(release *checks.Scene, names appv1alpha1.SourceLabels) ([]string, error) {
	matchers, err := measure.Matchers(c.Spec.Matchers)
	if err != nil {
		return nil, err
	}
	return []string{measure.SumByPod(release, names, c.Spec.Metric+"_bucket", matchers, model.BucketLabel)}, nil
}

// Judge judges a release by its buckets.
func (c Check) Judge(release *checks.Scene, readings measure.Readings, terms measure.Terms) checks.Finding {
	pods, counters := histogramsOf(release, &readings), ratio.Counters{Moments: readings.Moments}
	if len(pods.pods) == 0 { // what is missing on which pods is told like that of any counter
		return ratio.Judge(release, &c.Spec.RatioObjective, counters, ratio.Past{}, terms)
	}
	bound, undecided := c.bound(pods, terms)
	if undecided != nil {
		return *undecided
	}
	counters.Bad, counters.Total = pods.slow(bound)
	var past ratio.Past
	if read := readings.Past; read != nil {
		past.Moments = read.Moments
		past.Bad, past.Total = histogramsOf(release, read, bound, math.Inf(1)).slow(bound)
	}
	if readings.Others != nil {
		past.Others = othersOf(readings.Others, bound)
	}
	found := ratio.Judge(release, &c.Spec.RatioObjective, counters, past, terms)
	if found.Message != "" {
		found.Message = fmt.Sprintf("slower than %v s: %s", bound, found.Message)
	}
	for i := range found.Pods {
		found.Pods[i].Message = found.Message
	}
	return found
}

// NeedsPast reports whether a release is compared with the time before it.
func (c Check) NeedsPast(release *checks.Scene, readings measure.Readings, warmup time.Duration) bool {
	_, total := histogramsOf(release, &readings, math.Inf(1)).slow(math.Inf(1))
	return ratio.NeedsPast(release, &c.Spec.RatioObjective, ratio.Counters{Moments: readings.Moments, Total: total}, warmup)
}

// QueriesOfOthers returns the query of the rates of the buckets on the other pods of the namespace, each a series by bound.
func (c Check) QueriesOfOthers(release *checks.Scene, names appv1alpha1.SourceLabels) ([]string, error) {
	matchers, err := measure.Matchers(c.Spec.Matchers)
	if err != nil {
		return nil, err
	}
	return []string{measure.RateOfOthers(release, names, c.Spec.Metric+"_bucket", matchers, model.BucketLabel)}, nil
}

// bound returns the bound of the buckets above which requests are slow, or why none tells them.
func (c Check) bound(pods histograms, terms measure.Terms) (bound float64, undecided *checks.Finding) {
	slow, isBound := "the slowest 5% of the requests", pods.isUsual
	if text := c.Spec.ThresholdSeconds; text != "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return 0, new(measure.Broken(appv1alpha1.ReasonEvaluationError, fmt.Sprintf("thresholdSeconds: %v", err), terms))
		}
		slow, isBound = "requests slower than "+text+" s", func(bound float64) bool { return bound >= seconds }
	} else if pods.requestsBefore() == 0 {
		return 0, new(measure.Undecided(string(statistics.NoData),
			"no request of the old pods from before the release tells which ones are slow: set thresholdSeconds", terms))
	}
	bounds := pods.bounds()
	if i := slices.IndexFunc(bounds, isBound); i >= 0 {
		return bounds[i], nil
	}
	highest := "the pods have no bound in common"
	if len(bounds) > 0 {
		highest = fmt.Sprintf("the highest bound that all pods have is %v s", bounds[len(bounds)-1])
	}
	return 0, new(measure.Broken(ReasonNoBucket, slow+" can't be told: "+highest, terms))
}

// Problems returns why the check is unusable, each with its field.
func (c Check) Problems() (problems []string) {
	if _, err := measure.Matchers(c.Spec.Matchers); err != nil {
		problems = append(problems, err.Error())
	}
	if name, has := strings.CutSuffix(c.Spec.Metric, "_bucket"); has {
		problems = append(problems, "metric: name the histogram without _bucket: "+name)
	}
	return problems
}

// LeastLooks returns how many looks the check needs to fail.
func (c Check) LeastLooks(interval int32) int32 {
	return ratio.LeastLooks(&c.Spec.RatioObjective, interval)
}

// Spends returns which part of the false alarms of a release it may cause.
func (c Check) Spends() measure.Spending { return ratio.Spends(&c.Spec.RatioObjective) }
