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

package decide_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

var aMinute = decide.Patience{Threshold: time.Minute}

// podOfAge is a pod that was created at this time before now, and not scheduled yet.
func podOfAge(age time.Duration, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "sleep-1", CreationTimestamp: metav1.NewTime(now.Add(-age)), Labels: map[string]string{}},
		Status:     corev1.PodStatus{Phase: corev1.PodPending},
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func inPhase(phase corev1.PodPhase) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.Phase = phase }
}

func unschedulable(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Reason: "Unschedulable", Message: "0/4 nodes are available"}}
}

func waiting(reason, message string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sleep", State: corev1.ContainerState{
			Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message},
		}}}
	}
}

// crashLooping waits for its third restart, after a crash at this time before now.
func crashLooping(ago time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		waiting("CrashLoopBackOff", "back-off 20s restarting failed container")(pod)
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses[0].RestartCount = 2
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = &corev1.ContainerStateTerminated{
			ExitCode: 3, FinishedAt: metav1.NewTime(now.Add(-ago)),
		}
	}
}

func failingInit(pod *corev1.Pod) {
	waiting("PodInitializing", "")(pod)
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: "migrate", RestartCount: 4,
		State:                corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}},
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1}},
	}}
}

func crashingSidecar(pod *corev1.Pod) {
	failingInit(pod)
	pod.Status.InitContainerStatuses[0].Name, pod.Status.ContainerStatuses = "proxy", nil
}

// scheduled was bound to a node at this time before now.
func scheduled(ago time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions = []corev1.PodCondition{{Type: "PodScheduled", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-ago))}}
	}
}

func gated(pod *corev1.Pod) {
	pod.Status.Conditions = []corev1.PodCondition{{Type: "PodScheduled", Status: "False", Reason: "SchedulingGated"}}
}

func finishedLabel(pod *corev1.Pod) {
	pod.Labels["altershield.defense.antgroup.com/operate-finished"] = "1795255000"
}

func goingAway(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: now} }

func TestFindStuckAfterTwoMinutes(t *testing.T) {
	for _, row := range []struct {
		name    string
		pod     corev1.Pod
		message string
	}{
		{"when it can't be scheduled", podOfAge(2*time.Minute, unschedulable), "pod sleep-1: Unschedulable: 0/4 nodes are available"},
		{"when no kubelet has it yet", podOfAge(2 * time.Minute), "pod sleep-1: pending"},
		{"when its status is empty", podOfAge(2*time.Minute, inPhase("")), "pod sleep-1: pending"},
		{"when its image can't be pulled", podOfAge(2*time.Minute, waiting("ErrImagePull", "not found")), "pod sleep-1: container sleep: ErrImagePull: not found"},
		{"when its container can't be created", podOfAge(2*time.Minute, waiting("CreateContainerConfigError", `secret "absent" not found`)),
			`pod sleep-1: container sleep: CreateContainerConfigError: secret "absent" not found`},
		{"while its image is still being pulled", podOfAge(2*time.Minute, waiting("ContainerCreating", "")), "pod sleep-1: container sleep: ContainerCreating"},
		{"when an init container fails", podOfAge(2*time.Minute, failingInit), "pod sleep-1: init container migrate ended with exit code 1, 4 restarts"},
		{"when it crashes again and again", podOfAge(time.Hour, crashLooping(2*time.Minute)), "pod sleep-1: container sleep ended with exit code 3, 2 restarts"},
		{"but not two minutes after its creation, when it crashed only then", podOfAge(time.Hour, crashLooping(2*time.Minute-time.Second)), ""},
		{"when it crashes although it was ready for a moment", podOfAge(3*time.Minute, crashLooping(2*time.Minute), finishedLabel),
			"pod sleep-1: container sleep ended with exit code 3, 2 restarts"},
		{"when it was ready for a moment, and crashed within twice that time", podOfAge(6*time.Minute, crashLooping(2*time.Minute), finishedLabel),
			"pod sleep-1: container sleep ended with exit code 3, 2 restarts"},
		{"when a sidecar crashes again and again", podOfAge(2*time.Minute, inPhase(corev1.PodRunning), crashingSidecar), "pod sleep-1: init container proxy ended with exit code 1, 4 restarts"},
		{"when its container ended with status 0", podOfAge(time.Hour, ended(2*time.Minute)), "pod sleep-1: container sleep ended with exit code 0, 5 restarts"},
		{"when its container waits to be started again after it ended with status 0", podOfAge(time.Hour, waiting("CrashLoopBackOff", "back-off 10s"), inPhase(corev1.PodRunning), endedBefore(2*time.Minute)),
			"pod sleep-1: container sleep ended with exit code 0, 5 restarts"},
		{"but not before its container has been at its end for that long", podOfAge(time.Hour, ended(2*time.Minute-time.Second)), ""},
		{"but not when its container runs again, whatever happened before", podOfAge(time.Hour, runningAgain(time.Second, time.Hour, 2*time.Second)), ""},
		{"without telling what a hook wrote", podOfAge(2*time.Minute, inPhase(corev1.PodRunning), waiting("PostStartHookError", "curl -u admin:hunter2 failed")),
			"pod sleep-1: container sleep: PostStartHookError"},
		{"but not before", podOfAge(2*time.Minute-time.Millisecond, unschedulable), ""},
		{"but not when it runs without being ready", podOfAge(time.Hour, inPhase(corev1.PodRunning)), ""},
		{"but not when it ran and crashes later", podOfAge(time.Hour, crashLooping(10*time.Minute), finishedLabel), ""},
		{"but not when it crashed later by a moment", podOfAge(6*time.Minute+time.Second, crashLooping(2*time.Minute), finishedLabel), ""},
		{"but not when it ran and its node came up again", podOfAge(time.Hour, inPhase(corev1.PodRunning), waiting("ContainerCreating", ""), finishedLabel), ""},
		{"but not when it ran and its sandbox is made anew", podOfAge(time.Hour, waiting("PodInitializing", ""), finishedLabel), ""},
		{"but not when it has a scheduling gate", podOfAge(time.Hour, gated), ""},
		{"but not when it was scheduled late, because of a gate", podOfAge(time.Hour, scheduled(time.Minute), waiting("ContainerCreating", "")), ""},
		{"when it was scheduled late, two minutes after that", podOfAge(time.Hour, scheduled(2*time.Minute), waiting("ErrImagePull", "")), "pod sleep-1: container sleep: ErrImagePull"},
		{"when it was scheduled in time, two minutes after its creation", podOfAge(2*time.Minute, scheduled(time.Minute), waiting("ErrImagePull", "")), "pod sleep-1: container sleep: ErrImagePull"},
		{"but not when it is on its way out", podOfAge(time.Hour, goingAway), ""},
		{"but not when it was evicted", podOfAge(time.Hour, inPhase(corev1.PodFailed)), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.FindStuck(decide.Revision{}, []corev1.Pod{row.pod}, decide.Patience{Threshold: 2 * time.Minute}, now).Message).To(Equal(row.message))
		})
	}
}

