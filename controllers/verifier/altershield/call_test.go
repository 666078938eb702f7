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
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/controllers/verifier"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

func TestOpenFailsWhereTheServerIsGone(t *testing.T) {
	server := newServer(t, http.StatusOK, opened)
	address := server.Listener.Addr().String()
	operator := newOperator(t, configFor(t, server.URL))
	server.Close()
	_, err := operator.Open(t.Context(), release())
	expect(t, operator, "order_open", err, outcome{nil, "unreachable", "unavailable",
		"AlterShield Server didn't answer submitChangeExecOrder: dial tcp " + address + ": connect: connection refused", 0})
}

// hung starts a server that accepts requests and doesn't respond before the client gives up. asked receives each request.
func hung(t *testing.T) (address string, asked chan struct{}) {
	t.Helper()
	asked, done := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-done
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	return server.URL, asked
}

func TestOpenWaitsNoLongerThanTheTimeout(t *testing.T) {
	address, _ := hung(t)
	config := configFor(t, address)
	config.Timeout = 50 * time.Millisecond
	operator := newOperator(t, config)
	_, err := operator.Open(t.Context(), release())
	expect(t, operator, "order_open", err, outcome{nil, "unreachable", "unavailable",
		"AlterShield Server didn't answer submitChangeExecOrder: no answer within 50ms", 0})
}

func TestOpenDoesNotWaitForAnAnswerThatDoesNotEnd(t *testing.T) {
	done := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
		if _, err := writer.Write([]byte(`{"success":`)); err != nil || http.NewResponseController(writer).Flush() != nil {
			t.Error("the beginning of the answer was not sent")
		}
		<-done
	}))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(done) })
	config := configFor(t, server.URL)
	config.Timeout = 50 * time.Millisecond
	operator := newOperator(t, config)
	_, err := operator.Open(t.Context(), release())
	expect(t, operator, "order_open", err, outcome{nil, "unreachable", "unavailable",
		"AlterShield Server didn't answer submitChangeExecOrder: no answer within 50ms", 0})
}

func TestOpenBlamesNoServerWhereTheCallerGivesUp(t *testing.T) {
	g := NewWithT(t)
	address, asked := hung(t)
	operator := newOperator(t, configFor(t, address))
	for range 4 { // More than the circuit breaker would take.
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-asked
			cancel()
		}()
		_, err := operator.Open(ctx, release())
		g.Expect(err).To(MatchError(context.Canceled))
		g.Expect(err).To(MatchError("submitChangeExecOrder was cancelled before AlterShield Server answered: context canceled"))
		g.Expect(err).NotTo(MatchError(verifier.ErrRefused))
	}
	for _, result := range []string{"ok", "unavailable", "skipped", ""} {
		g.Expect(operator.calls("order_open", result)).To(BeZero(), result)
	}
	g.Expect(operator.timed()).To(BeZero())
}

func TestOpenFollowsNoRedirect(t *testing.T) {
	g := NewWithT(t)
	elsewhere := newServer(t, http.StatusOK, opened)
	for _, status := range []int{http.StatusFound, http.StatusTemporaryRedirect} {
		server := httptest.NewServer(http.RedirectHandler(elsewhere.URL, status))
		t.Cleanup(server.Close)
		_, err := newOperator(t, configFor(t, server.URL)).Open(t.Context(), release())
		g.Expect(err).To(MatchError("AlterShield Server answered submitChangeExecOrder with HTTP " + map[int]string{
			302: "302 Found", 307: "307 Temporary Redirect",
		}[status]))
	}
	g.Expect(elsewhere.arrivals).To(BeEmpty())
}

func TestOpenMakesOneAttempt(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusServiceUnavailable, "")
	_, err := newOperator(t, configFor(t, server.URL)).Open(t.Context(), release())
	g.Expect(err).To(HaveOccurred())
	server.last(t, 1)
}

func TestOpenUsesAConnectionAgain(t *testing.T) {
	g := NewWithT(t)
	server := newServer(t, http.StatusOK, opened)
	operator := newOperator(t, configFor(t, server.URL))
	for _, status := range []int{http.StatusOK, http.StatusBadGateway, http.StatusBadRequest, http.StatusOK} {
		server.says(status, opened)
		_, err := operator.Open(t.Context(), release())
		g.Expect(err == nil).To(Equal(status == http.StatusOK))
	}
	connection := server.last(t, 4).RemoteAddr
	for _, sent := range server.arrivals {
		g.Expect(sent.RemoteAddr).To(Equal(connection))
	}
}

func TestOpenLeavesAConnectionThatNoLongerAnswers(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var first atomic.Value
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		if first.CompareAndSwap(nil, request.RemoteAddr) || first.Load() != request.RemoteAddr {
			_, _ = writer.Write([]byte(opened))
			return
		}
		_, _ = io.Copy(io.Discard, request.Body) // else the server doesn't notice that the client leaves
		cancel()
		<-request.Context().Done()
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	config := configFor(t, server.URL)
	config.Timeout = 5 * time.Second
	operator := newOperator(t, config)
	authority := x509.NewCertPool()
	authority.AddCert(server.Certificate())
	operator.Trust(authority)
	_, err := operator.Open(t.Context(), release())
	g.Expect(err).NotTo(HaveOccurred())
	_, err = operator.Open(ctx, release())
	g.Expect(err).To(MatchError(context.Canceled))
	_, err = operator.Open(t.Context(), release())
	g.Expect(err).NotTo(HaveOccurred())
}

func TestErrorReadsTheSameForTheSameCause(t *testing.T) {
	g := NewWithT(t)
	operator, wire := wired(t, "")
	there := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 2), Port: 8080}
	for port := range 2 {
		here := &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 40000 + port}
		wire.fault = &net.OpError{Op: "read", Net: "tcp", Source: here, Addr: there, Err: errors.New("connection reset by peer")}
		_, err := operator.Open(t.Context(), release())
		g.Expect(err).To(MatchError("AlterShield Server didn't answer submitChangeExecOrder: read tcp 10.0.0.2:8080: connection reset by peer"))
	}
}

func TestErrorHoldsNoTokenAndNoSignature(t *testing.T) {
	g := NewWithT(t)
	const token = "correct-horse-battery-staple"
	server := newServer(t, http.StatusOK, refusal("102", "authentication request fail"))
	config := configFor(t, server.URL)
	g.Expect(os.WriteFile(config.TokenFile, []byte(token), 0o600)).To(Succeed())
	operator := newOperator(t, config)
	var told []string
	ask := func(ctx context.Context) {
		for _, call := range every(operator.Client) {
			told = append(told, call(ctx).Error())
		}
	}
	ask(t.Context())
	server.says(http.StatusBadGateway, "")
	ask(t.Context())
	sign := server.last(t, len(server.arrivals)).Header.Get("X-AlterShield-Sign")
	server.Close()
	operator = newOperator(t, config)
	ask(t.Context())
	told = append(told, altershield.NewKeyring(config.Credentials).Verify(http.Header{}, nil, today()).Error())
	config.Address = "http://%zz"
	operator = newOperator(t, config)
	ask(t.Context())
	g.Expect(sign).NotTo(BeEmpty())
	for _, text := range told {
		g.Expect(text).NotTo(Or(ContainSubstring(token), ContainSubstring(sign)))
	}
}
