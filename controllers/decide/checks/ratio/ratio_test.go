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
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/ratio"
)

// interval is the time between two looks. The release of the tests begins after the second moment.
const interval = 15 * time.Second

var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// moments returns so many moments.
func moments(count int) []time.Time {
	all := make([]time.Time, count)
	for i := range all {
		all[i] = began.Add(time.Duration(i-1) * interval)
	}
	return all
}

// rising returns a counter that rises by so much in each look, from a moment on.
func rising(from, count int, each float64) []float64 {
	values := make([]float64, count)
	for i := range values {
		if values[i] = math.NaN(); i >= from {
			values[i] = each * float64(i-from)
		}
	}
	return values
}

// until returns a counter that is gone after a moment.
func until(last int, values []float64) []float64 {
	for i := range values {
		if i > last {
			values[i] = math.NaN()
		}
	}
	return values
}

// pod is a pod since a moment.
func pod(name string, moment int) checks.Pod {
	at := began.Add(time.Duration(moment-1) * interval)
	return checks.Pod{Name: name, UID: types.UID(name), Since: at, Created: at, Ready: true}
}

func comparison() *appv1alpha1.RatioObjective {
	return &appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}}
}

func threshold() *appv1alpha1.RatioObjective {
	return &appv1alpha1.RatioObjective{Threshold: &appv1alpha1.RatioThreshold{Max: "1%", Consecutive: 3, MinEvents: 20}}
}

// scene is a Deployment with an old pod and a new one since the third moment.
func scene() *checks.Scene {
	return &checks.Scene{
		Kind: "Deployment", Namespace: "shop", Name: "web", Began: began,
		New: []checks.Pod{pod("web-7d4b9-x7k2p", 2)}, Old: []checks.Pod{pod("web-5c6f8-b2c4d", -100)},
	}
}

// counted has the counters of the pods of scene at so many moments, with so many of a thousand events bad.
func counted(count int, news, olds float64) ratio.Counters {
	return ratio.Counters{
		Moments: moments(count),
		Bad:     map[string][]float64{"web-7d4b9-x7k2p": rising(2, count, news), "web-5c6f8-b2c4d": rising(0, count, olds)},
		Total:   map[string][]float64{"web-7d4b9-x7k2p": rising(2, count, 1000), "web-5c6f8-b2c4d": rising(0, count, 1000)},
	}
}

