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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

// stuckWeb is a StatefulSet at its second release b, with a pod of it that is pending for an hour, and an old pod.
func stuckWeb(old corev1.ConditionStatus) []client.Object {
	set := &appsv1.StatefulSet{ObjectMeta: meta("web", "s-1", nil)}
	set.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "2"}
	set.Spec.Replicas, set.Spec.UpdateStrategy.Type = ptr.To[int32](2), "RollingUpdate"
	set.Status.Replicas, set.Status.CurrentRevision, set.Status.UpdateRevision = 2, "web-a", "web-b"
	owner := metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("StatefulSet"))
	revision := func(version string, number int64) *appsv1.ControllerRevision {
		made := &appsv1.ControllerRevision{ObjectMeta: meta("web-"+version, "r-"+version, owner), Revision: number}
		made.Labels[versionLabel] = version
		return made
	}
	pod := func(name, version string) *corev1.Pod {
		made := &corev1.Pod{ObjectMeta: meta(name, "p-"+name, owner)}
		made.Labels[versionLabel], made.Labels["controller-revision-hash"] = version, "web-"+version
		made.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		return made
	}
	older := pod("web-0", "a")
	older.Status = corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: old}}}
	return []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default"}}, set, revision("a", 1), revision("b", 2), older, pod("web-1", "b")}
}

var webKey = ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "default", Name: "web"}}

func TestReconcileAsksForASetByItsKind(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{nil}, stuckWeb("True")...)
	b.Kind = statefulset.Kind{}
	g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.roller.requests).To(HaveExactElements(And(
		HaveField("Kind", statefulset.Kind{}), HaveField("Workload", webKey.NamespacedName), HaveField("Message", "pod web-1: pending"))))
}

func TestReconcileTriesAgainWhenOldPodsOfASetAreReady(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, []error{&rollback.Obstacle{Reason: "NoHealthyReplicaSet", Message: "none is healthy"}, nil}, stuckWeb("False")...)
	b.Kind = statefulset.Kind{}
	g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{RequeueAfter: 10 * time.Minute}))
	g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{RequeueAfter: time.Minute}))
	var old corev1.Pod
	g.Expect(b.Client.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web-0"}, &old)).To(Succeed())
	old.Status.Conditions[0].Status = "True"
	g.Expect(b.Client.Status().Update(t.Context(), &old)).To(Succeed())
	g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{}))
	g.Expect(b.roller.requests).To(HaveLen(2), "there is a way back now")
}

func TestReconcileLeavesASetWithData(t *testing.T) {
	g, objects := NewWithT(t), stuckWeb("True")
	objects[1].(*appsv1.StatefulSet).Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	b := newBench(t, []error{nil}, objects...)
	b.Kind = statefulset.Kind{}
	for range 3 {
		g.Expect(b.Reconcile(t.Context(), webKey)).To(Equal(ctrl.Result{}))
	}
	g.Expect(b.roller.requests).To(BeEmpty())
	g.Expect(b.events()).To(HaveExactElements(ContainSubstring("altershield.defense.antgroup.com/allow-data-rollback=true")))
}

func TestControllerFindsTheSetOfAPod(t *testing.T) {
	g, objects := NewWithT(t), stuckWeb("True")
	older, stuck := objects[4], objects[5]
	controller := &Controller{Kinds: bykind.Only{Kind: statefulset.Kind{}}, Client: newBench(t, nil, objects...).Client}
	ofWeb := []bykind.Request{{Kind: schema.GroupKind{Group: "apps", Kind: "StatefulSet"}, ObjectKey: webKey.NamespacedName}}
	g.Expect(controller.ofPod(t.Context(), stuck)).To(Equal(ofWeb))
	g.Expect(controller.ofPod(t.Context(), older)).To(Equal(ofWeb))
	g.Expect(controller.ofOlderPod(t.Context(), older)).To(Equal(ofWeb))
	g.Expect(controller.ofOlderPod(t.Context(), stuck)).To(BeEmpty(), "it is of the present release")
	controller.Kinds = bykind.Only{Kind: daemonset.Kind{}}
	g.Expect(controller.ofPod(t.Context(), stuck)).To(BeEmpty(), "another controller has the kind")
}

