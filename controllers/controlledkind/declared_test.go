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

package controlledkind

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/source"
	"sigs.k8s.io/yaml"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
)

// fakeRunner remembers what is started and stopped.
type fakeRunner struct {
	kinds   map[string]workload.Kind
	synced  bool
	failure error
	calls   []string
}

func (f *fakeRunner) Start(kind workload.Kind) error {
	if f.kinds == nil {
		f.kinds = map[string]workload.Kind{}
	}
	f.kinds[workload.ControlledKindName(kind)] = kind
	f.calls = append(f.calls, "start")
	return nil
}

func (f *fakeRunner) Stop(name string) {
	delete(f.kinds, name)
	f.calls = append(f.calls, "stop")
	f.failure = nil
}

func (f *fakeRunner) State(name string) dynamic.State {
	kind := f.kinds[name]
	return dynamic.State{Kind: kind, Synced: kind != nil && f.synced && f.failure == nil, Failure: f.failure}
}

func (f *fakeRunner) Started() []string { return slices.Sorted(maps.Keys(f.kinds)) }

func (f *fakeRunner) Changes(ctrl.Manager) source.Source { return nil }

func (f *fakeRunner) Watch(func(workload.Kind) dynamic.Handling) source.Source { return nil }

const (
	gadgets       = "gadgets.example.com"
	calledGadgets = "gadgets.example.com.altershield.defense.antgroup.com"
)

const gadgetCRD = `
metadata: {name: gadgets.example.com, generation: 1}
status: {conditions: [{type: Established, status: 'True'}]}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: gadgets, singular: gadget, kind: Gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
          spec:
            type: object
            properties:
              replicas: {type: integer}
              paused: {type: boolean}
              template: {type: object, x-kubernetes-preserve-unknown-fields: true}`

// newFakeBench is newBench with a fake client, which may do everything unless the permissions are withdrawn.
func newFakeBench(t *testing.T) (b *bench, withdraw func(bool)) {
	t.Helper()
	withdrawn := false
	fake := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			if review, ok := object.(*authorizationv1.SelfSubjectAccessReview); ok {
				review.Status.Allowed = !withdrawn || review.Spec.ResourceAttributes.Group != "example.com"
				return nil
			}
			return kube.Create(ctx, object, options...)
		},
	})
	return newBenchOn(t, fake), func(now bool) { withdrawn = now }
}

// install creates the CRD of gadgets.
func (b *bench) install() {
	b.Helper()
	b.installAs(gadgetCRD)
}

func (b *bench) installAs(text string) {
	b.Helper()
	var crd apiextensionsv1.CustomResourceDefinition
	NewWithT(b).Expect(yaml.Unmarshal([]byte(text), &crd)).To(Succeed())
	NewWithT(b).Expect(b.kube.Create(b.Context(), &crd)).To(Succeed())
}

func (b *bench) uninstall() {
	b.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: gadgets}}
	NewWithT(b).Expect(b.kube.Delete(b.Context(), crd)).To(Succeed())
}

// declare creates the ControlledKind of gadgets.
func (b *bench) declare(spec string) {
	b.Helper()
	controlled := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}}
	NewWithT(b).Expect(yaml.Unmarshal([]byte(spec), &controlled.Spec)).To(Succeed())
	NewWithT(b).Expect(b.kube.Create(b.Context(), controlled)).To(Succeed())
}

const enforcedGadgets = `{version: v1, mode: Enforce, release: {templates: [spec.template]}, hold: [{path: spec.paused, value: true}]}`

// compile runs the catalog of a replica.
func (b *bench) compile(catalog *Catalog) {
	b.Helper()
	_, err := catalog.Reconcile(b.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: gadgets}})
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
}

// settle compiles and reconciles until nothing is written any more.
func (b *bench) settle() {
	b.Helper()
	b.compile(b.catalog)
	for range 5 {
		if len(b.reconcile()) == 0 {
			return
		}
	}
	b.Fatal("it doesn't settle")
}

// enforce brings gadgets under change control.
func (b *bench) enforce() {
	b.Helper()
	b.install()
	b.declare(enforcedGadgets)
	b.reconcile()
	b.runner.synced = true
	b.settle()
}

