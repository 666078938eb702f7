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

package changeworkload

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
)

// observeFreeze observes the freezes that concern a release which may still go on.
func (r *Reconciler) observeFreeze(ctx context.Context, record *appv1alpha1.ChangeWorkload, records records, result *scene) error {
	annotations := result.owner.GetAnnotations()
	result.Freeze.Pass = appv1alpha1.BreakGlassPassOf(annotations, record.Spec.Release)
	if !result.Current {
		return nil
	}
	release := freeze.Recorded(record, annotations)
	result.Freeze.Parked = release.Parked
	if decide.IsSettled(record) {
		return nil
	}
	reader := freeze.Reader{Namespaces: r.Client, Freezes: records.reader(), Namespace: r.Settings.Namespace}
	found, err := reader.Of(ctx, result.kind, result.owner, result.now)
	if err != nil {
		return err
	}
	result.Freeze.InForce, result.Freeze.NextHold = release.InForce(found), freeze.NextHold(found)
	if release.Parked == nil || result.Freeze.InForce != nil {
		return nil
	}
	return r.observeThaw(ctx, record, reader, result)
}

// observeThaw observes the other releases that the same freeze parked.
func (r *Reconciler) observeThaw(ctx context.Context, record *appv1alpha1.ChangeWorkload, reader freeze.Reader, result *scene) error {
	var list appv1alpha1.ChangeWorkloadList
	err := r.Client.List(ctx, &list, client.InNamespace(record.Namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return fmt.Errorf("listing the ChangeWorkloads in namespace %s: %w", record.Namespace, err)
	}
	others := list.Items
	by := decide.ParkedBy(record, result.Freeze.Parked)
	isOn, err := reader.IsOn(ctx, by, result.now)
	if err == nil && isOn { // it doesn't freeze this release any more
		result.Freeze.Left = by
		others, err = r.thawing(ctx, reader, others, result.now)
	}
	result.Freeze.Ahead, result.Freeze.Free = decide.AheadOf(record, result.Freeze.Parked, others, result.now)
	return err
}

// thawing returns the releases without those that still wait for the end of a freeze that is on.
func (r *Reconciler) thawing(ctx context.Context, reader freeze.Reader, records []appv1alpha1.ChangeWorkload, now time.Time) (others []appv1alpha1.ChangeWorkload, err error) {
	for i := range records {
		if decide.IsFrozen(&records[i]) {
			of, err := r.ownerOf(ctx, &records[i])
			if err != nil {
				return nil, err
			}
			if of == nil {
				continue
			}
			found, err := reader.Of(ctx, of.kind, of.owner, now)
			if err != nil {
				return nil, err
			}
			if freeze.Recorded(&records[i], of.owner.GetAnnotations()).InForce(found) != nil {
				continue
			}
		}
		others = append(others, records[i])
	}
	return others, nil
}

// ofFreeze maps a ChangeFreeze to the releases that it may hold or let go on.
func (r *Reconciler) ofFreeze(ctx context.Context, object client.Object) []reconcile.Request {
	in := client.InNamespace(object.GetNamespace())
	if object.GetNamespace() == r.Settings.Namespace { // it may select other namespaces
		in = ""
	}
	return r.list(ctx, in, func(record *appv1alpha1.ChangeWorkload) bool {
		return decide.MayFreeze(record) || decide.IsFrozen(record)
	})
}

// frozenBeside maps a release to those of its namespace that wait for the end of a freeze.
func (r *Reconciler) frozenBeside(ctx context.Context, object client.Object) []reconcile.Request {
	return r.list(ctx, client.InNamespace(object.GetNamespace()), decide.IsFrozen)
}

// thawEnded passes releases that a freeze parked and that others wait for no longer.
func thawEnded() predicate.Predicate {
	counts := func(object client.Object) bool {
		record, ok := object.(*appv1alpha1.ChangeWorkload)
		return ok && decide.IsThawing(record)
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			return counts(e.ObjectOld) && (!counts(e.ObjectNew) || frozenBy(e.ObjectOld) != frozenBy(e.ObjectNew)) // another freeze may have taken it over
		},
		DeleteFunc: func(e event.DeleteEvent) bool { return counts(e.Object) },
	}
}

// frozenBy returns the freeze that parked a release, empty if none did.
func frozenBy(object client.Object) string {
	if record, ok := object.(*appv1alpha1.ChangeWorkload); ok && record.Status.Frozen != nil {
		return record.Status.Frozen.By
	}
	return ""
}

// reportFreeze writes the Events about a release that a freeze parked, that goes on after it, or that passed by a BreakGlass.
func (r *Reconciler) reportFreeze(before, after *appv1alpha1.ChangeWorkload, scene *scene) {
	if passed := after.Status.BreakGlass; passed != nil && !equality.Semantic.DeepEqual(passed, before.Status.BreakGlass) {
		r.Delivery.Bypassed(delivery.ByBreakGlass)
		r.Recorder.Record(events.BreakGlassUsed(scene.owner, after, passed))
	}
	was := meta.FindStatusCondition(before.Status.Conditions, appv1alpha1.ConditionFrozen)
	is := meta.FindStatusCondition(after.Status.Conditions, appv1alpha1.ConditionFrozen)
	if !scene.Current || is == nil || was != nil && was.Status == is.Status {
		return
	}
	if decide.IsFrozen(after) {
		r.Recorder.Record(events.ReleaseFrozen(scene.owner, after, is.Message))
		return
	}
	r.Recorder.Record(events.ReleaseThawed(scene.owner, after, is.Message))
}
