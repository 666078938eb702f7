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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// acting are the flags of verbs that write.
type acting struct {
	dryRun string
	yes    bool
}

// Values of --dry-run.
const (
	dryRunNone   = "none"
	dryRunClient = "client"
	dryRunServer = "server"
)

func (a *acting) bind(command *cobra.Command) {
	command.Flags().StringVar(&a.dryRun, "dry-run", dryRunNone, "client asks for nothing; server has the API server check the request without effect.")
	command.Flags().BoolVarP(&a.yes, "yes", "y", false, "Don't ask.")
}

func (a *acting) validate() error {
	if a.dryRun != dryRunNone && a.dryRun != dryRunClient && a.dryRun != dryRunServer {
		return usageError(fmt.Errorf("--dry-run %q is none of none, client, server", a.dryRun))
	}
	return nil
}

// options returns those of the request.
func (a *acting) options() []client.PatchOption {
	if a.dryRun == dryRunServer {
		return []client.PatchOption{client.DryRunAll}
	}
	return nil
}

func (t *tool) rollback() *cobra.Command {
	var flags acting
	var to string
	command := &cobra.Command{
		Use: "rollback NAME", Short: "Ask the operator to go back to a verified version",
		Long: `Ask the operator to go back to a verified version, by default the newest one. It shows what changes, and asks you first. The operator makes a
release of it, which is checked like any other, and the version that it leaves is refused for a day.`,
		Example: "  kubectl altershield rollback web && kubectl altershield wait web\n  kubectl altershield rollback web --to=5 --dry-run=server",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := flags.validate(); err != nil {
				return err
			}
			return t.runRollback(command.Context(), args[0], to, flags)
		},
		ValidArgsFunction: t.completeNames,
	}
	flags.bind(command)
	command.Flags().StringVar(&to, "to", "", "Release or version to go back to.")
	return command
}

func (t *tool) runRollback(ctx context.Context, name, to string, flags acting) error {
	cluster, err := t.connect()
	if err != nil {
		return err
	}
	facts, err := cluster.find(ctx, name)
	if err != nil {
		return err
	}
	kept, err := cluster.kept(ctx, &facts)
	if err != nil {
		return err
	}
	for _, revision := range kept {
		facts.Kept = append(facts.Kept, sideOf(revision))
	}
	request, err := view.RollbackOf(facts, to, t.Clock.Now())
	if err != nil {
		return err
	}
	if request.Changes, err = changesBack(facts, kept, request.To.Version); err != nil {
		return err
	}
	request.DryRun = flags.dryRun != dryRunNone
	if !request.DryRun && !flags.yes {
		if err := t.confirm(render.Question(request, t.style())); err != nil {
			return err
		}
	}
	if flags.dryRun != dryRunClient {
		if err := cluster.askRollback(ctx, facts, request, flags.options()...); err != nil {
			return err
		}
	}
	return t.print(request, func() string { return render.Request(request, t.style()) }, workloadName(facts.Reference))
}

// changesBack returns what a rollback to a kept version changes; nothing if its content isn't kept.
func changesBack(facts view.Facts, kept []unstructured.Unstructured, version string) ([]string, error) {
	for _, revision := range kept {
		if revision.GetLabels()[appv1alpha1.LabelVersion] != version {
			continue
		}
		content, err := contentIn(revision)
		if err != nil {
			return nil, err
		}
		return view.ChangesOf(view.ContentOf(facts.Workload.Object, content), content), nil
	}
	return nil, nil
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

// askRollback writes the request into an annotation. The workload must be the one that was shown.
func (c *cluster) askRollback(ctx context.Context, facts view.Facts, request view.Request, options ...client.PatchOption) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": facts.Workload.GetResourceVersion(), "annotations": map[string]string{appv1alpha1.AnnotationRollback: request.To.Version},
	}})
	if err != nil {
		return fmt.Errorf("encoding the request: %w", err)
	}
	err = c.Patch(ctx, facts.Workload.DeepCopy(), client.RawPatch(types.MergePatchType, patch), append(options, client.FieldOwner("kubectl-altershield"))...)
	if apierrors.IsConflict(err) {
		return fmt.Errorf("%s has changed since it was read, so nothing was asked for: try again (%w)", view.Argument(facts.Reference), err)
	}
	if err != nil {
		return fmt.Errorf("asking for the rollback of %s: %w", view.Argument(facts.Reference), err)
	}
	return nil
}
