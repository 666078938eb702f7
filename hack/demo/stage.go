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
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/traas-stack/altershield-operator/hack/lab"
)

// patience is how long a state may take to be reached on a slow machine.
const patience = 2 * time.Minute

// stage is the cluster on which the walkthrough plays, as seen by a user of kubectl.
type stage struct {
	out io.Writer
	// env is the environment of commands, without that of this process.
	env []string
	// known has what an earlier command printed, which later ones and their checks have as $name.
	known map[string]string
	// watched has the output of the present kubectl --watch.
	watched *os.File
	// scenes is the number of scenes played so far.
	scenes int
}

// newStage returns the stage of a cluster; kubectl is that in a folder, or else on the PATH.
func newStage(kubeconfig, folder string, out io.Writer) *stage {
	env := []string{"KUBECONFIG=" + kubeconfig, "PATH=" + folder + string(os.PathListSeparator) + os.Getenv("PATH")}
	return &stage{out: out, env: env, known: map[string]string{}}
}

// scene is a part of the walkthrough.
type scene struct {
	title string
	steps []step
}

// play plays one scene after the other.
func (s *stage) play(ctx context.Context, scenes []scene) error {
	for _, scene := range scenes {
		s.scenes++
		fmt.Fprintf(s.out, "\n--- %d. %s\n", s.scenes, scene.title)
		for _, act := range scene.steps {
			if err := act(ctx, s); err != nil {
				return fmt.Errorf("step %d, %s: %w", s.scenes, scene.title, err)
			}
		}
	}
	return nil
}

// expand fills in what is known.
func (s *stage) expand(text string) string {
	return os.Expand(text, func(name string) string { return s.known[name] })
}

func (s *stage) command(ctx context.Context, line string) *exec.Cmd {
	command := exec.CommandContext(ctx, "sh", "-c", "exec "+s.expand(line))
	command.Env = append(os.Environ(), s.env...)
	return command
}

// quietly runs a command, and returns an error if it fails or prints something else.
func (s *stage) quietly(ctx context.Context, line string, as check) (printed string, err error) {
	output, err := s.command(ctx, line).CombinedOutput()
	if err == nil {
		err = as(s, string(output))
	}
	if err != nil {
		err = fmt.Errorf("%s: %w; it prints:\n%s", s.expand(line), err, output)
	}
	return string(output), err
}

// step is something that a user does or sees.
type step func(context.Context, *stage) error

// run shows a command, which has to succeed, and what it prints.
func run(line string, as check) step {
	return func(ctx context.Context, s *stage) error {
		fmt.Fprintf(s.out, "$ %s\n", s.expand(line))
		printed, err := s.quietly(ctx, line, as)
		fmt.Fprint(s.out, printed)
		return err
	}
}

// refused shows a command that has to fail, and to print a text.
func refused(line, text string) step {
	return func(ctx context.Context, s *stage) error {
		fmt.Fprintf(s.out, "$ %s\n", s.expand(line))
		output, err := s.command(ctx, line).CombinedOutput()
		fmt.Fprintf(s.out, "%s", output)
		if err == nil {
			return fmt.Errorf("%s should be refused", s.expand(line))
		}
		if exit := new(exec.ExitError); !errors.As(err, &exit) || ctx.Err() != nil {
			return fmt.Errorf("running %s: %w", s.expand(line), err)
		}
		return contains(text)(s, string(output))
	}
}

// await repeats a command until it prints what is wanted, and shows it then.
func await(line string, as check) step {
	return func(ctx context.Context, s *stage) error {
		if err := lab.Until(ctx, patience, s.expand(line), func(ctx context.Context) error {
			_, err := s.quietly(ctx, line, as)
			return err
		}); err != nil {
			return err
		}
		return run(line, anything)(ctx, s)
	}
}

// unseen checks a command that isn't shown.
func unseen(line string, as check) step {
	return func(ctx context.Context, s *stage) error {
		_, err := s.quietly(ctx, line, as)
		return err
	}
}

// learn makes known what a command prints, which isn't shown.
func learn(name, line string) step {
	return unseen(line, func(s *stage, printed string) error {
		s.known[name] = printed
		return nil
	})
}

