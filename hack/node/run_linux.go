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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
	"github.com/traas-stack/altershield-operator/hack/node/isolate"
	"github.com/traas-stack/altershield-operator/hack/node/preflight"
)

const (
	planFile = "plan.json"
	auditLog = "audit.log"
	// keptDir is the folder with the logs of the last failed run.
	keptDir = "last-failure"
	// sources are the packages of the programs in the first images.
	sources = "github.com/traas-stack/altershield-operator/hack/node/"
	busybox = "busybox"
	pause   = "pause"
)

// plan is passed to the inside of the namespaces.
type plan struct {
	options
	// Dir is the folder of the run, Cgroup its control group.
	Dir, Cgroup string
	Assets      assets.Assets
}

// run runs the role of the first argument, by default the outside.
func run(ctx context.Context, args []string) (exitCode int, err error) {
	if len(args) == 2 && args[0] == roleInit {
		if err := isolate.Mount(args[1]); err != nil {
			return 0, err
		}
		return isolate.Init(roleCluster, args[1])
	}
	if len(args) == 2 && args[0] == roleCluster {
		return inside(ctx, args[1])
	}
	o, err := parse(args, os.Stderr)
	if err != nil {
		return 0, err
	}
	return outside(ctx, o)
}

// outside prepares the machine, runs the inside, and cleans up.
func outside(ctx context.Context, o options) (exitCode int, err error) {
	// These may be missing in root's PATH.
	if err := os.Setenv("PATH", os.Getenv("PATH")+":/usr/sbin:/sbin"); err != nil {
		return 0, err
	}
	facts, err := preflight.Look()
	if err != nil {
		return 0, err
	}
	if err := facts.Problem(); err != nil {
		return 0, err
	}
	if err := facts.Install(ctx, os.Stderr); err != nil {
		return 0, err
	}
	programs, err := assets.EnsureNode(ctx, os.Stderr)
	if err != nil {
		return 0, err
	}
	hierarchies, err := isolate.Hierarchies()
	if err != nil {
		return 0, err
	}
	run, err := isolate.Begin(isolate.Base, hierarchies)
	if err != nil {
		return 0, err
	}
	exitCode, err = enter(ctx, run, plan{options: o, Dir: run.Dir, Cgroup: run.Cgroup, Assets: programs})
	if err != nil || exitCode != 0 {
		err = errors.Join(err, keepLogs(run.Dir, filepath.Join(isolate.Base, keptDir)))
	}
	return exitCode, errors.Join(err, run.End())
}

// enter runs the inside in its namespaces.
func enter(ctx context.Context, run *isolate.Run, p plan) (exitCode int, err error) {
	if err := buildImagePrograms(ctx, p.Dir); err != nil {
		return 0, err
	}
	if err := run.PrepareMounts(); err != nil {
		return 0, err
	}
	for _, node := range p.nodes() {
		if err := run.MakeCgroups(node.Name); err != nil {
			return 0, err
		}
	}
	content, err := json.Marshal(p)
	if err != nil {
		return 0, fmt.Errorf("write the plan: %w", err)
	}
	if err := os.WriteFile(filepath.Join(p.Dir, planFile), content, 0o600); err != nil {
		return 0, fmt.Errorf("write the plan: %w", err)
	}
	return isolate.Enter(ctx, roleInit, p.Dir)
}

// buildImagePrograms builds the programs of the first images outside of the namespaces, which have no access to a module proxy.
func buildImagePrograms(ctx context.Context, dir string) error {
	for _, name := range []string{busybox, pause} {
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", imageProgram(dir, name), sources+name)
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
		if output, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the program of image %s (run this inside the repository): %w\n%s", name, err, output)
		}
	}
	return nil
}

func imageProgram(dir, name string) string { return filepath.Join(dir, "images", name) }

// keepLogs moves the logs of a failed run to a place where they outlive it, and removes those of the last failed one.
func keepLogs(from, to string) error {
	if err := os.RemoveAll(to); err != nil {
		return fmt.Errorf("keep the logs: %w", err)
	}
	if err := os.MkdirAll(to, 0o700); err != nil {
		return fmt.Errorf("keep the logs: %w", err)
	}
	for _, entry := range []string{process.LogsDir, auditLog} {
		if err := os.Rename(filepath.Join(from, entry), filepath.Join(to, entry)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("keep the logs: %w", err)
		}
	}
	fmt.Fprintf(os.Stderr, "logs are kept in %s until the next failure\n", to)
	return nil
}
