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

package statistics_test

import (
	"testing"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// All checks together spend the budget and no more, however many there are of each kind.
func TestBudget(t *testing.T) {
	for _, c := range []struct {
		counts, levels    int
		countShare, share float64
	}{
		{1, 0, 0.01, 0.005},
		{4, 0, 0.0025, 0.005},
		{0, 1, 0.005, 0.01},
		{0, 4, 0.005, 0.0025},
		{2, 5, 0.0025, 0.001},
		{0, 0, 0.01, 0.01},
	} {
		b := statistics.Budget{Total: statistics.DefaultBudget, Counts: c.counts, Levels: c.levels}
		near(t, "the share of a count", b.CountShare()*1e3, c.countShare*1e3)
		near(t, "the share of a level", b.LevelShare()*1e3, c.share*1e3)
		if spent := float64(c.counts)*b.CountShare() + float64(c.levels)*b.LevelShare(); spent > 0.01+1e-12 {
			t.Errorf("%d and %d checks spend %v", c.counts, c.levels, spent)
		}
	}
}

func TestThreshold(t *testing.T) {
	looks := func(bad ...float64) []statistics.Look { return pair(bad, make([]float64, len(bad)), 100) }
	idle := looks(5, 5)
	idle = append(idle, pair([]float64{0}, []float64{0}, 10)...)
	of := func(wanted int, looks []statistics.Look) []statistics.Look {
		for i := range looks {
			looks[i].NewPods = wanted
		}
		return looks
	}
	for _, c := range []struct {
		name            string
		looks           []statistics.Look
		ended           bool
		verdict, reason string
		after           int
	}{
		{"three running", looks(0, 5, 5, 5, 0), true, "Fail", "CheckFailed", 4},
		{"interrupted", looks(5, 5, 0, 5, 5), true, "Pass", "CheckPassed", 5},
		{"just at it", looks(1, 1, 1), true, "Pass", "CheckPassed", 3},
		{"goes on", looks(5, 5), false, "Inconclusive", "InProgress", 2},
		{"an idle look doesn't interrupt", append(idle, looks(5)...), true, "Fail", "CheckFailed", 4},
		{"idle", idle, true, "Inconclusive", "LowTraffic", 3},
		{"one pod of twenty", of(20, looks(5, 5, 5, 5)), true, "Inconclusive", "NoData", 4},
		{"one pod of twenty, in between", of(20, looks(5, 5, 5, 5)), false, "Inconclusive", "NoData", 4},
		{"one pod of two, until it is alone", append(of(2, looks(5)), looks(5, 5, 5, 5)...), true, "Fail", "CheckFailed", 4},
		{"nothing seen", []statistics.Look{{NewPods: 1}}, true, "Inconclusive", "NoData", 1},
	} {
		f := statistics.Threshold(c.looks, 0.01, 3, 20, c.ended)
		if string(f.Verdict) != c.verdict || string(f.Reason) != c.reason || f.Looks != c.after {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}
