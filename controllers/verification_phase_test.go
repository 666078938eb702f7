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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("A check in a phase", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)
	BeforeEach(withSmokeTests)

	It("has the first pod of a release in steps wait until it passes, with phase: Before", slow, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, `[{"replicas":1},{"percent":100}]`, "")
		smokeTest(ctx, namespace, "False")
		waitingBy(ctx, namespace, `"phase": "Before"`, 600, "Fail")
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		first := verified(ctx, namespace, "sleep")
		Expect(first.Status.Checks).To(HaveLen(1))
		Expect(first.Status.Checks[0].Reason).To(Equal("NotPaced"), "the first release of a workload is in no steps")

		output, err := release(ctx, namespace, "held")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(notes(ctx, namespace, "CheckHolds")).Should(ContainElement(And(
			ContainSubstring("its first pod waits for check smoke of VerificationPolicy "+namespace+"/held until 20"), HaveSuffix(": SmokeTest smoke: Passed is False, Tested"))))
		Expect(step(presentRecord(ctx, namespace))).To(Equal("0/2 True AwaitingCheck"))
		held := presentRecord(ctx, namespace)
		Expect(held.Status.Verification.Progress).To(Equal("0/1, smoke holds"))
		Expect(held.Status.Checks[0].HeldUntil.Time).To(BeTemporally("~", time.Now().Add(10*time.Minute), time.Minute))
		Consistently(func() string { return step(presentRecord(ctx, namespace)) }).WithTimeout(12 * time.Second).Should(Equal("0/2 True AwaitingCheck"))
		Expect(changePods(ctx, namespace)).NotTo(ContainElement(HaveField("Spec.Release", BeEquivalentTo(2))), "no pod of the release is checked")

		smokeTest(ctx, namespace, "True")
		second := verified(ctx, namespace, "sleep")
		Expect(second.Status.Verification.Progress).To(Equal("1/1"))
		Expect(second.Status.Checks[0].HeldUntil).To(BeNil())
	})

	It("has a release whose pods all passed wait, and fails it, with phase: After", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		smokeTest(ctx, namespace, "True")
		waitingBy(ctx, namespace, `"phase": "After"`, 600, "Pass")
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")

		smokeTest(ctx, namespace, "Unknown")
		output, err := release(ctx, namespace, "awaited")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string { return reason(presentRecord(ctx, namespace).Status.Conditions, "Verified") }).Should(Equal("AwaitingCheck"))
		Eventually(notes(ctx, namespace, "CheckHolds")).Should(ContainElement(ContainSubstring("all pods passed, it waits for check smoke of VerificationPolicy ")))
		Expect(presentRecord(ctx, namespace).Status.Counts.Passed).To(BeEquivalentTo(presentRecord(ctx, namespace).Status.Counts.Desired))

		smokeTest(ctx, namespace, "False")
		Eventually(func() string { return string(presentRecord(ctx, namespace).Status.Status) }).Should(Equal("Suspend"))
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ContainElement(
			HaveSuffix(": SmokeTest smoke: Passed is False, Tested (VerificationPolicy " + namespace + "/held smoke)")))
	})
})
