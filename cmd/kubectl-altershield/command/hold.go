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
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

func (t *tool) hold() *cobra.Command {
	var flags acting
	command := &cobra.Command{
		Use: "hold NAME", Short: "Pause the rollout of a workload",
		Long: `Pause the rollout of a workload, with a reason that status shows: of a Deployment as kubectl rollout pause does, of a StatefulSet by its partition,
of a DaemonSet by the strategy OnDelete, of a CronJob by spec.suspend, and of a declared kind by spec.hold of its ControlledKind. The operator
never resumes a rollout that a user has paused, and makes no rollback of it. What resume couldn't restore isn't overwritten.`,
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
	action, err := cluster.holds(ctx, facts, flags.reason)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func (c *cluster) holds(ctx context.Context, facts view.Facts, reason string) (*action, error) {
	return c.pauses(ctx, facts, true, reason, func(facts view.Facts) (view.Request, error) { return view.HoldOf(facts, reason) })
}

func (t *tool) resume() *cobra.Command {
	var flags acting
	var override bool
	command := &cobra.Command{
		Use: "resume NAME", Short: "Let the rollout of a workload go on that a user has paused",
		Long: `Let the rollout of a workload go on that a user has paused. One that the operator holds, because its release failed or waits, is resumed with
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
	action, err := cluster.resumes(ctx, facts, override, flags.reason)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func (c *cluster) resumes(ctx context.Context, facts view.Facts, override bool, reason string) (*action, error) {
	return c.pauses(ctx, facts, false, reason, func(facts view.Facts) (view.Request, error) { return view.ResumeOf(facts, override, reason) })
}

// pauses prepares that a workload is paused or goes on, by the request that requestOf returns.
func (c *cluster) pauses(
	ctx context.Context, facts view.Facts, paused bool, reason string, requestOf func(view.Facts) (view.Request, error),
) (*action, error) {
	var err error
	if facts.Pauser, err = c.pauser(ctx, facts); err != nil {
		return nil, err
	}
	request, err := requestOf(facts)
	if err != nil {
		return nil, err
	}
	return &action{request, func(ctx context.Context, writer client.Client, _ *view.Request) error {
		return c.change(ctx, writer, facts, func(workload *unstructured.Unstructured) error {
			return view.SetPaused(facts, workload, paused, reason)
		})
	}}, nil
}

// pauser returns how a workload of a declared kind is paused, nil for other workloads and where its ControlledKind tells no way.
func (c *cluster) pauser(ctx context.Context, facts view.Facts) (workload.Pauser, error) {
	if view.IsBuiltIn(facts.Reference) || facts.Workload == nil {
		return nil, nil
	}
	var kind appv1alpha1.ControlledKind
	switch err := c.Get(ctx, client.ObjectKey{Name: view.KindName(facts)}, &kind); {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ControlledKind %s: %w", view.KindName(facts), err)
	}
	compiler, err := declared.NewCompiler()
	if err != nil {
		return nil, err
	}
	resource, _, _ := strings.Cut(kind.Name, ".")
	compiled, problems := compiler.Compile(&kind, declared.Definition{GroupVersionKind: facts.Workload.GroupVersionKind(), Resource: resource, Namespaced: true})
	if len(problems) > 0 {
		return nil, fmt.Errorf("ControlledKind %s: %w", kind.Name, problems.ToAggregate())
	}
	pauser, _ := compiled.(workload.Pauser)
	return pauser, nil
}
