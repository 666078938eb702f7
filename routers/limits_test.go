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
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// pipes is a listener without a network, so that its connections use the fake clock.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	close       sync.Once
}

func newPipes() *pipes {
	return &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.close.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

func (p *pipes) dial() net.Conn {
	near, far := net.Pipe()
	p.connections <- far
	return near
}

// running serves b until stop is called, which waits for the end and returns the duration.
func running(t *testing.T, b *bench) (*pipes, func() time.Duration) {
	t.Helper()
	ctx, cancel := context.WithCancel(b.context(t.Context()))
	listener, ended := newPipes(), make(chan error, 1)
	go func() { ended <- b.serve(ctx, listener) }()
	synctest.Wait()
	return listener, func() time.Duration {
		start := time.Now()
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return time.Since(start)
	}
}

// exchange sends a text and returns the status of the response, 0 if the connection is cut, and the duration.
func exchange(t *testing.T, connection net.Conn, text string) (int, time.Duration) {
	t.Helper()
	start := time.Now()
	go func() { _, _ = fmt.Fprint(connection, text) }()
	response, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return 0, time.Since(start)
	}
	defer func() { _ = response.Body.Close() }()
	return response.StatusCode, time.Since(start)
}

// plausible is the valid header of a callback, without its end.
const plausible = "POST /openapi/callback HTTP/1.1\r\nHost: operator\r\nX-AlterShield-Platform: kubernetes\r\n" +
	"X-AlterShield-Timestamp: 1795255200000\r\nX-AlterShield-Sign: M38WRU7HVU9NPVW0GJEC64VWRGFLG2TC8ZRQHOYJUAG=\r\n"

func TestNewHTTPServerLetsNoCallerHoldAConnectionForLong(t *testing.T) {
	const live = "POST /openapi/altershield/liveTest HTTP/1.1\r\nHost: operator\r\n"
	for _, row := range []struct {
		name, text string
		code       int
		took       time.Duration
	}{
		{"by a header that doesn't end", live, 0, 2 * time.Second},
		{"by a body that doesn't end", plausible + "Content-Length: 10\r\n\r\n{", 400, time.Second},
		{"by a body that doesn't begin", plausible + "Content-Length: 10\r\n\r\n", 400, time.Second},
		{"by a body without a signature", "POST /openapi/callback HTTP/1.1\r\nHost: operator\r\nContent-Length: 10\r\n\r\n{", 401, 0},
		{"by a header that is too long", live + "X: " + strings.Repeat("x", 21<<10) + "\r\n\r\n", 431, 0},
		{"by asking nothing", live + "\r\n", 200, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				listener, stop := running(t, newBench(t, interceptor.Funcs{}))
				connection := listener.dial()
				code, took := exchange(t, connection, row.text)
				g.Expect(code).To(Equal(row.code))
				g.Expect(took).To(Equal(row.took))
				g.Expect(connection.Close()).To(Succeed())
				stop()
			})
		})
	}
}

func TestReadBodyDoesNotEndARequestThatTakesLongerThanItsBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changeWorkload())
		listener, stop := running(t, b)
		connection := listener.dial()
		request := signed(t, bodyOf("POST", "fail"))
		request.Host, request.URL.Host = "operator", "operator"
		var text strings.Builder
		g.Expect(request.Write(&text)).To(Succeed())
		code, took := exchange(t, connection, text.String())
		g.Expect(code).To(Equal(200))
		g.Expect(took).To(Equal(3*time.Second), "it waits for its ChangePod as long as the caller does")
		g.Expect(connection.Close()).To(Succeed())
		stop()
	})
}

func TestNewHTTPServerClosesAnIdleConnectionAfterAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		listener, stop := running(t, newBench(t, interceptor.Funcs{}))
		connection := listener.dial()
		code, _ := exchange(t, connection, "POST /openapi/altershield/liveTest HTTP/1.1\r\nHost: operator\r\n\r\n")
		g.Expect(code).To(Equal(200))
		start := time.Now()
		_, err := connection.Read(make([]byte, 1))
		g.Expect(err).To(HaveOccurred())
		g.Expect(time.Since(start)).To(Equal(time.Minute))
		stop()
	})
}

