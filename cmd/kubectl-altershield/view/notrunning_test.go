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

package view_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// waitingPod is a pod whose container waits.
func waitingPod(name string, age time.Duration, reason, message string) corev1.Pod {
	return corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.NewTime(now.Add(-age))},
		Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "web", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}},
		}},
	}
}

func TestWhyNamesPodsThatDoNotRunInTheWordsOfTheRollback(t *testing.T) {
	g := NewWithT(t)
	running := is("Running", "Unknown", "Verifying", "0 of 4 pods passed")
	known := facts(workload(7, "49"), record(7, "49", running), record(5, "a1"))
	unscheduled := waitingPod("web-c", time.Minute, "", "")
	unscheduled.Status = corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/2 nodes are available"},
	}}
	crashing := waitingPod("web-d", time.Minute, "CrashLoopBackOff", "back-off 10s")
	crashing.Status.ContainerStatuses[0].RestartCount = 2
	crashing.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, FinishedAt: metav1.NewTime(now)}
	gated := waitingPod("web-e", time.Hour, "", "")
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}
	known.Pods = []corev1.Pod{
		waitingPod("web-a", time.Minute, "ErrImagePull", "web:missing: not found"), waitingPod("web-b", time.Second, "ContainerCreating", ""), unscheduled, crashing, gated,
		{ObjectMeta: metav1.ObjectMeta{Name: "web-f"}, Status: corev1.PodStatus{Phase: corev1.PodRunning}},
	}
	waiting := view.WhyOf(known, now).NotRunning
	g.Expect(waiting).To(Equal(&view.NotRunning{Pods: []view.FailedPod{
		{Pod: "web-a", Message: "container web: ErrImagePull: web:missing: not found"},
		{Pod: "web-c", Message: "Unschedulable: 0/2 nodes are available"},
		{Pod: "web-d", Message: "container web ended with exit code 1, 2 restarts"},
	}}), "without a threshold the operator doesn't roll back")
	g.Expect(view.StatusOf(known, now).Workload.Gated).To(BeEquivalentTo(1))

	known.StuckAfter = 2 * time.Minute
	g.Expect(view.StatusOf(known, now).NotRunning.RollbackAt.Time).To(BeTemporally("==", now.Add(time.Minute)))
	known.Records = known.Records[:1]
	g.Expect(view.StatusOf(known, now).NotRunning.RollbackAt).To(BeNil(), "there is no version to go back to")
	known.Pods = known.Pods[5:]
	g.Expect(view.StatusOf(known, now).NotRunning).To(BeNil())
}

func TestWhySaysThatPodsOfADeploymentCanNotBeCreated(t *testing.T) {
	g := NewWithT(t)
	const quota = `pods "web-7f-" is forbidden: exceeded quota: pods, requested: pods=1, used: pods=4, limited: pods=4`
	failing := func(status, reason string) func(*unstructured.Unstructured) {
		return func(object *unstructured.Unstructured) {
			object.Object["status"].(map[string]any)["conditions"] = []any{
				map[string]any{"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"},
				map[string]any{"type": "ReplicaFailure", "status": status, "reason": reason, "message": quota, "lastTransitionTime": now.Add(-time.Minute).UTC().Format(time.RFC3339)},
			}
		}
	}
	running := is("Running", "Unknown", "Verifying", "0 of 4 pods passed")
	known := facts(workload(7, "49", failing("True", "FailedCreate")), record(7, "49", running), record(5, "a1"))
	known.StuckAfter = 2 * time.Minute
	waiting := view.WhyOf(known, now).NotRunning
	g.Expect(waiting).NotTo(BeNil())
	g.Expect(waiting.NotCreated).To(Equal(quota))
	g.Expect(waiting.Pods).To(BeEmpty())
	g.Expect(waiting.RollbackAt.Time).To(BeTemporally("==", now.Add(time.Minute)))

	for _, other := range []func(*unstructured.Unstructured){failing("False", "FailedCreate"), failing("True", "FailedDelete")} {
		known.Workload = workload(7, "49", other)
		g.Expect(view.WhyOf(known, now).NotRunning).To(BeNil())
	}
}
