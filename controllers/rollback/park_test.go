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

package rollback_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const prefix = "altershield.defense.antgroup.com/"

// third is the StatefulSet db with three pods, at its second release, b. The pods were of revision db-a before.
func third(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "db", UID: "s-1", Generation: 2,
			Labels:      map[string]string{appv1alpha1.LabelVersion: "b", prefix + "suspend": "1795255200"},
			Annotations: map[string]string{prefix + "release": "2"},
		},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](3), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate"},
		},
		Status: appsv1.StatefulSetStatus{ObservedGeneration: 2, Replicas: 3, CurrentRevision: "db-a", UpdateRevision: "db-b"},
	}
	for _, change := range changes {
		change(set)
	}
	return set
}

func annotated(key, value string) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { set.Annotations[prefix+key] = value }
}

func partitioned(partition int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) {
		set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(partition)}
	}
}

// held is a StatefulSet whose second release is parked and held.
func held(set *appsv1.StatefulSet) {
	partitioned(1<<31 - 1)(set)
	annotated("held", "2")(set)
	annotated("parked", `{"release":2,"reason":"Requested","time":"2026-11-21T09:00:00Z"}`)(set)
}

func claiming(set *appsv1.StatefulSet) {
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
}

// dbObjects are pods of db from texts such as "2b!", with ! where one isn't ready, and its revisions.
func dbObjects(texts string) []client.Object {
	owner := metav1.NewControllerRef(third(), appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	var made []client.Object
	for number, version := range []string{"a", "b", "c"} {
		made = append(made, &appsv1.ControllerRevision{Revision: int64(number), ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "db-" + version, OwnerReferences: []metav1.OwnerReference{*owner},
			Labels: map[string]string{"app": "db", appv1alpha1.LabelVersion: version},
		}})
		made[number].(*appsv1.ControllerRevision).Data.Raw = fmt.Appendf(nil, `{"spec":{"template":{"metadata":{"labels":{"version":%q}}}}}`, version)
	}
	for text := range strings.FieldsSeq(texts) {
		status := corev1.ConditionTrue
		if strings.HasSuffix(text, "!") {
			status = corev1.ConditionFalse
		}
		made = append(made, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "default", Name: "db-" + text[:1], UID: types.UID("p-" + text[:1]), OwnerReferences: []metav1.OwnerReference{*owner},
				CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
				Labels:            map[string]string{"app": "db", appv1alpha1.LabelVersion: text[1:2], "controller-revision-hash": "db-" + text[1:2]},
			},
			Status: corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: status}}},
		})
	}
	return append(made, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}})
}

// recordOfDB is the record of a version of db in a phase.
func recordOfDB(version, phase string) *appv1alpha1.ChangeWorkload {
	record := workload(version, phase, 1)
	record.Labels = map[string]string{appv1alpha1.LabelWorkload: "statefulsets.db"}
	record.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "s-1", Controller: ptr.To(true)}}
	return record
}

// parkBench is a Roller with its objects, in the API server of its client.
type parkBench struct {
	*rollback.Roller
	kube      client.WithWatch
	recorder  *clientevents.FakeRecorder
	registry  *prometheus.Registry
	deletions []client.DeleteOptions
	deleted   []string
	// denied answers deletions.
	denied error
}

func newParkBench(t *testing.T, objects ...client.Object) *parkBench {
	t.Helper()
	b := &parkBench{recorder: clientevents.NewFakeRecorder(5), registry: prometheus.NewRegistry()}
	metrics, err := rollback.NewMetrics(b.registry, testkit.Kinds())
	if err != nil {
		t.Fatal(err)
	}
	b.kube = interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
		Delete: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.DeleteOption) error {
			if b.denied != nil {
				return b.denied
			}
			b.deletions = append(b.deletions, *(&client.DeleteOptions{}).ApplyOptions(options))
			b.deleted = append(b.deleted, object.GetName())
			return kube.Delete(ctx, object, options...)
		},
	})
	b.Roller = &rollback.Roller{
		Client: b.kube, Live: b.kube, History: &history.Keeper{Client: b.kube, Live: b.kube}, Recorder: events.Recorder{Events: b.recorder},
		Metrics: metrics, Clock: clocktesting.NewFakePassiveClock(now), Agreed: func() time.Time { return now }, Settings: settings.Reader{Client: b.kube, Namespace: "altershieldoperator-system"},
	}
	return b
}

