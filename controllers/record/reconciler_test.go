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
	"fmt"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	batchjob "github.com/traas-stack/altershield-operator/controllers/workload/job"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const version = "c6c45d23c098bdf181853a85b60b5d74"

// ofSleep is the request for it.
var ofSleep = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "sleep"}}

// sleepAt is the Deployment sleep at a release of version, with the records of the webhook.
func sleepAt(number string, annotations map[string]string) *appsv1.Deployment {
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep", UID: "uid-1",
		Labels:      map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
		Annotations: map[string]string{"altershield.defense.antgroup.com/release": number},
	}}
	for key, value := range annotations {
		deployment.Annotations["altershield.defense.antgroup.com/"+key] = value
	}
	return deployment
}

func TestRemoveLeftoverDoesNotWaitForItToShowInTheCache(t *testing.T) {
	g := NewWithT(t)
	remembered := true
	kube := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
			remembered = !(&client.DeleteOptions{}).ApplyOptions(options).DisableReadYourWritesConsistency
			return nil
		},
	})
	workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--" + version, UID: "cw-1"}}
	g.Expect((&Reconciler{Client: kube}).removeLeftover(t.Context(), workload)).To(Succeed())
	g.Expect(remembered).To(BeFalse(), "where the watch shows its successor instead of its deletion, that would be for ever")
}

func TestReconcileLeavesTheRecordOfALivingWorkload(t *testing.T) {
	for _, row := range []struct {
		name string
		uid  types.UID
		left bool
	}{
		{"of a StatefulSet that is there", "set-1", true},
		{"of one that was created anew since", "set-2", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			taken := &appv1alpha1.ChangeWorkload{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep--x--" + version, UID: "cw-1", OwnerReferences: []metav1.OwnerReference{
					{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "set-1", Controller: ptr.To(true)}}},
				Spec: appv1alpha1.ChangeWorkloadSpec{Reversion: version},
			}
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: row.uid}}
			kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespace, sleepAt("1", nil), taken, set).Build()
			recorder := clientevents.NewFakeRecorder(10)
			r := &Reconciler{
				Kind: deployment.Kind{}, Kinds: workload.Registry{deployment.Kind{}, statefulset.Kind{}}, Client: kube, Live: kube,
				Recorder: events.Recorder{Events: recorder}, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
			}
			result, err := r.Reconcile(t.Context(), ofSleep)
			g.Expect(err).NotTo(HaveOccurred())
			err = kube.Get(t.Context(), client.ObjectKeyFromObject(taken), taken)
			if !row.left {
				g.Expect(apierrors.IsNotFound(err)).To(BeTrue(), "%v", err)
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result.RequeueAfter).To(Equal(time.Minute))
			g.Expect(recorder.Events).To(Receive(Equal("Warning ReleaseNotRecorded release " + version + " is not checked: its record sleep--x--" + version +
				" belongs to statefulset web, which has the same name and pod template: rename one of them")))
		})
	}
}

func TestReconcileRecordsRunsInOneBatch(t *testing.T) {
	job := func(pods int32, owners ...metav1.OwnerReference) client.Object {
		return &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "sleep", UID: "j-1", OwnerReferences: owners, Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
		}, Spec: batchv1.JobSpec{Completions: &pods}}
	}
	for _, row := range []struct {
		name    string
		object  client.Object
		records []int32
	}{
		{"of a Job", job(7), []int32{7}},
		{"of a Job with more pods than a batch holds, in as few as possible", job(1200), []int32{500}},
		{"but not of a Job that a CronJob controls", job(7, metav1.OwnerReference{APIVersion: "batch/v1", Kind: "CronJob", Name: "c", UID: "c-1", Controller: ptr.To(true)}), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			kube := testkit.NewFake(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, row.object)
			r := &Reconciler{
				Kind: batchjob.Kind{}, Kinds: testkit.Kinds(), Client: kube, Live: kube, Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(10)},
				Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
			}
			_, err := r.Reconcile(t.Context(), ofSleep)
			g.Expect(err).NotTo(HaveOccurred())
			var records appv1alpha1.ChangeWorkloadList
			g.Expect(kube.List(t.Context(), &records)).To(Succeed())
			var sizes []int32
			for _, record := range records.Items {
				g.Expect(record.Name).To(Equal("jobs.sleep--x--" + version))
				sizes = append(sizes, record.Spec.CountThreshold)
			}
			g.Expect(sizes).To(Equal(row.records))
		})
	}
}

