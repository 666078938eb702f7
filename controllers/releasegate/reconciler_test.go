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
package releasegate

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const system = "altershieldoperator-system"

type change = func(*appv1alpha1.ChangeWorkload)

// record returns the record of the first release of a version.
func record(workload, version string, changes ...change) appv1alpha1.ChangeWorkload {
	record := appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: workload + "--x--" + version,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: workload, UID: types.UID(workload), Controller: ptr.To(true)}},
	}}
	record.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: workload, UID: types.UID(workload)}
	record.Spec.AppName, record.Spec.Reversion, record.Spec.Release = workload, version, 1
	record.Status.ObservedRelease, record.Status.Status = 1, "Running"
	for _, change := range changes {
		change(&record)
	}
	return record
}

func paced(record *appv1alpha1.ChangeWorkload) {
	record.Status.Pace = &appv1alpha1.ReleasePace{Policy: "shop/careful", Lever: "Gates"}
}

// unpacedBy ends the pace of a release for a reason.
func unpacedBy(reason string) change {
	return func(record *appv1alpha1.ChangeWorkload) {
		paced(record)
		record.Status.Conditions = []metav1.Condition{{Type: "Paced", Status: metav1.ConditionFalse, Reason: reason}}
	}
}

func is(phase appv1alpha1.ChangeWorkloadPhase, release int64, verified ...string) change {
	return func(record *appv1alpha1.ChangeWorkload) {
		record.Spec.Release, record.Status.ObservedRelease = release, release
		record.Status.Status, record.Status.VerifiedVersions = phase, verified
	}
}

func TestVerified(t *testing.T) {
	type versions = map[string]string
	for _, row := range []struct {
		name     string
		listed   versions
		records  []appv1alpha1.ChangeWorkload
		expected versions
	}{
		{"nothing", nil, nil, versions{}},
		{"a release that isn't verified", nil, []appv1alpha1.ChangeWorkload{record("web", "b", paced)}, versions{}},
		{"a verified one", nil, []appv1alpha1.ChangeWorkload{record("web", "b", paced, is("Success", 1))}, versions{"b": "Deployment.apps/web"}},
		{"one that wasn't paced", nil, []appv1alpha1.ChangeWorkload{record("web", "b", is("Success", 1))}, versions{}},
		{"the versions of earlier releases", nil, []appv1alpha1.ChangeWorkload{record("web", "c", paced, is("Running", 3, "b", "a"))},
			versions{"a": "Deployment.apps/web", "b": "Deployment.apps/web"}},
		{"an earlier release with a record", nil, []appv1alpha1.ChangeWorkload{record("web", "a", is("Success", 1)), record("web", "b", paced, is("Running", 2))},
			versions{"a": "Deployment.apps/web"}},
		{"a verified release that failed later", versions{"b": "Deployment.apps/web"}, []appv1alpha1.ChangeWorkload{record("web", "b", paced, is("Suspend", 2, "a"))},
			versions{"a": "Deployment.apps/web"}},
		{"a version that failed when it was released again", nil, []appv1alpha1.ChangeWorkload{record("web", "b", paced, is("Suspend", 1)), record("web", "c", is("Running", 2, "b", "a"))},
			versions{"a": "Deployment.apps/web"}},
		{"a workload whose releases are no longer paced keeps what is listed", versions{"a": "Deployment.apps/web"}, []appv1alpha1.ChangeWorkload{record("web", "b", is("Success", 2, "a"))},
			versions{"a": "Deployment.apps/web"}},
		{"a workload that is gone", versions{"a": "Deployment.apps/web"}, nil, versions{}},
		{"several workloads, two with the same version", nil, []appv1alpha1.ChangeWorkload{
			record("api", "a", paced, is("Success", 1)), record("web", "a", paced, is("Success", 1)), record("web2", "b", paced, is("Success", 1))},
			versions{"a": "Deployment.apps/api", "b": "Deployment.apps/web2"}},
		{"a release whose pace has ended", nil, []appv1alpha1.ChangeWorkload{record("web", "a", is("Success", 1)), record("web", "b", is("Running", 2), unpacedBy("NotControlled"))},
			versions{"a": "Deployment.apps/web", "b": "Deployment.apps/web"}},
		{"one that was superseded", nil, []appv1alpha1.ChangeWorkload{record("web", "b", unpacedBy("Superseded"))}, versions{}},
		{"one after which there was another", nil, []appv1alpha1.ChangeWorkload{record("web", "b", unpacedBy("WentOn")), record("web", "c", is("Running", 2))}, versions{}},
		{"one whose version was released again", nil, []appv1alpha1.ChangeWorkload{
			record("web", "b", unpacedBy("WentOn"), func(record *appv1alpha1.ChangeWorkload) { record.Spec.Release = 3 })}, versions{}},
		{"one that wasn't paced at all", nil, []appv1alpha1.ChangeWorkload{
			record("web", "b", unpacedBy("NoLever"), func(record *appv1alpha1.ChangeWorkload) { record.Status.Pace = nil })}, versions{}},
		{"an observed release", nil, []appv1alpha1.ChangeWorkload{record("web", "b", paced, is("Success", 1), func(record *appv1alpha1.ChangeWorkload) { record.Spec.Observed = true })}, versions{}},
		{"a record from before v0.2", nil, []appv1alpha1.ChangeWorkload{record("web", "b", paced, is("Success", 1), func(record *appv1alpha1.ChangeWorkload) { record.Spec.WorkloadRef = nil })},
			versions{"b": "Deployment.apps/web"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(Verified(row.listed, row.records)).To(Equal(row.expected))
		})
	}
}

