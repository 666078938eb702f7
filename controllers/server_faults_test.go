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
	"github.com/traas-stack/altershield-operator/hack/altershield"
)

var _ = Describe("While AlterShield Server misbehaves", Ordered, ContinueOnFailure, func() {
	checkedByServer()

	// seen is the state of the only batch of a release: its status, message and reason.
	seen := func(ctx context.Context, namespace string) func() string {
		return func() string {
			for _, changePod := range changePods(ctx, namespace) {
				return fmt.Sprintf("%s %s %s", changePod.Status.Status, changePod.Status.Message, reason(changePod.Status.Conditions, "Verified"))
			}
			return ""
		}
	}
	passes := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		verified(ctx, namespace, "sleep")
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS"))
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PostFinish"))
	}

	DescribeTable("a release waits at its order, and goes on when the server is back", slow,
		func(ctx context.Context, fault altershield.Fault, why string) {
			namespace := controlledNamespace(ctx)
			fault.Actions = []string{altershield.ActionSubmitOrder}
			server.SetFault(fault)
			Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
			Eventually(seen(ctx, namespace)).Should(Equal("PreWait  AwaitingOrder"))
			name := currentName(ctx, namespace, "sleep")
			Eventually(ordered(ctx, namespace, name)).Should(Equal("Unknown " + why))
			Expect(releases(ctx, namespace)()).To(HaveKeyWithValue(name, "Running"))
			Eventually(eventsIn(ctx, namespace)).Should(ContainElement(HavePrefix("ServerUnavailable: ")))
			Expect(changePods(ctx, namespace)[0].Status.Deadline).NotTo(BeNil())

			server.ClearFaults()
			passes(ctx, namespace)
			Expect(nodesOf(namespace)).To(HaveLen(1))
		},
		Entry("server down", altershield.Fault{Kind: altershield.FaultDown}, "ServerUnavailable"),
		Entry("HTTP 500", altershield.Fault{Kind: altershield.FaultStatus, HTTPStatus: 500}, "ServerUnavailable"),
		Entry("200 with an empty body", altershield.Fault{Kind: altershield.FaultEmpty}, "ServerUnavailable"),
		Entry("200 with a page of HTML", altershield.Fault{Kind: altershield.FaultHTML}, "ServerUnavailable"),
		Entry("a wrong token", altershield.Fault{Kind: altershield.FaultRefuse, Code: "102", Message: "authentication request fail"}, "Unauthorized"),
		Entry("an overloaded server", altershield.Fault{Kind: altershield.FaultRefuse, Code: "104", Message: "access limit exceeded"}, "ServerUnavailable"),
		Entry("a server error", altershield.Fault{Kind: altershield.FaultRefuse, Code: "901", Message: "system error"}, "ServerUnavailable"),
	)

	DescribeTable("a batch waits at the start of its check, and goes on when the server is back", slow,
		func(ctx context.Context, fault altershield.Fault) {
			namespace := controlledNamespace(ctx)
			fault.Actions = []string{altershield.ActionStartBatch}
			server.SetFault(fault)
			Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
			Eventually(seen(ctx, namespace)).Should(Equal("PreWait  ServerUnavailable"))
			server.ClearFaults()
			passes(ctx, namespace)
			Expect(nodesOf(namespace)).To(HaveLen(1))
		},
		Entry("server down", altershield.Fault{Kind: altershield.FaultDown}),
		Entry("200 with an empty body", altershield.Fault{Kind: altershield.FaultEmpty}),
	)

	It("a batch waits at its report, and is reported once when the server is back", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultDown, Actions: []string{altershield.ActionFinishBatch}})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(seen(ctx, namespace)).Should(Equal("PostWait  ServerUnavailable"))
		server.ClearFaults()
		passes(ctx, namespace)
		Expect(finishes(namespace)).To(HaveExactElements("000"))
	})

	It("a verified release keeps its order open until the server can be reached", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultDown, Actions: []string{altershield.ActionFinishOrder}})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		name := verified(ctx, namespace, "sleep").Name
		Expect(ordered(ctx, namespace, name)()).To(Equal("True OrderUnfinished"))
		server.ClearFaults()
		Eventually(ordered(ctx, namespace, name)).Should(Equal("True OrderFinished"))
		Expect(ordersOf(namespace)).To(HaveExactElements("SUCCESS"))
	})

	DescribeTable("a lost answer loses nothing",
		func(ctx context.Context, action string, nodes int) {
			namespace := controlledNamespace(ctx)
			// The delay is longer than a check takes: a report just after the verdict, which no poll has found yet, would wipe it out.
			server.SetFault(altershield.Fault{Kind: altershield.FaultDrop, Actions: []string{action}, Remaining: 1, Delay: 200 * time.Millisecond})
			Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
			passes(ctx, namespace)
			Expect(nodesOf(namespace)).To(HaveLen(nodes))
			last := nodesOf(namespace)[nodes-1]
			Expect(last.State).To(Equal("POST_AOP_FINISH"), "a report after the verdict would have wiped it out")
		},
		Entry("of the order", altershield.ActionSubmitOrder, 1),
		Entry("of the start of a check, which then begins twice", altershield.ActionStartBatch, 2),
		Entry("of the report of a batch", altershield.ActionFinishBatch, 1),
		Entry("of the end of an order", altershield.ActionFinishOrder, 1),
	)

	It("a report whose answer was lost is not sent again once its check is over", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionFinishBatch}})
		server.SetFault(altershield.Fault{Kind: altershield.FaultDrop, Actions: []string{altershield.ActionFinishBatch}})
		server.SetFault(altershield.Fault{Kind: altershield.FaultDown, Actions: []string{altershield.ActionRetrieveCheck}, Remaining: 2})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		passes(ctx, namespace)
		Expect(finishes(namespace)).To(HaveExactElements("000"))
	})

	It("a pass before the batch that got lost is picked up at the deadline", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionStartBatch}})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(seen(ctx, namespace)).Should(Equal("PreSubmitted  Verifying"))
		Eventually(nodeStates).WithArguments(namespace).Should(HaveExactElements("PRE_AOP_FINISH"))
		expire(ctx, namespace, changePods(ctx, namespace)[0].Name)
		passes(ctx, namespace)
	})

	It("a pass after the batch that got lost is picked up at the deadline", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionFinishBatch}})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(seen(ctx, namespace)).Should(Equal("PostSubmitted  Verifying"))
		Eventually(nodeStates).WithArguments(namespace).Should(HaveExactElements("POST_AOP_FINISH"))
		expire(ctx, namespace, changePods(ctx, namespace)[0].Name)
		passes(ctx, namespace)
	})

	It("a polled fail never fails a release: the server reports fail for running checks", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{Kind: altershield.FaultStageTimeout, Actions: []string{altershield.ActionFinishBatch}})
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionFinishBatch}})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(nodeStates).WithArguments(namespace).Should(HaveExactElements("POST_AOP_TIMEOUT"))
		Eventually(seen(ctx, namespace)).Should(Equal("PostSubmitted  Verifying"))
		expire(ctx, namespace, changePods(ctx, namespace)[0].Name)
		verified(ctx, namespace, "sleep")
		Expect(seen(ctx, namespace)()).To(Equal("ExecuteDone PostTimeout CheckTimeout"))
		Eventually(eventsIn(ctx, namespace)).Should(ContainElement(
			ContainSubstring("the check after the batch gave no verdict within 120 seconds: the pods count as passed")))
	})

	It("a bad verdict that comes after its deadline still suspends", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.AddRule(altershield.Rule{Name: "slow analysis", Message: "memory grows", Stage: "POST", Verdict: "FAIL"})
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Actions: []string{altershield.ActionFinishBatch}})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(nodeStates).WithArguments(namespace).Should(HaveExactElements("POST_AOP_FINISH"))
		Eventually(seen(ctx, namespace)).Should(Equal("PostSubmitted  Verifying"))
		expire(ctx, namespace, changePods(ctx, namespace)[0].Name)
		verified(ctx, namespace, "sleep")
		answer := post(ctx, callbackOf(nodesOf(namespace)[0], "POST", "fail"))
		Expect(answer.status).To(Equal(200))
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
	})

	It("a refused check lets the batch pass, with an Event", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{
			Kind: altershield.FaultRefuse, Actions: []string{altershield.ActionStartBatch}, Code: "101", Message: "illegal start notify request type",
		})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(seen(ctx, namespace)()).To(Equal("ExecuteDone PreFailed CheckRefused"))
		Eventually(eventsIn(ctx, namespace)).Should(ContainElement(And(HavePrefix("BatchNotChecked: "), ContainSubstring("illegal start notify request type"))))
		token := metricsToken(ctx)
		Eventually(func() string {
			_, shown := scrape(ctx, token)
			return shown
		}).Should(MatchRegexp(`altershield_batches_not_checked_total\{message="PreFailed"\} [1-9]`))
	})

	It("a hanging server delays nothing else: a suspension by hand takes effect", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		name := verified(ctx, namespace, "sleep").Name
		server.SetFault(altershield.Fault{Kind: altershield.FaultHang})
		crowd := controlledNamespace(ctx)
		for i := range 30 {
			Expect(kube.Create(ctx, sleep(crowd, alone(fmt.Sprintf("app-%d", i)), replicas(1)))).To(Succeed())
		}
		Eventually(ordered(ctx, crowd, currentName(ctx, crowd, "app-29"))).Should(Equal("Unknown ServerUnavailable"))
		fail(ctx, namespace, name+"--x--1")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		server.ClearFaults()
		Eventually(func() int { return count(releases(ctx, crowd)(), "Success") }).Should(Equal(30))
	})

	DescribeTable("a manager that is killed goes on where it was", slow,
		func(ctx context.Context, action string) {
			namespace := controlledNamespace(ctx)
			killed := make(chan struct{})
			armed := true // guarded by the hook's lock
			onCall.set(func(call altershield.Call) {
				if armed && call.Action == action && call.BizExecOrderID != "" {
					armed = false
					Expect(manager.Kill(ctx)).To(Succeed())
					close(killed)
				}
			})
			Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
			Eventually(killed).Should(BeClosed())
			Expect(manager.Start(ctx)).To(Succeed())
			// The server calls back only once. A verdict that was lost is found by polling at the deadline.
			expireLost(ctx, namespace)
			verified(ctx, namespace, "sleep")
			Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS"))
			expectEveryPodOnce(ctx, namespace, 2)
			for _, node := range nodesOf(namespace) {
				Expect(node.State).NotTo(Equal("POST_AOP_SUBMIT"), "nothing may be reported after its verdict")
			}
		},
		Entry("after the order", altershield.ActionSubmitOrder),
		Entry("after the start of a check", altershield.ActionStartBatch),
		Entry("after the report of a batch", altershield.ActionFinishBatch),
		Entry("after the end of the order", altershield.ActionFinishOrder),
	)

	DescribeTable("a manager that is killed after a write goes on where it was", slow,
		func(ctx context.Context, kind client.ObjectList, reached func(client.Object) bool) {
			namespace := controlledNamespace(ctx)
			watch, err := kube.Watch(ctx, kind, client.InNamespace(namespace))
			Expect(err).NotTo(HaveOccurred())
			defer watch.Stop()
			Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
			Eventually(func() bool {
				event := <-watch.ResultChan()
				object, ok := event.Object.(client.Object)
				return ok && reached(object)
			}).Should(BeTrue())
			Expect(manager.Kill(ctx)).To(Succeed())
			Expect(manager.Start(ctx)).To(Succeed())
			expireLost(ctx, namespace)
			verified(ctx, namespace, "sleep")
			Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS"))
			expectEveryPodOnce(ctx, namespace, 2)
		},
		Entry("of the record", &appv1alpha1.ChangeWorkloadList{}, func(object client.Object) bool { return true }),
		Entry("of the open order", &appv1alpha1.ChangeWorkloadList{}, workloadIs("Running")),
		Entry("of a batch", &appv1alpha1.ChangePodList{}, func(object client.Object) bool { return true }),
		Entry("of the start of a check", &appv1alpha1.ChangePodList{}, changePodIs("PreSubmitted")),
		Entry("of the verdict before the batch", &appv1alpha1.ChangePodList{}, changePodIs("PostWait")),
		Entry("of the report", &appv1alpha1.ChangePodList{}, changePodIs("PostSubmitted")),
		Entry("of the verdict after the batch", &appv1alpha1.ChangePodList{}, changePodIs("ExecuteDone")),
		Entry("of the outcome", &appv1alpha1.ChangeWorkloadList{}, workloadIs("Success")),
	)
})

