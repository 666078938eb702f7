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

package changeworkload_test

import (
	"os"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changeworkload"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier/altershield"
)

var apiServer testkit.APIServer

func TestMain(m *testing.M) { os.Exit(apiServer.Run(m)) }

// release is the first release of the Deployment sleep, of one pod that has finished, on a real API server, and its reconciler.
type release struct {
	t          *testing.T
	kube       client.WithWatch
	clock      *clocktesting.FakePassiveClock
	server     *testkit.Server
	recorded   *clientevents.FakeRecorder
	reconciler *changeworkload.Reconciler
	deployment *appsv1.Deployment
	record     client.ObjectKey
}

func newRelease(t *testing.T) *release {
	t.Helper()
	g := NewWithT(t)
	r := &release{
		t: t, kube: apiServer.Client(t), clock: clocktesting.NewFakePassiveClock(testkit.Now()), server: testkit.NewServer(t), recorded: clientevents.NewFakeRecorder(20),
	}
	r.create(testkit.Namespace(t, r.kube, true))
	metrics, err := changeworkload.NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	cached := testkit.Cached(t, r.kube)
	r.reconciler = &changeworkload.Reconciler{
		Kinds: testkit.Kinds(), Client: cached, Live: r.kube, Direct: r.kube, Recorder: events.Recorder{Events: r.recorded}, History: &history.Keeper{Client: cached, Live: r.kube}, Metrics: metrics,
		Clock: r.clock, Since: func() time.Time { return time.Time{} }, Agreed: r.clock.Now, Settings: settings.Reader{Client: cached, Namespace: r.deployment.Namespace}, Verifier: r.server.Client(t, r.clock),
	}
	r.reconciler.Looks, _ = testkit.Looks(t.Context(), t, r.clock)
	return r
}

// create creates the objects of a release that the webhooks, Kubernetes, and the other reconcilers create.
func (r *release) create(namespace string) {
	r.t.Helper()
	g, ctx := NewWithT(r.t), r.t.Context()
	labels := map[string]string{"app": "sleep", "admission-webhook-altershield.antgroup.com/version": testkit.Version}
	template := corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "sleep", Image: "busybox"}}},
	}
	r.deployment = &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep", Labels: labels, Annotations: map[string]string{
			"altershield.defense.antgroup.com/release": "1"}},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To[int32](1), Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: template},
	}
	g.Expect(r.kube.Create(ctx, r.deployment)).To(Succeed())
	replicaSet := &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep-1", Labels: labels, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(r.deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}},
		Spec: appsv1.ReplicaSetSpec{Replicas: ptr.To[int32](1), Selector: r.deployment.Spec.Selector, Template: template},
	}
	g.Expect(r.kube.Create(ctx, replicaSet)).To(Succeed())
	finished := map[string]string{"altershield.defense.antgroup.com/operate-finished": "1795255200"}
	for key, value := range labels {
		finished[key] = value
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep-1-a", Labels: finished, OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))}},
		Spec: template.Spec,
	}
	g.Expect(r.kube.Create(ctx, pod)).To(Succeed())
	pod.Status.Phase = "Running"
	g.Expect(r.kube.Status().Update(ctx, pod)).To(Succeed())
	record := testkit.Record(r.t, r.kube, namespace, "")
	record.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(r.deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}
	record.Labels = map[string]string{"app.kubernetes.io/deployment-name": "sleep", "admission-webhook-altershield.antgroup.com/version": testkit.Version}
	g.Expect(r.kube.Update(ctx, record)).To(Succeed())
	r.record = client.ObjectKeyFromObject(record)
}

func (r *release) reconcile() ctrl.Result {
	r.t.Helper()
	result, err := r.reconciler.Reconcile(r.t.Context(), ctrl.Request{NamespacedName: r.record})
	NewWithT(r.t).Expect(err).NotTo(HaveOccurred())
	return result
}

// state is the status of the release, the state of its order and the condition Ordered.
func (r *release) state() string {
	r.t.Helper()
	var record appv1alpha1.ChangeWorkload
	err := r.kube.Get(r.t.Context(), r.record, &record)
	if apierrors.IsNotFound(err) {
		return "gone"
	}
	NewWithT(r.t).Expect(err).NotTo(HaveOccurred())
	words := []string{string(record.Status.Status)}
	if order := record.Status.Order; order != nil {
		words = append(words, string(order.State))
	}
	for _, condition := range record.Status.Conditions {
		if condition.Type == "Ordered" {
			words = append(words, string(condition.Status), condition.Reason)
		}
	}
	return strings.Join(words, " ")
}

