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

package verification_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verification"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

// history returns series from a time after the release began, or before it, until two minutes after it. Pods of two namespaces have the same name.
func history() string {
	text := "# TYPE ALERTS gauge\n"
	add := func(series string, from time.Duration, value string) {
		for at := from; at <= 2*time.Minute; at += 15 * time.Second {
			text += fmt.Sprintf("%s %s %d\n", series, value, began.Add(at).Unix())
		}
	}
	add(`ALERTS{alertname="Slow",alertstate="firing",namespace="shop"}`, -time.Minute, "1")
	add(`ALERTS{alertname="HighErrorRate",alertstate="firing",namespace="shop",pod="web-1",severity="page"}`, 30*time.Second, "1")
	add(`ALERTS{alertname="HighErrorRate",alertstate="firing",namespace="shop",pod="web-2",severity="page"}`, 30*time.Second, "1")
	add(`ALERTS{alertname="Late",alertstate="pending",namespace="shop"}`, 30*time.Second, "1")
	add(`ALERTS{alertname="Older",alertstate="firing",namespace="shop",severity="info"}`, 45*time.Second, "1")
	add(`ALERTS{alertname="Older",alertstate="pending",namespace="shop",severity="info"}`, -30*time.Second, "1")
	add(`ALERTS{alertname="Late",alertstate="firing",namespace="bank"}`, 30*time.Second, "1")
	text += "# TYPE availability gauge\n"
	add(`availability{namespace="shop",pod="web-1"}`, -time.Minute, "0.93")
	add(`availability{namespace="bank",pod="web-1"}`, -time.Minute, "1")
	return text + "# EOF\n"
}

// quick returns the metrics of quick releases in three namespaces, from half an hour before until ten minutes after: eight pods that answer a
// hundred requests a second, 1% of them with errors, are replaced within half a minute. In shop their successors have ten times the errors, in
// calm as many, and in shaken ten times, as a pod beside them has.
func quick() string {
	text := "# TYPE requests counter\n"
	add := func(namespace, pod string, from, to time.Duration, before, after float64) {
		bad, all := 0.0, 0.0
		for at := from; at <= to; at += 15 * time.Second {
			share := before
			if at > 0 {
				share = after
			}
			bad, all = bad+1500*share, all+1500
			text += fmt.Sprintf("requests_total{namespace=%q,pod=%q,code=\"500\"} %.0f %d\n", namespace, pod, bad, began.Add(at).Unix())
			text += fmt.Sprintf("requests_total{namespace=%q,pod=%q,code=\"200\"} %.0f %d\n", namespace, pod, all-bad, began.Add(at).Unix())
		}
	}
	for namespace, shares := range map[string][2]float64{"shop": {0.1, 0.01}, "calm": {0.01, 0.01}, "shaken": {0.1, 0.1}} {
		for _, suffix := range quickPods() {
			add(namespace, "web-5c6f8-b2c4"+suffix, -31*time.Minute, 15*time.Second, 0.01, shares[0])
			add(namespace, "web-7d4b9-x7k2"+suffix, 15*time.Second, 10*time.Minute, 0.01, shares[0])
		}
		add(namespace, "cart-6f7b8-z2b4c", -31*time.Minute, 10*time.Minute, 0.01, shares[1])
	}
	return text + "# EOF\n"
}

// quickPods returns the ends of the names of the pods of a quick release.
func quickPods() []string { return strings.Split("bcdfghjk", "") }

func TestQuickReleasesAreComparedWithThePastByARealPrometheus(t *testing.T) {
	programs, err := prometheus.Ensure(t.Context(), os.Stderr)
	testQuick(t, programs, err)
}

func TestQuickReleasesAreComparedWithThePastByARealVictoriaMetrics(t *testing.T) {
	programs, err := prometheus.EnsureVictoriaMetrics(t.Context(), os.Stderr)
	testQuick(t, programs, err)
}

