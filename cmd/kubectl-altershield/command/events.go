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
	return &cobra.Command{
		Use: "events NAME", Short: "List the Events of a workload and of its records in one time line",
		Example: "  kubectl altershield events web",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			return t.runEvents(command.Context(), args[0])
		},
		ValidArgsFunction: t.completeNames,
	}
}

func (t *tool) runEvents(ctx context.Context, name string) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	var records []string
	for i := range facts.Records {
		records = append(records, facts.Records[i].Name)
	}
	var events []corev1.Event
	for _, of := range []fields.Set{
		{"involvedObject.kind": facts.Reference.Kind, "involvedObject.name": facts.Reference.Name}, {"involvedObject.kind": "ChangeWorkload"},
	} {
		var list corev1.EventList
		if err := cluster.List(ctx, &list, client.InNamespace(facts.Namespace), client.MatchingFieldsSelector{Selector: of.AsSelector()}); err != nil {
			return fmt.Errorf("listing the Events of %s: %w", view.Argument(facts.Reference), err)
		}
		events = append(events, list.Items...)
	}
	list := view.EventsOf(events, records, facts.Notes)
	return t.print(list, func() string { return render.Events(list, t.style()) }, workloadName(facts.Reference))
}
