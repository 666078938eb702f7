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

package latency_test

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/latency"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// interval is the time between two looks. The release of the tests begins after the second of count moments.
const (
	interval = 15 * time.Second
	count    = 12
)

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const newPod, oldPod = "web-7d4b9-x7k2p", "web-5c6f8-b2c4d"

// pod is a pod since a moment.
func pod(name string, moment int) checks.Pod {
	at := began.Add(time.Duration(moment-1) * interval)
	return checks.Pod{Name: name, UID: types.UID(name), Since: at, Created: at, Ready: true}
}

// scene is a Deployment with an old pod and a new one since the third moment.
func scene() *checks.Scene {
	return &checks.Scene{
		Kind: "Deployment", Namespace: "shop", Name: "web", Began: began, New: []checks.Pod{pod(newPod, 2)}, Old: []checks.Pod{pod(oldPod, -100)},
	}
}

// rising returns a counter that rises by so much in each look, from a moment on, and has risen in so many looks before.
func rising(from, before int, each float64) []float64 {
	values := make([]float64, count)
	for i := range values {
		if values[i] = math.NaN(); i >= from {
			values[i] = each * float64(i-from+before)
		}
	}
	return values
}

// answer is the buckets of pods, by their names and bounds.
type answer map[string]map[string][]float64

// answered has 1000 requests of each pod in each look, of which so many of the new pod take longer than half a second, and two of the old one.
func answered(slow float64) answer {
	return answer{
		newPod: {"0.1": rising(2, 0, 900), "0.5": rising(2, 0, 1000-slow), "1": rising(2, 0, 1000), "+Inf": rising(2, 0, 1000)},
		oldPod: {"0.1": rising(0, 100, 900), "0.5": rising(0, 100, 998), "1": rising(0, 100, 1000), "+Inf": rising(0, 100, 1000)},
	}
}

// with changes an answer.
func (a answer) with(change func(news, olds map[string][]float64)) answer {
	change(a[newPod], a[oldPod])
	return a
}

func (a answer) readings() measure.Readings {
	readings := measure.Readings{PodLabel: "exported_pod", Answers: [][]measure.Series{nil}}
	for i := range count {
		readings.Moments = append(readings.Moments, began.Add(time.Duration(i-1)*interval))
	}
	for name, buckets := range a {
		for bound, values := range buckets {
			readings.Answers[0] = append(readings.Answers[0], measure.Series{Labels: map[string]string{"exported_pod": name, "le": bound}, Values: values})
		}
	}
	return readings
}

// compared is a check of the requests slower than a time.
func compared(seconds string) *appv1alpha1.LatencyCheck {
	return &appv1alpha1.LatencyCheck{
		Metric: "request_seconds", ThresholdSeconds: seconds,
		RatioObjective: appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}},
	}
}

func terms(ended bool) measure.Terms {
	return measure.Terms{Warmup: interval, Share: 0.01, Ended: ended, Again: time.Minute}
}

