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

package daemonset_test

import (
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
)

const versionLabel = "admission-webhook-altershield.antgroup.com/version"

var now = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

// strategy is of this type, with the fields of a rolling update as an API server fills them in.
func strategy(of appsv1.DaemonSetUpdateStrategyType) appsv1.DaemonSetUpdateStrategy {
	return appsv1.DaemonSetUpdateStrategy{Type: of, RollingUpdate: &appsv1.RollingUpdateDaemonSet{
		MaxUnavailable: ptr.To(intstr.FromString("10%")), MaxSurge: ptr.To(intstr.FromInt32(0)),
	}}
}

func TestKindRollout(t *testing.T) {
	for _, row := range []struct {
		name   string
		spec   appsv1.DaemonSetSpec
		status appsv1.DaemonSetStatus
		want   decide.Rollout
	}{
		{"whose controller hasn't looked yet", appsv1.DaemonSetSpec{UpdateStrategy: strategy("RollingUpdate")}, appsv1.DaemonSetStatus{}, decide.Rollout{Desired: 1}},
		{"without nodes", appsv1.DaemonSetSpec{UpdateStrategy: strategy("RollingUpdate")}, appsv1.DaemonSetStatus{ObservedGeneration: 1}, decide.Rollout{Idle: "no node is to run one"}},
		{"with new pods alone", appsv1.DaemonSetSpec{MinReadySeconds: 3, UpdateStrategy: strategy("RollingUpdate")},
			appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 5, CurrentNumberScheduled: 5, UpdatedNumberScheduled: 5},
			decide.Rollout{Desired: 5, MinReadySeconds: 3}},
		{"with an old pod", appsv1.DaemonSetSpec{UpdateStrategy: strategy("RollingUpdate")},
			appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 5, CurrentNumberScheduled: 4, UpdatedNumberScheduled: 3},
			decide.Rollout{Desired: 5, Rolling: true}},
		{"with a node that has no pod yet", appsv1.DaemonSetSpec{UpdateStrategy: strategy("RollingUpdate")},
			appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 6, CurrentNumberScheduled: 5, UpdatedNumberScheduled: 5},
			decide.Rollout{Desired: 6}},
		{"with a pod on a node where no other would come up", appsv1.DaemonSetSpec{UpdateStrategy: strategy("RollingUpdate")},
			appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 3, NumberMisscheduled: 1}, decide.Rollout{Desired: 4}},
		{"with pods on such nodes alone", appsv1.DaemonSetSpec{UpdateStrategy: strategy("RollingUpdate")},
			appsv1.DaemonSetStatus{ObservedGeneration: 1, NumberMisscheduled: 2}, decide.Rollout{Idle: "no node is to run one"}},
		{"that is held", appsv1.DaemonSetSpec{UpdateStrategy: strategy("OnDelete")},
			appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 5, CurrentNumberScheduled: 5, UpdatedNumberScheduled: 2},
			decide.Rollout{Desired: 5, Rolling: true, Paused: true}},
		{"with a strategy of tomorrow", appsv1.DaemonSetSpec{UpdateStrategy: strategy("Recreate")},
			appsv1.DaemonSetStatus{ObservedGeneration: 1, DesiredNumberScheduled: 5, CurrentNumberScheduled: 5, UpdatedNumberScheduled: 2},
			decide.Rollout{Desired: 5}},
	} {
		t.Run(row.name, func(t *testing.T) {
			row.want.Resume = "set its update strategy to RollingUpdate"
			NewWithT(t).Expect(daemonset.Kind{}.Rollout(&appsv1.DaemonSet{Spec: row.spec, Status: row.status})).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(daemonset.Kind{}.Rollout(&corev1.Pod{})).To(Equal(decide.Rollout{}), "of another kind")
}

// agent is a DaemonSet.
func agent() *appsv1.DaemonSet {
	return &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent", UID: "d-1"},
		Spec: appsv1.DaemonSetSpec{UpdateStrategy: strategy("RollingUpdate"),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}},
	}
}

// controlled is the metadata of an object of agent, which has these labels beside those that it selects.
func controlled(name string, added map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: "default", Name: name, CreationTimestamp: metav1.NewTime(now), Labels: labels.Merge(map[string]string{"app": "agent"}, added),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "d-1", Controller: ptr.To(true)}},
	}
}