func TestJudge(t *testing.T) {
	noPods := func() *checks.Scene {
		release := scene()
		release.New = nil
		return release
	}
	without := func(counters ratio.Counters, pod string) ratio.Counters {
		delete(counters.Total, pod)
		delete(counters.Bad, pod)
		return counters
	}
	// worse makes two of a thousand events bad at each of ten looks but some, at which it makes thirty.
	old := "0.2% on 1 old pod"
	for name, row := range map[string]struct {
		release                  *checks.Scene
		check                    *appv1alpha1.RatioObjective
		counters                 ratio.Counters
		ended                    bool
		verdict, reason, message string
		final                    bool
	}{
		"more errors than the old pods": {scene(), comparison(), counted(12, 32, 2), false,
			"Fail", "CheckFailed", "3.2% on 1 new pod (128 events), " + old + " (x16, tolerated x1.5)", false},
		"too few looks":               {scene(), comparison(), counted(6, 32, 2), false, "Pass", "CheckPassed", "", false},
		"as many errors":              {scene(), comparison(), counted(6, 2, 2), false, "Pass", "CheckPassed", "", false},
		"no errors, early":            {scene(), comparison(), counted(40, 2, 2), false, "Pass", "PassedEarly", "", true},
		"too little to tell, the end": {scene(), comparison(), counted(6, 2, 2), true, "Inconclusive", "LowTraffic", "0.2% on 1 new pod (4 events), 0.2% on 1 old pod (x1, tolerated x1.5)", false},
		"no metrics on the new pods": {scene(), comparison(), without(counted(12, 0, 2), "web-7d4b9-x7k2p"), true,
			"Inconclusive", "MissingOnNewPods", "series in 0 of 8 looks at 1 new pod, in 11 of 11 at 1 old pod", false},
		"no metrics at all": {scene(), comparison(), ratio.Counters{Moments: moments(12)}, true,
			"Inconclusive", "MetricMissing", "series in 0 of 8 looks at 1 new pod, in 0 of 11 at 1 old pod", false},
		"no metrics so far":               {scene(), comparison(), ratio.Counters{Moments: moments(12)}, false, "Pass", "CheckPassed", "", false},
		"no pods":                         {noPods(), comparison(), counted(12, 0, 2), true, "Inconclusive", "NoData", "series in 0 of 0 looks at 0 new pods, in 11 of 11 at 1 old pod", false},
		"no metrics for the threshold":    {scene(), threshold(), ratio.Counters{Moments: moments(12)}, true, "Inconclusive", "NoData", "series in 0 of 8 looks at 1 new pod", false},
		"never asked":                     {scene(), comparison(), ratio.Counters{}, true, "Inconclusive", "NoData", "series in 0 of 0 looks at 1 new pod, and nothing at 1 old pod to compare with", false},
		"above the threshold":             {scene(), threshold(), counted(7, 32, 2), false, "Fail", "CheckFailed", "3.2% on 1 new pod (96 events), at most 1% is allowed", false},
		"above the threshold, for a look": {scene(), threshold(), counted(6, 32, 2), false, "Pass", "CheckPassed", "", false},
		"above the threshold, at last":    {scene(), threshold(), worse(10, 11, 12), true, "Fail", "CheckFailed", "3% on 1 new pod (90 events), at most 1% is allowed", false},
		"above the threshold, but not running": {scene(), threshold(), worse(6, 7, 9, 10, 12), true,
			"Pass", "CheckPassed", "1.76% on 1 new pod (158 events), at most 1% is allowed in 3 looks running", true},
		"below the threshold": {scene(), threshold(), counted(9, 2, 2), true, "Pass", "CheckPassed", "0.2% on 1 new pod (10 events), at most 1% is allowed", true},
		"a tolerance that is no number": {scene(), &appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{MinDelta: "1%"}}, counted(9, 2, 2), true,
			"Inconclusive", "EvaluationError", `comparison.tolerance: strconv.ParseFloat: parsing "": invalid syntax`, false},
		"a difference that is no number": {scene(), &appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{Tolerance: "2", MinDelta: "much"}}, counted(9, 2, 2), true,
			"Inconclusive", "EvaluationError", `comparison.minDelta: "much" is not a percentage: strconv.ParseFloat: parsing "much": invalid syntax`, false},
		"a threshold that is no number": {scene(), &appv1alpha1.RatioObjective{Threshold: &appv1alpha1.RatioThreshold{Max: "%"}}, counted(9, 2, 2), true,
			"Inconclusive", "EvaluationError", `threshold.max: "%" is not a percentage: strconv.ParseFloat: parsing "": invalid syntax`, false},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := ratio.Judge(row.release, row.check, row.counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01, Ended: row.ended, Again: time.Minute})
			g.Expect(string(found.Verdict)+" "+found.Reason).To(Equal(row.verdict+" "+row.reason), found.Message)
			if row.message != "" {
				g.Expect(found.Message).To(Equal(row.message))
			}
			g.Expect(found.Final).To(Equal(row.final))
			g.Expect(found.Again).To(Equal(map[string]time.Duration{"Pass": time.Minute}[row.verdict]))
			if row.verdict == "Fail" {
				g.Expect(found.Pods).To(HaveExactElements(appv1alpha1.CheckedPod{Pod: "web-7d4b9-x7k2p", UID: "web-7d4b9-x7k2p", Message: found.Message}))
			}
		})
	}
}

func worse(at ...int) ratio.Counters {
	counters, bad := counted(13, 2, 2), 0.0
	for moment := 3; moment < 13; moment++ {
		if bad += 2; slices.Contains(at, moment) {
			bad += 28
		}
		counters.Bad["web-7d4b9-x7k2p"][moment] = bad
	}
	return counters
}

// Pods that wait for a verdict don't get one by the first looks above the threshold.
func TestJudgeByAThresholdWaitsForFurtherLooks(t *testing.T) {
	for name, row := range map[string]struct {
		counters      ratio.Counters
		wait          time.Duration
		found, reason string
		message       string
	}{
		"two of three looks running": {worse(6, 7, 9, 11, 12), time.Minute, "Inconclusive", "InProgress",
			"1.76% on 1 new pod (158 events), at most 1% is allowed, exceeded in 2 of 3 looks running"},
		"none":                    {counted(9, 2, 2), time.Minute, "Pass", "CheckPassed", "0.2% on 1 new pod (10 events), at most 1% is allowed"},
		"no further look in time": {worse(6, 7, 9, 10, 12), interval, "Pass", "CheckPassed", "1.76% on 1 new pod (158 events), at most 1% is allowed in 3 looks running"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := ratio.Judge(scene(), threshold(), row.counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01, Ended: true, Wait: row.wait})
			g.Expect(string(found.Verdict) + " " + found.Reason).To(Equal(row.found + " " + row.reason))
			g.Expect(found.Message).To(Equal(row.message))
		})
	}
}