func TestCheckQueries(t *testing.T) {
	g := NewWithT(t)
	check := latency.Check{Spec: compared("0.5")}
	check.Spec.Matchers = []string{`path!="/health"`}
	release := &checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web"}
	queries, err := check.Queries(release, appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(queries).To(Equal([]string{`sum by (exported_pod, le) (request_seconds_bucket{path!="/health",ns="shop",exported_pod=~"web-[0-9]+"})`}))
	_, err = parser.NewParser(parser.Options{}).ParseExpr(queries[0])
	g.Expect(err).NotTo(HaveOccurred())
}

func TestCheckProblems(t *testing.T) {
	g := NewWithT(t)
	check := latency.Check{Spec: compared("0.5")}
	g.Expect(check.Problems()).To(BeEmpty())
	check.Spec.Metric, check.Spec.Matchers = "request_seconds_bucket", []string{"path"}
	g.Expect(check.Problems()).To(Equal([]string{
		`matchers[0]: "path" is not one label matcher, such as code=~"5.."`, "metric: name the histogram without _bucket: request_seconds",
	}))
	_, err := check.Queries(scene(), appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"})
	g.Expect(err).To(MatchError(HavePrefix("matchers[0]: ")))
}

func TestCheckIsThatOfItsObjective(t *testing.T) {
	g := NewWithT(t)
	check := latency.Check{Spec: compared("0.5")}
	check.Spec.SourceRef.Name = "prometheus"
	g.Expect(check.Source()).To(Equal("prometheus"))
	g.Expect(check.LeastLooks(15)).To(Equal(int32(4)))
	g.Expect(check.Spends()).To(Equal(measure.Evidence))
	check.Spec.RatioObjective = appv1alpha1.RatioObjective{Threshold: &appv1alpha1.RatioThreshold{Max: "1%", Consecutive: 7}}
	g.Expect(check.LeastLooks(15)).To(Equal(int32(7)))
	g.Expect(check.Spends()).To(Equal(measure.Nothing))
}

func TestCheckJudge(t *testing.T) {
	nan := math.NaN()
	const slower = "slower than 0.5 s: 3.2% on 1 new pod (128 events), 0.2% on 1 old pod (x16, tolerated x1.5)"
	for name, row := range map[string]struct {
		seconds                  string
		answer                   answer
		verdict, reason, message string
	}{
		"more slow requests":   {"0.5", answered(32), "Fail", "CheckFailed", slower},
		"a time below a bound": {"0.3", answered(32), "Fail", "CheckFailed", slower},
		"as many":              {"0.5", answered(2), "Pass", "PassedEarly", "slower than 0.5 s: 0.2% on 1 new pod (12 events), 0.2% on 1 old pod (x1, tolerated x1.5)"},
		"bounds as others write them": {"0.5", answered(32).with(func(news, olds map[string][]float64) {
			news["5e-01"], olds["0.50"] = news["0.5"], olds["0.5"]
			delete(news, "0.5")
			delete(olds, "0.5")
		}), "Fail", "CheckFailed", slower},
		"a bound that is written otherwise from a moment on": {"1", answered(32).with(func(news, _ map[string][]float64) {
			news["1.0"] = append([]float64{nan, nan, nan, nan, nan, nan}, news["1"][6:]...)
			news["1"] = append(news["1"][:6:6], nan, nan, nan, nan, nan, nan)
		}), "Pass", "PassedEarly", "slower than 1 s: 0% on 1 new pod (0 events), 0% on 1 old pod (x1, tolerated x1.5)"},
		"a bound that is written in two ways at once": {"0.5", answered(32).with(func(news, _ map[string][]float64) {
			news["0.5"], news["0.50"] = rising(2, 0, 900), rising(2, 0, 68)
		}), "Fail", "CheckFailed", slower},
		"no time: what 95% were below": {"", answered(32), "Fail", "CheckFailed", slower},
		"no time, and 95% in the first bucket": {"", answered(32).with(func(news, olds map[string][]float64) {
			news["0.1"], olds["0.1"] = rising(2, 0, 200), rising(0, 100, 950)
		}), "Fail", "CheckFailed", "slower than 0.1 s: 80% on 1 new pod (3200 events), 5% on 1 old pod (x16, tolerated x1.5)"},
		"no time, and requests that became fast later": {"", answered(32).with(func(_, olds map[string][]float64) {
			olds["+Inf"], olds["1"], olds["0.5"] = rising(0, 1, 1000), rising(0, 1, 1000), rising(0, 1, 998)
			for i := range olds["0.1"] {
				olds["0.1"][i] = 900 + 998*float64(i)
			}
		}), "Fail", "CheckFailed", slower},
		"no time, and no requests before": {"", answered(32).with(func(_, olds map[string][]float64) {
			for bound := range olds {
				olds[bound] = rising(0, 0, 1000)
			}
		}), "Inconclusive", "NoData", "no request of the old pods from before the release tells which ones are slow: set thresholdSeconds"},
		"no time, and more than 5% above all bounds": {"", answered(32).with(func(_, olds map[string][]float64) {
			olds["+Inf"] = rising(0, 100, 1054)
		}), "Inconclusive", "NoBucket", "the slowest 5% of the requests can't be told: the highest bound that all pods have is 1 s"},
		"a time above all bounds": {"1.5", answered(32), "Inconclusive", "NoBucket",
			"requests slower than 1.5 s can't be told: the highest bound that all pods have is 1 s"},
		"no bounds": {"0.5", answer{newPod: {"+Inf": rising(2, 0, 1000)}, oldPod: {"+Inf": rising(0, 0, 1000)}}, "Inconclusive", "NoBucket",
			"requests slower than 0.5 s can't be told: the pods have no bound in common"},
		"a release with other bounds": {"0.3", answered(32).with(func(news, olds map[string][]float64) {
			news["0.4"] = news["0.5"]
			delete(news, "0.5")
			olds["0.3"] = olds["0.1"]
		}), "Pass", "PassedEarly", "slower than 1 s: 0% on 1 new pod (0 events), 0% on 1 old pod (x1, tolerated x1.5)"},
		"no histogram": {"0.5", answer{}, "Inconclusive", "MetricMissing", "series in 0 of 8 looks at 1 new pod, in 0 of 11 at 1 old pod"},
		"no histogram on the new pods": {"0.5", answer{oldPod: answered(0)[oldPod]}, "Inconclusive", "MissingOnNewPods",
			"slower than 0.5 s: series in 0 of 8 looks at 1 new pod, in 11 of 11 at 1 old pod"},
		"a time that is no number": {"soon", answered(32), "Inconclusive", "EvaluationError",
			`thresholdSeconds: strconv.ParseFloat: parsing "soon": invalid syntax`},
		"series that are no buckets": {"", answered(32).with(func(news, olds map[string][]float64) {
			news["soon"], olds["soon"] = news["1"], olds["1"]
		}), "Fail", "CheckFailed", slower},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := latency.Check{Spec: compared(row.seconds)}.Judge(scene(), row.answer.readings(), terms(true))
			g.Expect(string(found.Verdict)+" "+found.Reason).To(Equal(row.verdict+" "+row.reason), found.Message)
			g.Expect(found.Message).To(Equal(row.message))
			g.Expect(found.Broken).To(Equal(row.reason == "NoBucket" || row.reason == "EvaluationError"))
			if row.verdict == "Fail" {
				g.Expect(found.Pods).To(HaveExactElements(appv1alpha1.CheckedPod{Pod: newPod, UID: newPod, Message: found.Message}))
			}
			if row.verdict == "Inconclusive" {
				found = latency.Check{Spec: compared(row.seconds)}.Judge(scene(), row.answer.readings(), terms(false))
				g.Expect(found).To(Equal(checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Again: time.Minute}), "before the end")
			}
		})
	}
}

