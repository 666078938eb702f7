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

// Budget divides the probability of a false alarm of one release among its checks: all of all policies that match it.
type Budget struct {
	// Total is the probability that a release without fault fails, 0.01 by default.
	Total float64
	// Counts is the number of checks with e-values, by Concurrent or Before; Levels of those with p-values, by Gauges.
	Counts, Levels int
}

// DefaultBudget is the probability that a release without fault fails.
const DefaultBudget = 0.01

// CountShare returns the part of the budget of one check with e-values. E-values may be divided so whatever they have to do with each
// other.
func (b Budget) CountShare() float64 { return b.part(b.Levels) / float64(max(1, b.Counts)) }

// LevelShare returns the part of the budget of one check with a p-value, whatever they have to do with each other. Holm's method would find a
// fault in no more releases: it only tells further checks that fail, too, once one has failed with its share.
func (b Budget) LevelShare() float64 { return b.part(b.Counts) / float64(max(1, b.Levels)) }

// part returns the part of the budget of one kind of checks: half, or all if there are none of the other kind.
func (b Budget) part(ofOtherKind int) float64 {
	if ofOtherKind > 0 {
		return b.Total / 2
	}
	return b.Total
}
