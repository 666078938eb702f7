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
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"os"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func TestOpenSendsTheRelease(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	operator := newOperator(t, configFor(t, server.URL))

	id, err := operator.Open(t.Context(), release())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id).To(Equal("order-1"))

	sent := server.last(t, 1)
	g.Expect(sent.Method + " " + sent.URL.String()).To(Equal("POST /openapi/v1/exe/submitChangeExecOrder"))
	g.Expect(string(sent.body)).To(Equal(`{"tenantCode":"default","changeSceneKey":"com.example.rolling",` +
		`"bizExecOrderId":"kind/default/sleep/0123456789/3","platform":"kubernetes",` +
		`"changeTitle":"Release 3 of Deployment default/sleep","creator":"altershield-operator","changeScenarioCode":"00",` +
		`"changePhases":["prod_phase"],"changeContents":[{"contentType":{"typeName":"paas.pod"},"instanceName":"default/sleep"}],` +
		`"changeParamJson":"{\"cluster\":\"kind\",\"namespace\":\"default\",\"deployment\":\"sleep\",\"version\":\"9b4d4f7c\",\"release\":3}",` +
		`"changeApps":["sleep"]}`))
	g.Expect(operator.calls("order_open", "ok")).To(BeEquivalentTo(1))
	g.Expect(operator.counted("altershield_server_up")).To(BeEquivalentTo(1))
	g.Expect(operator.timed()).To(Equal(1))
}

func TestOpenSendsTheKind(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	of := release()
	of.Kind, of.Name = "StatefulSet", "web"
	_, err := newOperator(t, configFor(t, server.URL)).Open(t.Context(), of)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(server.last(t, 1).body)).To(And(ContainSubstring(`"changeTitle":"Release 3 of StatefulSet default/web"`),
		ContainSubstring(`"changeParamJson":"{\"cluster\":\"kind\",\"namespace\":\"default\",\"kind\":\"StatefulSet\",\"name\":\"web\",\"version\":\"9b4d4f7c\",\"release\":3}"`)))
}

func TestOpenSendsTheBreakGlass(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	of := release()
	of.Pass = &appv1alpha1.BreakGlassPass{
		Name: "inc-99", UID: "bg-1", User: "alice", Time: metav1.Unix(1795375748, 0), Would: []string{"ChangeFreeze default/holidays is on"},
	}
	_, err := newOperator(t, configFor(t, server.URL)).Open(t.Context(), of)
	g.Expect(err).NotTo(HaveOccurred())
	var sent struct{ ChangeTitle, ChangeParamJSON string }
	g.Expect(json.Unmarshal(server.last(t, 1).body, &sent)).To(Succeed())
	g.Expect(sent.ChangeTitle).To(Equal("Break-glass release 3 of Deployment default/sleep"))
	g.Expect(sent.ChangeParamJSON).To(MatchJSON(`{"cluster": "kind", "namespace": "default", "deployment": "sleep", "version": "9b4d4f7c", "release": 3,
		"breakGlass": {"name": "inc-99", "uid": "bg-1", "user": "alice", "time": "2026-11-22T19:29:08Z", "would": ["ChangeFreeze default/holidays is on"]}}`))
}

func TestBeginSendsTheKind(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, begun)
	of := batch()
	of.Release.Kind, of.Release.Name = "DaemonSet", "agent"
	_, err := newOperator(t, configFor(t, server.URL)).Begin(t.Context(), of)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(server.last(t, 1).body)).To(ContainSubstring(`"extInfo":{"namespace":"default","workloadName":"agent","workloadType":"DaemonSet"}`))
}

func TestOpenShortensTheTitle(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	long := release()
	long.Namespace, long.Name = strings.Repeat("n", 63), strings.Repeat("d", 253)

	_, err := newOperator(t, configFor(t, server.URL)).Open(t.Context(), long)
	g.Expect(err).NotTo(HaveOccurred())
	title := "Release 3 of Deployment " + long.Namespace + "/" + strings.Repeat("d", 256-24-64-3) + "..."
	g.Expect(title).To(HaveLen(256))
	g.Expect(string(server.last(t, 1).body)).To(ContainSubstring(`"changeTitle":"` + title + `","creator"`))
}

