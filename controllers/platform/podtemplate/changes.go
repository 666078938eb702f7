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

package podtemplate

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
)

const (
	// maxChanges is the maximum number of lines for one release.
	maxChanges = 32
	// maxDepth is the depth below which values are compared as a whole. No field of our types is that deep.
	maxDepth = 16
)

// absent stands for a value that one of two templates lacks.
type absent struct{}

// changes are the first lines, and the number of all.
type changes struct {
	lines []string
	count int
}

// Changes describes the differences between two pod templates, one per line, in an order that depends only on the templates. Lines
// look like these:
//
//	metadata.labels[test]: 123 -> bad
//	spec.containers[sleep].image: busybox -> busybox:1.37
//	spec.containers[sleep].env[PASSWORD].value: changed, value not shown
//	spec.containers[sleep].args: changed, values not shown
//	spec.containers[proxy]: added, image envoy:1
//	spec.nodeSelector[disk]: removed (was ssd)
//	spec.volumes: reordered
//
// Only values of fields in the lists of shown.go are shown; any other may be a secret. Names of fields, keys of maps and the
// identities of elements in known lists, such as the names of variables, are always shown. Elements of other lists are identified by
// position. Numbers are compared by value.
//
// There are at most 32 lines, of which the last counts the omitted ones, and at most 200 characters in a line, all of them
// printable.
func Changes(old, updated Template) []string {
	var found changes
	found.compare(place{}, map[string]any(old), map[string]any(updated))
	return found.limited()
}

// Part is one of several parts of a workload that a release changes.
type Part struct {
	// Keys lead to the part.
	Keys []string
	// Old and Updated are its values; nil if it is absent.
	Old, Updated any
}

// PartChanges describes the differences of several parts, in their order, as Changes does. Values are shown of pod templates only.
func PartChanges(parts []Part) []string {
	var found changes
	for _, part := range parts {
		at := place{}
		for _, key := range part.Keys {
			at = at.field(key)
		}
		at.pattern, at.depth = unknownField, 0
		if isTemplate(part.Old) || isTemplate(part.Updated) {
			at.pattern = ""
		}
		found.compare(at, orAbsent(part.Old), orAbsent(part.Updated))
	}
	return found.limited()
}

// isTemplate reports whether a value has the form of a pod template.
func isTemplate(value any) bool {
	template, _ := value.(map[string]any)
	spec, _ := template["spec"].(map[string]any)
	_, has := spec["containers"].([]any)
	return has
}

func orAbsent(value any) any {
	if value == nil {
		return absent{}
	}
	return value
}

// limited returns the lines, of which the last counts the omitted ones.
func (c *changes) limited() []string {
	if c.count > maxChanges {
		c.lines[maxChanges-1] = fmt.Sprintf("and %d more changes", c.count-maxChanges+1)
	}
	return c.lines
}

func (c *changes) note(at place, text string) {
	c.count++
	if len(c.lines) < maxChanges {
		c.lines = append(c.lines, cut(at.path+": "+text))
	}
}

// compare notes the differences of the values at a place.
func (c *changes) compare(at place, old, updated any) {
	if same(old, updated) {
		return
	}
	before := c.count
	oldFields, isObject := fieldsOf(old)
	updatedFields, areObjects := fieldsOf(updated)
	oldElements, isList := elementsOf(old)
	updatedElements, areLists := elementsOf(updated)
	switch {
	case at.depth < maxDepth && isObject && areObjects:
		c.compareFields(at, oldFields, updatedFields)
	case at.depth < maxDepth && isList && areLists:
		c.compareElements(at, oldElements, updatedElements)
	default:
		c.note(at, describe(at, old, updated))
	}
	if c.count == before { // an empty object or list came or went
		c.note(at, presence(old))
	}
}

