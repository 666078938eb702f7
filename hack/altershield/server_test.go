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
	"io"
	"net"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	verifier "github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
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
	stop := k.serve(t.Context())
	node := k.started()
	k.Expect(stop()).To(Succeed())
	_, err := k.try(t.Context(), "submitChangeExecOrder", orderBody("o1"))
	k.Expect(err).To(HaveOccurred())

	stop = k.serve(t.Context())
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

// An HTTP client may open a connection that it never uses. net/http takes it for busy for more than five seconds.
func TestServeEndsInSpiteOfAConnectionWithoutACall(t *testing.T) {
	k := newKit(t, altershield.Options{})
	stop := k.serve(t.Context())
	connection, err := net.Dial("tcp", strings.TrimPrefix(k.url, "http://"))
	k.Expect(err).NotTo(HaveOccurred())
	defer connection.Close()
	k.started() // by then the server has accepted the connection before
	k.Expect(stop()).To(Succeed())
	_, err = connection.Read(make([]byte, 1))
	k.Expect(err).To(MatchError(io.EOF))
}

func TestBeginDoesNothingAfterClose(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	k.server.Close()
	k.started()
	k.Expect(k.server.Nodes()[0].State).To(Equal("PRE_AOP_SUBMIT"))
}

func TestDenialOfARequestThatIsNotAuthentic(t *testing.T) {
	body := orderBody("o1")
	good := verifier.Sign("1700000000", []byte(body), "altershield-operator")
	for _, row := range []struct{ name, platform, timestamp, sign, body, message string }{
		{"a good sign", "kubernetes", "1700000000", good, body, ""},
		{"a good sign, with line ends that aren't signed", "kubernetes", "1700000000", good, "\r\n" + body + "\n", ""},
		{"a timestamp that isn't signed as it is written", "kubernetes", "+01700000000", good, body, ""},
		{"no platform", "", "1700000000", good, body, "authentication request fail"},
		{"no timestamp", "kubernetes", "", good, body, "authentication request fail"},
		{"no sign", "kubernetes", "1700000000", "", body, "authentication request fail"},
		{"another platform", "other", "1700000000", good, body, "authentication request fail"},
		{"another time", "kubernetes", "1700000001", good, body, "authentication request fail"},
		{"another body", "kubernetes", "1700000000", good, orderBody("o2"), "authentication request fail"},
		{"a sign in lower case", "kubernetes", "1700000000", strings.ToLower(good), body, "authentication request fail"},
		{"another token", "kubernetes", "1700000000", verifier.Sign("1700000000", []byte(body), "x"), body, "authentication request fail"},
		{"a time that is no number", "kubernetes", "now", good, body, `authentication request fail For input string: "now"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			k := newKit(t, altershield.Options{})
			got := k.ask("POST", submitPath, row.body, row.platform, row.timestamp, row.sign)
			if row.message == "" {
				k.Expect(got.body).To(succeeds())
				return
			}
			k.Expect(got).To(Equal(refused("102", row.message)))
			k.Expect(k.server.Orders()).To(BeEmpty())
		})
	}
}

func TestSkipAuthTakesAnySign(t *testing.T) {
	for sign, wanted := range map[string]OmegaMatcher{"anything": succeeds(), " ": Equal(refused("102", "authentication request fail").body)} {
		k := newKit(t, altershield.Options{SkipAuth: true})
		k.Expect(k.ask("POST", submitPath, orderBody("o1"), "kubernetes", "1700000000000", sign).body).To(wanted)
	}
}

func TestPostValidatesBeforeItAuthenticates(t *testing.T) {
	k := newKit(t, altershield.Options{})
	k.Expect(k.ask("POST", submitPath, with(orderBody("o1"), map[string]any{"creator": nil}))).To(Equal(refused("101", "creator must not be blank")))
}

func TestHeartbeatSignsItsQueryAndReturnsTheSwitches(t *testing.T) {
	k := newKit(t, altershield.Options{})
	heartbeat := func(query, sign string) answer {
		return k.ask("GET", "/openapi/v1/heartbeat/config"+query, "", "kubernetes", "1700000000000", sign)
	}
	const ofNothing, ofPlatform = "XGHRCSUNKXTGO1M0_PEQ4AEKAHUVNOJOXOE5EJYJLOO=", "M81XNLPHC4TQXWWLP31Z5HJB7PVKGAHNJHTDA4Y_0GY="
	k.Expect(heartbeat("?platform=kubernetes", ofNothing)).To(Equal(refused("102", "authentication request fail")))
	k.Expect(heartbeat("?platform=kubernetes", ofPlatform)).To(Equal(answer{status: 200, body: `{"success":true,"resultCode":"000","msg":null,` +
		`"domain":{"OPSCLOUD_CLIENT_SWITCH_CHG_SRV_CHECK":"true","OPSCLOUD_CLIENT_SWITCH_OFF_CHANGE_SCENE_KEYS":""}}`}))
	k.server.SetSwitch(false, "a", "b")
	k.Expect(heartbeat("", ofNothing)).To(Equal(answer{status: 200, body: `{"success":true,"resultCode":"000","msg":null,` +
		`"domain":{"OPSCLOUD_CLIENT_SWITCH_CHG_SRV_CHECK":"false","OPSCLOUD_CLIENT_SWITCH_OFF_CHANGE_SCENE_KEYS":"a,b"}}`}))
}
