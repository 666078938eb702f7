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
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

const podGate = "altershield.defense.antgroup.com/verified"

// gatedPod is a pod of the present release of the Deployment sleep: "gated" and "unready" ones wait, those that are "going" are being
// deleted.
func gatedPod(name, state string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: name, UID: types.UID("uid-" + name),
		Labels:          map[string]string{"admission-webhook-altershield.antgroup.com/version": version, "altershield.defense.antgroup.com/gate": "start"},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "sleep-1", UID: "rs-1", Controller: ptr.To(true)}},
	}}
	switch {
	case strings.HasPrefix(state, "gated"):
		pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}, {Name: podGate}}
	case strings.HasPrefix(state, "unready"):
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: podGate}}
		pod.Status.Phase = "Running"
	case strings.HasPrefix(state, "failed"):
		pod.Status.Phase = "Failed"
	}
	if strings.HasSuffix(state, " going") {
		pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: metav1.Now().Time}, []string{"example.com/drain"}
	}
	if strings.HasSuffix(state, " lost") {
		pod.DeletionTimestamp, pod.Finalizers = &metav1.Time{Time: time.Date(2026, 11, 21, 9, 59, 30, 0, time.UTC)}, []string{"example.com/drain"}
	}
	if strings.HasSuffix(state, " of another") {
		pod.OwnerReferences[0].UID = "rs-2"
	}
	return pod
}

// pacedSleep is the Deployment sleep whose second release is paced, with its surroundings.
func pacedSleep(changes ...func(*appsv1.Deployment)) []client.Object {
	mark := func(deployment *appsv1.Deployment) {
		deployment.Annotations["altershield.defense.antgroup.com/paced"] = `{"release":2,"policy":"default/web","lever":"Gates"}`
	}
	return sleepOf(20, append([]func(*appsv1.Deployment){mark}, changes...)...)
}

// sceneOf is what the cache shows of it.
func sceneOf(objects []client.Object) *scene {
	return &scene{
		kind: deployment.Kind{}, owner: objects[1], gated: []decide.PodsOf{{Owner: "rs-1"}},
		Observation: decide.Observation{Kind: "Deployment", Current: true, OptedIn: true},
	}
}

// running counts the pods whose scheduling gate is open and that have not ended.
func (p *plane) running() (names []string) {
	p.t.Helper()
	var pods corev1.PodList
	NewWithT(p.t).Expect(p.api.List(p.t.Context(), &pods)).To(Succeed())
	for i := range pods.Items {
		if pod := &pods.Items[i]; decide.Gated(pod) == decide.GateOpen && pod.Status.Phase != "Failed" && pod.OwnerReferences[0].UID == "rs-1" {
			names = append(names, pod.Name)
		}
	}
	return names
}

