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
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	verifier "github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
	"github.com/traas-stack/altershield-operator/hack/altershield"
)

func (k *kit) submitted() int { return len(k.server.Orders()) }

func TestFaultDownClosesTheConnection(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.server.SetFault(altershield.Fault{Kind: "down"})
	_, err := k.try(t.Context(), "submitChangeExecOrder", orderBody("o1"))
	k.Expect(err).To(MatchError(ContainSubstring("EOF")))
	k.Expect(k.submitted()).To(Equal(0))
	k.server.ClearFaults()
	k.submit("o1")
	k.Expect(k.server.Calls()).To(HaveLen(2))
	k.Expect(k.server.Calls()[0].Fault).To(Equal(altershield.FaultDown))
	k.Expect(k.server.Calls()[0].ResultCode).To(BeEmpty())
	k.Expect(k.server.Calls()[1].ResultCode).To(Equal("000"))
}

func TestFaultHangEndsWhenTheClientGivesUp(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.server.SetFault(altershield.Fault{Kind: "hang"})
	ctx, giveUp := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := k.try(ctx, "submitChangeExecOrder", orderBody("o1"))
		failed <- err
	}()
	k.Eventually(k.server.Calls).WithTimeout(patience).Should(HaveLen(1))
	k.Expect(failed).NotTo(Receive())
	giveUp()
	k.Eventually(failed).WithTimeout(patience).Should(Receive(MatchError(context.Canceled)))
	k.Expect(k.submitted()).To(Equal(0))
}

func TestFaultHangAnswersAfterItsDelay(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.server.SetFault(altershield.Fault{Kind: "hang", Delay: soon})
	k.submit("o1")
	k.Expect(k.submitted()).To(Equal(1))
}

func TestFaultAnswersInPlaceOfTheServer(t *testing.T) {
	for _, row := range []struct {
		fault altershield.Fault
		want  answer
		code  string
	}{
		{altershield.Fault{Kind: "refuse", Code: "104", Message: "too fast"}, refused("104", "too fast"), "104"},
		{altershield.Fault{Kind: "status", HTTPStatus: 500}, answer{500, "<html><body>Internal Server Error</body></html>"}, ""},
		{altershield.Fault{Kind: "empty"}, answer{200, ""}, ""},
		{altershield.Fault{Kind: "html"}, answer{200, "<html><body>Welcome</body></html>"}, ""},
	} {
		t.Run(string(row.fault.Kind), func(t *testing.T) {
			k := newKit(t, altershield.Options{OnCall: func(altershield.Call) { t.Error("the call took effect") }})
			k.server.SetFault(row.fault)
			k.Expect(k.call("submitChangeExecOrder", orderBody("o1"))).To(Equal(row.want))
			k.Expect(k.submitted()).To(Equal(0))
			k.Expect(k.server.Calls()[0].HTTPStatus).To(Equal(row.want.status))
			k.Expect(k.server.Calls()[0].ResultCode).To(Equal(row.code))
		})
	}
}

func TestFaultDropLetsTheCallTakeEffect(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.server.SetFault(altershield.Fault{Kind: "drop", Remaining: 1, Delay: 20 * time.Millisecond})
	began := time.Now()
	_, err := k.try(t.Context(), "submitChangeExecOrder", orderBody("o1"))
	k.Expect(time.Since(began)).To(BeNumerically(">=", 20*time.Millisecond))
	k.Expect(err).To(MatchError(ContainSubstring("EOF")))
	k.Expect(k.submitted()).To(Equal(1))
	k.Expect(k.server.Calls()[0].ResultCode).To(Equal("000"))
	k.Expect(k.call("submitChangeExecOrder", orderBody("o1"))).To(beException("106", "Duplicate entry 'kubernetes-o1' for key 'altershield_exe_change_order.uk_order_id'"))
}

