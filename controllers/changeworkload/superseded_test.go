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
	"strconv"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/statefulset"
)

// Pods of a release that is superseded still serve beside those of the next one, until that replaces them.
func TestReconcileOpensGatesOfASupersededRelease(t *testing.T) {
	for _, row := range []struct {
		name string
		// ended is why the pace ended.
		ended  string
		pods   map[string]string
		change func(*appsv1.Deployment)
		want   []string
	}{
		{name: "all if it had left its steps", ended: "WentOn", pods: map[string]string{"a": "running", "b": "gated", "c": "gated"}, want: []string{"a", "b", "c"}},
		{name: "one in place of an evicted one", ended: "Superseded", pods: map[string]string{"a": "running", "b": "failed", "c": "gated"}, want: []string{"a", "c"}},
		{name: "none beyond its step", ended: "Superseded", pods: map[string]string{"a": "running", "b": "running going", "c": "gated"}, want: []string{"a", "b"}},
		{name: "none if it was rolled back", ended: "Superseded", pods: map[string]string{"a": "running", "c": "gated"}, want: []string{"a"},
			change: func(deployment *appsv1.Deployment) {
				deployment.Annotations["altershield.defense.antgroup.com/rollbacks"] = `[{"version":"` + version + `","release":2,"to":"` + older + `","toRelease":3,"reason":"PodsNotRunning","time":"2026-11-21T10:00:00Z"}]`
			}},
		{name: "none by a cache that shows an earlier release", ended: "Superseded", pods: map[string]string{"a": "running", "c": "gated"}, want: []string{"a"},
			change: func(deployment *appsv1.Deployment) {
				deployment.Annotations["altershield.defense.antgroup.com/release"] = "1"
			}},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects := sleepOf(20, func(deployment *appsv1.Deployment) {
				deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = older
				deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
				if row.change != nil {
					row.change(deployment)
				}
			})
			objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
			record := recordAt(2, version, "Running", "Superseded")
			record.Status.Pace = &appv1alpha1.ReleasePace{Lever: "Gates", Step: 1, Target: 2, Progress: "1/2"}
			record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "False", Reason: row.ended})
			for name, state := range row.pods {
				objects = append(objects, gatedPod(name, state))
			}
			p := newPlane(t, append(objects, record, testkit.ControlledKind("deployments.apps", "Enforce")), nil)
			p.reconcile()
			NewWithT(t).Expect(p.running()).To(ConsistOf(row.want))
		})
	}
}

// A user may go back to its template meanwhile, which is no release: then nothing replaces its pods, also once the workload is under change control again.
func TestReconcileOpensGatesOfASupersededReleaseOnceItLeftChangeControl(t *testing.T) {
	for _, row := range []struct {
		name string
		// hidden reports whether the cache doesn't show the namespace, optedOut whether it is opted out, mode is that of the kind meanwhile.
		hidden, optedOut bool
		mode             string
		opens            bool
	}{
		{"as its namespace is opted out", true, true, "Enforce", true},
		{"as its kind is observed", false, false, "Observe", true},
		{"but not if it has only begun to", true, false, "Enforce", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			objects := sleepOf(20, func(deployment *appsv1.Deployment) {
				deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = older
				deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
			})
			if !row.optedOut {
				objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
			}
			record := recordAt(2, version, "Running", "Superseded")
			record.Status.Pace = &appv1alpha1.ReleasePace{Lever: "Gates", Step: 1, Target: 1, Progress: "1/2"}
			record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "False", Reason: "Superseded"})
			controlled := testkit.ControlledKind("deployments.apps", appv1alpha1.ControlledKindMode(row.mode))
			p := newPlane(t, append(objects, record, gatedPod("a", "running"), gatedPod("b", "gated"), controlled), nil)
			cache := p.api
			hidden := row.hidden
			p.Client = interceptor.NewClient(p.writesTo(cache), interceptor.Funcs{
				Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
					if _, ok := object.(*corev1.Namespace); ok && hidden {
						return apierrors.NewNotFound(corev1.Resource("namespaces"), key.Name)
					}
					return kube.Get(ctx, key, object, options...)
				},
			})
			p.reconcile()
			p.reconcile()
			if !row.opens {
				g.Expect(p.running()).To(ConsistOf("a"))
				return
			}
			g.Expect(p.running()).To(ConsistOf("a", "b"))

			hidden = false
			g.Expect(p.api.Get(t.Context(), client.ObjectKeyFromObject(controlled), controlled)).To(Succeed())
			controlled.Spec.Mode = "Enforce"
			g.Expect(p.api.Update(t.Context(), controlled)).To(Succeed())
			g.Expect(p.api.Create(t.Context(), gatedPod("c", "gated"))).To(Succeed())
			p.reconcile()
			g.Expect(p.running()).To(ConsistOf("a", "b", "c"), "it is under change control again")
		})
	}
}

