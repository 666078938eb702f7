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
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Evicted pods", func() {
	It("don't count for their release, whose every pod is evicted once it passed", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, startedByHand))).To(Succeed())
		for number := 1; number <= 5; number++ {
			evict(ctx, namespace, startOne(ctx, namespace, number))
		}
		Consistently(releases(ctx, namespace)).Should(Equal(map[string]string{currentName(ctx, namespace, "sleep"): "Running"}))
		Expect(eventReasons(ctx, namespace)).NotTo(ContainElement("ReleaseSucceeded"))

		By("verifying it once their successors passed")
		for number := 6; number <= 10; number++ {
			startOne(ctx, namespace, number)
		}
		release := verified(ctx, namespace, "sleep")
		Expect(release.Status.Counts.Passed).To(BeEquivalentTo(5))
		for _, pod := range release.Status.DefenseCheckPassPods {
			Expect(phaseOf(ctx, namespace, pod.Pod)).To(Equal(corev1.PodRunning))
		}
	})

	It("leave their Deployment suspended if they failed their check", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		evict(ctx, namespace, workload(ctx, namespace, first).Status.DefenseCheckFailPods[0].Pod)
		Eventually(func() int { return len(podsInPhase(ctx, namespace, corev1.PodRunning)) }).Should(Equal(5), "its successor is there")
		Consistently(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend"}))
		Expect(labelsOf(ctx, namespace)()).To(HaveKey("altershield.defense.antgroup.com/suspend"))
	})
})

// startedByHand creates a Deployment whose pods don't start before startOne.
func startedByHand(d *appsv1.Deployment) {
	d.Spec.Template.Labels["local.altershield.io/start"] = "never"
}

// startOne starts a pod of the Deployment sleep, waits until its batch, which has the given number, is done, and returns its name.
func startOne(ctx context.Context, namespace string, number int) string {
	GinkgoHelper()
	var waiting []string
	Eventually(func() []string {
		waiting = podsInPhase(ctx, namespace, corev1.PodPending)
		return waiting
	}).ShouldNot(BeEmpty())
	output, err := kubectl(ctx, "-n", namespace, "label", "pod", waiting[0], "local.altershield.io/start-")
	Expect(err).NotTo(HaveOccurred(), output)
	batch := fmt.Sprintf("%s--x--%d", currentName(ctx, namespace, "sleep"), number)
	Eventually(func() []string { return endsOf(ctx, namespace) }).Should(ContainElement(batch + " ExecuteDone/PreFailed"))
	return waiting[0]
}

// evict evicts a pod as the kubelet does.
func evict(ctx context.Context, namespace, pod string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", namespace, "patch", "pod", pod, "--subresource=status", "--type", "merge", "-p",
		`{"status":{"phase":"Failed","reason":"Evicted","message":"The node was low on resource: ephemeral-storage."}}`)
	Expect(err).NotTo(HaveOccurred(), output)
}

// podsInPhase returns the names of the pods of a namespace that are in a phase.
func podsInPhase(ctx context.Context, namespace string, phase corev1.PodPhase) []string {
	var list corev1.PodList
	if err := kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	var names []string
	for _, pod := range list.Items {
		if pod.Status.Phase == phase {
			names = append(names, pod.Name)
		}
	}
	slices.Sort(names)
	return names
}

func phaseOf(ctx context.Context, namespace, name string) corev1.PodPhase {
	GinkgoHelper()
	var pod corev1.Pod
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &pod)).To(Succeed())
	return pod.Status.Phase
}
