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

package view

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Kind is a kind of the operator.
type Kind struct {
	Name, Resource string
	// Condition is the one that is True for an object in effect; empty if the kind has none.
	Condition string
	// object is a value of its type.
	object any
}

// Kinds returns the kinds of the operator that the plugin knows.
func Kinds() []Kind {
	return []Kind{
		{"BreakGlass", "breakglasses", "", appv1alpha1.BreakGlass{}},
		{"ChangeApproval", "changeapprovals", "", appv1alpha1.ChangeApproval{}},
		{"ChangeFreeze", "changefreezes", appv1alpha1.ConditionReady, appv1alpha1.ChangeFreeze{}},
		{"ChangePod", "changepods", "", appv1alpha1.ChangePod{}},
		{"ChangeRecord", "changerecords", "", appv1alpha1.ChangeRecord{}},
		{"ChangeSubscription", "changesubscriptions", appv1alpha1.ConditionReady, appv1alpha1.ChangeSubscription{}},
		{"ChangeVerdict", "changeverdicts", "", appv1alpha1.ChangeVerdict{}},
		{"ChangeWorkload", "changeworkloads", "", appv1alpha1.ChangeWorkload{}},
		{"ControlledKind", "controlledkinds", appv1alpha1.ConditionReady, appv1alpha1.ControlledKind{}},
		{"OpsConfigInfo", "opsconfiginfoes", appv1alpha1.ConditionEffective, appv1alpha1.OpsConfigInfo{}},
		{"ReleaseGate", "releasegates", "", appv1alpha1.ReleaseGate{}},
		{"ReleasePolicy", "releasepolicies", appv1alpha1.ConditionReady, appv1alpha1.ReleasePolicy{}},
		{"VerificationPolicy", "verificationpolicies", appv1alpha1.ConditionReady, appv1alpha1.VerificationPolicy{}},
		{"VerificationSource", "verificationsources", appv1alpha1.ConditionReady, appv1alpha1.VerificationSource{}},
	}
}

// CRD returns the name of the CustomResourceDefinition of a kind.
func (k Kind) CRD() string { return k.Resource + "." + appv1alpha1.GroupVersion.Group }

// schemaFields are the differences of a schema from the types that the plugin is built with. The API server drops fields that a schema lacks.
type schemaFields struct{ lacks, adds []string }

// compare compares the schema in a CustomResourceDefinition with the type of the kind.
func (k Kind) compare(crd *unstructured.Unstructured) schemaFields {
	var found schemaFields
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, version := range versions {
		fields, _ := version.(map[string]any)
		if fields["name"] != appv1alpha1.GroupVersion.Version {
			continue
		}
		if schema, has, _ := unstructured.NestedMap(fields, "schema", "openAPIV3Schema"); has {
			found.compare(reflect.TypeOf(k.object), schema, "")
			return found
		}
	}
	found.lacks = []string{appv1alpha1.GroupVersion.Version}
	return found
}

// compare adds the differences below a path. Types of Kubernetes are taken as they are.
func (f *schemaFields) compare(of reflect.Type, schema map[string]any, path string) {
	switch of.Kind() {
	case reflect.Pointer:
		f.compare(of.Elem(), schema, path)
	case reflect.Slice, reflect.Map:
		inner := "items"
		if of.Kind() == reflect.Map {
			inner = "additionalProperties"
		}
		if items, has := schema[inner].(map[string]any); has {
			f.compare(of.Elem(), items, path)
		}
	case reflect.Struct:
		properties, has := schema["properties"].(map[string]any)
		if !has || of.PkgPath() != reflect.TypeFor[appv1alpha1.ChangeWorkload]().PkgPath() {
			return
		}
		known := map[string]reflect.Type{}
		addFields(of, known)
		for _, name := range slices.Sorted(maps.Keys(known)) {
			property, has := properties[name].(map[string]any)
			if !has {
				f.lacks = append(f.lacks, strings.TrimPrefix(path+"."+name, "."))
				continue
			}
			f.compare(known[name], property, path+"."+name)
		}
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if _, has := known[name]; !has {
				f.adds = append(f.adds, strings.TrimPrefix(path+"."+name, "."))
			}
		}
	}
}

// addFields adds the fields that a struct has in JSON.
func addFields(of reflect.Type, known map[string]reflect.Type) {
	for field := range of.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		switch {
		case field.Anonymous && name == "":
			addFields(field.Type, known)
		case name != "" && name != "-":
			known[name] = field.Type
		}
	}
}
