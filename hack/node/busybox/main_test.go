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
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
)

func TestRun(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		command string
		out     string
		fails   bool
	}{
		"echo":                   {"echo a b", "a b\n", false},
		"cat":                    {"cat " + file, "content", false},
		"cat of nothing":         {"cat /nowhere", "", true},
		"sleep without unit":     {"sleep 0", "", false},
		"sleep of several spans": {"sleep 0.001 0.001s", "", false},
		"sleep of no span":       {"sleep soon", "", true},
		"something not played":   {"vi", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			words := strings.Fields(c.command)
			var out strings.Builder
			err := run(words[0], words[1:], &out)
			g.Expect(err != nil).To(Equal(c.fails), "%v", err)
			g.Expect(out.String()).To(Equal(c.out))
		})
	}
}

func TestShellRunsCommandsInTurn(t *testing.T) {
	g := NewWithT(t)
	file := filepath.Join(t.TempDir(), "file")
	var out strings.Builder
	g.Expect(run("sh", []string{"-c", "touch " + file + "; cat " + file + "; echo a; rm " + file + "; cat /nowhere; echo b"}, &out)).To(Succeed())
	g.Expect(out.String()).To(Equal("a\nb\n"))
	g.Expect(file).NotTo(BeAnExistingFile())
	for _, args := range [][]string{nil, {"-c"}, {"-x", "echo"}, {"-c", "echo;"}, {"-c", "echo a; cat /nowhere"}, {"-c", "rm " + file}, {"-c", "exit"}, {"-c", "exit now"}} {
		g.Expect(run("sh", args, &out)).NotTo(Succeed(), "%q", args)
	}
	g.Expect(run("tail", []string{"/nowhere"}, &out)).NotTo(Succeed())
	g.Expect(run("tail", nil, &out)).NotTo(Succeed())
}
