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

package dynamic_test

import (
	"bytes"
	"context"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
)

// seen are the names that controllers reconciled.
type seen struct {
	mutex sync.Mutex
	names map[string]int
	// during takes the context of each reconcile, at its start and at its end; nil if it isn't needed.
	during chan context.Context
}

func (s *seen) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	s.mutex.Lock()
	s.names[request.Name]++
	s.mutex.Unlock()
	if s.during != nil {
		s.during <- ctx
		s.during <- ctx
	}
	return reconcile.Result{}, ctx.Err()
}

func (s *seen) count(name string) func() int {
	return func() int {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.names[name]
	}
}

// bench is a manager with a Runner and controllers of all kinds, on an API server with gadgets.
type bench struct {
	*testing.T
	stub   *stub
	kube   client.Client
	cached client.Client
	runner *dynamic.Runner
	kind   declared.Kind
	// own reconciles gadgets after their events and those of pods, and other what is named like a gadget.
	own     *seen
	other   *seen
	changed *seen
	created int
	// reconciler is that of all kinds.
	reconciler reconcile.TypedReconciler[bykind.Request]
}

func newBench(t *testing.T) *bench {
	t.Helper()
	g := NewWithT(t)
	stub, address := newStub(t)
	b := &bench{T: t, stub: stub, kind: gadgets(t), runner: &dynamic.Runner{},
		own: &seen{names: map[string]int{}}, other: &seen{names: map[string]int{}}, changed: &seen{names: map[string]int{}}}
	kube, err := client.New(address, client.Options{Scheme: testkit.Scheme()})
	g.Expect(err).NotTo(HaveOccurred())
	b.kube = kube
	mgr, err := ctrl.NewManager(address, ctrl.Options{
		Scheme: testkit.Scheme(), NewClient: b.runner.NewClient, Metrics: server.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	g.Expect(err).NotTo(HaveOccurred())
	b.cached = mgr.GetClient()
	_, err = mgr.GetCache().GetInformer(t.Context(), &corev1.Pod{}) // that of other controllers
	g.Expect(err).NotTo(HaveOccurred())
	b.reconciler = b.runner.Reconciler(func(workload.Kind) reconcile.Reconciler {
		b.created++
		return b.own
	})
	g.Expect(bykind.NewController(mgr, "declared", 2).
		WatchesRawSource(b.runner.Workloads(mgr, func(workload.Kind) predicate.Predicate { return predicate.Funcs{} })).
		Watches(&corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(bykind.Mapper{Kinds: b.runner, Client: b.cached}.All)).
		Complete(b.reconciler)).To(Succeed())
	g.Expect(ctrl.NewControllerManagedBy(mgr).Named("starter").WatchesRawSource(b.runner.Changes(mgr)).Complete(b.changed)).To(Succeed())
	g.Expect(ctrl.NewControllerManagedBy(mgr).Named("other").
		WatchesRawSource(b.runner.Watch(func(workload.Kind) dynamic.Handling {
			return dynamic.Handling{Handler: &handler.EnqueueRequestForObject{}}
		})).Complete(b.other)).To(Succeed())
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		NewWithT(t).Expect(<-ended).To(Succeed())
	})
	g.Eventually(b.changed.count(""), 30*time.Second).Should(BeNumerically(">", 0))
	return b
}

// gadgets returns a compiled kind.
func gadgets(t *testing.T) declared.Kind {
	t.Helper()
	compiler, err := declared.NewCompiler()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	controlled := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "gadgets.example.com"}}
	controlled.Spec = appv1alpha1.ControlledKindSpec{Mode: "Enforce", Release: &appv1alpha1.ReleaseContent{Templates: []string{"spec.template"}}}
	kind, problems := compiler.Compile(controlled, declared.Definition{
		GroupVersionKind: schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gadget"}, Resource: "gadgets", Namespaced: true,
	})
	NewWithT(t).Expect(problems).To(BeEmpty())
	return kind
}

func (b *bench) gadget(name string) *unstructured.Unstructured {
	b.Helper()
	gadget := b.kind.New().(*unstructured.Unstructured)
	gadget.SetNamespace("default")
	gadget.SetName(name)
	gadget.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": "0123456789abcdef0123456789abcdef"})
	gadget.Object["spec"] = map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{}}}
	NewWithT(b).Expect(b.kube.Create(b.Context(), gadget)).To(Succeed())
	return gadget
}

