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

package mutate

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
)

// Mutation is one change of an object.
type Mutation struct {
	// Path is the path of the changed field, such as status.podResults[0].verdict.
	Path string
	// Value is the new value, nil if the field is removed.
	Value any
	// Patch is the change as a JSON merge patch (RFC 7386).
	Patch map[string]any
}

// String returns the change in one line.
func (m Mutation) String() string {
	value, err := json.Marshal(m.Value)
	if err != nil {
		value = []byte(err.Error())
	}
	const most = 120
	if len(value) > most {
		value = append(value[:most:most], fmt.Sprintf("... (%d bytes)", len(value))...)
	}
	return m.Path + " = " + string(value)
}

// Field returns the name of the changed field, without its path.
func (m Mutation) Field() string {
	field := m.Path[strings.LastIndex(m.Path, ".")+1:]
	name, _, _ := strings.Cut(field, "[")
	return name
}

// Mutator creates mutations. The same random numbers yield the same mutations of the same objects.
type Mutator struct{ Random *rand.Rand }

// Of changes a field of an object below a path: Of(schema, object, "spec"). It doesn't modify the object.
func (m Mutator) Of(schema *Schema, object map[string]any, below ...string) Mutation {
	value := any(object)
	for _, field := range below {
		schema = schema.Properties[field]
		parent, _ := value.(map[string]any)
		value = parent[field]
	}
	made := m.change(schema, value, strings.Join(below, "."))
	patch := made.patch
	for _, field := range slices.Backward(below) {
		patch = map[string]any{field: patch}
	}
	root, _ := patch.(map[string]any)
	return Mutation{Path: made.path, Value: made.value, Patch: root}
}

// change is the change of a value: patch is its merge patch, value the new value of the field at the path.
type change struct {
	path         string
	value, patch any
}

func (m Mutator) change(schema *Schema, value any, path string) change {
	const hereInstead = 8 // one in this many changes of an object or list replaces it as a whole
	here := m.Random.IntN(hereInstead) == 0
	switch {
	case schema.Properties != nil && !here:
		return m.changeField(schema, value, path)
	case schema.Items != nil && !here:
		return m.changeList(schema, value, path)
	}
	replaced := m.replacement(schema, value)
	return change{path: path, value: replaced, patch: replacing(value, replaced)}
}

func (m Mutator) changeField(schema *Schema, value any, path string) change {
	fields := slices.Sorted(maps.Keys(schema.Properties))
	field := fields[m.Random.IntN(len(fields))]
	present, _ := value.(map[string]any)
	made := m.change(schema.Properties[field], present[field], strings.TrimPrefix(path+"."+field, "."))
	made.patch = map[string]any{field: made.patch}
	return made
}

// changeList pushes, pops or changes an element. A merge patch takes the whole list.
func (m Mutator) changeList(schema *Schema, value any, path string) change {
	present, _ := value.([]any)
	list := slices.Clone(present)
	switch choice := m.Random.IntN(4); {
	case len(list) == 0 || choice == 0:
		list = append(list, m.sample(schema.Items))
		return change{path: fmt.Sprintf("%s[%d]", path, len(list)-1), value: list[len(list)-1], patch: list}
	case choice == 1:
		return change{path: path, value: list[:len(list)-1], patch: list[:len(list)-1]}
	case choice == 2:
		list = append(list, list[m.Random.IntN(len(list))])
		return change{path: fmt.Sprintf("%s[%d]", path, len(list)-1), value: list[len(list)-1], patch: list}
	}
	at := m.Random.IntN(len(list))
	made := m.change(schema.Items, list[at], fmt.Sprintf("%s[%d]", path, at))
	list[at] = merged(list[at], made.patch)
	made.patch = list
	return made
}

// replacing returns the merge patch that replaces a value. It differs from the new value only if an object replaces an object.
func replacing(old, replacement any) any {
	before, wasObject := old.(map[string]any)
	after, isObject := replacement.(map[string]any)
	if !wasObject || !isObject {
		return replacement
	}
	patch := map[string]any{}
	for field := range before {
		patch[field] = nil
	}
	maps.Copy(patch, after)
	return patch
}

