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
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Fills the cache with the Deployments under change control and their ReplicaSets.
// +kubebuilder:rbac:groups=apps,resources=deployments;replicasets,verbs=list;watch

// Cache returns options for Deployments and ReplicaSets that carry a version, reduced to the fields that are read.
func (Kind) Cache(stamped labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{
		&appsv1.Deployment{}: {Label: stamped, Transform: scope.Transform(slimDeployment)},
		&appsv1.ReplicaSet{}: {Label: stamped, Transform: scope.Transform(slimReplicaSet)},
	}
}

func slimDeployment(deployment *appsv1.Deployment) *appsv1.Deployment {
	slim := &appsv1.Deployment{ObjectMeta: scope.SlimWorkloadMeta(deployment.ObjectMeta)}
	slim.Spec.Replicas = deployment.Spec.Replicas
	slim.Spec.Paused = deployment.Spec.Paused
	slim.Spec.MinReadySeconds = deployment.Spec.MinReadySeconds
	slim.Spec.Strategy.Type = deployment.Spec.Strategy.Type
	if _, paced := deployment.Annotations[appv1alpha1.AnnotationPaced]; paced { // to restore what was pinned
		slim.Spec.Strategy.RollingUpdate = deployment.Spec.Strategy.RollingUpdate
	}
	slim.Status.Replicas = deployment.Status.Replicas
	slim.Status.UpdatedReplicas = deployment.Status.UpdatedReplicas
	return slim
}

func slimReplicaSet(replicaSet *appsv1.ReplicaSet) *appsv1.ReplicaSet {
	slim := &appsv1.ReplicaSet{ObjectMeta: scope.SlimMeta(replicaSet.ObjectMeta)}
	for key, number := range replicaSet.Annotations {
		if strings.HasSuffix(key, "/revision") { // of the deployment controller, or of that of a declared kind
			metav1.SetMetaDataAnnotation(&slim.ObjectMeta, key, number)
		}
	}
	slim.Spec.Replicas = replicaSet.Spec.Replicas
	slim.Status.ReadyReplicas = replicaSet.Status.ReadyReplicas
	if failure := creationFailure(replicaSet); failure != nil {
		slim.Status.Conditions = []appsv1.ReplicaSetCondition{*failure}
	}
	return slim
}
