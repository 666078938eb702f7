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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

// twoSteps are steps of 1 pod and of all.
const twoSteps = `[{"replicas":1},{"percent":100}]`

// orderedSet creates a set of two pods whose first release is verified, and whose next ones are rolled out in two steps.
func orderedSet(ctx context.Context, create func(namespace string) webSet, fields string) (web webSet, first string) {
	GinkgoHelper()
	web = create(pacedNamespace(ctx, twoSteps, fields))
	web.create(ctx)
	return web, web.verified(ctx)
}

func twoPods(namespace string) webSet { return deployment(namespace, 2) }

func twoOrdinals(namespace string) webSet { return statefulSet(namespace, "Parallel", 2) }

// checks returns the ChangePods of the present release: whether they are of the order, and their status, message and reason.
func (s webSet) checks(ctx context.Context) func() []string {
	return func() []string {
		var result []string
		for _, changePod := range changePods(ctx, s.namespace) {
			if changePod.Spec.ChangeWorkloadID == s.record(ctx) && changePod.Spec.Release == s.release(ctx) {
				result = append(result, strings.Join(strings.Fields(fmt.Sprintf("order=%t %s %s %s", changePod.Spec.Order,
					changePod.Status.Status, changePod.Status.Message, reason(changePod.Status.Conditions, "Verified"))), " "))
			}
		}
		return result
	}
}

// nodes returns the checks of the orders of a namespace, or of their batches, at the server.
func (s webSet) nodes(ofOrders bool) []altershield.Node {
	return slices.DeleteFunc(nodesOf(s.namespace), func(node altershield.Node) bool { return node.OfOrder != ofOrders })
}

func exists(*corev1.Pod) bool { return true }

func isRunning(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning }

// pass sends the verdict of a stage that the server didn't.
func pass(ctx context.Context, node altershield.Node, stage string) {
	GinkgoHelper()
	Expect(post(ctx, callbackOf(node, stage, "pass")).body).To(ContainSubstring("the verdict is saved"))
}

