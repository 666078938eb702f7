//go:build !linux

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
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// attributes shield a child from the terminal's signals, so that Ctrl-C reaches only the command, which then stops its
// children in order; a detached child outlives the command.
func attributes(detached bool) *syscall.SysProcAttr {
	if detached {
		return &syscall.SysProcAttr{Setsid: true}
	}
	return &syscall.SysProcAttr{Setpgid: true}
}

// look returns the state of the process that was started with a command line: gone if another process has its id now.
func look(pid int, argv []string) state {
	line, err := exec.Command("ps", "-ww", "-o", "command=", "-p", strconv.Itoa(pid)).Output()
	if err != nil || strings.TrimSpace(string(line)) != strings.Join(argv, " ") {
		return gone
	}
	return running
}

func readUsage(int) (Usage, error) { return Usage{}, errors.New("supported on Linux only") }