func TestCloseSendsTheEndOfTheRelease(t *testing.T) {
	for _, state := range []string{"SUCCESS", "ROLLBACK", "CANCEL"} {
		t.Run(state, func(t *testing.T) {
			g := NewWithT(t)
			server := newServer(t, http.StatusOK, `{"success":true,"resultCode":"000","msg":null,"domain":null}`)
			operator := newOperator(t, configFor(t, server.URL))

			g.Expect(operator.Close(t.Context(), release(), appv1alpha1.OrderState(state))).To(Succeed())
			sent := server.last(t, 1)
			g.Expect(sent.URL.Path).To(Equal("/openapi/v1/exe/finishChangeExecOrderAction"))
			g.Expect(string(sent.body)).To(MatchJSON(`{"tenantCode": "default", "changeSceneKey": "com.example.rolling",
				"bizExecOrderId": "kind/default/sleep/0123456789/3", "platform": "kubernetes", "finishState": "` + state + `"}`))
			g.Expect(operator.calls("order_close", "ok")).To(BeEquivalentTo(1))
		})
	}
}

const beginBody = `{"tenantCode": "default", "changeSceneKey": "com.example.rolling",
	"bizExecOrderId": "kind/default/sleep/0123456789/3", "platform": "kubernetes", "executor": "altershield-operator",
	"startTime": 1700000000000, "batchNo": 1, "totalBatchNum": 5, "totalBatchNumInChangePhase": 5,
	"isLastBatchTag": "%[1]s", "isLastBatchInChangePhaseTag": "%[1]s", "changePhase": "prod_phase",
	"effectiveTargetType": "paas.pod", "effectiveTargetLocations": [%[2]s],
	"extInfo": {"namespace": "default", "workloadName": "sleep", "workloadType": "Deployment"}}`

func TestBeginSendsThePodsWithoutTheVerdictsOfAnEarlierCheck(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, begun)
	operator := newOperator(t, configFor(t, server.URL))

	id, err := operator.Begin(t.Context(), batch())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id).To(Equal("node-1"))

	sent := server.last(t, 1)
	g.Expect(sent.URL.Path).To(Equal("/openapi/v1/exe/submitChangeExecBatchStartNotify"))
	g.Expect(string(sent.body)).To(MatchJSON(fmt.Sprintf(beginBody, "not_last",
		`"{\"app\":\"sleep\",\"hostName\":\"sleep-1\",\"ip\":\"10.244.1.198\",\"namespace\":\"default\",\"pod\":\"sleep-1\",\"workSpace\":\"default\"}"`)))
	g.Expect(operator.calls("check_begin", "ok")).To(BeEquivalentTo(1))
}

func TestBeginOrderSendsTheOrderAlone(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, begun)
	operator := newOperator(t, configFor(t, server.URL))

	id, err := operator.BeginOrder(t.Context(), release())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(id).To(Equal("node-1"))

	sent := server.last(t, 1)
	g.Expect(sent.URL.Path).To(Equal("/openapi/v1/exe/submitChangeExecOrderStartNotify"))
	g.Expect(string(sent.body)).To(MatchJSON(`{"tenantCode": "default", "changeSceneKey": "com.example.rolling",
		"bizExecOrderId": "kind/default/sleep/0123456789/3", "platform": "kubernetes", "executor": "altershield-operator",
		"startTime": 1700000000000}`))
	g.Expect(operator.calls("order_begin", "ok")).To(BeEquivalentTo(1))
}

func TestBeginTagsTheLastBatch(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, begun)
	last := batch()
	last.Last, last.Pods = true, nil

	_, err := newOperator(t, configFor(t, server.URL)).Begin(t.Context(), last)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(server.last(t, 1).body)).To(MatchJSON(fmt.Sprintf(beginBody, "last", "")), "the server refuses null instead of []")
}

