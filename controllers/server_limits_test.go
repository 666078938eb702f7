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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

// Undocumented behaviour of AlterShield Server v1.0: by default it doesn't verify signatures, checks that start at the same time run
// into deadlocks, and a batch has at most 65,535 bytes.
var _ = Describe("The limits of AlterShield Server", Ordered, ContinueOnFailure, func() {
	checkedByServerWith(altershield.Options{SkipAuth: true, InsertTime: 100 * time.Millisecond})

	It("don't keep a batch from being checked that is too long for one request", slow, func(ctx context.Context) {
		setBranch(ctx, `{"enable":true,"content":"500"}`)
		DeferCleanup(setBranch, `{"enable":false,"content":"10"}`)
		namespace, name := controlledNamespace(ctx), strings.Repeat("d", 180)
		const pods = 200
		Expect(kube.Create(ctx, sleep(namespace, named(name), replicas(pods)))).To(Succeed())
		verified(ctx, namespace, name)

		Expect(steps(ctx, namespace)()).To(And(HaveLen(2), HaveEach("ExecuteDone PostFinish")))
		checked := map[string]bool{}
		for _, node := range nodesOf(namespace) {
			for _, location := range node.Locations {
				checked[location] = true
			}
		}
		Expect(checked).To(HaveLen(pods))
		for _, call := range callsOf(namespace) {
			Expect(call.ResultCode).To(Equal("000"), call.Message)
		}
	})

	It("end the check of a batch for good that was opened too long before", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.SetFault(altershield.Fault{
			Kind: altershield.FaultRefuse, Actions: []string{altershield.ActionStartBatch}, Code: "901",
			Message: "\n### Error updating database.  Cause: com.mysql.cj.jdbc.exceptions.MysqlDataTruncation: Data truncation: Data too long for column 'value' at row 1" +
				"\n### SQL: INSERT INTO altershield_key_value ( id, value ) VALUES ( ?, ? )" +
				"\n### Cause: com.mysql.cj.jdbc.exceptions.MysqlDataTruncation: Data truncation: Data too long for column 'value' at row 1",
		})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PreFailed"))
		Expect(reason(changePods(ctx, namespace)[0].Status.Conditions, "Verified")).To(Equal("CheckRefused"))
		Eventually(eventsIn(ctx, namespace)).Should(ContainElement(And(HavePrefix("BatchNotChecked: "), HaveSuffix(
			": AlterShield Server refused submitChangeExecBatchStartNotify: 901: MysqlDataTruncation: Data truncation: Data too long: the pods count as passed"))))
		starts := 0
		for _, call := range callsOf(namespace) {
			if call.Action == altershield.ActionStartBatch {
				starts++
			}
		}
		Expect(starts).To(Equal(1), "it is never retried")
	})

	It("let releases start their checks at the same time", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		const deployments = 8
		atOnce(deployments, func(i int) {
			Expect(kube.Create(ctx, sleep(namespace, alone(fmt.Sprint("app-", i)), replicas(2)))).To(Succeed())
		})
		Eventually(func() []string { return succeeded(ctx, namespace, 1) }).Should(HaveLen(deployments))
		Expect(steps(ctx, namespace)()).To(And(HaveLen(2*deployments), HaveEach("ExecuteDone PostFinish")))
		deadlocks := 0
		for _, call := range callsOf(namespace) {
			if call.ResultCode == "901" {
				Expect(call.Message).To(ContainSubstring("Deadlock found"))
				deadlocks++
			}
		}
		Expect(deadlocks).To(BeNumerically(">", 0))
		Expect(nodesOf(namespace)).To(HaveLen(2*deployments), "a deadlock leaves nothing behind")
		Eventually(func() []string {
			var states []string
			for _, order := range server.Orders() {
				if isOf(order, namespace) && len(order.Finishes) > 0 {
					states = append(states, order.Status)
				}
			}
			return states
		}).Should(And(HaveLen(deployments), HaveEach("RUNNING")), "it got the calls, and does nothing")
	})

	It("don't lose verdicts that are signed with the token before", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		node := awaited(ctx, namespace, "POST")
		put := func(content string) {
			Expect(os.WriteFile(filepath.Join(settings.Dir, "altershield-token"), []byte(content), 0o600)).To(Succeed())
		}
		DeferCleanup(put, serverToken+"\n")
		put("another-token\r\n\r\nthe-one-after\r\n")
		for _, token := range []string{"another-token", "the-one-after", serverToken} {
			other := callbackOf(altershield.Node{ID: "nobody", BizExecOrderID: "nobody"}, "POST", "fail")
			other.token = token
			Expect(post(ctx, other).status).To(Equal(200), token)
		}
		Expect(post(ctx, callbackOf(node, "POST", "pass")).body).To(ContainSubstring("the verdict is saved"))
		verified(ctx, namespace, "sleep")
		Eventually(ordersOf).WithArguments(namespace).Should(HaveExactElements("SUCCESS"), "the server takes the new token at once")
	})

	It("leave a batch failed whose check before it is run again and passes then", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.AddRule(altershield.Rule{Name: "frozen", Stage: "PRE", Verdict: "FAIL", Remaining: 1})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(steps(ctx, namespace)).Should(HaveExactElements("ExecuteDone PreFailed"))
		node := nodesOf(namespace)[0]
		Expect(post(ctx, callbackOf(node, "PRE", "pass")).body).To(ContainSubstring("the verdict changes nothing"))
		Expect(steps(ctx, namespace)()).To(HaveExactElements("ExecuteDone PreFailed"))
	})
})

// callsOf returns the calls about the orders of a namespace.
func callsOf(namespace string) []altershield.Call {
	var calls []altershield.Call
	for _, call := range server.Calls() {
		if strings.HasPrefix(call.BizExecOrderID, "default/"+namespace+"/") {
			calls = append(calls, call)
		}
	}
	return calls
}
