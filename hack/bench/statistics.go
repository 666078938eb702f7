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

package main

import (
	"math"
	"slices"
)

// Summary summarizes a set of measurements.
type Summary struct {
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
	// Count is the number of measurements.
	Count int `json:"count"`
}

// summarize returns the median, minimum and maximum of measurements, zero if there are none.
func summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{}
	}
	return Summary{Median: percentile(values, 50), Low: slices.Min(values), High: slices.Max(values), Count: len(values)}
}

// percentile interpolates between the two nearest values; it is zero if there are none.
func percentile(values []float64, percent float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	rank := percent / 100 * float64(len(sorted)-1)
	low := int(math.Floor(rank))
	high := min(low+1, len(sorted)-1)
	return sorted[low] + (sorted[high]-sorted[low])*(rank-float64(low))
}

// ratio returns the ratio of the medians. Low and High are of the ratios of rounds with the same number: these ran
// one after the other, on a machine whose speed changes over time.
func ratio(ours, base []float64) Summary {
	var each []float64
	for i := range min(len(ours), len(base)) {
		if base[i] != 0 {
			each = append(each, ours[i]/base[i])
		}
	}
	result := summarize(each)
	if middle := percentile(base, 50); middle != 0 {
		result.Median = percentile(ours, 50) / middle
	}
	return result
}

// order returns the order of the setups in a round, reversed in every second one, so that drift over time affects all alike.
func order(setups, round int) []int {
	indexes := make([]int, setups)
	for i := range indexes {
		indexes[i] = i
	}
	if round%2 == 1 {
		slices.Reverse(indexes)
	}
	return indexes
}
