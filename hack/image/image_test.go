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

package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	. "github.com/onsi/gomega"
)

// here is the platform of this machine.
const here = "linux/" + runtime.GOARCH

func TestRunMakesTheSameTarballOfTheSameSource(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	first, second, newer := filepath.Join(dir, "first.tar"), filepath.Join(dir, "second.tar"), filepath.Join(dir, "newer.tar")
	output := runImage(t, "--output", first, "--version", "v1.2.3", "--platforms", here)
	g.Expect(output).To(MatchRegexp(`^%s: altershield-operator:latest sha256:[0-9a-f]{64}\n$`, first))
	g.Expect(runImage(t, "--output", second, "--version", "v1.2.3", "--platforms", here)).
		To(Equal(strings.Replace(output, first, second, 1)))
	g.Expect(os.ReadFile(second)).To(Equal(readFile(t, first)))

	runImage(t, "--output", newer, "--version", "v1.2.4", "--platforms", here)
	g.Expect(os.ReadFile(newer)).NotTo(Equal(readFile(t, first)), "another version is another image")
}

func TestRunWritesARunnableImageForEachPlatform(t *testing.T) {
	g := NewWithT(t)
	archive := filepath.Join(t.TempDir(), "bin", "operator.tar")
	runImage(t, "--output", archive, "--tag", "altershield-operator:v1", "--version", "v1", "--commit", "abc", "--platforms", "linux/amd64,linux/arm64")

	index, err := layout.ImageIndexFromPath(unpack(t, archive))
	g.Expect(err).NotTo(HaveOccurred())
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(1))
	g.Expect(manifest.Manifests[0].Annotations).To(Equal(map[string]string{
		"io.containerd.image.name":          "docker.io/library/altershield-operator:v1",
		"org.opencontainers.image.ref.name": "v1",
	}))
	platforms, err := index.ImageIndex(manifest.Manifests[0].Digest)
	g.Expect(err).NotTo(HaveOccurred())
	for _, platform := range []v1.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "arm64"}} {
		image := imageFor(g, platforms, platform)
		config, err := image.ConfigFile()
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(*config.Platform()).To(Equal(platform))
		g.Expect(config.Config.User).To(Equal("65532:65532"))
		g.Expect(config.Config.Entrypoint).To(Equal([]string{"/manager"}))
		g.Expect(config.Config.Labels).To(And(
			HaveKeyWithValue("org.opencontainers.image.version", "v1"), HaveKeyWithValue("org.opencontainers.image.revision", "abc")))
		g.Expect(config.Created.Unix()).To(BeEquivalentTo(1700000000))
		if platform.String() == here {
			expectRuns(t, image, "v1 abc")
		}
	}
}

func TestPushSendsTheImageThatWasBuilt(t *testing.T) {
	g := NewWithT(t)
	server := httptest.NewServer(registry.New())
	defer server.Close()
	target := strings.TrimPrefix(server.URL, "http://") + "/library/altershield-operator:latest"
	output := runImage(t, "--push", target, "--insecure", "--platforms", here)

	tag, err := name.NewTag(target)
	g.Expect(err).NotTo(HaveOccurred())
	pulled, err := remote.Image(tag, remote.WithPlatform(v1.Platform{OS: "linux", Architecture: runtime.GOARCH}))
	g.Expect(err).NotTo(HaveOccurred())
	expectRuns(t, pulled, "dev unknown")
	index, err := remote.Index(tag)
	g.Expect(err).NotTo(HaveOccurred())
	digest, err := index.Digest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(output).To(Equal("pushed " + target + " " + digest.String() + "\n"))
}

