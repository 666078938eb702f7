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
	"testing"

	. "github.com/onsi/gomega"
)

func TestTemplate(t *testing.T) {
	for name, c := range map[string]struct {
		object    map[string]any
		condition string
		template  string
	}{
		"plain": {map[string]any{"b": 1, "a": []any{"x"}}, "", "a:\n- x\nb: 1\n"},
		"value": {map[string]any{"replicas": value(".Values.replicas")}, "", "replicas: {{ .Values.replicas }}\n"},
		"two in one string": {
			map[string]any{"name": "a " + value(".A") + " b " + value("printf `%s: #` .B")}, "",
			"name: 'a {{ .A }} b {{ printf `%s: #` .B }}'\n"},
		"optional": {map[string]any{"pod": map[string]any{"affinity": optional(".Values.affinity")}}, "", `pod:
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
`},
		"more keys": {map[string]any{"labels": map[string]any{"a": "1", more(".Values.labels"): nil}}, "", `labels:
  {{- with .Values.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  a: "1"
`},
		"more elements": {map[string]any{"containers": []any{map[string]any{"args": []any{"--a", more(".Values.args")}}}}, "", `containers:
- args:
  - --a
  {{- with .Values.args }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
`},
		"lines": {map[string]any{"args": []any{line("if .Values.b"), "--b", line("end")}}, "", `args:
{{- if .Values.b }}
- --b
{{- end }}
`},
		"condition": {map[string]any{"a": 1}, ".Values.a", "{{- if .Values.a }}\na: 1\n{{- end }}\n"},
		"braces that are not for Helm": {
			map[string]any{"summary": "{{ $labels.pod }} is down"}, "", `summary: '{{ "{{" }} $labels.pod }} is down'` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(template(c.object, c.condition)).To(Equal(c.template))
		})
	}
}

func TestTemplateRefusesMarksOutOfPlace(t *testing.T) {
	for name, object := range map[string]map[string]any{
		"optional part of a string":                                     {"a": "x" + optional(".Values.a")},
		"optional first key of an element, whose dash would go with it": {"list": []any{map[string]any{"a": optional(".Values.a")}}},
		"line that isn't an element":                                    {"a": line("end")},
		"more that is a value":                                          {"a": more(".Values.a")},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			_, err := template(object, "")
			g.Expect(err).To(MatchError(MatchRegexp("^a mark is out of place: .*a: .*«.*»$")))
		})
	}
}
