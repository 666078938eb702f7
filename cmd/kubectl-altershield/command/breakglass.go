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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) breakGlass() *cobra.Command {
	var flags acting
	var glass view.Glass
	command := &cobra.Command{
		Use: "break-glass NAME...", Short: "Let releases of workloads pass what would stop them, for a time",
		Long: `Let the next releases of workloads pass what would stop them: Freeze for ChangeFreezes, Suspension for a suspension or a quarantine, Approval for
approvals that steps need, Pace for all steps. A BreakGlass is created with your name, which keeps who used it for what. A release that is parked
already goes on by resume --override then.`,
		Example: "  kubectl altershield break-glass web --override=Freeze --for=2h --reason 'INC-99: checkout is down'",
		Args:    counted(cobra.MinimumNArgs(1)),
		RunE: func(command *cobra.Command, args []string) error {
			if len(glass.Overrides) == 0 {
				return usageError(errors.New("--override is needed: Freeze, Suspension, Approval, Pace"))
			}
			glass.Reason = flags.reason
			return t.runBreakGlass(command.Context(), glass, args, flags)
		},
		ValidArgsFunction: t.completeNames,
	}
	flags.bind(command)
	flags.bindReason(command, "Why; it is kept with each use.", true)
	set := command.Flags()
	set.StringSliceVar(&glass.Overrides, "override", nil, "What the releases pass: Freeze, Suspension, Approval, Pace; may be repeated.")
	set.DurationVar(&glass.For, "for", time.Hour, "How long releases pass, from 1m to 24h.")
	set.Int32Var(&glass.Uses, "uses", 1, "How many releases pass.")
	return command
}

func (t *tool) runBreakGlass(ctx context.Context, glass view.Glass, names []string, flags acting) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	if glass.Namespace, glass.Workloads, err = cluster.named(ctx, names); err != nil {
		return err
	}
	action, err := breaksGlass(glass)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func breaksGlass(glass view.Glass) (*action, error) {
	request, object, err := view.BreakGlassOf(glass)
	if err != nil {
		return nil, usageError(err)
	}
	return &action{request, func(ctx context.Context, writer client.Client, request *view.Request) error {
		created := object.DeepCopy()
		if err := writer.Create(ctx, created); err != nil {
			return fmt.Errorf("creating the BreakGlass in namespace %s: %w", request.Namespace, err)
		}
		request.Object = "breakglass/" + created.Name
		return nil
	}}, nil
}
