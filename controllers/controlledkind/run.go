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

package controlledkind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
)

// releaseAgain is how long until the API server is asked again whether the operator holds rollouts of a kind that leaves change control: a
// decision under way may still hold one.
const releaseAgain = time.Second

// run starts and stops the declared kinds that are enforced, and the kinds that are observed. A declared kind that leaves change control runs
// until its workloads are released.
func (r *Reconciler) run(ctx context.Context, list []appv1alpha1.ControlledKind, seen []observation) error {
	var faults []error
	for _, name := range r.Runner.Started() {
		if !slices.ContainsFunc(list, func(controlled appv1alpha1.ControlledKind) bool { return controlled.Name == name }) {
			r.Runner.Stop(name)
		}
	}
	for i := range list {
		if seen[i].fault != nil {
			continue
		}
		if err := r.runOne(ctx, &list[i], &seen[i]); err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}

// toRun returns the kind to be run, nil if none is.
func toRun(controlled *appv1alpha1.ControlledKind, seen *observation) workload.Kind {
	switch {
	case workload.IsEnforced(controlled) && seen.declared && seen.mayRun():
		return seen.kind
	case seen.isObservable(controlled):
		return observed.Of(seen.kind)
	}
	return nil
}

func (r *Reconciler) runOne(ctx context.Context, controlled *appv1alpha1.ControlledKind, seen *observation) error {
	state, wanted := r.Runner.State(controlled.Name), toRun(controlled, seen)
	_, isObserved := state.Kind.(workload.Observed) // it holds nothing
	isOther := state.Kind != wanted && (wanted != nil || isObserved)
	if state.Kind != nil && (seen.kind == nil || state.Failure != nil || isOther) {
		r.Runner.Stop(controlled.Name)
		state.Kind, seen.synced = nil, false
	}
	if state.Failure != nil {
		return state.Failure // the next attempt comes later and later
	}
	if state.Kind != nil {
		return nil
	}
	if wanted == nil && r.leavesUnseen(controlled, seen) {
		wanted = seen.kind
	}
	if wanted == nil {
		return nil
	}
	if workload.IsEnforced(controlled) {
		delete(r.ended, controlled.Name)
		if err := r.setFinalizer(ctx, controlled, true); err != nil {
			return err
		}
	}
	return r.Runner.Start(wanted)
}

// leavesUnseen reports whether a declared kind leaves change control and has not run since this process began. It runs once more: without it, nothing
// ends the paces of its releases, and nothing opens the gates of their pods.
func (r *Reconciler) leavesUnseen(controlled *appv1alpha1.ControlledKind, seen *observation) bool {
	return seen.declared && seen.mayRun() && !workload.IsEnforced(controlled) &&
		controllerutil.ContainsFinalizer(controlled, appv1alpha1.FinalizerKind) && r.ended[controlled.Name] != controlled.UID
}

// release lets the workloads of a declared kind go on that the operator holds, once the webhooks aren't called any more. Then it ends the
// kind, and lets its ControlledKind go. The problem is why it can't yet.
func (r *Reconciler) release(
	ctx context.Context, controlled *appv1alpha1.ControlledKind, seen observation, admission admission,
) (*problem, time.Duration, error) {
	switch {
	case !controllerutil.ContainsFinalizer(controlled, appv1alpha1.FinalizerKind):
		return nil, 0, nil
	case admission.denied():
		return admission.kinds, reviewAgain, nil
	case seen.kind == nil && !seen.declaration.absent:
		return seen.declaration.problem, 0, nil
	case len(seen.missing) > 0:
		held, err := r.mayHold(ctx, seen.kind)
		if err != nil || held {
			return permittedProblem(seen), reviewAgain, err
		}
		r.Runner.Stop(controlled.Name)
		return nil, 0, r.setFinalizer(ctx, controlled, false)
	}
	if seen.kind != nil {
		if waits, wait, err := r.letGo(ctx, controlled, seen); waits != nil || err != nil {
			return waits, wait, err
		}
	}
	return nil, 0, r.setFinalizer(ctx, controlled, false)
}

// letGo lets the workloads of a declared kind go on, and then ends the kind. The problem is what it waits for; nil for nothing.
func (r *Reconciler) letGo(ctx context.Context, controlled *appv1alpha1.ControlledKind, seen observation) (*problem, time.Duration, error) {
	released, err := r.resumeHeld(ctx, seen.kind)
	if apierrors.IsForbidden(err) {
		delete(r.permissions, controlled.Name) // they are reviewed again
	}
	if err != nil {
		return nil, 0, err
	}
	state := r.Runner.State(controlled.Name)
	if !state.Synced && r.leavesUnseen(controlled, &seen) {
		return &problem{appv1alpha1.ReasonReleasing, "the cache doesn't hold the workloads of this kind yet, whose releases may be paced"}, releaseAgain, nil
	}
	if paced, err := r.paces(ctx, state); err != nil || paced {
		return &problem{appv1alpha1.ReasonReleasing, "the paced releases are being rolled out to all pods"}, releaseAgain, err
	}
	if released > 0 || state.Kind != nil {
		r.end(controlled)
		return &problem{appv1alpha1.ReasonReleasing, "the rollouts that the operator holds are being resumed"}, releaseAgain, nil
	}
	return nil, 0, nil
}

// end ends a declared kind whose paced releases were rolled out.
func (r *Reconciler) end(controlled *appv1alpha1.ControlledKind) {
	r.Runner.Stop(controlled.Name)
	if r.ended == nil {
		r.ended = map[string]types.UID{}
	}
	r.ended[controlled.Name] = controlled.UID
}

// mayHold reports whether the operator may hold rollouts of a kind that it lacks permissions for: it decides by what the cache of the kind last
// saw, as a manifest with the ControlledKind and its ClusterRole may have been deleted as a whole. Without the permissions no rollout is held
// any more.
func (r *Reconciler) mayHold(ctx context.Context, kind workload.Kind) (bool, error) {
	if kind == nil {
		return false, nil
	}
	if !r.Runner.State(workload.ControlledKindName(kind)).Synced {
		return true, nil
	}
	workloads, err := index.List(ctx, r.Client, kind)
	if err != nil {
		return true, fmt.Errorf("listing the workloads of kind %s: %w", kind.GroupVersionKind().Kind, err)
	}
	return slices.ContainsFunc(workloads, func(object client.Object) bool {
		return workloadpatch.Steers(kind, object)
	}), nil
}

// resumeHeld resumes the rollouts of a kind that the operator holds or paces on the API server, and returns their number.
func (r *Reconciler) resumeHeld(ctx context.Context, kind workload.Kind) (resumed int, err error) {
	held, err := r.held(ctx, kind)
	if err != nil {
		return 0, err
	}
	var failed []error
	for _, object := range held {
		if _, err := workloadpatch.Apply(ctx, r.Client, r.Live, kind, object, workloadpatch.LetGo(kind, object)); err != nil {
			failed = append(failed, err) // it must not keep others held
			continue
		}
		ctrl.LoggerFrom(ctx).Info("Resumed a held rollout of a kind that leaves change control",
			"kind", kind.GroupVersionKind().Kind, "namespace", object.GetNamespace(), "name", object.GetName())
		resumed++
	}
	return resumed, errors.Join(failed...)
}

// paces reports whether releases of a kind that runs are still paced, or pods of the present ones, or of any in StatefulSets, wait at gates, as the
// cache shows. The controller of ChangeWorkloads ends this while the kind runs, and nothing does afterwards.
func (r *Reconciler) paces(ctx context.Context, running dynamic.State) (bool, error) {
	if !running.Synced {
		return false, nil
	}
	var records appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &records, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return false, fmt.Errorf("listing the ChangeWorkloads: %w", err)
	}
	if slices.ContainsFunc(records.Items, func(record appv1alpha1.ChangeWorkload) bool {
		return meta.IsStatusConditionTrue(record.Status.Conditions, appv1alpha1.ConditionPaced) && isOf(&record, running.Kind)
	}) {
		return true, nil
	}
	var pods corev1.PodList
	err := r.Client.List(ctx, &pods, client.HasLabels{appv1alpha1.LabelGate}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return false, fmt.Errorf("listing the pods with gates: %w", err)
	}
	for i := range pods.Items {
		if decide.Gated(&pods.Items[i]) == decide.GateOpen {
			continue
		}
		owner, err := running.Kind.OwnerOf(ctx, r.Client, &pods.Items[i])
		if err != nil {
			return false, fmt.Errorf("looking for the workload of pod %s: %w", client.ObjectKeyFromObject(&pods.Items[i]), err)
		}
		if owner != nil && (owner.Version == decide.ReleaseOf(owner.Object).Version || r.isReturned(&pods.Items[i])) { // others are to be replaced
			return true, nil
		}
	}
	return false, nil
}

