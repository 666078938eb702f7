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
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// unsteered returns the marks of an update as its author means it: a release without what the operator wrote to pace the previous one, and each
// without what an earlier call of the webhook for this request wrote to pace or hold it. Fields that the update changes stay as they are.
func (m marks) unsteered(old marks) (marks, error) {
	annotations, release, again := old.annotations, old.release().Number, m.isStampedAfter(old)
	adjusted, resumed := m.isAdjustedAfter(old)
	switch {
	case again:
		annotations, release = m.annotations, decide.NextRelease(old.annotations)
	case adjusted: // another webhook may have made a release of it since
		annotations, adjusted = m.annotations, !m.releases(old)
	}
	paced := appv1alpha1.PacedOf(annotations, release)
	started := again && annotations[appv1alpha1.AnnotationHeld] != "" && decide.StartsHeld(annotations, release)
	if paced == nil && !started {
		return m, nil
	}
	undo := m.undo(paced, appv1alpha1.OriginalsOf(annotations), started || isPausedBy(paced) && (!adjusted || resumed))
	if !again && !adjusted {
		undo = slices.DeleteFunc(undo, func(operation workload.Operation) bool {
			keys := jsonpointer.Keys(operation.Path)
			return !reflect.DeepEqual(jsonpointer.Find(old.object.Object, keys...), jsonpointer.Find(m.object.Object, keys...))
		})
	}
	return m.without(undo)
}

// letGo returns the marks of a created workload without what the operator wrote to pace or hold the release of another one, as an export or a backup
// has it, or of this one in an earlier call of the webhook for this request: with the annotations, nothing would end that any more.
func (m marks) letGo() (marks, error) {
	paced, isHeld := appv1alpha1.PacedOf(m.annotations, m.release().Number), m.isHeld()
	if paced == nil && !isHeld {
		return m, nil
	}
	return m.without(m.undo(paced, appv1alpha1.OriginalsOf(m.annotations), isHeld || isPausedBy(paced)))
}

// without returns the marks with operations applied that restore what the operator wrote.
func (m marks) without(undo []workload.Operation) (marks, error) {
	undone, err := applied(m.object, undo)
	if err != nil || len(undo) == 0 {
		return m, err
	}
	m.sent, m.object, m.steer = m.object, undone, undo
	m.paused = newMarks(m.kind, undone).paused
	return m, nil
}

// undo returns what restores the fields that the operator overwrote to pace a release, and to pause it if resumes is set. paced is nil for
// a release that isn't paced.
func (m marks) undo(paced *appv1alpha1.Paced, originals string, resumes bool) (undo []workload.Operation) {
	if partitioned, ok := m.kind.(workload.Partitioned); ok && paced != nil && paced.Lever == appv1alpha1.LeverPartition {
		return partitioned.Let(m.object, decide.LetAll, originals)
	}
	if pinned, ok := m.kind.(workload.Pinned); ok && paced != nil && paced.Lever == appv1alpha1.LeverGates {
		undo = pinned.Unpin(m.object, originals)
	}
	if pauser, ok := m.kind.(workload.Pauser); ok && m.paused && resumes {
		undo = append(undo, pauser.Resume(m.object, originals)...)
	}
	return undo
}

// isPausedBy reports whether the operator has paused a rollout to pace it. Users may pause one whose pods are held back by gates.
func isPausedBy(paced *appv1alpha1.Paced) bool {
	return paced.Lever != appv1alpha1.LeverGates || paced.Rests
}

// isPausedByUser reports whether a user has paused the rollout of a release.
func (m marks) isPausedByUser(old marks) bool { return m.paused && !old.isHeld() }

// applied returns an object with operations applied.
func applied(object *unstructured.Unstructured, operations []workload.Operation) (*unstructured.Unstructured, error) {
	if len(operations) == 0 {
		return object, nil
	}
	text, err := json.Marshal(operations)
	if err != nil {
		return nil, fmt.Errorf("encoding operations: %w", err)
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, fmt.Errorf("decoding operations: %w", err)
	}
	before, err := json.Marshal(object.Object)
	if err != nil {
		return nil, fmt.Errorf("encoding %s: %w", object.GetName(), err)
	}
	after, err := patch.Apply(before)
	if err != nil {
		return nil, fmt.Errorf("changing %s: %w", object.GetName(), err)
	}
	return decode(runtime.RawExtension{Raw: after})
}
