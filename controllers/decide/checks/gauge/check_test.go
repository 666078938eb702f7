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

package gauge_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/gauge"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// interval is the time between two looks. The release of the tests begins after the second of count moments.
const (
	interval = 15 * time.Second
	count    = 12
)

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// world is the pods of a StatefulSet, with their values.
type world struct {
	release  *checks.Scene
	readings measure.Readings
}

// newWorld returns a world of old pods with one value each.
func newWorld(olds ...float64) *world {
	w := &world{
		release:  &checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web", Began: began},
		readings: measure.Readings{PodLabel: "pod", Answers: [][]measure.Series{nil}},
	}
	for i := range count {
		w.readings.Moments = append(w.readings.Moments, at(i))
	}
	for i, value := range olds {
		w.release.Old = append(w.release.Old, pod(fmt.Sprintf("web-%d", i), -100))
		w.add(w.release.Old[i].Name, constant(0, count, value))
	}
	return w
}

func at(moment int) time.Time { return began.Add(time.Duration(moment-1) * interval) }

// pod is a pod since a moment.
func pod(name string, moment int) checks.Pod {
	return checks.Pod{Name: name, UID: types.UID(name), Since: at(moment), Created: at(moment), Ready: true}
}

// constant returns a value from a moment until another one.
func constant(from, until int, value float64) []float64 {
	values := make([]float64, count)
	for i := range values {
		if values[i] = math.NaN(); i >= from && i < until {
			values[i] = value
		}
	}
	return values
}

// add adds the values of a pod.
func (w *world) add(name string, values []float64) {
	w.readings.Answers[0] = append(w.readings.Answers[0], measure.Series{Labels: map[string]string{"pod": name}, Values: values})
}

// with adds new pods since a moment, with one value each.
func (w *world) with(moment int, news ...float64) *world {
	for _, value := range news {
		added := pod(fmt.Sprintf("web-1%d", len(w.release.New)), moment)
		w.release.New = append(w.release.New, added)
		w.add(added.Name, constant(moment, count, value))
	}
	return w
}

// changed returns a world after a change.
func (w *world) changed(change func(w *world)) *world {
	change(w)
	return w
}

func queue(tolerance, minDelta string) gauge.Check {
	return gauge.Check{Spec: &appv1alpha1.GaugeCheck{
		SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Metric: "queue",
		Comparison: appv1alpha1.GaugeComparison{Tolerance: tolerance, MinDelta: minDelta},
	}}
}

