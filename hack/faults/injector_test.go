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
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
)

func TestInjectorAddsItsAnnotationWhereItIsMissing(t *testing.T) {
	for name, test := range map[string]struct{ metadata, patch string }{
		"no annotations":    {`{}`, `[{"op":"add","path":"/spec/template/metadata/annotations","value":{"injected":"true"}}]`},
		"other annotations": {`{"annotations":{"note":"1"}}`, `[{"op":"add","path":"/spec/template/metadata/annotations/injected","value":"true"}]`},
		"it is there":       {`{"annotations":{"injected":"true"}}`, ``},
	} {
		t.Run(name, func(t *testing.T) {
			g, answer := NewWithT(t), httptest.NewRecorder()
			injector(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(
				`{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"1","object":{"spec":{"template":{"metadata":`+test.metadata+`}}}}}`)))
			var review admissionv1.AdmissionReview
			g.Expect(json.Unmarshal(answer.Body.Bytes(), &review)).To(Succeed())
			g.Expect(review.Response.UID).To(BeEquivalentTo("1"))
			g.Expect(review.Response.Allowed).To(BeTrue())
			g.Expect(string(review.Response.Patch)).To(Equal(test.patch))
		})
	}
}

func TestInjectorRefusesWhatIsNoReview(t *testing.T) {
	for _, nonsense := range []string{"", "{}", `{"request":{"uid":"1"}}`} {
		answer := httptest.NewRecorder()
		injector(answer, httptest.NewRequest(http.MethodPost, "/", strings.NewReader(nonsense)))
		NewWithT(t).Expect(answer.Code).To(Equal(http.StatusBadRequest), nonsense)
	}
}
