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
	"strings"
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
	var asked release
	var platforms, commit string
	var epoch int64
	flags := flag.NewFlagSet("krew", flag.ContinueOnError)
	flags.StringVar(&asked.version, "version", "", "Version of the plugin, such as v0.2.0.")
	flags.StringVar(&commit, "commit", "unknown", "Commit that it is built from.")
	flags.Int64Var(&epoch, "epoch", 0, "Time of the files in the archives, in Unix seconds.")
	flags.StringVar(&platforms, "platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64", "Platforms, with commas between them.")
	flags.StringVar(&asked.dir, "out", "bin/plugin", "Directory of the archives.")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if asked.version == "" || flags.NArg() > 0 {
		return errors.New("usage: krew --version v0.2.0 [flags]; -h lists them")
	}
	for platform := range strings.SplitSeq(platforms, ",") {
		system, architecture, found := strings.Cut(platform, "/")
		if !found {
			return fmt.Errorf("platform %q isn't os/architecture", platform)
		}
		asked.platforms = append(asked.platforms, target{system, architecture})
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return fmt.Errorf("reading the licence: %w", err)
	}
	asked.license, asked.modified = license, time.Unix(epoch, 0).UTC()
	return asked.pack(func(to target) ([]byte, error) { return build(ctx, to, asked.version, commit) })
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
	command.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+to.system, "GOARCH="+to.architecture)
	if output, err := command.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("building for %s: %w\n%s", to, err, output)
	}
	return os.ReadFile(file)
}
