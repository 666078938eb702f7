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
	"encoding/json"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// manifest returns the sample as in Git.
func manifest(namespace string, change func(*appsv1.Deployment)) string {
	GinkgoHelper()
	deployment := sleep(namespace, change)
	deployment.APIVersion, deployment.Kind = "apps/v1", "Deployment"
	text, err := json.Marshal(deployment)
	Expect(err).NotTo(HaveOccurred())
	return string(text)
}

func image(name string) func(*appsv1.Deployment) {
	return func(deployment *appsv1.Deployment) { deployment.Spec.Template.Spec.Containers[0].Image = name }
}

var _ = Describe("A client that applies what is in Git again and again", func() {
	BeforeEach(patient)

	DescribeTable("doesn't bring a bad version back, and gets a repair in at once", slow, func(ctx context.Context, apply ...string) {
		namespace := controlledNamespace(ctx)
		output, err := kubectlWith(ctx, manifest(namespace, image("busybox")), apply...)
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		output, err = kubectlWith(ctx, manifest(namespace, image("busybox:missing")), apply...)
		Expect(err).NotTo(HaveOccurred(), output)
		bad := released(ctx, namespace)()

		Eventually(troubles(ctx, namespace, bad)).Should(ContainElement("ErrImagePull"))
		output, err = kubectlWith(ctx, manifest(namespace, image("busybox:missing")), apply...)
		Expect(err).NotTo(HaveOccurred(), output)
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })

		refused := 0
		for began := time.Now(); time.Since(began) < duration("GITOPS_TIME", 30*time.Second); {
			output, err = kubectlWith(ctx, manifest(namespace, image("busybox:missing")), apply...)
			Expect(err).To(HaveOccurred(), output)
			Expect(output).To(ContainSubstring("Error from server (deployment sleep refuses this version)"))
			refused++
			pause(ctx, 2*time.Second)
		}
		Expect(refused).To(BeNumerically(">", 3))
		Expect(get(ctx, namespace, "sleep").Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/release", "3"), "good, bad, and good again")
		Expect(readyPods(ctx, namespace)()).To(Equal([]string{firstVersion + " x5"}))
		Expect(notes(ctx, namespace, "ReleaseRolledBack")()).To(HaveLen(1))
		Expect(notes(ctx, namespace, "ReleaseRefused")()).To(ConsistOf(ContainSubstring(bad)))

		output, err = kubectlWith(ctx, manifest(namespace, image("busybox:1.37")), apply...)
		Expect(err).NotTo(HaveOccurred(), output)
		repaired := verified(ctx, namespace, "sleep")
		Expect(strings.Join(repaired.Spec.Changes, "")).To(ContainSubstring("busybox -> busybox:1.37"))
		Eventually(readyPods(ctx, namespace)).Should(Equal([]string{repaired.Spec.Reversion + " x5"}))
	},
		Entry("as kubectl apply", "apply", "-f", "-"),
		Entry("by server-side apply", "apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-"),
	)

	It("doesn't bring it back either where the bad file also left something out", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		good := func(deployment *appsv1.Deployment) {
			deployment.Spec.Template.Spec.NodeSelector = map[string]string{"kubernetes.io/os": "linux"}
			deployment.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "MODE", Value: "fast"}}
		}
		output, err := kubectlWith(ctx, manifest(namespace, good), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		before := verified(ctx, namespace, "sleep").Spec.Reversion
		output, err = kubectlWith(ctx, manifest(namespace, image("busybox:missing")), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(troubles(ctx, namespace, released(ctx, namespace)())).Should(ContainElement("ErrImagePull"))
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(before)) })
		output, err = kubectlWith(ctx, manifest(namespace, image("busybox:missing")), "apply", "-f", "-")
		Expect(err).To(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("deployment sleep refuses this version"))
		output, err = kubectlWith(ctx, manifest(namespace, image("busybox:1.37")), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(get(ctx, namespace, "sleep").Spec.Template.Spec.NodeSelector).To(BeEmpty(), "what no file names any more is gone")
		Expect(get(ctx, namespace, "sleep").Spec.Template.Spec.Containers[0].Env).To(BeEmpty())
	})

	It("gets the version in again when its refusal is over", func(ctx context.Context) {
		configure(ctx, "refusal", `{"spec":{"content":"4s"}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := patchSleep(ctx, namespace, missingImage)
		Expect(err).NotTo(HaveOccurred(), output)
		bad := released(ctx, namespace)()
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		Eventually(func() error {
			_, err := patchSleep(ctx, namespace, missingImage)
			return err
		}).Should(Succeed())
		Expect(released(ctx, namespace)()).To(Equal(bad))
		losePatience(ctx, func() {
			// On a slow machine even the pods of the rollback exceed such a short limit.
			Eventually(notes(ctx, namespace, "ReleaseNotRolledBack")).Should(ContainElement(ContainSubstring("was rolled back before")))
		})
	})
})
