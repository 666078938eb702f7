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

package runnable

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

var sleepKey = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "sleep"}}

// roller takes requests and answers them one after the other.
type roller struct {
	requests  []rollback.Request
	deletions []rollback.PodRequest
	answers   []error
	// again is the answer to deletions.
	again time.Duration
}

func (r *roller) Park(ctx context.Context, request rollback.Request) error {
	_, err := r.RollBack(ctx, request)
	return err
}

func (r *roller) DeletePod(_ context.Context, request rollback.PodRequest) (time.Duration, error) {
	r.deletions = append(r.deletions, request)
	return r.again, r.next()
}

func (r *roller) next() error {
	answer := r.answers[0]
	if len(r.answers) > 1 {
		r.answers = r.answers[1:]
	}
	return answer
}

func (r *roller) RollBack(_ context.Context, request rollback.Request) (*appv1alpha1.Rollback, error) {
	r.requests = append(r.requests, request)
	return &appv1alpha1.Rollback{}, r.next()
}

// contact has the time of the API server, and when the operator became the leader.
type contact struct {
	agreed func() time.Time
	since  time.Time
}

func (c contact) Agreed() time.Time { return c.agreed() }

func (c contact) AgreedSince() time.Time { return c.since }

// leadingSince makes the operator one that leads for so long. Its clock is right.
func (b *bench) leadingSince(since time.Time) {
	b.Contact = contact{func() time.Time { return b.Clock.Now() }, since}
}

// bench is the rollback controller for the Deployment sleep, which is at its second release b.
type bench struct {
	*Rollback
	roller   *roller
	recorder *clientevents.FakeRecorder
}

func newBench(t *testing.T, answers []error, objects ...client.Object) *bench {
	t.Helper()
	metrics, err := NewMetrics(prometheus.NewRegistry(), testkit.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	kube := testkit.NewFake(t, objects...)
	b := &bench{roller: &roller{answers: answers}, recorder: clientevents.NewFakeRecorder(5)}
	b.Rollback = &Rollback{
		Kind: deployment.Kind{}, Client: kube, Live: kube, History: &history.Keeper{Client: kube, Live: kube}, Roller: b.roller, Recorder: events.Recorder{Events: b.recorder}, Metrics: metrics,
		Clock:    clocktesting.NewFakePassiveClock(now),
		Settings: settings.Reader{Client: kube, Namespace: "altershieldoperator-system"},
	}
	b.leadingSince(now.Add(-24 * time.Hour))
	return b
}

func (b *bench) annotations(t *testing.T) map[string]string {
	t.Helper()
	var deployment appsv1.Deployment
	if err := b.Client.Get(t.Context(), sleepKey.NamespacedName, &deployment); err != nil {
		t.Fatal(err)
	}
	return deployment.Annotations
}

// events are those so far.
func (b *bench) events() []string {
	var seen []string
	for {
		select {
		case event := <-b.recorder.Events:
			seen = append(seen, event)
		default:
			return seen
		}
	}
}

func meta(name, uid string, owner *metav1.OwnerReference) metav1.ObjectMeta {
	made := metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(uid), Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "b"}}
	if owner != nil {
		made.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	return made
}

