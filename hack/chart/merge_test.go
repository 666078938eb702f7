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
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/hack/manifests"
)

func TestMergeTellsWhatIsThereWhen(t *testing.T) {
	g := NewWithT(t)
	base := objects(g, "{kind: Secret, metadata: {name: both}}", "{kind: Secret, metadata: {name: base}}")
	parts, err := merge(base, []variant{
		{condition: ".A", objects: objects(g, "{kind: Secret, metadata: {name: both}}", "{kind: Issuer, metadata: {name: both}}")},
		{condition: "eq .B 1", objects: objects(g, "{kind: Secret, metadata: {name: both}}")},
	})
	g.Expect(err).NotTo(HaveOccurred())
	conditions := map[string]string{}
	for _, p := range parts {
		conditions[p.GetKind()+" "+p.GetName()] = p.condition()
	}
	g.Expect(conditions).To(Equal(map[string]string{
		"Secret both": "",
		"Secret base": "and (not (.A)) (not (eq .B 1))",
		"Issuer both": ".A",
	}))
}

func TestMergeList(t *testing.T) {
	for name, c := range map[string]struct{ base, variant, merged []any }{
		"nothing differs":        {[]any{"a", "b"}, []any{"a", "b"}, []any{"a", "b"}},
		"variant adds":           {[]any{"a"}, []any{"a", "b", "c"}, []any{"a", line("if .V"), "b", "c", line("end")}},
		"variant leaves out":     {[]any{"a", "b"}, []any{"b"}, []any{line("if not (.V)"), "a", line("end"), "b"}},
		"base has nothing":       {nil, []any{"a"}, []any{line("if .V"), "a", line("end")}},
		"elements that are maps": {[]any{map[string]any{"n": "a"}}, []any{map[string]any{"n": "a"}}, []any{map[string]any{"n": "a"}}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(mergeList(c.base, c.base, c.variant, ".V")).To(Equal(c.merged))
		})
	}
}

func TestMergeListKeepsWhatAnotherVariantAdded(t *testing.T) {
	g := NewWithT(t)
	base := []any{"a"}
	first := mergeList(base, base, []any{"a", "b"}, ".First")
	g.Expect(mergeList(first, base, []any{"a", "c"}, ".Second")).To(Equal([]any{
		"a", line("if .First"), "b", line("end"), line("if .Second"), "c", line("end"),
	}))
}

func TestMergeNeedsTheManagersContainer(t *testing.T) {
	g := NewWithT(t)
	base := objects(g, "{kind: Deployment, metadata: {name: d}, spec: {template: {spec: {containers: [{name: other}]}}}}")
	_, err := merge(base, []variant{{dir: "config/x", objects: base}})
	g.Expect(err).To(MatchError("merge Deployment d of config/x: there is no container manager"))
}

func objects(g Gomega, documents ...string) []*unstructured.Unstructured {
	objects, err := manifests.Decode(strings.NewReader(strings.Join(documents, "\n---\n")))
	g.Expect(err).NotTo(HaveOccurred())
	return objects
}
