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

// Package statemetrics provides metrics of the current state of workloads and releases.
package statemetrics

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// namespaceLabel is not "namespace", which Prometheus uses for the namespace of the scrape target.
const namespaceLabel = "workload_namespace"

const kindLabel = "kind"

// reasonLabel is the reason of the condition Frozen or Paced.
const reasonLabel = "reason"

// deployments is the kind with a metric of its own, from before there were others.
const deployments = "Deployment"

// scrapeTimeout bounds a scrape while the cache isn't synced.
const scrapeTimeout = time.Second

// Collector counts objects in the cache at each scrape, for the namespaces that have any. All replicas show the same values: take
// their maximum, not their sum.
type Collector struct {
	reader client.Reader
	kinds  workload.Kinds
	clock  clock.PassiveClock

	suspended, deploymentsSuspended, suspendedSince, inProgress, inProgressSince, frozen, frozenSince, paced, pacedSince *prometheus.Desc
}

// Setup registers a Collector and makes the cache hold the objects that it reads, also on replicas that don't lead.
func Setup(ctx context.Context, mgr ctrl.Manager, registry prometheus.Registerer, kinds workload.Kinds, clock clock.PassiveClock) error {
	for _, object := range append(kinds.Snapshot().Objects(), &appv1alpha1.ChangeWorkload{}) {
		if _, err := mgr.GetCache().GetInformer(ctx, object); err != nil {
			return fmt.Errorf("watching %T: %w", object, err)
		}
	}
	if err := registry.Register(New(mgr.GetClient(), kinds, clock)); err != nil {
		return fmt.Errorf("registering the metrics of the state: %w", err)
	}
	return nil
}

// New returns a Collector that reads from a cache.
func New(reader client.Reader, kinds workload.Kinds, clock clock.PassiveClock) *Collector {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, append(labels, namespaceLabel), nil)
	}
	return &Collector{
		reader: reader, kinds: kinds, clock: clock,
		suspended: describe("altershield_workloads_suspended",
			"Suspended workloads, by kind.", kindLabel),
		deploymentsSuspended: describe("altershield_deployments_suspended",
			"Suspended Deployments."),
		suspendedSince: describe("altershield_oldest_suspension_timestamp_seconds",
			"Unix time of the oldest suspension."),
		inProgress: describe("altershield_releases_in_progress",
			"Releases whose pods are awaited or checked."),
		inProgressSince: describe("altershield_oldest_release_in_progress_timestamp_seconds",
			"Unix time at which the oldest release in progress was recorded, or its step began or ended its soak. A step that soaks doesn't count."),
		frozen: describe("altershield_releases_frozen",
			"Releases that wait for the end of a ChangeFreeze, by the reason of their condition Frozen: ChangeFreeze, or Thawing after its end.", reasonLabel),
		frozenSince: describe("altershield_oldest_frozen_release_timestamp_seconds",
			"Unix time since which the oldest of these releases has waited.", reasonLabel),
		paced: describe("altershield_releases_paced",
			"Releases that are rolled out in steps, by the reason of their condition Paced: what they wait for.", reasonLabel),
		pacedSince: describe("altershield_oldest_step_timestamp_seconds",
			"Unix time at which the oldest present step of a release began or ended its soak, by the reason of its condition Paced.", reasonLabel),
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descriptions chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{
		c.suspended, c.deploymentsSuspended, c.suspendedSince, c.inProgress, c.inProgressSince, c.frozen, c.frozenSince,
		c.paced, c.pacedSince,
	} {
		descriptions <- description
	}
}

// Collect sends nothing while the cache can't be read: an error would fail the scrape of all other metrics.
func (c *Collector) Collect(metrics chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	if err := c.collect(ctx, metrics); err != nil && !errors.As(err, new(*cache.ErrCacheNotStarted)) {
		ctrl.Log.WithName("statemetrics").Error(err, "Failed to collect the state metrics")
	}
}

func (c *Collector) collect(ctx context.Context, metrics chan<- prometheus.Metric) error {
	byKind, suspended, inProgress := map[string]census{}, census{}, census{}
	for _, kind := range c.kinds.Snapshot() {
		name := kind.GroupVersionKind().Kind
		found, err := index.List(ctx, c.reader, kind, client.HasLabels{appv1alpha1.LabelSuspend})
		if err != nil {
			return fmt.Errorf("listing the suspended workloads of kind %s: %w", name, err)
		}
		if byKind[name] == nil { // kinds of several groups may have the same name
			byKind[name] = census{}
		}
		for _, workload := range found {
			byKind[name].add(workload.GetNamespace(), suspensionTime(workload))
			suspended.add(workload.GetNamespace(), suspensionTime(workload))
		}
	}
	workloads, err := index.ReleasesInProgress(ctx, c.reader)
	if err != nil {
		return err
	}
	for i := range workloads {
		inProgress.add(workloads[i].Namespace, c.progressSince(&workloads[i]))
	}
	if err := c.collectFrozen(ctx, metrics); err != nil {
		return err
	}
	if err := c.collectPaced(ctx, metrics); err != nil {
		return err
	}
	for kind, suspended := range byKind {
		suspended.showCount(metrics, c.suspended, kind)
	}
	byKind[deployments].showCount(metrics, c.deploymentsSuspended)
	suspended.showOldest(metrics, c.suspendedSince)
	inProgress.showCount(metrics, c.inProgress)
	inProgress.showOldest(metrics, c.inProgressSince)
	return nil
}

