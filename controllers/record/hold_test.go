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

package record

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/job"
)

// The webhook pauses such a release before there is a record, which nothing but the record could end.
func TestReconcileLetsAnUnrecordedReleaseGoBeyondItsFirstNodes(t *testing.T) {
	quota := apierrors.NewForbidden(schema.GroupResource{Resource: "changeworkloads"}, "agent", nil)
	for _, row := range []struct {
		name         string
		cached, live bool
		record       int64
		held         string
		refusal      error
		event        string
		frozen       bool
		// stays reports whether the pause is a user's.
		stays bool
		// freezing are the freezes that are on.
		freezing []string
	}{
		{"whose namespace was opted out", false, false, 0, "2-first-nodes", nil,
			"Warning FirstNodesSkipped release 2, version " + version + ", goes on to all nodes: it left change control", false, false, nil},
		{"also of a version that was released before", false, false, 1, "2-first-nodes", nil,
			"Warning FirstNodesSkipped release 2, version " + version + ", goes on to all nodes: it left change control", false, false, nil},
		{"that can't be recorded", true, true, 0, "2-first-nodes", quota,
			"Warning FirstNodesSkipped release 2, version " + version + ", goes on to all nodes: it can't be recorded", false, false, nil},
		{"but not one that is recorded", false, false, 2, "2-first-nodes", nil, "", false, false, nil},
		{"nor one whose namespace has returned, which the cache doesn't show", false, true, 0, "2-first-nodes", nil, "", false, false, nil},
		{"and one that is held because a pod failed", false, false, 0, "2", nil,
			"Warning RolloutResumed release 2, version " + version + ", goes on: it left change control", false, false, nil},
		{"but for one that a user resumed before", false, false, 0, "2-overridden", nil, "", false, false, nil},
		{"or that was held at an earlier release", false, false, 0, "1", nil, "", false, false, nil},
		{"nor one that is held because a pod failed and can't be recorded again", true, true, 0, "2", quota, "", false, false, nil},
		{name: "and one that waits for the end of a freeze", held: "2", frozen: true,
			event: "Warning ReleaseThawed release 2, version " + version + ", goes on: it left change control"},
		{name: "but for the pause of a user", frozen: true, stays: true,
			event: "Warning ReleaseThawed release 2, version " + version + ", goes on: it left change control"},
		{name: "nor one that can't be recorded, while a freeze is on that parked it", cached: true, live: true, held: "2", refusal: quota, frozen: true,
			freezing: []string{"friday", "other"}},
		{name: "but during one that let it pass", cached: true, live: true, held: "2", refusal: quota, frozen: true, freezing: []string{"other"},
			event: "Warning ReleaseThawed release 2, version " + version + ", goes on: it can't be recorded"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			marks := map[string]string{"held": row.held, "held-from": "{}"}
			if row.held == "" {
				marks = map[string]string{}
			}
			if row.frozen {
				marks["frozen"] = `{"release":2,"by":["default/friday"],"concurrent":5}`
				marks["released-by"] = admitted()
			}
			set := &appsv1.DaemonSet{ObjectMeta: sleepAt("2", marks).ObjectMeta}
			set.Generation, set.Spec.UpdateStrategy.Type = 7, "OnDelete"
			namespace := func(optedIn bool) *corev1.Namespace {
				object := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
				if optedIn {
					object.Labels = map[string]string{"admission-webhook-altershield": "enabled"}
				}
				return object
			}
			objects := []client.Object{set, namespace(row.live)}
			for _, name := range row.freezing {
				objects = append(objects, &appv1alpha1.ChangeFreeze{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(testkit.Now().Add(-time.Hour))},
					Spec:       appv1alpha1.ChangeFreezeSpec{Expires: &metav1.Duration{Duration: 8 * time.Hour}, Action: "Park"},
				})
			}
			if row.record > 0 {
				record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "daemonsets.sleep--x--" + version, OwnerReferences: []metav1.OwnerReference{
					*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet")),
				}}}
				record.Spec.Release = row.record
				objects = append(objects, record)
			}
			live := testkit.NewFake(t, objects...)
			cached := interceptor.NewClient(live, interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if row.cached {
						return kube.Get(ctx, key, object, options...)
					}
					return getUncontrolled(ctx, kube, key, object, options...)
				},
				Create: func(ctx context.Context, kube client.WithWatch, object client.Object, options ...client.CreateOption) error {
					if row.refusal != nil {
						return row.refusal
					}
					return kube.Create(ctx, object, options...)
				},
			})
			recorder := clientevents.NewFakeRecorder(10)
			r := &Reconciler{
				Kind: daemonset.Kind{}, Kinds: testkit.Kinds(), Client: cached, Live: live, Recorder: events.Recorder{Events: recorder},
				Clock: clocktesting.NewFakePassiveClock(testkit.Now()), Settings: settings.Reader{Client: live, Namespace: "altershieldoperator-system"},
			}
			_, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)})
			g.Expect(apierrors.IsForbidden(err)).To(Equal(row.refusal != nil), "%v", err)
			g.Expect(live.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
			close(recorder.Events)
			g.Expect(<-recorder.Events).To(Equal(row.event))
			if row.event == "" {
				g.Expect(set.Spec.UpdateStrategy.Type).To(BeEquivalentTo("OnDelete"))
				g.Expect(set.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/held", row.held))
				return
			}
			g.Expect(set.Spec.UpdateStrategy.Type).To(BeEquivalentTo(map[bool]string{true: "OnDelete", false: "RollingUpdate"}[row.stays]))
			for _, key := range []string{"held", "held-from", "frozen"} {
				g.Expect(set.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/" + key))
			}
		})
	}
}

