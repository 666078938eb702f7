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

package podgate_test

import (
	"context"
	"errors"
	"os"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podgate"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

func TestOpen(t *testing.T) {
	const gate = "altershield.defense.antgroup.com/verified"
	kube := apiServer.Client(t)
	namespace := testkit.Namespace(t, kube, true)
	create := func(g *WithT, name string, spec corev1.PodSpec) *corev1.Pod {
		spec.Containers = []corev1.Container{{Name: "sleep", Image: "busybox"}}
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: spec}
		g.Expect(kube.Create(t.Context(), pod)).To(Succeed())
		return pod
	}
	gated := corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: gate}}}
	open := func(g *WithT, pod *corev1.Pod) {
		g.Expect(podgate.Open(t.Context(), kube, pod, "release 4, step 1/3", testkit.Now())).To(Succeed())
	}
	read := func(g *WithT, pod *corev1.Pod) *corev1.Pod {
		var found corev1.Pod
		g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(pod), &found)).To(Succeed())
		return &found
	}

	t.Run("a pod starts", func(t *testing.T) {
		g := NewWithT(t)
		pod := create(g, "started", gated)
		open(g, pod)
		g.Expect(podgate.Open(t.Context(), kube, pod, "again", testkit.Now())).NotTo(Succeed(), "it has changed since it was read")
		found := read(g, pod)
		g.Expect(found.Spec.SchedulingGates).To(Equal([]corev1.PodSchedulingGate{{Name: "example.com/quota"}}), "others' gates stay")
		g.Expect(found.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/gate-opened", "1795255200"))
		open(g, found)
		g.Expect(read(g, pod).ResourceVersion).To(Equal(found.ResourceVersion), "nothing is written for an open gate")
	})
	t.Run("another pod of its name doesn't", func(t *testing.T) {
		g := NewWithT(t)
		pod := create(g, "replaced", gated)
		g.Expect(kube.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
		other := create(g, "replaced", gated)
		g.Expect(podgate.Open(t.Context(), kube, pod, "release 4, step 1/3", testkit.Now())).NotTo(Succeed(), "the other one waits, and is to be read")
		g.Expect(decide.Gated(read(g, other))).To(Equal(decide.GateUnstarted))
		g.Expect(kube.Delete(t.Context(), other, client.GracePeriodSeconds(0))).To(Succeed())
		open(g, other) // it is gone
	})
	t.Run("a pod is returned", func(t *testing.T) {
		g := NewWithT(t)
		pod := create(g, "returned", gated)
		g.Expect(podgate.Return(t.Context(), kube, pod, "release 4, step 1/3")).To(Succeed())
		found := read(g, pod)
		g.Expect(found.Status.Phase).To(Equal(corev1.PodFailed))
		g.Expect(found.Status.Reason + ": " + found.Status.Message).To(Equal("BeyondStep: it has not started: release 4, step 1/3 has no further pods now"))
		g.Expect(kube.Delete(t.Context(), pod, client.GracePeriodSeconds(0))).To(Succeed())
		other := create(g, "returned", gated)
		g.Expect(podgate.Return(t.Context(), kube, pod, "release 4, step 1/3")).NotTo(Succeed())
		g.Expect(read(g, other).Status.Phase).NotTo(Equal(corev1.PodFailed), "it has another UID")
		g.Expect(kube.Delete(t.Context(), other, client.GracePeriodSeconds(0))).To(Succeed())
		g.Expect(podgate.Return(t.Context(), kube, other, "release 4, step 1/3")).To(Succeed(), "it is gone")
	})
	t.Run("a pod that has started meanwhile isn't returned", func(t *testing.T) {
		g := NewWithT(t)
		pod := create(g, "opened", gated)
		open(g, pod)
		g.Expect(podgate.Return(t.Context(), kube, pod, "release 4, step 1/3")).To(MatchError(apierrors.IsConflict, "IsConflict"))
		g.Expect(read(g, pod).Status.Phase).NotTo(Equal(corev1.PodFailed))
	})
	t.Run("a denial is an error", func(t *testing.T) {
		g := NewWithT(t)
		pod := create(g, "denied", gated)
		for says, denial := range map[string]error{
			"a policy denies it": apierrors.NewForbidden(corev1.Resource("pods"), "denied", errors.New("a policy denies it")),
			"no such team":       &apierrors.StatusError{ErrStatus: metav1.Status{Code: 404, Message: `admission webhook "gates.example.com" denied the request: no such team`}},
		} {
			denied := interceptor.NewClient(kube, interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return denial
				},
			})
			g.Expect(podgate.Open(t.Context(), denied, pod, "release 4, step 1/3", testkit.Now())).To(MatchError(SatisfyAll(
				HavePrefix("opening the gate of pod "+namespace+"/denied: "), HaveSuffix(says))))
		}
	})
	t.Run("a conflict is an error, as the gate is still closed", func(t *testing.T) {
		g := NewWithT(t)
		pod := create(g, "changing", corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}}})
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
		changing := interceptor.NewClient(kube, interceptor.Funcs{
			SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
				return apierrors.NewConflict(corev1.Resource("pods"), pod.Name, errors.New("the object has been modified"))
			},
		})
		g.Expect(podgate.Open(t.Context(), changing, pod, "release 4, step 1/3", testkit.Now())).To(MatchError(apierrors.IsConflict, "IsConflict"))
	})
	t.Run("a pod gets traffic", func(t *testing.T) {
		g := NewWithT(t)
		pod := create(g, "served", corev1.PodSpec{ReadinessGates: []corev1.PodReadinessGate{{ConditionType: gate}}})
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}}
		g.Expect(kube.Status().Update(t.Context(), pod)).To(Succeed())
		open(g, pod)
		found := read(g, pod)
		g.Expect(decide.Gated(found)).To(Equal(decide.GateOpen))
		g.Expect(found.Status.Conditions).To(ConsistOf(
			HaveField("Type", corev1.ContainersReady),
			And(HaveField("Type", BeEquivalentTo(gate)), HaveField("Message", "release 4, step 1/3"))))
	})
}
