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
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/traas-stack/altershield-operator/controllers/delivery"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

// unscheduled waits for a node.
func unscheduled(pod *corev1.Pod) {
	pod.Spec.NodeName, pod.Status.ContainerStatuses = "", nil
	pod.Status.Conditions = []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/4 nodes are available"}}
}

func called(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Name, pod.UID = name, types.UID("uid of "+name) }
}

func runs(pod *corev1.Pod) { pod.Status = corev1.PodStatus{Phase: corev1.PodRunning} }

func ofReplicaSet(uid string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.OwnerReferences[0].UID = types.UID(uid) }
}

// announced is an Event about the pod p-1 that happened so long ago.
func announced(reason string, ago time.Duration) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: "default", Name: "sleep-2-1." + reason},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "sleep-2-1", UID: "p-1"},
		Reason:         reason, LastTimestamp: metav1.NewTime(now.Add(-ago)),
	}
}

// inSeries is an Event as the events.k8s.io API has it.
func inSeries(event *corev1.Event, last time.Duration) *corev1.Event {
	event.EventTime, event.LastTimestamp = metav1.NewMicroTime(event.LastTimestamp.Time), metav1.Time{}
	event.Series = &corev1.EventSeries{LastObservedTime: metav1.NewMicroTime(now.Add(-last))}
	return event
}

func TestRollBackJudgesThePodsOnceMore(t *testing.T) {
	ready := node("True", time.Hour)
	for _, row := range []struct {
		name    string
		objects []client.Object
		message string        // of a rollback; empty where there is none
		again   time.Duration // when to look again
	}{
		{"and goes back when one doesn't run", []client.Object{stuckPod(), ready}, "pod sleep-2-1: container sleep: ErrImagePull", 0},
		{"and stays when it runs by now", []client.Object{stuckPod(runs), ready}, "", 0},
		{"and stays when it is gone by now", nil, "", 0},
		{"and stays when its successor has time left", []client.Object{stuckPod(func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(now.Add(-90 * time.Second)) }), ready}, "", 30 * time.Second},
		{"and stays when it is one of another ReplicaSet", []client.Object{stuckPod(ofReplicaSet("rs-1")), ready}, "", 0},
		{"and stays while its node isn't ready", []client.Object{stuckPod(), node("Unknown", time.Hour)}, "", time.Minute},
		{"and stays while its node is gone", []client.Object{stuckPod()}, "", time.Minute},
		{"and stays while its node has just become ready", []client.Object{stuckPod(), node("True", 119*time.Second)}, "", time.Second},
		{"and goes back when its node has been ready for long enough", []client.Object{stuckPod(), node("True", 2*time.Minute)}, "pod sleep-2-1: container sleep: ErrImagePull", 0},
		{"and goes back when another has no such excuse", []client.Object{stuckPod(), stuckPod(unscheduled, called("sleep-2-2")), node("False", time.Hour)},
			"pod sleep-2-2: Unschedulable: 0/4 nodes are available", 0},
		{"and goes back when it can't be scheduled", []client.Object{stuckPod(unscheduled)}, "pod sleep-2-1: Unschedulable: 0/4 nodes are available", 0},
		{"and stays when cluster-autoscaler adds a node", []client.Object{stuckPod(unscheduled), announced("TriggeredScaleUp", 4*time.Minute)}, "", 11 * time.Minute},
		{"and stays when Karpenter adds a node", []client.Object{stuckPod(unscheduled), announced("Nominated", 4*time.Minute)}, "", 11 * time.Minute},
		{"and stays when both did, for the newer", []client.Object{stuckPod(unscheduled), announced("TriggeredScaleUp", 4*time.Minute), announced("Nominated", 20*time.Minute)}, "", 11 * time.Minute},
		{"and stays when the Event is repeated", []client.Object{stuckPod(unscheduled), inSeries(announced("TriggeredScaleUp", 20*time.Minute), 5*time.Minute)}, "", 10 * time.Minute},
		{"and goes back when the node doesn't come", []client.Object{stuckPod(unscheduled), announced("TriggeredScaleUp", 15*time.Minute)}, "pod sleep-2-1: Unschedulable: 0/4 nodes are available", 0},
		{"and goes back when cluster-autoscaler adds no node", []client.Object{stuckPod(unscheduled), announced("NotTriggerScaleUp", time.Minute)}, "pod sleep-2-1: Unschedulable: 0/4 nodes are available", 0},
		{"and goes back when the node is for another pod", []client.Object{stuckPod(unscheduled, called("sleep-2-2")), announced("TriggeredScaleUp", time.Minute)},
			"pod sleep-2-2: Unschedulable: 0/4 nodes are available", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, nil, append(row.objects, sleep(), optedIn(), replicaSet(versionOfBad, "bad", 2, 0), replicaSet("a", "good", 1, 2))...)
			made, err := b.RollBack(t.Context(), request("PodsNotRunning", ""))
			if row.message != "" {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(made.Message).To(Equal(row.message))
				return
			}
			var notStuck *rollback.NotStuck
			g.Expect(errors.As(err, &notStuck)).To(BeTrue(), "%v", err)
			g.Expect(notStuck.Again).To(Equal(row.again))
			g.Expect(b.patches).To(BeEmpty())
			g.Expect(b.recorder.Events).To(BeEmpty())
		})
	}
}