// stuckSleep is a Deployment with a pod that is pending for so long.
func stuckSleep(age time.Duration, annotations ...string) []client.Object {
	deployment := &appsv1.Deployment{ObjectMeta: meta("sleep", "d-1", nil)}
	deployment.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "2"}
	for i := 0; i < len(annotations); i += 2 {
		deployment.Annotations["altershield.defense.antgroup.com/"+annotations[i]] = annotations[i+1]
	}
	replicaSet := &appsv1.ReplicaSet{ObjectMeta: meta("sleep-b", "rs-1", metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment")))}
	pod := &corev1.Pod{ObjectMeta: meta("sleep-b-1", "p-1", metav1.NewControllerRef(replicaSet, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")))}
	pod.CreationTimestamp = metav1.NewTime(now.Add(-age))
	return []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, deployment, replicaSet, pod}
}

func TestReconcileRollsAStuckReleaseBackAtItsDeadline(t *testing.T) {
	g := NewWithT(t)
	early := newBench(t, []error{nil}, stuckSleep(80*time.Second)...)
	g.Expect(early.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 40 * time.Second}))
	g.Expect(early.roller.requests).To(BeEmpty())

	late := newBench(t, []error{nil}, stuckSleep(121*time.Second)...)
	g.Expect(late.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	g.Expect(late.roller.requests).To(HaveExactElements(rollback.Request{
		Kind: deployment.Kind{}, Workload: sleepKey.NamespacedName, From: decide.Release{Version: "b", Number: 2}, Reason: "PodsNotRunning", Message: "pod sleep-b-1: pending",
		Patience: decide.Patience{Threshold: 2 * time.Minute, Since: now.Add(-24 * time.Hour), Stopped: map[decide.Container]time.Time{}, Batched: decide.Batched{}},
	}))
	g.Expect(late.events()).To(BeEmpty(), "the Roller reports it")
}

// A ReleasePolicy that is deleted may be created again in a moment, as kubectl replace --force does.
func TestReconcileRollsNoReleaseBackWhilePolicyIsGoneForAMoment(t *testing.T) {
	for _, stuckAfter := range []time.Duration{0, time.Hour} {
		t.Run(stuckAfter.String(), func(t *testing.T) {
			g := NewWithT(t)
			patient := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "patient"}}
			patient.Spec.StuckAfter = &metav1.Duration{Duration: stuckAfter}
			b := newBench(t, []error{nil}, append(stuckSleep(10*time.Minute), patient)...)
			look := func(after time.Duration) time.Duration {
				t.Helper()
				b.Clock = clocktesting.NewFakePassiveClock(now.Add(after))
				result, err := b.Reconcile(t.Context(), sleepKey)
				g.Expect(err).NotTo(HaveOccurred())
				return result.RequeueAfter
			}
			look(0)
			g.Expect(b.Client.Delete(t.Context(), patient)).To(Succeed())
			g.Expect(look(0)).To(Equal(30 * time.Second))
			g.Expect(look(29 * time.Second)).To(Equal(time.Second))
			patient.ResourceVersion = ""
			g.Expect(b.Client.Create(t.Context(), patient)).To(Succeed())
			look(time.Minute)
			g.Expect(b.Client.Delete(t.Context(), patient)).To(Succeed())
			look(2 * time.Minute)
			g.Expect(b.roller.requests).To(BeEmpty())
			g.Expect(look(150 * time.Second)).To(BeZero())
			g.Expect(b.roller.requests).To(HaveLen(1), "it is gone for good")
			g.Expect(b.policies.of).To(BeEmpty())
		})
	}
}

// A version that was released before without steps has a revision without gates. The cache holds no templates.
func TestRollbackLooksOnTheAPIServerWhichRevisionOfAVersionIsThatOfTheRelease(t *testing.T) {
	for image, requests := range map[string]int{"one": 1, "two": 0} {
		objects := stuckSleep(time.Hour)
		deployment, _ := objects[1].(*appsv1.Deployment)
		replicaSet, _ := objects[2].(*appsv1.ReplicaSet)
		deployment.Spec.Selector = &metav1.LabelSelector{MatchLabels: deployment.Labels}
		replicaSet.Annotations = map[string]string{"deployment.kubernetes.io/revision": "2"}
		replicaSet.Spec.Template.Labels = map[string]string{"altershield.defense.antgroup.com/gate": "start"}
		replicaSet.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sleep", Image: "one"}}
		before := replicaSet.DeepCopy()
		before.Name, before.UID, before.CreationTimestamp = "sleep-a", "rs-0", metav1.NewTime(now.Add(-2*time.Hour))
		before.Annotations = map[string]string{"deployment.kubernetes.io/revision": "1"}
		before.Spec.Template.Labels = nil
		before.Spec.Template.Spec.Containers[0].Image = image
		replicaSet.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))

		b := newBench(t, []error{nil}, append(objects, before)...)
		_, err := b.Reconcile(t.Context(), sleepKey)
		NewWithT(t).Expect(err).NotTo(HaveOccurred())
		NewWithT(t).Expect(b.roller.requests).To(HaveLen(requests), image)
	}
}

