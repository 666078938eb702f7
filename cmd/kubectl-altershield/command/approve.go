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
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func (t *tool) approve() *cobra.Command {
	return t.decision(appv1alpha1.DecisionApprove, &cobra.Command{
		Use: "approve NAME", Short: "Approve the release of a workload",
		Long: `Approve the present release of a workload, for the steps that need approvals: a ChangeApproval is created with your name. The author of a release
can't approve it. Deleting the ChangeApproval withdraws it until the step begins.`,
		Example: "  kubectl altershield approve web --reason CHG-4711",
	})
}

func (t *tool) deny() *cobra.Command {
	return t.decision(appv1alpha1.DecisionDeny, &cobra.Command{
		Use: "deny NAME", Short: "Keep the release of a workload from its next step that needs approvals",
		Long: `Keep the present release of a workload from its next step that needs approvals: a ChangeApproval with the decision Deny is created with your name.
Deleting it lets the release go on.`,
		Example: "  kubectl altershield deny web --reason 'error rate in staging'",
	})
}

// decision completes a verb that approves or denies.
func (t *tool) decision(decision appv1alpha1.ApprovalDecision, command *cobra.Command) *cobra.Command {
	var flags acting
	command.Args, command.ValidArgsFunction = exactly(1), t.completeNames
	command.RunE = func(command *cobra.Command, args []string) error {
		return t.runDecision(command.Context(), args[0], decision, flags)
	}
	flags.bind(command)
	flags.bindReason(command, "Why, such as the number of a change request.", false)
	return command
}

func (t *tool) runDecision(ctx context.Context, name string, decision appv1alpha1.ApprovalDecision, flags acting) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	action, err := decides(facts, decision, flags.reason)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func decides(facts view.Facts, decision appv1alpha1.ApprovalDecision, reason string) (*action, error) {
	request, approval, err := view.ApprovalOf(facts, decision, reason)
	if err != nil {
		return nil, err
	}
	return &action{request, func(ctx context.Context, writer client.Client, request *view.Request) error {
		created := approval.DeepCopy()
		if err := writer.Create(ctx, created); err != nil {
			return fmt.Errorf("creating the ChangeApproval of %s: %w", view.Argument(facts.Reference), err)
		}
		request.Object = "changeapproval/" + created.Name
		return nil
	}}, nil
}
