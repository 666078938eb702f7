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
	"time"

	"github.com/prometheus/client_golang/prometheus"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

// Metrics counts releases, batches and suspensions, and the verdicts of checks.
type Metrics struct {
	releases   *prometheus.CounterVec
	batches    prometheus.Counter
	checks     *prometheus.CounterVec
	checkTime  *prometheus.HistogramVec
	suspension prometheus.Histogram
	denied     prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	metrics := &Metrics{
		releases: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_releases_total",
			Help: "Releases by the status that they came to: Running, TimeOutPreThreshold, Success, Suspend or Failed. Without pods to check they count as Running.",
		}, []string{"status"}),
		batches: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "altershield_batches_opened_total",
			Help: "Batches of pods that were opened for checking.",
		}),
		checks: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_checks_total",
			Help: "Verdicts of checks of VerificationPolicies on releases. Those with the verdict Fail and another mode than Enforce would have failed their release.",
		}, []string{"type", "mode", "verdict", "reason"}),
		checkTime: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "altershield_check_seconds",
			Help: "Time from the record of a release to the verdict of a check of a VerificationPolicy, or with a phase from when the check was asked first. " +
				"Skipped checks don't count.",
			Buckets: []float64{1, 5, 15, 30, 60, 90, 120, 180, 300, 600, 1800, 3600},
		}, []string{"type", "verdict"}),
		suspension: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "altershield_suspension_seconds",
			Help:    "Time from the arrival of a bad verdict of AlterShield Server to the suspension of its workload.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}),
		denied: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "altershield_suspensions_denied_total",
			Help: "Attempts to suspend the workload of a failed release, or to hold its rollout, that the API server denied, because of another webhook or a missing permission for example.",
		}),
	}
	for _, collector := range []prometheus.Collector{
		metrics.releases, metrics.batches, metrics.checks, metrics.checkTime, metrics.suspension, metrics.denied,
	} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering the metrics of releases: %w", err)
		}
	}
	// Prometheus sees no increase when a counter appears, so each starts at 0.
	for _, status := range []appv1alpha1.ChangeWorkloadPhase{
		appv1alpha1.ChangeWorkloadRunning, appv1alpha1.ChangeWorkloadTimeOutPreThreshold, appv1alpha1.ChangeWorkloadSuccess,
		appv1alpha1.ChangeWorkloadSuspend, appv1alpha1.ChangeWorkloadFailed,
	} {
		metrics.releases.WithLabelValues(string(status))
	}
	for _, mode := range []appv1alpha1.CheckMode{appv1alpha1.CheckObserve, appv1alpha1.CheckWarn, appv1alpha1.CheckEnforce} {
		for checked, inconclusive := range inconclusiveReasons() {
			skipped := appv1alpha1.ReasonNoPods
			if checked == appv1alpha1.CheckServer {
				skipped = appv1alpha1.ReasonCheckNotConfigured
			}
			for verdict, reason := range map[appv1alpha1.CheckVerdict]string{
				appv1alpha1.CheckPass: appv1alpha1.ReasonCheckPassed, appv1alpha1.CheckFail: appv1alpha1.ReasonCheckFailed,
				appv1alpha1.CheckInconclusive: inconclusive, appv1alpha1.CheckSkipped: skipped,
			} {
				metrics.checks.WithLabelValues(string(checked), string(mode), string(verdict), reason)
			}
		}
	}
	for checked := range inconclusiveReasons() {
		for _, verdict := range []appv1alpha1.CheckVerdict{appv1alpha1.CheckPass, appv1alpha1.CheckFail, appv1alpha1.CheckInconclusive} {
			metrics.checkTime.WithLabelValues(string(checked), string(verdict))
		}
	}
	return metrics, nil
}

// inconclusiveReasons returns the most frequent reason of each type of check to be inconclusive.
func inconclusiveReasons() map[appv1alpha1.CheckType]string {
	const lowTraffic, noData = string(statistics.LowTraffic), string(statistics.NoData)
	return map[appv1alpha1.CheckType]string{
		appv1alpha1.CheckPodHealth: appv1alpha1.ReasonCommonCause, appv1alpha1.CheckRule: appv1alpha1.ReasonEvaluationError,
		appv1alpha1.CheckRatio: lowTraffic, appv1alpha1.CheckLatency: lowTraffic, appv1alpha1.CheckGauge: noData, appv1alpha1.CheckAlerts: noData,
		appv1alpha1.CheckQuery: noData, appv1alpha1.CheckHTTP: plugin.ReasonUndecided, appv1alpha1.CheckCondition: plugin.ReasonConditionUnknown,
		appv1alpha1.CheckJob: plugin.ReasonJobTimedOut, appv1alpha1.CheckServer: appv1alpha1.ReasonServerUnavailable,
	}
}

// entered counts a release whose new status was saved.
func (m *Metrics) entered(status appv1alpha1.ChangeWorkloadPhase) {
	m.releases.WithLabelValues(string(status)).Inc()
}

// checked counts the verdict of a check, and measures the time that it took.
func (m *Metrics) checked(result *appv1alpha1.CheckResult, after time.Duration) {
	m.checks.WithLabelValues(string(result.Type), string(result.Mode), string(result.Verdict), result.Reason).Inc()
	if result.Verdict != appv1alpha1.CheckSkipped {
		m.checkTime.WithLabelValues(string(result.Type), string(result.Verdict)).Observe(after.Seconds())
	}
}

// suspended measures a suspension after a verdict of the verifier; a verdict of a user has no time of arrival.
func (m *Metrics) suspended(status *appv1alpha1.ChangeWorkloadStatus, batches []appv1alpha1.ChangePod, now time.Time) {
	if arrived := decide.FailureArrived(status, batches); !arrived.IsZero() {
		m.suspension.Observe(max(now.Sub(arrived), 0).Seconds())
	}
}
