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

// Package deployment implements the kind Deployment, whose revisions are ReplicaSets.
package deployment

import (
	"context"
	"math"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Writes the operator's labels and annotations on Deployments, and pauses the rollout of a failed release.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=patch
// Resets the pod template of a Deployment to an earlier one.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=patch
// Finds out whether a write was rejected because the Deployment has changed.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
// Reads the pod template of a Deployment, to keep it or to roll back: the cache holds none.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
// Checks whether a Deployment still exists before its release is recorded or checked again: the cache may lag.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
// Reads the release that a requested rollback leaves.
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get
// Makes the Deployment the owner of its records and templates, if the admission plugin OwnerReferencesPermissionEnforcement requires
// this.
// +kubebuilder:rbac:groups=apps,resources=deployments/finalizers,verbs=update

// revisionAnnotation numbers the ReplicaSets of a Deployment; the deployment controller writes it.
const revisionAnnotation = "deployment.kubernetes.io/revision"

// Kind is the kind Deployment. Its revisions are ReplicaSets.
type Kind struct{}

var (
	_ workload.Kind       = Kind{}
	_ workload.Identifier = Kind{}
	_ workload.Layered    = Kind{}
	_ workload.Paced      = Kind{}
	_ workload.Pinned     = Kind{}
	_ workload.Resumable  = Kind{}
	_ workload.Restorer   = Kind{}
)

// GroupVersionKind returns apps/v1 Deployment.
func (Kind) GroupVersionKind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("Deployment")
}

// Resource returns "deployments".
func (Kind) Resource() string { return "deployments" }

// RecordName returns the name of the Deployment, as documented.
func (Kind) RecordName(deployment string) string { return deployment }

// New returns an empty Deployment.
func (Kind) New() client.Object { return &appsv1.Deployment{} }

// NewList returns an empty list of Deployments.
func (Kind) NewList() client.ObjectList { return &appsv1.DeploymentList{} }

// TemplatePath returns spec.template.
func (Kind) TemplatePath() []string { return []string{"spec", "template"} }

// Layer returns an empty ReplicaSet.
func (Kind) Layer() client.Object { return &appsv1.ReplicaSet{} }

// Rollout returns the progress of a Deployment's rollout.
func (k Kind) Rollout(object client.Object) decide.Rollout {
	deployment, ok := object.(*appsv1.Deployment)
	if !ok {
		return decide.Rollout{}
	}
	return decide.Rollout{
		Desired:         ptr.Deref(deployment.Spec.Replicas, 1),
		MinReadySeconds: deployment.Spec.MinReadySeconds,
		Rolling:         deployment.Status.Replicas > deployment.Status.UpdatedReplicas,
		Paused:          deployment.Spec.Paused,
		Resume:          "run kubectl " + k.ResumeSubcommand(),
		Recreate:        deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType,
	}
}

// Revision returns the revision of a ReplicaSet.
func (Kind) Revision(object client.Object) decide.Revision {
	replicaSet, ok := object.(*appsv1.ReplicaSet)
	if !ok {
		return decide.Revision{}
	}
	revision := workload.ReplicaSetRevision(replicaSet, math.MaxInt64) // not numbered yet: the newest
	if number, err := strconv.ParseInt(replicaSet.Annotations[revisionAnnotation], 10, 64); err == nil {
		revision.Number = number
	}
	if failure := creationFailure(replicaSet); failure != nil {
		revision.Failure = &decide.Failure{Since: failure.LastTransitionTime.Time, Message: "pods can't be created: " + failure.Message}
	}
	return revision
}

// creationFailure returns the condition that pods of a ReplicaSet can't be created; nil if they can.
func creationFailure(replicaSet *appsv1.ReplicaSet) *appsv1.ReplicaSetCondition {
	for i := range replicaSet.Status.Conditions {
		condition := &replicaSet.Status.Conditions[i]
		// The other reason is that pods can't be deleted.
		if condition.Type == appsv1.ReplicaSetReplicaFailure && condition.Status == corev1.ConditionTrue && condition.Reason == "FailedCreate" {
			return condition
		}
	}
	return nil
}

// Revisions lists the ReplicaSets that a Deployment controls.
func (k Kind) Revisions(ctx context.Context, cache client.Reader, deployment client.Object) ([]decide.Revision, error) {
	var list appsv1.ReplicaSetList
	if err := index.Owned(ctx, cache, &list, deployment.GetNamespace(), deployment.GetUID()); err != nil {
		return nil, err
	}
	revisions := make([]decide.Revision, 0, len(list.Items))
	for i := range list.Items {
		revisions = append(revisions, k.Revision(&list.Items[i]))
	}
	return revisions, nil
}

// OwnerOf returns the Deployment of a ReplicaSet or of a pod of a ReplicaSet.
func (k Kind) OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*workload.Owner, error) {
	if pod, isPod := object.(*corev1.Pod); isPod {
		replicaSet := &appsv1.ReplicaSet{}
		found, err := index.Controller(ctx, cache, pod, appsv1.SchemeGroupVersion.WithKind("ReplicaSet"), replicaSet)
		if err != nil || !found {
			return nil, err
		}
		object = replicaSet
	}
	return index.OwnerOf(ctx, cache, k, object)
}

// Paused reports whether a user or the operator has paused the rollout of a Deployment.
func (Kind) Paused(object client.Object) bool {
	switch deployment := object.(type) {
	case *appsv1.Deployment:
		return deployment.Spec.Paused
	case *unstructured.Unstructured:
		paused, _, _ := unstructured.NestedBool(deployment.Object, "spec", "paused")
		return paused
	}
	return false
}

// Pause sets spec.paused.
func (Kind) Pause(client.Object) []workload.Operation {
	return []workload.Operation{{Op: "add", Path: "/spec/paused", Value: true}}
}

// StartsDormant marks that a Deployment that is created paused has no pods.
func (Kind) StartsDormant() {}

// Originals returns nothing: only a rollout that isn't paused is paused.
func (Kind) Originals(client.Object) string { return "" }

// Resume removes spec.paused. With the value false the operator would own the field.
func (Kind) Resume(client.Object, string) []workload.Operation {
	return []workload.Operation{{Op: "remove", Path: "/spec/paused"}}
}

// ResumeSubcommand returns "rollout resume".
func (Kind) ResumeSubcommand() string { return "rollout resume" }
