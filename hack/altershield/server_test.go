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
	"bytes"
	"context"
	"net"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

func TestCallsAreKeptInTheirOrder(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	node := k.started()
	k.poll(node, "PRE")
	k.finish(node)
	k.call("retrieveChangeCheck", "{")
	type line struct{ action, order, node, stage, code, message string }
	var lines []line
	for _, call := range k.server.Calls() {
		k.Expect(call.Time.IsZero()).To(BeFalse())
		lines = append(lines, line{call.Action, call.BizExecOrderID, call.NodeID, string(call.Stage), call.ResultCode, call.Message})
	}
	k.Expect(lines).To(Equal([]line{
		{"submitChangeExecOrder", "o1", "", "", "000", ""},
		{"submitChangeExecBatchStartNotify", "o1", node, "", "000", ""},
		{"retrieveChangeCheck", "o1", node, "PRE", "000", ""},
		{"submitChangeFinishNotify", "o1", node, "", "103", "402:[402:change service dose not support this operate]unsupported operation in PRE_AOP, nodeId=" + node},
		{"retrieveChangeCheck", "", "", "", "", "unexpected end of JSON input"},
	}))
}

func TestEndpointCallsTheHookBeforeItAnswers(t *testing.T) {
	reached, goOn := make(chan altershield.Call), make(chan struct{})
	k := newKit(t, altershield.Options{OnCall: func(call altershield.Call) {
		reached <- call
		<-goOn
	}})
	answered := make(chan answer, 1)
	go func() { answered <- k.call("submitChangeExecOrder", orderBody("o1")) }()
	var call altershield.Call
	k.Eventually(reached).WithTimeout(patience).Should(Receive(&call))
	k.Expect(call.Action).To(Equal("submitChangeExecOrder"))
	k.Expect(call.ResultCode).To(Equal("000"))
	k.Expect(k.server.Orders()).To(HaveLen(1), "it has taken effect")
	k.Expect(answered).NotTo(Receive())
	close(goOn)
	k.Eventually(answered).WithTimeout(patience).Should(Receive())
}

func TestServerLogsALineForEachCallAndCallback(t *testing.T) {
	log := &bytes.Buffer{}
	k := newKit(t, altershield.Options{PreDelay: soon, Log: log})
	k.server.SetFault(altershield.Fault{Kind: "callback-early"})
	node := k.started()
	k.server.Close()
	k.Expect(log.String()).To(MatchRegexp(`^[0-9:.]+ submitChangeExecOrder  order o1  node -  stage -  -> HTTP 200  000\n`))
	k.Expect(log.String()).To(ContainSubstring("callback PRE pass  order o1  node " + node + "  -> HTTP 200  {\"success\":true}\n"))
	k.Expect(bytes.Count(log.Bytes(), []byte("\n"))).To(Equal(3))
}

func TestServeAgainKeepsTheState(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: never})
	serve := func() (stop func() error) {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		k.Expect(err).NotTo(HaveOccurred())
		k.url = "http://" + listener.Addr().String()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- k.server.Serve(ctx, listener) }()
		return func() error {
			cancel()
			return <-ended
		}
	}
	stop := serve()
	node := k.started()
	k.Expect(stop()).To(Succeed())
	_, err := k.try(t.Context(), "submitChangeExecOrder", orderBody("o1"))
	k.Expect(err).To(HaveOccurred())

	stop = serve()
	k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledFail, node)))
	k.server.SetFault(altershield.Fault{Kind: "hang"})
	failed := make(chan error, 1)
	go func() {
		_, err := k.try(context.Background(), "submitChangeExecOrder", orderBody("o2"))
		failed <- err
	}()
	k.Eventually(k.server.Calls).WithTimeout(patience).Should(HaveLen(4))
	k.Expect(stop()).To(Succeed(), "what hangs doesn't hold it up")
	k.Eventually(failed).WithTimeout(patience).Should(Receive(HaveOccurred()))
}

func TestBeginDoesNothingAfterClose(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	k.server.Close()
	k.started()
	k.Expect(k.server.Nodes()[0].State).To(Equal("PRE_AOP_SUBMIT"))
}
