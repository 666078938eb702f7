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

package replay_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/verification/replay"
)

// began is a multiple of the interval.
var began = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }

// record is that of a release with a pod that finished after 30 seconds; the release entered its state after a minute.
func record(release int64, state appv1alpha1.ChangeWorkloadPhase, edit func(*appv1alpha1.ChangeWorkload)) appv1alpha1.ChangeWorkload {
	record := appv1alpha1.ChangeWorkload{
		Spec: appv1alpha1.ChangeWorkloadSpec{
			Release: release, Reversion: "0f", CreateTimeUnix: began.Unix(),
			WorkloadRef: &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"},
		},
		Status: appv1alpha1.ChangeWorkloadStatus{
			ObservedRelease: release, Status: state, EntryTimeUnix: at(60).Unix(), Counts: appv1alpha1.PodCounts{Desired: 4},
			DefenseCheckPassPods: []appv1alpha1.PodSummary{{Pod: "web-7d4b9-x7k2p", UID: "1", FinishTimeUnix: at(30).Unix()}},
		},
	}
	record.Namespace, record.Name = "shop", "web--x--0f"
	if edit != nil {
		edit(&record)
	}
	return record
}

func TestFind(t *testing.T) {
	terms := &appv1alpha1.VerificationTerms{BakeSeconds: 300, WatchSeconds: 120}
	next := func(seconds int) appv1alpha1.ChangeWorkload {
		return record(5, "Success", func(record *appv1alpha1.ChangeWorkload) { record.Spec.CreateTimeUnix = at(seconds).Unix() })
	}
	observed := func(release int64, seconds int) appv1alpha1.ChangeWorkload {
		return record(release, "Success", func(record *appv1alpha1.ChangeWorkload) {
			record.Spec.Observed, record.Spec.CreateTimeUnix = true, at(seconds).Unix()
			record.Status.DefenseCheckPassPods[0].UID = "observed"
		})
	}
	pods := func(edit func(*appv1alpha1.ChangeWorkloadStatus)) appv1alpha1.ChangeWorkload {
		return record(3, "Success", func(record *appv1alpha1.ChangeWorkload) { edit(&record.Status) })
	}
	for name, row := range map[string]struct {
		records       []appv1alpha1.ChangeWorkload
		ended         int
		pods, problem string
	}{
		"a verified release":                      {[]appv1alpha1.ChangeWorkload{record(3, "Success", nil)}, 360, "web-7d4b9-x7k2p=1 +30s", ""},
		"a suspended one":                         {[]appv1alpha1.ChangeWorkload{record(3, "Suspend", nil)}, 360, "web-7d4b9-x7k2p=1 +30s", ""},
		"one that is under way":                   {[]appv1alpha1.ChangeWorkload{record(3, "Running", nil)}, 900, "web-7d4b9-x7k2p=1 +30s", ""},
		"one before another one":                  {[]appv1alpha1.ChangeWorkload{next(100), record(3, "Success", nil)}, 100, "web-7d4b9-x7k2p=1 +30s", ""},
		"one that was never verified":             {[]appv1alpha1.ChangeWorkload{record(3, "Running", nil), next(100)}, 100, "web-7d4b9-x7k2p=1 +30s", ""},
		"one before another one, much later":      {[]appv1alpha1.ChangeWorkload{next(500), record(3, "Success", nil)}, 360, "web-7d4b9-x7k2p=1 +30s", ""},
		"one after observed ones":                 {[]appv1alpha1.ChangeWorkload{observed(7, -3600), record(3, "Success", nil)}, 360, "web-7d4b9-x7k2p=1 +30s", ""},
		"one after an observed one of its number": {[]appv1alpha1.ChangeWorkload{observed(3, -3600), record(3, "Success", nil)}, 360, "web-7d4b9-x7k2p=1 +30s", ""},
		"one before an observed one":              {[]appv1alpha1.ChangeWorkload{observed(1, 100), record(3, "Success", nil)}, 100, "web-7d4b9-x7k2p=1 +30s", ""},
		"an observed one after one of its number": {[]appv1alpha1.ChangeWorkload{record(3, "Success", func(record *appv1alpha1.ChangeWorkload) {
			record.Spec.CreateTimeUnix = at(-3600).Unix()
		}), observed(3, 0)}, 360, "web-7d4b9-x7k2p=observed +30s", ""},
		"one of a Deployment, from before v0.2": {[]appv1alpha1.ChangeWorkload{record(3, "Success", func(record *appv1alpha1.ChangeWorkload) {
			record.Spec.WorkloadRef, record.Spec.AppName, record.Status.DefenseCheckPassPods[0].UID = nil, "web", ""
		})}, 360, "web-7d4b9-x7k2p=web-7d4b9-x7k2p +30s", ""},
		"pods of all lists": {[]appv1alpha1.ChangeWorkload{pods(func(status *appv1alpha1.ChangeWorkloadStatus) {
			status.DefensePreparingPods = []appv1alpha1.PodSummary{{Pod: "a", UID: "a", FinishTimeUnix: at(1).Unix()}}
			status.DefenseCheckingPods = []appv1alpha1.PodSummary{{Pod: "b", UID: "b", FinishTimeUnix: at(2).Unix()}}
			status.DefenseCheckFailPods = []appv1alpha1.PodSummary{{Pod: "c", UID: "c", FinishTimeUnix: at(3).Unix()}}
		})}, 360, "a=a +1s, b=b +2s, web-7d4b9-x7k2p=1 +30s, c=c +3s", ""},
		"no pods": {[]appv1alpha1.ChangeWorkload{pods(func(status *appv1alpha1.ChangeWorkloadStatus) { status.DefenseCheckPassPods = nil })}, 0, "",
			"the record shop/web--x--0f lists no pods that keep running: there is nothing to replay"},
		"a Job": {[]appv1alpha1.ChangeWorkload{record(3, "Success", func(record *appv1alpha1.ChangeWorkload) {
			record.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "batch/v1", Kind: "Job", Name: "web"}
		})}, 0, "", "the record shop/web--x--0f lists no pods that keep running: there is nothing to replay"},
		"pods of an earlier release of the version": {[]appv1alpha1.ChangeWorkload{pods(func(status *appv1alpha1.ChangeWorkloadStatus) { status.ObservedRelease = 2 })}, 0, "",
			"the record shop/web--x--0f lists no pods that keep running: there is nothing to replay"},
		"no such release": {[]appv1alpha1.ChangeWorkload{next(9), record(2, "Success", nil), record(3, "Success", func(record *appv1alpha1.ChangeWorkload) {
			record.Spec.WorkloadRef.Kind = "StatefulSet"
		})}, 0, "", "there is no record of release 3 of Deployment.apps web: there are those of [2 5]"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			kind := schema.GroupKind{Group: "apps", Kind: "Deployment"}
			if name == "a Job" {
				kind = schema.GroupKind{Group: "batch", Kind: "Job"}
			}
			past, err := replay.Find(row.records, kind, "web", 3, terms, at(600))
			if row.problem != "" {
				g.Expect(err).To(MatchError(row.problem))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(past.Ended.Sub(began).Seconds()).To(BeEquivalentTo(row.ended))
			var pods []string
			for _, pod := range past.Release.New {
				pods = append(pods, pod.Name+"="+string(pod.UID)+" +"+pod.Since.Sub(began).String())
			}
			g.Expect(strings.Join(pods, ", ")).To(Equal(row.pods))
		})
	}
}

