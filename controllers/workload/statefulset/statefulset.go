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

// Package statefulset implements the kind StatefulSet, whose revisions are ControllerRevisions.
package statefulset

import (
	"context"
	"encoding/json"
	"math"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/controllerrevision"
)

// Writes the operator's labels and annotations on StatefulSets, and stops the rollout of a failed release.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=patch
// Sets the pod template of a StatefulSet back to an earlier one.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=patch
// Finds out whether a write was refused because the StatefulSet has moved on.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get
// Reads a StatefulSet whole, to keep its pod template or to roll it back: the cache holds none.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get
// Looks whether a StatefulSet is still there before its release is recorded or checked again: the cache may lag.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get
// Reads which release a rollback on request is to leave.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get
// Makes the StatefulSet the owner of its record and of its templates, where the admission plugin OwnerReferencesPermissionEnforcement
// asks for this.
// +kubebuilder:rbac:groups=apps,resources=statefulsets/finalizers,verbs=update

// stopped is the partition at which no pod is updated. At a lower one, pods that a StatefulSet gains by scaling up would be of the new
// revision.
const stopped = math.MaxInt32

// Kind is the kind StatefulSet. Its revisions are ControllerRevisions.
type Kind struct{}

var (
	_ workload.Kind        = Kind{}
	_ workload.Identifier  = Kind{}
	_ workload.Layered     = Kind{}
	_ workload.Paced       = Kind{}
	_ workload.Parker      = Kind{}
	_ workload.Partitioned = Kind{}
	_ workload.PodJudged   = Kind{}
	_ workload.Restorer    = Kind{}
	_ workload.Stateful    = Kind{}
)

// GroupVersionKind returns apps/v1 StatefulSet.
func (Kind) GroupVersionKind() schema.GroupVersionKind {
	return appsv1.SchemeGroupVersion.WithKind("StatefulSet")
}

// Resource returns "statefulsets".
func (Kind) Resource() string { return "statefulsets" }

// RecordName returns the name of the StatefulSet behind "statefulsets.".
func (k Kind) RecordName(statefulSet string) string { return k.Resource() + "." + statefulSet }

// New returns an empty StatefulSet.
func (Kind) New() client.Object { return &appsv1.StatefulSet{} }

// NewList returns an empty list of StatefulSets.
func (Kind) NewList() client.ObjectList { return &appsv1.StatefulSetList{} }

// TemplatePath returns spec.template.
func (Kind) TemplatePath() []string { return []string{"spec", "template"} }

// Layer returns an empty ControllerRevision.
func (Kind) Layer() client.Object { return &appsv1.ControllerRevision{} }

// Rollout reads how far a StatefulSet is with its pods. Pods below a partition that a user has set are not part of the release, also while
// the operator paces it by a higher one. Under a strategy that the operator doesn't know the rollout is only watched, and never counts as one to be stopped.
func (Kind) Rollout(object client.Object) decide.Rollout {
	set, ok := object.(*appsv1.StatefulSet)
	if !ok {
		return decide.Rollout{}
	}
	rollout := decide.Rollout{
		Desired:         ptr.Deref(set.Spec.Replicas, 1),
		First:           int64(startOf(set)),
		MinReadySeconds: set.Spec.MinReadySeconds,
		Paused:          isStopped(set.Spec.UpdateStrategy),
		Resume:          "set its partition to 0",
	}
	rollout.End = rollout.First + int64(rollout.Desired)
	if set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		rollout.Resume = "set its update strategy to RollingUpdate"
	}
	if set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		return rollout
	}
	kept := int32(0)
	if !rollout.Paused || isPaced(set) {
		kept = userPartition(set)
	}
	rollout.First += int64(kept)
	rollout.KeepBack(kept)
	status := &set.Status
	rollout.Rolling = status.UpdatedReplicas < min(rollout.Desired, status.Replicas) || isShrinking(set) && status.UpdatedReplicas < status.Replicas-kept
	return rollout
}

// isShrinking reports whether a StatefulSet is scaled down in the middle of a rollout. Pods that leave are among the updated ones until they are
// deleted: one that waits for each pod deletes none before all that stay are ready.
func isShrinking(set *appsv1.StatefulSet) bool {
	return set.Status.CurrentRevision != set.Status.UpdateRevision && set.Status.Replicas > ptr.Deref(set.Spec.Replicas, 1)
}

// Revision reads a ControllerRevision.
func (k Kind) Revision(object client.Object) decide.Revision { return k.revisions().Revision(object) }

// Revisions lists the ControllerRevisions that a StatefulSet controls.
func (k Kind) Revisions(ctx context.Context, cache client.Reader, statefulSet client.Object) ([]decide.Revision, error) {
	return k.revisions().Revisions(ctx, cache, statefulSet)
}

