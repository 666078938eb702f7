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

// Package config tests the manifests in config/.
package config

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	ctrlyaml "sigs.k8s.io/yaml"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

const (
	system = "altershieldoperator-system"
	// sources is the folder of the kustomizations.
	sources = "../../config"
)

// object is an object of a kustomization.
type object = *unstructured.Unstructured

// build builds a kustomization as users do.
func build(t *testing.T, dir string) []object {
	t.Helper()
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	var problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), programs.Path(assets.Kubectl), "kustomize", dir)
	cmd.Stderr = &problems
	output, err := cmd.Output()
	g.Expect(err).NotTo(HaveOccurred(), problems.String())
	g.Expect(problems.String()).To(BeEmpty(), "a deprecation?")

	return decode(t, output)
}

func read(t *testing.T, path string) []object {
	t.Helper()
	content, err := os.ReadFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return decode(t, content)
}

func decode(t *testing.T, stream []byte) []object {
	t.Helper()
	objects, err := manifests.Decode(bytes.NewReader(stream))
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return objects
}

// shipped builds a kustomization of config/.
func shipped(t *testing.T, name string) []object {
	t.Helper()
	return build(t, filepath.Join(sources, name))
}

// composed builds a kustomization as a user would write it. {config} stands for the folder config.
func composed(t *testing.T, kustomization string) []object {
	t.Helper()
	g := NewWithT(t)
	// kustomize doesn't accept absolute paths.
	here, err := filepath.EvalSymlinks(t.TempDir())
	g.Expect(err).NotTo(HaveOccurred())
	there, err := filepath.Abs(sources)
	g.Expect(err).NotTo(HaveOccurred())
	config, err := filepath.Rel(here, there)
	g.Expect(err).NotTo(HaveOccurred())
	content := strings.ReplaceAll(kustomization, "{config}", config)
	g.Expect(os.WriteFile(filepath.Join(here, "kustomization.yaml"), []byte(content), 0o600)).To(Succeed())
	return build(t, here)
}

// kustomizations lists the folders of config/ that can be applied: all but the components.
func kustomizations(t *testing.T) []string {
	t.Helper()
	g := NewWithT(t)
	var dirs []string
	g.Expect(filepath.WalkDir(sources, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Name() != "kustomization.yaml" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var header struct{ Kind string }
		if err := ctrlyaml.Unmarshal(content, &header); err != nil {
			return err
		}
		if header.Kind != "Component" {
			dir, err := filepath.Rel(sources, filepath.Dir(path))
			dirs = append(dirs, dir)
			return err
		}
		return nil
	})).To(Succeed())
	g.Expect(dirs).To(ContainElements("default", "local", filepath.Join("overlays", "cert-manager")))
	return dirs
}

// find returns the object of a kind and name, which has to exist.
func find(t *testing.T, objects []object, kind, name string) object {
	t.Helper()
	for _, candidate := range objects {
		if candidate.GetKind() == kind && candidate.GetName() == name {
			return candidate
		}
	}
	t.Fatalf("there is no %s %s", kind, name)
	return nil
}

func ofKind(objects []object, kind string) []object {
	var found []object
	for _, candidate := range objects {
		if candidate.GetKind() == kind {
			found = append(found, candidate)
		}
	}
	return found
}

// as decodes an object into its type; a field that the type doesn't have is an error.
func as[T any](t *testing.T, from object) *T {
	t.Helper()
	into := new(T)
	err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(from.Object, into, true)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return into
}

// managerOf returns the operator's Deployment.
func managerOf(t *testing.T, objects []object) *appsv1.Deployment {
	t.Helper()
	return as[appsv1.Deployment](t, find(t, objects, "Deployment", "altershieldoperator-controller-manager"))
}
