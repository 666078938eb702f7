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
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// budget is the probability of a false alarm in these tests: of one check alone.
const budget = 0.01

// anyDelta are the defaults, but that differences of any size matter.
func anyDelta() statistics.Settings {
	settings := statistics.Defaults()
	settings.MinDelta = 0
	return settings
}

// tally is how releases ended.
type tally struct {
	runs    int
	reasons map[statistics.Reason]int
	seconds []int
}

// count runs releases and counts how they ended.
func count(runs int, release func() statistics.Finding) tally {
	t := tally{runs: runs, reasons: map[statistics.Reason]int{}}
	for range runs {
		f := release()
		t.reasons[f.Reason]++
		if f.Reason == statistics.CheckFailed || f.Reason == statistics.PassedEarly {
			t.seconds = append(t.seconds, f.Looks*15)
		}
	}
	slices.Sort(t.seconds)
	return t
}

func (t tally) String() string {
	median := 0
	if len(t.seconds) > 0 {
		median = t.seconds[len(t.seconds)/2]
	}
	return fmt.Sprintf("%d of %d failed (%.2f%%), decided in %d s; %v", t.failed(), t.runs, 100*t.share(), median, t.reasons)
}

func (t tally) failed() int { return t.reasons[statistics.CheckFailed] }

func (t tally) share() float64 { return float64(t.failed()) / float64(t.runs) }

// atMost fails the test if so many failed that the true probability isn't the bound or less: three standard errors of a binomial share.
func (t tally) atMost(tt *testing.T, bound float64) {
	tt.Helper()
	tt.Log(t)
	if n := float64(t.runs); float64(t.failed()) > n*bound+3*math.Sqrt(n*bound*(1-bound)) {
		tt.Errorf("%s, at most %g%% may", t, 100*bound)
	}
}

// atLeast fails the test if so few failed that the true probability isn't the bound or more.
func (t tally) atLeast(tt *testing.T, bound float64) {
	tt.Helper()
	tt.Log(t)
	if n := float64(t.runs); float64(t.failed()) < n*bound-3*math.Sqrt(n*bound*(1-bound)) {
		tt.Errorf("%s, at least %g%% should", t, 100*bound)
	}
}

// Releases that change nothing fail with the budget at most, whatever disturbs them.
func TestConcurrentOfUnchangedReleases(t *testing.T) {
	disturbed := map[string]world{
		"few errors":                {base: 0.001, requests: 30},
		"many errors":               {base: 0.01, requests: 300},
		"bursts":                    {base: 0.01, requests: 300, burst: 0.5},
		"pods differ, few errors":   {base: 0.01, requests: 30, lasting: 0.35},
		"pods differ, many errors":  {base: 0.01, requests: 300, lasting: 0.35},
		"pods differ, big traffic":  {base: 0.01, requests: 3000, lasting: 0.35},
		"dependency fails for 30 s": {base: 0.01, requests: 300, shock: 2, shockFactor: 50},
		"dependency fails for 2 m":  {base: 0.01, requests: 300, shock: 8, shockFactor: 50},
	}
	groups := [][2]int{{9, 1}, {2, 1}, {5, 5}, {1, 1}}
	if testing.Short() {
		groups = groups[:2]
	}
	for _, name := range sortedKeys(disturbed) {
		for _, pods := range groups {
			t.Run(fmt.Sprintf("%s, %d old and %d new pods", name, pods[0], pods[1]), func(t *testing.T) {
				w := disturbed[name]
				w.olds, w.news, w.ratio = pods[0], pods[1], 1
				random := newRandom(t, 101)
				count(runs(), func() statistics.Finding {
					return statistics.Concurrent(w.looks(random, minutes10), anyDelta(), budget, true)
				}).atMost(t, budget)
			})
		}
	}
}

// Also where the old pods have been alone for a day, in 60 looks of 24 minutes.
func TestConcurrentOfUnchangedReleasesThatBeginLate(t *testing.T) {
	for _, olds := range []int{1, 2, 4, 9} {
		t.Run(fmt.Sprintf("%d old pods", olds), func(t *testing.T) {
			random := newRandom(t, 111)
			w := world{olds: olds, news: 1, base: 0.01, requests: 300, ratio: 1, lasting: 0.35}
			alone := w.long()
			alone.news = 0
			count(runs()/5, func() statistics.Finding {
				pods := w.pods(random)
				return statistics.Concurrent(append(alone.looksAt(random, 60, pods[:olds]), w.looksAt(random, minutes10, pods)...), anyDelta(), budget, true)
			}).atMost(t, budget)
		})
	}
}

