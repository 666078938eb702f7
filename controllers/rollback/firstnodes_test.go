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
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	kinds "github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
)

// waiting is the DaemonSet agent, whose release b waits for its first nodes, with pods of some versions on nodes, from texts such as "1b".
func waiting(texts string, changes ...func(*appsv1.DaemonSet)) []client.Object {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "agent", UID: "d-1", Labels: map[string]string{appv1alpha1.LabelVersion: "b"},
			Annotations: map[string]string{prefix + "release": "2", prefix + "held": "2-first-nodes", prefix + "first-nodes": "zone=a"},
		},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: "OnDelete",
				RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(2))}},
		},
		Status: appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 4},
	}
	for _, change := range changes {
		change(set)
	}
	objects := []client.Object{set, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}}
	for text := range strings.FieldsSeq(texts) {
		objects = append(objects, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent-" + text[:1], UID: types.UID("p-" + text[:1]),
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
				Labels:          map[string]string{"app": "agent", appv1alpha1.LabelVersion: text[1:]}},
			Spec:   corev1.PodSpec{NodeName: "node-" + text[:1]},
			Status: corev1.PodStatus{Phase: "Running", Conditions: []corev1.PodCondition{{Type: "Ready", Status: "True"}}},
		})
	}
	return objects
}

func firstRequest() rollback.PodRequest {
	return rollback.PodRequest{
		Kind: daemonset.Kind{}, Workload: client.ObjectKey{Namespace: "default", Name: "agent"}, From: decide.Release{Version: "b", Number: 2},
		Turn: true,
	}
}

// recordOf is the record of a release of agent.
func recordOf(change func(*appv1alpha1.ChangeWorkload)) *appv1alpha1.ChangeWorkload {
	record := &appv1alpha1.ChangeWorkload{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: kinds.RecordName(daemonset.Kind{}, "agent", "b")}}
	record.Spec.Reversion, record.Spec.Release, record.Status.ObservedRelease = "b", 2, 2
	change(record)
	return record
}

// awaits is the record of a release that waits for its first nodes.
func awaits(record *appv1alpha1.ChangeWorkload) {
	record.Status.FirstNodes = &appv1alpha1.FirstNodes{Nodes: []string{"node-1", "node-2", "node-3"}}
	record.Status.Conditions = []metav1.Condition{{Type: "FirstNodes", Status: "Unknown", Reason: "Verifying"}}
}

func TestDeletePodOnTheFirstNodes(t *testing.T) {
	optOut := func(objects []client.Object) []client.Object { objects[1].SetLabels(nil); return objects }
	for _, row := range []struct {
		name    string
		objects []client.Object
		deleted []string
		again   time.Duration
	}{
		{"as many as may be unavailable", waiting("1a 2a 3a 4a"), []string{"agent-1", "agent-2"}, 5 * time.Second},
		{"those that are left", waiting("1b 2b 3a 4a"), []string{"agent-3"}, 5 * time.Second},
		{"not while the new ones are missing", waiting("3a 4a"), nil, 5 * time.Second},
		{"nor while one is missing, beside a pod on a node where no other would come up", waiting("1b 2b 3a 4a", func(set *appsv1.DaemonSet) {
			set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1))
			set.Status.NumberMisscheduled = 1
		}), nil, 5 * time.Second},
		{"until none is left", waiting("1b 2b 3b 4a"), nil, 0},
		{"not in a namespace that was opted out", optOut(waiting("1a 2a 3a 4a")), nil, 0},
		{"not of a rollout that goes on", waiting("1a 2a 3a 4a", func(set *appsv1.DaemonSet) { set.Spec.UpdateStrategy.Type = "RollingUpdate" }), nil, 0},
		{"not of one that is held for another cause", waiting("1a 2a 3a 4a", func(set *appsv1.DaemonSet) { set.Annotations[prefix+"held"] = "2" }), nil, 0},
		{"not without the annotation", waiting("1a 2a 3a 4a", func(set *appsv1.DaemonSet) { delete(set.Annotations, prefix+"first-nodes") }), nil, 0},
		{"not of another release", waiting("1a 2a 3a 4a", func(set *appsv1.DaemonSet) { set.Annotations[prefix+"release"] = "3" }), nil, 0},
		{"not of a DaemonSet that is gone", nil, nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, b := NewWithT(t), newParkBench(t, append(row.objects, recordOf(awaits))...)
			g.Expect(b.DeletePod(t.Context(), firstRequest())).To(Equal(row.again))
			g.Expect(b.deleted).To(Equal(row.deleted))
			for _, deletion := range b.deletions {
				g.Expect(deletion.Preconditions.UID).NotTo(BeNil())
				g.Expect(deletion.Preconditions.ResourceVersion).NotTo(BeNil())
			}
			if len(row.deleted) == 0 {
				g.Expect(b.counters(t)).To(BeEmpty())
				return
			}
			g.Expect(b.counters(t)).To(HaveExactElements("altershield_deleted_pods_total FirstNodes DaemonSet"))
			name := row.deleted[0]
			g.Expect(<-b.recorder.Events).To(Equal("Normal PodDeleted deleted pod " + name + ": release 2 starts on node node-" + name[len("agent-"):]))
		})
	}
}

