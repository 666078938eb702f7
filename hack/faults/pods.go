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
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// seenFor is the age at which the manager has certainly seen a pod.
const seenFor = 2 * time.Second

// idle returns the pods of a phase that aren't ready.
func (s *stage) idle(ctx context.Context, phase corev1.PodPhase) ([]corev1.Pod, error) {
	return lab.Idle(ctx, s.Kube, phase, client.InNamespace(s.namespace))
}

// pending waits until the manager has seen all pods of the new release, none of them started.
func pending(ctx context.Context, s *stage) error {
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
		return expect(len(pods) == replicas, "there are %d of %d", len(pods), replicas)
	})
}

// runPods starts all pending pods instead of the kubelet. They aren't ready yet, so that the rollout isn't over.
func runPods(ctx context.Context, s *stage) error {
	return s.write(ctx, "the start of the pods", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodPending)
		for i := range pods {
			err = errors.Join(err, lab.Report(ctx, s.Kube, &pods[i], false))
		}
		return err
	})
}

// ready makes some of the running pods ready instead of the kubelet.
func ready(count int) step {
	return func(ctx context.Context, s *stage) error {
		return s.write(ctx, "pods that are ready", func(ctx context.Context) error {
			pods, err := s.idle(ctx, corev1.PodRunning)
			if err != nil {
				return err
			}
			if len(pods) < count {
				return fmt.Errorf("%d pods of %d are running and not ready", len(pods), count)
			}
			for i := range pods[:count] {
				err = errors.Join(err, lab.Report(ctx, s.Kube, &pods[i], true))
			}
			return err
		})
	}
}

// replaced waits until the rollout waits for one more pod, which is running and not ready.
func replaced(ctx context.Context, s *stage) error {
	return until(ctx, "the next pod of the rollout", func(ctx context.Context) error {
		pods, err := s.idle(ctx, corev1.PodRunning)
		return cmp.Or(err, expect(len(pods) == 1, "%d pods are running and not ready", len(pods)))
	})
}

// held waits until the operator has paused the rollout.
func held(ctx context.Context, s *stage) error {
	return awaits("a rollout that is held", func(_ context.Context, s seen) error {
		paused := s.kind.Rollout(s.object).Paused
		held := s.object.GetAnnotations()[appv1alpha1.AnnotationHeld]
		return expect(paused && held == strconv.FormatInt(s.record.Spec.Release, 10), "paused is %t, the hold %q", paused, held)
	})(ctx, s)
}
