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
	"reflect"
	"slices"
	"sort"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// patch returns the operations that change the marks of a workload. It touches only single labels and annotations and the
// operator's pause, so that fields unknown to our types survive.
func patch(kind workload.Kind, from, to marks) []jsonpatch.Operation {
	operations := patchMap("/metadata/labels", from.labels, to.labels, false)
	operations = append(operations, patchMap("/metadata/annotations", from.annotations, to.annotations, false)...)
	operations = append(operations, patchFields(kind, from, to)...)
	for _, pointer := range slices.Sorted(maps.Keys(to.templates)) {
		before, after := from.templates[pointer], to.templates[pointer]
		if len(before.labels) == 0 && len(after.labels) > 0 && !before.hasMetadata {
			operations = append(operations, jsonpatch.NewOperation("add", pointer+"/metadata", map[string]any{}))
		}
		operations = append(operations, patchMap(pointer+"/metadata/labels", before.labels, after.labels, before.hasOthers)...)
	}
	return operations
}

// patchFields returns the operations that pause, resume or pace a rollout; none if they leave the object as it was sent.
func patchFields(kind workload.Kind, from, to marks) []jsonpatch.Operation {
	change := to.steer
	if pauser, canPause := kind.(workload.Pauser); canPause && from.paused != to.paused {
		if to.paused {
			change = slices.Concat(change, pauser.Pause(holding(to.object, to.annotations[appv1alpha1.AnnotationHoldWith])))
		} else {
			change = slices.Concat(change, pauser.Resume(from.object, to.originals))
		}
	}
	if from.sent != nil {
		if result, err := applied(from.sent, change); err == nil && reflect.DeepEqual(result.Object, from.sent.Object) {
			return nil
		}
	}
	var operations []jsonpatch.Operation
	for _, operation := range change {
		operations = append(operations, jsonpatch.NewOperation(operation.Op, operation.Path, operation.Value))
	}
	return operations
}

// holding returns a workload with what its pause needs to know of the workload before its release.
func holding(object *unstructured.Unstructured, with string) *unstructured.Unstructured {
	annotations := object.GetAnnotations()
	if annotations[appv1alpha1.AnnotationHoldWith] == with {
		return object
	}
	copied := object.DeepCopy()
	annotations = cloneOrNew(annotations)
	annotations[appv1alpha1.AnnotationHoldWith] = with
	copied.SetAnnotations(annotations)
	return copied
}

// patchMap returns the operations that change the values of a map. hasOthers reports whether the map has others as well.
func patchMap(path string, from, to map[string]string, hasOthers bool) []jsonpatch.Operation {
	if len(from) == 0 && !hasOthers {
		if len(to) == 0 {
			return nil
		}
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", path, to)}
	}
	var operations []jsonpatch.Operation
	for key, value := range to {
		if was, present := from[key]; !present || was != value {
			operations = append(operations, jsonpatch.NewOperation("add", path+"/"+workloadpatch.PointerSegment(key), value))
		}
	}
	for key := range from {
		if _, kept := to[key]; !kept {
			operations = append(operations, jsonpatch.NewOperation("remove", path+"/"+workloadpatch.PointerSegment(key), nil))
		}
	}
	sort.Slice(operations, func(i, j int) bool { return operations[i].Path < operations[j].Path })
	return operations
}
