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

package verificationpolicy

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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const system = "altershieldoperator-system"

func newReconciler(t *testing.T, kube client.Client) *Reconciler {
	t.Helper()
	return &Reconciler{
		Kinds: testkit.Kinds(), Client: kube, Live: kube, Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Namespace: system, Rules: newRules(t),
	}
}

func look(t *testing.T, kube client.Client) {
	t.Helper()
	result, err := newReconciler(t, kube).Reconcile(t.Context(), ctrl.Request{})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(result.RequeueAfter).To(BeElementOf(time.Duration(0), 5*time.Minute))
}

// find returns a policy, nil if there is none.
func find(t *testing.T, kube client.Client, namespace, name string) *appv1alpha1.VerificationPolicy {
	t.Helper()
	var policy appv1alpha1.VerificationPolicy
	err := kube.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, &policy)
	if apierrors.IsNotFound(err) {
		return nil
	}
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return &policy
}

func policy(namespace, name string) *appv1alpha1.VerificationPolicy {
	return &appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Generation: 2}}
}

func record(name string, checks ...appv1alpha1.CheckResult) *appv1alpha1.ChangeWorkload {
	return &appv1alpha1.ChangeWorkload{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Status: appv1alpha1.ChangeWorkloadStatus{Checks: checks},
	}
}

func checked(policy, verdict string) appv1alpha1.CheckResult {
	return appv1alpha1.CheckResult{Policy: policy, Name: "pods", Verdict: appv1alpha1.CheckVerdict(verdict)}
}

func optedIn(name string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func deployment(namespace, name string) client.Object {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func webhooks() client.Object {
	return &admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-kinds-mutating-webhook-configuration"}}
}

func TestReconcileCountsWorkloadsAndFailures(t *testing.T) {
	g := NewWithT(t)
	unusable := policy("shop", "unusable")
	unusable.Spec.NamespaceSelector = &metav1.LabelSelector{}
	kube := testkit.NewFake(t, optedIn("shop"), deployment("shop", "web"), deployment("shop", "api"), deployment("out", "web"),
		policy("shop", "own"), unusable,
		record("web", checked("shop/own", "Fail"), checked("shop/own", "Fail"), checked("system/builtin", "Fail")), record("api", checked("shop/own", "Pass")))
	look(t, kube)
	own := find(t, kube, "shop", "own").Status
	g.Expect(own.ObservedGeneration).To(BeEquivalentTo(2))
	g.Expect(own.Workloads).To(BeEquivalentTo(2))
	g.Expect(own.Failed).To(BeEquivalentTo(1))
	g.Expect(meta.IsStatusConditionTrue(own.Conditions, "Ready")).To(BeTrue())
	ready := meta.FindStatusCondition(find(t, kube, "shop", "unusable").Status.Conditions, "Ready")
	g.Expect(string(ready.Status) + " " + ready.Reason + " " + ready.Message).To(Equal("False Invalid the policy concerns no workload: " +
		"spec.namespaceSelector: only a VerificationPolicy in namespace altershieldoperator-system may select other namespaces"))
	g.Expect(find(t, kube, "shop", "unusable").Status.Workloads).To(BeZero())
}

func TestReconcileShowsARuleThatNobodyChecked(t *testing.T) {
	g := NewWithT(t)
	broken := policy("shop", "broken")
	broken.Spec = ruled("newPods.size()")
	kube := testkit.NewFake(t, broken)
	look(t, kube)
	ready := meta.FindStatusCondition(find(t, kube, "shop", "broken").Status.Conditions, "Ready")
	g.Expect(string(ready.Status) + " " + ready.Reason + " " + ready.Message).To(Equal("False Invalid expressions have mistakes: " +
		"spec.checks[1].rule.expression: the result has type int, not bool; compare it with a value"))
}

func TestReconcileShowsTheSourcesThatAreMissing(t *testing.T) {
	g := NewWithT(t)
	asking := policy("shop", "asking")
	asking.Spec.Checks = []appv1alpha1.VerificationCheck{
		{Name: "errors", Type: "Ratio", Ratio: &appv1alpha1.RatioCheck{SourceRef: appv1alpha1.SourceReference{Name: "elsewhere"}}},
		{Name: "pods", Type: "PodHealth"},
		{Name: "placement", Type: "HTTP", HTTP: &appv1alpha1.HTTPCheck{SourceRef: appv1alpha1.SourceReference{Name: "placement"}}},
	}
	there := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "placement"}, Spec: appv1alpha1.VerificationSourceSpec{Type: "HTTP"}}
	other := &appv1alpha1.VerificationSource{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "elsewhere"}}
	kube := testkit.NewFake(t, asking, there, other)
	ready := func() string {
		look(t, kube)
		condition := meta.FindStatusCondition(find(t, kube, "shop", "asking").Status.Conditions, "Ready")
		return string(condition.Status) + " " + condition.Reason + " " + condition.Message
	}
	g.Expect(ready()).To(Equal("False SourceMissing a check is Inconclusive without its VerificationSource in namespace altershieldoperator-system: " +
		"spec.checks[0].ratio.sourceRef.name: elsewhere isn't there"))
	there = there.DeepCopy()
	there.Name, there.ResourceVersion, there.Spec.Type = "elsewhere", "", "Prometheus"
	g.Expect(kube.Create(t.Context(), there)).To(Succeed())
	g.Expect(ready()).To(Equal("True Valid the checks of the policy are made"))
}

