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
	// maxChanges is the most lines that tell of the changes of one release.
	maxChanges = 32
	// maxDepth is how deep a template is looked into: what lies below is compared as a whole. Nothing that our types know lies
	// that deep.
	maxDepth = 16
)

// absent stands for a value that one of two templates doesn't have.
type absent struct{}

// changes are the first lines, and how many there would be in all.
type changes struct {
	lines []string
	count int
}

// Changes tells people what differs between two pod templates, one difference a line, in an order that depends on nothing
// but the templates; nil where nothing does. Lines look like these:
//
//	metadata.labels[test]: 123 -> bad
//	spec.containers[sleep].image: busybox -> busybox:1.37
//	spec.containers[sleep].env[PASSWORD].value: changed, value not shown
//	spec.containers[sleep].args: changed, values not shown
//	spec.containers[proxy]: added, image envoy:1
//	spec.nodeSelector[disk]: removed (was ssd)
//	spec.volumes: reordered
//
// A value is only shown where the list in shown.go has its field; everything else may be a secret, whatever its name.
// Names of fields, keys of maps and what identifies an element of a known list, such as the name of a variable, are always
// shown. Elements of other lists are told by their position. Numbers are compared by what they are worth.
//
// There are at most 32 lines, of which the last then says how many are left out, and a line has at most 200 characters, all
// of them printable.
func Changes(old, updated Template) []string {
	var found changes
	found.compare(place{}, map[string]any(old), map[string]any(updated))
	if found.count > maxChanges {
		found.lines[maxChanges-1] = fmt.Sprintf("and %d more changes", found.count-maxChanges+1)
	}
	return found.lines
}

func (c *changes) note(at place, text string) {
	c.count++
	if len(c.lines) < maxChanges {
		c.lines = append(c.lines, cut(at.path+": "+text))
	}
}

// compare notes how the values at a place differ.
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

// compareElements matches elements by what identifies them, and notes those that came or went in one line each.
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

// namesOf are the values of the merge key, where there is one and each list has every value once, and else the positions.
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

// same compares numbers by what they are worth: a whole one is an int64 or a float64, depending on who decoded it.
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

// fieldsOf takes what is absent for an empty object.
func fieldsOf(value any) (fields map[string]any, isObject bool) {
	if value == (absent{}) {
		return nil, true
	}
	fields, isObject = value.(map[string]any)
	return fields, isObject
}

// elementsOf takes what is absent for an empty list. A list with anything but objects in it has no elements to compare.
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
