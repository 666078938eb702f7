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
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

func keyOf(name string) client.ObjectKey { return client.ObjectKey{Namespace: "shop", Name: name} }

func newQueue(t *testing.T) workqueue.TypedRateLimitingInterface[reconcile.Request] {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	return queue
}

// TestTurns does the steps of each row while 15 turns are taken: "a?" asks for a turn for a, "a!" does so and gets it, "a-" passes,
// "-" ends a turn. calls are the keys that are called by then.
func TestTurns(t *testing.T) {
	for _, row := range []struct {
		name, steps string
		calls       []string
	}{
		{"none is called before a turn ends", "a? b?", nil},
		{"first come, first served", "a? b? c? - -", []string{"a", "b"}},
		{"a key that asks again keeps its place", "a? b? a? -", []string{"a"}},
		{"a key that asks again is called once", "a? b? a? - - -", []string{"a", "b"}},
		{"the called key has the turn, whichever asks first", "a? - b? a!", []string{"a"}},
		{"a turn that ends where none waits is free", "- b!", nil},
		{"a turn is had once", "a? - a! a?", []string{"a"}},
		{"a turn that is not needed goes to the next one", "a? b? - a-", []string{"a", "b"}},
		{"and is free where none waits", "a? - a- c!", []string{"a"}},
		{"a key that was not called has nothing to pass", "a? b? a- -", []string{"a"}},
		{"nor one that took its turn", "a? b? - a! a-", []string{"a"}},
		{"nor one that is not known", "x- a? -", []string{"a"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			var shared turns
			queue := newQueue(t)
			g.Expect(shared.start(t.Context(), queue)).To(Succeed())
			for i := range 15 {
				g.Expect(shared.take(keyOf(fmt.Sprint(i)))).To(BeTrue())
			}
			for _, step := range strings.Fields(row.steps) {
				key := keyOf(step[:len(step)-1])
				switch step[len(step)-1] {
				case '?':
					g.Expect(shared.take(key)).To(BeFalse(), step)
				case '!':
					g.Expect(shared.isCalled(key) || shared.taken < 15).To(BeTrue(), step)
					g.Expect(shared.take(key)).To(BeTrue(), step)
				case '-':
					if key.Name == "" {
						shared.give()
					} else {
						shared.pass(key)
					}
				}
			}
			var calls []string
			for queue.Len() > 0 {
				request, _ := queue.Get()
				calls = append(calls, request.Name)
			}
			g.Expect(calls).To(HaveExactElements(row.calls))
		})
	}
}

func TestTurnsRememberNothingOnceAllWereHad(t *testing.T) {
	g := NewWithT(t)
	var shared turns
	queue := newQueue(t)
	g.Expect(shared.start(t.Context(), queue)).To(Succeed())
	var under, most, done int
	var mutex sync.Mutex
	count := func(by int) {
		mutex.Lock()
		defer mutex.Unlock()
		under += by
		most = max(most, under)
		if by < 0 {
			if done++; done == 1000 {
				queue.ShutDown()
			}
		}
	}
	for i := range 1000 {
		queue.Add(reconcile.Request{NamespacedName: keyOf(fmt.Sprint(i))})
	}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for {
				request, shutdown := queue.Get()
				if shutdown {
					return
				}
				if shared.take(request.NamespacedName) {
					count(1)
					count(-1)
					shared.give()
				}
				queue.Done(request)
			}
		})
	}
	group.Wait()
	g.Expect(most).To(BeNumerically("<=", 15))
	g.Expect(shared.taken).To(BeZero())
	g.Expect(shared.waiting).To(BeEmpty())
	g.Expect(shared.called).To(BeEmpty())
}

// slowServer takes calls, and answers none before it may.
type slowServer struct {
	verifier.Announcer
	calls  chan string
	answer chan struct{}
}

func newSlowServer() *slowServer {
	return &slowServer{calls: make(chan string, 100), answer: make(chan struct{})}
}

