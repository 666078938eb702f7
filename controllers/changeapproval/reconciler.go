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
// Package changeapproval shows in the status of each ChangeApproval whether it counts.
package changeapproval

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
)

// Reads the approvals of paced releases.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeapprovals,verbs=list;watch
// Writes whether an approval counts.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeapprovals/status,verbs=patch

// Reconciler writes the status of ChangeApprovals.
type Reconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("changeapproval").
		For(&appv1alpha1.ChangeApproval{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.EnqueueRequestsFromMapFunc(r.ofRelease), builder.WithPredicates(released())).
		Complete(r)
}

// ofRelease maps a release to the approvals of its workload.
func (r *Reconciler) ofRelease(ctx context.Context, object client.Object) []reconcile.Request {
	record, ok := object.(*appv1alpha1.ChangeWorkload)
	if !ok {
		return nil
	}
	var list appv1alpha1.ChangeApprovalList
	err := r.Client.List(ctx, &list, client.InNamespace(record.Namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the ChangeApprovals of a release", "changeWorkload", client.ObjectKeyFromObject(record))
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if isOf(record, &list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}

// released passes releases that begin, and records that go.
func released() predicate.Predicate {
	return scope.Changed(func(record *appv1alpha1.ChangeWorkload) int64 {
		if record.DeletionTimestamp != nil {
			return 0
		}
		return record.Spec.Release
	})
}

// Reconcile writes the status of a ChangeApproval if it changed.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var approval appv1alpha1.ChangeApproval
	if err := r.Client.Get(ctx, request.NamespacedName, &approval); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("reading ChangeApproval %s: %w", request, err))
	}
	var records appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &records, client.InNamespace(request.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the ChangeWorkloads in namespace %s: %w", request.Namespace, err)
	}
	before := approval.DeepCopy()
	approval.Status = Status(&approval, records.Items, r.Clock.Now())
	return ctrl.Result{}, statuspatch.Write(ctx, r.Client, before, &approval)
}
