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
	"hash/fnv"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// pair returns looks at one new and one old pod with the events given, and so many requests each.
func pair(news, olds []float64, requests float64) []statistics.Look {
	looks := make([]statistics.Look, len(news))
	for t := range looks {
		looks[t] = statistics.Look{NewPods: 1, OldPods: 1,
			New: []statistics.Count{{Pod: "new", Bad: news[t], Total: requests}},
			Old: []statistics.Count{{Pod: "old", Bad: olds[t], Total: requests}},
		}
	}
	return looks
}

// near fails the test if two numbers differ by more than a thousandth.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-3*max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// The probability that an event falls on the new pod is 0.6 under the tolerated 1.5, and 0.6923, 0.7714, 0.8351, 0.8836, 0.9193, 0.9447,
// 0.9625, 0.9746, 0.9830, 0.9886 under the alternatives, 0.89551 on average. A fault from the first look on has the weight 0.98.
func TestConcurrentEvidenceByHand(t *testing.T) {
	near(t, "the evidence of an event on the new pod", statistics.Concurrent(pair([]float64{1}, []float64{0}, 100), anyDelta(), budget, false).Evidence, 0.98*0.89551/0.6)
	near(t, "that of one on the old pod", statistics.Concurrent(pair([]float64{0}, []float64{1}, 100), anyDelta(), budget, false).Evidence, 0.98*0.10449/0.4)
}

// Each look counts four times at most. With the k-th one, the weight of a fault that begins with it is added before, 0.02/(k(k-1)).
func TestConcurrentNeedsFourLooks(t *testing.T) {
	many, none := []float64{9000, 9000, 9000, 9000, 9000}, []float64{0, 0, 0, 0, 0}
	f := statistics.Concurrent(pair(many[:3], none[:3], 1e4), anyDelta(), budget, false)
	if f.Verdict != "Inconclusive" || f.Reason != "InProgress" || f.Looks != 3 {
		t.Errorf("after three looks: %+v", f)
	}
	near(t, "the evidence of three looks", f.Evidence, ((0.98*4+0.02/2)*4+0.02/6)*4)
	f = statistics.Concurrent(pair(many, none, 1e4), anyDelta(), budget, false)
	if f.Verdict != "Fail" || f.Reason != "CheckFailed" || f.Looks != 4 || !math.IsInf(f.Ratio, 1) || f.Threshold != 100 {
		t.Errorf("after five looks: %+v", f)
	}
	near(t, "the evidence of four looks", f.Evidence, (((0.98*4+0.02/2)*4+0.02/6)*4+0.02/12)*4)
	if f := statistics.Concurrent(pair(many, none, 1e4), anyDelta(), budget/10, false); f.Verdict != "Fail" || f.Looks != 5 {
		t.Errorf("one of ten checks: %+v", f)
	}
}

func TestConcurrentSettings(t *testing.T) {
	// 3 of 1000 against 1 of 1000 and look: the pods differ clearly, by 0.2%.
	looks := pair(slices.Repeat([]float64{3}, 200), slices.Repeat([]float64{1}, 200), 1000)
	if f := statistics.Concurrent(looks, statistics.Settings{Tolerance: 1.1, MinDelta: 0.001, MinEvents: 5, MaxDetectable: 5}, budget, true); f.Verdict != "Fail" {
		t.Errorf("a difference that matters: %+v", f)
	}
	if f := statistics.Concurrent(looks, statistics.Settings{Tolerance: 1.1, MinDelta: 0.003, MinEvents: 5, MaxDetectable: 5}, budget, true); f.Verdict == "Fail" {
		t.Errorf("a difference that doesn't matter: %+v", f)
	}
	if f := statistics.Concurrent(looks, statistics.Settings{Tolerance: 4, MinDelta: 0.001, MinEvents: 5, MaxDetectable: 5}, budget, true); f.Verdict == "Fail" {
		t.Errorf("a difference that is tolerated: %+v", f)
	}
	if f := statistics.Concurrent(looks, statistics.Settings{Tolerance: 1.1, MinDelta: 0.001, MinEvents: 700, MaxDetectable: 5}, budget, true); f.Verdict == "Fail" {
		t.Errorf("too few events: %+v", f)
	}
}

