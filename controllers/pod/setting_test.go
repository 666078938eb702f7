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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestReconcileLabelsWhileTheSettingIsOn(t *testing.T) {
	g := NewWithT(t)
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1"}}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1", UID: "rs-1", OwnerReferences: []metav1.OwnerReference{
		*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-1-a", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Status: corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{
			{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-time.Minute))}}},
	}
	setting := &appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "finished-label"},
		Spec:       appv1alpha1.OpsConfigInfoSpec{Type: "isFinishedLabel", Enable: false},
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespace, deployment, replicaSet, pod, setting).Build()
	reconciler := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: kube, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube, Namespace: "altershieldoperator-system"}}
	request := reconcile.Request{NamespacedName: client.ObjectKeyFromObject(pod)}
	look := func() map[string]string {
		g.Expect(kube.Get(t.Context(), request.NamespacedName, pod)).To(Succeed())
		result, err := reconciler.Reconcile(t.Context(), pod)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result).To(BeZero())
		g.Expect(kube.Get(t.Context(), request.NamespacedName, pod)).To(Succeed())
		return pod.Labels
	}

	g.Expect(look()).NotTo(HaveKey(finishedLabel))
	g.Expect(reconciler.everywhere(t.Context(), setting)).To(BeEmpty(), "while it is off")

	setting.Spec.Enable = true
	g.Expect(kube.Update(t.Context(), setting)).To(Succeed())
	g.Expect(reconciler.everywhere(t.Context(), setting)).To(HaveExactElements(request), "once it is on")
	g.Expect(look()).To(HaveKeyWithValue(finishedLabel, "1795255200"))
	g.Expect(reconciler.everywhere(t.Context(), setting)).To(BeEmpty(), "a labelled pod needs no other label")

	setting.Spec.Enable = false
	g.Expect(kube.Update(t.Context(), setting)).To(Succeed())
	g.Expect(look()).To(HaveKeyWithValue(finishedLabel, "1795255200"), "a label stays")
}
