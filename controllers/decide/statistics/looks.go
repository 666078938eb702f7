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

package statistics

import (
	"math"
	"slices"
	"strings"
	"time"
)

// Count is what one pod counted in one look.
type Count struct {
	Pod string
	// Bad is the number of events, Total the exposure: requests or pod-seconds.
	Bad, Total float64
}

// Look is what was counted between two moments.
type Look struct {
	New, Old []Count
	// NewPods and OldPods are how many pods should have counted.
	NewPods, OldPods int
	// Others is how many others failed in the same way at that time.
	Others int
	// Time is how long it took.
	Time time.Duration
}

// Series is the raw counters of a pod, one value for each moment; NaN where there is none.
type Series struct {
	Pod string
	New bool
	// Born reports whether the pod began in the release, so that its counters began at 0.
	Born bool
	// Ready is since when the pod is ready, zero if it isn't; Gone is when it ended, zero if it didn't.
	Ready, Gone time.Time
	Bad, Total  []float64
}

// Looks returns the looks between the moments. A pod counts once it has been ready for the warm-up; until then it is in neither group.
// A counter that falls to what a look can have has restarted from 0; else one of the series of which it is the sum is gone, such as that of a
// container, and what the others rose by isn't known. Counts over a missed moment are left out, as other pods' counts of those minutes were taken
// apart. Bad events without a series, while the total has one, are none yet.
func Looks(moments []time.Time, series []Series, warmup time.Duration) []Look {
	if len(moments) < 2 {
		return nil
	}
	looks := emptyLooks(moments, series)
	sorted := make([]*Series, 0, len(series))
	for i := range series {
		if !series[i].Ready.IsZero() {
			sorted = append(sorted, &series[i])
		}
	}
	slices.SortFunc(sorted, func(a, b *Series) int { return strings.Compare(a.Pod, b.Pod) })
	var counts []Count
	for _, s := range sorted {
		counts = increases(counts[:0], moments, s, warmup == 0)
		first, end := s.span(moments, warmup)
		for t := first; t < end; t++ {
			pods, wanted := &looks[t].Old, &looks[t].OldPods
			if s.New {
				pods, wanted = &looks[t].New, &looks[t].NewPods
			}
			*wanted++
			if t+1 < len(counts) && isCount(counts[t+1].Total) {
				*pods = append(*pods, counts[t+1])
			}
		}
	}
	return looks
}

// Overlap returns in how many of the looks between the moments new pods counted, and in how many of these old pods did as well.
func Overlap(moments []time.Time, series []Series, warmup time.Duration) (news, both int) {
	counted := map[bool][]bool{true: make([]bool, len(moments)), false: make([]bool, len(moments))} // by whether the pods are new
	var counts []Count
	for i := range series {
		s := &series[i]
		first, end := s.span(moments, warmup)
		of := counted[s.New]
		if first >= end || !slices.Contains(of[first+1:end+1], false) { // mostly other pods counted in all of its looks
			continue
		}
		counts = increases(counts[:0], moments, s, warmup == 0)
		for t := first + 1; t <= end && t < len(counts); t++ {
			of[t] = of[t] || counts[t].usable()
		}
	}
	for t, isNew := range counted[true] {
		if isNew {
			news++
			if counted[false][t] {
				both++
			}
		}
	}
	return news, both
}

// span returns in which of the looks between the moments a pod should count: from the first one until before the end.
func (s *Series) span(moments []time.Time, warmup time.Duration) (first, end int) {
	if s.Ready.IsZero() {
		return 0, 0
	}
	end = len(moments) - 1
	if !s.Gone.IsZero() {
		end = min(end, momentsBefore(moments, s.Gone.Add(1))-1)
	}
	return momentsBefore(moments, s.Ready.Add(warmup)), end
}

// momentsBefore returns how many moments are before a time.
func momentsBefore(moments []time.Time, at time.Time) int {
	before, _ := slices.BinarySearchFunc(moments, at, time.Time.Compare)
	return before
}

// emptyLooks returns the looks between the moments, with room for the counts of the series.
func emptyLooks(moments []time.Time, series []Series) []Look {
	news := 0
	for i := range series {
		if series[i].New {
			news++
		}
	}
	looks := make([]Look, len(moments)-1)
	counts := make([]Count, len(looks)*len(series))
	for t := range looks {
		looks[t].Time = moments[t+1].Sub(moments[t])
		of := counts[t*len(series) : (t+1)*len(series)]
		looks[t].New, looks[t].Old = of[:0:news], of[news:news:len(series)]
	}
	return looks
}

// restartedTimes is how many times as fast as in any look before it a restarted pod may have counted in a look: what is more was counted before.
const restartedTimes = 4

// increases appends what the counters rose by at each moment since the one before, with the total NaN where that isn't known.
func increases(counts []Count, moments []time.Time, s *Series, fromBirth bool) []Count {
	before := Count{Total: math.NaN()}
	if s.Born && fromBirth {
		before.Total = 0
	}
	most := math.NaN() // in a second of a look so far
	for i, total := range s.Total[:min(len(s.Total), len(moments))] {
		seconds := moments[i].Sub(moments[max(i-1, 0)]).Seconds()
		fell := total < before.Total
		now := Count{Pod: s.Pod, Bad: before.Bad, Total: total}
		if fell {
			before.Bad, before.Total, now.Bad = 0, 0, 0
		}
		if i < len(s.Bad) && isCount(s.Bad[i]) {
			now.Bad = s.Bad[i]
		}
		if !isCount(total) {
			now.Total = math.NaN()
		}
		rise := Count{Pod: s.Pod, Bad: now.Bad - before.Bad, Total: now.Total - before.Total}
		if rise.Bad < 0 {
			rise.Bad, fell = now.Bad, true
		}
		switch {
		case fell && total/seconds > restartedTimes*most:
			rise.Total = math.NaN()
		case !fell && isCount(rise.Total) && (math.IsNaN(most) || rise.Total/seconds > most):
			most = rise.Total / seconds
		}
		counts = append(counts, rise)
		before = now
	}
	return counts
}

// isCount reports whether a value can be one of a counter.
func isCount(v float64) bool { return v == 0 || v >= 1/maxCount && v <= maxCount }

// sum returns the counts of pods together, without those that aren't counts or have no exposure.
func sum(counts []Count) (total Count) {
	for i := range counts {
		if c := &counts[i]; c.usable() {
			total.Bad += c.Bad
			total.Total += c.Total
		}
	}
	return total
}

// onlyUsable returns the counts without those that aren't any: mostly all of them.
func onlyUsable(counts []Count) []Count {
	unusable := func(c Count) bool { return !c.usable() }
	if !slices.ContainsFunc(counts, unusable) {
		return counts
	}
	return slices.DeleteFunc(slices.Clone(counts), unusable)
}

// usable reports whether the count can be one. Events without exposure can't be compared.
func (c Count) usable() bool { return isCount(c.Bad) && isCount(c.Total) && c.Total > 0 }

// rate returns the events per exposure.
func (c Count) rate() float64 {
	if c.Total == 0 {
		return 0
	}
	return c.Bad / c.Total
}
