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

package history

import (
	"bytes"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// releasedOf returns the relevant fields of a workload, nil for a part of the workload that controls it.
func releasedOf(kind workload.Kind, object *unstructured.Unstructured, event *auditv1.Event) (*Released, error) {
	if metav1.GetControllerOf(object) != nil {
		return nil, nil
	}
	version, err := workload.VersionOf(kind, workload.ContentOf(kind, object.Object))
	if err != nil {
		return nil, err
	}
	labels, annotations := object.GetLabels(), object.GetAnnotations()
	_, suspended := labels[appv1alpha1.LabelSuspend]
	ignored, _ := appv1alpha1.IgnoredSuspendOf(annotations)
	brought := event.RequestObject != nil && bytes.Contains(event.RequestObject.Raw, []byte(strconv.Quote(appv1alpha1.LabelIgnoredSuspend)))
	released := &Released{
		Kind: object.GetKind(), UID: string(object.GetUID()), Version: labels[appv1alpha1.LabelVersion], Template: version,
		Release: decide.ReleaseNumber(annotations), Generation: object.GetGeneration(),
		Suspended: suspended, MayPass: brought || labels[appv1alpha1.LabelIgnoredSuspend] != "",
		Ignored: ignored, Rollbacks: appv1alpha1.RollbacksOf(annotations),
	}
	released.Pass = appv1alpha1.BreakGlassPassOf(annotations, released.Release)
	released.Parked = appv1alpha1.FrozenOf(annotations, released.Release) != nil
	if pauser, pauses := kind.(workload.Pauser); pauses {
		released.Paused = pauser.Paused(object)
	}
	return released, nil
}

func podOf(object *unstructured.Unstructured) *Pod {
	phase, _, _ := unstructured.NestedString(object.Object, "status", "phase")
	pod := &Pod{
		Name: object.GetName(), UID: string(object.GetUID()),
		Over: phase == string(corev1.PodFailed) || phase == string(corev1.PodSucceeded), Runs: phase == string(corev1.PodRunning),
	}
	if owner := metav1.GetControllerOf(object); owner != nil {
		pod.Kind = owner.Kind
	}
	return pod
}

// as converts an object of one of the operator's own kinds.
func as[T any](object *unstructured.Unstructured) (*T, error) {
	typed := new(T)
	return typed, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed)
}

func workloadOf(object *unstructured.Unstructured) (*Workload, error) {
	record, err := as[appv1alpha1.ChangeWorkload](object)
	if err != nil {
		return nil, err
	}
	taken := &Workload{
		UID: string(record.UID), App: record.Spec.AppName, Version: record.Spec.Reversion,
		Release: record.Spec.Release, Observed: record.Status.ObservedRelease, Status: record.Status.Status,
		Desired: record.Status.Counts.Desired, Passed: record.Status.Counts.Passed,
		Verified: reason(record, appv1alpha1.ConditionVerified), Paced: reason(record, appv1alpha1.ConditionPaced),
	}
	if owner := metav1.GetControllerOf(record); owner != nil {
		taken.Of, taken.Kind = string(owner.UID), owner.Kind
	}
	return taken, nil
}

// reason returns the reason of a condition, empty without one.
func reason(record *appv1alpha1.ChangeWorkload, name string) string {
	if condition := meta.FindStatusCondition(record.Status.Conditions, name); condition != nil {
		return condition.Reason
	}
	return ""
}

func batchOf(object *unstructured.Unstructured) (*Batch, error) {
	changePod, err := as[appv1alpha1.ChangePod](object)
	if err != nil {
		return nil, err
	}
	taken := &Batch{
		UID: string(changePod.UID), Release: changePod.Spec.Release,
		Done: changePod.Status.Status == appv1alpha1.ChangePodExecuteDone,
	}
	if owner := metav1.GetControllerOf(changePod); owner != nil {
		taken.Workload = string(owner.UID)
	}
	for _, pod := range changePod.Spec.PodInfos {
		taken.Pods = append(taken.Pods, Pod{Name: pod.Pod, UID: string(pod.UID)})
	}
	for _, result := range changePod.Status.PodResults {
		if result.Verdict == appv1alpha1.VerdictUnpass {
			taken.Failed = append(taken.Failed, result.Pod)
		}
	}
	return taken, nil
}

func freezeOf(object *unstructured.Unstructured) (*Freeze, error) {
	freeze, err := as[appv1alpha1.ChangeFreeze](object)
	if err != nil {
		return nil, err
	}
	return &Freeze{UID: string(freeze.UID), Action: freeze.Spec.Action, Active: freeze.Status.Active}, nil
}

func glassOf(object *unstructured.Unstructured) (*Glass, error) {
	glass, err := as[appv1alpha1.BreakGlass](object)
	if err != nil {
		return nil, err
	}
	return &Glass{Name: glass.Name, Overrides: glass.Spec.Overrides}, nil
}

func approvalOf(object *unstructured.Unstructured) (*Approval, error) {
	approval, err := as[appv1alpha1.ChangeApproval](object)
	if err != nil {
		return nil, err
	}
	return &Approval{
		Workload: string(approval.Spec.UID), Version: approval.Spec.Version, Release: approval.Spec.Release,
		By: approval.Spec.ApprovedBy, Decides: approval.Spec.Decision,
	}, nil
}
