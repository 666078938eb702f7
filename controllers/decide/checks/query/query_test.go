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

package query_test

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/query"
)

const interval = 15 * time.Second

var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func between(lowest, highest string, consecutive int32) query.Check {
	return query.Check{Spec: &appv1alpha1.QueryCheck{Query: "sum(up)", Min: lowest, Max: highest, Consecutive: consecutive}}
}

// scene has a new and an old pod of the workload web.
func scene() *checks.Scene {
	return &checks.Scene{
		Kind: "Deployment", Namespace: "shop", Name: "web", Version: "6a8f", Began: began,
		New: []checks.Pod{{Name: "web-7d4b9-x7k2p", UID: types.UID("uid-new")}}, Old: []checks.Pod{{Name: "web-5c6f8-b2c4d"}},
	}
}

// readings has series with values from two looks before the release began.
func readings(series ...[]float64) measure.Readings {
	read := measure.Readings{Answers: [][]measure.Series{nil}}
	for _, values := range series {
		read.Moments = nil
		for i := range values {
			read.Moments = append(read.Moments, began.Add(time.Duration(i-2)*interval))
		}
		read.Answers[0] = append(read.Answers[0], measure.Series{Values: values})
	}
	return read
}

func TestJudge(t *testing.T) {
	none := math.NaN()
	for name, row := range map[string]struct {
		check    query.Check
		readings measure.Readings
		// expected is at the end. Before, the check only fails.
		expected string
	}{
		"values that pass": {between("0.99", "1", 3), readings([]float64{0, 0, 0, 0, 0.995, 1, 0.99}), "Pass CheckPassed 0.99 at the last of 3 looks"},
		"too low": {
			between("0.99", "", 3), readings([]float64{1, 1, 1, 1, 0.98, 0.5, 0.93}), "Fail CheckFailed 0.93 is below 0.99 in 3 looks running",
		},
		"too high": {
			between("-10", "-2.5", 2), readings([]float64{-3, -3, -3, -3, -2, 1.0 / 3, -3}), "Fail CheckFailed 0.333333 is above -2.5 in 2 looks running",
		},
		"too high once": {
			between("", "1000000000", 1), readings([]float64{0, 0, 0, 0, 2e9, 0}), "Fail CheckFailed 2e+09 is above 1000000000 in 1 look running",
		},
		"the smallest that passes":          {between("2", "", 1), readings([]float64{0, 0, 0, 0, 2}), "Pass CheckPassed 2 at the last of 1 look"},
		"the largest that passes":           {between("", "2", 1), readings([]float64{0, 0, 0, 0, 2}), "Pass CheckPassed 2 at the last of 1 look"},
		"before, at and during the warm-up": {between("", "1", 1), readings([]float64{5, 5, 5, 5, 0}), "Pass CheckPassed 0 at the last of 1 look"},
		"a look that passes interrupts": {
			between("", "1", 3), readings([]float64{0, 0, 0, 0, 5, 5, 0, 5, 5}), "Pass CheckPassed 5 at the last of 5 looks",
		},
		"one without a value doesn't": {
			between("", "1", 2), readings([]float64{0, 0, 0, 0, 5, none, 5, 0}), "Fail CheckFailed 5 is above 1 in 2 looks running",
		},
		"one without a value doesn't count": {
			between("", "1", 2), readings([]float64{0, 0, 0, 0, 5, none, none}), "Pass CheckPassed 5 at the last of 1 look",
		},
		"what failed stands": {
			between("", "1", 2), readings([]float64{0, 0, 0, 0, 5, 6, 0, 0}), "Fail CheckFailed 6 is above 1 in 2 looks running",
		},
		"no series": {between("", "1", 2), readings(), "Inconclusive NoData the query returns no value"},
		"no answer": {between("", "1", 2), measure.Readings{}, "Inconclusive NoData the query returns no value"},
		"no value":  {between("", "1", 2), readings([]float64{5, 5, 5, 5, none}), "Inconclusive NoData the query returns no value"},
		"several series, of which all are too high": {
			between("", "1", 1), readings([]float64{0, 0, 0, 0, 5}, []float64{0, 0, 0, 0, 5}),
			"Inconclusive NotOneSeries the query returns 2 series instead of one: aggregate them, such as by sum()",
		},
		"a limit that the API server denies": {
			between("", "1s", 1), readings([]float64{0, 0, 0, 0, 5}),
			`Inconclusive EvaluationError max: "1s" is not a number: strconv.ParseFloat: parsing "1s": invalid syntax`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, ended := range []bool{true, false} {
				found := row.check.Judge(scene(), row.readings, measure.Terms{Warmup: interval, Ended: ended, Again: time.Second})
				said := string(found.Verdict) + " " + found.Reason + " " + found.Message
				if !ended && found.Verdict != "Fail" {
					g.Expect(said).To(Equal("Pass CheckPassed "))
					g.Expect(found.Final).To(BeFalse())
					g.Expect(found.Again).To(Equal(time.Second))
					continue
				}
				g.Expect(said).To(Equal(row.expected))
				g.Expect(found.Final).To(Equal(found.Verdict == "Pass"))
				g.Expect(found.Broken).To(Equal(found.Reason == "EvaluationError"))
				if found.Verdict == "Fail" {
					g.Expect(found.Pods).To(Equal([]appv1alpha1.CheckedPod{{Pod: "web-7d4b9-x7k2p", UID: "uid-new", Message: found.Message}}))
				}
			}
		})
	}
}

