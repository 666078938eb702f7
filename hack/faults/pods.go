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

package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// seenFor is the age at which the manager has certainly seen a pod.
const seenFor = 2 * time.Second

// idle returns the pods of a phase that aren't ready.
func (s *stage) idle(ctx context.Context, phase corev1.PodPhase) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := s.kube.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
		return nil, fmt.Errorf("listing the pods: %w", err)
	}
	var found []corev1.Pod
	for _, pod := range list.Items {
		// The node of a pod without container statuses hasn't processed it yet, and would overwrite the status written here.
		if pod.Status.Phase == phase && len(pod.Status.ContainerStatuses) > 0 && !pod.Status.ContainerStatuses[0].Ready {
			found = append(found, pod)
		}
	}
	return found, nil
}

// pending waits until the manager has seen all pods of the new release, none of them started.
func (s *stage) pending(ctx context.Context) error {
	return until(ctx, "pods that don't start", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodPending)
		if err != nil {
			return err
		}
		for i := range pods {
			if age := time.Since(pods[i].CreationTimestamp.Time); age < seenFor {
				return fmt.Errorf("pod %s is only %s old", pods[i].Name, age)
			}
		}
		if len(pods) != replicas {
			return fmt.Errorf("there are %d of %d", len(pods), replicas)
		}
		return nil
	})
}

// runPods starts all pending pods instead of the kubelet. They aren't ready yet, so that the rollout isn't over.
func (s *stage) runPods(ctx context.Context) error {
	return s.write(ctx, "the start of the pods", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodPending)
		for i := range pods {
			err = errors.Join(err, s.report(ctx, &pods[i], false))
		}
		return err
	})
}

// readyPods makes all running pods ready instead of the kubelet.
func (s *stage) readyPods(ctx context.Context) error { return s.ready(ctx, replicas) }

// readyOne makes one of them ready.
func (s *stage) readyOne(ctx context.Context) error { return s.ready(ctx, 1) }

func (s *stage) ready(ctx context.Context, count int) error {
	return s.write(ctx, "pods that are ready", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodRunning)
		if err != nil {
			return err
		}
		if len(pods) < count {
			return fmt.Errorf("%d pods of %d are running and not ready", len(pods), count)
		}
		for i := range pods[:count] {
			err = errors.Join(err, s.report(ctx, &pods[i], true))
		}
		return err
	})
}

// report writes the status of a running pod, ready or not.
func (s *stage) report(ctx context.Context, pod *corev1.Pod, ready bool) error {
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
	return s.kube.Status().Patch(ctx, pod, client.MergeFrom(before))
}

// replaced waits until the rollout waits for one more pod, which is running and not ready.
func (s *stage) replaced(ctx context.Context) error {
	return until(ctx, "the next pod of the rollout", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodRunning)
		if err == nil && len(pods) != 1 {
			err = fmt.Errorf("%d pods are running and not ready", len(pods))
		}
		return err
	})
}

// held waits until the operator has paused the rollout.
func (s *stage) held(ctx context.Context) error {
	return until(ctx, "a rollout that is held", func(ctx context.Context) error {
		object, record, err := s.current(ctx)
		if err != nil {
			return err
		}
		paused := s.kind.Rollout(object).Paused
		if held := object.GetAnnotations()[appv1alpha1.AnnotationHeld]; !paused || held != strconv.FormatInt(record.Spec.Release, 10) {
			return fmt.Errorf("paused is %t, the hold %q", paused, held)
		}
		return nil
	})
}
