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

package declared

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestParsePath(t *testing.T) {
	for _, row := range []struct{ text, want, problem string }{
		{"spec", "spec", ""},
		{"spec.template", "spec.template", ""},
		{".spec.replicas", "spec.replicas", ""},
		{"spec.jobs[*].template.spec", "spec.jobs[*].template.spec", ""},
		{"spec.matrix[*][*]", "spec.matrix[*][*]", ""},
		{"metadata.annotations['example.com/step']", "metadata.annotations['example.com/step']", ""},
		{`metadata.annotations["example.com/step"].x`, "metadata.annotations['example.com/step'].x", ""},
		{`spec['plain']`, "spec.plain", ""},
		{`spec['it\'s \\']`, `spec['it\'s \\']`, ""},
		{"spec.$ref.a-b.c_d.0", "spec.$ref.a-b.c_d.0", ""},
		{"", "", "empty path; use for example spec.template"},
		{".", "", ".: missing field name at character 2"},
		{"spec.", "", "spec.: missing field name at character 6"},
		{"spec..a", "", "spec..a: missing field name at character 6"},
		{"spec.a b", "", `spec.a b: unexpected ' ' at character 7`},
		{"[*].a", "", "[*].a: a path must start with the name of a field"},
		{"spec.[*]", "", "spec.[*]: unexpected dot before the bracket at character 6"},
		{"spec[*", "", "spec[*: missing ] after [* at character 5"},
		{"spec[0]", "", "spec[0]: expected [*] or ['key'] at character 5"},
		{"spec[", "", "spec[: expected [*] or ['key'] at character 5"},
		{"spec['a", "", "spec['a: missing '] after the key at character 5"},
		{"spec['a'", "", "spec['a': missing '] after the key at character 5"},
		{`spec['a\`, "", `spec['a\: missing '] after the key at character 5`},
		{"spec['']", "", "spec['']: empty key at character 5"},
		{"spec[*]x", "", "spec[*]x: unexpected 'x' at character 8"},
		{"a" + strings.Repeat(".a", 31), "a" + strings.Repeat(".a", 31), ""},
		{"a" + strings.Repeat(".a", 32), "", "a" + strings.Repeat(".a", 32) + ": more than 32 fields"},
		{strings.Repeat("a", 513), "", "more than 512 characters"},
	} {
		t.Run(row.text, func(t *testing.T) {
			g := NewWithT(t)
			path, err := ParsePath(row.text)
			if row.problem != "" {
				g.Expect(err).To(MatchError(row.problem))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(path.String()).To(Equal(row.want))
		})
	}
}

func FuzzParsePath(f *testing.F) {
	for _, text := range []string{"spec.template", ".spec.a[*].b", `metadata.annotations['a\'b']`, `a["b"][*]`, "a[", "é['é']"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path, err := ParsePath(text)
		if err != nil {
			return
		}
		written := path.String()
		if len(written) > maxPathLength { // quotes and escapes make it longer
			return
		}
		again, err := ParsePath(written)
		if err != nil || again.String() != written {
			t.Fatalf("%q is written as %q, which is read as %q: %v", text, written, again.String(), err)
		}
		if fields, isOne := path.fields(); isOne {
			at := place(fields)
			if back := parsePlace(at.pointer()); pathOf(back...).String() != written {
				t.Fatalf("%q has the pointer %q, which is read as %q", text, at.pointer(), back)
			}
			object := map[string]any{}
			if !at.put(object, "value") || path.find(object) != "value" {
				t.Fatalf("%q doesn't find what was put there: %v", text, object)
			}
		}
	})
}

func object() map[string]any {
	return map[string]any{
		"metadata": map[string]any{"annotations": map[string]any{"example.com/step": "one"}},
		"spec": map[string]any{
			"jobs":  []any{map[string]any{"name": "a", "size": int64(1)}, map[string]any{"name": "b"}, "no object"},
			"roles": map[string]any{"ps": map[string]any{"size": int64(2)}, "chief": map[string]any{"size": int64(3)}},
			"null":  nil,
		},
	}
}

func TestPathEach(t *testing.T) {
	for text, want := range map[string]map[string]any{
		"spec.jobs[*].size":                        {"/spec/jobs/0/size": int64(1)},
		"spec.jobs[*].name":                        {"/spec/jobs/0/name": "a", "/spec/jobs/1/name": "b"},
		"spec.jobs.size":                           {},
		"spec.roles[*].size":                       {"/spec/roles/chief/size": int64(3), "/spec/roles/ps/size": int64(2)},
		"spec.null":                                {},
		"spec.null.deeper":                         {},
		"spec.missing[*]":                          {},
		"metadata.annotations['example.com/step']": {"/metadata/annotations/example.com~1step": "one"},
	} {
		t.Run(text, func(t *testing.T) {
			found := map[string]any{}
			parse(t, text).each(object(), func(at place, value any) {
				found[at.pointer()] = value
				NewWithT(t).Expect(parsePlace(at.pointer()).find(object())).To(Equal(value))
			})
			NewWithT(t).Expect(found).To(Equal(want))
		})
	}
}

func parse(t *testing.T, text string) Path {
	t.Helper()
	path, err := ParsePath(text)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestPathFind(t *testing.T) {
	g := NewWithT(t)
	g.Expect(parse(t, "spec.roles.ps.size").find(object())).To(BeEquivalentTo(2))
	g.Expect(parse(t, "spec.jobs.size").find(object())).To(BeNil())
	g.Expect(parse(t, "spec.jobs[*]").find(object())).To(BeNil(), "it may lead to several")
	g.Expect(parse(t, "status.phase").find(object())).To(BeNil())
}

func TestPathLeadsTo(t *testing.T) {
	for _, row := range []struct {
		path, other string
		leads       bool
	}{
		{"spec", "spec", true},
		{"spec", "spec.a", true},
		{"spec.a", "spec", false},
		{"spec.a", "spec.ab", false},
		{"spec.a[*].b", "spec.a.x.b.c", true},
		{"spec.a.x", "spec.a[*].b", true},
		{"spec.a[*].c", "spec.a[*].b", false},
	} {
		t.Run(row.path+" to "+row.other, func(t *testing.T) {
			NewWithT(t).Expect(parse(t, row.path).leadsTo(parse(t, row.other))).To(Equal(row.leads))
		})
	}
	NewWithT(t).Expect(parse(t, "spec.a.b").overlaps(parse(t, "spec"))).To(BeTrue())
	NewWithT(t).Expect(parse(t, "spec.a").overlaps(parse(t, "spec.b"))).To(BeFalse())
}

func TestPlacePut(t *testing.T) {
	for _, row := range []struct {
		pointer string
		put     bool
	}{
		{"/spec/new/deeper", true}, {"/spec/jobs/0/size", true}, {"/spec/jobs/1", true}, {"/spec/null", true},
		{"/spec/jobs/7", false}, {"/spec/jobs/7/size", false}, {"/spec/jobs/x", false}, {"/spec/jobs/2/size", false},
	} {
		t.Run(row.pointer, func(t *testing.T) {
			g, changed, at := NewWithT(t), object(), parsePlace(row.pointer)
			g.Expect(at.put(changed, "value")).To(Equal(row.put))
			if row.put {
				g.Expect(at.find(changed)).To(Equal("value"))
				return
			}
			g.Expect(changed).To(Equal(object()))
		})
	}
}
