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

package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload/controllerrevision"
)

// Fills the cache with the DaemonSets under change control.
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=list;watch

// Cache holds DaemonSets and ControllerRevisions that carry a version, and of those only what is read.
func (Kind) Cache(stamped labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&appsv1.DaemonSet{}:          {Label: stamped, Transform: scope.Transform(slimDaemonSet)},
		&appsv1.ControllerRevision{}: controllerrevision.Cache(stamped),
	}
}

func slimDaemonSet(set *appsv1.DaemonSet) *appsv1.DaemonSet {
	slim := &appsv1.DaemonSet{ObjectMeta: scope.SlimWorkloadMeta(set.ObjectMeta)}
	slim.Spec.MinReadySeconds = set.Spec.MinReadySeconds
	slim.Spec.UpdateStrategy = set.Spec.UpdateStrategy
	slim.Status.ObservedGeneration = set.Status.ObservedGeneration
	slim.Status.DesiredNumberScheduled = set.Status.DesiredNumberScheduled
	slim.Status.NumberMisscheduled = set.Status.NumberMisscheduled
	slim.Status.CurrentNumberScheduled = set.Status.CurrentNumberScheduled
	slim.Status.UpdatedNumberScheduled = set.Status.UpdatedNumberScheduled
	return slim
}
