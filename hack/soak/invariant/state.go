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
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Settled returns the reason why the current release of a Deployment is neither over nor says what it waits for, "" if it is or does.
func Settled(deployment *appsv1.Deployment, workloads []appv1alpha1.ChangeWorkload) string {
	release := decide.ReleaseOf(deployment)
	name := deployment.Namespace + "/" + deployment.Name
	for i := range workloads {
		workload := &workloads[i]
		if !metav1.IsControlledBy(workload, deployment) || workload.Spec.Reversion != release.Version {
			continue
		}
		if workload.Spec.Release != release.Number || workload.Status.ObservedRelease != release.Number {
			return fmt.Sprintf("Deployment %s is at release %d, the spec of its ChangeWorkload at %d and the status at %d", name, release.Number,
				workload.Spec.Release, workload.Status.ObservedRelease)
		}
		return unsettled(name, workload)
	}
	return fmt.Sprintf("Deployment %s has no ChangeWorkload of release %d, version %s", name, release.Number, release.Version)
}

func unsettled(name string, workload *appv1alpha1.ChangeWorkload) string {
	switch workload.Status.Status {
	case appv1alpha1.ChangeWorkloadSuccess, appv1alpha1.ChangeWorkloadSuspend, appv1alpha1.ChangeWorkloadFailed:
		return ""
	}
	verified := meta.FindStatusCondition(workload.Status.Conditions, appv1alpha1.ConditionVerified)
	if verified == nil {
		return fmt.Sprintf("release %d of Deployment %s has no condition Verified", workload.Spec.Release, name)
	}
	switch verified.Reason {
	case appv1alpha1.ReasonPaused("Deployment"), appv1alpha1.ReasonThresholdTimeout:
		return ""
	}
	return fmt.Sprintf("release %d of Deployment %s is %s: %s: %s", workload.Spec.Release, name, workload.Status.Status,
		verified.Reason, verified.Message)
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
	// Goroutines may vary with the current work, such as idle connections.
	moreGoroutines = 10
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
