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
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"
)

// endGrace is how long the inside of the namespaces may take to exit after SIGTERM.
const endGrace = 60 * time.Second

// signalBase plus the number of a signal is the exit code of a process ended by it.
const signalBase = 128

// Enter runs this program again with other arguments, as process 1 of new network, mount and process id namespaces, and
// waits until it exits. However it or this process ends, every process in the namespaces is gone then, and with them the
// namespaces. When the context ends, it gets SIGTERM.
func Enter(ctx context.Context, args ...string) (code int, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, fmt.Errorf("find this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID,
		Pdeathsig:  syscall.SIGKILL,
	}
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = endGrace
	// The kernel sends the parent death signal when the thread that forked exits: it has to live as long as the child.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("enter new namespaces: %w", err)
	}
	return ExitCode(cmd.Wait())
}

// Init is process 1 of the namespaces: it runs this program once more with other arguments, forwards signals to it, and
// reaps orphans. It returns the exit code.
func Init(args ...string) (code int, err error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	child, err := os.StartProcess("/proc/self/exe", append([]string{os.Args[0]}, args...), &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
	})
	if err != nil {
		return 0, fmt.Errorf("start the inside: %w", err)
	}
	go func() {
		for range signals {
			_ = child.Signal(syscall.SIGTERM) // it may have exited meanwhile
		}
	}()
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, fmt.Errorf("wait for the inside: %w", err)
		case pid == child.Pid:
			return statusCode(status), nil
		}
	}
}

// ExitCode returns the exit code for the error of a command, as shells do, or the error if there is none. A command
// that succeeded after an interruption counts as interrupted.
func ExitCode(err error) (int, error) {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return statusCode(exit.Sys().(syscall.WaitStatus)), nil
	}
	if errors.Is(err, context.Canceled) {
		return signalBase + int(syscall.SIGINT), nil
	}
	return 0, err
}

func statusCode(status syscall.WaitStatus) int {
	if status.Signaled() {
		return signalBase + int(status.Signal())
	}
	return status.ExitStatus()
}