func TestReconcileShowsTheSourcesOfAnotherType(t *testing.T) {
	g := NewWithT(t)
	asking := policy("shop", "asking")
	asking.Spec.Checks = []appv1alpha1.VerificationCheck{
		{Name: "errors", Type: "Ratio", Ratio: &appv1alpha1.RatioCheck{SourceRef: appv1alpha1.SourceReference{Name: "placement"}}},
		{Name: "queue", Type: "Gauge", Gauge: &appv1alpha1.GaugeCheck{SourceRef: appv1alpha1.SourceReference{Name: "holoinsight"}}},
		{Name: "placement", Type: "HTTP", HTTP: &appv1alpha1.HTTPCheck{SourceRef: appv1alpha1.SourceReference{Name: "holoinsight"}}},
	}
	of := func(name, sourceType string) client.Object {
		return &appv1alpha1.VerificationSource{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: name}, Spec: appv1alpha1.VerificationSourceSpec{Type: appv1alpha1.SourceType(sourceType)},
		}
	}
	kube := testkit.NewFake(t, asking, of("placement", "HTTP"), of("holoinsight", "HoloInsight"))
	look(t, kube)
	ready := meta.FindStatusCondition(find(t, kube, "shop", "asking").Status.Conditions, "Ready")
	g.Expect(string(ready.Status) + " " + ready.Reason + " " + ready.Message).To(Equal("False Invalid a check is Inconclusive with a VerificationSource of another type: " +
		"spec.checks[0].ratio.sourceRef.name: placement is of the type HTTP; spec.checks[2].http.sourceRef.name: holoinsight is of the type HoloInsight"))
}

func TestReconcileCreatesThePolicyBuiltinOnce(t *testing.T) {
	g := NewWithT(t)
	kube := testkit.NewFake(t, webhooks())
	look(t, kube)
	built := find(t, kube, system, "builtin")
	g.Expect(built.Spec).To(Equal(appv1alpha1.VerificationPolicySpec{
		NamespaceSelector: &metav1.LabelSelector{},
		VerificationTerms: appv1alpha1.VerificationTerms{
			Mode: "Enforce", BakeSeconds: 0, WatchSeconds: 300, Checks: []appv1alpha1.VerificationCheck{{Name: "pods", Type: "PodHealth"}},
		},
	}))
	g.Expect(kube.Delete(t.Context(), built)).To(Succeed())
	look(t, kube)
	g.Expect(find(t, kube, system, "builtin")).To(BeNil(), "what a user deletes stays deleted")
}

func TestReconcileOnlyObservesReleasesOfAnUpgradedInstallation(t *testing.T) {
	kube := testkit.NewFake(t, webhooks(), record("web"))
	look(t, kube)
	NewWithT(t).Expect(find(t, kube, system, "builtin").Spec.Mode).To(BeEquivalentTo("Observe"))
}

func TestReconcileKeepsAPolicyBuiltinOfAUser(t *testing.T) {
	g := NewWithT(t)
	own := policy(system, "builtin")
	own.Spec.Mode = "Warn"
	kube := testkit.NewFake(t, webhooks(), own)
	look(t, kube)
	g.Expect(find(t, kube, system, "builtin").Spec.Mode).To(BeEquivalentTo("Warn"))
	g.Expect(kube.Delete(t.Context(), own)).To(Succeed())
	look(t, kube)
	g.Expect(find(t, kube, system, "builtin")).To(BeNil())
}