func TestOpenGates(t *testing.T) {
	annotated := func(key, value string) func(*appsv1.Deployment) {
		return func(deployment *appsv1.Deployment) {
			deployment.Annotations["altershield.defense.antgroup.com/"+key] = value
		}
	}
	unmarked := func(deployment *appsv1.Deployment) {
		delete(deployment.Annotations, "altershield.defense.antgroup.com/paced")
	}
	for _, row := range []struct {
		name string
		// pods are their names and states.
		pods map[string]string
		let  int32
		// live changes the Deployment on the API server, cached in the cache.
		live, cached func(*appsv1.Deployment)
		change       func(*scene)
		want         []string
	}{
		{name: "the first pod", pods: map[string]string{"a": "gated", "b": "gated"}, let: 1, want: []string{"a"}},
		{name: "none at first", pods: map[string]string{"a": "gated", "b": "gated"}, let: 0},
		{name: "as many as may run beside those that do", pods: map[string]string{"a": "running", "b": "gated", "c": "gated", "d": "gated"}, let: 3, want: []string{"a", "b", "c"}},
		{name: "none beside one that is being deleted", pods: map[string]string{"a": "running going", "b": "gated"}, let: 1, want: []string{"a"}},
		{name: "none beside one whose grace period ended half a minute ago", pods: map[string]string{"a": "running lost", "b": "gated"}, let: 1, want: []string{"a"}},
		{name: "one in place of an evicted one", pods: map[string]string{"a": "failed", "b": "gated"}, let: 1, want: []string{"b"}},
		{name: "none that is being deleted itself", pods: map[string]string{"a": "gated going", "b": "gated"}, let: 1, want: []string{"b"}},
		{name: "all in the end", pods: map[string]string{"a": "running", "b": "gated", "c": "unready"}, let: decide.LetAll, want: []string{"a", "b", "c"}},
		{name: "none of another workload with the same version", pods: map[string]string{"a": "gated of another", "b": "gated"}, let: 2, want: []string{"b"}},
		{name: "traffic for those that passed", pods: map[string]string{"a": "unready", "b": "unready", "passed": "unready"}, let: 2, want: []string{"passed"}},
		{name: "none of a release that was superseded meanwhile", pods: map[string]string{"a": "gated"}, let: 1, live: annotated("release", "3")},
		{name: "none of one that is held meanwhile", pods: map[string]string{"a": "gated"}, let: 1, live: annotated("held", "2")},
		{name: "one in place of another in a freeze", pods: map[string]string{"a": "running", "b": "gated"}, let: 2,
			cached: annotated("held", "2"), live: annotated("held", "2"), want: []string{"a", "b"}},
		{name: "but for a hold of another release", pods: map[string]string{"a": "gated"}, let: 1, live: annotated("held", "1"), want: []string{"a"}},
		{name: "none where the cache doesn't show that the pace has ended", pods: map[string]string{"a": "gated"}, let: 1, live: unmarked},
		{name: "none where the cache has no closed gate", pods: map[string]string{"a": "gated"}, let: 1, change: func(scene *scene) { scene.gated = nil }},
		{name: "none of a release that isn't the present one", pods: map[string]string{"a": "gated"}, let: 1, change: func(scene *scene) { scene.Current = false }},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := pacedSleep()
			objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
			if row.cached != nil {
				row.cached(objects[1].(*appsv1.Deployment))
			}
			seen := sceneOf(objects)
			if row.change != nil {
				row.change(seen)
			}
			live := pacedSleep()
			live[0].SetLabels(objects[0].GetLabels())
			if row.live != nil {
				row.live(live[1].(*appsv1.Deployment))
			}
			for name, state := range row.pods {
				live = append(live, gatedPod(name, state))
			}
			p := newPlane(t, live, objects)
			p.Clock = clocktesting.NewFakePassiveClock(p.Agreed().Add(10 * time.Second)) // it is ahead of the API server's
			decision := decide.Decision{Let: row.let, Passed: sets.New[types.UID]("uid-passed")}
			g.Expect(p.openGates(t.Context(), recordAt(2, version, "Running", "Paced"), seen, decision)).To(Succeed())
			g.Expect(p.running()).To(ConsistOf(row.want))
			for _, name := range row.want {
				var pod corev1.Pod
				g.Expect(p.api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &pod)).To(Succeed())
				if row.pods[name] == "gated" {
					g.Expect(pod.Spec.SchedulingGates).To(Equal([]corev1.PodSchedulingGate{{Name: "example.com/quota"}}), "others' gates stay")
					g.Expect(pod.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/gate-opened", "1795255200"))
				}
			}
		})
	}
}

// Whatever happens between two looks, no more pods run than a step lets.
func TestOpenGatesNeverLetsMorePodsRunThanTheStep(t *testing.T) {
	for seed := range uint64(10) {
		g, random := NewWithT(t), rand.New(rand.NewPCG(seed, 1))
		objects := pacedSleep()
		live := objects
		for i := range 8 {
			live = append(live, gatedPod(fmt.Sprintf("pod-%d", i), "gated"))
		}
		p := newPlane(t, live, objects)
		crash := errors.New("the operator was killed")
		writes := p.Client
		p.Client = interceptor.NewClient(p.writesTo(p.api), interceptor.Funcs{
			Patch: func(ctx context.Context, _ client.WithWatch, object client.Object, patch client.Patch, options ...client.PatchOption) error {
				switch random.IntN(4) {
				case 0:
					return crash // before the write
				case 1:
					return errors.Join(writes.Patch(ctx, object, patch, options...), crash) // after it
				}
				return writes.Patch(ctx, object, patch, options...)
			},
		})
		let := int32(1)
		for step := range 30 {
			err := p.openGates(t.Context(), recordAt(2, version, "Running", "Paced"), sceneOf(objects), decide.Decision{Let: let})
			g.Expect(err == nil || errors.Is(err, crash)).To(BeTrue(), "%v", err)
			running := p.running()
			g.Expect(len(running)).To(BeNumerically("<=", let), "seed %d, step %d", seed, step)
			switch what := random.IntN(3); {
			case what == 0 && let < 8:
				let++
			case what == 1 && len(running) > 0: // a drain: the pod goes slowly, and another one comes
				var pod corev1.Pod
				g.Expect(p.api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: running[0]}, &pod)).To(Succeed())
				if pod.DeletionTimestamp == nil {
					pod.Finalizers = []string{"example.com/drain"}
					g.Expect(p.api.Update(t.Context(), &pod)).To(Succeed())
					g.Expect(p.api.Delete(t.Context(), &pod)).To(Succeed())
					g.Expect(p.api.Create(t.Context(), gatedPod(fmt.Sprintf("new-%d", step), "gated"))).To(Succeed())
				} else {
					pod.Finalizers = nil
					g.Expect(p.api.Update(t.Context(), &pod)).To(Succeed())
				}
			}
		}
	}
}

