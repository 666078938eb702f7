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

package pod

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/podgate"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// strayAge is how old a pod is before the API server is asked whether its gate is stray, where the cache shows that: by then, the cache has what was
// there before the pod. For a pod of a release under change control it never is asked.
const strayAge = 10 * time.Second

// strayLook is the time until a closed gate is looked at again: it may become stray without an event.
const strayLook = time.Minute

// busyLook is the time until a closed gate is looked at again that another reconcile is about to open.
const busyLook = time.Second

// maxLevels is the most workloads that are read of which one is a part of the next: users can write references that lead back.
const maxLevels = 3

// Reconcile labels a pod that completed its release, and opens a stray gate.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	var look time.Duration
	if decide.Gated(pod) != decide.GateOpen {
		var err error
		if look, err = r.openStray(ctx, pod); err != nil {
			return ctrl.Result{}, err
		}
	}
	result, err := r.finish(ctx, pod)
	result.RequeueAfter = decide.Sooner(result.RequeueAfter, look)
	return result, err
}

// finish labels a pod that completed its release.
func (r *Reconciler) finish(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if decide.IsFinished(pod) {
		return ctrl.Result{}, nil
	}
	if labelled, err := r.Settings.LabelsFinished(ctx); err != nil || !labelled {
		return ctrl.Result{}, err
	}
	optedIn, err := scope.OptedIn(ctx, r.Client, pod.Namespace)
	if err != nil || !optedIn {
		return ctrl.Result{}, err
	}
	owner, err := r.Kinds.Snapshot().OwnerOf(ctx, r.Client, pod)
	if err != nil || owner == nil {
		return ctrl.Result{}, err
	}
	if enforced, err := workload.Enforced(ctx, r.Client, owner.Kind); err != nil || !enforced {
		return ctrl.Result{}, err
	}
	now := r.Clock.Now()
	finished, wait := decide.PodFinished(pod, owner.Kind.Rollout(owner.Object), now)
	if !finished {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// A literal patch is cheaper than one computed from two copies, for each pod of each release. The API server rejects it for another pod of the name.
	label := fmt.Appendf(nil, `{"metadata":{"uid":%q,"labels":{%q:"%d"}}}`, pod.UID, appv1alpha1.LabelOperateFinished, now.Unix())
	if err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, label)); scope.IgnoreGone(err) != nil {
		return ctrl.Result{}, fmt.Errorf("labelling pod %s/%s as finished: %w", pod.Namespace, pod.Name, err)
	}
	return ctrl.Result{}, nil
}

// openStray opens the gates of a pod and its like if they are stray: its workload has no release, as after an uninstallation that left the gate
// label in its template, or left change control, or the release was only observed. It returns when to look again.
func (r *Reconciler) openStray(ctx context.Context, pod *corev1.Pod) (look time.Duration, err error) {
	if pod.DeletionTimestamp != nil {
		return 0, nil
	}
	kind, owner, err := r.workloadOf(ctx, pod)
	if err != nil || owner == nil {
		return strayLook, err // a declared kind may not run yet
	}
	if decide.ReleaseOf(owner).Version == "" {
		return r.openConfirmed(ctx, kind, owner, pod)
	}
	known, err := r.gate(ctx, r.Client, kind, owner, pod, func() (bool, error) {
		controlled, err := scope.Controlled(ctx, r.Client, kind, pod.Namespace)
		return !controlled, err
	})
	if err != nil || known.Stray() == "" {
		return strayLook, err
	}
	if age := r.Agreed().Sub(pod.CreationTimestamp.Time); age < strayAge {
		return strayAge - age, nil
	}
	return r.openConfirmed(ctx, kind, owner, pod)
}

// openConfirmed opens the gates if the API server confirms that they are stray: the cache may be behind, and an open gate can't be closed. The
// pods that are opened are read before what decides about them. It opens all at once, rather than list them for each, and only one reconcile at a time
// does so for a workload.
func (r *Reconciler) openConfirmed(ctx context.Context, kind workload.Kind, owner client.Object, pod *corev1.Pod) (look time.Duration, err error) {
	if _, busy := r.opening.LoadOrStore(owner.GetUID(), nil); busy {
		return busyLook, nil
	}
	defer r.opening.Delete(owner.GetUID())
	pods, err := index.LivePodsOfVersion(ctx, r.Live, pod.Namespace, pod.Labels[appv1alpha1.LabelVersion]) // the cache lacks some of their fields
	if err != nil {
		return 0, err
	}
	present, err := r.present(ctx, kind, client.ObjectKeyFromObject(owner), owner.GetUID())
	if err != nil || present == nil {
		return 0, err
	}
	found, err := r.gate(ctx, r.Live, kind, present, pod, func() (bool, error) { return scope.LeftControl(ctx, r.Live, kind, pod.Namespace) })
	why := found.Stray()
	if err != nil || why == "" {
		return strayLook, err
	}
	var failed []error
	for i := range pods {
		if isBeside(&pods[i], pod) && pods[i].DeletionTimestamp == nil {
			failed = append(failed, podgate.Open(ctx, r.Client, &pods[i], why, r.Agreed()))
		}
	}
	return 0, errors.Join(failed...)
}

