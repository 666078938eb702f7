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

// Package gauge judges a release by a value of each pod.
package gauge

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Check is a check of the type Gauge.
type Check struct{ Spec *appv1alpha1.GaugeCheck }

var _ measure.Check = Check{}

// Source names the VerificationSource that has the gauge.
func (c Check) Source() string { return c.Spec.SourceRef.Name }

// Queries returns the query of the values of the pods of a workload, each a series by pod.
func (c Check) Queries(release *checks.Scene, names appv1alpha1.SourceLabels) ([]string, error) {
	matchers, err := measure.Matchers(c.Spec.Matchers)
	if err != nil {
		return nil, err
	}
	return []string{measure.SumByPod(release, names, c.Spec.Metric, matchers)}, nil
}

// Judge judges a release by the values of its pods, once, at the end.
func (c Check) Judge(release *checks.Scene, readings measure.Readings, terms measure.Terms) checks.Finding {
	settings, err := c.settings()
	if err != nil {
		return measure.Broken(appv1alpha1.ReasonEvaluationError, err.Error(), terms)
	}
	news, olds := gauges(measure.Pods(release, readings.Moments, readings.ByPod(0)), &readings, terms.Warmup)
	found := statistics.Gauges(news, olds, settings, terms.Share, terms.Ended)
	if found.Old > 0 { // less is never found
		found.MinimumDetectable = max(found.MinimumDetectable, 1+settings.MinDelta/found.Old)
	} else { // there is no ratio
		found.Ratio = math.NaN()
	}
	return measure.Concluded(release, found, c.describe(found), checks.NumbersOfLevel(found), terms)
}

func (c Check) settings() (settings statistics.GaugeSettings, err error) {
	if settings.Tolerance, err = strconv.ParseFloat(c.Spec.Comparison.Tolerance, 64); err != nil {
		return settings, fmt.Errorf("comparison.tolerance: %w", err)
	}
	if settings.MinDelta, err = strconv.ParseFloat(c.Spec.Comparison.MinDelta, 64); err != nil {
		return settings, fmt.Errorf("comparison.minDelta: %w", err)
	}
	return settings, nil
}

// fewOlds is the greatest number of old pods that are too few to judge by the recent moments alone.
const fewOlds = 4

// gauges returns the values of new and of old pods, without those while they warm up. Pods that do so until the end are in neither group. While there
// are enough old pods, they are those at the recent moments: what was before is of other hours of the day.
func gauges(pods []measure.Pod, readings *measure.Readings, warmup time.Duration) (news, olds []statistics.Gauge) {
	recent, left := readings.Recent(), 0
	for i := range pods {
		if pod := &pods[i]; !pod.New && len(pod.Values) > recent {
			left++
		}
	}
	if left <= fewOlds {
		recent = 0
	}
	for _, pod := range pods {
		warm, _ := slices.BinarySearchFunc(readings.Moments, pod.Ready.Add(warmup), time.Time.Compare)
		if warm = max(warm, recent); warm >= len(pod.Values) {
			continue
		}
		values := measure.None(readings.Moments)
		copy(values[warm:], pod.Values[warm:])
		if gauge := (statistics.Gauge{Pod: pod.Name, Values: values}); pod.New {
			news = append(news, gauge)
		} else {
			olds = append(olds, gauge)
		}
	}
	return news, olds
}

// describe returns the values as a person reads them.
func (c Check) describe(found statistics.Finding) string {
	if found.Reason.IsMissing() {
		return fmt.Sprintf("%s: seen on %d of %s and on %d of %s", c.Spec.Metric, found.NewPods.Seen, measure.PodCount(found.NewPods.Wanted, "new"),
			found.OldPods.Seen, measure.PodCount(found.OldPods.Wanted, "old"))
	}
	text := fmt.Sprintf("%s: %s on %s, %s on %s (medians", c.Spec.Metric, number(found.New), measure.PodCount(found.NewPods.Seen, "new"),
		number(found.Old), measure.PodCount(found.OldPods.Seen, "old"))
	if found.Old <= 0 { // there is no ratio
		return text + ")"
	}
	return text + fmt.Sprintf("; x%.3g, tolerated x%s)", found.Ratio, c.Spec.Comparison.Tolerance) + measure.Detectable(found)
}

// number returns a value without an exponent where that is short, such as that of bytes.
func number(value float64) string {
	if math.Abs(value) >= 1000 {
		return strconv.FormatFloat(value, 'f', 0, 64)
	}
	return strconv.FormatFloat(value, 'g', 3, 64)
}

// Problems returns why the check is unusable, each with its field.
func (c Check) Problems() []string {
	if _, err := measure.Matchers(c.Spec.Matchers); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// LeastLooks returns how many looks the check needs to fail: those of dominance, which one or two new pods are judged by.
func (c Check) LeastLooks(int32) int32 { return 3 }

// Spends returns which part of the false alarms of a release it may cause.
func (c Check) Spends() measure.Spending { return measure.Level }
