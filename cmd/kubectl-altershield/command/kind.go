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
	"errors"

	"github.com/spf13/cobra"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/kindtool"
)

func (t *tool) kind() *cobra.Command {
	command := &cobra.Command{
		Use: "kind", Short: "Write and try a ControlledKind for a declared kind, without a cluster", Args: exactly(0),
		Long: "Infer a ControlledKind from a CRD, and try it on files. It needs no cluster.",
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(t.kindInfer(), t.kindTest())
	return command
}

func (t *tool) kindTool() kindtool.Tool { return kindtool.Tool{In: t.In, Now: t.Clock.Now} }

func (t *tool) kindInfer() *cobra.Command {
	var version string
	command := &cobra.Command{
		Use: "infer FILE", Short: "Print the ControlledKind that a CRD suggests",
		Long: `Print the ControlledKind that a CustomResourceDefinition suggests, and the ClusterRole that the operator needs for it. What wasn't found is
printed as comments; the rest is yours to declare. It needs no cluster.`,
		Example: "  kubectl altershield kind infer crd.yaml >kind.yaml\n  kubectl get crd clonesets.apps.kruise.io -o yaml | kubectl altershield kind infer -",
		Args:    exactly(1),
		RunE: func(_ *cobra.Command, args []string) error {
			inferred, err := t.kindTool().Infer(args[0], version)
			if err != nil {
				return err
			}
			text, err := inferred.Text()
			if err != nil {
				return err
			}
			shown, err := view.InferredKindOf(inferred)
			if err != nil {
				return err
			}
			return t.print(shown, func() string { return text }, shown.Names())
		},
	}
	command.Flags().StringVar(&version, "version", "", "Version of the CRD; by default the one that is stored.")
	return command
}

func (t *tool) kindTest() *cobra.Command {
	var files kindtool.Request
	command := &cobra.Command{
		Use: "test --kind FILE [-f FILE] [--old FILE]", Short: "Show what a request would do under a ControlledKind",
		Long: `Show what creating (-f), updating (-f and --old) or deleting (--old) an object would do under a ControlledKind: whether it is a release, of
which pods, how it is held, its health, and which rules deny it. It exits with 4 if it would be denied. Without --crd the paths of the
ControlledKind aren't checked against a schema. It needs no cluster.`,
		Example: "  kubectl altershield kind test --kind kind.yaml -f new.yaml --old old.yaml",
		Args:    exactly(0),
		RunE: func(*cobra.Command, []string) error {
			if files.Kind == "" || files.Old+files.New == "" {
				return usageError(errors.New("--kind is needed, and -f, --old or both"))
			}
			return t.runKindTest(files)
		},
	}
	set := command.Flags()
	set.StringVar(&files.Kind, "kind", "", "File with the ControlledKind.")
	set.StringVar(&files.CRD, "crd", "", "File with the CustomResourceDefinition.")
	set.StringVarP(&files.New, "filename", "f", "", "File with the object after the request, - for the standard input.")
	set.StringVar(&files.Old, "old", "", "File with the object before the request.")
	return command
}

func (t *tool) runKindTest(files kindtool.Request) error {
	effects, err := t.kindTool().Try(files)
	if err != nil {
		return err
	}
	trial := view.KindTrialOf(effects)
	if err := t.print(trial, func() string { return render.KindTrial(trial, t.style()) }, []string{string(trial.Verdict)}); err != nil {
		return err
	}
	if trial.Verdict == view.Denied {
		return told(Denied)
	}
	return nil
}