// tell prints a remark.
func tell(text string) step {
	return func(_ context.Context, s *stage) error {
		fmt.Fprintln(s.out, "# "+text)
		return nil
	}
}

// watching takes steps beside a kubectl command with --watch, and shows then what that has printed.
func watching(line string, steps ...step) step {
	return func(ctx context.Context, s *stage) (err error) {
		if s.watched, err = os.CreateTemp("", "altershield-demo-"); err != nil {
			return fmt.Errorf("keeping what %s prints: %w", line, err)
		}
		defer func() { _ = errors.Join(s.watched.Close(), os.Remove(s.watched.Name())) }() // its content was shown
		watching, stop := context.WithCancel(ctx)
		defer stop()
		command := s.command(watching, line)
		command.Stdout, command.Stderr = s.watched, s.watched
		if err := command.Start(); err != nil {
			return fmt.Errorf("running %s: %w", line, err)
		}
		for _, act := range steps {
			if err := act(ctx, s); err != nil {
				return err
			}
		}
		stop()
		_ = command.Wait() // it was just cancelled
		printed, err := os.ReadFile(s.watched.Name())
		fmt.Fprintf(s.out, "What kubectl get changeworkloads --watch saw meanwhile:\n%s", printed)
		return err
	}
}

// seen waits until the command with --watch has printed a row.
func seen(row string) step {
	return func(ctx context.Context, s *stage) error {
		return lab.Until(ctx, patience, "a row "+row, func(context.Context) error {
			printed, err := os.ReadFile(s.watched.Name())
			if err == nil {
				err = hasRow(row)(s, string(printed))
			}
			if err != nil {
				return fmt.Errorf("%w; it prints:\n%s", err, printed)
			}
			return nil
		})
	}
}

// check returns an error unless a command has printed what is wanted.
type check func(s *stage, printed string) error

func anything(*stage, string) error { return nil }

func contains(text string) check {
	return func(s *stage, printed string) error {
		if wanted := s.expand(text); !strings.Contains(printed, wanted) {
			return fmt.Errorf("the output should contain %q", wanted)
		}
		return nil
	}
}

// rows expects these rows of a table, each by its first cells.
func rows(wanted ...string) check {
	return func(s *stage, table string) error {
		got := rowsOf(table)
		if len(got) != len(wanted) {
			return fmt.Errorf("expected %d rows, got %d", len(wanted), len(got))
		}
		for i, row := range wanted {
			if !begins(got[i], s.expand(row)) {
				return fmt.Errorf("row %d should begin with: %s", i+1, s.expand(row))
			}
		}
		return nil
	}
}

// hasRow expects a row among others.
func hasRow(wanted string) check {
	return func(s *stage, table string) error {
		if !slices.ContainsFunc(rowsOf(table), func(row []string) bool { return begins(row, s.expand(wanted)) }) {
			return fmt.Errorf("a row should begin with: %s", s.expand(wanted))
		}
		return nil
	}
}

// hasStatus expects a row with this status, its second cell.
func hasStatus(status string) check {
	return func(_ *stage, table string) error {
		if !slices.ContainsFunc(rowsOf(table), func(row []string) bool { return len(row) > 1 && row[1] == status }) {
			return fmt.Errorf("a release should have the status %s", status)
		}
		return nil
	}
}

// only expects one release, with this status.
func only(status string) check {
	return func(s *stage, table string) error {
		if len(rowsOf(table)) != 1 {
			return errors.New("there should be one release")
		}
		return hasStatus(status)(s, table)
	}
}

// rowsOf returns the cells of a table by row, without the header.
func rowsOf(table string) [][]string {
	var rows [][]string
	for line := range strings.Lines(table) {
		if cells := strings.Fields(line); len(cells) > 0 && cells[0] != "NAME" {
			rows = append(rows, cells)
		}
	}
	return rows
}

// begins reports whether a row begins with some cells.
func begins(row []string, text string) bool {
	cells := strings.Fields(text)
	return len(row) >= len(cells) && slices.Equal(row[:len(cells)], cells)
}
