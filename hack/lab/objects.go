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
	"errors"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// StartLabel is the label that controls how fake pods start.
const StartLabel = "local.altershield.io/start"

// Namespace creates a namespace, opted in or not.
func (l *Lab) Namespace(ctx context.Context, name string, optedIn bool) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if optedIn {
		namespace.Labels = map[string]string{appv1alpha1.LabelOptIn: appv1alpha1.OptInEnabled}
	}
	if err := l.Kube.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating namespace %s: %w", name, err)
	}
	return nil
}

// Deployment returns a Deployment of fake pods, which are ready at once.
func Deployment(namespace, name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](0),
					Containers:                    []corev1.Container{{Name: "app", Image: "app"}},
				},
			},
		},
	}
}

// StatefulSet returns a StatefulSet of such pods.
func StatefulSet(namespace, name string, replicas int32) *appsv1.StatefulSet {
	like := Deployment(namespace, name, replicas)
	return &appsv1.StatefulSet{ObjectMeta: like.ObjectMeta, Spec: appsv1.StatefulSetSpec{
		Replicas: like.Spec.Replicas, Selector: like.Spec.Selector, Template: like.Spec.Template,
	}}
}

// DaemonSet returns a DaemonSet of such pods.
func DaemonSet(namespace, name string) *appsv1.DaemonSet {
	like := Deployment(namespace, name, 0)
	return &appsv1.DaemonSet{ObjectMeta: like.ObjectMeta, Spec: appsv1.DaemonSetSpec{Selector: like.Spec.Selector, Template: like.Spec.Template}}
}

// Approval returns a decision on a release.
func Approval(record *appv1alpha1.ChangeWorkload, kind schema.GroupKind, decision appv1alpha1.ApprovalDecision) *appv1alpha1.ChangeApproval {
	approval := &appv1alpha1.ChangeApproval{ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, GenerateName: record.Spec.AppName + "-"}}
	approval.Spec = appv1alpha1.ChangeApprovalSpec{
		Workload: appv1alpha1.ReleasedWorkload{Kind: kind.String(), Name: record.Spec.AppName},
		Version:  record.Spec.Reversion, Release: record.Spec.Release, Decision: decision, Reason: "CHG-4711",
	}
	return approval
}

// Release changes the pod template of a workload by an annotation.
func (l *Lab) Release(ctx context.Context, kind schema.GroupVersionKind, namespace, name, note string) error {
	return l.Patch(ctx, kind, namespace, name, fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"note":%q}}}}}`, note))
}

// ReleaseStuck releases a Deployment with pods that never start.
func (l *Lab) ReleaseStuck(ctx context.Context, namespace, name string) error {
	deployments := appsv1.SchemeGroupVersion.WithKind("Deployment")
	return l.Patch(ctx, deployments, namespace, name, fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{%q:"never"}}}}}`, StartLabel))
}

// Patch changes an object of any kind like kubectl patch --type=merge.
func (l *Lab) Patch(ctx context.Context, kind schema.GroupVersionKind, namespace, name, content string) error {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	object.SetGroupVersionKind(kind)
	if err := l.Kube.Patch(ctx, object, client.RawPatch(types.MergePatchType, []byte(content))); err != nil {
		return fmt.Errorf("patching %s %s: %w", kind.Kind, client.ObjectKeyFromObject(object), err)
	}
	return nil
}

// Object returns an object of any kind as it is now.
func (l *Lab) Object(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) (*unstructured.Unstructured, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object, l.Kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
}

// NewestRecord returns the record of the newest release of a workload.
func (l *Lab) NewestRecord(ctx context.Context, workload metav1.Object) (*appv1alpha1.ChangeWorkload, error) {
	var records appv1alpha1.ChangeWorkloadList
	if err := l.Kube.List(ctx, &records, client.InNamespace(workload.GetNamespace())); err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(records.Items, func(record appv1alpha1.ChangeWorkload) bool { return !metav1.IsControlledBy(&record, workload) })
	if newest := decide.Newest(own); newest != nil {
		return newest, nil
	}
	return nil, errors.New("there is no ChangeWorkload")
}

// ConditionOf returns a condition of an object of any kind, empty if there is none.
func ConditionOf(object *unstructured.Unstructured, name string) map[string]any {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, condition := range conditions {
		if found, _ := condition.(map[string]any); found["type"] == name {
			return found
		}
	}
	return nil
}

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
