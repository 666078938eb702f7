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

package record

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// leftoverWait is how long to wait for the garbage collector to remove the record of a deleted workload of the same name.
const leftoverWait = time.Second

// takenWait is the time until a release whose record another workload has is looked at again.
const takenWait = time.Minute

// waitTimeThreshold is how long a batch waits for its pods, in seconds, as documented.
const waitTimeThreshold = 60

// Reconcile records the release that the workload is at, and then marks the workload as processed.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	owner := r.Kind.New()
	if err := r.Client.Get(ctx, request.NamespacedName, owner); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("reading %s %s: %w", r.Kind.GroupVersionKind().Kind, request, err))
	}
	return r.reconcile(ctx, owner)
}

func (r *Reconciler) reconcile(ctx context.Context, owner client.Object) (ctrl.Result, error) {
	if kind, observed := r.Kind.(workload.Observed); observed {
		return r.observe(ctx, kind, owner)
	}
	release := decide.ReleaseOf(owner)
	if !r.isReleased(owner, release) {
		return ctrl.Result{}, nil
	}
	controlled, err := scope.Controlled(ctx, r.Client, r.Kind, owner.GetNamespace())
	if err != nil {
		return ctrl.Result{}, err
	}
	if !controlled {
		return settle(ctrl.Result{}, r.leave(ctx, owner, release))
	}
	known, err := r.find(ctx, owner, release.Version)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case known != nil && known.DeletionTimestamp == nil && metav1.IsControlledBy(known, owner) && known.Spec.Observed:
		if decide.IsProcessed(owner) { // the release was recorded before its kind was observed: it doesn't begin again
			return ctrl.Result{}, nil
		}
		return ctrl.Result{RequeueAfter: leftoverWait}, r.removeLeftover(ctx, known) // its number is of another count
	}
	recorded, result, err := r.write(ctx, owner, known, entry{Release: release})
	if err == nil && recorded {
		err = r.markProcessed(ctx, owner, release)
	}
	return settle(result, err)
}

// find returns the ChangeWorkload of a version of a workload, nil where there is none.
func (r *Reconciler) find(ctx context.Context, owner client.Object, version string) (*appv1alpha1.ChangeWorkload, error) {
	key := client.ObjectKey{Namespace: owner.GetNamespace(), Name: workload.RecordName(r.Kind, owner.GetName(), version)}
	var known appv1alpha1.ChangeWorkload
	err := r.Client.Get(ctx, key, &known)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ChangeWorkload %s: %w", key, err)
	}
	return &known, nil
}

// entry is a release to be recorded.
type entry struct {
	decide.Release
	// observed reports whether it is only observed, baseline whether it isn't checked.
	observed, baseline bool
}

// write records a release in the known ChangeWorkload of its version, or in a new one. recorded reports whether it has one.
func (r *Reconciler) write(
	ctx context.Context, owner client.Object, known *appv1alpha1.ChangeWorkload, release entry,
) (recorded bool, result ctrl.Result, err error) {
	switch {
	case known == nil:
		// For a minute or two after the API server was away, the cache may still have a deleted workload. The garbage collector
		// would remove its new record, and it would be recorded again, with an order at the verifier each time.
		there, err := scope.IsThere(ctx, r.Live, r.Kind, owner)
		if err != nil || !there {
			return false, ctrl.Result{}, err
		}
		return true, ctrl.Result{}, r.record(ctx, owner, release)
	case known.DeletionTimestamp != nil: // it is removed once its order is closed, and then created anew
		return false, ctrl.Result{RequeueAfter: leftoverWait}, nil
	case !metav1.IsControlledBy(known, owner):
		result, err := r.replace(ctx, owner, known)
		return false, result, err
	case known.Spec.Release != release.Number:
		// It may be lower: releases are not counted while a namespace is opted out, or the cache is behind.
		if known.Spec.Release > release.Number && !release.observed {
			present, err := scope.Present(ctx, r.Live, r.Kind, owner)
			if err != nil || present == nil || decide.ReleaseOf(present) != release.Release {
				return false, ctrl.Result{}, err // the event of the workload brings the next decision
			}
		}
		return true, ctrl.Result{}, r.recordAgain(ctx, owner, known, release)
	}
	return true, ctrl.Result{}, nil
}

// settle returns the result of a reconcile.
func settle(result ctrl.Result, err error) (ctrl.Result, error) {
	switch {
	case scope.IsEnding(err):
		return ctrl.Result{}, nil
	case scope.IsConflict(err), apierrors.IsAlreadyExists(err):
		return ctrl.Result{RequeueAfter: leftoverWait}, nil
	case err != nil:
		return ctrl.Result{}, err
	}
	return result, nil
}