// goroutines returns the stacks of the goroutines of gadgets, each with their number, but for those of connections, which the transport keeps
// for all.
func goroutines() string {
	var text bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
	stacks := slices.DeleteFunc(strings.Split(text.String(), "\n\n"), func(stack string) bool {
		return !strings.Contains(stack, `"controlledkind":"gadgets.example.com"`) ||
			strings.Contains(stack, "(*persistConn).readLoop") || strings.Contains(stack, "(*persistConn).writeLoop")
	})
	return strings.Join(stacks, "\n\n")
}

// count returns the number of goroutines in such stacks.
func count(t *testing.T, stacks string) int {
	t.Helper()
	total := 0
	for stack := range strings.SplitSeq(stacks, "\n\n") {
		number, err := strconv.Atoi(strings.Fields(stack)[0])
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), stack)
		total += number
	}
	return total
}

func (b *bench) start() {
	b.Helper()
	g := NewWithT(b)
	g.Expect(b.runner.Start(b.kind)).To(Succeed())
	g.Eventually(func() bool { return b.runner.State("gadgets.example.com").Synced }, 10*time.Second).Should(BeTrue())
}

func TestRunner(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	first := b.gadget("first")
	key := client.ObjectKeyFromObject(first)
	found := b.kind.New()
	g.Expect(apierrors.IsNotFound(b.cached.Get(t.Context(), key, found))).To(BeTrue(), "the kind doesn't run")
	list := b.kind.NewList().(*unstructured.UnstructuredList)
	g.Expect(b.cached.List(t.Context(), list)).To(Succeed())
	g.Expect(list.Items).To(BeEmpty())

	b.start()
	g.Eventually(b.own.count("first")).Should(BeNumerically(">", 0))
	g.Eventually(b.other.count("first")).Should(BeNumerically(">", 0))
	g.Eventually(b.changed.count("")).Should(BeNumerically(">", 0))
	g.Expect(b.cached.Get(t.Context(), key, found)).To(Succeed())
	g.Expect(found.(*unstructured.Unstructured).Object).NotTo(HaveKeyWithValue("spec", HaveKey("template")), "it is from the cache")
	b.gadget("second")
	g.Eventually(b.other.count("second")).Should(BeNumerically(">", 0))
	g.Expect(b.cached.List(t.Context(), list)).To(Succeed())
	g.Expect(list.Items).To(HaveLen(2))

	written := b.kind.New()
	written.SetNamespace("default")
	written.SetName("first")
	g.Expect(b.cached.Patch(t.Context(), written, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))).To(Succeed())
	g.Expect(b.cached.Get(t.Context(), key, found)).To(Succeed())
	g.Expect(found.GetLabels()).To(HaveKeyWithValue("a", "b"), "a write is read at once")

	g.Expect(goroutines()).To(ContainSubstring("client-go/tools/cache"))
	b.runner.Stop("gadgets.example.com")
	g.Expect(b.runner.Started()).To(BeEmpty())
	g.Eventually(goroutines, 5*time.Second).Should(BeEmpty(), "all end")
	g.Eventually(b.stub.watched, 5*time.Second).Should(BeZero())
	g.Expect(apierrors.IsNotFound(b.cached.Get(t.Context(), key, found))).To(BeTrue())

	b.start()
	b.gadget("third")
	g.Eventually(b.own.count("third")).Should(BeNumerically(">", 0), "it may be started again")
	g.Expect(b.created).To(Equal(2), "with a new reconciler: the former may remember workloads")
	b.runner.Stop("gadgets.example.com")
}

func TestRunnerHoldsAllWorkloadsOfAnObservedKindAndRefusesToWriteToThem(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	kind := observed.Of(b.kind)
	first := kind.New().(*unstructured.Unstructured)
	first.SetNamespace("default")
	first.SetName("first")
	first.Object["spec"] = map[string]any{"template": map[string]any{"spec": map[string]any{}}}
	g.Expect(b.kube.Create(t.Context(), first)).To(Succeed())
	g.Expect(b.runner.Start(kind)).To(Succeed())
	g.Eventually(b.own.count("first")).Should(BeNumerically(">", 0), "it has no version label")
	found := kind.New()
	g.Expect(b.cached.Get(t.Context(), client.ObjectKeyFromObject(first), found)).To(Succeed())
	g.Expect(kind.Sighting(found).Version).To(MatchRegexp("^[0-9a-f]{32}$"))
	err := b.cached.Patch(t.Context(), found, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))
	g.Expect(err).To(MatchError("Gadget default/first is only observed: the operator writes nothing to it"))
	g.Expect(b.runner.Reader(b.cached, live(b.kube)).Get(t.Context(), client.ObjectKeyFromObject(first), found)).To(Succeed())
	g.Expect(found.(*unstructured.Unstructured).Object).To(HaveKeyWithValue("spec", HaveKey("template")), "whole, as on replicas that don't observe it")
	b.runner.Stop("gadgets.example.com")
}

