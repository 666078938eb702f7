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

package controllerrevision

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Fills the cache with the revisions of StatefulSets and DaemonSets under change control.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=list;watch

// Cache holds ControllerRevisions that carry a version, without their templates. It is the same for every kind.
func Cache(stamped labels.Selector) cache.ByObject {
	return cache.ByObject{Label: native(stamped), Transform: scope.Transform(slim)}
}

// native leaves out the ControllerRevisions in which the operator itself keeps templates.
func native(selector labels.Selector) labels.Selector {
	absent, _ := labels.ParseToRequirements("!" + appv1alpha1.LabelDeploymentName + ",!" + appv1alpha1.LabelWorkload) // constants, which parse
	return selector.Add(absent...)
}

func slim(revision *appsv1.ControllerRevision) *appsv1.ControllerRevision {
	return &appsv1.ControllerRevision{ObjectMeta: scope.SlimMeta(revision.ObjectMeta), Revision: revision.Revision}
}