// A version that was verified in steps is released again, without steps, and fails. The template still has the gate label, so that the pods
// which come in place of those that are lost wait at a gate during the steps of the repair.
func TestReconcileOpensGatesOfASupersededReleaseWithoutSteps(t *testing.T) {
	for _, why := range []string{"VersionVerified", "BreakGlass"} {
		t.Run(why, func(t *testing.T) {
			objects := sleepOf(20, func(deployment *appsv1.Deployment) {
				deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = older
				deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
				deployment.Annotations["altershield.defense.antgroup.com/paced"] = `{"release":3,"policy":"default/web","lever":"Gates"}`
			})
			objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
			record := recordAt(2, version, "Suspend", "PodsFailed")
			record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "False", Reason: why})
			objects = append(objects, record, failedBatch(1), gatedPod("a", "running"), gatedPod("b", "gated"))
			p := newPlane(t, append(objects, testkit.ControlledKind("deployments.apps", "Enforce")), nil)
			p.reconcile()
			NewWithT(t).Expect(p.running()).To(ConsistOf("a", "b"))
		})
	}
}

// The pod object of a node that doesn't answer stays until somebody removes the node: nothing else would replace it.
func TestReconcileOpensAGateInPlaceOfAPodThatIsLostWithItsNode(t *testing.T) {
	g := NewWithT(t)
	objects := sleepOf(20, func(deployment *appsv1.Deployment) {
		deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = older
		deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
	})
	objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
	record := recordAt(2, version, "Running", "Superseded")
	record.Status.Pace = &appv1alpha1.ReleasePace{Lever: "Gates", Step: 1, Target: 1, Progress: "1/2"}
	record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "False", Reason: "Superseded"})
	p := newPlane(t, append(objects, record, gatedPod("a", "running lost"), gatedPod("b", "gated"), testkit.ControlledKind("deployments.apps", "Enforce")), nil)
	g.Expect(p.reconcile().RequeueAfter).To(Equal(30*time.Second), "its grace period ended half a minute ago")
	g.Expect(p.running()).To(ConsistOf("a"))
	p.Clock = clocktesting.NewFakePassiveClock(p.Clock.Now().Add(30 * time.Second))
	p.reconcile()
	g.Expect(p.running()).To(ConsistOf("a", "b"))
}

// changedSleep is the Deployment sleep with two ReplicaSets of one version. The newest has an image, and a pod at a gate.
func changedSleep(image string) []client.Object {
	ofVersion := metav1.LabelSelector{MatchLabels: map[string]string{"admission-webhook-altershield.antgroup.com/version": version}}
	objects := sleepOf(20, func(deployment *appsv1.Deployment) { deployment.Spec.Selector = &ofVersion })
	objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
	before, _ := objects[2].(*appsv1.ReplicaSet)
	before.Spec.Template.Spec.Containers = []corev1.Container{{Name: "sleep", Image: "one"}}
	changed := before.DeepCopy()
	changed.Name, changed.UID = "sleep-2", "rs-2"
	changed.Spec.Template.Labels = map[string]string{"altershield.defense.antgroup.com/gate": "start"}
	changed.Spec.Template.Spec.Containers[0].Image = image
	for number, replicaSet := range []*appsv1.ReplicaSet{before, changed} {
		replicaSet.Annotations = map[string]string{"deployment.kubernetes.io/revision": strconv.Itoa(number + 1)}
	}
	return append(objects, changed, gatedPod("a", "gated of another"), testkit.ControlledKind("deployments.apps", "Enforce"))
}

// gate returns the state of the gate of a pod.
func (p *plane) gate(name string) decide.GateState {
	p.t.Helper()
	var pod corev1.Pod
	NewWithT(p.t).Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: name}, &pod)).To(Succeed())
	return decide.Gated(&pod)
}

// Once the steps have ended, nothing else would open the gates of pods whose template no webhook saw.
func TestReconcileOpensGatesOfATemplateThatWasChangedWithoutTheWebhooks(t *testing.T) {
	record := recordAt(2, version, "Running", "Verifying")
	record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "False", Reason: "PolicyRemoved"})
	p := newPlane(t, append(changedSleep("two"), record), nil)
	p.reconcile()
	NewWithT(t).Expect(p.gate("a")).To(Equal(decide.GateOpen))
}

