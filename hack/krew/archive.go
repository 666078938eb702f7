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
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/yaml"
)

// target is a platform.
type target struct{ system, architecture string }

func (t target) String() string { return t.system + "/" + t.architecture }

// program is the name of the plugin on the platform.
func (t target) program() string {
	if t.system == "windows" {
		return "kubectl-altershield.exe"
	}
	return "kubectl-altershield"
}

// release is what is packed.
type release struct {
	version, dir string
	license      []byte
	platforms    []target
	// modified is the time of all files in the archives.
	modified time.Time
}

const (
	homepage = "https://github.com/traas-stack/altershield-operator"
	manifest = "altershield.yaml"
	sums     = "SHA256SUMS"
)

// plugin is a manifest of krew.
type plugin struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   named  `json:"metadata"`
	Spec       spec   `json:"spec"`
}

type named struct {
	Name string `json:"name"`
}

type spec struct {
	Version          string     `json:"version"`
	Homepage         string     `json:"homepage"`
	ShortDescription string     `json:"shortDescription"`
	Description      string     `json:"description"`
	Platforms        []platform `json:"platforms"`
}

type platform struct {
	Selector selector `json:"selector"`
	URI      string   `json:"uri"`
	SHA256   string   `json:"sha256"`
	Bin      string   `json:"bin"`
}

type selector struct {
	MatchLabels map[string]string `json:"matchLabels"`
}

// pack writes an archive for each platform, the sums of all and the manifest.
func (r release) pack(build func(target) ([]byte, error)) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("creating the directory of the archives: %w", err)
	}
	written := plugin{APIVersion: "krew.googlecontainertools.github.com/v1alpha2", Kind: "Plugin", Metadata: named{"altershield"}, Spec: spec{
		Version: r.version, Homepage: homepage, ShortDescription: "See and steer releases under change control",
		Description: "Shows what is released where under the change control of AlterShield Operator, why a release\n" +
			"was stopped and whether a file would be let in, steers releases, and examines the installation.\n",
	}}
	var list bytes.Buffer
	for _, to := range r.platforms {
		program, err := build(to)
		if err != nil {
			return err
		}
		packed, err := r.archive(to, program)
		if err != nil {
			return fmt.Errorf("packing the plugin for %s: %w", to, err)
		}
		name := fmt.Sprintf("kubectl-altershield_%s_%s_%s.tar.gz", r.version, to.system, to.architecture)
		if err := os.WriteFile(filepath.Join(r.dir, name), packed, 0o644); err != nil {
			return fmt.Errorf("writing an archive: %w", err)
		}
		sum := fmt.Sprintf("%x", sha256.Sum256(packed))
		fmt.Fprintf(&list, "%s  %s\n", sum, name)
		written.Spec.Platforms = append(written.Spec.Platforms, platform{
			Selector: selector{map[string]string{"os": to.system, "arch": to.architecture}},
			URI:      homepage + "/releases/download/" + r.version + "/" + name, SHA256: sum, Bin: to.program(),
		})
	}
	text, err := yaml.Marshal(written)
	if err != nil {
		return fmt.Errorf("encoding the manifest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, manifest), text, 0o644); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	if err := os.WriteFile(filepath.Join(r.dir, sums), list.Bytes(), 0o644); err != nil {
		return fmt.Errorf("writing the sums: %w", err)
	}
	return nil
}

// archive returns an archive with the plugin and the licence, as krew asks for. It depends on these and on the time of the release alone.
func (r release) archive(to target, program []byte) ([]byte, error) {
	var packed bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range []struct {
		name    string
		mode    int64
		content []byte
	}{{"LICENSE", 0o644, r.license}, {to.program(), 0o755, program}} {
		header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.content)), ModTime: r.modified, Format: tar.FormatPAX}
		if err := archive.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := archive.Write(file.content); err != nil {
			return nil, err
		}
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	if err := compressed.Close(); err != nil {
		return nil, err
	}
	return packed.Bytes(), nil
}