// counters are those that are not 0.
func (b *parkBench) counters(t *testing.T) []string {
	t.Helper()
	families, err := b.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var counted []string
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if metric.GetCounter().GetValue() > 0 {
				counted = append(counted, fmt.Sprint(family.GetName(), " ", metric.GetLabel()[0].GetValue(), " ", metric.GetLabel()[1].GetValue()))
			}
		}
	}
	return counted
}

func (b *parkBench) annotations(t *testing.T) map[string]string {
	t.Helper()
	var set appsv1.StatefulSet
	if err := b.kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "db"}, &set); err != nil {
		t.Fatal(err)
	}
	return set.Annotations
}

func parkRequest(user string) rollback.Request {
	asked := rollback.Request{
		Kind: statefulset.Kind{}, Workload: client.ObjectKey{Namespace: "default", Name: "db"}, From: decide.Release{Version: "b", Number: 2},
		Park: true, Reason: "PodsFailed", Message: "pod db-2 failed its check",
	}
	if user != "" {
		asked.Reason, asked.User, asked.Annotation, asked.Message = "Requested", user, "park", user+" asked for it"
	}
	return asked
}

func TestParkRecordsIt(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(dbObjects("0a 1a 2b"), third())...)
	g.Expect(b.Park(t.Context(), parkRequest(""))).To(Succeed())
	g.Expect(b.annotations(t)).To(Equal(map[string]string{
		prefix + "release": "2",
		prefix + "parked":  `{"release":2,"reason":"PodsFailed","message":"pod db-2 failed its check","time":"2026-11-21T10:00:00Z"}`,
	}))
	g.Expect(<-b.recorder.Events).To(Equal("Warning ReleaseParked release 2, version b, is parked: its rollout is held and its pods come back with " +
		"the template from before: pod db-2 failed its check"))
	g.Expect(b.counters(t)).To(HaveExactElements("altershield_parks_total StatefulSet PodsFailed"))
	g.Expect(b.deleted).To(BeEmpty(), "the rollout is not held yet")
}

func TestParkOfARequestRemovesIt(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(dbObjects("0a 1a 2b"), third(annotated("rollback", "park"), annotated("rollback-by", "alice")))...)
	g.Expect(b.Park(t.Context(), parkRequest("alice"))).To(Succeed())
	g.Expect(b.annotations(t)).To(Equal(map[string]string{
		prefix + "release": "2",
		prefix + "parked":  `{"release":2,"reason":"Requested","message":"alice asked for it","user":"alice","time":"2026-11-21T10:00:00Z"}`,
	}))
}

func TestParkWaitsForTheController(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(dbObjects("0a 1a 2b"), third(func(set *appsv1.StatefulSet) { set.Status.ObservedGeneration = 1 }))...)
	var early *rollback.NotStuck
	g.Expect(errors.As(b.Park(t.Context(), parkRequest("")), &early)).To(BeTrue())
	g.Expect(early.Again).To(Equal(time.Second))
}

