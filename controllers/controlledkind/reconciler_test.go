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
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/declared"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/manifests"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

// bench is a reconciler on an API server with the webhook configurations as they are installed, and no ControlledKinds.
type bench struct {
	*testing.T
	// kube is a client of an administrator.
	kube  client.WithWatch
	clock *clocktesting.FakePassiveClock
	*Reconciler
	catalog *Catalog
	runner  *fakeRunner
	// writes are those of the reconciler.
	writes []string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t, apiServer.Client(t))
}

// newBenchOn is newBench with another client.
func newBenchOn(t *testing.T, kube client.WithWatch) *bench {
	t.Helper()
	g := NewWithT(t)
	b := &bench{T: t, kube: kube, clock: clocktesting.NewFakePassiveClock(testkit.Now())}
	for _, kind := range []client.Object{
		&appv1alpha1.ControlledKind{}, &admissionregistrationv1.MutatingWebhookConfiguration{}, &admissionregistrationv1.ValidatingWebhookConfiguration{},
	} {
		g.Expect(b.kube.DeleteAllOf(t.Context(), kind)).To(Succeed())
	}
	authority := b.authority()
	mutate, validate := byService("/mutate-apps-v1-deployment"), byService("/validate-apps-v1-deployment")
	mutate.CABundle, validate.CABundle = authority, authority
	for _, object := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: fixedMutating}, Webhooks: []admissionregistrationv1.MutatingWebhook{fixedMutate(mutate)},
		},
		&admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: fixedValidating},
			Webhooks:   []admissionregistrationv1.ValidatingWebhook{ofControlledKinds(), fixedValidate(validate)},
		},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: kindsMutating}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: kindsValidating}},
	} {
		g.Expect(b.kube.Create(t.Context(), object)).To(Succeed())
	}
	compiler, err := declared.NewCompiler()
	g.Expect(err).NotTo(HaveOccurred())
	b.catalog = &Catalog{Kinds: workload.NewSet(testkit.Kinds()...), Client: b.kube, Live: b.kube, Compiler: compiler}
	b.runner = &fakeRunner{}
	b.as(b.kube)
	return b
}

// ofControlledKinds returns the webhook of ControlledKinds, which no other one follows.
func ofControlledKinds() admissionregistrationv1.ValidatingWebhook {
	return admissionregistrationv1.ValidatingWebhook{
		Name: "vcontrolledkind.kb.io", ClientConfig: byService("/validate-controlledkind"), AdmissionReviewVersions: []string{"v1"},
		FailurePolicy: ptr.To(admissionregistrationv1.Ignore), MatchPolicy: ptr.To(admissionregistrationv1.Equivalent),
		NamespaceSelector: &metav1.LabelSelector{}, ObjectSelector: &metav1.LabelSelector{}, SideEffects: ptr.To(admissionregistrationv1.SideEffectClassNone),
		TimeoutSeconds: ptr.To[int32](10),
	}
}

// authority returns a new CA bundle.
func (b *bench) authority() []byte {
	b.Helper()
	bundle, err := cluster.NewServingCert(b.TempDir())
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	return bundle
}

// as makes a client that of the reconciler.
func (b *bench) as(kube client.WithWatch) {
	counted := func(verb string, object client.Object) {
		b.writes = append(b.writes, verb+" "+strings.TrimPrefix(fmt.Sprintf("%T", object), "*")+" "+object.GetName())
	}
	recorded := interceptor.NewClient(kube, interceptor.Funcs{
		Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
			counted("create", object)
			return kube.Create(ctx, object, options...)
		},
		Update: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.UpdateOption) error {
			counted("update", object)
			return kube.Update(ctx, object, options...)
		},
		SubResourcePatch: func(ctx context.Context, kube client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
			counted("patch "+subresource, object)
			return kube.SubResource(subresource).Patch(ctx, object, patch, options...)
		},
	})
	b.Reconciler = &Reconciler{
		Kinds: testkit.Kinds(), Client: recorded, Live: kube, Direct: kube, Mapper: kube.RESTMapper(), Operator: operator, Clock: b.clock,
		Declared: b.catalog, Runner: b.runner,
	}
}