// pass ends the check of every batch.
func (r *release) pass() {
	r.t.Helper()
	g := NewWithT(r.t)
	var batches appv1alpha1.ChangePodList
	g.Expect(r.kube.List(r.t.Context(), &batches, client.InNamespace(r.record.Namespace))).To(Succeed())
	g.Expect(batches.Items).NotTo(BeEmpty())
	for _, batch := range batches.Items {
		before := batch.DeepCopy()
		batch.Status.Status, batch.Status.Message = "ExecuteDone", "PostFinish"
		g.Expect(r.kube.Status().Patch(r.t.Context(), &batch, client.MergeFrom(before))).To(Succeed())
	}
}

func (r *release) events() []string {
	var seen []string
	for len(r.recorded.Events) > 0 {
		kind, event, _ := strings.Cut(<-r.recorded.Events, " ")
		reason, _, _ := strings.Cut(event, " ")
		seen = append(seen, kind+" "+reason)
	}
	return seen
}

// step is one reconcile after something has happened.
type step struct {
	after time.Duration
	do    func(*release)
	calls []string
	state string
	wait  time.Duration
}

func answers(call, answer string) func(*release) {
	return func(r *release) { r.server.Answers(call, answer) }
}

func TestReconcileTellsTheServerOfARelease(t *testing.T) {
	const (
		taken     = `{"success":true,"resultCode":"000","msg":null,"domain":{"orderId":"order-1","url":"order-1"}}`
		there     = `{"success":false,"resultCode":"106","msg":"duplicated","domain":null}`
		stranger  = `{"success":false,"resultCode":"102","msg":"authentication request fail","domain":null}`
		refused   = `{"success":false,"resultCode":"101","msg":"changeSceneKey not found","domain":null}`
		busy      = `{"success":false,"resultCode":"104","msg":"access limit exceeded","domain":null}`
		broken    = `{"success":false,"resultCode":"901","msg":"system error","domain":null}`
		firstWait = 200 * time.Millisecond
	)
	opened := step{calls: []string{testkit.OpenOrder}, state: "Running Open True OrderOpen"}
	closed := step{do: (*release).pass, calls: []string{testkit.CloseOrder}, state: "Success SUCCESS True OrderFinished"}
	unavailable := step{calls: []string{testkit.OpenOrder}, state: "Running Pending Unknown ServerUnavailable", wait: firstWait}
	for _, story := range []struct {
		name   string
		with   func(*release)
		steps  []step
		events []string
	}{
		{"that passes", nil, []step{opened, closed, {state: "Success SUCCESS True OrderFinished"}}, []string{"Normal ReleaseSucceeded"}},
		{"that it had already", answers(testkit.OpenOrder, there), []step{opened}, nil},
		{"when it is back", answers(testkit.OpenOrder, testkit.Dropped), []step{unavailable,
			{calls: []string{testkit.OpenOrder}, state: "Running Pending Unknown ServerUnavailable", wait: 2 * firstWait},
			{do: answers(testkit.OpenOrder, taken), calls: []string{testkit.OpenOrder}, state: "Running Open True OrderOpen", wait: 120 * time.Second}}, []string{"Warning ServerUnavailable"}},
		{"again after HTTP 500", answers(testkit.OpenOrder, "500"), []step{unavailable}, []string{"Warning ServerUnavailable"}},
		{"again after an empty body", answers(testkit.OpenOrder, "200"), []step{unavailable}, []string{"Warning ServerUnavailable"}},
		{"again after a page of HTML", answers(testkit.OpenOrder, "<html></html>"), []step{unavailable}, []string{"Warning ServerUnavailable"}},
		{"again when it is overloaded", answers(testkit.OpenOrder, busy), []step{unavailable}, []string{"Warning ServerUnavailable"}},
		{"again after an error", answers(testkit.OpenOrder, broken), []step{unavailable}, []string{"Warning ServerUnavailable"}},
		{"with a wrong token", answers(testkit.OpenOrder, stranger), []step{
			{calls: []string{testkit.OpenOrder}, state: "Running Pending Unknown Unauthorized", wait: firstWait}}, []string{"Warning ServerUnavailable"}},
		{"with a token that it doesn't know for two minutes after an outage", answers(testkit.OpenOrder, testkit.Dropped), []step{unavailable,
			{after: time.Hour, do: answers(testkit.OpenOrder, stranger), calls: []string{testkit.OpenOrder}, state: "Running Pending Unknown Unauthorized", wait: 2 * firstWait},
			{after: 2*time.Minute - time.Second, calls: []string{testkit.OpenOrder}, state: "Running Pending Unknown Unauthorized", wait: 4 * firstWait},
			{after: time.Second, calls: []string{testkit.OpenOrder}, state: "Failed Refused False OrderRefused"}}, []string{"Warning ServerUnavailable", "Warning OrderRefused"}},
		{"that it refuses, which fails", answers(testkit.OpenOrder, refused), []step{
			{calls: []string{testkit.OpenOrder}, state: "Failed Refused False OrderRefused"},
			{state: "Failed Refused False OrderRefused"}}, []string{"Warning OrderRefused"}},
		{"whose end it doesn't take at once", answers(testkit.CloseOrder, testkit.Dropped), []step{opened,
			{do: (*release).pass, calls: []string{testkit.CloseOrder}, state: "Success Open True OrderUnfinished", wait: firstWait},
			{do: answers(testkit.CloseOrder, testkit.Taken), calls: []string{testkit.CloseOrder}, state: "Success SUCCESS True OrderFinished"}}, []string{"Normal ReleaseSucceeded"}},
		{"whose end it never takes, for a while", answers(testkit.CloseOrder, testkit.Dropped), []step{opened,
			{do: (*release).pass, calls: []string{testkit.CloseOrder}, state: "Success Open True OrderUnfinished", wait: firstWait},
			{after: 24 * time.Hour, calls: []string{testkit.CloseOrder}, state: "Success SUCCESS False OrderUnknown"}}, []string{"Normal ReleaseSucceeded"}},
		{"not at all while its checks are switched off", func(r *release) { r.reconciler.Verifier = off{r.reconciler.Verifier.(*altershield.Client)} }, []step{
			{state: "Running"}}, nil},
		{"that is deleted", nil, []step{opened, {do: (*release).remove, calls: []string{testkit.CloseOrder}, state: "gone"}}, nil},
		{"that is deleted while it is down, for a minute", answers(testkit.CloseOrder, testkit.Dropped), []step{opened,
			{do: (*release).remove, calls: []string{testkit.CloseOrder}, state: "Running Open True OrderOpen", wait: firstWait},
			{after: time.Minute, calls: []string{testkit.CloseOrder}, state: "gone"}}, nil},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			g, r := NewWithT(t), newRelease(t)
			if story.with != nil {
				story.with(r)
			}
			for number, step := range story.steps {
				r.clock.SetTime(r.clock.Now().Add(step.after))
				if step.do != nil {
					step.do(r)
				}
				result := r.reconcile()
				g.Expect(r.server.Calls()).To(Equal(step.calls), "step %d", number+1)
				g.Expect(r.state()).To(Equal(step.state), "step %d", number+1)
				g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: step.wait}), "step %d", number+1)
			}
			g.Expect(r.events()).To(Equal(story.events))
		})
	}
}