func TestRollbackChargesNoPodWithTimeInWhichItDidNotLead(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{nil}, stuckSleep(time.Hour)...)
	b.leadingSince(now.Add(-90 * time.Second))
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 30 * time.Second}))
	g.Expect(b.roller.requests).To(BeEmpty())
	b.leadingSince(now.Add(-2 * time.Minute))
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.roller.requests).To(HaveLen(1))
	g.Expect(b.roller.requests[0].Patience.Since).To(Equal(now.Add(-2 * time.Minute)))
}

func TestRollbackRollsNoHealthyReleaseBackWithAClockThatIsAhead(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{nil}, stuckSleep(time.Second)...)
	b.Clock, b.Contact = clocktesting.NewFakePassiveClock(now.Add(2*time.Minute)), contact{func() time.Time { return now }, now.Add(-time.Hour)}
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 119 * time.Second}))
	g.Expect(b.roller.requests).To(BeEmpty())

	set := setBench(t, []error{nil}, blockedWeb(on("unstick", "isUnstick"))...)
	set.Clock, set.Contact = clocktesting.NewFakePassiveClock(now.Add(2*time.Minute)), contact{func() time.Time { return now.Add(-59 * time.Minute) }, now.Add(-24 * time.Hour)}
	g.Expect(set.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	g.Expect(set.roller.deletions).To(BeEmpty())
}

func TestRollbackLooksAgainWhereThePodsAreNotStuck(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.NotStuck{Again: 7 * time.Minute}, &rollback.NotStuck{}}, stuckSleep(time.Hour)...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 7 * time.Minute}))
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}), "an event brings the next reconcile")
	g.Expect(b.roller.requests).To(HaveLen(2))
	g.Expect(b.events()).To(BeEmpty(), "nothing stands in the way")
	g.Expect(testutil.ToFloat64(b.Metrics.obstacles.WithLabelValues("Deployment", "PodsNotRunning"))).To(BeZero())
}

func TestRollbackWaitsForAsLongAsTheDeploymentSays(t *testing.T) {
	for _, row := range []struct {
		value    string
		result   ctrl.Result
		requests int
	}{
		{"10m", ctrl.Result{RequeueAfter: 5 * time.Minute}, 0},
		{"5m", ctrl.Result{}, 1},
		{"90s", ctrl.Result{}, 1},
		{"0", ctrl.Result{}, 0},
		{"soon", ctrl.Result{}, 1},
	} {
		t.Run(row.value, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, []error{nil}, stuckSleep(5*time.Minute, "stuck-after", row.value)...)
			g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(row.result))
			g.Expect(b.roller.requests).To(HaveLen(row.requests))
		})
	}
	g := NewWithT(t)
	off := &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "stuck-rollback"},
		Spec: appv1alpha1.OpsConfigInfoSpec{Type: "isStuckRollback"}}
	b := newBench(t, []error{nil}, append(stuckSleep(5*time.Minute, "stuck-after", "90s"), off)...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.roller.requests).To(BeEmpty(), "off is off for all")
}

func TestRollbackTellsOnceThatAnAnnotationCanNotBeUsed(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{nil}, stuckSleep(time.Second, "stuck-after", "soon")...)
	for range 3 {
		g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 119 * time.Second}))
	}
	const must = "annotation altershield.defense.antgroup.com/stuck-after must be 0 (never) or a duration of at least 1s, such as 90s or 10m, not "
	g.Expect(b.events()).To(Equal([]string{"Warning StuckAfterUnusable " + must + `"soon"; the setting stuck-rollback applies: 2m0s`}))
	set := func(value string) {
		var deployment appsv1.Deployment
		g.Expect(b.Client.Get(t.Context(), sleepKey.NamespacedName, &deployment)).To(Succeed())
		deployment.Annotations["altershield.defense.antgroup.com/stuck-after"] = value
		g.Expect(b.Client.Update(t.Context(), &deployment)).To(Succeed())
		_, err := b.Reconcile(t.Context(), sleepKey)
		g.Expect(err).NotTo(HaveOccurred())
	}
	set("later")
	g.Expect(b.events()).To(Equal([]string{"Warning StuckAfterUnusable " + must + `"later"; the setting stuck-rollback applies: 2m0s`}))
	set("10m")
	g.Expect(b.events()).To(BeEmpty())
	set("later")
	g.Expect(b.events()).To(HaveLen(1), "it was well in between")
}

