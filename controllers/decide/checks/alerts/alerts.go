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

// Package alerts judges a release by the alerts that began to fire since it began.
package alerts

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/prometheus/model/labels"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

// Check is a check of the type Alerts.
type Check struct{ Spec *appv1alpha1.AlertsCheck }

var _ measure.Present = Check{}

// Source names the VerificationSource that has the alerts.
func (c Check) Source() string { return c.Spec.SourceRef.Name }

// The states of an alert. One whose rule has "for" is pending before it fires.
const stateLabel, firing, pending = "alertstate", "firing", "pending"

// Queries returns the query of the alerts that fire or are pending, of all namespaces: those of none, such as of a node, count as well.
func (c Check) Queries(*checks.Scene, appv1alpha1.SourceLabels) ([]string, error) {
	matching := []*labels.Matcher{labels.MustNewMatcher(labels.MatchRegexp, stateLabel, firing+"|"+pending)}
	for _, name := range slices.Sorted(maps.Keys(c.Spec.MatchLabels)) {
		matching = append(matching, labels.MustNewMatcher(labels.MatchEqual, name, c.Spec.MatchLabels[name]))
	}
	return []string{measure.Selector("ALERTS", matching...)}, nil
}

// Judge judges a release by the alerts that fire. They fail the pods that they name, or all new pods if one of them names none.
func (c Check) Judge(release *checks.Scene, readings measure.Readings, terms measure.Terms) checks.Finding {
	found := c.newAlerts(release, readings)
	switch {
	case len(found) == 0 && terms.Ended:
		return measure.Passed(appv1alpha1.ReasonCheckPassed, "no alert fires that didn't before", terms)
	case len(found) == 0:
		return checks.Passed(terms.Again)
	}
	failed := measure.Failed(release, appv1alpha1.ReasonCheckFailed, describe(found))
	of := func(pod string) bool { return slices.ContainsFunc(found, func(a alert) bool { return a.pod == pod }) }
	if !of("") {
		failed.Pods = slices.DeleteFunc(failed.Pods, func(pod appv1alpha1.CheckedPod) bool { return !of(pod.Pod) })
	}
	return failed
}

// JudgePresent passes a release if no alert fires now: neither one of its namespace nor one of none, whatever pods they name.
func (c Check) JudgePresent(release *checks.Scene, readings measure.Readings) checks.Finding {
	found := c.firingNow(release, readings)
	if len(found) == 0 {
		return measure.Passed(appv1alpha1.ReasonCheckPassed, "no alert fires", measure.Terms{})
	}
	return measure.Failed(release, appv1alpha1.ReasonCheckFailed, describe(found))
}

// Problems returns none: the API server denies unusable labels.
func (c Check) Problems() []string { return nil }

// LeastLooks returns how many looks the check needs to fail.
func (c Check) LeastLooks(int32) int32 { return 1 }

// Spends returns that the check compares with a fixed objective.
func (c Check) Spends() measure.Spending { return measure.Nothing }

// alert is an alert that counts.
type alert struct {
	// name is how a person is told of it, pod the pod that it names, empty for none.
	name, pod string
	// since is when it began to fire, zero if that is longer ago than was looked.
	since time.Time
}

// newAlerts returns the alerts that may be due to the release, in the order in which they began to fire. One that fired before doesn't count,
// also if it stopped and fires again, nor one that was pending when the release began and stayed so until it fired; nor does one of another
// namespace that matchLabels doesn't name, or of a pod that doesn't run the release.
func (c Check) newAlerts(release *checks.Scene, readings measure.Readings) []alert {
	series, waiting := readings.Answer(0), map[string][]float64{}
	for i := range series {
		if series[i].Labels[stateLabel] == pending {
			waiting[identity(series[i].Labels)] = series[i].Values
		}
	}
	var found []alert
	for i := range series {
		all, values := series[i].Labels, series[i].Values
		pod := all[readings.PodLabel]
		own := slices.IndexFunc(release.New, func(p checks.Pod) bool { return p.Name == pod })
		other := pod != "" && own < 0 || c.isElsewhere(release, readings, all)
		first := slices.IndexFunc(values, isThere)
		if all[stateLabel] != firing || other || first < 0 {
			continue
		}
		fires, waits := countsFrom(readings.Moments, release, own)
		if first >= fires && pendingSince(waiting[identity(all)], first) >= waits {
			found = append(found, alert{nameOf(all), pod, readings.Moments[first]})
		}
	}
	slices.SortFunc(found, bySince)
	return found
}

