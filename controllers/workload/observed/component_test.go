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

package observed_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changeworkload"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/record"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	samples "github.com/traas-stack/altershield-operator/controllers/testkit/kinds"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// bench reconciles the releases of a workload whose kind is observed.
type bench struct {
	*testing.T
	name     string
	kube     client.WithWatch
	clock    *clocktesting.FakePassiveClock
	recorded *clientevents.FakeRecorder
	records  *record.Reconciler
	checks   *changeworkload.Reconciler
	// lists counts the lists of pods, made the objects of the operator.
	lists, made int
	// writes are those to objects other than the operator's own.
	writes []string
}

func newBench(t *testing.T, of workload.Kind, name string) *bench {
	t.Helper()
	kind := observed.Of(of)
	b := &bench{T: t, name: name, clock: clocktesting.NewFakePassiveClock(start), recorded: clientevents.NewFakeRecorder(100)}
	b.kube = testkit.NewFake(t, testkit.ControlledKind(workload.ControlledKindName(of), "Observe"),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}},
		&appv1alpha1.OpsConfigInfo{
			ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "release-history"},
			Spec:       appv1alpha1.OpsConfigInfoSpec{Type: appv1alpha1.TypeReleaseHistory, Enable: true, Content: "5"},
		})
	cached := b.cached(kind)
	note := func(verb string, object client.Object) {
		if !isOperators(object) {
			b.writes = append(b.writes, fmt.Sprintf("%s %T %s", verb, object, object.GetName()))
		}
	}
	kube := interceptor.NewClient(b.kube, interceptor.Funcs{
		Get: cached,
		Patch: func(ctx context.Context, inner client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			note("patch", object)
			return inner.Patch(ctx, object, patch, options...)
		},
		Create: func(ctx context.Context, inner client.WithWatch, object client.Object, options ...client.CreateOption) error {
			note("create", object)
			object.SetUID(types.UID(fmt.Sprintf("uid-%d", b.made)))
			b.made++
			return inner.Create(ctx, object, options...)
		},
	})
	live := interceptor.NewClient(b.kube, interceptor.Funcs{
		List: func(ctx context.Context, inner client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if _, pods := list.(*corev1.PodList); pods {
				b.lists++
			}
			return inner.List(ctx, list, options...)
		},
	})
	metrics, err := changeworkload.NewMetrics(prometheus.NewRegistry())
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	recorder, reader := events.Recorder{Events: b.recorded}, settings.Reader{Client: kube, Namespace: "altershieldoperator-system"}
	kinds := workload.Registry{of}
	b.records = &record.Reconciler{Kind: kind, Kinds: kinds, Client: kube, Live: live, Recorder: recorder, Clock: b.clock, Settings: reader}
	b.checks = &changeworkload.Reconciler{
		Kinds: kinds, Client: kube, Live: live, Direct: kube, Recorder: recorder, Metrics: metrics, Clock: b.clock, Settings: reader,
		History: &history.Keeper{Client: kube, Live: live}, Since: func() time.Time { return time.Time{} }, Agreed: b.clock.Now,
	}
	b.checks.Looks, _ = testkit.Looks(t.Context(), t, b.clock)
	return b
}

func isOperators(object client.Object) bool {
	switch object.(type) {
	case *appv1alpha1.ChangeWorkload, *appv1alpha1.ChangePod:
		return true
	}
	return false
}

// cached reads untyped workloads as the cache of the kind holds them.
func (b *bench) cached(kind workload.Kind) func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
	return func(ctx context.Context, inner client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
		if err := inner.Get(ctx, key, into, options...); err != nil {
			return err
		}
		untyped, ok := into.(*unstructured.Unstructured)
		if !ok {
			return nil
		}
		for _, held := range kind.Cache(labels.Nothing()) {
			slim, err := held.Transform(untyped)
			if err != nil {
				return err
			}
			untyped.Object = slim.(*unstructured.Unstructured).Object
		}
		return nil
	}
}

// release updates the StatefulSet as a user and its controller do, with the ControllerRevision and ready pods.
func (b *bench) release(image string, generation int64, revision string) {
	b.Helper()
	g, set := NewWithT(b), web(image, generation, revision)
	if err := b.kube.Create(b.Context(), set.DeepCopy()); err != nil {
		var present appsv1.StatefulSet
		g.Expect(b.kube.Get(b.Context(), client.ObjectKeyFromObject(set), &present)).To(Succeed())
		set.ResourceVersion = present.ResourceVersion
		status := set.Status
		g.Expect(b.kube.Update(b.Context(), set)).To(Succeed())
		set.Status = status
		g.Expect(b.kube.Status().Update(b.Context(), set)).To(Succeed())
	}
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "set-1", Controller: ptr.To(true)}
	template, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&set.Spec.Template)
	g.Expect(err).NotTo(HaveOccurred())
	data, err := (&unstructured.Unstructured{Object: map[string]any{"kind": "x", "apiVersion": "v1", "spec": map[string]any{"template": template}}}).MarshalJSON()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.kube.Create(b.Context(), &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: revision, Labels: map[string]string{"app": "web"}, OwnerReferences: []metav1.OwnerReference{owner}},
		Data:       runtime.RawExtension{Raw: data}, Revision: generation,
	})).To(Succeed())
	for i := range 2 {
		name := fmt.Sprintf("web-%d", i)
		g.Expect(client.IgnoreNotFound(b.kube.Delete(b.Context(), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}))).To(Succeed())
		g.Expect(b.kube.Create(b.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: name, UID: types.UID(fmt.Sprint(name, revision)), OwnerReferences: []metav1.OwnerReference{owner},
				Labels: map[string]string{"app": "web", "controller-revision-hash": revision},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning, Conditions: []corev1.PodCondition{
				{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(b.clock.Now())}}},
		})).To(Succeed())
	}
}