func TestReconcileRecordsAReleaseWithItsAuthor(t *testing.T) {
	g := NewWithT(t)
	third := sleepAt("3", map[string]string{
		"released-by":        `{"user":"alice","version":"` + version + `","release":3,"changes":["metadata.labels[test]: added"]}`,
		"ignored-suspend-by": `{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"` + version + `","release":3}`,
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespace, third).Build()
	recorder := clientevents.NewFakeRecorder(10)
	r := &Reconciler{
		Kind: deployment.Kind{}, Client: kube, Live: kube, Settings: settings.Reader{Client: kube}, Recorder: events.Recorder{Events: recorder}, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
	}
	recorded := func() appv1alpha1.ChangeWorkloadSpec {
		_, err := r.Reconcile(t.Context(), ofSleep)
		g.Expect(err).NotTo(HaveOccurred())
		var workload appv1alpha1.ChangeWorkload
		g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &workload)).To(Succeed())
		return workload.Spec
	}

	spec := recorded()
	g.Expect(spec.WorkloadRef).To(Equal(&appv1alpha1.WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "uid-1"}))
	g.Expect(spec.ReleasedBy).To(Equal("alice"))
	g.Expect(spec.Changes).To(HaveExactElements("metadata.labels[test]: added"))
	g.Expect(spec.IgnoredSuspend).To(BeTrue())
	g.Expect(spec.Rollback).To(BeNil())
	g.Expect(recorder.Events).To(Receive(Equal("Normal ReleaseRecorded release 3, version " + version + ", by alice: metadata.labels[test]: added")))
	g.Expect(recorder.Events).To(Receive(Equal(
		"Warning SuspensionIgnored alice used ignored-suspend to let release " + version + " through at 2026-11-21T10:00:00Z")))

	var upgraded appv1alpha1.ChangeWorkload // as an operator before v0.2 recorded it
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &upgraded)).To(Succeed())
	upgraded.Spec.WorkloadRef = nil
	g.Expect(kube.Update(t.Context(), &upgraded)).To(Succeed())
	var stored appsv1.Deployment
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(third), &stored)).To(Succeed())
	g.Expect(recorded().WorkloadRef).To(BeNil(), "it is not written for this alone")
	g.Expect(recorder.Events).To(BeEmpty(), "a release is reported once")

	fifth := sleepAt("5", map[string]string{
		"released-by": `{"user":"bob","version":"` + version + `","release":5}`,
		"rollbacks":   `[{"version":"x","release":4,"to":"` + version + `","toRelease":5,"reason":"Requested","user":"bob","time":"2026-11-21T10:00:00Z"}]`,
	})
	fifth.ResourceVersion = stored.ResourceVersion
	g.Expect(kube.Update(t.Context(), fifth)).To(Succeed())
	spec = recorded()
	g.Expect(spec.Release).To(Equal(int64(5)))
	g.Expect(spec.WorkloadRef).To(HaveField("Name", "sleep"))
	g.Expect(spec.ReleasedBy).To(Equal("bob"))
	g.Expect(spec.Changes).To(BeEmpty())
	g.Expect(spec.IgnoredSuspend).To(BeFalse())
	g.Expect(spec.Rollback.Release).To(Equal(int64(4)))
	g.Expect(recorder.Events).To(Receive(Equal("Normal ReleaseRecorded release 5, version " + version + ", a rollback of release 4 by bob")))
}

