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

// Package process runs programs in the background and finds them again from another command. Each has a log file, and a
// file with its process id and its command line, so that another process with a reused id is never mistaken for it.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

const (
	// LogsDir is the folder for logs in a state folder.
	LogsDir = "logs"
	// PidsDir is the folder for process ids in a state folder.
	PidsDir = "pids"
	// tailLines is how much of a log an error shows.
	tailLines = 20
	// pollEvery is the interval at which a process that isn't a child is polled while it stops.
	pollEvery = 20 * time.Millisecond
	// killGrace is how long the kernel may take to end a process after SIGKILL.
	killGrace = 10 * time.Second
)

// Spec configures a process.
type Spec struct {
	// Dir is the state folder: logs go to Dir/logs/Name.log, process ids to Dir/pids/Name.pid.
	Dir string
	// Name is unique within Dir.
	Name string
	// Argv is the program's path and its arguments. It should contain Dir: the command line distinguishes the process
	// from another one with the same process id.
	Argv []string
	// Env is added to the environment, as NAME=value.
	Env []string
	// Detached lets the process outlive its parent.
	Detached bool
}

// Process is a program that was started by Start, in this command or in an earlier one.
type Process struct {
	Name string
	dir  string
	pid  int
	argv []string
	// exited is closed when the child has exited; nil if the process was started by an earlier command.
	exited <-chan struct{}
}

// Start runs a program with its output appended to its log file.
func Start(spec Spec) (*Process, error) {
	for _, dir := range []string{LogsDir, PidsDir} {
		if err := os.MkdirAll(filepath.Join(spec.Dir, dir), 0o700); err != nil {
			return nil, fmt.Errorf("start %s: %w", spec.Name, err)
		}
	}
	log, err := os.OpenFile(LogPath(spec.Dir, spec.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	defer log.Close()

	cmd := exec.Command(spec.Argv[0], spec.Argv[1:]...) //nolint:noctx // it outlives the caller; Stop ends it
	cmd.Dir = spec.Dir
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(spec.Detached)
	exited, err := startAndReap(cmd)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	p := &Process{Name: spec.Name, dir: spec.Dir, pid: cmd.Process.Pid, argv: spec.Argv, exited: exited}
	record := strconv.Itoa(p.pid) + "\n" + strings.Join(p.argv, "\n") + "\n"
	if err := os.WriteFile(pidPath(spec.Dir, spec.Name), []byte(record), 0o600); err != nil {
		// A process without a record could never be stopped.
		return nil, errors.Join(fmt.Errorf("record the process id of %s: %w", spec.Name, err), p.Stop(context.Background(), 0))
	}
	return p, nil
}

// startAndReap starts the command and waits in the background until it exits.
func startAndReap(cmd *exec.Cmd) (<-chan struct{}, error) {
	started := make(chan error, 1)
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		// The kernel sends the parent death signal when the thread that forked exits, not when the process exits: this
		// thread has to live as long as the child.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // the log shows how a process ended
		}
	}()
	return exited, <-started
}

