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

package pod_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/pod"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

// sleep makes the Deployment sleep, its ReplicaSet, and a pod of it that is ready since testkit.Now. Its pods have to be ready for a
// minute.
func sleep(t *testing.T, kube client.Client, namespace string) *corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	labels := map[string]string{"app": "sleep", "admission-webhook-altershield.antgroup.com/version": testkit.Version}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "sleep", Image: "busybox"}}},
	}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep", Labels: labels},
		Spec:       appsv1.DeploymentSpec{Selector: selector, Template: template, MinReadySeconds: 60},
	}
	g.Expect(kube.Create(t.Context(), deployment)).To(Succeed())
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep-1", Labels: labels, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Selector: selector, Template: template},
	}
	g.Expect(kube.Create(t.Context(), replicaSet)).To(Succeed())
	return ready(t, kube, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep-1-a", Labels: labels, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Spec: template.Spec,
	})
}

// ready creates a pod that is ready since testkit.Now.
func ready(t *testing.T, kube client.Client, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	g := NewWithT(t)
	g.Expect(kube.Create(t.Context(), pod)).To(Succeed())
	pod.Status.Phase = "Running"
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(testkit.Now())}}
	g.Expect(kube.Status().Update(t.Context(), pod)).To(Succeed())
	return pod
}

func newReconciler(kube client.Client, clock clock.PassiveClock) *pod.Reconciler {
	return &pod.Reconciler{Kinds: testkit.Kinds(), Client: kube, Clock: clock, Settings: settings.Reader{Client: kube, Namespace: "altershieldoperator-system"}}
}

func TestReconcileLabelsAPodOnceItIsAvailable(t *testing.T) {
	g, kube := NewWithT(t), apiServer.Client(t)
	clock := clocktesting.NewFakePassiveClock(testkit.Now().Add(20 * time.Second))
	found := sleep(t, kube, testkit.Namespace(t, kube, true))
	reconciler := newReconciler(testkit.Cached(t, kube), clock)
	g.Expect(reconciler.Reconcile(t.Context(), found)).To(Equal(ctrl.Result{RequeueAfter: 40 * time.Second}))
	g.Expect(labelOf(t, kube, found)).To(BeEmpty())

	clock.SetTime(testkit.Now().Add(60 * time.Second))
	g.Expect(reconciler.Reconcile(t.Context(), found)).To(Equal(ctrl.Result{}))
	g.Expect(labelOf(t, kube, found)).To(Equal("1795255260"))

	clock.SetTime(testkit.Now().Add(time.Hour))
	g.Expect(reconciler.Reconcile(t.Context(), found)).To(Equal(ctrl.Result{}))
	g.Expect(labelOf(t, kube, found)).To(Equal("1795255260"), "it stays")
}

func TestReconcileLeavesPodsOfOthersAlone(t *testing.T) {
	for name, other := range map[string]func(*testing.T, client.Client) *corev1.Pod{
		"of a namespace that is not under control": func(t *testing.T, kube client.Client) *corev1.Pod {
			return sleep(t, kube, testkit.Namespace(t, kube, false))
		},
		"of no Deployment": func(t *testing.T, kube client.Client) *corev1.Pod {
			return ready(t, kube, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: testkit.Namespace(t, kube, true), Name: "by-hand",
					Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": testkit.Version}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "sleep", Image: "busybox"}}},
			})
		},
		"whose ReplicaSet is gone": func(t *testing.T, kube client.Client) *corev1.Pod {
			found := sleep(t, kube, testkit.Namespace(t, kube, true))
			replicaSet := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: found.Namespace, Name: "sleep-1"}}
			NewWithT(t).Expect(kube.Delete(t.Context(), replicaSet)).To(Succeed())
			return found
		},
	} {
		t.Run(name, func(t *testing.T) {
			g, kube := NewWithT(t), apiServer.Client(t)
			found := other(t, kube)
			reconciler := newReconciler(testkit.Cached(t, kube), clocktesting.NewFakePassiveClock(testkit.Now().Add(time.Hour)))
			g.Expect(reconciler.Reconcile(t.Context(), found)).To(Equal(ctrl.Result{}))
			g.Expect(labelOf(t, kube, found)).To(BeEmpty())
		})
	}
}

func TestReconcileForgetsAPodThatIsGone(t *testing.T) {
	g, kube := NewWithT(t), apiServer.Client(t)
	found := sleep(t, kube, testkit.Namespace(t, kube, true))
	g.Expect(kube.Delete(t.Context(), found.DeepCopy(), client.GracePeriodSeconds(0))).To(Succeed())
	reconciler := newReconciler(testkit.Cached(t, kube), clocktesting.NewFakePassiveClock(testkit.Now().Add(time.Hour)))
	g.Expect(reconciler.Reconcile(t.Context(), found)).To(Equal(ctrl.Result{}))
}

func TestReconcileSaysWhichPodItCouldNotLabel(t *testing.T) {
	g, kube := NewWithT(t), apiServer.Client(t)
	found := sleep(t, kube, testkit.Namespace(t, kube, true))
	refusing := interceptor.NewClient(testkit.Cached(t, kube), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewForbidden(corev1.Resource("pods"), found.Name, errors.New("denied by policy"))
		},
	})
	reconciler := newReconciler(refusing, clocktesting.NewFakePassiveClock(testkit.Now().Add(time.Hour)))
	_, err := reconciler.Reconcile(t.Context(), found)
	g.Expect(err).To(MatchError(ContainSubstring("labelling pod " + found.Namespace + "/sleep-1-a as finished: ")))
}

func labelOf(t *testing.T, kube client.Client, pod *corev1.Pod) string {
	t.Helper()
	var stored corev1.Pod
	NewWithT(t).Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(pod), &stored)).To(Succeed())
	return stored.Labels["altershield.defense.antgroup.com/operate-finished"]
}
