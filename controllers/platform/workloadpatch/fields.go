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

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// fields returns the operations on the spec, and on the annotations with its originals.
func (c Change) fields(object client.Object, kind workload.Kind) []workload.Operation {
	pauser, ok := kind.(workload.Pauser)
	if !ok {
		return nil
	}
	switch {
	case c.Pause:
		return c.pause(object, pauser)
	case c.Unpace:
		return c.unpace(object, kind, pauser)
	case c.Let != nil:
		return append(c.testMark(object), c.let(object, kind)...)
	}
	return pauser.Resume(object, appv1alpha1.OriginalsOf(object.GetAnnotations()))
}

// pause remembers the fields that it overwrites, unless the mark of a paced release has them already, or the pause of its step: the end of the hold
// would restore that pause.
func (c Change) pause(object client.Object, pauser workload.Pauser) []workload.Operation {
	var operations []workload.Operation
	mark := markOf(object)
	_, partitioned := pauser.(workload.Partitioned)
	isKnown := mark != nil && (partitioned || mark.Rests && pauser.Paused(object))
	if originals := pauser.Originals(object); originals != "" && !isKnown {
		operations = append(operations, workload.Operation{Op: "add", Path: AnnotationPath(appv1alpha1.AnnotationHeldFrom), Value: originals})
	}
	return append(operations, pauser.Pause(object)...)
}

func (c Change) let(object client.Object, kind workload.Kind) []workload.Operation {
	partitioned, ok := kind.(workload.Partitioned)
	if !ok {
		return nil
	}
	return partitioned.Let(object, *c.Let, appv1alpha1.OriginalsOf(object.GetAnnotations()))
}

// unpace removes the mark, and restores what was overwritten for it. For a rollout that stays held, it leaves that to the end of the hold. A
// user who has ended a hold may have set the partition for that.
func (c Change) unpace(object client.Object, kind workload.Kind, pauser workload.Pauser) []workload.Operation {
	mark := markOf(object)
	if mark == nil {
		return nil
	}
	operations := append(c.testMark(object), workload.Operation{Op: "remove", Path: AnnotationPath(appv1alpha1.AnnotationPaced)})
	originals := string(mark.From)
	held := c.staysHeld(object)
	if pinned, ok := kind.(workload.Pinned); ok {
		operations = append(operations, pinned.Unpin(object, originals)...)
		originals = ""
	}
	partitioned, ok := kind.(workload.Partitioned)
	switch {
	case held && originals != "":
		return append(operations, workload.Operation{Op: "add", Path: AnnotationPath(appv1alpha1.AnnotationHeldFrom), Value: originals})
	case held:
		return operations
	case mark.Lever == appv1alpha1.LeverGates && !mark.Rests && !c.Resume: // the pause of a user
		return operations
	case ok && c.isOverridden(object):
		return append(operations, partitioned.Yield(object, originals)...)
	case ok:
		return append(operations, partitioned.Let(object, decide.LetAll, originals)...)
	case pauser.Paused(object):
		return append(operations, pauser.Resume(object, appv1alpha1.OriginalsOf(object.GetAnnotations()))...)
	}
	return operations
}

// staysHeld reports whether the rollout is held for another reason than its pace, and that doesn't end.
func (c Change) staysHeld(object client.Object) bool {
	return IsHeld(object) && !c.Resume && !c.isOverridden(object) && !slices.Contains(c.Unannotate, appv1alpha1.AnnotationHeld)
}

// isOverridden reports whether a user has ended the hold of the present release.
func (c Change) isOverridden(object client.Object) bool {
	release := decide.ReleaseOf(object).Number
	return decide.IsOverridden(c.Annotate, release) || decide.IsOverridden(object.GetAnnotations(), release)
}

// IsHeld reports whether the operator holds the rollout of the present release for another reason than its pace.
func IsHeld(object client.Object) bool {
	return decide.IsMarkedHeld(object.GetAnnotations(), decide.ReleaseOf(object).Number)
}

// testMark makes the change void if the mark of the paced release has changed.
func (c Change) testMark(object client.Object) []workload.Operation {
	mark := markIn(object)
	if mark == "" {
		return nil
	}
	return []workload.Operation{{Op: "test", Path: AnnotationPath(appv1alpha1.AnnotationPaced), Value: mark}}
}

// markOf returns the mark that the present release of a workload is paced, nil if it isn't.
func markOf(object client.Object) *appv1alpha1.Paced {
	return appv1alpha1.PacedOf(object.GetAnnotations(), decide.ReleaseOf(object).Number)
}

func markIn(object client.Object) string { return object.GetAnnotations()[appv1alpha1.AnnotationPaced] }
