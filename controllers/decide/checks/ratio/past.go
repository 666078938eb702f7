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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Past are the counters of the pods in the half hour before a release began, in longer looks.
type Past struct {
	Counters
	Others Rates
}

// Rates are the rates of bad events, and of all, on the other pods of the namespace at moments from then until now; nil or NaN where there is none.
type Rates struct {
	Moments    []time.Time
	Bad, Total []float64
}

// NeedsPast reports whether a release is compared with the past, by its counters since it began.
func NeedsPast(release *checks.Scene, objective *appv1alpha1.RatioObjective, counters Counters, warmup time.Duration) bool {
	return len(release.New) > 0 && comparesWithPast(objective, counters.Moments, counters.series(release), warmup)
}

// comparesWithPast reports whether an objective compares pods with the past: as Auto, where new pods counted in as many looks as a verdict takes, and
// old pods beside them in fewer. With fewer, the test of old pods at the same time can't have failed.
func comparesWithPast(objective *appv1alpha1.RatioObjective, moments []time.Time, series []statistics.Series, warmup time.Duration) bool {
	if objective.Comparison == nil || objective.Comparison.Baseline == appv1alpha1.BaselineConcurrent {
		return false
	}
	if objective.Comparison.Baseline == appv1alpha1.BaselineBefore {
		return true
	}
	news, both := statistics.Overlap(moments, series, warmup)
	return news >= evidenceLooks && both < evidenceLooks
}

// before returns the looks at the pods before a release began.
func (p Past) before(release *checks.Scene, warmup time.Duration) []statistics.Look {
	since, _ := slices.BinarySearchFunc(p.Moments, release.Began.Add(1), time.Time.Compare)
	return statistics.Looks(p.Moments[:since], p.series(release), warmup)
}

// mark marks the looks, which are those between moments, at which the other pods of the namespace had more bad events than before the release.
// A look later than all rates is as the last one: it is marked again at the next.
func (r Rates) mark(looks []statistics.Look, moments []time.Time, began time.Time, settings statistics.Settings) {
	var usual, all float64
	for i, at := range r.Moments {
		if bad, total := r.at(i); !at.After(began) && total > 0 {
			usual, all = usual+bad, all+total
		}
	}
	if all == 0 {
		return
	}
	for i := range looks {
		at, _ := slices.BinarySearchFunc(r.Moments, moments[i+1], time.Time.Compare)
		bad, total := r.at(min(at, len(r.Moments)-1))
		if bad*measure.OthersPeriod.Seconds() >= settings.MinEvents && bad*all > settings.Tolerance*usual*total {
			looks[i].Others = 1
		}
	}
}

// at returns the rates at a moment: no series of bad events is none of them.
func (r Rates) at(i int) (bad, total float64) {
	if i >= len(r.Total) || math.IsNaN(r.Total[i]) {
		return 0, 0
	}
	if i < len(r.Bad) && !math.IsNaN(r.Bad[i]) {
		bad = r.Bad[i]
	}
	return bad, r.Total[i]
}
