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
	"os"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

const gadgetCRD = `
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties:
              paused: {type: boolean}
              replicas: {type: integer}
              template: {type: object, x-kubernetes-preserve-unknown-fields: true}`

// seen are the names that controllers reconciled.
type seen struct {
	mutex sync.Mutex
	names map[string]int
}

func (s *seen) Reconcile(_ context.Context, request reconcile.Request) (reconcile.Result, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.names[request.Name]++
	return reconcile.Result{}, nil
}

func (s *seen) count(name string) func() int {
	return func() int {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		return s.names[name]
	}
}

// own is a controller of one kind, which also watches pods in the cache of the manager.
type own struct {
	*seen
	kind workload.Kind
}

func (o own) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named("gadget").For(o.kind.New()).
		Watches(&corev1.Pod{}, &handler.EnqueueRequestForObject{}).Complete(o)
}

// bench is a manager with a Runner, a controller of all kinds, and the CRD of gadgets.
type bench struct {
	*testing.T
	kube    client.Client
	cached  client.Client
	runner  *dynamic.Runner
	kind    declared.Kind
	own     *seen
	shared  *seen
	changed *seen
}

func newBench(t *testing.T) *bench {
	t.Helper()
	g := NewWithT(t)
	b := &bench{T: t, kube: apiServer.Client(t), runner: &dynamic.Runner{},
		own: &seen{names: map[string]int{}}, shared: &seen{names: map[string]int{}}, changed: &seen{names: map[string]int{}}}
	b.install()
	options, err := scope.CacheOptions(testkit.Kinds())
	g.Expect(err).NotTo(HaveOccurred())
	mgr, err := ctrl.NewManager(apiServer.Config(t), ctrl.Options{
		Scheme: testkit.Scheme(), Cache: options, NewClient: b.runner.NewClient, Metrics: server.Options{BindAddress: "0"},
	})
	g.Expect(err).NotTo(HaveOccurred())
	b.cached = mgr.GetClient()
	b.runner.Control(func(kind workload.Kind) dynamic.Controller { return own{b.own, kind} })
	name := strings.ToLower(t.Name())
	g.Expect(ctrl.NewControllerManagedBy(mgr).Named(name + "-starter").WatchesRawSource(b.runner.Changes(mgr)).Complete(b.changed)).To(Succeed())
	g.Expect(ctrl.NewControllerManagedBy(mgr).Named(name + "-shared").
		WatchesRawSource(b.runner.Watch(func(workload.Kind) dynamic.Handling {
			return dynamic.Handling{Handler: &handler.EnqueueRequestForObject{}}
		})).Complete(b.shared)).To(Succeed())
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

func (b *bench) install() {
	b.Helper()
	g := NewWithT(b)
	var crd apiextensionsv1.CustomResourceDefinition
	g.Expect(yaml.Unmarshal([]byte(gadgetCRD), &crd)).To(Succeed())
	g.Expect(client.IgnoreAlreadyExists(b.kube.Create(b.Context(), &crd))).To(Succeed())
	definition, err := declared.DefinitionOf(&crd, "v1")
	g.Expect(err).NotTo(HaveOccurred())
	compiler, err := declared.NewCompiler()
	g.Expect(err).NotTo(HaveOccurred())
	controlled := &appv1alpha1.ControlledKind{}
	controlled.Name = "gadgets.example.com"
	controlled.Spec = appv1alpha1.ControlledKindSpec{Mode: "Enforce", Release: &appv1alpha1.ReleaseContent{Templates: []string{"spec.template"}}}
	kind, problems := compiler.Compile(controlled, definition)
	g.Expect(problems).To(BeEmpty())
	b.kind = kind
	g.Eventually(func() error { return b.kube.List(b.Context(), kind.NewList()) }, 10*time.Second).Should(Succeed())
}

func (b *bench) gadget(name string) *unstructured.Unstructured {
	b.Helper()
	gadget := b.kind.New().(*unstructured.Unstructured)
	gadget.SetNamespace("default")
	gadget.SetName(name)
	gadget.SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": "0123456789abcdef0123456789abcdef"})
	gadget.Object["spec"] = map[string]any{"replicas": int64(3), "template": map[string]any{"spec": map[string]any{}}}
	NewWithT(b).Expect(b.kube.Create(b.Context(), gadget)).To(Succeed())
	b.Cleanup(func() { _ = b.kube.Delete(context.Background(), gadget) })
	return gadget
}

// goroutines returns the number of those of gadgets, and where they are.
func goroutines() (count int, profile string) {
	var text bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1)
	for _, stack := range strings.Split(text.String(), "\n\n") {
		if strings.Contains(stack, `"controlledkind":"gadgets.example.com"`) {
			count++
			profile += stack + "\n\n"
		}
	}
	return count, profile
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
	g.Eventually(b.shared.count("first")).Should(BeNumerically(">", 0))
	g.Eventually(b.changed.count("")).Should(BeNumerically(">", 0))
	g.Expect(b.cached.Get(t.Context(), key, found)).To(Succeed())
	g.Expect(found.(*unstructured.Unstructured).Object).NotTo(HaveKeyWithValue("spec", HaveKey("template")), "it is from the cache")
	b.gadget("second")
	g.Eventually(b.shared.count("second")).Should(BeNumerically(">", 0))
	g.Expect(b.cached.List(t.Context(), list)).To(Succeed())
	g.Expect(list.Items).To(HaveLen(2))

	written := b.kind.New()
	written.SetNamespace("default")
	written.SetName("first")
	g.Expect(b.cached.Patch(t.Context(), written, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`)))).To(Succeed())
	g.Expect(b.cached.Get(t.Context(), key, found)).To(Succeed())
	g.Expect(found.GetLabels()).To(HaveKeyWithValue("a", "b"), "a write is read at once")

	began, _ := goroutines()
	g.Expect(began).To(BeNumerically(">", 0))
	b.runner.Stop("gadgets.example.com")
	g.Expect(b.runner.Started()).To(BeEmpty())
	g.Eventually(func() string {
		_, profile := goroutines()
		return profile
	}, 5*time.Second).Should(BeEmpty(), "every goroutine of the kind ends")
	g.Expect(apierrors.IsNotFound(b.cached.Get(t.Context(), key, found))).To(BeTrue())

	b.start()
	again := b.own.count("first")()
	third := b.gadget("third")
	g.Eventually(b.own.count("third")).Should(BeNumerically(">", 0), "its controllers may be set up again")
	g.Expect(again).To(BeNumerically(">", 1))
	g.Expect(third.GetName()).To(Equal("third"))
	b.runner.Stop("gadgets.example.com")
}

func TestRunnerStopWhileTheCacheIsFilled(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	for range 20 {
		g.Expect(b.runner.Start(b.kind)).To(Succeed())
		b.runner.Stop("gadgets.example.com")
	}
	g.Eventually(func() string {
		_, profile := goroutines()
		return profile
	}, 5*time.Second).Should(BeEmpty())
}

func TestReaderReadsKindsThatDoNotRunFromTheAPIServer(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	gadget := b.gadget("elsewhere")
	reader := b.runner.Reader(b.cached, b.kube)
	found := b.kind.New()
	g.Expect(reader.Get(t.Context(), client.ObjectKeyFromObject(gadget), found)).To(Succeed())
	g.Expect(found.(*unstructured.Unstructured).Object).To(HaveKeyWithValue("spec", HaveKey("template")))
	b.start()
	g.Expect(reader.Get(t.Context(), client.ObjectKeyFromObject(gadget), found)).To(Succeed())
	g.Expect(found.(*unstructured.Unstructured).Object).NotTo(HaveKeyWithValue("spec", HaveKey("template")))
	b.runner.Stop("gadgets.example.com")
	list, refused := b.kind.NewList(), error(nil)
	for range 300 {
		if refused = reader.List(t.Context(), list); refused != nil {
			break
		}
	}
	g.Expect(refused).To(MatchError("too many live reads at once"))
}