func TestStampableSaysWhyTemplatesNeedNoLabel(t *testing.T) {
	for spec, message := range map[string]string{
		"{version: v1, mode: Enforce, release: {templates: [spec.template]}}": "the API server keeps the version label of pod templates",
		"{version: v1, mode: Enforce, release: {templates: [spec.template], identity: {by: Revision, label: gadget-hash, path: status.revision}}}": "pod templates need " +
			"no version label: release.identity tells pods apart by a label of their controller",
	} {
		b, _ := newFakeBench(t)
		b.declare(spec)
		b.install()
		b.settle()
		NewWithT(t).Expect(b.message(gadgets, "Stampable")).To(Equal(message))
	}
}

func TestReconcileWaitsForTheCRDOfADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.declare(enforcedGadgets)
	g.Expect(b.reconcile()).To(HaveLen(6), "it creates the built-in kinds, and waits for the catalog with the rest")
	b.settle()
	g.Expect(b.conditions(gadgets)).To(Equal(map[string]string{"Served": "False NotServed", "Ready": "False NotServed"}))
	g.Expect(b.message(gadgets, "Ready")).To(Equal("there is no CustomResourceDefinition gadgets.example.com: install it"))
	g.Expect(b.conditions("statefulsets.apps")).To(HaveKeyWithValue("Admitted", "True WebhooksConfigured"))
	g.Expect(b.runner.calls).To(BeEmpty())

	b.install()
	b.settle()
	g.Expect(b.runner.calls).To(Equal([]string{"start"}))
	g.Expect(b.conditions(gadgets)).To(Equal(map[string]string{"Served": "True Served", "Permitted": "True Permitted", "Stampable": "True LabelsKept",
		"Synced": "False Syncing", "Admitted": "False Syncing", "Ready": "False Syncing"}))
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs, statefulSets}), "not before the cache has synced")
	b.runner.synced = true
	b.settle()
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, calledGadgets, jobs, statefulSets}))
	g.Expect(b.conditions(gadgets)).To(Equal(map[string]string{"Served": "True Served", "Permitted": "True Permitted", "Stampable": "True LabelsKept",
		"Synced": "True Synced", "Admitted": "True WebhooksConfigured", "Ready": "True Ready"}))

	b.uninstall()
	b.settle()
	g.Expect(b.runner.calls).To(Equal([]string{"start", "stop"}))
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs, statefulSets}))
	g.Expect(b.conditions(gadgets)).To(Equal(map[string]string{"Served": "False NotServed", "Ready": "False NotServed"}))
	g.Expect(b.kube.Delete(t.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
	b.settle()
	g.Expect(b.modes()).NotTo(HaveKey(gadgets), "without its CRD, there is nothing to release")
}

func TestReconcileKeepsTheWebhooksOfADeclaredKindWhileANewLeaderFillsItsCache(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.held()
	b.enforce()
	g.Expect(b.called()).To(ContainElement(calledGadgets))
	b.runner, b.catalog = &fakeRunner{}, &Catalog{Kinds: workload.NewSet(testkit.Kinds()...), Client: b.kube, Live: b.kube, Compiler: b.catalog.Compiler}
	b.as(b.kube)
	g.Expect(b.reconcile()).To(BeEmpty(), "nothing is decided before the catalog knows all kinds")
	b.settle()
	g.Expect(b.called()).To(ContainElement(calledGadgets))
	g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Synced", "False Syncing"))
	g.Expect(b.counts()).To(HaveField("Held", int32(1)), "its fields can't be changed meanwhile")
}

func (b *bench) counts() appv1alpha1.ControlledKindCounts {
	b.Helper()
	var controlled appv1alpha1.ControlledKind
	NewWithT(b).Expect(b.kube.Get(b.Context(), client.ObjectKey{Name: gadgets}, &controlled)).To(Succeed())
	return controlled.Status.Counts
}

func TestReconcileAsksForThePermissionsOfADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	b, withdraw := newFakeBench(t)
	b.install()
	b.declare(enforcedGadgets)
	b.reconcile()
	withdraw(true)
	b.settle()
	g.Expect(b.runner.calls).To(BeEmpty())
	g.Expect(b.conditions(gadgets)).To(Equal(map[string]string{"Served": "True Served", "Permitted": "False PermissionMissing",
		"Stampable": "True LabelsKept", "Synced": "False Syncing", "Admitted": "False PermissionMissing", "Ready": "False PermissionMissing"}))
	message := b.message(gadgets, "Ready")
	g.Expect(message).To(HavePrefix("the operator lacks permissions: get gadgets.example.com, list gadgets.example.com, watch gadgets.example.com, " +
		"patch gadgets.example.com, update gadgets.example.com/finalizers; apply this ClusterRole:\n"))
	_, text, _ := strings.Cut(message, "apply this ClusterRole:\n")
	var role rbacv1.ClusterRole
	g.Expect(yaml.UnmarshalStrict([]byte(text), &role)).To(Succeed())
	g.Expect(role.Labels).To(Equal(map[string]string{"altershield.defense.antgroup.com/aggregate-to-kinds": "true"}))
	withdraw(false)
	b.clock.SetTime(b.clock.Now().Add(time.Minute))
	b.settle()
	g.Expect(b.runner.calls).To(Equal([]string{"start"}))
}

