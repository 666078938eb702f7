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

package crd

import (
	"context"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

// Complete returns an object of one of the definitions, in YAML, with the defaults that the API server would set, or why it would deny it.
func Complete(of, text []byte) (object map[string]any, err error) {
	json, err := yaml.YAMLToJSON(text)
	if err == nil {
		err = utiljson.Unmarshal(json, &object)
	}
	if err != nil {
		return nil, err
	}
	var definition apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(of, &definition); err != nil {
		return nil, fmt.Errorf("reading a CustomResourceDefinition: %w", err)
	}
	properties, structural, err := Schema(definition.Spec.Versions[0].Schema.OpenAPIV3Schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", definition.Name, err)
	}
	defaulting.Default(object, structural)
	validator, _, err := validation.NewSchemaValidator(properties)
	if err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", definition.Name, err)
	}
	if problems := validation.ValidateCustomResource(nil, object, validator); len(problems) > 0 {
		return nil, problems.ToAggregate()
	}
	problems := listtype.ValidateListSetsAndMaps(nil, structural, object)
	rules := cel.NewValidator(structural, true, celconfig.PerCallLimit)
	broken, _ := rules.Validate(context.Background(), nil, structural, object, nil, celconfig.RuntimeCELCostBudget)
	return object, append(problems, broken...).ToAggregate()
}

// Schema returns a schema in the forms by which the API server validates, and sets defaults.
func Schema(of *apiextensionsv1.JSONSchemaProps) (*apiextensions.JSONSchemaProps, *structuralschema.Structural, error) {
	var properties apiextensions.JSONSchemaProps
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(of, &properties, nil); err != nil {
		return nil, nil, fmt.Errorf("reading the schema: %w", err)
	}
	structural, err := structuralschema.NewStructural(&properties)
	if err != nil {
		return nil, nil, fmt.Errorf("reading the schema: %w", err)
	}
	return &properties, structural, nil
}
