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

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Reconcile labels a pod that completed its release.
func (r *Reconciler) Reconcile(ctx context.Context, pod *corev1.Pod) (ctrl.Result, error) {
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
	if err := r.Client.Patch(ctx, pod, client.RawPatch(types.MergePatchType, label)); client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("labelling pod %s/%s as finished: %w", pod.Namespace, pod.Name, err)
	}
	return ctrl.Result{}, nil
}
