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
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const samples = "../../../config/samples/kinds"

// crdOf returns the file of a CRD: the one of document 004 is a sample, the others are testdata.
func crdOf(plural string) string {
	if plural == "kubernetesclusters" {
		return filepath.Join("..", "..", "..", "config", "samples", "kubernetescluster", "crd.yaml")
	}
	return filepath.Join("testdata", "crds", plural+".yaml")
}

// definitionOf reads a CRD.
func definitionOf(t testing.TB, plural string) Definition {
	t.Helper()
	text, err := os.ReadFile(crdOf(plural))
	if err != nil {
		t.Fatal(err)
	}
	var crd apiextensionsv1.CustomResourceDefinition
	if err := yaml.UnmarshalStrict(text, &crd); err != nil {
		t.Fatal(err)
	}
	definition, err := DefinitionOf(&crd, "")
	if err != nil {
		t.Fatal(err)
	}
	return definition
}

// newCompiler makes one for all tests.
var newCompiler = sync.OnceValues(NewCompiler)

func compiler(t testing.TB) *Compiler {
	t.Helper()
	compiler, err := newCompiler()
	if err != nil {
		t.Fatal(err)
	}
	return compiler
}

// specOf reads the spec of a ControlledKind.
func specOf(t testing.TB, text string) appv1alpha1.ControlledKindSpec {
	t.Helper()
	var spec appv1alpha1.ControlledKindSpec
	if err := yaml.UnmarshalStrict([]byte(text), &spec); err != nil {
		t.Fatal(err)
	}
	return spec
}

// compiled compiles a spec for a CRD.
func compiled(t testing.TB, plural, spec string) Kind {
	t.Helper()
	definition := definitionOf(t, plural)
	kind, problems := compiler(t).Compile(&appv1alpha1.ControlledKind{
		ObjectMeta: metav1.ObjectMeta{Name: definition.Name()}, Spec: specOf(t, spec),
	}, definition)
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return kind
}

// sample compiles a sample.
func sample(t *testing.T, name, plural string) Kind {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(samples, name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n---\n")
	var declared appv1alpha1.ControlledKind
	if err := yaml.UnmarshalStrict([]byte(first), &declared); err != nil {
		t.Fatal(err)
	}
	kind, problems := compiler(t).Compile(&declared, definitionOf(t, plural))
	if len(problems) > 0 {
		t.Fatal(problems.ToAggregate())
	}
	return kind
}

// objectOf reads an object.
func objectOf(t testing.TB, text string) *unstructured.Unstructured {
	t.Helper()
	json, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	object := &unstructured.Unstructured{}
	if err := utiljson.Unmarshal(json, &object.Object); err != nil {
		t.Fatal(err)
	}
	return object
}

func TestCompileSamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(samples, "*.yaml"))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	rows := map[string]struct {
		plural    string
		abilities []string
	}{
		"cloneset":                        {"clonesets", []string{"Pauser", "Partitioned"}},
		"rollout":                         {"rollouts", []string{"Layered", "Pauser"}},
		"leaderworkerset":                 {"leaderworkersets", []string{"Pauser", "Partitioned"}},
		"jobset":                          {"jobsets", nil},
		"raycluster":                      {"rayclusters", nil},
		"knative-service":                 {"knativeservices", []string{"Pauser"}},
		"cluster-api-cluster":             {"clusters", []string{"Pauser", "Lister"}},
		"cluster-api-kubeadmcontrolplane": {"kubeadmcontrolplanes", []string{"Pauser", "Lister"}},
		"cluster-api-machinedeployment":   {"machinedeployments", []string{"Pauser", "Lister"}},
		"kubernetescluster":               {"kubernetesclusters", []string{"Lister"}},
	}
	var names []string
	for name, row := range rows {
		names = append(names, name+".yaml")
		t.Run(name, func(t *testing.T) {
			g, kind := NewWithT(t), sample(t, name, row.plural)
			g.Expect(kind.Mode()).To(Equal(appv1alpha1.ModeObserve))
			g.Expect(kind.Unstampable()).To(BeEmpty())
			g.Expect(abilities(kind)).To(ConsistOf(row.abilities))
		})
	}
	for _, file := range files {
		NewWithT(t).Expect(names).To(ContainElement(filepath.Base(file)))
	}
	NewWithT(t).Expect(files).To(HaveLen(len(rows)))
}

// abilities are the optional interfaces that a kind implements.
func abilities(kind workload.Kind) []string {
	var found []string
	_, layered := kind.(workload.Layered)
	_, pauser := kind.(workload.Pauser)
	_, partitioned := kind.(workload.Partitioned)
	_, parker := kind.(Parker)
	_, lister := kind.(workload.Lister)
	for name, implemented := range map[string]bool{"Layered": layered, "Pauser": pauser, "Partitioned": partitioned, "Parker": parker, "Lister": lister} {
		if implemented {
			found = append(found, name)
		}
	}
	slices.Sort(found)
	return found
}

// bare returns what a kind has of all declared kinds.
func bare(compiled Kind) *kind { return compiled.(interface{ bare() *kind }).bare() }

func (k *kind) bare() *kind { return k }

// patched applies JSON patch operations as the API server does.
func patched(t *testing.T, object map[string]any, operations []workload.Operation) map[string]any {
	t.Helper()
	before, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(operations)
	if err != nil {
		t.Fatal(err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		t.Fatal(err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var result map[string]any
	if err := utiljson.Unmarshal(after, &result); err != nil {
		t.Fatal(err)
	}
	return result
}
