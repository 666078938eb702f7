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

// Package mutate derives bad objects from a good one, as typing errors, broken tools or careless users may produce them: one change
// at a time, of the fields and types in the schema of the object.
package mutate

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"sigs.k8s.io/yaml"
)

// Schema is the part of an OpenAPI v3 schema that mutations need.
type Schema struct {
	Type   string `json:"type"`
	Format string `json:"format"`
	// Enum has all allowed values, Examples some interesting ones.
	Enum       []any              `json:"enum"`
	Examples   []any              `json:"examples"`
	Minimum    *float64           `json:"minimum"`
	Maximum    *float64           `json:"maximum"`
	MaxLength  *int64             `json:"maxLength"`
	Properties map[string]*Schema `json:"properties"`
	Items      *Schema            `json:"items"`
	// Ref and AllOf refer to other schemas of the document. Resolve replaces them by these.
	Ref   string    `json:"$ref"`
	AllOf []*Schema `json:"allOf"`
}

// OfCRD reads the schema of the only version of a CustomResourceDefinition from its file.
func OfCRD(file string) (*Schema, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
	}
	var definition struct {
		Spec struct {
			Versions []struct {
				Schema struct {
					OpenAPIV3Schema *Schema `json:"openAPIV3Schema"`
				} `json:"schema"`
			} `json:"versions"`
		} `json:"spec"`
	}
	if err := yaml.Unmarshal(content, &definition); err != nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: %w", file, err)
	}
	if len(definition.Spec.Versions) != 1 || definition.Spec.Versions[0].Schema.OpenAPIV3Schema == nil {
		return nil, fmt.Errorf("decoding CustomResourceDefinition %s: it has %d versions, not one with a schema", file, len(definition.Spec.Versions))
	}
	return definition.Spec.Versions[0].Schema.OpenAPIV3Schema, nil
}

// OfDocument returns a schema of an OpenAPI v3 document, as the API server publishes it under /openapi/v3, with all schemas that it
// refers to.
func OfDocument(document []byte, name string) (*Schema, error) {
	var published struct {
		Components struct {
			Schemas map[string]*Schema `json:"schemas"`
		} `json:"components"`
	}
	if err := json.Unmarshal(document, &published); err != nil {
		return nil, fmt.Errorf("decoding an OpenAPI document: %w", err)
	}
	schemas := published.Components.Schemas
	if schemas[name] == nil {
		return nil, fmt.Errorf("the OpenAPI document has no schema %s among its %d", name, len(schemas))
	}
	for _, schema := range schemas {
		resolve(schema, schemas)
	}
	return schemas[name], nil
}

// resolve replaces references in the children of a schema by the schemas themselves. It doesn't descend into these, so recursive
// schemas are allowed.
func resolve(schema *Schema, schemas map[string]*Schema) {
	for name, property := range schema.Properties {
		schema.Properties[name] = resolved(property, schemas)
	}
	if schema.Items != nil {
		schema.Items = resolved(schema.Items, schemas)
	}
}

// resolved returns the schema that another one refers to, or the other one with its children resolved.
func resolved(schema *Schema, schemas map[string]*Schema) *Schema {
	ref := schema.Ref
	if ref == "" && len(schema.AllOf) == 1 {
		ref = schema.AllOf[0].Ref
	}
	if found := schemas[strings.TrimPrefix(ref, "#/components/schemas/")]; found != nil {
		return found
	}
	resolve(schema, schemas)
	return schema
}
