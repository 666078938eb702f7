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
	"math"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Release identifies one release of a workload.
type Release struct {
	// Version is the version of the pod template, empty where the workload isn't under change control.
	Version string
	// Number counts the releases of the workload from 1.
	Number int64
}

// Recorded returns the release that a ChangeWorkload records.
func Recorded(record *appv1alpha1.ChangeWorkload) Release {
	return Release{Version: record.Spec.Reversion, Number: record.Spec.Release}
}

// ReleaseOf returns the release that a workload is at.
func ReleaseOf(workload metav1.Object) Release {
	return Release{
		Version: workload.GetLabels()[appv1alpha1.LabelVersion],
		Number:  max(ReleaseNumber(workload.GetAnnotations()), 1),
	}
}

// ReleaseNumber returns the number of the last release from the annotations of a workload, 0 where it had none.
func ReleaseNumber(annotations map[string]string) int64 {
	number, err := strconv.ParseInt(annotations[appv1alpha1.AnnotationRelease], 10, 64)
	if err != nil || number < 0 {
		return 0
	}
	return number
}

// NextRelease returns the number of the next release, given the annotations of a workload. After the highest number, which only a user
// can have written, the count starts again.
func NextRelease(annotations map[string]string) int64 {
	if last := ReleaseNumber(annotations); last < math.MaxInt64 {
		return last + 1
	}
	return 1
}

// IsSuspended reports whether releases of a workload are denied.
func IsSuspended(workload metav1.Object) bool {
	_, suspended := workload.GetLabels()[appv1alpha1.LabelSuspend]
	return suspended
}

// IsVerified reports whether a workload with these ChangeWorkloads may return to a version while it is suspended.
func IsVerified(workloads []appv1alpha1.ChangeWorkload, version string) bool {
	remembered := false
	for i := range workloads {
		if workloads[i].Spec.Reversion == version {
			if IsSettled(&workloads[i]) {
				return true
			}
			if workloads[i].Status.Status == appv1alpha1.ChangeWorkloadSuspend {
				return false // its last release failed, even if an earlier one was verified
			}
		}
		remembered = remembered || slices.Contains(workloads[i].Status.VerifiedVersions, version)
	}
	return remembered
}

// IsSettled reports whether a release was verified. The Success of a release without pods to check does not count.
func IsSettled(workload *appv1alpha1.ChangeWorkload) bool {
	return wasVerified(&workload.Status) && isObserved(workload)
}

// IsInProgress reports whether pods of a release are awaited or checked, or the release was not reconciled yet. A release that waits for a
// user, who paused the workload or has yet to approve the next step for example, or for a Job, is not in progress.
func IsInProgress(workload *appv1alpha1.ChangeWorkload) bool {
	switch {
	case workload.DeletionTimestamp != nil:
		return false
	case !isObserved(workload):
		return true
	}
	if hasReason(workload.Status.Conditions, appv1alpha1.ReasonPaced) {
		paced := meta.FindStatusCondition(workload.Status.Conditions, appv1alpha1.ConditionPaced)
		return paced == nil || paced.Reason != appv1alpha1.ReasonAwaitingApproval && paced.Reason != appv1alpha1.ReasonApprovalDenied
	}
	return hasReason(workload.Status.Conditions,
		appv1alpha1.ReasonVerifying, appv1alpha1.ReasonThresholdTimeout, appv1alpha1.ReasonAwaitingOrder, appv1alpha1.ReasonAwaitingCheck)
}

// WentBack reports whether a workload with these ChangeWorkloads has gone back to a version that was verified before. The new release
// of the version may not be reconciled yet.
func WentBack(workloads []appv1alpha1.ChangeWorkload, version string) bool {
	return IsVerified(workloads, version) || slices.ContainsFunc(workloads, func(workload appv1alpha1.ChangeWorkload) bool {
		return workload.Spec.Reversion == version && wasVerified(&workload.Status)
	})
}

// wasVerified reports whether the release of a status was verified.
func wasVerified(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return status.Status == appv1alpha1.ChangeWorkloadSuccess && !isProvisional(status)
}

