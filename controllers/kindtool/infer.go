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
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// Inferred is what a CRD suggests.
type Inferred struct {
	ControlledKind *appv1alpha1.ControlledKind
	// ClusterRole has the permissions that the operator needs.
	ClusterRole *rbacv1.ClusterRole
	// Notes are what wasn't found.
	Notes []string
}

// Infer returns the ControlledKind that the CRD in a file suggests; without a version, for the one that is stored.
func (t Tool) Infer(file, version string) (Inferred, error) {
	definition, err := t.definition(file, version)
	if err != nil {
		return Inferred{}, err
	}
	kind, notes := declared.Infer(definition)
	return Inferred{ControlledKind: kind, ClusterRole: declared.ClusterRole(definition), Notes: notes}, nil
}

// Text returns the objects as YAML, after the notes as comments.
func (i Inferred) Text() (string, error) {
	var notes strings.Builder
	for _, note := range i.Notes {
		fmt.Fprintf(&notes, "# %s\n", note)
	}
	text, err := yamlOf(i.ControlledKind, i.ClusterRole)
	return notes.String() + text, err
}

// yamlOf returns objects as YAML.
func yamlOf(objects ...any) (string, error) {
	texts := make([]string, len(objects))
	for i, object := range objects {
		fields, err := FieldsOf(object)
		if err != nil {
			return "", err
		}
		text, err := yaml.Marshal(fields)
		if err != nil {
			return "", fmt.Errorf("writing %T as YAML: %w", object, err)
		}
		texts[i] = string(text)
	}
	return strings.Join(texts, "---\n"), nil
}

// FieldsOf returns the fields of an object without its empty status.
func FieldsOf(object any) (map[string]any, error) {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("writing the fields of %T: %w", object, err)
	}
	delete(fields, "status")
	return fields, nil
}
