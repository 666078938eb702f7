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
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// writeArchive writes a tarball with an OCI image layout, which containerd, podman, skopeo and newer versions of docker load.
func writeArchive(path string, tag name.Reference, index v1.ImageIndex, created time.Time) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".image-")
	if err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	defer os.RemoveAll(dir)
	content := filepath.Join(dir, "layout")
	if err := writeLayout(content, tag, index); err != nil {
		return fmt.Errorf("writing the layout of the image: %w", err)
	}
	packed, err := pack(content, created)
	if err != nil {
		return fmt.Errorf("packing the image: %w", err)
	}
	// Renamed, so that the archive is complete or absent.
	whole := filepath.Join(dir, "tar")
	if err := os.WriteFile(whole, packed, 0o644); err != nil {
		return fmt.Errorf("writing the image: %w", err)
	}
	return os.Rename(whole, path)
}

func writeLayout(dir string, tag name.Reference, index v1.ImageIndex) error {
	written, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return written.AppendIndex(index, layout.WithAnnotations(map[string]string{
		// The name that the kubelet uses.
		"io.containerd.image.name":          strings.Replace(tag.Name(), name.DefaultRegistry, "docker.io", 1),
		"org.opencontainers.image.ref.name": tag.Identifier(),
	}))
}

// pack returns a tarball of the files of a folder, sorted by name.
func pack(dir string, modified time.Time) ([]byte, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return addFile(writer, filepath.ToSlash(name), 0o644, content, modified)
	})
	if err == nil {
		err = writer.Close()
	}
	return packed.Bytes(), err
}

// addFile adds a file to a tarball, with nothing in its header that depends on the machine.
func addFile(writer *tar.Writer, name string, mode int64, content []byte, modified time.Time) error {
	header := &tar.Header{Name: name, Mode: mode, Size: int64(len(content)), ModTime: modified, Format: tar.FormatPAX}
	if err := writer.WriteHeader(header); err != nil {
		return err
	}
	_, err := writer.Write(content)
	return err
}

// push pushes the images of all platforms under one tag.
func push(ctx context.Context, tag name.Reference, index v1.ImageIndex) error {
	err := remote.WriteIndex(tag, index, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain))
	if err != nil {
		return fmt.Errorf("pushing %s: %w", tag, err)
	}
	return nil
}
