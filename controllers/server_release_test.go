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
	"k8s.io/utils/ptr"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

var _ = Describe("A release that AlterShield Server checks", Ordered, ContinueOnFailure, func() {
	checkedByServer()

	It("passes batch by batch, and its order is closed", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(3)))).To(Succeed())
		name := verified(ctx, namespace, "sleep").Name
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PostFinish", "ExecuteDone PostFinish", "ExecuteDone PostFinish"))
		Eventually(ordered(ctx, namespace, name)).Should(Equal("True OrderFinished"))
		Expect(ordersOf(namespace)).To(HaveExactElements("SUCCESS"))

		order := workload(ctx, namespace, name).Status.Order
		Expect(order.BizExecOrderID).To(MatchRegexp(`^default/` + namespace + `/sleep/[0-9a-f]{10}/1$`))
		Expect(order.State).To(BeEquivalentTo("SUCCESS"))
		nodes := nodesOf(namespace)
		Expect(nodes).To(HaveLen(3))
		batches := map[int]altershield.Node{}
		for _, node := range nodes {
			batches[node.BatchNo] = node
			Expect(node.State).To(Equal("POST_AOP_FINISH"))
			Expect(node.FinishCalls).To(Equal(1))
			Expect(node.PollCalls).To(BeZero(), "the verdicts came by themselves")
			Expect(node.Locations).To(HaveLen(1))
			Expect(node.Locations[0]).To(MatchRegexp(`^\{"app":"sleep","hostName":"sleep-.*","ip":".*","namespace":"` + namespace + `","pod":"sleep-.*","workSpace":"default"\}$`))
		}
		Expect(batches[0].LastBatchTag).To(Equal("not_last"))
		Expect(batches[2].LastBatchTag).To(Equal("last"))
		Expect(batches[2].TotalBatchNum).To(Equal(3))
	})

	It("is suspended with the reason when its third pod fails, and a repair closes both orders", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.AddRule(altershield.Rule{
			Name: "error rate", Message: "5xx above 1%", Stage: "POST", Batch: ptr.To(2), Verdict: "FAIL", Remaining: 1,
		})
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		name := currentName(ctx, namespace, "sleep")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(name, "Suspend"))
		failed := workload(ctx, namespace, name).Status.DefenseCheckFailPods
		Expect(failed).To(HaveLen(1))
		Expect(failed[0].Verdict).To(BeEquivalentTo("unpass"))
		Expect(failed[0].Message).To(Equal("error rate: 5xx above 1%"))
		output, err := kubectl(ctx, "-n", namespace, "describe", "changeworkload", name)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("pod " + failed[0].Pod + " failed its check: error rate: 5xx above 1%"))
		Eventually(eventsIn(ctx, namespace)).Should(ContainElement(HavePrefix("ReleaseSuspended: ")))
		Eventually(denialOf(ctx, namespace, "test")).Should(ContainSubstring("error rate: 5xx above 1%"))
		Expect(ordersOf(namespace)).To(HaveExactElements("open"))

		output, err = kubectl(ctx, "-n", namespace, "label", "deployment", "sleep", "altershield.defense.antgroup.com/ignored-suspend=true")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("CANCEL", "SUCCESS"))
		Eventually(releases(ctx, namespace)).Should(HaveLen(1))
	})

	It("ends with ROLLBACK when the Deployment goes back to a verified version", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		server.AddRule(altershield.Rule{Name: "error rate", Stage: "POST", Deployment: namespace + "/sleep", Verdict: "FAIL", Remaining: 1})
		output, err := release(ctx, namespace, "bad")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		output, err = release(ctx, namespace, "123")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS", "ROLLBACK", "SUCCESS"))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
	})

	It("ends with ROLLBACK when its pods don't run, and the version before is checked again", func(ctx context.Context) {
		patient(ctx)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := patchSleep(ctx, namespace, missingImage)
		Expect(err).NotTo(HaveOccurred(), output)
		losePatience(ctx, func() { Eventually(released(ctx, namespace)).Should(Equal(firstVersion)) })
		backAtFirst(ctx, namespace)
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS", "ROLLBACK", "SUCCESS"))
	})

	It("fails when the check before a batch fails: that counts as an explicit fail", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.AddRule(altershield.Rule{Name: "change freeze", Message: "until Monday", Stage: "PRE", Verdict: "INCONC"})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PreFailed"))
		Expect(changePods(ctx, namespace)[0].Status.PodResults[0].Message).To(Equal("change freeze: until Monday"))
	})

	It("is Failed when the server refuses its order, with the reason", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{
			Kind: altershield.FaultRefuse, Actions: []string{altershield.ActionSubmitOrder}, Code: "101", Message: "changeSceneKey not found",
		})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(func() map[string]string { return releases(ctx, namespace)() }).Should(ContainElement("Failed"))
		name := currentName(ctx, namespace, "sleep")
		Expect(ordered(ctx, namespace, name)()).To(Equal("False OrderRefused"))
		Expect(reasonOf(ctx, namespace, name)).To(Equal("OrderRefused"))
		Eventually(eventsIn(ctx, namespace)).Should(ContainElement(And(HavePrefix("OrderRefused: "), ContainSubstring("changeSceneKey not found"))))
		Consistently(changePods).WithArguments(ctx, namespace).Should(BeEmpty(), "no checks until the version changes")

		server.ClearFaults()
		output, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS"))
	})

	It("passes unasked while the server has its checks switched off", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetSwitch(false)
		metricsShow(ctx, "altershield_server_checks_switched_off 1")
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PreFailed"))
		Expect(reason(changePods(ctx, namespace)[0].Status.Conditions, "Verified")).To(Equal("CheckSwitchedOff"))
		Expect(ordersOf(namespace)).To(BeEmpty())
		server.SetSwitch(true)
		metricsShow(ctx, "altershield_server_checks_switched_off 0")
	})

	It("is cancelled at the server when its Deployment is deleted", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(steps(ctx, namespace)).Should(HaveExactElements("PreSubmitted "))
		Expect(kube.Delete(ctx, get(ctx, namespace, "sleep"))).To(Succeed())
		Eventually(releases(ctx, namespace)).Should(BeEmpty())
		Expect(ordersOf(namespace)).To(HaveExactElements("CANCEL"))
	})

	It("does not hold up the deletion of its Deployment for more than a minute when the server is dead", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1), neverReady))).To(Succeed())
		Eventually(ordersOf).WithArguments(namespace).Should(HaveLen(1))
		server.SetFault(altershield.Fault{Kind: altershield.FaultDown})
		Expect(kube.Delete(ctx, get(ctx, namespace, "sleep"))).To(Succeed())
		Eventually(func() []string {
			var waiting []string
			for name := range releases(ctx, namespace)() {
				waiting = append(waiting, name)
			}
			return waiting
		}).Should(BeEmpty())
		Expect(ordersOf(namespace)).To(HaveExactElements("open"), "the server was not reachable")
	})

	It("is one order for each release: A, B, A are three", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		for number, value := range []string{"B", "123"} {
			output, err := release(ctx, namespace, value)
			Expect(err).NotTo(HaveOccurred(), output)
			Eventually(ordersOf).WithArguments(namespace).Should(And(HaveLen(number+2), HaveEach("SUCCESS")))
		}
		ids := map[string]bool{}
		for _, order := range server.Orders() {
			ids[order.BizExecOrderID] = true
		}
		Expect(ids).To(HaveLen(len(server.Orders())))
	})
})
