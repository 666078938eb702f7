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

package deployment

import (
	"encoding/json"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const (
	strategyPath    = "/spec/strategy"
	rollingPath     = strategyPath + "/rollingUpdate"
	unavailablePath = rollingPath + "/maxUnavailable"
	surgePath       = rollingPath + "/maxSurge"
)

// The pinned values, under which every new pod is an additional one.
const pinnedUnavailable, pinnedSurge = 0, 1

// pinned has the fields that Pin overwrites.
type pinned struct {
	MaxUnavailable *intstr.IntOrString `json:"maxUnavailable,omitempty"`
	MaxSurge       *intstr.IntOrString `json:"maxSurge,omitempty"`
}

// Pin sets maxUnavailable to 0, and maxSurge to 1 where that is 0. The strategy Recreate has to take all pods away.
func (Kind) Pin(object client.Object) ([]workload.Operation, string) {
	strategy := strategyOf(object)
	present := limitsOf(strategy)
	if strategy.Type == appsv1.RecreateDeploymentStrategyType || isNone(present.MaxUnavailable) {
		return nil, ""
	}
	var change []workload.Operation
	if strategy.RollingUpdate == nil {
		change = append(change, workload.Operation{Op: "add", Path: rollingPath, Value: map[string]any{}})
	}
	known := pinned{MaxUnavailable: present.MaxUnavailable}
	change = append(change, workload.Operation{Op: "add", Path: unavailablePath, Value: pinnedUnavailable})
	if isNone(present.MaxSurge) {
		known.MaxSurge = present.MaxSurge
		change = append(change, workload.Operation{Op: "add", Path: surgePath, Value: pinnedSurge})
	}
	originals, _ := json.Marshal(known) // numbers and texts always encode
	return change, string(originals)
}

// Missing returns maxUnavailable, a percentage rounded down as the deployment controller does.
func (Kind) Missing(object client.Object, desired int32) int {
	share, err := intstr.GetScaledValueFromIntOrPercent(limitsOf(strategyOf(object)).MaxUnavailable, int(desired), false)
	if err != nil {
		return 0
	}
	return share
}

// Unpin restores maxUnavailable and maxSurge.
func (Kind) Unpin(object client.Object, originals string) []workload.Operation {
	var known pinned
	strategy := strategyOf(object)
	if json.Unmarshal([]byte(originals), &known) != nil || strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	var change []workload.Operation
	present := limitsOf(strategy)
	if known.MaxUnavailable != nil && *present.MaxUnavailable == intstr.FromInt32(pinnedUnavailable) {
		change = append(change, workload.Operation{Op: "add", Path: unavailablePath, Value: *known.MaxUnavailable})
		present.MaxUnavailable = known.MaxUnavailable
	}
	if known.MaxSurge != nil && *present.MaxSurge == intstr.FromInt32(pinnedSurge) && !isNone(present.MaxUnavailable) { // one of them has to be above 0
		change = append(change, workload.Operation{Op: "add", Path: surgePath, Value: *known.MaxSurge})
	}
	return change
}

// PaceFields returns the fields of the strategy and of the pause.
func (Kind) PaceFields() []string {
	return []string{"/spec/paused", strategyPath + "/type", unavailablePath, surgePath}
}

// limitsOf returns the limits of a strategy, with the defaults of the API server.
func limitsOf(strategy appsv1.DeploymentStrategy) pinned {
	unset := intstr.FromString("25%")
	rolling := ptr.Deref(strategy.RollingUpdate, appsv1.RollingUpdateDeployment{})
	return pinned{
		MaxUnavailable: ptr.To(ptr.Deref(rolling.MaxUnavailable, unset)),
		MaxSurge:       ptr.To(ptr.Deref(rolling.MaxSurge, unset)),
	}
}

// isNone reports whether a limit is 0 for any number of replicas.
func isNone(limit *intstr.IntOrString) bool {
	share, err := intstr.GetScaledValueFromIntOrPercent(limit, 100, true)
	return err == nil && share == 0
}

// strategyOf returns the strategy of a Deployment, which may be untyped. It is empty if it can't be decoded.
func strategyOf(object client.Object) appsv1.DeploymentStrategy {
	switch deployment := object.(type) {
	case *appsv1.Deployment:
		return deployment.Spec.Strategy
	case *unstructured.Unstructured:
		return workload.Field[appsv1.DeploymentStrategy](deployment, "spec", "strategy")
	}
	return appsv1.DeploymentStrategy{}
}
