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

// Package delivery measures how releases are delivered: what DORA's metrics count, and what change control adds.
package delivery

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// namespaceLabel is not "namespace", which Prometheus uses for the namespace of the scrape target.
const namespaceLabel = "workload_namespace"

// scrapeTimeout bounds the look for namespaces that are gone while the cache isn't synced.
const scrapeTimeout = time.Second

// Bypass is how a release passed what would have stopped it.
type Bypass string

const (
	// ByBreakGlass is a BreakGlass.
	ByBreakGlass Bypass = "break_glass"
	// ByIgnoredSuspend is the label ignored-suspend.
	ByIgnoredSuspend Bypass = "ignored_suspend"
	// ByGoOn is the annotation go-on.
	ByGoOn Bypass = "go_on"
)

// Metrics measures delivery, by the namespace of the workload. A nil one measures nothing.
type Metrics struct {
	// reader finds out which namespaces are gone; nil where none is looked for.
	reader client.Reader

	deployments, corrected, spared, released *prometheus.CounterVec
	recovery, lead, release, approval        *prometheus.HistogramVec
	bypasses                                 *prometheus.CounterVec

	mutex sync.Mutex
	known map[string]bool
}

// The buckets of the histograms are few: each series is there once for every namespace.
const minute, hour, day = float64(60), float64(60 * 60), float64(24 * 60 * 60)

// New registers the metrics. They have no series of namespaces that the reader doesn't find.
func New(registry prometheus.Registerer, reader client.Reader) (*Metrics, error) {
	count := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, append(labels, namespaceLabel))
	}
	measure := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, append(labels, namespaceLabel))
	}
	metrics := &Metrics{
		reader: reader, known: map[string]bool{},
		deployments: count("altershield_deployments_total",
			"Outcomes of releases, as ChangeRecords have them, by kind: release, repair or rollback, and outcome: verified, failed, rolledback, superseded or unchecked. A later outcome counts as well.", "kind", "outcome"),
		corrected: count("altershield_deployments_corrected_total",
			"Outcomes in altershield_deployments_total that a later verdict or rollback changed, by kind and the outcome that no longer holds: subtract them.", "kind", "outcome"),
		recovery: measure("altershield_recovery_seconds",
			"Time from the first bad verdict, or the rollback of a release without one, to what ended the failure: a verified rollback or repair, or the withdrawn verdict.",
			[]float64{minute, 5 * minute, 15 * minute, hour, 4 * hour, day, 7 * day}, "by"),
		lead: measure("altershield_lead_time_seconds",
			"Time from the commit of a release, by the annotation commit-time of its workload, to its verification. Without the annotation it isn't counted.",
			[]float64{15 * minute, hour, 4 * hour, day, 3 * day, 7 * day, 30 * day}),
		release: measure("altershield_release_seconds",
			"Time from the record of a release to its first outcome: verified, failed, rolledback, superseded or unchecked.",
			[]float64{minute, 5 * minute, 15 * minute, hour, 4 * hour, day, 7 * day}, "outcome"),
		spared: count("altershield_pods_spared_total",
			"Pods that never got a bad version: those that were still desired when the operator stopped the rollout or rolled it back."),
		released: count("altershield_pods_released_total",
			"Pods of releases that have their outcome, by whether they were checked: true or false.", "checked"),
		bypasses: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "altershield_bypasses_total",
			Help: "Releases that passed what would have stopped them, by how: break_glass, ignored_suspend, or go_on where a user let a step pass.",
		}, []string{"how"}),
		approval: measure("altershield_approval_wait_seconds",
			"Time for which steps of releases waited for approvals alone. Steps that had them in time don't count.",
			[]float64{minute, 5 * minute, 15 * minute, hour, 4 * hour, day, 3 * day}),
	}
	// Prometheus sees no increase when a counter appears, so each starts at 0. This one has no namespace: an alert needs its first increase.
	for _, how := range []Bypass{ByBreakGlass, ByIgnoredSuspend, ByGoOn} {
		metrics.bypasses.WithLabelValues(string(how))
	}
	if err := registry.Register(metrics); err != nil {
		return nil, fmt.Errorf("registering the metrics of delivery: %w", err)
	}
	return metrics, nil
}

// vector is a metric with labels.
type vector interface {
	prometheus.Collector
	DeletePartialMatch(labels prometheus.Labels) int
}

func (m *Metrics) vectors() []vector {
	return []vector{m.deployments, m.corrected, m.recovery, m.lead, m.release, m.spared, m.released, m.bypasses, m.approval}
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, vector := range m.vectors() {
		vector.Describe(descriptions)
	}
}

