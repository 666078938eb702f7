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
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// versionTimeout is how long version waits for the cluster: the version of the plugin alone is worth printing.
const versionTimeout = 5 * time.Second

func (t *tool) version() *cobra.Command {
	var alone bool
	var operator string
	command := &cobra.Command{
		Use: "version", Short: "Print the versions of the plugin and of the operator",
		Long: `Print the version of the plugin, and that of the operator by the image of its Deployment, which takes the right to list deployments in its
namespace. Versions that are more than one minor version apart may not fit: a line warns of it.`,
		Args: exactly(0),
		RunE: func(command *cobra.Command, _ []string) error {
			version := t.built()
			if !alone {
				t.addOperatorVersion(command.Context(), &version, operator)
			}
			return t.print(version, func() string { return render.Version(version, t.style()) }, []string{version.Version})
		},
	}
	command.Flags().BoolVar(&alone, "client", false, "Print the version of the plugin alone, without a cluster.")
	command.Flags().StringVar(&operator, "operator-namespace", appv1alpha1.SystemNamespace, "Namespace of the operator.")
	return command
}

// built returns the version of the plugin.
func (t *tool) built() view.Version {
	return view.Version{
		Kind: "Version", APIVersion: view.APIVersion, Version: t.Version, Commit: t.Commit, Go: runtime.Version(), Skew: view.SkewUnknown,
	}
}

// addOperatorVersion adds the version of the operator, or why it can't be read.
func (t *tool) addOperatorVersion(ctx context.Context, version *view.Version, namespace string) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	cluster, err := t.connect(ctx)
	if err != nil {
		version.Unknown = err.Error()
		return
	}
	addOperators(version, namespace, cluster.operators(ctx, namespace))
}

// addOperators adds the version of the operator by its Deployments, or why they can't be read.
func addOperators(version *view.Version, namespace string, part view.Part[unstructured.Unstructured]) {
	switch {
	case part.Lacks != nil:
		version.Unknown = "you may not " + part.Lacks.String() + " in namespace " + namespace
	case part.Failure != "":
		version.Unknown = part.Failure
	default:
		version.AddOperator(namespace, part.Items)
	}
}