func TestRunnerNeedsFewGoroutinesForAKind(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.start()
	b.gadget("first")
	g.Eventually(b.own.count("first")).Should(BeNumerically(">", 0))
	g.Eventually(b.other.count("first")).Should(BeNumerically(">", 0))
	g.Eventually(func() int { return count(t, goroutines()) }).Should(BeNumerically("<=", 15), "those of the cache: %s", goroutines())
	b.runner.Stop("gadgets.example.com")
}

func TestRunnerMapsOtherEventsToTheKindsThatRun(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.gadget("first")
	g.Expect(b.runner.Snapshot()).To(BeEmpty())
	b.start()
	g.Expect(b.runner.Snapshot()).To(HaveExactElements(b.kind))
	g.Eventually(b.own.count("first")).Should(BeNumerically(">", 0))
	before := b.own.count("first")()
	pods := 0
	g.Eventually(func(g Gomega) {
		pods++ // the stub drops the events before a watch
		pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod"}}
		pod.SetNamespace("default")
		pod.SetName("pod-" + strconv.Itoa(pods))
		g.Expect(b.kube.Create(t.Context(), pod)).To(Succeed())
		g.Expect(b.own.count("first")()).To(BeNumerically(">", before))
	}).Should(Succeed())
	b.runner.Stop("gadgets.example.com")
	g.Expect(b.runner.Snapshot()).To(BeEmpty())
}

func TestWatchBringsTheWorkloadsOfAKindThatRuns(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.gadget("first")
	b.start()
	late := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer late.ShutDown()
	watch := b.runner.Watch(func(workload.Kind) dynamic.Handling {
		return dynamic.Handling{Handler: &handler.EnqueueRequestForObject{}}
	})
	g.Expect(watch.Start(t.Context(), late)).To(Succeed())
	g.Eventually(late.Len, 10*time.Second).Should(Equal(1))
	b.runner.Stop("gadgets.example.com")
}

func TestRunnerStopWaitsForReconciles(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.own.during = make(chan context.Context)
	b.gadget("first")
	b.start()
	running, stopped := <-b.own.during, make(chan struct{})
	go func() {
		b.runner.Stop("gadgets.example.com")
		close(stopped)
	}()
	g.Eventually(running.Done(), 10*time.Second).Should(BeClosed(), "it is canceled")
	g.Consistently(stopped, 50*time.Millisecond).ShouldNot(BeClosed())
	<-b.own.during
	g.Eventually(stopped, 10*time.Second).Should(BeClosed())

	late := bykind.Request{Kind: schema.GroupKind{Group: "example.com", Kind: "Gadget"}, ObjectKey: client.ObjectKey{Namespace: "default", Name: "first"}}
	g.Expect(b.reconciler.Reconcile(t.Context(), late)).To(Equal(reconcile.Result{}))
	g.Expect(b.own.count("first")()).To(Equal(1), "a request that comes later is dropped")
}

func TestRunnerStopWhileTheCacheIsFilled(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	for range 20 {
		g.Expect(b.runner.Start(b.kind)).To(Succeed())
		b.runner.Stop("gadgets.example.com")
	}
	g.Eventually(goroutines, 5*time.Second).Should(BeEmpty())
}

// live returns a reader from an API server.
func live(kube client.Reader) *bounded.Reader {
	return bounded.NewReader(kube, clocktesting.NewFakePassiveClock(testkit.Now()))
}

func TestReaderReadsKindsThatDoNotRunFromTheAPIServer(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	gadget := b.gadget("elsewhere")
	reader := b.runner.Reader(b.cached, live(b.kube))
	found := b.kind.New()
	g.Expect(reader.Get(t.Context(), client.ObjectKeyFromObject(gadget), found)).To(Succeed())
	g.Expect(found.(*unstructured.Unstructured).Object).To(HaveKeyWithValue("spec", HaveKey("template")))
	b.start()
	g.Expect(reader.Get(t.Context(), client.ObjectKeyFromObject(gadget), found)).To(Succeed())
	g.Expect(found.(*unstructured.Unstructured).Object).NotTo(HaveKeyWithValue("spec", HaveKey("template")))
	b.runner.Stop("gadgets.example.com")
}