func TestControllerSkipsOlderPodsWhoseLayerShowsTheirHealth(t *testing.T) {
	g, objects := NewWithT(t), stuckSleep(time.Hour)
	replicaSet, older := objects[2], objects[3]
	replicaSet.SetLabels(map[string]string{versionLabel: "a"})
	controller := &Controller{Kinds: bykind.Only{Kind: deployment.Kind{}}, Client: newBench(t, nil, objects...).Client}
	g.Expect(controller.ofPod(t.Context(), older)).To(HaveLen(1))
	g.Expect(controller.ofOlderPod(t.Context(), older)).To(BeEmpty())
}

func TestPodHealthChanged(t *testing.T) {
	pod := func(ready corev1.ConditionStatus, ending bool) *corev1.Pod {
		made := &corev1.Pod{Status: corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: ready}}}}
		if ending {
			made.DeletionTimestamp = &metav1.Time{Time: now}
		}
		return made
	}
	for _, row := range []struct {
		name  string
		event any
		looks bool
	}{
		{"a pod becomes ready", event.UpdateEvent{ObjectOld: pod("False", false), ObjectNew: pod("True", false)}, true},
		{"a pod stays ready", event.UpdateEvent{ObjectOld: pod("True", false), ObjectNew: pod("True", false)}, false},
		{"a pod becomes unready", event.UpdateEvent{ObjectOld: pod("True", false), ObjectNew: pod("False", false)}, false},
		{"a pod that isn't ready is deleted", event.UpdateEvent{ObjectOld: pod("False", false), ObjectNew: pod("False", true)}, true},
		{"a ready pod is deleted", event.UpdateEvent{ObjectOld: pod("True", false), ObjectNew: pod("True", true)}, false},
		{"a pod is deleted at once", event.DeleteEvent{Object: pod("False", false)}, true},
		{"a pod ends", event.DeleteEvent{Object: pod("False", true)}, false},
		{"a pod is created", event.CreateEvent{Object: pod("True", false)}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			looks := false
			switch seen := row.event.(type) {
			case event.CreateEvent:
				looks = podHealthChanged().Create(seen)
			case event.UpdateEvent:
				looks = podHealthChanged().Update(seen)
			case event.DeleteEvent:
				looks = podHealthChanged().Delete(seen)
			}
			NewWithT(t).Expect(looks).To(Equal(row.looks))
		})
	}
}

func TestWorkloadChanged(t *testing.T) {
	g := NewWithT(t)
	before, completed, counted := stuckWeb("True")[1], stuckWeb("True")[1].(*appsv1.StatefulSet), stuckWeb("True")[1].(*appsv1.StatefulSet)
	completed.Status.CurrentRevision, counted.Status.UpdatedReplicas = "web-b", 1
	g.Expect(workloadChanged(statefulset.Kind{}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: completed})).To(BeTrue())
	g.Expect(workloadChanged(statefulset.Kind{}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: counted})).To(BeFalse())
	g.Expect(workloadChanged(statefulset.Kind{}).Create(event.CreateEvent{Object: before})).To(BeTrue())
	released := before.DeepCopyObject().(*appsv1.StatefulSet)
	released.Generation++
	g.Expect(workloadChanged(statefulset.Kind{}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: released})).To(BeTrue())

	status := &appsv1.Deployment{Status: appsv1.DeploymentStatus{UpdatedReplicas: 1}}
	g.Expect(workloadChanged(deployment.Kind{}).Update(event.UpdateEvent{ObjectOld: &appsv1.Deployment{}, ObjectNew: status})).To(BeFalse())
}
