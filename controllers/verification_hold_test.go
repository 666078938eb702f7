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
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var _ = Describe("A check with onInconclusive: Hold", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)
	BeforeEach(withSmokeTests)

	It("has a step wait until a condition is True", slow, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, `[{"replicas":1},{"percent":100}]`, "")
		smokeTest(ctx, namespace, "True")
		holdingBy(ctx, namespace, 600, "Fail")
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")

		smokeTest(ctx, namespace, "Unknown")
		output, err := release(ctx, namespace, "held")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(batchReasons(ctx, namespace)).Should(ContainElement("PostWait AwaitingCheck"))
		var held *appv1alpha1.ChangeWorkload
		Eventually(func() string {
			held = presentRecord(ctx, namespace)
			return held.Status.Verification.Progress
		}).Should(Equal("0/1, smoke holds"))
		Expect(held.Status.Checks[0].HeldUntil.Time).To(BeTemporally("~", time.Now().Add(10*time.Minute), time.Minute))
		Eventually(notes(ctx, namespace, "CheckHolds")).Should(ContainElement(ContainSubstring(
			"its pods wait for check smoke of VerificationPolicy " + namespace + "/held until 20")))
		Consistently(func() string { return step(presentRecord(ctx, namespace)) }).WithTimeout(12 * time.Second).Should(Equal("1/2 True StepRunning"))

		smokeTest(ctx, namespace, "True")
		second := verified(ctx, namespace, "sleep").Spec.Reversion
		Expect(workload(ctx, namespace, "sleep--x--"+second).Status.Verification.Progress).To(Equal("1/1"))
		Expect(workload(ctx, namespace, "sleep--x--"+second).Status.Checks[0].HeldUntil).To(BeNil())
	})

	It("suspends the Deployment where the check can't tell in time", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		smokeTest(ctx, namespace, "True")
		holdingBy(ctx, namespace, 3, "Fail")
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")

		smokeTest(ctx, namespace, "Unknown")
		output, err := release(ctx, namespace, "held")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string { return string(presentRecord(ctx, namespace).Status.Status) }).Should(Equal("Suspend"))
		Eventually(notes(ctx, namespace, "HoldTimeout")).Should(ContainElement(ContainSubstring("the check fails its pods: it could not tell within 3 seconds: ")))
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ContainElement(
			HaveSuffix(": it could not tell within 3 seconds: SmokeTest smoke: Passed is Unknown, Tested (VerificationPolicy " + namespace + "/held smoke)")))
	})
})

// withSmokeTests has a kind during a spec whose objects the operator may read.
func withSmokeTests(ctx context.Context) {
	GinkgoHelper()
	output, err := kubectlWith(ctx, `{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "smoketests.tests.example.com"},
			"spec": {"group": "tests.example.com", "scope": "Namespaced", "names": {"kind": "SmokeTest", "plural": "smoketests"}, "versions": [{"name": "v1",
				"served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}},
		{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "altershield-reads-smoketests",
			"labels": {"altershield.defense.antgroup.com/aggregate-to-kinds": "true"}},
			"rules": [{"apiGroups": ["tests.example.com"], "resources": ["smoketests"], "verbs": ["get"]}]}]}`, "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	DeferCleanup(func(ctx context.Context) {
		bash(ctx, "kubectl delete crd/smoketests.tests.example.com clusterrole/altershield-reads-smoketests --ignore-not-found")
	})
	bash(ctx, "kubectl wait crd/smoketests.tests.example.com --for=condition=Established --timeout=1m")
}

// smokeTest sets the condition Passed of the object smoke.
func smokeTest(ctx context.Context, namespace, status string) {
	GinkgoHelper()
	Eventually(func() error {
		_, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "tests.example.com/v1", "kind": "SmokeTest", "metadata": {"namespace": %q, "name": "smoke"},
			"status": {"conditions": [{"type": "Passed", "status": %q, "reason": "Tested"}]}}`, namespace, status), "apply", "-f", "-")
		return err
	}).Should(Succeed(), "discovery learns of the kind a moment later")
}

// holdingBy has a policy of the namespace wait for the smoke test, for so many seconds.
func holdingBy(ctx context.Context, namespace string, timeout int, onTimeout string) {
	GinkgoHelper()
	waitingBy(ctx, namespace, `"onInconclusive": "Hold"`, timeout, onTimeout)
}

// waitingBy has a policy of the namespace wait for the smoke test, by a field of its check, for so many seconds.
func waitingBy(ctx context.Context, namespace, field string, timeout int, onTimeout string) {
	GinkgoHelper()
	output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
		"metadata": {"namespace": %q, "name": "held"}, "spec": {"mode": "Enforce", "bakeSeconds": 0, "intervalSeconds": 10, "checks": [
			{"name": "smoke", "type": "Condition", %s, "timeoutSeconds": %d, "onTimeout": %q,
				"condition": {"apiVersion": "tests.example.com/v1", "kind": "SmokeTest", "name": "smoke", "type": "Passed"}}]}}`,
		namespace, field, timeout, onTimeout), "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	known(ctx, "vpol", namespace, "held")
}

// presentRecord returns the record of the present release of the Deployment sleep, an empty one before there is one.
func presentRecord(ctx context.Context, namespace string) *appv1alpha1.ChangeWorkload {
	GinkgoHelper()
	var object appv1alpha1.ChangeWorkload
	if kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: currentName(ctx, namespace, "sleep")}, &object) != nil {
		return &appv1alpha1.ChangeWorkload{}
	}
	return &object
}

// batchReasons returns the phases of the batches of a namespace, and what they wait for.
func batchReasons(ctx context.Context, namespace string) func() []string {
	return func() []string {
		var reasons []string
		for _, batch := range changePods(ctx, namespace) {
			reasons = append(reasons, string(batch.Status.Status)+" "+reason(batch.Status.Conditions, "Verified"))
		}
		return reasons
	}
}
