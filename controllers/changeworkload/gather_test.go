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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// waits is a queue that keeps how long each key was put off.
type waits struct {
	queue
	keys map[string]time.Duration
}

func (w waits) AddAfter(key reconcile.Request, wait time.Duration) { w.keys[key.String()] = wait }
func (w waits) Add(key reconcile.Request)                          { w.keys[key.String()] = 0 }

func TestABatchThatPassesWaitsForOthersAndOneThatFailsIsToldOfAtOnce(t *testing.T) {
	g := NewWithT(t)
	events := gather(handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "web--x--abc"}}}
	}), hasFailed)
	told := func(tell func(queue)) map[string]time.Duration {
		queued := waits{keys: map[string]time.Duration{}}
		tell(queued)
		return queued.keys
	}
	passed := &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--abc--x--1"}}
	passed.Spec.PodInfos = []appv1alpha1.PodSummary{{Pod: "web-1"}}
	passed.Status.Status = "ExecuteDone"
	passed.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "web-1", Verdict: "pass"}}
	failed := passed.DeepCopy()
	failed.Status.PodResults[0].Verdict = "unpass"
	update := func(changed *appv1alpha1.ChangePod) func(queue) {
		return func(q queue) { events.Update(t.Context(), event.UpdateEvent{ObjectOld: passed, ObjectNew: changed}, q) }
	}
	g.Expect(told(update(passed))).To(Equal(map[string]time.Duration{"shop/web--x--abc": 100 * time.Millisecond}))
	g.Expect(told(update(failed))).To(Equal(map[string]time.Duration{"shop/web--x--abc": 0}))
	g.Expect(told(func(q queue) { events.Delete(t.Context(), event.DeleteEvent{Object: passed}, q) })).To(
		Equal(map[string]time.Duration{"shop/web--x--abc": 0}))
}
