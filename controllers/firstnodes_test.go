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

package controllers_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

var _ = Describe("A DaemonSet on 20 nodes, 3 of them first", func() {
	const held = "altershield.defense.antgroup.com/held"

	var namespace string
	agent := func(ctx context.Context) *appsv1.DaemonSet {
		GinkgoHelper()
		var set appsv1.DaemonSet
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "agent"}, &set)).To(Succeed())
		return &set
	}
	record := func(ctx context.Context) *appv1alpha1.ChangeWorkload {
		var object appv1alpha1.ChangeWorkload
		name := "daemonsets.agent--x--" + agent(ctx).Labels["admission-webhook-altershield.antgroup.com/version"]
		if kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object) != nil {
			return &appv1alpha1.ChangeWorkload{}
		}
		return &object
	}
	verified := func(ctx context.Context, release int) {
		GinkgoHelper()
		Eventually(func() string {
			seen := record(ctx)
			return fmt.Sprintf("%d %s %s", seen.Status.ObservedRelease, seen.Status.Status, reason(seen.Status.Conditions, "Verified"))
		}).Should(Equal(fmt.Sprintf("%d Success AllPodsPassed", release)))
	}
	patch := func(ctx context.Context, value, metadata string) {
		GinkgoHelper()
		output, err := kubectl(ctx, "-n", namespace, "patch", "daemonset", "agent", "--type=merge", "-p",
			fmt.Sprintf(`{"metadata":{%s},"spec":{"template":{"metadata":{"labels":{"test":%q}}}}}`, metadata, value))
		Expect(err).NotTo(HaveOccurred(), output)
	}
	// reported returns the reasons of the Events about the DaemonSet.
	reported := func(ctx context.Context) func() []string {
		return func() (reasons []string) {
			var list eventsv1.EventList
			Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
			for i := range list.Items {
				if list.Items[i].Regarding.Kind == "DaemonSet" {
					reasons = append(reasons, list.Items[i].Reason)
				}
			}
			return reasons
		}
	}
	// zones counts the pods with a value of the label test by the zone of their node.
	zones := func(ctx context.Context, value string) map[string]int {
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"test": value})).To(Succeed())
		found := map[string]int{}
		for i := range pods.Items {
			if pods.Items[i].Spec.NodeName == "" {
				continue // it is scheduled in a moment
			}
			var node corev1.Node
			Expect(kube.Get(ctx, client.ObjectKey{Name: pods.Items[i].Spec.NodeName}, &node)).To(Succeed())
			found[node.Labels["zone"]]++
		}
		return found
	}
	// taint gives the node first-14 the taint of all, and others.
	taint := func(ctx context.Context, others ...corev1.Taint) {
		GinkgoHelper()
		var node corev1.Node
		Expect(kube.Get(ctx, client.ObjectKey{Name: "first-14"}, &node)).To(Succeed())
		whole := client.MergeFrom(node.DeepCopy())
		node.Spec.Taints = append([]corev1.Taint{{Key: "agents", Effect: corev1.TaintEffectNoSchedule}}, others...)
		Expect(kube.Patch(ctx, &node, whole)).To(Succeed())
	}

	BeforeEach(func(ctx context.Context) {
		permitDeletions(ctx)
		for _, asked := range [][]string{{"list", "nodes"}, {"delete", "pods"}} {
			Eventually(func() error {
				_, err := kubectl(ctx, append([]string{"auth", "can-i", "--all-namespaces", "--as", operator.User}, asked...)...)
				return err
			}).Should(Succeed())
		}
		capacity := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100"), corev1.ResourcePods: resource.MustParse("100")}
		for i := range 20 {
			zone := "b"
			if i%7 == 0 {
				zone = "a"
			}
			node := &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("first-%d", i), Labels: map[string]string{"agents": "true", "zone": zone, corev1.LabelArchStable: "amd64"}},
				Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "agents", Effect: corev1.TaintEffectNoSchedule}}},
				Status:     corev1.NodeStatus{Capacity: capacity, Allocatable: capacity},
			}
			Expect(kube.Create(ctx, node)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, node)).To(Succeed()) })
		}
		enforced(ctx, "daemonsets.apps")
		namespace = controlledNamespace(ctx)
		labels := map[string]string{"app": "agent"}
		set := &appsv1.DaemonSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "agent", Annotations: map[string]string{"altershield.defense.antgroup.com/first-nodes": "zone=a"}},
			Spec: appsv1.DaemonSetSpec{
				Selector: &metav1.LabelSelector{MatchLabels: labels},
				Template: corev1.PodTemplateSpec{
					ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent", "test": "123"}},
					Spec: corev1.PodSpec{
						NodeSelector: map[string]string{"agents": "true"}, Tolerations: []corev1.Toleration{{Key: "agents", Operator: "Exists"}},
						Containers: []corev1.Container{{Name: "agent", Image: "busybox"}},
					},
				},
			},
		}
		Expect(kube.Create(ctx, set)).To(Succeed())
		verified(ctx, 1)
		Eventually(func() map[string]int { return zones(ctx, "123") }).Should(Equal(map[string]int{"a": 3, "b": 17}), "its controller learns of nodes one by one")
	})

	It("gets a release there first, and everywhere once the pods there have passed", func(ctx context.Context) {
		patch(ctx, "good", "")
		Expect(agent(ctx).Annotations).To(HaveKeyWithValue(held, "2-first-nodes"))
		Expect(agent(ctx).Spec.UpdateStrategy.Type).To(BeEquivalentTo("OnDelete"))
		Eventually(func(g Gomega) {
			first := reason(record(ctx).Status.Conditions, "FirstNodes")
			g.Expect(zones(ctx, "good")["b"] == 0 || first == "AllPodsPassed").To(BeTrue())
			g.Expect(first).To(Equal("AllPodsPassed"))
		}).Should(Succeed())
		verified(ctx, 2)
		Expect(zones(ctx, "good")).To(Equal(map[string]int{"a": 3, "b": 17}))
		Expect(record(ctx).Status.FirstNodes.Nodes).To(Equal([]string{"first-0", "first-14", "first-7"}))
		Expect(record(ctx).Status.FirstNodes.Passed).To(BeEquivalentTo(3))
		Expect(agent(ctx).Annotations).NotTo(HaveKey(held))
		Expect(agent(ctx).Spec.UpdateStrategy.Type).To(BeEquivalentTo("RollingUpdate"))
		Eventually(reported(ctx)).Should(ContainElements("PodDeleted", "FirstNodesPassed"))
	})

	It("keeps the version before elsewhere when a pod there fails, until a repair", slow, func(ctx context.Context) {
		By("keeping a pod there from coming, so that the release can't pass before its verdict")
		taint(ctx, corev1.Taint{Key: "away", Effect: corev1.TaintEffectNoSchedule})
		patch(ctx, "bad", "")
		batch := "daemonsets.agent--x--" + agent(ctx).Labels["admission-webhook-altershield.antgroup.com/version"] + "--x--1"
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(batch))
		fail(ctx, namespace, batch)
		Eventually(func() string { return reason(record(ctx).Status.Conditions, "FirstNodes") }).Should(Equal("PodsFailed"))
		Eventually(func() map[string]string { return agent(ctx).Labels }).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Eventually(func() map[string]string { return agent(ctx).Annotations }).Should(HaveKeyWithValue(held, "2"))
		Consistently(func(g Gomega) {
			g.Expect(agent(ctx).Spec.UpdateStrategy.Type).To(BeEquivalentTo("OnDelete"))
			g.Expect(zones(ctx, "bad")["b"]).To(BeZero())
			g.Expect(zones(ctx, "123")["b"]).To(Equal(17))
		}).WithTimeout(3 * time.Second).Should(Succeed())

		taint(ctx)
		Eventually(func() map[string]int { return zones(ctx, "bad") }).Should(Equal(map[string]int{"a": 3}))
		patch(ctx, "repaired", `"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}`)
		Expect(agent(ctx).Annotations).To(HaveKeyWithValue(held, "3-first-nodes"))
		verified(ctx, 3)
		Expect(zones(ctx, "repaired")).To(Equal(map[string]int{"a": 3, "b": 17}))
		Expect(agent(ctx).Labels).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
	})
})
