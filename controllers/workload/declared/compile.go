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
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Compile returns the declared kind, or the problems of the declaration, each with its field.
func (c *Compiler) Compile(declared *appv1alpha1.ControlledKind, definition Definition) (Kind, field.ErrorList) {
	compilation := compilation{compiler: c, definition: definition, spec: field.NewPath("spec")}
	compilation.identity(declared)
	if len(compilation.problems) > 0 {
		return nil, compilation.problems
	}
	result := compilation.kind(&declared.Spec)
	if len(compilation.problems) > 0 {
		return nil, compilation.problems
	}
	return result, nil
}

// compilation collects the problems of a declaration.
type compilation struct {
	compiler   *Compiler
	definition Definition
	spec       *field.Path
	problems   field.ErrorList
}

func (c *compilation) invalid(at *field.Path, value any, format string, arguments ...any) {
	c.problems = append(c.problems, field.Invalid(at, value, fmt.Sprintf(format, arguments...)))
}

func (c *compilation) identity(declared *appv1alpha1.ControlledKind) {
	if declared.Name != c.definition.Name() {
		c.invalid(field.NewPath("metadata", "name"), declared.Name, "must be %s, the name of the resource", c.definition.Name())
	}
	if declared.Spec.BuiltIn {
		c.invalid(c.spec.Child("builtIn"), true, "%s is not built in", c.definition.Name())
	}
	if version := declared.Spec.Version; version != "" && version != c.definition.GroupVersionKind.Version {
		c.invalid(c.spec.Child("version"), version, "the definition has version %s", c.definition.GroupVersionKind.Version)
	}
}

func (c *compilation) kind(spec *appv1alpha1.ControlledKindSpec) Kind {
	result := &kind{
		definition: c.definition,
		mode:       spec.Mode,
		owned:      spec.Owned == appv1alpha1.OwnedControl,
		undo:       spec.Undo != appv1alpha1.UndoNone,
		health:     c.health(spec.Health, c.counts(spec.Counts)),
		ruling:     c.ruling(spec),
	}
	if result.mode == "" {
		result.mode = appv1alpha1.ModeObserve
	}
	result.lever = c.lever(spec, result.counts.desired)
	result.content = c.content(spec.Release, result.lever, result.counts.desired)
	result.pods = c.pods(spec, len(result.templates) > 0)
	result.units = c.unitSource(spec.Units)
	result.stamped = result.pods.by != appv1alpha1.PodsByNone && result.pods.revision == ""
	if result.stamped {
		for _, template := range result.templates {
			if c.definition.prunesLabels(template) {
				result.unstampable = append(result.unstampable, template.String())
			}
		}
	}
	result.kept = result.reads()
	result.definition.Schema, result.definition.Scale = nil, nil // a schema may be large
	partition := partitionOf(spec)
	result.self = result.withOptions(partition != nil && partition.Park)
	return result.self
}

// withParent returns the place of the topmost object that has a field, or of the field itself at the top; below the spec, if it is there. An object that
// a hold created is removed with the field if it has no other.
func withParent(at place) place {
	depth := 1
	if len(at) > 0 && (at[0] == "spec" || at[0] == "metadata") {
		depth = 2
	}
	return at[:min(len(at), depth)]
}

// reads returns the paths of the fields that are read from the cache.
func (k *kind) reads() []Path {
	kept := alwaysKept()
	kept = append(kept, k.counts.desired, k.counts.total, k.counts.updated, k.counts.ready, k.pods.selector, k.pods.current)
	for _, held := range k.lever.fields {
		kept = append(kept, pathOf(withParent(held.at)...))
	}
	kept = append(kept, pathOf(withParent(k.lever.partition)...))
	if !k.units.list.isZero() {
		kept = append(kept, k.units.list.elements().child(k.units.name))
	}
	kept = slices.DeleteFunc(kept, Path.isZero)
	for _, expression := range []*expression{k.failed, k.inProgress, k.current} {
		if expression != nil {
			kept = append(kept, expression.reads...)
		}
	}
	return kept
}