func TestCheckQueries(t *testing.T) {
	g := NewWithT(t)
	check := queue("1.2", "0")
	check.Spec.Matchers = []string{`state="waiting"`}
	queries, err := check.Queries(newWorld().release, appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(queries).To(Equal([]string{`sum by (exported_pod) (queue{state="waiting",ns="shop",exported_pod=~"web-[0-9]+"})`}))
	_, err = parser.NewParser(parser.Options{}).ParseExpr(queries[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(check.Source()).To(Equal("prometheus"))
	g.Expect(check.Spends()).To(Equal(measure.Level))
}

func TestCheckProblems(t *testing.T) {
	g := NewWithT(t)
	check := queue("1.2", "0")
	g.Expect(check.Problems()).To(BeEmpty())
	check.Spec.Matchers = []string{"state"}
	g.Expect(check.Problems()).To(Equal([]string{`matchers[0]: "state" is not one label matcher, such as code=~"5.."`}))
	_, err := check.Queries(newWorld().release, appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"})
	g.Expect(err).To(MatchError(HavePrefix("matchers[0]: ")))
}

func TestCheckJudge(t *testing.T) {
	eight := []float64{11, 11.5, 12, 12, 12, 12, 12.5, 13}
	nobody := func(w *world) { w.readings.Answers = [][]measure.Series{nil} }
	for name, row := range map[string]struct {
		world                    *world
		check                    gauge.Check
		verdict, reason, message string
	}{
		"higher values": {newWorld(eight...).with(2, 40, 41, 42), queue("1.2", "0"),
			"Fail", "CheckFailed", "queue: 41 on 3 new pods, 12 on 8 old pods (medians; x3.42, tolerated x1.2)"},
		"a smaller difference than matters": {newWorld(eight...).with(2, 40, 41, 42), queue("1.2", "30"),
			"Pass", "CheckPassed", "queue: 41 on 3 new pods, 12 on 8 old pods (medians; x3.42, tolerated x1.2), x3.5 would have been found"},
		"tolerated": {newWorld(eight...).with(2, 40, 41, 42), queue("4", "0"),
			"Pass", "CheckPassed", "queue: 41 on 3 new pods, 12 on 8 old pods (medians; x3.42, tolerated x4), x4.39 would have been found"},
		"one new pod": {newWorld(eight...).with(2, 1234.5), queue("1.2", "0"),
			"Fail", "CheckFailed", "queue: 1234 on 1 new pod, 12 on 8 old pods (medians; x103, tolerated x1.2)"},
		"one new pod, of few": {newWorld(11, 12, 13, 14).with(2, 41), queue("1.2", "0"),
			"Inconclusive", "TooFewPods", "queue: 41 on 1 new pod, 12.5 on 4 old pods (medians; x3.28, tolerated x1.2)"},
		"no ratio": {newWorld(0, 0, 0, 0, 0, 0, 0, 0).with(2, 4, 4, 4), queue("1.2", "0"),
			"Fail", "CheckFailed", "queue: 4 on 3 new pods, 0 on 8 old pods (medians)"},
		"negative values": {newWorld(-20, -20, -21, -21, -22, -22, -23, -23).with(2, -4, -4, -4), queue("1.2", "0"),
			"Fail", "CheckFailed", "queue: -4 on 3 new pods, -21.5 on 8 old pods (medians)"},
		"pods that warm up": {newWorld(eight...).with(2, 12, 12, 12).with(count-2, 900).changed(func(w *world) {
			for _, series := range w.readings.Answers[0][8:11] {
				copy(series.Values[2:6], []float64{900, 900, 900, 900})
			}
		}), queue("1.2", "0"),
			"Pass", "CheckPassed", "queue: 12 on 3 new pods, 12 on 8 old pods (medians; x1, tolerated x1.2), x1.31 would have been found"},
		"old pods that warm up": {newWorld(eight...).with(2, 40, 41, 42).changed(func(w *world) {
			w.release.Old = append(w.release.Old, pod("web-9", 6), pod("web-8", count-2))
			w.add("web-9", append(constant(6, 10, 900)[:10], 12, 12))
			w.add("web-8", constant(count-2, count, 900))
		}), queue("1.2", "0"), "Fail", "CheckFailed", "queue: 41 on 3 new pods, 12 on 9 old pods (medians; x3.42, tolerated x1.2)"},
		"old pods that are gone": {newWorld(eight...).with(2, 40, 41, 42).changed(func(w *world) {
			w.release.Old = nil
			for i := range eight {
				copy(w.readings.Answers[0][i].Values[8:], constant(0, 0, 0))
			}
		}), queue("1.2", "0"), "Fail", "CheckFailed", "queue: 41 on 3 new pods, 12 on 8 old pods (medians; x3.42, tolerated x1.2)"},
		"predecessors of the same names": {newWorld(eight...).changed(func(w *world) {
			w.release.Old = nil
			for i := range eight {
				w.release.New = append(w.release.New, pod(fmt.Sprintf("web-%d", i), 6))
				copy(w.readings.Answers[0][i].Values[6:], []float64{900, 900, 900, 900, 41, 41})
			}
		}), queue("1.2", "0"), "Fail", "CheckFailed", "queue: 41 on 8 new pods, 12 on 8 old pods (medians; x3.42, tolerated x1.2)"},
		"a value that rose for all before the last step": {newWorld(11, 12, 13, 12, 11).with(2, 12, 12).changed(func(w *world) {
			for i := range 6 { // of a day
				w.readings.Moments[i] = at(6).Add(time.Duration(i-6) * 24 * time.Minute)
			}
			for _, series := range w.readings.Answers[0] {
				copy(series.Values[6:], []float64{36, 36, 36, 36, 36, 36})
			}
		}).with(6, 36, 36, 36), queue("1.2", "0"),
			"Pass", "CheckPassed", "queue: 36 on 5 new pods, 36 on 5 old pods (medians; x1, tolerated x1.2), x1.2 would have been found"},
		"old pods that were gone before what is recent": {newWorld(eight...).with(6, 40, 41, 42).changed(func(w *world) {
			for i := range 6 { // of a day
				w.readings.Moments[i] = at(6).Add(time.Duration(i-6) * 24 * time.Minute)
			}
			for i := range 5 {
				copy(w.readings.Answers[0][i].Values[6:], constant(0, 0, 0))
			}
			w.release.Old = w.release.Old[5:]
		}), queue("1.2", "0"), "Fail", "CheckFailed", "queue: 41 on 3 new pods, 12 on 8 old pods (medians; x3.42, tolerated x1.2)"},
		"missing on the new pods": {newWorld(eight...).with(2, math.NaN(), math.NaN(), math.NaN()), queue("1.2", "0"),
			"Inconclusive", "MissingOnNewPods", "queue: seen on 0 of 3 new pods and on 8 of 8 old pods"},
		"missing": {newWorld(eight...).with(2, 40).changed(nobody), queue("1.2", "0"),
			"Inconclusive", "MetricMissing", "queue: seen on 0 of 1 new pod and on 0 of 8 old pods"},
		"no old pods": {newWorld().with(2, 40, 41, 42), queue("1.2", "0"),
			"Inconclusive", "NoData", "queue: seen on 3 of 3 new pods and on 0 of 0 old pods"},
		"never asked": {newWorld(eight...).with(2, 40).changed(func(w *world) { w.readings = measure.Readings{} }), queue("1.2", "0"),
			"Inconclusive", "NoData", "queue: seen on 0 of 0 new pods and on 0 of 0 old pods"},
		"a tolerance that is no number": {newWorld(eight...), queue("", "0"),
			"Inconclusive", "EvaluationError", `comparison.tolerance: strconv.ParseFloat: parsing "": invalid syntax`},
		"a difference that is no number": {newWorld(eight...), queue("1.2", "much"),
			"Inconclusive", "EvaluationError", `comparison.minDelta: strconv.ParseFloat: parsing "much": invalid syntax`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			terms := measure.Terms{Warmup: 4 * interval, Share: 0.01, Ended: true, Again: time.Minute}
			found := row.check.Judge(row.world.release, row.world.readings, terms)
			g.Expect(string(found.Verdict)+" "+found.Reason).To(Equal(row.verdict+" "+row.reason), found.Message)
			g.Expect(found.Message).To(Equal(row.message))
			g.Expect(found.Final).To(Equal(row.verdict == "Pass"))
			g.Expect(found.Broken).To(Equal(row.reason == "EvaluationError"))
			if row.verdict == "Fail" {
				g.Expect(found.Pods).To(HaveLen(len(row.world.release.New)))
			}
			terms.Ended = false
			early := row.check.Judge(row.world.release, row.world.readings, terms)
			g.Expect(early).To(Equal(checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Again: time.Minute}), "before the end")
		})
	}
}

func TestCheckJudgeHasTheNumbersBehindItsMessage(t *testing.T) {
	eight := []float64{11, 11.5, 12, 12, 12, 12, 12.5, 13}
	for name, row := range map[string]struct {
		world *world
		want  string
	}{
		"higher values":           {newWorld(eight...).with(2, 40, 41, 42), `{"new":"41","old":"12","ratio":"3.41667","pValue":"0.00606061","threshold":"0.01","minimumDetectable":"1.31685","podsSeen":3,"podsWanted":3,"oldPodsSeen":8,"oldPodsWanted":8}`},
		"one new pod":             {newWorld(eight...).with(2, 1234.5), `{"new":"1234.5","old":"12","ratio":"102.875","podsSeen":1,"podsWanted":1,"oldPodsSeen":8,"oldPodsWanted":8}`},
		"no ratio":                {newWorld(0, 0, 0, 0, 0, 0, 0, 0).with(2, 4, 4, 4), `{"new":"4","old":"0","pValue":"0.00606061","threshold":"0.01","podsSeen":3,"podsWanted":3,"oldPodsSeen":8,"oldPodsWanted":8}`},
		"missing on the new pods": {newWorld(eight...).with(2, math.NaN()), `{"podsSeen":0,"podsWanted":1,"oldPodsSeen":8,"oldPodsWanted":8}`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := queue("1.2", "0").Judge(row.world.release, row.world.readings, measure.Terms{Warmup: 4 * interval, Share: 0.01, Ended: true})
			encoded, err := json.Marshal(found.Numbers)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(encoded)).To(Equal(row.want), found.Message)
		})
	}
}

// With a share of 0.1%, 165 arrangements are too few to tell, so each pod must exceed each in three looks.
func TestCheckJudgeSpendsItsShare(t *testing.T) {
	w := newWorld(11, 11, 11, 12, 12, 12, 12, 13).with(count-2, 40, 41, 42)
	for share, want := range map[float64]string{0.01: "Fail", 0.001: "Pass"} {
		found := queue("1.2", "0").Judge(w.release, w.readings, measure.Terms{Share: share, Ended: true})
		NewWithT(t).Expect(string(found.Verdict)).To(Equal(want), found.Message)
	}
}

func TestCheckLeastLooksAreThoseThatOnePodNeeds(t *testing.T) {
	check := queue("1.2", "0")
	for looks, want := range map[int]string{int(check.LeastLooks(15)): "Fail", int(check.LeastLooks(15)) - 1: "Pass"} {
		w := newWorld(11, 11, 12, 12, 13).with(count-looks, 41)
		found := check.Judge(w.release, w.readings, measure.Terms{Share: 0.01, Ended: true})
		NewWithT(t).Expect(string(found.Verdict)).To(Equal(want), found.Message)
	}
}