func TestRollBackJudgesThePodsByTheTimeOfTheAPIServer(t *testing.T) {
	g := NewWithT(t)
	young := stuckPod(func(pod *corev1.Pod) { pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Second)) })
	b := newBench(t, nil, young, node("True", time.Hour), sleep(), optedIn(), replicaSet(versionOfBad, "bad", 2, 0), replicaSet("a", "good", 1, 2))
	b.Clock = clocktesting.NewFakePassiveClock(now.Add(2 * time.Minute))
	_, err := b.RollBack(t.Context(), request("PodsNotRunning", ""))
	g.Expect(err).To(Equal(&rollback.NotStuck{Again: 119 * time.Second}))
	g.Expect(b.patches).To(BeEmpty())
}

func TestRollBackLeavesAReleaseWithoutAReplicaSet(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, nil, append(stuckRelease(), sleep(), optedIn(), replicaSet("a", "good", 1, 2))...)
	_, err := b.RollBack(t.Context(), request("PodsNotRunning", ""))
	g.Expect(err).To(Equal(&rollback.NotStuck{}))
}

func TestRollBackMeasuresHowLateItIsAndThePodsThatItSpares(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, nil, append(stuckRelease(), sleep(), optedIn(), replicaSet(versionOfBad, "bad", 2, 0), replicaSet("a", "good", 1, 2))...)
	asked := request("PodsNotRunning", "")
	asked.Patience.Threshold = 5*time.Minute - 700*time.Millisecond
	var err error
	b.Delivery, err = delivery.New(b.registry, nil)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = b.RollBack(t.Context(), asked)
	g.Expect(err).NotTo(HaveOccurred())
	families, err := b.registry.Gather()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(families).To(ContainElement(And(HaveField("GetName()", "altershield_stuck_rollback_delay_seconds"),
		HaveField("Metric", ConsistOf(HaveField("Histogram", HaveField("GetSampleSum()", BeNumerically("~", .7, .001))))))))
	g.Expect(testutil.GatherAndCount(b.registry, "altershield_rollbacks_total")).To(Equal(4))
	g.Expect(testutil.GatherAndCompare(b.registry, strings.NewReader(`
# HELP altershield_pods_spared_total Pods that never got a bad version: those that were still desired when the operator stopped the rollout or rolled it back.
# TYPE altershield_pods_spared_total counter
altershield_pods_spared_total{workload_namespace="default"} 4
`), "altershield_pods_spared_total")).To(Succeed())
}

