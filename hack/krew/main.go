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
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
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
