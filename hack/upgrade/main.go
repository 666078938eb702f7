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

// Command upgrade replaces an earlier version of the operator by the present one while Deployments are in all states of a release, and
// goes back to it. Two replicas are replaced one after the other. It checks that no pod restarts and no record is lost, that each release
// goes on where it was, and that everything new only observes. Then it upgrades again, and goes back as docs/install.md says while workloads
// are in states that the earlier version doesn't know.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

func main() {
	manager := flag.String("manager", "bin/manager", "`program` of the manager to upgrade to")
	from := flag.String("from", "9de4dbe", "`commit` of the version to upgrade from")
	flag.Parse()
	lab.Main("upgrade", func(ctx context.Context) error { return upgrade(ctx, *manager, *from, os.Stdout) })
}

// upgrade goes to the present version and back on a cluster in a temporary folder.
func upgrade(ctx context.Context, manager, from string, out io.Writer) (err error) {
	began := time.Now()
	present := version{name: "the present version"}
	for path, given := range map[*string]string{&present.manager: manager, &present.config: "config/local"} {
		if *path, err = filepath.Abs(given); err != nil {
			return fmt.Errorf("finding the present version: %w", err)
		}
	}
	earlier, remove, err := build(ctx, from, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, remove()) }()
	r, err := open(ctx, earlier, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.lab.Close(ctx)) }()
	if err := r.thereAndBack(ctx, earlier, present); err != nil {
		return err
	}
	fmt.Fprintf(out, "No pod restarted, and no record was lost. %s in total.\n", time.Since(began).Round(time.Second))
	return nil
}

// version is a version of the operator.
type version struct {
	name string
	// manager is the program, config the kustomization to install.
	manager, config string
	// earlier reports that it is v0.1, which lacks flags of the present one.
	earlier bool
}

// run makes an operator one of this version.
func (v version) run(options *operator.Options) {
	options.Binary, options.Config, options.Earlier = v.manager, v.config, v.earlier
}

// build checks a commit out and builds its manager. The returned function removes both.
func build(ctx context.Context, commit string, out io.Writer) (built version, remove func() error, err error) {
	dir, err := os.MkdirTemp("", "altershield-upgrade-")
	if err != nil {
		return version{}, nil, fmt.Errorf("building %s: %w", commit, err)
	}
	tree := filepath.Join(dir, "tree")
	built = version{name: commit, manager: filepath.Join(dir, "manager"), config: filepath.Join(tree, "config", "local"), earlier: true}
	remove = func() error {
		return errors.Join(command(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree), os.RemoveAll(dir))
	}
	fmt.Fprintf(out, "Building the manager of %s.\n", commit)
	if err := command(ctx, ".", "git", "worktree", "add", "--quiet", "--detach", tree, commit); err != nil {
		return version{}, nil, errors.Join(fmt.Errorf("building %s, which needs the history of the repository: %w", commit, err), os.RemoveAll(dir))
	}
	if err := command(ctx, tree, "go", "build", "-o", built.manager, "."); err != nil {
		return version{}, nil, errors.Join(fmt.Errorf("building %s: %w", commit, err), remove())
	}
	return built, remove, nil
}

// command runs a program. Its error has what the program wrote.
func command(ctx context.Context, dir, name string, args ...string) error {
	running := exec.CommandContext(ctx, name, args...)
	running.Dir = dir
	if output, err := running.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %v: %w: %s", name, args, err, output)
	}
	return nil
}
