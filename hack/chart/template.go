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
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Marks stand in an object for what Helm decides. They are plain strings, so that the object stays plain YAML, and become
// template actions once it is written down. «» occur in no manifest and need no quotes in YAML.

// value marks a scalar, or a part of one.
func value(expression string) string { return "«" + expression + "»" }

// optional marks the value of a key, of any type. The key goes where the value is empty.
func optional(expression string) string { return "«?" + expression + "»" }

// more marks a key, or an element of a list, in whose place any number of them may come.
func more(expression string) string { return "«+" + expression + "»" }

// line marks an element of a list that becomes an action on a line of its own, such as an if.
func line(action string) string { return "«-" + action + "»" }

// The lines that marks of more than a scalar fill. A key behind a dash can't be optional: the dash would go with it.
var (
	optionalLine = regexp.MustCompile(`(?m)^( *)([^\s:-][^\s:]*): «\?([^»]+)»$`)
	moreLine     = regexp.MustCompile(`(?m)^( *)(?:- «\+([^»]+)»|«\+([^»]+)»: null)$`)
	actionLine   = regexp.MustCompile(`(?m)^( *)- «-([^»]+)»$`)
	valueMark    = regexp.MustCompile(`«([^?+»-][^»]*)»`)
)

// template writes an object down as a template of Helm. The object is left out where the condition doesn't hold, if there is one.
func template(object map[string]any, condition string) (string, error) {
	var buffer bytes.Buffer
	encoder := yaml.NewEncoder(&buffer)
	encoder.SetIndent(2)
	encoder.CompactSeqIndent()
	if err := encoder.Encode(object); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	text := strings.ReplaceAll(buffer.String(), "{{", `{{ "{{" }}`) // what the manifests say to others, such as Prometheus
	text = optionalLine.ReplaceAllStringFunc(text, func(line string) string {
		m := optionalLine.FindStringSubmatch(line)
		return fmt.Sprintf("%[1]s{{- with %[3]s }}\n%[1]s%[2]s:\n%[1]s  {{- toYaml . | nindent %[4]d }}\n%[1]s{{- end }}", m[1], m[2], m[3], len(m[1])+2)
	})
	text = moreLine.ReplaceAllStringFunc(text, func(line string) string {
		m := moreLine.FindStringSubmatch(line)
		return fmt.Sprintf("%[1]s{{- with %[2]s }}\n%[1]s{{- toYaml . | nindent %[3]d }}\n%[1]s{{- end }}", m[1], m[2]+m[3], len(m[1]))
	})
	text = actionLine.ReplaceAllString(text, "$1{{- $2 }}")
	text = valueMark.ReplaceAllString(text, "{{ $1 }}")
	if left := strings.IndexAny(text, "«»"); left >= 0 {
		line, _, _ := strings.Cut(text[strings.LastIndex(text[:left], "\n")+1:], "\n")
		return "", fmt.Errorf("a mark is out of place: %s", line)
	}
	if condition != "" {
		text = "{{- if " + condition + " }}\n" + text + "{{- end }}\n"
	}
	return text, nil
}
