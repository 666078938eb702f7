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

// Package debounce delays events, so that one reconcile handles several.
package debounce

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Window is the delay of an event. The pods of a release are created, finish and pass by the dozen, and each reconcile reads all of
// them: one reconcile per event would take quadratic time.
const Window = 100 * time.Millisecond

// Handler delays the requests of the inner handler by Window, unless the object of the event is urgent. A request that waits already
// keeps its earlier time.
func Handler[request comparable](
	inner handler.TypedEventHandler[client.Object, request], urgent func(client.Object) bool,
) handler.TypedEventHandler[client.Object, request] {
	type queue = workqueue.TypedRateLimitingInterface[request]
	of := func(object client.Object, q queue) queue {
		prioritized, ok := q.(priorityqueue.PriorityQueue[request])
		if !ok || urgent(object) {
			return q
		}
		return later[request]{prioritized}
	}
	return handler.TypedFuncs[client.Object, request]{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { inner.Create(ctx, e, of(e.Object, q)) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { inner.Update(ctx, e, of(e.ObjectNew, q)) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { inner.Delete(ctx, e, of(e.Object, q)) },
	}
}

// Never reports that no object is urgent.
func Never(client.Object) bool { return false }

// later is a queue that delays requests.
type later[request comparable] struct {
	priorityqueue.PriorityQueue[request]
}

func (l later[request]) Add(key request) { l.AddWithOpts(priorityqueue.AddOpts{}, key) }

func (l later[request]) AddWithOpts(options priorityqueue.AddOpts, keys ...request) {
	options.After = max(options.After, Window)
	l.PriorityQueue.AddWithOpts(options, keys...)
}

// Single returns a handler for a reconciler with one request for all of its objects, which it adds after a delay. A request that waits
// already keeps its earlier time.
func Single(delay time.Duration) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	return handler.Funcs{
		CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { q.AddAfter(reconcile.Request{}, delay) },
		UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { q.AddAfter(reconcile.Request{}, delay) },
		DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { q.AddAfter(reconcile.Request{}, delay) },
	}
}
