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
	"slices"
	"testing"

	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// steady returns gauges of pods that have one value each, in three looks.
func steady(values ...float64) (gauges []statistics.Gauge) {
	for i, v := range values {
		gauges = append(gauges, statistics.Gauge{Pod: fmt.Sprint(i), Values: []float64{v, v, v}})
	}
	return gauges
}

// gaugeDefaults are those of the custom resource.
func gaugeDefaults() statistics.GaugeSettings { return statistics.GaugeSettings{Tolerance: 1.2} }

func TestGauges(t *testing.T) {
	nan := math.NaN()
	seven := steady(10, 11, 12, 13, 14, 15, 16)
	for _, c := range []struct {
		name            string
		news, olds      []statistics.Gauge
		minDelta        float64
		share           float64
		verdict, reason string
		p               float64
	}{
		{"three above seven: one of 120 arrangements", steady(30, 31, 32), seven, 0, 0.01, "Fail", "CheckFailed", 1.0 / 120},
		{"the third just above", steady(30, 31, 19.5), seven, 0, 0.01, "Fail", "CheckFailed", 1.0 / 120},
		{"as many above as below", steady(30, 31, 1.2), seven, 0, 0.01, "Pass", "CheckPassed", 29.0 / 120},
		{"all the same", steady(12, 12, 12), steady(12, 12, 12, 12, 12, 12, 12), 0, 0.01, "Pass", "CheckPassed", 1},
		{"the difference doesn't matter", steady(30, 31, 32), seven, 100, 0.01, "Pass", "CheckPassed", 1},
		{"within the tolerance", steady(16, 16.5, 17), seven, 0, 0.01, "Pass", "CheckPassed", 34.0 / 120},
		{"negative values, further above", steady(-2, -3, -4), steady(-20, -21, -22, -23, -24, -25, -26), 0, 0.01, "Fail", "CheckFailed", 1.0 / 120},
		{"negative values, within the tolerance", steady(-19, -19, -19), steady(-20, -21, -22, -23, -24, -25, -26), 0, 0.01, "Pass", "CheckPassed", 35.0 / 120},
		{"120 arrangements can't be as rare as that: each above each", steady(30, 31, 32), seven, 0, 0.005, "Fail", "CheckFailed", nan},
		{"each above each but one", steady(30, 31, 16), seven, 0, 0.005, "Pass", "CheckPassed", nan},
		{"one pod", steady(30), seven, 0, 0.01, "Fail", "CheckFailed", nan},
		{"one pod, not above the tolerance", steady(19), seven, 0, 0.01, "Pass", "CheckPassed", nan},
		{"three pods, six old ones: 84 arrangements", steady(30, 31, 32), seven[:6], 0, 0.01, "Fail", "CheckFailed", nan},
		{"four pods, four old ones: 70 arrangements", steady(30, 31, 32, 33), seven[:4], 0, 0.01, "Inconclusive", "TooFewPods", nan},
		{"one pod, four old ones", steady(30), seven[:4], 0, 0.01, "Inconclusive", "TooFewPods", nan},
		{"not seen", steady(nan, nan), seven, 0, 0.01, "Inconclusive", "MissingOnNewPods", nan},
		{"none seen", steady(nan, nan), steady(nan, math.Inf(1)), 0, 0.01, "Inconclusive", "MetricMissing", nan},
		{"no old pods", steady(30), nil, 0, 0.01, "Inconclusive", "NoData", nan},
	} {
		settings := statistics.GaugeSettings{Tolerance: 1.2, MinDelta: c.minDelta}
		f := statistics.Gauges(c.news, c.olds, settings, c.share, true)
		if string(f.Verdict) != c.verdict || string(f.Reason) != c.reason || !(math.IsNaN(c.p) && math.IsNaN(f.PValue)) && math.Abs(f.PValue-c.p) > 1e-9 {
			t.Errorf("%s: %+v", c.name, f)
		}
		if early := statistics.Gauges(c.news, c.olds, settings, c.share, false); early.Verdict != "Inconclusive" {
			t.Errorf("%s, before the end: %+v", c.name, early)
		}
	}
	f := statistics.Gauges(steady(30, 31, 32), seven, gaugeDefaults(), 0.01, true)
	if f.New != 31 || f.Old != 13 || f.Superiority != 1 || f.MinimumDetectable < 1.2 || f.MinimumDetectable > 2.5 {
		t.Errorf("the numbers are %+v", f)
	}
	if f := statistics.Gauges(steady(10, 12), steady(10, 11, 12, 13, 14), statistics.GaugeSettings{Tolerance: 1.5}, 0.01, true); f.Superiority != 0.3 {
		t.Errorf("12 is greater than two of five and equal to one, 10 equal to one: %+v", f)
	}
}

// In the last look the new pod is above all old ones, in those before it wasn't.
func TestGaugesOfOneLook(t *testing.T) {
	news := []statistics.Gauge{{Values: []float64{10, 10, 30, 30}}}
	f := statistics.Gauges(news, steady(10, 11, 12, 13, 14, 15, 16), gaugeDefaults(), 0.01, true)
	if f.Verdict != "Pass" || f.New != 20 {
		t.Errorf("%+v", f)
	}
	near(t, "the minimum detectable ratio", f.MinimumDetectable, 1.2*16/13)
}

// One value that was looked at 15 times is one value: case 1 of kayenta 780.
func TestGaugesOfOneSeries(t *testing.T) {
	news := []float64{10, 10.1, 10.2, 10.3, 10.4, 10.5, 10.6, 17, 17.1, 17.2, 17.3, 17.4, 17.5, 17.6, 17.7}
	olds := []float64{1, 100, 4, 101, 5, 102, 6, 103, 7, 104, 8, 105, 9, 106, 17}
	f := statistics.Gauges([]statistics.Gauge{{Values: news}}, []statistics.Gauge{{Values: olds}}, gaugeDefaults(), budget, true)
	if f.Verdict != "Inconclusive" || f.Reason != "TooFewPods" || f.New != 17 || f.Old != 17 {
		t.Errorf("%+v", f)
	}
}

// With many pods the arrangements are drawn, the same ones each time, whatever the order of the pods.
func TestGaugesOfManyPods(t *testing.T) {
	random := newRandom(t, 9)
	news, olds := gauges{olds: 60, news: 40, ratio: 1.21}.values(random)
	f := statistics.Gauges(news, olds, gaugeDefaults(), budget, true)
	slices.Reverse(news)
	slices.Reverse(olds)
	if again := statistics.Gauges(news, olds, gaugeDefaults(), budget, true); again.PValue != f.PValue || f.PValue <= 1.0/2001 || f.PValue > 0.2 {
		t.Errorf("%+v, then %+v", f, again)
	}
	if f := statistics.Gauges(olds[:40], news[:3], statistics.GaugeSettings{Tolerance: 1}, budget, true); f.Verdict != "Pass" {
		t.Errorf("more new pods than old ones: %+v", f)
	}
}