// The webhook suspends such a Job at its creation. Its record may be one that the switch to Observe made, or that of an earlier Job.
func TestReconcileLetsARefusedJobRunWhoseKindIsObservedBeforeItIsRecorded(t *testing.T) {
	for name, row := range map[string]struct {
		owner    types.UID
		observed bool
		suspends bool
	}{
		"without a record":             {},
		"with an observed one":         {owner: "uid-1", observed: true},
		"with that of an earlier Job":  {owner: "uid-0"},
		"but not one that is recorded": {owner: "uid-1", suspends: true},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			run := &batchv1.Job{ObjectMeta: sleepAt("1", map[string]string{"held": "1", "refused": "jobs.sleep-1--x--" + version}).ObjectMeta}
			run.Generation, run.Spec.Suspend = 1, new(true)
			objects := []client.Object{
				run, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}},
				&appv1alpha1.ControlledKind{ObjectMeta: metav1.ObjectMeta{Name: "jobs.batch"}, Spec: appv1alpha1.ControlledKindSpec{Mode: "Observe"}},
			}
			if row.owner != "" {
				record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: "jobs.sleep--x--" + version, OwnerReferences: []metav1.OwnerReference{
						{APIVersion: "batch/v1", Kind: "Job", Name: "sleep", UID: row.owner, Controller: new(true)},
					},
				}}
				record.Spec.Release, record.Spec.Observed = 1, row.observed
				objects = append(objects, record)
			}
			kube := testkit.NewFake(t, objects...)
			recorder := clientevents.NewFakeRecorder(10)
			r := &Reconciler{Kind: job.Kind{}, Client: kube, Live: kube, Recorder: events.Recorder{Events: recorder}}
			g.Expect(r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(run)})).To(Equal(ctrl.Result{}))
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(run), run)).To(Succeed())
			g.Expect(*run.Spec.Suspend).To(Equal(row.suspends))
			close(recorder.Events)
			if row.suspends {
				g.Expect(recorder.Events).NotTo(Receive())
				return
			}
			g.Expect(<-recorder.Events).To(Equal("Warning RolloutResumed release 1, version " + version + ", goes on: it left change control"))
			g.Expect(run.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/held"))
		})
	}
}

