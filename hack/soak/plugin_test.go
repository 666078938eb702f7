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
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

func TestPluginPassesUnlessItIsToldOtherwise(t *testing.T) {
	g, asked := NewWithT(t), &plugin{coming: map[string]coming{}}
	ask := func(name string) (int, string) {
		answer := httptest.NewRecorder()
		question := strings.NewReader(`{"workload": {"namespace": "shop", "name": "` + name + `"}}`)
		asked.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", question))
		return answer.Code, strings.TrimSpace(answer.Body.String())
	}
	asked.will(plan.Action{Namespace: "shop", Name: "cart", Text: "Fail", Count: 2})
	for _, want := range []string{`{"verdict":"Fail"}`, `{"verdict":"Fail"}`, `{"verdict":"Pass"}`} {
		code, body := ask("cart")
		g.Expect(code).To(Equal(200))
		g.Expect(body).To(Equal(want))
	}
	asked.will(plan.Action{Namespace: "shop", Name: "cart", Text: "error", Count: 1})
	_, other := ask("other")
	g.Expect(other).To(Equal(`{"verdict":"Pass"}`))
	code, _ := ask("cart")
	g.Expect(code).To(Equal(500))
}
