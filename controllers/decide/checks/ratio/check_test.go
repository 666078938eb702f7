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
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// names are those of labels that aren't the default.
func names() appv1alpha1.SourceLabels {
	return appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"}
}

func errorsOf(total, bad appv1alpha1.MetricSelector) ratio.Check {
	return ratio.Check{Spec: &appv1alpha1.RatioCheck{Total: total, Bad: bad}}
}

func TestCheckQueries(t *testing.T) {
	for name, row := range map[string]struct {
		release    checks.Scene
		check      ratio.Check
		bad, total string
	}{
		"bad events by the label of all": {
			checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web"},
			errorsOf(appv1alpha1.MetricSelector{Metric: "requests_total", Matchers: []string{`job="web"`}}, appv1alpha1.MetricSelector{Matchers: []string{`code=~"5.."`}}),
			`sum by (exported_pod) (requests_total{code=~"5..",job="web",ns="shop",exported_pod=~"web-[0-9]+"})`,
			`sum by (exported_pod) (requests_total{job="web",ns="shop",exported_pod=~"web-[0-9]+"})`,
		},
		"bad events with a metric of their own": {
			checks.Scene{Kind: "Game", Namespace: "shop", Name: "web.1"},
			errorsOf(appv1alpha1.MetricSelector{Metric: "requests_total", Matchers: []string{`job="web"`}}, appv1alpha1.MetricSelector{Metric: "errors_total"}),
			`sum by (exported_pod) (errors_total{ns="shop",exported_pod=~"web\\.1-.+"})`,
			`sum by (exported_pod) (requests_total{job="web",ns="shop",exported_pod=~"web\\.1-.+"})`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			queries, err := row.check.Queries(&row.release, names())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(queries).To(Equal([]string{row.bad, row.total}))
			for _, query := range queries {
				_, err := parser.NewParser(parser.Options{}).ParseExpr(query)
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}

func TestCheckProblemsNameMatchersThatAreNone(t *testing.T) {
	good := appv1alpha1.MetricSelector{Metric: "requests_total", Matchers: []string{`code=~"5.."`, `path!=""`}}
	for _, matcher := range []string{``, `code`, `code=~"("`, `code="5",ns="bank"`, `a="b"} or other{c="d"`, `__name__="other"`} {
		bad := appv1alpha1.MetricSelector{Matchers: []string{`code="500"`, matcher}}
		problems := errorsOf(good, bad).Problems()
		NewWithT(t).Expect(problems).To(HaveLen(1), matcher)
		NewWithT(t).Expect(problems[0]).To(HavePrefix("bad.matchers[1]: "), matcher)
		_, err := errorsOf(bad, good).Queries(&checks.Scene{}, names())
		NewWithT(t).Expect(err).To(MatchError(HavePrefix("total.matchers[1]: ")), matcher)
		_, err = errorsOf(good, bad).Queries(&checks.Scene{}, names())
		NewWithT(t).Expect(err).To(MatchError(HavePrefix("bad.matchers[1]: ")), matcher)
	}
	NewWithT(t).Expect(errorsOf(good, good).Problems()).To(BeEmpty())
}

func TestCheckJudgesTheBadEventsOfAll(t *testing.T) {
	counters := counted(12, 32, 2)
	readings := measure.Readings{Moments: counters.Moments, PodLabel: "exported_pod", Answers: make([][]measure.Series, 2)}
	for i, values := range []map[string][]float64{counters.Bad, counters.Total} {
		for name := range values {
			readings.Answers[i] = append(readings.Answers[i], measure.Series{Labels: map[string]string{"exported_pod": name}, Values: values[name]})
		}
	}
	check := ratio.Check{Spec: &appv1alpha1.RatioCheck{SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, RatioObjective: *comparison()}}
	found := check.Judge(scene(), readings, measure.Terms{Warmup: interval, Share: 0.01})
	NewWithT(t).Expect(found.Message).To(Equal("3.2% on 1 new pod (128 events), 0.2% on 1 old pod (x16, tolerated x1.5)"))
	NewWithT(t).Expect(check.Source()).To(Equal("prometheus"))
}

// A metric of all events may have none with the label of bad ones, and one of its own is missed.
func TestCheckMissesAMetricOfItsOwn(t *testing.T) {
	for metric, want := range map[string]string{"": "PassedEarly", "requests_total": "PassedEarly", "errors_total": "MissingOnNewPods"} {
		counters := counted(40, 2, 2)
		delete(counters.Bad, "web-7d4b9-x7k2p")
		readings := measure.Readings{Moments: counters.Moments, PodLabel: "exported_pod", Answers: make([][]measure.Series, 2)}
		for i, values := range []map[string][]float64{counters.Bad, counters.Total} {
			for name := range values {
				readings.Answers[i] = append(readings.Answers[i], measure.Series{Labels: map[string]string{"exported_pod": name}, Values: values[name]})
			}
		}
		check := errorsOf(appv1alpha1.MetricSelector{Metric: "requests_total"}, appv1alpha1.MetricSelector{Metric: metric, Matchers: []string{`code="500"`}})
		check.Spec.RatioObjective = *comparison()
		found := check.Judge(scene(), readings, measure.Terms{Warmup: interval, Share: 0.01, Ended: true})
		NewWithT(t).Expect(found.Reason).To(Equal(want), found.Message)
	}
}

func TestCheckSpendsByComparisonsAlone(t *testing.T) {
	NewWithT(t).Expect(ratio.Check{Spec: &appv1alpha1.RatioCheck{RatioObjective: *comparison()}}.Spends()).To(Equal(measure.Evidence))
	NewWithT(t).Expect(ratio.Check{Spec: &appv1alpha1.RatioCheck{RatioObjective: *threshold()}}.Spends()).To(Equal(measure.Nothing))
}
