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

package chart

import (
	"bytes"
	"context"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/jsonpath"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

const (
	chartDir = "config/chart"
	// manager is the path of the Deployment's container.
	manager = ".spec.template.spec.containers[0]"
)

// inRepository makes a test run in the root of the repository.
func inRepository(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
	// The go command doesn't see the files that kustomize and Helm read: without this it would use outdated cached results.
	for _, dir := range []string{"config", "hack/chart/variants", "hack/tools/helm", "hack/tools/kustomize"} {
		NewWithT(t).Expect(filepath.WalkDir(dir, look)).To(Succeed())
	}
}

func look(path string, _ fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	_, err = os.Stat(path)
	return err
}

// helmPath builds Helm once, and returns its path.
var helmPath = sync.OnceValues(func() (string, error) { return assets.Helm(context.Background()) })

// helm runs a command that has to succeed, and returns its output.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	output, problems, err := tryHelm(t, args...)
	NewWithT(t).Expect(err).NotTo(HaveOccurred(), output+problems)
	return output
}

func tryHelm(t *testing.T, args ...string) (output, problems string, err error) {
	t.Helper()
	path, err := helmPath()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	return stdout.String(), stderr.String(), err
}

// kustomize builds a folder.
func kustomize(t *testing.T, dir string) map[string]*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	objects, err := manifests.Build(exec.CommandContext(t.Context(), "go", "tool", "-modfile=hack/tools/kustomize/go.mod", "kustomize", "build", dir), dir)
	g.Expect(err).NotTo(HaveOccurred())
	return byName(g, objects)
}

// render returns the objects that the chart installs, by kind and name.
func render(t *testing.T, namespace string, values ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	g := NewWithT(t)
	objects, err := manifests.Decode(strings.NewReader(helm(t, append([]string{"template", chartDir, "--namespace", namespace}, flagsOf(values)...)...)))
	g.Expect(err).NotTo(HaveOccurred())
	return byName(g, objects)
}

// flagsOf returns Helm's flags for values such as replicas=3 and tolerations=[{"operator": "Exists"}].
func flagsOf(values []string) []string {
	var flags []string
	for _, value := range values {
		if strings.ContainsAny(value, "[{") {
			flags = append(flags, "--set-json", value)
		} else {
			flags = append(flags, "--set", value)
		}
	}
	return flags
}

func byName(g Gomega, objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	named := map[string]*unstructured.Unstructured{}
	for _, object := range objects {
		name := object.GetKind() + " " + object.GetName()
		g.Expect(named).NotTo(HaveKey(name))
		named[name] = object
	}
	return named
}

func names(objects map[string]*unstructured.Unstructured) []string {
	return slices.Sorted(maps.Keys(objects))
}

// at returns the value at a path of an object, as kubectl -o jsonpath prints it; "" if there is none.
func at(g Gomega, object *unstructured.Unstructured, path string) string {
	g.Expect(object).NotTo(BeNil())
	query := jsonpath.New(path).AllowMissingKeys(true)
	g.Expect(query.Parse("{" + path + "}")).To(Succeed())
	var found bytes.Buffer
	g.Expect(query.Execute(&found, object.Object)).To(Succeed())
	return found.String()
}
