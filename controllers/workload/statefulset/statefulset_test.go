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

package statefulset_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// rollingFrom is the default strategy with a partition.
func rollingFrom(partition int32) appsv1.StatefulSetUpdateStrategy {
	return appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}}
}

func TestKindRollout(t *testing.T) {
	rolling, onDelete := appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate"}, appsv1.StatefulSetUpdateStrategy{Type: "OnDelete"}
	for _, row := range []struct {
		name   string
		spec   appsv1.StatefulSetSpec
		status appsv1.StatefulSetStatus
		want   decide.Rollout
	}{
		{"without a number of replicas", appsv1.StatefulSetSpec{UpdateStrategy: rolling}, appsv1.StatefulSetStatus{}, decide.Rollout{Desired: 1}},
		{"with new pods alone", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), MinReadySeconds: 3, UpdateStrategy: rollingFrom(0)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 5}, decide.Rollout{Desired: 5, MinReadySeconds: 3}},
		{"with an old pod", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: rollingFrom(0)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 4}, decide.Rollout{Desired: 5, Rolling: true}},
		{"with a new pod that is made again", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: rollingFrom(0)},
			appsv1.StatefulSetStatus{Replicas: 4, UpdatedReplicas: 4}, decide.Rollout{Desired: 5}},
		{"scaled up", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](9), UpdateStrategy: rollingFrom(0)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 5}, decide.Rollout{Desired: 9}},
		{"with a pod that leaves as it is scaled down", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](4), UpdateStrategy: rollingFrom(0)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 4}, decide.Rollout{Desired: 4}},
		{"scaled down while a pod that stays isn't ready", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), UpdateStrategy: rollingFrom(0)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 3, CurrentRevision: "web-a", UpdateRevision: "web-b"}, decide.Rollout{Desired: 3, Rolling: true}},
		{"scaled down after its rollout", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), UpdateStrategy: rollingFrom(0)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 3, CurrentRevision: "web-b", UpdateRevision: "web-b"}, decide.Rollout{Desired: 3}},
		{"scaled down while a user keeps pods old", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), UpdateStrategy: rollingFrom(2)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 3, CurrentRevision: "web-a", UpdateRevision: "web-b"}, decide.Rollout{Desired: 1, First: 2}},
		{"scaled down while a user keeps pods old, with another old pod", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), UpdateStrategy: rollingFrom(2)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 2, CurrentRevision: "web-a", UpdateRevision: "web-b"}, decide.Rollout{Desired: 1, First: 2, Rolling: true}},
		{"of which a user keeps pods old", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: rollingFrom(2)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 3}, decide.Rollout{Desired: 3, First: 2}},
		{"of which a user keeps pods old, with another old pod", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: rollingFrom(2)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 2}, decide.Rollout{Desired: 3, First: 2, Rolling: true}},
		{"of which a user keeps all pods old", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: rollingFrom(7)},
			appsv1.StatefulSetStatus{Replicas: 5}, decide.Rollout{First: 7, Idle: "its partition keeps all of its pods as they are"}},
		{"without replicas", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](0), UpdateStrategy: rollingFrom(7)}, appsv1.StatefulSetStatus{}, decide.Rollout{First: 7}},
		{"whose ordinals begin later", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), Ordinals: &appsv1.StatefulSetOrdinals{Start: 10}, UpdateStrategy: rollingFrom(2)},
			appsv1.StatefulSetStatus{}, decide.Rollout{Desired: 3, First: 12, End: 15}},
		{"whose ordinals begin later, and whose pods a user deletes",
			appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), Ordinals: &appsv1.StatefulSetOrdinals{Start: 10}, UpdateStrategy: onDelete},
			appsv1.StatefulSetStatus{}, decide.Rollout{Desired: 5, First: 10, End: 15, Paused: true}},
		{"that is held", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: rollingFrom(math.MaxInt32)},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 2}, decide.Rollout{Desired: 5, Rolling: true, Paused: true}},
		{"whose pods a user deletes", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: onDelete},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 2}, decide.Rollout{Desired: 5, Paused: true}},
		{"with a strategy of tomorrow", appsv1.StatefulSetSpec{Replicas: ptr.To[int32](5), UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: "Recreate"}},
			appsv1.StatefulSetStatus{Replicas: 5, UpdatedReplicas: 2}, decide.Rollout{Desired: 5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.want.Resume = "set its partition to 0"
			row.want.End = cmp.Or(row.want.End, int64(ptr.Deref(row.spec.Replicas, 1)))
			if row.spec.UpdateStrategy.Type == "OnDelete" {
				row.want.Resume = "set its update strategy to RollingUpdate"
			}
			NewWithT(t).Expect(statefulset.Kind{}.Rollout(&appsv1.StatefulSet{Spec: row.spec, Status: row.status})).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(statefulset.Kind{}.Rollout(&corev1.Pod{})).To(Equal(decide.Rollout{}), "of another kind")
}