func TestFaultIsForSomeCallsAndSoManyOfThem(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	k.server.SetFault(altershield.Fault{Kind: "status", HTTPStatus: 503, Actions: []string{"retrieveChangeCheck"}, Remaining: 2})
	node := k.started()
	k.Expect(k.poll(node, "PRE").status).To(Equal(503))
	k.Expect(k.poll(node, "PRE").status).To(Equal(503))
	k.Expect(k.poll(node, "PRE").status).To(Equal(200))
}

func TestFaultCallbackTwice(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	k.server.SetFault(altershield.Fault{Kind: "callback-twice"})
	k.started()
	k.Expect(k.received().body).To(Equal(k.received().body))
}

func TestFaultCallbackLost(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: soon})
	k.server.SetFault(altershield.Fault{Kind: "callback-lost", Actions: []string{"submitChangeExecBatchStartNotify"}})
	node := k.started()
	k.reaches("PRE_AOP_FINISH")
	k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledPass, node)))
	k.finish(node)
	k.Expect(k.received().body).To(Equal(callbackText("POST", node, passed)), "the first one to come")
}

func TestFaultCallbackEarly(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: soon})
	k.server.SetFault(altershield.Fault{Kind: "callback-early"})
	node := k.started()
	k.Expect(k.callbacks).To(HaveLen(1))
	k.Expect(k.server.Nodes()[0].Callbacks[0].Answer).To(Equal(`{"success":true}`))
	k.finish(node)
	k.Expect(k.callbacks).To(HaveLen(2))
}

func TestFaultCallbackLate(t *testing.T) {
	t.Run("and come", func(t *testing.T) {
		k := newKit(t, altershield.Options{PreDelay: soon})
		k.server.SetFault(altershield.Fault{Kind: "callback-late", Delay: soon})
		node := k.started()
		k.Expect(k.received().body).To(Equal(callbackText("PRE", node, passed)))
	})
	t.Run("while the stage has ended", func(t *testing.T) {
		k := newKit(t, altershield.Options{PreDelay: soon})
		k.server.SetFault(altershield.Fault{Kind: "callback-late", Delay: never})
		node := k.started()
		k.reaches("PRE_AOP_FINISH")
		k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledPass, node)))
		k.server.Close()
		k.Expect(k.callbacks).To(BeEmpty())
	})
}

func TestFaultCallbackWrongSign(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	k.server.SetFault(altershield.Fault{Kind: "callback-wrong-sign", Remaining: 1})
	k.started()
	wrong := k.received()
	good := verifier.Sign(wrong.header.Get("X-AlterShield-Timestamp"), []byte(wrong.body), "altershield-operator")
	k.Expect(wrong.header.Get("X-AlterShield-Sign")).To(HaveLen(len(good)))
	k.Expect(wrong.header.Get("X-AlterShield-Sign")).NotTo(Equal(good))
}

func TestFaultStageTimeoutPassesTheCallbackAndFailsPolls(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: soon})
	k.server.AddRule(altershield.Rule{Stage: "PRE", Verdict: "FAIL", Remaining: 1})
	k.server.SetFault(altershield.Fault{Kind: "stage-timeout"})
	const timedOut = `"verdict":{"allFinish":true,"checkPass":true,"emergency":false,"rollback":false,"verdict":"pass"}}`
	node := k.started()
	k.Expect(k.received().body).To(Equal(callbackText("PRE", node, timedOut)))
	k.Expect(k.server.Nodes()[0].State).To(Equal("PRE_AOP_TIMEOUT"))
	k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledFail, node)))
	k.Expect(k.server.Rules()).To(HaveLen(1), "no rule was checked")

	k.Expect(k.finish(node).body).To(succeeds())
	k.Expect(k.received().body).To(Equal(callbackText("POST", node, timedOut)))
	k.Expect(k.server.Nodes()[0].State).To(Equal("POST_AOP_TIMEOUT"))
	k.Expect(k.finish(node).body).To(succeeds())
	k.Expect(k.server.Nodes()[0].State).To(Equal("POST_AOP_SUBMIT"))
}