// reconcile reconciles once and returns what was written.
func (b *bench) reconcile() []string {
	b.Helper()
	b.writes = nil
	_, err := b.Reconcile(b.Context(), ctrl.Request{})
	NewWithT(b).Expect(err).NotTo(HaveOccurred())
	return b.writes
}

// modes returns the modes of the ControlledKinds by their names.
func (b *bench) modes() map[string]string {
	b.Helper()
	var list appv1alpha1.ControlledKindList
	NewWithT(b).Expect(b.kube.List(b.Context(), &list)).To(Succeed())
	modes := map[string]string{}
	for _, controlled := range list.Items {
		modes[controlled.Name] = string(controlled.Spec.Mode)
	}
	return modes
}

func (b *bench) setMode(name, mode string) {
	b.Helper()
	controlled := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: name}}
	NewWithT(b).Expect(b.kube.Patch(b.Context(), controlled, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":"`+mode+`"}}`)))).To(Succeed())
}

// conditions returns the status and the reason of each condition.
func (b *bench) conditions(name string) map[string]string {
	b.Helper()
	var controlled appv1alpha1.ControlledKind
	NewWithT(b).Expect(b.kube.Get(b.Context(), client.ObjectKey{Name: name}, &controlled)).To(Succeed())
	NewWithT(b).Expect(controlled.Status.ObservedGeneration).To(Equal(controlled.Generation))
	conditions := map[string]string{}
	for _, condition := range controlled.Status.Conditions {
		conditions[condition.Type] = string(condition.Status) + " " + condition.Reason
	}
	return conditions
}

func (b *bench) message(name, condition string) string {
	b.Helper()
	var controlled appv1alpha1.ControlledKind
	NewWithT(b).Expect(b.kube.Get(b.Context(), client.ObjectKey{Name: name}, &controlled)).To(Succeed())
	return meta.FindStatusCondition(controlled.Status.Conditions, condition).Message
}

func (b *bench) mutating(name string) *admissionregistrationv1.MutatingWebhookConfiguration {
	b.Helper()
	var configuration admissionregistrationv1.MutatingWebhookConfiguration
	NewWithT(b).Expect(b.kube.Get(b.Context(), client.ObjectKey{Name: name}, &configuration)).To(Succeed())
	return &configuration
}

func (b *bench) validating(name string) *admissionregistrationv1.ValidatingWebhookConfiguration {
	b.Helper()
	var configuration admissionregistrationv1.ValidatingWebhookConfiguration
	NewWithT(b).Expect(b.kube.Get(b.Context(), client.ObjectKey{Name: name}, &configuration)).To(Succeed())
	return &configuration
}

// called returns the names of the webhooks of the kinds.
func (b *bench) called() (names []string) {
	b.Helper()
	var mutating, validating []string
	for _, webhook := range b.mutating(kindsMutating).Webhooks {
		mutating = append(mutating, webhook.Name)
	}
	for _, webhook := range b.validating(kindsValidating).Webhooks {
		validating = append(validating, webhook.Name)
	}
	NewWithT(b).Expect(mutating).To(Equal(validating))
	return mutating
}

const (
	cronJobs     = "cronjobs.batch.altershield.defense.antgroup.com"
	jobs         = "jobs.batch.altershield.defense.antgroup.com"
	statefulSets = "statefulsets.apps.altershield.defense.antgroup.com"
	daemonSets   = "daemonsets.apps.altershield.defense.antgroup.com"
)

func TestReconcileCreatesTheBuiltInKindsOnce(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.Kinds = testkit.Kinds()[:2]
	g.Expect(b.reconcile()).To(ConsistOf(
		"create v1alpha1.ControlledKind deployments.apps", "create v1alpha1.ControlledKind statefulsets.apps",
		"update v1.MutatingWebhookConfiguration "+kindsMutating, // which are made
		"update v1.MutatingWebhookConfiguration "+kindsMutating, // the webhooks
		"update v1.ValidatingWebhookConfiguration "+kindsValidating,
		"patch status v1alpha1.ControlledKind deployments.apps", "patch status v1alpha1.ControlledKind statefulsets.apps"))
	g.Expect(b.modes()).To(Equal(map[string]string{"deployments.apps": "Enforce", "statefulsets.apps": "Enforce"}), "a new installation")
	g.Expect(b.called()).To(Equal([]string{statefulSets}))
	g.Expect(b.reconcile()).To(BeEmpty(), "at rest")

	deleted := testkit.ControlledKind("statefulsets.apps", "")
	g.Expect(b.kube.Delete(t.Context(), deleted)).To(Succeed())
	g.Expect(b.reconcile()).To(HaveLen(2), "the webhooks of the kind end")
	g.Expect(b.modes()).To(HaveLen(1), "it stays deleted")
	g.Expect(b.called()).To(BeEmpty())
	b.as(b.kube)
	b.Kinds = testkit.Kinds()[:2]
	g.Expect(b.reconcile()).To(BeEmpty(), "a process that starts again")

	namespace := testkit.Namespace(t, b.kube, false)
	testkit.Record(t, b.kube, namespace, "")
	b.Kinds = testkit.Kinds()
	b.reconcile()
	g.Expect(b.modes()).To(Equal(map[string]string{"deployments.apps": "Enforce", "daemonsets.apps": "Observe", "cronjobs.batch": "Observe", "jobs.batch": "Observe"}),
		"a kind that is built in later, where releases were recorded")
	g.Expect(b.mutating(kindsMutating).Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/built-in-kinds",
		"deployments.apps,statefulsets.apps,daemonsets.apps,cronjobs.batch,jobs.batch"))
	g.Expect(b.called()).To(BeEmpty())
	g.Expect(b.kube.DeleteAllOf(t.Context(), &appv1alpha1.ChangeWorkload{}, client.InNamespace(namespace))).To(Succeed())
}

