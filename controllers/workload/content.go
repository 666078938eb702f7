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
package workload

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Content holds the parts of a workload whose change is a release: pod templates without the labels that the operator owns, and other
// fields, by JSON pointer (RFC 6901). It is shared with the object: don't modify it.
type Content map[string]any

// Equal reports whether two contents are the same.
func (c Content) Equal(other Content) bool {
	return maps.EqualFunc(c, other, func(a, b any) bool { return reflect.DeepEqual(a, b) })
}

// Version returns the MD5 of the JSON of a content, with sorted keys.
func (c Content) Version() (string, error) {
	text, err := json.Marshal(map[string]any(c))
	if err != nil {
		return "", fmt.Errorf("marshalling the content of a release: %w", err)
	}
	sum := md5.Sum(text)
	return hex.EncodeToString(sum[:]), nil
}

// UnmarshalJSON decodes a stored content. Integers are decoded as in objects of the API server.
func (c *Content) UnmarshalJSON(text []byte) error {
	return utiljson.Unmarshal(text, (*map[string]any)(c))
}

// Composite is a Kind that defines its content itself. The content of every other Kind is the pod template at TemplatePath, with the
// fields of Fielded.
type Composite interface {
	// Content returns the content of a workload. An object without content is not a workload.
	Content(workload map[string]any) Content
	// IsRelease reports whether an update is a release, or a creation if old is nil.
	IsRelease(old, updated map[string]any) (bool, error)
	// Templates returns JSON pointers to the pod templates that carry the version label.
	Templates(workload map[string]any) []string
	// Restore returns the operations that restore a kept content.
	Restore(workload map[string]any, kept Content) ([]Operation, error)
	// MayChange returns a CEL condition for webhooks, over object and oldObject. If it is false, an update is not a release.
	MayChange() string
}

// Fielded is a Kind whose content has other fields beside the pod template.
type Fielded interface {
	// Fields returns the paths of these fields.
	Fields() [][]string
}

// ContentOf returns the content of an untyped workload.
func ContentOf(kind Kind, workload map[string]any) Content {
	if composite, ok := kind.(Composite); ok {
		return composite.Content(workload)
	}
	template := Template(kind, workload)
	if IsTemplate(kind) {
		return TemplateContent(kind, template)
	}
	content := Content{}
	if template != nil { // an applied configuration may lack it
		content = TemplateContent(kind, template)
	}
	for _, path := range fieldsOf(kind) {
		if value := jsonpointer.Find(workload, path...); value != nil {
			content[jsonpointer.Of(path...)] = value
		}
	}
	return content
}

// TemplateContent returns a content that is one pod template.
func TemplateContent(kind Kind, template podtemplate.Template) Content {
	return Content{TemplatePointer(kind): map[string]any(template)}
}

// TemplateOf returns the pod template of a content; nil if the content is something else.
func TemplateOf(kind Kind, content Content) podtemplate.Template {
	if !IsTemplate(kind) {
		return nil
	}
	template, _ := content[TemplatePointer(kind)].(map[string]any)
	return template
}

// IsTemplate reports whether the content of a kind is one pod template.
func IsTemplate(kind Kind) bool {
	_, composite := kind.(Composite)
	return !composite && len(fieldsOf(kind)) == 0
}

// AppliedContent returns the content in the last applied configuration, the annotation of kubectl apply; nil if there is none.
func AppliedContent(kind Kind, annotations map[string]string) Content {
	if IsTemplate(kind) {
		applied := podtemplate.Applied(annotations)
		if applied == nil {
			return nil
		}
		return TemplateContent(kind, applied)
	}
	manifest := podtemplate.LastApplied(annotations)
	if manifest == nil {
		return nil
	}
	return ContentOf(kind, manifest)
}

func fieldsOf(kind Kind) [][]string {
	fielded, ok := kind.(Fielded)
	if !ok {
		return nil
	}
	return fielded.Fields()
}

// IsRelease reports whether an update is a release, or a creation if old is nil.
func IsRelease(kind Kind, old, updated map[string]any) (bool, error) {
	if composite, ok := kind.(Composite); ok {
		return composite.IsRelease(old, updated)
	}
	return old == nil || !ContentOf(kind, updated).Equal(ContentOf(kind, old)), nil
}

// VersionOf returns the version of a content: the documents' where it is one pod template.
func VersionOf(kind Kind, content Content) (string, error) {
	if IsTemplate(kind) {
		return TemplateOf(kind, content).Version()
	}
	return content.Version()
}

// Changes describes the differences of two contents to users, one per line.
func Changes(kind Kind, old, updated Content) []string {
	if IsTemplate(kind) {
		return podtemplate.Changes(TemplateOf(kind, old), TemplateOf(kind, updated))
	}
	union := maps.Clone(old)
	maps.Copy(union, updated)
	var parts []podtemplate.Part
	for _, pointer := range slices.Sorted(maps.Keys(union)) {
		parts = append(parts, podtemplate.Part{Keys: jsonpointer.Keys(pointer), Old: old[pointer], Updated: updated[pointer]})
	}
	return podtemplate.PartChanges(parts)
}

// Templates returns JSON pointers to the pod templates of a workload that carry the version label.
func Templates(kind Kind, workload map[string]any) []string {
	if composite, ok := kind.(Composite); ok {
		return composite.Templates(workload)
	}
	return []string{TemplatePointer(kind)}
}

// Restore returns the operations that restore a kept content of a workload.
func Restore(kind Kind, workload map[string]any, kept Content) ([]Operation, error) {
	if composite, ok := kind.(Composite); ok {
		return composite.Restore(workload, kept)
	}
	present := ContentOf(kind, workload)
	var operations []Operation
	for _, pointer := range slices.Sorted(maps.Keys(present)) {
		if _, stays := kept[pointer]; !stays {
			operations = append(operations, Operation{Op: "remove", Path: pointer})
		}
	}
	for _, pointer := range slices.Sorted(maps.Keys(kept)) {
		before, known := present[pointer]
		switch {
		case !known:
			operations = append(operations, Operation{Op: "add", Path: pointer, Value: kept[pointer]})
		case !reflect.DeepEqual(before, kept[pointer]):
			operations = append(operations, Operation{Op: "replace", Path: pointer, Value: kept[pointer]})
		}
	}
	return operations, nil
}

// MayChange returns a CEL condition for webhooks, over object and oldObject. If it is false, an update is not a release.
func MayChange(kind Kind) string {
	if composite, ok := kind.(Composite); ok {
		return "(" + composite.MayChange() + ")"
	}
	paths := append([][]string{kind.TemplatePath()}, fieldsOf(kind)...)
	conditions := make([]string, len(paths))
	for i, path := range paths { // an object of a custom resource may lack it
		field := ".?" + strings.Join(path, ".?")
		conditions[i] = fmt.Sprintf("object%s != oldObject%s", field, field)
	}
	if len(conditions) == 1 {
		return conditions[0]
	}
	return "(" + strings.Join(conditions, " || ") + ")"
}
