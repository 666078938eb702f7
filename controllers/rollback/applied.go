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

package rollback

import (
	"bytes"
	"encoding/json"
	"fmt"

	jsonpatch "github.com/evanphx/json-patch/v5"
	corev1 "k8s.io/api/core/v1"

	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// withApplied returns the annotation of kubectl apply with the content that was applied at the time of the earlier release. It is empty
// where it stays: there is no such annotation, nothing was applied, or lists have other elements.
func withApplied(kind workload.Kind, annotations map[string]string, applied workload.Content) (string, error) {
	if workload.IsTemplate(kind) {
		return podtemplate.WithApplied(annotations, workload.TemplateOf(kind, applied))
	}
	operations := restoredManifest(kind, podtemplate.LastApplied(annotations), applied)
	if len(operations) == 0 {
		return "", nil
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // nor does kubectl
	if err := encoder.Encode(operations); err != nil {
		return "", fmt.Errorf("encoding the changes of the last applied configuration: %w", err)
	}
	patch, err := jsonpatch.DecodePatch(text.Bytes())
	if err != nil {
		return "", fmt.Errorf("decoding the changes of the last applied configuration: %w", err)
	}
	options := jsonpatch.NewApplyOptions()
	options.EscapeHTML = false
	restored, err := patch.ApplyWithOptions([]byte(annotations[corev1.LastAppliedConfigAnnotation]), options)
	if err != nil {
		return "", fmt.Errorf("changing the last applied configuration: %w", err)
	}
	return string(restored) + "\n", nil
}

// restoredManifest returns the operations that restore what was applied, none where that isn't possible.
func restoredManifest(kind workload.Kind, manifest map[string]any, applied workload.Content) []workload.Operation {
	if manifest == nil || applied == nil {
		return nil
	}
	operations, err := workload.Restore(kind, manifest, applied)
	if err != nil { // lists with other elements
		return nil
	}
	return operations
}