func TestFinishSendsTheCheck(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, `{"success":true,"resultCode":"000","domain":{"nodeId":"node-1","skipCheck":true}}`)
	operator := newOperator(t, configFor(t, server.URL))

	g.Expect(operator.Finish(t.Context(), batch(), "node-1")).To(Succeed(), "skipCheck means nothing here")
	sent := server.last(t, 1)
	g.Expect(sent.URL.Path).To(Equal("/openapi/v1/exe/submitChangeFinishNotify"))
	g.Expect(string(sent.body)).To(MatchJSON(`{"tenantCode": "default", "changeSceneKey": "com.example.rolling",
		"bizExecOrderId": "kind/default/sleep/0123456789/3", "platform": "kubernetes",
		"nodeId": "node-1", "success": true, "finishTime": 1700000000000}`))
	g.Expect(operator.calls("check_finish", "ok")).To(BeEquivalentTo(1))
}

func TestAskSendsTheCheckAndItsStage(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, `{"success":true,"domain":{"finished":true,"verdict":{"verdict":"pass"}}}`)
	operator := newOperator(t, configFor(t, server.URL))

	g.Expect(operator.Ask(t.Context(), batch(), "node-1", "PRE")).To(Equal(verifier.Verdict{Outcome: "pass"}))
	sent := server.last(t, 1)
	g.Expect(sent.URL.Path).To(Equal("/openapi/v1/exe/retrieveChangeCheck"))
	g.Expect(string(sent.body)).To(MatchJSON(`{"tenantCode": "default", "changeSceneKey": "com.example.rolling",
		"bizExecOrderId": "kind/default/sleep/0123456789/3", "platform": "kubernetes", "nodeId": "node-1", "defenseStage": "PRE"}`))
	g.Expect(operator.calls("check_poll", "ok")).To(BeEquivalentTo(1))
}

func TestClientSignsEveryCall(t *testing.T) {
	for name := range every(nil) {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := newServer(t, http.StatusOK, begun)
			g.Expect(every(newOperator(t, configFor(t, server.URL)).Client)[name](t.Context())).To(Succeed())
			sent := server.last(t, 1)
			g.Expect(sent.Header).To(And(
				HaveKeyWithValue("X-Altershield-Platform", HaveExactElements("kubernetes")),
				HaveKeyWithValue("X-Altershield-Timestamp", HaveExactElements("1700000000000")),
				HaveKeyWithValue("X-Altershield-Sign", HaveExactElements(altershield.Sign("1700000000000", sent.body, "altershield-operator"))),
				HaveKeyWithValue("Content-Type", HaveExactElements("application/json")),
				HaveKeyWithValue("User-Agent", HaveExactElements("altershield-operator")),
			))
			g.Expect(string(sent.body)).NotTo(ContainSubstring("\n"), "the server joins the lines before it looks at the signature")
		})
	}
}

func TestOpenEscapesNothing(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	config := configFor(t, server.URL)
	config.Tenant = "R&D <发布>"

	_, err := newOperator(t, config).Open(t.Context(), release())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(server.last(t, 1).body)).To(HavePrefix(`{"tenantCode":"R&D <发布>",`))
}

func TestOpenPutsThePathOfTheAddressFirst(t *testing.T) {
	for _, suffix := range []string{"/shield", "/shield/"} {
		t.Run(suffix, func(t *testing.T) {
			g := NewWithT(t)
			server := newServer(t, http.StatusOK, opened)
			_, err := newOperator(t, configFor(t, server.URL+suffix)).Open(t.Context(), release())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(server.last(t, 1).URL.String()).To(Equal("/shield/openapi/v1/exe/submitChangeExecOrder"))
		})
	}
}

