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

// Package daemonset implements the kind DaemonSet, whose revisions are ControllerRevisions.
package daemonset

import (
	"context"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/controllerrevision"
)

// Writes the operator's labels and annotations on DaemonSets, and stops the rollout of a failed release.
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=patch
// Sets the pod template of a DaemonSet back to an earlier one.
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=patch
// Finds out whether a write was refused because the DaemonSet has moved on.
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get
// Reads a DaemonSet whole, to keep its pod template or to roll it back: the cache holds none.
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get
// Looks whether a DaemonSet is still there before its release is recorded or checked again: the cache may lag.
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get
// Reads which release a rollback on request is to leave.
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=get
// Makes the DaemonSet the owner of its record and of its templates, where the admission plugin OwnerReferencesPermissionEnforcement
// asks for this.
// +kubebuilder:rbac:groups=apps,resources=daemonsets/finalizers,verbs=update

// Kind is the kind DaemonSet. Its revisions are ControllerRevisions.
type Kind struct{}

var (
	_ workload.Kind       = Kind{}
	_ workload.Identifier = Kind{}
	_ workload.Layered    = Kind{}
	_ workload.NodeBound  = Kind{}
	_ workload.Paced      = Kind{}
	_ workload.PodJudged  = Kind{}
	_ workload.Restorer   = Kind{}
)

// GroupVersionKind returns apps/v1 DaemonSet.
func (Kind) GroupVersionKind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("DaemonSet")
}

// Resource returns "daemonsets".
func (Kind) Resource() string { return "daemonsets" }

// RecordName returns the name of the DaemonSet behind "daemonsets.".
func (k Kind) RecordName(daemonSet string) string { return k.Resource() + "." + daemonSet }

// New returns an empty DaemonSet.
func (Kind) New() client.Object { return &appsv1.DaemonSet{} }

// NewList returns an empty list of DaemonSets.
func (Kind) NewList() client.ObjectList { return &appsv1.DaemonSetList{} }

// TemplatePath returns spec.template.
func (Kind) TemplatePath() []string { return []string{"spec", "template"} }

// Layer returns an empty ControllerRevision.
func (Kind) Layer() client.Object { return &appsv1.ControllerRevision{} }

// Rollout reads how far a DaemonSet is with its pods. Its controller counts the nodes; until it has done so for a new DaemonSet, one pod
// is awaited. A pod that stays on a node where no other would come up, as that got a taint, counts while it is there: otherwise it would pass in
// place of another one. An old one is deleted in its turn and doesn't come back. Under a strategy that the operator doesn't know the rollout is only watched, and never counts as one to be stopped.
func (Kind) Rollout(object client.Object) decide.Rollout {
	set, ok := object.(*appsv1.DaemonSet)
	if !ok {
		return decide.Rollout{}
	}
	rollout := decide.Rollout{
		Desired:         set.Status.DesiredNumberScheduled + set.Status.NumberMisscheduled,
		MinReadySeconds: set.Spec.MinReadySeconds,
		Paused:          isStopped(set.Spec.UpdateStrategy),
		Resume:          "set its update strategy to RollingUpdate",
	}
	switch {
	case set.Status.ObservedGeneration == 0:
		rollout.Desired = 1
	case set.Status.DesiredNumberScheduled == 0: // old pods may stay then: maxUnavailable may be a percentage of that
		rollout.Desired, rollout.Idle = 0, "no node is to run one"
	}
	if rollout.Paused || set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType {
		rollout.Rolling = set.Status.CurrentNumberScheduled > set.Status.UpdatedNumberScheduled
	}
	return rollout
}

// Revision reads a ControllerRevision.
func (k Kind) Revision(object client.Object) decide.Revision { return k.revisions().Revision(object) }

// Revisions lists the ControllerRevisions that a DaemonSet controls.
func (k Kind) Revisions(ctx context.Context, cache client.Reader, daemonSet client.Object) ([]decide.Revision, error) {
	return k.revisions().Revisions(ctx, cache, daemonSet)
}

// OwnerOf returns the DaemonSet of a ControllerRevision or of a pod.
func (k Kind) OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*workload.Owner, error) {
	return k.revisions().OwnerOf(ctx, cache, object)
}