func TestReconcileTakesAKindThatAUserCreatedFirst(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	g.Expect(b.kube.Create(t.Context(), testkit.ControlledKind("statefulsets.apps", "Observe"))).To(Succeed())
	b.reconcile()
	g.Expect(b.modes()).To(Equal(map[string]string{
		"deployments.apps": "Enforce", "statefulsets.apps": "Observe", "daemonsets.apps": "Enforce", "cronjobs.batch": "Enforce", "jobs.batch": "Enforce"}))
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs}))
}

func TestReconcileCreatesNoKindThatItCouldNotRemember(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	g.Expect(b.kube.Delete(t.Context(), b.mutating(kindsMutating))).To(Succeed())
	g.Expect(b.reconcile()).To(BeEmpty())
	g.Expect(b.modes()).To(BeEmpty())
	g.Expect(b.kube.Create(t.Context(), testkit.ControlledKind("statefulsets.apps", "Enforce"))).To(Succeed())
	b.reconcile()
	g.Expect(b.conditions("statefulsets.apps")).To(And(HaveKeyWithValue("Admitted", "False ConfigurationMissing"), HaveKeyWithValue("Ready", "False ConfigurationMissing")))
	g.Expect(b.message("statefulsets.apps", "Admitted")).To(Equal("webhook configuration " + kindsMutating + " is missing: apply config/default again"))
}

func TestReconcileHasTheWebhooksCalledForEnforcedKinds(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.reconcile()
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs, statefulSets}))
	ready := map[string]string{"Served": "True Served", "Permitted": "True Permitted", "Admitted": "True WebhooksConfigured", "Ready": "True Ready"}
	for _, name := range []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "cronjobs.batch", "jobs.batch"} {
		g.Expect(b.conditions(name)).To(Equal(ready), name)
	}
	b.setMode("statefulsets.apps", "Observe")
	g.Expect(b.reconcile()).To(HaveLen(3))
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs}))
	g.Expect(b.conditions("statefulsets.apps")).To(Equal(map[string]string{
		"Served": "True Served", "Permitted": "True Permitted", "Synced": "False Syncing", "Admitted": "False KindNotEnforced", "Ready": "False Syncing"}))
	b.runner.synced = true
	b.reconcile()
	g.Expect(b.conditions("statefulsets.apps")).To(And(HaveKeyWithValue("Synced", "True Synced"), HaveKeyWithValue("Ready", "True Observing")))
	g.Expect(b.conditions("daemonsets.apps")).To(Equal(ready))
	b.setMode("statefulsets.apps", "Enforce")
	b.reconcile()
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs, statefulSets}))
	g.Expect(b.runner.calls).To(Equal([]string{"start", "stop"}), "the manager's cache holds built-in kinds that are enforced")

	configuration := b.mutating(kindsMutating)
	configuration.Webhooks = configuration.Webhooks[:1]
	g.Expect(b.kube.Update(t.Context(), configuration)).To(Succeed())
	g.Expect(b.reconcile()).To(Equal([]string{"update v1.MutatingWebhookConfiguration " + kindsMutating}), "a webhook that a user removed")
	g.Expect(b.reconcile()).To(BeEmpty())
}

