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
package releasepolicy

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const system = "altershieldoperator-system"

// bench is a reconciler at a fake API server that counts writes of a status.
type bench struct {
	*testing.T
	kube       client.WithWatch
	reconciler *Reconciler
	writes     int
	// old is an API server before Kubernetes 1.36.
	old bool
}

func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	b := &bench{T: t}
	b.kube = interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if _, binding := object.(*admissionv1.MutatingAdmissionPolicyBinding); binding && b.old {
				return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Group: "admissionregistration.k8s.io", Kind: "MutatingAdmissionPolicyBinding"}}
			}
			return kube.Get(ctx, key, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, kube client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			b.writes++
			return kube.SubResource(subresource).Patch(ctx, object, patch, options...)
		},
	})
	b.reconciler = &Reconciler{
		Kinds: testkit.Kinds(), Client: b.kube, Live: b.kube, Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Namespace: system,
	}
	return b
}

// reconcile reconciles, and returns how many statuses it wrote and when to look again.
func (b *bench) reconcile() (writes int, wait time.Duration) {
	b.Helper()
	b.writes = 0
	result, err := b.reconciler.Reconcile(b.Context(), ctrl.Request{})
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	return b.writes, result.RequeueAfter
}

func (b *bench) status(namespace, name string) appv1alpha1.ReleasePolicyStatus {
	b.Helper()
	var policy appv1alpha1.ReleasePolicy
	NewWithT(b).Expect(b.kube.Get(b.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &policy)).To(Succeed())
	return policy.Status
}

func policy(namespace, name string, selectors ...appv1alpha1.WorkloadSelector) *appv1alpha1.ReleasePolicy {
	return &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 1},
		Spec:       appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{{Percent: 100}}, Workloads: selectors},
	}
}

// platform is the default of all namespaces.
func platform() *appv1alpha1.ReleasePolicy {
	policy := policy(system, "platform")
	policy.Spec.NamespaceSelector = &metav1.LabelSelector{}
	return policy
}

func optedIn(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func deployment(namespace, name string) *appsv1.Deployment {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func record(by string, paced metav1.ConditionStatus) *appv1alpha1.ChangeWorkload {
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web--x--1"}}
	record.Spec.Release, record.Status.ObservedRelease = 2, 2
	record.Status.Pace = &appv1alpha1.ReleasePace{Policy: by}
	record.Status.Conditions = []metav1.Condition{{Type: "Paced", Status: paced}}
	return record
}

func TestReconcileShowsWhatEachPolicyConcerns(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, optedIn("shop"), optedIn("bar"), platform(), policy("shop", "web", appv1alpha1.WorkloadSelector{Kind: "Deployment.apps", Name: "web"}),
		policy("shop", "sets", appv1alpha1.WorkloadSelector{Kind: "StatefulSet.apps"}),
		deployment("shop", "web"), deployment("shop", "api"), deployment("bar", "web"), deployment("out", "web"),
		&appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}}, record("shop/web", "True"),
		&admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-gates"}})
	writes, wait := b.reconcile()
	g.Expect(writes).To(Equal(3))
	g.Expect(wait).To(Equal(5 * time.Minute))
	web := b.status("shop", "web")
	g.Expect(web.Matched).To(Equal([]appv1alpha1.MatchedWorkload{{Kind: "Deployment.apps", Namespace: "shop", Name: "web"}}))
	g.Expect(web.Workloads).To(BeEquivalentTo(1))
	g.Expect(web.Paced).To(BeEquivalentTo(1))
	g.Expect(meta.IsStatusConditionTrue(web.Conditions, "Ready")).To(BeTrue())
	g.Expect(b.status("shop", "sets").Matched).To(Equal([]appv1alpha1.MatchedWorkload{{Kind: "StatefulSet.apps", Namespace: "shop", Name: "db"}}))
	g.Expect(b.status("shop", "sets").Paced).To(BeZero())
	g.Expect(b.status(system, "platform").Matched).To(Equal([]appv1alpha1.MatchedWorkload{
		{Kind: "Deployment.apps", Namespace: "bar", Name: "web"}, {Kind: "Deployment.apps", Namespace: "shop", Name: "api"},
	}), "neither those of a nearer policy nor those of a namespace that isn't opted in")

	writes, _ = b.reconcile()
	g.Expect(writes).To(BeZero(), "nothing has changed")

	g.Expect(b.kube.Delete(t.Context(), policy("shop", "web"))).To(Succeed())
	writes, _ = b.reconcile()
	g.Expect(writes).To(Equal(1), "another policy concerns its workload now")
	g.Expect(b.status(system, "platform").Workloads).To(BeEquivalentTo(3))
}

func TestReconcileLeavesKindsThatAreObservedOut(t *testing.T) {
	b := newBench(t, optedIn("shop"), platform(), deployment("shop", "web"), &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "db"}},
		testkit.ControlledKind("statefulsets.apps", "Observe"))
	b.reconcile()
	NewWithT(t).Expect(b.status(system, "platform").Matched).To(Equal([]appv1alpha1.MatchedWorkload{{Kind: "Deployment.apps", Namespace: "shop", Name: "web"}}))
}

