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

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) history() *cobra.Command {
	return &cobra.Command{
		Use: "history NAME", Short: "List the releases of a workload: outcome, author, time and changes",
		Long:    `List the known releases of a workload, newest first, also those whose ChangeWorkload is gone: ChangeRecords have them for 90 days.`,
		Example: "  kubectl altershield history web -o wide",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			return t.runHistory(command.Context(), args[0])
		},
		ValidArgsFunction: t.completeNames,
	}
}

func (t *tool) runHistory(ctx context.Context, name string) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	list, err := cluster.historyOf(ctx, facts, t.Clock.Now())
	if err != nil {
		return err
	}
	return t.print(list, func() string { return render.History(list, t.style()) }, recordNames(list.Items))
}

// historyOf reads the releases of a workload.
func (c *cluster) historyOf(ctx context.Context, facts view.Facts, now time.Time) (view.ReleaseList, error) {
	err := errors.Join(c.addKept(ctx, &facts), c.addRecorded(ctx, &facts))
	return view.HistoryOf(facts, now), err
}