func TestParkReturnsAnObstacle(t *testing.T) {
	for _, row := range []struct {
		name    string
		set     *appsv1.StatefulSet
		more    []client.Object
		reason  rollback.ObstacleReason
		message string
	}{
		{"once the rollout is complete", third(func(set *appsv1.StatefulSet) { set.Status.CurrentRevision = "db-b" }), nil, "RolloutComplete",
			"the rollout of statefulset db is complete, so its pods would come back with the same template: roll it back instead"},
		{"under a user's partition", third(partitioned(1)), nil, "Partition", "statefulset db has a partition of 1 set by a user, so its pods would come back " +
			"with the last complete rollout, which may be older than the version before"},
		{"that was held from a user's partition", third(held, annotated("parked", ""), annotated("held-from", `{"partition":1}`)), nil, "Partition",
			"statefulset db has a partition of 1 set by a user, so its pods would come back with the last complete rollout, which may be older than the version before"},
		{"that a user resumed", third(annotated("held", "2-overridden")), nil, "Resumed", "a user resumed the rollout of release 2 of statefulset db"},
		{"that a user paused", third(partitioned(1<<31 - 1)), nil, "Paused", "statefulset db is paused by a user, so a rollback would have no effect: set its partition to 0"},
		{"that was parked before", third(held), nil, "Parked", "release 2 of statefulset db is or was parked already"},
		{"whose pods have volumes of their own", third(claiming), nil, "Data", "statefulset db has volumeClaimTemplates, and a rollback would not take back the data in " +
			"its volumes: annotate it altershield.defense.antgroup.com/allow-data-rollback=true if the earlier version can use the data"},
		{"whose pods would come back with a version that failed", third(), []client.Object{recordOfDB("a", "Suspend")}, "NoVerifiedVersion",
			"the pods of statefulset db would come back with version a, which was not verified or is refused"},
		{"whose pods would come back with a version that was not verified", third(), []client.Object{recordOfDB("a", "Running")}, "NoVerifiedVersion",
			"the pods of statefulset db would come back with version a, which was not verified or is refused"},
		{"with another strategy", third(func(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy.Type = "Recreate" }), nil, "NotParkable",
			"statefulset db can't be parked: only StatefulSets with the strategy RollingUpdate can"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newParkBench(t, append(append(dbObjects("0a 1a 2b"), row.set), row.more...)...)
			var obstacle *rollback.Obstacle
			g.Expect(errors.As(b.Park(t.Context(), parkRequest("")), &obstacle)).To(BeTrue())
			g.Expect(*obstacle).To(Equal(rollback.Obstacle{Reason: row.reason, Message: row.message}))
			g.Expect(b.annotations(t)).To(Equal(row.set.Annotations))
		})
	}
	allowed := newParkBench(t, append(dbObjects("0a 1a 2b"), third(claiming, annotated("allow-data-rollback", "true")))...)
	NewWithT(t).Expect(allowed.Park(t.Context(), parkRequest(""))).To(Succeed())
}

func TestParkReturnsAnObstacleWhereItIsDenied(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(dbObjects("0a 1a 2b"), third())...)
	b.Client = interceptor.NewClient(b.kube, interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return answered(409, "", `admission webhook "lock.example.com" denied the request: it is locked`)
		},
	})
	g.Expect(b.Park(t.Context(), parkRequest(""))).To(And(
		MatchError(`statefulset db can't be parked, since the API server denied it: patching StatefulSet default/db: admission webhook "lock.example.com" denied the request: it is locked`),
		HaveField("Reason", rollback.ObstacleDenied)))
}

func TestObstacleOfAParkOfAnotherKind(t *testing.T) {
	g := NewWithT(t)
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "sleep", Labels: map[string]string{appv1alpha1.LabelVersion: "b"}}}
	obstacle := rollback.ObstacleOf(object, true, rollback.Request{Kind: deployment.Kind{}, Park: true, Reason: "Requested", User: "alice"})
	g.Expect(obstacle).To(HaveField("Message", "deployment sleep can't be parked: only StatefulSets with the strategy RollingUpdate can"))
}

// podRequest asks for the deletion of a pod of db.
func podRequest(park, failed bool) rollback.PodRequest {
	return rollback.PodRequest{
		Kind: statefulset.Kind{}, Workload: client.ObjectKey{Namespace: "default", Name: "db"}, From: decide.Release{Version: "b", Number: 2},
		Park: park, Failed: failed, Patience: decide.Patience{Threshold: time.Minute},
	}
}

