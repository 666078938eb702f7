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
	"fmt"
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

func TestBrokenAndUndecidedTellNothingBeforeTheEnd(t *testing.T) {
	for name, row := range map[string]struct {
		finding func(reason, message string, terms measure.Terms) checks.Finding
		ended   bool
		want    checks.Finding
	}{
		"a source that's away for now": {measure.Broken, false, checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Again: time.Minute}},
		"a source that's away": {measure.Broken, true,
			checks.Finding{Verdict: "Inconclusive", Reason: "SourceUnavailable", Message: "no answer", Broken: true}},
		"too little so far": {measure.Undecided, false, checks.Finding{Verdict: "Pass", Reason: "CheckPassed", Again: time.Minute}},
		"too little": {measure.Undecided, true,
			checks.Finding{Verdict: "Inconclusive", Reason: "SourceUnavailable", Message: "no answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			found := row.finding("SourceUnavailable", "no answer", measure.Terms{Ended: row.ended, Again: time.Minute})
			NewWithT(t).Expect(found).To(Equal(row.want))
		})
	}
}

func TestFailedFailsAllNewPods(t *testing.T) {
	release := &checks.Scene{New: []checks.Pod{{Name: "web-0", UID: "1"}, {Name: "web-1", UID: "2"}}, Old: []checks.Pod{{Name: "web-2"}}}
	NewWithT(t).Expect(measure.Failed(release, "CheckFailed", "5% errors")).To(Equal(checks.Finding{
		Verdict: "Fail", Reason: "CheckFailed", Message: "5% errors",
		Pods: []appv1alpha1.CheckedPod{{Pod: "web-0", UID: "1", Message: "5% errors"}, {Pod: "web-1", UID: "2", Message: "5% errors"}},
	}))
}

func TestDetectableIsToldWhereNothingWasFound(t *testing.T) {
	for _, row := range []struct {
		verdict statistics.Verdict
		ratio   float64
		want    string
	}{
		{"Pass", 2.345, ", x2.35 would have been found"},
		{"Inconclusive", 14.72, ", x14.7 would have been found"},
		{"Inconclusive", math.Inf(1), ""},
		{"Fail", 2, ""},
	} {
		NewWithT(t).Expect(measure.Detectable(statistics.Finding{Verdict: row.verdict, MinimumDetectable: row.ratio})).To(Equal(row.want))
	}
}

func TestReadingsThenHasTheValuesOfBoth(t *testing.T) {
	g := NewWithT(t)
	at := func(seconds int) time.Time { return time.Date(2026, 1, 1, 0, 0, seconds, 0, time.UTC) }
	series := func(pod string, values ...float64) measure.Series {
		return measure.Series{Labels: map[string]string{"pod": pod}, Values: values}
	}
	before := measure.Readings{Moments: []time.Time{at(0), at(30)}, PodLabel: "pod", Answers: [][]measure.Series{
		{series("web-1", 1, 2), series("web-2", 3, 4)}, nil,
	}}
	whole := before.Then(measure.Readings{Moments: []time.Time{at(45), at(50)}, PodLabel: "pod", Answers: [][]measure.Series{
		{series("web-3", 5, 6), series("web-2", 7, 8)}, {series("web-3", 9, 9)},
	}})
	g.Expect(whole.Moments).To(Equal([]time.Time{at(0), at(30), at(45), at(50)}))
	g.Expect(whole.Step()).To(Equal(5 * time.Second))
	g.Expect([]int{before.Recent(), whole.Recent(), (&measure.Readings{}).Recent()}).To(Equal([]int{0, 2, 0}))
	g.Expect(fmt.Sprint(whole.Answers)).To(Equal(
		"[[{map[pod:web-1] [1 2 NaN NaN]} {map[pod:web-2] [3 4 7 8]} {map[pod:web-3] [NaN NaN 5 6]}] [{map[pod:web-3] [NaN NaN 9 9]}]]"))
	g.Expect(before.Answers[0][1].Values).To(Equal([]float64{3, 4}), "which others use as well")
}

