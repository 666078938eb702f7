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

package scope

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// The functions below reduce objects to the fields that the operator reads. So a cached object must never be sent back as a whole:
// every write is a patch of the operator's own fields.

// Transform returns the transform of a cache that reduces objects of one type, and leaves alone what else an informer passes to it.
func Transform[Object client.Object](slim func(Object) Object) toolscache.TransformFunc {
	return func(object any) (any, error) {
		if whole, ok := object.(Object); ok {
			return slim(whole), nil
		}
		return object, nil
	}
}

func slimNamespace(namespace *corev1.Namespace) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: SlimMeta(namespace.ObjectMeta)}
}

// SlimPod returns a pod reduced to the fields that the cache keeps.
func SlimPod(pod *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{ObjectMeta: SlimMeta(pod.ObjectMeta)}
	slim.Spec.Hostname = pod.Spec.Hostname
	slim.Spec.NodeName = pod.Spec.NodeName
	if pod.Spec.RestartPolicy != corev1.RestartPolicyAlways { // of pods that end by themselves
		slim.Spec.RestartPolicy = pod.Spec.RestartPolicy
	}
	slim.Status.PodIP = pod.Status.PodIP
	slim.Status.Phase = pod.Status.Phase
	slimGates(pod, slim)
	isGated := len(slim.Spec.ReadinessGates) > 0
	if !decide.IsReady(pod) { // tells whether it was
		slim.Status.StartTime = pod.Status.StartTime
	}
	for _, condition := range pod.Status.Conditions {
		switch {
		case condition.Type == corev1.PodReady, isGated && (condition.Type == corev1.ContainersReady || condition.Type == appv1alpha1.PodGate):
			slim.Status.Conditions = append(slim.Status.Conditions, corev1.PodCondition{
				Type: condition.Type, Status: condition.Status, LastTransitionTime: condition.LastTransitionTime,
			})
		case condition.Type == corev1.PodScheduled && pod.Status.Phase != corev1.PodRunning:
			slim.Status.Conditions = append(slim.Status.Conditions, corev1.PodCondition{
				Type: condition.Type, Status: condition.Status, LastTransitionTime: condition.LastTransitionTime,
				Reason: condition.Reason, Message: condition.Message,
			})
		}
	}
	// By default init containers are not restarted, others are as the pod has it. A policy of their own, as of sidecars, overrides that.
	slim.Status.InitContainerStatuses = slimContainers(pod.Status.InitContainerStatuses, pod.Spec.InitContainers, corev1.RestartPolicyNever)
	slim.Status.ContainerStatuses = slimContainers(pod.Status.ContainerStatuses, pod.Spec.Containers, cmp.Or(pod.Spec.RestartPolicy, corev1.RestartPolicyAlways))
	return slim
}

// slimGates keeps the operator's gates, which pods of paced releases have, and when one was opened.
func slimGates(pod, slim *corev1.Pod) {
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name == appv1alpha1.PodGate {
			slim.Spec.SchedulingGates = []corev1.PodSchedulingGate{gate}
		}
	}
	for _, gate := range pod.Spec.ReadinessGates {
		if gate.ConditionType == appv1alpha1.PodGate {
			slim.Spec.ReadinessGates = []corev1.PodReadinessGate{gate}
		}
	}
	if opened, found := pod.Annotations[appv1alpha1.AnnotationGateOpened]; found {
		slim.Annotations = map[string]string{appv1alpha1.AnnotationGateOpened: opened}
	}
}

// slimContainers keeps containers that unexpectedly don't run, or that were restarted, so that healthy pods take up no memory for
// them. It drops termination messages, as they may hold secrets.
func slimContainers(statuses []corev1.ContainerStatus, containers []corev1.Container, byPod corev1.RestartPolicy) []corev1.ContainerStatus {
	var unsettled []corev1.ContainerStatus
	for i := range statuses {
		status := &statuses[i]
		if !decide.IsUnsettled(status, restarts(containers, status.Name, byPod)) {
			continue
		}
		slim := corev1.ContainerStatus{Name: status.Name, RestartCount: status.RestartCount, State: corev1.ContainerState{
			Waiting: status.State.Waiting, Running: status.State.Running, Terminated: slimEnd(status.State.Terminated),
		}}
		slim.LastTerminationState.Terminated = slimEnd(status.LastTerminationState.Terminated)
		unsettled = append(unsettled, slim)
	}
	return unsettled
}

// restarts returns when a container is restarted: byPod for those without a policy of their own.
func restarts(containers []corev1.Container, name string, byPod corev1.RestartPolicy) corev1.RestartPolicy {
	for i := range containers {
		if containers[i].Name == name && containers[i].RestartPolicy != nil {
			return corev1.RestartPolicy(*containers[i].RestartPolicy)
		}
	}
	return byPod
}

func slimEnd(end *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if end == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{ExitCode: end.ExitCode, Reason: end.Reason, StartedAt: end.StartedAt, FinishedAt: end.FinishedAt}
}

// SlimMeta returns metadata reduced to the fields that the cache keeps.
func SlimMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              meta.Name,
		Namespace:         meta.Namespace,
		UID:               meta.UID,
		ResourceVersion:   meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp,
		DeletionTimestamp: meta.DeletionTimestamp,
		Labels:            meta.Labels,
		OwnerReferences:   meta.OwnerReferences,
	}
}

// SlimWorkloadMeta returns the metadata of a workload reduced to the fields that the cache keeps: its annotations record its release.
func SlimWorkloadMeta(meta metav1.ObjectMeta) metav1.ObjectMeta {
	slim := SlimMeta(meta)
	slim.Generation = meta.Generation
	slim.Annotations = meta.Annotations
	delete(slim.Annotations, corev1.LastAppliedConfigAnnotation)
	return slim
}