func testQuick(t *testing.T, programs server, err error) {
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	address, stop, err := programs.Start(t.Context(), t.TempDir(), quick())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer stop()
	sources := sourcesOf(t, answers, testkit.NewFake(t, shop()), func(spec *appv1alpha1.VerificationSourceSpec) {
		spec.URL, spec.AllowedNamespaces = address, nil
		spec.Limits.QueriesPerSecond, spec.Limits.Burst = 1000, 1000
	})
	check := appv1alpha1.VerificationCheck{Ratio: &appv1alpha1.RatioCheck{
		SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}, Total: appv1alpha1.MetricSelector{Metric: "requests_total"},
		Bad: appv1alpha1.MetricSelector{Matchers: []string{`code="500"`}},
	}}
	for _, row := range []struct {
		namespace string
		baseline  appv1alpha1.RatioBaseline
		want      string
	}{
		{"shop", "Auto", "Fail CheckFailed 10% on 8 new pods ("},
		{"calm", "Auto", "Pass CheckPassed 1% on 8 new pods ("},
		{"shaken", "Auto", "Inconclusive CommonCause more on 8 new pods than before the release, as on the other pods of the namespace"},
		{"shop", "Concurrent", "Inconclusive "},
	} {
		t.Run(row.namespace+" "+string(row.baseline), func(t *testing.T) {
			g := NewWithT(t)
			judged := &checks.Scene{Kind: "Deployment", Namespace: row.namespace, Name: "web", Began: began}
			for _, suffix := range quickPods() {
				judged.New = append(judged.New, checks.Pod{
					Name: "web-7d4b9-x7k2" + suffix, Ready: true, Created: began.Add(10 * time.Second), Since: began.Add(20 * time.Second),
				})
			}
			check.Ratio.Comparison = &appv1alpha1.RatioComparison{Baseline: row.baseline, Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}
			asked := decide.AskedCheck{
				CheckID: decide.CheckID{Policy: system + "/web"}, Check: decide.Measured(&check), Warmup: time.Minute,
				Schedule: decide.Schedule{Interval: 15 * time.Second},
			}
			var found checks.Finding
			for at := 15 * time.Second; at <= 5*time.Minute+30*time.Second && found.Verdict != "Fail"; at += 45 * time.Second {
				readings, err := verification.Read(t.Context(), sources, judged, asked, began.Add(at))
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(readings.Message).To(BeEmpty())
				found = asked.Judge(judged, readings, measure.Terms{Warmup: time.Minute, Share: 0.01, Ended: at == 5*time.Minute+30*time.Second})
			}
			g.Expect(string(found.Verdict) + " " + found.Reason + " " + found.Message).To(HavePrefix(row.want))
		})
	}
}

// server is one that serves the API of Prometheus.
type server interface {
	Start(ctx context.Context, dir, samples string) (address string, stop func(), err error)
}

func TestReadAsksARealPrometheus(t *testing.T) {
	programs, err := prometheus.Ensure(t.Context(), os.Stderr)
	testRead(t, programs, err)
}

func TestReadAsksARealVictoriaMetrics(t *testing.T) {
	programs, err := prometheus.EnsureVictoriaMetrics(t.Context(), os.Stderr)
	testRead(t, programs, err)
}

