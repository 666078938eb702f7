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
	"slices"
	"strings"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// maxSchemaDepth limits the search for fields in a schema.
const maxSchemaDepth = 12

// Definition describes a resource of the API server.
type Definition struct {
	// GroupVersionKind is the kind, in the declared version.
	GroupVersionKind schema.GroupVersionKind
	// Resource is the plural.
	Resource string
	// Namespaced reports whether the objects are in namespaces.
	Namespaced bool
	// Schema is the schema of the version, nil without a CRD.
	Schema *apiextensionsv1.JSONSchemaProps
	// Scale is the scale subresource, nil if there is none.
	Scale *apiextensionsv1.CustomResourceSubresourceScale
}

// NotServedError reports a version that a CRD doesn't serve.
type NotServedError struct {
	Version string
	Served  []string
}

// Error names the versions that are served.
func (e NotServedError) Error() string {
	return fmt.Sprintf("version %s is not served; served versions: %s", e.Version, strings.Join(e.Served, ", "))
}

// DefinitionOf returns the definition of a CRD in a version, the storage version if it is empty.
func DefinitionOf(crd *apiextensionsv1.CustomResourceDefinition, version string) (Definition, error) {
	var served []string
	for i := range crd.Spec.Versions {
		candidate := &crd.Spec.Versions[i]
		if !candidate.Served {
			continue
		}
		served = append(served, candidate.Name)
		if version != candidate.Name && (version != "" || !candidate.Storage) {
			continue
		}
		definition := Definition{
			GroupVersionKind: schema.GroupVersionKind{Group: crd.Spec.Group, Version: candidate.Name, Kind: crd.Spec.Names.Kind},
			Resource:         crd.Spec.Names.Plural,
			Namespaced:       crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
		}
		if candidate.Schema != nil {
			definition.Schema = candidate.Schema.OpenAPIV3Schema
		}
		if candidate.Subresources != nil {
			definition.Scale = candidate.Subresources.Scale
		}
		return definition, nil
	}
	if version == "" {
		version = "of storage"
	}
	return Definition{}, NotServedError{Version: version, Served: served}
}

// Name returns the name of the CRD, and of the ControlledKind.
func (d Definition) Name() string { return d.Resource + "." + d.GroupVersionKind.Group }

func keepsUnknown(schema *apiextensionsv1.JSONSchemaProps) bool {
	return schema.XPreserveUnknownFields != nil && *schema.XPreserveUnknownFields
}

// at returns the schema of the fields that a path leads to, nil if it is unknown. It fails if the CRD has no such field.
func (d Definition) at(path Path) (found *apiextensionsv1.JSONSchemaProps, err error) {
	found = d.Schema
	for i, step := range path.steps {
		if found == nil {
			return nil, nil
		}
		if i == 0 && step.name == "metadata" {
			return nil, nil // not in the schema of a CRD
		}
		var next *apiextensionsv1.JSONSchemaProps
		if step.all {
			next, err = elementsOf(found)
		} else {
			next, err = fieldOf(found, step.name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", Path{path.steps[:i+1]}, err)
		}
		found = next
	}
	return found, nil
}

// observesGenerations reports whether the status may show which generation it is of.
func (d Definition) observesGenerations() bool {
	_, err := d.at(pathOf("status", "observedGeneration"))
	return err == nil
}

// denies returns why the schema of the field that a path leads to doesn't admit a value, nil if it does. It leaves out rules in CEL.
func (d Definition) denies(path Path, value any) error {
	schema, err := d.at(path)
	if err != nil || schema == nil {
		return err
	}
	name, properties := path.String(), apiextensions.JSONSchemaProps{}
	parent := apiextensionsv1.JSONSchemaProps{Properties: map[string]apiextensionsv1.JSONSchemaProps{name: *schema}}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&parent, &properties, nil); err != nil {
		return fmt.Errorf("reading the schema of %s: %w", name, err)
	}
	validator, _, err := validation.NewSchemaValidator(&properties)
	if err != nil {
		return fmt.Errorf("reading the schema of %s: %w", name, err)
	}
	object := map[string]any{name: runtime.DeepCopyJSONValue(value)}
	if structural, err := structuralschema.NewStructural(&properties); err == nil { // another schema has no defaults
		defaulting.Default(object, structural)
	}
	return validation.ValidateCustomResource(nil, object, validator).ToAggregate()
}

// elementsOf returns the schema of the elements of a list, or of the values of a map.
func elementsOf(parent *apiextensionsv1.JSONSchemaProps) (*apiextensionsv1.JSONSchemaProps, error) {
	switch {
	case parent.Items != nil && parent.Items.Schema != nil:
		return parent.Items.Schema, nil
	case parent.AdditionalProperties != nil:
		return parent.AdditionalProperties.Schema, nil
	case keepsUnknown(parent):
		return nil, nil
	default:
		return nil, fmt.Errorf("the CRD has neither a list nor a map there")
	}
}

func fieldOf(parent *apiextensionsv1.JSONSchemaProps, name string) (*apiextensionsv1.JSONSchemaProps, error) {
	if property, known := parent.Properties[name]; known {
		return &property, nil
	}
	switch {
	case parent.AdditionalProperties != nil:
		return parent.AdditionalProperties.Schema, nil
	case parent.Items != nil:
		return nil, fmt.Errorf("its parent is a list: use [*] for the elements")
	case keepsUnknown(parent):
		return nil, nil
	default:
		return nil, fmt.Errorf("the CRD has no such field")
	}
}

// templates returns the paths of pod templates, recognized by their containers. If there are none, it returns fields with the name
// template and no schema, which some CRDs leave out for its size.
func (d Definition) templates() []Path {
	if d.Schema == nil {
		return nil
	}
	spec, known := d.Schema.Properties["spec"]
	if !known {
		return nil
	}
	if found := search(&spec, pathOf("spec"), isPodTemplate); len(found) > 0 {
		return found
	}
	return search(&spec, pathOf("spec"), func(path Path, schema *apiextensionsv1.JSONSchemaProps) bool {
		return path.steps[len(path.steps)-1].name == "template" && keepsUnknown(schema) && len(schema.Properties) == 0
	})
}

func isPodTemplate(_ Path, schema *apiextensionsv1.JSONSchemaProps) bool {
	containers, known := schema.Properties["spec"].Properties["containers"]
	return known && containers.Type == "array"
}

// search returns the paths of fields whose schema matches, and none below these.
func search(schema *apiextensionsv1.JSONSchemaProps, path Path, matches func(Path, *apiextensionsv1.JSONSchemaProps) bool) []Path {
	switch {
	case schema == nil || len(path.steps) > maxSchemaDepth:
		return nil
	case matches(path, schema):
		return []Path{path}
	case schema.Items != nil:
		return search(schema.Items.Schema, path.elements(), matches)
	case schema.AdditionalProperties != nil:
		return search(schema.AdditionalProperties.Schema, path.elements(), matches)
	}
	var found []Path
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		found = append(found, search(&property, path.child(name), matches)...)
	}
	return found
}

// prunesLabels reports whether the API server drops the version label of a pod template: fields that are not in the schema are pruned.
func (d Definition) prunesLabels(template Path) bool {
	schema, err := d.at(template)
	if err != nil || schema == nil || schema.XEmbeddedResource {
		return false
	}
	for _, name := range []string{"metadata", "labels", appv1alpha1.LabelVersion} {
		if schema, err = fieldOf(schema, name); err != nil {
			return true
		}
		if schema == nil {
			return false
		}
	}
	return false
}
