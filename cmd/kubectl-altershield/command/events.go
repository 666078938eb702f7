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
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) events() *cobra.Command {
	var watch bool
	command := &cobra.Command{
		Use: "events NAME", Short: "List the Events of a workload and of its records in one time line",
		Long:    "List the Events of a workload and of its records in one time line. With -w it adds those that come, until Ctrl-C.",
		Example: "  kubectl altershield events web -w",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			return t.runEvents(command.Context(), args[0], watch)
		},
		ValidArgsFunction: t.completeNames,
	}
	command.Flags().BoolVarP(&watch, "watch", "w", false, "Add those that come.")
	return command
}

func (t *tool) runEvents(ctx context.Context, name string, watch bool) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	list, err := cluster.eventsOf(ctx, facts)
	if err != nil {
		return err
	}
	if err := t.print(list, func() string { return render.Events(list, t.style()) }, workloadName(facts.Reference)); err != nil || !watch {
		return err
	}
	ticker := t.Clock.NewTicker(interval)
	defer ticker.Stop()
	for shown := list; ; {
		if !nextLook(ctx, ticker.C(), nil) {
			return ctx.Err()
		}
		fresh, err := cluster.refresh(ctx, facts)
		if err == nil {
			facts = fresh
			list, err = cluster.eventsOf(ctx, facts)
		}
		if err != nil {
			if passes(err) {
				continue
			}
			return err
		}
		added := view.EventsSince(list, shown)
		if shown = list; len(added.Items) == 0 {
			continue
		}
		if err := t.printMore(added, func() string { return render.MoreEvents(added, t.style()) }, nil); err != nil {
			return err
		}
	}
}

// eventsOf reads the Events of a workload and of its records.
func (c *cluster) eventsOf(ctx context.Context, facts view.Facts) (view.EventList, error) {
	var events []corev1.Event
	for _, of := range []fields.Set{
		{"involvedObject.kind": facts.Reference.Kind, "involvedObject.name": facts.Reference.Name}, {"involvedObject.kind": "ChangeWorkload"},
	} {
		var list corev1.EventList
		if err := c.List(ctx, &list, client.InNamespace(facts.Namespace), client.MatchingFieldsSelector{Selector: of.AsSelector()}); err != nil {
			return view.EventList{}, fmt.Errorf("listing the Events of %s: %w", view.Argument(facts.Reference), err)
		}
		events = append(events, list.Items...)
	}
	return view.EventsOf(events, facts), nil
}