// OwnerOf returns the StatefulSet of a ControllerRevision or of a pod.
func (k Kind) OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*workload.Owner, error) {
	return k.revisions().OwnerOf(ctx, cache, object)
}

// History lists the ControllerRevisions that a StatefulSet controls, with their templates.
func (k Kind) History(ctx context.Context, live client.Reader, statefulSet client.Object) ([]decide.Revision, error) {
	return k.revisions().History(ctx, live, statefulSet)
}

// Identify returns the ControllerRevision with a version of a StatefulSet.
func (k Kind) Identify(ctx context.Context, live client.Reader, set *unstructured.Unstructured, version string, _ time.Time) (*decide.Revision, error) {
	return k.revisions().Identify(ctx, live, set, version)
}

// Orphans lists the revisions with a version that a deleted StatefulSet left.
func (k Kind) Orphans(ctx context.Context, live client.Reader, created client.Object, version string) ([]decide.Revision, error) {
	return k.revisions().Orphans(ctx, live, created, version)
}

func (k Kind) revisions() controllerrevision.Set {
	return controllerrevision.Set{
		Kind:     k,
		PodLabel: func(revision *appsv1.ControllerRevision) string { return revision.Name },
		Healthy:  isHealthy,
	}
}

// isHealthy reports whether a revision is the last one that was rolled out completely, and each of its remaining pods is ready. None
// has to remain where a newer revision replaces them: a single replica has no old pod beside the new one. Whether one without pods ever
// ran depends on its release: the status names the first revision from the start, and each one while there are no replicas. With a partition
// of a user no revision is rolled out completely, so one counts by its pods.
func isHealthy(object client.Object, revision string, pods controllerrevision.Pods) bool {
	set, ok := object.(*appsv1.StatefulSet)
	if !ok || pods.Ready < pods.There {
		return false
	}
	switch revision {
	case set.Status.UpdateRevision:
		desired := int(ptr.Deref(set.Spec.Replicas, 1))
		return set.Status.CurrentRevision == revision && desired > 0 && pods.Ready >= desired
	case set.Status.CurrentRevision:
		return true
	}
	return pods.There > 0 && userPartition(set) > 0
}

// HealthMayChange reports whether a StatefulSet completed a revision or began to roll out another.
func (Kind) HealthMayChange(before, after client.Object) bool {
	old, isOld := before.(*appsv1.StatefulSet)
	updated, isNew := after.(*appsv1.StatefulSet)
	return isOld && isNew && (old.Status.CurrentRevision != updated.Status.CurrentRevision || old.Status.UpdateRevision != updated.Status.UpdateRevision)
}

// Ordinals reads how the controller of a StatefulSet replaces its pods.
func (Kind) Ordinals(object client.Object) (decide.Ordinals, bool) {
	set, ok := object.(*appsv1.StatefulSet)
	if !ok || set.Spec.UpdateStrategy.Type != appsv1.RollingUpdateStatefulSetStrategyType {
		return decide.Ordinals{}, false
	}
	ordinals := decide.Ordinals{
		Label:     appsv1.ControllerRevisionHashLabelKey,
		Start:     startOf(set),
		Current:   set.Status.CurrentRevision,
		Update:    set.Status.UpdateRevision,
		Replicas:  ptr.Deref(set.Spec.Replicas, 1),
		Partition: partitionOf(set.Spec.UpdateStrategy),
		Ordered:   set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement,
		Observed:  set.Status.ObservedGeneration == set.Generation,
	}
	ordinals.UserPartition = userPartition(set)
	return ordinals, true
}

// startOf returns the first ordinal.
func startOf(set *appsv1.StatefulSet) int32 {
	return ptr.Deref(set.Spec.Ordinals, appsv1.StatefulSetOrdinals{}).Start
}

// Pods lists the pods of a StatefulSet.
func (k Kind) Pods(ctx context.Context, live client.Reader, statefulSet client.Object) ([]corev1.Pod, error) {
	return k.revisions().Pods(ctx, live, statefulSet)
}

// HasData reports whether a StatefulSet has volumeClaimTemplates.
func (Kind) HasData(object client.Object) bool {
	switch set := object.(type) {
	case *appsv1.StatefulSet:
		return len(set.Spec.VolumeClaimTemplates) > 0
	case *unstructured.Unstructured:
		claims, _, _ := unstructured.NestedFieldNoCopy(set.Object, "spec", "volumeClaimTemplates")
		list, _ := claims.([]any)
		return len(list) > 0
	}
	return false
}