func TestReconcileReplacesTheRecordOfAnObservedRelease(t *testing.T) {
	g := NewWithT(t)
	r, kube := newOperator()
	r.Ordered = false
	var known appv1alpha1.ChangeWorkload
	key := client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}
	g.Expect(kube.Get(t.Context(), key, &known)).To(Succeed())
	known.Finalizers, known.Spec.Observed = nil, true // its number is that of the release by chance
	g.Expect(kube.Update(t.Context(), &known)).To(Succeed())
	result, err := r.Reconcile(t.Context(), ofSleep)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Second))
	_, err = r.Reconcile(t.Context(), ofSleep)
	g.Expect(err).NotTo(HaveOccurred())
	var replaced appv1alpha1.ChangeWorkload
	g.Expect(kube.Get(t.Context(), key, &replaced)).To(Succeed())
	g.Expect(replaced.Spec.Observed).To(BeFalse())
	g.Expect(*replaced.OwnerReferences[0].BlockOwnerDeletion).To(BeTrue())
}

func TestReconcileLeavesTheRecordOfAnObservedReleaseThatWasEnforcedBefore(t *testing.T) {
	g := NewWithT(t)
	r, kube := newOperator()
	key := client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}
	var known appv1alpha1.ChangeWorkload
	g.Expect(kube.Get(t.Context(), key, &known)).To(Succeed())
	known.Spec.Observed, known.Spec.Release = true, 57
	g.Expect(kube.Update(t.Context(), &known)).To(Succeed())
	processed := sleepAt("3", nil)
	g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(processed), processed)).To(Succeed())
	processed.Labels["altershield.defense.antgroup.com/defense-status"] = "processed"
	g.Expect(kube.Update(t.Context(), processed)).To(Succeed())
	result, err := r.Reconcile(t.Context(), ofSleep)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result).To(BeZero())
	g.Expect(kube.Get(t.Context(), key, &known)).To(Succeed(), "its pods would be checked again")
	g.Expect(known.Spec.Release).To(BeEquivalentTo(57))
}

// newOperator has the Deployment sleep, and its ChangeWorkload at release 3 with an order of release 1.
func newOperator() (*Reconciler, client.WithWatch) {
	workload := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sleep--x--" + version, UID: "cw-1", Finalizers: []string{"altershield.defense.antgroup.com/change-order"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "Deployment", Name: "sleep", UID: "uid-1", Controller: ptr.To(true)}},
	}}
	workload.Spec = appv1alpha1.ChangeWorkloadSpec{Reversion: version, Release: 3, CreateTimeUnix: 1795255000}
	workload.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: "default/default/sleep/0123456789/1", Release: 1, State: "CANCEL"}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespace, sleepAt("3", nil), workload).Build()
	return &Reconciler{
		Kind: deployment.Kind{}, Client: kube, Live: kube, Settings: settings.Reader{Client: kube}, Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(10)}, Ordered: true,
		Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
	}, kube
}

