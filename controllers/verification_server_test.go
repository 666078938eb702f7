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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/altershield"
)

var _ = Describe("A check of the type Server", Ordered, ContinueOnFailure, func() {
	checkedByServer()
	BeforeEach(withoutBuiltIn)

	It("only says what the server found in the mode Observe, and suspends the Deployment in the mode Enforce", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		judgedByServer(ctx, namespace, "Observe")
		server.AddRule(altershield.Rule{Name: "error rate", Message: "5xx above 1%", Stage: "POST", Deployment: namespace + "/sleep", Verdict: "FAIL"})
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		first := verified(ctx, namespace, "sleep")
		Expect(first.Status.Verification.Progress).To(Equal("0/1, server Fail"))
		Expect(first.Status.Checks[0].Message).To(MatchRegexp(`^AlterShield Server failed (pod sleep-\S+|2 pods): error rate: 5xx above 1%$`))
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PostFinish", "ExecuteDone PostFinish"))
		Expect(failedPods(ctx, namespace)).To(BeEmpty())
		Expect(failedAtServer(ctx, namespace)).To(HaveLen(2))
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS"))

		By("failing before a batch, which goes on")
		server.ClearRules()
		server.AddRule(altershield.Rule{Name: "change freeze", Message: "until Monday", Stage: "PRE", Deployment: namespace + "/sleep", Verdict: "INCONC"})
		output, err := release(ctx, namespace, "2")
		Expect(err).NotTo(HaveOccurred(), output)
		second := verified(ctx, namespace, "sleep")
		Expect(second.Status.Checks[0].Message).To(HaveSuffix(": change freeze: until Monday"))
		for _, node := range nodesOf(namespace) {
			Expect(node.FinishCalls).To(Equal(1))
		}

		By("enforcing it")
		judgedByServer(ctx, namespace, "Enforce")
		output, err = release(ctx, namespace, "3")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ContainElement(
			MatchRegexp(`^sleep-\S+: change freeze: until Monday \(VerificationPolicy ` + system + `/` + namespace + ` server\)$`)))
		Eventually(denialOf(ctx, namespace, "denied")).Should(ContainSubstring("change freeze: until Monday"))
		Eventually(func() string { return shownPolicy(ctx, system, namespace) }).Should(MatchRegexp(`^` + namespace + ` Enforce 300 1 [1-9] True$`))
	})

	It("has bad verdicts count at once when its policy is deleted", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		judgedByServer(ctx, namespace, "Observe")
		server.AddRule(altershield.Rule{Name: "error rate", Message: "5xx above 1%", Stage: "PRE", Deployment: namespace + "/sleep", Verdict: "FAIL"})
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionFinishBatch}})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(func() []string { return failedAtServer(ctx, namespace) }).Should(HaveLen(1))
		Eventually(steps(ctx, namespace)).Should(HaveExactElements("PostSubmitted "))
		Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))

		output, err := kubectl(ctx, "-n", system, "delete", "vpol", namespace)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(failedPods(ctx, namespace)).To(HaveExactElements(HaveSuffix(": error rate: 5xx above 1%")))
		Expect(failedAtServer(ctx, namespace)).To(BeEmpty())
	})

	It("is denied where it would loosen what the platform has set up", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
			"metadata": {"namespace": %q, "name": "own"}, "spec": {"checks": [{"name": "server", "type": "Server"}]}}`, namespace), "apply", "-f", "-")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("spec.checks[0].type: only a VerificationPolicy in namespace " + system + " may have checks of the type Server"))

		DeferCleanup(func(ctx context.Context) {
			_, _ = kubectl(ctx, "-n", system, "delete", "vpol", "server", "--ignore-not-found")
		})
		bash(ctx, strings.Join(blocks("verification.md", "AlterShield Server"), ""))
		Eventually(func() string { return shownPolicy(ctx, system, "server") }).Should(MatchRegexp(`^server Observe 300 600 \d+ 0 True$`))
	})
})

// judgedByServer has a policy in the namespace of the operator judge what the server says of a namespace, in a mode.
func judgedByServer(ctx context.Context, namespace, mode string) {
	GinkgoHelper()
	output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
		"metadata": {"namespace": %q, "name": %q}, "spec": {"mode": %q, "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": %q}},
		"checks": [{"name": "server", "type": "Server"}]}}`, system, namespace, mode, namespace), "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	DeferCleanup(func(ctx context.Context) {
		_, _ = kubectl(ctx, "-n", system, "delete", "vpol", namespace, "--ignore-not-found")
	})
	known(ctx, "vpol", system, namespace)
}

// failedAtServer returns the pods that the server failed by the word of a policy, with its messages.
func failedAtServer(ctx context.Context, namespace string) []string {
	var failed []string
	for _, batch := range changePods(ctx, namespace) {
		for _, result := range batch.Status.ServerResults {
			if result.Verdict == appv1alpha1.VerdictUnpass {
				failed = append(failed, result.Pod+": "+result.Message)
			}
		}
	}
	return failed
}
