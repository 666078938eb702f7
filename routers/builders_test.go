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

package routers

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gbytes"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// now is the time at which every callback of these tests arrives.
var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

const (
	token   = "hush-hush-hush"
	version = "c6c45d23c098bdf181853a85b60b5d74"
	older   = "0123456789abcdef0123456789abcdef"
	oldest  = "00000000000000000000000000000001"
	check   = "check-1"
	order   = "default/default/sleep/0123456789/4"

	callbackPath = "/openapi/altershield/callback"
)

// bench is a server with stubs of its surroundings, without a network.
type bench struct {
	*Server
	clock *clocktesting.FakePassiveClock
	// kube holds the objects of the API server.
	kube client.WithWatch
	// roller makes rollbacks.
	roller   *roller
	informer *informertest.FakeInformers
	// token is that with which a verdict was reported last.
	token    string
	registry *prometheus.Registry
	log      *gbytes.Buffer
}

// newBench returns a bench with funcs between the server and the API server. The server reads single objects live, and lists from its
// cache.
func newBench(t testing.TB, funcs interceptor.Funcs, objects ...client.Object) *bench {
	t.Helper()
	kube := testkit.NewFake(t, objects...)
	result := &bench{
		clock: clocktesting.NewFakePassiveClock(now), kube: kube, roller: &roller{}, informer: &informertest.FakeInformers{Scheme: kube.Scheme()}, registry: prometheus.NewRegistry(), log: gbytes.NewBuffer(),
	}
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	server, err := New(Options{
		Kinds:    testkit.Kinds(),
		Address:  "127.0.0.1:0",
		Receiver: altershield.Callbacks{Keyring: altershield.NewKeyring(altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile})},
		Client:   interceptor.NewClient(kube, funcs), Workloads: interceptor.NewClient(kube, funcs),
		Live:   interceptor.NewClient(kube, interceptor.Funcs{Get: funcs.Get}),
		Cache:  result.informer,
		Roller: result.roller,
		As: func(token string) (client.Client, error) {
			result.token = token
			return interceptor.NewClient(kube, funcs), nil
		},
		Clock:   result.clock,
		Metrics: result.registry,
	})
	if err != nil {
		t.Fatal(err)
	}
	result.Server = server
	return result
}

// context carries a logger that writes to the bench.
func (b *bench) context(parent context.Context) context.Context {
	return ctrl.LoggerInto(parent, zap.New(zap.WriteTo(b.log)))
}

func (b *bench) serveHTTP(request *http.Request) *httptest.ResponseRecorder {
	recorder := httptest.NewRecorder()
	b.handler.ServeHTTP(recorder, request.WithContext(b.context(request.Context())))
	return recorder
}

// callBack sends a signed callback.
func (b *bench) callBack(t testing.TB, body string) *httptest.ResponseRecorder {
	t.Helper()
	return b.serveHTTP(signed(t, body))
}

func (b *bench) changePod(t testing.TB) *appv1alpha1.ChangePod {
	t.Helper()
	changePod := &appv1alpha1.ChangePod{}
	NewWithT(t).Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--1"}, changePod)).To(Succeed())
	return changePod
}

// parked returns the parked verdicts in the ChangeWorkload, as "check stage verdict message".
func (b *bench) parked(t testing.TB) []string {
	t.Helper()
	workload := &appv1alpha1.ChangeWorkload{}
	NewWithT(t).Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, workload)).To(Succeed())
	var result []string
	for _, early := range workload.Status.EarlyVerdicts {
		result = append(result, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", early.ChangePodID, early.Stage, early.Verdict, early.Message)))
	}
	return result
}

// counted returns the counters that were raised, as "name{labels} value".
func (b *bench) counted(t testing.TB) []string {
	t.Helper()
	families, err := b.registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var result []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetCounter().GetValue() == 0 {
				continue
			}
			var labels []string
			for _, label := range metric.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			result = append(result, fmt.Sprintf("%s{%s} %v", family.GetName(), strings.Join(labels, ","), metric.GetCounter().GetValue()))
		}
	}
	return result
}

