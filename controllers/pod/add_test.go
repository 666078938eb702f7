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

package pod

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/traas-stack/altershield-operator/controllers/testkit"

	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// of is a ReplicaSet of the Deployment with this UID, of none where that is empty.
func of(deployment string) *appsv1.ReplicaSet {
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1"}}
	if deployment != "" {
		replicaSet.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: types.UID(deployment), Controller: ptr.To(true)}}
	}
	return replicaSet
}

func TestAdoptedPassesReplicaSetsThatGetADeployment(t *testing.T) {
	g := NewWithT(t)
	g.Expect(adopted().Create(event.CreateEvent{Object: of("d-1")})).To(BeTrue())
	g.Expect(adopted().Delete(event.DeleteEvent{Object: of("d-1")})).To(BeFalse())
	for _, row := range []struct {
		before, after string
		passes        bool
	}{
		{"", "d-1", true},
		{"d-1", "d-2", true},
		{"d-1", "d-1", false},
		{"d-1", "", false},
		{"", "", false},
	} {
		g.Expect(adopted().Update(event.UpdateEvent{ObjectOld: of(row.before), ObjectNew: of(row.after)})).To(Equal(row.passes), "%q to %q", row.before, row.after)
	}
}

func TestMayFinishPassesDeploymentsWhosePodsFinishAtAnotherTime(t *testing.T) {
	g := NewWithT(t)
	before, after := &appsv1.Deployment{}, &appsv1.Deployment{}
	after.Spec.MinReadySeconds = 30
	g.Expect(mayFinish(kind.Kind{}).Create(event.CreateEvent{Object: after})).To(BeTrue())
	g.Expect(mayFinish(kind.Kind{}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeTrue())
	g.Expect(mayFinish(kind.Kind{}).Update(event.UpdateEvent{ObjectOld: after, ObjectNew: after})).To(BeFalse())
	g.Expect(mayFinish(kind.Kind{}).Delete(event.DeleteEvent{Object: after})).To(BeFalse())
}

// selecting is a kind whose workloads get other pods with each generation.
type selecting struct{ kind.Kind }

func (selecting) PodsChanged(before, after client.Object) bool {
	return before.GetGeneration() != after.GetGeneration()
}

func TestMayFinishPassesWorkloadsThatGetOtherPods(t *testing.T) {
	g := NewWithT(t)
	before, after := &appsv1.Deployment{}, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	g.Expect(mayFinish(selecting{}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeTrue())
	g.Expect(mayFinish(selecting{}).Update(event.UpdateEvent{ObjectOld: after, ObjectNew: after})).To(BeFalse())
}

func TestRequestsAreForPodsWithoutALabel(t *testing.T) {
	g := NewWithT(t)
	pod := func(name, replicaSet string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels, OwnerReferences: []metav1.OwnerReference{
			{Kind: "ReplicaSet", UID: types.UID(replicaSet), Controller: ptr.To(true)}}}}
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1"}}
	replicaSet := of("d-1")
	replicaSet.UID = "rs-1"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	reconciler := &Reconciler{Kinds: testkit.Kinds(), Client: testkit.NewFake(t, replicaSet,
		pod("own", "rs-1", nil), pod("finished", "rs-1", map[string]string{finishedLabel: "1795255200"}), pod("others", "rs-2", nil))}
	asked := func(requests []reconcile.Request) []string {
		var names []string
		for _, request := range requests {
			names = append(names, request.String())
		}
		return names
	}
	g.Expect(asked(reconciler.ofWorkload(kind.Kind{})(t.Context(), deployment))).To(ConsistOf("default/own"))
	g.Expect(asked(reconciler.ofLayer(t.Context(), replicaSet))).To(ConsistOf("default/own"))
	g.Expect(reconciler.ofLayer(t.Context(), of(""))).To(BeEmpty(), "no workload has its pods")
	foreign := of("d-1")
	foreign.OwnerReferences[0].Kind = "Rollout"
	g.Expect(reconciler.ofLayer(t.Context(), foreign)).To(BeEmpty(), "its workload is of another kind")
	g.Expect(asked(reconciler.inNamespace(t.Context(), namespace))).To(ConsistOf("default/own", "default/others"))

	reconciler.Client = interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return errors.New("the cache is not synced")
		},
	})
	g.Expect(reconciler.ofWorkload(kind.Kind{})(t.Context(), deployment)).To(BeEmpty())
	g.Expect(reconciler.ofLayer(t.Context(), replicaSet)).To(BeEmpty())
	g.Expect(reconciler.inNamespace(t.Context(), namespace)).To(BeEmpty())
}
