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
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
)

const (
	maxPathLength = 512
	maxPathSteps  = 32
)

// Path leads to a field of an object: spec.template, spec.groups[*].template, metadata.annotations['example.com/step'].
type Path struct{ steps []step }

// step is one field, or all elements of a list or values of a map.
type step struct {
	name string
	all  bool
}

// ParsePath parses a path. A leading dot is ignored, as in paths of CRDs and kubectl.
func ParsePath(text string) (Path, error) {
	switch {
	case text == "":
		return Path{}, fmt.Errorf("empty path; use for example spec.template")
	case len(text) > maxPathLength:
		return Path{}, fmt.Errorf("more than %d characters", maxPathLength)
	}
	scanner := pathScanner{text: text}
	scanner.skip('.')
	for {
		next, err := scanner.step()
		if err != nil {
			return Path{}, fmt.Errorf("%s: %w", text, err)
		}
		scanner.steps = append(scanner.steps, next)
		switch {
		case len(scanner.steps) > maxPathSteps:
			return Path{}, fmt.Errorf("%s: more than %d fields", text, maxPathSteps)
		case scanner.at == len(text):
			return Path{scanner.steps}, nil
		case !scanner.skip('.') && text[scanner.at] != '[':
			return Path{}, fmt.Errorf("%s: unexpected %q at character %d", text, text[scanner.at], scanner.at+1)
		}
	}
}

type pathScanner struct {
	text  string
	at    int
	steps []step
}

func (s *pathScanner) skip(char byte) bool {
	if s.at == len(s.text) || s.text[s.at] != char {
		return false
	}
	s.at++
	return true
}

func (s *pathScanner) step() (step, error) {
	inBrackets := s.at < len(s.text) && s.text[s.at] == '['
	switch {
	case inBrackets && len(s.steps) == 0:
		return step{}, fmt.Errorf("a path must start with the name of a field")
	case inBrackets && s.text[s.at-1] == '.':
		return step{}, fmt.Errorf("unexpected dot before the bracket at character %d", s.at+1)
	case inBrackets:
		return s.bracket()
	}
	start := s.at
	for s.at < len(s.text) && isNameChar(s.text[s.at]) {
		s.at++
	}
	if s.at == start {
		return step{}, fmt.Errorf("missing field name at character %d", start+1)
	}
	return step{name: s.text[start:s.at]}, nil
}

// bracket reads [*] or ['key'].
func (s *pathScanner) bracket() (step, error) {
	start := s.at
	s.at++
	if s.skip('*') {
		if !s.skip(']') {
			return step{}, fmt.Errorf("missing ] after [* at character %d", start+1)
		}
		return step{all: true}, nil
	}
	if s.at == len(s.text) || s.text[s.at] != '\'' && s.text[s.at] != '"' {
		return step{}, fmt.Errorf("expected [*] or ['key'] at character %d", start+1)
	}
	quote := s.text[s.at]
	s.at++
	var key strings.Builder
	for s.at < len(s.text) && s.text[s.at] != quote {
		if s.text[s.at] == '\\' {
			s.at++
			if s.at == len(s.text) {
				break
			}
		}
		key.WriteByte(s.text[s.at])
		s.at++
	}
	if !s.skip(quote) || !s.skip(']') {
		return step{}, fmt.Errorf("missing %c] after the key at character %d", quote, start+1)
	}
	if key.Len() == 0 {
		return step{}, fmt.Errorf("empty key at character %d", start+1)
	}
	return step{name: key.String()}, nil
}

func isNameChar(char byte) bool {
	return char >= 'a' && char <= 'z' || char >= 'A' && char <= 'Z' || char >= '0' && char <= '9' || char == '_' || char == '-' || char == '$'
}

// pathOf returns the path of these fields.
func pathOf(fields ...string) Path {
	steps := make([]step, len(fields))
	for i, field := range fields {
		steps[i] = step{name: field}
	}
	return Path{steps}
}

// String returns the path in the form that ParsePath parses.
func (p Path) String() string {
	var text strings.Builder
	for i, step := range p.steps {
		plain := !step.all && !strings.ContainsFunc(step.name, func(char rune) bool { return char > '~' || !isNameChar(byte(char)) })
		switch {
		case step.all:
			text.WriteString("[*]")
		case !plain:
			text.WriteString("['" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(step.name) + "']")
		case i == 0:
			text.WriteString(step.name)
		default:
			text.WriteString("." + step.name)
		}
	}
	return text.String()
}

// fields returns the names of the fields on a path; isOne is false where it leads to several places.
func (p Path) fields() (names []string, isOne bool) {
	names = make([]string, len(p.steps))
	for i, step := range p.steps {
		if step.all {
			return nil, false
		}
		names[i] = step.name
	}
	return names, true
}

