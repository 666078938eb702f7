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

package query

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// noText is a pattern that nothing matches, not even the empty value of a missing label.
const noText = `[^\s\S]`

var (
	// inText finds the variables in a value, inPattern those in a regular expression, where what follows a backslash means itself.
	inText    = regexp.MustCompile(`\$[a-zA-Z_]\w*`)
	inPattern = regexp.MustCompile(`(?s)\\.|\$[a-zA-Z_]\w*`)
)

// variables are the values of the variables in the matchers of a query.
type variables struct {
	query string
	// names are values, which patterns quote; patterns are already quoted.
	names, patterns map[string]string
}

// render returns a query with the variables in its matchers replaced. It changes the parsed query and never its text, so a value can't end the
// string it is in.
func render(query string, release *checks.Scene) (string, error) {
	// Experimental functions stay unknown: info() reads series that no selector shows.
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return "", err // has the place
	}
	if kind := expression.Type(); kind != parser.ValueTypeVector && kind != parser.ValueTypeScalar {
		return "", fmt.Errorf("%s: a %s is no value: take one, such as by rate() or sum()", placeOf(expression, query), parser.DocumentedType(kind))
	}
	err = parser.Walk(variables{
		query: query,
		names: map[string]string{
			"$namespace": release.Namespace, "$workload": release.Name, "$kind": release.Kind, "$version": release.Version,
		},
		patterns: map[string]string{"$newPods": patternOf(release.New), "$oldPods": patternOf(release.Old)},
	}, expression, nil)
	return expression.String(), err
}

func placeOf(node parser.Node, query string) string {
	return node.PositionRange().StartPosInput(query, 0)
}

func patternOf(pods []checks.Pod) string {
	if len(pods) == 0 {
		return noText
	}
	named := checks.Sample(pods, checks.MaxSample)
	names := make([]string, len(named))
	for i := range named {
		names[i] = regexp.QuoteMeta(named[i].Name)
	}
	return "(" + strings.Join(names, "|") + ")"
}

// Visit replaces the variables of a selector.
func (v variables) Visit(node parser.Node, _ []parser.Node) (parser.Visitor, error) {
	selector, ok := node.(*parser.VectorSelector)
	if !ok {
		return v, nil
	}
	for i, matcher := range selector.LabelMatchers {
		replaced, err := v.replace(matcher)
		if err != nil {
			return nil, fmt.Errorf("%s: the matcher %s: %w", placeOf(selector, v.query), matcher, err)
		}
		selector.LabelMatchers[i] = replaced
	}
	return v, nil
}

// replace returns a matcher with the variables in its value replaced.
func (v variables) replace(matcher *labels.Matcher) (*labels.Matcher, error) {
	hasPattern, syntax := matcher.Type == labels.MatchRegexp || matcher.Type == labels.MatchNotRegexp, inText
	if hasPattern {
		syntax = inPattern
	}
	var problem error
	value := syntax.ReplaceAllStringFunc(matcher.Value, func(found string) string {
		name, isName := v.names[found]
		pattern, isPattern := v.patterns[found]
		switch {
		case isName && hasPattern:
			return regexp.QuoteMeta(name)
		case isName:
			return name
		case isPattern && hasPattern:
			return pattern
		case isPattern:
			problem = fmt.Errorf("%s is for the operators =~ and !~", found)
		case found[0] == '$':
			problem = fmt.Errorf("%s is unknown: there are $namespace, $workload, $kind, $version, $newPods and $oldPods", found)
		}
		return found
	})
	if problem != nil {
		return nil, problem
	}
	return labels.NewMatcher(matcher.Type, matcher.Name, value)
}
