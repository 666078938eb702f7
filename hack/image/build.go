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
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// The program of the image, and its unprivileged user.
const (
	program = "manager"
	user    = "65532:65532"
)

// labels returns the origin of the image, with the keys of the OCI.
func labels(s stamp) map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "AlterShield Operator",
		"org.opencontainers.image.description": "Change control for Kubernetes workloads",
		"org.opencontainers.image.source":      "https://github.com/traas-stack/altershield-operator",
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.version":     s.version,
		"org.opencontainers.image.revision":    s.commit,
	}
}

// ldflags returns the flags of the linker.
func ldflags(s stamp) string {
	return fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", s.version, s.commit)
}

func build(ctx context.Context, root string, opts options) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, platform := range opts.platforms {
		binary, err := compile(ctx, root, platform, opts.stamp)
		if err != nil {
			return nil, err
		}
		image, err := newImage(binary, platform, opts.stamp)
		if err != nil {
			return nil, fmt.Errorf("building the image for %s: %w", platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &platform}})
	}
	return index, nil
}

// compile returns the program for a platform.
func compile(ctx context.Context, root string, platform v1.Platform, s stamp) ([]byte, error) {
	dir, err := os.MkdirTemp("", "altershield-image-")
	if err != nil {
		return nil, fmt.Errorf("creating a folder to build in: %w", err)
	}
	defer os.RemoveAll(dir)
	target := filepath.Join(dir, program)
	// Without gRPC's traces nothing needs html/template, for which the linker would keep every exported method.
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-tags", "grpcnotrace", "-ldflags", ldflags(s), "-o", target, ".")
	cmd.Dir = root
	// The GOFLAGS of a developer would change the image.
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+platform.OS, "GOARCH="+platform.Architecture)
	if output, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building the program for %s: %w\n%s", platform, err, output)
	}
	binary, err := os.ReadFile(target)
	if err != nil {
		return nil, fmt.Errorf("reading the program for %s: %w", platform, err)
	}
	return binary, nil
}

// newImage returns an image with the program, which depends on nothing but the arguments.
func newImage(binary []byte, platform v1.Platform, s stamp) (v1.Image, error) {
	layer, err := newLayer(binary, s)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	created := v1.Time{Time: s.created}
	image, err = mutate.Append(image, mutate.Addendum{
		Layer: layer, History: v1.History{Created: created, CreatedBy: "COPY /" + program},
	})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.Created = created
	config.OS, config.Architecture = platform.OS, platform.Architecture
	config.Config = v1.Config{User: user, Entrypoint: []string{"/" + program}, WorkingDir: "/", Labels: labels(s)}
	return mutate.ConfigFile(image, config)
}

func newLayer(binary []byte, s stamp) (v1.Layer, error) {
	var content bytes.Buffer
	writer := tar.NewWriter(&content)
	if err := addFile(writer, program, 0o755, binary, s.created); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

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
