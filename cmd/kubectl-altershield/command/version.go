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
	"runtime"

	"github.com/spf13/cobra"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// build is what version prints.
type build struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Version    string `json:"version"`
	Commit     string `json:"commit"`
	Go         string `json:"go"`
}

func (t *tool) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of the plugin", Args: exactly(0),
		RunE: func(*cobra.Command, []string) error {
			built := build{Kind: "Version", APIVersion: view.APIVersion, Version: t.Version, Commit: t.Commit, Go: runtime.Version()}
			return t.print(built, func() string {
				return fmt.Sprintf("kubectl-altershield %s (commit %s, %s)\n", built.Version, built.Commit, built.Go)
			}, []string{built.Version})
		},
	}
}
