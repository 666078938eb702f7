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
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	// cgroupPrefix is the prefix of the runs' control groups, at the top of every hierarchy.
	cgroupPrefix = "altershield-node-"
	// cgroupGrace is how long the kernel may take to remove the last processes from a control group.
	cgroupGrace = 10 * time.Second
	cgroupPoll  = 50 * time.Millisecond
)

// hierarchies returns the mount points of control groups, of version 1 and 2, in the mountinfo of a process.
func hierarchies(mountinfo string) []string {
	var mounts []string
	for line := range strings.Lines(mountinfo) {
		// 36 25 0:31 / /sys/fs/cgroup/pids rw,relatime - cgroup none rw,pids
		mount, source, found := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if !found || len(fields) < 5 || fields[3] != "/" {
			continue
		}
		if kind, _, _ := strings.Cut(source, " "); (kind == "cgroup" || kind == "cgroup2") && !slices.Contains(mounts, fields[4]) {
			mounts = append(mounts, fields[4])
		}
	}
	return mounts
}

// Hierarchies returns the folders where this machine's control groups are mounted.
func Hierarchies() ([]string, error) {
	mountinfo, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("find the control groups: %w", err)
	}
	mounts := hierarchies(string(mountinfo))
	if len(mounts) == 0 {
		return nil, errors.New("no control groups are mounted (mount shows none of type cgroup or cgroup2): nodes can't run here")
	}
	return mounts, nil
}

// MakeCgroups creates a control group below that of the run, such as node-1, in every hierarchy and with all controllers.
func (r *Run) MakeCgroups(name string) error {
	if err := r.rememberControllers(); err != nil {
		return err
	}
	for _, mount := range r.hierarchies {
		top := filepath.Join(mount, r.Cgroup)
		for _, step := range [][2]string{{mount, top}, {top, filepath.Join(top, name)}} {
			if err := makeCgroup(step[0], step[1]); err != nil {
				return fmt.Errorf("make control group %s: %w", step[1], err)
			}
		}
	}
	return nil
}

func makeCgroup(parent, dir string) error {
	if err := handDownControllers(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	// In version 1 a new group has no CPU and no memory node, so nothing can run in it.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		from, to := filepath.Join(parent, file), filepath.Join(dir, file)
		own, err := os.ReadFile(to)
		if err != nil || len(bytes.TrimSpace(own)) > 0 || versionTwo(parent) {
			continue
		}
		content, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(to, content, 0); err != nil {
			return err
		}
	}
	return nil
}

func versionTwo(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "cgroup.controllers"))
	return err == nil
}

// handDownControllers enables all controllers of a group for the groups below it; in version 1 they have them anyway.
func handDownControllers(dir string) error {
	if !versionTwo(dir) {
		return nil
	}
	controllers, err := os.ReadFile(filepath.Join(dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for controller := range strings.FieldsSeq(string(controllers)) {
		err := os.WriteFile(filepath.Join(dir, subtreeControl), []byte("+"+controller), 0)
		if errors.Is(err, syscall.EBUSY) {
			return fmt.Errorf("enable controller %s below %s, in which processes run directly (in a container: start it with the "+
				"machine's cgroup namespace, --cgroupns=host): %w", controller, dir, err)
		}
		if err != nil {
			return fmt.Errorf("enable controller %s below %s: %w", controller, dir, err)
		}
	}
	return nil
}

// removeCgroups removes the control groups at the top of every hierarchy whose name matches, with all below them.
func (r *Run) removeCgroups(pattern string) error {
	var failures []error
	for _, mount := range r.hierarchies {
		groups, err := filepath.Glob(filepath.Join(mount, pattern))
		failures = append(failures, err)
		for _, group := range groups {
			failures = append(failures, removeCgroup(group))
		}
	}
	return errors.Join(failures...)
}

// removeCgroup removes a control group and those below it, the deepest first. Their files disappear with them.
func removeCgroup(top string) error {
	var dirs []string
	err := filepath.WalkDir(top, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			dirs = append(dirs, path)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("remove control group %s: %w", top, err)
	}
	deadline := time.Now().Add(cgroupGrace)
	for _, dir := range slices.Backward(dirs) {
		err := os.Remove(dir)
		for errors.Is(err, syscall.EBUSY) && time.Now().Before(deadline) {
			time.Sleep(cgroupPoll)
			err = os.Remove(dir)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("remove control group %s (processes in it are listed in its cgroup.procs): %w", dir, err)
		}
	}
	return nil
}

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