// A bucket without requests may have no series at first, and the buckets of a pod may be read at different moments.
func TestCheckJudgeCountsNoRequestAsSlowThatIsNot(t *testing.T) {
	comeLater := func(bound string) answer {
		return answered(9).with(func(news, _ map[string][]float64) { copy(news[bound], rising(4, 0, 0)[:4]) })
	}
	for name, row := range map[string]struct {
		answer answer
		want   string
	}{
		"a bucket that comes later":    {comeLater("0.5"), "0.9% on 1 new pod (63 events)"},
		"all requests that come later": {comeLater("+Inf"), "0.9% on 1 new pod (63 events)"},
		"a bucket that is read later than all requests": {answered(4).with(func(news, _ map[string][]float64) {
			news["0.5"][7] += 10
		}), "0.4% on 1 new pod (32 events)"},
		"a restart": {answered(2).with(func(news, _ map[string][]float64) {
			for _, values := range news {
				copy(values[7:], rising(2, 0, values[3])[2:])
			}
		}), "0.2% on 1 new pod (14 events)"},
	} {
		t.Run(name, func(t *testing.T) {
			check := compared("0.5")
			check.Comparison, check.Threshold = nil, &appv1alpha1.RatioThreshold{Max: "1%", Consecutive: 1, MinEvents: 20}
			found := latency.Check{Spec: check}.Judge(scene(), row.answer.readings(), terms(true))
			NewWithT(t).Expect(found.Message).To(Equal("slower than 0.5 s: "+row.want+", at most 1% is allowed"), string(found.Verdict))
			NewWithT(t).Expect(string(found.Verdict)).To(Equal("Pass"))
		})
	}
}