func TestReconcileCopiesTheCABundle(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.reconcile()
	first := b.mutating(fixedMutating).Webhooks[0].ClientConfig.CABundle
	g.Expect(b.mutating(kindsMutating).Webhooks[0].ClientConfig.CABundle).To(Equal(first))
	set := func(bundle []byte) {
		mutating, validating := b.mutating(fixedMutating), b.validating(fixedValidating)
		mutating.Webhooks[0].ClientConfig.CABundle, validating.Webhooks[1].ClientConfig.CABundle = bundle, bundle
		g.Expect(b.kube.Update(t.Context(), mutating)).To(Succeed())
		g.Expect(b.kube.Update(t.Context(), validating)).To(Succeed())
	}
	set(nil)
	b.reconcile()
	g.Expect(b.mutating(kindsMutating).Webhooks[0].ClientConfig.CABundle).To(Equal(first), "until there is another")
	for _, name := range []string{"deployments.apps", "statefulsets.apps"} {
		g.Expect(b.conditions(name)).To(HaveKeyWithValue("Admitted", "False CABundleMissing"), name)
	}
	rotated := b.authority()
	set(rotated)
	b.reconcile()
	g.Expect(b.mutating(kindsMutating).Webhooks[0].ClientConfig.CABundle).To(Equal(rotated))
	g.Expect(b.validating(kindsValidating).Webhooks[1].ClientConfig.CABundle).To(Equal(rotated))
	g.Expect(b.conditions("statefulsets.apps")).To(HaveKeyWithValue("Ready", "True Ready"))
}

func TestReconcileFollowsTheWebhookOfDeploymentsAlone(t *testing.T) {
	g := NewWithT(t)
	b, _ := newFakeBench(t)
	b.reconcile()
	called := b.validating(kindsValidating).Webhooks
	g.Expect(called).NotTo(BeEmpty())
	for _, webhook := range called {
		g.Expect(webhook.NamespaceSelector).To(Equal(optedInNamespaces()))
		g.Expect(webhook.ClientConfig.CABundle).NotTo(BeEmpty())
		g.Expect(webhook.TimeoutSeconds).To(HaveValue(BeEquivalentTo(7)))
	}
	configuration := b.validating(fixedValidating)
	configuration.Webhooks = []admissionregistrationv1.ValidatingWebhook{ofControlledKinds()}
	g.Expect(b.kube.Update(t.Context(), configuration)).To(Succeed())
	b.reconcile()
	g.Expect(b.validating(kindsValidating).Webhooks).To(BeEmpty())
	g.Expect(b.conditions("deployments.apps")).To(HaveKeyWithValue("Admitted", "False ConfigurationMissing"))
}

func TestReconcileHasNoWebhookCalledWithoutThoseOfDeployments(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.reconcile()
	g.Expect(b.kube.Delete(t.Context(), b.mutating(fixedMutating))).To(Succeed())
	g.Expect(b.kube.Delete(t.Context(), b.validating(fixedValidating))).To(Succeed())
	b.reconcile()
	g.Expect(b.called()).To(BeEmpty(), "deleting them lets every release pass")
	g.Expect(b.conditions("statefulsets.apps")).To(HaveKeyWithValue("Ready", "False ConfigurationMissing"))
	g.Expect(b.conditions("deployments.apps")).To(HaveKeyWithValue("Ready", "False ConfigurationMissing"))
}