func workloadIs(status string) func(client.Object) bool {
	return func(object client.Object) bool {
		workload, ok := object.(*appv1alpha1.ChangeWorkload)
		return ok && string(workload.Status.Status) == status
	}
}

func changePodIs(status string) func(client.Object) bool {
	return func(object client.Object) bool {
		changePod, ok := object.(*appv1alpha1.ChangePod)
		return ok && string(changePod.Status.Status) == status
	}
}

// finishes returns the responses to the reports of a namespace's batches, without dropped ones.
func finishes(namespace string) []string {
	own := map[string]bool{}
	for _, node := range nodesOf(namespace) {
		own[node.ID] = true
	}
	var answers []string
	for _, call := range server.Calls() {
		if call.Action == altershield.ActionFinishBatch && own[call.NodeID] && call.Fault != altershield.FaultDown {
			answers = append(answers, call.ResultCode)
		}
	}
	return answers
}

func nodeStates(namespace string) []string {
	var states []string
	for _, node := range nodesOf(namespace) {
		states = append(states, node.State)
	}
	return states
}

// expireLost waits until no check runs at the server, and then ends the waits for lost verdicts.
func expireLost(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(func() int {
		waiting := 0
		for _, changePod := range changePods(ctx, namespace) {
			status := string(changePod.Status.Status)
			if status != "ExecuteDone" {
				waiting++
			}
			if (status == "PreSubmitted" || status == "PostSubmitted") && isOver(changePod.Status.ChangePodID) {
				expire(ctx, namespace, changePod.Name)
			}
		}
		if waiting == 0 && count(releases(ctx, namespace)(), "Success") == 0 {
			waiting++
		}
		return waiting
	}).Should(BeZero())
}

// isOver reports whether the server has sent the verdict of the current stage of a node and got no response.
func isOver(id string) bool {
	for _, node := range server.Nodes() {
		if node.ID == id && len(node.Callbacks) > 0 {
			last := node.Callbacks[len(node.Callbacks)-1]
			return last.Error != "" && (last.Stage == "PRE") == (node.State == "PRE_AOP_FINISH")
		}
	}
	return false
}

func count(releases map[string]string, status string) int {
	number := 0
	for _, each := range releases {
		if each == status {
			number++
		}
	}
	return number
}
