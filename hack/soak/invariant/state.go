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

package invariant

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Present is the state of a workload.
type Present struct {
	Workload *unstructured.Unstructured
	// Paused reports whether its rollout is held, by the operator or a user.
	Paused bool
	// Records and Pods are those of its namespace.
	Records []appv1alpha1.ChangeWorkload
	Pods    []corev1.Pod
}

// Settled returns the reason why the current release of a workload is neither over nor says what it waits for, "" if it is or does. Nor may
// it have left anything held.
func Settled(present Present) string {
	workload, records := present.Workload, present.Records
	release := decide.ReleaseOf(workload)
	name := fmt.Sprintf("%s %s/%s", workload.GetKind(), workload.GetNamespace(), workload.GetName())
	for i := range records {
		record := &records[i]
		if !metav1.IsControlledBy(record, workload) || record.Spec.Reversion != release.Version {
			continue
		}
		if record.Spec.Release != release.Number || record.Status.ObservedRelease != release.Number {
			return fmt.Sprintf("%s is at release %d, the spec of its ChangeWorkload at %d and the status at %d", name, release.Number,
				record.Spec.Release, record.Status.ObservedRelease)
		}
		if state := cmp.Or(unsettled(record), present.left(record)); state != "" {
			return fmt.Sprintf("release %d of %s %s", release.Number, name, state)
		}
		return ""
	}
	return fmt.Sprintf("%s has no ChangeWorkload of release %d, version %s", name, release.Number, release.Version)
}

// left returns what a release left held that isn't suspended: its rollout once it is verified, and pods at gates once it isn't paced. It returns ""
// for nothing.
func (p Present) left(record *appv1alpha1.ChangeWorkload) string {
	if record.Status.Status == appv1alpha1.ChangeWorkloadSuspend {
		return ""
	}
	verified := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionVerified)
	isVerified := verified != nil && verified.Reason == appv1alpha1.ReasonAllPodsPassed // one without replicas goes on with its steps later
	if isVerified && decide.HoldOf(p.Workload, p.Paused, record.Spec.Release).IsHeld() {
		return "is verified, but the operator holds its rollout"
	}
	if meta.IsStatusConditionTrue(record.Status.Conditions, appv1alpha1.ConditionPaced) {
		return ""
	}
	for i := range p.Pods {
		pod := &p.Pods[i]
		if pod.Labels["app"] == p.Workload.GetName() && pod.Labels[appv1alpha1.LabelVersion] == record.Spec.Reversion && decide.Gated(pod) != decide.GateOpen {
			return "isn't paced, but pod " + pod.Name + " waits at its gate"
		}
	}
	return ""
}

// unsettled returns the state of a release that is neither over nor waits for a user, "" if it is or does. Users pause Deployments alone.
func unsettled(record *appv1alpha1.ChangeWorkload) string {
	switch record.Status.Status {
	case appv1alpha1.ChangeWorkloadSuccess, appv1alpha1.ChangeWorkloadSuspend, appv1alpha1.ChangeWorkloadFailed:
		return ""
	}
	verified := meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionVerified)
	if verified == nil {
		return "has no condition Verified"
	}
	if verified.Reason == appv1alpha1.ReasonPaced {
		verified = meta.FindStatusCondition(record.Status.Conditions, appv1alpha1.ConditionPaced)
	}
	switch verified.Reason {
	case appv1alpha1.ReasonPaused("Deployment"), appv1alpha1.ReasonThresholdTimeout, appv1alpha1.ReasonStepDeadline:
		return ""
	}
	return fmt.Sprintf("is %s: %s: %s", record.Status.Status, verified.Reason, verified.Message)
}

// Process is the resource usage of a manager.
type Process struct {
	// Name is the manager's name, Pid its process id, and Leads reports whether it leads: the others do less.
	Name  string
	Pid   int
	Leads bool

	Goroutines int
	// Heap is the size in bytes after a garbage collection.
	Heap int64
}

const (
	// Goroutines may vary with the current work, such as idle connections, and a manager starts 12 for Events with its first one: one that
	// doesn't lead may do that after the first measurement.
	moreGoroutines = 20
	// The heap may grow by a fraction of its former size plus these bytes, for tables and pools that stay allocated.
	heapPart, moreHeap = 4, 4 << 20
)

// Former returns the earlier measurement to compare with: that of the same process in the same role, or nil.
func (p Process) Former(before []Process) *Process {
	at := slices.IndexFunc(before, func(former Process) bool {
		return former.Name == p.Name && former.Pid == p.Pid && former.Leads == p.Leads
	})
	if at < 0 {
		return nil
	}
	return &before[at]
}

// Flat reports whether managers use no more after their work than before, without objects at both times.
func Flat(before, after []Process) Result {
	var result Result
	for _, now := range after {
		former := now.Former(before)
		if former == nil {
			continue
		}
		result.Observations += 2
		if now.Goroutines > former.Goroutines+moreGoroutines {
			result.violated("%s: %d goroutines before and %d after", now.Name, former.Goroutines, now.Goroutines)
		}
		if now.Heap > former.Heap+former.Heap/heapPart+moreHeap {
			result.violated("%s: a heap of %d KiB before and %d KiB after", now.Name, former.Heap>>10, now.Heap>>10)
		}
	}
	return result
}