func TestRollbackRemembersWhenAContainerStoppedFirst(t *testing.T) {
	g := NewWithT(t)
	objects := stuckSleep(time.Hour)
	pod := objects[3].(*corev1.Pod)
	ends := func(ago time.Duration) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sleep", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			FinishedAt: metav1.NewTime(now.Add(-ago)),
		}}}}
	}
	ends(90 * time.Second)
	b := newBench(t, []error{nil}, objects...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 30 * time.Second}))

	b.Clock = clocktesting.NewFakePassiveClock(now.Add(30 * time.Second))
	g.Expect(b.Client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	ends(-29 * time.Second)
	g.Expect(b.Client.Update(t.Context(), pod)).To(Succeed())
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.roller.requests).To(HaveExactElements(HaveField("Patience.Stopped",
		HaveKeyWithValue(decide.Container{Pod: "p-1", Name: "sleep"}, BeTemporally("==", now.Add(-90*time.Second))))))

	var deployment appsv1.Deployment
	g.Expect(b.Client.Get(t.Context(), sleepKey.NamespacedName, &deployment)).To(Succeed())
	deployment.Annotations["altershield.defense.antgroup.com/stuck-after"] = "0"
	g.Expect(b.Client.Update(t.Context(), &deployment)).To(Succeed())
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.stops.of).To(BeEmpty(), "there is nothing to wait for")
}

func TestReconcileTellsOnceWhatCanNotBeRolledBack(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "NoHealthyReplicaSet", Message: "none is healthy"}}, stuckSleep(time.Hour)...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 10 * time.Minute}), "older ReplicaSets may not be in the cache")
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: time.Minute}), "a pod crashed once more")
	g.Expect(b.roller.requests).To(HaveLen(1))
	b.Clock = clocktesting.NewFakePassiveClock(now.Add(time.Minute))
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 10 * time.Minute}))
	g.Expect(b.roller.requests).To(HaveLen(2), "it may have become possible")
	g.Expect(testutil.ToFloat64(b.Metrics.obstacles.WithLabelValues("Deployment", "PodsNotRunning"))).To(BeEquivalentTo(1))
	g.Expect(testutil.CollectAndCount(b.Metrics.obstacles, "altershield_rollback_obstacles_total")).NotTo(BeZero())
	g.Expect(b.events()).To(Equal([]string{
		"Warning ReleaseNotRolledBack release 2, version b, was not rolled back: none is healthy (cause of the rollback: pod sleep-b-1: pending)",
	}))
}

func TestReconcileTellsWhatCanNotBeRolledBackOfADeploymentOfThatName(t *testing.T) {
	g := NewWithT(t)
	objects := stuckSleep(time.Hour)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "NoHealthyReplicaSet", Message: "none"}}, objects...)
	_, err := b.Reconcile(t.Context(), sleepKey)
	g.Expect(err).NotTo(HaveOccurred())
	for _, object := range objects[1:] { // as kubectl replace --force does
		g.Expect(b.Client.Delete(t.Context(), object)).To(Succeed())
		object.SetResourceVersion("")
		object.SetUID(object.GetUID() + "-again")
		if owners := object.GetOwnerReferences(); len(owners) > 0 {
			owners[0].UID += "-again"
			object.SetOwnerReferences(owners)
		}
		g.Expect(b.Client.Create(t.Context(), object)).To(Succeed())
	}
	_, err = b.Reconcile(t.Context(), sleepKey)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.roller.requests).To(HaveLen(2))
	g.Expect(b.events()).To(HaveLen(2))
}

