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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The webhooks have failurePolicy Fail. Their match conditions limit the calls to releases and to changes of the operator's keys.
var _ = Describe("While the operator is down", Ordered, ContinueOnFailure, func() {
	// namespace has three Deployments: sleep is suspended, free isn't, and the release of rolling is under way. later is opted in
	// while the operator is down.
	var namespace, later string

	BeforeAll(func(ctx context.Context) {
		namespace, later = controlledNamespace(ctx), newNamespace(ctx, nil)
		suspended(ctx, namespace)
		for _, name := range []string{"free", "rolling"} {
			Expect(kube.Create(ctx, sleep(namespace, alone(name), replicas(2)))).To(Succeed())
			verified(ctx, namespace, name)
		}
		set(ctx, namespace, "rolling", `{"spec":{"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"3s"}}}}}`)
		Expect(manager.Stop(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(manager.Start(ctx)).To(Succeed()) })
	})

	DescribeTable("is refused with a reason:", func(ctx context.Context, args ...string) {
		output, err := kubectl(ctx, append([]string{"-n", namespace}, args...)...)
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring(`Internal error occurred: failed calling webhook "mdeployment.kb.io": failed to call webhook: `))
	},
		Entry("a new Deployment", "create", "deployment", "new", "--image=busybox"),
		Entry("another image", "set", "image", "deployment", "free", "sleep=busybox:1.37"),
		Entry("a restart", "rollout", "restart", "deployment", "free"),
		Entry("a release of a suspended Deployment", "rollout", "restart", "deployment", "sleep"),
		Entry("a request for a rollback", "annotate", "deployment", "free", rollbackKey+"=true"),
		Entry("the end of a suspension by hand", "label", "deployment", "sleep", suspendLabel+"-"),
		Entry("the label for a repair", "label", "deployment", "sleep", ignoredSuspend+"=true"),
		Entry("another release number", "annotate", "--overwrite", "deployment", "free", releaseKey+"=9"),
	)

	DescribeTable("goes on in the namespace:", func(ctx context.Context, args ...string) {
		output, err := kubectl(ctx, append([]string{"-n", namespace}, args...)...)
		Expect(err).NotTo(HaveOccurred(), output)
	},
		Entry("scaling by the subresource, as autoscalers do", "scale", "deployment", "free", "--replicas=4"),
		Entry("what the deployment controller does about it", "wait", "--for=jsonpath={.status.readyReplicas}=4", "deployment/free", "--timeout=3m"),
		Entry("scaling by the spec", "patch", "deployment", "free", "--type=merge", "-p", `{"spec":{"replicas":3}}`),
		Entry("the status that follows", "wait", "--for=jsonpath={.status.replicas}=3", "deployment/free", "--timeout=3m"),
		Entry("scaling what is suspended", "scale", "deployment", "sleep", "--replicas=6"),
		Entry("a rollout that is under way", "rollout", "status", "deployment", "rolling", "--timeout=3m"),
		Entry("a pause", "rollout", "pause", "deployment", "free"),
		Entry("the end of a pause", "rollout", "resume", "deployment", "free"),
		Entry("other labels", "label", "deployment", "free", "tier=web"),
		Entry("other annotations", "annotate", "deployment", "free", "team=shop"),
		Entry("the deletion of pods", "delete", "pods", "-l", "app=free", "--timeout=3m"),
		Entry("pods in their place", "wait", "--for=jsonpath={.status.readyReplicas}=3", "deployment/free", "--timeout=3m"),
		Entry("a pod without a Deployment", "run", "by-hand", "--image=busybox"),
		Entry("the deletion of a Deployment", "delete", "deployment", "free", "--cascade=foreground", "--timeout=3m"),
	)

	It("goes on elsewhere: namespaces are opted in and deleted", func(ctx context.Context) {
		optIn(ctx, later)
		doomed := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleepPod(doomed))).To(Succeed())
		Expect(kube.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: doomed}})).To(Succeed())
		Eventually(func() error {
			return kube.Get(ctx, client.ObjectKey{Name: doomed}, &corev1.Namespace{})
		}).Should(MatchError(apierrors.IsNotFound, "is gone"))
	})

	It("goes on in namespaces that aren't opted in, or are exempt: releases, the operator's own among them", func(ctx context.Context) {
		for _, namespace := range []string{newNamespace(ctx, nil), "kube-system", "altershieldoperator-system"} {
			if namespace == "kube-system" || namespace == "altershieldoperator-system" {
				optIn(ctx, namespace)
			}
			deployment := sleep(namespace, alone("altershieldoperator-controller-manager"))
			Expect(kube.Create(ctx, deployment)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, deployment)).To(Succeed()) })
			output, err := kubectl(ctx, "-n", namespace, "set", "image", "deployment", deployment.Name, "sleep=busybox:1.37")
			Expect(err).NotTo(HaveOccurred(), output)
			output, err = kubectl(ctx, "-n", namespace, "rollout", "status", "deployment", deployment.Name, "--timeout=3m")
			Expect(err).NotTo(HaveOccurred(), output)
		}
	})

	It("nothing gets lost: everything goes on by itself once it is back", func(ctx context.Context) {
		Expect(manager.Start(ctx)).To(Succeed())
		verified(ctx, namespace, "rolling")
		output, err := release(ctx, namespace, "1234")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring(denial), "it is suspended as before")
		Expect(kube.Create(ctx, sleep(later))).To(Succeed())
		verified(ctx, later, "sleep")
		Expect(get(ctx, later, "sleep").Labels).To(HaveKeyWithValue(versionLabel, firstVersion))
		repairSleep(ctx, namespace, 6)
		Expect(verified(ctx, namespace, "sleep").Name).To(Equal(second))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey(suspendLabel))
	})
})
