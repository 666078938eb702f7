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
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/query"
)

func rendered(text string, release *checks.Scene) (string, error) {
	queries, err := query.Check{Spec: &appv1alpha1.QueryCheck{Query: text}}.Queries(release, appv1alpha1.SourceLabels{})
	return strings.Join(queries, "; "), err
}

func TestQueries(t *testing.T) {
	for name, row := range map[string]struct{ query, expected string }{
		"no variables": {`sum(rate(up[5m]))`, `sum(rate(up[5m]))`},
		"names": {
			`up{kind="$kind",namespace="$namespace",job!="$workload",v="v-$version"}`,
			`up{job!="web",kind="Deployment",namespace="shop",v="v-6a8f"}`,
		},
		"new and old pods": {
			`sum(rate(a{pod=~"$newPods"}[1m])) / sum(rate(a{pod=~"$oldPods"}[1m]))`,
			`sum(rate(a{pod=~"(web-7d4b9-x7k2p)"}[1m])) / sum(rate(a{pod=~"(web-5c6f8-b2c4d)"}[1m]))`,
		},
		"all but pods": {`count(up{pod!~"$newPods|$oldPods"})`, `count(up{pod!~"(web-7d4b9-x7k2p)|(web-5c6f8-b2c4d)"})`},
		"in a subquery": {
			`max_over_time(sum(rate(a{ns="$namespace"}[1m]))[5m:15s] offset 1m)`,
			`max_over_time(sum(rate(a{ns="shop"}[1m]))[5m:15s] offset 1m)`,
		},
		"in a parameter":      {`topk(scalar(a{ns="$namespace"}), b)`, `topk(scalar(a{ns="shop"}), b)`},
		"the name of metrics": {`{__name__=~"$workload-.*", x="$kind"}`, `{__name__=~"web-.*",x="Deployment"}`},
		"ends of patterns":    {`up{a=~"^$workload$|x$"}`, `up{a=~"^web$|x$"}`},
		"escaped":             {`up{a=~"\\$workload|\\\\$workload"}`, `up{a=~"\\$workload|\\\\web"}`},
		"not in other texts":  {`label_replace(up, "a", "$1-$workload", "$b", "(.*)")`, `label_replace(up, "a", "$1-$workload", "$b", "(.*)")`},
		"as in Prometheus 3":  {`{"http.requests", "service.name"="$workload"} @ end()`, `{"service.name"="web",__name__="http.requests"} @ end()`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			text, err := rendered(row.query, scene())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(text).To(Equal(row.expected))
			_, err = parser.NewParser(parser.Options{}).ParseExpr(text)
			g.Expect(err).NotTo(HaveOccurred())
		})
	}
	_, err := rendered(`up{a="$b"}`, scene())
	NewWithT(t).Expect(err).To(MatchError(HavePrefix(`query: 1:1: the matcher a="$b": $b is unknown: `)))
}

// Kubernetes allows none of these names, and other checks must not be able to make them one's own either.
func TestQueriesKeepValuesInert(t *testing.T) {
	for _, value := range []string{
		`"} or up{a="`, "`", `\`, `\"`, "a\nb", `.*`, `a|b`, `a)|(.*`, `[a-z]+`, `(?i)shop`, `$namespace`, `$newPods`,
		`\E.*\Q`, `{{.Name}}`, `# "`, `é}`, "^$",
	} {
		t.Run(value, func(t *testing.T) {
			g := NewWithT(t)
			release := &checks.Scene{Namespace: value, Name: value, New: []checks.Pod{{Name: value}}}
			text, err := rendered(`up{equal="$namespace",like=~"$workload",new=~"$newPods",old!~"$newPods"}`, release)
			g.Expect(err).NotTo(HaveOccurred())
			expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
			g.Expect(err).NotTo(HaveOccurred(), text)
			g.Expect(expression).To(BeAssignableToTypeOf(&parser.VectorSelector{}), text)
			matchers := expression.(*parser.VectorSelector).LabelMatchers
			g.Expect(matchers).To(HaveLen(5), text)
			for _, matcher := range matchers {
				if matcher.Name == "__name__" {
					continue
				}
				for _, other := range []string{value, "", "shop", "a", "b", "SHOP"} {
					g.Expect(matcher.Matches(other)).To(Equal((other == value) == (matcher.Name != "old")), "%s of %s with %q", matcher, text, other)
				}
			}
		})
	}
}

func TestQueriesWithoutPodsFindNone(t *testing.T) {
	g := NewWithT(t)
	text, err := rendered(`up{a=~"$newPods",b!~"$oldPods"}`, &checks.Scene{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(Equal(`up{a=~"[^\\s\\S]",b!~"[^\\s\\S]"}`))
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	g.Expect(err).NotTo(HaveOccurred())
	for _, matcher := range expression.(*parser.VectorSelector).LabelMatchers {
		for _, pod := range []string{"", "web-1", "\n", `[^\s\S]`} {
			g.Expect(matcher.Name == "__name__" || matcher.Matches(pod) == (matcher.Name == "b")).To(BeTrue(), "%s with %q", matcher, pod)
		}
	}
}

func TestQueriesNameAHundredPods(t *testing.T) {
	g := NewWithT(t)
	release := &checks.Scene{}
	for i := range 101 {
		release.New = append(release.New, checks.Pod{Name: fmt.Sprintf("web-%03d", 37*i%101)})
	}
	text, err := rendered(`up{pod=~"$newPods"}`, release)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(text).To(HavePrefix(`up{pod=~"(web-000|web-001|`))
	g.Expect(text).To(HaveSuffix(`|web-100)"}`), "one in between is left out")
	g.Expect(strings.Count(text, "|")).To(Equal(99))
}
