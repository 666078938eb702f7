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
	"math"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation"
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

func partitionOf(spec *appv1alpha1.ControlledKindSpec) *appv1alpha1.PartitionField {
	if spec.Pace == nil {
		return nil
	}
	return spec.Pace.Partition
}

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
	if schema, _ := c.definition.at(path); schema != nil && !keepsUnknown(schema) && !isPodTemplate(path, schema) {
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

// mustBe reports a field that has another type in the CRD.
func (c *compilation) mustBe(at *field.Path, path Path, value any, kinds ...string) {
	if path.isZero() {
		return
	}
	schema, err := c.definition.at(path)
	if err != nil || schema == nil || schema.Type == "" || slices.Contains(kinds, schema.Type) {
		return
	}
	c.invalid(at, value, "%s has type %s in the CRD", path, schema.Type)
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

// lever compiles the fields that hold and limit a rollout.
func (c *compilation) lever(spec *appv1alpha1.ControlledKindSpec, desired Path) pacing {
	var result pacing
	for i := range spec.Hold {
		if held, ok := c.held(c.spec.Child("hold").Index(i), &spec.Hold[i]); ok {
			result.fields = append(result.fields, held)
		}
	}
	partition := partitionOf(spec)
	if partition == nil {
		return result
	}
	at := c.spec.Child("pace", "partition")
	path := c.write(at.Child("path"), partition.Path, false)
	if path.isZero() {
		return result
	}
	c.mustBe(at.Child("path"), path, partition.Path, "integer", "number")
	if desired.isZero() {
		c.problems = append(c.problems, field.Required(c.spec.Child("counts", "desired"), "required by the partition"))
	}
	fields, _ := path.fields()
	result.partition, result.desired = fields, desired
	if len(spec.Hold) == 0 {
		result.fields, result.byPartition = []heldField{{at: fields, value: maxPartition}}, true
	}
	return result
}

func (c *compilation) held(at *field.Path, declared *appv1alpha1.HoldField) (heldField, bool) {
	path := c.write(at.Child("path"), declared.Path, false)
	if (declared.Value == nil) == (declared.CEL == "") {
		c.invalid(at, declared.Path, "exactly one of value and cel is required")
		return heldField{}, false
	}
	if path.isZero() {
		return heldField{}, false
	}
	fields, _ := path.fields()
	held := heldField{at: fields, cel: c.expression(at.Child("cel"), c.compiler.hold, declared.CEL, false)}
	if declared.Value == nil {
		return held, held.cel != nil
	}
	if err := utiljson.Unmarshal(declared.Value.Raw, &held.value); err != nil || held.value == nil {
		c.invalid(at.Child("value"), string(declared.Value.Raw), "must not be null")
		return heldField{}, false
	}
	if _, isText := held.value.(string); isAnnotation(path) && !isText {
		c.invalid(at.Child("value"), string(declared.Value.Raw), "must be a string, as the value of an annotation")
	}
	c.mustBe(at.Child("value"), path, string(declared.Value.Raw), typesOf(held.value)...)
	return held, true
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

// pods compiles the source of pods. It defaults to Owner, or to None without pod templates.
func (c *compilation) pods(spec *appv1alpha1.ControlledKindSpec, hasTemplates bool) podSource {
	declared := spec.Pods
	if declared == nil {
		declared = &appv1alpha1.PodSource{By: appv1alpha1.PodsByOwner}
		if !hasTemplates {
			declared.By = appv1alpha1.PodsByNone
		}
	}
	at := c.spec.Child("pods")
	result := podSource{by: declared.By, key: declared.Key, selector: c.read(at.Child("path"), declared.Path)}
	c.checkPods(at, declared)
	if declared.By == appv1alpha1.PodsByOwner {
		through := declared.Through
		if len(through) == 0 {
			through = []string{"ReplicaSet.apps", "StatefulSet.apps", "Job.batch"}
		}
		for i, text := range through {
			named := schema.ParseGroupKind(text)
			if _, known := layers()[named]; !known {
				c.problems = append(c.problems, field.NotSupported(at.Child("through").Index(i), text, layerNames()))
			}
			result.through = append(result.through, named)
		}
	}
	identity := identityOf(spec)
	identityAt := c.spec.Child("release", "identity")
	if identity.By == appv1alpha1.IdentityByRevision {
		c.checkLabel(identityAt.Child("label"), identity.Label)
		if identity.Path == "" {
			c.problems = append(c.problems, field.Required(identityAt.Child("path"), "the path to the value of the label"))
		}
		result.revision, result.current = identity.Label, c.read(identityAt.Child("path"), identity.Path)
	} else if !hasTemplates && declared.By != appv1alpha1.PodsByNone {
		c.problems = append(c.problems, field.Required(identityAt, "must be Revision: there are no pod templates that could carry the version label"))
	}
	return result
}

func (c *compilation) checkPods(at *field.Path, declared *appv1alpha1.PodSource) {
	switch declared.By {
	case appv1alpha1.PodsByLabel:
		c.checkLabel(at.Child("key"), declared.Key)
	case appv1alpha1.PodsBySelector:
		if declared.Path == "" {
			c.problems = append(c.problems, field.Required(at.Child("path"), "the path to the label selector"))
		}
	case appv1alpha1.PodsByOwner, appv1alpha1.PodsByNone:
	default:
		c.problems = append(c.problems, field.NotSupported(at.Child("by"), declared.By, []appv1alpha1.PodsBy{
			appv1alpha1.PodsByOwner, appv1alpha1.PodsByLabel, appv1alpha1.PodsBySelector, appv1alpha1.PodsByNone,
		}))
	}
}

func (c *compilation) checkLabel(at *field.Path, key string) {
	if faults := validation.IsQualifiedName(key); len(faults) > 0 {
		c.invalid(at, key, "%s", faults[0])
	}
}

func identityOf(spec *appv1alpha1.ControlledKindSpec) appv1alpha1.PodIdentity {
	if spec.Release == nil || spec.Release.Identity == nil {
		return appv1alpha1.PodIdentity{By: appv1alpha1.IdentityByStamp}
	}
	return *spec.Release.Identity
}

func layerNames() []string {
	var names []string
	for named := range layers() {
		names = append(names, named.String())
	}
	slices.Sort(names)
	return names
}

func (c *compilation) unitSource(declared *appv1alpha1.UnitSource) listing {
	if declared == nil {
		return listing{}
	}
	at := c.spec.Child("units")
	list := c.read(at.Child("list"), declared.List)
	if declared.List == "" {
		c.problems = append(c.problems, field.Required(at.Child("list"), "the path to a list"))
	}
	c.mustBe(at.Child("list"), list, declared.List, "array")
	if declared.Name == "" {
		c.problems = append(c.problems, field.Required(at.Child("name"), "the field with the name of an element"))
	} else if !list.isZero() {
		if _, err := c.definition.at(list.elements().child(declared.Name)); err != nil {
			c.invalid(at.Child("name"), declared.Name, "%v", err)
		}
	}
	return listing{list: list, name: declared.Name}
}

// reads returns the paths of the fields that are read from the cache.
func (k *kind) reads() []Path {
	kept := alwaysKept()
	kept = append(kept, k.counts.desired, k.counts.total, k.counts.updated, k.counts.ready, k.pods.selector, k.pods.current)
	for _, held := range k.lever.fields {
		kept = append(kept, pathOf(held.at...))
	}
	kept = append(kept, pathOf(k.lever.partition...))
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