// waited returns the number of observed waits for a verdict, and their sum in seconds.
func (b *bench) waited(t testing.TB) (count uint64, seconds float64) {
	t.Helper()
	families, err := b.registry.Gather()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() == "altershield_verdict_seconds" {
			return family.GetMetric()[0].GetHistogram().GetSampleCount(), family.GetMetric()[0].GetHistogram().GetSampleSum()
		}
	}
	return 0, 0
}

// bodyOf returns the body of a callback as sent by AlterShield Server.
func bodyOf(stage, verdict string) string {
	rules := `[]`
	if verdict == "fail" {
		rules = `[{"name":"error rate","msg":"find error","verdict":"FAIL","status":"SUCCESS"}]`
	}
	return `{"callbackRequest":{"bizExecOrderId":"` + order + `","changeSceneKey":"scene","defenseStageEnum":"` + stage + `","nodeId":"` + check +
		`","verdict":{"allFinish":true,"checkPass":` + fmt.Sprint(verdict == "pass") + `,"emergency":false,"rollback":false,"rules":` + rules +
		`,"verdict":"` + verdict + `"}},"changeCheckType":"CHANGE_BATCH"}`
}

// signed returns a callback as sent by AlterShield Server, with its malformed media type.
func signed(t testing.TB, body string) *http.Request {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), "POST", callbackPath, strings.NewReader(body))
	sign(request, "1795255200000", body)
	return request
}

func sign(request *http.Request, timestamp, body string) {
	request.Header.Set("Content-Type", "application/json;UTF-8")
	request.Header.Set("X-AlterShield-Platform", "kubernetes")
	request.Header.Set("X-AlterShield-Timestamp", timestamp)
	request.Header.Set("X-AlterShield-Sign", altershield.Sign(timestamp, []byte(body), token))
}

// changePod returns a batch of two pods in a phase; the message is the phase before ExecuteDone.
func changePod(phase, message string) *appv1alpha1.ChangePod {
	return &appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--1"},
		Spec: appv1alpha1.ChangePodSpec{
			ChangeWorkloadID: "sleep--x--" + version, Release: 4, PodInfos: []appv1alpha1.PodSummary{{Pod: "sleep-a"}, {Pod: "sleep-b"}},
		},
		Status: appv1alpha1.ChangePodStatus{
			Status: appv1alpha1.ChangePodPhase(phase), Message: message, ChangePodID: check, PreTimeoutThreshold: 120, PostTimeoutThreshold: 120,
		},
	}
}

// changeWorkload returns a release with an order and parked verdicts.
func changeWorkload(kept ...appv1alpha1.EarlyVerdict) *appv1alpha1.ChangeWorkload {
	return &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--" + version},
		Spec:       appv1alpha1.ChangeWorkloadSpec{AppName: "sleep", Reversion: version, Release: 4},
		Status: appv1alpha1.ChangeWorkloadStatus{
			Status: "Running", ObservedRelease: 4, EarlyVerdicts: kept,
			Order: &appv1alpha1.ChangeOrder{BizExecOrderID: order, Release: 4, State: "Open"},
		},
	}
}

func early(id, stage string, age time.Duration) appv1alpha1.EarlyVerdict {
	return appv1alpha1.EarlyVerdict{
		ChangePodID: id, Stage: appv1alpha1.CheckStage(stage), Verdict: "pass", Time: metav1.NewMicroTime(now.Add(-age)),
	}
}

func beSuccess(message string) OmegaMatcher {
	return MatchJSON(`{"success":true,"retry":false,"msg":"` + message + `"}`)
}

func beFailure(message string) OmegaMatcher {
	return MatchJSON(`{"success":false,"retry":false,"msg":"` + message + `"}`)
}
