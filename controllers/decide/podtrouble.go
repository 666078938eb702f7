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

package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// DoesNotRun reports whether a pod is not scheduled yet, or one of its containers is waiting or has terminated. It ignores whether the
// pod is ready.
func DoesNotRun(pod *corev1.Pod) bool {
	return isCounted(pod) && (pod.Status.Phase != corev1.PodRunning || slices.ContainsFunc(containersOf(pod), isStopped))
}

// Restarts returns how often containers of a pod were restarted.
func Restarts(pod *corev1.Pod) int32 {
	var count int32
	for _, status := range containersOf(pod) {
		count += status.RestartCount
	}
	return count
}

// IsUnsettled reports whether a container is not running or was restarted, unless it completed as it should. restarts is when it is
// restarted: always, like all containers of Deployments except init containers that are not sidecars, or as the pod of a Job has it.
func IsUnsettled(status *corev1.ContainerStatus, restarts corev1.RestartPolicy) bool {
	switch state := status.State; {
	case state.Waiting != nil:
		return true
	case state.Terminated != nil:
		return restarts == corev1.RestartPolicyAlways || state.Terminated.ExitCode != 0
	}
	return restarts != corev1.RestartPolicyNever && status.RestartCount > 0 && status.State.Running != nil
}

// isCounted reports whether its release may be the reason why a pod is not running. Failed pods, such as evicted ones, are replaced, and
// gated pods are not to be scheduled yet.
func isCounted(pod *corev1.Pod) bool {
	if pod.DeletionTimestamp != nil || isGated(pod) {
		return false
	}
	return slices.Contains([]corev1.PodPhase{corev1.PodRunning, corev1.PodPending, ""}, pod.Status.Phase)
}

// isGated reports whether a pod has a scheduling gate, of the operator or of a quota controller for example.
func isGated(pod *corev1.Pod) bool {
	return Gated(pod) == GateUnstarted || slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonSchedulingGated
	})
}

// containersOf returns the unsettled containers of a pod, which are all that the cache has, init containers first.
func containersOf(pod *corev1.Pod) []*corev1.ContainerStatus {
	var all []*corev1.ContainerStatus
	for _, statuses := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for i := range statuses {
			all = append(all, &statuses[i])
		}
	}
	return all
}

// isStopped reports whether a container is not running. In a running pod, a stopped init container is a sidecar.
func isStopped(status *corev1.ContainerStatus) bool {
	return status.State.Waiting != nil || status.State.Terminated != nil
}

// lastStop returns when a container terminated last, zero where that is unknown.
func lastStop(status *corev1.ContainerStatus) time.Time {
	if end := lastEnd(status); end != nil {
		return end.FinishedAt.Time
	}
	return time.Time{}
}

func lastEnd(status *corev1.ContainerStatus) *corev1.ContainerStateTerminated {
	if status.State.Terminated != nil {
		return status.State.Terminated
	}
	return status.LastTerminationState.Terminated
}

// ranSince returns since when a container has been running, zero where it is not.
func ranSince(status *corev1.ContainerStatus) time.Time {
	if status.State.Running == nil {
		return time.Time{}
	}
	return status.State.Running.StartedAt.Time
}

// ranFor returns how long a container has been running, 0 where it is not.
func ranFor(status *corev1.ContainerStatus, now time.Time) time.Duration {
	if status.State.Running == nil {
		return 0
	}
	return now.Sub(status.State.Running.StartedAt.Time)
}

// isLooping reports whether a container was restarted within threshold and has not run for longer than before.
func isLooping(status *corev1.ContainerStatus, threshold time.Duration, now time.Time) bool {
	end := lastEnd(status)
	if end == nil || status.State.Running == nil {
		return false
	}
	// The times of a status are whole seconds.
	before := end.FinishedAt.Sub(end.StartedAt.Time) + time.Second
	return ranFor(status, now) < threshold && ranFor(status, now) <= before
}

// isPublic reports whether the message of a reason has names only. Those of others, such as PostStartHookError, may have commands and
// their output, and so secrets.
func isPublic(reason string) bool {
	return slices.Contains([]string{"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError"}, reason)
}

// trouble describes what a pod waits for. It leaves out the termination messages of containers, which may have secrets.
func (p *Patience) trouble(pod *corev1.Pod, now time.Time) string {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return strings.TrimSuffix(condition.Reason+": "+condition.Message, ": ")
		}
	}
	for i, status := range containersOf(pod) {
		if text := containerTrouble(status); text != "" && p.isTroubled(pod, status, now) {
			if i < len(pod.Status.InitContainerStatuses) {
				return "init " + text
			}
			return text
		}
	}
	return "pending"
}

func containerTrouble(status *corev1.ContainerStatus) string {
	end := lastEnd(status)
	switch waiting := status.State.Waiting; {
	case end != nil && (end.ExitCode != 0 || waiting == nil || waiting.Reason == "CrashLoopBackOff"):
		return fmt.Sprintf("container %s ended with exit code %d, %d restarts", status.Name, end.ExitCode, status.RestartCount)
	case waiting != nil && waiting.Message != "" && isPublic(waiting.Reason):
		return fmt.Sprintf("container %s: %s: %s", status.Name, waiting.Reason, waiting.Message)
	case waiting != nil:
		return fmt.Sprintf("container %s: %s", status.Name, waiting.Reason)
	}
	return ""
}
