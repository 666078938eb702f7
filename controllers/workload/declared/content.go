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
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/traas-stack/altershield-operator/controllers/platform/expressions"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// content defines the content of a kind.
type content struct {
	templates, fields []Path
	// ignored are paths below templates and fields that are not part of the content.
	ignored []Path
	// when is nil if every change of the content is a release.
	when *expression
	// stamped indicates that the templates carry the version label.
	stamped bool
}

// Content returns the parts of an object whose change is a release. An object without content is not a workload.
func (c *content) Content(object map[string]any) workload.Content {
	found := workload.Content{}
	ignored := c.ignoredIn(object)
	for _, path := range c.templates {
		path.each(object, func(at place, value any) {
			if template, isObject := value.(map[string]any); isObject {
				found[at.pointer()] = without(map[string]any(podtemplate.At(template)), at, ignored)
			}
		})
	}
	for _, path := range c.fields {
		path.each(object, func(at place, value any) { found[at.pointer()] = without(value, at, ignored) })
	}
	return found
}

// ignoredIn returns the places of the ignored fields of an object, also of one that is missing in an object without other fields.
func (c *content) ignoredIn(object map[string]any) []place {
	var found []place
	for _, path := range c.ignored {
		path.eachOrHollow(object, nil, func(at place) { found = append(found, at) })
	}
	return found
}

// without returns the value at a place without the ignored fields below, and without objects that hold nothing else.
func without(value any, at place, ignored []place) any {
	copied := false
	for _, below := range ignored {
		if !below.isBelow(at) {
			continue
		}
		if !copied {
			value, copied = runtime.DeepCopyJSONValue(value), true
		}
		inner := below[len(at):]
		inner.remove(value)
		for inner = inner[:len(inner)-1]; len(inner) > 0; inner = inner[:len(inner)-1] {
			above := inner.find(value)
			if fields, isObject := above.(map[string]any); above != nil && (!isObject || len(fields) > 0) {
				break
			}
			inner.remove(value)
		}
	}
	return value
}

// IsRelease reports whether an update is a release, or a creation if old is nil.
func (c *content) IsRelease(old, updated map[string]any) (bool, error) {
	content := c.Content(updated)
	if len(content) == 0 || old != nil && content.Equal(c.Content(old)) {
		return false, nil
	}
	if c.when == nil {
		return true, nil
	}
	variables := map[string]any{varObject: updated, varOldObject: nil}
	if old != nil {
		variables[varOldObject] = old
	}
	released, err := c.when.Holds(variables, expressions.NewBudget())
	if err != nil {
		return false, fmt.Errorf("evaluating spec.release.when: %w", err)
	}
	return released, nil
}

// Templates returns JSON pointers to the pod templates that carry the version label.
func (c *content) Templates(object map[string]any) []string {
	if !c.stamped {
		return nil
	}
	var pointers []string
	for _, path := range c.templates {
		path.each(object, func(at place, value any) {
			if _, isObject := value.(map[string]any); isObject {
				pointers = append(pointers, at.pointer())
			}
		})
	}
	return pointers
}

// Restore returns the operations that restore a stored content. Ignored fields keep their values. It fails if the elements of a list
// have changed.
func (c *content) Restore(object map[string]any, kept workload.Content) ([]workload.Operation, error) {
	present := c.Content(object)
	if err := c.sameElements(present, kept); err != nil {
		return nil, err
	}
	working := runtime.DeepCopyJSON(object)
	ignored := c.ignoredIn(object)
	var operations []workload.Operation
	for _, pointer := range slices.Sorted(maps.Keys(present)) {
		if _, stays := kept[pointer]; !stays {
			at := parsePlace(pointer)
			at.remove(working)
			operations = append(operations, workload.Operation{Op: "remove", Path: pointer})
		}
	}
	for _, pointer := range slices.Sorted(maps.Keys(kept)) {
		if before, known := present[pointer]; known && reflect.DeepEqual(before, kept[pointer]) {
			continue
		}
		at := parsePlace(pointer)
		value := runtime.DeepCopyJSONValue(kept[pointer])
		for _, below := range ignored {
			if stays := below.find(object); stays != nil && below.isBelow(at) {
				below[len(at):].put(value, stays)
			}
		}
		operations = append(operations, set(working, at, value))
		at.put(working, value)
	}
	return operations, nil
}

// sameElements returns an error if a path with [*] leads to different places in the two contents.
func (c *content) sameElements(present, kept workload.Content) error {
	for _, path := range slices.Concat(c.templates, c.fields) {
		if _, isOne := path.fields(); isOne {
			continue
		}
		leads := func(pointer string) bool { return path.leadsTo(pathOf(parsePlace(pointer)...)) }
		for pointer := range present {
			if _, stays := kept[pointer]; leads(pointer) && !stays {
				return elementsError(path)
			}
		}
		for pointer := range kept {
			if _, known := present[pointer]; leads(pointer) && !known {
				return elementsError(path)
			}
		}
	}
	return nil
}

func elementsError(path Path) error {
	return fmt.Errorf("%s has other elements than in the release to restore; change them by hand", path)
}

// set returns the operation that sets the value at a place and creates missing objects above it.
func set(object map[string]any, at place, value any) workload.Operation {
	top := missing(object, at)
	if len(top) == len(at) {
		if at.find(object) != nil {
			return workload.Operation{Op: "replace", Path: at.pointer(), Value: value}
		}
		return workload.Operation{Op: "add", Path: at.pointer(), Value: value}
	}
	for i := len(at) - 1; i >= len(top); i-- {
		value = map[string]any{at[i]: value}
	}
	return workload.Operation{Op: "add", Path: top.pointer(), Value: value}
}

// missing returns the topmost place on the way to a place that has no value, or the place itself.
func missing(object map[string]any, at place) place {
	for i := 1; i < len(at); i++ {
		if at[:i].find(object) == nil {
			return at[:i]
		}
	}
	return at
}