func TestSteerOfAPacedRelease(t *testing.T) {
	for _, row := range []struct {
		name       string
		paused     bool
		mark, held string
		decision   decide.Decision
		wantPaused bool
		wantMark   string
		want       map[string]string
	}{
		{name: "a waiting step pauses the rollout", mark: `{"release":2,"policy":"default/web","lever":"Gates"}`, decision: decide.Decision{Rest: true, Let: 1},
			wantPaused: true, wantMark: `{"release":2,"policy":"default/web","lever":"Gates","rests":true}`},
		{name: "the next one resumes it", paused: true, mark: `{"release":2,"policy":"default/web","lever":"Gates","rests":true}`,
			decision: decide.Decision{Resume: true, Let: 5}, wantMark: `{"release":2,"policy":"default/web","lever":"Gates"}`},
		{name: "a failure holds it", mark: `{"release":2,"policy":"default/web","lever":"Gates"}`, decision: decide.Decision{Pause: true},
			wantPaused: true, wantMark: `{"release":2,"policy":"default/web","lever":"Gates"}`, want: map[string]string{"held": "2"}},
		{name: "a hold that ends while a step waits goes on as its pause", paused: true, held: "2", mark: `{"release":2,"policy":"default/web","lever":"Gates"}`,
			decision: decide.Decision{Rest: true, Unhold: true}, wantPaused: true, wantMark: `{"release":2,"policy":"default/web","lever":"Gates","rests":true}`,
			want: map[string]string{"held-from": "{}"}},
		{name: "the end removes the mark", paused: true, mark: `{"release":2,"policy":"default/web","lever":"Gates","rests":true}`,
			decision: decide.Decision{Unpace: true, Let: decide.LetAll}},
		{name: "a failed release is to be rolled back", mark: `{"release":2,"policy":"default/web","lever":"Gates"}`, decision: decide.Decision{Ask: "Undo"},
			wantMark: `{"release":2,"policy":"default/web","lever":"Gates"}`, want: map[string]string{"rollback": "true", "rollback-by": "ReleasePolicy default/web"}},
		{name: "or parked", mark: `{"release":2,"policy":"default/web","lever":"Gates"}`, decision: decide.Decision{Ask: "Park", Pause: true}, wantPaused: true,
			wantMark: `{"release":2,"policy":"default/web","lever":"Gates"}`, want: map[string]string{"rollback": "park", "rollback-by": "ReleasePolicy default/web", "held": "2"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := sleepOf(20, func(deployment *appsv1.Deployment) {
				deployment.Spec.Paused = row.paused
				deployment.Annotations["altershield.defense.antgroup.com/paced"] = row.mark
				if row.held != "" {
					deployment.Annotations["altershield.defense.antgroup.com/held"] = row.held
					deployment.Annotations["altershield.defense.antgroup.com/held-from"] = "{}"
				}
			})
			p := newPlane(t, objects, nil)
			seen := sceneOf([]client.Object{nil, p.deployment()})
			seen.Pace = decide.Pace{Mark: appv1alpha1.PacedOf(p.deployment().Annotations, 2),
				Policy: &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}}
			movedOn, err := p.steer(t.Context(), recordAt(2, version, "Running", "Paced"), seen, row.decision)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(movedOn).To(BeFalse())
			after := p.deployment()
			g.Expect(after.Spec.Paused).To(Equal(row.wantPaused))
			g.Expect(after.Annotations["altershield.defense.antgroup.com/paced"]).To(Equal(row.wantMark))
			for _, key := range []string{"held", "held-from", "rollback", "rollback-by"} {
				g.Expect(after.Annotations["altershield.defense.antgroup.com/"+key]).To(Equal(row.want[key]), key)
			}
		})
	}
}