func (p Path) isZero() bool { return len(p.steps) == 0 }

// child returns the path to a field below.
func (p Path) child(name string) Path { return Path{append(slices.Clip(p.steps), step{name: name})} }

// elements returns the path to all elements below.
func (p Path) elements() Path { return Path{append(slices.Clip(p.steps), step{all: true})} }

// leadsTo reports whether the path is at or above another one.
func (p Path) leadsTo(other Path) bool {
	if len(p.steps) > len(other.steps) {
		return false
	}
	for i, step := range p.steps {
		if !step.all && !other.steps[i].all && step.name != other.steps[i].name {
			return false
		}
	}
	return true
}

// isAbove reports whether the path is above another one.
func (p Path) isAbove(other Path) bool { return p.leadsTo(other) && len(p.steps) < len(other.steps) }

// overlaps reports whether one of the paths is at or above the other.
func (p Path) overlaps(other Path) bool { return p.leadsTo(other) || other.leadsTo(p) }

// find returns the value that a path without [*] leads to, nil if there is none.
func (p Path) find(object map[string]any) any {
	var found any = object
	for _, step := range p.steps {
		fields, isObject := found.(map[string]any)
		if !isObject || step.all {
			return nil
		}
		found = fields[step.name]
	}
	return found
}

// each visits the values that a path leads to, except null, with their places.
func (p Path) each(object map[string]any, visit func(at place, value any)) {
	p.walk(object, nil, visit)
}

func (p Path) walk(value any, at place, visit func(at place, value any)) {
	if value == nil {
		return
	}
	if p.isZero() {
		visit(slices.Clip(at), value)
		return
	}
	rest := Path{p.steps[1:]}
	switch value := value.(type) {
	case map[string]any:
		if !p.steps[0].all {
			rest.walk(value[p.steps[0].name], append(at, p.steps[0].name), visit)
			return
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			rest.walk(value[key], append(at, key), visit)
		}
	case []any:
		if !p.steps[0].all {
			return
		}
		for i, element := range value {
			rest.walk(element, append(at, strconv.Itoa(i)), visit)
		}
	}
}

// eachOrHollow visits the places that a path leads to in a value at a place, and those that it would lead to below a value that is null or an object
// without fields.
func (p Path) eachOrHollow(value any, at place, visit func(at place)) {
	if p.isZero() {
		visit(slices.Clone(at))
		return
	}
	rest := Path{p.steps[1:]}
	switch value := value.(type) {
	case nil:
		if names, isOne := p.fields(); isOne {
			visit(slices.Concat(at, names))
		}
	case map[string]any:
		if p.steps[0].all {
			for _, key := range slices.Sorted(maps.Keys(value)) {
				rest.eachOrHollow(value[key], append(at, key), visit)
			}
			return
		}
		if field, known := value[p.steps[0].name]; known || len(value) == 0 {
			rest.eachOrHollow(field, append(at, p.steps[0].name), visit)
		}
	case []any:
		if !p.steps[0].all {
			return
		}
		for i, element := range value {
			rest.eachOrHollow(element, append(at, strconv.Itoa(i)), visit)
		}
	}
}

// place leads to one value, by keys of objects and indices of lists.
type place []string

// parsePlace parses a JSON pointer (RFC 6901).
func parsePlace(pointer string) place { return jsonpointer.Keys(pointer) }

// pointer returns the place as a JSON pointer.
func (p place) pointer() string { return jsonpointer.Of(p...) }

// find returns the value at a place, nil if there is none.
func (p place) find(value any) any { return jsonpointer.Find(value, p...) }

// isBelow reports whether the place is below another one.
func (p place) isBelow(other place) bool {
	return len(p) > len(other) && slices.Equal(p[:len(other)], other)
}

// remove removes the field at a place from an object. It doesn't remove elements of lists, which would move others.
func (p place) remove(object any) {
	if fields, isObject := p[:len(p)-1].find(object).(map[string]any); isObject {
		delete(fields, p[len(p)-1])
	}
}

// put sets the value at a place, creating objects above it, and reports whether it could: it doesn't create elements of lists.
func (p place) put(object, value any) bool {
	for i, key := range p {
		last := i == len(p)-1
		switch parent := object.(type) {
		case map[string]any:
			if last {
				parent[key] = value
				return true
			}
			if parent[key] == nil {
				parent[key] = map[string]any{}
			}
			object = parent[key]
		case []any:
			index, err := strconv.Atoi(key)
			if err != nil || index < 0 || index >= len(parent) {
				return false
			}
			if last {
				parent[index] = value
				return true
			}
			object = parent[index]
		default:
			return false
		}
	}
	return false
}