func TestReconcileTriesAgainLaterWhatAPolicyDenies(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "Denied", Message: "a policy forbids it"}}, stuckSleep(time.Hour)...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 10 * time.Minute}))
	g.Expect(b.events()).To(HaveLen(1))
}

// A user would repeat a request that was turned down, a ReleasePolicy asks once.
func TestReconcileTriesAgainLaterWhatAReleasePolicyAskedForAndAPolicyDenies(t *testing.T) {
	for _, reason := range []rollback.ObstacleReason{"Denied", "Reverted"} {
		g := NewWithT(t)
		b := newBench(t, []error{&rollback.Obstacle{Reason: reason, Message: "a policy forbids it"}},
			stuckSleep(time.Second, "stuck-after", "0", "rollback", "true", "rollback-by", "ReleasePolicy default/web")...)
		g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 10 * time.Minute}))
		g.Expect(b.annotations(t)).To(HaveKeyWithValue("altershield.defense.antgroup.com/rollback", "true"))
		g.Expect(b.events()).To(HaveLen(1))
	}
}

func TestReconcileDoesNotAskWhatTheCacheKnows(t *testing.T) {
	g := NewWithT(t)
	objects := stuckSleep(time.Hour)
	objects[1].(*appsv1.Deployment).Spec.Paused = true
	b := newBench(t, []error{nil}, objects...)
	for range 3 {
		g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	}
	g.Expect(b.roller.requests).To(BeEmpty())
	g.Expect(b.events()).To(HaveExactElements(ContainSubstring("deployment sleep is paused by a user")))
}

func TestReconcileTurnsDownARequestThatCanNotBeMet(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "UnknownVersion", Message: "it is unknown"}},
		stuckSleep(time.Second, "rollback", "true", "rollback-by", "alice", "note", "mine")...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 119 * time.Second}))
	g.Expect(b.annotations(t)).To(Equal(map[string]string{"altershield.defense.antgroup.com/release": "2", "altershield.defense.antgroup.com/note": "mine"}))
	g.Expect(b.events()).To(Equal([]string{"Warning ReleaseNotRolledBack release 2, version b, was not rolled back: it is unknown (cause of the rollback: alice asked for it)"}))
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 119 * time.Second}))
	g.Expect(b.roller.requests).To(HaveLen(1))
}

func TestReconcileTellsOnceOfARequestThatItCanNotTurnDownEither(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "Denied", Message: "it is locked"}}, stuckSleep(time.Second, "rollback", "true", "rollback-by", "alice")...)
	locked := &apierrors.StatusError{ErrStatus: metav1.Status{Code: 409, Message: `admission webhook "lock.example.com" denied the request: it is locked`}}
	b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return locked
		},
	})
	_, err := b.Reconcile(t.Context(), sleepKey)
	g.Expect(err).To(MatchError(ContainSubstring("it is locked")))
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	g.Expect(b.roller.requests).To(HaveLen(1))
	g.Expect(b.events()).To(Equal([]string{"Warning ReleaseNotRolledBack release 2, version b, was not rolled back: it is locked (cause of the rollback: alice asked for it)"}))
}

func TestReconcileTellsOnceOfARequestThatItTurnsDownAtTheSecondAttempt(t *testing.T) {
	for name, failure := range map[string]error{
		"after a conflict":      apierrors.NewConflict(schema.GroupResource{Resource: "deployments"}, "sleep", errors.New("modified")),
		"after a server error":  apierrors.NewInternalError(errors.New("etcd")),
		"after a lost response": errors.New("connection reset"),
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			unknown := &rollback.Obstacle{Reason: "UnknownVersion", Message: "it is unknown"}
			b := newBench(t, []error{unknown, unknown}, stuckSleep(time.Second, "rollback", "true", "rollback-by", "alice")...)
			api, failures := b.Client.(client.WithWatch), []error{failure}
			b.Client = interceptor.NewClient(api, interceptor.Funcs{
				Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
					if len(failures) > 0 {
						failures = failures[1:]
						return failure
					}
					return api.Patch(ctx, object, patch, options...)
				},
			})
			_, _ = b.Reconcile(t.Context(), sleepKey)
			g.Expect(b.events()).To(BeEmpty(), "it is tried again")
			_, err := b.Reconcile(t.Context(), sleepKey)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.events()).To(HaveLen(1))
			g.Expect(b.annotations(t)).NotTo(HaveKey("altershield.defense.antgroup.com/rollback"))
		})
	}
}

