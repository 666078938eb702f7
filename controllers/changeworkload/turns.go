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

package changeworkload

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// maxCalls is the most concurrent calls of the verifier.
const maxCalls = concurrency - reserved

// turns share maxCalls calls of the verifier among all releases: first come, first served. A release that waits takes no worker until it
// is called, which adds its key to the queue of the controller. The zero value has all turns free.
type turns struct {
	mutex sync.Mutex
	// taken counts the turns that a reconcile has, or that are reserved for a called key. While keys wait it is maxCalls.
	taken   int
	waiting []client.ObjectKey
	// called is true for a key that has a turn reserved, and false for one that waits.
	called map[client.ObjectKey]bool
	queue  workqueue.TypedRateLimitingInterface[reconcile.Request]
}

// start is a source.Func: it takes the queue of the controller.
func (t *turns) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.queue = queue
	return nil
}

// take reports whether it is the turn of a key; the caller has to give the turn back. A key without a turn is called later.
func (t *turns) take(key client.ObjectKey) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	called, known := t.called[key]
	switch {
	case called:
		delete(t.called, key)
		return true
	case t.taken < maxCalls:
		t.taken++
		return true
	case !known:
		if t.called == nil {
			t.called = map[client.ObjectKey]bool{}
		}
		t.called[key] = false
		t.waiting = append(t.waiting, key)
	}
	return false
}

// give ends a turn: the key that waits longest is called.
func (t *turns) give() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.next()
}

// isCalled reports whether a turn is reserved for a key.
func (t *turns) isCalled(key client.ObjectKey) bool {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	return t.called[key]
}

// pass gives back the turn that is reserved for a key, if it was not taken because no call is due any more.
func (t *turns) pass(key client.ObjectKey) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if t.called[key] {
		delete(t.called, key)
		t.next()
	}
}

func (t *turns) next() {
	if len(t.waiting) == 0 {
		t.taken--
		return
	}
	key := t.waiting[0]
	t.waiting = t.waiting[1:]
	t.called[key] = true
	t.queue.Add(reconcile.Request{NamespacedName: key})
}