// off is a verifier whose checks are switched off.
type off struct{ *altershield.Client }

func (off) SwitchedOff() bool { return true }

// remove deletes the record, as the garbage collector does with that of a Deployment that is gone.
func (r *release) remove() {
	r.t.Helper()
	g := NewWithT(r.t)
	record := &appv1alpha1.ChangeWorkload{}
	g.Expect(r.kube.Get(r.t.Context(), r.record, record)).To(Succeed())
	g.Expect(r.kube.Delete(r.t.Context(), record)).To(Succeed())
	g.Expect(r.kube.Get(r.t.Context(), r.record, record)).To(Succeed(), "it stays until its order is closed")
	r.clock.SetTime(record.DeletionTimestamp.Time)
}

func TestReconcileOpensASmallerBatchAtTheDeadline(t *testing.T) {
	g, r := NewWithT(t), newRelease(t)
	r.reconciler.Verifier = nil
	var record appv1alpha1.ChangeWorkload
	g.Expect(r.kube.Get(t.Context(), r.record, &record)).To(Succeed())
	record.Spec.CountThreshold = 10
	g.Expect(r.kube.Update(t.Context(), &record)).To(Succeed())
	r.deployment.Spec.Replicas = ptr.To[int32](2) // one of which finds no node
	g.Expect(r.kube.Update(t.Context(), r.deployment)).To(Succeed())
	batches := func() int {
		var list appv1alpha1.ChangePodList
		g.Expect(r.kube.List(t.Context(), &list, client.InNamespace(r.record.Namespace))).To(Succeed())
		return len(list.Items)
	}

	g.Expect(r.reconcile()).To(Equal(ctrl.Result{RequeueAfter: 60 * time.Second}))
	g.Expect(r.state()).To(Equal("Running"))
	g.Expect(batches()).To(BeZero())
	r.clock.SetTime(testkit.Now().Add(59 * time.Second))
	g.Expect(r.reconcile()).To(Equal(ctrl.Result{RequeueAfter: time.Second}))
	g.Expect(batches()).To(BeZero())
	r.clock.SetTime(testkit.Now().Add(60 * time.Second))
	g.Expect(r.reconcile()).To(Equal(ctrl.Result{RequeueAfter: 60 * time.Second}))
	g.Expect(r.state()).To(Equal("TimeOutPreThreshold"))
	g.Expect(batches()).To(Equal(1))

	r.pass()
	r.deployment.Spec.Replicas = ptr.To[int32](1)
	g.Expect(r.kube.Update(t.Context(), r.deployment)).To(Succeed())
	r.reconcile()
	g.Expect(r.state()).To(Equal("Success"), "fewer pods are wanted, and all of them passed")
}
