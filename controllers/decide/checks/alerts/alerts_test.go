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

package alerts_test

import (
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/prometheus/promql/parser"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/alerts"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

const interval = 15 * time.Second

// state is the label of the state of an alert.
const state = "alertstate"

// began is the third of the moments.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func firing(matchLabels map[string]string) alerts.Check {
	return alerts.Check{Spec: &appv1alpha1.AlertsCheck{MatchLabels: matchLabels}}
}

// series is an alert that fires at the moments with a 1.
func series(at string, labels ...string) measure.Series {
	all := measure.Series{Labels: map[string]string{"alertname": "HighErrorRate", "alertstate": "firing"}}
	for i := 0; i < len(labels); i += 2 {
		all.Labels[labels[i]] = labels[i+1]
	}
	for _, look := range at {
		all.Values = append(all.Values, map[rune]float64{'1': 1, '.': math.NaN()}[look])
	}
	return all
}

func readings(found ...measure.Series) measure.Readings {
	read := measure.Readings{Answers: [][]measure.Series{found}, PodLabel: "exported_pod", NamespaceLabel: "ns"}
	for i := range 7 {
		read.Moments = append(read.Moments, began.Add(time.Duration(i-2)*interval))
	}
	return read
}

// scene has two new pods, which were created 20 seconds after the release began.
func scene() *checks.Scene {
	release := &checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web", Began: began, Old: []checks.Pod{{Name: "web-2"}}}
	for _, name := range []string{"web-0", "web-1"} {
		release.New = append(release.New, checks.Pod{Name: name, UID: types.UID("uid-" + name), Created: began.Add(20 * time.Second)})
	}
	return release
}

func TestQueries(t *testing.T) {
	for expected, matchLabels := range map[string]map[string]string{
		`ALERTS{alertstate=~"firing|pending"}`:                                nil,
		`ALERTS{alertstate=~"firing|pending",severity="page",team="shop"}`:    {"team": "shop", "severity": "page"},
		`ALERTS{alertstate=~"firing|pending",team="a\"} or up{x=~\".*\\\n|"}`: {"team": "a\"} or up{x=~\".*\\\n|"},
	} {
		g := NewWithT(t)
		queries, err := firing(matchLabels).Queries(scene(), appv1alpha1.SourceLabels{Pod: "exported_pod", Namespace: "ns"})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(queries).To(Equal([]string{expected}))
		expression, err := parser.NewParser(parser.Options{}).ParseExpr(queries[0])
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(expression).To(BeAssignableToTypeOf(&parser.VectorSelector{}), "a value doesn't end the selector")
	}
}