func TestNewHTTPServerGivesACallerTenSecondsToReadTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop := running(t, newBench(t, interceptor.Funcs{}))
		connection := listener.dial()
		_, _ = fmt.Fprint(connection, "POST /openapi/altershield/liveTest HTTP/1.1\r\nHost: operator\r\n\r\n")
		time.Sleep(10*time.Second + 1) // of the bubble's clock
		code, _ := exchange(t, connection, "")
		NewWithT(t).Expect(code).To(BeZero())
		stop()
	})
}

func TestServeAnswersARequestUnderWayAfterItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changeWorkload())
		listener, stop := running(t, b)
		connection := listener.dial()
		request := signed(t, bodyOf("POST", "fail"))
		request.Host, request.URL.Host = "operator", "operator"
		codes := make(chan int, 1)
		go func() { _ = request.Write(connection) }()
		go func() {
			code, _ := exchange(t, connection, "")
			codes <- code
		}()
		synctest.Wait()
		g.Expect(b.Ready(nil)).To(Succeed())
		g.Expect(stop()).To(BeNumerically("~", 3*time.Second, time.Second))
		g.Expect(<-codes).To(Equal(200))
		g.Expect(b.parked(t)).To(HaveLen(1))
		g.Expect(b.Ready(nil)).To(MatchError("the HTTP server is not listening"))
	})
}

func TestServeAwaitsARequestThatDoesNotEndTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, interceptor.Funcs{})
		release := make(chan struct{})
		b.handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release })
		listener, stop := running(t, b)
		connection := listener.dial()
		go func() { _, _ = fmt.Fprint(connection, "GET / HTTP/1.1\r\nHost: operator\r\n\r\n") }()
		synctest.Wait()
		NewWithT(t).Expect(stop()).To(Equal(10 * time.Second))
		close(release)
		_ = connection.Close()
	})
}

func TestHandleAnswersUsersWithinEightSeconds(t *testing.T) {
	t.Run("by rollbacks that take longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			b, _ := newRollbackBench(t)
			b.roller.during = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
			start := time.Now()
			g.Expect(b.takeBack(t, `{"namespace":"default","name":"sleep"}`).Code).To(Equal(500))
			g.Expect(time.Since(start)).To(Equal(8 * time.Second))
		})
	})
	t.Run("by lists that take longer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			g := NewWithT(t)
			funcs := (&reviews{}).funcs()
			funcs.List = func(ctx context.Context, _ client.WithWatch, _ client.ObjectList, _ ...client.ListOption) error {
				<-ctx.Done()
				return ctx.Err()
			}
			b := newBench(t, funcs)
			request := httptest.NewRequestWithContext(t.Context(), "GET", "/openapi/altershield/suspend/deployment?namespace=default", nil)
			request.Header.Set("Authorization", "Bearer of-alice")
			start := time.Now()
			g.Expect(b.serveHTTP(request).Code).To(Equal(500))
			g.Expect(time.Since(start)).To(Equal(8 * time.Second))
		})
	})
}

func TestWaitCoversARequestThatArrivesAtTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
		listener, stop := running(t, b)
		connection := listener.dial()
		request := signed(t, bodyOf("POST", "fail"))
		request.Host, request.URL.Host = "operator", "operator"
		var text strings.Builder
		g.Expect(request.Write(&text)).To(Succeed())
		header, body, _ := strings.Cut(text.String(), "\r\n\r\n")
		_, _ = fmt.Fprint(connection, header+"\r\n\r\n")
		synctest.Wait()
		go stop()
		synctest.Wait()
		codes := make(chan int, 1)
		go func() {
			time.Sleep(time.Second / 2)
			code, _ := exchange(t, connection, body)
			codes <- code
		}()
		b.Wait(t.Context())
		g.Expect(b.changePod(t).Status.Status).To(BeEquivalentTo("ExecuteDone"))
		g.Expect(<-codes).To(Equal(200))
	})
}
