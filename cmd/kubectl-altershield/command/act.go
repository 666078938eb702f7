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
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// fieldOwner is the field manager of what the plugin writes.
const fieldOwner = "kubectl-altershield"

// acting are the flags of verbs that write.
type acting struct {
	dryRun string
	yes    bool
	// reason is that of the user; empty for settings, where nothing keeps it.
	reason string
}

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

// bind adds the flags to a verb, and checks them before it runs.
func (a *acting) bind(command *cobra.Command) {
	command.Flags().StringVar(&a.dryRun, "dry-run", dryRunNone, "client only shows what would be asked for; server has the API server check it without effect.")
	command.Flags().BoolVarP(&a.yes, "yes", "y", false, "Don't ask.")
	run := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		if a.dryRun != dryRunNone && a.dryRun != dryRunClient && a.dryRun != dryRunServer {
			return usageError(fmt.Errorf("--dry-run %q is none of none, client, server", a.dryRun))
		}
		return run(command, args)
	}
}

// reasonUsage describes the reason of a verb that changes a workload.
const reasonUsage = "Why; it is kept in an annotation of the workload and in the record of the release."

// bindReason adds the flag for the reason, which must be given if it is needed.
func (a *acting) bindReason(command *cobra.Command, usage string, needed bool) {
	command.Flags().StringVar(&a.reason, "reason", "", usage)
	run := command.RunE
	command.RunE = func(command *cobra.Command, args []string) error {
		if needed && a.reason == "" {
			return usageError(errors.New("--reason is needed: it is kept"))
		}
		return run(command, args)
	}
}

// asks reports whether the user is asked first.
func (a *acting) asks() bool { return a.dryRun == dryRunNone && !a.yes }

// action is what a user asks for by a verb that writes.
type action struct {
	request view.Request
	// do has a writer do it, and completes the request. It keeps no answer, so that it can be done after a dry run.
	do func(ctx context.Context, writer client.Client, request *view.Request) error
}

// perform has the API server do an action, or check it by a dry run, and adds its warnings to the request.
func (c *cluster) perform(ctx context.Context, action *action, dryRun bool) error {
	writer := client.WithFieldOwner(c.WithWatch, fieldOwner)
	if dryRun {
		writer = client.NewDryRunClient(writer)
	}
	var said warnings
	if err := action.do(context.WithValue(ctx, warned{}, &said), writer, &action.request); err != nil {
		return err
	}
	action.request.Warnings = append(action.request.Warnings, said.take()...)
	return nil
}

// act shows an action, asks the user, has it done, and shows what became of it. With --dry-run=client it is only shown.
func (t *tool) act(ctx context.Context, cluster *cluster, flags acting, action *action) error {
	request := &action.request
	request.DryRun = flags.dryRun != dryRunNone
	if flags.asks() {
		if err := t.confirm(render.Question(*request, t.style())); err != nil {
			return err
		}
	}
	if flags.dryRun != dryRunClient {
		if err := cluster.perform(ctx, action, flags.dryRun == dryRunServer); err != nil {
			return wouldBeDenied(flags, err)
		}
	}
	return t.print(request, func() string { return render.Request(*request, t.style()) }, []string{request.Object})
}

// wouldBeDenied ends a dry run with Denied if a webhook or a policy rejects the request.
func wouldBeDenied(flags acting, err error) error {
	if status, ok := statusOf(err); ok && flags.dryRun == dryRunServer {
		if _, rejected := view.Rejected(status); rejected {
			return &ending{Denied, err}
		}
	}
	return err
}

// confirm asks the user, and returns an error unless the answer is yes.
func (t *tool) confirm(question string) error {
	if _, err := fmt.Fprint(t.Err, question); err != nil {
		return fmt.Errorf("asking: %w", err)
	}
	answer, err := bufio.NewReader(t.In).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was changed; -y answers yes")
}

// attempts is how often a change is tried while the status of a workload keeps changing.
const attempts = 5

// change changes a workload, if it is still as it was shown to the user.
func (c *cluster) change(ctx context.Context, writer client.Client, facts view.Facts, mutate func(*unstructured.Unstructured) error) error {
	return c.unlessChanged(ctx, facts, func(shown *unstructured.Unstructured) error {
		changed := shown.DeepCopy()
		if err := mutate(changed); err != nil {
			return err
		}
		return writer.Patch(ctx, changed, client.MergeFromWithOptions(shown, client.MergeFromWithOptimisticLock{}))
	})
}

// unlessChanged tries to write a workload that was read. After a conflict it is tried again if the workload is still as it was shown to the
// user: its status may differ, as it does all the time during a rollout.
func (c *cluster) unlessChanged(ctx context.Context, facts view.Facts, try func(shown *unstructured.Unstructured) error) error {
	shown := facts.Workload
	err := try(shown)
	for attempt := 1; scope.IsConflict(err) && attempt < attempts; attempt++ {
		present, failure := c.workload(ctx, facts.Namespace, facts.Reference)
		if failure != nil {
			return failure
		}
		if !isAsShown(facts.Workload, present) {
			break
		}
		shown = present
		err = try(shown)
	}
	switch {
	case scope.IsConflict(err):
		return fmt.Errorf("%s has changed since it was read, so nothing was changed: try again (%w)", view.Argument(facts.Reference), err)
	case err != nil:
		return fmt.Errorf("changing %s in namespace %s: %w", view.Argument(facts.Reference), facts.Namespace, err)
	}
	return nil
}

// isAsShown reports whether a workload has the spec and the release that were shown.
func isAsShown(shown, present *unstructured.Unstructured) bool {
	return shown.GetUID() == present.GetUID() && shown.GetGeneration() == present.GetGeneration() && decide.ReleaseOf(shown) == decide.ReleaseOf(present) &&
		shown.GetAnnotations()[appv1alpha1.AnnotationHeld] == present.GetAnnotations()[appv1alpha1.AnnotationHeld]
}
