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

package ratio_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// replaced is a Deployment whose six pods were all replaced by the third moment.
func replaced() *checks.Scene { return replacedAt(began.Add(interval)) }

// replacedAt is replaced, but at a time.
func replacedAt(at time.Time) *checks.Scene {
	release := &checks.Scene{Kind: "Deployment", Namespace: "shop", Name: "web", Began: began}
	for i := range 6 {
		name := fmt.Sprintf("web-7d4b9-x7k2%d", i+2)
		release.New = append(release.New, checks.Pod{Name: name, UID: types.UID(name), Since: at, Created: at, Ready: true})
	}
	return release
}

// since has the counters of the new pods of replaced at so many moments, with so many of a thousand events bad, beside old pods until a moment.
func since(count int, bad float64, oldUntil int) ratio.Counters {
	counters := ratio.Counters{Moments: moments(count), Bad: map[string][]float64{}, Total: map[string][]float64{}}
	for i := range 6 {
		name, old := fmt.Sprintf("web-7d4b9-x7k2%d", i+2), fmt.Sprintf("web-5c6f8-b2c4%d", i+2)
		counters.Bad[name], counters.Total[name] = rising(2, count, bad), rising(2, count, 1000)
		counters.Bad[old], counters.Total[old] = until(oldUntil, rising(0, count, 2)), until(oldUntil, rising(0, count, 1000))
	}
	return counters
}

// minutes is how long the past of the tests goes on after the release began.
const minutes = 6

// before has the counters of the old pods of replaced from half an hour before the release, with 0.2% of the events bad, until it began, and
// the rates of others, with as many bad ones of so many a second until a minute after the release, and then so many times as many.
func before(total, times float64) ratio.Past {
	past := ratio.Past{Counters: ratio.Counters{Bad: map[string][]float64{}, Total: map[string][]float64{}}}
	for minute := -30; minute <= minutes; minute++ {
		past.Moments = append(past.Moments, began.Add(time.Duration(minute)*time.Minute))
		bad := 0.002 * total
		if minute > 1 {
			bad *= times
		}
		past.Others.Moments = past.Moments
		past.Others.Bad, past.Others.Total = append(past.Others.Bad, bad), append(past.Others.Total, total)
	}
	for i := range 6 {
		name := fmt.Sprintf("web-5c6f8-b2c4%d", i+2)
		past.Bad[name], past.Total[name] = until(30, rising(0, len(past.Moments), 8)), until(30, rising(0, len(past.Moments), 4000))
	}
	return past
}

func TestNeedsPastChoosesWhatAReleaseIsComparedWith(t *testing.T) {
	for name, row := range map[string]struct {
		baseline appv1alpha1.RatioBaseline
		// looks of the new pods after their warm-up, and of the old ones beside them.
		news, both int
		needs      bool
	}{
		"old pods are there":                        {"Auto", 8, 8, false},
		"old pods were there for four looks":        {"Auto", 8, 4, false},
		"old pods were there for three looks":       {"Auto", 8, 3, true},
		"no old pods were there":                    {"Auto", 8, 0, true},
		"no old pods were there, for three looks":   {"Auto", 3, 0, false},
		"no old pods were there, for four looks":    {"Auto", 4, 0, true},
		"no baseline is Auto":                       {"", 4, 0, true},
		"only old pods at the same time":            {"Concurrent", 8, 0, false},
		"only the past":                             {"Before", 8, 8, true},
		"only the past, while the new ones warm up": {"Before", 0, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			check := comparison()
			check.Comparison.Baseline = row.baseline
			counters := since(row.news+4, 2, row.both+3)
			g.Expect(ratio.NeedsPast(replaced(), check, counters, interval)).To(Equal(row.needs))
			g.Expect(ratio.NeedsPast(replaced(), threshold(), counters, interval)).To(BeFalse(), "a threshold")
			g.Expect(ratio.NeedsPast(&checks.Scene{Began: began}, check, counters, interval)).To(BeFalse(), "no pod finished")
		})
	}
}

