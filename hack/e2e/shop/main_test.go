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

package main

import (
	"net/http"
	"net/http/httptest"
	"testing"

	. "github.com/onsi/gomega"
)

func TestShopFailsSomeRequestsAndCountsThem(t *testing.T) {
	g := NewWithT(t)
	handler := &shop{every: 3}
	get := func(path string) *httptest.ResponseRecorder {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return answer
	}
	var codes []int
	for range 7 {
		codes = append(codes, get("/").Code)
	}
	g.Expect(codes).To(Equal([]int{200, 200, 500, 200, 200, 500, 200}))
	g.Expect(get("/metrics").Body.String()).To(Equal("# TYPE http_requests_total counter\n" +
		"http_requests_total{code=\"200\"} 5\nhttp_requests_total{code=\"500\"} 2\n"))
}

func TestRunRejectsOtherArguments(t *testing.T) {
	for _, args := range [][]string{nil, {"0"}, {"often"}, {"3", "4"}} {
		NewWithT(t).Expect(run(args)).NotTo(Succeed())
	}
}
