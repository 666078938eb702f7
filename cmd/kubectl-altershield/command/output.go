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
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// print writes a model in the format of the flags. table makes the format for people, names that for scripts.
func (t *tool) print(model any, table func() string, names []string) error {
	text := ""
	switch t.flags.output {
	case "json":
		encoded, err := json.MarshalIndent(model, "", "  ")
		if err != nil {
			return fmt.Errorf("encoding the answer: %w", err)
		}
		text = string(encoded) + "\n"
	case "yaml":
		encoded, err := yaml.Marshal(model)
		if err != nil {
			return fmt.Errorf("encoding the answer: %w", err)
		}
		text = string(encoded)
	case "name":
		if len(names) > 0 {
			text = strings.Join(names, "\n") + "\n"
		}
	default:
		text = table()
	}
	if _, err := fmt.Fprint(t.Out, text); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// recordNames returns the records of releases as kubectl takes them.
func recordNames(releases []view.Release) []string {
	var names []string
	for _, release := range releases {
		if release.Record != "" {
			names = append(names, "changeworkload."+appv1alpha1.GroupVersion.Group+"/"+release.Record)
		}
	}
	return names
}

func workloadName(reference appv1alpha1.WorkloadReference) []string {
	return []string{view.Argument(reference)}
}
