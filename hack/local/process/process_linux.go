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
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// attributes shield a child from the terminal's signals, so that Ctrl-C reaches only the command, which then stops its
// children in order. A detached child outlives the command; any other dies with it, even if the command is killed.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// commLength is how many bytes of a program's name the kernel keeps for a process.
const commLength = 15

// look returns the state of the process that was started with a command line: gone if another process has its id now.
func look(pid int, argv []string) state {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	if err != nil {
		return gone
	}
	if len(line) == 0 {
		return lookEnding(pid, filepath.Base(argv[0]))
	}
	if strings.TrimSuffix(string(line), "\x00") != strings.Join(argv, "\x00") {
		return gone
	}
	return running
}

// lookEnding returns the state of a process without a command line, which may be the program while it exits: the kernel releases
// its memory, and with it the command line, before it closes its files.
func lookEnding(pid int, program string) state {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return gone
	}
	// 123 (name) Z ...
	name, rest, found := strings.Cut(string(stat), ") ")
	_, name, _ = strings.Cut(name, "(")
	if !found || name != program[:min(len(program), commLength)] {
		return gone
	}
	if rest[0] != 'Z' && rest[0] != 'X' {
		return ending
	}
	// A zombie holds nothing, but its other threads may.
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil || len(threads) <= 1 {
		return gone
	}
	return ending
}

// tick is the unit of process times on Linux, the same on every architecture that Go supports.
const tick = time.Second / 100

// readUsage reads the resource usage of a process since its start.
func readUsage(pid int) (Usage, error) {
	process, err := procfs.NewProc(pid)
	if err != nil {
		return Usage{}, err
	}
	stat, err := process.Stat()
	if err != nil {
		return Usage{}, err
	}
	status, err := process.NewStatus()
	return Usage{CPU: time.Duration(stat.UTime+stat.STime) * tick, Memory: int64(status.VmRSS), Peak: int64(status.VmHWM)}, err
}
