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
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Counters are the raw counters of pods since a release began.
type Counters struct {
	// Moments are when the counters were read, in order. The first one is before the release began.
	Moments []time.Time
	// Bad and Total have the values of a pod at the moments, by its name; NaN where there is none.
	Bad, Total map[string][]float64
	// Reason is why they can't be read, in CamelCase, and Message says so; both are empty if they could be.
	Reason, Message string
}

// series returns the counters of the pods of a release, and of those that don't run it. Old pods that are gone are known by their name
// and by a counter from before the release began; other pods that are gone are left out.
func (c Counters) series(release *checks.Scene) []statistics.Series {
	var all []statistics.Series
	names := map[string]bool{}
	for i := range release.New {
		pod := &release.New[i]
		names[pod.Name] = true
		bad, total := c.of(pod.Name)
		if !pod.Created.Before(release.Began) { // its predecessor in a StatefulSet had the same name
			first, _ := slices.BinarySearchFunc(c.Moments, pod.Created, time.Time.Compare)
			all = c.addGone(all, pod.Name, bad, total, first)
		}
		all = append(all, statistics.Series{Pod: pod.Name, New: true, Ready: pod.Since, Bad: bad, Total: total})
	}
	for i := range release.Old {
		pod := &release.Old[i]
		names[pod.Name] = true
		bad, total := c.of(pod.Name)
		all = append(all, statistics.Series{Pod: pod.Name, Ready: pod.Since, Bad: bad, Total: total})
	}
	if _, exact := podNames(release.Kind, release.Name); !exact {
		return all
	}
	for name := range c.Total {
		if !names[name] {
			bad, total := c.of(name)
			all = c.addGone(all, name, bad, total, len(c.Moments))
		}
	}
	return all
}

// addGone adds an old pod that is gone, with its counters before a moment.
func (c Counters) addGone(all []statistics.Series, pod string, bad, total []float64, until int) []statistics.Series {
	if until == 0 || math.IsNaN(total[0]) {
		return all
	}
	last := 0
	for i := range total[:until] {
		if !math.IsNaN(total[i]) {
			last = i
		}
	}
	return append(all, statistics.Series{Pod: pod, Ready: c.Moments[0], Gone: c.Moments[last], Bad: bad[:last+1], Total: total[:last+1]})
}

// of returns the counters of a pod, NaN at all moments where there are none.
func (c Counters) of(pod string) (bad, total []float64) {
	return c.values(c.Bad, pod), c.values(c.Total, pod)
}

func (c Counters) values(of map[string][]float64, pod string) []float64 {
	if values, found := of[pod]; found {
		return values
	}
	none := make([]float64, len(c.Moments))
	for i := range none {
		none[i] = math.NaN()
	}
	return none
}
