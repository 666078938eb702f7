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
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

func TestInjectorAddsItsAnnotationWhereItIsMissing(t *testing.T) {
	for name, test := range map[string]struct{ metadata, patch string }{
		"no annotations":    {`{}`, `[{"op":"add","path":"/spec/template/metadata/annotations","value":{"injected":"true"}}]`},
		"other annotations": {`{"annotations":{"note":"1"}}`, `[{"op":"add","path":"/spec/template/metadata/annotations/injected","value":"true"}]`},
		"it is there":       {`{"annotations":{"injected":"true"}}`, `null`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var request admission.Request
			request.Object.Raw = []byte(`{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"metadata":` + test.metadata + `}}}`)
			answer := injector(t.Context(), request)
			g.Expect(answer.Allowed).To(BeTrue())
			patch, err := json.Marshal(answer.Patches)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(patch)).To(Equal(test.patch))
		})
	}
}
