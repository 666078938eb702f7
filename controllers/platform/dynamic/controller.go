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

package dynamic

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

var _ bykind.Kinds = &Runner{}

// Snapshot returns the kinds that run.
func (r *Runner) Snapshot() workload.Registry { return r.running.Snapshot() }

// Workloads returns a source of the workloads of the kinds that run.
func (r *Runner) Workloads(_ ctrl.Manager, changed func(kind workload.Kind) predicate.Predicate) source.TypedSource[bykind.Request] {
	return TypedWatch(r, func(kind workload.Kind) TypedHandling[bykind.Request] {
		return TypedHandling[bykind.Request]{Handler: bykind.Handler(kind), Predicates: []predicate.Predicate{changed(kind)}}
	})
}

// Reconciler returns a reconciler of the workloads of the kinds that run. A request for another kind is dropped. create creates the reconciler
// of a kind at its start; Stop cancels what it does and waits for it.
func (r *Runner) Reconciler(create func(kind workload.Kind) reconcile.Reconciler) reconcile.TypedReconciler[bykind.Request] {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	number := len(r.reconcilers)
	r.reconcilers = append(r.reconcilers, create)
	return reconcile.TypedFunc[bykind.Request](func(ctx context.Context, request bykind.Request) (reconcile.Result, error) {
		running := r.enter(request.Kind)
		if running == nil {
			return reconcile.Result{}, nil
		}
		defer running.goroutines.Done()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(running.ctx, cancel)()
		result, err := running.reconcilers[number].Reconcile(ctx, reconcile.Request{NamespacedName: request.ObjectKey})
		if running.ctx.Err() != nil {
			return reconcile.Result{}, nil // the kind was stopped
		}
		return result, err
	})
}

// enter returns the run of a kind, which Stop waits for until the caller has left it; nil if the kind doesn't run.
func (r *Runner) enter(kind schema.GroupKind) *run {
	r.mutex.RLock()
	defer r.mutex.RUnlock()
	running := r.synced[kind]
	if running != nil {
		running.goroutines.Add(1)
	}
	return running
}
