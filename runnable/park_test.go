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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const annotationPrefix = "altershield.defense.antgroup.com/"

// on is a setting that is switched on.
func on(name, kind string) client.Object {
	return &appv1alpha1.OpsConfigInfo{ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: name},
		Spec: appv1alpha1.OpsConfigInfoSpec{Type: kind, Enable: true}}
}

// parkedWeb is web, whose second release is parked and held.
func parkedWeb() []client.Object {
	objects := stuckWeb("True")
	set := objects[1].(*appsv1.StatefulSet)
	set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](1<<31 - 1)}
	set.Annotations[annotationPrefix+"held"] = "2"
	set.Annotations[annotationPrefix+"parked"] = `{"release":2,"reason":"Requested","time":"2026-11-21T09:00:00Z"}`
	return objects
}

// blockedWeb is web, where pod web-0 of the version before isn't ready since an hour, and web-1 of the release has time.
func blockedWeb(more ...client.Object) []client.Object {
	objects := stuckWeb("False")
	objects[5].SetCreationTimestamp(metav1.NewTime(now))
	return append(objects, more...)
}

// record is the ChangeWorkload of the second release of web.
func failedRecord(set client.Object) client.Object {
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: meta("statefulsets.web--x--b", "cw-1",
		metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet")))}
	record.Spec.Reversion, record.Spec.Release = "b", 2
	record.Status.Status = appv1alpha1.ChangeWorkloadSuspend
	record.Status.DefenseCheckFailPods = []appv1alpha1.PodSummary{{Pod: "web-1"}}
	return record
}

func setBench(t *testing.T, answers []error, objects ...client.Object) *bench {
	t.Helper()
	b := newBench(t, answers, objects...)
	b.Kind = statefulset.Kind{}
	return b
}

func TestReconcileParksASuspendedRelease(t *testing.T) {
	for _, row := range []struct {
		name    string
		setting []client.Object
		parks   bool
	}{
		{"where that is switched on", []client.Object{on("park", "isPark")}, true},
		{"not by default", nil, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, objects := NewWithT(t), stuckWeb("True")
			objects[1].SetLabels(map[string]string{versionLabel: "b", annotationPrefix + "suspend": "1"})
			objects[5].SetCreationTimestamp(metav1.NewTime(now))
			b := setBench(t, []error{nil}, append(append(objects, failedRecord(objects[1])), row.setting...)...)
			_, err := b.Reconcile(t.Context(), webKey)
			g.Expect(err).NotTo(HaveOccurred())
			if !row.parks {
				g.Expect(b.roller.requests).To(BeEmpty())
				return
			}
			g.Expect(b.roller.requests).To(HaveExactElements(And(HaveField("Park", true), HaveField("Reason", appv1alpha1.RollbackPodsFailed))))
		})
	}
}

func TestReconcileParksNoDeployment(t *testing.T) {
	g, objects := NewWithT(t), stuckSleep(time.Second)
	objects[1].SetLabels(map[string]string{versionLabel: "b", annotationPrefix + "suspend": "1"})
	record := failedRecord(objects[1])
	record.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(objects[1], appsv1.SchemeGroupVersion.WithKind("Deployment"))})
	b := newBench(t, []error{nil}, append(objects, record, on("park", "isPark"))...)
	_, err := b.Reconcile(t.Context(), sleepKey)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.roller.requests).To(BeEmpty())
	g.Expect(b.events()).To(BeEmpty(), "the setting is not for Deployments")
}

func TestReconcileTurnsDownAParkOfACompleteRollout(t *testing.T) {
	g, objects := NewWithT(t), stuckWeb("True")
	set := objects[1].(*appsv1.StatefulSet)
	set.Status.CurrentRevision = "web-b"
	set.Annotations[annotationPrefix+"rollback"], set.Annotations[annotationPrefix+"rollback-by"] = "park", "alice"
	objects[5].SetCreationTimestamp(metav1.NewTime(now))
	b := setBench(t, []error{nil}, objects...)
	_, err := b.Reconcile(t.Context(), webKey)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.roller.requests).To(BeEmpty())
	g.Expect(b.events()).To(HaveExactElements("Warning ReleaseNotParked release 2, version b, was not parked: the rollout of statefulset web is complete, " +
		"so its pods would come back with the same template: roll it back instead (cause of the park: alice asked for it)"))
	var left appsv1.StatefulSet
	g.Expect(b.Client.Get(t.Context(), webKey.NamespacedName, &left)).To(Succeed())
	g.Expect(left.Annotations).NotTo(HaveKey(annotationPrefix + "rollback"))
}

func TestReconcileDeletesThePodsOfAParkedRelease(t *testing.T) {
	g := NewWithT(t)
	b := setBench(t, []error{nil}, parkedWeb()...)
	b.roller.again = 5 * time.Second
	g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{RequeueAfter: 5 * time.Second}))
	g.Expect(b.roller.requests).To(BeEmpty(), "its pod is stuck, but it is parked")
	g.Expect(b.roller.deletions).To(HaveExactElements(And(
		HaveField("Park", true), HaveField("Kind", statefulset.Kind{}), HaveField("Workload", webKey.NamespacedName),
		HaveField("From", decide.Release{Version: "b", Number: 2}))))

	var pod corev1.Pod
	g.Expect(b.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web-1"}, &pod)).To(Succeed())
	g.Expect(b.Client.Delete(t.Context(), &pod)).To(Succeed())
	g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.roller.deletions).To(HaveLen(1), "the cache shows no other pod of the release")
}

