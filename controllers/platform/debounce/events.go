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

// Package debounce lets events wait for each other, so that one reconcile serves them all.
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

// Time is how long an event waits for others. The pods of a release are created, finish and pass by the dozen, and whoever decides
// on it reads all of them: once for each event would take time with the square of their number.
const Time = 100 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Events puts off what the inner handler makes of an event by Time, unless its object is urgent. A key that waits already keeps its
// earlier time.
func Events(inner handler.EventHandler, urgent func(client.Object) bool) handler.EventHandler {
	of := func(object client.Object, q queue) queue {
		prioritized, ok := q.(priorityqueue.PriorityQueue[reconcile.Request])
		if !ok || urgent(object) {
			return q
		}
		return later{prioritized}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { inner.Create(ctx, e, of(e.Object, q)) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { inner.Update(ctx, e, of(e.ObjectNew, q)) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { inner.Delete(ctx, e, of(e.Object, q)) },
	}
}

// Never is for objects none of which is urgent.
func Never(client.Object) bool { return false }

// later is a queue that puts off what is added.
type later struct {
	priorityqueue.PriorityQueue[reconcile.Request]
}

func (l later) Add(key reconcile.Request) { l.AddWithOpts(priorityqueue.AddOpts{}, key) }

func (l later) AddWithOpts(options priorityqueue.AddOpts, keys ...reconcile.Request) {
	options.After = max(options.After, Time)
	l.PriorityQueue.AddWithOpts(options, keys...)
}
