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

	"k8s.io/client-go/util/jsonpath"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// print writes a model in the format of the flags.
func (t *tool) print(model any, table func() string, names []string) error {
	text, err := t.formatted(model, table, names)
	if err != nil {
		return err
	}
	return t.write(text)
}

// printMore writes a model after another one.
func (t *tool) printMore(model any, table func() string, names []string) error {
	text, err := t.formatted(model, table, names)
	if err != nil {
		return err
	}
	return t.write(t.further(text))
}

// further returns the text of a model that follows another one: in YAML, each is a document.
func (t *tool) further(text string) string {
	if t.flags.output == "yaml" {
		return "---\n" + text
	}
	return text
}

func (t *tool) write(text string) error {
	if _, err := fmt.Fprint(t.Out, text); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// formatted returns a model in the format of the flags. table makes the format for people, names that for scripts.
func (t *tool) formatted(model any, table func() string, names []string) (string, error) {
	switch t.flags.output {
	case "json":
		encoded, err := json.MarshalIndent(model, "", "  ")
		if err != nil {
			return "", fmt.Errorf("encoding the answer: %w", err)
		}
		return string(encoded) + "\n", nil
	case "yaml":
		encoded, err := yaml.Marshal(model)
		if err != nil {
			return "", fmt.Errorf("encoding the answer: %w", err)
		}
		return string(encoded), nil
	case "name":
		if len(names) == 0 {
			return "", nil
		}
		return strings.Join(names, "\n") + "\n", nil
	case "table", "wide":
		return table(), nil
	}
	return t.filled(model)
}

// filled returns the template of the flags with the fields of a model. Those that it lacks are empty.
func (t *tool) filled(model any) (string, error) {
	parsed, err := template(t.flags.output)
	if err != nil {
		return "", err
	}
	encoded, err := json.Marshal(model)
	if err != nil {
		return "", fmt.Errorf("encoding the answer: %w", err)
	}
	var fields any
	if err := json.Unmarshal(encoded, &fields); err != nil {
		return "", fmt.Errorf("decoding the answer: %w", err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, fields); err != nil {
		return "", fmt.Errorf("filling the template: %w", err)
	}
	return text.String(), nil
}

// template parses the template of a format. As kubectl does, it takes a path without braces, and without a dot before it.
func template(format string) (*jsonpath.JSONPath, error) {
	text := strings.TrimPrefix(format, byPath)
	if text != "" && !strings.Contains(text, "{") {
		text = "{." + strings.TrimPrefix(text, ".") + "}"
	}
	parsed := jsonpath.New("output").AllowMissingKeys(true)
	if err := parsed.Parse(text); err != nil {
		return nil, fmt.Errorf("the template %q can't be read: %w", text, err)
	}
	return parsed, nil
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

// objectName returns the name of an object of a kind of the operator, which a user may name as kubectl prints it: changefreeze.GROUP/NAME.
func objectName(argument, kind string) string {
	before, name, found := strings.Cut(argument, "/")
	word, group, _ := strings.Cut(before, ".")
	if found && (word == kind || word == kind+"s" || word == kind+"es") && (group == "" || group == appv1alpha1.GroupVersion.Group) {
		return name
	}
	return argument
}

func workloadName(reference appv1alpha1.WorkloadReference) []string {
	return []string{view.Argument(reference)}
}
