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
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// defaultWait is how long wait waits.
const defaultWait = 10 * time.Minute

func (t *tool) wait() *cobra.Command {
	var timeout time.Duration
	var number int64
	command := &cobra.Command{
		Use: "wait NAME", Short: "Wait until the release of a workload has ended; for pipelines",
		Long: `Wait until the release that was made last has ended, and print a line for each change of its state. The exit code has the outcome.
Where the operator went back by itself, the release that it went back from counts: the success of a rollback is no success of the pipeline.`,
		Example: "  kubectl apply -f web.yaml && kubectl altershield wait web --timeout=15m",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			if timeout <= 0 || number < 0 {
				return usageError(errors.New("--timeout must be positive, and --release not negative"))
			}
			return t.runWait(command.Context(), args[0], timeout, number)
		},
		ValidArgsFunction: t.completeNames,
	}
	command.Flags().DurationVar(&timeout, "timeout", defaultWait, "How long to wait.")
	command.Flags().Int64Var(&number, "release", 0, "Number of the release; by default the one made last.")
	return command
}

func (t *tool) runWait(ctx context.Context, name string, timeout time.Duration, number int64) error {
	called := t.Clock.Now()
	cluster, facts, err := t.openNew(ctx, name, min(timeout, recordTime))
	if err != nil {
		return err
	}
	awaited := awaitedOf(facts, number)
	begun := t.Clock.Now()
	left := timeout - begun.Sub(called)
	limit := t.Clock.NewTimer(left)
	defer limit.Stop()
	ticker := t.Clock.NewTicker(interval)
	defer ticker.Stop()
	shown, isGone := "", false
	for {
		outcome := view.OutcomeOf(facts, awaited)
		if view.IsForgotten(facts, outcome) {
			return fmt.Errorf("nothing tells how release %d of %s in namespace %s ended: it has no record, and the workload is at a later one; "+
				"kubectl altershield history %s shows the releases that are known", number, view.Argument(facts.Reference), facts.Namespace, facts.Arguments())
		}
		lags, follows := mayMove(facts, number, t.Clock.Since(begun), left-interval)
		if !outcome.Done || !lags {
			if shown, err = t.tellOutcome(outcome, shown); err != nil {
				return err
			}
		}
		if outcome.Done && !follows {
			return t.endWait(outcome)
		}
		if isGone {
			return fmt.Errorf("%s in namespace %s was deleted, so that its release %d doesn't end", view.Argument(facts.Reference), facts.Namespace, awaited.Number)
		}
		if !nextLook(ctx, ticker.C(), limit.C()) {
			return cmp.Or[error](ctx.Err(), &ending{Timeout, errors.New(render.Timeout(timeout.String(), t.style()))})
		}
		if facts, isGone, err = cluster.lookAgain(ctx, facts); err != nil {
			return err
		}
		if follows {
			awaited = awaitedOf(facts, number)
		}
	}
}

// mayMove reports whether a release may be made that isn't recorded yet, and whether another one may have to be awaited: the operator may make or
// record it, or drop a request. A release that was named stays the awaited one. Without change control nothing is made or recorded.
func mayMove(facts view.Facts, number int64, waited, limit time.Duration) (lags, follows bool) {
	if number != 0 || facts.Uncontrolled {
		return false, false
	}
	lags = mayLag(facts, waited, limit)
	return lags, lags || view.IsRollbackAsked(facts)
}

// mayLag reports whether a release may be made that isn't recorded yet, after a time of a wait that has a limit.
func mayLag(facts view.Facts, waited, limit time.Duration) bool {
	return view.MayLag(facts) && waited < min(recordTime, limit)
}

// addControl adds whether a workload is under change control, and whether its kind is only observed.
func (c *cluster) addControl(ctx context.Context, facts *view.Facts) error {
	if err := c.addMode(ctx, facts); err != nil {
		return err
	}
	return c.addScope(ctx, facts)
}