// At the edges of a shock, pods count different seconds of it.
func TestConcurrentOfUnchangedReleasesAmidShocks(t *testing.T) {
	for _, pods := range [][2]int{{9, 1}, {4, 1}, {5, 5}, {1, 1}} {
		t.Run(fmt.Sprintf("%d old and %d new pods", pods[0], pods[1]), func(t *testing.T) {
			w := world{olds: pods[0], news: pods[1], base: 0.01, requests: 800, ratio: 1}
			random := newRandom(t, 105)
			count(runs(), func() statistics.Finding {
				return statistics.Concurrent(w.scraped(random, minutes10), anyDelta(), budget, true)
			}).atMost(t, budget)
		})
	}
}

// A release that is exactly as bad as tolerated is the worst case of the null hypothesis.
func TestConcurrentAtTheTolerance(t *testing.T) {
	for _, pods := range [][2]int{{9, 1}, {5, 5}} {
		t.Run(fmt.Sprintf("%d old and %d new pods", pods[0], pods[1]), func(t *testing.T) {
			w := world{olds: pods[0], news: pods[1], base: 0.01, requests: 300, ratio: 1.5}
			random := newRandom(t, 102)
			count(runs(), func() statistics.Finding {
				return statistics.Concurrent(w.looks(random, minutes10), anyDelta(), budget, true)
			}).atMost(t, budget)
		})
	}
}

// Half an hour before, in looks of a minute, against ten minutes after. Even a failure of two minutes that nobody else shows isn't enough for a
// verdict, and a longer one is a common cause if others show it.
func TestBeforeOfUnchangedReleases(t *testing.T) {
	for name, c := range map[string]struct {
		world  world
		others bool
	}{
		"1.2 errors a minute": {world: world{base: 0.001, requests: 30}},
		"12 errors a minute":  {world: world{base: 0.001, requests: 300}},
		"120 errors a minute": {world: world{base: 0.01, requests: 300}},
		"bursts":              {world: world{base: 0.01, requests: 300, burst: 0.5}},
		"pods differ":         {world: world{base: 0.01, requests: 300, lasting: 0.35}},
		"a dependency fails for 2 m, 12 errors a minute":  {world: world{base: 0.001, requests: 300, shock: 9, shockFactor: 50}},
		"a dependency fails for 2 m, 120 errors a minute": {world: world{base: 0.01, requests: 300, shock: 9, shockFactor: 50}},
		"all fail for 8 m": {world: world{base: 0.001, requests: 300, shock: 32, shockFactor: 50}, others: true},
	} {
		for _, pods := range []int{1, 10} {
			t.Run(fmt.Sprintf("%s, %d pods", name, pods), func(t *testing.T) {
				random := newRandom(t, 103)
				w := c.world
				w.olds = pods
				w.requests *= 10 / float64(pods)
				count(runs(), func() statistics.Finding { return before(random, w, 30, 1, c.others) }).atMost(t, budget)
			})
		}
	}
}

// Five minutes are the least past that is compared with.
func TestBeforeOfUnchangedReleasesWithAShortPast(t *testing.T) {
	for name, w := range map[string]world{
		"12 errors a minute": {base: 0.001, requests: 300}, "120 errors a minute": {base: 0.01, requests: 300}, "bursts": {base: 0.01, requests: 300, burst: 0.5},
	} {
		t.Run(name, func(t *testing.T) {
			random := newRandom(t, 108)
			w.olds = 10
			count(runs(), func() statistics.Finding { return before(random, w, 5, 1, false) }).atMost(t, budget)
		})
	}
}