func (c *changes) compareFields(at place, old, updated map[string]any) {
	keys := slices.Collect(maps.Keys(old))
	for key := range updated {
		if _, known := old[key]; !known {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	if first := slices.Index(keys, at.first()); first > 0 {
		keys = slices.Insert(slices.Delete(keys, first, first+1), 0, at.first())
	}
	for _, key := range keys {
		c.compare(at.field(key), valueOf(old, key), valueOf(updated, key))
	}
}

// compareElements matches elements by identity. It notes added and removed ones in one line each.
func (c *changes) compareElements(at place, old, updated []map[string]any) {
	oldNames, updatedNames := namesOf(mergeKey(at.pattern), old, updated)
	oldByName, updatedByName := byName(oldNames, old), byName(updatedNames, updated)
	if !slices.Equal(common(oldNames, updatedByName), common(updatedNames, oldByName)) {
		c.note(at, "reordered")
	}
	for i, name := range updatedNames {
		if before, known := oldByName[name]; known {
			c.compare(at.element(name), before, updated[i])
		} else {
			c.note(at.element(name), "added"+imageOf(at, updated[i]))
		}
	}
	for i, name := range oldNames {
		if _, known := updatedByName[name]; !known {
			c.note(at.element(name), "removed"+imageOf(at, old[i]))
		}
	}
}

// namesOf returns the values of the merge key if there is one and they are unique in each list, else the positions.
func namesOf(mergeKey string, old, updated []map[string]any) (oldNames, updatedNames []string) {
	oldNames, oldUnique := identities(mergeKey, old)
	updatedNames, updatedUnique := identities(mergeKey, updated)
	if mergeKey != "" && oldUnique && updatedUnique {
		return oldNames, updatedNames
	}
	positions := make([]string, max(len(old), len(updated)))
	for i := range positions {
		positions[i] = strconv.Itoa(i)
	}
	return positions[:len(old)], positions[:len(updated)]
}

func identities(mergeKey string, elements []map[string]any) (names []string, unique bool) {
	seen := make(map[string]bool, len(elements))
	for _, element := range elements {
		value, present := element[mergeKey]
		name := text(value)
		if !present || !isScalar(value) || seen[name] {
			return nil, false
		}
		seen[name] = true
		names = append(names, name)
	}
	return names, true
}

func byName(names []string, elements []map[string]any) map[string]map[string]any {
	result := make(map[string]map[string]any, len(names))
	for i, name := range names {
		result[name] = elements[i]
	}
	return result
}

func common(names []string, others map[string]map[string]any) []string {
	var result []string
	for _, name := range names {
		if _, present := others[name]; present {
			result = append(result, name)
		}
	}
	return result
}

// same compares numbers by value: depending on the decoder, an integer is an int64 or a float64.
func same(old, updated any) bool {
	switch before := old.(type) {
	case map[string]any:
		after, isObject := updated.(map[string]any)
		return isObject && maps.EqualFunc(before, after, same)
	case []any:
		after, isList := updated.([]any)
		return isList && slices.EqualFunc(before, after, same)
	default:
		return reflect.DeepEqual(old, updated) || isNumber(old) && isNumber(updated) && text(old) == text(updated)
	}
}

// fieldsOf treats an absent value as an empty object.
func fieldsOf(value any) (fields map[string]any, isObject bool) {
	if value == (absent{}) {
		return nil, true
	}
	fields, isObject = value.(map[string]any)
	return fields, isObject
}

// elementsOf treats an absent value as an empty list. It reports false for a list with anything but objects.
func elementsOf(value any) (elements []map[string]any, areObjects bool) {
	if value == (absent{}) {
		return nil, true
	}
	list, isList := value.([]any)
	for _, element := range list {
		object, isObject := element.(map[string]any)
		if !isObject {
			return nil, false
		}
		elements = append(elements, object)
	}
	return elements, isList
}

func valueOf(object map[string]any, key string) any {
	if value, present := object[key]; present {
		return value
	}
	return absent{}
}
