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

// Package workload describes the differences between kinds of workloads. Each kind is a package below it.
package workload

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Kind is a kind of workload. It reads objects of the kind and never writes them.
type Kind interface {
	// GroupVersionKind returns the name of the kind.
	GroupVersionKind() schema.GroupVersionKind
	// Resource returns the name of the resource.
	Resource() string
	// RecordName returns what the records of a workload are named after: the name of a Deployment, as documented, and
	// <plural>.<name> for every other kind, so that workloads of the same name don't share records.
	RecordName(workload string) string
	// New returns an empty object, of the type in the cache.
	New() client.Object
	// NewList returns an empty list of such objects.
	NewList() client.ObjectList
	// TemplatePath returns the path of the pod template.
	TemplatePath() []string
	// Rollout returns the progress of a workload's rollout.
	Rollout(workload client.Object) decide.Rollout
	// Revisions lists the revisions of a workload in the cache, without their templates.
	Revisions(ctx context.Context, cache client.Reader, workload client.Object) ([]decide.Revision, error)
	// OwnerOf follows the owner references of a pod, or of an object between a workload and its pods. It returns nil if they don't
	// lead to a workload of the kind under change control, or not yet: then the event of the missing object follows.
	OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*Owner, error)
	// Cache returns the cache options of the kind. The selector finds objects that carry a version.
	Cache(stamped labels.Selector) map[client.Object]cache.ByObject
}

// Typed has the type of an object: a Kind, or an untyped object.
type Typed interface {
	GroupVersionKind() schema.GroupVersionKind
}

// Owner is the workload of a pod.
type Owner struct {
	Kind Kind
	// Object is the workload. It is shared with the cache and must not be changed.
	Object client.Object
	// Version is the version of the pod's revision.
	Version string
}

// Layered is a Kind with an object for each revision of a workload, between it and its pods or beside them, whose events matter.
type Layered interface {
	// Layer returns an empty object of those.
	Layer() client.Object
	// Revision returns the revision of such an object.
	Revision(object client.Object) decide.Revision
}

// ReplicaSetRevision returns a ReplicaSet as a revision with a number.
func ReplicaSetRevision(replicaSet *appsv1.ReplicaSet, number int64) decide.Revision {
	desired := ptr.Deref(replicaSet.Spec.Replicas, 1)
	return decide.Revision{
		Version: replicaSet.Labels[appv1alpha1.LabelVersion],
		Number:  number,
		Created: replicaSet.CreationTimestamp.Time,
		Gate:    replicaSet.Labels[appv1alpha1.LabelGate],
		Pods:    decide.PodsOf{Owner: replicaSet.UID},
		Healthy: desired > 0 && replicaSet.Status.ReadyReplicas >= desired,
	}
}