func TestDeletePod(t *testing.T) {
	optedOut := func(objects []client.Object) []client.Object {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{}}}
		return append(objects[:len(objects)-1:len(objects)-1], namespace)
	}
	for _, row := range []struct {
		name    string
		asked   rollback.PodRequest
		set     *appsv1.StatefulSet
		objects []client.Object
		deleted []string
		again   time.Duration
	}{
		{"of a parked release", podRequest(true, false), third(held), dbObjects("0a 1b 2b"), []string{"db-1"}, 5 * time.Second},
		{"waits for one that came back", podRequest(true, false), third(held), dbObjects("0a 1a! 2b"), nil, 5 * time.Second},
		{"is over when all came back", podRequest(true, false), third(held), dbObjects("0a 1a 2a"), nil, 0},
		{"not of a release that isn't parked any more", podRequest(true, false), third(), dbObjects("0a 1a 2b"), nil, 0},
		{"not before its rollout is held", podRequest(true, false), third(held, partitioned(0)), dbObjects("0a 1a 2b"), nil, 0},
		{"not while only a step holds its rollout", podRequest(true, false),
			third(held, annotated("held", ""), annotated("paced", `{"release":2,"policy":"default/db","lever":"Partition"}`)), dbObjects("0a 1a 2b"), nil, 0},
		{"not of another release", podRequest(true, false), third(held, annotated("release", "3")), dbObjects("0a 1a 2b"), nil, 0},
		{"not before its controller has seen the spec", podRequest(true, false),
			third(held, func(set *appsv1.StatefulSet) { set.Status.ObservedGeneration = 1 }), dbObjects("0a 1a 2b"), nil, time.Second},
		{"not in a namespace that opted out", podRequest(true, false), third(held), optedOut(dbObjects("0a 1a 2b")), nil, 0},
		{"that keeps the release from going on", podRequest(false, false), third(), dbObjects("0a 1a 2c!"), []string{"db-2"}, 5 * time.Second},
		{"not of the release", podRequest(false, false), third(), dbObjects("0a 1a 2b!"), nil, 0},
		{"but where it failed and is held", podRequest(false, true), third(held), dbObjects("0a 1a 2b!"), []string{"db-2"}, 5 * time.Second},
		{"of a first release that failed, which a step of its repair replaces", podRequest(false, false), third(partitioned(2)),
			append([]client.Object{recordOfDB("a", "Suspend")}, dbObjects("0a 1a 2a!")...), []string{"db-2"}, 5 * time.Second},
		{"not of one that no step replaces yet", podRequest(false, false), third(partitioned(2)),
			append([]client.Object{recordOfDB("a", "Suspend")}, dbObjects("0a 1a! 2a")...), nil, 0},
		{"not that of another workload", podRequest(false, false), third(func(set *appsv1.StatefulSet) { set.UID = "s-2" }), dbObjects("0a 1a 2c!"), nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newParkBench(t, append(row.objects, row.set)...)
			g.Expect(b.DeletePod(t.Context(), row.asked)).To(Equal(row.again))
			g.Expect(b.deleted).To(Equal(row.deleted))
		})
	}
}

func TestDeletePodJudgesThePodByTheTimeOfTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	objects := dbObjects("0a 1a 2c!")
	for _, object := range objects {
		if object.GetName() == "db-2" {
			object.SetCreationTimestamp(metav1.NewTime(now.Add(-time.Second)))
		}
	}
	b := newParkBench(t, append(objects, third())...)
	b.Clock = clocktesting.NewFakePassiveClock(now.Add(2 * time.Minute))
	g.Expect(b.DeletePod(t.Context(), podRequest(false, false))).To(Equal(59 * time.Second))
	g.Expect(b.deleted).To(BeEmpty())
}

func TestDeletePodDeletesThePodThatItRead(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(dbObjects("0a 1a 2c!"), third())...)
	g.Expect(b.DeletePod(t.Context(), podRequest(false, false))).To(Equal(5 * time.Second))
	g.Expect(b.deletions).To(HaveExactElements(HaveField("Preconditions", And(
		HaveField("UID", HaveValue(BeEquivalentTo("p-2"))), HaveField("ResourceVersion", HaveValue(Not(BeEmpty())))))))
	g.Expect(<-b.recorder.Events).To(Equal("Normal PodDeleted deleted pod db-2: it was not ready in time and kept the rollout from going on"))
	g.Expect(b.counters(t)).To(HaveExactElements("altershield_deleted_pods_total Unstick StatefulSet"))

	parked := newParkBench(t, append(dbObjects("0a 1a 2b"), third(held))...)
	g.Expect(parked.DeletePod(t.Context(), podRequest(true, false))).To(Equal(5 * time.Second))
	g.Expect(<-parked.recorder.Events).To(Equal("Normal PodDeleted deleted pod db-2: release 2 is parked, so it comes back with the template from before"))
	g.Expect(parked.counters(t)).To(HaveExactElements("altershield_deleted_pods_total Park StatefulSet"))
}

