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
	"maps"
	"math"
	"slices"
	"strings"
)

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