// isReleased reports whether a workload is at a release to be recorded.
func (r *Reconciler) isReleased(owner client.Object, release decide.Release) bool {
	return owner.GetDeletionTimestamp() == nil && release.Version != "" && workload.Controls(r.Kind, owner)
}

// record creates the ChangeWorkload of a release.
func (r *Reconciler) record(ctx context.Context, owner client.Object, release entry) error {
	key := client.ObjectKey{Namespace: owner.GetNamespace(), Name: workload.RecordName(r.Kind, owner.GetName(), release.Version)}
	size, err := r.batchSize(ctx, owner)
	if err != nil {
		return err
	}
	workload := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name, Labels: workload.RecordLabels(r.Kind, owner.GetName(), release.Version),
		},
		Spec: appv1alpha1.ChangeWorkloadSpec{
			ChangeWorkloadID:  key.Name,
			ServiceName:       owner.GetName(),
			AppName:           owner.GetName(),
			WorkloadRef:       r.reference(owner),
			Reversion:         release.Version,
			Release:           release.Number,
			CountThreshold:    size,
			WaitTimeThreshold: waitTimeThreshold,
			Observed:          release.observed,
			Baseline:          release.baseline,
		},
	}
	workload.Spec.CreateTime, workload.Spec.CreateTimeUnix = decide.Stamp(r.Clock.Now())
	decide.DescribeRelease(&workload.Spec, owner.GetAnnotations(), release.Release)
	// To block the deletion of a workload may need a permission that the operator doesn't have for observed ones.
	blocks := controllerutil.WithBlockOwnerDeletion(!release.observed)
	if err := controllerutil.SetControllerReference(owner, workload, r.Client.Scheme(), blocks); err != nil {
		return fmt.Errorf("making %s the owner of ChangeWorkload %s: %w", owner.GetName(), key, err)
	}
	if r.Ordered && !release.baseline { // a baseline has no order
		workload.Finalizers = []string{appv1alpha1.FinalizerOrder}
	}
	err = r.Client.Create(ctx, workload)
	_, admitted := decide.ReleaseRecordOf(owner.GetAnnotations(), release.Release)
	if apierrors.IsInvalid(err) && !admitted { // while a namespace is opted out, users may write any label
		r.Recorder.Record(events.ReleaseNotRecorded(owner, release.Version, err))
		return reconcile.TerminalError(fmt.Errorf("creating ChangeWorkload %s: %w", key, err))
	}
	if scope.IsDenied(err) && !release.observed {
		return errors.Join(fmt.Errorf("creating ChangeWorkload %s: %w", key, err), r.unrecorded(ctx, owner, release.Release))
	}
	if err != nil {
		return fmt.Errorf("creating ChangeWorkload %s: %w", key, err)
	}
	return nil
}

// batchSize returns how many pods are checked together: all those of a run that a batch can hold.
func (r *Reconciler) batchSize(ctx context.Context, owner client.Object) (int32, error) {
	if rollout := r.Kind.Rollout(owner); rollout.Runs {
		return min(max(rollout.Desired, 1), settings.MaxBatchSize), nil
	}
	return r.Settings.BatchSize(ctx)
}

func (r *Reconciler) reference(owner client.Object) *appv1alpha1.WorkloadReference {
	apiVersion, kind := r.Kind.GroupVersionKind().ToAPIVersionAndKind()
	return &appv1alpha1.WorkloadReference{APIVersion: apiVersion, Kind: kind, Name: owner.GetName(), UID: owner.GetUID()}
}

// recordAgain records another release of a version in its ChangeWorkload.
func (r *Reconciler) recordAgain(ctx context.Context, owner client.Object, workload *appv1alpha1.ChangeWorkload, release entry) error {
	size, err := r.batchSize(ctx, owner)
	if err != nil {
		return err
	}
	if err := r.recordEarlier(ctx, owner, workload, release); err != nil {
		return err
	}
	before := workload.DeepCopy()
	workload.Spec.Earlier = decide.Unaccounted(before)
	workload.Spec.Release = release.Number
	workload.Spec.WorkloadRef = r.reference(owner)
	workload.Spec.CountThreshold = size
	workload.Spec.Observed, workload.Spec.Baseline = release.observed, release.baseline
	workload.Spec.CreateTime, workload.Spec.CreateTimeUnix = decide.Stamp(r.Clock.Now())
	decide.DescribeRelease(&workload.Spec, owner.GetAnnotations(), release.Release)
	// The lock ensures that Earlier was decided on the present status.
	if err := r.Client.Patch(ctx, workload, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("recording release %d in ChangeWorkload %s/%s: %w", release.Number, workload.Namespace, workload.Name, err)
	}
	r.Tracer.Superseded(before, r.Clock.Now())
	return nil
}

