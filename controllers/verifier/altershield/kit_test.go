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
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	clocktesting "k8s.io/utils/clock/testing"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

const (
	secret = "altershield-operator"
	opened = `{"success":true,"resultCode":"000","msg":null,"domain":{"orderId":"order-1","url":"order-1"}}`
	begun  = `{"success":true,"resultCode":"000","msg":null,"domain":{"nodeId":"node-1","skipCheck":false,"url":"node-1"}}`
)

// today returns 1700000000000 in milliseconds.
func today() time.Time { return time.UnixMilli(1_700_000_000_000) }

func release() verifier.Release {
	return verifier.Release{
		Order: "kind/default/sleep/0123456789/3", Namespace: "default", Name: "sleep", Version: "9b4d4f7c", Number: 3,
	}
}

func batch() verifier.Batch {
	return verifier.Batch{Release: release(), Number: 1, Total: 5, Pods: []appv1alpha1.PodSummary{{
		App: "sleep", HostName: "sleep-1", IP: "10.244.1.198", Namespace: "default", Pod: "sleep-1", WorkSpace: "default",
		Verdict: "unpass", Message: "of an earlier check",
	}}}
}

// tokenFile holds the token like a mounted Secret, with a trailing line break.
func tokenFile(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	NewWithT(t).Expect(os.WriteFile(file, []byte(secret+"\n"), 0o600)).To(Succeed())
	return file
}

func configFor(t *testing.T, address string) altershield.Config {
	t.Helper()
	return altershield.Config{
		Address:     address,
		Credentials: altershield.Credentials{Platform: "kubernetes", TokenFile: tokenFile(t)},
		Tenant:      "default", Scene: "com.example.rolling", Cluster: "kind", Timeout: time.Minute,
	}
}

// operator is a client with its metrics.
type operator struct {
	*altershield.Client
	metrics *prometheus.Registry
}

func newOperator(t *testing.T, config altershield.Config) operator {
	t.Helper()
	registry := prometheus.NewRegistry()
	metrics, err := altershield.NewMetrics(registry)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return operator{altershield.NewClient(config, altershield.NewKeyring(config.Credentials), clocktesting.NewFakePassiveClock(today()), metrics), registry}
}

// counted returns the value of a gauge or counter with these labels, 0 if there is none.
func (o operator) counted(name string, labels ...string) float64 {
	families, err := o.metrics.Gather()
	if err != nil {
		return -1
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			var values []string
			for _, label := range metric.GetLabel() {
				values = append(values, label.GetValue())
			}
			if family.GetName() == name && len(values) == len(labels) && (len(labels) == 0 || values[0] == labels[0] && values[1] == labels[1]) {
				return metric.GetCounter().GetValue() + metric.GetGauge().GetValue()
			}
		}
	}
	return 0
}

func (o operator) calls(call, result string) float64 {
	return o.counted("altershield_server_requests_total", call, result)
}

func (o operator) timed() int {
	count, err := testutil.GatherAndCount(o.metrics, "altershield_server_request_seconds")
	if err != nil {
		return -1
	}
	return count
}

// arrival is a request as received by the server.
type arrival struct {
	*http.Request
	body []byte
}

// server is an AlterShield Server that always gives the same answer.
type server struct {
	*httptest.Server
	mutex    sync.Mutex
	status   int
	answer   string
	arrivals []arrival
}

func newServer(t *testing.T, status int, answer string) *server {
	t.Helper()
	result := &server{status: status, answer: answer}
	result.Server = httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		if err != nil {
			t.Errorf("reading a request: %v", err)
		}
		result.mutex.Lock()
		defer result.mutex.Unlock()
		result.arrivals = append(result.arrivals, arrival{request, body})
		writer.WriteHeader(result.status)
		if _, err := io.WriteString(writer, result.answer); err != nil {
			t.Logf("answering a request: %v", err) // the client doesn't read all of it
		}
	}))
	t.Cleanup(result.Close)
	return result
}

func (s *server) says(status int, answer string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.status, s.answer = status, answer
}

// last returns the last request, and checks their number.
func (s *server) last(t *testing.T, count int) arrival {
	t.Helper()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	NewWithT(t).Expect(s.arrivals).To(HaveLen(count))
	return s.arrivals[count-1]
}

// every returns each call of the client except the heartbeat, by its name in the metrics.
func every(client *altershield.Client) map[string]func(context.Context) error {
	return map[string]func(context.Context) error{
		"order_open":   func(ctx context.Context) error { _, err := client.Open(ctx, release()); return err },
		"order_begin":  func(ctx context.Context) error { _, err := client.BeginOrder(ctx, release()); return err },
		"order_close":  func(ctx context.Context) error { return client.Close(ctx, release(), "SUCCESS") },
		"check_begin":  func(ctx context.Context) error { _, err := client.Begin(ctx, batch()); return err },
		"check_finish": func(ctx context.Context) error { return client.Finish(ctx, batch(), "node-1") },
		"check_poll":   func(ctx context.Context) error { _, err := client.Ask(ctx, batch(), "node-1", "POST"); return err },
	}
}
