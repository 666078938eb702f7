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
	"fmt"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// helper is the program that kubectl looks for to complete the arguments of a plugin.
const helper = "#!/bin/sh\nexec kubectl-altershield __complete \"$@\"\n"

func (t *tool) completion() *cobra.Command {
	return &cobra.Command{
		Use: "completion bash|zsh|fish|kubectl", Short: "Print a script that completes verbs, flags and names",
		Long: `Print a script that completes verbs, flags and the names of workloads.
kubectl completes the arguments of "kubectl altershield" with a program named kubectl_complete-altershield on the PATH; "kubectl" prints it.`,
		Example:   "  kubectl-altershield completion kubectl >/usr/local/bin/kubectl_complete-altershield\n  chmod +x /usr/local/bin/kubectl_complete-altershield",
		ValidArgs: []string{"bash", "zsh", "fish", "kubectl"},
		Args:      exactly(1),
		RunE: func(command *cobra.Command, args []string) error {
			switch args[0] {
			case "bash":
				return command.Root().GenBashCompletionV2(t.Out, true)
			case "zsh":
				return command.Root().GenZshCompletion(t.Out)
			case "fish":
				return command.Root().GenFishCompletion(t.Out, true)
			case "kubectl":
				_, err := fmt.Fprint(t.Out, helper)
				return err
			}
			return usageError(fmt.Errorf("%q is none of bash, zsh, fish, kubectl", args[0]))
		},
	}
}

// completeNames completes the first argument with the names of workloads under change control.
func (t *tool) completeNames(command *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	cluster, err := t.connect(command.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	records, err := cluster.records(command.Context(), client.InNamespace(cluster.namespace))
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, release := range view.ListOf(records, view.Filter{All: true}).Items {
		names = append(names, release.Workload)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