// from has a StatefulSet gate its pods from an ordinal on.
func from(first int32) change {
	return func(record *appv1alpha1.ChangeWorkload) {
		paced(record)
		record.Status.Pace.GatedFrom = &first
		record.Status.Conditions = []metav1.Condition{{Type: "Paced", Status: metav1.ConditionTrue, Reason: "StepRunning"}}
	}
}

func TestGatedFrom(t *testing.T) {
	type ordinals = map[string]int32
	ended := func(record *appv1alpha1.ChangeWorkload) { record.Status.Conditions[0].Status = metav1.ConditionFalse }
	for _, row := range []struct {
		name     string
		records  []appv1alpha1.ChangeWorkload
		expected ordinals
	}{
		{"nothing", nil, nil},
		{"a paced StatefulSet", []appv1alpha1.ChangeWorkload{record("web", "b", from(20))}, ordinals{"b": 20}},
		{"one that had no pods", []appv1alpha1.ChangeWorkload{record("web", "b", from(0))}, ordinals{"b": 0}},
		{"a Deployment", []appv1alpha1.ChangeWorkload{record("web", "b", paced)}, nil},
		{"a release that isn't paced", []appv1alpha1.ChangeWorkload{record("web", "b")}, nil},
		{"one that isn't paced any more", []appv1alpha1.ChangeWorkload{record("web", "b", from(20), ended)}, nil},
		{"the release before of the version", []appv1alpha1.ChangeWorkload{record("web", "b", from(20), func(record *appv1alpha1.ChangeWorkload) { record.Spec.Release = 3 })}, nil},
		{"a verified version", []appv1alpha1.ChangeWorkload{record("web", "a", from(20))}, nil},
		{"the lowest for a version", []appv1alpha1.ChangeWorkload{record("web", "b", from(20)), record("api", "b", from(5)), record("db", "b", from(30)), record("x", "c", from(7))},
			ordinals{"b": 5, "c": 7}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(GatedFrom(map[string]string{"a": "StatefulSet.apps/web"}, row.records)).To(Equal(row.expected))
		})
	}
}

func TestGatedFromIsBounded(t *testing.T) {
	var records []appv1alpha1.ChangeWorkload
	for i := range 6000 {
		records = append(records, record(fmt.Sprint("web-", i), fmt.Sprint("version ", i), from(20)))
	}
	NewWithT(t).Expect(GatedFrom(nil, records)).To(HaveLen(5000))
}

func TestVerifiedIsBounded(t *testing.T) {
	var records []appv1alpha1.ChangeWorkload
	for i := range 6000 {
		records = append(records, record(fmt.Sprint("web-", i), fmt.Sprint("version ", i), paced, is("Success", 1)))
	}
	NewWithT(t).Expect(Verified(nil, records)).To(HaveLen(5000))
}