// Paused reports whether the controller of a StatefulSet updates no pod by itself: the partition is at its maximum, or the strategy is
// OnDelete.
func (Kind) Paused(object client.Object) bool { return isStopped(strategyOf(object)) }

// Pause sets the partition to its maximum. Pods of the new revision stay; one that is deleted comes back as an old one.
func (Kind) Pause(object client.Object) []workload.Operation {
	if strategyOf(object).RollingUpdate == nil {
		return []workload.Operation{{Op: "add", Path: "/spec/updateStrategy/rollingUpdate", Value: map[string]any{"partition": stopped}}}
	}
	return []workload.Operation{{Op: "add", Path: partitionPath, Value: stopped}}
}

const partitionPath = "/spec/updateStrategy/rollingUpdate/partition"

// originals is what Pause overwrites.
type originals struct {
	Partition int32 `json:"partition"`
}

// Originals returns the partition, unless it is 0.
func (Kind) Originals(object client.Object) string {
	partition := partitionOf(strategyOf(object))
	if partition == 0 {
		return ""
	}
	known, _ := json.Marshal(originals{partition}) // a number always encodes
	return string(known)
}

// Resume restores the partition, or sets it to 0 where no other is known.
func (Kind) Resume(object client.Object, known string) []workload.Operation {
	if partitionOf(strategyOf(object)) != stopped {
		return nil
	}
	return []workload.Operation{{Op: "replace", Path: partitionPath, Value: partitionBefore(known)}}
}

// Let sets the partition below which pods keep the previous revision, the maximum for no pod. It is never below that of the user.
func (Kind) Let(object client.Object, pods int32, known string) []workload.Operation {
	strategy := strategyOf(object)
	if strategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	partition := int32(stopped)
	if pods > 0 {
		partition = max(replicasOf(object)-pods, partitionBefore(known))
	}
	switch {
	case partition == partitionOf(strategy):
		return nil
	case strategy.RollingUpdate == nil:
		return []workload.Operation{{Op: "add", Path: "/spec/updateStrategy/rollingUpdate", Value: map[string]any{"partition": partition}}}
	}
	return []workload.Operation{{Op: "add", Path: partitionPath, Value: partition}}
}

// Yield leaves the partition: it is what users end a hold by.
func (Kind) Yield(client.Object, string) []workload.Operation { return nil }

// PaceFields returns the partition and the type of the strategy, without which there is none.
func (Kind) PaceFields() []string { return []string{"/spec/updateStrategy/type", partitionPath} }

// userPartition returns the partition that a user has set, also while the operator holds or paces the rollout by another one.
func userPartition(set *appsv1.StatefulSet) int32 {
	if partition := partitionOf(set.Spec.UpdateStrategy); partition != stopped && !isPaced(set) {
		return partition
	}
	return partitionBefore(appv1alpha1.OriginalsOf(set.Annotations))
}

func isPaced(set *appsv1.StatefulSet) bool {
	return appv1alpha1.PacedOf(set.Annotations, decide.ReleaseOf(set).Number) != nil
}

// partitionBefore returns the partition that Pause overwrote.
func partitionBefore(known string) int32 {
	var before originals
	if err := json.Unmarshal([]byte(known), &before); err != nil {
		return 0
	}
	return max(before.Partition, 0)
}

func isStopped(strategy appsv1.StatefulSetUpdateStrategy) bool {
	return strategy.Type == appsv1.OnDeleteStatefulSetStrategyType || partitionOf(strategy) == stopped
}

func partitionOf(strategy appsv1.StatefulSetUpdateStrategy) int32 {
	if strategy.RollingUpdate == nil {
		return 0
	}
	return ptr.Deref(strategy.RollingUpdate.Partition, 0)
}

// replicasOf returns the number of pods of a StatefulSet, which may be untyped.
func replicasOf(object client.Object) int32 {
	switch set := object.(type) {
	case *appsv1.StatefulSet:
		return ptr.Deref(set.Spec.Replicas, 1)
	case *unstructured.Unstructured:
		if replicas, found, err := unstructured.NestedInt64(set.Object, "spec", "replicas"); found && err == nil {
			return int32(replicas)
		}
	}
	return 1
}

// strategyOf reads the update strategy of a StatefulSet, which may be untyped. It is empty where the API server wouldn't accept it.
func strategyOf(object client.Object) appsv1.StatefulSetUpdateStrategy {
	switch set := object.(type) {
	case *appsv1.StatefulSet:
		return set.Spec.UpdateStrategy
	case *unstructured.Unstructured:
		return workload.Field[appsv1.StatefulSetUpdateStrategy](set, "spec", "updateStrategy")
	}
	return appsv1.StatefulSetUpdateStrategy{}
}
