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
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// schemaID is where the schema of exports is published.
const schemaID = "https://github.com/traas-stack/altershield-operator/blob/main/docs/schemas/release-export.json"

// object is an object of a JSON schema.
type object = map[string]any

// writeExportSchema writes the JSON schema of what kubectl altershield export prints. A release has the fields of the ChangeRecord, as its
// CustomResourceDefinition has them.
func writeExportSchema(crds, file string) error {
	record, err := recordSchema(filepath.Join(crds, "app.ops.cloud.alipay.com_changerecords.yaml"))
	if err != nil {
		return err
	}
	encoded, err := json.MarshalIndent(exportSchema(record), "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the schema of exports: %w", err)
	}
	return os.WriteFile(file, append(encoded, '\n'), 0o644)
}

// recordSchema returns the JSON schema of the spec of ChangeRecords.
func recordSchema(file string) (object, error) {
	crd, err := readCRD(file)
	if err != nil {
		return nil, err
	}
	encoded, err := json.Marshal(crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"])
	if err != nil {
		return nil, fmt.Errorf("encoding the schema of ChangeRecords: %w", err)
	}
	var schema object
	if err := json.Unmarshal(encoded, &schema); err != nil {
		return nil, fmt.Errorf("decoding the schema of ChangeRecords: %w", err)
	}
	withoutExtensions(schema)
	return schema, nil
}

// withoutExtensions removes what only Kubernetes knows.
func withoutExtensions(value any) {
	switch value := value.(type) {
	case object:
		for key, inner := range value {
			if strings.HasPrefix(key, "x-kubernetes-") {
				delete(value, key)
			}
			withoutExtensions(inner)
		}
	case []any:
		for _, inner := range value {
			withoutExtensions(inner)
		}
	}
}

// exportSchema returns the schema of an export, given that of its records.
func exportSchema(record object) object {
	text := func(description string) object { return object{"type": "string", "description": description} }
	timestamp := func(description string) object {
		return object{"type": "string", "format": "date-time", "description": description}
	}
	count := object{"type": "integer", "minimum": 1}
	release, _ := record["properties"].(object)
	release["namespace"] = text("namespace is the namespace of the workload.")
	release["changeRecord"] = text("changeRecord is the name of the newest ChangeRecord of the release.")
	release["sha256"] = object{"type": "string", "pattern": "^[0-9a-f]{64}$", "description": "sha256 is the hash of the namespace, name and spec of that ChangeRecord."}
	release["rolledBackBy"] = object{"type": "integer", "minimum": 1, "description": "rolledBackBy is the number of the release that went back from this one; absent if none did."}
	required, _ := record["required"].([]any)
	outcomes := object{}
	for _, outcome := range release["outcome"].(object)["enum"].([]any) {
		outcomes[outcome.(string)] = count
	}
	return object{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": schemaID, "title": "ReleaseExport", "type": "object",
		"description": "What kubectl altershield export --format json prints. Later versions may add fields.",
		"required":    []string{"kind", "apiVersion", "from", "to", "counts", "items", "verified", "faults"},
		"properties": object{
			"kind":       object{"const": "ReleaseExport"},
			"apiVersion": object{"const": view.APIVersion},
			"namespace":  text("namespace is the namespace of the releases; absent for all namespaces."),
			"from":       timestamp("from is the beginning of the period: the releases began then or later."),
			"to":         timestamp("to is the end of the period, which isn't part of it."),
			"counts":     object{"type": "object", "description": "counts has the number of releases by outcome, without those that are 0.", "properties": outcomes},
			"items": object{"type": "array", "description": "items are the releases, by namespace, workload and number.", "items": object{
				"type": "object", "required": append(required, "namespace", "changeRecord", "sha256"), "properties": release,
			}},
			"verified": object{"type": "boolean", "description": "verified indicates that the chains of the records were verified."},
			"faults": object{"type": "array", "description": "faults are the ChangeRecords that are missing or were edited.", "items": object{
				"type": "object", "required": []string{"namespace", "name", "missing", "by"}, "properties": object{
					"namespace": text("namespace is the namespace of the ChangeRecord."),
					"name":      text("name is its name."),
					"missing":   object{"type": "boolean", "description": "missing indicates that it is missing; otherwise it was edited."},
					"by":        text("by is the ChangeRecord that shows it."),
				},
			}},
		},
	}
}
