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

// Package bykind builds controllers that reconcile the workloads of one or more kinds.
package bykind

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/traas-stack/altershield-operator/controllers/platform/retry"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Request names a workload of a kind.
type Request struct {
	Kind schema.GroupKind
	client.ObjectKey
}

// Of returns the request for a workload.
func Of(kind workload.Kind, object client.Object) Request {
	return Request{kind.GroupVersionKind().GroupKind(), client.ObjectKeyFromObject(object)}
}

// Kinds are the kinds whose workloads a controller reconciles.
type Kinds interface {
	workload.Kinds
	// Workloads returns a source of the workloads. It brings the events of each kind that a predicate passes.
	Workloads(mgr ctrl.Manager, changed func(kind workload.Kind) predicate.Predicate) source.TypedSource[Request]
	// Reconciler returns a reconciler of the workloads. create creates the reconciler of one kind, which ends with its kind.
	Reconciler(create func(kind workload.Kind) reconcile.Reconciler) reconcile.TypedReconciler[Request]
}

// Only is a single kind, whose workloads are in the cache of the manager.
type Only struct{ Kind workload.Kind }

// Snapshot returns the kind.
func (o Only) Snapshot() workload.Registry { return workload.Registry{o.Kind} }

// Workloads returns a source of the workloads.
func (o Only) Workloads(mgr ctrl.Manager, changed func(kind workload.Kind) predicate.Predicate) source.TypedSource[Request] {
	return source.TypedKind(mgr.GetCache(), o.Kind.New(), Handler(o.Kind), changed(o.Kind))
}

// Reconciler returns a reconciler of the workloads.
func (o Only) Reconciler(create func(kind workload.Kind) reconcile.Reconciler) reconcile.TypedReconciler[Request] {
	only := create(o.Kind)
	return reconcile.TypedFunc[Request](func(ctx context.Context, request Request) (reconcile.Result, error) {
		return only.Reconcile(ctx, reconcile.Request{NamespacedName: request.ObjectKey})
	})
}

// Handler maps the events of a workload of a kind to the workload.
func Handler(kind workload.Kind) handler.TypedEventHandler[client.Object, Request] {
	return handler.TypedEnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []Request { return []Request{Of(kind, object)} })
}

// NewController returns a builder of a controller. Its log entries name a workload as those of a controller of one kind do.
func NewController(mgr ctrl.Manager, name string, concurrency int) *builder.TypedBuilder[Request] {
	log := mgr.GetLogger().WithValues("controller", name)
	return builder.TypedControllerManagedBy[Request](mgr).Named(name).WithOptions(controller.TypedOptions[Request]{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             retry.Limiter[Request](),
		LogConstructor: func(request *Request) logr.Logger {
			if request == nil {
				return log
			}
			return log.WithValues("controllerGroup", request.Kind.Group, "controllerKind", request.Kind.Kind,
				request.Kind.Kind, request.ObjectKey, "namespace", request.Namespace, "name", request.Name)
		},
	})
}
