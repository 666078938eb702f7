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

package lab

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Idle returns the pods of a phase that aren't ready.
func Idle(ctx context.Context, kube client.Reader, phase corev1.PodPhase, among ...client.ListOption) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := kube.List(ctx, &list, among...); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	var found []corev1.Pod
	for _, pod := range list.Items {
		// The node of a pod without container statuses hasn't processed it yet, and would overwrite the status that Report writes.
		if pod.Status.Phase == phase && len(pod.Status.ContainerStatuses) > 0 && !pod.Status.ContainerStatuses[0].Ready {
			found = append(found, pod)
		}
	}
	return found, nil
}

// Report writes the status of a running pod, ready or not, instead of the kubelet.
func Report(ctx context.Context, kube client.Client, pod *corev1.Pod, ready bool) error {
	before, now := pod.DeepCopy(), metav1.Now()
	pod.Status.Phase = corev1.PodRunning
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Status == corev1.ConditionFalse && ready {
			condition.Status, condition.Reason, condition.LastTransitionTime = corev1.ConditionTrue, "", now
		}
	}
	for i := range pod.Status.ContainerStatuses {
		status := &pod.Status.ContainerStatuses[i]
		status.Ready = ready
		status.State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	}
	return kube.Status().Patch(ctx, pod, client.MergeFrom(before))
}
