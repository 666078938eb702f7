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

// Package workload describes what differs between the kinds of workloads. The kinds are in the packages below it, one each.
package workload

import (
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Kind is one kind of workload: it reads objects of the kind, and never writes one.
type Kind interface {
	// GroupVersionKind returns the name of the kind.
	GroupVersionKind() schema.GroupVersionKind
	// Resource returns the name of the kind in permissions.
	Resource() string
	// New returns an empty object, of the type that the cache holds.
	New() client.Object
	// NewList returns an empty list of these objects.
	NewList() client.ObjectList
	// TemplatePath returns the fields that lead to the pod template.
	TemplatePath() []string
	// Rollout reads how far a workload is with its pods.
	Rollout(workload client.Object) decide.Rollout
	// Revisions lists the revisions of a workload that the cache shows, without their templates.
	Revisions(ctx context.Context, cache client.Reader, workload client.Object) ([]decide.Revision, error)
	// OwnerOf follows the owner references of a pod, or of what is between a workload and its pods. It returns nil where they don't
	// lead to a workload of the kind under change control, or not yet: then the event of the missing object comes later.
	OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*Owner, error)
	// Cache returns what the cache holds of the kind. The selector finds objects that carry a version.
	Cache(stamped labels.Selector) map[client.Object]cache.ByObject
}

// Owner is the workload of a pod.
type Owner struct {
	Kind Kind
	// Object is the workload. It is shared with the cache: read it only.
	Object client.Object
	// Version is that of the pod's revision.
	Version string
}

// Layered is a Kind with objects between a workload and its pods, one for each revision, whose events matter.
type Layered interface {
	// Layer returns an empty object of those between.
	Layer() client.Object
	// Revision reads one of them.
	Revision(object client.Object) decide.Revision
}

// Pauser is a Kind whose rollouts can be paused.
type Pauser interface {
	// Paused reports whether the rollout of a workload is paused. The object may be untyped.
	Paused(workload client.Object) bool
	// Pause and Resume return what pauses the rollout of a workload, and what lets it go on.
	Pause(workload client.Object) []Operation
	Resume(workload client.Object) []Operation
}

// Restorer is a Kind whose own controller keeps earlier pod templates. It reads them from the API server. The objects may be
// untyped.
type Restorer interface {
	// History lists the revisions of a workload, with their templates.
	History(ctx context.Context, live client.Reader, workload client.Object) ([]decide.Revision, error)
	// Orphans lists the templates with a version that a deleted workload left, for the workload that is created in its place.
	Orphans(ctx context.Context, live client.Reader, workload client.Object, version string) ([]podtemplate.Template, error)
}

// Template returns the pod template of an untyped workload.
func Template(kind Kind, workload map[string]any) podtemplate.Template {
	return podtemplate.At(workload, kind.TemplatePath()...)
}

// TemplatePointer returns where the pod template of a workload is, as a JSON pointer (RFC 6901).
func TemplatePointer(kind Kind) string { return "/" + strings.Join(kind.TemplatePath(), "/") }

// Operation is one operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}