// isBeside reports whether a pod is another one, or has the same controller.
func isBeside(pod, other *corev1.Pod) bool {
	of, by := metav1.GetControllerOfNoCopy(pod), metav1.GetControllerOfNoCopy(other)
	return pod.UID == other.UID || of != nil && by != nil && of.UID == by.UID
}

// gate returns what decides about the closed gate of a pod, as the cache or the API server has it. left reports whether the workload left change
// control.
func (r *Reconciler) gate(
	ctx context.Context, reader client.Reader, kind workload.Kind, owner client.Object, pod *corev1.Pod, left func() (bool, error),
) (decide.ClosedGate, error) {
	gate := decide.ClosedGate{
		Version: pod.Labels[appv1alpha1.LabelVersion], Present: decide.ReleaseOf(owner), Processed: decide.IsProcessed(owner),
	}
	if gate.Present.Version == "" {
		return gate, nil
	}
	key := client.ObjectKey{Namespace: pod.Namespace, Name: workload.RecordName(kind, owner.GetName(), gate.Version)}
	var record appv1alpha1.ChangeWorkload
	err := reader.Get(ctx, key, &record, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if client.IgnoreNotFound(err) != nil {
		return gate, fmt.Errorf("reading ChangeWorkload %s: %w", key, err)
	}
	if err == nil && metav1.IsControlledBy(&record, owner) {
		gate.Record = &record
	}
	gate.Left, err = left()
	return gate, err
}

// workloadOf returns the workload that controls a pod, and its kind; nil if none is known. The cache holds none without a release, and may not show a
// first release yet: then it is that of the API server. One that is a part of another workload has no release of its own: that one decides, also while
// its declared kind doesn't run, or is only observed.
func (r *Reconciler) workloadOf(ctx context.Context, pod *corev1.Pod) (workload.Kind, client.Object, error) {
	owner, err := r.Kinds.Snapshot().OwnerOf(ctx, r.Client, pod)
	if err != nil {
		return nil, nil, err
	}
	if owner != nil && decide.ReleaseOf(owner.Object).Version != "" {
		return owner.Kind, owner.Object, nil
	}
	reference, err := r.controllerOf(ctx, pod)
	for range maxLevels {
		if err != nil || reference == nil {
			return nil, nil, err
		}
		kind := r.Kinds.Snapshot().Of(reference)
		if kind == nil {
			return nil, nil, nil
		}
		present, err := r.present(ctx, kind, client.ObjectKey{Namespace: pod.Namespace, Name: reference.Name}, reference.UID)
		if err != nil || present == nil || workload.Controls(kind, present) {
			return kind, present, err
		}
		reference = metav1.GetControllerOfNoCopy(present)
	}
	return nil, nil, nil
}

// present returns a workload as the API server has it, nil if it is gone.
func (r *Reconciler) present(ctx context.Context, kind workload.Kind, key client.ObjectKey, of types.UID) (client.Object, error) {
	present := kind.New()
	if err := r.Live.Get(ctx, key, present); err != nil {
		return nil, client.IgnoreNotFound(fmt.Errorf("reading %s %s: %w", kind.GroupVersionKind().Kind, key, err))
	}
	if present.GetUID() != of {
		return nil, nil
	}
	return present, nil
}

// controllerOf returns the reference to what controls a pod, through its layer; nil if nothing does.
func (r *Reconciler) controllerOf(ctx context.Context, pod *corev1.Pod) (*metav1.OwnerReference, error) {
	for _, kind := range r.Kinds.Snapshot() {
		layered, ok := kind.(workload.Layered)
		if !ok {
			continue
		}
		layer := layered.Layer()
		named, err := apiutil.GVKForObject(layer, r.Client.Scheme())
		if err != nil {
			return nil, fmt.Errorf("naming the kind %T: %w", layer, err)
		}
		if found, err := index.Controller(ctx, r.Client, pod, named, layer); err != nil || found {
			return metav1.GetControllerOfNoCopy(layer), err
		}
	}
	return metav1.GetControllerOfNoCopy(pod), nil
}