func TestReconcileCreatesNoPolicyWithoutTheWebhooksOfKinds(t *testing.T) {
	kube := testkit.NewFake(t)
	look(t, kube)
	NewWithT(t).Expect(find(t, kube, system, "builtin")).To(BeNil(), "nothing remembers that it was created")
}

func TestReconcileReturnsErrors(t *testing.T) {
	broken := errors.New("the API server is away")
	for name, row := range map[string]struct {
		funcs    interceptor.Funcs
		expected string
	}{
		"of a create": {interceptor.Funcs{Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error { return broken }},
			"creating VerificationPolicy altershieldoperator-system/builtin: the API server is away"},
		"of an update": {interceptor.Funcs{Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error { return broken }},
			"remembering in MutatingWebhookConfiguration altershieldoperator-kinds-mutating-webhook-configuration that VerificationPolicy builtin was created: "},
		"of a read": {interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return broken
		}},
			"reading MutatingWebhookConfiguration altershieldoperator-kinds-mutating-webhook-configuration: "},
		"of a list": {interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return broken }},
			"looking for releases of an earlier installation: "},
	} {
		t.Run(name, func(t *testing.T) {
			kube := interceptor.NewClient(testkit.NewFake(t, webhooks()), row.funcs)
			_, err := newReconciler(t, kube).Reconcile(t.Context(), ctrl.Request{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.expected)))
		})
	}
}

func TestReconcileWritesTheStatusWhileThePolicyBuiltinIsDenied(t *testing.T) {
	g := NewWithT(t)
	kube := interceptor.NewClient(testkit.NewFake(t, webhooks(), policy("shop", "own")), interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("exceeded quota")
		},
	})
	result, err := newReconciler(t, kube).Reconcile(t.Context(), ctrl.Request{})
	g.Expect(err).To(MatchError("creating VerificationPolicy altershieldoperator-system/builtin: exceeded quota"))
	g.Expect(result).To(BeZero())
	g.Expect(meta.IsStatusConditionTrue(find(t, kube, "shop", "own").Status.Conditions, "Ready")).To(BeTrue())
}

func TestReconcileReturnsWhatItCantList(t *testing.T) {
	for kind, expected := range map[string]string{
		"VerificationPolicyList": "listing the VerificationPolicies: the cache isn't filled",
		"VerificationSourceList": "listing the VerificationSources: the cache isn't filled",
		"DeploymentList":         "listing Deployments: the cache isn't filled",
		"ChangeWorkloadList":     "listing the ChangeWorkloads: the cache isn't filled",
	} {
		t.Run(kind, func(t *testing.T) {
			kube := interceptor.NewClient(testkit.NewFake(t, policy("shop", "own")), interceptor.Funcs{
				List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if reflect.TypeOf(list).Elem().Name() == kind {
						return errors.New("the cache isn't filled")
					}
					return kube.List(ctx, list, options...)
				},
			})
			_, err := newReconciler(t, kube).Reconcile(t.Context(), ctrl.Request{})
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(expected)))
		})
	}
}

func TestFailuresChangedPassesReleasesThatFail(t *testing.T) {
	g := NewWithT(t)
	passes := failuresChanged()
	update := func(before, after *appv1alpha1.ChangeWorkload) bool {
		return passes.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})
	}
	g.Expect(update(record("web", checked("shop/own", "Pending")), record("web", checked("shop/own", "Fail")))).To(BeTrue())
	g.Expect(update(record("web", checked("shop/own", "Pending")), record("web", checked("shop/own", "Pass")))).To(BeFalse())
	g.Expect(passes.Create(event.CreateEvent{Object: record("web")})).To(BeTrue())
	g.Expect(passes.Delete(event.DeleteEvent{Object: record("web")})).To(BeTrue())
}

func TestAwaitsBuiltInPassesTheWebhooksOfKindsUntilThePolicyWasCreated(t *testing.T) {
	g := NewWithT(t)
	passes := awaitsBuiltIn()
	created := func(object client.Object) bool { return passes.Create(event.CreateEvent{Object: object}) }
	remembered := webhooks()
	remembered.SetAnnotations(map[string]string{"altershield.defense.antgroup.com/built-in-policy": "altershieldoperator-system/builtin"})
	g.Expect(created(webhooks())).To(BeTrue())
	g.Expect(created(remembered)).To(BeFalse())
	g.Expect(created(&admissionv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-mutating-webhook-configuration"}})).To(BeFalse())
	g.Expect(passes.Update(event.UpdateEvent{ObjectOld: remembered, ObjectNew: webhooks()})).To(BeTrue())
}