func TestReconcileTellsOfARequestWhoseRollbackWasReverted(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "Reverted", Message: "it has its template again"}}, stuckSleep(time.Second, "rollback", "true", "rollback-by", "alice")...)
	b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return apierrors.NewInvalid(schema.GroupKind{}, "", nil) // the rollback took the request away
		},
	})
	b.Live = testkit.NewFake(t)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 119 * time.Second}))
	g.Expect(b.events()).To(HaveExactElements(ContainSubstring("was not rolled back: it has its template again (cause of the rollback: alice asked for it)")))
}

func TestReconcileTurnsDownARequestOfAnUnknownUser(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{nil}, stuckSleep(time.Second, "rollback", "z")...)
	_, err := b.Reconcile(t.Context(), sleepKey)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.roller.requests).To(BeEmpty())
	g.Expect(b.annotations(t)).To(HaveLen(1))
	g.Expect(b.events()).To(Equal([]string{"Warning ReleaseNotRolledBack release 2, version b, was not rolled back: the user who asked for the rollback of " +
		"deployment sleep is unknown, because the webhooks did not see the annotation: set it again (cause of the rollback: an unknown user asked for it)"}))
}

func TestReconcileTakesAnEmptyRequestForNone(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{nil}, stuckSleep(time.Second, "rollback", "")...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{RequeueAfter: 119 * time.Second}))
	g.Expect(b.roller.requests).To(BeEmpty())
	g.Expect(b.events()).To(BeEmpty())
}

func TestReconcileTriesARollbackAgain(t *testing.T) {
	deployments := schema.GroupResource{Group: "apps", Resource: "deployments"}
	for _, row := range []struct {
		name   string
		answer error
		result ctrl.Result
		fails  bool
	}{
		{"soon when the Deployment changed meanwhile", apierrors.NewConflict(deployments, "sleep", errors.New("modified")), ctrl.Result{RequeueAfter: 50 * time.Millisecond}, false},
		{"with pauses when the API server fails", apierrors.NewInternalError(errors.New("etcd")), ctrl.Result{}, true},
		{"at the next event when the Deployment has moved on", &rollback.Obstacle{Reason: "MovedOn", Message: "it moved on"}, ctrl.Result{}, false},
		{"never when the Deployment is gone", apierrors.NewNotFound(deployments, "sleep"), ctrl.Result{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, []error{row.answer}, stuckSleep(time.Hour)...)
			result, err := b.Reconcile(t.Context(), sleepKey)
			g.Expect(err != nil).To(Equal(row.fails), "%v", err)
			g.Expect(result).To(Equal(row.result))
			g.Expect(b.roller.requests).To(HaveLen(1))
			g.Expect(b.events()).To(BeEmpty())
		})
	}
}

func TestReconcileGoesTheOtherWayBackWhereOneIsRefused(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "NoVerifiedVersion", Message: "none"}, nil}, stuckSleep(time.Hour, "rollback", "true", "rollback-by", "alice")...)
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.roller.requests).To(HaveLen(2))
	g.Expect(b.roller.requests[1].Reason).To(BeEquivalentTo("PodsNotRunning"))
}