func TestReconcileReadsNothingWithoutAPolicy(t *testing.T) {
	b := newBench(t)
	b.reconciler.Live, b.reconciler.Kinds = nil, nil
	writes, wait := b.reconcile()
	NewWithT(t).Expect(writes).To(BeZero())
	NewWithT(t).Expect(wait).To(BeZero())
}

func TestReconcileFindsWhatAddsTheGates(t *testing.T) {
	binding := &admissionv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-gates"}}
	configuration := func(webhook string) *admissionv1.MutatingWebhookConfiguration {
		return &admissionv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-mutating-webhook-configuration"}, Webhooks: []admissionv1.MutatingWebhook{{Name: webhook}},
		}
	}
	for _, row := range []struct {
		name     string
		objects  []client.Object
		old      bool
		expected string
	}{
		{"neither", nil, false, "NotInstalled"},
		{"the policy", []client.Object{binding}, false, "MutatingAdmissionPolicy"},
		{"both", []client.Object{binding, configuration("mpod.kb.io")}, false, "MutatingAdmissionPolicy"},
		{"the webhook", []client.Object{configuration("mpod.kb.io")}, false, "Webhook"},
		{"the webhook, before Kubernetes 1.36", []client.Object{configuration("mpod.kb.io")}, true, "Webhook"},
		{"neither, before Kubernetes 1.36", nil, true, "NotInstalled"},
		{"other webhooks", []client.Object{configuration("mdeployment.kb.io")}, false, "NotInstalled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, append(row.objects, platform())...)
			b.old = row.old
			b.reconcile()
			NewWithT(t).Expect(meta.FindStatusCondition(b.status(system, "platform").Conditions, "Gated").Reason).To(Equal(row.expected))
		})
	}
}

func TestReconcileLooksSoonerForGatesThatWereThere(t *testing.T) {
	g, gated := NewWithT(t), platform()
	gated.Status.Conditions = []metav1.Condition{{Type: "Gated", Status: "True", LastTransitionTime: metav1.Now()}}
	b := newBench(t, gated)
	_, wait := b.reconcile()
	g.Expect(meta.FindStatusCondition(b.status(system, "platform").Conditions, "Gated").Reason).To(Equal("Missing"))
	g.Expect(wait).To(Equal(10 * time.Second))
}

func TestReconcileReturnsErrors(t *testing.T) {
	broken := errors.New("the API server is away")
	lists := func(list client.ObjectList) interceptor.Funcs {
		return interceptor.Funcs{List: func(ctx context.Context, kube client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			if reflect.TypeOf(into) == reflect.TypeOf(list) {
				return broken
			}
			return kube.List(ctx, into, options...)
		}}
	}
	gets := func(of client.Object) interceptor.Funcs {
		return interceptor.Funcs{Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
			if reflect.TypeOf(into) == reflect.TypeOf(of) {
				return broken
			}
			return kube.Get(ctx, key, into, options...)
		}}
	}
	for _, row := range []struct {
		name    string
		fails   interceptor.Funcs
		problem string
	}{
		{"listing the policies", lists(&appv1alpha1.ReleasePolicyList{}), "listing the ReleasePolicies"},
		{"listing the workloads", lists(&appsv1.DeploymentList{}), "listing Deployments"},
		{"reading the namespace", gets(&corev1.Namespace{}), "reading namespace shop"},
		{"listing the records", lists(&appv1alpha1.ChangeWorkloadList{}), "listing the ChangeWorkloads"},
		{"reading the binding", gets(&admissionv1.MutatingAdmissionPolicyBinding{}), "reading MutatingAdmissionPolicyBinding altershieldoperator-gates"},
		{"reading the webhook", gets(&admissionv1.MutatingWebhookConfiguration{}),
			"reading MutatingWebhookConfiguration altershieldoperator-mutating-webhook-configuration"},
		{"writing the status", interceptor.Funcs{SubResourcePatch: func(
			context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption,
		) error {
			return broken
		}}, "writing the status of ReleasePolicy shop/web"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, optedIn("shop"), policy("shop", "web"), deployment("shop", "web"))
			b.reconciler.Client = interceptor.NewClient(b.kube, row.fails)
			b.reconciler.Live = b.reconciler.Client
			_, err := b.reconciler.Reconcile(t.Context(), ctrl.Request{})
			NewWithT(t).Expect(err).To(MatchError(SatisfyAll(ContainSubstring(row.problem), ContainSubstring(broken.Error()))))
		})
	}
}

func TestPacedBy(t *testing.T) {
	g, other := NewWithT(t), record("shop/web", "True")
	g.Expect(pacedBy(other)).To(Equal("shop/web"))
	g.Expect(pacedBy(record("shop/web", "False"))).To(BeEmpty())
	g.Expect(paceChanged().Update(event.UpdateEvent{ObjectOld: other, ObjectNew: record("shop/web", "False")})).To(BeTrue())
	g.Expect(paceChanged().Update(event.UpdateEvent{ObjectOld: other, ObjectNew: record("shop/web", "True")})).To(BeFalse())
	other.Spec.Release = 3
	g.Expect(pacedBy(other)).To(BeEmpty(), "its status is of the release before")
}