func TestJudgeComparesWithThePast(t *testing.T) {
	const old = "0.2% before the release"
	without := func(change func(*ratio.Past)) ratio.Past {
		past := before(100, 1)
		change(&past)
		return past
	}
	for name, row := range map[string]struct {
		counters                 ratio.Counters
		past                     ratio.Past
		verdict, reason, message string
	}{
		"more errors": {since(24, 32, 2), before(100, 1), "Fail", "CheckFailed",
			"3.2% on 6 new pods (2880 events), " + old + " (x16, less than x3 is tolerated)"},
		"more errors, but not for three minutes": {since(15, 32, 2), before(100, 1), "Inconclusive", "LowTraffic",
			"3.2% on 6 new pods (2112 events), " + old + " (x16, less than x3 is tolerated)"},
		"as many": {since(24, 2, 2), before(100, 1), "Pass", "PassedEarly", "0.2% on 6 new pods (108 events), " + old + " (x1, less than x3 is tolerated)"},
		"less than three times": {since(24, 5.9, 2), before(100, 1), "Pass", "CheckPassed",
			"0.59% on 6 new pods (708 events), " + old + " (x2.95, less than x3 is tolerated), x3.51 would have been found"},
		"more errors, and old pods beside the new ones": {since(24, 32, 8), before(100, 1), "Fail", "CheckFailed",
			"3.2% on 6 new pods (768 events), 0.2% on 6 old pods (x16, tolerated x1.5)"},
		"other pods have more, too": {since(24, 32, 2), before(100, 10), "Inconclusive", "CommonCause",
			"more on 6 new pods than before the release, as on the other pods of the namespace"},
		"other pods have slightly more": {since(24, 32, 2), before(100, 1.4), "Fail", "CheckFailed", ""},
		"other pods have few events":    {since(24, 32, 2), before(1, 10), "Fail", "CheckFailed", ""},
		"other pods have no bad events": {since(24, 32, 2), without(func(past *ratio.Past) { past.Others.Bad = nil }), "Fail", "CheckFailed", ""},
		"no other pods":                 {since(24, 32, 2), without(func(past *ratio.Past) { past.Others = ratio.Rates{} }), "Fail", "CheckFailed", ""},
		"other pods that began with the release": {since(24, 32, 2), without(func(past *ratio.Past) {
			for i := range 31 {
				past.Others.Total[i] = math.NaN()
			}
		}), "Fail", "CheckFailed", ""},
		"old pods that fail while they are replaced": {since(24, 32, 2), without(func(past *ratio.Past) {
			for name, values := range past.Bad {
				for i := 31; i < len(values); i++ {
					values[i], past.Total[name][i] = values[30]+4000*float64(i-30), past.Total[name][30]+4000*float64(i-30)
				}
			}
		}), "Fail", "CheckFailed", "3.2% on 6 new pods (2880 events), " + old + " (x16, less than x3 is tolerated)"},
		"no past": {since(24, 32, 2), ratio.Past{}, "Inconclusive", "NoData", "series in 120 of 120 looks at 6 new pods, and nothing before the release to compare with"},
		"old pods without the metric": {since(24, 32, 2), without(func(past *ratio.Past) { past.Bad, past.Total = nil, nil }), "Inconclusive", "NoData",
			"series in 120 of 120 looks at 6 new pods, and nothing before the release to compare with"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := ratio.Judge(replaced(), comparison(), row.counters, row.past, measure.Terms{Warmup: interval, Share: 0.01, Ended: true})
			g.Expect(string(found.Verdict)+" "+found.Reason).To(Equal(row.verdict+" "+row.reason), found.Message)
			if row.message != "" {
				g.Expect(found.Message).To(Equal(row.message))
			}
		})
	}
}