func TestReconcileReportsKindsThatItDoesNotControl(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.Kinds = testkit.Kinds()[:2] // an operator before there was the kind
	g.Expect(b.kube.Create(t.Context(), testkit.ControlledKind("jobs.batch", "Enforce"))).To(Succeed())
	b.reconcile()
	g.Expect(b.called()).To(Equal([]string{statefulSets}))
	g.Expect(b.conditions("jobs.batch")).To(Equal(map[string]string{"Ready": "False KindNotSupported"}))
}

// Impersonated by a client of an administrator, a user has no rights but those that are bound here.
func (b *bench) bind(user string, rules ...rbacv1.PolicyRule) {
	b.Helper()
	g := NewWithT(b)
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}, Rules: rules}
	g.Expect(b.kube.Create(b.Context(), role)).To(Succeed())
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	g.Expect(b.kube.Create(b.Context(), binding)).To(Succeed())
	b.Cleanup(func() {
		_ = b.kube.Delete(context.Background(), binding)
		_ = b.kube.Delete(context.Background(), role)
	})
}

func TestReconcileReportsMissingPermissions(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.reconcile()
	kinds := []string{"deployments", "statefulsets", "daemonsets", "replicasets", "controllerrevisions"}
	b.bind("restricted", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: kinds, Verbs: []string{"get", "list", "watch", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments/finalizers"}, Verbs: []string{"update"}},
		rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"cronjobs", "jobs"}, Verbs: []string{"get", "list", "watch", "patch"}},
		rbacv1.PolicyRule{APIGroups: []string{"batch"}, Resources: []string{"cronjobs/finalizers", "jobs/finalizers"}, Verbs: []string{"update"}})
	b.Direct, b.permissions = apiServer.ClientOf(t, "restricted"), nil
	g.Eventually(func() string { // the authorizer learns of the binding a moment later
		b.permissions = nil
		b.reconcile()
		return b.conditions("deployments.apps")["Permitted"]
	}).Should(Equal("True Permitted"))
	g.Expect(b.conditions("statefulsets.apps")).To(And(HaveKeyWithValue("Permitted", "False PermissionMissing"), HaveKeyWithValue("Ready", "False PermissionMissing")))
	g.Expect(b.message("statefulsets.apps", "Permitted")).To(Equal(
		"the operator lacks permissions: update statefulsets.apps/finalizers; apply config/default again"))

	b.bind("restricted", rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"statefulsets/finalizers", "daemonsets/finalizers"}, Verbs: []string{"update"}})
	g.Expect(b.reconcile()).To(BeEmpty(), "it doesn't ask again at once")
	g.Eventually(func() string {
		result, err := b.Reconcile(t.Context(), ctrl.Request{})
		g.Expect(err).NotTo(HaveOccurred())
		b.clock.SetTime(b.clock.Now().Add(result.RequeueAfter))
		return b.conditions("statefulsets.apps")["Permitted"]
	}).Should(Equal("True Permitted"))
	result, err := b.Reconcile(t.Context(), ctrl.Request{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeZero())
}