func TestReconcileRemembersTheReleaseWhoseOrderMayBeOpen(t *testing.T) {
	g := NewWithT(t)
	r, kube := newOperator()
	earlier := func(number string, order *appv1alpha1.ChangeOrder) *appv1alpha1.RecordedRelease {
		var deployment appsv1.Deployment
		g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep"}, &deployment)).To(Succeed())
		deployment.Annotations["altershield.defense.antgroup.com/release"] = number
		g.Expect(kube.Update(t.Context(), &deployment)).To(Succeed())
		var workload appv1alpha1.ChangeWorkload
		key := client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}
		g.Expect(kube.Get(t.Context(), key, &workload)).To(Succeed())
		workload.Status.Order = order
		g.Expect(kube.Update(t.Context(), &workload)).To(Succeed())
		_, err := r.Reconcile(t.Context(), ofSleep)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kube.Get(t.Context(), key, &workload)).To(Succeed())
		g.Expect(fmt.Sprint(workload.Spec.Release)).To(Equal(number))
		return workload.Spec.Earlier
	}
	order := func(number int64, state string) *appv1alpha1.ChangeOrder {
		return &appv1alpha1.ChangeOrder{BizExecOrderID: "order", Release: number, State: appv1alpha1.OrderState(state)}
	}
	third := &appv1alpha1.RecordedRelease{Release: 3, CreateTimeUnix: 1795255000}
	g.Expect(earlier("5", order(1, "CANCEL"))).To(Equal(third), "nothing is saved of the order of release 3")
	g.Expect(earlier("7", order(1, "CANCEL"))).To(Equal(third), "that of release 5 is not opened before")
	g.Expect(earlier("9", order(3, "CANCEL"))).To(Equal(&appv1alpha1.RecordedRelease{Release: 7, CreateTimeUnix: 1795255200}))
	g.Expect(earlier("11", order(7, "Open"))).To(BeNil(), "that of release 9 is not opened before, and the status knows that of 7")
	g.Expect(earlier("13", order(11, "SUCCESS"))).To(BeNil())
}

func TestReconcileRecordsNothingAgainByAStatusOfThePast(t *testing.T) {
	g := NewWithT(t)
	r, kube := newOperator()
	r.Client = interceptor.NewClient(kube, interceptor.Funcs{
		Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			err := kube.Get(ctx, key, object, options...)
			if workload, is := object.(*appv1alpha1.ChangeWorkload); is {
				later := workload.DeepCopy()
				later.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: "order", Release: 3, State: "Open"}
				g.Expect(kube.Update(ctx, later)).To(Succeed())
			}
			return err
		},
	})
	fifth := sleepAt("5", nil)
	g.Expect(kube.Patch(t.Context(), fifth, client.MergeFrom(sleepAt("3", nil)))).To(Succeed())
	result, err := r.Reconcile(t.Context(), ofSleep)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Second))
	var workload appv1alpha1.ChangeWorkload
	g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &workload)).To(Succeed())
	g.Expect(workload.Spec.Release).To(Equal(int64(3)))
}

// The caches of a new leader fill one by one: that of workloads may be behind that of records.
func TestReconcileRecordsAnEarlierReleaseOnlyIfTheWorkloadIsAtIt(t *testing.T) {
	for name, row := range map[string]struct {
		live    []client.Object
		release int64
	}{
		"the cache is behind": {[]client.Object{sleepAt("3", nil)}, 3},
		"it is gone":          {nil, 3},
		"its releases weren't counted while it was opted out": {[]client.Object{sleepAt("1", nil)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r, kube := newOperator()
			first := sleepAt("1", nil)
			g.Expect(kube.Patch(t.Context(), first, client.MergeFrom(sleepAt("3", nil)))).To(Succeed())
			r.Live = fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(row.live...).Build()
			result, err := r.Reconcile(t.Context(), ofSleep)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(result).To(BeZero(), "its event brings the next decision")
			var workload appv1alpha1.ChangeWorkload
			g.Expect(kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &workload)).To(Succeed())
			g.Expect(workload.Spec.Release).To(Equal(row.release))
		})
	}
}

func TestReconcileRecordsNothingThatOnlyTheCacheHas(t *testing.T) {
	another, leaving := sleepAt("1", nil), sleepAt("1", nil)
	another.UID = "uid-2"
	leaving.Finalizers, leaving.DeletionTimestamp = []string{"foregroundDeletion"}, &metav1.Time{Time: time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)}
	for name, there := range map[string]struct {
		live    []client.Object
		records int
	}{
		"it is gone":           {nil, 0},
		"another has its name": {[]client.Object{another}, 0},
		"it is about to go":    {[]client.Object{leaving}, 0},
		"it is there":          {[]client.Object{sleepAt("1", nil)}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
			cached := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespace, sleepAt("1", nil)).Build()
			r := &Reconciler{
				Kind: deployment.Kind{}, Client: cached, Settings: settings.Reader{Client: cached}, Live: fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(there.live...).Build(),
				Recorder: events.Recorder{Events: clientevents.NewFakeRecorder(10)}, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
			}
			_, err := r.Reconcile(t.Context(), ofSleep)
			g.Expect(err).NotTo(HaveOccurred())
			var recorded appv1alpha1.ChangeWorkloadList
			g.Expect(cached.List(t.Context(), &recorded)).To(Succeed())
			g.Expect(recorded.Items).To(HaveLen(there.records))
		})
	}
}