func TestDeletePodReturnsAnObstacle(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "db-2", errors.New(`User "manager" cannot delete resource "pods" in API group "" in the namespace "default"`))
	for _, row := range []struct {
		name    string
		asked   rollback.PodRequest
		set     *appsv1.StatefulSet
		objects []client.Object
		denied  error
		reason  rollback.ObstacleReason
		advice  string
	}{
		{"without the permission", podRequest(true, false), third(held), dbObjects("0a 1a 2b"), forbidden, "Denied", `in the namespace "default"; the operator may delete pods only with the ClusterRole of config/components/pod-deletion (chart: podDeletion.enabled)`},
		{"where a webhook denies it", podRequest(true, false), third(held), dbObjects("0a 1a 2b"), answered(404, "", `admission webhook "pods.example.com" denied the request: no`), "Denied", "denied the request: no"},
		{"where a policy forbids it", podRequest(true, false), third(held), dbObjects("0a 1a 2b"),
			answered(403, "Forbidden", `admission webhook "pods.example.com" denied the request: you cannot delete it`), "Denied", "denied the request: you cannot delete it"},
		{"once its rollout is complete", podRequest(true, false),
			third(held, func(set *appsv1.StatefulSet) { set.Status.CurrentRevision = "db-b" }), dbObjects("0a 1a 2b"), nil, "RolloutComplete", ""},
		{"where its pods have volumes", podRequest(true, false), third(held, claiming), dbObjects("0a 1a 2b"), nil, "Data", ""},
		{"where a stuck pod has volumes", podRequest(false, false), third(claiming), dbObjects("0a 1a 2c!"), nil, "Data", ""},
		{"where it would come back with a version that failed, at a step", podRequest(false, true), third(partitioned(2)),
			append(dbObjects("0a 1b! 2b"), recordOfDB("a", "Suspend")), nil, "NoVerifiedVersion", ""},
		{"where it would come back with a version that failed", podRequest(false, true), third(held), append(dbObjects("0a 1a 2b!"), recordOfDB("a", "Suspend")), nil, "NoVerifiedVersion", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newParkBench(t, append(row.objects, row.set)...)
			b.denied = row.denied
			_, err := b.DeletePod(t.Context(), row.asked)
			var obstacle *rollback.Obstacle
			g.Expect(errors.As(err, &obstacle)).To(BeTrue(), "%v", err)
			g.Expect(obstacle.Reason).To(Equal(row.reason))
			g.Expect(b.deleted).To(BeEmpty())
			g.Expect(obstacle.Message).To(HaveSuffix(row.advice))
		})
	}
}

func TestDeletePodDeletesNoneThatComesBackWithAVersionThatFailedWhichTheCacheDoesNotShow(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(dbObjects("0a 1a 2b"), third(held), recordOfDB("a", "Suspend"))...)
	b.Client = behind(b.kube, *recordOfDB("a", "Success"))
	_, err := b.DeletePod(t.Context(), podRequest(true, false))
	g.Expect(err).To(MatchError("the pods of statefulset db would come back with version a, which was not verified or is refused"))
	g.Expect(b.deleted).To(BeEmpty())
}

func TestDeletePodLeavesErrorsToTheNextAttempt(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(dbObjects("0a 1a 2b"), third(held))...)
	b.denied = apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "db-2", errors.New("it has changed"))
	_, err := b.DeletePod(t.Context(), podRequest(true, false))
	g.Expect(apierrors.IsConflict(err)).To(BeTrue())
	b.denied = apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "db-2")
	g.Expect(b.DeletePod(t.Context(), podRequest(true, false))).To(Equal(5 * time.Second))

	gone := newParkBench(t, optedIn())
	g.Expect(gone.DeletePod(t.Context(), podRequest(true, false))).To(BeZero())
}
