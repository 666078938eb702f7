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
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/common/model"
	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// histograms are the buckets of each pod.
type histograms struct {
	// pods are the places of those that have a bucket, by their names.
	pods map[string]int
	// buckets are those of all pods, by their bound.
	buckets map[float64]*bucket
}

// bucket has by the places of pods how many requests took no longer than a bound at each moment; nil where there is none.
type bucket struct {
	values [][]float64
	// pods is the number of pods that have it.
	pods int
}

// histogramsOf returns the histograms of the pods of a workload that an answer has, with the buckets of some bounds, or of all. It changes none of its values.
func histogramsOf(release *checks.Scene, readings *measure.Readings, bounds ...float64) histograms {
	known := make(sets.Set[string], len(release.New)+len(release.Old))
	for i := range release.New {
		known.Insert(release.New[i].Name)
	}
	for i := range release.Old {
		known.Insert(release.Old[i].Name)
	}
	_, exact := measure.PodNames(release.Kind, release.Name)
	all := histograms{make(map[string]int, len(known)), map[float64]*bucket{}}
	written := map[string]*bucket{} // by how their bounds are written, each of which is parsed once
	for _, series := range readings.Answer(0) {
		pod, text := series.Labels[readings.PodLabel], series.Labels[model.BucketLabel]
		of, parsed := written[text]
		if !parsed {
			of = all.bucket(text, len(known), bounds)
			written[text] = of
		}
		if of == nil || !exact && !known.Has(pod) {
			continue
		}
		place, found := all.pods[pod]
		if !found {
			place = len(all.pods)
			all.pods[pod] = place
		}
		of.add(place, series.Values)
	}
	return all
}

// bucket returns the bucket with a bound, with room for so many pods, nil for what is no bound, or none of those that are wanted.
func (h histograms) bucket(text string, pods int, wanted []float64) *bucket {
	bound, err := strconv.ParseFloat(text, 64)
	if err != nil || len(wanted) > 0 && !slices.Contains(wanted, bound) {
		return nil
	}
	if h.buckets[bound] == nil {
		h.buckets[bound] = &bucket{values: make([][]float64, 0, pods)}
	}
	return h.buckets[bound]
}

// add adds the values of a pod.
func (b *bucket) add(place int, values []float64) {
	for len(b.values) <= place {
		b.values = append(b.values, nil)
	}
	if others := b.values[place]; others != nil {
		b.values[place] = sum(others, values)
		return
	}
	b.values[place] = values
	b.pods++
}

// of returns the values of a pod, nil if it has none.
func (b *bucket) of(place int) []float64 {
	if b == nil || place >= len(b.values) {
		return nil
	}
	return b.values[place]
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
func (h histograms) bounds() (bounds []float64) {
	for bound, bucket := range h.buckets {
		if bucket.pods == len(h.pods) && !math.IsInf(bound, 0) {
			bounds = append(bounds, bound)
		}
	}
	slices.Sort(bounds)
	return bounds
}

// slow returns the counters of the requests above a bound, and of all requests.
func (h histograms) slow(bound float64) (bad, total map[string][]float64) {
	all, fast := h.buckets[math.Inf(1)], h.buckets[bound]
	bad, total = make(map[string][]float64, len(h.pods)), make(map[string][]float64, len(h.pods))
	for pod, place := range h.pods {
		if all, fast := all.of(place), fast.of(place); all != nil && fast != nil {
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
	slow, all := h.before(bound)
	return all > 0 && 20*slow <= all
}

// requestsBefore returns how many requests the pods had before the release began.
func (h histograms) requestsBefore() float64 {
	_, all := h.before(math.Inf(1))
	return all
}

// before returns how many requests were above a bound at the first moment, and all requests until then.
func (h histograms) before(bound float64) (slow, total float64) {
	for place := range len(h.pods) {
		all, fast := h.buckets[math.Inf(1)].of(place), h.buckets[bound].of(place)
		if all != nil && fast != nil && !math.IsNaN(all[0]-fast[0]) {
			slow += max(0, all[0]-fast[0])
			total += all[0]
		}
	}
	return slow, total
}

// othersOf returns the rates of the requests above a bound, and of all requests, on the other pods of the namespace; none if they have other
// bounds.
func othersOf(read *measure.Readings, bound float64) (rates ratio.Rates) {
	var fast []float64
	for _, series := range read.Answer(0) {
		switch of, err := strconv.ParseFloat(series.Labels[model.BucketLabel], 64); {
		case err != nil:
		case of == bound:
			fast = series.Values
		case math.IsInf(of, 1):
			rates.Total = series.Values
		}
	}
	if fast == nil || rates.Total == nil {
		return ratio.Rates{}
	}
	rates.Moments, rates.Bad = read.Moments, make([]float64, len(fast))
	for i := range fast {
		rates.Bad[i] = rates.Total[i] - fast[i]
	}
	return rates
}