func TestReconcileKeepsThePauseOfAUserAfterAHoldThatTheUserEnded(t *testing.T) {
	g := NewWithT(t)
	web := sleepAt("2", map[string]string{"held": "2"}) // a user has resumed it, and no leader was there to note that
	kube := testkit.NewFake(t, web, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	cached := interceptor.NewClient(kube, interceptor.Funcs{Get: getUncontrolled})
	recorder := clientevents.NewFakeRecorder(10)
	r := &Reconciler{Kind: deployment.Kind{}, Client: cached, Live: kube, Recorder: events.Recorder{Events: recorder}}
	g.Expect(r.Reconcile(t.Context(), ofSleep)).To(Equal(ctrl.Result{}))
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
	g.Expect(web.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/held"))
	web.Spec.Paused = true
	g.Expect(kube.Update(t.Context(), web)).To(Succeed())
	g.Expect(r.Reconcile(t.Context(), ofSleep)).To(Equal(ctrl.Result{}))
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(web), web)).To(Succeed())
	g.Expect(web.Spec.Paused).To(BeTrue())
	g.Expect(recorder.Events).NotTo(Receive())
}

func TestReconcileLetsAnUnrecordedReleaseGoWithoutSteps(t *testing.T) {
	g := NewWithT(t)
	const version = "c6c45d23c098bdf181853a85b60b5d74"
	set := pacedSet()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	kube := testkit.NewFake(t, set, namespace)
	recorder := clientevents.NewFakeRecorder(10)
	r := &Reconciler{Kind: daemonset.Kind{}, Client: kube, Live: kube, Recorder: events.Recorder{Events: recorder}}
	g.Expect(r.letGo(t.Context(), set.DeepCopy(), decide.Release{Version: version, Number: 2}, "it left change control")).To(Succeed())
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
	g.Expect(set.Spec.UpdateStrategy.Type).To(BeEquivalentTo("RollingUpdate"))
	g.Expect(set.Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
	g.Expect(<-recorder.Events).To(Equal("Warning StepsEnded release 2, version " + version + ", goes on to all pods: it left change control"))
}

// Writes of a rollout's status, whose events are ignored, may take all attempts of the API server.
func TestReconcileTriesAgainToLetAReleaseGoAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	set := pacedSet()
	kube := testkit.NewFake(t, set, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	conflicts := 1
	changing := interceptor.NewClient(kube, interceptor.Funcs{
		Get: getUncontrolled,
		Patch: func(ctx context.Context, kube client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
			if conflicts--; conflicts >= 0 {
				return apierrors.NewConflict(schema.GroupResource{Resource: "daemonsets"}, object.GetName(), nil)
			}
			return kube.Patch(ctx, object, patch, options...)
		},
	})
	r := &Reconciler{Kind: daemonset.Kind{}, Client: changing, Live: kube, Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(10)}}
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(set)}
	result, err := r.Reconcile(t.Context(), request)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(BeNumerically(">", 0))
	g.Expect(r.Reconcile(t.Context(), request)).To(Equal(ctrl.Result{}))
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
	g.Expect(set.Spec.UpdateStrategy.Type).To(BeEquivalentTo("RollingUpdate"))
}

// pacedSet returns a DaemonSet whose release is paced: the webhook has paused it.
func pacedSet() *appsv1.DaemonSet {
	set := &appsv1.DaemonSet{ObjectMeta: sleepAt("2", map[string]string{"paced": `{"release":2,"policy":"default/web","lever":"Nodes","traffic":"Before"}`}).ObjectMeta}
	set.Generation, set.Spec.UpdateStrategy.Type = 7, "OnDelete"
	return set
}

// getUncontrolled reads from a cache as it is where no namespace is under change control: it holds no others.
func getUncontrolled(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
	if _, ok := object.(*corev1.Namespace); ok {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, key.Name)
	}
	return kube.Get(ctx, key, object, options...)
}