func TestReconcileReviewsTheMissingPermissionsOfANewKindSoon(t *testing.T) {
	for age, wanted := range map[time.Duration]time.Duration{0: 5 * time.Second, 59 * time.Second: 5 * time.Second, time.Minute: time.Minute} {
		g := NewWithT(t)
		b, withdraw := newFakeBench(t)
		b.install()
		b.declare(enforcedGadgets)
		b.reconcile()
		var controlled appv1alpha1.ControlledKind
		g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &controlled)).To(Succeed())
		controlled.CreationTimestamp = metav1.NewTime(b.clock.Now().Add(-age))
		controlled.Generation++
		g.Expect(b.kube.Update(t.Context(), &controlled)).To(Succeed())
		b.compile(b.catalog)
		withdraw(true)
		b.settle()
		result, err := b.Reconcile(t.Context(), ctrl.Request{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Permitted", "False PermissionMissing"))
		g.Expect(result.RequeueAfter).To(Equal(wanted), age.String())
	}
}

func TestReconcileAsksForPermissionsToReadAnObservedKind(t *testing.T) {
	g := NewWithT(t)
	b, withdraw := newFakeBench(t)
	b.install()
	b.declare(strings.Replace(enforcedGadgets, "Enforce", "Observe", 1))
	b.reconcile()
	withdraw(true)
	b.settle()
	g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Ready", "False PermissionMissing"))
	g.Expect(b.message(gadgets, "Ready")).To(HavePrefix(
		"the operator lacks permissions: get gadgets.example.com, list gadgets.example.com, watch gadgets.example.com; apply this ClusterRole:\n"))
	g.Expect(b.runner.calls).To(BeEmpty())
}

func TestReconcileCountsTheWorkloadsOfAnObservedKind(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.install()
	b.declare(strings.Replace(enforcedGadgets, "Enforce", "Observe", 1))
	b.reconcile()
	g.Expect(b.kube.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})).To(Succeed()) // the cache holds no others
	for _, uid := range []string{"settled", "new", "unseen"} {
		gadget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Gadget",
			"metadata": map[string]any{"namespace": "shop", "name": uid, "uid": uid}}}
		g.Expect(b.kube.Create(t.Context(), gadget)).To(Succeed())
		gadget.SetNamespace("elsewhere")
		gadget.SetResourceVersion("")
		g.Expect(b.kube.Create(t.Context(), gadget)).To(Succeed())
		if uid == "unseen" {
			continue
		}
		record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: uid,
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: uid, UID: types.UID(uid), Controller: ptr.To(true)}}}}
		record.Spec.Observed = true
		if uid == "settled" {
			record.Status.Status = "Success"
		}
		g.Expect(b.kube.Create(t.Context(), record)).To(Succeed())
	}
	b.settle()
	b.runner.synced = true
	b.settle()
	var controlled appv1alpha1.ControlledKind
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &controlled)).To(Succeed())
	g.Expect(controlled.Status.Counts).To(Equal(appv1alpha1.ControlledKindCounts{Objects: 3, Releases: 1}))
}

func TestReconcileReportsTheFaultsOfADeclaration(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.install()
	b.declare(`{version: v1, mode: Enforce, release: {templates: [spec.templates]}, rules: [{name: n, operations: [UPDATE], expression: "object.", message: m}]}`)
	b.reconcile()
	b.settle()
	g.Expect(b.conditions(gadgets)).To(Equal(map[string]string{"Served": "True Served", "Ready": "False DeclarationInvalid"}))
	g.Expect(b.message(gadgets, "Ready")).To(And(ContainSubstring("spec.release.templates[0]: Invalid value"), ContainSubstring("spec.rules[0].expression: Invalid value")))
	g.Expect(b.runner.calls).To(BeEmpty())
	g.Expect(b.conditions("statefulsets.apps")).To(HaveKeyWithValue("Admitted", "True WebhooksConfigured"))
}

