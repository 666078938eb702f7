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

// Package tenancy confines PromQL queries to one namespace.
package tenancy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Confine returns a query all of whose selectors also require that a label has a value. It never finds more than the query itself does. A
// query that can't be parsed, or with a selector that excludes the value, is refused.
func Confine(query, label, value string) (string, error) {
	required := labels.MustNewMatcher(labels.MatchEqual, label, value) // equality has no pattern that could be wrong
	expression, err := parse(query)
	if err != nil {
		return "", err
	}
	for _, selector := range selectors(expression) {
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name == label && !matcher.Matches(value) {
				return "", fmt.Errorf("the selector %s finds nothing: queries are confined to %s=%q", selector, label, value)
			}
		}
		// Its own matchers stay, since all of them count: without {namespace=~"shop-.*"} the query could find more.
		selector.LabelMatchers = append(slices.Clip(selector.LabelMatchers), required)
	}
	confined := expression.String()
	if err := check(confined, required); err != nil {
		return "", err
	}
	return confined, nil
}

// check returns an error unless every selector of a query has a matcher. The source reads the text of the query, not the expression, so the
// text is what counts.
func check(query string, required *labels.Matcher) error {
	expression, err := parse(query)
	if err != nil {
		return err
	}
	for _, selector := range selectors(expression) {
		if !slices.ContainsFunc(selector.LabelMatchers, func(m *labels.Matcher) bool { return *m == *required }) {
			return fmt.Errorf("the query can't be confined to %s: its selector %s doesn't keep that", required, selector)
		}
	}
	return nil
}

// parse knows no experimental functions: info() reads series that no selector shows.
func parse(query string) (parser.Expr, error) {
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return nil, fmt.Errorf("parsing the query: %s", strings.TrimSpace(err.Error()))
	}
	return expression, nil
}

func selectors(expression parser.Expr) (found []*parser.VectorSelector) {
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		if selector, ok := node.(*parser.VectorSelector); ok {
			found = append(found, selector)
		}
		return nil
	})
	return found
}
