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

// Package podgate opens the operator's gates on pods, or has pods that wait at one replaced.
package podgate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Removes the scheduling gates of pods.
// +kubebuilder:rbac:groups="",resources=pods,verbs=patch
// Opens the readiness gates of pods. Marks a pod that waits at its scheduling gate as failed, so that its StatefulSet replaces it.
// +kubebuilder:rbac:groups="",resources=pods/status,verbs=patch

// Open opens the gate of a pod, as it was read, with the reason for users. A pod that is gone needs nothing. One that has changed since, or whose
// name another pod has, is left alone: that is an error, as the gate of the one or the other may still be closed, and is to be read again.
func Open(ctx context.Context, writer client.Client, pod *corev1.Pod, why string, now time.Time) error {
	var err error
	switch decide.Gated(pod) {
	case decide.GateUnstarted:
		err = send(types.JSONPatchType, start(pod, now), func(patch client.Patch) error {
			return writer.Patch(ctx, named(pod), patch, client.DisableReadYourWritesConsistency)
		})
	case decide.GateUnready:
		err = send(types.StrategicMergePatchType, admitTraffic(pod, why, now), func(patch client.Patch) error {
			return writer.Status().Patch(ctx, named(pod), patch)
		})
	}
	return unlessGone(err, "opening the gate of", pod)
}

// unlessGone returns the error of a write to a pod, nil if that is gone.
func unlessGone(err error, doing string, pod *corev1.Pod) error {
	if scope.IgnoreGone(err) == nil {
		return nil
	}
	return fmt.Errorf("%s pod %s/%s: %w", doing, pod.Namespace, pod.Name, err)
}

// Return makes the controller of a pod that waits at its gate create another one in its place, as it does for each failed pod. So that needs
// no permission to delete pods. The pod has never run: one that has changed since it was read may have started, and is an error, as for Open. As no
// kubelet has a pod that waits, few changes come between.
func Return(ctx context.Context, writer client.Client, pod *corev1.Pod, why string) error {
	failed := map[string]any{
		"metadata": map[string]any{"uid": pod.UID, "resourceVersion": pod.ResourceVersion},
		"status":   map[string]any{"phase": corev1.PodFailed, "reason": "BeyondStep", "message": "it has not started: " + why + " has no further pods now"},
	}
	err := send(types.StrategicMergePatchType, failed, func(patch client.Patch) error { return writer.Status().Patch(ctx, named(pod), patch) })
	return unlessGone(err, "returning", pod)
}

func send(kind types.PatchType, content any, by func(client.Patch) error) error {
	patch, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return by(client.RawPatch(kind, patch))
}

// start returns the patch that removes the scheduling gate of a pod, and notes the time, from which the pod is to start.
func start(pod *corev1.Pod, now time.Time) []workload.Operation {
	at := slices.IndexFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool { return gate.Name == appv1alpha1.PodGate })
	path := "/spec/schedulingGates/" + strconv.Itoa(at)
	operations := []workload.Operation{
		{Op: "test", Path: "/metadata/uid", Value: pod.UID},
		{Op: "test", Path: path + "/name", Value: appv1alpha1.PodGate},
		{Op: "remove", Path: path},
	}
	if pod.Annotations == nil {
		operations = append(operations, workload.Operation{Op: "add", Path: "/metadata/annotations", Value: struct{}{}})
	}
	return append(operations, workload.Operation{
		Op: "add", Path: workloadpatch.AnnotationPath(appv1alpha1.AnnotationGateOpened), Value: strconv.FormatInt(now.Unix(), 10),
	})
}

// admitTraffic returns the patch that sets the condition for which the readiness gate of a pod waits.
func admitTraffic(pod *corev1.Pod, why string, now time.Time) map[string]any {
	return map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status": map[string]any{"conditions": []corev1.PodCondition{{
			Type: appv1alpha1.PodGate, Status: corev1.ConditionTrue, Reason: "Opened", Message: why, LastTransitionTime: metav1.NewTime(now),
		}}},
	}
}

// named returns a pod of this name for the answer.
func named(pod *corev1.Pod) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name}}
}
