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

package declared

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Slim returns the parts of a workload that the cache holds: the fields that are read.
func (k *kind) Slim(object any) (any, error) {
	whole, ok := object.(*unstructured.Unstructured)
	if !ok {
		return object, nil
	}
	kept, _ := project(whole.Object, k.kept).(map[string]any)
	slim := &unstructured.Unstructured{Object: kept}
	if annotations := slim.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		slim.SetAnnotations(annotations)
	}
	return slim, nil
}

// alwaysKept returns the paths that are read from every workload.
func alwaysKept() []Path {
	paths := []Path{
		pathOf("apiVersion"), pathOf("kind"), pathOf("spec", "minReadySeconds"), pathOf("status", "observedGeneration"),
	}
	for _, field := range []string{
		"name", "namespace", "uid", "resourceVersion", "generation", "creationTimestamp", "deletionTimestamp",
		"labels", "annotations", "ownerReferences",
	} {
		paths = append(paths, pathOf("metadata", field))
	}
	for _, field := range []string{"type", "status", "message", "observedGeneration"} {
		paths = append(paths, pathOf("status", "conditions").elements().child(field))
	}
	return paths
}

// project returns a value with only the fields that paths lead to.
func project(value any, paths []Path) any {
	switch {
	case len(paths) == 0:
		return nil
	case slices.ContainsFunc(paths, Path.isZero):
		return value
	}
	switch value := value.(type) {
	case map[string]any:
		kept := map[string]any{}
		for key, field := range value {
			below := following(paths, func(step step) bool { return step.all || step.name == key })
			if inner := project(field, below); inner != nil {
				kept[key] = inner
			}
		}
		return kept
	case []any:
		below := following(paths, func(step step) bool { return step.all })
		kept := make([]any, len(value))
		for i, element := range value {
			kept[i] = project(element, below)
		}
		return kept
	default:
		return nil
	}
}

// following returns the rest of the paths whose first step matches.
func following(paths []Path, of func(step) bool) []Path {
	var rest []Path
	for _, path := range paths {
		if of(path.steps[0]) {
			rest = append(rest, Path{path.steps[1:]})
		}
	}
	return rest
}
