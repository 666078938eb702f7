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
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
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

// numbered returns the ordinals of the pods whose gate is open, and of those that were returned.
func (p *plane) numbered(pods string) (open, returned []string) {
	p.t.Helper()
	for text := range strings.FieldsSeq(pods) {
		var pod corev1.Pod
		index := strings.TrimSuffix(text, "!")
		NewWithT(p.t).Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: "web-" + index}, &pod)).To(Succeed())
		switch {
		case pod.Status.Phase == "Failed":
			returned = append(returned, index)
		case decide.Gated(&pod) == decide.GateOpen:
			open = append(open, index)
		}
	}
	return open, returned
}

func partitionOf(partition int32) func(*appsv1.StatefulSet) {
	return func(set *appsv1.StatefulSet) { set.Spec.UpdateStrategy.RollingUpdate.Partition = &partition }
}

// Pods that a StatefulSet gains while its pods are replaced start by the step, or come back at the version before.
func TestOpenGatesOfAStatefulSet(t *testing.T) {
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
		{name: "none beside those that the partition lets come", pods: "18 19 20! 21!", set: partitionOf(37), decision: decide.Decision{Let: 6}, open: "18 19 20"},
		{name: "none beside those that it may still let come", pods: "18 19 20!", set: unseen, decision: decide.Decision{Let: 5}, open: "18 19"},
		{name: "all others wait while the step goes on", pods: "18 19 20!", decision: decide.Decision{Let: 2}, open: "18 19"},
		{name: "and come back as before once it waits", pods: "18 19 20! 21!", decision: decide.Decision{Let: 2, Rest: true}, open: "18 19", returned: "20 21"},
		{name: "or once a pod failed", pods: "18 19 20!", decision: decide.Decision{}, open: "18 19", returned: "20"},
		{name: "not while they would come back as they are", pods: "18 19 20!", set: partitionOf(20), decision: decide.Decision{}, open: "18 19"},
		{name: "not before the controller knows the partition", pods: "18 19 20!", set: unseen, decision: decide.Decision{}, open: "18 19"},
		{name: "all in the end", pods: "18 19 20! 21!", set: partitionOf(0), decision: decide.Decision{Let: decide.LetAll}, open: "18 19 20 21"},
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
			open, returned := p.numbered(row.pods)
			g.Expect(fmt.Sprint(open, returned)).To(Equal(fmt.Sprint(strings.Fields(row.open), strings.Fields(row.returned))))
		})
	}
}

// With no pods, a StatefulSet has completed its rollout: those that come later are all of the release.
func TestReadTakesAParkForOverOnceTheRolloutIsComplete(t *testing.T) {
	for current, parked := range map[string]bool{"web-a": true, "web-b": false} {
		set := gatedSet(func(set *appsv1.StatefulSet) {
			set.Annotations["altershield.defense.antgroup.com/parked"] = `{"release":2,"reason":"Requested","time":"2026-11-21T09:00:00Z"}`
			set.Status.CurrentRevision = current
		})
		read := &scene{owner: set, kind: statefulset.Kind{}}
		read.read(decide.Release{Version: "b", Number: 2})
		NewWithT(t).Expect(read.Parked != nil).To(Equal(parked), current)
	}
}

// forgetful is a kind that shows the present release only, like a declared one, and runs its pods in StatefulSets.
type forgetful struct{ deployment.Kind }

func (forgetful) Revisions(_ context.Context, _ client.Reader, object client.Object) ([]decide.Revision, error) {
	release := decide.ReleaseOf(object)
	return []decide.Revision{{Version: release.Version, Number: release.Number, Pods: decide.PodsOf{
		Owner: object.GetUID(), Through: []types.UID{"s-1"}, Label: "admission-webhook-altershield.antgroup.com/version", Value: release.Version,
	}}}, nil
}