func TestDeclareRefusesWhatCanNotBeControlled(t *testing.T) {
	deleted := ptr.To(metav1.Now())
	compiler, err := declared.NewCompiler()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	for name, row := range map[string]struct {
		group, scope string
		mode         appv1alpha1.ControlledKindMode
		deleted      *metav1.Time
		problem      string
	}{
		"a group whose webhooks the operator may not write": {"gateway.networking.k8s.io", "Namespaced", "Enforce", nil,
			`spec.mode: Invalid value: "Enforce": the operator may not write webhooks for the groups *.k8s.io: use Observe`},
		"cluster-scoped objects": {"example.com", "Cluster", "Observe", nil,
			`metadata.name: Invalid value: "gadgets.example.com": its objects are cluster-scoped: only objects in namespaces that are opted in can be controlled`},
		"but not where they end":               {"example.com", "Cluster", "Enforce", deleted, ""},
		"nor where nothing is written":         {"gateway.networking.k8s.io", "Namespaced", "Observe", nil, ""},
		"nor where it ends":                    {"gateway.networking.k8s.io", "Namespaced", "Enforce", deleted, ""},
		"nor another group of the same ending": {"cluster.x-k8s.io", "Namespaced", "Enforce", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g, crd := NewWithT(t), gadgetDefinition(t)
			crd.Spec.Group, crd.Spec.Scope = row.group, apiextensionsv1.ResourceScope(row.scope)
			found := declare(compiler, &appv1alpha1.ControlledKind{
				ObjectMeta: metav1.ObjectMeta{Name: "gadgets." + row.group, DeletionTimestamp: row.deleted}, Spec: appv1alpha1.ControlledKindSpec{Mode: row.mode},
			}, crd)
			if row.problem == "" {
				g.Expect(found.invalid).To(BeEmpty())
				g.Expect(found.kind).NotTo(BeNil())
				return
			}
			g.Expect(found.kind).To(BeNil())
			g.Expect(found.problem).To(Equal(&problem{"DeclarationInvalid", row.problem}))
		})
	}
}

// held creates a gadget whose rollout the operator holds.
func (b *bench) held() *unstructured.Unstructured {
	b.Helper()
	gadget := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Gadget",
		"metadata": map[string]any{
			"namespace": "shop", "name": "web", "uid": "8d2f", "generation": int64(1),
			"labels": map[string]any{"admission-webhook-altershield.antgroup.com/version": "0123456789abcdef0123456789abcdef"},
			"annotations": map[string]any{
				"altershield.defense.antgroup.com/release": "3", "altershield.defense.antgroup.com/held": "3",
				"altershield.defense.antgroup.com/held-from": `{"/spec/paused":false}`,
				"altershield.defense.antgroup.com/frozen":    `{"release":3,"by":["ops/friday"],"concurrent":5}`,
			},
		},
		"spec": map[string]any{"paused": true, "template": map[string]any{"spec": map[string]any{}}},
	}}
	NewWithT(b).Expect(b.kube.Create(b.Context(), gadget)).To(Succeed())
	return gadget
}

func TestReconcileReleasesADeclaredKind(t *testing.T) {
	for name, leave := range map[string]func(*bench){
		"that is deleted": func(b *bench) {
			NewWithT(b).Expect(b.kube.Delete(b.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
		},
		"that is only observed": func(b *bench) { b.setMode(gadgets, "Observe") },
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, _ := newFakeBench(t)
			gadget := b.held()
			b.enforce()
			g.Expect(b.called()).To(ContainElement(calledGadgets))
			leave(b)
			b.compile(b.catalog)
			result, err := b.Reconcile(t.Context(), ctrl.Request{})
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(Equal(time.Second))
			g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs, statefulSets}))
			g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(gadget), gadget)).To(Succeed())
			g.Expect(gadget.Object["spec"]).To(HaveKeyWithValue("paused", false))
			g.Expect(gadget.GetAnnotations()).To(Equal(map[string]string{"altershield.defense.antgroup.com/release": "3"}))
			g.Expect(gadget.GetLabels()).To(HaveKey("admission-webhook-altershield.antgroup.com/version"), "labels stay")
			g.Expect(b.runner.calls).To(Equal([]string{"start", "stop"}))
			g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Ready", "False Releasing"))

			b.reconcile()
			var controlled appv1alpha1.ControlledKind
			err = b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &controlled)
			if name == "that is deleted" {
				g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
				return
			}
			g.Expect(controlled.Finalizers).To(BeEmpty())
			g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Ready", "False Syncing"))
			b.reconcile()
			g.Expect(b.runner.calls).To(Equal([]string{"start", "stop", "start"}), "it is observed once nothing is held")
			g.Expect(b.runner.kinds[gadgets]).To(BeAssignableToTypeOf(observed.Kind{}))
			b.reconcile()
			g.Expect(b.conditions(gadgets)).To(And(HaveKeyWithValue("Synced", "True Synced"), HaveKeyWithValue("Ready", "True Observing")))
			g.Expect(b.message(gadgets, "Ready")).To(Equal("releases of this kind are recorded and checked; nothing is written to its workloads"))
		})
	}
}