func TestJudge(t *testing.T) {
	both := []string{"web-0", "web-1"}
	for name, row := range map[string]struct {
		matchLabels map[string]string
		found       []measure.Series
		message     string
		pods        []string
	}{
		"none": {nil, nil, "", nil},
		"one that begins": {
			nil, []measure.Series{series("...1111")}, "alert HighErrorRate fires since 2026-01-01T00:00:15Z", both,
		},
		"one that has ended": {
			nil, []measure.Series{series("....1..")}, "alert HighErrorRate fires since 2026-01-01T00:00:30Z", both,
		},
		"one that fires since before":             {nil, []measure.Series{series(".111111")}, "", nil},
		"one that fires since the beginning":      {nil, []measure.Series{series("..11111")}, "", nil},
		"one that fires again":                    {nil, []measure.Series{series("1....11")}, "", nil},
		"one that never fires":                    {nil, []measure.Series{series(".......")}, "", nil},
		"one that was pending before":             {nil, []measure.Series{series("....111"), series(".111...", state, "pending")}, "", nil},
		"one that is pending since the beginning": {nil, []measure.Series{series("....111"), series("..11...", state, "pending")}, "", nil},
		"one that is only pending":                {nil, []measure.Series{series("...1111", state, "pending")}, "", nil},
		"one that was pending after the release began": {
			nil, []measure.Series{series("....111"), series("...1...", state, "pending")}, "alert HighErrorRate fires since 2026-01-01T00:00:30Z", both,
		},
		"one that was pending before, and then anew": {
			nil, []measure.Series{series(".....11"), series("11..1..", state, "pending")}, "alert HighErrorRate fires since 2026-01-01T00:00:45Z", both,
		},
		"one beside another one that was pending": {
			nil, []measure.Series{series("....111"), series(".111...", state, "pending", "instance", "a")},
			"alert HighErrorRate fires since 2026-01-01T00:00:30Z", both,
		},
		"of a pod whose predecessor's was pending": {
			nil, []measure.Series{series(".....11", "exported_pod", "web-1"), series("...11..", state, "pending", "exported_pod", "web-1")}, "", nil,
		},
		"with a severity": {
			nil, []measure.Series{series("...1111", "severity", "page")}, "alert HighErrorRate (severity page) fires since 2026-01-01T00:00:15Z", both,
		},
		"two": {
			nil, []measure.Series{series("....111"), series("...1111", "alertname", "Slow", "severity", "page"), series(".111111", "alertname", "Old")},
			"alerts Slow (severity page) and HighErrorRate fire since 2026-01-01T00:00:15Z", both,
		},
		"many": {
			nil, []measure.Series{
				series("...1111", "alertname", "D"), series("...1111", "alertname", "A", "exported_pod", "web-0"), series("...1111", "alertname", "C"),
				series("...1111", "alertname", "B"), series("....111", "alertname", "A", "exported_pod", "web-1"),
			}, "alerts B, C and 2 more fire since 2026-01-01T00:00:15Z", both,
		},
		"of the namespace": {
			nil, []measure.Series{series("...1111", "ns", "shop")}, "alert HighErrorRate fires since 2026-01-01T00:00:15Z", both,
		},
		"of another namespace": {nil, []measure.Series{series("...1111", "ns", "bank")}, "", nil},
		"of one that was asked for": {
			map[string]string{"ns": "bank"}, []measure.Series{series("...1111", "ns", "bank")}, "alert HighErrorRate fires since 2026-01-01T00:00:15Z", both,
		},
		"of a label of another name": {map[string]string{"namespace": "bank"}, []measure.Series{series("...1111", "ns", "bank")}, "", nil},
		"of a new pod": {
			nil, []measure.Series{series("....111", "exported_pod", "web-1")}, "alert HighErrorRate fires since 2026-01-01T00:00:30Z", []string{"web-1"},
		},
		"of new pods": {
			nil, []measure.Series{series(".....11", "exported_pod", "web-1"), series("....111", "exported_pod", "web-0")},
			"alert HighErrorRate fires since 2026-01-01T00:00:30Z", both,
		},
		"of a new pod, and another one": {
			nil, []measure.Series{series("....111", "exported_pod", "web-1"), series(".....11", "alertname", "Slow")},
			"alerts HighErrorRate and Slow fire since 2026-01-01T00:00:30Z", both,
		},
		"of the pod before it, with its name":     {nil, []measure.Series{series("...1111", "exported_pod", "web-1")}, "", nil},
		"of an old pod":                           {nil, []measure.Series{series("....111", "exported_pod", "web-2")}, "", nil},
		"of a pod of another workload":            {nil, []measure.Series{series("....111", "exported_pod", "api-1", "ns", "shop")}, "", nil},
		"of a pod of another namespace, as named": {nil, []measure.Series{series("....111", "exported_pod", "web-1", "ns", "bank")}, "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			for _, ended := range []bool{false, true} {
				found := firing(row.matchLabels).Judge(scene(), readings(row.found...), measure.Terms{Warmup: time.Hour, Ended: ended, Again: time.Second})
				if row.message == "" {
					g.Expect(string(found.Verdict)+" "+found.Reason).To(Equal("Pass CheckPassed"), found.Message)
					g.Expect(found.Message).To(Equal(map[bool]string{true: "no alert fires that didn't before"}[ended]))
					g.Expect(found.Final).To(Equal(ended))
					g.Expect(found.Again).To(Equal(time.Second))
					continue
				}
				g.Expect(string(found.Verdict) + " " + found.Reason).To(Equal("Fail CheckFailed"))
				g.Expect(found.Message).To(Equal(row.message))
				var pods []string
				for _, pod := range found.Pods {
					g.Expect(string(pod.UID)).To(Equal("uid-" + pod.Pod))
					pods = append(pods, pod.Pod)
				}
				g.Expect(pods).To(Equal(row.pods))
			}
		})
	}
}