// Disputed cases of Spinnaker's judge: kayenta 426, 799 and 633, spinnaker 6278.
func TestConcurrentOfDisputedCases(t *testing.T) {
	for _, c := range []struct {
		name            string
		news, olds      []float64
		requests        float64
		verdict, reason string
	}{
		{"426, four errors against none are too few", []float64{0, 1, 2, 1, 0, 0}, make([]float64, 6), 50, "Inconclusive", "LowTraffic"},
		{"799, eleven errors against none", slices.Repeat([]float64{1}, 11), make([]float64, 11), 50, "Fail", "CheckFailed"},
		{"6278, 703 against 10", []float64{100, 100, 100, 100, 100, 100, 100, 1, 1, 1}, slices.Repeat([]float64{1}, 10), 500, "Fail", "CheckFailed"},
		{"633, 650% more", slices.Repeat([]float64{15}, 20), slices.Repeat([]float64{2}, 20), 500, "Fail", "CheckFailed"},
	} {
		f := statistics.Concurrent(pair(c.news, c.olds, c.requests), statistics.Defaults(), budget, true)
		if string(f.Verdict) != c.verdict || string(f.Reason) != c.reason {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestConcurrentWithoutData(t *testing.T) {
	unseen := func(news, olds int) []statistics.Look {
		looks := pair(slices.Repeat([]float64{9}, 9), make([]float64, 9), 10)
		for t := range looks {
			looks[t].New, looks[t].Old = looks[t].New[:news], looks[t].Old[:olds]
		}
		return looks
	}
	partly := pair(slices.Repeat([]float64{9}, 9), make([]float64, 9), 10)
	for t := range partly {
		partly[t].NewPods = 2
	}
	for _, c := range []struct {
		name   string
		looks  []statistics.Look
		reason string
	}{
		{"no looks", nil, "NoData"},
		{"neither", unseen(0, 0), "MetricMissing"},
		{"old pods alone", unseen(0, 1), "MissingOnNewPods"},
		{"new pods alone", unseen(1, 0), "NoData"},
		{"half of the new pods", partly, "NoData"},
		{"no requests", pair(make([]float64, 9), make([]float64, 9), 0), "LowTraffic"},
		{"few requests", pair(make([]float64, 9), make([]float64, 9), 5), "LowTraffic"},
	} {
		if f := statistics.Concurrent(c.looks, statistics.Defaults(), budget, true); f.Verdict != "Inconclusive" || string(f.Reason) != c.reason {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

// The pods turn bad after they passed.
func TestConcurrentFailsAfterAPass(t *testing.T) {
	news := append(slices.Repeat([]float64{10}, 10), slices.Repeat([]float64{200}, 30)...)
	looks := pair(news, slices.Repeat([]float64{10}, 40), 1000)
	if f := statistics.Concurrent(looks[:10], anyDelta(), budget, false); f.Verdict != "Pass" || f.Reason != "PassedEarly" || f.Looks >= 10 {
		t.Errorf("at first %+v", f)
	}
	if f := statistics.Concurrent(looks, anyDelta(), budget, false); f.Verdict != "Fail" || f.Looks <= 10 {
		t.Errorf("later %+v", f)
	}
}

// Many requests without any error pass early, though no ratio is known.
func TestConcurrentWithoutErrors(t *testing.T) {
	f := statistics.Concurrent(pair(make([]float64, 20), make([]float64, 20), 500), statistics.Defaults(), budget, false)
	if f.Verdict != "Pass" || f.Reason != "PassedEarly" || f.Ratio != 1 {
		t.Errorf("%+v", f)
	}
}

// noisyLooks returns looks at old pods that fall apart in the halves by their names after ten looks, and at a new pod like the worse half.
// Before, the pods have an error now and then, or each has one in each look.
func noisyLooks(n int, everywhere, otherHalf bool) (looks []statistics.Look) {
	one, other := halves()
	if otherHalf {
		one, other = other, one
	}
	names := slices.Concat(one, other)
	for i := range n {
		early := i < 10
		newBad := 3.0
		if early {
			newBad = 0
		}
		if early && everywhere {
			newBad = 1
		}
		look := statistics.Look{NewPods: 1, OldPods: 8, New: []statistics.Count{{Pod: "new", Bad: newBad, Total: 100}}}
		for p, name := range names {
			pod := statistics.Count{Pod: name, Total: 100}
			if !early && p < 4 {
				pod.Bad = 3
			} else if early && (everywhere || i%8 == p) {
				pod.Bad = 1
			}
			look.Old = append(look.Old, pod)
		}
		looks = append(looks, look)
	}
	return looks
}

// halves returns four names of pods of each half.
func halves() (one, other []string) {
	names := [2][]string{}
	for i := range 40 {
		name := fmt.Sprintf("web-%d", i)
		h := fnv.New32a()
		_, _ = h.Write([]byte(name))
		if half := h.Sum32() >> 16 & 1; len(names[half]) < 4 {
			names[half] = append(names[half], name)
		}
	}
	return names[0], names[1]
}

// While the old pods fall apart in two halves, a metric says nothing about new pods.
func TestConcurrentOfANoisyMetric(t *testing.T) {
	for _, c := range []struct {
		name            string
		everywhere      bool
		looks           int
		verdict, reason string
	}{
		{"an error now and then", false, 40, "Inconclusive", "NoisyMetric"},
		{"passed before, with errors everywhere", true, 200, "Pass", "PassedEarly"},
	} {
		for _, otherHalf := range []bool{false, true} {
			f := statistics.Concurrent(noisyLooks(c.looks, c.everywhere, otherHalf), anyDelta(), budget, true)
			if string(f.Verdict) != c.verdict || string(f.Reason) != c.reason || f.Looks == c.looks {
				t.Errorf("%s: %+v", c.name, f)
			}
		}
	}
}

// A verdict stands, and whoever computes it from however many looks finds the same.
func TestConcurrentOfMoreLooks(t *testing.T) {
	random := newRandom(t, 8)
	for range 40 {
		looks := world{olds: 4, news: 2, base: 0.01, requests: 100, ratio: 4}.looks(random, minutes10)
		all := statistics.Concurrent(looks, anyDelta(), budget, true)
		for n := range looks {
			f := statistics.Concurrent(looks[:n], anyDelta(), budget, false)
			if f.Verdict == statistics.Fail && f.Looks != all.Looks || n >= all.Looks && all.Verdict == statistics.Fail && f.Evidence != all.Evidence {
				t.Fatalf("after %d looks %+v, after all %+v", n, f, all)
			}
		}
	}
}

func TestBeforeByHand(t *testing.T) {
	past := func(bad float64, n int) (looks []statistics.Look) {
		for range n {
			looks = append(looks, statistics.Look{OldPods: 1, Old: []statistics.Count{{Pod: "old", Bad: bad, Total: 100}}})
		}
		return looks
	}
	quiet := past(0, 10)
	in := func(each time.Duration, bad float64, n, others int) (looks []statistics.Look) {
		for range n {
			looks = append(looks, statistics.Look{Time: each, NewPods: 1, Others: others, New: []statistics.Count{{Pod: "new", Bad: bad, Total: 100}}})
		}
		return looks
	}
	news := func(bad float64, n, others int) []statistics.Look { return in(time.Minute, bad, n, others) }
	// No event in 1000 requests: at most 5.2983 in 1000 with 99.5%, of which 1.5 times are tolerated. An event in 100 requests then is
	// evidence of 1.5^j exp(-(1.5^j - 1) 0.79475), 0.25962 on average. A fault from the first look on has the weight 0.98.
	near(t, "the evidence", statistics.Before(quiet, news(1, 1, 0), anyDelta(), budget, false).Evidence, 0.98*0.25962)
	near(t, "the most evidence of 50 s", statistics.Before(quiet, in(50*time.Second, 50, 1, 0), anyDelta(), budget, false).Evidence, 0.98*4)
	near(t, "the most evidence of 25 s", statistics.Before(quiet, in(25*time.Second, 50, 1, 0), anyDelta(), budget, false).Evidence, 0.98*2)
	for _, c := range []struct {
		name            string
		before, looks   []statistics.Look
		verdict, reason string
	}{
		{"many errors", quiet, news(50, 4, 0), "Fail", "CheckFailed"},
		{"three looks don't suffice", quiet, news(50, 3, 0), "Inconclusive", "LowTraffic"},
		{"short looks", quiet, in(15*time.Second, 50, 13, 0), "Fail", "CheckFailed"},
		{"too few short looks", quiet, in(15*time.Second, 50, 12, 0), "Inconclusive", "LowTraffic"},
		{"others fail too", quiet, news(50, 9, 1), "Inconclusive", "CommonCause"},
		{"others fail too, and then not any more", quiet, append(news(50, 9, 1), news(50, 4, 0)...), "Fail", "CheckFailed"},
		{"nothing is known of before", nil, news(50, 9, 0), "Inconclusive", "NoData"},
		{"little is known of before", past(0, 4), news(50, 9, 0), "Inconclusive", "NoData"},
		{"no new pod was seen", quiet, nil, "Inconclusive", "NoData"},
		{"the new pods have no counters", quiet, []statistics.Look{{Time: time.Minute, NewPods: 1}}, "Inconclusive", "MissingOnNewPods"},
		{"a minute without errors", quiet, news(0, 4, 0), "Inconclusive", "LowTraffic"},
		{"long without errors", quiet, news(0, 20, 0), "Pass", "PassedEarly"},
	} {
		if f := statistics.Before(c.before, c.looks, statistics.Defaults(), budget, true); string(f.Verdict) != c.verdict || string(f.Reason) != c.reason {
			t.Errorf("%s: %+v", c.name, f)
		}
	}
}

func TestDispersionByHand(t *testing.T) {
	looks := func(counts ...[]float64) (looks []statistics.Look) {
		for _, bads := range counts {
			look := statistics.Look{NewPods: 1, OldPods: len(bads), New: []statistics.Count{{Pod: "new", Total: 1}}}
			for i, bad := range bads {
				look.Old = append(look.Old, statistics.Count{Pod: fmt.Sprint(i), Bad: bad, Total: 1000})
			}
			looks = append(looks, look)
		}
		return looks
	}
	uneven, many := []float64{0, 0, 0, 0, 5, 5, 5, 5}, []float64{4, 4, 4, 4, 16, 16, 16, 16}
	for _, c := range []struct {
		name   string
		looks  []statistics.Look
		within float64
	}{
		{"a lone pod, bursts: 40/3 in time", looks([]float64{0}, []float64{20}, []float64{0}, []float64{20}), 40.0 / 3},
		{"a lone pod, steady: taken to differ from others by 45%", looks([]float64{10}, []float64{10}, []float64{10}, []float64{10}), 9.1},
		{"two pods: three more would be needed to tell", looks([]float64{10, 10}, []float64{10, 10}, []float64{10, 10}, []float64{10, 10}), 6.825},
		{"pods that differ in one look", looks(uneven), 20.0 / 7},
		{"pods that differ in a look that counts as one of 20 events", looks(many), (28.8/4 + 7*3/4.0) / 7},
		{"the same after a look of 40 events, half of which counted", looks([]float64{5, 5, 5, 5, 5, 5, 5, 5}, many), (7/2.0 + 28.8) / 14},
		{"pods that differ in four looks, four times as much", looks(uneven, uneven, uneven, uneven), 80.0 / 7},
		{"all pods at the same time", looks([]float64{0, 0, 0, 0, 0}, []float64{8, 8, 8, 8, 8}), 1},
	} {
		near(t, c.name+", dispersion", statistics.Concurrent(c.looks, anyDelta(), budget, false).Dispersion, c.within)
	}
	after := []statistics.Look{{Time: time.Minute, NewPods: 1, New: []statistics.Count{{Pod: "new", Bad: 60, Total: 1000}}}}
	for _, c := range []struct {
		name                 string
		minutes              [2][]float64
		dispersion, evidence float64
	}{
		// 100 events and a dispersion of 21.25 make the rate 13.698*21.25 in 10000 at most, with 99.5%. The weight of a fault from the first look on is 0.98.
		{"a lone pod, steady", [2][]float64{{10}, {10}}, 1, 0.98 * 0.40027},
		{"a lone pod, bursts", [2][]float64{{0}, {20}}, 100.0 / 9, 0},
		{"pods that differ", [2][]float64{uneven, uneven}, 1, 0},
		{"all pods at the same time", [2][]float64{{0, 0, 0, 0, 0}, {8, 8, 8, 8, 8}}, 200.0 / 9, 0},
	} {
		var past []statistics.Look
		for range 5 {
			past = append(past, looks(c.minutes[:]...)...)
		}
		f := statistics.Before(past, after, anyDelta(), budget, false)
		near(t, c.name+", dispersion before", f.Dispersion, c.dispersion)
		near(t, c.name+", evidence needed before", f.Threshold, 200)
		if c.evidence > 0 {
			near(t, c.name+", evidence", f.Evidence, c.evidence)
		}
	}
}
