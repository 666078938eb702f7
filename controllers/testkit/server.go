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

package testkit

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

// Names of AlterShield Server's calls in its API.
const (
	OpenOrder   = "submitChangeExecOrder"
	CloseOrder  = "finishChangeExecOrderAction"
	BeginOrder  = "submitChangeExecOrderStartNotify"
	BeginCheck  = "submitChangeExecBatchStartNotify"
	FinishCheck = "submitChangeFinishNotify"
	PollCheck   = "retrieveChangeCheck"
)

// Answers of AlterShield Server, besides a document or the number of an HTTP status.
const (
	// Dropped closes the connection without an answer.
	Dropped = ""
	// Taken is a successful answer without a domain.
	Taken = `{"success":true,"resultCode":"000","msg":null,"domain":null}`
)

// Server is a stub of AlterShield Server. It returns configured answers and records the calls.
type Server struct {
	address string
	mutex   sync.Mutex
	answers map[string]string
	calls   []string
}

// NewServer starts a server that accepts every order and check, and whose checks have not passed yet.
func NewServer(t *testing.T) *Server {
	t.Helper()
	server := &Server{answers: map[string]string{
		OpenOrder:   `{"success":true,"resultCode":"000","msg":null,"domain":{"orderId":"order-1","url":"order-1"}}`,
		CloseOrder:  Taken,
		BeginCheck:  `{"success":true,"resultCode":"000","msg":null,"domain":{"nodeId":"node-1","skipCheck":false,"url":"node-1"}}`,
		BeginOrder:  `{"success":true,"resultCode":"000","msg":null,"domain":{"nodeId":"node-0","skipCheck":false,"url":"node-0"}}`,
		FinishCheck: Taken,
		PollCheck:   `{"success":true,"resultCode":"000","msg":null,"domain":{"finished":false}}`,
	}}
	listening := httptest.NewServer(http.HandlerFunc(server.serve))
	t.Cleanup(listening.Close)
	server.address = listening.URL
	return server
}

// Answers sets the answer to a call: a document, an HTTP status such as "500", or Dropped.
func (s *Server) Answers(call, answer string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.answers[call] = answer
}

// Calls returns the names of the calls since it was last called.
func (s *Server) Calls() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *Server) serve(w http.ResponseWriter, request *http.Request) {
	_, _ = io.Copy(io.Discard, request.Body)
	call := path.Base(request.URL.Path)
	s.mutex.Lock()
	s.calls = append(s.calls, call)
	answer := s.answers[call]
	s.mutex.Unlock()
	if answer == Dropped {
		panic(http.ErrAbortHandler)
	}
	if status, err := strconv.Atoi(answer); err == nil {
		w.WriteHeader(status)
		return
	}
	_, _ = io.Copy(w, strings.NewReader(answer))
}

// Client returns the operator's client of the server.
func (s *Server) Client(t *testing.T, clock clock.PassiveClock) *altershield.Client {
	t.Helper()
	g := gomega.NewWithT(t)
	token := filepath.Join(t.TempDir(), "token")
	g.Expect(os.WriteFile(token, []byte("token\n"), 0o600)).To(gomega.Succeed())
	metrics, err := altershield.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(gomega.HaveOccurred())
	config := altershield.Config{
		Address: s.address, Credentials: altershield.Credentials{Platform: "kubernetes", TokenFile: token},
		Tenant: "default", Scene: "com.alipay.altershield.kubernetes.rollingupdate", Cluster: "default", Timeout: 10 * time.Second,
	}
	return altershield.NewClient(config, altershield.NewKeyring(config.Credentials), clock, metrics)
}