// With long steps, what fired just before the release is first seen after it.
func TestJudgeBlamesNoReleaseForWhatMayBeOlder(t *testing.T) {
	release := scene()
	release.Began = began.Add(time.Second)
	for at, verdict := range map[string]string{"...1111": "Pass", "....111": "Fail"} {
		found := firing(nil).Judge(release, readings(series(at)), measure.Terms{})
		NewWithT(t).Expect(string(found.Verdict)).To(Equal(verdict), at)
	}
	pod := series("....111", "exported_pod", "web-0") // which is new itself
	NewWithT(t).Expect(string(firing(nil).Judge(release, readings(pod), measure.Terms{}).Verdict)).To(Equal("Fail"))
}

func TestCheckNeedsOneLookAndNoBudget(t *testing.T) {
	g := NewWithT(t)
	check := firing(nil)
	check.Spec.SourceRef.Name = "prometheus"
	g.Expect(check.Source()).To(Equal("prometheus"))
	g.Expect(check.Problems()).To(BeEmpty())
	g.Expect(check.LeastLooks(15)).To(Equal(int32(1)))
	g.Expect(check.Spends()).To(Equal(measure.Nothing))
}

// Before the first pod, every alert counts that fires now: also one that no release has to answer for.
func TestJudgePresent(t *testing.T) {
	release := scene()
	release.New = nil
	for name, row := range map[string]struct {
		matchLabels map[string]string
		found       []measure.Series
		message     string
	}{
		"none":                               {nil, nil, "Pass no alert fires"},
		"one that fires since before":        {nil, []measure.Series{series("1111111")}, "Fail alert HighErrorRate fires since 2025-12-31T23:59:30Z"},
		"one that began":                     {nil, []measure.Series{series("....111")}, "Fail alert HighErrorRate fires since 2026-01-01T00:00:30Z"},
		"one that fires again":               {nil, []measure.Series{series("111...1")}, "Fail alert HighErrorRate fires since 2026-01-01T00:01:00Z"},
		"one that has ended":                 {nil, []measure.Series{series("111111.")}, "Pass no alert fires"},
		"one that is pending":                {nil, []measure.Series{series("1111111", state, "pending")}, "Pass no alert fires"},
		"one without values":                 {nil, []measure.Series{series("")}, "Pass no alert fires"},
		"one of an old pod":                  {nil, []measure.Series{series("1111111", "ns", "shop", "exported_pod", "web-2")}, "Fail alert HighErrorRate fires since 2025-12-31T23:59:30Z"},
		"one of another namespace":           {nil, []measure.Series{series("1111111", "ns", "other")}, "Pass no alert fires"},
		"one of another namespace, selected": {map[string]string{"ns": "other"}, []measure.Series{series("1111111", "ns", "other")}, "Fail alert HighErrorRate fires since 2025-12-31T23:59:30Z"},
		"two": {nil, []measure.Series{series("....111", "alertname", "Late"), series("1111111")},
			"Fail alerts HighErrorRate and Late fire since 2025-12-31T23:59:30Z"},
	} {
		found := firing(row.matchLabels).JudgePresent(release, readings(row.found...))
		NewWithT(t).Expect(string(found.Verdict)+" "+found.Message).To(Equal(row.message), name)
	}
}
