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

package prometheus

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/traas-stack/altershield-operator/hack/local/lock"
)

// binaries is the folder of the programs in a package of Debian.
const binaries = "usr/bin"

// ErrUnavailable is that of a machine without the programs and without apt-get, where tests that need them are skipped.
var ErrUnavailable = errors.New("there is no apt-get, which downloads programs that are not on the PATH")

// ensure finds programs on the PATH, or else in the user's cache, to which it extracts Debian's package of a name first. It returns their
// folder, empty if they are on the PATH. Nothing is installed, and no service started.
func ensure(ctx context.Context, out io.Writer, name string, programs ...string) (string, error) {
	if complete("", programs) {
		return "", nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for %s: %w", name, err)
	}
	root := filepath.Join(cache, "altershield-operator", name)
	found := filepath.Join(root, binaries)
	if complete(found, programs) {
		return found, nil
	}
	if err := os.MkdirAll(filepath.Dir(root), 0o755); err != nil {
		return "", fmt.Errorf("create a folder for %s: %w", name, err)
	}
	release, err := lock.Acquire(ctx, root+".lock", func() { fmt.Fprintf(out, "another command is extracting %s; waiting for it\n", name) })
	if err != nil {
		return "", err
	}
	defer release()
	if complete(found, programs) {
		return found, nil
	}
	return found, extract(ctx, out, name, root)
}

func complete(dir string, programs []string) bool {
	for _, name := range programs {
		if _, err := exec.LookPath(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// extract extracts a package of Debian into a folder, which is complete if it is there. It needs no root: the lists of packages are its own.
func extract(ctx context.Context, out io.Writer, name, root string) error {
	if _, err := exec.LookPath("apt-get"); err != nil {
		return fmt.Errorf("finding %s: %w", name, ErrUnavailable)
	}
	fmt.Fprintln(out, "downloading Debian's package", name)
	dir, err := os.MkdirTemp(filepath.Dir(root), name+"-")
	if err != nil {
		return fmt.Errorf("create a folder for %s: %w", name, err)
	}
	defer os.RemoveAll(dir)
	for _, folder := range []string{"lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			return fmt.Errorf("create a folder for apt-get: %w", err)
		}
	}
	own := []string{"-o", "Dir::State::lists=" + filepath.Join(dir, "lists"), "-o", "Dir::Cache=" + filepath.Join(dir, "cache"), "-o", "Debug::NoLocking=1"}
	for _, args := range [][]string{{"update"}, {"download", name}} {
		if err := run(ctx, dir, "apt-get", append(own, args...)...); err != nil {
			return fmt.Errorf("%w; without a network, put the programs of %s on the PATH", err, name)
		}
	}
	packages, err := filepath.Glob(filepath.Join(dir, "*.deb"))
	if err != nil || len(packages) != 1 {
		return fmt.Errorf("apt-get download %s left %d packages, not one", name, len(packages))
	}
	if err := run(ctx, dir, "dpkg-deb", "--extract", packages[0], "root"); err != nil {
		return err
	}
	if err := os.RemoveAll(root); err != nil {
		return fmt.Errorf("remove an incomplete %s: %w", name, err)
	}
	if err := os.Rename(filepath.Join(dir, "root"), root); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	return nil
}

// run runs a command in a folder.
func run(ctx context.Context, dir, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s %v: %w: %s", name, args, err, output)
	}
	return nil
}