// collectFrozen counts the releases that wait for the end of a ChangeFreeze, by the reason.
func (c *Collector) collectFrozen(ctx context.Context, metrics chan<- prometheus.Metric) error {
	workloads, err := index.FrozenReleases(ctx, c.reader)
	if err != nil {
		return err
	}
	byReason := reasons{}
	for i := range workloads {
		frozen := meta.FindStatusCondition(workloads[i].Status.Conditions, appv1alpha1.ConditionFrozen)
		byReason.add(frozen.Reason, workloads[i].Namespace, frozen.LastTransitionTime.Unix())
	}
	byReason.show(metrics, c.frozen, c.frozenSince)
	return nil
}

// collectPaced counts the releases that are rolled out in steps, by what they wait for.
func (c *Collector) collectPaced(ctx context.Context, metrics chan<- prometheus.Metric) error {
	workloads, err := index.PacedReleases(ctx, c.reader)
	if err != nil {
		return err
	}
	byReason := reasons{}
	for i := range workloads {
		paced := meta.FindStatusCondition(workloads[i].Status.Conditions, appv1alpha1.ConditionPaced)
		byReason.add(paced.Reason, workloads[i].Namespace, c.stepSince(&workloads[i].Status, paced.LastTransitionTime.Unix()))
	}
	byReason.show(metrics, c.paced, c.pacedSince)
	return nil
}

// stepSince returns the Unix time at which the step of a release began, or ended its soak, or before the first step another time.
func (c *Collector) stepSince(status *appv1alpha1.ChangeWorkloadStatus, otherwise int64) int64 {
	if status.Pace == nil || status.Pace.Since == nil {
		return otherwise
	}
	since := status.Pace.Since.Unix()
	if status.Pace.SoakUntil != nil && !c.soaks(status) {
		since = max(since, status.Pace.SoakUntil.Unix())
	}
	return since
}

// soaks reports whether the soak of a step has yet to end, also while a pod that passed is being replaced.
func (c *Collector) soaks(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return status.Pace != nil && status.Pace.SoakUntil != nil && c.clock.Now().Before(status.Pace.SoakUntil.Time)
}

// progressSince returns the Unix time since which a release has been in progress. One in steps may take as long as its ReleasePolicy has it
// wait, so only its present step counts, and 0 stands for one that soaks.
func (c *Collector) progressSince(record *appv1alpha1.ChangeWorkload) int64 {
	if !decide.IsPaced(record) {
		return record.Spec.CreateTimeUnix
	}
	paced := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionPaced)
	if paced.Reason == appv1alpha1.ReasonSoaking || c.soaks(&record.Status) {
		return 0
	}
	return c.stepSince(&record.Status, record.Spec.CreateTimeUnix)
}

// suspensionTime returns Unix seconds, 0 if the label holds none.
func suspensionTime(workload client.Object) int64 {
	since, err := strconv.ParseInt(workload.GetLabels()[appv1alpha1.LabelSuspend], 10, 64)
	if err != nil {
		return 0
	}
	return since
}

// census has the number of objects in each namespace, and the time of the oldest. A time of 0 is unknown.
type census map[string]entry

type entry struct {
	count  int
	oldest int64
}

func (c census) add(namespace string, since int64) {
	known := c[namespace]
	known.count++
	if since > 0 && (known.oldest == 0 || since < known.oldest) {
		known.oldest = since
	}
	c[namespace] = known
}

// reasons are the objects of each reason.
type reasons map[string]census

func (r reasons) add(reason, namespace string, since int64) {
	if r[reason] == nil {
		r[reason] = census{}
	}
	r[reason].add(namespace, since)
}

func (r reasons) show(metrics chan<- prometheus.Metric, count, oldest *prometheus.Desc) {
	for reason, found := range r {
		found.showCount(metrics, count, reason)
		found.showOldest(metrics, oldest, reason)
	}
}

func (c census) showCount(metrics chan<- prometheus.Metric, count *prometheus.Desc, labels ...string) {
	for namespace, found := range c {
		metrics <- prometheus.MustNewConstMetric(count, prometheus.GaugeValue, float64(found.count), append(slices.Clip(labels), namespace)...)
	}
}

func (c census) showOldest(metrics chan<- prometheus.Metric, oldest *prometheus.Desc, labels ...string) {
	for namespace, found := range c {
		if found.oldest > 0 {
			metrics <- prometheus.MustNewConstMetric(oldest, prometheus.GaugeValue, float64(found.oldest), append(slices.Clip(labels), namespace)...)
		}
	}
}
