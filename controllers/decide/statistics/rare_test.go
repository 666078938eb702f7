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
	"fmt"
	"math"
	"testing"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Restarts on one new pod after five minutes, with the probabilities by hand: 1-(1-p)^(1+y) for one restart, p = 15/(15+F).
func TestRare(t *testing.T) {
	const day = 24 * 60
	for _, c := range []struct {
		events          float64
		olds, recent    statistics.Lives
		others          int
		p               float64
		verdict, reason string
	}{
		{1, statistics.Lives{Events: 0, Minutes: 10 * day}, statistics.Lives{}, 0, 0.0010406, "Fail", "CheckFailed"},
		{1, statistics.Lives{Events: 5, Minutes: 10 * day}, statistics.Lives{}, 0, 0.0062272, "Pass", "CheckPassed"},
		{1, statistics.Lives{Events: 50, Minutes: 10 * day}, statistics.Lives{}, 0, 0.051715, "Pass", "CheckPassed"},
		{1, statistics.Lives{Events: 0, Minutes: 10 * 60}, statistics.Lives{}, 0, 0.024390, "Pass", "CheckPassed"},
		{2, statistics.Lives{Events: 0, Minutes: 10 * 60}, statistics.Lives{}, 0, 0.00059488, "Fail", "CheckFailed"},
		{1, statistics.Lives{Events: 0, Minutes: 10}, statistics.Lives{}, 0, 0.6, "Pass", "CheckPassed"},
		{0, statistics.Lives{Events: 0, Minutes: 10 * day}, statistics.Lives{}, 0, 1, "Pass", "CheckPassed"},
		{1, statistics.Lives{}, statistics.Lives{}, 0, math.NaN(), "Inconclusive", "NoData"},
		// Old pods restart now as well.
		{2, statistics.Lives{Events: 3, Minutes: 10 * day}, statistics.Lives{Events: 3, Minutes: 50}, 0, 0.0000107, "Inconclusive", "CommonCause"},
		// One old pod did, which doesn't explain so many.
		{20, statistics.Lives{Events: 1, Minutes: 10 * day}, statistics.Lives{Events: 1, Minutes: 50}, 0, 0, "Fail", "CheckFailed"},
		{20, statistics.Lives{Events: 0, Minutes: 10 * day}, statistics.Lives{}, 2, 0, "Fail", "CheckFailed"},
		{20, statistics.Lives{Events: 0, Minutes: 10 * day}, statistics.Lives{}, 3, 0, "Inconclusive", "CommonCause"},
	} {
		t.Run(fmt.Sprint(c.events, c.olds, c.others), func(t *testing.T) {
			f := statistics.Rare(statistics.Lives{Events: c.events, Minutes: 5}, c.olds, c.recent, c.others, 0.005)
			if string(f.Verdict) != c.verdict || string(f.Reason) != c.reason || math.Abs(f.PValue-c.p) > 0.01*c.p+1e-12 || math.IsNaN(c.p) != math.IsNaN(f.PValue) {
				t.Errorf("%+v", f)
			}
		})
	}
	f := statistics.Rare(statistics.Lives{Events: 1, Minutes: 5}, statistics.Lives{Events: 5, Minutes: 10 * day}, statistics.Lives{}, 0, 0.005)
	if f.EventsNeeded != 2 || math.Abs(f.MinimumDetectable-1152) > 1 {
		t.Errorf("two restarts are needed, 1152 times as many as usual: %+v", f)
	}
}
