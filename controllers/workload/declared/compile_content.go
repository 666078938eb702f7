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
	"slices"

	"github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func (c *compilation) expression(at *field.Path, env *cel.Env, text string, condition bool) *expression {
	if text == "" {
		return nil
	}
	compiled, err := compile(env, text, condition)
	if err != nil {
		c.invalid(at, text, "%v", err)
	}
	return compiled
}

// content compiles the definition of a release. Fields that hold a rollout are never part of it, nor is the number of replicas unless
// it is declared.
func (c *compilation) content(release *appv1alpha1.ReleaseContent, lever pacing, desired Path) content {
	if release == nil {
		release = &appv1alpha1.ReleaseContent{}
	}
	at := c.spec.Child("release")
	result := content{
		templates: c.writes(at.Child("templates"), release.Templates, c.mustBeTemplate),
		fields:    c.writes(at.Child("fields"), release.Fields, func(*field.Path, Path) {}),
		when:      c.expression(at.Child("when"), c.compiler.when, release.When, true),
	}
	if len(release.Templates)+len(release.Fields) == 0 {
		result.templates = c.definition.templates()
		if len(result.templates) == 0 {
			result.fields = []Path{pathOf("spec")}
		}
	}
	c.ignore(&result, release.Ignore)
	c.ignoreLevers(&result, lever)
	for _, path := range append(slices.Clone(result.templates), desired) {
		if slices.ContainsFunc(result.fields, func(field Path) bool { return field.isAbove(path) }) {
			result.ignored = append(result.ignored, path)
		}
	}
	return result
}

// ignore adds the declared exceptions.
func (c *compilation) ignore(result *content, declared []string) {
	for i, text := range declared {
		at := c.spec.Child("release", "ignore").Index(i)
		path := c.write(at, text, true)
		switch {
		case path.isZero():
		case path.steps[len(path.steps)-1].all:
			c.invalid(at, text, "must lead to a field: elements of a list can't be ignored")
		case !result.isAbove(path):
			c.invalid(at, text, "must be below a template or field of the release")
		default:
			result.ignored = append(result.ignored, path)
		}
	}
}

// ignoreLevers adds the fields that hold a rollout as exceptions.
func (c *compilation) ignoreLevers(result *content, lever pacing) {
	levers := []Path{}
	for _, held := range lever.fields {
		levers = append(levers, pathOf(held.at...))
	}
	if lever.partition != nil && !lever.byPartition {
		levers = append(levers, pathOf(lever.partition...))
	}
	for _, path := range levers {
		switch {
		case slices.ContainsFunc(slices.Concat(result.templates, result.fields), path.leadsTo):
			c.invalid(c.spec.Child("release"), path.String(), "a field that holds rollouts can't be part of a release")
		case slices.ContainsFunc(result.templates, func(template Path) bool { return template.leadsTo(path) }):
			c.invalid(c.spec.Child("hold"), path.String(), "a field of a pod template can't hold rollouts")
		default:
			result.ignored = append(result.ignored, path)
		}
	}
}

func (c *content) isAbove(path Path) bool {
	return slices.ContainsFunc(slices.Concat(c.templates, c.fields), func(above Path) bool { return above.isAbove(path) })
}

// counts compiles the paths to numbers of pods. Missing ones default to the scale subresource and to usual names.
func (c *compilation) counts(declared *appv1alpha1.CountPaths) counts {
	if declared == nil {
		declared = &appv1alpha1.CountPaths{}
	}
	var scale apiextensionsv1.CustomResourceSubresourceScale
	if c.definition.Scale != nil {
		scale = *c.definition.Scale
	}
	at := c.spec.Child("counts")
	return counts{
		desired: c.count(at.Child("desired"), declared.Desired, scale.SpecReplicasPath),
		total:   c.count(at.Child("total"), declared.Total, scale.StatusReplicasPath),
		updated: c.count(at.Child("updated"), declared.Updated, "status.updatedReplicas"),
		ready:   c.count(at.Child("ready"), declared.Ready, "status.readyReplicas"),
	}
}

func (c *compilation) count(at *field.Path, declared, usual string) Path {
	if declared == "" {
		path, err := ParsePath(usual)
		if err != nil || c.definition.Schema == nil {
			return Path{}
		}
		if schema, err := c.definition.at(path); err != nil || schema == nil {
			return Path{}
		}
		return path
	}
	path := c.read(at, declared)
	c.mustBe(at, path, declared, "integer", "number")
	return path
}

func (c *compilation) health(declared *appv1alpha1.HealthRules, counts counts) health {
	result := health{counts: counts}
	if declared != nil {
		at := c.spec.Child("health")
		result.failed = c.expression(at.Child("failed"), c.compiler.health, declared.Failed, true)
		result.inProgress = c.expression(at.Child("inProgress"), c.compiler.health, declared.InProgress, true)
		result.current = c.expression(at.Child("current"), c.compiler.health, declared.Current, true)
	}
	return result
}

func (c *compilation) ruling(spec *appv1alpha1.ControlledKindSpec) ruling {
	var result ruling
	for i, text := range spec.Immutable {
		if path := c.write(c.spec.Child("immutable").Index(i), text, false); !path.isZero() {
			result.immutable = append(result.immutable, path)
		}
	}
	for i, declared := range spec.Rules {
		at := c.spec.Child("rules").Index(i)
		if slices.ContainsFunc(result.rules, func(other rule) bool { return other.name == declared.Name }) {
			c.problems = append(c.problems, field.Duplicate(at.Child("name"), declared.Name))
		}
		result.rules = append(result.rules, rule{
			name: declared.Name, message: declared.Message, operations: declared.Operations,
			expression: c.expression(at.Child("expression"), c.compiler.rule, declared.Expression, true),
		})
	}
	return result
}