// The names of other workloads' pods may match: neither their bounds nor their requests count.
func TestCheckJudgeLeavesOutPodsOfOtherWorkloads(t *testing.T) {
	release, all := scene(), answered(32)
	release.Kind = "Game"
	all["web-api-0"] = map[string][]float64{"0.1": rising(0, 100000, 1000), "7": rising(0, 100000, 1000), "+Inf": rising(0, 100000, 1000)}
	found := latency.Check{Spec: compared("")}.Judge(release, all.readings(), terms(true))
	NewWithT(t).Expect(found.Message).To(HavePrefix("slower than 0.5 s: 3.2% on 1 new pod (128 events), 0.2% on 1 old pod"))
}

// Of a quick release there are no old pods beside the new ones: it is compared with the half an hour before.
func TestCheckComparesWithThePast(t *testing.T) {
	// past has the old pod from half an hour before the release until it began, in looks of a minute.
	past := func() *measure.Readings {
		read := answer{oldPod: {"0.1": rising(0, 100, 3600), "0.5": rising(0, 100, 3992), "1": rising(0, 100, 4000), "+Inf": rising(0, 100, 4000)}}.readings()
		for i := range read.Moments {
			read.Moments[i] = began.Add(time.Duration(i-count+1) * time.Minute)
		}
		return &read
	}
	// others has the rates of the buckets of other pods, of which so many times as many requests were slow at the last looks.
	others := func(bound string, times float64) []measure.Series {
		values := [2][]float64{}
		for i := range count {
			slow := 1.0
			if i > count-3 {
				slow = times
			}
			values[0], values[1] = append(values[0], 100-slow), append(values[1], 100)
		}
		return []measure.Series{
			{Labels: map[string]string{"le": bound}, Values: values[0]}, {Labels: map[string]string{"le": "+Inf"}, Values: values[1]},
			{Labels: map[string]string{"le": "no number"}, Values: values[1]},
		}
	}
	for name, row := range map[string]struct {
		slow   float64
		others []measure.Series
		want   string
	}{
		"many slow requests": {900, nil, "Fail slower than 0.5 s: 90% on 1 new pod (11700 events), 0.2% before the release (x450, less than x3 is tolerated)"},
		"as many":            {2, nil, "Pass slower than 0.5 s: 0.2% on 1 new pod (24 events), 0.2% before the release (x1, less than x3 is tolerated)"},
		"many slow requests, of others as well": {900, others("0.5", 30),
			"Inconclusive slower than 0.5 s: more on 1 new pod than before the release, as on the other pods of the namespace"},
		"many slow requests, and others as always": {900, others("0.5", 1), "Fail "},
		"others with other bounds":                 {900, others("0.7", 30), "Fail "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			read := answered(row.slow)
			delete(read, oldPod)
			long := answer{}
			for pod, buckets := range read {
				long[pod] = map[string][]float64{}
				for bound, values := range buckets {
					for len(values) < count+5 {
						values = append(values, 2*values[len(values)-1]-values[len(values)-2])
					}
					long[pod][bound] = values
				}
			}
			readings := long.readings()
			for i := range 5 {
				readings.Moments = append(readings.Moments, began.Add(time.Duration(count-1+i)*interval))
			}
			release := scene()
			release.Old = nil
			check := latency.Check{Spec: compared("0.5")}
			g.Expect(check.NeedsPast(release, readings, interval)).To(BeTrue())
			readings.Past = past()
			readings.Others = &measure.Readings{Moments: readings.Past.Moments, Answers: [][]measure.Series{row.others}}
			found := check.Judge(release, readings, terms(true))
			g.Expect(string(found.Verdict) + " " + found.Message).To(HavePrefix(row.want))
		})
	}
	NewWithT(t).Expect(latency.Check{Spec: compared("0.5")}.NeedsPast(scene(), answered(2).readings(), interval)).To(BeFalse(), "with an old pod")
}

func TestCheckQueriesOfOthers(t *testing.T) {
	g := NewWithT(t)
	check := latency.Check{Spec: compared("0.5")}
	check.Spec.Matchers = []string{`path!="/health"`}
	release, names := &checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web"}, appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"}
	queries, err := check.QueriesOfOthers(release, names)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(queries).To(Equal([]string{
		`sum by (le) (rate(request_seconds_bucket{path!="/health",ns="shop",exported_pod!="",exported_pod!~"web-[0-9]+"}[2m]))`,
	}))
	check.Spec.Matchers = []string{"path"}
	_, err = check.QueriesOfOthers(release, names)
	g.Expect(err).To(MatchError(HavePrefix("matchers[0]: ")))
}
