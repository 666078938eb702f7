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
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// patience is how long a state may take to be reached on a slow machine.
const patience = 2 * time.Minute

// stage is the cluster on which the walkthrough plays, as seen by kubectl.
type stage struct {
	kubectl, kubeconfig string
	// samples is the folder of the sample Deployments.
	samples string
	out     io.Writer
	// scenes is the number of scenes played so far.
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

// run shows a kubectl command with its output and returns the output; failed reports that it exited non-zero.
func (s *stage) run(ctx context.Context, args ...string) (printed string, failed bool, err error) {
	fmt.Fprintf(s.out, "$ kubectl %s\n", strings.Join(quoted(args), " "))
	printed, failed, err = s.quietly(ctx, args...)
	fmt.Fprint(s.out, printed)
	return printed, failed, err
}

// must runs a command that has to succeed and print the given text.
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

// denied runs a command that has to fail and print the given text; should says so.
func (s *stage) denied(ctx context.Context, want, should string, args ...string) error {
	printed, failed, err := s.run(ctx, args...)
	if err != nil {
		return err
	}
	if !failed || !strings.Contains(printed, want) {
		return errors.New(should)
	}
	return nil
}

// await repeats a command quietly until its output is as wanted, then runs it visibly.
func (s *stage) await(ctx context.Context, wanted func(printed string) error, args ...string) error {
	if err := lab.Until(ctx, patience, "kubectl "+strings.Join(args, " "), func(ctx context.Context) error {
		printed, failed, err := s.quietly(ctx, args...)
		if err == nil && failed {
			err = errors.New("it failed")
		}
		if err == nil {
			err = wanted(printed)
		}
		if err != nil {
			return fmt.Errorf("%w; it prints:\n%s", err, printed)
		}
		return nil
	}); err != nil {
		return err
	}
	_, _, err := s.run(ctx, args...)
	return err
}

// succeeds waits until the current release of the Deployment is the only one, and verified, and returns the name of its ChangeWorkload.
func (s *stage) succeeds(ctx context.Context, output ...string) (string, error) {
	name, err := current(ctx, s)
	if err != nil {
		return "", err
	}
	return name, s.await(ctx, expectRows([]string{name, "Success"}), append([]string{"get", "changeworkloads"}, output...)...)
}

// quietly runs a kubectl command without showing it; the error is non-nil only if the command could not run.
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

// recording is the output of a kubectl command with --watch so far.
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

// Write receives the output of the command.
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

// awaitRow waits until a row that begins with these cells was printed.
func (r *recording) awaitRow(ctx context.Context, want ...string) error {
	return lab.Until(ctx, patience, "a row "+strings.Join(want, "  "), func(context.Context) error {
		printed := r.String()
		if !slices.ContainsFunc(rows(printed), func(row []string) bool { return begins(row, want) }) {
			return fmt.Errorf("only these were printed:\n%s", printed)
		}
		return nil
	})
}

// quoted quotes arguments for a shell.
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

// rows returns the cells of a table by row, without the header.
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
			return fmt.Errorf("expected %d rows, got %d", len(want), len(got))
		}
		for i := range want {
			if !begins(got[i], want[i]) {
				return fmt.Errorf("row %d should begin with: %s", i+1, strings.Join(want[i], "  "))
			}
		}
		return nil
	}
}

// begins reports whether a row begins with some cells.
func begins(row, cells []string) bool {
	return len(row) >= len(cells) && slices.Equal(row[:len(cells)], cells)
}
