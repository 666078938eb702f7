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

package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// untilDone is the value of --until that ends when the release has ended.
const untilDone = "done"

func (t *tool) status() *cobra.Command {
	var watch bool
	var until, operator string
	command := &cobra.Command{
		Use: "status NAME", Short: "Show the release of a workload, its batches, its failures and the releases before",
		Long: `Show the release of a workload as a tree: its pods, its batches, what failed, what changed, and the releases before.
With -w it follows until Ctrl-C, or with --until=done until the release has ended. It is folded to the height of the terminal.`,
		Example: "  kubectl altershield status web\n  kubectl altershield status statefulset/db -n shop -w --until=done",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			if until != "" && until != untilDone {
				return usageError(fmt.Errorf("--until %q is not %s", until, untilDone))
			}
			return t.runStatus(command.Context(), args[0], operator, watch || until != "", until == untilDone)
		},
		ValidArgsFunction: t.completeNames,
	}
	command.Flags().BoolVarP(&watch, "watch", "w", false, "Follow in place.")
	command.Flags().StringVar(&until, "until", "", "With -w: done ends when the release has ended.")
	command.Flags().StringVar(&operator, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runStatus(ctx context.Context, name, operator string, watch, untilDone bool) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	if untilDone {
		if err := cluster.addControl(ctx, &facts); err != nil {
			return err
		}
	}
	status, err := cluster.treeOf(ctx, facts, operator, t.Clock.Now())
	if err != nil {
		return err
	}
	if !watch {
		return t.print(status, func() string { return render.Status(status, t.style()) }, workloadName(facts.Reference))
	}
	screen := t.screen()
	defer screen.close()
	begun := t.Clock.Now()
	ticker := t.Clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := screen.show(status); err != nil {
			return err
		}
		if untilDone && isOver(facts, status, t.Clock.Since(begun)) {
			return nil
		}
		if !nextLook(ctx, ticker.C(), nil) {
			return ctx.Err()
		}
		fresh, err := cluster.refresh(ctx, facts)
		var whole view.Status
		if err == nil {
			whole, err = cluster.treeOf(ctx, fresh, operator, t.Clock.Now())
		}
		switch {
		case err == nil:
			facts, status = fresh, whole
		case !passes(err):
			return err
		}
	}
}

// isOver reports whether the release of a workload has ended, after a time of a wait. Without change control nothing else ends it.
func isOver(facts view.Facts, status view.Status, waited time.Duration) bool {
	return facts.Uncontrolled || status.IsDone() && !mayLag(facts, waited, recordTime)
}

// treeOf reads the status of a workload.
func (c *cluster) treeOf(ctx context.Context, facts view.Facts, operator string, now time.Time) (view.Status, error) {
	err := errors.Join(c.addBatches(ctx, &facts), c.addKept(ctx, &facts), c.addPods(ctx, &facts, operator))
	return view.StatusOf(facts, now), err
}

// interval is how often what is followed is read.
const interval = time.Second

// screen shows a status again and again: in place on a terminal, else each time it has changed.
type screen struct {
	tool  *tool
	shown string
	// isTerminal reports whether it is drawn in place.
	isTerminal, isOpen bool
}

func (t *tool) screen() *screen {
	_, _, isTerminal := t.Terminal()
	return &screen{tool: t, isTerminal: isTerminal && (t.flags.output == "table" || t.flags.output == "wide")}
}

// Sequences that switch to the alternate screen, hide the cursor, and back; that go to the upper left corner; that clear the rest of a
// line and of the screen.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l"
	leaveScreen = "\x1b[?25h\x1b[?1049l"
	topLeft     = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
)

func (s *screen) show(status view.Status) error {
	style := s.tool.style()
	if !s.isTerminal {
		text, err := s.tool.formatted(status, func() string { return render.Status(status, style) }, nil)
		if err != nil || text == s.shown {
			return err
		}
		told := text
		if s.shown != "" {
			told = s.tool.further(text)
		}
		s.shown = text
		return s.tool.write(told)
	}
	footer := render.Footer(style)
	style.Height = max(2, style.Height-1) - 1
	text := render.Status(status, style) + footer
	if !s.isOpen {
		s.isOpen = true
		if _, err := fmt.Fprint(s.tool.Out, enterScreen); err != nil {
			return err
		}
	}
	if text == s.shown {
		return nil
	}
	s.shown = text
	_, err := fmt.Fprint(s.tool.Out, topLeft+inPlace(text)+clearBelow)
	return err
}

// close restores the terminal and leaves what was shown last on it.
func (s *screen) close() {
	if s.isOpen {
		fmt.Fprint(s.tool.Out, leaveScreen+s.shown+"\n") //nolint:errcheck // the error can be told to no user any more
	}
}

// inPlace makes a text overwrite an older one line by line.
func inPlace(text string) string {
	var drawn []byte
	for _, char := range []byte(text) {
		if char == '\n' {
			drawn = append(drawn, clearLine+"\r\n"...)
			continue
		}
		drawn = append(drawn, char)
	}
	return string(drawn) + clearLine
}
