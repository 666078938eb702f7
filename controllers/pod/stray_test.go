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

package pod

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// world is what the cache or the API server has of the Deployment sleep, at release 2, and its surroundings.
type world struct {
	version    string // v2 unless set
	unrecorded bool   // it isn't marked as recorded
	observes   bool   // the mode of its kind is Observe
	optedOut   bool
	record     string // of version v2: "enforced", "observed", or one that is left by "another" Deployment; none unless set
}

// objects returns the objects of a world. The cache holds no namespaces that are opted out.
func (w world) objects(cached bool) []client.Object {
	version := "v2"
	if w.version != "" {
		version = w.version
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep", UID: "d-1", Labels: map[string]string{
		"admission-webhook-altershield.antgroup.com/version": version, "altershield.defense.antgroup.com/defense-status": "processed",
	}, Annotations: map[string]string{"altershield.defense.antgroup.com/release": "2"}}}
	if w.unrecorded {
		delete(deployment.Labels, "altershield.defense.antgroup.com/defense-status")
	}
	controlled := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "deployments.apps"}, Spec: appv1alpha1.ControlledKindSpec{Mode: "Enforce"}}
	if w.observes {
		controlled.Spec.Mode = "Observe"
	}
	objects := []client.Object{deployment, controlled}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}
	if w.optedOut {
		namespace.Labels = nil
	}
	if !cached || !w.optedOut {
		objects = append(objects, namespace)
	}
	if w.record != "" {
		record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--v2", OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
		record.Spec.Observed = w.record == "observed"
		if w.record == "another" {
			record.OwnerReferences[0].UID = "d-0"
		}
		objects = append(objects, record)
	}
	return objects
}

// The gates of a version close once its record is an observed one, or gone, as the ReleaseGate doesn't list it any more.
func TestReconcileOpensTheGatesThatNobodyElseWouldOpen(t *testing.T) {
	const anHour = time.Hour
	for _, row := range []struct {
		name         string
		cached, live world
		age          time.Duration
		open         bool
		// asks reports whether the API server is asked.
		asks bool
		look time.Duration
	}{
		{"of a kind that is observed, with an observed record", world{observes: true, record: "observed"}, world{observes: true, record: "observed"}, anHour, true, true, 0},
		{"of one whose records were deleted", world{observes: true}, world{observes: true}, anHour, true, true, 0},
		{"of one with a record that another Deployment left", world{observes: true, record: "another"}, world{observes: true, record: "another"}, anHour, true, true, 0},
		{"of a version from before the present release", world{observes: true, version: "v3"}, world{observes: true, version: "v3"}, anHour, true, true, 0},
		{"of a namespace that was opted out", world{optedOut: true}, world{optedOut: true}, anHour, true, true, 0},
		{"with an observed record although the kind is enforced again", world{record: "observed"}, world{record: "observed"}, anHour, true, true, 0},
		{"also that of an earlier release", world{record: "observed", version: "v3", unrecorded: true}, world{record: "observed", version: "v3", unrecorded: true}, anHour, true, true, 0},

		{"not of a release in steps", world{record: "enforced"}, world{record: "enforced"}, anHour, false, false, time.Minute},
		{"nor of one that was superseded", world{record: "enforced", version: "v3"}, world{record: "enforced", version: "v3"}, anHour, false, false, time.Minute},
		{"nor of one whose record opens it, as its kind isn't enforced any more", world{record: "enforced", observes: true}, world{record: "enforced", observes: true}, anHour, false, false, time.Minute},
		{"nor of one that has just been made, whose record isn't there yet", world{unrecorded: true}, world{unrecorded: true}, 0, false, false, time.Minute},
		{"nor of one whose record isn't in the cache yet", world{unrecorded: true}, world{record: "enforced"}, 0, false, false, time.Minute},
		{"nor of one whose observed record is about to be replaced", world{record: "observed", unrecorded: true}, world{record: "observed", unrecorded: true}, anHour, false, false, time.Minute},
		{"nor of an earlier one without a record, whose pods are replaced", world{version: "v3"}, world{version: "v3"}, anHour, false, false, time.Minute},
		{"nor before the cache may have everything", world{observes: true}, world{observes: true}, 9 * time.Second, false, false, time.Second},

		{"not if the API server has a record", world{observes: true}, world{observes: true, record: "enforced"}, anHour, false, true, time.Minute},
		{"nor an enforced one", world{record: "observed"}, world{record: "enforced"}, anHour, false, true, time.Minute},
		{"nor if the kind is enforced again there", world{observes: true}, world{}, anHour, false, true, time.Minute},
		{"nor if the namespace has returned", world{optedOut: true}, world{}, anHour, false, true, time.Minute},
		{"nor if the version was released again in the meantime", world{record: "observed"}, world{record: "observed", unrecorded: true}, anHour, false, true, time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			replicaSet, pod := gatedPod("1", "a", row.age)
			_, beside := gatedPod("1", "b", row.age)
			_, other := gatedPod("2", "a", row.age)
			live := testkit.NewFake(t, append(row.live.objects(false), pod, beside, other)...)
			asked := 0
			counted := interceptor.NewClient(live, interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, into client.Object, options ...client.GetOption) error {
					asked++
					return kube.Get(ctx, key, into, options...)
				},
				List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					asked++
					return kube.List(ctx, list, options...)
				},
			})
			kube := interceptor.NewClient(testkit.NewFake(t, append(row.cached.objects(true), replicaSet)...), interceptor.Funcs{
				Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
					return live.Patch(ctx, object, patch)
				},
			})
			r := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: kube, Live: counted, Clock: clocktesting.NewFakePassiveClock(now.Add(time.Hour)), Agreed: atNow, Settings: settings.Reader{Client: kube}}
			g.Expect(r.Reconcile(t.Context(), pod)).To(Equal(ctrl.Result{RequeueAfter: row.look}))
			if row.asks {
				g.Expect(asked).NotTo(BeZero())
			} else {
				g.Expect(asked).To(BeZero())
			}
			gates := func(pod *corev1.Pod) []corev1.PodSchedulingGate {
				g.Expect(live.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
				return pod.Spec.SchedulingGates
			}
			closed := 1
			if row.open {
				closed = 0
			}
			g.Expect(gates(pod)).To(HaveLen(closed))
			if row.open {
				g.Expect(pod.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/gate-opened", "1795255200"), "by the clock of the API server, which is behind")
			}
			g.Expect(gates(beside)).To(HaveLen(closed), "of the same ReplicaSet")
			g.Expect(gates(other)).To(HaveLen(1), "of another ReplicaSet")
		})
	}
}