// reconcile records the present release, and checks all releases until nothing is due. Batches pass unless they are to fail.
func (b *bench) reconcile(verdict appv1alpha1.Verdict) {
	b.Helper()
	g := NewWithT(b)
	_, err := b.records.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: b.name}})
	g.Expect(err).NotTo(HaveOccurred())
	for range 4 {
		b.clock.SetTime(b.clock.Now().Add(3 * time.Second))
		for _, known := range b.all() {
			_, err := b.checks.Reconcile(b.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(&known)})
			g.Expect(err).NotTo(HaveOccurred())
		}
		b.judge(verdict)
	}
}

func (b *bench) judge(verdict appv1alpha1.Verdict) {
	b.Helper()
	g := NewWithT(b)
	var batches appv1alpha1.ChangePodList
	g.Expect(b.kube.List(b.Context(), &batches)).To(Succeed())
	for i := range batches.Items {
		batch := &batches.Items[i]
		if batch.Status.Status != "" {
			continue
		}
		batch.Status = decide.AdvanceChangePod(batch, decide.CheckFacts{}, decide.CheckAnswer{}, b.clock.Now())
		batch.Status.PodResults = slices.Clone(batch.Spec.PodInfos)
		for j := range batch.Status.PodResults {
			batch.Status.PodResults[j].Verdict = verdict
		}
		g.Expect(b.kube.Status().Update(b.Context(), batch)).To(Succeed())
	}
}

// all returns the records, oldest first.
func (b *bench) all() []appv1alpha1.ChangeWorkload {
	b.Helper()
	var list appv1alpha1.ChangeWorkloadList
	NewWithT(b).Expect(b.kube.List(b.Context(), &list)).To(Succeed())
	slices.SortFunc(list.Items, func(a, b appv1alpha1.ChangeWorkload) int { return int(a.Spec.Release - b.Spec.Release) })
	return list.Items
}

func (b *bench) progress() []string {
	b.Helper()
	var found []string
	for _, known := range b.all() {
		line := fmt.Sprintf("%d %s", known.Spec.Release, known.Status.Status)
		for _, condition := range known.Status.Conditions {
			line += fmt.Sprintf(" %s=%s/%s", condition.Type, condition.Status, condition.Reason)
		}
		found = append(found, line)
	}
	return found
}

func TestObservedReleasesAreCheckedAndNothingIsWrittenToTheWorkload(t *testing.T) {
	g, b := NewWithT(t), newBench(t, statefulset.Kind{}, "web")
	b.release("web:1", 3, "web-1")
	b.reconcile("pass")
	g.Expect(b.progress()).To(Equal([]string{"3 Success Verified=True/Baseline"}))
	g.Expect(b.lists).To(BeZero())
	g.Expect(b.recorded.Events).NotTo(Receive())

	b.release("web:2", 5, "web-2")
	b.reconcile("pass")
	g.Expect(b.progress()).To(Equal([]string{"3 Success Verified=True/Baseline", "5 Success Verified=True/AllPodsPassed"}))
	second := b.all()[1]
	g.Expect(second.Spec.Observed).To(BeTrue())
	g.Expect(second.Spec.ReleasedBy).To(BeEmpty())
	g.Expect(*second.OwnerReferences[0].BlockOwnerDeletion).To(BeFalse())
	g.Expect(second.Status.Counts.Passed).To(BeEquivalentTo(2))
	g.Expect(b.recorded.Events).To(Receive(Equal("Normal ReleaseRecorded release 5, version " + second.Spec.Reversion)))
	g.Expect(b.recorded.Events).To(Receive(Equal("Normal ReleaseSucceeded release " + second.Spec.Reversion + " is verified: 2 of 2 pods passed")))
	lists := b.lists
	b.reconcile("pass")
	g.Expect(b.lists).To(Equal(lists), "nothing is read at rest")

	b.release("web:3", 6, "web-3")
	b.reconcile("unpass")
	g.Expect(b.progress()).To(ContainElement("6 Suspend Verified=False/PodsFailed Suspended=False/Observing"))
	g.Expect(b.recorded.Events).To(Receive(HavePrefix("Normal ReleaseRecorded")))
	g.Expect(b.recorded.Events).To(Receive(HavePrefix("Warning PodsFailed")))

	b.release("web:2", 7, "web-4")
	b.reconcile("pass")
	g.Expect(b.progress()).To(ContainElement("7 Success Verified=True/AllPodsPassed"), "to go back is a release, too")
	g.Expect(b.writes).To(BeEmpty())
}