// Collect sends the metrics, and then drops those of namespaces that are gone: the last count of a namespace is seen once.
func (m *Metrics) Collect(sent chan<- prometheus.Metric) {
	for _, vector := range m.vectors() {
		vector.Collect(sent)
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	m.mutex.Lock()
	namespaces := slices.Collect(maps.Keys(m.known))
	m.mutex.Unlock()
	for _, namespace := range namespaces {
		if !m.isGone(ctx, namespace) {
			continue
		}
		m.mutex.Lock()
		delete(m.known, namespace)
		for _, vector := range m.vectors() {
			vector.DeletePartialMatch(prometheus.Labels{namespaceLabel: namespace})
		}
		m.mutex.Unlock()
	}
}

// isGone reports whether a namespace is known not to exist any more.
func (m *Metrics) isGone(ctx context.Context, namespace string) bool {
	return m.reader != nil && apierrors.IsNotFound(m.reader.Get(ctx, client.ObjectKey{Name: namespace}, &corev1.Namespace{}))
}

// Seen makes the series of a namespace start at 0, before its first release has an outcome.
func (m *Metrics) Seen(namespace string) {
	if m == nil {
		return
	}
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if m.known[namespace] {
		return
	}
	m.known[namespace] = true
	for _, outcome := range []appv1alpha1.ReleaseOutcome{
		appv1alpha1.OutcomeVerified, appv1alpha1.OutcomeFailed, appv1alpha1.OutcomeRolledBack, appv1alpha1.OutcomeSuperseded, appv1alpha1.OutcomeUnchecked,
	} {
		for _, kind := range []appv1alpha1.ReleaseType{appv1alpha1.TypeRelease, appv1alpha1.TypeRepair, appv1alpha1.TypeRollback} {
			m.deployments.WithLabelValues(label(kind), label(outcome), namespace)
			m.corrected.WithLabelValues(label(kind), label(outcome), namespace)
		}
		m.release.WithLabelValues(label(outcome), namespace)
	}
	for _, by := range []decide.RecoveredBy{decide.ByRollback, decide.ByRepair, decide.ByWithdrawal} {
		m.recovery.WithLabelValues(string(by), namespace)
	}
	m.lead.WithLabelValues(namespace)
	m.approval.WithLabelValues(namespace)
	m.spared.WithLabelValues(namespace)
	m.released.WithLabelValues("true", namespace)
	m.released.WithLabelValues("false", namespace)
}

// label returns a type or an outcome as the metrics have it.
func label[T ~string](value T) string { return strings.ToLower(string(value)) }

// Recorded counts a release whose ChangeRecord was created. previous is the record that it follows, nil for the first one.
func (m *Metrics) Recorded(record, previous *appv1alpha1.ChangeRecord) {
	if m == nil {
		return
	}
	namespace, delivery := record.Namespace, decide.DeliveryOf(record, previous)
	m.Seen(namespace)
	for _, count := range delivery.Counts {
		m.deployments.WithLabelValues(label(count.Type), label(count.Outcome), namespace).Inc()
		if count.Corrects != "" {
			m.corrected.WithLabelValues(label(count.Type), label(count.Corrects), namespace).Inc()
		}
	}
	if delivery.Release {
		m.release.WithLabelValues(label(record.Spec.Outcome), namespace).Observe(delivery.Took.Seconds())
		m.released.WithLabelValues("true", namespace).Add(float64(delivery.Checked))
		m.released.WithLabelValues("false", namespace).Add(float64(delivery.Unchecked))
	}
	if delivery.Lead != nil {
		m.lead.WithLabelValues(namespace).Observe(delivery.Lead.Seconds())
	}
	if delivery.RecoveredBy != "" {
		m.recovery.WithLabelValues(string(delivery.RecoveredBy), namespace).Observe(delivery.Recovery.Seconds())
	}
}

// Spared counts the pods that don't get a bad version.
func (m *Metrics) Spared(namespace string, pods int) {
	if m == nil {
		return
	}
	m.Seen(namespace)
	m.spared.WithLabelValues(namespace).Add(float64(max(pods, 0)))
}

// Bypassed counts a release that passed what would have stopped it.
func (m *Metrics) Bypassed(how Bypass) {
	if m != nil {
		m.bypasses.WithLabelValues(string(how)).Inc()
	}
}

// Approved measures how long a step waited for approvals.
func (m *Metrics) Approved(namespace string, wait time.Duration) {
	if m == nil {
		return
	}
	m.Seen(namespace)
	m.approval.WithLabelValues(namespace).Observe(max(wait, 0).Seconds())
}