func TestReconcileCountsWorkloads(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	namespace := testkit.Namespace(t, b.kube, false)
	labels := map[string]string{"app": "web"}
	var sets []*appsv1.StatefulSet
	for _, name := range []string{"verified", "running", "held", "resumed", "paced"} {
		set := &appsv1.StatefulSet{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name,
				Labels:      map[string]string{"admission-webhook-altershield.antgroup.com/version": "0123456789abcdef0123456789abcdef"},
				Annotations: map[string]string{"altershield.defense.antgroup.com/release": "3"}},
			Spec: appsv1.StatefulSetSpec{Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}}}},
		}
		switch name {
		case "held":
			set.Annotations["altershield.defense.antgroup.com/held"] = "3"
		case "resumed":
			set.Annotations["altershield.defense.antgroup.com/held"] = "3-overridden"
		case "paced":
			set.Annotations["altershield.defense.antgroup.com/paced"] = `{"release":3,"policy":"shop/careful","lever":"Partition"}`
		}
		g.Expect(b.kube.Create(t.Context(), set)).To(Succeed())
		sets = append(sets, set)
	}
	for i, set := range sets[:2] {
		record := &appv1alpha1.ChangeWorkload{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: set.Name,
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
			Spec: appv1alpha1.ChangeWorkloadSpec{ChangeWorkloadID: set.Name, Reversion: "0123456789abcdef0123456789abcdef", Release: int64(3 - i)},
		}
		g.Expect(b.kube.Create(t.Context(), record)).To(Succeed())
		record.Status = appv1alpha1.ChangeWorkloadStatus{Status: "Success", ObservedRelease: record.Spec.Release, Conditions: []metav1.Condition{{
			Type: "Verified", Status: "True", Reason: "AllPodsPassed", LastTransitionTime: metav1.NewTime(testkit.Now())}}}
		g.Expect(b.kube.Status().Update(t.Context(), record)).To(Succeed())
	}
	t.Cleanup(func() {
		_ = b.kube.DeleteAllOf(context.Background(), &appv1alpha1.ChangeWorkload{}, client.InNamespace(namespace))
	})
	for _, name := range []string{"deployments.apps", "statefulsets.apps"} {
		g.Expect(b.kube.Create(t.Context(), testkit.ControlledKind(name, "Enforce"))).To(Succeed())
	}
	b.reconcile()
	counts := func(name string) appv1alpha1.ControlledKindCounts {
		var controlled appv1alpha1.ControlledKind
		g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Name: name}, &controlled)).To(Succeed())
		return controlled.Status.Counts
	}
	g.Expect(counts("statefulsets.apps")).To(Equal(appv1alpha1.ControlledKindCounts{Objects: 5, Releases: 4, Held: 2}))
	g.Expect(counts("deployments.apps")).To(BeZero())
	b.setMode("statefulsets.apps", "Observe")
	b.reconcile()
	g.Expect(counts("statefulsets.apps")).To(BeZero())
}

func TestReconcileReturnsErrors(t *testing.T) {
	for name, funcs := range map[string]interceptor.Funcs{
		"no webhook configuration can be read": {Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return errors.New("down")
		}},
		"no kinds can be listed": {List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return errors.New("down")
		}},
		"no kind can be created": {Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return errors.New("down")
		}},
		"no configuration can be written": {Update: func(context.Context, client.WithWatch, client.Object, ...client.UpdateOption) error {
			return errors.New("down")
		}},
		"no status can be written": {SubResourcePatch: func(context.Context, client.Client, string, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
			return errors.New("down")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g, b := NewWithT(t), newBench(t)
			b.as(interceptor.NewClient(b.kube, funcs))
			_, err := b.Reconcile(t.Context(), ctrl.Request{})
			g.Expect(err).To(MatchError(ContainSubstring("down")))
			b.as(b.kube)
			b.reconcile()
			g.Expect(b.conditions("statefulsets.apps")).To(HaveKeyWithValue("Ready", "True Ready"), "the next attempt completes it")
			g.Expect(b.called()).To(HaveLen(4))
		})
	}
}

// confine creates the policy of config/webhook.
func (b *bench) confine() {
	b.Helper()
	g := NewWithT(b)
	content, err := os.Open(filepath.Join("..", "..", "config", "webhook", "kinds_policy.yaml"))
	g.Expect(err).NotTo(HaveOccurred())
	defer content.Close()
	objects, err := manifests.Decode(content)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		g.Expect(b.kube.Create(b.Context(), object)).To(Succeed())
		b.Cleanup(func() { _ = b.kube.Delete(context.Background(), object) })
	}
}

