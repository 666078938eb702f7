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

package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
)

// Machine describes the machine of a run.
type Machine struct {
	Processors int    `json:"processors"`
	Model      string `json:"model,omitempty"`
	Memory     int64  `json:"memoryBytes,omitempty"`
	System     string `json:"system"`
	Go         string `json:"go"`
	// Load is the load average of the last minute at the start.
	Load float64 `json:"loadAverage"`
}

func (m Machine) String() string {
	return fmt.Sprintf("%d x %s, %d GiB, %s, %s", m.Processors, m.Model, m.Memory>>30, m.System, m.Go)
}

// thisMachine describes this machine; only Linux shows everything.
func thisMachine() Machine {
	machine := Machine{Processors: runtime.NumCPU(), Model: "processor", System: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	if content, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(content), " ")
		machine.Load, _ = strconv.ParseFloat(first, 64)
	}
	if content, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		machine.Model = valueOf(string(content), "model name", machine.Model)
	}
	if content, err := os.ReadFile("/proc/meminfo"); err == nil {
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(valueOf(string(content), "MemTotal", "0 kB"), " kB"), 10, 64)
		machine.Memory = kilobytes << 10
	}
	return machine
}

// valueOf returns the text after the first colon of the line that begins with a name.
func valueOf(content, name, otherwise string) string {
	for line := range strings.Lines(content) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return otherwise
}