func TestVerifiedListsTheNewestVersionsFirst(t *testing.T) {
	for name, release := range map[string]func(workload, present, older string) appv1alpha1.ChangeWorkload{
		"verified": func(workload, present, older string) appv1alpha1.ChangeWorkload {
			return record(workload, present, paced, is("Success", 2, older))
		},
		"not paced any more": func(workload, present, older string) appv1alpha1.ChangeWorkload {
			return record(workload, present, is("Running", 2, older), unpacedBy("NotControlled"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			var records []appv1alpha1.ChangeWorkload
			for i := range 3000 {
				records = append(records, release(fmt.Sprint("web-", i), fmt.Sprint("present ", i), fmt.Sprint("older ", i)))
			}
			listed := map[string]int{}
			for version := range Verified(nil, records) {
				age, _, _ := strings.Cut(version, " ")
				listed[age]++
			}
			g.Expect(listed).To(Equal(map[string]int{"present": 3000, "older": 2000}))
		})
	}
}

// bench is a namespace with its reconciler, which counts its writes.
type bench struct {
	*testing.T
	kube   client.WithWatch
	writes []string
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{T: t}
	b.kube = interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			b.writes = append(b.writes, "create")
			return kube.Create(ctx, object, options...)
		},
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			b.writes = append(b.writes, "patch")
			return kube.Patch(ctx, object, patch, options...)
		},
		Delete: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			b.writes = append(b.writes, "delete")
			return kube.Delete(ctx, object, options...)
		},
	})
	return b
}

// reconcile reconciles twice, and returns what was written and when to look again.
func (b *bench) reconcile() (writes []string, wait time.Duration) {
	b.Helper()
	b.writes = nil
	reconciler := &Reconciler{Client: b.kube, Namespace: system}
	for range 2 { // the second time nothing has changed
		result, err := reconciler.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "altershield"}})
		NewWithT(b).Expect(err).NotTo(HaveOccurred())
		wait = result.RequeueAfter
	}
	return b.writes, wait
}

// does expects an operation of the test to succeed.
func (b *bench) does(operation error) { NewWithT(b).Expect(operation).To(Succeed()) }

func (b *bench) verified() map[string]string {
	b.Helper()
	var gate appv1alpha1.ReleaseGate
	b.does(b.kube.Get(b.Context(), client.ObjectKey{Namespace: "shop", Name: "altershield"}, &gate))
	return gate.Spec.Verified
}

func optedIn() *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"tier": "prod"}}}
}

func policy(namespace string) *appv1alpha1.ReleasePolicy {
	return &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "careful"},
		Spec:       appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{{Percent: 100}}},
	}
}

func TestReconcileKeepsTheReleaseGateOfANamespace(t *testing.T) {
	g, of := NewWithT(t), policy("shop")
	b := newBench(t, optedIn())
	g.Expect(b.reconcile()).To(BeEmpty(), "no policy")

	b.does(b.kube.Create(t.Context(), of))
	writes, wait := b.reconcile()
	g.Expect(writes).To(Equal([]string{"create"}))
	g.Expect(wait).To(BeZero())
	g.Expect(b.verified()).To(BeEmpty())

	release := record("web", "b", paced, is("Success", 1))
	b.does(b.kube.Create(t.Context(), &release))
	g.Expect(b.reconcile()).To(Equal([]string{"patch"}))
	g.Expect(b.verified()).To(Equal(map[string]string{"b": "Deployment.apps/web"}))

	set := record("db", "c", from(20))
	b.does(b.kube.Create(t.Context(), &set))
	g.Expect(b.reconcile()).To(Equal([]string{"patch"}))
	var gate appv1alpha1.ReleaseGate
	b.does(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "altershield"}, &gate))
	g.Expect(gate.Spec.GatedFrom).To(Equal(map[string]int32{"c": 20}))

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{"altershield.defense.antgroup.com/gate": "start"}}}
	b.does(b.kube.Create(t.Context(), pod))
	b.does(b.kube.Delete(t.Context(), of))
	writes, wait = b.reconcile()
	g.Expect(writes).To(BeEmpty(), "a pod has the label")
	g.Expect(wait).To(Equal(5 * time.Minute))

	b.does(b.kube.Delete(t.Context(), pod))
	b.does(b.kube.Delete(t.Context(), &set))
	writes, wait = b.reconcile()
	g.Expect(writes).To(Equal([]string{"delete"}))
	g.Expect(wait).To(BeZero())
}

