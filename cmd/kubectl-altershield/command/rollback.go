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
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) rollback() *cobra.Command {
	var flags acting
	var to string
	var park bool
	command := &cobra.Command{
		Use: "rollback NAME", Short: "Ask the operator to go back to a verified version",
		Long: `Ask the operator to go back to a verified version, by default the newest one. It shows what changes, and asks you first. The operator makes a
release of it, which is checked like any other, and the version that it leaves is refused for a day. With --park the template stays: the pods of a
StatefulSet whose rollout is held come back as before.`,
		Example: "  kubectl altershield rollback web && kubectl altershield wait web\n  kubectl altershield rollback web --to=5 --dry-run=server\n" +
			"  kubectl altershield rollback statefulset/db --park",
		Args: exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			if park && to != "" {
				return usageError(errors.New("--park goes back to no release: leave out --to"))
			}
			return t.runRollback(command.Context(), args[0], to, park, flags)
		},
		ValidArgsFunction: t.completeNames,
	}
	flags.bind(command)
	flags.bindReason(command, reasonUsage, false)
	command.Flags().StringVar(&to, "to", "", "Release or version to go back to.")
	command.Flags().BoolVar(&park, "park", false, "Only have the pods of a StatefulSet come back as before.")
	return command
}

func (t *tool) runRollback(ctx context.Context, name, to string, park bool, flags acting) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	var asked *action
	if park {
		asked, err = cluster.parks(facts, flags.reason)
	} else {
		asked, err = cluster.rollsBack(ctx, facts, to, flags.reason, t.Clock.Now())
	}
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, asked)
}

func (c *cluster) parks(facts view.Facts, reason string) (*action, error) {
	request, err := view.ParkOf(facts)
	if err != nil {
		return nil, err
	}
	request.Reason = reason
	return c.asks(request, facts, appv1alpha1.RollbackPark), nil
}

// asks returns the action that asks the operator for a rollback or a park, by an annotation.
func (c *cluster) asks(request view.Request, facts view.Facts, value string) *action {
	return &action{request, func(ctx context.Context, writer client.Client, request *view.Request) error {
		return c.change(ctx, writer, facts, func(workload *unstructured.Unstructured) error {
			view.Ask(workload, appv1alpha1.AnnotationRollback, value, request.Reason)
			return nil
		})
	}}
}

func (c *cluster) rollsBack(ctx context.Context, facts view.Facts, to, reason string, now time.Time) (*action, error) {
	kept, err := c.kept(ctx, &facts)
	if err != nil {
		return nil, err
	}
	for _, revision := range kept {
		facts.Kept = append(facts.Kept, sideOf(revision))
	}
	if to != "" {
		if err := c.addRecorded(ctx, &facts); err != nil {
			return nil, err
		}
	}
	request, err := view.RollbackOf(facts, to, now)
	if err != nil {
		return nil, err
	}
	request.Reason = reason
	if request.Changes, err = changesBack(facts, kept, request.To.Version); err != nil {
		return nil, err
	}
	return c.asks(request, facts, request.To.Version), nil
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