func TestJudgeHasTheNumbersBehindItsMessage(t *testing.T) {
	past := func(times float64) ratio.Past { return before(100, times) }
	for name, row := range map[string]struct {
		release  *checks.Scene
		check    *appv1alpha1.RatioObjective
		counters ratio.Counters
		past     ratio.Past
		ended    bool
		numbers  string
	}{
		"of a comparison":          {scene(), comparison(), counted(12, 32, 2), ratio.Past{}, false, `{"new":"0.032","old":"0.002","ratio":"16","evidence":"251.58","threshold":"100","podsSeen":4,"podsWanted":4,"oldPodsSeen":7,"oldPodsWanted":7}`},
		"of one that is too short": {scene(), comparison(), counted(6, 2, 2), ratio.Past{}, true, `{"new":"0.002","old":"0.002","ratio":"1","evidence":"0.10651","threshold":"100","podsSeen":2,"podsWanted":2,"oldPodsSeen":5,"oldPodsWanted":5}`},
		"of one that goes on":      {scene(), comparison(), counted(6, 2, 2), ratio.Past{}, false, `null`},
		"of one without metrics": {scene(), comparison(), ratio.Counters{Moments: moments(12)}, ratio.Past{}, true,
			`{"podsSeen":0,"podsWanted":8,"oldPodsSeen":0,"oldPodsWanted":11}`},
		"of one with the past":             {replaced(), comparison(), since(24, 32, 2), past(1), true, `{"new":"0.032","old":"0.002","ratio":"16","evidence":"402.716","threshold":"200","podsSeen":90,"podsWanted":90,"oldPodsSeen":174,"oldPodsWanted":174}`},
		"of a common cause":                {replaced(), comparison(), since(24, 32, 2), past(10), true, `{"podsSeen":120,"podsWanted":120,"oldPodsSeen":174,"oldPodsWanted":174}`},
		"of a threshold":                   {scene(), threshold(), counted(7, 32, 2), ratio.Past{}, false, `{"new":"0.032","threshold":"0.01","podsSeen":3,"podsWanted":3}`},
		"of a threshold that is no number": {scene(), &appv1alpha1.RatioObjective{Threshold: &appv1alpha1.RatioThreshold{Max: "%"}}, counted(9, 2, 2), ratio.Past{}, true, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := ratio.Judge(row.release, row.check, row.counters, row.past, measure.Terms{Warmup: interval, Share: 0.01, Ended: row.ended})
			encoded, err := json.Marshal(found.Numbers)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(encoded)).To(Equal(row.numbers), found.Message)
		})
	}
}