func TestBaselinesHaveNoOrder(t *testing.T) {
	g, b := NewWithT(t), newBench(t, statefulset.Kind{}, "web")
	b.records.Ordered = true
	b.release("web:1", 3, "web-1")
	b.reconcile("pass")
	b.release("web:2", 5, "web-2")
	b.reconcile("pass")
	g.Expect(b.all()).To(HaveLen(2))
	g.Expect(b.all()[0].Finalizers).To(BeEmpty(), "nothing is to be closed at the verifier when it is removed")
	g.Expect(b.all()[1].Finalizers).To(ConsistOf("altershield.defense.antgroup.com/change-order"))
}

func TestPodsOfObservedReleasesAreListedWhileTheirNamespaceIsOptedIn(t *testing.T) {
	g, b := NewWithT(t), newBench(t, statefulset.Kind{}, "web")
	b.release("web:1", 3, "web-1")
	b.reconcile("pass")
	b.release("web:2", 5, "web-2")
	_, err := b.records.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "web"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.kube.Delete(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})).To(Succeed()) // the cache holds no others
	b.reconcile("pass")
	g.Expect(b.lists).To(BeZero())
	g.Expect(b.progress()).To(ContainElement("5  Verified=Unknown/NamespaceOptedOut"))
}

func TestObservedReleasesEndWithTheMode(t *testing.T) {
	g, b := NewWithT(t), newBench(t, statefulset.Kind{}, "web")
	b.release("web:1", 1, "web-1")
	var set appsv1.StatefulSet
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &set)).To(Succeed())
	set.Status.UpdatedReplicas = 1
	g.Expect(b.kube.Status().Update(t.Context(), &set)).To(Succeed())
	_, err := b.records.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "shop", Name: "web"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.all()[0].Spec.Baseline).To(BeFalse(), "it is being rolled out")
	var controlled appv1alpha1.ControlledKind
	g.Expect(b.kube.Get(t.Context(), client.ObjectKey{Name: "statefulsets.apps"}, &controlled)).To(Succeed())
	controlled.Spec.Mode = "Enforce"
	g.Expect(b.kube.Update(t.Context(), &controlled)).To(Succeed())
	b.reconcile("pass")
	g.Expect(b.progress()).To(Equal([]string{"1  Verified=Unknown/KindNotObserved"}))
	g.Expect(b.lists).To(BeZero())
	g.Expect(b.writes).To(BeEmpty())
}

func TestObservedReleasesOfAKindWithoutPods(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, samples.Sample(t, "../../..", "kubernetescluster", "kubernetesclusters"), "dev")
	nodes := func(names ...string) []any {
		var list []any
		for _, name := range names {
			list = append(list, map[string]any{"ip": name})
		}
		return list
	}
	cluster := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "ecs.yun.com/v1", "kind": "KubernetesCluster",
		"metadata": map[string]any{"namespace": "shop", "name": "dev", "uid": "c-1", "generation": int64(1), "creationTimestamp": start.Format(time.RFC3339)},
		"spec":     map[string]any{"cluster": map[string]any{"kubeVersion": "v1.30.0", "nodeList": nodes("10.0.0.11")}},
	}}
	g.Expect(b.kube.Create(t.Context(), cluster)).To(Succeed())
	phase := func(phase string, after time.Duration) {
		g.Expect(unstructured.SetNestedMap(cluster.Object, map[string]any{
			"phase": phase, "lastTransitionTime": b.clock.Now().Add(after).Format(time.RFC3339)}, "status")).To(Succeed())
		g.Expect(b.kube.Update(t.Context(), cluster)).To(Succeed())
	}
	phase("Running", -time.Hour)
	b.reconcile("pass")
	g.Expect(b.progress()).To(Equal([]string{"1 Running Verified=Unknown/Verifying"}), "a phase from before the release doesn't count")
	phase("Running", time.Second)
	b.reconcile("pass")
	g.Expect(b.progress()).To(Equal([]string{"1 Success Verified=True/AllPodsPassed"}))

	g.Expect(unstructured.SetNestedSlice(cluster.Object, nodes("10.0.0.11", "10.0.0.12"), "spec", "cluster", "nodeList")).To(Succeed())
	cluster.SetGeneration(2)
	cluster.SetAnnotations(map[string]string{"app.kubernetes.io/operation": "scale-finished"})
	g.Expect(b.kube.Update(t.Context(), cluster)).To(Succeed())
	b.reconcile("pass")
	g.Expect(b.progress()).To(HaveLen(1), "release.when")
	cluster.SetAnnotations(nil)
	phase("Failed", time.Minute)
	b.reconcile("pass")
	g.Expect(b.progress()).To(ContainElement("2 Suspend Verified=False/WorkloadFailed Suspended=False/Observing"))
	g.Expect(b.lists).To(BeZero(), "it has no pods")
	g.Expect(b.writes).To(BeEmpty())
}
