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
// Package kinds compiles the declared kinds of config/samples for tests.
package kinds

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

// Sample compiles a sample for the CRD with this plural, in the mode Enforce. root is the way to the root of the module.
func Sample(t testing.TB, root, sample, plural string) declared.Kind {
	t.Helper()
	kind, crd := Objects(t, root, sample, plural)
	definition, err := declared.DefinitionOf(crd, "")
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := declared.NewCompiler()
	if err != nil {
		t.Fatal(err)
	}
	compiled, problems := compiler.Compile(kind, definition)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return compiled
}

// Objects returns what Sample compiles.
func Objects(t testing.TB, root, sample, plural string) (*appv1alpha1.ControlledKind, *apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	var kind appv1alpha1.ControlledKind
	read(t, filepath.Join(root, "config", "samples", "kinds", sample+".yaml"), &kind)
	kind.Spec.Mode = appv1alpha1.ModeEnforce
	var crd apiextensionsv1.CustomResourceDefinition
	read(t, filepath.Join(root, crdOf(plural)), &crd)
	return &kind, &crd
}

// crdOf returns the file of a CRD: the one of KubernetesCluster is a sample, the others are testdata.
func crdOf(plural string) string {
	if plural == "kubernetesclusters" {
		return filepath.Join("config", "samples", "kubernetescluster", "crd.yaml")
	}
	return filepath.Join("controllers", "workload", "declared", "testdata", "crds", plural+".yaml")
}

// read decodes the first document of a file.
func read(t testing.TB, file string, into any) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	if err := yaml.UnmarshalStrict([]byte(first), into); err != nil {
		t.Fatal(err)
	}
}