// recordPatience is how long after its admission a release waits for the ChangeRecord of the earlier release of its version.
const recordPatience = time.Minute

// recordEarlier writes the ChangeRecord of the earlier release of a version, if that is not written yet: its author and its changes are about
// to be overwritten.
func (r *Reconciler) recordEarlier(ctx context.Context, owner client.Object, earlier *appv1alpha1.ChangeWorkload, release entry) error {
	_, err := r.Records.Record(ctx, earlier, &earlier.Status, decide.RecordFacts{End: decide.EndOfEarlier(earlier, owner)})
	if err == nil {
		return nil
	}
	admitted, found := decide.ReleaseRecordOf(owner.GetAnnotations(), release.Release)
	if found && !scope.IsDenied(err) && r.Clock.Since(admitted.Time.Time) < recordPatience {
		return err
	}
	r.Recorder.Record(events.RecordNotWritten(owner, earlier, err)) // a release waits no longer for the record of another one
	return nil
}

// replace makes room for the record of a workload. A record of another workload that lives is not a leftover: a Deployment named
// statefulsets.web and the StatefulSet web share names, and would remove each other's records in turn.
func (r *Reconciler) replace(ctx context.Context, owner client.Object, other *appv1alpha1.ChangeWorkload) (ctrl.Result, error) {
	reference := metav1.GetControllerOf(other)
	if reference == nil {
		return ctrl.Result{RequeueAfter: leftoverWait}, r.removeLeftover(ctx, other)
	}
	if kind := r.Kinds.Snapshot().Of(reference); kind != nil {
		holder := kind.New()
		holder.SetNamespace(other.Namespace)
		holder.SetName(reference.Name)
		holder.SetUID(reference.UID)
		there, err := scope.IsThere(ctx, r.Live, kind, holder)
		if err != nil {
			return ctrl.Result{}, err
		}
		if there {
			r.Recorder.Record(events.RecordNameTaken(owner, other, reference))
			return ctrl.Result{RequeueAfter: takenWait}, nil
		}
	}
	return ctrl.Result{RequeueAfter: leftoverWait}, r.removeLeftover(ctx, other)
}

// removeLeftover removes the ChangeWorkload of a deleted workload of the same name, if the garbage collector has not yet.
func (r *Reconciler) removeLeftover(ctx context.Context, workload *appv1alpha1.ChangeWorkload) error {
	// The cache may show the successor without the deletion, for which the client would wait for ever.
	err := r.Client.Delete(ctx, workload, client.Preconditions{UID: &workload.UID}, client.DisableReadYourWritesConsistency)
	if scope.IgnoreGone(err) != nil && !scope.IsConflict(err) {
		return fmt.Errorf("removing ChangeWorkload %s/%s, which another workload left: %w", workload.Namespace, workload.Name, err)
	}
	return nil
}

// markProcessed sets defense-status, and removes the label ignored-suspend from a workload that is not suspended: later it would let a
// bad release through. It removes the label once per release, so as not to fight a client that sets it again and again. The webhook
// ignores a label that was set again.
func (r *Reconciler) markProcessed(ctx context.Context, owner client.Object, release decide.Release) error {
	recorded := decide.IsProcessed(owner)
	idle := !decide.IsSuspended(owner) && !decide.IsIgnoredSuspendSpent(owner.GetAnnotations()) &&
		owner.GetLabels()[appv1alpha1.LabelIgnoredSuspend] == appv1alpha1.IgnoredSuspendTrue
	if recorded && !idle {
		return nil
	}
	change := workloadpatch.Change{Set: map[string]string{appv1alpha1.LabelDefenseStatus: appv1alpha1.DefenseStatusProcessed}}
	if idle {
		change.Remove = []string{appv1alpha1.LabelIgnoredSuspend}
		change.Annotate = map[string]string{appv1alpha1.AnnotationIgnoredSuspendRemoved: strconv.FormatInt(release.Number, 10)}
	}
	if written, err := workloadpatch.Apply(ctx, r.Client, r.Live, r.Kind, owner, change); err != nil || !written {
		return err
	}
	if idle {
		r.Recorder.Record(events.IgnoredSuspendRemoved(owner))
	}
	if !recorded {
		r.report(owner, release)
		r.Tracer.Recorded(r.Kind.GroupVersionKind().Kind, owner, r.Clock.Now())
	}
	return nil
}

// report writes the Events about a release, and about the use of ignored-suspend, as recorded by the webhook.
func (r *Reconciler) report(owner client.Object, release decide.Release) {
	r.Recorder.Record(events.ReleaseRecorded(owner, release))
	if used, found := decide.IgnoredSuspendOf(owner.GetAnnotations(), release); found {
		r.Recorder.Record(events.SuspensionIgnored(owner, used))
	}
}
