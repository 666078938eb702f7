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

package altershield_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

const (
	polledPass = `{"finished":true,"verdict":{"verdict":"pass","rollback":false,"emergency":false,"allFinish":true,` +
		`"msg":null,"nodeId":null,"url":null,"rules":null,"checkPass":true},`
	polledFail = `{"finished":true,"verdict":{"verdict":"fail","rollback":false,"emergency":false,"allFinish":true,` +
		`"msg":null,"nodeId":null,"url":null,"rules":null,"checkPass":false},`
)

func polled(domain, node string) answer {
	return answer{status: 200, body: `{"success":true,"resultCode":"000","msg":null,"domain":` + domain + `"url":"` + node + `"}}`}
}

func TestSubmitOrderGivesAnIDOf36CharactersAndTakesAnOrderOnce(t *testing.T) {
	k := newKit(t, altershield.Options{})
	id := k.submit("o1")
	k.Expect(id).To(HaveLen(36))
	k.Expect(k.call("submitChangeExecOrder", orderBody("o1"))).To(beException("106", "Duplicate entry 'kubernetes-o1' for key 'altershield_exe_change_order.uk_order_id'"))
	k.Expect(k.submit("o2")).NotTo(Equal(id))

	orders := k.server.Orders()
	k.Expect(orders).To(HaveLen(2))
	k.Expect(orders[0].BizExecOrderID).To(Equal("o1"))
	k.Expect(orders[0].ID).To(Equal(id))
	k.Expect(orders[0].Title).To(Equal("web"))
	k.Expect(orders[0].ChangeParamJSON).To(Equal(`{"image":"nginx"}`))
	k.Expect(orders[0].ChangeApps).To(Equal([]string{"web"}))
	k.Expect(orders[0].InstanceNames).To(Equal([]string{"default/web"}))
	k.Expect(orders[0].Tenant).To(Equal("default"))
}

func TestOrdersOfDifferentPlatformsMayHaveTheSameID(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.submit("o1")
	k.Expect(k.call("submitChangeExecOrder", with(orderBody("o1"), map[string]any{"platform": "other"})).body).To(succeeds())
	k.Expect(k.server.Orders()).To(HaveLen(2))
}

func TestStartBatchNeedsItsOrder(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.submit("o2")
	k.Expect(k.call("submitChangeExecBatchStartNotify", startBody("o1", 0))).To(Equal(
		refused("101", "none order found for platform:kubernetes, bizExecOrderId:o1")))
	k.Expect(k.server.Nodes()).To(BeEmpty())
}

func TestStartBatchMakesANewNodeEachTime(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	first := k.started()
	got := k.call("submitChangeExecBatchStartNotify", startBody("o1", 0))
	second := k.domain(got)["nodeId"].(string)
	k.Expect(got.body).To(Equal(`{"success":true,"resultCode":"000","msg":null,"domain":{"nodeId":"` + second +
		`","skipCheck":false,"url":""}}`))
	k.Expect(first).To(HaveLen(36))
	k.Expect(second).To(HaveLen(36))
	k.Expect(second).NotTo(Equal(first))

	nodes := k.server.Nodes()
	k.Expect(nodes).To(HaveLen(2))
	k.Expect(nodes[1].ID).To(Equal(second))
	k.Expect(nodes[1].BizExecOrderID).To(Equal("o1"))
	k.Expect(nodes[1].BatchNo).To(Equal(0))
	k.Expect(nodes[1].TotalBatchNum).To(Equal(3))
	k.Expect(nodes[1].LastBatchTag).To(Equal("not_last"))
	k.Expect(nodes[1].LastBatchInChangePhaseTag).To(Equal("not_last"))
	k.Expect(nodes[1].ChangePhase).To(Equal("prod_phase"))
	k.Expect(nodes[1].State).To(Equal("PRE_AOP"))
	k.Expect(nodes[1].Locations).To(Equal([]string{"web-0", "web-1"}), "locations are a set")
}

func TestStartOrderChecksTheOrderAsAWhole(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: soon})
	k.server.AddRule(altershield.Rule{Name: "of batches", Stage: "PRE", Verdict: "FAIL"})
	k.server.AddRule(altershield.Rule{Name: "of orders", Stage: "POST", Order: true, Verdict: "FAIL"})
	start := `{` + baseFields("o1") + `,"executor":"operator","startTime":1700000000000}`
	k.Expect(k.call("submitChangeExecOrderStartNotify", start)).To(Equal(
		refused("101", "none order found for platform:kubernetes, bizExecOrderId:o1")))
	k.submit("o1")
	k.Expect(k.call("submitChangeExecOrderStartNotify", with(start, map[string]any{"executor": nil}))).To(Equal(
		refused("101", "executor must not be blank")))
	node := k.domain(k.call("submitChangeExecOrderStartNotify", start))["nodeId"].(string)
	k.Expect(k.received().body).To(And(ContainSubstring(`"defenseStageEnum":"PRE"`), ContainSubstring(`"verdict":"pass"`),
		HaveSuffix(`"changeCheckType":"CHANGE_ORDER"}`)))

	k.Expect(k.finish(node).body).To(succeeds())
	k.Expect(k.received().body).To(And(ContainSubstring(`"nodeId":"`+node), ContainSubstring(`"name":"of orders"`),
		ContainSubstring(`"defenseStageEnum":"POST"`), HaveSuffix(`"changeCheckType":"CHANGE_ORDER"}`)))
	k.Expect(k.server.Nodes()).To(HaveLen(1))
	k.Expect(k.server.Nodes()[0].OfOrder).To(BeTrue())
	k.Expect(k.server.Orders()[0].Status).To(Equal("RUNNING"))
}