func TestPolicyConfinesTheWebhooksOfKinds(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.reconcile()
	b.confine()
	b.bind(operator, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	own := apiServer.ClientOf(t, operator)
	write := func(kube client.Client, change func(*admissionregistrationv1.MutatingWebhook)) error {
		configuration := b.mutating(kindsMutating)
		change(&configuration.Webhooks[0])
		return kube.Update(t.Context(), configuration, client.DryRunAll)
	}
	rule := func(change func(*admissionregistrationv1.RuleWithOperations)) func(*admissionregistrationv1.MutatingWebhook) {
		return func(webhook *admissionregistrationv1.MutatingWebhook) { change(&webhook.Rules[0]) }
	}
	secrets := rule(func(rule *admissionregistrationv1.RuleWithOperations) {
		rule.APIGroups, rule.Resources = []string{""}, []string{"secrets"}
	})
	// Both the policy and the binding take effect a moment after they were created.
	g.Eventually(func() error { return write(own, secrets) }, 30*time.Second, 200*time.Millisecond).Should(MatchError(ContainSubstring("denied request")))
	for name, row := range map[string]struct {
		change func(*admissionregistrationv1.MutatingWebhook)
		denied string
	}{
		"nothing else": {func(webhook *admissionregistrationv1.MutatingWebhook) { webhook.TimeoutSeconds = ptr.To[int32](3) }, ""},
		"a custom resource": {rule(func(rule *admissionregistrationv1.RuleWithOperations) {
			rule.APIGroups, rule.Resources, rule.APIVersions = []string{"leaderworkerset.x-k8s.io"}, []string{"leaderworkersets"}, []string{"v1"}
		}), ""},
		"deletions": {rule(func(rule *admissionregistrationv1.RuleWithOperations) {
			rule.Operations = append(rule.Operations, "DELETE")
		}), ""},
		"secrets": {secrets, "of groups other than the core group"},
		"roles": {rule(func(rule *admissionregistrationv1.RuleWithOperations) {
			rule.APIGroups, rule.Resources = []string{"rbac.authorization.k8s.io"}, []string{"clusterrolebindings"}
		}), "of groups other than the core group"},
		"all groups":    {rule(func(rule *admissionregistrationv1.RuleWithOperations) { rule.APIGroups = []string{"*"} }), "of groups other than the core group"},
		"all versions":  {rule(func(rule *admissionregistrationv1.RuleWithOperations) { rule.APIVersions = []string{"*"} }), "of groups other than the core group"},
		"all resources": {rule(func(rule *admissionregistrationv1.RuleWithOperations) { rule.Resources = []string{"*"} }), "name resources"},
		"all operations": {rule(func(rule *admissionregistrationv1.RuleWithOperations) {
			rule.Operations = []admissionregistrationv1.OperationType{"*"}
		}), "name resources"},
		"a subresource": {rule(func(rule *admissionregistrationv1.RuleWithOperations) {
			rule.Resources = []string{"statefulsets/scale"}
		}), "without subresources"},
		"all namespaces":  {func(webhook *admissionregistrationv1.MutatingWebhook) { webhook.NamespaceSelector = nil }, "in namespaces with the label"},
		"another service": {func(webhook *admissionregistrationv1.MutatingWebhook) { webhook.ClientConfig.Service.Name = "other" }, "answered by the operator itself"},
		"another namespace": {func(webhook *admissionregistrationv1.MutatingWebhook) {
			webhook.ClientConfig.Service.Namespace = "default"
		}, "answered by the operator itself"},
		"a URL": {func(webhook *admissionregistrationv1.MutatingWebhook) {
			webhook.ClientConfig = byURL("https://example.com/mutate-kind")
			webhook.ClientConfig.CABundle = nil
		}, "answered by the operator itself"},
		"a URL on the host of the API server": {func(webhook *admissionregistrationv1.MutatingWebhook) {
			webhook.ClientConfig = byURL("https://127.0.0.1:9443/mutate-kind")
			webhook.ClientConfig.CABundle = nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(write(b.kube, row.change)).To(Succeed(), "others aren't confined")
			err := write(own, row.change)
			if row.denied == "" {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring(row.denied)))
		})
	}
	g.Expect(apierrors.IsForbidden(write(own, secrets))).To(BeTrue())

	b.as(own)
	b.setMode("statefulsets.apps", "Observe")
	b.reconcile()
	g.Expect(b.called()).To(Equal([]string{cronJobs, daemonSets, jobs}))
	b.setMode("statefulsets.apps", "Enforce")
	b.reconcile()
	g.Expect(b.called()).To(HaveLen(4))

	configuration := b.mutating(fixedMutating)
	configuration.Webhooks[0].NamespaceSelector = nil
	g.Expect(b.kube.Update(t.Context(), configuration)).To(Succeed())
	b.reconcile()
	g.Expect(b.conditions("statefulsets.apps")).To(HaveKeyWithValue("Ready", "False ConfigurationDenied"))
	g.Expect(b.message("statefulsets.apps", "Admitted")).To(ContainSubstring("in namespaces with the label admission-webhook-altershield=enabled"))
}

