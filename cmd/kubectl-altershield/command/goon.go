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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) goOn() *cobra.Command {
	var flags acting
	command := &cobra.Command{
		Use: "go-on NAME [STEP|all]", Short: "Let a release in steps go on to its next step",
		Long: `Let a release that is rolled out in steps go on to a step, by default to the next one, or to all pods. It passes the checks, the soak and the
deadline of the steps before, and neither an approval that is missing nor a failure. The record of the release shows who asked for it.`,
		Example: "  kubectl altershield go-on web\n  kubectl altershield go-on web all",
		Args:    counted(cobra.RangeArgs(1, 2)),
		RunE: func(command *cobra.Command, args []string) error {
			return t.runGoOn(command.Context(), args, flags)
		},
		ValidArgsFunction: t.completeNames,
	}
	flags.bind(command)
	flags.bindReason(command, reasonUsage, false)
	return command
}

func (t *tool) runGoOn(ctx context.Context, args []string, flags acting) error {
	step := ""
	if len(args) == 2 {
		step = args[1]
	}
	cluster, facts, err := t.open(ctx, args[0])
	if err != nil {
		return err
	}
	action, err := cluster.goesOn(facts, step, flags.reason)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func (c *cluster) goesOn(facts view.Facts, step, reason string) (*action, error) {
	request, value, err := view.GoOnOf(facts, step)
	if err != nil {
		return nil, err
	}
	request.Reason = reason
	return &action{request, func(ctx context.Context, writer client.Client, _ *view.Request) error {
		return c.change(ctx, writer, facts, func(workload *unstructured.Unstructured) error {
			view.Ask(workload, appv1alpha1.AnnotationGoOn, value, reason)
			return nil
		})
	}}, nil
}
