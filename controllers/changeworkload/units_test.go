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
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// cluster is a kind without pods: its annotation phase is its health, and its units are two nodes.
type cluster struct{ deployment.Kind }

func (cluster) Health(object client.Object) (workload.Health, string) {
	phase := object.GetAnnotations()["phase"]
	return workload.Health(phase), "the phase is " + phase
}

func (cluster) Units(client.Object) []appv1alpha1.PodSummary {
	return []appv1alpha1.PodSummary{{Pod: "node-1", UID: "d-1/node-1"}, {Pod: "node-2", UID: "d-1/node-2"}}
}

// phase sets the annotation phase of the Deployment sleep.
func (p *plane) phase(phase string) {
	p.t.Helper()
	owner := p.deployment()
	owner.Annotations["phase"] = phase
	NewWithT(p.t).Expect(p.api.Update(p.t.Context(), owner)).To(Succeed())
}

func TestReconcileChecksTheUnitsOfAKindWithoutPods(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(2), recordAt(2, version, "Running", "Verifying")), nil)
	p.Kinds = workload.Registry{cluster{}}
	p.phase("InProgress")
	p.reconcile()
	g.Expect(p.batched()).To(BeEmpty(), "while the operation goes on")
	p.phase("Current")
	p.reconcile()
	g.Expect(p.batched()).To(ConsistOf("node-1", "node-2"))
}

func TestReconcileSuspendsAWorkloadThatShowsItsReleaseAsFailed(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(2), recordAt(2, version, "Running", "Verifying")), nil)
	p.Kinds = workload.Registry{cluster{}}
	p.phase("Failed")
	p.reconcile()
	g.Expect(p.deployment().Labels).To(HaveKey("altershield.defense.antgroup.com/suspend"))
	g.Expect(p.statuses()).To(HaveKeyWithValue(version, "Suspend"))
	g.Expect(p.recorded.Events).To(Receive(ContainSubstring("the phase is Failed")))
}

// untyped is such a kind whose workloads are untyped, as those of declared kinds are.
type untyped struct{ cluster }

func (untyped) New() client.Object {
	return &unstructured.Unstructured{Object: map[string]any{"apiVersion": "apps/v1", "kind": "Deployment"}}
}

func (untyped) Rollout(client.Object) decide.Rollout { return decide.Rollout{Desired: 2} }

func TestReconcileKeepsAFaultWhileTheWorkloadIsBehind(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(2), recordAt(2, version, "Running", "Verifying")), nil)
	p.Kinds = workload.Registry{untyped{}}
	p.phase("Failed")
	p.reconcile()
	g.Expect(p.statuses()).To(HaveKeyWithValue(version, "Suspend"))
	p.phase("InProgress")
	observe := func(generation int64) {
		owner := p.deployment()
		owner.Status.ObservedGeneration = generation
		g.Expect(p.api.Status().Update(t.Context(), owner)).To(Succeed())
	}
	observe(p.deployment().Generation - 1)
	p.reconcile()
	g.Expect(p.statuses()).To(HaveKeyWithValue(version, "Suspend"))
	observe(p.deployment().Generation)
	p.reconcile()
	g.Expect(p.statuses()).To(HaveKeyWithValue(version, "Running"))
}

func TestReleaseChangedPassesAChangeOfHealth(t *testing.T) {
	g, before, after := NewWithT(t), &appsv1.Deployment{}, &appsv1.Deployment{}
	before.Annotations = map[string]string{"phase": "InProgress"}
	after.Annotations = before.Annotations
	changed := releaseChanged(shown{})
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeFalse())
	after.Status.ReadyReplicas = 2
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeTrue())
}

// A fault is kept while a workload is behind.
func TestReleaseChangedPassesAWorkloadThatIsNotBehindAnyMore(t *testing.T) {
	g, changed := NewWithT(t), releaseChanged(deployment.Kind{})
	at := func(observed int64) client.Object {
		return &unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"generation": int64(2)}, "status": map[string]any{"observedGeneration": observed},
		}}
	}
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: at(1), ObjectNew: at(2)})).To(BeTrue())
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: at(2), ObjectNew: at(2)})).To(BeFalse())
}

// shown is a kind whose health is in its status.
type shown struct{ deployment.Kind }

func (shown) Health(object client.Object) (workload.Health, string) {
	if object.(*appsv1.Deployment).Status.ReadyReplicas > 0 {
		return workload.HealthCurrent, ""
	}
	return workload.HealthInProgress, ""
}
