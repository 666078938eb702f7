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

package assets

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestStoreDirIsSetupEnvtests(t *testing.T) {
	for name, c := range map[string]struct {
		goos string
		env  map[string]string
		dir  string
	}{
		"Linux":                   {"linux", map[string]string{"HOME": "/h"}, "/h/.local/share/kubebuilder-envtest/k8s/1.36.3-linux-arm64"},
		"Linux with XDG":          {"linux", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/x/kubebuilder-envtest/k8s/1.36.3-linux-arm64"},
		"Linux without HOME":      {"linux", map[string]string{"XDG_DATA_HOME": "/x"}, "/x/kubebuilder-envtest/k8s/1.36.3-linux-arm64"},
		"macOS":                   {"darwin", map[string]string{"HOME": "/h"}, "/h/Library/Application Support/io.kubebuilder.envtest/k8s/1.36.3-darwin-arm64"},
		"macOS ignores XDG":       {"darwin", map[string]string{"HOME": "/h", "XDG_DATA_HOME": "/x"}, "/h/Library/Application Support/io.kubebuilder.envtest/k8s/1.36.3-darwin-arm64"},
		"no environment on Linux": {"linux", nil, ""},
		"no environment on macOS": {"darwin", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			dir, err := storeDir("1.36.3", c.goos, "arm64", func(key string) string { return c.env[key] })
			g.Expect(dir).To(Equal(c.dir))
			g.Expect(err != nil).To(Equal(c.dir == ""))
		})
	}
}

func TestEnsureUsesACompleteFolderAsItIs(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	for _, p := range append(controlPlane("1.36.3"), kwok()) {
		g.Expect(os.WriteFile(filepath.Join(dir, p.name), nil, 0o755)).To(Succeed())
	}
	t.Setenv("KUBEBUILDER_ASSETS", dir)
	g.Expect(Ensure(t.Context(), io.Discard)).To(Equal(Assets{Dir: dir}))
}

func TestEnsureMinorNamesTheMinorsThatCanBeBuilt(t *testing.T) {
	_, err := EnsureMinor(t.Context(), io.Discard, "1.3")
	NewWithT(t).Expect(err).To(MatchError("no module of hack/controlplane builds Kubernetes 1.3: choose 1.33 or 1.36"))
}

// The version of a folder of the store, and what its API server says, is that of the module it is built from.
func TestVersionsAreThoseOfTheModules(t *testing.T) {
	for _, version := range []string{newest, oldest} {
		t.Run(version, func(t *testing.T) {
			g := NewWithT(t)
			server := kubernetes(version, APIServer, "")
			pinned, err := os.ReadFile(filepath.Join("../../controlplane", server.module, "go.mod"))
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(pinned)).To(ContainSubstring("k8s.io/kubernetes v" + version + " "))
			g.Expect(server.variables).To(ContainElements(HaveSuffix("gitVersion=v"+version), HaveSuffix("gitMinor="+version[2:4])))
		})
	}
}

func TestMissingPrograms(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(dir, Etcd), nil, 0o755)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(dir, KWOK), nil, 0o644)).To(Succeed()) // not executable
	g.Expect(os.Mkdir(filepath.Join(dir, Kubectl), 0o755)).To(Succeed())
	var names []string
	for _, p := range (Assets{Dir: dir}).missing(append(controlPlane("1.36.3"), kwok())) {
		names = append(names, p.name)
	}
	g.Expect(names).To(ConsistOf(KWOK, APIServer, ControllerManager, Scheduler, Kubectl))
}