func TestReconcileForgivesAVersionThatIsVerifiedAfterItsRollback(t *testing.T) {
	for _, row := range []struct {
		name, rollbacks string
		left            any
	}{
		{"and nothing is left", `[{"version":"b","release":1}]`, nil},
		{"and others stay", `[{"version":"b","release":1},{"version":"a","release":1,"to":"b","toRelease":2,"reason":"PodsFailed","time":null}]`,
			`[{"version":"a","release":1,"to":"b","toRelease":2,"reason":"PodsFailed","time":null}]`},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := stuckSleep(time.Second, "rollbacks", row.rollbacks)
			verified := &appv1alpha1.ChangeWorkload{ObjectMeta: meta("sleep--x--b", "w-1", metav1.NewControllerRef(objects[1], appsv1.SchemeGroupVersion.WithKind("Deployment")))}
			verified.Spec.Reversion, verified.Spec.Release = "b", 2
			verified.Status.Status, verified.Status.ObservedRelease = "Success", 2
			b := newBench(t, nil, append(objects, verified)...)
			_, err := b.Reconcile(t.Context(), sleepKey)
			g.Expect(err).NotTo(HaveOccurred())
			if row.left == nil {
				g.Expect(b.annotations(t)).NotTo(HaveKey("altershield.defense.antgroup.com/rollbacks"))
				return
			}
			g.Expect(b.annotations(t)).To(HaveKeyWithValue("altershield.defense.antgroup.com/rollbacks", row.left))
		})
	}
}

func TestReconcileForgetsADeploymentThatIsGone(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, nil)
	b.obstacles.add(sleepKey.NamespacedName, attempt{}, "Paused", now)
	b.obstacles.warn(stuckSleep(0)[1], errors.New("unusable"))
	b.policies.of = map[client.ObjectKey]knownPolicy{sleepKey.NamespacedName: {of: "d-1"}}
	b.stops.of = map[client.ObjectKey]map[decide.Container]time.Time{sleepKey.NamespacedName: {{Pod: "p-1", Name: "sleep"}: now}}
	g.Expect(b.Reconcile(t.Context(), sleepKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.obstacles.of).To(BeEmpty())
	g.Expect(b.obstacles.unusable).To(BeEmpty())
	g.Expect(b.stops.of).To(BeEmpty())
	g.Expect(b.policies.of).To(BeEmpty())
}

