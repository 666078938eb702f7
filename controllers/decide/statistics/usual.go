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

import "slices"

// usual is the usual rate of events: the median of the looks so far. When a dependency fails, errors of all pods outnumber by far those that
// tell new pods from old ones, so a look counts as one with twice the usual events at most.
type usual struct{ rates []float64 }

// weight returns by how much the counts of a look are to be divided to be usual, as a share of 1. It depends on what new and old pods counted
// together, which says nothing about how that falls on the two: the bound for false alarms holds.
func (u *usual) weight(look Count) float64 {
	most := float64(fewEvents)
	if n := len(u.rates); n > 0 {
		most = max(most, unusual*u.rates[n/2]*look.Total)
	}
	if look.Bad <= most {
		return 1
	}
	return most / look.Bad
}

// add adds a look.
func (u *usual) add(look Count) {
	if look.Total == 0 {
		return
	}
	i, _ := slices.BinarySearch(u.rates, look.rate())
	u.rates = slices.Insert(u.rates, i, look.rate())
}