func TestDeletePodOnTheFirstNodesMayBeDenied(t *testing.T) {
	g, b := NewWithT(t), newParkBench(t, append(waiting("1a 2a 3a 4a"), recordOf(awaits))...)
	b.denied = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "agent-1", errors.New(`User "manager" cannot delete resource "pods" in API group "" in the namespace "default"`))
	_, err := b.DeletePod(t.Context(), firstRequest())
	g.Expect(err).To(And(
		MatchError(ContainSubstring("the operator may delete pods only with the ClusterRole of config/components/pod-deletion (chart: podDeletion.enabled)")),
		HaveField("Reason", rollback.ObstacleDenied)))
}

func TestDeletePodOnTheFirstNodesNotOnceTheReleaseFailed(t *testing.T) {
	g := NewWithT(t)
	b := newParkBench(t, append(waiting("1b 2a 3a 4a"), recordOf(func(record *appv1alpha1.ChangeWorkload) {
		awaits(record)
		record.Status.Conditions[0].Status, record.Status.Conditions[0].Reason = "False", "PodsFailed"
	}))...)
	g.Expect(b.DeletePod(t.Context(), firstRequest())).To(BeZero(), "the cache was behind")
	g.Expect(b.deleted).To(BeEmpty())
}

// The release of the DaemonSet is at a step: its record lets so many pods come.
func TestDeletePodAsFarAsAStepLetsThemCome(t *testing.T) {
	paced := func(set *appsv1.DaemonSet) {
		set.Annotations = map[string]string{prefix + "release": "2", prefix + "paced": `{"release":2,"policy":"default/web","lever":"Nodes"}`}
	}
	stepped := func(target int32, changes ...func(*appv1alpha1.ChangeWorkload)) *appv1alpha1.ChangeWorkload {
		record := recordOf(func(*appv1alpha1.ChangeWorkload) {})
		record.Status.Pace = &appv1alpha1.ReleasePace{Lever: "Nodes", Step: 1, Target: target}
		record.Status.Conditions = []metav1.Condition{{Type: "Paced", Status: "True", Reason: "StepRunning"}}
		for _, change := range changes {
			change(record)
		}
		return record
	}
	reason := func(status metav1.ConditionStatus, reason string) func(*appv1alpha1.ChangeWorkload) {
		return func(record *appv1alpha1.ChangeWorkload) {
			record.Status.Conditions[0].Status, record.Status.Conditions[0].Reason = status, reason
		}
	}
	for _, row := range []struct {
		name    string
		pods    string
		record  *appv1alpha1.ChangeWorkload
		change  func(*appsv1.DaemonSet)
		deleted []string
		again   time.Duration
	}{
		{"the first pod", "1a 2a 3a 4a", stepped(1), nil, []string{"agent-1"}, 5 * time.Second},
		{"no more than the step lets come", "1b 2a 3a 4a", stepped(1), nil, nil, 0},
		{"nor beside one that is missing", "2a 3a 4a", stepped(1), nil, nil, 5 * time.Second},
		{"as many as may be unavailable", "1b 2a 3a 4a", stepped(4), nil, []string{"agent-2", "agent-3"}, 5 * time.Second},
		{"not of a release that failed", "1a 2a 3a 4a", stepped(1, reason("True", "StepFailed")), nil, nil, 0},
		{"not of one that waits for something else", "1a 2a 3a 4a", stepped(1, reason("True", "OnHold")), nil, nil, 0},
		{"not of one that isn't paced any more", "1a 2a 3a 4a", stepped(1, reason("False", "WentOn")), nil, nil, 0},
		{"not of another one", "1a 2a 3a 4a", stepped(1, func(record *appv1alpha1.ChangeWorkload) { record.Spec.Release = 3 }), nil, nil, 0},
		{"not without a record", "1a 2a 3a 4a", nil, nil, nil, 0},
		{"not of a rollout that is held besides", "1a 2a 3a 4a", stepped(1), func(set *appsv1.DaemonSet) { set.Annotations[prefix+"held"] = "2" }, nil, 0},
		{"not without the mark", "1a 2a 3a 4a", stepped(1), func(set *appsv1.DaemonSet) { delete(set.Annotations, prefix+"paced") }, nil, 0},
		{"not of a rollout that goes on", "1a 2a 3a 4a", stepped(1), func(set *appsv1.DaemonSet) { set.Spec.UpdateStrategy.Type = "RollingUpdate" }, nil, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			changes := []func(*appsv1.DaemonSet){paced}
			if row.change != nil {
				changes = append(changes, row.change)
			}
			objects := waiting(row.pods, changes...)
			if row.record != nil {
				objects = append(objects, row.record)
			}
			b := newParkBench(t, objects...)
			g.Expect(b.DeletePod(t.Context(), firstRequest())).To(Equal(row.again))
			g.Expect(b.deleted).To(Equal(row.deleted))
			if len(row.deleted) > 0 {
				g.Expect(b.counters(t)).To(HaveExactElements("altershield_deleted_pods_total Step DaemonSet"))
				g.Expect(<-b.recorder.Events).To(Equal("Normal PodDeleted deleted pod " + row.deleted[0] + ": the step of release 2 lets it come back with the release"))
			}
		})
	}
}