// As long as there are old pods for some looks, only Concurrent may fail, and then only Before: together they spend no more than one of them.
func TestAReleaseOfWhichTheOldPodsLeaveSpendsItsShareOnce(t *testing.T) {
	for name, w := range map[string]world{
		"12 errors a minute": {base: 0.001, requests: 300}, "bursts": {base: 0.01, requests: 300, burst: 0.5}, "pods differ": {base: 0.01, requests: 300, lasting: 0.35},
		"a dependency fails for 2 m": {base: 0.01, requests: 300, shock: 9, shockFactor: 50},
	} {
		t.Run(name, func(t *testing.T) {
			random := newRandom(t, 109)
			count(runs()/10, func() statistics.Finding {
				left := random.IntN(8)
				w.olds, w.news, w.ratio = 5, 5, 1
				past, looks := w.past(random, 30), w.looks(random, minutes10)
				for i := left; i < len(looks); i++ {
					looks[i].Old, looks[i].OldPods = nil, 0
				}
				for n := 4; n <= len(looks); n += 2 {
					f := statistics.Concurrent(looks[:n], anyDelta(), budget, false)
					if left < 4 {
						f = statistics.Before(past, looks[:n], anyDelta(), budget, false)
					}
					if f.Verdict == statistics.Fail {
						return f
					}
				}
				return statistics.Finding{Reason: statistics.InProgress}
			}).atMost(t, budget)
		})
	}
}

// before returns the finding of Before for a release of all pods at once, in a world with a shock that others may show, after so many minutes.
func before(random *rand.Rand, w world, minutes int, ratio float64, othersShow bool) statistics.Finding {
	history := w.past(random, minutes)
	w.news, w.olds, w.ratio = w.olds, 0, ratio
	looks := w.looks(random, minutes10)
	if othersShow {
		for t := range looks {
			looks[t].Others = others(looks[t], w)
		}
	}
	f := statistics.Before(history, looks, anyDelta(), budget, true)
	f.Looks *= 3 // which Before takes together
	return f
}

// past returns so many looks of a minute at the old pods, with the counts of four looks each.
func (w world) past(random *rand.Rand, minutes int) (looks []statistics.Look) {
	w.news, w.shock = 0, 0
	if w.burst == 0 { // the sum of four counts is as one of four times the requests
		w.requests *= 4
		return w.looks(random, minutes)
	}
	for four := range slices.Chunk(w.looks(random, 4*minutes), 4) {
		minute := statistics.Look{OldPods: four[0].OldPods, Old: slices.Clone(four[0].Old), Time: time.Minute}
		for _, look := range four[1:] {
			for i, c := range look.Old {
				minute.Old[i].Bad += c.Bad
				minute.Old[i].Total += c.Total
			}
		}
		looks = append(looks, minute)
	}
	return looks
}

// others returns how many other workloads failed in a look with ten times the errors of the others.
func others(look statistics.Look, w world) int {
	bad := 0.0
	for _, c := range look.New {
		bad += c.Bad
	}
	if bad > 10*w.base*w.requests*float64(w.news) {
		return 1
	}
	return 0
}

// Restarts now and then, looked at every 15 s for ten minutes.
func TestRareOfUnchangedReleases(t *testing.T) {
	const level = budget / 2
	for name, w := range map[string]struct{ pods, minutes, perMinute float64 }{
		"one a day and pod":               {10, 24 * 60, 1.0 / 1440},
		"one an hour and pod":             {10, 24 * 60, 1.0 / 60},
		"one an hour and pod, young pods": {10, 60, 1.0 / 60},
		"ten an hour and pod":             {10, 600, 1.0 / 6},
		"a lone old pod":                  {1, 60, 1.0 / 60},
	} {
		t.Run(name, func(t *testing.T) {
			random := newRandom(t, 104)
			count(runs(), func() (f statistics.Finding) {
				olds := statistics.Lives{Events: poisson(random, w.pods*w.minutes*w.perMinute), Minutes: w.pods * w.minutes}
				var news, recent statistics.Lives
				for range minutes10 {
					recent.Minutes += w.pods / 4
					recent.Events += poisson(random, w.pods/4*w.perMinute)
					news.Minutes += 0.25
					news.Events += poisson(random, 0.25*w.perMinute)
					life := statistics.Lives{Events: olds.Events + recent.Events, Minutes: olds.Minutes + recent.Minutes}
					if f = statistics.Rare(news, life, recent, 0, level); f.Verdict == statistics.Fail {
						break
					}
				}
				return f
			}).atMost(t, level)
		})
	}
}

