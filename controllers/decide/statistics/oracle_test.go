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
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// never is a share of the budget that no evidence reaches, so that all looks are taken.
const never = 1e-300

// counts returns a pod's count of each number of events, out of so many requests.
func counts(events []float64, requests float64) (counts []statistics.Count) {
	for i, bad := range events {
		counts = append(counts, statistics.Count{Pod: fmt.Sprint(i), Bad: bad, Total: requests})
	}
	return counts
}

// looksAt returns a look for each number of events of one new pod, beside the same old ones.
func looksAt(news []float64, requests float64, olds []statistics.Count) (looks []statistics.Look) {
	for _, bad := range news {
		look := statistics.Look{Time: time.Minute, New: counts([]float64{bad}, requests), NewPods: 1, Old: olds, OldPods: len(olds)}
		looks = append(looks, look)
	}
	return looks
}

// The oracle is savvi and scipy: testdata/oracle.py.
func TestFindingsAreThoseOfTheOracle(t *testing.T) {
	var oracle struct {
		Concurrent, Before []struct {
			News, Olds     []float64
			E, F, Evidence float64
		}
		Dispersion []struct {
			Olds       [][]float64
			Dispersion float64
		}
		Gauges []struct {
			News, Olds            []float64
			P, Error, Superiority float64
		}
		Rare []struct{ X, E, Y, F, P float64 }
	}
	content, err := os.ReadFile("testdata/oracle.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &oracle); err != nil {
		t.Fatal(err)
	}
	compared := 0
	same := func(what string, c any, got, want, tolerance float64) {
		if compared++; !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s is %v, the oracle's %v: %+v", what, got, want, c)
		}
	}
	for _, c := range oracle.Concurrent {
		f := statistics.Concurrent(looksAt(c.News, c.E, counts(c.Olds, c.F)), anyDelta(), never, false)
		same("evidence", c, f.Evidence, c.Evidence, 1e-3*c.Evidence) // savvi has no prior at one place alone
	}
	for _, c := range oracle.Before {
		past := slices.Repeat([]statistics.Look{{Old: counts(c.Olds, c.F), OldPods: len(c.Olds)}}, 30)
		f := statistics.Before(past, looksAt(c.News, c.E, nil), anyDelta(), budget, false)
		same("evidence against the past", c, f.Evidence, c.Evidence, 1e-5*c.Evidence) // gonum inverts the gamma distribution to 7 digits
	}
	for _, c := range oracle.Dispersion {
		var looks []statistics.Look
		for _, olds := range c.Olds {
			looks = append(looks, looksAt([]float64{0}, 100, counts(olds, 100))...)
		}
		same("dispersion", c, statistics.Concurrent(looks, anyDelta(), never, false).Dispersion, c.Dispersion, 1e-9)
	}
	for _, c := range oracle.Gauges {
		f := statistics.Gauges(steady(c.News...), steady(c.Olds...), statistics.GaugeSettings{Tolerance: 1.2, MinDelta: -1000}, budget, true)
		same("p-value of gauges", c, f.PValue, c.P, c.Error)
		same("superiority", c, f.Superiority, c.Superiority, 1e-12)
	}
	for _, c := range oracle.Rare {
		news, olds := statistics.Lives{Events: c.X, Minutes: c.E}, statistics.Lives{Events: c.Y, Minutes: c.F}
		same("p-value of restarts", c, statistics.Rare(news, olds, statistics.Lives{}, 0, 0.005).PValue, c.P, 1e-9*c.P)
	}
	if compared != 120 {
		t.Errorf("%d numbers, want 120", compared)
	}
}
