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

// Applied is the pod template of the file that was applied last, as kubectl apply keeps it in an annotation; nil where it
// keeps none. It is what the next kubectl apply goes by to know which fields the file no longer has.
func Applied(annotations map[string]string) Template {
	spec := specOf(lastApplied(annotations))
	template, _ := spec["template"].(map[string]any)
	return template
}

// WithApplied is that annotation with another pod template in it. It is empty where there is nothing to change: no such
// annotation, or no template to put into it.
func WithApplied(annotations map[string]string, template Template) (string, error) {
	if template == nil || Applied(annotations) == nil {
		return "", nil
	}
	manifest := lastApplied(annotations)
	specOf(manifest)["template"] = template
	var written strings.Builder
	encoder := json.NewEncoder(&written) // ends with a line break, as kubectl's does
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(manifest); err != nil {
		return "", fmt.Errorf("encoding the last applied configuration: %w", err)
	}
	return written.String(), nil
}

// lastApplied is nil where the annotation is no object.
func lastApplied(annotations map[string]string) map[string]any {
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
