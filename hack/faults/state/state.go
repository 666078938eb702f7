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

// Package state records the content of objects, without values that differ between any two runs, and compares it.
package state

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// State has the values by their paths: "ChangePod sleep--x--1 .status.status" is "ExecuteDone".
type State map[string]string

// Masks hide values that differ between any two runs.
type Masks struct {
	// Names are texts, such as the name of the namespace, with their replacements.
	Names map[string]string
	// Patterns are further replacements in values, in this order.
	Patterns []Pattern
	// Left are the names of fields to ignore, at any place.
	Left []string
}

// Pattern is an expression with its replacement.
type Pattern struct {
	Of   *regexp.Regexp
	Show string
}

// Value returns a text with everything masked.
func (m Masks) Value(text string) string {
	for _, name := range slices.Sorted(maps.Keys(m.Names)) {
		text = strings.ReplaceAll(text, name, m.Names[name])
	}
	for _, pattern := range m.Patterns {
		text = pattern.Of.ReplaceAllString(text, pattern.Show)
	}
	return text
}

// Add adds an object under a unique name.
func (s State) Add(name string, object map[string]any, masks Masks) {
	for path, value := range flatten(object, masks) {
		s[name+" "+path] = value
	}
}

// Count adds an object with a random name, by its content: the value is the number of objects with the same content.
func (s State) Count(kind string, object map[string]any, masks Masks) {
	name := kind + " " + text(flatten(object, masks))
	count, _ := strconv.Atoi(s[name]) // a missing one is 0
	s[name] = strconv.Itoa(count + 1)
}

// flatten returns the values of an object by their paths.
func flatten(object map[string]any, masks Masks) map[string]string {
	found := map[string]string{}
	walk(found, "", object, masks)
	return found
}

func walk(into map[string]string, path string, value any, masks Masks) {
	switch value := value.(type) {
	case map[string]any:
		for key, field := range value {
			if !slices.Contains(masks.Left, key) {
				walk(into, path+"."+key, field, masks)
			}
		}
	case []any:
		for key, item := range keyed(value, masks) {
			walk(into, path+"["+key+"]", item, masks)
		}
	default:
		into[path] = masks.Value(fmt.Sprint(value))
	}
}

// keyed names the items of a list: a condition by its type, any other item by its index after sorting by content, because the order
// of most lists is random.
func keyed(items []any, masks Masks) map[string]any {
	result := map[string]any{}
	for i, item := range items {
		fields, ok := item.(map[string]any)
		kind, named := fields["type"].(string)
		if !ok || !named {
			return sorted(items, masks)
		}
		if _, taken := result[kind]; taken {
			kind += strconv.Itoa(i)
		}
		result[kind] = item
	}
	return result
}

func sorted(items []any, masks Masks) map[string]any {
	said := func(item any) string {
		found := map[string]string{}
		walk(found, "", item, masks)
		return text(found)
	}
	result := map[string]any{}
	for i, item := range slices.SortedStableFunc(slices.Values(items), func(a, b any) int { return strings.Compare(said(a), said(b)) }) {
		result[strconv.Itoa(i)] = item
	}
	return result
}

// text returns all values in one line.
func text(found map[string]string) string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, path+"="+found[path])
	}
	return strings.Join(parts, " ")
}

// Reference is the result of undisturbed runs.
type Reference struct {
	State State
	// Varies are the paths at which the runs differ; they are not compared.
	Varies []string
}

// NewReference compares undisturbed runs.
func NewReference(first State, others ...State) Reference {
	reference := Reference{State: first}
	varies := map[string]bool{}
	for _, other := range others {
		for path := range union(first, other) {
			one, there := first[path]
			if two, too := other[path]; one != two || there != too {
				varies[path] = true
			}
		}
	}
	reference.Varies = slices.Sorted(maps.Keys(varies))
	return reference
}

// Differences returns a line for each difference of a state from the reference.
func (r Reference) Differences(got State) []string {
	var lines []string
	for _, path := range slices.Sorted(maps.Keys(union(r.State, got))) {
		if slices.Contains(r.Varies, path) {
			continue
		}
		want, wanted := r.State[path]
		is, there := got[path]
		switch {
		case wanted && there && want == is:
		case !there:
			lines = append(lines, fmt.Sprintf("%s: missing, expected %q", path, want))
		case !wanted:
			lines = append(lines, fmt.Sprintf("%s: unexpected %q", path, is))
		default:
			lines = append(lines, fmt.Sprintf("%s: %q, expected %q", path, is, want))
		}
	}
	return lines
}

func union(a, b State) State {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
