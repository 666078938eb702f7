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
	// subtreeControl lists the controllers that a group of version 2 enables for the groups below it.
	subtreeControl = "cgroup.subtree_control"
	// controllersPrefix is the prefix of the files that keep its earlier content.
	controllersPrefix = "controllers-of-"
)

// rememberControllers stores the controllers that each hierarchy of version 2 had enabled before the first run: nodes need more of
// them than most machines enable.
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
			continue // stored by a run that is still active
		}
		if err := os.WriteFile(file, given, 0o600); err != nil {
			return fmt.Errorf("remember the controllers of %s: %w", mount, err)
		}
	}
	return nil
}

// giveBackControllers disables the controllers that runs have enabled, once no run needs them.
func (r *Run) giveBackControllers() error {
	for _, mount := range r.hierarchies {
		file := r.controllersFile(mount)
		before, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("restore the controllers of %s: %w", mount, err)
		}
		control := filepath.Join(mount, subtreeControl)
		now, err := os.ReadFile(control)
		if err != nil {
			return fmt.Errorf("restore the controllers of %s: %w", mount, err)
		}
		for _, controller := range added(string(before), string(now)) {
			// A controller that the groups of another program use by now can't be disabled, and shouldn't.
			if err := os.WriteFile(control, []byte("-"+controller), 0); err != nil && !errors.Is(err, syscall.EBUSY) {
				return fmt.Errorf("disable controller %s of %s: %w", controller, mount, err)
			}
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// added returns the words that are in the second list only.
func added(before, now string) []string {
	old := strings.Fields(before)
	return slices.DeleteFunc(strings.Fields(now), func(word string) bool { return slices.Contains(old, word) })
}

func (r *Run) controllersFile(mount string) string {
	return filepath.Join(r.base, controllersPrefix+strings.ReplaceAll(strings.Trim(mount, "/"), "/", "-"))
}