func TestReconcileResumesTheOtherRolloutsIfOneCanNotBeResumed(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	stuck := b.held()
	other := stuck.DeepCopy()
	other.SetName("zeta")
	other.SetResourceVersion("")
	g.Expect(b.kube.Create(t.Context(), other)).To(Succeed())
	b.enforce()
	b.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if object.GetName() == "web" {
				return errors.New("a policy denies it")
			}
			return kube.Patch(ctx, object, patch, options...)
		},
	})
	g.Expect(b.kube.Delete(t.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
	b.compile(b.catalog)
	_, err := b.Reconcile(t.Context(), ctrl.Request{})
	g.Expect(err).To(MatchError("patching Gadget shop/web: a policy denies it"))
	g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(other), other)).To(Succeed())
	g.Expect(other.Object["spec"]).To(HaveKeyWithValue("paused", false))
	g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Ready", "False Releasing"), "it waits for the one that is held")
	g.Expect(b.message(gadgets, "Ready")).To(Equal("patching Gadget shop/web: a policy denies it"))
	g.Expect(b.counts()).To(HaveField("Held", int32(2)), "those at its beginning: the fields can't be changed before the end")
}

func TestReconcileReleasesADeclaredKindAfterThePacesOfItsReleases(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	gadget := b.held()
	b.enforce()
	owner := []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: "web", UID: gadget.GetUID(), Controller: ptr.To(true)}}
	record := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gadgets.web--x--0123456789abcdef0123456789abcdef", OwnerReferences: owner},
		Status:     appv1alpha1.ChangeWorkloadStatus{Conditions: []metav1.Condition{{Type: "Paced", Status: "True", Reason: "StepRunning"}}},
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", OwnerReferences: owner, Labels: map[string]string{
			"altershield.defense.antgroup.com/gate": "start", "admission-webhook-altershield.antgroup.com/version": "0123456789abcdef0123456789abcdef"}},
		Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}},
	}
	alone, older := pod.DeepCopy(), pod.DeepCopy()
	alone.Name, alone.OwnerReferences = "alone", nil
	older.Name, older.Labels["admission-webhook-altershield.antgroup.com/version"] = "older", "c6c45d23c098bdf181853a85b60b5d74"
	numbered := older.DeepCopy()
	numbered.Name, numbered.OwnerReferences = "numbered-0", []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "numbered", UID: "s-1", Controller: ptr.To(true)}}
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "numbered", UID: "s-1", OwnerReferences: owner}}
	for _, object := range []client.Object{record, pod, alone, older, set, numbered} {
		g.Expect(b.kube.Create(t.Context(), object)).To(Succeed())
	}
	g.Expect(b.kube.Delete(t.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
	b.compile(b.catalog)
	waits := func() {
		result, err := b.Reconcile(t.Context(), ctrl.Request{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RequeueAfter).To(Equal(time.Second))
		g.Expect(b.runner.calls).To(Equal([]string{"start"}))
		g.Expect(b.message(gadgets, "Ready")).To(Equal("the paced releases are being rolled out to all pods"))
	}
	waits()
	g.Expect(b.kube.Get(t.Context(), client.ObjectKeyFromObject(gadget), gadget)).To(Succeed())
	g.Expect(gadget.Object["spec"]).To(HaveKeyWithValue("paused", false), "it waits with nothing held")

	record.Status.Conditions[0].Status, record.Status.Conditions[0].Reason = "False", "NotControlled"
	g.Expect(b.kube.Status().Update(t.Context(), record)).To(Succeed())
	waits()

	pod.Spec.SchedulingGates = nil
	g.Expect(b.kube.Update(t.Context(), pod)).To(Succeed())
	waits() // or nothing returns the pod for which its StatefulSet may wait
	g.Expect(b.kube.Delete(t.Context(), numbered)).To(Succeed())
	b.reconcile()
	g.Expect(b.runner.calls).To(Equal([]string{"start", "stop"}))
	b.reconcile()
	g.Expect(apierrors.IsNotFound(b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &appv1alpha1.ControlledKind{}))).To(BeTrue())
}

func TestReconcileRunsADeclaredKindThatLeavesOnceMoreAfterARestart(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	gadget := b.held()
	b.install()
	controlled := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets, UID: "g-1"}}
	g.Expect(yaml.Unmarshal([]byte(enforcedGadgets), &controlled.Spec)).To(Succeed())
	g.Expect(b.kube.Create(t.Context(), controlled)).To(Succeed())
	b.reconcile()
	b.runner.synced = true
	b.settle()
	owner := []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "Gadget", Name: "web", UID: gadget.GetUID(), Controller: ptr.To(true)}}
	record := &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "gadgets.web--x--0123456789abcdef0123456789abcdef", OwnerReferences: owner},
		Status:     appv1alpha1.ChangeWorkloadStatus{Conditions: []metav1.Condition{{Type: "Paced", Status: "True", Reason: "StepRunning"}}},
	}
	g.Expect(b.kube.Create(t.Context(), record)).To(Succeed())
	g.Expect(b.kube.Delete(t.Context(), controlled)).To(Succeed())
	b.compile(b.catalog)
	*b.runner = fakeRunner{} // of another process
	waits := func(message string) {
		result, err := b.Reconcile(t.Context(), ctrl.Request{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(result.RequeueAfter).To(Equal(time.Second))
		g.Expect(b.message(gadgets, "Ready")).To(Equal(message))
		g.Expect(b.runner.calls).To(Equal([]string{"start"}))
	}
	waits("the cache doesn't hold the workloads of this kind yet, whose releases may be paced")
	b.runner.synced = true
	waits("the paced releases are being rolled out to all pods")

	record.Status.Conditions[0].Status, record.Status.Conditions[0].Reason = "False", "NotControlled"
	g.Expect(b.kube.Status().Update(t.Context(), record)).To(Succeed())
	b.settle()
	g.Expect(b.runner.calls).To(Equal([]string{"start", "stop"}))
	g.Expect(apierrors.IsNotFound(b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &appv1alpha1.ControlledKind{}))).To(BeTrue())
}