// A version that was released before without steps has a revision without gates.
func TestReconcileTellsATemplateThatOnlyGotGatesFromOneThatWasChangedWithoutTheWebhooks(t *testing.T) {
	for image, reason := range map[string]string{"one": "Running Verifying", "two": "Running TemplateUnseen"} {
		p := newPlane(t, append(changedSleep(image), recordAt(2, version, "Running", "Verifying")), nil)
		p.reconcile()
		NewWithT(t).Expect(p.verified()).To(Equal(reason), image)
	}
}

// Pods that run the version without gates, from before its steps, take no place of an evicted one.
func TestReconcileOpensGatesOfASupersededReleaseBesidePodsThatRunTheVersionWithoutGates(t *testing.T) {
	objects := changedSleep("one")
	objects[1].SetLabels(map[string]string{"admission-webhook-altershield.antgroup.com/version": older})
	objects[1].SetAnnotations(map[string]string{"altershield.defense.antgroup.com/release": "3"})
	record := recordAt(2, version, "Running", "Superseded")
	record.Status.Pace = &appv1alpha1.ReleasePace{Lever: "Gates", Step: 1, Target: 1, Progress: "1/2"}
	record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "False", Reason: "Superseded"})
	p := newPlane(t, append(objects, record, gatedPod("b", "running"), gatedPod("c", "running")), nil)
	p.reconcile()
	NewWithT(t).Expect(p.gate("a")).To(Equal(decide.GateOpen))
}

// Pods that run the version without gates, from before its steps, are replaced as those of any other version are.
func TestReconcileOpensGatesBesidePodsThatRunTheVersionWithoutGates(t *testing.T) {
	policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}}
	policy.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
	objects := changedSleep("one")
	objects[1].SetAnnotations(map[string]string{
		"altershield.defense.antgroup.com/release": "2",
		"altershield.defense.antgroup.com/paced":   `{"release":2,"policy":"default/web","lever":"Gates"}`,
	})
	record := recordAt(2, version, "Running", "Paced")
	record.Status.Pace = &appv1alpha1.ReleasePace{Lever: "Gates", Step: 1, Target: 1, Progress: "1/2"}
	record.Status.Conditions = append(record.Status.Conditions, metav1.Condition{Type: "Paced", Status: "True", Reason: "StepRunning"})
	p := newPlane(t, append(objects, record, policy, gatedPod("b", "running"), gatedPod("c", "running")), nil)
	p.reconcile()
	NewWithT(t).Expect(p.gate("a")).To(Equal(decide.GateOpen))
}

func TestOfRevisionFindsTheReleaseOfAPodWithAGate(t *testing.T) {
	for _, row := range []struct {
		name   string
		change func(*corev1.Pod)
		want   int
	}{
		{"that is superseded", func(*corev1.Pod) {}, 1},
		{"also to the present one where it waits", func(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: podGate}} }, 2},
		{"but not of other pods", func(pod *corev1.Pod) { delete(pod.Labels, "altershield.defense.antgroup.com/gate") }, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			objects := sleepOf(20, func(deployment *appsv1.Deployment) {
				deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = older
				deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
			})
			pod := gatedPod("a", "running")
			row.change(pod)
			NewWithT(t).Expect(newPlane(t, objects, nil).ofRevision(t.Context(), pod)).To(HaveLen(row.want))
		})
	}
}

func TestSceneReadsWhetherTheTemplateOfARollbackIsStamped(t *testing.T) {
	for name, row := range map[string]struct {
		version   string
		unstamped bool
	}{
		"not if it is from before change control": {older, true},
		"it is if another webhook changed it":     {version, false},
	} {
		t.Run(name, func(t *testing.T) {
			set := &appsv1.StatefulSet{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
				"altershield.defense.antgroup.com/rollbacks": `[{"version":"` + version + `","release":2,"to":"` + older + `","toRelease":3,"unstamped":true,"reason":"PodsNotRunning","time":"2026-11-21T10:00:00Z"}]`,
			}}}
			seen := &scene{kind: statefulset.Kind{}, owner: set, Observation: decide.Observation{Current: true}}
			seen.read(decide.Release{Version: row.version, Number: 3})
			NewWithT(t).Expect(seen.Unstamped).To(Equal(row.unstamped))
		})
	}
}
