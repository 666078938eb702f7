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
	"strconv"
	"strings"
	"time"
)

// ticksPerSecond is the unit of process times on Linux, the same on every architecture that Go supports.
const ticksPerSecond = 100

// readUsage reads the resource usage of a process since its start.
func readUsage(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	return parseUsage(string(stat), string(status))
}

// parseUsage parses the files stat and status of a process in /proc.
func parseUsage(stat, status string) (Usage, error) {
	// The name, in parentheses, may contain spaces; the times are the 12th and the 13th field after it.
	_, rest, _ := strings.Cut(stat, ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return Usage{}, fmt.Errorf("the process's stat has %d fields", len(fields))
	}
	var usage Usage
	for _, field := range fields[11:13] {
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return Usage{}, fmt.Errorf("the process's stat: %w", err)
		}
		usage.CPU += time.Duration(ticks) * time.Second / ticksPerSecond
	}
	for line := range strings.Lines(status) {
		name, value, _ := strings.Cut(line, ":")
		var target *int64
		switch name {
		case "VmRSS":
			target = &usage.Memory
		case "VmHWM":
			target = &usage.Peak
		default:
			continue
		}
		kilobytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return Usage{}, fmt.Errorf("the process's status, %s: %w", name, err)
		}
		*target = kilobytes << 10
	}
	return usage, nil
}
