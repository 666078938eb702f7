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
	"maps"
	"slices"
	"testing"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// powerRuns returns how often a release with a fault is tried.
func powerRuns() int {
	if testing.Short() {
		return 40
	}
	return 1000
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Of nine old pods and a new one. Expected are the errors that the new pod would have at the old rate; the check must fail so often, and
// half of those within so many seconds.
func TestConcurrentFinds(t *testing.T) {
	for _, row := range []struct {
		expected, ratio, power float64
		seconds                int
		burst                  float64
	}{
		{expected: 1, ratio: 10, power: 0.58, seconds: 420},
		{expected: 6, ratio: 5, power: 0.44, seconds: 375},
		{expected: 6, ratio: 10, power: 0.99, seconds: 195},
		{expected: 12, ratio: 3, power: 0.34, seconds: 480},
		{expected: 12, ratio: 5, power: 0.99, seconds: 240},
		{expected: 12, ratio: 10, power: 0.999, seconds: 90},
		{expected: 60, ratio: 3, power: 0.88, seconds: 330},
		{expected: 60, ratio: 5, power: 0.999, seconds: 120},
		{expected: 120, ratio: 3, power: 0.999, seconds: 150},
		{expected: 120, ratio: 5, power: 0.999, seconds: 75},
		{expected: 600, ratio: 2, power: 0.69, seconds: 240},
		{expected: 600, ratio: 3, power: 0.999, seconds: 90},
		{expected: 120, ratio: 3, power: 0.30, seconds: 450, burst: 0.5},
		{expected: 120, ratio: 5, power: 0.85, seconds: 330, burst: 0.5},
	} {
		t.Run(fmt.Sprintf("%g times %g errors, bursts %g", row.ratio, row.expected, row.burst), func(t *testing.T) {
			random := newRandom(t, 201)
			w := world{olds: 9, news: 1, base: 0.01, requests: row.expected / 0.01 / minutes10, ratio: row.ratio, burst: row.burst}
			found := count(powerRuns(), func() statistics.Finding {
				return statistics.Concurrent(w.looks(random, minutes10), anyDelta(), budget, true)
			})
			found.atLeast(t, row.power)
			if !testing.Short() && found.seconds[len(found.seconds)/2] > row.seconds {
				t.Errorf("half were decided in %d s, want %d s at most", found.seconds[len(found.seconds)/2], row.seconds)
			}
		})
	}
}

// A release that is healthy at first isn't trusted for it: of some old pods and a new one, half of the new one's requests begin to fail after so many
// looks of 15 s. The fault must be found within so many further looks, however many requests the healthy time had, however few the old pods are, and
// mostly also if pods differ all the time.
func TestConcurrentFindsAFaultThatBeginsLate(t *testing.T) {
	for _, row := range []struct {
		olds              int
		requests, lasting float64
		healthy, looks    int
		power             float64
	}{
		{olds: 9, requests: 150, healthy: 1, looks: 8, power: 1}, {olds: 9, requests: 150, healthy: 20, looks: 12, power: 1},
		{olds: 9, requests: 150, healthy: 120, looks: 24, power: 1}, {olds: 9, requests: 15_000, healthy: 1, looks: 8, power: 1},
		{olds: 9, requests: 15_000, healthy: 20, looks: 12, power: 1}, {olds: 9, requests: 15_000, healthy: 120, looks: 16, power: 1},
		{olds: 2, requests: 15_000, healthy: 20, looks: 12, power: 1}, {olds: 2, requests: 15_000, healthy: 120, looks: 16, power: 1},
		{olds: 1, requests: 15_000, healthy: 20, looks: 12, power: 1}, {olds: 1, requests: 15_000, healthy: 120, looks: 24, power: 1},
		{olds: 9, requests: 15_000, lasting: 0.35, healthy: 120, looks: 16, power: 0.95},
		{olds: 2, requests: 1500, lasting: 0.35, healthy: 120, looks: 40, power: 0.9}, {olds: 1, requests: 1500, lasting: 0.35, healthy: 120, looks: 60, power: 0.75},
	} {
		t.Run(fmt.Sprintf("after %d looks of %g requests, %d old pods that differ by %g", row.healthy, row.requests, row.olds, row.lasting), func(t *testing.T) {
			random := newRandom(t, 208)
			healthy := world{olds: row.olds, news: 1, base: 0.01, requests: row.requests, ratio: 1, lasting: row.lasting}
			faulty := healthy
			faulty.ratio = 50
			found := count(40, func() statistics.Finding {
				pods := healthy.pods(random)
				looks := append(healthy.looksAt(random, row.healthy, pods), faulty.looksAt(random, row.looks, pods)...)
				return statistics.Concurrent(looks, anyDelta(), budget, true)
			})
			if t.Log(found); found.share() < row.power {
				t.Errorf("%s, %g%% should", found, 100*row.power)
			}
		})
	}
}

// Old pods may have been alone for a day before the first new one starts, as in a freeze: what they counted then says how they differ, but isn't compared.
func TestConcurrentFindsAFaultOfAPodThatComesLate(t *testing.T) {
	for _, row := range []struct {
		olds                     int
		requests, lasting, ratio float64
		power                    float64
	}{{9, 1500, 0, 5, 1}, {4, 1500, 0, 10, 1}, {1, 1500, 0, 10, 1}, {9, 1500, 0.35, 10, 0.9}, {9, 300, 0.35, 5, 0.8}, {9, 300, 0.2, 3, 0.7}} {
		t.Run(fmt.Sprintf("%g times, %d old pods that differ by %g", row.ratio, row.olds, row.lasting), func(t *testing.T) {
			random := newRandom(t, 211)
			faulty := world{olds: row.olds, news: 1, base: 0.01, requests: row.requests, ratio: row.ratio, lasting: row.lasting}
			alone := faulty.long()
			alone.news = 0
			found := count(100, func() statistics.Finding {
				pods := faulty.pods(random)
				looks := append(alone.looksAt(random, 60, pods[:row.olds]), faulty.looksAt(random, minutes10, pods)...)
				return statistics.Concurrent(looks, anyDelta(), budget, true)
			})
			if t.Log(found); found.share() < row.power {
				t.Errorf("%s, %g%% should", found, 100*row.power)
			}
		})
	}
}

// Ten times the errors are found as soon, although the rate of all looks hasn't risen by the least difference that matters.
func TestConcurrentFindsALateFaultByItsOwnLooks(t *testing.T) {
	for _, row := range []struct {
		requests float64
		looks    int
	}{{10_000, 16}, {1000, 20}, {500, 26}} {
		t.Run(fmt.Sprintf("%g requests", row.requests), func(t *testing.T) {
			random := newRandom(t, 210)
			healthy := world{olds: 9, news: 1, base: 0.001, requests: row.requests, ratio: 1}
			faulty := healthy
			faulty.ratio = 10
			count(20, func() statistics.Finding {
				looks := append(healthy.looks(random, 40), faulty.looks(random, row.looks)...)
				found := statistics.Concurrent(looks, statistics.Defaults(), budget, true)
				if found.Verdict == statistics.Fail && !(found.New > 0.005 && found.New < 0.016 && found.Old < 0.0016) {
					t.Errorf("%g on the new pod, %g on the old ones: those are not the looks of the fault", found.New, found.Old)
				}
				return found
			}).atLeast(t, 0.95)
		})
	}
}

// The same against the past.
func TestBeforeFindsAFaultThatBeginsLate(t *testing.T) {
	for _, ratio := range []float64{5, 50} {
		t.Run(fmt.Sprintf("of %g times the errors", ratio), func(t *testing.T) {
			random := newRandom(t, 209)
			healthy := world{news: 3, base: 0.01, requests: 1000, ratio: 1}
			faulty, past := healthy, world{olds: 3, base: 0.01, requests: 1000}
			faulty.ratio = ratio
			count(20, func() statistics.Finding {
				looks := append(healthy.looks(random, 80), faulty.looks(random, 48)...)
				return statistics.Before(past.looks(random, 120), looks, anyDelta(), budget, true)
			}).atLeast(t, 1)
		})
	}
}

// Between shocks that hit all pods, a fault is found in three minutes: three times the errors with nine old pods, five times with four. In the
// shocks themselves half of all requests fail, so the new pods can't be five times worse.
func TestConcurrentFindsAmidShocks(t *testing.T) {
	const minutes3 = 18
	for _, row := range []struct {
		olds, looks  int
		ratio, power float64
	}{
		{olds: 9, ratio: 3, looks: minutes3, power: 0.7},
		{olds: 9, ratio: 5, looks: minutes3, power: 0.95},
		{olds: 4, ratio: 5, looks: minutes3, power: 0.6},
		{olds: 9, ratio: 3, looks: minutes10, power: 0.95},
		{olds: 4, ratio: 5, looks: minutes10, power: 0.75},
		{olds: 4, ratio: 10, looks: minutes10, power: 0.98},
	} {
		t.Run(fmt.Sprintf("%g times the errors, %d old pods, %d looks", row.ratio, row.olds, row.looks), func(t *testing.T) {
			random := newRandom(t, 205)
			w := world{olds: row.olds, news: 1, base: 0.01, requests: 800, ratio: row.ratio}
			count(powerRuns(), func() statistics.Finding {
				return statistics.Concurrent(w.scraped(random, row.looks), anyDelta(), budget/4, true)
			}).atLeast(t, row.power)
		})
	}
}

// Pods that are all replaced at once, with the errors a minute of all of them before. The ratio that it finds at least is 3.
func TestBeforeFinds(t *testing.T) {
	for _, row := range []struct {
		pods                    int
		perMinute, ratio, power float64
		seconds                 int
	}{
		{10, 1.2, 5, 0.5, 480}, {10, 1.2, 10, 0.99, 300}, {10, 12, 3, 0.5, 420}, {10, 12, 5, 0.99, 300}, {10, 120, 5, 0.999, 300},
		{3, 12, 5, 0.95, 360}, {3, 12, 10, 0.999, 240}, {1, 1.2, 10, 0.85, 450}, {1, 12, 10, 0.99, 330}, {1, 120, 10, 0.99, 330},
	} {
		t.Run(fmt.Sprintf("%g times %g errors a minute, %d pods", row.ratio, row.perMinute, row.pods), func(t *testing.T) {
			random := newRandom(t, 202)
			w := world{olds: row.pods, base: 0.01, requests: row.perMinute / 4 / float64(row.pods) / 0.01}
			found := count(powerRuns(), func() statistics.Finding { return before(random, w, 30, row.ratio, false) })
			found.atLeast(t, row.power)
			if !testing.Short() && found.seconds[len(found.seconds)/2] > row.seconds {
				t.Errorf("half were decided in %d s, want %d s at most", found.seconds[len(found.seconds)/2], row.seconds)
			}
		})
	}
}

// Less than three times the errors never fail, however clear they are.
func TestBeforeToleratesWhatIsLessThanThreeTimesThePast(t *testing.T) {
	random := newRandom(t, 207)
	w := world{olds: 10, base: 0.01, requests: 30000}
	for ratio, want := range map[float64]float64{2.8: 0, 3.2: 1} {
		found := count(powerRuns(), func() statistics.Finding { return before(random, w, 30, ratio, false) })
		if found.share() != want {
			t.Errorf("x%g: %s", ratio, found)
		}
	}
}

func TestGaugesFind(t *testing.T) {
	for _, row := range []struct {
		olds, news   int
		ratio, power float64
	}{
		{7, 3, 1.5, 0.48}, {5, 5, 1.5, 0.58}, {20, 3, 1.5, 0.80}, {50, 5, 1.5, 0.98}, {7, 3, 2, 0.99}, {5, 5, 2, 0.99}, {9, 1, 1.5, 0.73}, {9, 1, 2, 0.99},
	} {
		t.Run(fmt.Sprintf("%g times, %d old and %d new pods", row.ratio, row.olds, row.news), func(t *testing.T) {
			random := newRandom(t, 203)
			g := gauges{olds: row.olds, news: row.news, ratio: row.ratio}
			count(powerRuns()/3, func() statistics.Finding {
				news, olds := g.values(random)
				return statistics.Gauges(news, olds, gaugeDefaults(), budget, true)
			}).atLeast(t, row.power)
		})
	}
}

// Three errors a pod and look, five minutes: unchanged releases pass soon, three times the errors hardly ever.
func TestConcurrentPassesEarly(t *testing.T) {
	const minutes5 = 20
	early := func(t *testing.T, w world) (passed float64, seconds int) {
		t.Helper()
		random := newRandom(t, 204)
		ended := count(powerRuns(), func() statistics.Finding {
			looks := w.looks(random, minutes5)
			f := statistics.Concurrent(looks, anyDelta(), budget, true)
			if f.Verdict == statistics.Fail { // after a pass?
				f = statistics.Concurrent(looks[:f.Looks-1], anyDelta(), budget, false)
			}
			return f
		})
		t.Log(ended)
		return float64(ended.reasons[statistics.PassedEarly]) / float64(ended.runs), ended.seconds[len(ended.seconds)/2]
	}
	unchanged := world{olds: 9, news: 1, base: 0.01, requests: 300, ratio: 1}
	if passed, seconds := early(t, unchanged); passed < 0.98 || seconds > 120 {
		t.Errorf("%g of the unchanged releases passed early, half of them in %d s", passed, seconds)
	}
	bad := unchanged
	bad.ratio = 3
	random := newRandom(t, 205)
	slipped := 0
	for range runs() {
		looks := bad.looks(random, minutes5)
		f := statistics.Concurrent(looks, anyDelta(), budget, false)
		if f.Verdict == statistics.Fail {
			f = statistics.Concurrent(looks[:f.Looks-1], anyDelta(), budget, false)
		}
		if f.Reason == statistics.PassedEarly {
			slipped++
		}
	}
	t.Logf("three times the errors: %d of %d passed early", slipped, runs())
	if float64(slipped) > 0.002*float64(runs())+3 {
		t.Errorf("%d of %d releases with three times the errors passed early", slipped, runs())
	}
}

// A ratio that is called detectable is found so often.
func TestConcurrentMinimumDetectable(t *testing.T) {
	for _, requests := range []float64{15, 30, 150} {
		t.Run(fmt.Sprintf("%g requests", requests), func(t *testing.T) {
			random := newRandom(t, 206)
			w := world{olds: 9, news: 1, base: 0.01, requests: requests, ratio: 1}
			settings := anyDelta()
			var ratios []float64
			for range 40 {
				f := statistics.Concurrent(w.looks(random, minutes10), settings, budget, true)
				if f.Reason == statistics.CheckPassed || f.Reason == statistics.LowTraffic {
					ratios = append(ratios, f.MinimumDetectable)
				}
			}
			if len(ratios) == 0 {
				t.Skip("all passed early")
			}
			slices.Sort(ratios)
			w.ratio = ratios[len(ratios)/2]
			found := count(powerRuns(), func() statistics.Finding {
				return statistics.Concurrent(w.looks(random, minutes10), settings, budget, true)
			})
			t.Logf("ratio %.2f", w.ratio)
			found.atLeast(t, 0.7)
			if found.share() > 0.97 {
				t.Errorf("%s at the ratio %.2f: less would be detectable", found, w.ratio)
			}
		})
	}
}
