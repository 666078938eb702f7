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
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/jsonpointer"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// keep restores the fields that the operator writes to pace the present release, where an update that isn't a release changes them. The
// mark of the pace takes the values of the update, which return when the pace ends.
func (p *paces) keep(ctx context.Context, phrase string, old marks, stamped *marks) (warnings []string, err error) {
	paced := appv1alpha1.PacedOf(old.annotations, old.release().Number)
	kind, ok := p.kind.(workload.Paced)
	if paced == nil || !ok || !p.keeps(old, stamped) {
		return nil, nil
	}
	unpaced, err := applied(old.object, old.undo(paced, string(paced.From), isPausedBy(paced)))
	if err != nil {
		return nil, err
	}
	free, err := p.free(ctx, paced, unpaced, old.isParked())
	if err != nil {
		return nil, err
	}
	var fields []string
	restored := stamped.object
	for _, pointer := range kind.PaceFields() {
		keys := jsonpointer.Keys(pointer)
		value, wanted := jsonpointer.Find(old.object.Object, keys...), jsonpointer.Find(stamped.object.Object, keys...)
		if reflect.DeepEqual(value, wanted) || slices.Contains(free, pointer) {
			continue
		}
		fields = append(fields, strings.Join(keys, "."))
		change := setting(restored.Object, keys, value)
		stamped.steer = slices.Concat(stamped.steer, change)
		if restored, err = applied(restored, change); err != nil {
			return nil, err
		}
		if unpaced, err = applied(unpaced, setting(unpaced.Object, keys, wanted)); err != nil {
			return nil, err
		}
	}
	if len(fields) == 0 {
		return nil, nil
	}
	if from := originalsOf(p.kind, paced, unpaced, free); from != string(paced.From) {
		paced.From = fromOf(from)
		if err := stamped.write(appv1alpha1.AnnotationPaced, paced); err != nil {
			return nil, err
		}
	}
	annotate := fmt.Sprintf("kubectl annotate %s/%s --namespace %s --overwrite ", workload.Argument(p.kind), old.object.GetName(), old.object.GetNamespace())
	return []string{ // a user who resumes may want to go back: kubectl rollout undo refuses a paused Deployment
		fmt.Sprintf("%s is paced%s: the present value of %s stays until the last step; %s%s ends the pace once no approval is missing",
			phrase, p.progress(ctx, old), strings.Join(fields, " and "), annotate, goOnForm(paced.Release, appv1alpha1.GoOnAll)),
		fmt.Sprintf("%s%s=true asks for a rollback", annotate, appv1alpha1.AnnotationRollback),
	}, nil
}

// keeps reports whether the fields of a paced release are kept. One that is held for a failure isn't paced any more once a user resumes it, by a
// partition for example. A strategy resumes nothing: it is kept, as the release goes on in steps once the verdict is withdrawn.
func (p *paces) keeps(old marks, stamped *marks) bool {
	_, pinned := p.kind.(workload.Pinned)
	return !old.hasFailed() || pinned && old.isHeld() && stamped.paused
}

// restAgain pauses the rollout of a paced release again whose pause a user ends, if otherwise its pods would start, or all of them come, before
// their step. The operator resumes it if that has begun.
func (p *paces) restAgain(phrase string, old marks, stamped *marks) (warnings []string, err error) {
	release := old.release().Number
	paced := appv1alpha1.PacedOf(stamped.annotations, release)
	pauser, ok := p.kind.(workload.Pauser)
	if !ok || !old.paused || stamped.paused || old.hasFailed() || paced == nil {
		return nil, nil
	}
	byGates := paced.Lever == appv1alpha1.LeverGates
	if byGates && paced.Traffic != appv1alpha1.TrafficBefore || isPausedBy(paced) && !old.isParked() { // the field is kept
		return nil, nil
	}
	delete(stamped.annotations, appv1alpha1.AnnotationFrozen)
	if !decide.StartsOnFirstNodes(stamped.annotations, release) { // these are still awaited
		delete(stamped.annotations, appv1alpha1.AnnotationHeld)
		delete(stamped.annotations, appv1alpha1.AnnotationHeldFrom)
	}
	warnings = []string{phrase + " is paced: it stays paused until its step begins"}
	if !byGates {
		stamped.paused = true
		return warnings, nil
	}
	paced.Rests = stamped.rest(pauser)
	return warnings, stamped.write(appv1alpha1.AnnotationPaced, paced)
}