// isReturned reports whether a pod that hasn't started is to be returned to its StatefulSet, which may wait for it.
func (r *Reconciler) isReturned(pod *corev1.Pod) bool {
	return decide.Gated(pod) == decide.GateUnstarted && r.Kinds.NumberedBy(pod) != nil
}

func isOf(record *appv1alpha1.ChangeWorkload, kind workload.Kind) bool {
	owner := metav1.GetControllerOfNoCopy(record)
	return owner != nil && schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind() == kind.GroupVersionKind().GroupKind()
}

// held returns the workloads of a kind whose rollouts the operator holds or paces on the API server. It lists the metadata of all, as whole
// objects may be large, and reads the few with such an annotation.
func (r *Reconciler) held(ctx context.Context, kind workload.Kind) ([]client.Object, error) {
	name := kind.GroupVersionKind()
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(name.GroupVersion().WithKind(name.Kind + "List"))
	err := r.Live.List(ctx, list, client.HasLabels{appv1alpha1.LabelVersion})
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("listing the workloads of kind %s: %w", name.Kind, err)
	}
	var held []client.Object
	for i := range list.Items {
		key := client.ObjectKeyFromObject(&list.Items[i])
		if len(workloadpatch.Present(&list.Items[i], appv1alpha1.AnnotationHeld, appv1alpha1.AnnotationPaced)) == 0 {
			continue
		}
		object := kind.New()
		err := r.Live.Get(ctx, key, object)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return nil, fmt.Errorf("reading %s %s: %w", name.Kind, key, err)
		case workloadpatch.Steers(kind, object):
			held = append(held, object)
		}
	}
	return held, nil
}

// setFinalizer adds or removes the finalizer of a declared kind.
func (r *Reconciler) setFinalizer(ctx context.Context, controlled *appv1alpha1.ControlledKind, wanted bool) error {
	before := controlled.DeepCopy()
	change := controllerutil.RemoveFinalizer
	if wanted {
		change = controllerutil.AddFinalizer
	}
	if !change(controlled, appv1alpha1.FinalizerKind) {
		return nil
	}
	err := r.Client.Patch(ctx, controlled, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}), client.DisableReadYourWritesConsistency)
	if scope.IgnoreGone(err) != nil {
		return fmt.Errorf("writing the finalizer of ControlledKind %s: %w", controlled.Name, err)
	}
	return nil
}
