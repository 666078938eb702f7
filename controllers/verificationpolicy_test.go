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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// On a new installation the operator may start before its webhook configurations are there. It must not wait for a release then: with one,
// the installation would look like an upgraded one.
var _ = Describe("The VerificationPolicy builtin of an operator that started before its webhook configurations", func() {
	BeforeEach(patient)

	It("is created as soon as they are there", func(ctx context.Context) {
		Eventually(func() string { return shownPolicy(ctx, system, "builtin") }).Should(HavePrefix("builtin "))
		DeferCleanup(func(ctx context.Context) {
			bash(ctx, `kubectl patch vpol builtin -n `+system+` --type=merge -p '{"spec":{"mode":"Enforce"}}'`)
		})
		bash(ctx, "kubectl delete vpol builtin -n "+system)
		Consistently(func() string { return shownPolicy(ctx, system, "builtin") }).Should(ContainSubstring("not found"), "what a user deletes stays deleted")
		bash(ctx, "kubectl annotate mutatingwebhookconfiguration altershieldoperator-kinds-mutating-webhook-configuration "+
			"altershield.defense.antgroup.com/built-in-policy-")
		Eventually(func() string { return shownPolicy(ctx, system, "builtin") }).Should(MatchRegexp(`^builtin (Enforce|Observe) 0 300 \d+ \d+ True$`))
	})
})

var _ = Describe("A VerificationPolicy that is changed in mid-release", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)

	const baking = "PostWait Baking"
	const passed = "ExecuteDone CheckNotConfigured" // no policy enforces a check for a time

	remove := func(ctx context.Context, namespace string) {
		output, err := kubectl(ctx, "-n", namespace, "delete", "vpol", "own")
		Expect(err).NotTo(HaveOccurred(), output)
	}
	to := func(mode string) func(context.Context, string) {
		return func(ctx context.Context, namespace string) { checkedBy(ctx, namespace, mode, 600) }
	}

	DescribeTable("checks the release as docs/verification.md says", func(
		ctx context.Context, mode, batch string, change func(context.Context, string), checks, next string,
	) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		if mode != "" {
			checkedBy(ctx, namespace, mode, 600)
		}
		output, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(batches(ctx, namespace)).Should(ContainElement(batch))

		change(ctx, namespace)
		second := verified(ctx, namespace, "sleep").Spec.Reversion
		Eventually(releases(ctx, namespace)).Should(HaveLen(1))
		crash("now", 1)(ctx, podsAt(ctx, namespace, second))
		Eventually(troubles(ctx, namespace, second)).Should(ContainElement("CrashLoopBackOff"))
		Eventually(func() string { return checksOf(ctx, namespace) }).Should(Equal(checks))
		Consistently(releases(ctx, namespace)).Should(Equal(map[string]string{"sleep--x--" + second: "Success"}))
		Expect(failedPods(ctx, namespace)).To(BeEmpty())

		output, err = release(ctx, namespace, "12345")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(batches(ctx, namespace)).Should(ContainElement(next))
	},
		Entry("if it is deleted: the batches pass, and nothing fails", "Enforce", baking, remove, "0/0", passed),
		Entry("if its mode is lowered: the batches pass, and failures only show", slow, "Enforce", baking, to("Observe"), "0/1, pods Fail", passed),
		Entry("if its mode is raised: failures of this release only show", slow, "Observe", passed, to("Enforce"), "0/1, pods Fail", baking),
		Entry("if it is created then: only the next release is checked", slow, "", passed, to("Enforce"), "<none>", baking),
	)
})

// batches returns the phases of the batches of the present release of a namespace, and the reasons of their conditions.
func batches(ctx context.Context, namespace string) func() []string {
	return func() (phases []string) {
		release := "sleep--x--" + labelsOf(ctx, namespace)()[versionLabel]
		for _, batch := range changePods(ctx, namespace) {
			if strings.HasPrefix(batch.Name, release) {
				phases = append(phases, string(batch.Status.Status)+" "+reason(batch.Status.Conditions, "Verified"))
			}
		}
		return phases
	}
}