// Where further looks come, one look that doesn't pass lets nothing pass for good.
func TestJudgeWaitsForFurtherLooks(t *testing.T) {
	none := math.NaN()
	for name, row := range map[string]struct {
		values   []float64
		wait     time.Duration
		expected string
	}{
		"one that doesn't pass":           {[]float64{0, 0, 0, 0, 0, 5}, time.Minute, "Inconclusive InProgress 5 is above 1 in 1 of 3 looks running"},
		"two, the last without a value":   {[]float64{0, 0, 0, 0, 5, 6, none}, time.Minute, "Inconclusive InProgress 6 is above 1 in 2 of 3 looks running"},
		"three":                           {[]float64{0, 0, 0, 0, 5, 6, 7}, time.Minute, "Fail CheckFailed 7 is above 1 in 3 looks running"},
		"the last one passes":             {[]float64{0, 0, 0, 0, 5, 6, 1}, time.Minute, "Pass CheckPassed 1 at the last of 3 looks"},
		"nothing waits":                   {[]float64{0, 0, 0, 0, 0, 5}, 0, "Pass CheckPassed 5 at the last of 2 looks"},
		"no further look comes meanwhile": {[]float64{0, 0, 0, 0, 0, 5}, interval, "Pass CheckPassed 5 at the last of 2 looks"},
	} {
		found := between("", "1", 3).Judge(scene(), readings(row.values), measure.Terms{Warmup: interval, Ended: true, Wait: row.wait})
		g := NewWithT(t)
		g.Expect(string(found.Verdict)+" "+found.Reason+" "+found.Message).To(Equal(row.expected), name)
		g.Expect(found.Broken).To(BeFalse(), name)
		g.Expect(found.Numbers.Threshold).To(Equal("1"), name)
	}
}

func TestJudgeHasTheValueAndItsLimit(t *testing.T) {
	for name, row := range map[string]struct {
		check  query.Check
		values []float64
		want   *appv1alpha1.CheckNumbers
	}{
		"that is too low":                {between("0.99", "", 1), []float64{0, 0, 0, 0, 0.98}, &appv1alpha1.CheckNumbers{New: "0.98", Threshold: "0.99"}},
		"that is too high, of two":       {between("-10", "-2.5", 1), []float64{0, 0, 0, 0, 1.0 / 3}, &appv1alpha1.CheckNumbers{New: "0.333333", Threshold: "-2.5"}},
		"that is too low, of two":        {between("-10", "-2.5", 1), []float64{0, 0, 0, 0, -11}, &appv1alpha1.CheckNumbers{New: "-11", Threshold: "-10"}},
		"that passes the lowest":         {between("0.99", "", 1), []float64{0, 0, 0, 0, 1}, &appv1alpha1.CheckNumbers{New: "1", Threshold: "0.99"}},
		"that passes the highest":        {between("", "2", 1), []float64{0, 0, 0, 0, 1}, &appv1alpha1.CheckNumbers{New: "1", Threshold: "2"}},
		"that passes both, which is all": {between("0", "2", 1), []float64{0, 0, 0, 0, 1}, &appv1alpha1.CheckNumbers{New: "1"}},
		"that is infinite":               {between("", "2", 1), []float64{0, 0, 0, 0, math.Inf(1)}, &appv1alpha1.CheckNumbers{Threshold: "2"}},
		"that isn't there":               {between("", "2", 1), []float64{0, 0, 0, 0, math.NaN()}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(row.check.Judge(scene(), readings(row.values), measure.Terms{Warmup: interval, Ended: true}).Numbers).To(Equal(row.want))
			g.Expect(row.check.JudgePresent(scene(), readings(row.values)).Numbers).To(Equal(row.want), "at present")
		})
	}
}

