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
	"cmp"
	"math"
	"slices"
)

// Budget divides the probability of a false alarm of one release among its checks: all of all policies that match it.
type Budget struct {
	// Total is the probability that a release without fault fails, 0.01 by default.
	Total float64
	// Counts is the number of checks with e-values, by Concurrent or Before; Levels of those with p-values, by Gauges or Rare.
	Counts, Levels int
}

// DefaultBudget is the probability that a release without fault fails.
const DefaultBudget = 0.01

// CountShare returns the part of the budget of one check with e-values. E-values may be divided so whatever they have to do with each
// other.
func (b Budget) CountShare() float64 { return b.part(b.Levels) / float64(max(1, b.Counts)) }

// Level returns the part of the budget of all checks with p-values together, for Holm.
func (b Budget) Level() float64 { return b.part(b.Counts) }

// LevelShare returns the part that one check with a p-value has for sure.
func (b Budget) LevelShare() float64 { return b.Level() / float64(max(1, b.Levels)) }

// part returns the part of the budget of one kind of checks: half, or all if there are none of the other kind.
func (b Budget) part(ofOtherKind int) float64 {
	if ofOtherKind > 0 {
		return b.Total / 2
	}
	return b.Total
}

// Holm judges the findings of all checks with p-values together: what fails leaves its part of the level to the others. Findings without
// p-value yet are counted.
func Holm(level float64, findings []Finding) {
	order := make([]*Finding, len(findings))
	for i := range findings {
		order[i] = &findings[i]
	}
	slices.SortStableFunc(order, func(a, b *Finding) int { return cmp.Compare(known(a.PValue), known(b.PValue)) })
	for i, f := range order {
		f.Threshold = level / float64(len(order)-i)
		if known(f.PValue) > f.Threshold {
			for _, rest := range order[i:] {
				rest.Threshold = f.Threshold
			}
			return
		}
		if f.Verdict == Pass {
			f.Verdict, f.Reason = Fail, CheckFailed
		}
	}
}

// known returns the p-value, 1 if there is none yet.
func known(p float64) float64 {
	if math.IsNaN(p) {
		return 1
	}
	return p
}