var _ = Describe("The commands of docs/verification.md for VerificationPolicies", func() {
	It("let release managers write those of a namespace, which editors and admins can't", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		bash(ctx, strings.ReplaceAll(strings.Join(blocks("verification.md", "Policies"), ""), "-n default", "-n "+namespace))
		bash(ctx, "kubectl create rolebinding editors -n "+namespace+" --clusterrole=edit --group=editors")
		bash(ctx, "kubectl create rolebinding admins -n "+namespace+" --clusterrole=admin --group=admins")
		may := func(group, namespace string) string {
			output, _ := kubectl(ctx, "auth", "can-i", "create", "vpol", "-n", namespace, "--as=somebody", "--as-group="+group)
			return strings.TrimSpace(output)
		}
		Eventually(func() string { return may("release-managers", namespace) }).Should(Equal("yes")) // the authorizer learns of the binding a moment later
		Expect(may("release-managers", "default")).To(Equal("no"))
		Expect(may("editors", namespace)).To(Equal("no"))
		Expect(may("admins", namespace)).To(Equal("no"))
	})

	It("leave it to some of them to enforce policies", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		DeferCleanup(func(ctx context.Context) {
			bash(ctx, "kubectl delete --ignore-not-found -f config/samples/verification/enforcers.yaml")
		})
		for _, section := range []string{"Policies", "Who may enforce"} {
			bash(ctx, strings.ReplaceAll(strings.Join(blocks("verification.md", section), ""), "-n default", "-n "+namespace))
		}
		bash(ctx, "kubectl create rolebinding leads -n "+namespace+" --role=verification-editor --group=release-leads")
		apply := func(group, mode string, seconds int, more ...string) string {
			manifest := fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy", "metadata": {"name": "web", "namespace": %q},
				"spec": {"mode": %q, "bakeSeconds": %d, "checks": [{"name": "pods", "type": "PodHealth"}]}}`, namespace, mode, seconds)
			output, _ := kubectlWith(ctx, manifest, append(more, "apply", "-f", "-", "--as=somebody", "--as-group="+group)...)
			return output
		}
		const denied = "ValidatingAdmissionPolicy 'verification-enforcers' with binding 'verification-enforcers' denied request: setting the mode Enforce, " +
			"or changing a VerificationPolicy that has it, needs a role with the verb enforce on verificationpolicies"
		// The API server learns of the policy, and of the bindings, a moment later.
		Eventually(func() string { return apply("release-managers", "Enforce", 30, "--dry-run=server") }).Should(ContainSubstring(denied))
		Expect(apply("release-managers", "Warn", 30)).To(ContainSubstring("verificationpolicy.app.ops.cloud.alipay.com/web created"))
		Expect(apply("release-managers", "Enforce", 30)).To(ContainSubstring(denied))
		Eventually(func() string { return apply("release-leads", "Enforce", 30) }).Should(ContainSubstring("web configured"))
		Expect(apply("release-managers", "Enforce", 60)).To(ContainSubstring(denied))
		Expect(apply("release-managers", "Enforce", 30)).To(ContainSubstring("web unchanged"))
		output, err := kubectl(ctx, "label", "vpol", "web", "-n", namespace, "team=shop", "--as=somebody", "--as-group=release-managers")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(apply("release-managers", "Observe", 30)).To(ContainSubstring("web configured"))

		var policy admissionregistrationv1.ValidatingAdmissionPolicy
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKey{Name: "verification-enforcers"}, &policy)).To(Succeed())
			g.Expect(policy.Status.TypeChecking).NotTo(BeNil())
		}).Should(Succeed())
		Expect(policy.Status.TypeChecking.ExpressionWarnings).To(BeEmpty())
	})
})
