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
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scale sets the replicas of the Deployment.
func (p *plane) scale(count int32) {
	p.t.Helper()
	deployment := p.deployment()
	before := deployment.DeepCopy()
	deployment.Spec.Replicas = ptr.To(count)
	NewWithT(p.t).Expect(p.api.Patch(p.t.Context(), deployment, client.MergeFrom(before))).To(Succeed())
}

func TestReconcileTellsOfASuccessOnceThereWerePods(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(0), recordAt(2, version, "", "")), nil)
	count := func(status string) float64 { return testutil.ToFloat64(p.Metrics.releases.WithLabelValues(status)) }
	for range 3 { // an autoscaler is not sure
		p.scale(0)
		p.reconcile()
		g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success"}))
		p.scale(1)
		p.reconcile()
		g.Expect(p.statuses()).To(Equal(map[string]string{version: "Running"}))
	}
	g.Expect(p.recorded.Events).To(BeEmpty())
	g.Expect(count("Success")).To(BeZero())
	g.Expect(count("Running")).To(BeEquivalentTo(1))

	p.scale(0)
	p.reconcile()
	g.Expect(p.api.Create(t.Context(), finishedPod(1))).To(Succeed())
	g.Expect(p.api.Create(t.Context(), passedBatch(1))).To(Succeed())
	p.scale(1)
	p.reconcile()
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success"}))
	g.Expect(p.recorded.Events).To(Receive(Equal("Normal ReleaseSucceeded release " + version + " is verified: 1 of 1 pods passed")))
	g.Expect(count("Success")).To(BeEquivalentTo(1))
	p.scale(0)
	p.reconcile()
	g.Expect(p.recorded.Events).To(BeEmpty(), "it stays verified")
}