func TestFindReadsTheRelease(t *testing.T) {
	g := NewWithT(t)
	past, err := replay.Find([]appv1alpha1.ChangeWorkload{record(3, "Success", nil)}, schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", 3,
		&appv1alpha1.VerificationTerms{}, at(600))
	g.Expect(err).NotTo(HaveOccurred())
	past.Release.New = nil
	g.Expect(past.Release.Began.Equal(began)).To(BeTrue())
	past.Release.Began = began
	g.Expect(past.Release).To(Equal(checks.Scene{
		Version: "0f", Number: 3, Kind: "Deployment", Namespace: "shop", Name: "web", Replicas: 4, New: nil, Began: began,
		Before: appv1alpha1.OldPods{Pods: 4},
	}))
}

// Of a large workload, a source may have more series than it answers with.
func TestFindHasAsManyOldPodsLookedAtAsTheOperator(t *testing.T) {
	for name, verification := range map[string]*appv1alpha1.ReleaseVerification{
		"that the release had": {OldPods: appv1alpha1.OldPods{Pods: 2700}}, "where no policy concerned it": nil,
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			large := record(3, "Success", func(record *appv1alpha1.ChangeWorkload) {
				record.Status.Verification, record.Status.Counts.Desired = verification, 2700
			})
			past, err := replay.Find([]appv1alpha1.ChangeWorkload{large}, schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", 3,
				&appv1alpha1.VerificationTerms{}, at(600))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(measure.SumByPod(&past.Release, appv1alpha1.SourceLabels{Pod: "pod", Namespace: "namespace"}, "up", nil)).To(
				HaveSuffix(`{namespace="shop",pod=~"web-[bcdfghjklmnpqrstvwxz2456789]{1,10}-[bcdfghjklmnpqrstvwxz2456789]{4}[b]|web-7d4b9-x7k2p"})`))
		})
	}
}

