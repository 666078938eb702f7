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

package measure

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// Readings are what a source answered to the queries of a check.
type Readings struct {
	// Moments are when the values were read, in order. The first one is before the release began. They may be closer together since the last pod finished.
	Moments []time.Time
	// Answers has the series of each query.
	Answers [][]Series
	// Past are the readings of the half hour before the release, in longer looks. Others are those of the queries of others, from then until now.
	// Both are nil for a check that isn't compared with the past.
	Past, Others *Readings
	// PodLabel and NamespaceLabel are the labels by which the series of the source belong to pods.
	PodLabel, NamespaceLabel string
	// Reason is why they can't be read, in CamelCase, and Message says so; both are empty if they could be.
	Reason, Message string
	// Unsent reports whether the source wasn't asked, as it wants a pause, or by its limits.
	Unsent bool
}

// Series has a value at each moment, NaN where there is none.
type Series struct {
	Labels map[string]string
	Values []float64
}

// Answer returns the series of a query, none if it was never asked.
func (r *Readings) Answer(query int) []Series {
	if query >= len(r.Answers) {
		return nil
	}
	return r.Answers[query]
}

// Step returns the time between the last two moments, 0 if there are none.
func (r *Readings) Step() time.Duration {
	last := len(r.Moments) - 1
	if last < 1 {
		return 0
	}
	return r.Moments[last].Sub(r.Moments[last-1])
}

// Recent returns the first of the last moments that are at equal distances: those before are of longer looks, at other hours of the day.
func (r *Readings) Recent() int {
	first := max(len(r.Moments)-1, 0)
	for first > 0 && r.Moments[first].Sub(r.Moments[first-1]) == r.Step() {
		first--
	}
	return first
}

// Then returns the readings with those of the same queries at later moments.
func (r *Readings) Then(later Readings) Readings {
	whole := *r
	whole.Moments = slices.Concat(r.Moments, later.Moments)
	whole.Answers = make([][]Series, max(len(r.Answers), len(later.Answers)))
	for i := range whole.Answers {
		whole.Answers[i] = joined(r.Answer(i), later.Answer(i), None(r.Moments), None(later.Moments))
	}
	return whole
}

// joined returns series with the values of later ones that have the same labels. Where one has none, it has those that aren't there.
func joined(series, later []Series, none, noneLater []float64) []Series {
	places, all := make(map[uint64]int, len(series)), make([]Series, len(series), len(series)+len(later))
	for i, one := range series {
		places[labels.FromMap(one.Labels).Hash()] = i
		all[i] = Series{Labels: one.Labels, Values: slices.Concat(one.Values, noneLater)}
	}
	for _, one := range later {
		place, found := places[labels.FromMap(one.Labels).Hash()]
		if !found {
			all = append(all, Series{Labels: one.Labels, Values: slices.Concat(none, one.Values)})
			continue
		}
		copy(all[place].Values[len(none):], one.Values)
	}
	return all
}

// ByPod returns the values of each pod in the answer to a query that sums by pod.
func (r *Readings) ByPod(query int) map[string][]float64 {
	answer := r.Answer(query)
	values := make(map[string][]float64, len(answer))
	for _, series := range answer {
		values[series.Labels[r.PodLabel]] = series.Values
	}
	return values
}

// None returns a value for each moment that isn't there.
func None(moments []time.Time) []float64 {
	none := make([]float64, len(moments))
	for i := range none {
		none[i] = math.NaN()
	}
	return none
}
