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

// Package breakglass records who creates a BreakGlass, and keeps the evidence of its use.
package breakglass

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/statuspatch"
)

// Keeps the evidence of the use of each BreakGlass.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=breakglasses,verbs=list;watch
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=breakglasses/status,verbs=patch

// Reconciler writes the status of BreakGlasses.
type Reconciler struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("breakglass").
		For(&appv1alpha1.BreakGlass{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.EnqueueRequestsFromMapFunc(ofRelease), builder.WithPredicates(passed())).
		Complete(r)
}

func ofRelease(_ context.Context, object client.Object) []reconcile.Request {
	record, ok := object.(*appv1alpha1.ChangeWorkload)
	if !ok || record.Status.BreakGlass == nil {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: record.Namespace, Name: record.Status.BreakGlass.Name}}}
}

// passed passes releases that are recorded as passed by a BreakGlass.
func passed() predicate.Predicate {
	by := func(object client.Object) *appv1alpha1.BreakGlassPass {
		record, ok := object.(*appv1alpha1.ChangeWorkload)
		if !ok {
			return nil
		}
		return record.Status.BreakGlass
	}
	return predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return by(e.Object) != nil },
		UpdateFunc: func(e event.UpdateEvent) bool { return !equality.Semantic.DeepEqual(by(e.ObjectOld), by(e.ObjectNew)) },
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// Reconcile writes the status of a BreakGlass, and looks again when it ends.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var glass appv1alpha1.BreakGlass
	if err := r.Client.Get(ctx, request.NamespacedName, &glass); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("reading BreakGlass %s: %w", request, err))
	}
	var list appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &list, client.InNamespace(glass.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing the ChangeWorkloads in namespace %s: %w", glass.Namespace, err)
	}
	now, before := r.Clock.Now(), glass.DeepCopy()
	glass.Status = decide.BreakGlassStatus(&glass, list.Items, now)
	if err := statuspatch.Write(ctx, r.Client, before, &glass); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: max(decide.BreakGlassEnd(&glass).Sub(now), 0)}, nil
}