func TestHeldReadsWholeObjectsOnlyOfThoseWithTheAnnotation(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	held := b.held()
	other := held.DeepCopy()
	other.SetName("other")
	other.SetResourceVersion("")
	other.SetAnnotations(map[string]string{"altershield.defense.antgroup.com/release": "3"})
	g.Expect(b.kube.Create(t.Context(), other)).To(Succeed())
	b.enforce()
	var read []string
	b.Live = interceptor.NewClient(b.kube, interceptor.Funcs{
		List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			read = append(read, fmt.Sprintf("list %T", list))
			return kube.List(ctx, list, options...)
		},
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			read = append(read, "get "+key.String())
			return kube.Get(ctx, key, object, options...)
		},
	})
	found, err := b.Reconciler.held(t.Context(), b.runner.kinds[gadgets])
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(found).To(ConsistOf(HaveField("GetName()", "web")))
	g.Expect(read).To(Equal([]string{"list *v1.PartialObjectMetadataList", "get shop/web"}))
}

func TestReconcileReleasesADeclaredKindWhosePermissionsAreGone(t *testing.T) {
	for name, row := range map[string]struct{ holds, ends bool }{"of which nothing is held": {false, true}, "of which a rollout is held": {true, false}} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b, withdraw := newFakeBench(t)
			if row.holds {
				b.held()
			}
			b.enforce()
			withdraw(true)
			var controlled appv1alpha1.ControlledKind
			g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &controlled)).To(Succeed())
			controlled.Generation++ // the API server does so with the deletion
			g.Expect(b.kube.Update(t.Context(), &controlled)).To(Succeed())
			g.Expect(b.kube.Delete(t.Context(), &controlled)).To(Succeed())
			b.compile(b.catalog)
			b.clock.SetTime(b.clock.Now().Add(time.Minute))
			b.settle()
			err := b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &controlled)
			g.Expect(apierrors.IsNotFound(err)).To(Equal(row.ends))
			if !row.ends {
				g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Ready", "False PermissionMissing"))
			}
		})
	}
}

