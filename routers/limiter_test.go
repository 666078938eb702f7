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
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

// slow sends callbacks from an address. Their bodies don't end before release, and only their bodies make them invalid.
func slow(t *testing.T, b *bench, address string, count int, release <-chan struct{}) *sync.WaitGroup {
	t.Helper()
	var callers sync.WaitGroup
	for range count {
		body, end := io.Pipe()
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, callbackPath, body)
		request.ContentLength = 10
		sign(request, "1795255200000", "another body")
		request.RemoteAddr = address + ":1234"
		callers.Go(func() { b.serveHTTP(request) })
		callers.Go(func() {
			<-release
			_ = end.Close()
		})
	}
	synctest.Wait()
	return &callers
}

// genuineFrom returns the status and the duration of an authentic callback from an address.
func genuineFrom(t *testing.T, b *bench, address string) (int, time.Duration) {
	t.Helper()
	request := signed(t, bodyOf("POST", "pass"))
	request.RemoteAddr = address + ":4321"
	start := time.Now()
	code := b.serveHTTP(request).Code
	return code, time.Since(start)
}

func TestLimiterKeepsPlacesForOtherAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
		release := make(chan struct{})
		callers := slow(t, b, "10.0.0.1", 200, release)
		code, took := genuineFrom(t, b, "10.0.0.2")
		g.Expect(code).To(Equal(200), "one address never has it all")
		g.Expect(took).To(BeZero())
		close(release)
		callers.Wait()
	})
}

func TestLimiterKeepsPlacesForTrustedAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
		code, _ := genuineFrom(t, b, "10.0.1.1")
		g.Expect(code).To(Equal(200))
		release := make(chan struct{})
		var crowds []*sync.WaitGroup
		for i := range 10 {
			crowds = append(crowds, slow(t, b, fmt.Sprintf("10.0.0.%d", i), 20, release))
		}
		code, took := genuineFrom(t, b, "10.0.1.1")
		g.Expect(code).To(Equal(200))
		g.Expect(took).To(BeZero())
		code, took = genuineFrom(t, b, "10.0.1.2")
		g.Expect(code).To(Equal(503), "it was not seen before")
		g.Expect(took).To(Equal(3 * time.Second))
		close(release)
		for _, callers := range crowds {
			callers.Wait()
		}
	})
}

func TestLimiterForgetsAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		limiter := newLimiter()
		limiter.trust("10.0.0.1")
		time.Sleep(time.Hour - 1) // of the bubble's clock
		g.Expect(limiter.isTrusted("10.0.0.1")).To(BeTrue())
		time.Sleep(time.Nanosecond)
		g.Expect(limiter.isTrusted("10.0.0.1")).To(BeFalse(), "after an hour")
		for i := range 65 {
			limiter.trust(fmt.Sprint("10.0.1.", i))
			time.Sleep(time.Nanosecond)
		}
		g.Expect(limiter.isTrusted("10.0.1.0")).To(BeFalse(), "as 64 others came since")
		g.Expect(limiter.isTrusted("10.0.1.1")).To(BeTrue())
		g.Expect(limiter.lastSeen).To(HaveLen(64))
	})
}

func TestRefuseDoesNotReadTheBody(t *testing.T) {
	bearer := func(token string) func(*http.Request) {
		return func(request *http.Request) { request.Header.Set("Authorization", token) }
	}
	for _, row := range []struct {
		name, method, path string
		change             func(*http.Request)
		code               int
	}{
		{"another platform", "POST", callbackPath, func(r *http.Request) { r.Header.Set("X-AlterShield-Platform", "vm") }, 401},
		{"no timestamp", "POST", callbackPath, func(r *http.Request) { r.Header.Del("X-AlterShield-Timestamp") }, 401},
		{"an old timestamp", "POST", callbackPath, func(r *http.Request) { r.Header.Set("X-AlterShield-Timestamp", "1795254899999") }, 401},
		{"no signature", "POST", callbackPath, func(r *http.Request) { r.Header.Del("X-AlterShield-Sign") }, 401},
		{"no signature at all", "POST", callbackPath, func(r *http.Request) { r.Header.Set("X-AlterShield-Sign", "x") }, 401},
		{"a body that is too long", "POST", callbackPath, func(r *http.Request) { r.ContentLength = 1<<20 + 1 }, 413},
		{"a rollback without a token", "PUT", "/openapi/altershield/deployment/rollback", bearer(""), 401},
		{"a rollback with a password", "PUT", "/openapi/altershield/deployment/rollback", bearer("Basic x"), 401},
		{"a rollback that is too long", "PUT", "/openapi/altershield/deployment/rollback",
			func(r *http.Request) { bearer("Bearer of-alice")(r); r.ContentLength = 4<<10 + 1 }, 413},
		{"a question without a token", "GET", "/openapi/altershield/suspend/deployment?namespace=default", bearer(""), 401},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			api := &reviews{}
			b := newBench(t, api.funcs(), changePod("PostSubmitted", ""))
			request := httptest.NewRequestWithContext(t.Context(), row.method, row.path, iotest.ErrReader(errors.New("the body is read")))
			request.ContentLength = 10
			sign(request, "1795255200000", "body")
			row.change(request)
			answer := b.serveHTTP(request)
			g.Expect(answer.Code).To(Equal(row.code), answer.Body.String())
			g.Expect(answer.Header().Get("Connection")).To(Equal("close"))
			g.Expect(api.asked).To(BeZero())
			_, err := io.ReadAll(request.Body)
			g.Expect(err).To(MatchError("the body is read"), "it was not read before")
		})
	}
}

func TestRefuseTakesNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		b := newBench(t, interceptor.Funcs{}, changePod("PostSubmitted", ""))
		release := make(chan struct{})
		callers := slow(t, b, "10.0.0.1", 20, release)
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, callbackPath, strings.NewReader("{}"))
		request.RemoteAddr = "10.0.0.1:1"
		start := time.Now()
		g.Expect(b.serveHTTP(request).Code).To(Equal(401))
		g.Expect(time.Since(start)).To(BeZero())
		close(release)
		callers.Wait()
	})
}