// hasFailed reports whether the present release is held for a failure, or was: a user may resume it. One that waits for the end of a freeze
// or for its first nodes is held, too.
func (m marks) hasFailed() bool {
	release := m.release().Number
	return (m.isMarkedHeld() || decide.IsOverridden(m.annotations, release)) && !decide.StartsHeld(m.annotations, release)
}

// isParked reports whether the present release waits for the end of a freeze.
func (m marks) isParked() bool { return appv1alpha1.FrozenOf(m.annotations, m.release().Number) != nil }

// free returns the fields that users may change although the operator may write them to pace a release: the pause if the operator hasn't
// set it or keeps it for a freeze, and the strategy if the capacity of the policy is AsDeclared or the workload is new.
func (p *paces) free(ctx context.Context, paced *appv1alpha1.Paced, unpaced client.Object, isParked bool) (free []string, err error) {
	var change []workload.Operation
	if pauser, ok := p.kind.(workload.Pauser); ok && (isParked || !isPausedBy(paced)) {
		change = pauser.Pause(unpaced)
	}
	if pinned, ok := p.kind.(workload.Pinned); ok && paced.Lever == appv1alpha1.LeverGates && len(paced.From) == 0 {
		policy, err := p.policies.Of(ctx, p.kind, unpaced)
		if err != nil {
			return nil, err
		}
		if paced.New || policy != nil && policy.Spec.Capacity == appv1alpha1.CapacityAsDeclared {
			pin, _ := pinned.Pin(unpaced)
			change = append(change, pin...)
		}
	}
	for _, operation := range change {
		free = append(free, operation.Path)
	}
	return free, nil
}

// originalsOf returns what a pace by the same lever overwrites of an object, but for free fields, in JSON. Where that is nothing, it
// returns what it did overwrite.
func originalsOf(kind workload.Kind, paced *appv1alpha1.Paced, object client.Object, free []string) string {
	if pinned, ok := kind.(workload.Pinned); ok && paced.Lever == appv1alpha1.LeverGates {
		if change, originals := pinned.Pin(object); len(change) > 0 && !slices.Contains(free, change[0].Path) {
			return originals
		}
		return string(paced.From)
	}
	if pauser, ok := kind.(workload.Pauser); ok && paced.Lever != appv1alpha1.LeverGates {
		return pauser.Originals(object)
	}
	return string(paced.From)
}

// setting returns the operations that set the field below these keys, with the objects that it lacks on the way, or that remove it if value
// is nil.
func setting(object map[string]any, keys []string, value any) []workload.Operation {
	switch present := jsonpointer.Find(object, keys...); {
	case value == nil && present == nil:
		return nil
	case value == nil:
		return []workload.Operation{{Op: "remove", Path: jsonpointer.Of(keys...)}}
	}
	var operations []workload.Operation
	for i := 1; i < len(keys); i++ {
		if jsonpointer.Find(object, keys[:i]...) == nil {
			operations = append(operations, workload.Operation{Op: "add", Path: jsonpointer.Of(keys[:i]...), Value: map[string]any{}})
		}
	}
	return append(operations, workload.Operation{Op: "add", Path: jsonpointer.Of(keys...), Value: value})
}

// progress returns how far the steps of the present release are, as the cache shows; empty if it doesn't.
func (p *paces) progress(ctx context.Context, old marks) string {
	records, err := index.ChangeWorkloadsOf(ctx, p.cache, old.object.GetNamespace(), old.object.GetUID())
	if err != nil {
		return ""
	}
	for i := range records {
		if status := &records[i].Status; status.Pace != nil && status.ObservedRelease == old.release().Number && status.Pace.Progress != "" {
			return " (step " + status.Pace.Progress + ")"
		}
	}
	return ""
}
