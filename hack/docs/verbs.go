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

package main

import (
	"os"
	"path/filepath"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/help"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
)

// writeVerbs writes the pages about the verbs of the plugin, of which --help has the same texts.
func writeVerbs(folder string) error {
	for name, language := range map[string]render.Language{"verbs.md": render.English, "zh/verbs.md": render.Chinese} {
		page := help.Page(command.Tree(), language)
		if err := os.WriteFile(filepath.Join(folder, name), []byte(page), 0o644); err != nil {
			return err
		}
	}
	return nil
}