// A StatefulSet with OrderedReady replaces no pod while another one waits at a gate that nothing opens any more.
func TestReconcileReturnsPodsOfASupersededReleaseToTheirStatefulSet(t *testing.T) {
	const pods = "18 19 20! 21!"
	paced := recordAt(2, version, "Running", "Superseded")
	paced.Status.Pace = &appv1alpha1.ReleasePace{Lever: "Gates", Step: 1, Target: 2, Progress: "1/2"}
	paced.Status.Conditions = append(paced.Status.Conditions, metav1.Condition{Type: "Paced", Status: "False", Reason: "Superseded"})
	for _, row := range []struct {
		name string
		set  func(*appsv1.StatefulSet)
		// returned are the ordinals of the pods that come back.
		returned string
	}{
		{name: "which replaces them", set: func(set *appsv1.StatefulSet) { set.Status.UpdateRevision = "web-c" }, returned: "20 21"},
		{name: "which replaces those from its partition on", set: func(set *appsv1.StatefulSet) {
			set.Status.CurrentRevision, set.Status.UpdateRevision = "web-b", "web-c"
			set.Spec.UpdateStrategy.RollingUpdate.Partition = ptr.To[int32](21)
		}, returned: "21"},
		{name: "but not before it has the next release", set: func(*appsv1.StatefulSet) {}},
		{name: "but not before its controller has seen that", set: func(set *appsv1.StatefulSet) {
			set.Status.UpdateRevision, set.Status.ObservedGeneration = "web-c", 3
		}},
		{name: "but not to another one of the name", set: func(set *appsv1.StatefulSet) { set.Status.UpdateRevision, set.UID = "web-c", "s-2" }},
		{name: "but not to one that is gone"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := sleepOf(40, func(deployment *appsv1.Deployment) {
				deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = older
				deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
			})
			objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
			objects = append(objects, testkit.ControlledKind("deployments.apps", "Enforce"))
			for text := range strings.FieldsSeq(pods) {
				objects = append(objects, setPod(text))
			}
			if row.set != nil {
				objects = append(objects, gatedSet(func(set *appsv1.StatefulSet) { set.Annotations = nil }, partitionOf(0), row.set))
			}
			for by, records := range map[string][]*appv1alpha1.ChangeWorkload{
				"its record":                         {paced},
				"the next, as it was never recorded": {recordAt(3, older, "Running", "")},
				"the next, as it was recorded late":  {recordAt(3, older, "Running", ""), recordAt(2, version, "Running", "Superseded")},
			} {
				all := slices.Clone(objects)
				for _, record := range records {
					all = append(all, record)
				}
				p := newPlane(t, all, nil)
				p.Kinds = workload.Registry{forgetful{}, statefulset.Kind{}}
				result, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(records[0])})
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(result.RequeueAfter).To(Equal(5*time.Second), "by %s: the others are looked at again", by)
				open, returned := p.numbered(pods)
				g.Expect(fmt.Sprint(open, returned)).To(Equal(fmt.Sprint([]string{"18", "19"}, strings.Fields(row.returned))), "by %s", by)
			}
		})
	}
}

// A version that came back without the gates that it had before has a revision of its own, and its record is that of the present release.
func TestReconcileReturnsPodsThatWaitAtGatesOfTheVersionFromBeforeTheRelease(t *testing.T) {
	for _, row := range []struct {
		name, update string
		// returned are the ordinals of the pods that come back.
		returned []string
	}{
		{name: "once their StatefulSet has the release", update: "web-c", returned: []string{"20"}},
		{name: "but not before", update: "web-b"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			set := gatedSet(partitionOf(0), func(set *appsv1.StatefulSet) {
				set.Annotations = map[string]string{"altershield.defense.antgroup.com/release": "4"}
				set.Status.UpdateRevision = row.update
			})
			record := recordAt(4, version, "Running", "Verifying")
			record.Name = "statefulsets." + record.Name
			record.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "web", UID: "s-1", Controller: ptr.To(true)}}
			objects := []client.Object{
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: map[string]string{"admission-webhook-altershield": "enabled"}}},
				testkit.ControlledKind("statefulsets.apps", "Enforce"), set, record, setPod("18"), setPod("20!"),
			}
			for number, name := range []string{"web-b", "web-c"} {
				objects = append(objects, &appsv1.ControllerRevision{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, OwnerReferences: record.OwnerReferences,
						Labels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version}},
					Revision: int64(number + 1),
					Data:     runtime.RawExtension{Raw: []byte(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"one"}]}}}}`)},
				})
			}
			p := newPlane(t, objects, nil)
			p.Kinds = workload.Registry{statefulset.Kind{}}
			_, err := p.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(record)})
			g.Expect(err).NotTo(HaveOccurred())
			open, returned := p.numbered("18 20!")
			g.Expect(open).To(Equal([]string{"18"}))
			g.Expect(returned).To(Equal(row.returned))
		})
	}
}