func policy(edit func(*appv1alpha1.VerificationPolicySpec)) *appv1alpha1.VerificationPolicy {
	policy := &appv1alpha1.VerificationPolicy{}
	policy.Name = "web"
	policy.Spec.VerificationTerms = appv1alpha1.VerificationTerms{
		Mode: "Enforce", BakeSeconds: 300, WarmupSeconds: 60, IntervalSeconds: 15, FailWhen: `checks.pods == "Fail"`,
		Checks: []appv1alpha1.VerificationCheck{
			{Name: "pods", Type: "PodHealth"},
			{Name: "errors", Type: "Ratio", Ratio: &appv1alpha1.RatioCheck{
				SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Total: appv1alpha1.MetricSelector{Metric: "requests_total"},
				Bad:            appv1alpha1.MetricSelector{Metric: "errors_total"},
				RatioObjective: appv1alpha1.RatioObjective{Comparison: &appv1alpha1.RatioComparison{Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}},
			}},
			{Name: "tests", Type: "Condition", Condition: &appv1alpha1.ConditionCheck{}},
			{Name: "server", Type: "Server"},
		},
	}
	if edit != nil {
		edit(&policy.Spec)
	}
	return policy
}

// past is a release with two pods, of which the second one finishes later. The watch ends between two looks.
func past() *replay.Past {
	pod := func(name string, seconds int) checks.Pod {
		return checks.Pod{Name: name, UID: types.UID(name), Ready: true, Since: at(seconds), Created: at(seconds)}
	}
	return &replay.Past{Ended: at(425), Release: checks.Scene{
		Number: 3, Kind: "Deployment", Namespace: "shop", Name: "web", Began: began, New: []checks.Pod{pod("web-7d4b9-x7k2p", 20), pod("web-7d4b9-z2b4c", 100)},
	}}
}

// counters answers as a source at a time: of a thousand events in each interval, so many are bad on each pod.
func counters(release *checks.Scene, until time.Time, news, olds float64) measure.Readings {
	readings := measure.Readings{PodLabel: "pod", Answers: [][]measure.Series{nil, nil}}
	for moment := release.Began.Add(-30 * time.Second); !moment.After(until); moment = moment.Add(15 * time.Second) {
		readings.Moments = append(readings.Moments, moment)
	}
	for pod, bad := range map[string]float64{"web-7d4b9-x7k2p": news, "web-7d4b9-z2b4c": news, "web-5c6f8-b2c4d": olds} {
		values := [2][]float64{measure.None(readings.Moments), measure.None(readings.Moments)}
		for i, moment := range readings.Moments {
			if bad == olds || moment.After(at(20)) {
				values[0][i], values[1][i] = bad*float64(i), 1000*float64(i)
			}
		}
		for query := range values {
			readings.Answers[query] = append(readings.Answers[query], measure.Series{Labels: map[string]string{"pod": pod}, Values: values[query]})
		}
	}
	return readings
}