// Pods that run the version with other gates, from before its steps, are replaced as those of any other version are.
func TestDeletePodOfTheVersionWithOtherGates(t *testing.T) {
	for _, row := range []struct {
		name, image string
		deleted     []string
	}{{"that got gates", "one", []string{"agent-2", "agent-3"}}, {"whose template was changed without the webhooks", "two", nil}} {
		t.Run(row.name, func(t *testing.T) {
			g, objects := NewWithT(t), append(waiting("1b 2b 3a 4a"), recordOf(awaits))
			for hash, image := range map[string]string{"1": "one", "2": row.image} {
				number, _ := strconv.Atoi(hash)
				objects = append(objects, &appsv1.ControllerRevision{
					ObjectMeta: metav1.ObjectMeta{
						Namespace: "default", Name: "agent-" + hash, CreationTimestamp: metav1.Unix(int64(number), 0),
						Labels:          map[string]string{"app": "agent", appv1alpha1.LabelVersion: "b", "controller-revision-hash": hash},
						OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(objects[0], appsv1.SchemeGroupVersion.WithKind("DaemonSet"))},
					},
					Revision: int64(number),
					Data:     runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"$patch":"replace","metadata":{"labels":{"` + prefix + `gate":"` + hash + `"}},"spec":{"hostname":"` + image + `"}}}}`)},
				})
			}
			for i, hash := range []string{"2", "1", "1"} {
				objects[2+i].GetLabels()["controller-revision-hash"] = hash
			}
			b := newParkBench(t, objects...)
			_, err := b.DeletePod(t.Context(), firstRequest())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.deleted).To(Equal(row.deleted))
		})
	}
}