// The cache lists records in another order each time.
func TestReconcileWritesOnceWhateverTheOrderOfTheRecords(t *testing.T) {
	var verified, gated []appv1alpha1.ChangeWorkload
	for i := range 5001 {
		verified = append(verified, record(fmt.Sprint("web-", i), fmt.Sprint("version ", i), paced, is("Success", 1)))
		gated = append(gated, record(fmt.Sprint("web-", i), fmt.Sprint("version ", i), from(20)))
	}
	for name, records := range map[string][]appv1alpha1.ChangeWorkload{
		"more verified versions than are listed": verified,
		"more gated versions than are listed":    gated,
		"two workloads with the same template":   {record("api", "a", paced, is("Success", 1)), record("web", "a", paced, is("Success", 1))},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, optedIn(), policy("shop"))
			b.kube = interceptor.NewClient(b.kube, interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				into, ok := list.(*appv1alpha1.ChangeWorkloadList)
				if !ok {
					return kube.List(ctx, list, options...)
				}
				slices.Reverse(records)
				into.Items = slices.Clone(records)
				return nil
			}})
			writes, _ := b.reconcile()
			NewWithT(t).Expect(writes).To(Equal([]string{"create"}))
		})
	}
}

// A ReleasePolicy that is deleted may be created again in a moment, and its releases wait for it.
func TestReconcileKeepsTheReleaseGateOfReleasesWhosePolicyIsGone(t *testing.T) {
	g, of := NewWithT(t), policy("shop")
	waits := record("web", "b", paced, func(record *appv1alpha1.ChangeWorkload) {
		record.Status.Conditions = []metav1.Condition{{Type: "Paced", Status: metav1.ConditionTrue, Reason: "OnHold"}}
	})
	b := newBench(t, optedIn(), of, &waits)
	g.Expect(b.reconcile()).To(Equal([]string{"create"}))
	b.does(b.kube.Delete(t.Context(), of))
	g.Expect(b.reconcile()).To(BeEmpty(), "it has no pods yet")
	waits.Status.Conditions[0].Status = metav1.ConditionFalse
	b.does(b.kube.Status().Update(t.Context(), &waits))
	g.Expect(b.reconcile()).To(ContainElement("delete"))
}

func TestReconcileLeavesNamespacesAlone(t *testing.T) {
	ending := optedIn()
	ending.DeletionTimestamp, ending.Finalizers = &metav1.Time{Time: testkit.Now()}, []string{"kubernetes"}
	for name, objects := range map[string][]client.Object{
		"that aren't opted in":        {policy("shop")},
		"that are being deleted":      {policy("shop"), ending},
		"without a policy with steps": {optedIn(), &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "stuck"}}},
		"of other policies":           {optedIn(), policy(system)},
	} {
		t.Run(name, func(t *testing.T) {
			writes, _ := newBench(t, objects...).reconcile()
			NewWithT(t).Expect(writes).To(BeEmpty())
		})
	}
}

func TestReconcileOptedOut(t *testing.T) {
	gate := &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "altershield"}}
	writes, _ := newBench(t, gate, policy("shop")).reconcile()
	NewWithT(t).Expect(writes).To(Equal([]string{"delete"}))
}

func TestOfPolicyMapsADefaultToAllNamespaces(t *testing.T) {
	g := NewWithT(t)
	gate := &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: "left", Name: "altershield"}}
	reconciler := &Reconciler{Client: newBench(t, gate, optedIn()).kube, Namespace: system}
	var namespaces []string
	for _, request := range reconciler.ofPolicy(t.Context(), policy(system)) {
		g.Expect(request.Name).To(Equal("altershield"))
		namespaces = append(namespaces, request.Namespace)
	}
	g.Expect(namespaces).To(ConsistOf("shop", "left"))
	g.Expect(reconciler.ofPolicy(t.Context(), policy("bar"))).To(Equal(in("bar")))
}

