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

package ratio

import (
	"math"
	"slices"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Counters are the raw counters of pods since a release began.
type Counters struct {
	// Moments are when the counters were read, in order. The first one is before the release began.
	Moments []time.Time
	// Bad and Total have the values of a pod at the moments, by its name; NaN where there is none.
	Bad, Total map[string][]float64
	// Apart reports whether the bad events have a metric of their own, of which a release may lose the one and keep the other.
	Apart bool
}

// series returns the counters of the pods of a release, and of those that don't run it.
func (c Counters) series(release *checks.Scene) []statistics.Series {
	pods := measure.Pods(release, c.Moments, c.Total)
	all := make([]statistics.Series, 0, len(pods))
	for _, pod := range pods {
		series := statistics.Series{Pod: pod.Name, New: pod.New, Ready: pod.Ready, Gone: pod.Gone, Bad: c.Bad[pod.Name], Total: pod.Values}
		all = append(all, series)
	}
	return all
}

// haveBad returns how many of the pods with events have a series of bad ones, at any moment since they were ready.
func (c Counters) haveBad(series []statistics.Series) (newPods, oldPods statistics.Coverage) {
	for i := range series {
		s := &series[i]
		first, _ := slices.BinarySearchFunc(c.Moments, s.Ready, time.Time.Compare) // what is older is of a predecessor of the same name
		isThere := func(value float64) bool { return !math.IsNaN(value) }
		if s.Ready.IsZero() || first >= len(s.Total) || !slices.ContainsFunc(s.Total[first:], isThere) {
			continue
		}
		of := &oldPods
		if s.New {
			of = &newPods
		}
		of.Wanted++
		if first < len(s.Bad) && slices.ContainsFunc(s.Bad[first:min(len(s.Bad), len(s.Total))], isThere) {
			of.Seen++
		}
	}
	return newPods, oldPods
}
