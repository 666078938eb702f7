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
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// covered returns folders whose paths are built into containerd, mount, libcni and kubelet; each is covered by a folder of the
// run.
func covered() []string {
	return []string{"/run/containerd", "/run/mount", "/var/lib/cni", "/var/lib/kubelet", "/var/log/containers"}
}

// machineSettings returns the settings under /proc/sys that the kubelet changes and that no namespace has of its own. Each is
// covered by a file of the run, so that the kubelet changes the file and not the machine.
func machineSettings() []string {
	return []string{
		"vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops",
		"kernel/keys/root_maxkeys", "kernel/keys/root_maxbytes",
	}
}

// PrepareMounts creates the files for Mount outside of the run's namespaces.
func (r *Run) PrepareMounts() error {
	for _, path := range covered() {
		if err := os.MkdirAll(cover(r.Dir, path), 0o700); err != nil {
			return fmt.Errorf("make a cover of %s: %w", path, err)
		}
	}
	return r.MakeMountPoints(covered()...)
}

// cover returns the real path of a covered path.
func cover(dir, path string) string {
	return filepath.Join(dir, "covers", strings.ReplaceAll(strings.Trim(path, "/"), "/", "-"))
}

// Mount mounts the file system of the run in the given folder. Call it in a separate mount namespace only.
func Mount(dir string) error {
	// No mount from here on may propagate to the machine.
	if err := mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE); err != nil {
		return err
	}
	if err := mount("proc", "/proc", "proc", syscall.MS_NOSUID|syscall.MS_NODEV|syscall.MS_NOEXEC); err != nil {
		return err
	}
	for _, path := range covered() {
		if err := mount(cover(dir, path), path, "", syscall.MS_BIND); err != nil {
			return err
		}
	}
	for _, setting := range machineSettings() {
		if err := coverSetting(dir, filepath.Join("/proc/sys", setting)); err != nil {
			return err
		}
	}
	// Pods may request mounts that propagate between them and the node.
	return mount("", "/", "", syscall.MS_REC|syscall.MS_SHARED)
}

func coverSetting(dir, setting string) error {
	value, err := os.ReadFile(setting)
	if os.IsNotExist(err) {
		return nil // a kernel without it
	}
	if err != nil {
		return fmt.Errorf("cover a setting: %w", err)
	}
	file := cover(dir, setting)
	if err := os.WriteFile(file, value, 0o600); err != nil {
		return fmt.Errorf("cover %s: %w", setting, err)
	}
	return mount(file, setting, "", syscall.MS_BIND)
}

func mount(source, target, kind string, flags uintptr) error {
	if err := syscall.Mount(source, target, kind, flags, ""); err != nil {
		return fmt.Errorf("mount %s: %w", target, err)
	}
	return nil
}