func TestJudgeMissesAMetricOfBadEventsThatTheReleaseLost(t *testing.T) {
	const lost = "Inconclusive MissingOnNewPods series of bad events on 0 of 1 new pod, on 1 of 1 old pod false"
	without := func(counters ratio.Counters, pods ...string) ratio.Counters {
		for _, pod := range pods {
			delete(counters.Bad, pod)
		}
		return counters
	}
	of := func(kind string, counters ratio.Counters) (*checks.Scene, ratio.Counters) {
		release := scene()
		if kind == "StatefulSet" { // the new pod has the name of its predecessor, which had the metric
			release.Kind, release.New[0].Name, release.Old[0].Name = kind, "web-1", "web-0"
			renamed := ratio.Counters{Moments: counters.Moments, Bad: map[string][]float64{"web-1": until(1, rising(0, len(counters.Moments), 2))}, Total: map[string][]float64{}}
			for old, name := range map[string]string{"web-7d4b9-x7k2p": "web-1", "web-5c6f8-b2c4d": "web-0"} {
				renamed.Total[name] = counters.Total[old]
				if old == "web-5c6f8-b2c4d" {
					renamed.Bad[name] = counters.Bad[old]
				}
			}
			counters = renamed
		}
		return release, counters
	}
	for name, row := range map[string]struct {
		kind      string
		objective *appv1alpha1.RatioObjective
		counters  ratio.Counters
		apart     bool
		ended     bool
		want      string
	}{
		"at the end":                     {"Deployment", comparison(), without(counted(40, 2, 2), "web-7d4b9-x7k2p"), true, true, lost},
		"before the end":                 {"Deployment", comparison(), without(counted(40, 2, 2), "web-7d4b9-x7k2p"), true, false, "Pass CheckPassed  false"},
		"by a threshold":                 {"Deployment", threshold(), without(counted(40, 2, 2), "web-7d4b9-x7k2p"), true, true, lost},
		"in a StatefulSet":               {"StatefulSet", comparison(), counted(40, 2, 2), true, true, lost},
		"which is that of all events":    {"Deployment", comparison(), without(counted(40, 2, 2), "web-7d4b9-x7k2p"), false, true, "Pass PassedEarly 0% on 1 new pod (0 events), 0.2% on 1 old pod (x0, tolerated x1.5) true"},
		"which no old pod has":           {"Deployment", comparison(), without(counted(40, 2, 2), "web-7d4b9-x7k2p", "web-5c6f8-b2c4d"), true, true, "Pass PassedEarly 0% on 1 new pod (0 events), 0% on 1 old pod (x1, tolerated x1.5) true"},
		"which it still has":             {"Deployment", comparison(), counted(40, 2, 2), true, true, "Pass PassedEarly 0.2% on 1 new pod (12 events), 0.2% on 1 old pod (x1, tolerated x1.5) true"},
		"and that of all events as well": {"Deployment", comparison(), ratio.Counters{Moments: moments(40), Bad: counted(40, 2, 2).Bad}, true, true, "Inconclusive MetricMissing series in 0 of 36 looks at 1 new pod, in 0 of 39 at 1 old pod false"},
	} {
		t.Run(name, func(t *testing.T) {
			release, counters := of(row.kind, row.counters)
			counters.Apart = row.apart
			found := ratio.Judge(release, row.objective, counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01, Ended: row.ended, Again: time.Minute})
			NewWithT(t).Expect(fmt.Sprintf("%s %s %s %t", found.Verdict, found.Reason, found.Message, found.Final)).To(Equal(row.want))
		})
	}
}

// With five old pods, one may not have had an error yet.
func TestJudgeMissesNoMetricThatOldPodsDontHaveEither(t *testing.T) {
	for have, want := range map[int]string{3: "PassedEarly", 4: "MissingOnNewPods", 5: "MissingOnNewPods"} {
		release, counters := scene(), counted(40, 2, 2)
		counters.Apart = true
		delete(counters.Bad, "web-7d4b9-x7k2p")
		for i := 1; i < 5; i++ {
			old := pod(fmt.Sprintf("web-5c6f8-b2c4%d", i+1), -100)
			release.Old = append(release.Old, old)
			counters.Total[old.Name] = rising(0, 40, 1000)
			if i < have {
				counters.Bad[old.Name] = rising(0, 40, 2)
			}
		}
		found := ratio.Judge(release, comparison(), counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01, Ended: true})
		NewWithT(t).Expect(found.Reason).To(Equal(want), found.Message)
	}
}

// With one old pod, pods are taken to differ. With six they tell that they don't.
func TestJudgeSaysWhichDifferenceItWouldHaveFound(t *testing.T) {
	for olds, want := range map[int]string{
		1: "Inconclusive LowTraffic: 2% on 1 new pod (80 events), 1% on 1 old pod (x2, tolerated x1.5), x8.32 would have been found",
		6: "Pass CheckPassed: 2% on 1 new pod (80 events), 1% on 6 old pods (x2, tolerated x1.5), x3.94 would have been found",
	} {
		release, counters := scene(), counted(8, 20, 10)
		for i := 1; i < olds; i++ {
			old := pod(fmt.Sprintf("web-5c6f8-b2c4%d", i+1), -100)
			release.Old = append(release.Old, old)
			counters.Bad[old.Name], counters.Total[old.Name] = rising(0, 8, 10), rising(0, 8, 1000)
		}
		found := ratio.Judge(release, comparison(), counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01, Ended: true})
		NewWithT(t).Expect(fmt.Sprintf("%s %s: %s", found.Verdict, found.Reason, found.Message)).To(Equal(want))
	}
}