// PodFinished reports whether a pod of a workload has completed its release: it has been ready for minReadySeconds, or it has succeeded,
// which alone counts where the pods of the workload end by themselves. wait is the time left for a ready pod.
func PodFinished(pod *corev1.Pod, of Rollout, now time.Time) (finished bool, wait time.Duration) {
	if of.Runs || HasSucceeded(pod) {
		return HasSucceeded(pod), 0
	}
	ready := readyCondition(pod)
	if ready == nil {
		return false, 0
	}
	since := finishTime(ready, of.MinReadySeconds)
	if of.MinReadySeconds == 0 || !now.Before(since) {
		return true, 0
	}
	return false, since.Sub(now)
}

// HasSucceeded reports whether a pod ended as it was to: its containers, which aren't always restarted, ended with success. It stays,
// with its result, until its Job is removed.
func HasSucceeded(pod *corev1.Pod) bool {
	restarts := pod.Spec.RestartPolicy
	ends := restarts == corev1.RestartPolicyNever || restarts == corev1.RestartPolicyOnFailure
	return ends && pod.Status.Phase == corev1.PodSucceeded && pod.DeletionTimestamp == nil
}

// succeededAt returns when a pod succeeded, as exactly as its status has it: then it stopped being ready.
func succeededAt(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
			return condition.LastTransitionTime.Time
		}
	}
	return pod.CreationTimestamp.Time
}

// finishTime returns when a pod that stays ready completes its release.
func finishTime(ready *corev1.PodCondition, minReadySeconds int32) time.Time {
	return ready.LastTransitionTime.Add(time.Duration(minReadySeconds) * time.Second)
}

// IsReady reports whether a pod is ready, or would be but for the operator's gate.
func IsReady(pod *corev1.Pod) bool { return readyCondition(pod) != nil }

// readyCondition returns the true condition that shows a pod to be ready, nil where the pod is not ready or is being replaced. A pod that waits for
// traffic at the operator's gate is ready once its containers are.
func readyCondition(pod *corev1.Pod) *corev1.PodCondition {
	if isReplaced(pod) {
		return nil
	}
	if ready := trueCondition(pod, corev1.PodReady); ready != nil || Gated(pod) != GateUnready {
		return ready
	}
	return trueCondition(pod, corev1.ContainersReady)
}

// trueCondition returns a condition of a pod if it is true, else nil.
func trueCondition(pod *corev1.Pod, kind corev1.PodConditionType) *corev1.PodCondition {
	for i := range pod.Status.Conditions {
		if condition := &pod.Status.Conditions[i]; condition.Type == kind && condition.Status == corev1.ConditionTrue {
			return condition
		}
	}
	return nil
}

// IsFinished reports whether a pod has the Finished label and is not being replaced.
func IsFinished(pod *corev1.Pod) bool {
	_, labelled := pod.Labels[appv1alpha1.LabelOperateFinished]
	return labelled && !isReplaced(pod)
}

// isReplaced reports whether the controller of a pod replaces it: the pod is being deleted, or has terminated other than it was to. An
// evicted pod stays, with its labels, until a user or the pod garbage collector removes it.
func isReplaced(pod *corev1.Pod) bool {
	if HasSucceeded(pod) {
		return false
	}
	return pod.DeletionTimestamp != nil || podEnded(pod)
}

// Summarize returns the documented summary of a pod of a workload.
func Summarize(deployment string, pod *corev1.Pod) appv1alpha1.PodSummary {
	hostName := pod.Spec.Hostname
	if hostName == "" {
		hostName = pod.Name
	}
	finished, err := strconv.ParseInt(pod.Labels[appv1alpha1.LabelOperateFinished], 10, 64)
	if err != nil {
		finished = 0 // the operator did not write the label
	}
	return appv1alpha1.PodSummary{
		App:            deployment,
		HostName:       hostName,
		IP:             pod.Status.PodIP,
		Namespace:      pod.Namespace,
		Pod:            pod.Name,
		UID:            pod.UID,
		FinishTimeUnix: finished,
		WorkSpace:      "default",
	}
}
