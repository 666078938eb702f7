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
	"regexp"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// names are those of labels that aren't the default.
func names() appv1alpha1.SourceLabels {
	return appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"}
}

func errorsOf(total, bad appv1alpha1.MetricSelector) *appv1alpha1.RatioCheck {
	return &appv1alpha1.RatioCheck{Total: total, Bad: bad}
}

func TestQueries(t *testing.T) {
	for name, row := range map[string]struct {
		release    checks.Scene
		check      *appv1alpha1.RatioCheck
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
			bad, total, err := ratio.Queries(&row.release, row.check, names())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]string{bad, total}).To(Equal([]string{row.bad, row.total}))
			for _, query := range []string{bad, total} {
				_, err := parser.NewParser(parser.Options{}).ParseExpr(query)
				g.Expect(err).NotTo(HaveOccurred())
			}
		})
	}
}

func TestQueriesMatchThePodsOfTheWorkloadAlone(t *testing.T) {
	long := strings.Repeat("web-", 12) + "end" // whose ReplicaSets shorten the names of their pods
	for name, row := range map[string]struct {
		kind, workload string
		own, others    []string
	}{
		"a Deployment":  {"Deployment", "web", []string{"web-7d4b9c6f5d-x7k2p", "web-5d-x7k2p"}, []string{"web-api-x7k2p", "web-api-7d4b9c6f5d-x7k2p", "web-0"}},
		"a StatefulSet": {"StatefulSet", "web", []string{"web-0", "web-17"}, []string{"web-api-0", "web-x7k2p"}},
		"a DaemonSet":   {"DaemonSet", "web", []string{"web-x7k2p"}, []string{"web-7d4b9c6f5d-x7k2p", "web-api-x7k2p", "web-12345"}},
		"a long name":   {"Deployment", long, []string{long[:50] + "x7k2p"}, []string{"web-7d4b9c6f5d-x7k2p"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			release := checks.Scene{Kind: row.kind, Namespace: "shop", Name: row.workload}
			_, total, err := ratio.Queries(&release, errorsOf(appv1alpha1.MetricSelector{Metric: "requests_total"}, appv1alpha1.MetricSelector{}), names())
			g.Expect(err).NotTo(HaveOccurred())
			pattern := regexp.MustCompile("^(?:" + regexp.MustCompile(`exported_pod=~"(.*)"`).FindStringSubmatch(total)[1] + ")$")
			for _, pod := range row.own {
				g.Expect(pattern.MatchString(pod)).To(BeTrue(), pod)
			}
			for _, pod := range row.others {
				g.Expect(pattern.MatchString(pod)).To(BeFalse(), pod)
			}
		})
	}
}

func TestProblemsNameMatchersThatAreNone(t *testing.T) {
	good := appv1alpha1.MetricSelector{Metric: "requests_total", Matchers: []string{`code=~"5.."`, `path!=""`}}
	for _, matcher := range []string{``, `code`, `code=~"("`, `code="5",ns="bank"`, `a="b"} or other{c="d"`, `__name__="other"`} {
		bad := appv1alpha1.MetricSelector{Matchers: []string{`code="500"`, matcher}}
		problems := ratio.Problems(errorsOf(good, bad))
		NewWithT(t).Expect(problems).To(HaveLen(1), matcher)
		NewWithT(t).Expect(problems[0]).To(HavePrefix("bad.matchers[1]: "), matcher)
		_, _, err := ratio.Queries(&checks.Scene{}, errorsOf(bad, good), names())
		NewWithT(t).Expect(err).To(MatchError(HavePrefix("total.matchers[1]: ")), matcher)
		_, _, err = ratio.Queries(&checks.Scene{}, errorsOf(good, bad), names())
		NewWithT(t).Expect(err).To(MatchError(HavePrefix("bad.matchers[1]: ")), matcher)
	}
	NewWithT(t).Expect(ratio.Problems(errorsOf(good, good))).To(BeEmpty())
}
