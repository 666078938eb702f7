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

package measure

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// generated is a pattern of the characters of which Kubernetes makes names, without vowels: the pods of web are told from those of web-api.
const generated = "[" + vowelless + "]"

// maxOwner is the longest name of a workload whose pods' names can be told: Kubernetes shortens longer ones.
const maxOwner = 46

// PodNames returns a pattern that the names of all pods of a workload match, those of the past as well. It reports whether names of pods of
// other workloads don't.
func PodNames(kind, name string) (pattern string, exact bool) { return podNames(kind, name, ending{}) }

// podNames returns a pattern of the pods of a workload whose names have an ending.
func podNames(kind, name string, end ending) (pattern string, exact bool) {
	quoted := regexp.QuoteMeta(name)
	if len(name) > maxOwner {
		return regexp.QuoteMeta(name[:maxOwner]) + end.after(".", -1), false
	}
	switch kind {
	case "Deployment":
		return quoted + "-" + generated + "{1,10}-" + end.after(generated, 5), true
	case "StatefulSet":
		return quoted + "-" + end.after("[0-9]", -1), true
	case "DaemonSet":
		return quoted + "-" + end.after(generated, 5), true
	default:
		return quoted + "-.+", false
	}
}

// OwnPods returns the matchers of the pods of a workload that are looked at, those of the past as well.
func OwnPods(release *checks.Scene, names appv1alpha1.SourceLabels) []*labels.Matcher {
	return []*labels.Matcher{
		labels.MustNewMatcher(labels.MatchEqual, names.Namespace, release.Namespace),
		labels.MustNewMatcher(labels.MatchRegexp, names.Pod, sampledNames(release)),
	}
}

// SumByPod returns the query of the sums of a metric on the pods of a workload, each a series by pod, and by other labels.
func SumByPod(release *checks.Scene, names appv1alpha1.SourceLabels, metric string, matching []*labels.Matcher, others ...string) string {
	by := append([]string{names.Pod}, others...)
	return fmt.Sprintf("sum by (%s) (%s)", strings.Join(by, ", "), Selector(metric, slices.Concat(matching, OwnPods(release, names))...))
}

// OthersPeriod is the time of which RateOfOthers has the rate.
const OthersPeriod = 2 * time.Minute

// RateOfOthers returns the query of the rate of a counter on the other pods of the namespace together, as a series for each value of the other labels.
func RateOfOthers(release *checks.Scene, names appv1alpha1.SourceLabels, metric string, matching []*labels.Matcher, others ...string) string {
	pattern, _ := PodNames(release.Kind, release.Name)
	beside := []*labels.Matcher{
		labels.MustNewMatcher(labels.MatchEqual, names.Namespace, release.Namespace), labels.MustNewMatcher(labels.MatchNotEqual, names.Pod, ""),
		labels.MustNewMatcher(labels.MatchNotRegexp, names.Pod, pattern),
	}
	return fmt.Sprintf("sum by (%s) (rate(%s[%s]))", strings.Join(others, ", "), Selector(metric, slices.Concat(matching, beside)...), model.Duration(OthersPeriod))
}

// Selector returns the selector of the series of a metric.
func Selector(metric string, matching ...*labels.Matcher) string {
	selectors := make([]string, len(matching))
	for i, matcher := range matching {
		selectors[i] = matcher.String()
	}
	return metric + "{" + strings.Join(selectors, ",") + "}"
}

// Matchers returns the label matchers of texts. Each text is one matcher, so that none can end the selector.
func Matchers(texts []string) ([]*labels.Matcher, error) {
	var found []*labels.Matcher
	for i, text := range texts {
		parsed, err := parser.NewParser(parser.Options{}).ParseMetricSelector("{" + text + "}")
		if err != nil || len(parsed) != 1 || parsed[0].Name == model.MetricNameLabel {
			return nil, fmt.Errorf(`matchers[%d]: %q is not one label matcher, such as code=~"5.."`, i, text)
		}
		found = append(found, parsed[0])
	}
	return found, nil
}