func TestReconcileReviewsPermissionsAgainThatTurnOutToBeGone(t *testing.T) {
	g := NewWithT(t)
	b, withdraw := newFakeBench(t)
	b.enforce()
	g.Expect(b.kube.Delete(t.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
	b.compile(b.catalog)
	b.Live = interceptor.NewClient(b.kube, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "gadgets"}, "", errors.New("its ClusterRole is gone"))
		},
	})
	_, err := b.Reconcile(t.Context(), ctrl.Request{})
	g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
	withdraw(true)
	b.settle()
	err = b.kube.Get(t.Context(), client.ObjectKey{Name: gadgets}, &appv1alpha1.ControlledKind{})
	g.Expect(apierrors.IsNotFound(err)).To(BeTrue())
}

func TestReconcileReviewsThePermissionsOfADeclaredKindThatRuns(t *testing.T) {
	g := NewWithT(t)
	b, withdraw := newFakeBench(t)
	b.enforce()
	withdraw(true)
	next := func() time.Duration {
		result, err := b.Reconcile(t.Context(), ctrl.Request{})
		g.Expect(err).NotTo(HaveOccurred())
		return result.RequeueAfter
	}
	g.Expect(next()).To(Equal(5*time.Minute), "nothing else brings a request")
	b.clock.SetTime(b.clock.Now().Add(4 * time.Minute))
	g.Expect(next()).To(Equal(time.Minute))
	g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Permitted", "True Permitted"))
	b.clock.SetTime(b.clock.Now().Add(time.Minute))
	b.settle()
	g.Expect(b.conditions(gadgets)).To(Equal(map[string]string{"Served": "True Served", "Permitted": "False PermissionMissing",
		"Stampable": "True LabelsKept", "Synced": "True Synced", "Admitted": "False PermissionMissing", "Ready": "False PermissionMissing"}))
	g.Expect(b.message(gadgets, "Permitted")).To(ContainSubstring("apply this ClusterRole:\n"))
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs, statefulSets}))

	withdraw(false)
	b.clock.SetTime(b.clock.Now().Add(59 * time.Second))
	g.Expect(next()).To(Equal(time.Second))
	b.clock.SetTime(b.clock.Now().Add(time.Second))
	b.settle()
	g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Ready", "True Ready"))
	g.Expect(b.called()).To(ContainElement(calledGadgets))
}

func TestReconcileReviewsThePermissionsOfADeclaredKindThatIsCreatedAgain(t *testing.T) {
	g := NewWithT(t)
	b, withdraw := newFakeBench(t)
	b.enforce()
	g.Expect(b.kube.Delete(t.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
	b.settle()
	withdraw(true)
	again := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets, UID: "again"}}
	g.Expect(yaml.Unmarshal([]byte(enforcedGadgets), &again.Spec)).To(Succeed())
	g.Expect(b.kube.Create(t.Context(), again)).To(Succeed())
	b.settle()
	g.Expect(b.conditions(gadgets)).To(HaveKeyWithValue("Ready", "False PermissionMissing"))
}

func TestReconcileWaitsForACRDThatKeepsTheVersionLabel(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.installAs(strings.Replace(gadgetCRD, "template: {type: object, x-kubernetes-preserve-unknown-fields: true}",
		"template: {type: object, properties: {spec: {type: object, properties: {containers: {type: array}}}}}", 1))
	b.declare(enforcedGadgets)
	b.reconcile()
	b.settle()
	g.Expect(b.conditions(gadgets)).To(And(HaveKeyWithValue("Stampable", "False LabelsPruned"), HaveKeyWithValue("Admitted", "False LabelsPruned"),
		HaveKeyWithValue("Ready", "False LabelsPruned")))
	g.Expect(b.message(gadgets, "Stampable")).To(HavePrefix("the CRD drops the version label of the pod template spec.template: "))
	g.Expect(b.runner.calls).To(BeEmpty())
}

func TestReconcileRestartsADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.enforce()
	g.Expect(b.kube.Patch(t.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}},
		client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"generation":2},"spec":{"release":{"fields":["spec.replicas"]}}}`)))).To(Succeed())
	b.compile(b.catalog)
	b.settle()
	g.Expect(b.runner.calls).To(Equal([]string{"start", "stop", "start"}), "it was compiled again")
	g.Expect(b.called()).To(ContainElement(calledGadgets))

	b.runner.failure = context.DeadlineExceeded
	_, err := b.Reconcile(t.Context(), ctrl.Request{})
	g.Expect(err).To(MatchError(context.DeadlineExceeded), "so that the next attempts come later and later")
	b.settle()
	g.Expect(b.runner.calls).To(Equal([]string{"start", "stop", "start", "stop", "start"}))
}

func TestReconcileWritesAStatusAgainAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.install()
	b.declare(enforcedGadgets)
	b.compile(b.catalog)
	b.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
		SubResourcePatch: func(ctx context.Context, kube client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			if object.GetName() == gadgets {
				return apierrors.NewConflict(schema.GroupResource{Resource: "controlledkinds"}, gadgets, errors.New("it has another label"))
			}
			return kube.SubResource(name).Patch(ctx, object, patch, options...)
		},
	})
	result, err := b.Reconcile(t.Context(), ctrl.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Second))
}

func TestReconcileTellsThatAWebhookDeniesAWriteWhateverItsCode(t *testing.T) {
	const denied = ` ControlledKind gadgets.example.com: admission webhook "guard.example.com" denied the request: no`
	declared := func(spec string) func(*bench) {
		return func(b *bench) {
			b.install()
			b.declare(spec)
		}
	}
	for _, row := range []struct {
		name, problem string
		code          int32
		prepare       func(*bench)
	}{
		{"its status", "writing the status of", 404, declared(`{version: v1, mode: Observe, release: {templates: [spec.template]}}`)},
		{"its status, as in conflict", "writing the status of", 409, declared(`{version: v1, mode: Observe, release: {templates: [spec.template]}}`)},
		{"its finalizer", "writing the finalizer of", 404, declared(enforcedGadgets)},
		{"the end of its finalizer", "writing the finalizer of", 404, func(b *bench) {
			declared(enforcedGadgets)(b)
			b.settle()
			NewWithT(b).Expect(b.kube.Delete(b.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
			b.reconcile() // it ends the kind
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b, _ := newFakeBench(t)
			b.runner.synced = true
			row.prepare(b)
			b.compile(b.catalog)
			b.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
				Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
					return testkit.Denied(row.code)
				},
				SubResourcePatch: func(ctx context.Context, kube client.Client, name string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
					if object.GetName() == gadgets {
						return testkit.Denied(row.code)
					}
					return kube.SubResource(name).Patch(ctx, object, patch, options...)
				},
			})
			_, err := b.Reconcile(t.Context(), ctrl.Request{})
			g.Expect(err).To(MatchError(ContainSubstring(row.problem + denied)))
		})
	}
}

func TestRetriesComeInTimeForTheOtherKinds(t *testing.T) {
	limiter := retries()
	for range 30 {
		limiter.When(ctrl.Request{})
	}
	NewWithT(t).Expect(limiter.When(ctrl.Request{})).To(Equal(time.Minute))
}

func TestCatalogLooksAgainOnceItMayReadTheCRD(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.install()
	b.declare(enforcedGadgets)
	b.catalog.Live = interceptor.NewClient(b.kube, interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"}, gadgets, errors.New("no rule"))
		},
	})
	result, err := b.catalog.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: gadgets}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Minute))
}

func TestCatalogIsReadyOnceAllKindsWereCompiled(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/readyz", nil)
	b.declare(enforcedGadgets)
	g.Expect(b.catalog.Ready(request)).To(MatchError("ControlledKind gadgets.example.com is not compiled yet"))
	b.compile(b.catalog)
	g.Expect(b.catalog.Ready(request)).To(Succeed(), "although there is no CRD")
	b.catalog.forget(gadgets)
	g.Expect(b.catalog.Ready(request)).To(Succeed(), "a kind that is declared later makes no replica unready")
}

func TestCatalogOfEachReplicaKnowsADeclaredKind(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.install()
	b.declare(enforcedGadgets)
	set := workload.NewSet(testkit.Kinds()...)
	other := &Catalog{Kinds: set, Client: b.kube, Live: b.kube, Compiler: b.catalog.Compiler}
	b.compile(other)
	named := schema.GroupKind{Group: "example.com", Kind: "Gadget"}
	first := set.Snapshot().ByGroupKind(named)
	g.Expect(first).NotTo(BeNil())
	g.Expect(first.(declared.Kind).Mode()).To(BeEquivalentTo("Enforce"))
	b.compile(other)
	g.Expect(set.Snapshot().ByGroupKind(named)).To(BeIdenticalTo(first), "nothing has changed")
	g.Expect(b.kube.Delete(t.Context(), &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: gadgets}})).To(Succeed())
	b.compile(other)
	g.Expect(set.Snapshot()).To(Equal(testkit.Kinds()))
}
