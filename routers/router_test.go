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

func TestRouterRejectsWhatIsNotServed(t *testing.T) {
	const nothing = "there is no endpoint at this path"
	for _, row := range []struct {
		method, path string
		code         int
		allow        string
		message      string
	}{
		{"GET", "/", 404, "", nothing},
		{"POST", "/openapi/altershield/callback/", 404, "", nothing},
		{"POST", "//openapi/altershield/callback", 404, "", nothing},
		{"POST", "/altershield/client/submitChangeExecOrder", 404, "", nothing},
		{"PUT", "/openapi/altershield/deployment/rollback/", 404, "", nothing},
		{"GET", "/openapi/altershield/callback", 405, "POST", "this path accepts only POST requests"},
		{"OPTIONS", "/openapi/callback", 405, "POST", "this path accepts only POST requests"},
		{"GET", "/openapi/altershield/liveTest", 405, "POST", "this path accepts only POST requests"},
		{"DELETE", "/openapi/altershield/suspend/deployment", 405, "GET", "this path accepts only GET requests"},
		{"POST", "/openapi/altershield/deployment/rollback", 405, "PUT", "this path accepts only PUT requests"},
		{"GET", "/openapi/altershield/deployment/rollback", 405, "PUT", "this path accepts only PUT requests"},
	} {
		t.Run(row.method+" "+row.path, func(t *testing.T) {
			g := NewWithT(t)
			request := httptest.NewRequestWithContext(t.Context(), row.method, "/", nil)
			request.URL.Path = row.path
			request.Header.Set("Origin", "https://example.com")
			answer := newBench(t, interceptor.Funcs{}).serveHTTP(request)
			g.Expect(answer.Code).To(Equal(row.code))
			g.Expect(answer.Header().Get("Allow")).To(Equal(row.allow))
			g.Expect(answer.Header().Get("Content-Type")).To(Equal("application/json"))
			g.Expect(answer.Header()).NotTo(HaveKey("Access-Control-Allow-Origin"))
			g.Expect(answer.Body.String()).To(beFailure(row.message))
		})
	}
}

func TestLiveTestDoesNotReadTheRequest(t *testing.T) {
	g := NewWithT(t)
	request := httptest.NewRequestWithContext(t.Context(), "POST", "/openapi/altershield/liveTest", iotest.ErrReader(errors.New("the body is read")))
	answer := newBench(t, interceptor.Funcs{}).serveHTTP(request)
	g.Expect(answer.Code).To(Equal(200))
	g.Expect(answer.Body.String()).To(beSuccess("alive"))
	_, err := io.ReadAll(request.Body)
	g.Expect(err).To(MatchError("the body is read"), "it was not read before")
}

// crowd sends concurrent requests, sixteen from each address, and returns a function that waits for their statuses.
func crowd(t *testing.T, routing *router, count int, path string) (codes func() []int) {
	t.Helper()
	var callers sync.WaitGroup
	result := make([]int, count)
	for i := range result {
		callers.Go(func() { result[i] = sendFrom(t, routing, fmt.Sprintf("192.0.2.%d:%d", 100+i/16, i), "GET", path).Code })
	}
	synctest.Wait()
	return func() []int {
		callers.Wait()
		return result
	}
}

func send(t *testing.T, routing *router, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	return sendFrom(t, routing, "192.0.2.1:1234", method, path)
}

func sendFrom(t *testing.T, routing *router, address, method, path string) *httptest.ResponseRecorder {
	t.Helper()
	recorder := httptest.NewRecorder()
	request := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	request.RemoteAddr = address
	routing.ServeHTTP(recorder, request)
	return recorder
}

func TestRouterTurnsARequestOfTooManyAwayAfterThreeSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		release := make(chan struct{})
		routing := newRouter(map[string]route{
			"/slow": {method: "GET", limiter: newLimiter(), handle: func(http.ResponseWriter, *http.Request, func()) (int, any) {
				<-release
				return 200, reply{Success: true}
			}},
			"/live": {method: "POST", handle: liveTest},
		})
		codes := crowd(t, routing, 64, "/slow")
		start := time.Now()
		turnedAway := send(t, routing, "GET", "/slow")
		g.Expect(time.Since(start)).To(Equal(3 * time.Second))
		g.Expect(turnedAway.Code).To(Equal(503))
		g.Expect(turnedAway.Header().Get("Retry-After")).To(Equal("1"))
		g.Expect(turnedAway.Body.String()).To(beFailure("too many requests at once"))
		g.Expect(send(t, routing, "POST", "/live").Code).To(Equal(200))
		waiting := crowd(t, routing, 64, "/slow")
		close(release)
		g.Expect(codes()).To(HaveEach(200))
		g.Expect(waiting()).To(HaveEach(200), "places became free in time")
	})
}

func TestRouterCountsTheWaitForAPlaceAsTimeOfTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		limiter := newLimiter()
		var left []func()
		for i := range 64 {
			release, _ := limiter.unauthenticated.acquire(fmt.Sprint(i))
			left = append(left, release)
		}
		routing := newRouter(map[string]route{
			"/slow": {method: "GET", limiter: limiter, timeout: 8 * time.Second, handle: func(_ http.ResponseWriter, request *http.Request, _ func()) (int, any) {
				<-request.Context().Done()
				return 200, reply{Success: true}
			}},
		})
		codes := crowd(t, routing, 1, "/slow")
		start := time.Now()
		time.Sleep(2 * time.Second) // of the bubble's clock
		left[0]()
		g.Expect(codes()).To(HaveEach(200))
		g.Expect(time.Since(start)).To(Equal(8 * time.Second))
	})
}

func TestRouterFreesThePlaceOfAnAuthenticatedCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewWithT(t)
		release := make(chan struct{})
		limiter := newLimiter()
		routing := newRouter(map[string]route{
			"/authenticated": {method: "GET", limiter: limiter, handle: func(_ http.ResponseWriter, _ *http.Request, authenticated func()) (int, any) {
				authenticated()
				<-release
				return 200, reply{Success: true}
			}},
		})
		codes := crowd(t, routing, 1000, "/authenticated")
		close(release)
		g.Expect(codes()).To(HaveEach(200))
		g.Expect(limiter.unauthenticated.places).To(BeEmpty())
		g.Expect(limiter.trusted.places).To(BeEmpty())
		g.Expect(limiter.unauthenticated.shares).To(BeEmpty())
	})
}

func TestRouterAnswersAPanicWithoutSecrets(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, interceptor.Funcs{})
	b.handler = newRouter(map[string]route{"/": {method: "GET", handle: func(http.ResponseWriter, *http.Request, func()) (int, any) { panic("Bearer " + token) }}})
	for range 65 {
		answer := b.serveHTTP(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil))
		g.Expect(answer.Code).To(Equal(500))
		g.Expect(answer.Body.String()).To(beFailure("the operator failed to handle the request"))
	}
	log := string(b.log.Contents())
	g.Expect(strings.Count(log, "Recovered from a panic of a request")).To(Equal(65))
	g.Expect(log).To(ContainSubstring("router_test.go"), "where it happened")
	g.Expect(log).NotTo(ContainSubstring(token))
}
