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

package proxy_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/hack/faults/proxy"
)

// upstream is a server that records its requests, and the proxy in front of it.
type upstream struct {
	*proxy.Proxy
	address string
	mutex   sync.Mutex
	reached []string
	killed  []string
	// dies is the result of kill.
	dies bool
}

func behind(t *testing.T, handler http.HandlerFunc) *upstream {
	up := &upstream{dies: true}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up.mutex.Lock()
		up.reached = append(up.reached, r.Method+" "+r.URL.Path)
		up.mutex.Unlock()
		handler(w, r)
	}))
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	up.Proxy = proxy.New(proxy.Options{
		Target: target, Transport: http.DefaultTransport, IsWrite: proxy.KubernetesWrite,
		Kill: func(context.Context) bool {
			up.mutex.Lock()
			defer up.mutex.Unlock()
			up.killed = append(up.killed, strings.Join(up.reached, ", "))
			return up.dies
		},
	})
	front := httptest.NewServer(up.Proxy)
	t.Cleanup(front.Close)
	up.address = front.URL
	return up
}

// saw returns the requests that reached the server, deaths those that had reached it at each kill.
func (u *upstream) saw() []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return slices.Clone(u.reached)
}

func (u *upstream) deaths() []string {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	return slices.Clone(u.killed)
}

func (u *upstream) setDies(dies bool) {
	u.mutex.Lock()
	defer u.mutex.Unlock()
	u.dies = dies
}

func created(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusCreated) }

const changePods = "/apis/app.ops.cloud.alipay.com/v1alpha1/namespaces/shop/changepods"

// send sends a request through the proxy; the status is 0 if there was no answer.
func (u *upstream) send(t *testing.T, method, path string) (int, metav1.Status) {
	request, err := http.NewRequestWithContext(t.Context(), method, u.address+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, metav1.Status{}
	}
	defer response.Body.Close()
	var status metav1.Status
	content, _ := io.ReadAll(response.Body)
	_ = json.Unmarshal(content, &status)
	return response.StatusCode, status
}

func plan(nth int, mode proxy.Mode) *proxy.Fault {
	return &proxy.Fault{Position: proxy.Position{Verb: "create", Resource: "changepods", Nth: nth}, Mode: mode}
}

func TestPlanSpoilsOnlyThePlannedWrite(t *testing.T) {
	for mode, expected := range map[proxy.Mode]struct {
		status  int
		reason  metav1.StatusReason
		reached int
		killed  []string
	}{
		proxy.Conflict:     {409, metav1.StatusReasonConflict, 2, nil},
		proxy.Failed:       {500, metav1.StatusReasonInternalError, 2, nil},
		proxy.Timeout:      {504, metav1.StatusReasonTimeout, 3, nil},
		proxy.KilledBefore: {0, "", 2, []string{"POST " + changePods}},
		proxy.KilledAfter:  {0, "", 3, []string{"POST " + changePods + ", POST " + changePods}},
	} {
		t.Run(string(mode), func(t *testing.T) {
			g, up := NewWithT(t), behind(t, created)
			up.Plan("shop", plan(2, mode))
			first, _ := up.send(t, http.MethodPost, changePods)
			g.Expect(first).To(Equal(201))
			g.Expect(up.Fired("shop")).To(BeFalse())
			second, status := up.send(t, http.MethodPost, changePods)
			g.Expect(second).To(Equal(expected.status))
			g.Expect(status.Reason).To(Equal(expected.reason))
			g.Expect(up.Fired("shop")).To(BeTrue())
			third, _ := up.send(t, http.MethodPost, changePods)
			g.Expect(third).To(Equal(201), "a fault comes once")
			g.Expect(up.saw()).To(HaveLen(expected.reached))
			g.Expect(up.deaths()).To(Equal(expected.killed), "what had reached the server when the client was killed")
		})
	}
}

func TestRecordsCountWritesByVerbAndResourceInTheNamespaceOfThePlan(t *testing.T) {
	g, up := NewWithT(t), behind(t, created)
	up.send(t, http.MethodPost, changePods)
	up.Plan("shop", nil)
	up.send(t, http.MethodPost, changePods)
	up.send(t, http.MethodPatch, changePods+"/web--x--1/status")
	up.send(t, http.MethodPost, strings.Replace(changePods, "shop", "other", 1))
	up.send(t, http.MethodGet, changePods)
	up.send(t, http.MethodPost, changePods)
	// The client may have an answer before the proxy has recorded it.
	g.Eventually(func() (seen []string) {
		for _, record := range up.Records("shop") {
			seen = append(seen, fmt.Sprintf("%s: %d", record, record.Status))
		}
		return seen
	}).Should(Equal([]string{"create changepods#1: 201", "patch changepods/status#1: 201", "create changepods#2: 201"}))
	g.Expect(up.Records("other")).To(BeEmpty())
	up.Forget("shop")
	g.Expect(up.Records("shop")).To(BeEmpty())
}

func TestFaultWaitsForTheNextWriteWhereTheClientDiedOfAnotherOne(t *testing.T) {
	g, up := NewWithT(t), behind(t, created)
	up.setDies(false)
	up.Plan("shop", plan(1, proxy.KilledBefore))
	status, _ := up.send(t, http.MethodPost, changePods)
	g.Expect(status).To(Equal(0))
	g.Expect(up.Fired("shop")).To(BeFalse())
	g.Expect(up.saw()).To(BeEmpty())
	up.setDies(true)
	up.send(t, http.MethodPost, changePods)
	g.Expect(up.Fired("shop")).To(BeTrue())
	g.Expect(up.deaths()).To(HaveLen(2))
}

