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
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// read parses a path to one field that is read. An empty text is an empty path.
func (c *compilation) read(at *field.Path, text string) Path {
	return c.path(at, text, false)
}

// path parses a path, to several fields if many is set.
func (c *compilation) path(at *field.Path, text string, many bool) Path {
	if text == "" {
		return Path{}
	}
	path, err := ParsePath(text)
	if err != nil {
		c.invalid(at, text, "%v", err)
		return Path{}
	}
	if _, isOne := path.fields(); !isOne && !many {
		c.invalid(at, text, "must lead to one field: [*] is not allowed here")
		return Path{}
	}
	if _, err := c.definition.at(path); err != nil {
		c.invalid(at, text, "%v", err)
		return Path{}
	}
	return path
}

// write parses a path to fields that are written: in the spec, for example, or an annotation.
func (c *compilation) write(at *field.Path, text string, many bool) Path {
	path := c.path(at, text, many)
	if path.isZero() {
		if text == "" {
			c.problems = append(c.problems, field.Required(at, "a path, such as spec.template"))
		}
		return path
	}
	switch root := path.steps[0].name; {
	case root == "metadata" && !isAnnotation(path):
		c.invalid(at, text, "only annotations are supported in metadata, such as metadata.annotations['example.com/step']")
		return Path{}
	case root == "metadata" && strings.Contains(path.steps[2].name, "altershield"):
		c.invalid(at, text, "annotations of the operator are not supported")
		return Path{}
	case root == "apiVersion", root == "kind", root == "status":
		c.invalid(at, text, "%s is not writable by users", root)
		return Path{}
	}
	return path
}

func isAnnotation(path Path) bool {
	return len(path.steps) == 3 && path.steps[1].name == "annotations" && !path.steps[2].all
}

func (c *compilation) mustBeTemplate(at *field.Path, path Path) {
	containers, err := c.definition.at(path.child("spec").child("containers"))
	if err != nil || containers != nil && containers.Type != "array" {
		c.invalid(at, path.String(), "not a pod template in the CRD: it has no spec.containers")
	}
}

func (c *compilation) writes(at *field.Path, texts []string, check func(*field.Path, Path)) []Path {
	var paths []Path
	for i, text := range texts {
		path := c.write(at.Index(i), text, true)
		if path.isZero() {
			continue
		}
		if slices.ContainsFunc(paths, path.overlaps) {
			c.invalid(at.Index(i), text, "overlaps with another path of the list")
			continue
		}
		check(at.Index(i), path)
		paths = append(paths, path)
	}
	return paths
}

// mustBe reports a field that has another type in the CRD. It returns whether it has one of these.
func (c *compilation) mustBe(at *field.Path, path Path, value any, kinds ...string) bool {
	if path.isZero() {
		return true
	}
	schema, err := c.definition.at(path)
	if err != nil || schema == nil || schema.Type == "" || slices.Contains(kinds, schema.Type) {
		return true
	}
	c.invalid(at, value, "%s has type %s in the CRD", path, schema.Type)
	return false
}

// typesOf returns the types of a schema that a value has.
func typesOf(value any) []string {
	switch value := value.(type) {
	case bool:
		return []string{"boolean"}
	case int64:
		return []string{"integer", "number"}
	case float64:
		if value == math.Trunc(value) {
			return []string{"integer", "number"}
		}
		return []string{"number"}
	case string:
		return []string{"string"}
	case []any:
		return []string{"array"}
	default:
		return []string{"object"}
	}
}
