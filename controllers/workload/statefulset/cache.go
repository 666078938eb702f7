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

package statefulset

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload/controllerrevision"
)

// Fills the cache with the StatefulSets under change control.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=list;watch

// Cache holds StatefulSets and ControllerRevisions that carry a version, and of those only what is read.
func (Kind) Cache(stamped labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&appsv1.StatefulSet{}:        {Label: stamped, Transform: scope.Transform(slimStatefulSet)},
		&appsv1.ControllerRevision{}: controllerrevision.Cache(stamped),
	}
}

func slimStatefulSet(set *appsv1.StatefulSet) *appsv1.StatefulSet {
	slim := &appsv1.StatefulSet{ObjectMeta: scope.SlimWorkloadMeta(set.ObjectMeta)}
	slim.Spec.Replicas = set.Spec.Replicas
	slim.Spec.MinReadySeconds = set.Spec.MinReadySeconds
	slim.Spec.UpdateStrategy = set.Spec.UpdateStrategy
	slim.Spec.PodManagementPolicy = set.Spec.PodManagementPolicy
	slim.Spec.Ordinals = set.Spec.Ordinals
	slim.Status.ObservedGeneration = set.Status.ObservedGeneration
	if len(set.Spec.VolumeClaimTemplates) > 0 { // only whether there are any is read
		slim.Spec.VolumeClaimTemplates = make([]corev1.PersistentVolumeClaim, 1)
	}
	slim.Status.Replicas = set.Status.Replicas
	slim.Status.UpdatedReplicas = set.Status.UpdatedReplicas
	slim.Status.CurrentRevision = set.Status.CurrentRevision
	slim.Status.UpdateRevision = set.Status.UpdateRevision
	return slim
}
