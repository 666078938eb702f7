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

// Package changefreeze shows in the status of each ChangeFreeze whether it is on, and checks those that are applied.
package changefreeze

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
)

// Writes whether a freeze is on, and how many releases wait for its end.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changefreezes/status,verbs=patch

// Reconciler writes the status of ChangeFreezes.
type Reconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
	// Namespace is the namespace of the operator, whose ChangeFreezes may select other namespaces.
	Namespace string
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("changefreeze").
		For(&appv1alpha1.ChangeFreeze{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.EnqueueRequestsFromMapFunc(ofRelease), builder.WithPredicates(freezeChanged())).
		Complete(r)
}

// ofRelease maps a release to the freeze that it waits for, or waited for.
func ofRelease(_ context.Context, object client.Object) []reconcile.Request {
	record, ok := object.(*appv1alpha1.ChangeWorkload)
	if !ok || record.Status.Frozen == nil {
		return nil
	}
	namespace, name, _ := strings.Cut(record.Status.Frozen.By, "/")
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: name}}}
}

// freezeChanged passes releases that a freeze parks, or lets go on.
func freezeChanged() predicate.Predicate {
	return scope.Changed(func(record *appv1alpha1.ChangeWorkload) string {
		if !decide.IsFrozen(record) {
			return ""
		}
		return record.Status.Frozen.By
	})
}

// Reconcile writes the status of a ChangeFreeze, and looks again when it begins or ends.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var object appv1alpha1.ChangeFreeze
	if err := r.Client.Get(ctx, request.NamespacedName, &object); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("reading ChangeFreeze %s: %w", request, err))
	}
	parked, err := r.parked(ctx, &object)
	if err != nil {
		return ctrl.Result{}, err
	}
	before := object.DeepCopy()
	status, wait := freeze.Status(&object, r.Namespace, parked, r.Clock.Now())
	object.Status = status
	if err := statuspatch.Write(ctx, r.Client, before, &object); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// parked returns how many releases wait for the end of a freeze.
func (r *Reconciler) parked(ctx context.Context, of *appv1alpha1.ChangeFreeze) (int32, error) {
	records, err := index.FrozenReleases(ctx, r.Client)
	if err != nil {
		return 0, err
	}
	by, count := of.Namespace+"/"+of.Name, int32(0)
	for i := range records {
		if records[i].Status.Frozen.By == by {
			count++
		}
	}
	return count, nil
}