func TestPastRun(t *testing.T) {
	bad := func(release *checks.Scene, at time.Time) measure.Readings { return counters(release, at, 32, 2) }
	good := func(release *checks.Scene, at time.Time) measure.Readings { return counters(release, at, 2.01, 2) }
	quiet := func(release *checks.Scene, at time.Time) measure.Readings {
		readings := counters(release, at, 0.011, 0.01)
		for _, answer := range readings.Answers {
			for _, series := range answer {
				for i := range series.Values {
					series.Values[i] /= 100
				}
			}
		}
		return readings
	}
	refused := func(*checks.Scene, time.Time) measure.Readings {
		return measure.Readings{Reason: "BadQuery", Message: "the source refuses the query"}
	}
	failing := func(*checks.Scene, time.Time) measure.Readings {
		return measure.Readings{Reason: "QueryFailed", Message: "the source couldn't make the query (HTTP 422)"}
	}
	mustTell := func(spec *appv1alpha1.VerificationPolicySpec) { spec.Checks[1].OnInconclusive = "Fail" }
	for name, row := range map[string]struct {
		answer func(*checks.Scene, time.Time) measure.Readings
		edit   func(*appv1alpha1.VerificationPolicySpec)
		until  int
		// verdict has the verdict, the reason, and after how many seconds.
		verdict string
		looks   int
	}{
		"a bad release":                    {bad, nil, 9999, "Fail CheckFailed 150", 9},
		"a good one":                       {good, nil, 9999, "Pass PassedEarly 180", 27},
		"one with little traffic":          {quiet, nil, 9999, "Inconclusive LowTraffic 425", 28},
		"one that has to be told of":       {quiet, mustTell, 9999, "Fail LowTraffic 425", 28},
		"a policy with another end":        {quiet, func(spec *appv1alpha1.VerificationPolicySpec) { spec.Mode, spec.BakeSeconds = "Observe", 3000 }, 9999, "Inconclusive LowTraffic 425", 28},
		"a query that is refused":          {refused, nil, 9999, "Inconclusive BadQuery 425", 28},
		"a query that can't be made":       {failing, nil, 9999, "Inconclusive QueryFailed 425", 28},
		"one that isn't over":              {quiet, nil, 300, "Pending  ", 19},
		"more time for pods to warm up":    {bad, func(spec *appv1alpha1.VerificationPolicySpec) { spec.WarmupSeconds = 120 }, 9999, "Fail CheckFailed 210", 13},
		"longer intervals":                 {bad, func(spec *appv1alpha1.VerificationPolicySpec) { spec.IntervalSeconds = 30 }, 9999, "Fail CheckFailed 150", 5},
		"fewer looks than a failure needs": {bad, nil, 149, "Pending  ", 9},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var looks []time.Time
			var pods []int
			read := func(_ context.Context, release *checks.Scene, asked decide.AskedCheck, at time.Time) (measure.Readings, error) {
				g.Expect(asked.Name).To(Equal("errors"))
				looks, pods = append(looks, at), append(pods, len(release.New))
				return row.answer(release, at), nil
			}
			release := past()
			results, err := release.Run(t.Context(), policy(row.edit), read, at(row.until))
			g.Expect(err).NotTo(HaveOccurred())
			report := replay.NewReport(release, "web", results, at(row.until))
			found := report.Checks[0]
			after := ""
			if found.After > 0 {
				after = found.After.String()
			}
			wanted := strings.Split(row.verdict, " ")
			if wanted[2] != "" {
				duration, err := time.ParseDuration(wanted[2] + "s")
				g.Expect(err).NotTo(HaveOccurred())
				wanted[2] = duration.String()
			}
			g.Expect([]string{string(found.Verdict), found.Reason, after}).To(Equal(wanted), found.Message)
			g.Expect(report.Failed).To(Equal(wanted[0] == "Fail"))
			g.Expect(looks).To(HaveLen(row.looks))
			g.Expect(looks[0]).To(Equal(at(30)), "the first look after the first pod has finished")
			g.Expect(pods[0]).To(Equal(1), "the second pod hasn't finished")
			g.Expect(pods[len(pods)-1]).To(Equal(2))
			g.Expect(report.Checks[1:]).To(Equal([]replay.Check{
				{Name: "pods", Type: "PodHealth", Verdict: "Skipped", Reason: "NotStored", Message: "the past status of pods is not stored"},
				{Name: "tests", Type: "Condition", Verdict: "Skipped", Reason: "NotStored", Message: "it asks others, who answer of the present"},
				{Name: "server", Type: "Server", Verdict: "Skipped", Reason: "NotStored", Message: "it asks others, who answer of the present"},
			}))
		})
	}
}

func TestPastRunLooksWhenTheOperatorLookedAtTheRelease(t *testing.T) {
	g := NewWithT(t)
	failing := record(3, "Suspend", func(record *appv1alpha1.ChangeWorkload) { record.UID = "record-1" })
	terms := policy(nil).Spec.VerificationTerms
	past, err := replay.Find([]appv1alpha1.ChangeWorkload{failing}, schema.GroupKind{Group: "apps", Kind: "Deployment"}, "web", 3, &terms, at(100))
	g.Expect(err).NotTo(HaveOccurred())
	var looks []string
	read := func(_ context.Context, _ *checks.Scene, asked decide.AskedCheck, until time.Time) (measure.Readings, error) {
		looks = append(looks, fmt.Sprintf("%s at %s", asked.Last(until).Sub(began), until.Sub(began)))
		return measure.Readings{}, nil
	}
	_, err = past.Run(t.Context(), policy(nil), read, at(100))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(looks).To(Equal([]string{"44s at 44s", "59s at 59s", "1m14s at 1m14s", "1m29s at 1m29s", "1m29s at 1m40s"}))
}

