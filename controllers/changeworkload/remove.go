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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// removeLeftover removes the ChangePod of a deleted ChangeWorkload of the same name, if the garbage collector has not yet.
func (r *Reconciler) removeLeftover(ctx context.Context, workload *appv1alpha1.ChangeWorkload, taken *appv1alpha1.ChangePod) error {
	var existing appv1alpha1.ChangePod
	key := client.ObjectKeyFromObject(taken)
	if err := r.Live.Get(ctx, key, &existing); err != nil {
		return client.IgnoreNotFound(err)
	}
	if metav1.IsControlledBy(&existing, workload) {
		return nil
	}
	if existing.DeletionTimestamp != nil {
		return fmt.Errorf("opening ChangePod %s: that of a deleted ChangeWorkload is still there: its finalizers are %v", key, existing.Finalizers)
	}
	// The cache may show the successor without the deletion, for which the client would wait for ever.
	err := r.Client.Delete(ctx, &existing, client.Preconditions{UID: &existing.UID}, client.DisableReadYourWritesConsistency)
	if scope.IgnoreGone(err) != nil {
		return fmt.Errorf("removing ChangePod %s, which a deleted ChangeWorkload left: %w", key, err)
	}
	return nil
}

// forget removes the records that the decision names, and the verdicts on earlier releases.
func (r *Reconciler) forget(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) error {
	if err := r.forgetVerdicts(ctx, workload); err != nil {
		return err
	}
	if err := r.prune(ctx, r.recorded(ctx, scene, decision.Prune)); err != nil || !decision.Clear {
		return err
	}
	return r.clear(ctx, workload, scene.earlier)
}

// prune removes the records of older releases. The list may be behind the operator's own deletions; a read of one object is not.
func (r *Reconciler) prune(ctx context.Context, older []appv1alpha1.ChangeWorkload) error {
	for i := range older {
		err := r.remove(ctx, &older[i])
		// Also after an error: a deletion that only seems to have failed is not decided again.
		r.numbers.forget(recordOf(&older[i]))
		if scope.IgnoreGone(err) != nil {
			return fmt.Errorf("removing ChangeWorkload %s of an older version: %w", client.ObjectKeyFromObject(&older[i]), err)
		}
		r.newest.Gone(&older[i])
	}
	return nil
}

// remove removes a ChangeWorkload after its ChangePods, so that the garbage collector has nothing left to do. It keeps one that records a
// new release by now, but not one that changed because its batches are removed.
func (r *Reconciler) remove(ctx context.Context, decided *appv1alpha1.ChangeWorkload) error {
	key := client.ObjectKeyFromObject(decided)
	read, cleared := r.newest.Get, false
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		var current appv1alpha1.ChangeWorkload
		if err := read(ctx, key, &current); err != nil {
			return err
		}
		if current.UID != decided.UID || current.DeletionTimestamp != nil || current.Spec.Release != decided.Spec.Release {
			return nil
		}
		if !cleared {
			changePods, err := index.ChangePodsOf(ctx, r.Client, key.Namespace, key.Name)
			if err != nil {
				return err
			}
			if _, err := r.removeBatches(ctx, &current, changePods); err != nil {
				return err
			}
		}
		read, cleared = r.newest.GetLive, true
		unchanged := client.Preconditions{UID: &current.UID, ResourceVersion: &current.ResourceVersion}
		return r.Client.Delete(ctx, &current, unchanged, client.DisableReadYourWritesConsistency)
	})
}

// clear removes the batches of earlier releases of the version. Those of an operator before v0.2 have no label: they are removed one by
// one, some per reconcile, and the event of each brings the next reconcile.
func (r *Reconciler) clear(ctx context.Context, workload *appv1alpha1.ChangeWorkload, earlier []appv1alpha1.ChangePod) error {
	unlabelled, err := r.removeBatches(ctx, workload, earlier)
	if err != nil {
		return err
	}
	for i := range unlabelled[:min(len(unlabelled), maxBatchesAtOnce)] {
		changePod := &unlabelled[i]
		err := r.Client.Delete(ctx, changePod, client.Preconditions{UID: &changePod.UID}, client.DisableReadYourWritesConsistency)
		if scope.IgnoreGone(err) != nil {
			return fmt.Errorf("removing ChangePod %s/%s of an earlier release: %w", changePod.Namespace, changePod.Name, err)
		}
	}
	return nil
}

// removeBatches removes these ChangePods of a ChangeWorkload with one request, and returns those without the label that it selects by.
func (r *Reconciler) removeBatches(
	ctx context.Context, workload *appv1alpha1.ChangeWorkload, changePods []appv1alpha1.ChangePod,
) (unlabelled []appv1alpha1.ChangePod, err error) {
	releases := sets.New[string]()
	for i := range changePods {
		label := decide.BatchOfLabel(workload.UID, changePods[i].Spec.Release)
		if changePods[i].Labels[appv1alpha1.LabelBatchOf] == label {
			releases.Insert(label)
		} else {
			unlabelled = append(unlabelled, changePods[i])
		}
	}
	if releases.Len() == 0 {
		return unlabelled, nil
	}
	requirement, err := labels.NewRequirement(appv1alpha1.LabelBatchOf, selection.In, sets.List(releases))
	if err != nil {
		return nil, fmt.Errorf("selecting the ChangePods of ChangeWorkload %s/%s: %w", workload.Namespace, workload.Name, err)
	}
	selector := client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*requirement)}
	err = r.Direct.DeleteAllOf(ctx, &appv1alpha1.ChangePod{}, client.InNamespace(workload.Namespace), selector)
	switch {
	case apierrors.IsForbidden(err):
		ctrl.LoggerFrom(ctx).Info("Not permitted to delete ChangePods as a collection, so the garbage collector removes them with their "+
			"ChangeWorkload: apply the operator's ClusterRole", "reason", err.Error())
	case err != nil:
		return nil, fmt.Errorf("removing the ChangePods of ChangeWorkload %s/%s: %w", workload.Namespace, workload.Name, err)
	}
	return unlabelled, nil
}