func TestFinishBatchIsRefusedAndRetrieveCheckFailsWhilePreRuns(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	node := k.started()
	k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledFail, node)))
	k.Expect(k.finish(node)).To(Equal(refused("103", "402:[402:change service dose not support this operate]unsupported operation in PRE_AOP, nodeId="+node)))
	k.Expect(k.server.Nodes()[0].State).To(Equal("PRE_AOP"))
	k.Expect(k.server.Nodes()[0].FinishCalls).To(Equal(1))
	k.Expect(k.server.Nodes()[0].PollCalls).To(Equal(1))
}

func TestRetrieveCheckPassesPreAndFailsPostBeforeTheFinish(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	node := k.started()
	k.reaches("PRE_AOP_FINISH")
	k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledPass, node)))
	k.Expect(k.poll(node, "POST")).To(Equal(polled(polledFail, node)))
}

func TestFinishBatchAnswersSkipCheckAndLetsPostRun(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: never})
	node := k.started()
	k.reaches("PRE_AOP_FINISH")
	k.Expect(k.finish(node)).To(Equal(answer{status: 200, body: `{"success":true,"resultCode":"000","msg":null,"domain":{"nodeId":"` +
		node + `","skipCheck":true,"url":""}}`}))
	k.Expect(k.server.Nodes()[0].State).To(Equal("POST_AOP"))
	k.Expect(k.finish(node)).To(Equal(refused("103", "402:[402:change service dose not support this operate]unsupported operation in POST_AOP, nodeId="+node)))
	k.Expect(k.poll(node, "POST")).To(Equal(polled(polledFail, node)))
}

func TestFinishBatchAfterPostPutsTheStateBackWithoutACheck(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: soon})
	node := k.started()
	k.reaches("PRE_AOP_FINISH")
	k.finish(node)
	k.reaches("POST_AOP_FINISH")
	k.received()
	k.received()

	k.Expect(k.finish(node).body).To(ContainSubstring(`"success":true`))
	k.Expect(k.server.Nodes()[0].State).To(Equal("POST_AOP_SUBMIT"), "a check under way would be in POST_AOP")
	k.Expect(k.poll(node, "POST")).To(Equal(polled(polledPass, node)), "the old flag stays")
	k.Expect(k.finish(node)).To(Equal(refused("103", "402:[402:change service dose not support this operate]unsupported operation in POST_AOP_SUBMIT, nodeId="+node)))
	k.server.Close()
	k.Expect(k.callbacks).To(BeEmpty())
	k.Expect(k.server.Nodes()[0].FinishCalls).To(Equal(3))
}

func TestFinishBatchSucceedsAfterAPreThatFailed(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: never})
	k.server.AddRule(altershield.Rule{Name: "frozen", Stage: "PRE", Verdict: "FAIL"})
	node := k.started()
	k.reaches("PRE_AOP_FINISH")
	k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledFail, node)))
	k.Expect(k.finish(node).body).To(succeeds())
}

func TestFinishBatchTakesOtherLocations(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: never})
	node := k.started()
	k.reaches("PRE_AOP_FINISH")
	k.call("submitChangeFinishNotify", `{`+baseFields("o1")+`,"nodeId":"`+node+`","success":false,"effectiveTargetLocations":["web-2"]}`)
	k.Expect(k.server.Nodes()[0].Locations).To(Equal([]string{"web-2"}))
}

func TestNoNodeIsAnsweredWhereTheNodeIsNotThere(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.submit("o1")
	k.Expect(k.poll("n1", "PRE")).To(Equal(refused("103", "node not found")))
	k.Expect(k.finish("n1")).To(Equal(refused("103", "node not found")))
}

func TestFinishOrderKeepsTheState(t *testing.T) {
	k := newKit(t, altershield.Options{})
	body := `{` + baseFields("o1") + `,"finishState":"SUCCESS","msg":"done"}`
	k.Expect(k.call("finishChangeExecOrderAction", body)).To(Equal(
		refused("101", "none order found for platform:kubernetes, bizExecOrderId:o1")))
	k.submit("o1")
	k.Expect(k.call("finishChangeExecOrderAction", body)).To(Equal(
		answer{status: 200, body: `{"success":true,"resultCode":"000","msg":null,"domain":null}`}))
	k.Expect(k.server.Orders()[0].Status).To(Equal("INIT"))
	k.start("o1", 0)
	k.Expect(k.call("finishChangeExecOrderAction", body).body).To(succeeds())
	k.Expect(k.server.Orders()[0].Status).To(Equal("RUNNING"), "the answer is all that happens")
	k.Expect(k.server.Orders()[0].Finishes).To(HaveLen(2))
	k.Expect(k.server.Orders()[0].Finishes[0].State).To(Equal("SUCCESS"))
	k.Expect(k.server.Orders()[0].Finishes[0].Message).To(Equal("done"))
}

func TestNoSceneIsAnsweredWhereTheSceneIsNotThere(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	node := k.started()
	other := map[string]any{"changeSceneKey": "other"}
	noScene := refused("101", "none change scene found for changeSceneKey:other")
	k.Expect(k.call("submitChangeExecOrder", with(orderBody("o2"), other))).To(Equal(noScene))
	k.Expect(k.call("submitChangeExecBatchStartNotify", with(startBody("o1", 0), other))).To(Equal(noScene))
	ofNode := with(`{`+baseFields("o1")+`,"nodeId":"`+node+`","defenseStage":"PRE","finishState":"SUCCESS"}`, other)
	k.Expect(k.call("submitChangeFinishNotify", ofNode)).To(Equal(noScene))
	k.Expect(k.call("retrieveChangeCheck", ofNode)).To(Equal(noScene))
	k.Expect(k.call("finishChangeExecOrderAction", ofNode)).To(Equal(refused("901", "java.lang.NullPointerException: null")), "v1.0 meets a null pointer")
}
