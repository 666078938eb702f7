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

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) hold() *cobra.Command {
	var flags acting
	command := &cobra.Command{
		Use: "hold NAME", Short: "Pause the rollout of a Deployment",
		Long: `Pause the rollout of a Deployment as kubectl rollout pause does, with a reason that status shows. The operator never resumes a rollout that a
user has paused, and makes no rollback of it.`,
		Example: "  kubectl altershield hold web --reason 'waits for the database'",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			return t.runHold(command.Context(), args[0], flags)
		},
		ValidArgsFunction: t.completeNames,
	}
	flags.bind(command)
	flags.bindReason(command, "Why, for those who look at the workload.", false)
	return command
}

func (t *tool) runHold(ctx context.Context, name string, flags acting) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	action, err := cluster.holds(facts, flags.reason)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func (c *cluster) holds(facts view.Facts, reason string) (*action, error) {
	request, err := view.HoldOf(facts, reason)
	if err != nil {
		return nil, err
	}
	return &action{request, func(ctx context.Context, writer client.Client, _ *view.Request) error {
		return c.change(ctx, writer, facts, func(workload *unstructured.Unstructured) error {
			return view.SetPaused(facts, workload, true, reason)
		})
	}}, nil
}

func (t *tool) resume() *cobra.Command {
	var flags acting
	var override bool
	command := &cobra.Command{
		Use: "resume NAME", Short: "Let the rollout of a Deployment go on that a user has paused",
		Long: `Let the rollout of a Deployment go on that a user has paused. One that the operator holds, because its release failed or waits, is resumed with
--override alone: the pods of that release come then.`,
		Example: "  kubectl altershield resume web",
		Args:    exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			return t.runResume(command.Context(), args[0], override, flags)
		},
		ValidArgsFunction: t.completeNames,
	}
	flags.bind(command)
	flags.bindReason(command, "Why, for those who look at the workload.", false)
	command.Flags().BoolVar(&override, "override", false, "Resume a rollout that the operator holds.")
	return command
}

func (t *tool) runResume(ctx context.Context, name string, override bool, flags acting) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	action, err := cluster.resumes(facts, override, flags.reason)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func (c *cluster) resumes(facts view.Facts, override bool, reason string) (*action, error) {
	request, err := view.ResumeOf(facts, override, reason)
	if err != nil {
		return nil, err
	}
	return &action{request, func(ctx context.Context, writer client.Client, _ *view.Request) error {
		return c.change(ctx, writer, facts, func(workload *unstructured.Unstructured) error {
			return view.SetPaused(facts, workload, false, reason)
		})
	}}, nil
}
