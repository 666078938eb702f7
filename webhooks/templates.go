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

package webhooks

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// templateMarks are the labels of a pod template.
type templateMarks struct {
	labels map[string]string
	// hasMetadata reports whether the template has other metadata than the operator's, hasOthers whether it has labels that are no strings.
	hasMetadata, hasOthers bool
}

func newTemplateMarks(kind workload.Kind, object map[string]any) map[string]templateMarks {
	templates := map[string]templateMarks{}
	for _, pointer := range workload.Templates(kind, object) {
		template, _ := jsonpointer.Find(object, jsonpointer.Keys(pointer)...).(map[string]any)
		labels, hasOthers := labelsOf(template)
		templates[pointer] = templateMarks{labels, podtemplate.At(template)["metadata"] != nil, hasOthers}
	}
	return templates
}

// labelsOf returns the labels of a pod template. A CRD without a schema of it lets others pass that are no strings, such as null: they stay as
// they are, and hasOthers reports whether there are any.
func labelsOf(template map[string]any) (labels map[string]string, hasOthers bool) {
	fields, _, _ := unstructured.NestedFieldNoCopy(template, "metadata", "labels")
	given, _ := fields.(map[string]any)
	labels = make(map[string]string, len(given))
	for key, value := range given {
		if text, ok := value.(string); ok {
			labels[key] = text
		}
	}
	return labels, len(labels) < len(given)
}

// stampTemplates sets the version of all templates.
func (m marks) stampTemplates(version string) {
	for _, template := range m.templates {
		template.labels[appv1alpha1.LabelVersion] = version
		// A template from before the opt-in may carry it: all its pods would start as finished.
		delete(template.labels, appv1alpha1.LabelOperateFinished)
	}
}

func (m marks) unstampTemplates() {
	for _, template := range m.templates {
		delete(template.labels, appv1alpha1.LabelVersion)
		delete(template.labels, appv1alpha1.LabelGate)
	}
}

// setGate sets the gate label of all templates, or drops it if the gate is empty.
func (m marks) setGate(gate string) {
	for _, template := range m.templates {
		if gate == "" {
			delete(template.labels, appv1alpha1.LabelGate)
		} else {
			template.labels[appv1alpha1.LabelGate] = gate
		}
	}
}

// restoreTemplates resets the operator's labels of the templates to their values in old. A template that old lacks gets the version and the
// gate of the others.
func (m marks) restoreTemplates(old marks) {
	for pointer, template := range m.templates {
		before, known := old.templates[pointer]
		if !known {
			before.labels = map[string]string{}
			for _, key := range []string{appv1alpha1.LabelVersion, appv1alpha1.LabelGate} {
				if value := old.templateLabel(key); value != "" {
					before.labels[key] = value
				}
			}
		}
		restore(template.labels, before.labels, podtemplate.OwnedLabels())
	}
}

// templateLabel returns a label of the first template with it, empty if there is none.
func (m marks) templateLabel(key string) string {
	for _, pointer := range slices.Sorted(maps.Keys(m.templates)) {
		if value := m.templates[pointer].labels[key]; value != "" {
			return value
		}
	}
	return ""
}