func TestReconcileReturnsErrors(t *testing.T) {
	gate := &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "altershield"}}
	release := record("web", "b", paced, is("Success", 1))
	broken := errors.New("the API server is away")
	lists := func(list client.ObjectList) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			if reflect.TypeOf(into) == reflect.TypeOf(list) {
				return broken
			}
			return kube.List(ctx, into, options...)
		}}
	}
	for _, row := range []struct {
		name    string
		objects []client.Object
		fails   interceptor.Funcs
		problem string
	}{
		{"reading the gate", nil, interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		}}, "reading ReleaseGate shop/altershield"},
		{"listing the policies", []client.Object{optedIn()}, lists(&appv1alpha1.ReleasePolicyList{}), "listing the ReleasePolicies"},
		{"listing the pods", []client.Object{optedIn(), gate}, lists(&corev1.PodList{}), "listing the pods with a gate in namespace shop"},
		{"listing the records", []client.Object{optedIn(), policy("shop")}, lists(&appv1alpha1.ChangeWorkloadList{}), "listing the ChangeWorkloads in namespace shop"},
		{"creating the gate", []client.Object{optedIn(), policy("shop")}, interceptor.Funcs{
			Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return broken },
		}, "creating ReleaseGate shop/altershield"},
		{"updating the gate", []client.Object{optedIn(), policy("shop"), gate, &release}, interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return broken
			},
		}, "updating ReleaseGate shop/altershield"},
		{"deleting the gate", []client.Object{optedIn(), gate}, interceptor.Funcs{
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return broken },
		}, "deleting ReleaseGate shop/altershield"},
	} {
		t.Run(row.name, func(t *testing.T) {
			reconciler := &Reconciler{Client: interceptor.NewClient(testkit.NewFake(t, row.objects...), row.fails), Namespace: system}
			_, err := reconciler.Reconcile(t.Context(), in("shop")[0])
			NewWithT(t).Expect(err).To(MatchError(SatisfyAll(ContainSubstring(row.problem), ContainSubstring(broken.Error()))))
		})
	}
}

func TestReconcileTellsThatAWebhookDeniesItsWritesWhateverTheCode(t *testing.T) {
	release := record("web", "b", paced, is("Success", 1))
	gate := &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "altershield"}}
	for problem, objects := range map[string][]client.Object{
		"updating": {optedIn(), policy("shop"), gate, &release},
		"deleting": {optedIn(), gate},
	} {
		reconciler := &Reconciler{Namespace: system, Client: interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
			Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
				return testkit.Denied(404)
			},
			Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error {
				return testkit.Denied(404)
			},
		})}
		_, err := reconciler.Reconcile(t.Context(), in("shop")[0])
		NewWithT(t).Expect(err).To(MatchError(problem + ` ReleaseGate shop/altershield: admission webhook "guard.example.com" denied the request: no`))
	}
}

func TestRequestsAreForTheReleaseGateOfTheNamespace(t *testing.T) {
	g, release := NewWithT(t), record("web", "b")
	g.Expect(ofRelease(t.Context(), &release)).To(Equal(in("shop")))
	g.Expect(ofNamespace(t.Context(), optedIn())).To(Equal(in("shop")))
	for name, passes := range map[string]bool{"altershield": true, "another": false} {
		gate := &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
		g.Expect(named().Create(event.CreateEvent{Object: gate})).To(Equal(passes), name)
	}
}

func TestVerifiedChangedPassesWhatMayChangeTheGate(t *testing.T) {
	before := record("web", "b", paced)
	for name, row := range map[string]struct {
		after  appv1alpha1.ChangeWorkload
		passes bool
	}{
		"nothing":               {record("web", "b", paced), false},
		"a step":                {record("web", "b", paced, func(record *appv1alpha1.ChangeWorkload) { record.Status.Pace.Step = 2 }), false},
		"verified":              {record("web", "b", paced, is("Success", 1)), true},
		"failed":                {record("web", "b", paced, is("Suspend", 1)), true},
		"more versions":         {record("web", "b", paced, is("Running", 1, "a")), true},
		"not paced any more":    {record("web", "b", unpacedBy("WentOn")), true},
		"another release of it": {record("web", "b"), true},
		"the first ordinal":     {record("web", "b", from(20)), true},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(verifiedChanged().Update(event.UpdateEvent{ObjectOld: &before, ObjectNew: &row.after})).To(Equal(row.passes))
		})
	}
}
