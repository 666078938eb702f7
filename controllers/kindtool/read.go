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

package kindtool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/config/crd"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// document returns the first document of a kind in a file, or the first object if kind is empty.
func (t Tool) document(file, kind string) ([]byte, error) {
	reader := t.In
	if file != "-" {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(text)
	}
	documents := utilyaml.NewYAMLReader(bufio.NewReader(reader))
	for {
		text, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("there is no %s in %s", orObject(kind), file)
		}
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		var header struct {
			Kind string `json:"kind"`
		}
		if err := yaml.Unmarshal(text, &header); err != nil {
			return nil, fmt.Errorf("reading %s: %w", file, err)
		}
		if header.Kind != "" && (kind == "" || header.Kind == kind) {
			return text, nil
		}
	}
}

func orObject(kind string) string {
	if kind == "" {
		return "object"
	}
	return kind
}

// object reads an object, nil without a file.
func (t Tool) object(file string) (*unstructured.Unstructured, error) {
	if file == "" {
		return nil, nil
	}
	text, err := t.document(file, "")
	if err != nil {
		return nil, err
	}
	json, err := yaml.YAMLToJSON(text)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(json, &object.Object); err != nil {
		return nil, fmt.Errorf("reading %s: %w", file, err)
	}
	return object, nil
}

// identity describes the kind of an object.
type identity struct {
	kind       schema.GroupVersionKind
	namespaced bool
}

// guess returns the definition of a declared kind without its CRD.
func guess(kind *appv1alpha1.ControlledKind, object *identity) declared.Definition {
	resource, group, _ := strings.Cut(kind.Name, ".")
	definition := declared.Definition{
		GroupVersionKind: schema.GroupVersionKind{Group: group, Version: kind.Spec.Version, Kind: resource}, Resource: resource, Namespaced: true,
	}
	if object != nil {
		definition.GroupVersionKind.Kind, definition.Namespaced = object.kind.Kind, object.namespaced
		if kind.Spec.Version == "" {
			definition.GroupVersionKind.Version = object.kind.Version
		}
	}
	return definition
}

// definition reads a CustomResourceDefinition.
func (t Tool) definition(file, version string) (declared.Definition, error) {
	text, err := t.document(file, "CustomResourceDefinition")
	if err != nil {
		return declared.Definition{}, err
	}
	var named apiextensionsv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &named); err != nil {
		return declared.Definition{}, fmt.Errorf("reading the CustomResourceDefinition in %s: %w", file, err)
	}
	if named.APIVersion != apiextensionsv1.SchemeGroupVersion.String() {
		return declared.Definition{}, fmt.Errorf("the CustomResourceDefinition in %s has apiVersion %s, not %s", file, named.APIVersion, apiextensionsv1.SchemeGroupVersion)
	}
	definition, err := declared.DefinitionOf(&named, version)
	if err != nil {
		return declared.Definition{}, fmt.Errorf("%s: %w", file, err)
	}
	return definition, nil
}

// compile reads a ControlledKind and compiles it for a definition: that of the CRD, or without one the kind of the object.
func (t Tool) compile(kindFile, crdFile string, object *identity) (declared.Kind, declared.Definition, error) {
	text, err := t.document(kindFile, "ControlledKind")
	if err != nil {
		return nil, declared.Definition{}, err
	}
	var kind appv1alpha1.ControlledKind
	if err := yaml.UnmarshalStrict(text, &kind); err != nil {
		return nil, declared.Definition{}, fmt.Errorf("reading the ControlledKind in %s: %w", kindFile, err)
	}
	if _, err := crd.Complete(crd.ControlledKind, text); err != nil {
		return nil, declared.Definition{}, fmt.Errorf("reading the ControlledKind in %s: %w", kindFile, err)
	}
	definition := guess(&kind, object)
	if crdFile != "" {
		if definition, err = t.definition(crdFile, kind.Spec.Version); err != nil {
			return nil, declared.Definition{}, err
		}
	}
	compiler, err := declared.NewCompiler()
	if err != nil {
		return nil, declared.Definition{}, err
	}
	compiled, problems := compiler.Compile(&kind, definition)
	if len(problems) > 0 {
		return nil, declared.Definition{}, fmt.Errorf("ControlledKind %s in %s: %w", kind.Name, kindFile, problems.ToAggregate())
	}
	return compiled, definition, nil
}
