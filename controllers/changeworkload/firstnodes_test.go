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

package changeworkload

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clientevents "k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	kind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// agent is a DaemonSet whose second release is held for its first nodes, with pods on nodes a1, a2 and b1. There is a node a3 without one.
func agent() (*appsv1.DaemonSet, []client.Object) {
	set := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "default", Name: "agent", UID: "d-1", Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": "v2"},
			Annotations: map[string]string{
				"altershield.defense.antgroup.com/release": "2", "altershield.defense.antgroup.com/held": "2-first-nodes",
				"altershield.defense.antgroup.com/first-nodes": "zone=a",
			},
		},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}}, UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: "OnDelete"},
		},
	}
	objects := []client.Object{set}
	for _, name := range []string{"a2", "a1", "a3", "b1"} {
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": name[:1]}}})
		if name != "a3" {
			objects = append(objects, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "agent-" + name, Labels: map[string]string{"app": "agent"},
					OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(set, appsv1.SchemeGroupVersion.WithKind("DaemonSet"))}},
				Spec: corev1.PodSpec{NodeName: name},
			})
		}
	}
	return set, objects
}

func TestObserveFirst(t *testing.T) {
	none := map[types.UID]string{}
	of := func(key, value string) func(*appsv1.DaemonSet) {
		return func(set *appsv1.DaemonSet) { set.Annotations["altershield.defense.antgroup.com/"+key] = value }
	}
	for _, row := range []struct {
		name    string
		kind    workload.Kind
		set     func(*appsv1.DaemonSet)
		scene   func(*scene)
		status  appv1alpha1.ChangeWorkloadStatus
		refusal error
		want    *decide.First
		fails   bool
	}{
		{name: "selects nodes that have a pod", want: &decide.First{Asked: true, Nodes: []string{"a1", "a2"}, Of: none}},
		{name: "not once they are known",
			status: appv1alpha1.ChangeWorkloadStatus{ObservedRelease: 2, Conditions: []metav1.Condition{{Type: "FirstNodes"}}},
			want:   &decide.First{Asked: true, Of: none}},
		{name: "anew for a new release of the version",
			status: appv1alpha1.ChangeWorkloadStatus{ObservedRelease: 1, Conditions: []metav1.Condition{{Type: "FirstNodes"}}},
			want:   &decide.First{Asked: true, Nodes: []string{"a1", "a2"}, Of: none}},
		{name: "not outside change control", scene: func(seen *scene) { seen.OptedIn = false }, want: &decide.First{Asked: true, Of: none}},
		{name: "where no pod is on such a node", set: of("first-nodes", "zone=c"),
			want: &decide.First{Asked: true, Obstacle: "no node with a pod of the DaemonSet matches zone=c", Of: none}},
		{name: "where the selector is invalid now", set: of("first-nodes", "zone in a"), want: &decide.First{Asked: true, Of: none,
			Obstacle: "the annotation altershield.defense.antgroup.com/first-nodes must be a label selector of nodes such as zone=a: unable to parse requirement: found 'a' expected: '('"}},
		{name: "where the annotation is gone", set: of("first-nodes", ""), want: &decide.First{Of: none}},
		{name: "where it may not", refusal: apierrors.NewForbidden(schema.GroupResource{Resource: "nodes"}, "", nil), want: &decide.First{Asked: true, Of: none,
			Obstacle: "the operator may list nodes only with the ClusterRole of config/components/pod-deletion (chart: podDeletion.enabled)"}},
		{name: "not now", refusal: errors.New("timeout"), fails: true},
		{name: "not where the release starts on all nodes", set: of("held", "2")},
		{name: "not of another release", scene: func(seen *scene) { seen.Current = false }},
		{name: "not of another kind", kind: kind.Kind{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			set, objects := agent()
			if row.set != nil {
				row.set(set)
			}
			live := interceptor.NewClient(testkit.NewFake(t, objects...), interceptor.Funcs{
				List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
					if _, nodes := list.(*metav1.PartialObjectMetadataList); nodes && row.refusal != nil {
						return row.refusal
					}
					return kube.List(ctx, list, options...)
				},
			})
			seen := &scene{kind: daemonset.Kind{}, owner: set, Observation: decide.Observation{Current: true, OptedIn: true, Kind: "DaemonSet"}}
			if row.kind != nil {
				seen.kind = row.kind
			}
			if row.scene != nil {
				row.scene(seen)
			}
			record := &appv1alpha1.ChangeWorkload{Status: row.status}
			record.Spec.Release = 2
			err := (&Reconciler{Live: live}).observeFirst(t.Context(), record, seen)
			g.Expect(err != nil).To(Equal(row.fails), "%v", err)
			if !row.fails {
				g.Expect(seen.First).To(Equal(row.want))
			}
		})
	}
}

