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

package podtemplate

import (
	"testing"

	. "github.com/onsi/gomega"
)

const appliedKey = "kubectl.kubernetes.io/last-applied-configuration"

func TestApplied(t *testing.T) {
	for annotation, template := range map[string]Template{
		`{"spec":{"replicas":5,"template":{"spec":{"containers":[]}}}}`: {"spec": object{"containers": []any{}}},
		`{"spec":{"template":{}}}`:                                      {},
		`{"spec":{"replicas":5}}`:                                       nil,
		`{"spec":null}`:                                                 nil,
		`[]`:                                                            nil,
		`nonsense`:                                                      nil,
		``:                                                              nil,
	} {
		NewWithT(t).Expect(Applied(map[string]string{appliedKey: annotation})).To(Equal(template), annotation)
	}
	NewWithT(t).Expect(Applied(nil)).To(BeNil())
}

func TestWithAppliedReplacesTheTemplate(t *testing.T) {
	g := NewWithT(t)
	annotation, err := WithApplied(map[string]string{
		appliedKey: `{"kind":"Deployment","metadata":{"annotations":{"a":"<b>"}},"spec":{"replicas":9007199254740993,"template":{"spec":{"a":1}}}}`,
	}, Template{"spec": object{"b": "x -> y"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(annotation).To(Equal(
		`{"kind":"Deployment","metadata":{"annotations":{"a":"<b>"}},"spec":{"replicas":9007199254740993,"template":{"spec":{"b":"x -> y"}}}}` + "\n"))
}

func TestWithAppliedReplacesNothingWhereNothingWasApplied(t *testing.T) {
	for _, annotations := range []map[string]string{nil, {appliedKey: ""}, {appliedKey: "nonsense"}, {appliedKey: `{"spec":{}}`}} {
		g := NewWithT(t)
		g.Expect(WithApplied(annotations, Template{"spec": object{}})).To(BeEmpty())
	}
	NewWithT(t).Expect(WithApplied(map[string]string{appliedKey: `{"spec":{"template":{}}}`}, nil)).To(BeEmpty())
}