// firingNow returns the alerts that fire at the last moment, in the order in which they began to.
func (c Check) firingNow(release *checks.Scene, readings measure.Readings) (found []alert) {
	for _, series := range readings.Answer(0) {
		last := len(series.Values) - 1
		if series.Labels[stateLabel] != firing || c.isElsewhere(release, readings, series.Labels) || last < 0 || !isThere(series.Values[last]) {
			continue
		}
		first := pendingSince(series.Values, last)
		since := readings.Moments[first]
		if first == 0 && since.After(release.Began) { // only the last looks of a long wait were read
			since = time.Time{}
		}
		found = append(found, alert{nameOf(series.Labels), series.Labels[readings.PodLabel], since})
	}
	slices.SortFunc(found, bySince)
	return found
}

// isElsewhere reports whether an alert is of another namespace, which matchLabels doesn't name.
func (c Check) isElsewhere(release *checks.Scene, readings measure.Readings, labels map[string]string) bool {
	namespace := labels[readings.NamespaceLabel]
	_, anyNamespace := c.Spec.MatchLabels[readings.NamespaceLabel]
	return namespace != "" && namespace != release.Namespace && !anyNamespace
}

func bySince(a, b alert) int { return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.name, b.name)) }

// countsFrom returns the first moment at which an alert counts that begins to fire, and the first one for an alert that is pending by then. own is
// the new pod that it names, negative for none.
func countsFrom(moments []time.Time, release *checks.Scene, own int) (fires, waits int) {
	if own >= 0 && release.New[own].Created.After(release.Began) { // older alerts are its predecessor's in a StatefulSet, of the same name
		created, _ := slices.BinarySearchFunc(moments, release.New[own].Created, time.Time.Compare)
		return created, created
	}
	// The moment after the release began shows as well what fired just before, if no look was when it began: with long steps, anything may. What is
	// pending there counts all the same: a fault of the release is pending at once, and would never count else.
	began, exact := slices.BinarySearchFunc(moments, release.Began, time.Time.Compare)
	if exact {
		return began + 1, began + 1
	}
	return began + 1, began
}

// pendingSince returns the moment since which an alert that fires from a moment on was pending without a break.
func pendingSince(values []float64, fires int) int {
	for fires > 0 && values != nil && isThere(values[fires-1]) {
		fires--
	}
	return fires
}

// identity tells alerts apart, whatever their state is.
func identity(of map[string]string) string {
	known := maps.Clone(of)
	delete(known, stateLabel)
	return labels.FromMap(known).String()
}

func isThere(value float64) bool { return !math.IsNaN(value) }

func nameOf(labels map[string]string) string {
	if severity := labels["severity"]; severity != "" {
		return fmt.Sprintf("%s (severity %s)", labels["alertname"], severity)
	}
	return labels["alertname"]
}

// describe returns the first two alerts as a person reads them, and how many others there are.
func describe(firing []alert) string {
	var names []string
	for _, one := range firing {
		if !slices.Contains(names, one.name) { // the same alert has a series for each pod
			names = append(names, one.name)
		}
	}
	since := ""
	if first := firing[0].since; !first.IsZero() {
		since = " since " + first.UTC().Format(time.RFC3339)
	}
	switch len(names) {
	case 1:
		return fmt.Sprintf("alert %s fires%s", names[0], since)
	case 2:
		return fmt.Sprintf("alerts %s and %s fire%s", names[0], names[1], since)
	default:
		return fmt.Sprintf("alerts %s, %s and %d more fire%s", names[0], names[1], len(names)-2, since)
	}
}
