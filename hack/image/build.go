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
	"os"
	"os/exec"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
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
		"org.opencontainers.image.description": "Change control for Kubernetes Deployments",
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