// merged returns a value after a merge patch.
func merged(value, patch any) any {
	fields, isObject := patch.(map[string]any)
	if !isObject {
		return patch
	}
	before, _ := value.(map[string]any)
	after := maps.Clone(before)
	if after == nil {
		after = map[string]any{}
	}
	for field, part := range fields {
		if part == nil {
			delete(after, field)
		} else {
			after[field] = merged(after[field], part)
		}
	}
	return after
}

// replacement returns a new value for a field as a whole: none, an empty one, one at or beyond a limit, or one of another type.
func (m Mutator) replacement(schema *Schema, value any) any {
	candidates := []any{nil}
	candidates = append(candidates, schema.Enum...)
	candidates = append(candidates, schema.Examples...)
	switch schema.Type {
	case "integer", "number":
		candidates = append(candidates, numbers(schema, value)...)
	case "boolean":
		was, _ := value.(bool)
		candidates = append(candidates, !was, "true", 1)
	case "string":
		candidates = append(candidates, texts(schema)...)
	case "array":
		candidates = append(candidates, []any{}, []any{nil}, map[string]any{}, "none")
	default:
		candidates = append(candidates, map[string]any{}, []any{}, "none", 7)
	}
	return candidates[m.Random.IntN(len(candidates))]
}

func numbers(schema *Schema, value any) []any {
	candidates := []any{0, -1, 1, math.MaxInt32, int64(math.MaxInt32) + 1, int64(math.MaxInt64), 1.5, "1"}
	switch number := value.(type) {
	case int64:
		candidates = append(candidates, number+1, number-1, number*2)
	case float64:
		candidates = append(candidates, number+1, number-1, number*2)
	}
	if schema.Minimum != nil {
		candidates = append(candidates, int64(*schema.Minimum), int64(*schema.Minimum)-1)
	}
	if schema.Maximum != nil {
		candidates = append(candidates, int64(*schema.Maximum), int64(*schema.Maximum)+1)
	}
	return candidates
}

func texts(schema *Schema) []any {
	if schema.Format == "date-time" {
		return []any{
			"", "yesterday", "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00",
			"2026-11-21T10:00:00.123456789Z", 1_795_255_200,
		}
	}
	const beyondLabels, long = 64, 70_000
	candidates := []any{
		"", " ", "a", "A_b.c-1", "-", "0", "-1", "1e3", "9223372036854775808", "true", "null", "{}", "[]", "发布", "a/b", "../x", "%s%n", "\x00",
		"<&>\u2028", "a\nb", strings.Repeat("a", beyondLabels-1), strings.Repeat("a", beyondLabels), strings.Repeat("x", long), 7, false,
	}
	if schema.MaxLength != nil {
		candidates = append(candidates, strings.Repeat("发", int(*schema.MaxLength)), strings.Repeat("x", int(*schema.MaxLength)+1))
	}
	return candidates
}

// sample returns a value that the schema allows, or nearly so.
func (m Mutator) sample(schema *Schema) any {
	switch {
	case len(schema.Enum) > 0:
		return schema.Enum[m.Random.IntN(len(schema.Enum))]
	case len(schema.Examples) > 0:
		return schema.Examples[m.Random.IntN(len(schema.Examples))]
	}
	switch schema.Type {
	case "integer", "number":
		return 1
	case "boolean":
		return true
	case "string":
		if schema.Format == "date-time" {
			return "2026-11-21T10:00:00Z"
		}
		return "sample"
	case "array":
		return []any{}
	}
	object := map[string]any{}
	for _, field := range slices.Sorted(maps.Keys(schema.Properties)) {
		if property := schema.Properties[field]; property.Properties == nil && property.Items == nil {
			object[field] = m.sample(property)
		}
	}
	return object
}
