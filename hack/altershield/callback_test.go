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
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	verifier "github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
	"github.com/traas-stack/altershield-operator/hack/altershield"
)

const passed = `"verdict":{"allFinish":true,"checkPass":true,"emergency":false,"rollback":false,"rules":[],"verdict":"pass"}}`

// callbackText returns a callback of o1.
func callbackText(stage, node, verdict string) string {
	return `{"callbackRequest":{"bizExecOrderId":"o1","changeSceneKey":"com.alipay.altershield.kubernetes.rollingupdate",` +
		`"defenseStageEnum":"` + stage + `","nodeId":"` + node + `",` + verdict + `,"changeCheckType":"CHANGE_BATCH"}`
}

func TestDeliverCallsBackAStageThatPasses(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon, PostDelay: soon})
	before := time.Now().UnixMilli()
	node := k.started()
	got := k.received()
	k.Expect(got.body).To(Equal(callbackText("PRE", node, passed)))
	k.Expect(got.header["Content-Type"]).To(Equal([]string{"application/json;UTF-8"}))
	k.Expect(got.header["Accept"]).To(Equal([]string{"application/json;UTF-8"}))
	k.Expect(got.header.Get("X-AlterShield-Platform")).To(Equal("kubernetes"))
	timestamp := got.header.Get("X-AlterShield-Timestamp")
	k.Expect(strconv.ParseInt(timestamp, 10, 64)).To(And(BeNumerically(">=", before), BeNumerically("<=", time.Now().UnixMilli())))
	k.Expect(got.header.Get("X-AlterShield-Sign")).To(Equal(verifier.Sign(timestamp, []byte(got.body), "altershield-operator")))

	k.Expect(k.finish(node).body).To(succeeds())
	k.Expect(k.received().body).To(Equal(callbackText("POST", node, passed)))
	k.Eventually(func() []altershield.Callback { return k.server.Nodes()[0].Callbacks }).WithTimeout(patience).Should(HaveLen(2))
	sent := k.server.Nodes()[0].Callbacks[1]
	k.Expect(sent.Stage).To(Equal(altershield.StagePost))
	k.Expect(sent.Verdict).To(Equal("pass"))
	k.Expect(sent.HTTPStatus).To(Equal(200))
	k.Expect(sent.Answer).To(Equal(`{"success":true}`))
	k.Expect(sent.Body).To(Equal(callbackText("POST", node, passed)))
}

func TestComposeNamesTheRulesOfAStageThatFails(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	k.server.AddRule(altershield.Rule{Name: "error rate", Message: "5xx above 1% & <rising>", Stage: "PRE", Verdict: "FAIL"})
	k.server.AddRule(altershield.Rule{Name: "latency", Stage: "PRE", Verdict: "PASS"})
	node := k.started()
	text := k.received().body
	text = regexp.MustCompile(`"gmt(Start|Finish)":\d{13},`).ReplaceAllString(text, `"gmt$1":<ms>,`)
	text = regexp.MustCompile(`"ruleExeId":"[0-9a-f]{36}"`).ReplaceAllString(text, `"ruleExeId":"<36>"`)
	k.Expect(text).To(Equal(callbackText("PRE", node,
		`"verdict":{"allFinish":true,"checkPass":false,"emergency":false,"rollback":false,"rules":[`+
			`{"allowIgnore":false,"controlKey":"defender_test_plugin","gmtFinish":<ms>,"gmtStart":<ms>,"grayStatus":true,"ignored":false,`+
			`"msg":"5xx above 1% & <rising>","name":"error rate","owner":"altershield","relationId":"error rate","resultJsn":"{}",`+
			`"riskLevel":"BLOCK","ruleExeId":"<36>","stage":"PRE","status":"FAIL","url":"","verdict":"FAIL"},`+
			`{"allowIgnore":false,"controlKey":"defender_test_plugin","gmtFinish":<ms>,"gmtStart":<ms>,"grayStatus":true,"ignored":false,`+
			`"msg":"","name":"latency","owner":"altershield","relationId":"latency","resultJsn":"{}",`+
			`"riskLevel":"BLOCK","ruleExeId":"<36>","stage":"PRE","status":"SUCCESS","url":"","verdict":"PASS"}`+
			`],"verdict":"fail"}}`)))
}

func TestDeliverSendsOnceWhateverTheAnswerAndFourTimesWithoutOne(t *testing.T) {
	answers := map[string]struct {
		answer   http.HandlerFunc
		status   int
		failed   string
		attempts int
	}{
		"an error": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, 500, "", 1},
		"a redirection": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", "/")
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, 307, "", 1},
		"no content":         {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }, 204, "", 1},
		"a wish for another": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"success":false,"retry":true}`) }, 200, "", 1},
		"none":               {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, 0, "EOF", 4},
	}
	for name, row := range answers {
		t.Run(name, func(t *testing.T) {
			calls := make(chan struct{}, 10)
			platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls <- struct{}{}
				row.answer(w, r)
			}))
			t.Cleanup(platform.Close)
			told := make(chan altershield.Callback, 10)
			k := newKit(t, altershield.Options{PreDelay: soon, OnCallback: func(c altershield.Callback) { told <- c }})
			k.server.SetCallbackURL(platform.URL)
			k.started()
			var sent altershield.Callback
			k.Eventually(told).WithTimeout(patience).Should(Receive(&sent))
			k.server.Close()
			k.Expect(calls).To(HaveLen(row.attempts))
			k.Expect(sent.Attempts).To(Equal(row.attempts))
			k.Expect(sent.HTTPStatus).To(Equal(row.status))
			k.Expect(sent.Error).To(HaveSuffix(row.failed))
			k.Expect(k.server.Nodes()[0].Callbacks).To(Equal([]altershield.Callback{sent}))
		})
	}
}

func TestSetCallbackURLToNoneLeavesPollsAlone(t *testing.T) {
	k := newKit(t, altershield.Options{PreDelay: soon})
	k.server.SetCallbackURL("")
	node := k.started()
	k.reaches("PRE_AOP_FINISH")
	k.Expect(k.poll(node, "PRE")).To(Equal(polled(polledPass, node)))
	k.server.Close()
	k.Expect(k.server.Nodes()[0].Callbacks).To(BeEmpty())
	k.Expect(k.callbacks).To(BeEmpty())
}
