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
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

func TestAskerCantTellUntilACheckPasses(t *testing.T) {
	g, plugin := NewWithT(t), &asker{}
	ask := func(body string) (code int, answer string) {
		recorded := httptest.NewRecorder()
		plugin.ServeHTTP(recorded, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body)))
		return recorded.Code, strings.TrimSpace(recorded.Body.String())
	}
	for _, row := range []struct {
		body, answer string
		code         int
	}{
		{`{"check":"placement"}`, `{"verdict":"Inconclusive"}`, http.StatusOK},
		{`{"check":"ready"}`, `{"verdict":"Pass"}`, http.StatusOK},
		{`{"check":"drift"}`, "", http.StatusAccepted},
		{"no JSON", "invalid character 'o' in literal null (expecting 'u')", http.StatusBadRequest},
	} {
		plugin.passed.Store("ready", true)
		code, answer := ask(row.body)
		g.Expect(code).To(Equal(row.code), row.body)
		g.Expect(answer).To(Equal(row.answer))
	}
	greeted := httptest.NewRecorder()
	plugin.ServeHTTP(greeted, httptest.NewRequest(http.MethodHead, "/", nil))
	g.Expect(greeted.Code).To(Equal(http.StatusOK))
}

func TestRelayDeliversACallbackUntilItIsTaken(t *testing.T) {
	g := NewWithT(t)
	var told atomic.Int32
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Sign") != "signed" {
			t.Error("the headers are gone")
		}
		if told.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer manager.Close()
	relayed := httptest.NewRequest(http.MethodPost, "/", strings.NewReader("{}"))
	relayed.Header.Set("Sign", "signed")
	answer := httptest.NewRecorder()
	relay{t.Context(), manager.URL}.ServeHTTP(answer, relayed)
	g.Expect(answer.Body.String()).To(Equal(`{"success":true}`))
	g.Eventually(told.Load).Should(BeEquivalentTo(3))
	g.Consistently(told.Load).WithTimeout(3 * lab.Glance).Should(BeEquivalentTo(3))
}
