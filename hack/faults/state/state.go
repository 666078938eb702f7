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

// Package state writes down what objects say, without what differs between any two runs, and compares that.
package state

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// State is what was found, by where: "ChangePod sleep--x--1 .status.status" is "ExecuteDone".
type State map[string]string

// Masks hide what differs between any two runs.
type Masks struct {
	// Names are texts, such as that of the namespace, and what to show for each.
	Names map[string]string
	// Patterns are what else is replaced in a value, in their order.
	Patterns []Pattern
	// Left are the names of fields that are left out, wherever they are.
	Left []string
}

// Pattern is what a value may hold, and what to show for it.
type Pattern struct {
	Of   *regexp.Regexp
	Show string
}

// Value masks a text.
func (m Masks) Value(text string) string {
	for _, name := range slices.Sorted(maps.Keys(m.Names)) {
		text = strings.ReplaceAll(text, name, m.Names[name])
	}
	for _, pattern := range m.Patterns {
		text = pattern.Of.ReplaceAllString(text, pattern.Show)
	}
	return text
}

// Add writes an object down under a name that tells it from others.
func (s State) Add(name string, object map[string]any, masks Masks) {
	for path, value := range flatten(object, masks) {
		s[name+" "+path] = value
	}
}

// Count writes an object down that has no name of its own, by what it says: the value is how many say the same.
func (s State) Count(kind string, object map[string]any, masks Masks) {
	name := kind + " " + text(flatten(object, masks))
	count, _ := strconv.Atoi(s[name]) // none is 0
	s[name] = strconv.Itoa(count + 1)
}

// flatten lists the values of an object by their paths.
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

// keyed gives the items of a list names: a condition its type, any other its place among the items when these are sorted by
// what they say, since the order of most lists is that of chance.
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

// text is all that was found in one line.
func text(found map[string]string) string {
	var parts []string
	for _, path := range slices.Sorted(maps.Keys(found)) {
		parts = append(parts, path+"="+found[path])
	}
	return strings.Join(parts, " ")
}

// Reference is what undisturbed runs came to.
type Reference struct {
	State State
	// Varies are the paths at which they differ: chance decides there, and nothing is compared.
	Varies []string
}

// NewReference takes what undisturbed runs came to.
func NewReference(first State, others ...State) Reference {
	reference := Reference{State: first}
	varies := map[string]bool{}
	for _, other := range others {
		for path := range union(first, other) {
			if one, there := first[path]; !there || other[path] != one {
				varies[path] = true
			}
			if _, there := other[path]; !there {
				varies[path] = true
			}
		}
	}
	reference.Varies = slices.Sorted(maps.Keys(varies))
	return reference
}

// Differences says in a line each where a state differs from the reference.
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
			lines = append(lines, fmt.Sprintf("%s: missing, it should be %q", path, want))
		case !wanted:
			lines = append(lines, fmt.Sprintf("%s: %q should not be there", path, is))
		default:
			lines = append(lines, fmt.Sprintf("%s: %q, it should be %q", path, is, want))
		}
	}
	return lines
}

func union(a, b State) State {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