func TestParseRefusesFlagsThatCanNotBeRight(t *testing.T) {
	for name, c := range map[string]struct {
		args  []string
		epoch string
		fault string
	}{
		"nothing to do":          {args: nil, fault: "--output or --push is required"},
		"two things to do":       {args: []string{"--output", "a", "--push", "b"}, fault: "exclude each other"},
		"a name with capitals":   {args: []string{"--output", "a", "--tag", "Operator:v1"}, fault: "the name of the image"},
		"no platform":            {args: []string{"--output", "a", "--platforms", "linux/amd64,"}, fault: `"" is not a platform`},
		"half a platform":        {args: []string{"--output", "a", "--platforms", "linux"}, fault: `"linux" is not a platform`},
		"a date for the seconds": {args: []string{"--output", "a"}, epoch: "2026-01-01", fault: "SOURCE_DATE_EPOCH"},
		"something left over":    {args: []string{"--output", "a", "b"}, fault: `unexpected argument "b"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := parse(c.args, func(string) string { return c.epoch })
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(c.fault)))
		})
	}
}

func TestParseUsesTLSUnlessInsecure(t *testing.T) {
	g := NewWithT(t)
	none := func(string) string { return "" }
	opts, err := parse([]string{"--push", "registry.example.com:5000/operator:v1"}, none)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opts.tag.Context().Scheme()).To(Equal("https"))
	opts, err = parse([]string{"--push", "registry.example.com:5000/operator:v1", "--insecure"}, none)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(opts.tag.Context().Scheme()).To(Equal("http"))
}

// source replaces the operator: the tests don't depend on the program, and this one compiles fast.
const source = `package main

import "os"

var version, commit string

func main() { _, _ = os.Stdout.WriteString(version + " " + commit) }
`

// runImage runs the command in a module of its own and returns its output.
func runImage(t *testing.T, args ...string) string {
	t.Helper()
	g := NewWithT(t)
	module := t.TempDir()
	g.Expect(os.WriteFile(filepath.Join(module, "go.mod"), []byte("module example.com/program\n\ngo 1.26\n"), 0o600)).To(Succeed())
	g.Expect(os.WriteFile(filepath.Join(module, "main.go"), []byte(source), 0o600)).To(Succeed())
	var out bytes.Buffer
	getenv := func(key string) string { return map[string]string{"SOURCE_DATE_EPOCH": "1700000000"}[key] }
	g.Expect(run(t.Context(), module, args, getenv, &out)).To(Succeed())
	return out.String()
}

func imageFor(g Gomega, index v1.ImageIndex, platform v1.Platform) v1.Image {
	manifest, err := index.IndexManifest()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(manifest.Manifests).To(HaveLen(2))
	for _, descriptor := range manifest.Manifests {
		if descriptor.Platform.Equals(platform) {
			image, err := index.Image(descriptor.Digest)
			g.Expect(err).NotTo(HaveOccurred())
			return image
		}
	}
	g.Expect(manifest.Manifests).To(ContainElement(HaveField("Platform", platform)))
	return nil
}

// expectRuns extracts the program from the image, which holds nothing else, and checks the stamp that it prints.
func expectRuns(t *testing.T, image v1.Image, stamp string) {
	t.Helper()
	g := NewWithT(t)
	layers, err := image.Layers()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(layers).To(HaveLen(1))
	content, err := layers[0].Uncompressed()
	g.Expect(err).NotTo(HaveOccurred())
	defer content.Close()
	reader := tar.NewReader(content)
	header, err := reader.Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(header.Name).To(Equal("manager"))
	g.Expect(header.Mode).To(BeEquivalentTo(0o755))
	manager := filepath.Join(t.TempDir(), "manager")
	binary, err := io.ReadAll(reader)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(os.WriteFile(manager, binary, 0o700)).To(Succeed())
	_, err = reader.Next()
	g.Expect(err).To(MatchError(io.EOF))

	g.Expect(exec.CommandContext(t.Context(), manager).Output()).To(BeEquivalentTo(stamp))
}

// unpack unpacks a tarball and returns the folder.
func unpack(t *testing.T, archive string) string {
	t.Helper()
	g := NewWithT(t)
	dir := t.TempDir()
	reader := tar.NewReader(bytes.NewReader(readFile(t, archive)))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return dir
		}
		g.Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(reader)
		g.Expect(err).NotTo(HaveOccurred())
		path := filepath.Join(dir, header.Name)
		g.Expect(os.MkdirAll(filepath.Dir(path), 0o755)).To(Succeed())
		g.Expect(os.WriteFile(path, content, 0o600)).To(Succeed())
	}
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}
