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

package debounce_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/traas-stack/altershield-operator/controllers/platform/debounce"
)

// waits is a queue that records the delay and the priority of each key.
type waits struct {
	priorityqueue.PriorityQueue[reconcile.Request]
	added map[string]priorityqueue.AddOpts
}

func (w waits) Add(key reconcile.Request) { w.AddWithOpts(priorityqueue.AddOpts{}, key) }

func (w waits) AddWithOpts(options priorityqueue.AddOpts, keys ...reconcile.Request) {
	for _, key := range keys {
		w.added[key.String()] = options
	}
}

func TestEventsWaitForOthersAndUrgentOnesDoNot(t *testing.T) {
	g := NewWithT(t)
	events := debounce.Handler(handler.EnqueueRequestsFromMapFunc(func(_ context.Context, object client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(object)}}
	}), func(object client.Object) bool { return object.GetLabels()["verdict"] == "unpass" })
	pod := func(version string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", ResourceVersion: version, Labels: labels}}
	}
	old, calm, urgent := pod("1", nil), pod("2", nil), pod("2", map[string]string{"verdict": "unpass"})
	for name, test := range map[string]struct {
		tell func(waits)
		wait time.Duration
	}{
		"a pod that is created":                  {func(q waits) { events.Create(t.Context(), event.CreateEvent{Object: calm}, q) }, 100 * time.Millisecond},
		"a pod that changes":                     {func(q waits) { events.Update(t.Context(), event.UpdateEvent{ObjectOld: old, ObjectNew: calm}, q) }, 100 * time.Millisecond},
		"a pod that goes":                        {func(q waits) { events.Delete(t.Context(), event.DeleteEvent{Object: calm}, q) }, 100 * time.Millisecond},
		"a pod that has become urgent":           {func(q waits) { events.Update(t.Context(), event.UpdateEvent{ObjectOld: old, ObjectNew: urgent}, q) }, 0},
		"one that is created urgent":             {func(q waits) { events.Create(t.Context(), event.CreateEvent{Object: urgent}, q) }, 0},
		"one that is urgent while it goes":       {func(q waits) { events.Delete(t.Context(), event.DeleteEvent{Object: urgent}, q) }, 0},
		"one that was urgent and isn't any more": {func(q waits) { events.Update(t.Context(), event.UpdateEvent{ObjectOld: urgent, ObjectNew: calm}, q) }, 100 * time.Millisecond},
	} {
		queued := waits{added: map[string]priorityqueue.AddOpts{}}
		test.tell(queued)
		g.Expect(queued.added).To(HaveLen(1), name)
		g.Expect(queued.added["shop/web-1"].After).To(Equal(test.wait), name)
	}
}

func TestEventsKeepTheLowPriorityOfTheInitialList(t *testing.T) {
	g := NewWithT(t)
	queued := waits{added: map[string]priorityqueue.AddOpts{}}
	events := debounce.Handler(&handler.EnqueueRequestForObject{}, debounce.Never)
	events.Create(t.Context(), event.CreateEvent{Object: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}, IsInInitialList: true}, queued)
	g.Expect(queued.added["shop/web-1"].After).To(Equal(100 * time.Millisecond))
	g.Expect(*queued.added["shop/web-1"].Priority).To(Equal(handler.LowPriority))
}

// delays is a queue that records the delay of each key.
type delays struct {
	workqueue.TypedRateLimitingInterface[reconcile.Request]
	added map[string]time.Duration
}

func (d delays) AddAfter(key reconcile.Request, delay time.Duration) { d.added[key.String()] = delay }

func TestSingleAddsOneRequestForEveryObject(t *testing.T) {
	events := debounce.Single(2 * time.Second)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1"}}
	for name, tell := range map[string]func(delays){
		"one that is created": func(q delays) { events.Create(t.Context(), event.CreateEvent{Object: pod}, q) },
		"one that changes":    func(q delays) { events.Update(t.Context(), event.UpdateEvent{ObjectOld: pod, ObjectNew: pod}, q) },
		"one that goes":       func(q delays) { events.Delete(t.Context(), event.DeleteEvent{Object: pod}, q) },
	} {
		queued := delays{added: map[string]time.Duration{}}
		tell(queued)
		NewWithT(t).Expect(queued.added).To(Equal(map[string]time.Duration{"/": 2 * time.Second}), name)
	}
}
