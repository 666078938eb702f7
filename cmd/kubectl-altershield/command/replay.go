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

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/replaytool"
)

func (t *tool) replay() *cobra.Command {
	options := replaytool.Options{Output: "json"} // which isn't printed
	command := &cobra.Command{
		Use: "replay NAME --policy FILE", Short: "Show what a policy would have said about a past release",
		Long: `Make the checks of a VerificationPolicy that look at metrics once more for a past release, look by look, with the code of the operator, from what
is stored in their sources. It only reads. Without --release that is the present release; with --from, --to and --new-pods any past, as if pods
with some names had been released then. It takes the right to get the VerificationSources, and their Secrets if they have any, or --source-url.
It exits with 4 if a check would have failed.`,
		Example: "  kubectl altershield replay web --policy errors.yaml --release 3\n" +
			"  kubectl altershield replay web --policy errors.yaml --source-url http://127.0.0.1:9090",
		Args: exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			if options.Policy == "" {
				return usageError(errors.New("--policy is needed"))
			}
			return t.runReplay(command.Context(), args[0], options)
		},
		ValidArgsFunction: t.completeNames,
	}
	set := command.Flags()
	set.StringVar(&options.Policy, "policy", "", "File with the VerificationPolicy.")
	set.Int64Var(&options.Release, "release", 0, "Number of the release; by default the present one.")
	set.StringVar(&options.From, "from", "", "Time at which a release without a record began, such as 2026-01-31T10:00:00Z.")
	set.StringVar(&options.To, "to", "", "Time until which it is watched.")
	set.StringVar(&options.NewPods, "new-pods", "", "Regular expression for the names of its pods.")
	set.StringVar(&options.SourceURL, "source-url", "", "Address of a Prometheus to ask, without credentials, instead of the VerificationSources.")
	set.StringVar(&options.Labels.Pod, "pod-label", "pod", "Label with the name of the pod, for --source-url.")
	set.StringVar(&options.Labels.Namespace, "namespace-label", "namespace", "Label with the namespace of the pod, for --source-url.")
	set.StringVar(&options.Namespace, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

func (t *tool) runReplay(ctx context.Context, name string, options replaytool.Options) error {
	cluster, facts, err := t.open(ctx, name)
	if err != nil {
		return err
	}
	if options.Release == 0 && options.From+options.To+options.NewPods == "" {
		present := view.PresentOf(facts.Records)
		if present == nil {
			return fmt.Errorf("%s in namespace %s has no record of a release", view.Argument(facts.Reference), facts.Namespace)
		}
		options.Release = present.Spec.Release
	}
	options.Workload = facts.Namespace + "/" + facts.Reference.Name
	options.Kind = facts.Reference.GroupKind().String()
	if err := options.Check(); err != nil {
		return usageError(err)
	}
	report, err := replaytool.Replay(ctx, options, func() (client.Reader, error) { return cluster, nil }, t.Clock.Now())
	if err != nil {
		return err
	}
	replay := view.ReplayOf(report, facts.Reference)
	if err := t.print(replay, func() string { return render.Replay(replay, t.style()) }, replay.FailedChecks()); err != nil {
		return err
	}
	if replay.Failed {
		return told(Denied)
	}
	return nil
}