func TestPolicyKeepsTheFixedWebhooksAsTheyAreButForTheirCABundle(t *testing.T) {
	g, b := NewWithT(t), newBench(t)
	b.confine()
	b.bind(operator, rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}})
	own := apiServer.ClientOf(t, operator)
	write := func(kube client.Client, change func(*admissionregistrationv1.ValidatingWebhookConfiguration)) error {
		configuration := b.validating(fixedValidating)
		change(configuration)
		return kube.Update(t.Context(), configuration, client.DryRunAll)
	}
	installed := b.validating(fixedValidating)
	installed.Webhooks[1].Rules = []admissionregistrationv1.RuleWithOperations{{
		Operations: []admissionregistrationv1.OperationType{"UPDATE"},
		Rule:       admissionregistrationv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
	}}
	g.Expect(b.kube.Update(t.Context(), installed)).To(Succeed())
	secrets := func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
		c.Webhooks[1].Rules[0].APIGroups, c.Webhooks[1].Rules[0].Resources = []string{""}, []string{"secrets"}
	}
	// Both the policy and the binding take effect a moment after they were created.
	g.Eventually(func() error { return write(own, secrets) }, 30*time.Second, 200*time.Millisecond).Should(MatchError(ContainSubstring("denied request")))
	for name, row := range map[string]struct {
		change func(*admissionregistrationv1.ValidatingWebhookConfiguration)
		denied bool
	}{
		"nothing": {func(*admissionregistrationv1.ValidatingWebhookConfiguration) {}, false},
		"the CA bundle": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.CABundle, c.Webhooks[1].ClientConfig.CABundle = b.authority(), nil
		}, false},
		"the order": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { slices.Reverse(c.Webhooks) }, false},
		"a label": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Labels = map[string]string{"a": "b"}
		}, false},
		"secrets": {secrets, true},
		"an operation": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[1].Rules[0].Operations = append(c.Webhooks[1].Rules[0].Operations, "DELETE")
		}, true},
		"the rules":      {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks[1].Rules = nil }, true},
		"the namespaces": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks[1].NamespaceSelector = nil }, true},
		"a match condition": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "all", Expression: "true"}}
		}, true},
		"the failure policy": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].FailurePolicy = ptr.To(admissionregistrationv1.Fail)
		}, true},
		"the path": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.Service.Path = ptr.To("/other")
		}, true},
		"a URL": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig = byURL("https://127.0.0.1:9443/validate-controlledkind")
		}, true},
		"a further webhook": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) {
			further := *c.Webhooks[1].DeepCopy()
			further.Name = "other.kb.io"
			c.Webhooks = append(c.Webhooks, further)
		}, true},
		"a webhook less":  {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks = c.Webhooks[:1] }, true},
		"another webhook": {func(c *admissionregistrationv1.ValidatingWebhookConfiguration) { c.Webhooks[1].Name = "other.kb.io" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(write(b.kube, row.change)).To(Succeed(), "others aren't confined")
			err := write(own, row.change)
			if !row.denied {
				g.Expect(err).NotTo(HaveOccurred())
				return
			}
			g.Expect(err).To(MatchError(ContainSubstring("of its installed webhooks, the operator changes the CA bundle alone")))
			g.Expect(apierrors.IsForbidden(err)).To(BeTrue())
		})
	}
	configuration := b.mutating(fixedMutating)
	configuration.Webhooks[0].TimeoutSeconds = ptr.To[int32](3)
	g.Expect(apierrors.IsForbidden(own.Update(t.Context(), configuration, client.DryRunAll))).To(BeTrue())
}
