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

// Command krew packs the kubectl plugin for several platforms, and writes the manifest by which krew installs it. The same commit gives the same
// archives. It runs in the root of the repository.
package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"text/template"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	asked := release{dir: "bin/plugin"}
	var commit string
	var epoch int64
	flags := flag.NewFlagSet("krew", flag.ContinueOnError)
	flags.StringVar(&asked.Version, "version", "", "Version of the plugin, such as v0.2.0.")
	flags.StringVar(&commit, "commit", "unknown", "Commit that it is built from.")
	flags.Int64Var(&epoch, "epoch", 0, "Time of the files in the archives, in Unix seconds.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if asked.Version == "" || flags.NArg() > 0 {
		return errors.New("usage: krew --version v0.2.0 [flags]; -h lists them")
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return fmt.Errorf("reading the licence: %w", err)
	}
	asked.license, asked.modified = license, time.Unix(epoch, 0).UTC()
	platforms := []target{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}}
	return asked.pack(platforms, func(to target) ([]byte, error) { return build(ctx, to, asked.Version, commit) })
}

// build compiles the plugin as `make build-plugin` does.
func build(ctx context.Context, to target, version, commit string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "krew")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "plugin")
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "grpcnotrace",
		"-ldflags", fmt.Sprintf("-s -w -X main.version=%s -X main.commit=%s", version, commit), "-o", file, "./cmd/kubectl-altershield")
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+to.System, "GOARCH="+to.Architecture)
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", to, err, output)
	}
	return os.ReadFile(file)
}

// target is a platform.
type target struct{ System, Architecture string }

func (t target) String() string { return t.System + "/" + t.Architecture }

// Program is the name of the plugin on the platform.
func (t target) Program() string {
	if t.System == "windows" {
		return "kubectl-altershield.exe"
	}
	return "kubectl-altershield"
}

// release is what is packed.
type release struct {
	Version string
	// dir is where the archives go, modified the time of all files in them.
	dir      string
	license  []byte
	modified time.Time
	// Archives are those that were packed.
	Archives []packed
}

// packed is an archive.
type packed struct {
	target
	Name, Sum string
}

// manifest is that of krew.
const manifest = `apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: altershield
spec:
  version: {{printf "%q" .Version}}
  homepage: https://github.com/traas-stack/altershield-operator
  shortDescription: See and steer releases under change control
  description: |
    Shows what is released where under the change control of AlterShield Operator, why a release
    was stopped and whether a file would be let in, steers releases, and examines the installation.
  platforms:
{{- range .Archives}}
  - selector:
      matchLabels:
        arch: {{.Architecture}}
        os: {{.System}}
    uri: https://github.com/traas-stack/altershield-operator/releases/download/{{$.Version}}/{{.Name}}
    sha256: "{{.Sum}}"
    bin: {{.Program}}
{{- end}}
`

// pack writes an archive for each platform, the sums of all and the manifest.
func (r release) pack(platforms []target, build func(target) ([]byte, error)) error {
	if err := os.MkdirAll(r.dir, 0o755); err != nil {
		return fmt.Errorf("creating the directory of the archives: %w", err)
	}
	files, sums := map[string][]byte{}, ""
	for _, to := range platforms {
		program, err := build(to)
		if err != nil {
			return err
		}
		content, err := r.archive(to, program)
		if err != nil {
			return fmt.Errorf("packing the plugin for %s: %w", to, err)
		}
		archive := packed{to, fmt.Sprintf("kubectl-altershield_%s_%s_%s.tar.gz", r.Version, to.System, to.Architecture), fmt.Sprintf("%x", sha256.Sum256(content))}
		r.Archives = append(r.Archives, archive)
		files[archive.Name] = content
		sums += archive.Sum + "  " + archive.Name + "\n"
	}
	var written bytes.Buffer
	if err := template.Must(template.New("manifest").Parse(manifest)).Execute(&written, r); err != nil {
		return fmt.Errorf("writing the manifest: %w", err)
	}
	files["SHA256SUMS"], files["altershield.yaml"] = []byte(sums), written.Bytes()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(r.dir, name), content, 0o644); err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// archive returns an archive with the plugin and the licence, as krew asks for. It depends on these and on the time of the release alone.
func (r release) archive(to target, program []byte) ([]byte, error) {
	var content bytes.Buffer
	compressed, err := gzip.NewWriterLevel(&content, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	archive := tar.NewWriter(compressed)
	for _, file := range []struct {
		name    string
		mode    int64
		content []byte
	}{{"LICENSE", 0o644, r.license}, {to.Program(), 0o755, program}} {
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
	return content.Bytes(), nil
}