func TestLeastLooksAtThePastAreThoseThatAFailureNeeds(t *testing.T) {
	for seconds, want := range map[int32]int{10: 20, 15: 13, 30: 7, 45: 5, 60: 4, 300: 4} {
		check := comparison()
		check.Comparison.Baseline = "Before"
		least := int(ratio.LeastLooks(check, seconds))
		NewWithT(t).Expect(least).To(Equal(want), "every %d s", seconds)
		for looks, verdict := range map[int]string{least: "Fail", least - 1: "Pass"} {
			counters := since(looks+3, 900, 2)
			for i := range counters.Moments {
				counters.Moments[i] = began.Add(time.Duration(i-2) * time.Duration(seconds) * time.Second)
			}
			found := ratio.Judge(replacedAt(began), check, counters, before(100, 1), measure.Terms{Share: 0.01})
			NewWithT(t).Expect(string(found.Verdict)).To(Equal(verdict), "%d looks, one every %d s", looks, seconds)
		}
	}
}

// Old pods that were there for some minutes only are part of the past, those that came with the release aren't.
func TestJudgeKnowsThePodsOfThePast(t *testing.T) {
	past := before(100, 1)
	for i := range 6 {
		name := fmt.Sprintf("web-5c6f8-b2c4%d", i+2)
		for _, values := range [][]float64{past.Bad[name], past.Total[name]} {
			for moment := range 6 + 4*i {
				values[moment] = math.NaN()
			}
		}
	}
	past.Bad["web-5c6f8-zzzzz"], past.Total["web-5c6f8-zzzzz"] = rising(31, 37, 4000), rising(31, 37, 4000)
	found := ratio.Judge(replaced(), comparison(), since(24, 32, 2), past, measure.Terms{Warmup: interval, Share: 0.01})
	NewWithT(t).Expect(found.Message).To(HavePrefix("3.2% on 6 new pods"))
	NewWithT(t).Expect(found.Message).To(ContainSubstring(", 0.2% before the release"))
}

func TestCheckQueriesOfOthers(t *testing.T) {
	g := NewWithT(t)
	check := errorsOf(appv1alpha1.MetricSelector{Metric: "requests_total", Matchers: []string{`job="web"`}}, appv1alpha1.MetricSelector{Matchers: []string{`code=~"5.."`}})
	queries, err := check.QueriesOfOthers(&checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web"}, names())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(queries).To(Equal([]string{
		`sum by () (rate(requests_total{code=~"5..",job="web",ns="shop",exported_pod!="",exported_pod!~"web-[0-9]+"}[2m]))`,
		`sum by () (rate(requests_total{job="web",ns="shop",exported_pod!="",exported_pod!~"web-[0-9]+"}[2m]))`,
	}))
	for _, query := range queries {
		_, err := parser.NewParser(parser.Options{}).ParseExpr(query)
		g.Expect(err).NotTo(HaveOccurred())
	}
}

func TestCheckJudgesByThePastThatWasRead(t *testing.T) {
	read := func(counters ratio.Counters) *measure.Readings {
		readings := &measure.Readings{Moments: counters.Moments, PodLabel: "exported_pod", Answers: make([][]measure.Series, 2)}
		for i, values := range []map[string][]float64{counters.Bad, counters.Total} {
			for name := range values {
				readings.Answers[i] = append(readings.Answers[i], measure.Series{Labels: map[string]string{"exported_pod": name}, Values: values[name]})
			}
		}
		return readings
	}
	for times, want := range map[float64]string{1: "Fail CheckFailed", 10: "Inconclusive CommonCause"} {
		g := NewWithT(t)
		readings, past := read(since(24, 32, 2)), before(100, times)
		readings.Past = read(past.Counters)
		readings.Others = &measure.Readings{
			Moments: past.Others.Moments, Answers: [][]measure.Series{{{Values: past.Others.Bad}}, {{Values: past.Others.Total}}},
		}
		check := ratio.Check{Spec: &appv1alpha1.RatioCheck{RatioObjective: *comparison()}}
		g.Expect(check.NeedsPast(replaced(), *readings, interval)).To(BeTrue())
		found := check.Judge(replaced(), *readings, measure.Terms{Warmup: interval, Share: 0.01, Ended: true})
		g.Expect(string(found.Verdict)+" "+found.Reason).To(Equal(want), found.Message)
		readings.Others.Answers = nil
		found = check.Judge(replaced(), *readings, measure.Terms{Warmup: interval, Share: 0.01, Ended: true})
		g.Expect(string(found.Verdict)).To(Equal("Fail"), "others have no series")
	}
}
