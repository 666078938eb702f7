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

package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func newMetrics(t *testing.T, reader client.Reader) (*delivery.Metrics, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	metrics, err := delivery.New(registry, reader)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return metrics, registry
}

// series returns the number of series by the name of the metric.
func series(t *testing.T, registry *prometheus.Registry) map[string]int {
	t.Helper()
	families, err := registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	counts := map[string]int{}
	for _, family := range families {
		counts[family.GetName()] = len(family.GetMetric())
	}
	return counts
}

func TestSeriesOfANamespaceStartAtZero(t *testing.T) {
	g := NewWithT(t)
	metrics, registry := newMetrics(t, nil)
	g.Expect(series(t, registry)).To(Equal(map[string]int{"altershield_bypasses_total": 3}))
	metrics.Seen("shop")
	metrics.Seen("shop")
	g.Expect(series(t, registry)).To(Equal(map[string]int{
		"altershield_deployments_total": 15, "altershield_deployments_corrected_total": 15, "altershield_recovery_seconds": 3, "altershield_lead_time_seconds": 1,
		"altershield_release_seconds": 5, "altershield_pods_spared_total": 1, "altershield_pods_released_total": 2, "altershield_approval_wait_seconds": 1, "altershield_bypasses_total": 3,
	}))
	metrics.Recorded(&appv1alpha1.ChangeRecord{ObjectMeta: metav1.ObjectMeta{Namespace: "shop"}, Spec: appv1alpha1.ChangeRecordSpec{Type: "Repair", Outcome: "RolledBack"}}, nil)
	g.Expect(series(t, registry)).To(HaveKeyWithValue("altershield_deployments_total", 15), "every combination was there")
	g.Expect(series(t, registry)).To(HaveKeyWithValue("altershield_release_seconds", 5))
}

func TestBypassesSparedPodsAndApprovalsAreMeasured(t *testing.T) {
	g := NewWithT(t)
	metrics, registry := newMetrics(t, nil)
	metrics.Bypassed(delivery.ByBreakGlass)
	metrics.Bypassed(delivery.ByGoOn)
	metrics.Bypassed(delivery.ByIgnoredSuspend)
	metrics.Spared("shop", 7)
	metrics.Spared("shop", -1)
	metrics.Approved("shop", 90*time.Second)
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP altershield_bypasses_total Releases that passed what would have stopped them, by how: break_glass, ignored_suspend, or go_on where a user let a step pass.
# TYPE altershield_bypasses_total counter
altershield_bypasses_total{how="break_glass"} 1
altershield_bypasses_total{how="go_on"} 1
altershield_bypasses_total{how="ignored_suspend"} 1
# HELP altershield_pods_spared_total Pods that never got a bad version: those that were still desired when the operator stopped the rollout or rolled it back.
# TYPE altershield_pods_spared_total counter
altershield_pods_spared_total{workload_namespace="shop"} 7
# HELP altershield_approval_wait_seconds Time for which steps of releases waited for approvals alone. Steps that had them in time don't count.
# TYPE altershield_approval_wait_seconds histogram
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="60"} 0
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="300"} 1
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="900"} 1
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="3600"} 1
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="14400"} 1
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="86400"} 1
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="259200"} 1
altershield_approval_wait_seconds_bucket{workload_namespace="shop",le="+Inf"} 1
altershield_approval_wait_seconds_sum{workload_namespace="shop"} 90
altershield_approval_wait_seconds_count{workload_namespace="shop"} 1
`), "altershield_bypasses_total", "altershield_pods_spared_total", "altershield_approval_wait_seconds")).To(Succeed())
}

func TestSeriesOfANamespaceThatIsGoneAreDroppedAfterTheLastScrape(t *testing.T) {
	g, kube := NewWithT(t), testkit.NewFake(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})
	away := errors.New("the cache has not started")
	var fails error
	metrics, registry := newMetrics(t, interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if fails != nil {
				return fails
			}
			return kube.Get(ctx, key, object, options...)
		},
	}))
	metrics.Seen("shop")
	metrics.Spared("gone", 1)
	fails = away
	g.Expect(series(t, registry)).To(HaveKeyWithValue("altershield_pods_spared_total", 2))
	fails = nil
	g.Expect(series(t, registry)).To(HaveKeyWithValue("altershield_pods_spared_total", 2), "its last count is seen")
	g.Expect(series(t, registry)).To(HaveKeyWithValue("altershield_pods_spared_total", 1))
	g.Expect(series(t, registry)).To(HaveKeyWithValue("altershield_deployments_total", 15))
	metrics.Spared("gone", 1)
	g.Expect(series(t, registry)).To(HaveKeyWithValue("altershield_deployments_total", 30), "it was created again")
}

func TestNoMetricsMeasureNothing(*testing.T) {
	var metrics *delivery.Metrics
	metrics.Seen("shop")
	metrics.Recorded(&appv1alpha1.ChangeRecord{}, nil)
	metrics.Spared("shop", 1)
	metrics.Bypassed(delivery.ByGoOn)
	metrics.Approved("shop", time.Second)
}

func TestMetricsAreRegisteredOnce(t *testing.T) {
	_, registry := newMetrics(t, nil)
	_, err := delivery.New(registry, nil)
	NewWithT(t).Expect(err).To(MatchError(HavePrefix("registering the metrics of delivery: ")))
}

// The operator keeps the series of all namespaces with releases, so those of one have to be small.
func TestSeriesOfANamespaceAreSmall(t *testing.T) {
	const namespaces = 200
	metrics, registry := newMetrics(t, nil)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range namespaces {
		metrics.Seen(fmt.Sprintf("namespace-%d", i))
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	each := (after.HeapAlloc - before.HeapAlloc) / namespaces
	t.Logf("%d bytes for each namespace", each)
	NewWithT(t).Expect(each).To(BeNumerically("<", 64<<10))
	runtime.KeepAlive(registry)
}