// Events of all pods come at once, and the cache is behind what the first reconcile opens.
func TestReconcileOpensEachGateOnce(t *testing.T) {
	g := NewWithT(t)
	const pods, workers = 20, 10
	replicaSet, _ := gatedPod("1", "", time.Hour)
	live, requests := testkit.NewFake(t, world{observes: true}.objects(false)...), make(chan *corev1.Pod, pods)
	for i := range pods {
		_, pod := gatedPod("1", strconv.Itoa(i), time.Hour)
		g.Expect(live.Create(t.Context(), pod)).To(Succeed())
		requests <- pod
	}
	close(requests)
	var patches, later atomic.Int32
	kube := interceptor.NewClient(testkit.NewFake(t, append(world{observes: true}.objects(true), replicaSet)...), interceptor.Funcs{
		Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
			patches.Add(1)
			time.Sleep(time.Millisecond)
			return live.Patch(ctx, object, patch)
		},
	})
	r := &Reconciler{Kinds: workload.Registry{kind.Kind{}}, Client: kube, Live: live, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube}}
	var failed error
	var mutex sync.Mutex
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for pod := range requests {
				result, err := r.Reconcile(t.Context(), pod)
				mutex.Lock()
				failed = errors.Join(failed, err)
				mutex.Unlock()
				if result.RequeueAfter > 0 {
					later.Add(1)
				}
			}
		})
	}
	group.Wait()
	g.Expect(failed).NotTo(HaveOccurred())
	g.Expect(patches.Load()).To(BeEquivalentTo(pods))
	g.Expect(later.Load()).To(BeNumerically(">=", workers-1), "they look again in a moment")
	var list corev1.PodList
	g.Expect(live.List(t.Context(), &list)).To(Succeed())
	g.Expect(list.Items).To(HaveEach(HaveField("Spec.SchedulingGates", BeEmpty())))
}

// selects is a kind whose workloads have the pods that a label selects.
type selects struct{ kind.Kind }

func (s selects) OwnerOf(ctx context.Context, cache client.Reader, _ client.Object) (*workload.Owner, error) {
	owner := s.New()
	return &workload.Owner{Kind: s, Object: owner}, cache.Get(ctx, client.ObjectKey{Namespace: "default", Name: "sleep"}, owner)
}