// Find returns the process of that name started in the folder, or nil if it isn't running.
func Find(dir, name string) (*Process, error) {
	pid, argv, err := readRecord(pidPath(dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the process id of %s: %w", name, err)
	}
	p := &Process{Name: name, dir: dir, pid: pid, argv: argv}
	if p.Alive() {
		return p, nil
	}
	// A process that is just exiting still holds its ports.
	if !p.awaitEnd(context.Background(), killGrace) {
		return nil, fmt.Errorf("%s (process %d) doesn't exit; kill it by hand", name, pid)
	}
	return nil, nil
}

// StopIn stops processes of the folder, one after the other, and returns the names of those that were running.
func StopIn(ctx context.Context, dir string, grace time.Duration, names ...string) (stopped []string, err error) {
	for _, name := range names {
		p, err := Find(dir, name)
		if err != nil {
			return stopped, err
		}
		if p == nil {
			continue
		}
		if err := p.Stop(ctx, grace); err != nil {
			return stopped, err
		}
		stopped = append(stopped, name)
	}
	return stopped, nil
}

// Argv returns the command line of the process.
func (p *Process) Argv() []string { return p.argv }

// Pid returns the process id.
func (p *Process) Pid() int { return p.pid }

// Usage is the resource usage of a process.
type Usage struct {
	// CPU is the processor time since its start, in user and kernel mode.
	CPU time.Duration
	// Memory is its resident memory in bytes, Peak the maximum so far.
	Memory, Peak int64
}

// Usage returns the resource usage of the process; it returns an error on systems other than Linux.
func (p *Process) Usage() (Usage, error) {
	usage, err := readUsage(p.pid)
	if err != nil {
		return Usage{}, fmt.Errorf("read the resource usage of %s (process %d): %w", p.Name, p.pid, err)
	}
	return usage, nil
}

// Alive reports whether the process is running and is still the one that was started.
func (p *Process) Alive() bool { return p.state() == running }

// Ended returns an error with the end of the log if the process has exited without Stop or Kill.
func (p *Process) Ended() error {
	if p.state() != gone {
		return nil
	}
	switch _, err := os.Stat(pidPath(p.dir, p.Name)); {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("find out whether %s was stopped: %w", p.Name, err)
	}
	return p.Failure(errors.New("it has exited by itself"))
}

type state int

const (
	gone state = iota
	// ending: it no longer runs, but its files and ports may still be open.
	ending
	running
)

func (p *Process) state() state {
	if p.exited == nil {
		return look(p.pid, p.argv)
	}
	select {
	case <-p.exited:
		return gone
	default:
		return running
	}
}

// Stop asks the process to exit, kills it after the grace time or when the context ends, and removes its process id file.
func (p *Process) Stop(ctx context.Context, grace time.Duration) error {
	if p.Alive() {
		_ = syscall.Kill(p.pid, syscall.SIGTERM) // it may have exited meanwhile; awaitEnd notices
	}
	if p.awaitEnd(ctx, grace) {
		return p.forget()
	}
	return p.Kill(ctx)
}

// Kill kills the process at once and removes its process id file.
func (p *Process) Kill(ctx context.Context) error {
	if p.Alive() {
		_ = syscall.Kill(p.pid, syscall.SIGKILL) // it may have exited meanwhile; awaitEnd notices
	}
	if !p.awaitEnd(context.WithoutCancel(ctx), killGrace) {
		return fmt.Errorf("%s (process %d) still exists %s after it was killed; end it by hand", p.Name, p.pid, killGrace)
	}
	return p.forget()
}

func (p *Process) forget() error {
	if err := os.Remove(pidPath(p.dir, p.Name)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove the process id of %s: %w", p.Name, err)
	}
	return nil
}

// awaitEnd waits until the process has exited, and reports whether it did within the limit.
func (p *Process) awaitEnd(ctx context.Context, limit time.Duration) bool {
	return wait.PollUntilContextTimeout(ctx, pollEvery, limit, true, func(context.Context) (bool, error) { return p.state() == gone, nil }) == nil
}

// Failure adds the path and the last lines of the process's log to an error.
func (p *Process) Failure(cause error) error {
	path := LogPath(p.dir, p.Name)
	return fmt.Errorf("%s: %w; the last lines of %s:\n%s", p.Name, cause, path, tail(path))
}

// LogPath returns the path of the log of a process.
func LogPath(dir, name string) string { return filepath.Join(dir, LogsDir, name+".log") }

func pidPath(dir, name string) string { return filepath.Join(dir, PidsDir, name+".pid") }

// readRecord reads a process id file: the process id, then the command line, one argument a line.
func readRecord(path string) (pid int, argv []string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0, nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	pid, err = strconv.Atoi(lines[0])
	if err != nil || pid <= 1 || len(lines) < 2 {
		return 0, nil, fmt.Errorf("%s has no process id and command line; remove it if its process is gone", path)
	}
	return pid, lines[1:], nil
}

// tail returns the last lines of a log, indented, or the reason why there are none.
func tail(path string) string {
	content, err := os.ReadFile(path)
	if err != nil {
		return "  " + err.Error()
	}
	lines := strings.Split(cmp.Or(strings.TrimSpace(string(content)), "(empty)"), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-tailLines):], "\n  ")
}
