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
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	verifier "github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
	"github.com/traas-stack/altershield-operator/hack/altershield"
)

const (
	token = "altershield-operator"
	// never is longer than any test: a check with this delay runs until its server is closed.
	never = time.Hour
	soon  = time.Millisecond
	// patience is how long a test waits for an expected event.
	patience = time.Minute
)

// kit is a server, and a platform that calls it and receives its callbacks.
type kit struct {
	Gomega
	server    *altershield.Server
	url       string
	callbacks chan callback
}

// callback is a callback that the platform received.
type callback struct {
	header http.Header
	body   string
}

// answer is an answer that the platform received.
type answer struct {
	status int
	body   string
}

func newKit(t *testing.T, options altershield.Options) *kit {
	k := &kit{Gomega: NewWithT(t), callbacks: make(chan callback, 100)}
	platform := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		k.callbacks <- callback{header: r.Header, body: string(body)}
		fmt.Fprint(w, `{"success":true}`)
	}))
	options.Token = token
	options.CallbackURL = platform.URL
	k.server = altershield.New(options)
	site := httptest.NewServer(k.server.Handler())
	k.url = site.URL
	t.Cleanup(func() {
		k.server.Close()
		site.Close()
		platform.Close()
	})
	return k
}

// serve has the server serve calls at a port of its own, to which the kit sends them from then on, until it is stopped.
func (k *kit) serve(ctx context.Context) (stop func() error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	k.Expect(err).NotTo(HaveOccurred())
	k.url = "http://" + listener.Addr().String()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- k.server.Serve(ctx, listener) }()
	return func() error {
		cancel()
		return <-ended
	}
}

const submitPath = "/openapi/v1/exe/submitChangeExecOrder"

// try makes a signed call.
func (k *kit) try(ctx context.Context, action, body string) (answer, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, k.url+"/openapi/v1/exe/"+action, strings.NewReader(body))
	k.Expect(err).NotTo(HaveOccurred())
	request.Header.Set("X-AlterShield-Platform", "kubernetes")
	request.Header.Set("X-AlterShield-Timestamp", "1700000000000")
	request.Header.Set("X-AlterShield-Sign", verifier.Sign("1700000000000", []byte(body), token))
	return send(request)
}

func send(request *http.Request) (answer, error) {
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{status: response.StatusCode, body: string(body)}, err
}

// ask makes a request with the platform, the timestamp and the sign in its headers, as far as they are given.
func (k *kit) ask(method, path, body string, headers ...string) answer {
	request, err := http.NewRequest(method, k.url+path, strings.NewReader(body))
	k.Expect(err).NotTo(HaveOccurred())
	for i, value := range headers {
		request.Header.Set("X-AlterShield-"+[]string{"Platform", "Timestamp", "Sign"}[i], value)
	}
	got, err := send(request)
	k.Expect(err).NotTo(HaveOccurred())
	return got
}

func (k *kit) call(action, body string) answer {
	got, err := k.try(context.Background(), action, body)
	k.Expect(err).NotTo(HaveOccurred())
	return got
}

func (k *kit) submit(order string) string {
	return k.domain(k.call("submitChangeExecOrder", orderBody(order)))["orderId"].(string)
}

func (k *kit) start(order string, batch int) string {
	return k.domain(k.call("submitChangeExecBatchStartNotify", startBody(order, batch)))["nodeId"].(string)
}

// started returns a node of a new order.
func (k *kit) started() string {
	k.submit("o1")
	return k.start("o1", 0)
}

func (k *kit) finish(node string) answer {
	return k.call("submitChangeFinishNotify", `{`+baseFields("o1")+`,"nodeId":"`+node+`","success":true}`)
}

func (k *kit) poll(node, stage string) answer {
	return k.call("retrieveChangeCheck", `{`+baseFields("o1")+`,"nodeId":"`+node+`","defenseStage":"`+stage+`"}`)
}

func (k *kit) domain(got answer) map[string]any {
	var envelope struct {
		Success bool           `json:"success"`
		Domain  map[string]any `json:"domain"`
	}
	k.Expect(json.Unmarshal([]byte(got.body), &envelope)).To(Succeed(), got.body)
	k.Expect(envelope.Success).To(BeTrue(), got.body)
	return envelope.Domain
}

func (k *kit) received() callback {
	var got callback
	k.Eventually(k.callbacks).WithTimeout(patience).Should(Receive(&got))
	return got
}

// reaches waits until the only node has a state.
func (k *kit) reaches(state string) {
	k.Eventually(func() string { return k.server.Nodes()[0].State }).WithTimeout(patience).Should(Equal(state))
}

// succeeds matches the start of a successful answer.
func succeeds() OmegaMatcher { return HavePrefix(`{"success":true,"resultCode":"000","msg":null,`) }

// refused returns the answer of a refusal.
func refused(code, message string) answer {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return answer{status: 200, body: `{"success":false,"resultCode":"` + code + `","msg":` + string(text) + `,"domain":null}`}
}

// beException matches an error of the database with all the text that the server's libraries put around it.
func beException(code, said string) OmegaMatcher {
	text, err := json.Marshal(said)
	if err != nil {
		panic(err)
	}
	return WithTransform(func(got answer) string { return got.body }, And(
		HavePrefix(`{"success":false,"resultCode":"`+code+`","msg":"\n### Error updating database.  Cause: com.mysql.cj.jdbc.exceptions.`),
		ContainSubstring(`\n### SQL: INSERT INTO `),
		MatchRegexp(`\\n; `+regexp.QuoteMeta(strings.Trim(string(text), `"`))+`; nested exception is com\.mysql\.[\w.]+: .+","domain":null}$`),
	))
}

func baseFields(order string) string {
	return `"tenantCode":"default","changeSceneKey":"com.alipay.altershield.kubernetes.rollingupdate",` +
		`"bizExecOrderId":"` + order + `","platform":"kubernetes"`
}

func orderBody(order string) string {
	return `{` + baseFields(order) + `,"changeTitle":"web","creator":"operator","changeScenarioCode":"00",` +
		`"changePhases":["prod_phase"],"changeContents":[{"contentType":{"typeName":"Deployment"},"instanceName":"default/web"}],` +
		`"changeParamJson":"{\"image\":\"nginx\"}","changeApps":["web"]}`
}

func startBody(order string, batch int) string {
	return fmt.Sprintf(`{%s,"executor":"operator","batchNo":%d,"totalBatchNumInChangePhase":3,"totalBatchNum":3,`+
		`"isLastBatchInChangePhaseTag":"not_last","isLastBatchTag":"not_last","changePhase":"prod_phase",`+
		`"effectiveTargetType":"paas.pod","effectiveTargetLocations":["web-1","web-0","web-1"]}`, baseFields(order), batch)
}

// with returns a body with changed properties; nil removes one.
func with(body string, changes map[string]any) string {
	var properties map[string]any
	if err := json.Unmarshal([]byte(body), &properties); err != nil {
		panic(err)
	}
	for name, value := range changes {
		properties[name] = value
		if value == nil {
			delete(properties, name)
		}
	}
	text, err := json.Marshal(properties)
	if err != nil {
		panic(err)
	}
	return string(text)
}
