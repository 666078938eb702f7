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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// ClosedGate is what decides whether a closed gate of a pod is stray: no reconciler of a release opens it.
type ClosedGate struct {
	// Version is that of the pod.
	Version string
	// Present is the release that the workload of the pod is at; its version is empty where the workload has none. Processed reports whether the
	// workload is marked as recorded at it.
	Present   Release
	Processed bool
	// Record is the ChangeWorkload of the version of the pod, nil where the workload has none.
	Record *appv1alpha1.ChangeWorkload
	// Left reports whether the workload is not under change control: its kind isn't enforced, or its namespace is opted out.
	Left bool
}

// Stray returns why the gate is stray, empty if it isn't: the reconciler of an enforced record opens it, and the present release of a workload under
// change control is about to get one. An observed record controls nothing, also once its kind is enforced again. A pod of an earlier release
// without a record is replaced.
func (g ClosedGate) Stray() string {
	isEnforced := g.Record != nil && !g.Record.Spec.Observed
	isToBeRecorded := g.Record == nil || g.Version == g.Present.Version && !g.Processed
	switch {
	case g.Present.Version == "":
		return "its workload has no release"
	case isEnforced:
		return ""
	case g.Left:
		return "its workload left change control"
	case isToBeRecorded:
		return ""
	}
	return "its release was only observed"
}

// IsProcessed reports whether a workload is marked as recorded at its present release.
func IsProcessed(workload metav1.Object) bool {
	return workload.GetLabels()[appv1alpha1.LabelDefenseStatus] == appv1alpha1.DefenseStatusProcessed
}