func TestFindStuckGivesTheTimeOfTheNextPod(t *testing.T) {
	g := NewWithT(t)
	pods := []corev1.Pod{
		podOfAge(10*time.Second, unschedulable), podOfAge(30*time.Second, unschedulable), podOfAge(20*time.Second, unschedulable),
		podOfAge(50*time.Second, inPhase(corev1.PodRunning)), podOfAge(55*time.Second, goingAway),
	}
	g.Expect(decide.FindStuck(decide.Revision{}, pods, aMinute, now)).To(Equal(decide.StuckPods{Next: 30 * time.Second}))
	g.Expect(decide.FindStuck(decide.Revision{}, pods[3:], aMinute, now)).To(Equal(decide.StuckPods{}))
	g.Expect(decide.FindStuck(decide.Revision{}, nil, aMinute, now)).To(Equal(decide.StuckPods{}))
}

func TestFindStuckCountsSinceTheFirstPod(t *testing.T) {
	g := NewWithT(t)
	pods := []corev1.Pod{podOfAge(70*time.Second, unschedulable), podOfAge(90*time.Second, unschedulable), podOfAge(80*time.Second, unschedulable)}
	stuck := decide.FindStuck(decide.Revision{}, pods, aMinute, now)
	g.Expect(stuck.First).To(Equal(now.Add(-30 * time.Second)))
	g.Expect(stuck.Next).To(BeZero())
}

func TestFindStuckNamesOnePodForEachTrouble(t *testing.T) {
	g := NewWithT(t)
	var pods []corev1.Pod
	for i := range 1000 {
		pods = append(pods, podOfAge(time.Hour, unschedulable, called(fmt.Sprintf("sleep-%03d", 999-i))))
	}
	g.Expect(decide.FindStuck(decide.Revision{}, pods, aMinute, now).Message).To(Equal("pod sleep-000: Unschedulable: 0/4 nodes are available (and 999 more)"))
	pods = append(pods[:2], podOfAge(time.Hour, waiting("ErrImagePull", ""), called("sleep-2")))
	g.Expect(decide.FindStuck(decide.Revision{}, pods, aMinute, now).Message).To(Equal(
		"pod sleep-2: container sleep: ErrImagePull; pod sleep-998: Unschedulable: 0/4 nodes are available (and 1 more)"))
	for i := range 10 {
		pods = append(pods, podOfAge(time.Hour, waiting(fmt.Sprintf("Trouble%d", i), ""), called(fmt.Sprintf("sleep-t%d", i))))
	}
	g.Expect(decide.FindStuck(decide.Revision{}, pods, aMinute, now).Message).To(HaveSuffix("pod sleep-t2: container sleep: Trouble2 (and 8 more)"))
}

// withoutQuota is a revision whose pods could not be created for this long.
func withoutQuota(age time.Duration) decide.Revision {
	return decide.Revision{Failure: &decide.Failure{Since: now.Add(-age), Message: "pods can't be created: exceeded quota: pods"}}
}

func TestFindStuckCountsPodsThatCanNotBeCreated(t *testing.T) {
	g := NewWithT(t)
	g.Expect(decide.FindStuck(withoutQuota(70*time.Second), nil, aMinute, now)).To(Equal(decide.StuckPods{
		First: now.Add(-10 * time.Second), Message: "pods can't be created: exceeded quota: pods",
	}))
	g.Expect(decide.FindStuck(withoutQuota(50*time.Second), nil, aMinute, now)).To(Equal(decide.StuckPods{Next: 10 * time.Second}))
	both := decide.FindStuck(withoutQuota(70*time.Second), []corev1.Pod{podOfAge(80 * time.Second)}, aMinute, now)
	g.Expect(both.Message).To(Equal("pod sleep-1: pending; pods can't be created: exceeded quota: pods"))
	g.Expect(both.First).To(Equal(now.Add(-20 * time.Second)))
}

func called(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Name = name }
}