func (s *slowServer) take(ctx context.Context, name string) error {
	s.calls <- name
	select {
	case <-s.answer:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *slowServer) Close(ctx context.Context, release verifier.Release, _ appv1alpha1.OrderState) error {
	return s.take(ctx, release.Version)
}

func TestReconcileLeavesTheReservedWorkersFreeOfFarewells(t *testing.T) {
	g := NewWithT(t)
	kube, server, queue := fake.NewClientBuilder().WithScheme(testkit.Scheme()), newSlowServer(), newQueue(t)
	for i := range 20 {
		workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: fmt.Sprintf("web-%02d", i), DeletionTimestamp: &metav1.Time{Time: time.Now()},
			Finalizers: []string{"altershield.defense.antgroup.com/change-order"},
		}}
		workload.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: workload.Name, State: "Open"}
		kube.WithObjects(workload)
		queue.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(workload)})
	}
	api := kube.Build()
	reconciler := &Reconciler{
		Client: api, Verifier: server, Clock: clock.RealClock{}, Looks: &looks.Background{},
	}
	g.Expect(reconciler.turns.start(t.Context(), queue)).To(Succeed())
	var group sync.WaitGroup
	idle := make(chan ctrl.Result, 100)
	for range 20 {
		group.Go(func() {
			for {
				request, shutdown := queue.Get()
				if shutdown {
					return
				}
				result, err := reconciler.Reconcile(t.Context(), request)
				queue.Done(request)
				if err == nil {
					idle <- result
				}
			}
		})
	}
	for range 5 {
		g.Eventually(idle).WithTimeout(time.Minute).Should(Receive(Equal(ctrl.Result{})), "it waits to be called, and takes no worker or time until then")
	}
	g.Eventually(server.calls).WithTimeout(time.Minute).Should(HaveLen(15))
	g.Expect(idle).To(BeEmpty())
	for range 20 {
		server.answer <- struct{}{}
	}
	for range 20 {
		g.Eventually(idle).WithTimeout(time.Minute).Should(Receive(Equal(ctrl.Result{})))
	}
	var left appv1alpha1.ChangeWorkloadList
	g.Expect(api.List(t.Context(), &left)).To(Succeed())
	g.Expect(left.Items).To(BeEmpty(), "each order was closed, so that all records are gone")
	queue.ShutDown()
	group.Wait()
}

func TestOrderWaitsForItsTurnWithoutATimer(t *testing.T) {
	g := NewWithT(t)
	queue := newQueue(t)
	reconciler := &Reconciler{Verifier: newSlowServer()}
	g.Expect(reconciler.turns.start(t.Context(), queue)).To(Succeed())
	for i := range 15 {
		g.Expect(reconciler.turns.take(keyOf(fmt.Sprint(i)))).To(BeTrue())
	}
	workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	for range 3 {
		g.Expect(reconciler.order(t.Context(), workload, &decide.Decision{Order: decide.OrderPlan{Open: true}})).To(BeZero())
	}
	g.Expect(queue.Len()).To(BeZero())
	reconciler.turns.give()
	g.Expect(queue.Len()).To(Equal(1), "it is called once there is a turn")
}

func TestReconcilePassesTheTurnOfARecordThatIsGone(t *testing.T) {
	g := NewWithT(t)
	queue := newQueue(t)
	reconciler := &Reconciler{Client: void{}, Looks: &looks.Background{}}
	g.Expect(reconciler.turns.start(t.Context(), queue)).To(Succeed())
	for i := range 15 {
		reconciler.turns.take(keyOf(fmt.Sprint(i)))
	}
	reconciler.turns.take(keyOf("gone"))
	reconciler.turns.take(keyOf("next"))
	reconciler.turns.give()
	g.Expect(reconciler.turns.isCalled(keyOf("gone"))).To(BeTrue())
	g.Expect(reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: keyOf("gone")})).To(Equal(ctrl.Result{}))
	g.Expect(reconciler.turns.isCalled(keyOf("next"))).To(BeTrue())
}
