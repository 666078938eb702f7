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

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

var _ = Describe("With the failure policy fail", Ordered, ContinueOnFailure, func() {
	checkedByServer("--altershield-failure-policy=fail")

	It("a batch that the server refuses to check suspends its release, with the reason", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{
			Kind: altershield.FaultRefuse, Actions: []string{altershield.ActionStartBatch}, Code: "101", Message: "illegal start notify request type",
		})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PreFailed"))
		Eventually(denialOf(ctx, namespace, "1234")).Should(ContainSubstring("not checked, and the failure policy is fail: AlterShield Server refused"))
	})

	It("an order that the server refuses to check suspends its release before the first step", func(ctx context.Context) {
		web, first := orderedSet(ctx, twoPods, "")
		server.SetFault(altershield.Fault{
			Kind: altershield.FaultRefuse, Actions: []string{altershield.ActionStartOrder}, Code: "101", Message: "illegal start notify request type",
		})
		web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("0/2 True StepFailed"))
		Eventually(web.labels(ctx)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Consistently(running(ctx, web.namespace)).Should(Equal(map[string]int{first: 2}))
	})

	It("a batch without a verdict suspends its release, until a late pass lifts that", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		node := awaited(ctx, namespace, "POST")
		server.SetFault(altershield.Fault{Kind: altershield.FaultDown, Actions: []string{altershield.ActionRetrieveCheck}})
		expire(ctx, namespace, changePods(ctx, namespace)[0].Name)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PostTimeout"))

		Expect(post(ctx, callbackOf(node, "POST", "pass")).body).To(ContainSubstring("the verdict is saved"))
		verified(ctx, namespace, "sleep")
		Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS"))
	})

	It("checks that the server has switched off pass all the same", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetSwitch(true, "another.scene", altershield.DefaultScene)
		metricsShow(ctx, "altershield_server_checks_switched_off 1")
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		server.SetSwitch(true)
		metricsShow(ctx, "altershield_server_checks_switched_off 0")
	})
})
