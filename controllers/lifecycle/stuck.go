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

package lifecycle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// StuckPods are pods that don't run although their time is over, or that could not be created in that time.
type StuckPods struct {
	// First is when the time of the first of them was over.
	First time.Time
	// Message says what they wait for, and names a pod for each trouble; empty where there are none.
	Message string
	// Next is how long until the time of another pod that doesn't run is over, 0 where there is none.
	Next time.Duration
}

// FindStuck looks at now for pods of a ReplicaSet that have not come to run within threshold of their creation, and for those
// that could not be created for that long.
func FindStuck(replicaSet *appsv1.ReplicaSet, pods []corev1.Pod, threshold time.Duration, now time.Time) StuckPods {
	var stuck StuckPods
	count, named := 0, map[string]string{}
	for i := range pods {
		pod := &pods[i]
		if !DoesNotRun(pod) || crashedLater(pod, threshold) || !stuck.note(deadline(pod, threshold), now) {
			continue
		}
		count++
		if text := trouble(pod); len(named) < maxNamedPods || named[text] != "" {
			named[text] = min(cmp.Or(named[text], pod.Name), pod.Name)
		}
	}
	stuck.Message = stuckMessage(named, count)
	if failure := CreationFailure(replicaSet); failure != nil && stuck.note(failure.LastTransitionTime.Add(threshold), now) {
		if stuck.Message != "" {
			stuck.Message += "; "
		}
		stuck.Message += "pods can't be created: " + failure.Message
	}
	return stuck
}

// deadline is when a pod should be running. One that was scheduled only after that was kept back, by a scheduling gate say:
// its time begins then.
func deadline(pod *corev1.Pod, threshold time.Duration) time.Time {
	end := pod.CreationTimestamp.Add(threshold)
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue && condition.LastTransitionTime.After(end) {
			return condition.LastTransitionTime.Add(threshold)
		}
	}
	return end
}

// note remembers a deadline, and says whether it is over.
func (s *StuckPods) note(deadline, now time.Time) bool {
	if left := deadline.Sub(now); left > 0 {
		if s.Next == 0 || left < s.Next {
			s.Next = left
		}
		return false
	}
	if s.First.IsZero() || deadline.Before(s.First) {
		s.First = deadline
	}
	return true
}

// CreationFailure says that pods of a ReplicaSet can't be created, for a quota say; nil where they can.
func CreationFailure(replicaSet *appsv1.ReplicaSet) *appsv1.ReplicaSetCondition {
	for i := range replicaSet.Status.Conditions {
		condition := &replicaSet.Status.Conditions[i]
		// The other reason is that pods can't be deleted.
		if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue && condition.Reason == "FailedCreate" {
			return condition
		}
	}
	return nil
}

// stuckMessage names a pod for each trouble, always the same one.
func stuckMessage(named map[string]string, count int) string {
	var parts []string
	for text, pod := range named {
		parts = append(parts, fmt.Sprintf("pod %s: %s", pod, text))
	}
	slices.Sort(parts)
	message := strings.Join(parts, "; ")
	if more := count - len(parts); more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return message
}

// DoesNotRun says that a pod waits to be scheduled, or that one of its containers waits to be started: for its image, for
// what it is configured with, for an init container, or after a crash. It is not asked whether the pod is ready. Pods that
// Kubernetes has given up, such as evicted ones, are replaced: they say nothing of their release, nor do those that somebody
// keeps from being scheduled for now.
func DoesNotRun(pod *corev1.Pod) bool {
	switch {
	case pod.DeletionTimestamp != nil, isGated(pod):
		return false
	case pod.Status.Phase == corev1.PodRunning:
		return waitingContainer(pod) != nil
	}
	return pod.Status.Phase == corev1.PodPending || pod.Status.Phase == ""
}

// crashedLater says that a pod which doesn't run completed its release, so that something else is the matter with it. The
// pods of a release that crashes soon may be ready for a moment, too: those that crash within twice the threshold are not
// excused.
func crashedLater(pod *corev1.Pod, threshold time.Duration) bool {
	if !IsFinished(pod) {
		return false
	}
	crashed := waitingContainer(pod)
	if crashed == nil || crashed.LastTerminationState.Terminated == nil {
		return true
	}
	return crashed.LastTerminationState.Terminated.FinishedAt.After(pod.CreationTimestamp.Add(2 * threshold))
}

// waitingContainer is the first container that waits, nil where none does. In a pod that runs a waiting init container is a
// sidecar that crashed.
func waitingContainer(pod *corev1.Pod) *corev1.ContainerStatus {
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			if statuses[i].State.Waiting != nil {
				return &statuses[i]
			}
		}
	}
	return nil
}

// isGated says that a scheduling gate keeps a pod back, as a quota controller may.
func isGated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated
	})
}

// isTold says that the kubelet explains a reason by names alone. Others, PostStartHookError among them, may bring commands
// and what they wrote, and so secrets.
func isTold(reason string) bool {
	return slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}, reason)
}

// trouble says what a pod waits for. What a container wrote before it ended is not told: it may hold a secret.
func trouble(pod *corev1.Pod) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return strings.TrimSuffix(condition.Reason+": "+condition.Message, ": ")
		}
	}
	for _, init := range pod.Status.InitContainerStatuses {
		if text := containerTrouble(&init); text != "" {
			return "init " + text
		}
	}
	for _, container := range pod.Status.ContainerStatuses {
		if text := containerTrouble(&container); text != "" {
			return text
		}
	}
	return "it is pending"
}

func containerTrouble(status *corev1.ContainerStatus) string {
	end := status.LastTerminationState.Terminated
	if status.State.Terminated != nil {
		end = status.State.Terminated
	}
	switch waiting := status.State.Waiting; {
	case end != nil && end.ExitCode != 0:
		return fmt.Sprintf("container %s ended with exit code %d, %d restarts", status.Name, end.ExitCode, status.RestartCount)
	case waiting != nil && waiting.Message != "" && isTold(waiting.Reason):
		return fmt.Sprintf("container %s: %s: %s", status.Name, waiting.Reason, waiting.Message)
	case waiting != nil:
		return fmt.Sprintf("container %s: %s", status.Name, waiting.Reason)
	}
	return ""
}