// web is a StatefulSet with 3 replicas that is at these revisions.
func web(current, update string) *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web", UID: "s-1"},
		Spec: appsv1.StatefulSetSpec{Replicas: ptr.To[int32](3), UpdateStrategy: rollingFrom(0),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}},
		Status: appsv1.StatefulSetStatus{CurrentRevision: current, UpdateRevision: update},
	}
}

// controlled is the metadata of an object of web, which has these labels beside those that it selects.
func controlled(name string, added map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(now), Labels: labels.Merge(map[string]string{"app": "web"}, added),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "s-1", Controller: ptr.To(true)}},
	}
}

func revision(version string, number int64) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: controlled("web-"+version, map[string]string{versionLabel: version, "controller.kubernetes.io/hash": version}),
		Revision:   number,
		Data:       runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"$patch":"replace","spec":{"nodeName":"` + version + `"}}}}`)},
	}
}

func pod(ordinal int, version string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: controlled(fmt.Sprintf("web-%d", ordinal), map[string]string{versionLabel: version, "controller-revision-hash": "web-" + version}),
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestKindRevisionFindsPodsByItsName(t *testing.T) {
	g := NewWithT(t)
	g.Expect(statefulset.Kind{}.Revision(revision("a", 6))).To(Equal(decide.Revision{
		Version: "a", Number: 6, Created: now, Pods: decide.PodsOf{Owner: "s-1", Label: "controller-revision-hash", Value: "web-a"},
	}))
	g.Expect(statefulset.Kind{}.Revision(&corev1.Pod{})).To(Equal(decide.Revision{}), "of another kind")
}

func TestKindRevisionsAreHealthy(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	scaledToNothing := web("web-a", "web-a")
	scaledToNothing.Spec.Replicas = ptr.To[int32](0)
	partitioned := web("web-a", "web-c")
	partitioned.Spec.UpdateStrategy = rollingFrom(1)
	for _, row := range []struct {
		name    string
		set     *appsv1.StatefulSet
		pods    []client.Object
		healthy []string
		// presumed are those of them without pods.
		presumed []string
	}{
		{"where all its pods are ready", web("web-a", "web-a"), []client.Object{pod(0, "a", yes), pod(1, "a", yes), pod(2, "a", yes)}, []string{"a"}, nil},
		{"but not where one isn't ready", web("web-a", "web-a"), []client.Object{pod(0, "a", yes), pod(1, "a", no), pod(2, "a", yes)}, nil, nil},
		{"but not where one is missing", web("web-a", "web-a"), []client.Object{pod(0, "a", yes), pod(1, "a", yes)}, nil, nil},
		{"but not where it is scaled to nothing", scaledToNothing, nil, nil, nil},
		{"where a newer one fails", web("web-a", "web-b"), []client.Object{pod(0, "a", yes), pod(1, "a", yes), pod(2, "b", no)}, []string{"a"}, nil},
		{"but not where their own pods fail, too", web("web-a", "web-b"), []client.Object{pod(0, "a", no), pod(1, "a", yes), pod(2, "b", no)}, nil, nil},
		{"where a newer one has taken the only pod", web("web-a", "web-b"), []client.Object{pod(0, "b", no)}, []string{"a"}, []string{"a"}},
		{"where a newer one has taken all pods", web("web-a", "web-b"),
			[]client.Object{pod(0, "b", no), pod(1, "b", no), pod(2, "b", no)}, []string{"a"}, []string{"a"}},
		{"where a newer one is parked", web("web-a", "web-b"), []client.Object{pod(0, "a", yes), pod(1, "a", yes), pod(2, "a", yes)}, []string{"a"}, nil},
		{"but not one that was never completed", web("web-a", "web-c"), []client.Object{pod(0, "a", yes), pod(1, "b", yes), pod(2, "c", no)}, []string{"a"}, nil},
		{"where a user's partition never let them be completed", partitioned,
			[]client.Object{pod(0, "a", yes), pod(1, "b", yes), pod(2, "c", no)}, []string{"a", "b"}, nil},
		{"where a user's partition leaves none of their pods", partitioned,
			[]client.Object{pod(0, "a", yes), pod(1, "a", yes), pod(2, "c", no)}, []string{"a"}, nil},
		{"but not where one that a user's partition kept from completion isn't ready", partitioned,
			[]client.Object{pod(0, "a", yes), pod(1, "b", no), pod(2, "c", yes)}, []string{"a"}, nil},
		{"but not before its controller has looked", web("", ""), nil, nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			kube := testkit.NewFake(t, append(row.pods, revision("a", 1), revision("b", 2), revision("c", 3))...)
			revisions, err := statefulset.Kind{}.Revisions(t.Context(), kube, row.set)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(revisions).To(HaveLen(3))
			var healthy, presumed []string
			for _, revision := range revisions {
				if revision.Healthy {
					healthy = append(healthy, revision.Version)
				}
				if revision.Presumed {
					presumed = append(presumed, revision.Version)
				}
			}
			g.Expect(healthy).To(Equal(row.healthy))
			g.Expect(presumed).To(Equal(row.presumed))
			history, err := statefulset.Kind{}.History(t.Context(), kube, row.set)
			g.Expect(err).NotTo(HaveOccurred())
			for i := range history {
				g.Expect(history[i].Template).To(Equal(podtemplate.Template{"spec": map[string]any{"nodeName": history[i].Version}}))
				history[i].Template = nil
			}
			g.Expect(history).To(Equal(revisions), "live as in the cache")
		})
	}
}

// untyped is a StatefulSet as the webhooks get it.
func untyped(updateStrategy any) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"updateStrategy": updateStrategy}}}
}

func TestKindPaused(t *testing.T) {
	of := func(strategy appsv1.StatefulSetUpdateStrategy) client.Object {
		return &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: strategy}}
	}
	for _, row := range []struct {
		name   string
		object client.Object
		paused bool
	}{
		{"a StatefulSet", of(rollingFrom(0)), false},
		{"one with a strategy alone", of(appsv1.StatefulSetUpdateStrategy{Type: "RollingUpdate"}), false},
		{"one of which a user keeps pods old", of(rollingFrom(2)), false},
		{"one that is held", of(rollingFrom(math.MaxInt32)), true},
		{"one whose pods a user deletes", of(appsv1.StatefulSetUpdateStrategy{Type: "OnDelete"}), true},
		{"an untyped one", &unstructured.Unstructured{Object: map[string]any{}}, false},
		{"an untyped one that goes on", untyped(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}}), false},
		{"an untyped one that is held", untyped(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(2147483647)}}), true},
		{"an untyped one whose pods a user deletes", untyped(map[string]any{"type": "OnDelete"}), true},
		{"an untyped one that no API server takes", untyped("OnDelete"), false},
		{"another one that no API server takes", untyped(map[string]any{"type": "OnDelete", "rollingUpdate": "no"}), false},
		{"another kind", &corev1.Pod{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(statefulset.Kind{}.Paused(row.object)).To(Equal(row.paused))
		})
	}
}

func TestKindPauseAndResume(t *testing.T) {
	const maximum = `[{"op":"add","path":"/spec/updateStrategy/rollingUpdate/partition","value":2147483647}]`
	back := func(partition int) string {
		return fmt.Sprintf(`[{"op":"replace","path":"/spec/updateStrategy/rollingUpdate/partition","value":%d}]`, partition)
	}
	for _, row := range []struct {
		name                      string
		strategy                  map[string]any
		pause, originals, resumed string
	}{
		{"a StatefulSet", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(0)}}, maximum, "", back(0)},
		{"one of which a user keeps pods old", map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"partition": int64(2), "maxUnavailable": "10%"}},
			maximum, `{"partition":2}`, back(2)},
		{"one with a strategy alone", map[string]any{"type": "RollingUpdate"},
			`[{"op":"add","path":"/spec/updateStrategy/rollingUpdate","value":{"partition":2147483647}}]`, "", back(0)},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			object, kind := untyped(row.strategy), statefulset.Kind{}
			known := kind.Originals(object)
			g.Expect(known).To(Equal(row.originals))
			g.Expect(json.Marshal(kind.Pause(object))).To(BeEquivalentTo(row.pause))
			g.Expect(kind.Resume(object, known)).To(BeEmpty(), "it is not held")
			held := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: rollingFrom(math.MaxInt32)}}
			g.Expect(json.Marshal(kind.Resume(held, known))).To(BeEquivalentTo(row.resumed))
		})
	}
}

func TestKindResumeAfterUsers(t *testing.T) {
	for _, row := range []struct {
		name, known string
		strategy    appsv1.StatefulSetUpdateStrategy
		want        []workload.Operation
	}{
		{"lets all pods go on where the original is lost", "", rollingFrom(math.MaxInt32),
			[]workload.Operation{{Op: "replace", Path: "/spec/updateStrategy/rollingUpdate/partition", Value: int32(0)}}},
		{"lets all pods go on where the original was spoilt", `{"partition":"x"}`, rollingFrom(math.MaxInt32),
			[]workload.Operation{{Op: "replace", Path: "/spec/updateStrategy/rollingUpdate/partition", Value: int32(0)}}},
		{"lets all pods go on where no API server takes the original", `{"partition":-1}`, rollingFrom(math.MaxInt32),
			[]workload.Operation{{Op: "replace", Path: "/spec/updateStrategy/rollingUpdate/partition", Value: int32(0)}}},
		{"leaves another partition", `{"partition":2}`, rollingFrom(1), nil},
		{"leaves another strategy", `{"partition":2}`, appsv1.StatefulSetUpdateStrategy{Type: "OnDelete"}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{UpdateStrategy: row.strategy}}
			NewWithT(t).Expect(statefulset.Kind{}.Resume(object, row.known)).To(Equal(row.want))
		})
	}
}

func TestKindHealthMayChange(t *testing.T) {
	g, kind, other := NewWithT(t), statefulset.Kind{}, web("web-a", "web-b")
	other.Status.UpdatedReplicas++
	g.Expect(kind.HealthMayChange(web("web-a", "web-b"), other)).To(BeFalse())
	g.Expect(kind.HealthMayChange(web("web-a", "web-b"), web("web-b", "web-b"))).To(BeTrue())
	g.Expect(kind.HealthMayChange(web("web-a", "web-a"), web("web-a", "web-b"))).To(BeTrue())
	g.Expect(kind.HealthMayChange(&corev1.Pod{}, web("web-a", "web-b"))).To(BeFalse(), "of another kind")
}

func TestKindHasData(t *testing.T) {
	g, set := NewWithT(t), web("", "")
	g.Expect(workload.HasData(statefulset.Kind{}, set)).To(BeFalse())
	set.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
	g.Expect(workload.HasData(statefulset.Kind{}, set)).To(BeTrue())
	g.Expect(workload.HasData(statefulset.Kind{}, &corev1.Pod{})).To(BeFalse(), "of another kind")
	raw := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{}}}
	g.Expect(workload.HasData(statefulset.Kind{}, raw)).To(BeFalse())
	raw.Object["spec"] = map[string]any{"volumeClaimTemplates": []any{map[string]any{}}}
	g.Expect(workload.HasData(statefulset.Kind{}, raw)).To(BeTrue())
}

func TestKindOrdinals(t *testing.T) {
	base := decide.Ordinals{Label: "controller-revision-hash", Current: "web-a", Update: "web-b", Replicas: 3, Ordered: true, Observed: true}
	for _, row := range []struct {
		name   string
		change func(*appsv1.StatefulSet)
		want   func(*decide.Ordinals)
	}{
		{"by default", func(*appsv1.StatefulSet) {}, func(*decide.Ordinals) {}},
		{"one replica where none is given", func(set *appsv1.StatefulSet) { set.Spec.Replicas = nil }, func(want *decide.Ordinals) { want.Replicas = 1 }},
		{"in parallel", func(set *appsv1.StatefulSet) { set.Spec.PodManagementPolicy = "Parallel" }, func(want *decide.Ordinals) { want.Ordered = false }},
		{"from another ordinal", func(set *appsv1.StatefulSet) { set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: 5} },
			func(want *decide.Ordinals) { want.Start = 5 }},
		{"from a partition", func(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy = rollingFrom(2) },
			func(want *decide.Ordinals) { want.Partition, want.UserPartition = 2, 2 }},
		{"while it is held", func(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy = rollingFrom(math.MaxInt32) },
			func(want *decide.Ordinals) { want.Partition = math.MaxInt32 }},
		{"while it is held from a partition", func(set *appsv1.StatefulSet) {
			set.Spec.UpdateStrategy = rollingFrom(math.MaxInt32)
			set.Annotations = map[string]string{"altershield.defense.antgroup.com/held-from": `{"partition":2}`}
		}, func(want *decide.Ordinals) { want.Partition, want.UserPartition = math.MaxInt32, 2 }},
		{"before its controller has seen the spec", func(set *appsv1.StatefulSet) { set.Generation = 7 }, func(want *decide.Ordinals) { want.Observed = false }},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, set, want := NewWithT(t), web("web-a", "web-b"), base
			set.Spec.UpdateStrategy = rollingFrom(0)
			row.change(set)
			row.want(&want)
			ordinals, ok := workload.OrdinalsOf(statefulset.Kind{}, set)
			g.Expect(ok).To(BeTrue())
			g.Expect(ordinals).To(Equal(want))
		})
	}
	g, set := NewWithT(t), web("web-a", "web-b")
	for _, strategy := range []appsv1.StatefulSetUpdateStrategyType{"OnDelete", "Recreate"} {
		set.Spec.UpdateStrategy.Type = strategy
		_, ok := workload.OrdinalsOf(statefulset.Kind{}, set)
		g.Expect(ok).To(BeFalse(), string(strategy))
	}
	_, ok := workload.OrdinalsOf(statefulset.Kind{}, &corev1.Pod{})
	g.Expect(ok).To(BeFalse(), "of another kind")
}

func TestKindPods(t *testing.T) {
	g, foreign, unstamped := NewWithT(t), pod(1, "a", corev1.ConditionTrue), pod(2, "a", corev1.ConditionTrue)
	foreign.OwnerReferences[0].UID = "other"
	delete(unstamped.Labels, versionLabel)
	set := web("", "")
	pods, err := statefulset.Kind{}.Pods(t.Context(), testkit.NewFake(t, pod(0, "a", corev1.ConditionTrue), foreign, unstamped), set)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pods).To(HaveExactElements(HaveField("Name", pod(0, "a", "").Name), HaveField("Name", unstamped.Name)))
}

func TestKindOwnerOf(t *testing.T) {
	g, registry, cache := NewWithT(t), workload.Registry{statefulset.Kind{}}, testkit.NewFake(t, web("", ""))
	for name, object := range map[string]client.Object{"a pod": pod(0, "a", corev1.ConditionTrue), "a ControllerRevision": revision("a", 1)} {
		owner, err := registry.OwnerOf(t.Context(), cache, object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(owner.Kind).To(Equal(statefulset.Kind{}), name)
		g.Expect(owner.Object.GetName()).To(Equal("web"), name)
		g.Expect(owner.Version).To(Equal("a"), name)
	}
	foreign := pod(0, "a", corev1.ConditionTrue)
	foreign.OwnerReferences[0].Kind = "DaemonSet"
	g.Expect(registry.OwnerOf(t.Context(), cache, foreign)).To(BeNil())
}

func TestKindOrphans(t *testing.T) {
	g, orphan := NewWithT(t), revision("a", 1)
	orphan.OwnerReferences = nil
	orphan.Labels["altershield.defense.antgroup.com/gate"] = "start"
	g.Expect(statefulset.Kind{}.Orphans(t.Context(), testkit.NewFake(t, orphan), web("", ""), "a")).
		To(ConsistOf(And(HaveField("Template", podtemplate.Template{"spec": map[string]any{"nodeName": "a"}}), HaveField("Gate", "start"),
			HaveField("Number", int64(1)))))
}

func TestKindNamesItsTypes(t *testing.T) {
	g, kind := NewWithT(t), statefulset.Kind{}
	g.Expect(kind.GroupVersionKind().String()).To(Equal("apps/v1, Kind=StatefulSet"))
	g.Expect(kind.Resource()).To(Equal("statefulsets"))
	g.Expect(kind.RecordName("web")).To(Equal("statefulsets.web"))
	g.Expect(kind.TemplatePath()).To(Equal([]string{"spec", "template"}))
	g.Expect(kind.New()).To(Equal(&appsv1.StatefulSet{}))
	g.Expect(kind.NewList()).To(Equal(&appsv1.StatefulSetList{}))
	g.Expect(kind.Layer()).To(Equal(&appsv1.ControllerRevision{}))
}

func TestKindCacheKeepsWhatIsRead(t *testing.T) {
	g, stamped := NewWithT(t), labels.SelectorFromSet(labels.Set{versionLabel: "a"})
	for object, options := range (statefulset.Kind{}).Cache(stamped) {
		if _, ok := object.(*appsv1.StatefulSet); !ok {
			g.Expect(object).To(Equal(&appsv1.ControllerRevision{}))
			continue
		}
		g.Expect(options.Label).To(Equal(stamped))
		full := web("web-a", "web-b")
		full.Generation, full.ManagedFields = 7, []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		full.Annotations = map[string]string{"note": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
		full.Spec.MinReadySeconds, full.Spec.Template.Spec.NodeName, full.Spec.ServiceName = 3, "node-1", "web"
		full.Status.Replicas, full.Status.UpdatedReplicas, full.Status.ReadyReplicas = 3, 2, 1
		full.Spec.PodManagementPolicy, full.Spec.Ordinals, full.Status.ObservedGeneration = "Parallel", &appsv1.StatefulSetOrdinals{Start: 5}, 6
		want := web("web-a", "web-b")
		want.Generation, want.Annotations, want.Spec.Selector, want.Spec.MinReadySeconds = 7, map[string]string{"note": "b"}, nil, 3
		want.Status.Replicas, want.Status.UpdatedReplicas = 3, 2
		want.Spec.PodManagementPolicy, want.Spec.Ordinals, want.Status.ObservedGeneration = "Parallel", &appsv1.StatefulSetOrdinals{Start: 5}, 6
		g.Expect(options.Transform(full.DeepCopy())).To(Equal(want))
		full.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}, {ObjectMeta: metav1.ObjectMeta{Name: "log"}}}
		want.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{}}
		g.Expect(options.Transform(full)).To(Equal(want))
		g.Expect(options.Transform(&appsv1.StatefulSet{})).To(Equal(&appsv1.StatefulSet{}))
		tombstone := &struct{ Key string }{"default/web"}
		g.Expect(options.Transform(tombstone)).To(BeIdenticalTo(tombstone))
	}
}

func TestLet(t *testing.T) {
	set := func(strategy, annotations string) *appsv1.StatefulSet {
		var set appsv1.StatefulSet
		err := json.Unmarshal(fmt.Appendf(nil, `{"metadata": {"annotations": %s}, "spec": {"replicas": 20, "updateStrategy": %s}}`, annotations, strategy), &set)
		if err != nil {
			t.Fatal(err)
		}
		return &set
	}
	const path = "/spec/updateStrategy/rollingUpdate/partition"
	partition := func(value int32) []workload.Operation {
		return []workload.Operation{{Op: "add", Path: path, Value: value}}
	}
	for _, row := range []struct {
		name, strategy, originals string
		pods                      int32
		want                      []workload.Operation
	}{
		{"the first pod", `{"type": "RollingUpdate", "rollingUpdate": {"partition": 2147483647}}`, "", 1, partition(19)},
		{"a quarter", `{"type": "RollingUpdate", "rollingUpdate": {"partition": 19}}`, "", 5, partition(15)},
		{"those that it has", `{"type": "RollingUpdate", "rollingUpdate": {"partition": 15}}`, "", 5, nil},
		{"no further ones, not even after scaling up", `{"type": "RollingUpdate", "rollingUpdate": {"partition": 15}}`, "", 0, partition(math.MaxInt32)},
		{"all", `{"type": "RollingUpdate", "rollingUpdate": {"partition": 15}}`, "", math.MaxInt32, partition(0)},
		{"all that the user lets", `{"type": "RollingUpdate", "rollingUpdate": {"partition": 19}}`, `{"partition":3}`, math.MaxInt32, partition(3)},
		{"not more than the user lets", `{"type": "RollingUpdate", "rollingUpdate": {"partition": 19}}`, `{"partition":12}`, 10, partition(12)},
		{"without a strategy", `{}`, "", 1, []workload.Operation{
			{Op: "add", Path: "/spec/updateStrategy/rollingUpdate", Value: map[string]any{"partition": int32(19)}}}},
		{"all, without a strategy", `{}`, "", math.MaxInt32, nil},
		{"where a user replaces the pods", `{"type": "OnDelete"}`, "", 1, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			typed := set(row.strategy, "{}")
			g.Expect(statefulset.Kind{}.Let(typed, row.pods, row.originals)).To(Equal(row.want))
			fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(statefulset.Kind{}.Let(&unstructured.Unstructured{Object: fields}, row.pods, row.originals)).To(Equal(row.want), "untyped")
		})
	}
	g := NewWithT(t)
	g.Expect(statefulset.Kind{}.PaceFields()).To(Equal([]string{"/spec/updateStrategy/type", path}))
	const at = `{"type": "RollingUpdate", "rollingUpdate": {"partition": 15}}`
	for annotations, own := range map[string]int32{
		`{"altershield.defense.antgroup.com/release": "4"}`: 15,
		`{"altershield.defense.antgroup.com/release": "4", "altershield.defense.antgroup.com/paced": "{\"release\":4,\"policy\":\"a/b\",\"lever\":\"Partition\"}"}`:                            0,
		`{"altershield.defense.antgroup.com/release": "4", "altershield.defense.antgroup.com/paced": "{\"release\":4,\"policy\":\"a/b\",\"lever\":\"Partition\",\"from\":{\"partition\":7}}"}`: 7,
	} {
		g.Expect(statefulset.Kind{}.Rollout(set(at, annotations)).Desired).To(Equal(20-own), annotations)
		ordinals, _ := statefulset.Kind{}.Ordinals(set(at, annotations))
		g.Expect(ordinals.UserPartition).To(Equal(own), annotations)
		g.Expect(ordinals.Partition).To(Equal(int32(15)))
		held := `{"type": "RollingUpdate", "rollingUpdate": {"partition": 2147483647}}`
		if own != 15 {
			g.Expect(statefulset.Kind{}.Rollout(set(held, annotations)).Desired).To(Equal(20-own), "paused")
		}
	}
}