func TestProblems(t *testing.T) {
	for name, row := range map[string]struct {
		query, lowest, highest string
		problems               []string
	}{
		"none":              {`sum(rate(errors_total{pod=~"$newPods"}[1m])) / 2`, "-1.5", "2", nil},
		"none of a number":  {`scalar(up{job="$workload"})`, "", "2", nil},
		"none of one value": {`up`, "2", "2", nil},
		"the smallest one":  {`up`, "x", "", []string{`min: "x" is not a number: strconv.ParseFloat: parsing "x": invalid syntax`}},
		"both":              {`up`, "2", "1", []string{"min: 2 is larger than max, 1: no value passes"}},
		"no PromQL":         {"sum(\n  up", "", "1", []string{"query: 2:5: parse error: unclosed left parenthesis"}},
		"a template": {
			`up{job="a"}[{{.Range}}]`, "", "1",
			[]string{`query: 1:13: parse error: unexpected character in duration expression: '{'`},
		},
		"a range": {`up[5m]`, "", "1", []string{"query: 1:1: a range vector is no value: take one, such as by rate() or sum()"}},
		"a subquery": {
			`rate(up[1m])[5m:15s]`, "", "1",
			[]string{"query: 1:1: a range vector is no value: take one, such as by rate() or sum()"},
		},
		"a text": {`"up"`, "", "1", []string{"query: 1:1: a string is no value: take one, such as by rate() or sum()"}},
		"info":   {`info(up)`, "", "1", []string{`query: 1:1: parse error: function "info" is not enabled`}},
		"unknown variables": {
			"sum(\n  up{job=\"$job\"})", "", "1",
			[]string{`query: 2:3: the matcher job="$job": $job is unknown: there are $namespace, $workload, $kind, $version, $newPods and $oldPods`},
		},
		"a longer name": {
			`up{a=~"$kind_1"}`, "", "1",
			[]string{`query: 1:1: the matcher a=~"$kind_1": $kind_1 is unknown: there are $namespace, $workload, $kind, $version, $newPods and $oldPods`},
		},
		"pods as a text": {
			`rate(up{pod="$newPods"}[5m])`, "", "1",
			[]string{`query: 1:6: the matcher pod="$newPods": $newPods is for the operators =~ and !~`},
		},
		"no pods as a text": {
			`max_over_time(rate(a[1m])[5m:1m]) - a{pod!="$oldPods"}`, "", "1",
			[]string{`query: 1:37: the matcher pod!="$oldPods": $oldPods is for the operators =~ and !~`},
		},
		"characters of one": {
			`up{pod=~"[$workload]"}`, "", "1",
			[]string{"query: 1:1: the matcher pod=~\"[$workload]\": error parsing regexp: missing closing ]: `[]`"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			check := between(row.lowest, row.highest, 1)
			check.Spec.Query = row.query
			NewWithT(t).Expect(check.Problems()).To(Equal(row.problems))
		})
	}
}

func TestCheckNeedsItsLooksAndNoBudget(t *testing.T) {
	g := NewWithT(t)
	check := between("", "1", 5)
	check.Spec.SourceRef.Name = "prometheus"
	g.Expect(check.Source()).To(Equal("prometheus"))
	g.Expect(check.LeastLooks(15)).To(Equal(int32(5)))
	g.Expect(check.Spends()).To(Equal(measure.Nothing))
}

func TestJudgePresent(t *testing.T) {
	none := math.NaN()
	for name, row := range map[string]struct {
		check    query.Check
		readings measure.Readings
		expected string
	}{
		"a value that passes, during the warm-up": {between("1", "2", 3), readings([]float64{5, 5, 2}), "Pass CheckPassed 2"},
		"one that is too high, once":              {between("", "2", 3), readings([]float64{1, 1, 2.5}), "Fail CheckFailed 2.5 is above 2"},
		"one that is too low":                     {between("1", "", 3), readings([]float64{1, 1, 0.5}), "Fail CheckFailed 0.5 is below 1"},
		"none now":                                {between("1", "", 3), readings([]float64{1, 1, none}), "Inconclusive NoData the query returns no value"},
		"none at all":                             {between("1", "", 3), readings([]float64{}), "Inconclusive NoData the query returns no value"},
		"no series":                               {between("1", "", 3), readings(), "Inconclusive NoData the query returns no value"},
		"two series": {between("1", "", 3), readings([]float64{1}, []float64{1}),
			"Inconclusive NotOneSeries the query returns 2 series instead of one: aggregate them, such as by sum()"},
		"a limit that the API server denies": {between("", "1s", 1), readings([]float64{0}),
			`Inconclusive EvaluationError max: "1s" is not a number: strconv.ParseFloat: parsing "1s": invalid syntax`},
	} {
		found := row.check.JudgePresent(scene(), row.readings)
		NewWithT(t).Expect(string(found.Verdict)+" "+found.Reason+" "+found.Message).To(Equal(row.expected), name)
	}
}