// The release began after the second of four moments.
func TestPods(t *testing.T) {
	nan, began := math.NaN(), time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)
	at := func(moment int) time.Time { return began.Add(time.Duration(moment-1) * 15 * time.Second) }
	moments := []time.Time{at(0), at(1), at(2), at(3)}
	pod := func(name string, moment int) checks.Pod {
		return checks.Pod{Name: name, Since: at(moment), Created: at(moment)}
	}
	for name, row := range map[string]struct {
		kind   string
		news   []checks.Pod
		olds   []checks.Pod
		values map[string][]float64
		want   []measure.Pod
	}{
		"a new one and an old one": {"Game", []checks.Pod{pod("web-b", 2)}, []checks.Pod{pod("web-a", -9)},
			map[string][]float64{"web-a": {1, 2, 3, 4}, "web-b": {nan, nan, 5, 6}}, []measure.Pod{
				{Name: "web-b", New: true, Ready: at(2), Values: []float64{nan, nan, 5, 6}}, {Name: "web-a", Ready: at(-9), Values: []float64{1, 2, 3, 4}}}},
		"one without values": {"Game", []checks.Pod{pod("web-b", 2)}, nil, nil,
			[]measure.Pod{{Name: "web-b", New: true, Ready: at(2), Values: []float64{nan, nan, nan, nan}}}},
		"a successor": {"StatefulSet", []checks.Pod{pod("web-0", 2)}, nil, map[string][]float64{"web-0": {1, 2, 7, 8}}, []measure.Pod{
			{Name: "web-0", Ready: at(0), Gone: at(1), Values: []float64{1, 2}}, {Name: "web-0", New: true, Ready: at(2), Values: []float64{1, 2, 7, 8}}}},
		"a successor of one of the release": {"StatefulSet", []checks.Pod{{Name: "web-0", Since: at(3), Created: at(3), First: at(2)}}, nil,
			map[string][]float64{"web-0": {1, 2, 7, 8}}, []measure.Pod{
				{Name: "web-0", Ready: at(0), Gone: at(1), Values: []float64{1, 2}}, {Name: "web-0", New: true, Ready: at(3), Values: []float64{1, 2, 7, 8}}}},
		"one of the release from before": {"StatefulSet", []checks.Pod{pod("web-0", -9)}, nil, map[string][]float64{"web-0": {1, 2, 3, 4}},
			[]measure.Pod{{Name: "web-0", New: true, Ready: at(-9), Values: []float64{1, 2, 3, 4}}}},
		"old ones that are gone": {"StatefulSet", nil, nil, map[string][]float64{"web-2": {1, 2, nan, nan}, "web-1": {1, nan, 3, nan}},
			[]measure.Pod{
				{Name: "web-1", Ready: at(0), Gone: at(2), Values: []float64{1, nan, 3}}, {Name: "web-2", Ready: at(0), Gone: at(1), Values: []float64{1, 2}}}},
		"of another workload, perhaps": {"Game", nil, nil, map[string][]float64{"web-2": {1, 2, nan, nan}}, nil},
		"of either version":            {"StatefulSet", nil, nil, map[string][]float64{"web-2": {nan, 2, 3, nan}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			found := measure.Pods(&checks.Scene{Kind: row.kind, Name: "web", Began: began, New: row.news, Old: row.olds}, moments, row.values)
			NewWithT(t).Expect(fmt.Sprint(found)).To(Equal(fmt.Sprint(row.want))) // NaN equals nothing
		})
	}
}

func TestPassedEndsACheck(t *testing.T) {
	found := measure.Passed("PassedEarly", "0.2% on 1 new pod", measure.Terms{Again: time.Minute})
	NewWithT(t).Expect(found).To(Equal(checks.Finding{
		Verdict: "Pass", Reason: "PassedEarly", Message: "0.2% on 1 new pod", Final: true, Again: time.Minute,
	}))
}

func TestReadingsByPod(t *testing.T) {
	g := NewWithT(t)
	readings := measure.Readings{PodLabel: "exported_pod", Answers: [][]measure.Series{{
		{Labels: map[string]string{"exported_pod": "web-0", "pod": "exporter"}, Values: []float64{1, 2}},
		{Labels: map[string]string{"exported_pod": "web-1"}, Values: []float64{3, 4}},
	}}}
	g.Expect(readings.ByPod(0)).To(Equal(map[string][]float64{"web-0": {1, 2}, "web-1": {3, 4}}))
	g.Expect(readings.ByPod(1)).To(BeEmpty(), "a query that was never asked")
}

func TestPodCount(t *testing.T) {
	for count, want := range map[int]string{0: "0 old pods", 1: "1 old pod", 2: "2 old pods"} {
		NewWithT(t).Expect(measure.PodCount(count, "old")).To(Equal(want))
	}
}

func TestConcluded(t *testing.T) {
	release := &checks.Scene{New: []checks.Pod{{Name: "web-0", UID: "1"}}}
	numbers := &appv1alpha1.CheckNumbers{New: "0.05"}
	for name, row := range map[string]struct {
		found statistics.Finding
		ended bool
		want  checks.Finding
	}{
		"a failure": {statistics.Finding{Verdict: "Fail", Reason: "CheckFailed"}, true, checks.Finding{Verdict: "Fail", Reason: "CheckFailed", Message: "5% errors",
			Numbers: numbers, Pods: []appv1alpha1.CheckedPod{{Pod: "web-0", UID: "1", Message: "5% errors"}}}},
		"a pass": {statistics.Finding{Verdict: "Pass", Reason: "PassedEarly"}, false,
			checks.Finding{Verdict: "Pass", Reason: "PassedEarly", Message: "5% errors", Numbers: numbers, Final: true}},
		"neither": {statistics.Finding{Verdict: "Inconclusive", Reason: "LowTraffic"}, true,
			checks.Finding{Verdict: "Inconclusive", Reason: "LowTraffic", Message: "5% errors", Numbers: numbers}},
		"neither so far": {statistics.Finding{Verdict: "Inconclusive", Reason: "InProgress"}, false, checks.Finding{Verdict: "Pass", Reason: "CheckPassed"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(measure.Concluded(release, row.found, "5% errors", numbers, measure.Terms{Ended: row.ended})).To(Equal(row.want))
		})
	}
}
