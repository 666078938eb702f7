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

package changepod

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
)

// Reconcile moves the batch on by what is known of its check.
func (r *Reconciler) Reconcile(ctx context.Context, changePod *appv1alpha1.ChangePod) (ctrl.Result, error) {
	if changePod.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	status := lifecycle.AdvanceChangePod(changePod, r.Clock.Now())
	if equality.Semantic.DeepEqual(changePod.Status, status) {
		return ctrl.Result{}, nil
	}
	before := changePod.DeepCopy()
	changePod.Status = status
	// Verdicts may be set by hand at any moment: a status computed without one must not be written over it.
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	err := r.Client.Status().Patch(ctx, changePod, patch)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return ctrl.Result{}, nil // The event of the other write brings the next attempt.
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("writing the status of ChangePod %s/%s: %w", changePod.Namespace, changePod.Name, err)
	}
	return ctrl.Result{}, nil
}
