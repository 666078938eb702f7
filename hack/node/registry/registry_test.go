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

package registry

import (
	"archive/tar"
	"io"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestWriteLayerHasTheProgramOnceAndLinksToIt(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	g.Expect(os.WriteFile(program, []byte("content"), 0o755)).To(Succeed())
	layer, err := os.Create(filepath.Join(dir, "layer.tar"))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(writeLayer(layer, Image{Program: program, Paths: []string{"bin/busybox", "bin/sleep"}})).To(Succeed())

	written, err := os.Open(layer.Name())
	g.Expect(err).NotTo(HaveOccurred())
	defer written.Close()
	archive := tar.NewReader(written)
	first, err := archive.Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.Name).To(Equal("bin/busybox"))
	g.Expect(first.FileInfo().Mode()).To(BeEquivalentTo(0o755))
	g.Expect(io.ReadAll(archive)).To(BeEquivalentTo("content"))
	second, err := archive.Next()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.Name).To(Equal("bin/sleep"))
	g.Expect(second.Linkname).To(Equal("bin/busybox"))
	_, err = archive.Next()
	g.Expect(err).To(Equal(io.EOF))
}
