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

// Package isolate confines a cluster of real nodes to namespaces that end with it, and removes everything else that it leaves on
// the machine: control groups, mount points and the state folder, also those of killed runs.
package isolate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Base is the folder for the state of all runs. It is short because the paths of sockets are limited to 107 characters.
const Base = "/var/lib/altershield-node"

const (
	lockFile = "lock"
	// mountPointsFile lists the created mount points, one per line.
	mountPointsFile = "mount-points"
	// runPrefix is the prefix of the folders of runs.
	runPrefix = "run-"
)

// Run is one run of the command. Several may be active at once.
type Run struct {
	// Dir is the folder of the run.
	Dir string
	// Cgroup is the path of the run's control group in every hierarchy.
	Cgroup string

	base        string
	hierarchies []string
	// lock is held shared during the run: a process that gets it exclusively may remove everything that runs have left.
	lock *os.File
}

// Begin removes the remains of killed runs, unless another run is active, and creates the folder of a new run below base.
// Its control groups will be at the top of each of the hierarchies.
func Begin(base string, hierarchies []string) (*Run, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return nil, fmt.Errorf("create the folder for the state of nodes: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(base, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the lock of runs: %w", err)
	}
	run := &Run{base: base, hierarchies: hierarchies, lock: lock}
	if err := errors.Join(run.sweepIfAlone(), run.begin()); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return run, nil
}

func (r *Run) begin() error {
	if err := syscall.Flock(int(r.lock.Fd()), syscall.LOCK_SH); err != nil {
		return fmt.Errorf("lock %s: %w", r.lock.Name(), err)
	}
	var err error
	if r.Dir, err = os.MkdirTemp(r.base, runPrefix); err != nil {
		return fmt.Errorf("create the folder of the run: %w", err)
	}
	r.Cgroup = "/" + cgroupPrefix + strings.TrimPrefix(filepath.Base(r.Dir), runPrefix)
	return nil
}

// End removes everything that the run has created; all its processes must have exited.
func (r *Run) End() error {
	return errors.Join(
		r.removeCgroups(filepath.Base(r.Cgroup)),
		os.RemoveAll(r.Dir),
		r.sweepIfAlone(),
		r.lock.Close())
}

// MakeMountPoints creates folders as mount points, and records those that didn't exist before.
func (r *Run) MakeMountPoints(paths ...string) error {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			continue
		}
		list, err := os.OpenFile(filepath.Join(r.base, mountPointsFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("record mount point %s: %w", path, err)
		}
		_, err = fmt.Fprintln(list, path)
		if err := errors.Join(err, list.Close(), os.MkdirAll(path, 0o755)); err != nil {
			return fmt.Errorf("create mount point %s: %w", path, err)
		}
	}
	return nil
}

// sweepIfAlone removes the remains of runs, unless another run is active, which will do it.
func (r *Run) sweepIfAlone() error {
	err := syscall.Flock(int(r.lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("lock %s: %w", r.lock.Name(), err)
	}
	failures := []error{r.removeCgroups(cgroupPrefix + "*"), r.giveBackControllers(), r.removeMountPoints()}
	runs, err := filepath.Glob(filepath.Join(r.base, runPrefix+"*"))
	failures = append(failures, err)
	for _, dir := range runs {
		failures = append(failures, os.RemoveAll(dir))
	}
	return errors.Join(failures...)
}

// removeMountPoints removes the recorded mount points that are empty; others may be in use by now.
func (r *Run) removeMountPoints() error {
	list := filepath.Join(r.base, mountPointsFile)
	content, err := os.ReadFile(list)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the list of mount points: %w", err)
	}
	for path := range strings.FieldsSeq(string(content)) {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return fmt.Errorf("remove mount point %s: %w", path, err)
		}
	}
	return os.Remove(list)
}
