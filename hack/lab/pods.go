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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
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

// CheckedBatch returns the n-th batch of a release once its check has ended.
func CheckedBatch(ctx context.Context, kube client.Reader, record *appv1alpha1.ChangeWorkload, number int64) (*appv1alpha1.ChangePod, error) {
	batch := &appv1alpha1.ChangePod{}
	if err := kube.Get(ctx, client.ObjectKey{Namespace: record.Namespace, Name: decide.ChangePodName(record.Name, number)}, batch); err != nil {
		return nil, err
	}
	if batch.Status.Status != appv1alpha1.ChangePodExecuteDone {
		return nil, fmt.Errorf("ChangePod %s has the status %q", batch.Name, batch.Status.Status)
	}
	return batch, nil
}

// JudgeBatch sets the verdict on the n-th batch of a release as a user does by hand, once its check has ended.
func JudgeBatch(ctx context.Context, kube client.Client, record *appv1alpha1.ChangeWorkload, number int64, verdict appv1alpha1.Verdict, message string) error {
	batch, err := CheckedBatch(ctx, kube, record, number)
	if err != nil {
		return err
	}
	before := batch.DeepCopy()
	Judge(batch, verdict, message)
	return kube.Status().Patch(ctx, batch, client.MergeFrom(before))
}

// Judge sets the verdict on the first pod of a batch, or on an order.
func Judge(changePod *appv1alpha1.ChangePod, verdict appv1alpha1.Verdict, message string) {
	judged := decide.CheckedBy(changePod)[0]
	judged.Verdict, judged.Message = verdict, message
	changePod.Status.PodResults = []appv1alpha1.PodSummary{judged}
	changePod.Status.Message = string(appv1alpha1.ChangePodPostFinish)
}