// While a step waits, the rollout isn't held for a failure: the pods of the step are to stay.
func TestReconcileDeletesNoPodOfAStepOnceItsParkIsOver(t *testing.T) {
	g, objects := NewWithT(t), parkedWeb()
	set := objects[1].(*appsv1.StatefulSet)
	delete(set.Annotations, annotationPrefix+"held")
	set.Annotations[annotationPrefix+"paced"] = `{"release":2,"policy":"default/web","lever":"Partition"}`
	b := setBench(t, []error{nil}, objects...)
	_, err := b.Reconcile(t.Context(), webKey)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.roller.deletions).To(BeEmpty())
}

// A StatefulSet that is scaled to no pods has completed its rollout: all pods that come back are of the release.
func TestReconcileTakesAParkForOverOnceTheRolloutIsComplete(t *testing.T) {
	for revision, requests := range map[string][]string{"web-a": nil, "web-b": {"PodsFailed"}} {
		t.Run(revision, func(t *testing.T) {
			g, objects := NewWithT(t), parkedWeb()
			set := objects[1].(*appsv1.StatefulSet)
			set.Status.CurrentRevision = revision
			set.Labels[annotationPrefix+"suspend"] = "1"
			b := setBench(t, []error{nil}, append(objects, failedRecord(set), on("suspended-rollback", "isSuspendedRollback"))...)
			_, err := b.Reconcile(t.Context(), webKey)
			g.Expect(err).NotTo(HaveOccurred())
			var reasons []string
			for _, request := range b.roller.requests {
				reasons = append(reasons, string(request.Reason))
			}
			g.Expect(reasons).To(Equal(requests))
		})
	}
}

func TestReconcileDeletesAPodThatBlocksTheSet(t *testing.T) {
	for _, row := range []struct {
		name    string
		objects []client.Object
		change  func(*appsv1.StatefulSet)
		result  ctrl.Result
		deletes bool
	}{
		{"where that is switched on", blockedWeb(on("unstick", "isUnstick")), nil, ctrl.Result{RequeueAfter: time.Minute}, true},
		{"not by default", blockedWeb(), nil, ctrl.Result{RequeueAfter: 2 * time.Minute}, false},
		{"not without a time", blockedWeb(on("unstick", "isUnstick")),
			func(set *appsv1.StatefulSet) { set.Annotations[annotationPrefix+"stuck-after"] = "0" }, ctrl.Result{}, false},
		{"as soon as it has had its time", blockedWeb(on("unstick", "isUnstick")),
			func(set *appsv1.StatefulSet) { set.Annotations[annotationPrefix+"stuck-after"] = "60m30s" }, ctrl.Result{RequeueAfter: 30 * time.Second}, false},
		{"not of a set that doesn't wait", blockedWeb(on("unstick", "isUnstick")),
			func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = "Parallel" }, ctrl.Result{RequeueAfter: 2 * time.Minute}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			if row.change != nil {
				row.change(row.objects[1].(*appsv1.StatefulSet))
			}
			b := setBench(t, []error{nil}, row.objects...)
			g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(row.result))
			if !row.deletes {
				g.Expect(b.roller.deletions).To(BeEmpty())
				return
			}
			g.Expect(b.roller.deletions).To(HaveExactElements(And(HaveField("Park", false), HaveField("Patience.Threshold", 2*time.Minute))))
		})
	}
}

func TestReconcileReportsAnObstacleToADeletionOnce(t *testing.T) {
	g := NewWithT(t)
	b := setBench(t, []error{&rollback.Obstacle{Reason: "Denied", Message: "not permitted"}}, parkedWeb()...)
	for range 3 {
		g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	}
	g.Expect(b.roller.deletions).To(HaveLen(1), "it is not tried again at once")
	g.Expect(b.events()).To(HaveExactElements("Warning PodNotDeleted release 2, version b: not permitted"))
}

func TestReconcileDeletesNoPodOfASetWithData(t *testing.T) {
	g, objects := NewWithT(t), blockedWeb(on("unstick", "isUnstick"))
	objects[1].(*appsv1.StatefulSet).Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	b := setBench(t, []error{nil}, objects...)
	for range 2 {
		g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	}
	g.Expect(b.roller.deletions).To(BeEmpty())
	g.Expect(b.events()).To(HaveExactElements(And(ContainSubstring("PodNotDeleted"), ContainSubstring("allow-data-rollback=true"))))
}

func TestReconcileTriesADeletionAgainAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	b := setBench(t, []error{apierrors.NewConflict(schema.GroupResource{Resource: "pods"}, "web-1", nil)}, parkedWeb()...)
	g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{RequeueAfter: 50 * time.Millisecond}))
}