func TestPastRunSkipsChecksOfAPhase(t *testing.T) {
	g := NewWithT(t)
	read := func(_ context.Context, _ *checks.Scene, _ decide.AskedCheck, at time.Time) (measure.Readings, error) {
		return measure.Readings{Moments: []time.Time{at}}, nil
	}
	alerts := func(phase appv1alpha1.CheckPhase) appv1alpha1.VerificationCheck {
		return appv1alpha1.VerificationCheck{
			Name: "quiet", Type: "Alerts", Phase: phase, TimeoutSeconds: 600, OnTimeout: "Fail",
			Alerts: &appv1alpha1.AlertsCheck{SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}},
		}
	}
	for _, phase := range []appv1alpha1.CheckPhase{"After", "Before"} {
		asking := policy(func(spec *appv1alpha1.VerificationPolicySpec) { spec.Checks = append(spec.Checks[1:2], alerts(phase)) })
		results, err := past().Run(t.Context(), asking, read, at(9999))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(replay.NewReport(past(), "web", results, at(9999)).Checks[1]).To(Equal(replay.Check{
			Name: "quiet", Type: "Alerts", Verdict: "Skipped", Reason: "NotStored", Message: "when the release waited for a check of a phase is not stored",
		}))
	}
}

func TestPastRunReturnsErrorsOfReading(t *testing.T) {
	read := func(context.Context, *checks.Scene, decide.AskedCheck, time.Time) (measure.Readings, error) {
		return measure.Readings{}, errors.New("no answer")
	}
	_, err := past().Run(t.Context(), policy(nil), read, at(9999))
	NewWithT(t).Expect(err).To(MatchError("no answer"))
}

func TestNewPods(t *testing.T) {
	g := NewWithT(t)
	none := math.NaN()
	series := func(pod string, values ...float64) measure.Series {
		return measure.Series{Labels: map[string]string{"pod": pod}, Values: values}
	}
	readings := []measure.Readings{
		{PodLabel: "pod", Moments: []time.Time{at(15), at(30)}, Answers: [][]measure.Series{{series("web-b", none, 1), series("old", 1, 1)}, {series("web-a", 1, 1)}}},
		{PodLabel: "pod", Moments: []time.Time{at(0), at(15)}, Answers: [][]measure.Series{{series("web-b", none, 1), series("web-c", none, none), series("my-web-d", 1, 1)}}},
	}
	pods := replay.NewPods(readings, regexp.MustCompile("web-.|web-.."))
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Name+"="+string(pod.UID)+" "+pod.Since.Sub(began).String())
	}
	g.Expect(names).To(Equal([]string{"web-a=web-a 15s", "web-b=web-b 15s"}))
}

func TestReportWrite(t *testing.T) {
	report := replay.Report{
		Policy: "web", Kind: "Deployment", Namespace: "shop", Name: "web", Release: 3, NewPods: 2, Began: began, Until: at(420), Failed: true,
		Checks: []replay.Check{
			{Name: "errors", Type: "Ratio", Verdict: "Fail", Reason: "CheckFailed", After: 135, Message: "3.2% on 1 new pod"},
			{Name: "pods", Type: "PodHealth", Verdict: "Skipped", Reason: "NotStored", Message: "the past status of pods is not stored"},
			{Name: "slow", Type: "Latency", Verdict: "Pending"},
		},
	}
	g := NewWithT(t)
	write := func() string {
		var out strings.Builder
		g.Expect(report.Write(&out)).To(Succeed())
		return "\n" + out.String()
	}
	g.Expect(write()).To(Equal(`
Deployment shop/web, release 3, new pods: 2, from 2026-11-21T10:00:00Z until 2026-11-21T10:07:00Z
CHECK    TYPE        VERDICT   REASON        AFTER   MESSAGE
errors   Ratio       Fail      CheckFailed   2m15s   3.2% on 1 new pod
pods     PodHealth   Skipped   NotStored             the past status of pods is not stored
slow     Latency     Pending                         
A check of web would have failed.
`))
	report.Failed = false
	g.Expect(write()).To(HaveSuffix("No check of web would have failed so far: the release isn't over.\n"))
	report.Release, report.Checks = 0, report.Checks[1:2]
	g.Expect(write()).To(Equal(`
Deployment shop/web, new pods: 2, from 2026-11-21T10:00:00Z until 2026-11-21T10:07:00Z
CHECK   TYPE        VERDICT   REASON      AFTER   MESSAGE
pods    PodHealth   Skipped   NotStored           the past status of pods is not stored
No check of web would have failed.
`))
	text, err := json.Marshal(report.Checks[0])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(text)).To(Equal(
		`{"name":"pods","type":"PodHealth","verdict":"Skipped","reason":"NotStored","message":"the past status of pods is not stored"}`))
}
