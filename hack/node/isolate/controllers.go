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

package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

const (
	// subtreeControl lists the controllers that a group of version 2 gives to the groups below it.
	subtreeControl = "cgroup.subtree_control"
	// controllersPrefix starts the names of the files that remember what it said.
	controllersPrefix = "controllers-of-"
)

// rememberControllers remembers which controllers each hierarchy of version 2 gave to its groups before the first run: nodes
// need more of them than most machines give.
func (r *Run) rememberControllers() error {
	for _, mount := range r.hierarchies {
		if !versionTwo(mount) {
			continue
		}
		given, err := os.ReadFile(filepath.Join(mount, subtreeControl))
		if err != nil {
			return fmt.Errorf("remember the controllers of %s: %w", mount, err)
		}
		file := r.controllersFile(mount)
		if _, err := os.Stat(file); err == nil {
			continue // by a run that goes on
		}
		if err := os.WriteFile(file, given, 0o600); err != nil {
			return fmt.Errorf("remember the controllers of %s: %w", mount, err)
		}
	}
	return nil
}

// giveBackControllers takes back the controllers that runs have given to groups, once no run needs them.
func (r *Run) giveBackControllers() error {
	for _, mount := range r.hierarchies {
		file := r.controllersFile(mount)
		before, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("take back the controllers of %s: %w", mount, err)
		}
		control := filepath.Join(mount, subtreeControl)
		now, err := os.ReadFile(control)
		if err != nil {
			return fmt.Errorf("take back the controllers of %s: %w", mount, err)
		}
		for _, controller := range added(string(before), string(now)) {
			// One that another program's groups use by now can't be taken back, and shouldn't.
			if err := os.WriteFile(control, []byte("-"+controller), 0); err != nil && !errors.Is(err, syscall.EBUSY) {
				return fmt.Errorf("take back controller %s of %s: %w", controller, mount, err)
			}
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// added lists the words that are in one list but not in the one before.
func added(before, now string) []string {
	old := strings.Fields(before)
	return slices.DeleteFunc(strings.Fields(now), func(word string) bool { return slices.Contains(old, word) })
}

func (r *Run) controllersFile(mount string) string {
	return filepath.Join(r.base, controllersPrefix+strings.ReplaceAll(strings.Trim(mount, "/"), "/", "-"))
}
