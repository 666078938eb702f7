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
	"fmt"
	"slices"

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

// Reconcile labels a pod that completed its release, and opens the gate of one that belongs to no release.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
	if decide.Gated(pod) != decide.GateOpen {
		if err := r.openStray(ctx, pod); err != nil {
			return ctrl.Result{}, err
		}
	}
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

// openStray opens the gate of a pod whose workload has no release, and so no record by which its gate would be opened: its template has the gate
// label from before an operator was uninstalled and all of its marks were removed. The cache holds no such workload, and may not show a first release
// yet: the API server decides, as an open gate can't be closed.
func (r *Reconciler) openStray(ctx context.Context, pod *corev1.Pod) error {
	owner, err := r.Kinds.Snapshot().OwnerOf(ctx, r.Client, pod)
	if err != nil || owner != nil && decide.ReleaseOf(owner.Object).Version != "" {
		return err
	}
	kind, reference, err := r.workloadOf(ctx, pod)
	if err != nil || kind == nil {
		return err
	}
	key, present := client.ObjectKey{Namespace: pod.Namespace, Name: reference.Name}, kind.New()
	if err := r.Live.Get(ctx, key, present); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("reading %s %s: %w", reference.Kind, key, err))
	}
	if present.GetUID() != reference.UID || decide.ReleaseOf(present).Version != "" {
		return nil
	}
	pods, err := index.LivePodsOfVersion(ctx, r.Live, pod.Namespace, pod.Labels[appv1alpha1.LabelVersion]) // the cache lacks some of their fields
	if err != nil {
		return err
	}
	at := slices.IndexFunc(pods, func(other corev1.Pod) bool { return other.UID == pod.UID })
	if at < 0 {
		return nil
	}
	return podgate.Open(ctx, r.Client, &pods[at], "its workload has no release", r.Clock.Now())
}

// workloadOf returns the kind of the workload that controls a pod, nil if none does, and the reference to it.
func (r *Reconciler) workloadOf(ctx context.Context, pod *corev1.Pod) (workload.Kind, *metav1.OwnerReference, error) {
	reference, kinds := metav1.GetControllerOfNoCopy(pod), r.Kinds.Snapshot()
	for _, kind := range kinds {
		layered, ok := kind.(workload.Layered)
		if !ok {
			continue
		}
		layer := layered.Layer()
		named, err := apiutil.GVKForObject(layer, r.Client.Scheme())
		if err != nil {
			return nil, nil, fmt.Errorf("naming the kind %T: %w", layer, err)
		}
		found, err := index.Controller(ctx, r.Client, pod, named, layer)
		if err != nil {
			return nil, nil, err
		}
		if found {
			reference = metav1.GetControllerOfNoCopy(layer)
			break
		}
	}
	if reference == nil {
		return nil, nil, nil
	}
	return kinds.Of(reference), reference, nil
}
