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
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Time until permissions are reviewed again, as no event shows that they were granted or revoked: missing ones of a kind that is younger than
// reviewAgain, whose ClusterRole may come just after it, of other kinds, and those for a declared kind that were all granted.
const (
	reviewSoon    = 5 * time.Second
	reviewAgain   = time.Minute
	reviewGranted = 5 * time.Minute
)

// Reconcile creates the ControlledKinds of the built-in kinds once, runs the declared kinds that are enforced and all kinds that are observed,
// and writes the webhook configurations of the kinds and the status of each ControlledKind.
func (r *Reconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if err := r.introduce(ctx); err != nil {
		return ctrl.Result{}, err
	}
	var list appv1alpha1.ControlledKindList
	if err := r.Client.List(ctx, &list); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the ControlledKinds: %w", err)
	}
	slices.SortFunc(list.Items, func(a, b appv1alpha1.ControlledKind) int { return strings.Compare(a.Name, b.Name) })
	if !r.isCompiled(list.Items) {
		return ctrl.Result{}, nil // the catalog brings another request
	}
	observed := make([]observation, len(list.Items))
	for i := range list.Items {
		observed[i] = r.observe(ctx, &list.Items[i])
	}
	faults := []error{r.run(ctx, list.Items, observed)}
	called, err := r.called(ctx)
	if err != nil {
		return ctrl.Result{}, errors.Join(append(faults, err)...)
	}
	admission, err := r.admit(ctx, enforced(list.Items, observed, called))
	if err != nil {
		return ctrl.Result{}, errors.Join(append(faults, err)...)
	}
	var result ctrl.Result
	if admission.denied() { // no event shows when it is allowed
		result.RequeueAfter = reviewAgain
	}
	for i := range list.Items {
		wait, err := r.settle(ctx, &list.Items[i], observed[i], admission)
		if wait > 0 && (result.RequeueAfter == 0 || wait < result.RequeueAfter) {
			result.RequeueAfter = wait
		}
		faults = append(faults, err)
	}
	return result, errors.Join(faults...)
}

// enforced returns the kinds whose webhooks are called. Those of a declared kind are called once its workloads are in the cache, and then
// also while the cache is filled again.
func enforced(list []appv1alpha1.ControlledKind, observed []observation, called map[string]bool) []workload.Kind {
	var kinds []workload.Kind
	for i := range list {
		seen := observed[i]
		if seen.kind == nil || workload.AlwaysAdmitted(seen.kind) || !workload.IsEnforced(&list[i]) {
			continue
		}
		if !seen.declared || seen.mayRun() && (seen.synced || called[entryName(seen.kind)]) {
			kinds = append(kinds, seen.kind)
		}
	}
	return kinds
}

// settle releases the workloads of a declared kind that leaves change control, and writes the status of each other one. It returns when to
// look at the kind again, 0 for never.
func (r *Reconciler) settle(ctx context.Context, controlled *appv1alpha1.ControlledKind, seen observation, admission admission) (time.Duration, error) {
	if seen.fault != nil {
		return 0, seen.fault
	}
	var wait time.Duration
	if controlled.DeletionTimestamp != nil || !workload.IsEnforced(controlled) {
		var err error
		if seen.releasing, wait, err = r.release(ctx, controlled, seen, admission); err != nil {
			seen.releasing = &problem{appv1alpha1.ReasonReleasing, err.Error()}
			return 0, errors.Join(err, r.report(ctx, controlled, seen, admission))
		}
	}
	if wait == 0 && seen.releasing == nil && seen.isObservable(controlled) && r.Runner.State(controlled.Name).Kind == nil {
		wait = releaseAgain // it has just been released
	}
	if wait == 0 {
		wait = seen.reviewIn
	}
	if controlled.DeletionTimestamp != nil && seen.releasing == nil {
		return wait, nil
	}
	err := r.report(ctx, controlled, seen, admission)
	if scope.IsConflict(err) { // the other change may bring no request, as that of a label
		return releaseAgain, nil
	}
	return wait, err
}

// report writes the status of a ControlledKind.
func (r *Reconciler) report(ctx context.Context, controlled *appv1alpha1.ControlledKind, seen observation, admission admission) error {
	if seen.problem = admission.kinds; seen.kind != nil && workload.AlwaysAdmitted(seen.kind) {
		seen.problem = admission.fixed
	}
	before := controlled.DeepCopy()
	assess(controlled, seen, r.Clock.Now())
	if equality.Semantic.DeepEqual(before.Status, controlled.Status) {
		return nil
	}
	err := r.Client.Status().Patch(ctx, controlled, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		return scope.IgnoreGone(fmt.Errorf("writing the status of ControlledKind %s: %w", controlled.Name, err))
	}
	logChange(ctx, before, controlled)
	return nil
}