func TestOpenReadsATokenThatChanges(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	config := configFor(t, server.URL)
	operator := newOperator(t, config)
	for count, token := range []string{"the first", "the second"} {
		g.Expect(os.WriteFile(config.TokenFile, []byte(token), 0o600)).To(Succeed())
		_, err := operator.Open(t.Context(), release())
		g.Expect(err).NotTo(HaveOccurred())
		sent := server.last(t, count+1)
		g.Expect(sent.Header.Get("X-AlterShield-Sign")).To(Equal(altershield.Sign("1700000000000", sent.body, token)))
	}
}

func TestNewMetricsRegistersThemOnce(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	_, err := altershield.NewMetrics(registry)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = altershield.NewMetrics(registry)
	g.Expect(err).To(MatchError(HavePrefix("registering the metrics of AlterShield Server: ")))
}

// longPods returns pods with names of the given length.
func longPods(count, name int) []appv1alpha1.PodSummary {
	pods := make([]appv1alpha1.PodSummary, 0, count)
	for i := range count {
		pod := fmt.Sprintf("%s-%05d", strings.Repeat("d", name-6), i)
		pods = append(pods, appv1alpha1.PodSummary{
			App: strings.Repeat("d", min(name-17, 253)), HostName: pod[:min(len(pod), 63)], IP: "fd00:10:244:1111:2222:3333:4444:5555", Namespace: strings.Repeat("n", 62),
			Pod: pod, WorkSpace: "default", FinishTimeUnix: 1_700_000_000, Verdict: "unpass", Message: strings.Repeat("m", 1024),
		})
	}
	return pods
}

// fieldsOf returns the lengths of the fields of a request as JSON.
func fieldsOf(t *testing.T, body []byte) map[string]int {
	t.Helper()
	var fields map[string]json.RawMessage
	NewWithT(t).Expect(json.Unmarshal(body, &fields)).To(Succeed())
	lengths := map[string]int{}
	for name, value := range fields {
		lengths[name] = len(value)
	}
	return lengths
}

func TestFitsIsWhatABeginRequestMayHold(t *testing.T) {
	for name, row := range map[string]struct{ count, length, least, most int }{
		"few pods":                 {10, 25, 10, 10},
		"500 pods with long names": {500, 67, 100, 499},
		"the longest names":        {500, 253, 50, 100},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			server := newServer(t, http.StatusOK, begun)
			operator := newOperator(t, configFor(t, server.URL))
			pods := longPods(row.count, row.length)
			fits := operator.Fits(pods)
			g.Expect(fits).To(And(BeNumerically(">=", row.least), BeNumerically("<=", row.most)))

			most := batch()
			most.Pods = pods[:fits]
			_, err := operator.Begin(t.Context(), most)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(fieldsOf(t, server.last(t, 1).body)).To(HaveKeyWithValue("effectiveTargetLocations", BeNumerically("<=", 60_000)))
			if fits == len(pods) {
				return
			}
			most.Pods = pods[:fits+1]
			_, err = operator.Begin(t.Context(), most)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(fieldsOf(t, server.last(t, 2).body)).To(HaveKeyWithValue("effectiveTargetLocations", BeNumerically(">", 60_000)))
		})
	}
}

func TestFitsIsOnePodAtLeast(t *testing.T) {
	g := NewWithT(t)
	operator := newOperator(t, configFor(t, "http://altershield:8080"))
	g.Expect(operator.Fits([]appv1alpha1.PodSummary{{Pod: strings.Repeat("p", 70_000)}, {Pod: "q"}})).To(Equal(1))
	g.Expect(operator.Fits(nil)).To(Equal(0))
}

func TestOpenMakesNoFieldTooLong(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	config := configFor(t, server.URL)
	config.Cluster = strings.Repeat("c", 63)
	long := release()
	long.Namespace, long.Name, long.Version, long.Number = strings.Repeat("n", 63), strings.Repeat("d", 253), strings.Repeat("v", 32), math.MaxInt64
	_, err := newOperator(t, config).Open(t.Context(), long)
	g.Expect(err).NotTo(HaveOccurred())
	for field, length := range fieldsOf(t, server.last(t, 1).body) {
		g.Expect(length).To(BeNumerically("<", 60_000), field)
	}
}