func TestPredicatesLook(t *testing.T) {
	pending := &corev1.Pod{Status: corev1.PodStatus{Phase: "Pending"}}
	running := &corev1.Pod{Status: corev1.PodStatus{Phase: "Running"}}
	again := &corev1.Pod{Status: corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{
		{Name: "sleep", RestartCount: 1, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
	}}}
	ended := &corev1.Pod{Status: corev1.PodStatus{Phase: "Running", ContainerStatuses: []corev1.ContainerStatus{
		{Name: "sleep", RestartCount: 1, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}},
	}}}
	replicaSet := func(desired, ready int32, failing bool) *appsv1.ReplicaSet {
		owner := metav1.NewControllerRef(&metav1.ObjectMeta{Name: "sleep", UID: "uid-1"}, appsv1.SchemeGroupVersion.WithKind("Deployment"))
		made := &appsv1.ReplicaSet{Spec: appsv1.ReplicaSetSpec{Replicas: &desired}, Status: appsv1.ReplicaSetStatus{ReadyReplicas: ready}}
		made.OwnerReferences = []metav1.OwnerReference{*owner}
		if failing {
			made.Status.Conditions = []appsv1.ReplicaSetCondition{{Type: "ReplicaFailure", Status: "True", Reason: "FailedCreate"}}
		}
		return made
	}
	kinds := workload.Registry{deployment.Kind{}}
	revision := &appsv1.ControllerRevision{ObjectMeta: metav1.ObjectMeta{OwnerReferences: replicaSet(2, 2, false).OwnerReferences}}
	record := func(phase appv1alpha1.ChangeWorkloadPhase) *appv1alpha1.ChangeWorkload {
		return &appv1alpha1.ChangeWorkload{Status: appv1alpha1.ChangeWorkloadStatus{Status: phase}}
	}
	_, waiting := waitingAgent()
	setting := func(namespace, name string) *appv1alpha1.OpsConfigInfo {
		return &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}
	settings := settings.Reader{Namespace: "altershieldoperator-system"}.Changed("stuck-rollback", "suspended-rollback")
	for _, row := range []struct {
		name  string
		on    predicate.Predicate
		event any
		looks bool
	}{
		{"when a pod is created", stopsRunning(), event.CreateEvent{Object: pending}, true},
		{"not when a pod is seen that runs", stopsRunning(), event.CreateEvent{Object: running}, false},
		{"when a pod stops running", stopsRunning(), event.UpdateEvent{ObjectOld: running, ObjectNew: pending}, true},
		{"not when a pod starts running", stopsRunning(), event.UpdateEvent{ObjectOld: pending, ObjectNew: running}, false},
		{"not when a pod still doesn't run", stopsRunning(), event.UpdateEvent{ObjectOld: pending, ObjectNew: pending}, false},
		{"when a container ends", stopsRunning(), event.UpdateEvent{ObjectOld: again, ObjectNew: ended}, true},
		{"when a container was started again since", stopsRunning(), event.UpdateEvent{ObjectOld: running, ObjectNew: again}, true},
		{"not when a container runs on", stopsRunning(), event.UpdateEvent{ObjectOld: again, ObjectNew: again}, false},
		{"not when a pod goes", stopsRunning(), event.DeleteEvent{Object: pending}, false},
		{"when a ReplicaSet is created, whose pods may have been seen before", healthChanged(kinds), event.CreateEvent{Object: replicaSet(2, 0, false)}, true},
		{"when a ReplicaSet becomes healthy", healthChanged(kinds), event.UpdateEvent{ObjectOld: replicaSet(2, 1, false), ObjectNew: replicaSet(2, 2, false)}, true},
		{"when a ReplicaSet can't create its pods any more", healthChanged(kinds), event.UpdateEvent{ObjectOld: replicaSet(2, 1, false), ObjectNew: replicaSet(2, 1, true)}, true},
		{"not when a ReplicaSet becomes unhealthy", healthChanged(kinds), event.UpdateEvent{ObjectOld: replicaSet(2, 2, false), ObjectNew: replicaSet(2, 1, false)}, false},
		{"not when a ReplicaSet stays as it was", healthChanged(kinds), event.UpdateEvent{ObjectOld: replicaSet(2, 2, true), ObjectNew: replicaSet(2, 2, true)}, false},
		{"not when a ReplicaSet of another kind is created", healthChanged(workload.Registry{statefulset.Kind{}}), event.CreateEvent{Object: replicaSet(2, 2, false)}, false},
		{"not when a ReplicaSet of another kind becomes healthy", healthChanged(workload.Registry{statefulset.Kind{}}), event.UpdateEvent{ObjectOld: replicaSet(2, 1, false), ObjectNew: replicaSet(2, 2, false)}, false},
		{"not when an object that is no layer is created", healthChanged(kinds), event.CreateEvent{Object: revision}, false},
		{"not when a ReplicaSet goes", healthChanged(kinds), event.DeleteEvent{Object: replicaSet(2, 2, false)}, false},
		{"when a release comes to another status", phaseChanged(), event.UpdateEvent{ObjectOld: record("Running"), ObjectNew: record("Suspend")}, true},
		{"not when a release stays at its status", phaseChanged(), event.UpdateEvent{ObjectOld: record("Running"), ObjectNew: record("Running")}, false},
		{"when a release begins to wait for its first nodes", phaseChanged(), event.UpdateEvent{ObjectOld: record("Running"), ObjectNew: waiting}, true},
		{"not while it waits for them", phaseChanged(), event.UpdateEvent{ObjectOld: waiting, ObjectNew: waiting}, false},
		{"when the setting stuck-rollback changes", settings, event.CreateEvent{Object: setting("altershieldoperator-system", "stuck-rollback")}, true},
		{"when the setting suspended-rollback changes", settings, event.DeleteEvent{Object: setting("altershieldoperator-system", "suspended-rollback")}, true},
		{"not when another setting changes", settings, event.CreateEvent{Object: setting("altershieldoperator-system", "branch")}, false},
		{"not when there is an object of that name elsewhere", settings, event.CreateEvent{Object: setting("default", "stuck-rollback")}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			looks := false
			switch seen := row.event.(type) {
			case event.CreateEvent:
				looks = row.on.Create(seen)
			case event.UpdateEvent:
				looks = row.on.Update(seen)
			case event.DeleteEvent:
				looks = row.on.Delete(seen)
			}
			NewWithT(t).Expect(looks).To(Equal(row.looks))
		})
	}
}
