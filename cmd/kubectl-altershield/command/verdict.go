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
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

func (t *tool) verdict() *cobra.Command {
	var flags acting
	var pod string
	command := &cobra.Command{
		Use: "verdict CHANGEPOD pass|fail", Short: "Withdraw the failure of pods of a batch, or fail them",
		Long: `Withdraw the failure of pods of a batch (ChangePod), or fail them, of all its pods or of one. A failure suspends the release; once the last one is
withdrawn, its suspension ends. status and why show the batches.`,
		Example: "  kubectl altershield verdict web--x--491e30c0--x--5 pass --reason 'the probe was wrong'",
		Args:    exactly(2),
		RunE: func(command *cobra.Command, args []string) error {
			verdict, err := verdictOf(args[1])
			if err != nil {
				return err
			}
			return t.runVerdict(command.Context(), objectName(args[0], "changepod"), verdict, pod, flags)
		},
	}
	flags.bind(command)
	flags.bindReason(command, "Why; it is the message of the verdict.", true)
	command.Flags().StringVar(&pod, "pod", "", "Pod of the batch; by default all.")
	return command
}

func verdictOf(word string) (appv1alpha1.Verdict, error) {
	verdict, known := map[string]appv1alpha1.Verdict{"pass": appv1alpha1.VerdictPass, "fail": appv1alpha1.VerdictUnpass}[word]
	if !known {
		return "", usageError(fmt.Errorf("%q is none of pass, fail", word))
	}
	return verdict, nil
}

func (t *tool) runVerdict(ctx context.Context, name string, verdict appv1alpha1.Verdict, pod string, flags acting) error {
	cluster, err := t.connect(ctx)
	if err != nil {
		return err
	}
	action, err := cluster.judges(ctx, name, verdict, pod, flags.reason)
	if err != nil {
		return err
	}
	return t.act(ctx, cluster, flags, action)
}

func (c *cluster) judges(ctx context.Context, name string, verdict appv1alpha1.Verdict, pod, reason string) (*action, error) {
	var batch appv1alpha1.ChangePod
	if err := c.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, &batch); err != nil {
		return nil, fmt.Errorf("reading changepod/%s in namespace %s: %w", name, c.namespace, err)
	}
	request, judged, err := view.VerdictOf(&batch, verdict, pod, reason)
	if err != nil {
		return nil, err
	}
	return &action{request, func(ctx context.Context, writer client.Client, request *view.Request) error {
		// The list is replaced as a whole: a verdict of another user in between must not be lost.
		err := writer.Status().Patch(ctx, judged.DeepCopy(), client.MergeFromWithOptions(&batch, client.MergeFromWithOptimisticLock{}))
		switch {
		case scope.IsConflict(err):
			return fmt.Errorf("%s has changed since it was read, so nothing was changed: try again (%w)", request.Object, err)
		case err != nil:
			return fmt.Errorf("changing the verdicts of %s in namespace %s: %w", request.Object, request.Namespace, err)
		}
		return nil
	}}, nil
}