func TestRollBackCountsPodsWhoseSurroundingsItMayNotRead(t *testing.T) {
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no"))
	}
	reading := func(b *bench, failure error) {
		b.Live = interceptor.NewClient(b.objects, interceptor.Funcs{
			Get: func(ctx context.Context, kube client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
				if _, isNode := object.(*corev1.Node); isNode {
					return failure
				}
				return kube.Get(ctx, key, object, options...)
			},
			List: func(ctx context.Context, kube client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
				if _, ofEvents := list.(*corev1.EventList); ofEvents {
					return failure
				}
				return kube.List(ctx, list, options...)
			},
		})
	}
	for name, pod := range map[string]*corev1.Pod{"on a node": stuckPod(), "that isn't scheduled": stuckPod(unscheduled)} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, nil, pod, sleep(), optedIn(), replicaSet(versionOfBad, "bad", 2, 0), replicaSet("a", "good", 1, 2))
			reading(b, forbidden("nodes"))
			_, err := b.RollBack(t.Context(), request("PodsNotRunning", ""))
			g.Expect(err).NotTo(HaveOccurred())
			reading(b, errors.New("timeout"))
			_, err = b.RollBack(t.Context(), request("PodsNotRunning", ""))
			g.Expect(err).To(MatchError(HaveSuffix("timeout")))
			g.Expect(b.patches).To(HaveLen(1), "what is answered next time is not guessed")
		})
	}
}

func TestRollBackIsGuardedByWhatItWasDecidedBy(t *testing.T) {
	for _, row := range []struct {
		name     string
		change   func(*appsv1.Deployment)
		conflict bool
	}{
		{"and made while nothing changes", func(*appsv1.Deployment) {}, false},
		{"and made when the status changes", func(deployment *appsv1.Deployment) { deployment.Status.ReadyReplicas++ }, false},
		{"and made when the revision is written", func(deployment *appsv1.Deployment) { deployment.Annotations["deployment.kubernetes.io/revision"] = "9" }, false},
		{"and made when it is scaled", func(deployment *appsv1.Deployment) { *deployment.Spec.Replicas = 9 }, false},
		{"and not made when the template changes", func(deployment *appsv1.Deployment) { deployment.Spec.Template.Spec.Containers[0].Image = "repaired" }, true},
		{"and not made when the version changes", func(deployment *appsv1.Deployment) {
			deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = "c"
		}, true},
		{"and not made when it is another release", func(deployment *appsv1.Deployment) {
			deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
		}, true},
		{"and not made when another file is applied", func(deployment *appsv1.Deployment) {
			deployment.Annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"spec":{"replicas":9}}`
		}, true},
		{"and not made when another rollback is remembered", func(deployment *appsv1.Deployment) {
			deployment.Annotations["altershield.defense.antgroup.com/rollbacks"] = "[]"
		}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := sleep(annotation("rollbacks", `[{"version":"z","release":1}]`))
			annotations := deployment.GetAnnotations()
			annotations["kubectl.kubernetes.io/last-applied-configuration"] = `{"spec":{"replicas":5}}`
			deployment.SetAnnotations(annotations)
			b := newBench(t, nil, deployment, optedIn(), kept("a", "good", 1))
			b.patched = func(kube client.Client, patch client.Patch) error {
				var current appsv1.Deployment
				g.Expect(b.objects.Get(t.Context(), client.ObjectKeyFromObject(deployment), &current)).To(Succeed())
				row.change(&current)
				g.Expect(b.objects.Update(t.Context(), &current)).To(Succeed())
				return apply(t.Context(), kube, patch, &current)
			}
			_, err := b.RollBack(t.Context(), request("PodsFailed", ""))
			g.Expect(apierrors.IsConflict(err)).To(Equal(row.conflict), "%v", err)
			var current appsv1.Deployment
			g.Expect(b.objects.Get(t.Context(), client.ObjectKeyFromObject(deployment), &current)).To(Succeed())
			if !row.conflict {
				g.Expect(err).NotTo(HaveOccurred())
				g.Expect(current.Spec.Template.Spec.Containers[0].Image).To(Equal("good"))
				return
			}
			g.Expect(current.Spec.Template.Spec.Containers[0].Image).NotTo(Equal("good"))
			g.Expect(b.recorder.Events).To(BeEmpty())
		})
	}
}

// apply patches an object, and answers failures as the API server does.
func apply(ctx context.Context, kube client.Client, patch client.Patch, object client.Object) error {
	if err := kube.Patch(ctx, object, patch); err != nil {
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
	}
	return nil
}
