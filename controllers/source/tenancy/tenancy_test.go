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

package tenancy

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/model/labels"
)

func TestConfine(t *testing.T) {
	for name, row := range map[string]struct{ query, confined string }{
		"a name":                     {`up`, `up{namespace="shop"}`},
		"matchers":                   {`up{job="web",pod!~"a.*"}`, `up{job="web",namespace="shop",pod!~"a.*"}`},
		"a name as a pattern":        {`{__name__=~"http_.+"}`, `{__name__=~"http_.+",namespace="shop"}`},
		"a name in quotes":           {`{"http.requests", job="web"}`, `{__name__="http.requests",job="web",namespace="shop"}`},
		"every part":                 {`a / on (pod) group_left b`, `a{namespace="shop"} / on (pod) group_left () b{namespace="shop"}`},
		"nested calls":               {`sum by (pod) (rate(a[1m]))`, `sum by (pod) (rate(a{namespace="shop"}[1m]))`},
		"a subquery":                 {`max_over_time(rate(a[1m])[5m:15s])`, `max_over_time(rate(a{namespace="shop"}[1m])[5m:15s])`},
		"offset":                     {`a offset 5m`, `a{namespace="shop"} offset 5m`},
		"a time":                     {`a @ 1600000000`, `a{namespace="shop"} @ 1600000000.000`},
		"the end":                    {`rate(a[1m] @ end() offset -1m)`, `rate(a{namespace="shop"}[1m] @ end() offset -1m)`},
		"a parameter":                {`topk(scalar(a), b)`, `topk(scalar(a{namespace="shop"}), b{namespace="shop"})`},
		"absence":                    {`absent(a{job="web"})`, `absent(a{job="web",namespace="shop"})`},
		"or":                         {`a or vector(0)`, `a{namespace="shop"} or vector(0)`},
		"no selector":                {`vector(1)`, `vector(1)`},
		"the namespace already":      {`a{namespace="shop"}`, `a{namespace="shop",namespace="shop"}`},
		"a pattern that includes it": {`a{namespace=~"shop|bank"}`, `a{namespace="shop",namespace=~"shop|bank"}`},
		"another one excluded":       {`a{namespace!="bank"}`, `a{namespace!="bank",namespace="shop"}`},
		"quotes in strings":          {`label_replace(a, "x", "{namespace=\"bank\"}", "", "")`, `label_replace(a{namespace="shop"}, "x", "{namespace=\"bank\"}", "", "")`},
		"a comment":                  {"a # {namespace=\"bank\"}\n", `a{namespace="shop"}`},
	} {
		t.Run(name, func(t *testing.T) {
			confined, err := Confine(row.query, "namespace", "shop")
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(confined).To(Equal(row.confined))
		})
	}
}

func TestConfineRefuses(t *testing.T) {
	for name, row := range map[string]struct{ query, label, expected string }{
		"what can't be parsed":  {`sum(`, "namespace", "parsing the query: 1:5: parse error: unclosed left parenthesis"},
		"what selects all":      {`{}`, "namespace", "parsing the query: 1:1: parse error: vector selector must contain at least one non-empty matcher"},
		"functions of no label": {`info(up)`, "namespace", `parsing the query: 1:1: parse error: function "info" is not enabled`},
		"MetricsQL":             {`{namespace="bank" or namespace="shop"}`, "namespace", "parsing the query: 1:19: parse error: "},
		"another namespace":     {`a + b{namespace="bank"}`, "namespace", `the selector b{namespace="bank"} finds nothing: queries are confined to namespace="shop"`},
		"its exclusion":         {`a{namespace!="shop"}`, "namespace", `the selector a{namespace!="shop"} finds nothing: queries are confined to namespace="shop"`},
		"an empty one":          {`a{namespace=""}`, "namespace", `the selector a{namespace=""} finds nothing: queries are confined to namespace="shop"`},
		"the name of metrics":   {`up`, "__name__", `the selector up finds nothing: queries are confined to __name__="shop"`},
		"no query":              {``, "namespace", "parsing the query: unknown position: parse error: no expression found in input"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Confine(row.query, row.label, "shop")
			NewWithT(t).Expect(err).To(MatchError(HavePrefix(row.expected)))
		})
	}
}

func TestCheckLooksAtTheTextOfAQuery(t *testing.T) {
	g := NewWithT(t)
	required := labels.MustNewMatcher(labels.MatchEqual, "namespace", "shop")
	g.Expect(check(`a{namespace="shop"} + b{x="y",namespace="shop"}`, required)).To(Succeed())
	g.Expect(check(`a{namespace="shop"} + b`, required)).To(MatchError(`the query can't be confined to namespace="shop": its selector b doesn't keep that`))
	g.Expect(check(`a{namespace=~"shop"}`, required)).NotTo(Succeed())
	g.Expect(check(`a{`, required)).NotTo(Succeed())
}

func FuzzConfine(f *testing.F) {
	for _, query := range []string{
		`up`, `{__name__=~"a.+"}`, `sum by (pod) (rate(a{namespace=~".*"}[1m] offset 5m)) / ignoring (x) b @ start()`, `a[5m:1m]`,
		`quantile(0.9, a{"b.c"="d"})`, "a{namespace=`shop`}", `histogram_quantile(0.9, sum(rate(x_bucket[5m])) by (le))`, `-a ^ 2 > bool 3`,
		`count_values("namespace", a)`, `label_replace(a, "namespace", "shop", "", "")`, `{"a", namespace!="shop"}`, `"a"`, `time()`, `1`,
	} {
		f.Add(query, "shop")
	}
	f.Fuzz(func(t *testing.T, query, namespace string) {
		confined, err := Confine(query, "namespace", namespace)
		if err != nil {
			return
		}
		before, err := parse(query)
		if err != nil {
			t.Fatalf("%q was confined to %q, but can't be parsed: %v", query, confined, err)
		}
		after, err := parse(confined)
		if err != nil {
			t.Fatalf("%q became %q: %v", query, confined, err)
		}
		own, found := selectors(before), selectors(after)
		if len(own) != len(found) {
			t.Fatalf("%q has %d selectors, %q has %d", query, len(own), confined, len(found))
		}
		for i, selector := range found {
			if len(selector.LabelMatchers) != len(own[i].LabelMatchers)+1 {
				t.Errorf("%q became %q: a matcher is lost, or there is another one", query, confined)
			}
			for _, other := range []string{"bank", "", namespace + "x"} {
				if other != namespace && finds(selector.LabelMatchers, other) {
					t.Errorf("%q became %q, which finds series of namespace %q", query, confined, other)
				}
			}
		}
		if again, err := Confine(confined, "namespace", namespace); err != nil || strings.Count(again, "namespace") < strings.Count(confined, "namespace") {
			t.Errorf("%q can't be confined again: %q, %v", confined, again, err)
		}
	})
}

// finds reports whether series of a namespace can match.
func finds(matchers []*labels.Matcher, namespace string) bool {
	for _, matcher := range matchers {
		if matcher.Name == "namespace" && !matcher.Matches(namespace) {
			return false
		}
	}
	return true
}