var _ = Describe("A release in steps that AlterShield Server checks as a whole", Ordered, ContinueOnFailure, func() {
	checkedByServer()
	BeforeEach(patient)

	DescribeTable("runs no pod before its order passed, and is verified once it passed after the last step:",
		func(ctx context.Context, create func(string) webSet) {
			web, first := orderedSet(ctx, create, "")
			Expect(web.nodes(true)).To(BeEmpty(), "a new workload isn't paced")
			batches := len(web.nodes(false))
			server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost})

			By("waiting for the check before the first step")
			next := web.released(ctx, "second")
			Eventually(web.step(ctx)).Should(Equal("0/2 True AwaitingOrder"))
			Eventually(web.checks(ctx)).Should(HaveExactElements("order=true PreSubmitted Verifying"))
			Consistently(running(ctx, web.namespace)).Should(Equal(map[string]int{first: 2}))
			Expect(web.nodes(true)).To(HaveExactElements(And(
				HaveField("BizExecOrderID", web.present(ctx).Status.Order.BizExecOrderID), HaveField("Locations", BeEmpty()))))
			Expect(web.nodes(false)).To(HaveLen(batches))

			By("checking the batches of both steps")
			order := web.nodes(true)[0]
			pass(ctx, order, "PRE")
			for i, step := range []string{"1/2 True StepRunning", "2/2 True StepRunning"} {
				Eventually(web.step(ctx)).Should(Equal(step))
				Eventually(web.checks(ctx)).Should(ContainElement("order=false PreSubmitted Verifying"))
				Expect(web.checks(ctx)()).To(And(HaveLen(i+2), ContainElement("order=true PostWait Verifying")))
				batch := web.nodes(false)[batches+i]
				pass(ctx, batch, "PRE")
				Eventually(web.checks(ctx)).Should(ContainElement("order=false PostSubmitted Verifying"))
				Expect(web.nodes(true)[0].FinishCalls).To(BeZero())
				pass(ctx, batch, "POST")
			}

			By("waiting for the check after the last step")
			Eventually(web.step(ctx)).Should(Equal("2/2 True AwaitingOrder"))
			Eventually(web.checks(ctx)).Should(ContainElement("order=true PostSubmitted Verifying"))
			Eventually(running(ctx, web.namespace)).Should(Equal(map[string]int{next: 2}))
			Consistently(func() string { return reasonOf(ctx, web.namespace, web.record(ctx)) }).Should(Equal("AwaitingOrder"))
			Expect(ordersOf(web.namespace)).To(HaveExactElements("SUCCESS", "open"))
			pass(ctx, order, "POST")
			Expect(web.verified(ctx)).To(Equal(next))
			Expect(web.step(ctx)()).To(Equal("2/2 False AllSteps"))
			Eventually(ordersOf).WithArguments(web.namespace).Should(HaveExactElements("SUCCESS", "SUCCESS"))
			Expect(web.nodes(true)).To(HaveExactElements(And(HaveField("FinishCalls", 1), HaveField("State", "POST_AOP_FINISH"))))
			Eventually(web.annotations(ctx)).ShouldNot(HaveKey("altershield.defense.antgroup.com/paced"))
		},
		Entry("a Deployment", twoPods),
		Entry("a StatefulSet", slow, twoOrdinals),
	)

	DescribeTable("runs no pod if its order fails before the first step, and a repair goes through:",
		func(ctx context.Context, create func(string) webSet, fields string, counts func(*corev1.Pod) bool) {
			web, first := orderedSet(ctx, create, fields)
			server.AddRule(altershield.Rule{Name: "budget", Message: "spent", Stage: "PRE", Order: true, Verdict: "FAIL", Remaining: 1})
			seen := watchPace(ctx, web.namespace)
			bad := web.released(ctx, "bad")
			Eventually(web.step(ctx)).Should(Equal("0/2 True StepFailed"))
			Eventually(web.labels(ctx)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
			Consistently(web.checks(ctx)).Should(HaveExactElements("order=true ExecuteDone PreFailed PodsFailed"))
			Expect(running(ctx, web.namespace)()).To(HaveKeyWithValue(first, 2))
			denied, err := web.change(ctx, `{"spec":{"template":{"metadata":{"labels":{"test":"other"}}}}}`)
			Expect(err).To(HaveOccurred())
			Expect(denied).To(ContainSubstring("the change order failed its check: budget: spent"))

			web.mustChange(ctx, setRepair)
			web.verified(ctx)
			Expect(web.step(ctx)()).To(Equal("2/2 False AllSteps"))
			Expect(web.labels(ctx)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
			Eventually(ordersOf).WithArguments(web.namespace).Should(HaveExactElements("SUCCESS", "CANCEL", "SUCCESS"))
			Expect(seen.Most(bad, counts)).To(BeZero())
		},
		Entry("a Deployment", twoPods, "", isRunning),
		Entry("a Deployment before traffic", slow, twoPods, `,"traffic":"Before"`, exists),
		Entry("a StatefulSet", slow, twoOrdinals, "", isRunning),
	)

	It("creates no pod before its order passed if its pods are checked before traffic, nor do those of a new workload", func(ctx context.Context) {
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionStartOrder}})
		web := twoPods(pacedNamespace(ctx, twoSteps, `,"traffic":"Before"`))
		seen := watchPace(ctx, web.namespace)
		begins := func(version, progress string, orders int) {
			GinkgoHelper()
			Eventually(web.step(ctx)).Should(Equal("0/" + progress + " True AwaitingOrder"))
			Eventually(web.checks(ctx)).Should(HaveExactElements("order=true PreSubmitted Verifying"))
			Consistently(running(ctx, web.namespace)).ShouldNot(HaveKey(version))
			Expect(seen.Most(version, exists)).To(BeZero())
			Expect(web.nodes(true)).To(HaveLen(orders))
			pass(ctx, web.nodes(true)[orders-1], "PRE")
			Expect(web.verified(ctx)).To(Equal(version))
			Expect(web.step(ctx)()).To(Equal(progress + "/" + progress + " False AllSteps"))
			web.isFree(ctx)
			Expect(seen.Most(version, exists)).To(Equal(2))
		}
		web.create(ctx)
		begins(web.version(ctx)(), "1", 1)
		begins(web.released(ctx, "second"), "2", 2)
	})

	It("fails if its order fails after the last step, until a user withdraws that", func(ctx context.Context) {
		web, _ := orderedSet(ctx, twoPods, "")
		server.AddRule(altershield.Rule{Name: "budget", Message: "spent", Stage: "POST", Order: true, Verdict: "FAIL", Remaining: 1})
		next := web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("2/2 True StepFailed"))
		Eventually(web.labels(ctx)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(web.present(ctx).Status.Status).To(BeEquivalentTo("Suspend"))
		Eventually(running(ctx, web.namespace)).Should(Equal(map[string]int{next: 2}))
		Expect(ordersOf(web.namespace)).To(HaveExactElements("SUCCESS", "open"))

		order := web.record(ctx) + "--x--1"
		output, err := kubectl(ctx, "-n", web.namespace, "patch", "changepod", "--subresource=status", order, "--type=merge", "-p",
			`{"status":{"podResults":[{"pod":"change order","verdict":"pass"}]}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(web.verified(ctx)).To(Equal(next))
		Expect(web.labels(ctx)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
	})

	It("waits while the server is away, and begins once it is back", slow, func(ctx context.Context) {
		web, first := orderedSet(ctx, twoPods, "")
		server.SetFault(altershield.Fault{Kind: altershield.FaultDown})
		next := web.released(ctx, "second")
		Eventually(func() string { return ordered(ctx, web.namespace, web.record(ctx))() }).Should(Equal("Unknown ServerUnavailable"))
		Eventually(web.checks(ctx)).Should(HaveExactElements("order=true PreWait AwaitingOrder"))
		Consistently(web.step(ctx)).Should(Equal("0/2 True AwaitingOrder"))
		Expect(running(ctx, web.namespace)()).To(Equal(map[string]int{first: 2}))
		output, err := kubectl(ctx, "-n", web.namespace, "describe", "changeworkload", web.record(ctx))
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("step 1 of 2 waits until the change order passes its check"))
		server.ClearFaults()
		Expect(web.verified(ctx)).To(Equal(next))
		Expect(web.nodes(true)).To(HaveLen(1))
	})

	It("is rolled out if its order can't be checked in time, with an Event", slow, func(ctx context.Context) {
		web, first := orderedSet(ctx, twoPods, "")
		server.SetFault(altershield.Fault{Kind: altershield.FaultDown, Actions: []string{altershield.ActionStartOrder}})
		next := web.released(ctx, "second")
		Eventually(web.checks(ctx)).Should(HaveExactElements("order=true PreWait ServerUnavailable"))
		Consistently(running(ctx, web.namespace)).Should(Equal(map[string]int{first: 2}))
		expire(ctx, web.namespace, web.record(ctx)+"--x--1")
		Expect(web.verified(ctx)).To(Equal(next))
		Expect(web.checks(ctx)()).To(ContainElement("order=true ExecuteDone PreFailed ServerUnavailable"))
		Eventually(eventsIn(ctx, web.namespace)).Should(ContainElement(And(HavePrefix("BatchNotChecked: "), ContainSubstring("the change order counts as passed"))))
	})

	traffic := []TableEntry{Entry("with traffic", ""), Entry("before traffic", `,"traffic":"Before"`)}

	DescribeTable("runs all its pods, and is checked once they passed, if it leaves its steps while its order is checked:", func(ctx context.Context, fields string) {
		web, _ := orderedSet(ctx, twoPods, fields)
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionStartOrder}})
		next := web.released(ctx, "second")
		Eventually(web.checks(ctx)).Should(HaveExactElements("order=true PreSubmitted Verifying"))
		output, err := kubectl(ctx, "-n", web.namespace, "delete", "releasepolicy", "careful")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(web.step(ctx)).Should(Equal("0/2 False PolicyRemoved"))
		Eventually(running(ctx, web.namespace)).Should(Equal(map[string]int{next: 2}))
		Eventually(func() string { return reasonOf(ctx, web.namespace, web.record(ctx)) }).Should(Equal("AwaitingOrder"))
		last := len(web.nodes(true)) - 1 // a new workload is paced before traffic only
		pass(ctx, web.nodes(true)[last], "PRE")
		Expect(web.verified(ctx)).To(Equal(next))
		Expect(web.nodes(true)[last].State).To(Equal("POST_AOP_FINISH"))
		Expect(web.field(ctx, "{.spec.paused} {.spec.strategy.rollingUpdate.maxUnavailable}")).To(Equal(" 25%"))
	}, traffic)

	DescribeTable("leaves nothing held if its namespace is opted out while its order is checked:", func(ctx context.Context, fields string) {
		web, _ := orderedSet(ctx, twoPods, fields)
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionStartOrder}})
		next := web.released(ctx, "second")
		Eventually(web.checks(ctx)).Should(HaveExactElements("order=true PreSubmitted Verifying"))
		output, err := kubectl(ctx, "label", "namespace", web.namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(running(ctx, web.namespace)).Should(Equal(map[string]int{next: 2}))
		Eventually(web.annotations(ctx)).ShouldNot(HaveKey("altershield.defense.antgroup.com/paced"))
		Expect(web.field(ctx, "{.spec.paused} {.spec.strategy.rollingUpdate.maxUnavailable}")).To(Equal(" 25%"))
	}, traffic)

	It("is cancelled by a later release, which has an order of its own; one to a verified version has no check", slow, func(ctx context.Context) {
		web, first := orderedSet(ctx, twoPods, "")
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionStartOrder}, Remaining: 1})
		web.released(ctx, "second")
		Eventually(web.checks(ctx)).Should(HaveExactElements("order=true PreSubmitted Verifying"))
		web.released(ctx, "third")
		third := web.verified(ctx)
		Eventually(ordersOf).WithArguments(web.namespace).Should(HaveExactElements("SUCCESS", "CANCEL", "SUCCESS"))
		Expect(web.nodes(true)).To(HaveLen(2))
		Eventually(running(ctx, web.namespace)).Should(Equal(map[string]int{third: 2}))

		output, err := kubectl(ctx, "-n", web.namespace, "rollout", "undo", "deployment", "web", "--to-revision=1")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(web.verified(ctx)).To(Equal(first))
		Expect(web.nodes(true)).To(HaveLen(2))
	})

	It("is checked again if a user removes the check of its order", slow, func(ctx context.Context) {
		web, _ := orderedSet(ctx, twoPods, "")
		server.AddRule(altershield.Rule{Name: "budget", Stage: "PRE", Order: true, Verdict: "FAIL", Remaining: 1})
		next := web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("0/2 True StepFailed"))
		Eventually(web.labels(ctx)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		output, err := kubectl(ctx, "-n", web.namespace, "delete", "changepod", web.record(ctx)+"--x--1")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(web.verified(ctx)).To(Equal(next))
		Expect(web.labels(ctx)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(web.nodes(true)).To(HaveLen(2))
	})

	It("has no such check without a ReleasePolicy", func(ctx context.Context) {
		web := twoPods(controlledNamespace(ctx))
		web.create(ctx)
		web.verified(ctx)
		web.released(ctx, "second")
		web.verified(ctx)
		Expect(web.nodes(true)).To(BeEmpty())
		Expect(web.nodes(false)).To(HaveLen(4))
	})

	DescribeTable("goes on where it was if the operator is killed:", slow, func(ctx context.Context, action string) {
		web, _ := orderedSet(ctx, twoPods, "")
		killed, armed := make(chan struct{}), true // guarded by the hook's lock
		onCall.set(func(call altershield.Call) {
			if armed && call.Action == action && call.BizExecOrderID != "" {
				armed = false
				Expect(manager.Kill(ctx)).To(Succeed())
				close(killed)
			}
		})
		next := web.released(ctx, "second")
		Eventually(killed).Should(BeClosed())
		Expect(manager.Start(ctx)).To(Succeed())
		expireLost(ctx, web.namespace)
		Expect(web.verified(ctx)).To(Equal(next))
		Eventually(ordersOf).WithArguments(web.namespace).Should(HaveExactElements("SUCCESS", "SUCCESS"))
		for _, node := range web.nodes(true) {
			Expect(node.FinishCalls).To(BeNumerically("<=", 1), "nothing may be reported after its verdict")
		}
	},
		Entry("after the order", altershield.ActionSubmitOrder),
		Entry("after the start of its check", altershield.ActionStartOrder),
		Entry("after the end of the order", altershield.ActionFinishOrder),
	)
})