func revision(version string, number int64) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{
		ObjectMeta: controlled("agent-"+version, map[string]string{versionLabel: version, "controller-revision-hash": version}),
		Revision:   number,
		Data:       runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"$patch":"replace","spec":{"nodeName":"` + version + `"}}}}`)},
	}
}

func pod(name, version string, ready corev1.ConditionStatus) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: controlled(name, map[string]string{versionLabel: version, "controller-revision-hash": version}),
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready}}},
	}
}

func TestKindRevisionFindsPodsByItsHash(t *testing.T) {
	g := NewWithT(t)
	g.Expect(daemonset.Kind{}.Revision(revision("a", 6))).To(Equal(decide.Revision{
		Version: "a", Number: 6, Created: now, Pods: decide.PodsOf{Owner: "d-1", Label: "controller-revision-hash", Value: "a"},
	}))
	g.Expect(daemonset.Kind{}.Revision(&corev1.Pod{})).To(Equal(decide.Revision{}), "of another kind")
}

func TestKindRevisionsAreHealthy(t *testing.T) {
	const yes, no = corev1.ConditionTrue, corev1.ConditionFalse
	for _, row := range []struct {
		name    string
		pods    []client.Object
		healthy []string
	}{
		{"where all pods are theirs and ready", []client.Object{pod("p1", "a", yes), pod("p2", "a", yes)}, []string{"a"}},
		{"where those that are left are ready", []client.Object{pod("p1", "a", yes), pod("p2", "b", no)}, []string{"a"}},
		{"but not where one that is left isn't ready", []client.Object{pod("p1", "a", yes), pod("p2", "a", no), pod("p3", "b", yes)}, []string{"b"}},
		{"but not where none is left", []client.Object{pod("p1", "b", no)}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			kube := testkit.NewFake(t, append(row.pods, revision("a", 1), revision("b", 2))...)
			revisions, err := daemonset.Kind{}.Revisions(t.Context(), kube, agent())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(revisions).To(HaveLen(2))
			var healthy []string
			for _, revision := range revisions {
				if revision.Healthy {
					healthy = append(healthy, revision.Version)
				}
			}
			g.Expect(healthy).To(Equal(row.healthy))
			history, err := daemonset.Kind{}.History(t.Context(), kube, agent())
			g.Expect(err).NotTo(HaveOccurred())
			for i := range history {
				g.Expect(history[i].Template).To(Equal(podtemplate.Template{"spec": map[string]any{"nodeName": history[i].Version}}))
				history[i].Template = nil
			}
			g.Expect(history).To(Equal(revisions), "live as in the cache")
		})
	}
}

// untyped is a DaemonSet as the webhooks get it.
func untyped(updateStrategy any) client.Object {
	return &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"updateStrategy": updateStrategy}}}
}

func TestKindPaused(t *testing.T) {
	of := func(strategy appsv1.DaemonSetUpdateStrategy) client.Object {
		return &appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{UpdateStrategy: strategy}}
	}
	for _, row := range []struct {
		name   string
		object client.Object
		paused bool
	}{
		{"a DaemonSet", of(strategy("RollingUpdate")), false},
		{"one that is held", of(strategy("OnDelete")), true},
		{"one whose pods a user deletes", of(appsv1.DaemonSetUpdateStrategy{Type: "OnDelete"}), true},
		{"one with a strategy of tomorrow", of(strategy("Recreate")), false},
		{"an untyped one", &unstructured.Unstructured{Object: map[string]any{}}, false},
		{"an untyped one that goes on", untyped(map[string]any{"type": "RollingUpdate"}), false},
		{"an untyped one that is held", untyped(map[string]any{"type": "OnDelete", "rollingUpdate": map[string]any{"maxUnavailable": "10%"}}), true},
		{"an untyped one that no API server takes", untyped("OnDelete"), false},
		{"another one that no API server takes", untyped(map[string]any{"type": "OnDelete", "rollingUpdate": "no"}), false},
		{"another kind", &corev1.Pod{}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(daemonset.Kind{}.Paused(row.object)).To(Equal(row.paused))
		})
	}
}

func TestKindPauseAndResume(t *testing.T) {
	g, kind := NewWithT(t), daemonset.Kind{}
	going := untyped(map[string]any{"type": "RollingUpdate", "rollingUpdate": map[string]any{"maxUnavailable": "10%"}})
	g.Expect(json.Marshal(kind.Pause(going))).To(BeEquivalentTo(`[{"op":"replace","path":"/spec/updateStrategy/type","value":"OnDelete"}]`))
	g.Expect(kind.PaceFields()).To(Equal([]string{"/spec/updateStrategy/type"}))
	g.Expect(kind.Originals(going)).To(BeEmpty(), "the fields of the strategy stay")
	g.Expect(kind.Resume(going, "")).To(BeEmpty(), "it is not held")
	for _, held := range []client.Object{
		untyped(map[string]any{"type": "OnDelete", "rollingUpdate": map[string]any{"maxUnavailable": "10%"}}),
		untyped(map[string]any{"type": "OnDelete"}), // a user has removed the fields meanwhile
		&appsv1.DaemonSet{Spec: appsv1.DaemonSetSpec{UpdateStrategy: strategy("OnDelete")}},
	} {
		g.Expect(json.Marshal(kind.Resume(held, ""))).To(BeEquivalentTo(`[{"op":"replace","path":"/spec/updateStrategy/type","value":"RollingUpdate"}]`))
	}
}

func TestKindMaxUnavailable(t *testing.T) {
	for _, row := range []struct {
		name  string
		limit *appsv1.RollingUpdateDaemonSet
		want  int
	}{
		{"as its controller does by default", nil, 1},
		{"a number", &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(3))}, 3},
		{"a percentage, rounded up", &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromString("15%"))}, 2},
		{"at least one, where pods surge", &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(0)), MaxSurge: ptr.To(intstr.FromInt32(2))}, 1},
		{"one for what no API server takes", &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromString("many"))}, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			set := agent()
			set.Spec.UpdateStrategy.RollingUpdate, set.Status.DesiredNumberScheduled, set.Status.NumberMisscheduled = row.limit, 12, 8
			NewWithT(t).Expect(daemonset.Kind{}.MaxUnavailable(set)).To(Equal(row.want))
		})
	}
	NewWithT(t).Expect(daemonset.Kind{}.MaxUnavailable(&corev1.Pod{})).To(Equal(1), "of another kind")
}

func TestKindPods(t *testing.T) {
	g, unstamped, foreign := NewWithT(t), pod("p2", "", corev1.ConditionTrue), pod("p3", "a", corev1.ConditionTrue)
	unstamped.Labels = map[string]string{"app": "agent"}
	foreign.OwnerReferences[0].UID = "d-2"
	g.Expect(daemonset.Kind{}.Pods(t.Context(), testkit.NewFake(t, pod("p1", "a", corev1.ConditionTrue), unstamped, foreign), agent())).
		To(HaveExactElements(HaveField("Name", "p1"), HaveField("Name", "p2")))
}

func TestKindOwnerOf(t *testing.T) {
	g, registry, cache := NewWithT(t), workload.Registry{daemonset.Kind{}}, testkit.NewFake(t, agent())
	for name, object := range map[string]client.Object{"a pod": pod("p1", "a", corev1.ConditionTrue), "a ControllerRevision": revision("a", 1)} {
		owner, err := registry.OwnerOf(t.Context(), cache, object)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(owner.Kind).To(Equal(daemonset.Kind{}), name)
		g.Expect(owner.Object.GetName()).To(Equal("agent"), name)
		g.Expect(owner.Version).To(Equal("a"), name)
	}
	foreign := pod("p1", "a", corev1.ConditionTrue)
	foreign.OwnerReferences[0].Kind = "StatefulSet"
	g.Expect(registry.OwnerOf(t.Context(), cache, foreign)).To(BeNil())
}

func TestKindOrphans(t *testing.T) {
	g, orphan := NewWithT(t), revision("a", 1)
	orphan.OwnerReferences = nil
	orphan.Labels["altershield.defense.antgroup.com/gate"] = "start"
	g.Expect(daemonset.Kind{}.Orphans(t.Context(), testkit.NewFake(t, orphan), agent(), "a")).
		To(ConsistOf(And(HaveField("Template", podtemplate.Template{"spec": map[string]any{"nodeName": "a"}}), HaveField("Gate", "start"),
			HaveField("Number", int64(1)))))
}

func TestKindNamesItsTypes(t *testing.T) {
	g, kind := NewWithT(t), daemonset.Kind{}
	g.Expect(kind.GroupVersionKind().String()).To(Equal("apps/v1, Kind=DaemonSet"))
	g.Expect(kind.Resource()).To(Equal("daemonsets"))
	g.Expect(kind.RecordName("agent")).To(Equal("daemonsets.agent"))
	g.Expect(kind.TemplatePath()).To(Equal([]string{"spec", "template"}))
	g.Expect(kind.New()).To(Equal(&appsv1.DaemonSet{}))
	g.Expect(kind.NewList()).To(Equal(&appsv1.DaemonSetList{}))
	g.Expect(kind.Layer()).To(Equal(&appsv1.ControllerRevision{}))
}

func TestKindCacheKeepsWhatIsRead(t *testing.T) {
	g, stamped := NewWithT(t), labels.SelectorFromSet(labels.Set{versionLabel: "a"})
	for object, options := range (daemonset.Kind{}).Cache(stamped) {
		if _, ok := object.(*appsv1.DaemonSet); !ok {
			g.Expect(object).To(Equal(&appsv1.ControllerRevision{}))
			continue
		}
		g.Expect(options.Label).To(Equal(stamped))
		full := agent()
		full.Generation, full.ManagedFields = 7, []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		full.Annotations = map[string]string{"note": "b", "kubectl.kubernetes.io/last-applied-configuration": "{}"}
		full.Spec.MinReadySeconds, full.Spec.Template.Spec.NodeName = 3, "node-1"
		full.Status = appsv1.DaemonSetStatus{
			ObservedGeneration: 6, DesiredNumberScheduled: 5, NumberMisscheduled: 1, CurrentNumberScheduled: 4, UpdatedNumberScheduled: 3, NumberReady: 2,
		}
		want := agent()
		want.Generation, want.Annotations, want.Spec.Selector, want.Spec.MinReadySeconds = 7, map[string]string{"note": "b"}, nil, 3
		want.Status = appsv1.DaemonSetStatus{
			ObservedGeneration: 6, DesiredNumberScheduled: 5, NumberMisscheduled: 1, CurrentNumberScheduled: 4, UpdatedNumberScheduled: 3,
		}
		g.Expect(options.Transform(full)).To(Equal(want))
		g.Expect(options.Transform(&appsv1.DaemonSet{})).To(Equal(&appsv1.DaemonSet{}))
		tombstone := &struct{ Key string }{"default/agent"}
		g.Expect(options.Transform(tombstone)).To(BeIdenticalTo(tombstone))
	}
}
