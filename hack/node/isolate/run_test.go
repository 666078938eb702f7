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

func TestEndLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	base, hierarchy, elsewhere := t.TempDir(), t.TempDir(), t.TempDir()
	made, there := filepath.Join(elsewhere, "made"), t.TempDir()

	run, err := Begin(base, []string{hierarchy})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run.MakeCgroups("node-1")).To(Succeed())
	g.Expect(run.MakeMountPoints(made, there)).To(Succeed())
	write(t, filepath.Join(run.Dir, "logs", "a.log"), "")
	g.Expect(filepath.Join(hierarchy, run.Cgroup, "node-1")).To(BeADirectory())
	g.Expect(made).To(BeADirectory())

	g.Expect(run.End()).To(Succeed())
	g.Expect(run.Dir).NotTo(BeAnExistingFile())
	g.Expect(filepath.Join(hierarchy, run.Cgroup)).NotTo(BeAnExistingFile())
	g.Expect(made).NotTo(BeAnExistingFile())
	g.Expect(there).To(BeADirectory())
}

func TestBeginClearsAwayWhatAKilledRunLeft(t *testing.T) {
	g := NewWithT(t)
	base, hierarchy := t.TempDir(), t.TempDir()
	mountPoint := filepath.Join(t.TempDir(), "mount", "point")
	killed, err := Begin(base, []string{hierarchy})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(killed.MakeCgroups("node-1")).To(Succeed())
	g.Expect(killed.MakeMountPoints(mountPoint)).To(Succeed())
	g.Expect(killed.lock.Close()).To(Succeed()) // as the kernel does
	strangers := filepath.Join(hierarchy, "kubepods")
	write(t, filepath.Join(strangers, "cgroup.procs"), "1\n")

	next, err := Begin(base, []string{hierarchy})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(killed.Dir).NotTo(BeAnExistingFile())
	g.Expect(filepath.Join(hierarchy, killed.Cgroup)).NotTo(BeAnExistingFile())
	g.Expect(mountPoint).NotTo(BeAnExistingFile())
	g.Expect(strangers).To(BeADirectory())
	g.Expect(next.End()).To(Succeed())
}

func TestBeginLeavesARunAloneThatGoesOn(t *testing.T) {
	g := NewWithT(t)
	base, hierarchy := t.TempDir(), t.TempDir()
	mountPoint := filepath.Join(t.TempDir(), "mount", "point")
	first, err := Begin(base, []string{hierarchy})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(first.MakeCgroups("node-1")).To(Succeed())
	g.Expect(first.MakeMountPoints(mountPoint)).To(Succeed())

	second, err := Begin(base, []string{hierarchy})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.Dir).NotTo(Equal(first.Dir))
	g.Expect(second.End()).To(Succeed())
	g.Expect(first.Dir).To(BeADirectory())
	g.Expect(filepath.Join(hierarchy, first.Cgroup, "node-1")).To(BeADirectory())
	g.Expect(mountPoint).To(BeADirectory())

	g.Expect(first.End()).To(Succeed())
	g.Expect(mountPoint).NotTo(BeAnExistingFile())
}

func TestEndLeavesAMountPointThatIsUsedMeanwhile(t *testing.T) {
	g := NewWithT(t)
	removed, mountPoint := filepath.Join(t.TempDir(), "removed"), filepath.Join(t.TempDir(), "mount", "point")
	run, err := Begin(t.TempDir(), []string{t.TempDir()})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(run.MakeMountPoints(removed, mountPoint)).To(Succeed())
	g.Expect(os.Remove(removed)).To(Succeed())
	write(t, filepath.Join(mountPoint, "file"), "")
	g.Expect(run.End()).To(Succeed())
	g.Expect(filepath.Join(mountPoint, "file")).To(BeAnExistingFile())
}