// A release with the checks that most have: errors, slow requests, memory, CPU, restarts. Its pods differ all the time, and restart.
func TestBudgetOfUnchangedReleases(t *testing.T) {
	shares := statistics.Budget{Total: statistics.DefaultBudget, Counts: 2, Levels: 3}
	for _, pods := range [][2]int{{9, 1}, {5, 5}, {7, 3}} {
		t.Run(fmt.Sprintf("%d old and %d new pods", pods[0], pods[1]), func(t *testing.T) {
			random := newRandom(t, 107)
			errors := world{olds: pods[0], news: pods[1], base: 0.01, requests: 300, ratio: 1, lasting: 0.35}
			slow := world{olds: pods[0], news: pods[1], base: 0.05, requests: 300, ratio: 1, burst: 4, shock: 2, shockFactor: 10}
			usage := gauges{olds: pods[0], news: pods[1], ratio: 1}
			count(runs()/2, func() statistics.Finding {
				found := []statistics.Finding{
					statistics.Rare(statistics.Lives{Events: poisson(random, float64(pods[1])/6), Minutes: 10 * float64(pods[1])},
						statistics.Lives{Events: poisson(random, float64(pods[0])*10), Minutes: 600 * float64(pods[0])}, statistics.Lives{}, 0, shares.LevelShare()),
				}
				for range 2 {
					news, olds := usage.values(random)
					found = append(found, statistics.Gauges(news, olds, gaugeDefaults(), shares.LevelShare(), true))
				}
				for _, w := range []world{errors, slow} {
					found = append(found, statistics.Concurrent(w.looks(random, minutes10), statistics.Defaults(), shares.CountShare(), true))
				}
				if i := slices.IndexFunc(found, func(f statistics.Finding) bool { return f.Verdict == statistics.Fail }); i >= 0 {
					return found[i]
				}
				return found[0]
			}).atMost(t, budget)
		})
	}
}

// gauges is a world of gauges: pods differ by 8%, and each varies by 12% with a memory of some minutes.
type gauges struct {
	olds, news int
	ratio      float64
	// warming reports whether the new pods warm up for a minute, which isn't to be seen.
	warming bool
}

func (g gauges) values(random *rand.Rand) (news, olds []statistics.Gauge) {
	for i := range g.olds + g.news {
		level := 100 * (1 + 0.08*random.NormFloat64())
		state := random.NormFloat64()
		gauge := statistics.Gauge{Pod: fmt.Sprintf("web-%d", i)}
		for t := range minutes10 {
			state = 0.9*state + math.Sqrt(1-0.81)*random.NormFloat64()
			value := level * (1 + 0.10*state)
			if i >= g.olds {
				value *= g.ratio
				if g.warming && t < 4 {
					value = math.NaN()
				}
			}
			gauge.Values = append(gauge.Values, value)
		}
		if i < g.olds {
			olds = append(olds, gauge)
		} else {
			news = append(news, gauge)
		}
	}
	return news, olds
}

func TestGaugesOfUnchangedReleases(t *testing.T) {
	for _, pods := range [][2]int{{7, 3}, {5, 5}, {20, 3}, {9, 1}, {8, 2}} {
		for _, warming := range []bool{false, true} {
			t.Run(fmt.Sprintf("%d old and %d new pods, warming %t", pods[0], pods[1], warming), func(t *testing.T) {
				random := newRandom(t, 105)
				g := gauges{olds: pods[0], news: pods[1], ratio: 1, warming: warming}
				count(runs(), func() statistics.Finding {
					news, olds := g.values(random)
					return statistics.Gauges(news, olds, gaugeDefaults(), budget, true)
				}).atMost(t, budget)
			})
		}
	}
}

// Without tolerance the permutation is exact, so it fails with its share at most.
func TestGaugesWithoutTolerance(t *testing.T) {
	random := newRandom(t, 106)
	g := gauges{olds: 7, news: 3, ratio: 1}
	count(runs(), func() statistics.Finding {
		news, olds := g.values(random)
		return statistics.Gauges(news, olds, statistics.GaugeSettings{Tolerance: 1}, budget, true)
	}).atMost(t, budget)
}