// StoredRevision returns the revision of an untyped object of a layer, with its pod template.
func StoredRevision(kind Layered, object *unstructured.Unstructured) (decide.Revision, error) {
	typed := kind.Layer()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed); err != nil {
		return decide.Revision{}, fmt.Errorf("decoding %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	}
	revision := kind.Revision(typed)
	revision.Template = podtemplate.Of(object.Object)
	return revision, nil
}

// Pauser is a Kind whose rollouts can be paused.
type Pauser interface {
	// Paused reports whether the rollout of a workload is paused. The object may be untyped.
	Paused(workload client.Object) bool
	// Pause returns what pauses the rollout of a workload.
	Pause(workload client.Object) []Operation
	// Originals returns in JSON the fields that Pause overwrites, empty where Resume needs none of them.
	Originals(workload client.Object) string
	// Resume returns what lets a paused rollout go on, by the originals from before the pause. There is no operation where the
	// pause has been changed since.
	Resume(workload client.Object, originals string) []Operation
}

// Dormant is a Pauser whose pause also keeps a new workload from starting.
type Dormant interface {
	Pauser
	// StartsDormant is a marker.
	StartsDormant()
}

// Restorer is a Kind whose own controller keeps earlier pod templates, which it reads from the API server. The objects may be untyped.
type Restorer interface {
	// History lists the revisions of a workload, with their templates.
	History(ctx context.Context, live client.Reader, workload client.Object) ([]decide.Revision, error)
	// Orphans lists the revisions with a version that a deleted workload left, for a workload created in its place, with their templates.
	Orphans(ctx context.Context, live client.Reader, workload client.Object, version string) ([]decide.Revision, error)
}

// Scoped is a Kind whose workloads may not be in namespaces.
type Scoped interface {
	// Namespaced reports whether they are.
	Namespaced() bool
}

// Reversible is a Kind whose releases may not be rolled back.
type Reversible interface {
	// MayUndo reports whether releases can be rolled back.
	MayUndo() bool
}

// PodJudged is a Layered Kind whose layer doesn't show the health of a revision: it depends on the pods of the revision, and on the
// status of the workload.
type PodJudged interface {
	// HealthMayChange reports whether an update of a workload may change the health of its revisions.
	HealthMayChange(before, after client.Object) bool
}

// Selecting is a Kind whose workloads show which pods they have, maybe after these are there.
type Selecting interface {
	// PodsChanged reports whether an update of a workload changes which pods belong to it, or to its present release.
	PodsChanged(before, after client.Object) bool
}

// NodeBound is a Pauser with one pod on each node, which has no Originals: a pod that is deleted during a pause comes back with the present
// template.
type NodeBound interface {
	// MaxUnavailable returns how many pods of a workload its controller lets be unavailable at a time during a rollout, at least one.
	MaxUnavailable(workload client.Object) int
	// Pods lists the pods of a workload, read from the API server, with those from before change control.
	Pods(ctx context.Context, live client.Reader, workload client.Object) ([]corev1.Pod, error)
}

// Parker is a Pauser with numbered pods: one that is deleted during a pause comes back with the template from before the release.
type Parker interface {
	// Ordinals returns how the pods of a workload are replaced; false where a user replaces them, or the strategy is unknown.
	Ordinals(workload client.Object) (decide.Ordinals, bool)
	// Pods lists the pods of a workload, read from the API server, with those from before change control.
	Pods(ctx context.Context, live client.Reader, workload client.Object) ([]corev1.Pod, error)
}

// OrdinalsOf returns how the pods of a workload are replaced; false where its release can't be parked.
func OrdinalsOf(kind Kind, workload client.Object) (decide.Ordinals, bool) {
	parker, ok := kind.(Parker)
	if !ok {
		return decide.Ordinals{}, false
	}
	return parker.Ordinals(workload)
}

// Once is a Kind whose workloads are one release each, which is a run. A workload whose content failed its check before is paused at its
// creation.
type Once interface {
	Pauser
	// Run returns the run that a workload is.
	Run(workload client.Object) *decide.Run
}

// Trier is a Pauser that can run a release once, at once, before its schedule goes on.
type Trier interface {
	// Trial returns the object that runs the present release of a workload. Its name depends on the workload and the release alone.
	Trial(workload *unstructured.Unstructured, release int64) (*unstructured.Unstructured, error)
}

// Resumable is a Pauser whose rollouts kubectl resumes by a command of its own.
type Resumable interface {
	// ResumeSubcommand returns the subcommand of kubectl.
	ResumeSubcommand() string
}

// Stateful is a Kind whose pods may have volumes of their own, with data that outlives them.
type Stateful interface {
	// HasData reports whether a workload gives its pods such volumes. The object may be untyped.
	HasData(workload client.Object) bool
}

// HasData reports whether a workload gives its pods volumes of their own.
func HasData(kind Kind, workload client.Object) bool {
	stateful, ok := kind.(Stateful)
	return ok && stateful.HasData(workload)
}

// Namespaced reports whether the workloads of a kind are in namespaces.
func Namespaced(kind Kind) bool {
	scoped, ok := kind.(Scoped)
	return !ok || scoped.Namespaced()
}

// IsHeld reports whether the operator holds the rollout of the present release of a workload.
func IsHeld(kind Kind, workload client.Object) bool {
	return decide.HoldOf(workload, kind.Rollout(workload).Paused, decide.ReleaseOf(workload).Number).IsHeld()
}

// MayUndo reports whether releases of a kind can be rolled back.
func MayUndo(kind Kind) bool {
	reversible, ok := kind.(Reversible)
	return !ok || reversible.MayUndo()
}

// KeepsRevisions reports whether the controller of a kind keeps its pod templates in ControllerRevisions. Pods of such a kind belong to
// a revision by its template, version label included.
func KeepsRevisions(kind Kind) bool {
	layered, ok := kind.(Layered)
	if !ok {
		return false
	}
	_, keeps := layered.Layer().(*appsv1.ControllerRevision)
	return keeps
}

// Template returns the pod template of an untyped workload.
func Template(kind Kind, workload map[string]any) podtemplate.Template {
	return podtemplate.At(workload, kind.TemplatePath()...)
}

// TemplatePointer returns the JSON pointer (RFC 6901) of the pod template of a workload.
func TemplatePointer(kind Kind) string { return "/" + strings.Join(kind.TemplatePath(), "/") }

// Field returns the field of an untyped workload at a path. It is empty where the API server wouldn't accept it.
func Field[T any](workload *unstructured.Unstructured, path ...string) T {
	var field, empty T
	raw, _, _ := unstructured.NestedFieldNoCopy(workload.Object, path...)
	if fields, ok := raw.(map[string]any); !ok || runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &field) != nil {
		return empty
	}
	return field
}

// IsBehind reports whether the controller of an untyped workload has not observed its present generation. Argo Rollouts write it as a string.
func IsBehind(object client.Object) bool {
	untyped, ok := object.(*unstructured.Unstructured)
	if !ok {
		return false
	}
	value, _, _ := unstructured.NestedFieldNoCopy(untyped.Object, "status", "observedGeneration")
	observed, err := strconv.ParseInt(fmt.Sprint(value), 10, 64)
	return err == nil && observed < untyped.GetGeneration()
}

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}