// The partition lets pods of a step come, and has its maximum again once they are there.
func TestScenePaceByAPartition(t *testing.T) {
	const stopped = math.MaxInt32
	index := func(index string) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"apps.kubernetes.io/pod-index": index}}}
	}
	for _, row := range []struct {
		name                string
		replicas, partition int32
		pods                []corev1.Pod
		decision            decide.Decision
		want                int32
	}{
		{name: "the first pod", replicas: 20, partition: stopped, decision: decide.Decision{Let: 1}, want: 19},
		{name: "none further while the step waits", replicas: 20, partition: 19, pods: []corev1.Pod{index("19")}, decision: decide.Decision{Let: 1, Rest: true}, want: stopped},
		{name: "those of a larger set beside the earlier ones", replicas: 40, partition: stopped, pods: []corev1.Pod{index("19")}, decision: decide.Decision{Let: 10}, want: 31},
		{name: "all", replicas: 40, partition: stopped, pods: []corev1.Pod{index("19")}, decision: decide.Decision{Let: 40}, want: 0},
		{name: "what there is", replicas: 20, partition: 19, pods: []corev1.Pod{index("19")}, decision: decide.Decision{Let: 1}, want: 19},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			set := &appsv1.StatefulSet{Spec: appsv1.StatefulSetSpec{Replicas: &row.replicas}}
			set.Spec.UpdateStrategy.Type = "RollingUpdate"
			set.Spec.UpdateStrategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &row.partition}
			seen := &scene{kind: statefulset.Kind{}, owner: set, pods: row.pods, Observation: decide.Observation{Current: true}}
			seen.Pace.Mark = &appv1alpha1.Paced{Release: 2, Lever: appv1alpha1.LeverPartition}
			var change workloadpatch.Change
			seen.pace(&change, &row.decision)
			partition := row.partition
			if change.Let != nil {
				partition = statefulset.Kind{}.Let(set, *change.Let, "")[0].Value.(int32)
			}
			g.Expect(partition).To(Equal(row.want))
		})
	}
}

// From the release to the end of its steps, on what the API server has.
func TestReconcileRollsOutAReleaseInSteps(t *testing.T) {
	g := NewWithT(t)
	policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	policy.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
	objects := pacedSleep(func(deployment *appsv1.Deployment) {
		deployment.Spec.Replicas = ptr.To[int32](3)
		deployment.Spec.Strategy.Type = "RollingUpdate"
		deployment.Status.Replicas, deployment.Status.UpdatedReplicas = 4, 1
	})
	objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
	record := recordAt(2, version, "", "")
	record.Status = appv1alpha1.ChangeWorkloadStatus{}
	for _, name := range []string{"a", "b", "c"} {
		objects = append(objects, gatedPod(name, "gated"))
	}
	p := newPlane(t, append(objects, policy, record, testkit.ControlledKind("deployments.apps", "Enforce")), nil)
	paced := func() string {
		var found appv1alpha1.ChangeWorkload
		g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
		condition := meta.FindStatusCondition(found.Status.Conditions, "Paced")
		if condition == nil || found.Status.Pace == nil {
			return "none"
		}
		return fmt.Sprintf("%s %s %s %d", condition.Status, condition.Reason, found.Status.Pace.Progress, found.Status.Pace.Target)
	}
	p.reconcile()
	g.Expect(paced()).To(Equal("True StepRunning 1/2 1"))
	g.Expect(p.running()).To(BeEmpty(), "the stored status shows the step first")
	for range 3 {
		p.reconcile()
		g.Expect(p.running()).To(ConsistOf("a"))
	}
	g.Expect(p.recorded.Events).To(Receive(HavePrefix("Normal StepBegun ")))

	g.Expect(p.api.Delete(t.Context(), policy)).To(Succeed())
	p.reconcile()
	g.Expect(paced()).To(Equal("True OnHold 1/2 1"))
	policy.ResourceVersion = ""
	g.Expect(p.api.Create(t.Context(), policy)).To(Succeed())
	p.reconcile()
	g.Expect(paced()).To(Equal("True StepRunning 1/2 1"), "it was replaced")
	g.Expect(p.api.Delete(t.Context(), policy)).To(Succeed())
	p.reconcile()
	p.Clock = clocktesting.NewFakePassiveClock(p.Clock.Now().Add(30 * time.Second))
	p.reconcile()
	g.Expect(paced()).To(Equal("False PolicyRemoved 1/2 1"))
	g.Expect(p.running()).To(ConsistOf("a"))
	for range 2 {
		p.reconcile()
	}
	g.Expect(p.deployment().Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
	g.Expect(p.running()).To(ConsistOf("a", "b", "c"))
	g.Expect(p.recorded.Events).To(Receive(HavePrefix("Warning StepsEnded ")))
}

// A release that was paced just after its namespace was opted in stays so: the end of a pace is for ever.
func TestReconcileEndsNoPaceByACacheThatDoesNotShowTheOptIn(t *testing.T) {
	g := NewWithT(t)
	policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	policy.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
	objects := pacedSleep(func(deployment *appsv1.Deployment) { deployment.Spec.Strategy.Type = "RollingUpdate" })
	record := recordAt(2, version, "", "")
	record.Status = appv1alpha1.ChangeWorkloadStatus{}
	objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
	live := append(objects, policy, record, testkit.ControlledKind("deployments.apps", "Enforce"))
	p := newPlane(t, live, live[1:])
	p.reconcile()
	var found appv1alpha1.ChangeWorkload
	g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(record), &found)).To(Succeed())
	g.Expect(meta.FindStatusCondition(found.Status.Conditions, "Paced")).To(BeNil())
	g.Expect(p.deployment().Annotations).To(HaveKey("altershield.defense.antgroup.com/paced"))
}
