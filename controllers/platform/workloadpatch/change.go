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

package workloadpatch

import (
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Change is a change of a workload.
type Change struct {
	// Set and Remove change labels.
	Set    map[string]string
	Remove []string
	// Annotate and Unannotate change annotations.
	Annotate   map[string]string
	Unannotate []string
	// Pause and Resume pause and resume the rollout of a workload.Pauser.
	Pause, Resume bool
	// Let is how many pods of the present release of a workload.Partitioned may run; nil for no change.
	Let *int32
	// Unpace ends the pace of the release: it restores the fields that the operator overwrote for it, and removes the mark. A rollout that is
	// held as well stays so.
	Unpace bool
	// Given are the annotations on which the decision was based. The change is void once one has another value.
	Given map[string]string
}

// LetGo returns the change that ends the operator's hold of a rollout and its pace, whatever the release waits for. The pause of a user stays.
func LetGo(kind workload.Kind, object client.Object) Change {
	return Change{Resume: workload.IsHeld(kind, object), Unpace: markOf(object) != nil, Unannotate: HoldMarks(object)}
}

// Steers reports whether the operator holds the rollout of a workload, or paces its release.
func Steers(kind workload.Kind, object client.Object) bool {
	return workload.IsHeld(kind, object) || markOf(object) != nil
}

// HoldMarks returns the annotations by which the operator holds the rollout of a workload, or its release waits for the end of a freeze.
func HoldMarks(object client.Object) []string {
	return Present(object, appv1alpha1.AnnotationHeld, appv1alpha1.AnnotationHeldFrom, appv1alpha1.AnnotationFrozen)
}

// Present returns those of the annotations that an object has: only they can be removed.
func Present(object client.Object, keys ...string) []string {
	return slices.DeleteFunc(keys, func(key string) bool {
		_, present := object.GetAnnotations()[key]
		return !present
	})
}

// IsEmpty reports whether there is nothing to write.
func (c Change) IsEmpty() bool {
	return len(c.Set)+len(c.Remove)+len(c.Annotate)+len(c.Unannotate) == 0 && !c.writesFields()
}

// writesFields reports whether the change is one of the spec.
func (c Change) writesFields() bool { return c.Pause || c.Resume || c.Let != nil || c.Unpace }

// movedOn reports whether the basis of the decision has changed. The next event then brings the next decision.
func (c Change) movedOn(read, current client.Object) bool {
	return current.GetUID() != read.GetUID() ||
		current.GetLabels()[appv1alpha1.LabelVersion] != read.GetLabels()[appv1alpha1.LabelVersion] ||
		current.GetAnnotations()[appv1alpha1.AnnotationRelease] != read.GetAnnotations()[appv1alpha1.AnnotationRelease] ||
		c.writesFields() && current.GetGeneration() != read.GetGeneration() ||
		(c.Let != nil || c.Unpace) && markIn(current) != markIn(read) ||
		!c.isGiven(current)
}

func (c Change) isGiven(object client.Object) bool {
	for key, value := range c.Given {
		if present, found := object.GetAnnotations()[key]; !found || present != value {
			return false
		}
	}
	return true
}

func (c Change) isMadeIn(object client.Object, kind workload.Kind) bool {
	for key, value := range c.Set {
		if object.GetLabels()[key] != value {
			return false
		}
	}
	for _, key := range c.Remove {
		if _, present := object.GetLabels()[key]; present {
			return false
		}
	}
	if !c.annotates(object) {
		return false
	}
	if c.Unpace && markIn(object) != "" || c.Let != nil && len(c.let(object, kind)) > 0 {
		return false
	}
	pauser, canPause := kind.(workload.Pauser)
	return !c.Pause && !c.Resume || canPause && pauser.Paused(object) == c.Pause
}

// annotates reports whether an object has the annotations of the change.
func (c Change) annotates(object client.Object) bool {
	for key, value := range c.Annotate {
		if object.GetAnnotations()[key] != value {
			return false
		}
	}
	return len(Present(object, slices.Clone(c.Unannotate)...)) == 0
}

func (c Change) operations(object client.Object, kind workload.Kind) []workload.Operation {
	operations := []workload.Operation{
		{Op: "test", Path: "/metadata/uid", Value: object.GetUID()},
		{Op: "test", Path: LabelPath(appv1alpha1.LabelVersion), Value: object.GetLabels()[appv1alpha1.LabelVersion]},
	}
	if release, counted := object.GetAnnotations()[appv1alpha1.AnnotationRelease]; counted {
		operations = append(operations, workload.Operation{
			Op: "test", Path: AnnotationPath(appv1alpha1.AnnotationRelease), Value: release,
		})
	}
	for key, value := range c.Given {
		operations = append(operations, workload.Operation{Op: "test", Path: AnnotationPath(key), Value: value})
	}
	for key, value := range c.Set {
		operations = append(operations, workload.Operation{Op: "add", Path: LabelPath(key), Value: value})
	}
	for _, key := range c.Remove {
		operations = append(operations, workload.Operation{Op: "remove", Path: LabelPath(key)})
	}
	if len(c.Annotate) > 0 && object.GetAnnotations() == nil {
		operations = append(operations, workload.Operation{Op: "add", Path: "/metadata/annotations", Value: struct{}{}})
	}
	for key, value := range c.Annotate {
		operations = append(operations, workload.Operation{Op: "add", Path: AnnotationPath(key), Value: value})
	}
	for _, key := range c.Unannotate {
		operations = append(operations, workload.Operation{Op: "remove", Path: AnnotationPath(key)})
	}
	if !c.writesFields() {
		return operations
	}
	// The generation changes only with the spec. The test keeps a user's pause or resumption in between.
	operations = append(operations, workload.Operation{Op: "test", Path: "/metadata/generation", Value: object.GetGeneration()})
	return append(operations, c.fields(object, kind)...)
}

// AnnotationPath returns the JSON pointer of an annotation.
func AnnotationPath(key string) string {
	return "/metadata/annotations/" + PointerSegment(key)
}

// LabelPath returns the JSON pointer of a label.
func LabelPath(key string) string {
	return "/metadata/labels/" + PointerSegment(key)
}

// PointerSegment returns a label or annotation key as one segment of a JSON pointer (RFC 6901).
func PointerSegment(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