// addMode adds whether the kind of a workload is only observed, or not even that. Without the right to know that it is taken to be enforced.
func (c *cluster) addMode(ctx context.Context, facts *view.Facts) error {
	var kind appv1alpha1.ControlledKind
	name := view.KindName(*facts)
	err := c.Get(ctx, client.ObjectKey{Name: name}, &kind)
	switch {
	case apierrors.IsNotFound(err):
		facts.Uncontrolled = name != view.Deployments
		return nil
	case meta.IsNoMatchError(err), lacksRight(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading ControlledKind %s: %w", name, err)
	}
	facts.Observed, facts.Uncontrolled = workload.IsObserved(&kind), workload.ModeOf(&kind) == ""
	return nil
}

// addScope adds whether the namespace of a workload is opted out. Without the right to know that it is taken to be opted in.
func (c *cluster) addScope(ctx context.Context, facts *view.Facts) error {
	var namespace corev1.Namespace
	err := c.Get(ctx, client.ObjectKey{Name: facts.Namespace}, &namespace)
	switch {
	case apierrors.IsNotFound(err), lacksRight(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading namespace %s: %w", facts.Namespace, err)
	}
	if namespace.Labels[appv1alpha1.LabelOptIn] != appv1alpha1.OptInEnabled {
		facts.Uncontrolled = true
	}
	return nil
}

// lookAgain reads a workload again, and reports whether it was deleted. The facts stay as they are while the API server is away.
func (c *cluster) lookAgain(ctx context.Context, facts view.Facts) (fresh view.Facts, isGone bool, err error) {
	fresh, err = c.refresh(ctx, facts)
	switch {
	case err == nil:
		return fresh, view.IsGone(facts, fresh), nil
	case passes(err):
		return facts, false, nil
	}
	return facts, false, err
}

// openNew connects, and finds a workload, with the mode of its kind and whether it is under change control. It may just have been created: one of a declared kind is known by its records alone.
func (t *tool) openNew(ctx context.Context, name string, within time.Duration) (*cluster, view.Facts, error) {
	cluster, err := t.connect(ctx)
	if err != nil {
		return nil, view.Facts{}, err
	}
	facts, err := cluster.find(ctx, name)
	limit := t.Clock.NewTimer(within)
	defer limit.Stop()
	ticker := t.Clock.NewTicker(interval)
	defer ticker.Stop()
	for errors.As(err, &missing{}) && nextLook(ctx, ticker.C(), limit.C()) {
		facts, err = cluster.find(ctx, name)
	}
	if err != nil {
		return nil, view.Facts{}, cmp.Or(ctx.Err(), err)
	}
	err = cluster.addControl(ctx, &facts)
	return cluster, facts, err
}

// recordTime is how long the operator may take to record a release of a kind that is only observed, or the first one of a declared kind.
const recordTime = 10 * time.Second

// nextLook waits for the time of the next look. It returns false if there is none, as the user or the limit ended the wait.
func nextLook(ctx context.Context, next, limit <-chan time.Time) bool {
	select {
	case <-ctx.Done():
		return false
	case <-limit:
		return false
	case <-next:
		return true
	}
}

// awaitedOf returns the release of that number, or the one made last. What left change control keeps the marks of that one, and has none.
func awaitedOf(facts view.Facts, number int64) decide.Release {
	if number == 0 && facts.Uncontrolled {
		return decide.Release{}
	}
	if awaited := view.Awaited(facts); number == 0 || number == awaited.Number {
		return awaited
	}
	return decide.Release{Number: number}
}

// tellOutcome prints a line if the state has changed.
func (t *tool) tellOutcome(outcome view.Outcome, shown string) (string, error) {
	now := fmt.Sprint(outcome.Release.State, outcome.Release.Reason, outcome.Release.Pods)
	if t.flags.output != "table" && t.flags.output != "wide" || now == shown {
		return now, nil
	}
	if _, err := fmt.Fprint(t.Out, render.Outcome(outcome, t.style())); err != nil {
		return now, fmt.Errorf("writing the answer: %w", err)
	}
	return now, nil
}

func (t *tool) endWait(outcome view.Outcome) error {
	nothing := func() string { return "" } // the line about the end is there already
	if err := t.print(outcome, nothing, recordNames([]view.Release{outcome.Release})); err != nil {
		return err
	}
	return told(codeOfState(outcome.Release.State))
}