// The manifest of a GitOps client keeps the label, and sets it again each time it is removed.
func TestReconcileRemovesAnIdleIgnoredSuspendOnceARelease(t *testing.T) {
	const label = "altershield.defense.antgroup.com/ignored-suspend"
	g := NewWithT(t)
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	kube := fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(namespace, sleepAt("3", nil)).Build()
	recorder := clientevents.NewFakeRecorder(10)
	r := &Reconciler{
		Kind: deployment.Kind{}, Client: kube, Live: kube, Settings: settings.Reader{Client: kube}, Recorder: events.Recorder{Events: recorder}, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)),
	}
	// set makes the change, lets the operator see it, and returns the Deployment and how many Events were about the label.
	var writes bool
	set := func(change func(*appsv1.Deployment)) (*appsv1.Deployment, int) {
		var deployment appsv1.Deployment
		key := client.ObjectKey{Namespace: "default", Name: "sleep"}
		g.Expect(kube.Get(t.Context(), key, &deployment)).To(Succeed())
		change(&deployment)
		g.Expect(kube.Update(t.Context(), &deployment)).To(Succeed())
		before := deployment.ResourceVersion
		_, err := r.Reconcile(t.Context(), ofSleep)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(kube.Get(t.Context(), key, &deployment)).To(Succeed())
		reported := 0
		for len(recorder.Events) > 0 {
			if event := <-recorder.Events; strings.HasPrefix(event, "Normal IgnoredSuspendRemoved ") {
				g.Expect(event).To(Equal("Normal IgnoredSuspendRemoved removed the label " + label + ": the Deployment is not suspended. " +
					"The operator removes it once per release: delete it from the manifest that sets it"))
				reported++
			}
		}
		writes = deployment.ResourceVersion != before
		return &deployment, reported
	}
	set(func(*appsv1.Deployment) {}) // the release is recorded
	sets := func(deployment *appsv1.Deployment) { deployment.Labels[label] = "true" }

	deployment, reported := set(sets)
	g.Expect(deployment.Labels).NotTo(HaveKey(label))
	g.Expect(deployment.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/ignored-suspend-removed", "3"))
	g.Expect(reported).To(Equal(1))
	for range 3 {
		deployment, reported = set(sets)
		g.Expect(deployment.Labels).To(HaveKeyWithValue(label, "true"), "there is no fight about it")
		g.Expect(reported).To(BeZero())
		g.Expect(writes).To(BeFalse())
	}
	deployment, reported = set(func(deployment *appsv1.Deployment) {
		deployment.Annotations["altershield.defense.antgroup.com/release"] = "4"
	})
	g.Expect(deployment.Labels).NotTo(HaveKey(label))
	g.Expect(reported).To(Equal(1), "once a release")
	deployment, reported = set(func(deployment *appsv1.Deployment) {
		sets(deployment)
		deployment.Annotations["altershield.defense.antgroup.com/release"] = "5"
		deployment.Annotations["altershield.defense.antgroup.com/ignored-suspend-by"] =
			`{"user":"alice","time":"2026-11-21T10:00:00.000000Z","version":"` + version + `","release":5}`
	})
	g.Expect(deployment.Labels).To(HaveKeyWithValue(label, "true"), "it let this release through, and is spent")
	g.Expect(reported).To(BeZero())
}
