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
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// evict does to the pod sleep-1-<number> what the kubelet does.
func (p *plane) evict(number int) {
	p.t.Helper()
	pod := finishedPod(number)
	before := pod.DeepCopy()
	pod.Status.Phase, pod.Status.Reason = corev1.PodFailed, "Evicted"
	NewWithT(p.t).Expect(p.api.Status().Patch(p.t.Context(), pod, client.MergeFrom(before))).To(Succeed())
}

func TestReconcileAwaitsTheSuccessorsOfEvictedPods(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(5, suspended), recordAt(2, version, "Running", "Verifying"), recordAt(1, older, "Success", "AllPodsPassed")), nil)
	for number := 1; number <= 5; number++ {
		g.Expect(p.api.Create(t.Context(), finishedPod(number))).To(Succeed())
		p.reconcile()
		p.pass(number)
		p.evict(number)
		p.reconcile()
		g.Expect(p.statuses()).To(Equal(map[string]string{version: "Running", older: "Success"}), "%d were evicted", number)
	}
	g.Expect(p.deployment().Labels).To(HaveKey("altershield.defense.antgroup.com/suspend"))
	for number := 6; number <= 10; number++ {
		g.Expect(p.statuses()).To(HaveKeyWithValue(version, "Running"))
		g.Expect(p.api.Create(t.Context(), finishedPod(number))).To(Succeed())
		p.reconcile()
		p.pass(number)
		p.reconcile()
	}
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success " + older}))
	g.Expect(p.deployment().Labels).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
}

func TestReconcileKeepsASuspensionWhenTheFailedPodIsEvicted(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(1, suspended), finishedPod(1), recordAt(2, version, "Suspend", "PodsFailed"), failedBatch(1)), nil)
	p.evict(1)
	g.Expect(p.api.Create(t.Context(), finishedPod(2))).To(Succeed())
	p.reconcile()
	p.pass(2)
	p.reconcile()
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Suspend"}))
	g.Expect(p.deployment().Labels).To(HaveKey("altershield.defense.antgroup.com/suspend"))
}