func TestKubernetesWriteIsCountedByTheNamespaceOrTheNameOfTheObjectThatItChanges(t *testing.T) {
	const kinds = "/apis/app.ops.cloud.alipay.com/v1alpha1/controlledkinds"
	for path, expected := range map[string]string{
		"POST " + changePods:                                "shop create changepods",
		"PATCH " + changePods + "/web--x--1/status":         "shop patch changepods/status",
		"DELETE " + changePods + "/web--x--1":               "shop delete changepods",
		"PUT /apis/apps/v1/namespaces/shop/deployments/web": "shop update deployments",
		"PATCH /api/v1/namespaces/shop/pods/web-1":          "shop patch pods",
		"PATCH " + kinds + "/webapps.shop.io/status":        "webapps.shop.io patch controlledkinds/status",
		"POST " + kinds:                                                                "",
		"GET /api/v1/namespaces/shop/pods/web-1":                                       "",
		"POST /apis/events.k8s.io/v1/namespaces/shop/events":                           "",
		"PUT /apis/coordination.k8s.io/v1/namespaces/altershield-system/leases/leader": "",
		"POST /apis/authentication.k8s.io/v1/tokenreviews":                             "",
		"POST /version": "",
	} {
		t.Run(path, func(t *testing.T) {
			method, url, _ := strings.Cut(path, " ")
			write, is := proxy.KubernetesWrite(httptest.NewRequest(method, url, nil))
			NewWithT(t).Expect(is).To(Equal(expected != ""))
			NewWithT(t).Expect(strings.TrimSpace(write.Namespace + " " + write.Verb + " " + write.Resource)).To(Equal(expected))
		})
	}
}

func TestCallGivesThePositionInTheNamespaceOfTheOrder(t *testing.T) {
	g := NewWithT(t)
	request := httptest.NewRequest(http.MethodPost, "/openapi/v1/exe/submitChangeExecOrder", strings.NewReader(`{"bizExecOrderId":"default/shop/web/0a/1"}`))
	write, is := proxy.Call(request)
	g.Expect(is).To(BeTrue())
	g.Expect(write).To(Equal(proxy.Write{Namespace: "shop", Verb: "call", Resource: "submitChangeExecOrder"}))
	again, _ := proxy.Call(request)
	g.Expect(again).To(Equal(write), "the body is still there")
	for path, body := range map[string]string{
		"/openapi/v1/exe/retrieveChangeCheck":   `{"bizExecOrderId":"default/shop/web/0a/1"}`,
		"/openapi/v1/heartbeat/config":          "",
		"/openapi/v1/exe/submitChangeExecOrder": "no JSON",
	} {
		_, is := proxy.Call(httptest.NewRequest(http.MethodPost, path, strings.NewReader(body)))
		g.Expect(is).To(BeFalse(), path)
	}
}

func TestCallGivesThePositionInTheNamespaceOfAQuery(t *testing.T) {
	g := NewWithT(t)
	for form, expected := range map[string]bool{
		"query=" + url.QueryEscape(`sum by (pod) (errors_total{code="500",namespace="shop",pod=~"web-.+"})`) + "&step=10": true,
		"query=" + url.QueryEscape("vector(1)"): false,
		"query=%":                               false,
	} {
		write, is := proxy.Call(httptest.NewRequest(http.MethodPost, "/api/v1/query_range", strings.NewReader(form)))
		g.Expect(is).To(Equal(expected), form)
		if is {
			g.Expect(write).To(Equal(proxy.Write{Namespace: "shop", Verb: "call", Resource: "query_range"}))
		}
	}
}

func TestParsePositionReadsAPositionAsItIsWritten(t *testing.T) {
	g := NewWithT(t)
	position, err := proxy.ParsePosition("patch changepods/status#2")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(position).To(Equal(proxy.Position{Verb: "patch", Resource: "changepods/status", Nth: 2}))
	g.Expect(position.String()).To(Equal("patch changepods/status#2"))
	for _, nonsense := range []string{"", "patch", "patch pods", "patch pods#", "patch pods#0", "patch#1"} {
		_, err := proxy.ParsePosition(nonsense)
		g.Expect(err).To(MatchError(ContainSubstring("is not a position")), nonsense)
	}
	_, err = proxy.ParseMode("late")
	g.Expect(err).To(MatchError(ContainSubstring("is not one of the faults")))
}

// deaf is a client that is gone when its answer arrives.
type deaf struct{ header http.Header }

func (d deaf) Header() http.Header       { return d.header }
func (d deaf) WriteHeader(int)           {}
func (d deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestRecordsCountAWriteWhoseClientHasGone(t *testing.T) {
	g := NewWithT(t)
	up := behind(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "{}")
	})
	up.Plan("shop", nil)
	ctx := context.WithValue(t.Context(), http.ServerContextKey, &http.Server{}) // as in requests of a server
	request := httptest.NewRequestWithContext(ctx, http.MethodDelete, changePods+"/a", http.NoBody)
	g.Expect(func() { up.ServeHTTP(deaf{http.Header{}}, request) }).To(PanicWith(http.ErrAbortHandler))
	records := up.Records("shop")
	g.Expect(records).To(HaveLen(1))
	g.Expect(records[0].Status).To(Equal(http.StatusOK))
}
