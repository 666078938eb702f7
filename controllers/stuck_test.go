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
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A release that can't start", func() {
	BeforeEach(patient)

	DescribeTable("goes back to the version before", func(ctx context.Context, patch, trouble, why string) {
		namespace := controlledNamespace(ctx)
		bad := goesBad(ctx, namespace, patch)
		Expect(bad).NotTo(Equal(firstVersion))

		Eventually(troubles(ctx, namespace, bad)).Should(ContainElement(trouble))
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).ShouldNot(Equal(bad)) })
		record := rollbacksOf(ctx, namespace)
		backAtFirst(ctx, namespace)
		Expect(record).To(HaveLen(1))
		Expect(record[0].Version).To(Equal(bad))
		Expect(record[0].Release).To(BeEquivalentTo(2))
		Expect(record[0].To).To(Equal(firstVersion))
		Expect(record[0].ToRelease).To(BeEquivalentTo(3))
		Expect(record[0].Reason).To(BeEquivalentTo("PodsNotRunning"))
		Expect(record[0].Message).To(ContainSubstring(why))
		Eventually(notes(ctx, namespace, "ReleaseRolledBack")).Should(ConsistOf(
			And(HavePrefix("release 2, version "+bad+", goes back to version "+firstVersion+": pod sleep-"), ContainSubstring(why))))
		Expect(workload(ctx, namespace, first).Spec.Rollback).To(HaveField("Version", bad))

		output, err := patchSleep(ctx, namespace, patch)
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("Error from server (deployment sleep refuses this version)"))
		Expect(output).To(ContainSubstring(why))
	},
		Entry("when its image can't be pulled", missingImage, "ErrImagePull", "container sleep: "),
		Entry("when no node suits its pods", `{"spec":{"template":{"spec":{"nodeSelector":{"disk":"none"}}}}}`, "Unschedulable", "Unschedulable: 0/4 nodes are available"),
		Entry("when its containers can't be created", `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"config-error"}}}}}`,
			"CreateContainerConfigError", `container sleep: CreateContainerConfigError: secret "absent" not found`),
		Entry("when its containers crash at once", `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"crash-at-once"}}}}}`,
			"CrashLoopBackOff", "container sleep ended with exit code 1"),
		Entry("when its containers crash after a second", slow, `{"spec":{"minReadySeconds":4,"template":{"metadata":{"labels":{"local.altershield.io/start":"crash"}}}}}`,
			"CrashLoopBackOff", "container sleep ended with exit code 1"),
		Entry("when an init container fails", `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"init"}},`+
			`"spec":{"initContainers":[{"name":"migrate","image":"busybox"}]}}}}`, "CrashLoopBackOff", "init container migrate ended with exit code 1"),
	)

	It("goes back when its containers end with status 0 repeatedly, after the time in the Deployment's annotation", slow, func(ctx context.Context) {
		configure(ctx, "stuck-rollback", `{"spec":{"enable":true,"content":"1h"}}`)
		namespace := controlledNamespace(ctx)
		By("ending after a second, each time, and being at the end for nearly all of a back-off of 20 seconds")
		bad := goesBad(ctx, namespace, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/stuck-after":"25s"}},
			"spec":{"minReadySeconds":4,"template":{"metadata":{"labels":{"local.altershield.io/start":"end"}}}}}`)
		Eventually(troubles(ctx, namespace, bad)).Should(ContainElement("Completed"))
		Eventually(released(ctx, namespace)).Should(Equal(firstVersion))
		backAtFirst(ctx, namespace)
		record := rollbacksOf(ctx, namespace)
		Expect(record).To(HaveLen(1))
		Expect(record[0].Version).To(Equal(bad))
		Expect(record[0].Message).To(ContainSubstring("container sleep ended with exit code 0, 1 restarts"))
	})

	It("stays if the Deployment's annotation turns rollbacks off", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		bad := goesBad(ctx, namespace, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/stuck-after":"0"}},
			"spec":{"template":{"spec":{"containers":[{"name":"sleep","image":"busybox:missing"}]}}}}`)
		Eventually(troubles(ctx, namespace, bad)).Should(ContainElement("ErrImagePull"))
		losePatience(ctx, func() {
			Consistently(released(ctx, namespace)).WithTimeout(3 * time.Second).Should(Equal(bad))
			By("giving the annotation a value that can't be used: the setting holds")
			output, err := kubectl(ctx, "-n", namespace, "annotate", "deployment", "sleep", "--overwrite", "altershield.defense.antgroup.com/stuck-after=soon")
			Expect(err).NotTo(HaveOccurred(), output)
			Eventually(released(ctx, namespace)).Should(Equal(firstVersion))
		})
		Eventually(notes(ctx, namespace, "StuckAfterUnusable")).Should(ConsistOf(ContainSubstring(`not "soon"; the setting stuck-rollback applies: 1s`)))
		backAtFirst(ctx, namespace)
	})

	It("goes back once its ReleasePolicy has it so", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		policy := fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "ReleasePolicy",
			"metadata": {"namespace": %q, "name": "patient"}, "spec": {"stuckAfter": "0s"}}`, namespace)
		output, err := kubectlWith(ctx, policy, "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		bad := goesBad(ctx, namespace, missingImage)
		Eventually(troubles(ctx, namespace, bad)).Should(ContainElement("ErrImagePull"))
		Consistently(released(ctx, namespace)).WithTimeout(3 * time.Second).Should(Equal(bad))
		output, err = kubectl(ctx, "-n", namespace, "patch", "releasepolicy", "patient", "--type", "merge", "-p", `{"spec":{"stuckAfter":"1s"}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(released(ctx, namespace)).Should(Equal(firstVersion))
		backAtFirst(ctx, namespace)
	})

	It("stays while the autoscaler adds a node for its pods", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		bad := goesBad(ctx, namespace, `{"spec":{"template":{"spec":{"nodeSelector":{"disk":"none"}}}}}`)
		Eventually(troubles(ctx, namespace, bad)).Should(ContainElement("Unschedulable"))
		Eventually(readyPods(ctx, namespace)).Should(ContainElement("not ready: " + bad + " x3"))
		for _, pod := range podsAt(ctx, namespace, bad) {
			Expect(kube.Create(ctx, scaleUp(&pod))).To(Succeed())
		}
		losePatience(ctx, func() {
			Consistently(released(ctx, namespace)).WithTimeout(3 * time.Second).Should(Equal(bad))
		})
		Expect(notes(ctx, namespace, "ReleaseNotRolledBack")()).To(BeEmpty())
	})

	It("goes back to a version from before the namespace was under change control", func(ctx context.Context) {
		namespace := newNamespace(ctx, nil)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		Eventually(readyPods(ctx, namespace)).Should(Equal([]string{" x5"}))
		optIn(ctx, namespace)
		Eventually(stamps(ctx, namespace)).Should(Equal("stamped")) // the API server learns of the label a moment later
		output, err := patchSleep(ctx, namespace, missingImage)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(troubles(ctx, namespace, released(ctx, namespace)())).Should(ContainElement("ErrImagePull"))
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		backAtFirst(ctx, namespace)
	})

	It("goes back when its pods can't be created", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := patchSleep(ctx, namespace, `{"spec":{"template":{"spec":{"serviceAccountName":"absent"}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		Eventually(notes(ctx, namespace, "ReleaseRolledBack")).Should(ConsistOf(ContainSubstring("pods can't be created: pods \"sleep-")))
		backAtFirst(ctx, namespace)
	})

	It("goes back while it is suspended and held", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		By("releasing pods that don't fit together on four nodes")
		output, err := patchSleep(ctx, namespace, `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":2,"maxUnavailable":0}},"template":{"metadata":{"labels":{"test":"bad"}},
			"spec":{"affinity":{"podAntiAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"kubernetes.io/hostname","labelSelector":{"matchLabels":{"test":"bad"}}}]}}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		second := currentName(ctx, namespace, "sleep")
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(second + "--x--4"))
		fail(ctx, namespace, second+"--x--3")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(get(ctx, namespace, "sleep").Spec.Paused).To(BeTrue())

		Eventually(troubles(ctx, namespace, second[len("sleep--x--"):])).Should(ContainElement("Unschedulable"))
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		backAtFirst(ctx, namespace)
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(rollbacksOf(ctx, namespace)[0].Message).To(ContainSubstring("Unschedulable"))
	})

	It("goes back to a suspended version where there is no other: it runs at least", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		output, err := patchSleep(ctx, namespace, `{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(troubles(ctx, namespace, released(ctx, namespace)())).Should(ContainElement("ErrImagePull"))
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		Eventually(readyPods(ctx, namespace)).Should(Equal([]string{firstVersion + " x5"}))
	})

	It("stays where a user has paused it, and goes back once they resume it", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		bad := goesBad(ctx, namespace, missingImage)
		Eventually(readyPods(ctx, namespace)).Should(ContainElement("not ready: " + bad + " x3"))
		output, err := kubectl(ctx, "-n", namespace, "rollout", "pause", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		losePatience(ctx, func() {
			Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ConsistOf(ContainSubstring("deployment sleep is paused by a user")))
		})
		Expect(released(ctx, namespace)()).To(Equal(bad))
		output, err = kubectl(ctx, "-n", namespace, "rollout", "resume", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		backAtFirst(ctx, namespace)
	})

	DescribeTable("stays", func(ctx context.Context, change func(*appsv1.Deployment), why string) {
		namespace := controlledNamespace(ctx)
		bad := goesBad(ctx, namespace, missingImage, change)
		losePatience(ctx, func() {
			Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ConsistOf(ContainSubstring(why)))
		})
		Expect(released(ctx, namespace)()).To(Equal(bad))
	},
		Entry("with the strategy Recreate", func(deployment *appsv1.Deployment) {
			deployment.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
		},
			"the strategy of deployment sleep is Recreate"),
		Entry("when no older ReplicaSet has pods left", func(deployment *appsv1.Deployment) {
			replicas(1)(deployment)
			deployment.Spec.Strategy = appsv1.DeploymentStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateDeployment{MaxUnavailable: ptr.To(intstr.FromInt32(1)), MaxSurge: ptr.To(intstr.FromInt32(0))}}
		}, "no older ReplicaSet of deployment sleep still runs all its pods"),
	)

	It("is rolled back once: a user who forces it again decides", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		bad := goesBad(ctx, namespace, missingImage)
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		backAtFirst(ctx, namespace)
		output, err := patchSleep(ctx, namespace, `{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"spec":{"containers":[{"name":"sleep","image":"busybox:missing"}]}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("deployment sleep: version " + bad + " was rolled back before and is released again"))
		Expect(released(ctx, namespace)()).To(Equal(bad))
		losePatience(ctx, func() {
			// On a slow machine even the pods of the rollback exceed such a short limit.
			Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ContainElement(ContainSubstring("was rolled back before")))
		})
		Expect(released(ctx, namespace)()).To(Equal(bad))
	})

	It("is not to blame for pods that ran and crash later", slow, func(ctx context.Context) {
		configure(ctx, "stuck-rollback", `{"spec":{"enable":true,"content":"20s"}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(3)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := patchSleep(ctx, namespace, `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0}},"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"45s"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		second := currentName(ctx, namespace, "sleep")
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(second+"--x--1"), "the first pod ran for longer than twice the threshold")
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{"altershield.defense.antgroup.com/operate-finished"},
			client.MatchingLabels{versionLabel: released(ctx, namespace)()})).To(Succeed())
		output, err = kubectl(ctx, "-n", namespace, "label", "pod", pods.Items[0].Name, "local.altershield.io/crash=now")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(readyPods(ctx, namespace)).Should(ContainElement(HavePrefix("not ready: ")))
		Consistently(released(ctx, namespace)).WithTimeout(12 * time.Second).Should(Equal(second[len("sleep--x--"):]))
		Expect(notes(ctx, namespace, "ReleaseRolledBack")()).To(BeEmpty())
		Expect(notes(ctx, namespace, "ReleaseNotRolledBack")()).To(BeEmpty())
	})

	It("stays while that is switched off", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		configure(ctx, "stuck-rollback", `{"spec":{"enable":false,"content":"1s"}}`)
		bad := goesBad(ctx, namespace, missingImage)
		Eventually(troubles(ctx, namespace, bad)).Should(ContainElement("ErrImagePull"))
		Consistently(released(ctx, namespace)).WithTimeout(3 * time.Second).Should(Equal(bad))
		By("switching it on: what is late by then goes back at once")
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		backAtFirst(ctx, namespace)
	})
})