func testRead(t *testing.T, programs server, err error) {
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	address, stop, err := programs.Start(t.Context(), t.TempDir(), history())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	defer stop()
	there := func(spec *appv1alpha1.VerificationSourceSpec) { spec.URL = address }
	everything := sourcesOf(t, answers, testkit.NewFake(t, shop()), there)
	own := sourcesOf(t, answers, testkit.NewFake(t, shop()), there, confined)
	from := appv1alpha1.SourceReference{Name: "prometheus"}
	asks := func(query string) appv1alpha1.VerificationCheck {
		return appv1alpha1.VerificationCheck{Query: &appv1alpha1.QueryCheck{SourceRef: from, Query: query, Min: "0.99", Consecutive: 3}}
	}
	alerts := func(matchLabels map[string]string) appv1alpha1.VerificationCheck {
		return appv1alpha1.VerificationCheck{Alerts: &appv1alpha1.AlertsCheck{SourceRef: from, MatchLabels: matchLabels}}
	}
	judged := release()
	judged.New = []checks.Pod{{Name: "web-1"}}
	for name, row := range map[string]struct {
		check            appv1alpha1.VerificationCheck
		everything, shop string
	}{
		"alerts": {
			alerts(nil), "Fail alert HighErrorRate (severity page) fires since 2026-01-01T00:00:30Z",
			"Fail alert HighErrorRate (severity page) fires since 2026-01-01T00:00:30Z",
		},
		"other alerts": {alerts(map[string]string{"severity": "info"}), "Pass no alert fires that didn't before", "Pass no alert fires that didn't before"},
		"alerts of another namespace": {
			alerts(map[string]string{"namespace": "bank"}), "Fail alert Late fires since 2026-01-01T00:00:30Z",
			`VerificationSource prometheus: the selector ALERTS{alertstate=~"firing|pending",namespace="bank"} finds nothing: queries are confined to namespace="shop"`,
		},
		"a query": {
			asks(`avg(avg_over_time(availability{namespace="$namespace",pod=~"$newPods"}[30s]))`),
			"Fail 0.93 is below 0.99 in 3 looks running", "Fail 0.93 is below 0.99 in 3 looks running",
		},
		"a query of several namespaces": {
			asks(`availability{pod=~"$newPods"}`),
			"Inconclusive the query returns 2 series instead of one: aggregate them, such as by sum()", "Fail 0.93 is below 0.99 in 3 looks running",
		},
		"a query of no pods": {asks(`availability{pod=~"$oldPods"}`), "Inconclusive the query returns no value", "Inconclusive the query returns no value"},
		"a number": {
			asks(`scalar(sum(availability{pod!~"$oldPods"})) + 0.05`),
			"Pass 1.98 at the last of 4 looks", "Fail 0.98 is below 0.99 in 3 looks running",
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := decide.AskedCheck{CheckID: decide.CheckID{Policy: system + "/web"}, Check: decide.Measured(&row.check), Schedule: decide.Schedule{Interval: 15 * time.Second}}
			for sources, expected := range map[*source.Sources]string{everything: row.everything, own: row.shop} {
				readings, err := verification.Read(t.Context(), sources, judged, asked, began.Add(time.Minute))
				g.Expect(err).NotTo(HaveOccurred())
				if readings.Message != "" {
					g.Expect(readings.Message).To(Equal(expected))
					continue
				}
				found := asked.Judge(judged, readings, measure.Terms{Ended: true})
				g.Expect(string(found.Verdict) + " " + found.Message).To(Equal(expected))
			}
		})
	}
}

// TestReadFindsTheStepsThatARealVictoriaMetricsMoves reads fifty steps or more, which VictoriaMetrics moves to multiples of their length.
func TestReadFindsTheStepsThatARealVictoriaMetricsMoves(t *testing.T) {
	programs, err := prometheus.EnsureVictoriaMetrics(t.Context(), os.Stderr)
	if errors.Is(err, prometheus.ErrUnavailable) {
		t.Skip(err)
	}
	g := NewWithT(t)
	g.Expect(err).NotTo(HaveOccurred())
	samples := ""
	for at := 30 * time.Second; at <= 15*time.Minute; at += 15 * time.Second {
		samples += fmt.Sprintf("ALERTS{alertname=\"HighErrorRate\",alertstate=\"firing\",namespace=\"shop\"} 1 %d\n", began.Add(at).Unix())
	}
	address, stop, err := programs.Start(t.Context(), t.TempDir(), samples)
	g.Expect(err).NotTo(HaveOccurred())
	defer stop()
	sources := sourcesOf(t, answers, testkit.NewFake(t, shop()), func(spec *appv1alpha1.VerificationSourceSpec) { spec.URL = address })
	check := appv1alpha1.VerificationCheck{Alerts: &appv1alpha1.AlertsCheck{SourceRef: appv1alpha1.SourceReference{Name: "prometheus"}}}
	asked := decide.AskedCheck{
		CheckID: decide.CheckID{Policy: system + "/web"}, Check: decide.Measured(&check), Schedule: decide.Schedule{Interval: 15 * time.Second, Offset: 7 * time.Second},
	}
	readings, err := verification.Read(t.Context(), sources, release(), asked, began.Add(13*time.Minute))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(len(readings.Moments)).To(BeNumerically(">=", 50))
	g.Expect(string(asked.Judge(release(), readings, measure.Terms{Ended: true}).Verdict)).To(Equal("Fail"))
}
