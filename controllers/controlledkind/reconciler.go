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
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// reviewAgain is how long until missing permissions are reviewed again: no event shows that they were granted.
const reviewAgain = time.Minute

// Reconcile creates the ControlledKinds of the built-in kinds once, writes the webhook configurations of the kinds, and the status of each
// ControlledKind.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if err := r.introduce(ctx); err != nil {
		return ctrl.Result{}, err
	}
	var list appv1alpha1.ControlledKindList
	if err := r.Client.List(ctx, &list); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the ControlledKinds: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b appv1alpha1.ControlledKind) int { return strings.Compare(a.Name, b.Name) })
	var enforced []workload.Kind
	for _, controlled := range list.Items {
		kind := r.Kinds.OfControlledKind(controlled.Name)
		if kind != nil && !workload.AlwaysAdmitted(kind) && controlled.Spec.Mode == appv1alpha1.ModeEnforce {
			enforced = append(enforced, kind)
		}
	}
	admission, err := r.admit(ctx, enforced)
	if err != nil {
		return ctrl.Result{}, err
	}
	var result ctrl.Result
	var faults []error
	for i := range list.Items {
		permitted, err := r.report(ctx, &list.Items[i], admission)
		if !permitted {
			result.RequeueAfter = reviewAgain
		}
		faults = append(faults, err)
	}
	return result, errors.Join(faults...)
}

// report writes the status of a ControlledKind. permitted reports whether no permission is missing.
func (r *Reconciler) report(ctx context.Context, controlled *appv1alpha1.ControlledKind, admission admission) (permitted bool, err error) {
	seen, err := r.observe(ctx, controlled, admission)
	if err != nil {
		return false, err
	}
	before := controlled.DeepCopy()
	assess(controlled, seen, r.Clock.Now())
	permitted = len(seen.missing) == 0
	if equality.Semantic.DeepEqual(before.Status, controlled.Status) {
		return permitted, nil
	}
	err = r.Client.Status().Patch(ctx, controlled, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // an event follows
		return permitted, nil
	}
	if err != nil {
		return permitted, fmt.Errorf("writing the status of ControlledKind %s: %w", controlled.Name, err)
	}
	logChange(ctx, before, controlled)
	return permitted, nil
}
