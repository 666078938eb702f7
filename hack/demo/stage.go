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
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	// patience is how long a state may take to come about on a slow machine.
	patience = 2 * time.Minute
	// glance is how often the state is looked at meanwhile.
	glance = 200 * time.Millisecond
)

// stage is where the walkthrough plays: a cluster as kubectl sees it.
type stage struct {
	kubectl, kubeconfig string
	// samples is the folder of the sample Deployments.
	samples string
	out     io.Writer
	// scenes is how many were played.
	scenes int
}

// play plays one scene after the other.
func (s *stage) play(ctx context.Context, scenes []scene) error {
	for _, scene := range scenes {
		s.scenes++
		fmt.Fprintf(s.out, "\n--- %d. %s\n", s.scenes, scene.title)
		if err := scene.play(ctx, s); err != nil {
			return fmt.Errorf("step %d, %s: %w", s.scenes, scene.title, err)
		}
	}
	return nil
}

// run types a kubectl command, shows what it prints and returns that; failed says that it exited non-zero.
func (s *stage) run(ctx context.Context, args ...string) (printed string, failed bool, err error) {
	fmt.Fprintf(s.out, "$ kubectl %s\n", strings.Join(quoted(args), " "))
	printed, failed, err = s.quietly(ctx, args...)
	fmt.Fprint(s.out, printed)
	return printed, failed, err
}

// must is run for a command that has to succeed and print the given text.
func (s *stage) must(ctx context.Context, want string, args ...string) error {
	printed, failed, err := s.run(ctx, args...)
	switch {
	case err != nil:
		return err
	case failed:
		return fmt.Errorf("kubectl %s failed", strings.Join(args, " "))
	case !strings.Contains(printed, want):
		return fmt.Errorf("kubectl %s should print %q", strings.Join(args, " "), want)
	}
	return nil
}

// await looks until what a command prints is as wanted, then runs it for everybody to see.
func (s *stage) await(ctx context.Context, wanted func(printed string) error, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for {
		printed, failed, err := s.quietly(ctx, args...)
		if err != nil {
			return err
		}
		if failed {
			return fmt.Errorf("kubectl %s failed: %s", strings.Join(args, " "), printed)
		}
		missing := wanted(printed)
		if missing == nil {
			_, _, err = s.run(ctx, args...)
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("after %s kubectl %s still prints:\n%s%w", patience, strings.Join(args, " "), printed, missing)
		case <-tick.C:
		}
	}
}

// quietly runs a kubectl command; the error is about not being able to run it at all.
func (s *stage) quietly(ctx context.Context, args ...string) (printed string, failed bool, err error) {
	var output bytes.Buffer
	command := exec.CommandContext(ctx, s.kubectl, args...)
	command.Env = append(command.Environ(), "KUBECONFIG="+s.kubeconfig)
	command.Stdout, command.Stderr = &output, &output
	err = command.Run()
	if exit := new(exec.ExitError); errors.As(err, &exit) && ctx.Err() == nil {
		return output.String(), true, nil
	}
	if err != nil {
		return output.String(), true, fmt.Errorf("running kubectl %s: %w", strings.Join(args, " "), err)
	}
	return output.String(), false, nil
}

// recording is what a kubectl command with --watch has printed so far.
type recording struct {
	mutex  sync.Mutex
	output bytes.Buffer
	stop   func()
}

// watch records a kubectl command with --watch until stop is called.
func (s *stage) watch(ctx context.Context, args ...string) (*recording, error) {
	ctx, cancel := context.WithCancel(ctx)
	result := &recording{}
	command := exec.CommandContext(ctx, s.kubectl, args...)
	command.Env = append(command.Environ(), "KUBECONFIG="+s.kubeconfig)
	command.Stdout, command.Stderr = result, result
	if err := command.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("running kubectl %s: %w", strings.Join(args, " "), err)
	}
	result.stop = func() {
		cancel()
		_ = command.Wait() // it was just cancelled
	}
	return result, nil
}

// Write takes what the command prints.
func (r *recording) Write(printed []byte) (int, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.output.Write(printed)
}

func (r *recording) String() string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	return r.output.String()
}

// awaitRow waits until a row with these first cells was printed.
func (r *recording) awaitRow(ctx context.Context, want ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(glance)
	defer tick.Stop()
	for !hasRow(r.String(), want...) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("there should have been a moment with %s, not only:\n%s", strings.Join(want, "  "), r)
		case <-tick.C:
		}
	}
	return nil
}

// quoted shows arguments as they would be typed into a shell.
func quoted(args []string) []string {
	shown := make([]string, len(args))
	for i, arg := range args {
		shown[i] = arg
		if strings.ContainsAny(arg, " {}\"$*|<>()&;") {
			shown[i] = "'" + arg + "'"
		}
	}
	return shown
}

// rows splits a table into its rows' cells, without the header.
func rows(table string) [][]string {
	var result [][]string
	for line := range strings.Lines(table) {
		if cells := strings.Fields(line); len(cells) > 0 && cells[0] != "NAME" {
			result = append(result, cells)
		}
	}
	return result
}

// expectRows compares the first cells of each row.
func expectRows(want ...[]string) func(string) error {
	return func(table string) error {
		got := rows(table)
		if len(got) != len(want) {
			return fmt.Errorf("there should be %d rows, not %d", len(want), len(got))
		}
		for i := range want {
			if len(got[i]) < len(want[i]) || strings.Join(got[i][:len(want[i])], " ") != strings.Join(want[i], " ") {
				return fmt.Errorf("row %d should begin with: %s", i+1, strings.Join(want[i], "  "))
			}
		}
		return nil
	}
}
