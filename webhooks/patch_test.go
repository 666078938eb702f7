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

package webhooks

import (
	"encoding/json"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func withTemplate(template templateMarks) marks {
	return marks{templates: map[string]templateMarks{"/spec/template": template}}
}

func TestPatchTouchesNothingButWhatChanges(t *testing.T) {
	type values = map[string]string
	for _, row := range []struct {
		name     string
		from, to marks
		patch    map[string]any
	}{
		{"nothing changes: no operations", marks{labels: values{"a": "1"}}, marks{labels: values{"a": "1"}, annotations: values{}}, map[string]any{}},
		{"one label is set, its key escaped", marks{labels: values{"app": "sleep"}}, marks{labels: values{"app": "sleep", "example.com/a~b": "1"}},
			map[string]any{"add /metadata/labels/example.com~1a~0b": "1"}},
		{"one label is replaced", marks{labels: values{"a": "1", "b": "2"}}, marks{labels: values{"a": "3", "b": "2"}},
			map[string]any{"add /metadata/labels/a": "3"}},
		{"one label is removed, its key escaped", marks{labels: values{"a": "1", "b/c": "2"}}, marks{labels: values{"a": "1"}},
			map[string]any{"remove /metadata/labels/b~1c": nil}},
		{"a label may be empty", marks{labels: values{"a": "1"}}, marks{labels: values{"a": "1", "b": ""}},
			map[string]any{"add /metadata/labels/b": ""}},
		{"there were no labels: they are created", marks{}, marks{labels: values{"a": "1"}},
			map[string]any{"add /metadata/labels": values{"a": "1"}}},
		{"there were no annotations: they are created", marks{labels: values{"a": "1"}}, marks{labels: values{"a": "1"}, annotations: values{"b": "2"}},
			map[string]any{"add /metadata/annotations": values{"b": "2"}}},
		{"an annotation is set beside others", marks{annotations: values{"a": "1"}}, marks{annotations: values{"a": "1", "b": "2"}},
			map[string]any{"add /metadata/annotations/b": "2"}},
		{"a pause ends", marks{paused: true}, marks{}, map[string]any{"remove /spec/paused": nil}},
		{"a pause stays", marks{paused: true}, marks{paused: true}, map[string]any{}},
		{"the template had no metadata: it is created first", marks{}, withTemplate(templateMarks{labels: values{"a": "1"}}),
			map[string]any{"add /spec/template/metadata": map[string]any{}, "add /spec/template/metadata/labels": values{"a": "1"}}},
		{"the template had metadata without labels: the metadata stays",
			withTemplate(templateMarks{hasMetadata: true}), withTemplate(templateMarks{labels: values{"a": "1"}}),
			map[string]any{"add /spec/template/metadata/labels": values{"a": "1"}}},
		{"a template label is set beside others", withTemplate(templateMarks{labels: values{"app": "sleep"}}), withTemplate(templateMarks{labels: values{"app": "sleep", "a/b": "1"}}),
			map[string]any{"add /spec/template/metadata/labels/a~1b": "1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(operations(patch(kind.Kind{}, row.from, row.to))).To(Equal(row.patch))
		})
	}
}

// A CRD without a schema of its template lets them pass.
func TestPatchKeepsLabelsThatAreNoStrings(t *testing.T) {
	g := NewWithT(t)
	created := deployment(t, field(object{"odd": nil}, "labels", "spec", "template", "metadata"))
	response, _ := admit(t, kind.Kind{}, requestOf(t, nil, created))
	g.Expect(at(patched(t, created, response), "spec", "template", "metadata", "labels")).To(And(HaveKey("odd"), HaveKey(versionKey)))
}

func TestPatchCreatesParentsBeforeTheirChildren(t *testing.T) {
	g := NewWithT(t)
	result := patch(kind.Kind{}, marks{}, withTemplate(templateMarks{labels: map[string]string{"a": "1"}}))
	g.Expect(result).To(HaveLen(2))
	g.Expect(result[0].Path).To(Equal("/spec/template/metadata"))
	g.Expect(result[1].Path).To(Equal("/spec/template/metadata/labels"))
}

func TestPatchWritesAnEmptyValueOut(t *testing.T) {
	g := NewWithT(t)
	written, err := json.Marshal(patch(kind.Kind{}, marks{labels: map[string]string{"a": "1"}}, marks{labels: map[string]string{"a": ""}}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(string(written)).To(MatchJSON(`[{"op": "add", "path": "/metadata/labels/a", "value": ""}]`))
}

func TestPatchIsAlwaysInTheSameOrder(t *testing.T) {
	g := NewWithT(t)
	to := marks{labels: map[string]string{"app": "sleep"}}
	for _, key := range strings.Split("q w e r t y u i o p", " ") {
		to.labels[key] = "1"
	}
	from := marks{labels: map[string]string{"app": "sleep"}}
	first := patch(kind.Kind{}, from, to)
	for range 20 {
		g.Expect(patch(kind.Kind{}, from, to)).To(Equal(first))
	}
}