func TestJudgeNeedsMoreEvidenceForASmallerShare(t *testing.T) {
	g := NewWithT(t)
	found := ratio.Judge(scene(), comparison(), counted(8, 32, 2), ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01})
	g.Expect(string(found.Verdict)).To(Equal("Fail"), "each of four looks is at most four times the evidence")
	found = ratio.Judge(scene(), comparison(), counted(8, 32, 2), ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.003})
	g.Expect(string(found.Verdict)).To(Equal("Pass"))
}

func TestLeastLooksAreThoseThatAFailureNeeds(t *testing.T) {
	g := NewWithT(t)
	counters := func(looks int) ratio.Counters { return counted(looks+4, 900, 2) }
	for _, check := range []*appv1alpha1.RatioObjective{comparison(), threshold()} {
		least := int(ratio.LeastLooks(check, 15))
		g.Expect(string(ratio.Judge(scene(), check, counters(least), ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01}).Verdict)).To(Equal("Fail"))
		g.Expect(string(ratio.Judge(scene(), check, counters(least-1), ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01}).Verdict)).To(Equal("Pass"))
	}
}

func TestJudgeNeedsEvents(t *testing.T) {
	check := comparison()
	check.Comparison.MinEvents = 1000
	found := ratio.Judge(scene(), check, counted(12, 32, 2), ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01})
	NewWithT(t).Expect(string(found.Verdict)).To(Equal("Pass"))
}

// With the looks of old pods that are gone since, a verdict is the same as with those that were still there.
func TestJudgeCountsOldPodsThatAreGone(t *testing.T) {
	for _, row := range []struct {
		kind, old string
		counts    bool
	}{
		{"Deployment", "web-5c6f8-b2c4d", true},
		{"StatefulSet", "web-1", true},
		{"DaemonSet", "web-b2c4d", true},
		{"Game", "web-b2c4d", false}, // it may be a pod of another workload
	} {
		t.Run(row.kind, func(t *testing.T) {
			release := &checks.Scene{Kind: row.kind, Namespace: "shop", Name: "web", Began: began, New: []checks.Pod{pod("web-new", 2)}}
			counters := ratio.Counters{
				Moments: moments(12),
				Bad:     map[string][]float64{"web-new": rising(2, 12, 32), row.old: until(8, rising(0, 12, 2))},
				Total:   map[string][]float64{"web-new": rising(2, 12, 1000), row.old: until(8, rising(0, 12, 1000))},
			}
			found := ratio.Judge(release, comparison(), counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01})
			NewWithT(t).Expect(string(found.Verdict)).To(Equal(map[bool]string{true: "Fail", false: "Pass"}[row.counts]), found.Message)
		})
	}
}

// A pod of a StatefulSet has the name of its predecessor, whose counter goes on until then.
func TestJudgeTellsAPodFromItsPredecessor(t *testing.T) {
	g := NewWithT(t)
	release := &checks.Scene{Kind: "StatefulSet", Namespace: "shop", Name: "web", Began: began, New: []checks.Pod{pod("web-0", 8)}}
	bad, total := rising(0, 20, 2), rising(0, 20, 1000)
	for i := 8; i < 20; i++ {
		bad[i], total[i] = 32*float64(i-8), 1000*float64(i-8)
	}
	olds := rising(0, 20, 1000)
	release.Old = []checks.Pod{pod("web-1", -100)}
	counters := ratio.Counters{
		Moments: moments(20), Bad: map[string][]float64{"web-0": bad, "web-1": rising(0, 20, 2)}, Total: map[string][]float64{"web-0": total, "web-1": olds},
	}
	found := ratio.Judge(release, comparison(), counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01})
	g.Expect(string(found.Verdict)).To(Equal("Fail"))
	g.Expect(found.Message).To(HavePrefix("3.2% on 1 new pod (128 events), 0.2% on 2 old pods (x16"))
}

// Pods that began in the release, but ended before they were seen, may be of either version.
func TestJudgeLeavesOutPodsOfNeitherVersion(t *testing.T) {
	counters := counted(12, 32, 2)
	counters.Bad["web-5c6f8-zzzzz"], counters.Total["web-5c6f8-zzzzz"] = rising(3, 12, 1000), rising(3, 12, 1000)
	found := ratio.Judge(scene(), comparison(), counters, ratio.Past{}, measure.Terms{Warmup: interval, Share: 0.01})
	NewWithT(t).Expect(found.Message).To(ContainSubstring("on 1 old pod"), fmt.Sprint(found.Verdict))
}
