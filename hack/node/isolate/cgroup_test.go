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
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
)

func TestHierarchies(t *testing.T) {
	for name, c := range map[string]struct {
		mountinfo string
		mounts    []string
	}{
		"version 2": {
			"21 27 0:19 / /sys rw - sysfs none rw\n28 21 0:24 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 none rw,nsdelegate\n",
			[]string{"/sys/fs/cgroup"}},
		"version 1 and 2 side by side": {
			"30 29 0:27 / /sys/fs/cgroup/cpu rw - cgroup none rw,cpu\n" +
				"31 29 0:28 / /sys/fs/cgroup/systemd rw shared:9 master:2 - cgroup systemd rw,name=systemd\n" +
				"32 29 0:29 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n",
			[]string{"/sys/fs/cgroup/cpu", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified"}},
		"a part of a hierarchy mounted elsewhere": {
			"32 29 0:29 /docker/1 /elsewhere rw - cgroup2 none rw\n", nil},
		"the same place mounted twice": {
			"30 29 0:27 / /sys/fs/cgroup/cpu rw - cgroup none rw,cpu\n31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup none rw,cpu\n",
			[]string{"/sys/fs/cgroup/cpu"}},
		"none": {"21 27 0:19 / /sys rw - sysfs none rw\n", nil},
	} {
		t.Run(name, func(t *testing.T) { NewWithT(t).Expect(hierarchies(c.mountinfo)).To(Equal(c.mounts)) })
	}
}

func TestMakeCgroupOfVersion1GetsTheProcessorsOfItsParent(t *testing.T) {
	g := NewWithT(t)
	cpuset := t.TempDir()
	write(t, filepath.Join(cpuset, "cpuset.cpus"), "0-1\n")
	write(t, filepath.Join(cpuset, "cpuset.mems"), "0\n")
	// The kernel would create these files with the group.
	for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
		write(t, filepath.Join(cpuset, "group", file), "\n")
	}
	g.Expect(makeCgroup(cpuset, filepath.Join(cpuset, "group"))).To(Succeed())
	g.Expect(os.ReadFile(filepath.Join(cpuset, "group", "cpuset.cpus"))).To(BeEquivalentTo("0-1\n"))
	g.Expect(os.ReadFile(filepath.Join(cpuset, "group", "cpuset.mems"))).To(BeEquivalentTo("0\n"))
}

func TestMakeCgroupsOfVersion2GetAllControllersForTheTimeOfARun(t *testing.T) {
	g := NewWithT(t)
	unified := t.TempDir()
	control := filepath.Join(unified, subtreeControl)
	write(t, filepath.Join(unified, "cgroup.controllers"), "cpu memory pids\n")
	write(t, control, "cpu memory\n")
	run, err := Begin(t.TempDir(), []string{unified})
	g.Expect(err).NotTo(HaveOccurred())
	// The kernel would create this file with the group; the top group has no such file to copy.
	write(t, filepath.Join(unified, run.Cgroup, "cpuset.cpus"), "\n")

	g.Expect(run.MakeCgroups("node-1")).To(Succeed())
	g.Expect(os.ReadFile(control)).To(BeEquivalentTo("+pids")) // the last one enabled
	write(t, control, "cpu memory pids\n")                     // as the kernel then shows it
	g.Expect(run.MakeCgroups("node-2")).To(Succeed())
	write(t, control, "cpu memory pids\n")

	g.Expect(os.Remove(filepath.Join(unified, run.Cgroup, "cpuset.cpus"))).To(Succeed()) // the kernel removes it with the group
	g.Expect(run.End()).To(Succeed())
	g.Expect(os.ReadFile(control)).To(BeEquivalentTo("-pids"))
}

func TestAddedControllers(t *testing.T) {
	g := NewWithT(t)
	g.Expect(added("cpu memory\n", "cpuset cpu io memory\n")).To(Equal([]string{"cpuset", "io"}))
	g.Expect(added("cpu memory\n", "memory cpu\n")).To(BeEmpty())
	g.Expect(added("cpu memory\n", "cpu\n")).To(BeEmpty())
}

// write writes a file and creates its folder.
func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}
