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

package rollback_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
)

func TestMetricsOfADeclaredKindStartAtZero(t *testing.T) {
	g, registry := NewWithT(t), prometheus.NewRegistry()
	metrics, err := rollback.NewMetrics(registry, nil)
	g.Expect(err).NotTo(HaveOccurred())
	metrics.Begin(kinds.Sample(t, "../..", "raycluster", "rayclusters"))
	g.Expect(testutil.GatherAndCompare(registry, strings.NewReader(`
# HELP altershield_rollbacks_total Rollbacks by the kind of the workload and their reason: PodsNotRunning, PodsFailed, Requested or ReleasePolicy.
# TYPE altershield_rollbacks_total counter
altershield_rollbacks_total{kind="RayCluster",reason="PodsFailed"} 0
altershield_rollbacks_total{kind="RayCluster",reason="PodsNotRunning"} 0
altershield_rollbacks_total{kind="RayCluster",reason="ReleasePolicy"} 0
altershield_rollbacks_total{kind="RayCluster",reason="Requested"} 0
`), "altershield_rollbacks_total")).To(Succeed())
}
