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
	"fmt"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// TypedHandling is how a controller handles the events of the workloads of a kind.
type TypedHandling[request comparable] struct {
	Handler    handler.TypedEventHandler[client.Object, request]
	Predicates []predicate.Predicate
}

// Handling is how a controller of other objects handles them.
type Handling = TypedHandling[reconcile.Request]

// Watch returns a source of the workloads of every kind that runs.
func (r *Runner) Watch(of func(kind workload.Kind) Handling) source.Source { return TypedWatch(r, of) }

// TypedWatch returns a source of the workloads of every kind that a Runner runs.
func TypedWatch[request comparable](r *Runner, of func(kind workload.Kind) TypedHandling[request]) source.TypedSource[request] {
	return source.TypedFunc[request](func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[request]) error {
		return r.watch(ctx, func(informer cache.Informer, kind workload.Kind) error {
			handling := of(kind)
			events := source.TypedInformer[client.Object, request]{Informer: informer, Handler: handling.Handler, Predicates: handling.Predicates}
			return events.Start(ctx, queue)
		})
	})
}

// watch adds a handler of the events of a kind to its informer, until the informer ends.
type watch func(informer cache.Informer, kind workload.Kind) error

// watch adds handlers to the kinds that run, and to each that is started afterwards.
func (r *Runner) watch(ctx context.Context, add watch) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.watches = append(r.watches, add)
	for _, running := range r.synced {
		informer, err := running.cache.GetInformer(ctx, running.kind.New(), cache.BlockUntilSynced(false))
		if err == nil {
			err = add(informer, running.kind)
		}
		if err != nil {
			return fmt.Errorf("watching %s: %w", workload.ControlledKindName(running.kind), err)
		}
	}
	return nil
}

// fan is an informer with one handler that passes the events to all others, as each handler of an informer costs two goroutines.
type fan struct {
	cache.Informer
	to []toolscache.ResourceEventHandler
}

// AddEventHandlerWithOptions adds a handler. It can't be removed.
func (f *fan) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, _ toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	f.to = append(f.to, handler)
	return nil, nil
}

// OnAdd passes the event of a new object.
func (f *fan) OnAdd(object any, initial bool) {
	for _, handler := range f.to {
		handler.OnAdd(object, initial)
	}
}

// OnUpdate passes the event of a changed object.
func (f *fan) OnUpdate(before, after any) {
	for _, handler := range f.to {
		handler.OnUpdate(before, after)
	}
}

// OnDelete passes the event of a removed object.
func (f *fan) OnDelete(object any) {
	for _, handler := range f.to {
		handler.OnDelete(object)
	}
}
