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

package podtemplate

import (
	"encoding/json"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Applied returns the pod template in the last applied configuration, the annotation of kubectl apply; nil if there is none. The
// next kubectl apply removes the fields that are in it but no longer in the manifest.
func Applied(annotations map[string]string) Template {
	spec := specOf(LastApplied(annotations))
	template, _ := spec["template"].(map[string]any)
	return template
}

// WithApplied returns that annotation with another pod template. It is empty if there is no such annotation, or no template to put
// into it.
func WithApplied(annotations map[string]string, template Template) (string, error) {
	if template == nil || Applied(annotations) == nil {
		return "", nil
	}
	manifest := LastApplied(annotations)
	specOf(manifest)["template"] = template
	var written strings.Builder
	encoder := json.NewEncoder(&written) // ends with a line break, as kubectl's does
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(manifest); err != nil {
		return "", fmt.Errorf("encoding the last applied configuration: %w", err)
	}
	return written.String(), nil
}

// LastApplied returns the last applied configuration; nil if there is none, or if it is not a JSON object.
func LastApplied(annotations map[string]string) map[string]any {
	var manifest map[string]any
	if utiljson.Unmarshal([]byte(annotations[corev1.LastAppliedConfigAnnotation]), &manifest) != nil {
		return nil
	}
	return manifest
}

func specOf(manifest map[string]any) map[string]any {
	spec, _ := manifest["spec"].(map[string]any)
	return spec
}
