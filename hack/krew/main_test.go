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
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

// pack packs programs that hold the names of their platforms.
func pack(t *testing.T) string {
	t.Helper()
	packed := release{
		Version: "v0.2.0", dir: filepath.Join(t.TempDir(), "plugin"), license: []byte("Apache"), modified: time.Unix(1795255200, 0),
	}
	NewWithT(t).Expect(packed.pack([]target{{"linux", "amd64"}, {"windows", "amd64"}}, func(to target) ([]byte, error) { return []byte(to.String()), nil })).To(Succeed())
	return packed.dir
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	content, err := os.ReadFile(file)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return content
}

func TestManifestHasTheSumsOfTheArchives(t *testing.T) {
	g, dir := NewWithT(t), pack(t)
	var written struct {
		Metadata struct{ Name string }
		Spec     struct {
			Version   string
			Platforms []struct {
				Selector         struct{ MatchLabels map[string]string }
				URI, SHA256, Bin string
			}
		}
	}
	g.Expect(yaml.Unmarshal(read(t, filepath.Join(dir, "altershield.yaml")), &written)).To(Succeed())
	g.Expect(written.Metadata.Name).To(Equal("altershield"))
	g.Expect(written.Spec.Version).To(Equal("v0.2.0"))
	g.Expect(written.Spec.Platforms).To(HaveLen(2))
	listed := string(read(t, filepath.Join(dir, "SHA256SUMS")))
	for i, program := range []string{"kubectl-altershield", "kubectl-altershield.exe"} {
		shown := written.Spec.Platforms[i]
		name := path.Base(shown.URI)
		archive := read(t, filepath.Join(dir, name))
		sum := fmt.Sprintf("%x", sha256.Sum256(archive))
		g.Expect(shown.SHA256).To(Equal(sum))
		g.Expect(listed).To(ContainSubstring(sum + "  " + name + "\n"))
		g.Expect(shown.Bin).To(Equal(program))
		g.Expect(shown.Selector.MatchLabels).To(HaveKeyWithValue("arch", "amd64"))
		g.Expect(files(t, archive)).To(HaveKeyWithValue("LICENSE 644", "Apache"))
		g.Expect(files(t, archive)).To(HaveKey(program + " 755"))
	}
	g.Expect(written.Spec.Platforms[0].URI).To(Equal("https://github.com/traas-stack/altershield-operator/releases/download/v0.2.0/kubectl-altershield_v0.2.0_linux_amd64.tar.gz"))
}

// files returns the files in an archive by their names and modes.
func files(t *testing.T, packed []byte) map[string]string {
	t.Helper()
	g := NewWithT(t)
	compressed, err := gzip.NewReader(bytes.NewReader(packed))
	g.Expect(err).NotTo(HaveOccurred())
	archive, found := tar.NewReader(compressed), map[string]string{}
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		g.Expect(err).NotTo(HaveOccurred())
		content, err := io.ReadAll(archive)
		g.Expect(err).NotTo(HaveOccurred())
		found[fmt.Sprintf("%s %o", header.Name, header.Mode)] = string(content)
	}
}

func TestArchivesAreReproducible(t *testing.T) {
	one, other := pack(t), pack(t)
	for _, name := range []string{"altershield.yaml", "SHA256SUMS", "kubectl-altershield_v0.2.0_linux_amd64.tar.gz"} {
		NewWithT(t).Expect(read(t, filepath.Join(one, name))).To(Equal(read(t, filepath.Join(other, name))))
	}
}

func TestWrongArgumentsAreAnError(t *testing.T) {
	for says, args := range map[string][]string{
		"usage: krew --version": {}, "reading the licence": {"--version=v0.2.0"},
	} {
		NewWithT(t).Expect(run(t.Context(), args)).To(MatchError(ContainSubstring(says)))
	}
	failing := release{dir: t.TempDir()}
	NewWithT(t).Expect(failing.pack([]target{{"linux", "amd64"}}, func(target) ([]byte, error) { return nil, errors.New("broken") })).To(MatchError("broken"))
}
