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
	"fmt"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// gatedSet is a StatefulSet of 40 pods whose second release is paced, and was scaled up while its pods were replaced.
func gatedSet(changes ...func(*appsv1.StatefulSet)) *appsv1.StatefulSet {
	set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "web", UID: "s-1", Generation: 4, Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version},
		Annotations: map[string]string{
			"altershield.defense.antgroup.com/release": "2",
			"altershield.defense.antgroup.com/paced":   `{"release":2,"policy":"default/web","lever":"Partition","gatedFrom":20}`,
		},
	}}
	set.Spec.Replicas = ptr.To[int32](40)
	set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type: "RollingUpdate", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](2147483647)},
	}
	set.Status = appsv1.StatefulSetStatus{ObservedGeneration: 4, CurrentRevision: "web-a", UpdateRevision: "web-b"}
	for _, change := range changes {
		change(set)
	}
	return set
}

// setPod is a pod of its present release, behind its gate where the text ends with an exclamation mark.
func setPod(text string) *corev1.Pod {
	index := strings.TrimSuffix(text, "!")
	pod := gatedPod("web-"+index, map[bool]string{true: "gated", false: "running"}[strings.HasSuffix(text, "!")])
	pod.Labels["apps.kubernetes.io/pod-index"], pod.Labels["controller-revision-hash"] = index, "web-b"
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "s-1", Controller: ptr.To(true)}}
	return pod
}

// Pods that a StatefulSet gains while its pods are replaced start by the step, or come back at the version before.
func TestOpenGatesOfAStatefulSet(t *testing.T) {
	partition := func(partition int32) func(*appsv1.StatefulSet) {
		return func(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy.RollingUpdate.Partition = &partition }
	}
	unseen := func(set *appsv1.StatefulSet) { set.Status.ObservedGeneration = 3 }
	superseded := func(set *appsv1.StatefulSet) {
		set.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "3"}
		set.Status.UpdateRevision = "web-c"
	}
	for _, row := range []struct {
		name, pods string
		set        func(*appsv1.StatefulSet)
		decision   decide.Decision
		superseded bool
		// open and returned are the ordinals of the pods that run, and that come back.
		open, returned string
	}{
		{name: "as many as the step lets run", pods: "18 19 20! 21! 22!", decision: decide.Decision{Let: 4}, open: "18 19 20 21"},
		{name: "none beside those that the partition lets come", pods: "18 19 20! 21!", set: partition(37), decision: decide.Decision{Let: 6}, open: "18 19 20"},
		{name: "none beside those that it may still let come", pods: "18 19 20!", set: unseen, decision: decide.Decision{Let: 5}, open: "18 19"},
		{name: "all others wait while the step goes on", pods: "18 19 20!", decision: decide.Decision{Let: 2}, open: "18 19"},
		{name: "and come back as before once it waits", pods: "18 19 20! 21!", decision: decide.Decision{Let: 2, Rest: true}, open: "18 19", returned: "20 21"},
		{name: "or once a pod failed", pods: "18 19 20!", decision: decide.Decision{}, open: "18 19", returned: "20"},
		{name: "not while they would come back as they are", pods: "18 19 20!", set: partition(20), decision: decide.Decision{}, open: "18 19"},
		{name: "not before the controller knows the partition", pods: "18 19 20!", set: unseen, decision: decide.Decision{}, open: "18 19"},
		{name: "all in the end", pods: "18 19 20! 21!", set: partition(0), decision: decide.Decision{Let: decide.LetAll}, open: "18 19 20 21"},
		{name: "all in the end, whatever the controller knows", pods: "18 19 20!", set: unseen, decision: decide.Decision{Let: decide.LetAll}, open: "18 19 20"},
		{name: "those of a release that was superseded come back with the next one", pods: "18 19 20! 21!", set: superseded, decision: decide.Decision{Let: 3}, superseded: true,
			open: "18 19", returned: "20 21"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			set := gatedSet()
			if row.set != nil {
				row.set(set)
			}
			objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}}, set}
			for text := range strings.FieldsSeq(row.pods) {
				objects = append(objects, setPod(text))
			}
			p := newPlane(t, objects, nil)
			seen := &scene{kind: statefulset.Kind{}, owner: set, gated: []decide.PodsOf{{Owner: types.UID("s-1"), Label: "controller-revision-hash", Value: "web-b"}},
				Observation: decide.Observation{Kind: "StatefulSet", Current: !row.superseded, Superseded: row.superseded, OptedIn: true}}
			g.Expect(p.openGates(t.Context(), recordAt(2, version, "Running", "Paced"), seen, row.decision)).To(Succeed())
			var open, returned []string
			for text := range strings.FieldsSeq(row.pods) {
				var pod corev1.Pod
				index := strings.TrimSuffix(text, "!")
				g.Expect(p.api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "web-" + index}, &pod)).To(Succeed())
				switch {
				case pod.Status.Phase == "Failed":
					returned = append(returned, index)
				case decide.Gated(&pod) == decide.GateOpen:
					open = append(open, index)
				}
			}
			g.Expect(fmt.Sprint(open, returned)).To(Equal(fmt.Sprint(strings.Fields(row.open), strings.Fields(row.returned))))
		})
	}
}
