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

package measure_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/latency"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

func TestRequestsAskBothQueriesOfOneMetricAtOnce(t *testing.T) {
	const joined = `label_replace(sum(bad), "altershield_part", "1", "", "") or sum(all)`
	of := func(total, bad string) measure.Check {
		return ratio.Check{Spec: &appv1alpha1.RatioCheck{Total: appv1alpha1.MetricSelector{Metric: total}, Bad: appv1alpha1.MetricSelector{Metric: bad}}}
	}
	for name, row := range map[string]struct {
		check         measure.Check
		queries, asks []string
	}{
		"a part by labels":         {of("requests", ""), []string{"sum(bad)", "sum(all)"}, []string{joined}},
		"a part of the same name":  {of("requests", "requests"), []string{"sum(bad)", "sum(all)"}, []string{joined}},
		"two metrics":              {of("requests", "errors"), []string{"sum(bad)", "sum(all)"}, []string{"sum(bad)", "sum(all)"}},
		"a check of one query":     {latency.Check{}, []string{"sum(all)"}, []string{"sum(all)"}},
		"a pair that asks nothing": {of("requests", ""), nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			requests := measure.Requests(row.check, row.queries)
			g.Expect(requests).To(Equal(row.asks))
			for _, request := range requests {
				_, err := parser.NewParser(parser.Options{}).ParseExpr(request)
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}

func TestAnswersOfTellsThePartFromTheWhole(t *testing.T) {
	g := NewWithT(t)
	pair := ratio.Check{Spec: &appv1alpha1.RatioCheck{}}
	bad := measure.Series{Labels: map[string]string{"pod": "web-1", "altershield_part": "1"}, Values: []float64{1}}
	all, others := measure.Series{Labels: map[string]string{"pod": "web-1"}, Values: []float64{9}}, measure.Series{Labels: map[string]string{"pod": "web-2"}, Values: []float64{7}}
	bare := measure.Series{Labels: map[string]string{"pod": "web-1"}, Values: []float64{1}}
	g.Expect(measure.AnswersOf(pair, [][]measure.Series{{all, bad, others}})).To(Equal([][]measure.Series{{bare}, {all, others}}))
	g.Expect(bad.Labels).To(HaveLen(2), "the answer is kept for others")
	g.Expect(measure.AnswersOf(pair, [][]measure.Series{nil})).To(Equal([][]measure.Series{nil, nil}))
	g.Expect(measure.AnswersOf(pair, [][]measure.Series{{bad}, {all}})).To(Equal([][]measure.Series{{bad}, {all}}), "each asked by itself")
	g.Expect(measure.AnswersOf(latency.Check{}, [][]measure.Series{{all}})).To(Equal([][]measure.Series{{all}}))
}
