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
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// The claims of docs/bypass.md: the rights of users, and their effects.
var _ = Describe("Around change control", Ordered, ContinueOnFailure, func() {
	var namespace string

	BeforeAll(func(ctx context.Context) {
		namespace = controlledNamespace(ctx)
		mayEdit(ctx, namespace, dev)
		mayEdit(ctx, namespace, overrider, "altershieldoperator-suspension-override")
		mayEdit(ctx, namespace, "owner", "admin")
		suspended(ctx, namespace)
		installPolicies(ctx, namespace)
	})

	DescribeTable("editors and admins of a namespace may", func(ctx context.Context, answer string, args ...string) {
		for _, user := range []string{dev, "owner"} {
			output, _ := kubectl(ctx, append([]string{"-n", namespace, "--as=" + user, "auth", "can-i"}, args...)...)
			Expect(strings.TrimSpace(output)).To(HaveSuffix(answer))
		}
	},
		Entry("delete and create Deployments", "yes", "delete", "deployments.apps"),
		Entry("change ReplicaSets", "yes", "patch", "replicasets.apps"),
		Entry("change pods", "yes", "patch", "pods"),
		Entry("act as other service accounts of the namespace", "yes", "impersonate", "serviceaccounts"),
		Entry("ask for their tokens", "yes", "create", "serviceaccounts", "--subresource=token"),
		Entry("not override suspensions", "no", "override-suspension", "deployments.apps"),
		Entry("not write the status of Deployments", "no", "update", "deployments.apps", "--subresource=status"),
		Entry("not give verdicts", "no", "patch", "changepods.app.ops.cloud.alipay.com", "--subresource=status"),
		Entry("not delete records", "no", "delete", "changeworkloads.app.ops.cloud.alipay.com"),
		Entry("not change kept templates", "no", "patch", "controllerrevisions.apps"),
		Entry("not change settings", "no", "patch", "opsconfiginfoes.app.ops.cloud.alipay.com"),
		Entry("not opt out", "no", "patch", "namespace/x"),
		Entry("not delete webhooks", "no", "delete", "mutatingwebhookconfigurations.admissionregistration.k8s.io"),
		Entry("not delete policies", "no", "delete", "validatingadmissionpolicies.admissionregistration.k8s.io"),
		Entry("not act as others", "no", "impersonate", "users"),
	)

	It("a pod's image may be changed in place", func(ctx context.Context) {
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"app": "sleep"})).To(Succeed())
		output, err := kubectl(ctx, "-n", namespace, "--as=dev", "set", "image", "pod/"+pods.Items[0].Name, "sleep=busybox:other")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(auditLog()).To(MatchRegexp(`"verb":"patch"[^\n]*"username":"dev"[^\n]*"name":"` + pods.Items[0].Name + `"`))
	})

	It("a changed ReplicaSet is replaced by one with the Deployment's own template", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		mayEdit(ctx, namespace, dev)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		changed := replicaSets(ctx, namespace)[0].Name
		output, err := kubectl(ctx, "-n", namespace, "--as=dev", "set", "image", "replicaset/"+changed, "sleep=busybox:other")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func(g Gomega) {
			for _, replicaSet := range replicaSets(ctx, namespace) {
				if replicaSet.Name == changed {
					g.Expect(*replicaSet.Spec.Replicas).To(BeZero())
				} else {
					g.Expect(replicaSet.Status.ReadyReplicas).To(BeEquivalentTo(5))
				}
			}
			g.Expect(replicaSets(ctx, namespace)).To(HaveLen(2))
		}).Should(Succeed())
	})

	It("releases of a namespace that is opted out aren't seen, and the suspension is there when it returns", func(ctx context.Context) {
		output, err := kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() (string, error) {
			return kubectl(ctx, "-n", namespace, "--as=dev", "set", "image", "deployment", "sleep", "sleep=busybox:other")
		}).Should(ContainSubstring("image updated"))
		Expect(get(ctx, namespace, "sleep").Labels).To(HaveKeyWithValue(versionLabel, firstVersion))
		optIn(ctx, namespace)
		Eventually(policiesInForce(ctx, namespace)).Should(HaveLen(4))
		output, err = release(ctx, namespace, "later")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("deployment sleep is suspended"))
		Expect(auditLog()).To(MatchRegexp(`"verb":"patch"[^\n]*"resource":"namespaces"[^\n]*"name":"` + namespace + `"`))
	})

	It("a repair names the user of the verb, and so does its Event", func(ctx context.Context) {
		before, repaired := changed(ctx, namespace, "sleep", ignoring, template("1234"))
		Expect(as(overrider).Patch(ctx, repaired, client.MergeFrom(before))).To(Succeed()) // its status changes, as the spec before rolls it out
		Eventually(notes(ctx, namespace, "SuspensionIgnored")).Should(ContainElement(HavePrefix(overrider + " used ignored-suspend to let release")))
	})
})

var _ = Describe("With failurePolicy Ignore and the policies", Ordered, func() {
	It("releases go on while the operator is down, but not those of suspended Deployments", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		mayEdit(ctx, namespace, dev)
		suspended(ctx, namespace)
		Expect(kube.Create(ctx, sleep(namespace, alone("free"), replicas(1)))).To(Succeed())
		verified(ctx, namespace, "free")
		installPolicies(ctx, namespace)
		failOpen := settings
		failOpen.Config = failOpenConfig()
		restartAs(ctx, failOpen)
		DeferCleanup(func(ctx context.Context) { restartAs(ctx, settings) })
		Eventually(stamps(ctx, namespace)).Should(Equal("stamped"))

		Expect(manager.Stop(ctx)).To(Succeed())
		Eventually(stamps(ctx, namespace)).Should(Equal("not stamped"))
		output, err := kubectl(ctx, "-n", namespace, "set", "image", "deployment", "free", "sleep=busybox:1.37")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = kubectl(ctx, "-n", namespace, "rollout", "status", "deployment", "free", "--timeout=3m")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = release(ctx, namespace, "1234")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("denied request: deployment sleep is suspended"))
		output, err = kubectl(ctx, "-n", namespace, "label", "deployment", "sleep", suspendLabel+"-")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("only the operator writes " + suspendLabel))

		Expect(manager.Start(ctx)).To(Succeed())
		Eventually(stamps(ctx, namespace)).Should(Equal("stamped"))
		output, err = kubectl(ctx, "-n", namespace, "set", "image", "deployment", "free", "sleep=busybox:1.38")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "free")
	})
})

// failOpenConfig returns the installed kustomization with config/components/fail-open.
func failOpenConfig() string {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	config, err := filepath.Rel(dir, settings.Config)
	Expect(err).NotTo(HaveOccurred())
	component, err := filepath.Abs(filepath.Join("..", "config", "components", "fail-open"))
	Expect(err).NotTo(HaveOccurred())
	component, err = filepath.Rel(dir, component)
	Expect(err).NotTo(HaveOccurred())
	Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), fmt.Appendf(nil, "resources: [%s]\ncomponents: [%s]\n", config, component), 0o600)).To(Succeed())
	return dir
}

// auditLog returns the audit log of the API server up to now.
func auditLog() string {
	GinkgoHelper()
	written, err := os.ReadFile(plane.AuditLog())
	Expect(err).NotTo(HaveOccurred())
	return string(written)
}
