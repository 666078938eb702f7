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

package process

import (
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

// patience is long enough for a busy machine.
const patience = time.Minute

// roleVariable makes the test program play a managed process.
const roleVariable = "PROCESS_TEST_ROLE"

func TestMain(m *testing.M) {
	// A program that listens for a signal may wait forever: otherwise, without cgo, Go reports a deadlock.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	switch os.Getenv(roleVariable) {
	case "wait":
		fmt.Println("waiting")
		select {}
	case "ignore":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ignoring")
		select {}
	case "fail":
		for line := range 2 * tailLines {
			fmt.Println("line", line)
		}
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// start starts the test program in a role and waits for its first output.
func start(t *testing.T, dir, role string) *Process {
	g := NewWithT(t)
	p, err := Start(Spec{Dir: dir, Name: role, Argv: []string{os.Args[0], "-dir=" + dir}, Env: []string{roleVariable + "=" + role}})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = p.Stop(t.Context(), 0) })
	g.Eventually(func() ([]byte, error) { return os.ReadFile(LogPath(dir, role)) }).WithTimeout(patience).ShouldNot(BeEmpty())
	return p
}

func TestFindAndStopAProcessOfAnotherCommand(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	started := start(t, dir, "wait")
	found, err := Find(dir, "wait")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).NotTo(BeNil())
	g.Expect(found.Argv()).To(Equal(started.Argv()))
	g.Expect(found.Stop(t.Context(), patience)).To(Succeed())
	g.Eventually(started.Alive).WithTimeout(patience).Should(BeFalse())
	g.Expect(Find(dir, "wait")).To(BeNil())
	g.Expect(pidPath(dir, "wait")).NotTo(BeAnExistingFile())
}

func TestFindIgnoresARecycledProcessID(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	stranger := start(t, dir, "wait")
	record := fmt.Sprintf("%d\n%s\n-dir=%s\n", stranger.pid, os.Args[0], "/elsewhere")
	g.Expect(os.WriteFile(pidPath(dir, "ours"), []byte(record), 0o600)).To(Succeed())
	g.Expect(Find(dir, "ours")).To(BeNil())
	ours := &Process{Name: "ours", dir: dir, pid: stranger.pid, argv: []string{os.Args[0], "-dir=/elsewhere"}}
	g.Expect(ours.Stop(t.Context(), patience)).To(Succeed())
	g.Expect(stranger.Alive()).To(BeTrue())
}

func TestStopKillsWhatDoesNotEnd(t *testing.T) {
	g := NewWithT(t)
	p := start(t, t.TempDir(), "ignore")
	g.Expect(p.Stop(t.Context(), 100*time.Millisecond)).To(Succeed())
	g.Expect(p.Alive()).To(BeFalse())
}

func TestFailureShowsTheEndOfTheLog(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	p := start(t, dir, "fail")
	g.Eventually(p.Alive).WithTimeout(patience).Should(BeFalse())
	message := p.Failure(errors.New("it has ended")).Error()
	g.Expect(message).To(HavePrefix("fail: it has ended; the last lines of " + LogPath(dir, "fail")))
	lines := strings.Split(message, "\n")[1:]
	g.Expect(lines).To(HaveLen(tailLines))
	g.Expect(lines[tailLines-1]).To(Equal(fmt.Sprintf("  line %d", 2*tailLines-1)))
}

func TestEndedTellsOnlyOfAnEndThatNobodyAskedFor(t *testing.T) {
	g := NewWithT(t)
	dir := t.TempDir()
	failed := start(t, dir, "fail")
	g.Eventually(failed.Ended).WithTimeout(patience).Should(MatchError(HavePrefix("fail: it has exited by itself; the last lines of")))
	asked := start(t, dir, "wait")
	g.Expect(asked.Ended()).To(Succeed())
	g.Expect(asked.Stop(t.Context(), patience)).To(Succeed())
	g.Expect(asked.Alive()).To(BeFalse())
	g.Expect(asked.Ended()).To(Succeed())
}

func TestFindFailsAtADamagedRecord(t *testing.T) {
	for _, content := range []string{"", "12", "zero\nprogram\n", "0\nprogram\n", "-5\nprogram\n"} {
		t.Run(content, func(t *testing.T) {
			g := NewWithT(t)
			dir := t.TempDir()
			g.Expect(os.Mkdir(filepath.Join(dir, PidsDir), 0o700)).To(Succeed())
			g.Expect(os.WriteFile(pidPath(dir, "x"), []byte(content), 0o600)).To(Succeed())
			_, err := Find(dir, "x")
			g.Expect(err).To(MatchError(ContainSubstring("has no process id and command line")))
		})
	}
}
