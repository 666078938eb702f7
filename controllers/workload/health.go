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

package workload

import (
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Health is the state of the current release of a workload.
type Health string

const (
	// HealthCurrent means that the release is complete.
	HealthCurrent Health = "Current"
	// HealthInProgress means that the release is being rolled out.
	HealthInProgress Health = "InProgress"
	// HealthFailed means that the release failed.
	HealthFailed Health = "Failed"
	// HealthUnknown means that the object doesn't show its state.
	HealthUnknown Health = "Unknown"
)

// Judged is a Kind whose objects show the health of their release themselves.
type Judged interface {
	// Health returns the health of the current release of a workload, and the reason.
	Health(workload client.Object) (Health, string)
}

// Lister is a Judged Kind without pods, whose workloads consist of units that are checked in their place, such as the nodes of a cluster.
type Lister interface {
	Judged
	// Units returns the units of a workload, in their order.
	Units(workload client.Object) []appv1alpha1.PodSummary
}

// HealthOf returns the health of the current release of a workload, Unknown for a kind whose objects don't show it.
func HealthOf(kind Kind, workload client.Object) (Health, string) {
	judged, ok := kind.(Judged)
	if !ok {
		return HealthUnknown, ""
	}
	return judged.Health(workload)
}
