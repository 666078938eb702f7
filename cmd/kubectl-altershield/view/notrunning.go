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

package view

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// NotRunning are the pods of a release that don't run, or can't be created.
type NotRunning struct {
	// Pods are those that don't run with what they wait for.
	Pods []FailedPod `json:"pods"`
	// NotCreated is why pods of a Deployment can't be created, such as a quota; empty if they can.
	NotCreated string `json:"notCreated,omitempty"`
	// RollbackAt is when the operator rolls the release back at the latest if they go on like that; nil if it doesn't, or that isn't known.
	RollbackAt *metav1.Time `json:"rollbackAt,omitempty"`
}

// replicaFailure is the condition of a Deployment whose pods can't be created or deleted.
const replicaFailure = "ReplicaFailure"

// starts is how long a pod may take to start without a word about it.
const starts = 10 * time.Second

// notRunning returns the pods that don't run, nil if there are none, and how many wait at the gate of a step.
func notRunning(facts Facts, now time.Time) (waits *NotRunning, gated int64) {
	patience := decide.Patience{
		Threshold: facts.StuckAfter, Batched: decide.BatchedPods(facts.Batches), Stopped: decide.FirstStops(nil, facts.Pods, facts.StuckAfter, now),
	}
	found := NotRunning{Pods: []FailedPod{}}
	var first time.Time
	for i := range facts.Pods {
		pod := &facts.Pods[i]
		if decide.Gated(pod) == decide.GateUnstarted {
			gated++
		}
		what, deadline := patience.Awaits(pod, now)
		if what == "" || isStarting(pod, now) {
			continue
		}
		found.Pods = append(found.Pods, FailedPod{Pod: pod.Name, Message: what})
		if first.IsZero() || deadline.Before(first) {
			first = deadline
		}
	}
	if failure := creationFailure(facts.Workload); failure != nil {
		found.NotCreated = failure.Message
		if deadline := failure.LastTransitionTime.Add(facts.StuckAfter); first.IsZero() || deadline.Before(first) {
			first = deadline
		}
	}
	if len(found.Pods) == 0 && found.NotCreated == "" {
		return nil, gated
	}
	if facts.StuckAfter > 0 && len(pastOf(facts).VerifiedTargets(now)) > 0 {
		at := metav1.NewTime(first)
		found.RollbackAt = &at
	}
	return &found, gated
}

// creationFailure returns the condition of a Deployment that its pods can't be created; nil if they can, and for other kinds, which have none.
func creationFailure(object *unstructured.Unstructured) *metav1.Condition {
	if object == nil {
		return nil
	}
	var read struct {
		Status struct {
			Conditions []metav1.Condition `json:"conditions"`
		} `json:"status"`
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &read); err != nil {
		return nil
	}
	failure := meta.FindStatusCondition(read.Status.Conditions, replicaFailure)
	if failure == nil || failure.Status != metav1.ConditionTrue || failure.Reason != "FailedCreate" { // the other reason is that pods can't be deleted
		return nil
	}
	return failure
}

// isStarting reports whether a pod is so new that it may be about to run.
func isStarting(pod *corev1.Pod, now time.Time) bool {
	for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
		if waiting := status.State.Waiting; waiting == nil || waiting.Reason != "ContainerCreating" && waiting.Reason != "PodInitializing" {
			return false
		}
	}
	return pod.Status.Phase != corev1.PodRunning && now.Sub(pod.CreationTimestamp.Time) < starts
}
