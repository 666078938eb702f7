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

package changeworkload

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Prometheus sees no increase when a counter appears: the first release that a check fails would be missing.
func TestChecksAreCountedFromZero(t *testing.T) {
	g := NewWithT(t)
	metrics, err := NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	for _, mode := range []string{"Observe", "Warn", "Enforce"} {
		for _, row := range []struct{ check, verdict, reason string }{
			{"PodHealth", "Pass", "CheckPassed"}, {"PodHealth", "Fail", "CheckFailed"}, {"PodHealth", "Inconclusive", "CommonCause"}, {"PodHealth", "Skipped", "NoPods"},
			{"Server", "Pass", "CheckPassed"}, {"Server", "Fail", "CheckFailed"}, {"Server", "Inconclusive", "ServerUnavailable"}, {"Server", "Skipped", "CheckNotConfigured"},
		} {
			t.Run(fmt.Sprintf("%s %s %s", row.check, mode, row.verdict), func(t *testing.T) {
				g, before := NewWithT(t), testutil.CollectAndCount(metrics.checks, "altershield_checks_total")
				counter := metrics.checks.With(prometheus.Labels{"type": row.check, "mode": mode, "verdict": row.verdict, "reason": row.reason})
				g.Expect(testutil.CollectAndCount(metrics.checks, "altershield_checks_total")).To(Equal(before), "the counter was there")
				g.Expect(testutil.ToFloat64(counter)).To(BeZero())
				metrics.checked(&appv1alpha1.CheckResult{
					Type: appv1alpha1.CheckType(row.check), Mode: appv1alpha1.CheckMode(mode), Verdict: appv1alpha1.CheckVerdict(row.verdict), Reason: row.reason,
				}, time.Second)
				g.Expect(testutil.ToFloat64(counter)).To(Equal(1.0))
			})
		}
	}
}

func TestTimesOfChecksAreMeasuredFromZero(t *testing.T) {
	g := NewWithT(t)
	metrics, err := NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	const types = 11
	g.Expect(testutil.CollectAndCount(metrics.checkTime, "altershield_check_seconds")).To(Equal(types*3), "each type has each verdict but Skipped")
	for seconds, verdict := range map[int]string{0: "Pass", 90: "Fail", 3600: "Inconclusive", 7200: "Skipped"} {
		metrics.checked(&appv1alpha1.CheckResult{Type: "Ratio", Mode: "Warn", Verdict: appv1alpha1.CheckVerdict(verdict), Reason: "Any"}, time.Duration(seconds)*time.Second)
	}
	g.Expect(testutil.CollectAndCount(metrics.checkTime, "altershield_check_seconds")).To(Equal(types * 3))
	for verdict, want := range map[string]string{"Pass": "1 0", "Fail": "1 90", "Inconclusive": "1 3600"} {
		var measured dto.Metric
		observer, err := metrics.checkTime.GetMetricWithLabelValues("Ratio", verdict)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(observer.(prometheus.Metric).Write(&measured)).To(Succeed())
		g.Expect(fmt.Sprint(measured.Histogram.GetSampleCount(), " ", measured.Histogram.GetSampleSum())).To(Equal(want), verdict)
	}
}

func TestSuspensionsAreMeasuredFromTheBadVerdictOfTheServer(t *testing.T) {
	g := NewWithT(t)
	metrics, err := NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	arrived := metav1.NewMicroTime(time.Date(2026, 11, 21, 13, 41, 1, 0, time.UTC))
	batch := appv1alpha1.ChangePod{Status: appv1alpha1.ChangePodStatus{
		VerdictTime: &arrived, PodResults: []appv1alpha1.PodSummary{{Pod: "sleep-1", Verdict: "unpass"}},
	}}
	byHand := batch
	byHand.Status.VerdictTime = nil
	for _, batches := range [][]appv1alpha1.ChangePod{{batch, byHand}, {byHand}} {
		metrics.suspended(&appv1alpha1.ChangeWorkloadStatus{}, batches, arrived.Add(20*time.Millisecond))
	}
	var measured dto.Metric
	g.Expect(metrics.suspension.Write(&measured)).To(Succeed())
	g.Expect(fmt.Sprint(measured.Histogram.GetSampleCount(), " ", measured.Histogram.GetSampleSum())).To(Equal("1 0.02"))
	g.Expect(testutil.CollectAndCount(metrics.suspension, "altershield_suspension_seconds")).To(Equal(1))
}
