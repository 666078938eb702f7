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

package latency

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// histograms are the buckets of each pod: by its name and by the bound of the bucket, how many requests took no longer at each moment.
type histograms map[string]map[float64][]float64

// histogramsOf returns the histograms of the pods of a workload that an answer has.
func histogramsOf(release *checks.Scene, readings *measure.Readings) histograms {
	known := map[string]bool{}
	for _, pod := range slices.Concat(release.New, release.Old) {
		known[pod.Name] = true
	}
	_, exact := measure.PodNames(release.Kind, release.Name)
	all := histograms{}
	for _, series := range readings.Answer(0) {
		pod := series.Labels[readings.PodLabel]
		bound, err := strconv.ParseFloat(series.Labels[model.BucketLabel], 64)
		if err != nil || !exact && !known[pod] {
			continue
		}
		if all[pod] == nil {
			all[pod] = map[float64][]float64{}
		}
		all[pod][bound] = sum(all[pod][bound], series.Values)
	}
	return all
}

// sum returns the values of two series of the same bound, such as 1 and 1.0: a missing one adds nothing.
func sum(a, b []float64) []float64 {
	total := slices.Clone(b)
	for i, value := range a {
		switch {
		case math.IsNaN(total[i]):
			total[i] = value
		case !math.IsNaN(value):
			total[i] += value
		}
	}
	return total
}

// bounds returns the finite bounds that all pods have, in order. A release may have changed them.
func (h histograms) bounds() []float64 {
	pods := map[float64]int{}
	for _, buckets := range h {
		for bound := range buckets {
			pods[bound]++
		}
	}
	maps.DeleteFunc(pods, func(bound float64, count int) bool { return count < len(h) || math.IsInf(bound, 0) })
	return slices.Sorted(maps.Keys(pods))
}

// slow returns the counters of the requests above a bound, and of all requests.
func (h histograms) slow(bound float64) (bad, total map[string][]float64) {
	bad, total = map[string][]float64{}, map[string][]float64{}
	for pod, buckets := range h {
		if all, fast := buckets[math.Inf(1)], buckets[bound]; all != nil && fast != nil {
			bad[pod], total[pod] = less(all, fast)
		}
	}
	return bad, total
}

// less returns a counter of all requests less one of the fast ones, and that of all. Where one of them is missing, both results are: else
// requests whose bucket comes later than the others would seem to be slow.
func less(all, fast []float64) (slow, total []float64) {
	slow, total = make([]float64, len(all)), slices.Clone(all)
	highest, last := 0.0, 0.0
	for i := range all {
		slow[i] = all[i] - fast[i]
		if math.IsNaN(slow[i]) {
			total[i] = math.NaN()
			continue
		}
		if all[i] >= last { // no restart: buckets that were read apart make the difference fall, and a fall would count all slow ones again
			slow[i] = max(slow[i], highest)
		}
		highest, last = slow[i], all[i]
	}
	return slow, total
}

// isUsual reports whether 95% of the requests were below a bound before the release began. What comes later must not choose which are slow.
func (h histograms) isUsual(bound float64) bool {
	slow, all := h.slow(bound)
	before := atFirst(all)
	return before > 0 && 20*atFirst(slow) <= before
}

// requestsBefore returns how many requests the pods had before the release began.
func (h histograms) requestsBefore() float64 {
	_, all := h.slow(math.Inf(1))
	return atFirst(all)
}

// atFirst returns the sum of counters at the first moment.
func atFirst(counters map[string][]float64) (sum float64) {
	for _, values := range counters {
		if !math.IsNaN(values[0]) {
			sum += values[0]
		}
	}
	return sum
}
