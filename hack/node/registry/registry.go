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

// Package registry runs a registry from which nodes pull all their images, and pushes the first ones to it.
package registry

import (
	"archive/tar"
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const (
	name = "registry"
	// startTimeout bounds the start, which takes less than a second.
	startTimeout = 30 * time.Second
)

// Image is an image of one program.
type Image struct {
	// Program is the path of a static program.
	Program string
	// Paths are the paths of the program in the image, without the leading slash; the first is the entrypoint.
	Paths []string
	// References are the names of the image, without the registry's address; an image of Docker Hub is library/<name>:<tag>.
	References []string
	// User is the id of the user that runs the program, root if empty.
	User string
}

// Start starts a registry that listens on address, as host:port, and stores its content in the state folder.
func Start(ctx context.Context, dir, address string, programs assets.Assets) (*process.Process, error) {
	content := filepath.Join(dir, name)
	if err := os.MkdirAll(content, 0o700); err != nil {
		return nil, fmt.Errorf("create the registry's folder: %w", err)
	}
	running, err := process.Start(process.Spec{Dir: dir, Name: name, Argv: []string{
		programs.Path(assets.Crane), "registry", "serve", "--address=" + address, "--disk=" + content,
	}})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return running, process.Await(ctx, "the registry", process.Answers(http.DefaultClient, "http://"+address+"/v2/"), running)
}

// Push creates an image and pushes it to the registry at address under all its names.
func Push(ctx context.Context, dir, address string, programs assets.Assets, image Image) error {
	layer, err := os.CreateTemp(dir, "layer-*.tar")
	if err != nil {
		return fmt.Errorf("create a layer: %w", err)
	}
	defer os.Remove(layer.Name())
	if err := writeLayer(layer, image); err != nil {
		return fmt.Errorf("create a layer of %s: %w", image.Program, err)
	}
	first := address + "/" + image.References[0]
	commands := [][]string{
		{"append", "--oci-empty-base", "--new_layer=" + layer.Name(), "--new_tag=" + first},
		{"mutate", first, "--set-platform=linux/" + runtime.GOARCH, "--entrypoint=/" + image.Paths[0], "--user=" + image.User, "--tag=" + first},
	}
	for _, reference := range image.References[1:] {
		commands = append(commands, []string{"copy", first, address + "/" + reference})
	}
	for _, args := range commands {
		crane := exec.CommandContext(ctx, programs.Path(assets.Crane), args...)
		crane.Env = append(os.Environ(), "DOCKER_CONFIG="+dir) // not the user's configuration
		if output, err := crane.CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", crane, err, output)
		}
	}
	return nil
}

// writeLayer writes a tar archive with the program at its first path and links to it at the others.
func writeLayer(to *os.File, image Image) error {
	program, err := os.ReadFile(image.Program)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(to)
	for i, path := range image.Paths {
		header := &tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o755, Size: int64(len(program))}
		if i > 0 {
			header = &tar.Header{Typeflag: tar.TypeLink, Name: path, Linkname: image.Paths[0], Mode: 0o755}
		}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		if _, err := archive.Write(program); err != nil {
			return err
		}
	}
	if err := archive.Close(); err != nil {
		return err
	}
	return to.Close()
}