func TestReconcileOpensTheGateOfAPodThatNothingControls(t *testing.T) {
	g := NewWithT(t)
	_, orphan := gatedPod("1", "orphan", time.Hour)
	_, beside := gatedPod("1", "a", time.Hour)
	orphan.OwnerReferences = nil
	kube := testkit.NewFake(t, append(world{observes: true}.objects(false), orphan, beside)...)
	r := &Reconciler{Kinds: workload.Registry{selects{}}, Client: kube, Live: kube, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube}}
	_, err := r.Reconcile(t.Context(), orphan)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(orphan), orphan)).To(Succeed())
	g.Expect(orphan.Spec.SchedulingGates).To(BeEmpty())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(beside), beside)).To(Succeed())
	g.Expect(beside.Spec.SchedulingGates).To(HaveLen(1), "it may be of another workload")
}

// A StatefulSet of a declared kind may carry its version label, as StatefulSets do whose mode is Observe. It has no release of its own.
func TestReconcileOpensNoGateOfAPartForWhatIsTrueOfTheWholeAlone(t *testing.T) {
	stamped := map[string]string{"admission-webhook-altershield.antgroup.com/version": "v2", "altershield.defense.antgroup.com/gate": "start"}
	whole := world{record: "enforced"}
	for _, row := range []struct {
		name   string
		labels map[string]string
		kinds  workload.Registry
		whole  world
		open   bool
	}{
		{"its kind doesn't run", stamped, workload.Registry{statefulset.Kind{}}, whole, false},
		{"its kind doesn't run, and the part has no version", nil, workload.Registry{statefulset.Kind{}}, whole, false},
		{"the cache of its kind isn't there yet", stamped, workload.Registry{statefulset.Kind{}, kind.Kind{}}, whole, false},
		{"it left change control", stamped, workload.Registry{statefulset.Kind{}, kind.Kind{}}, world{observes: true}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "sleep", UID: "d-1"}}
			part := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "part", UID: "part", Labels: row.labels, OwnerReferences: []metav1.OwnerReference{
				*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))}}}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "part-0", UID: "part-0", Labels: stamped, CreationTimestamp: metav1.NewTime(now.Add(-time.Hour)),
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(part, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))}},
				Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}},
			}
			observed := &appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "statefulsets.apps"}, Spec: appv1alpha1.ControlledKindSpec{Mode: "Observe"}}
			live := testkit.NewFake(t, append(row.whole.objects(false), observed, part, pod)...)
			cached := append(row.whole.objects(true)[1:], observed)
			if row.labels != nil {
				cached = append(cached, part)
			}
			kube := interceptor.NewClient(testkit.NewFake(t, cached...), interceptor.Funcs{
				Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
					return live.Patch(ctx, object, patch)
				},
			})
			r := &Reconciler{Kinds: row.kinds, Client: kube, Live: live, Clock: clocktesting.NewFakePassiveClock(now), Agreed: atNow, Settings: settings.Reader{Client: kube}}
			result, err := r.Reconcile(t.Context(), pod)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(live.Get(t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
			if row.open {
				g.Expect(pod.Spec.SchedulingGates).To(BeEmpty())
				return
			}
			g.Expect(pod.Spec.SchedulingGates).To(HaveLen(1))
			g.Expect(result.RequeueAfter).To(Equal(time.Minute))
		})
	}
}

// gatedPod returns a pod of version v2 that waits at its gate, and its ReplicaSet.
func gatedPod(replicaSet, name string, age time.Duration) (*appsv1.ReplicaSet, *corev1.Pod) {
	stamped := map[string]string{"admission-webhook-altershield.antgroup.com/version": "v2", "altershield.defense.antgroup.com/gate": "start"}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "sleep", UID: "d-1"}}
	owner := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep-" + replicaSet, UID: types.UID("rs-" + replicaSet), Labels: stamped,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(deployment, appsv1.SchemeGroupVersion.WithKind("Deployment"))},
	}}
	return owner, &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: owner.Name + "-" + name, UID: types.UID(owner.Name + "-" + name), Labels: stamped, CreationTimestamp: metav1.NewTime(now.Add(-age)),
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
		},
		Spec: corev1.PodSpec{SchedulingGates: []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}},
	}
}