func TestObserveFirstLimitsTheNodes(t *testing.T) {
	g := NewWithT(t)
	set, objects := agent()
	set.Annotations["altershield.defense.antgroup.com/first-nodes"] = "zone"
	for i := range 600 {
		name := "c" + string(rune('A'+i/26)) + string(rune('a'+i%26))
		pod := objects[2].DeepCopyObject().(*corev1.Pod)
		pod.Name, pod.Spec.NodeName = name, name
		objects = append(objects, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": "c"}}}, pod)
	}
	seen := &scene{kind: daemonset.Kind{}, owner: set, Observation: decide.Observation{Current: true, OptedIn: true, Kind: "DaemonSet"}}
	record := &appv1alpha1.ChangeWorkload{}
	record.Spec.Release = 2
	g.Expect((&Reconciler{Live: testkit.NewFake(t, objects...)}).observeFirst(t.Context(), record, seen)).To(Succeed())
	g.Expect(seen.First.Nodes).To(HaveLen(500))
}

func TestSteerEndsTheWaitForFirstNodes(t *testing.T) {
	for _, row := range []struct {
		name     string
		strategy appsv1.DaemonSetUpdateStrategyType
		decision decide.Decision
		held     string
		becomes  appsv1.DaemonSetUpdateStrategyType
		event    string
	}{
		{"once they passed", "OnDelete", decide.Decision{Resume: true, Status: appv1alpha1.ChangeWorkloadStatus{Conditions: []metav1.Condition{
			{Type: "FirstNodes", Status: "True", Reason: "AllPodsPassed", Message: "pods on 2 of 2 first nodes passed"}}}},
			"", "RollingUpdate", "Normal FirstNodesPassed release v2: pods on 2 of 2 first nodes passed"},
		{"after a user has ended it", "RollingUpdate", decide.Decision{Unhold: true}, "", "RollingUpdate", ""},
		{"with a hold once one failed", "OnDelete", decide.Decision{Pause: true, Status: appv1alpha1.ChangeWorkloadStatus{Status: "Suspend"}},
			"2", "OnDelete", "Warning RolloutHeld release v2: the rollout is paused because a pod failed; pods that are not replaced yet keep the previous version"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			set, _ := agent()
			set.Generation = 7
			set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: row.strategy, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(3))}}
			kube, recorder := testkit.NewFake(t, set), clientevents.NewFakeRecorder(1)
			r := &Reconciler{Client: kube, Live: kube, Recorder: events.Recorder{Events: recorder}}
			record := &appv1alpha1.ChangeWorkload{}
			record.Spec.Reversion, record.Spec.Release = "v2", 2
			seen := &scene{kind: daemonset.Kind{}, owner: set.DeepCopy(), Observation: decide.Observation{Current: true, OptedIn: true, First: &decide.First{}}}
			g.Expect(r.steer(t.Context(), record, seen, row.decision)).To(BeFalse())
			g.Expect(kube.Get(t.Context(), client.ObjectKeyFromObject(set), set)).To(Succeed())
			g.Expect(set.Annotations["altershield.defense.antgroup.com/held"]).To(Equal(row.held))
			g.Expect(set.Spec.UpdateStrategy).To(Equal(appsv1.DaemonSetUpdateStrategy{
				Type: row.becomes, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: ptr.To(intstr.FromInt32(3))}}))
			close(recorder.Events)
			g.Expect(<-recorder.Events).To(Equal(row.event))
		})
	}
}
