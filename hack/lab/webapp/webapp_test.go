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

package webapp

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestKindIsHeldByBothFields(t *testing.T) {
	g := NewWithT(t)
	kind, err := Kind()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(workload.ControlledKindName(kind)).To(Equal("webapps.lab.altershield.io"))
	app := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"altershield.defense.antgroup.com/hold-with": `{"/spec/rollout/partition":3}`}},
		"spec":     map[string]any{"rollout": map[string]any{"paused": true, "partition": int64(0)}},
	}}
	g.Expect(kind.Rollout(app).Paused).To(BeFalse())
	g.Expect(unstructured.SetNestedField(app.Object, int64(3), "spec", "rollout", "partition")).To(Succeed())
	g.Expect(kind.Rollout(app).Paused).To(BeTrue())
}

func TestControllerReconcileAllRunsAStatefulSetAndReportsIt(t *testing.T) {
	g := NewWithT(t)
	app := New("shop", "web", 3)
	app.SetUID("1")
	app.SetGeneration(1)
	kube := fake.NewClientBuilder().WithObjects(app).WithStatusSubresource(app).Build()
	controller := Controller{Kube: kube}
	reconciled := func() (set appsv1.StatefulSet) {
		controller.reconcileAll(t.Context())
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(app), app)).To(Succeed())
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(app), &set)).To(Succeed())
		return set
	}

	set := reconciled()
	g.Expect(*set.Spec.Replicas).To(BeEquivalentTo(3))
	g.Expect(set.Spec.Template).To(Equal(lab.Deployment("shop", "web", 3).Spec.Template))
	g.Expect(set.OwnerReferences[0].Kind).To(Equal("WebApp"))

	set.Status = appsv1.StatefulSetStatus{Replicas: 3, UpdatedReplicas: 2, ReadyReplicas: 1}
	g.Expect(kube.Status().Update(t.Context(), &set)).To(Succeed())
	reconciled()
	g.Expect(app.Object["status"]).To(Equal(map[string]any{
		"observedGeneration": int64(1), "replicas": int64(3), "updatedReplicas": int64(2), "readyReplicas": int64(1),
	}))

	app.SetGeneration(2)
	app.Object["spec"].(map[string]any)["rollout"] = map[string]any{"paused": true, "partition": int64(3)}
	g.Expect(kube.Update(t.Context(), app)).To(Succeed())
	set = reconciled()
	g.Expect(*set.Spec.UpdateStrategy.RollingUpdate.Partition).To(BeEquivalentTo(3))
	g.Expect(set.Annotations).To(HaveKeyWithValue("lab.altershield.io/generation", "2"))
}

func TestControllerReconcileAllActsAsItIsTold(t *testing.T) {
	g := NewWithT(t)
	kube := fake.NewClientBuilder().WithObjects(New("shop", "web", 3)).Build()
	acts := 0
	act := func(func() error) error {
		acts++
		return nil
	}
	Controller{Kube: kube, As: act}.reconcileAll(t.Context())
	g.Expect(acts).To(Equal(1))
	var sets appsv1.StatefulSetList
	g.Expect(kube.List(t.Context(), &sets)).To(Succeed())
	g.Expect(sets.Items).To(BeEmpty())
}
