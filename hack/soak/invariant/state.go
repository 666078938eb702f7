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

// Settled says why the present release of a Deployment is neither over nor says what it waits for; empty if it is or does.
func Settled(deployment *appsv1.Deployment, workloads []appv1alpha1.ChangeWorkload) string {
	release := decide.ReleaseOf(deployment)
	name := deployment.Namespace + "/" + deployment.Name
	for i := range workloads {
		workload := &workloads[i]
		if !metav1.IsControlledBy(workload, deployment) || workload.Spec.Reversion != release.Version {
			continue
		}
		if workload.Spec.Release != release.Number || workload.Status.ObservedRelease != release.Number {
			return fmt.Sprintf("Deployment %s is at release %d, its ChangeWorkload at %d and %d", name, release.Number,
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
	case appv1alpha1.ReasonDeploymentPaused, appv1alpha1.ReasonThresholdTimeout:
		return ""
	}
	return fmt.Sprintf("release %d of Deployment %s is %s: %s: %s", workload.Spec.Release, name, workload.Status.Status,
		verified.Reason, verified.Message)
}

// Process is what a manager takes of its machine.
type Process struct {
	// Name is the manager's, Pid its process, and Leads says that it leads: one that doesn't does less.
	Name  string
	Pid   int
	Leads bool

	Goroutines int
	// Heap is in bytes, after a garbage collection.
	Heap int64
}

const (
	// Goroutines may differ by what is under way at the moment, such as an idle connection.
	moreGoroutines = 10
	// The heap may grow by a part of what it was and by these bytes: what tables and pools keep once they were full.
	heapPart, moreHeap = 4, 4 << 20
)

// Former is the earlier reading that a reading can be compared with: of the same process in the same role. It is nil where there is
// none.
func (p Process) Former(before []Process) *Process {
	at := slices.IndexFunc(before, func(former Process) bool {
		return former.Name == p.Name && former.Pid == p.Pid && former.Leads == p.Leads
	})
	if at < 0 {
		return nil
	}
	return &before[at]
}

// Flat reports whether managers take no more after their work than before, with the same objects there: none.
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
			result.violated("%s: a heap of %d KiB before and of %d KiB after", now.Name, former.Heap>>10, now.Heap>>10)
		}
	}
	return result
}