// History lists the ControllerRevisions that a DaemonSet controls, with their templates.
func (k Kind) History(ctx context.Context, live client.Reader, daemonSet client.Object) ([]decide.Revision, error) {
	return k.revisions().History(ctx, live, daemonSet)
}

// Pods lists the pods that a DaemonSet controls, with those from before change control.
func (k Kind) Pods(ctx context.Context, live client.Reader, daemonSet client.Object) ([]corev1.Pod, error) {
	return k.revisions().Pods(ctx, live, daemonSet)
}

// Identify returns the ControllerRevision with a version of a DaemonSet.
func (k Kind) Identify(ctx context.Context, live client.Reader, set *unstructured.Unstructured, version string, _ time.Time) (*decide.Revision, error) {
	return k.revisions().Identify(ctx, live, set, version)
}

// Orphans lists the revisions with a version that a deleted DaemonSet left.
func (k Kind) Orphans(ctx context.Context, live client.Reader, created client.Object, version string) ([]decide.Revision, error) {
	return k.revisions().Orphans(ctx, live, created, version)
}

func (k Kind) revisions() controllerrevision.Set {
	return controllerrevision.Set{
		Kind: k,
		PodLabel: func(revision *appsv1.ControllerRevision) string {
			return revision.Labels[appsv1.ControllerRevisionHashLabelKey]
		},
		Healthy: func(_ client.Object, _ string, pods controllerrevision.Pods) bool {
			return pods.There > 0 && pods.Ready == pods.There
		},
	}
}

// HealthMayChange returns false: the health of a revision depends on its pods alone.
func (Kind) HealthMayChange(_, _ client.Object) bool { return false }

// Paused reports whether the controller of a DaemonSet updates no pod by itself: the strategy is OnDelete.
func (Kind) Paused(object client.Object) bool { return isStopped(strategyOf(object)) }

// Pause sets the strategy OnDelete, and leaves the fields of RollingUpdate in place. A pod that is deleted, and one on a new node, still
// comes up with the new template.
func (Kind) Pause(client.Object) []workload.Operation {
	return []workload.Operation{{Op: "replace", Path: typePath, Value: appsv1.OnDeleteDaemonSetStrategyType}}
}

const typePath = "/spec/updateStrategy/type"

// Originals returns nothing: RollingUpdate is the only other strategy, and its fields stay.
func (Kind) Originals(client.Object) string { return "" }

// Resume sets the strategy RollingUpdate. The API server fills in its fields where a user has removed them meanwhile.
func (Kind) Resume(object client.Object, _ string) []workload.Operation {
	if !isStopped(strategyOf(object)) {
		return nil
	}
	return []workload.Operation{{Op: "replace", Path: typePath, Value: appsv1.RollingUpdateDaemonSetStrategyType}}
}

// PaceFields returns the type of the strategy.
func (Kind) PaceFields() []string { return []string{typePath} }

// MaxUnavailable returns maxUnavailable of a DaemonSet, a percentage rounded up as its controller does. A pod that the operator deletes
// can't surge.
func (Kind) MaxUnavailable(object client.Object) int {
	set, ok := object.(*appsv1.DaemonSet)
	if !ok || set.Spec.UpdateStrategy.RollingUpdate == nil {
		return 1
	}
	limit := ptr.Deref(set.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable, intstr.FromInt32(1))
	count, err := intstr.GetScaledValueFromIntOrPercent(&limit, int(set.Status.DesiredNumberScheduled), true)
	if err != nil {
		return 1
	}
	return max(count, 1)
}

func isStopped(strategy appsv1.DaemonSetUpdateStrategy) bool {
	return strategy.Type == appsv1.OnDeleteDaemonSetStrategyType
}

// strategyOf reads the update strategy of a DaemonSet, which may be untyped. It is empty where the API server wouldn't accept it.
func strategyOf(object client.Object) appsv1.DaemonSetUpdateStrategy {
	switch set := object.(type) {
	case *appsv1.DaemonSet:
		return set.Spec.UpdateStrategy
	case *unstructured.Unstructured:
		return workload.Field[appsv1.DaemonSetUpdateStrategy](set, "spec", "updateStrategy")
	}
	return appsv1.DaemonSetUpdateStrategy{}
}
