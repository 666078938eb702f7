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

// Package declared compiles ControlledKinds to kinds of workloads.
package declared

import (
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Kind is a declared kind. It also implements those of workload.Layered, workload.Pauser, workload.Lister, workload.Partitioned and Parker
// that are declared.
type Kind interface {
	workload.Kind
	workload.Composite
	workload.Identifier
	workload.Judged
	workload.Preparer
	workload.Reversible
	workload.Ruled
	workload.Scoped
	workload.Selective

	// Mode returns the mode of the kind.
	Mode() appv1alpha1.ControlledKindMode
	// Unstampable returns the pod templates whose version label the API server would drop.
	Unstampable() []string
	// DescribePods returns how the pods of a release of a workload are found.
	DescribePods(workload client.Object) string
	// validations returns the rules in the form of a policy.
	validations() []admissionregistrationv1.Validation
	// Slim returns the parts of a workload that the cache holds.
	Slim(object any) (any, error)
}

// Parker is a Kind whose pods can return to the previous revision while the content of the workload stays.
type Parker interface {
	// Park returns the operations after which deleted pods return at the previous revision.
	Park(workload client.Object) []workload.Operation
}

// kind is the common part of all declared kinds.
type kind struct {
	content
	health
	ruling
	definition  Definition
	mode        appv1alpha1.ControlledKindMode
	owned, undo bool
	pods        podSource
	units       listing
	unstampable []string
	// kept are the paths that the cache holds.
	kept []Path
	// lever holds and limits rollouts. Without fields, nothing does.
	lever pacing
	// self is the kind with its optional interfaces.
	self Kind
}

// GroupVersionKind returns the name of the kind in the declared version.
func (k *kind) GroupVersionKind() schema.GroupVersionKind { return k.definition.GroupVersionKind }

// Resource returns the plural.
func (k *kind) Resource() string { return k.definition.Resource }

// RecordName returns <plural>.<name>.
func (k *kind) RecordName(workload string) string { return k.definition.Resource + "." + workload }

// New returns an empty object.
func (k *kind) New() client.Object {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(k.definition.GroupVersionKind)
	return object
}

// NewList returns an empty list.
func (k *kind) NewList() client.ObjectList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(k.definition.GroupVersionKind.GroupVersion().WithKind(k.definition.GroupVersionKind.Kind + "List"))
	return list
}

// TemplatePath returns the fields that lead to the pod template, nil if the content is more than one template.
func (k *kind) TemplatePath() []string {
	if len(k.templates) != 1 || len(k.fields) > 0 {
		return nil
	}
	fields, _ := k.templates[0].fields()
	return fields
}

// Mode returns the mode of the kind.
func (k *kind) Mode() appv1alpha1.ControlledKindMode { return k.mode }

// Namespaced reports whether the workloads are in namespaces.
func (k *kind) Namespaced() bool { return k.definition.Namespaced }

// Controls reports whether an object is under control.
func (k *kind) Controls(object metav1.Object) bool {
	return k.owned || metav1.GetControllerOfNoCopy(object) == nil
}

// Unstampable returns the pod templates whose version label the API server drops.
func (k *kind) Unstampable() []string { return k.unstampable }

// MayUndo reports whether releases can be rolled back.
func (k *kind) MayUndo() bool { return k.undo }

// Rollout returns the state of the rollout of a workload. Pods that a user keeps back by the partition are not part of the release.
func (k *kind) Rollout(object client.Object) decide.Rollout {
	fields := raw(object)
	rollout := decide.Rollout{Desired: k.desired(object)}
	if seconds, known := number(pathOf("spec", "minReadySeconds").find(fields)); known {
		rollout.MinReadySeconds = int32(seconds)
	}
	if len(k.lever.fields) > 0 {
		rollout.Paused, rollout.Resume = k.lever.Paused(object), "change back "+k.lever.names()
	}
	if k.lever.partition != nil && k.pods.by != appv1alpha1.PodsByNone {
		rollout.Kept = int32(k.lever.kept(object, int64(rollout.Desired)))
		rollout.KeepBack(rollout.Kept)
	}
	rolling, known := k.counts.isRolling(fields, int64(rollout.Kept))
	if !known {
		health, _ := k.Health(object)
		rolling = health == workload.HealthInProgress || health == workload.HealthFailed
	}
	rollout.Rolling = rolling
	return rollout
}

// unknownDesired is the number of pods that a workload wants that doesn't say.
const unknownDesired = 1

// desired returns the number of pods that a workload wants, or of its units.
func (k *kind) desired(object client.Object) int32 {
	if k.pods.by == appv1alpha1.PodsByNone {
		return int32(len(k.units.Units(object)))
	}
	if desired, known := number(k.counts.desired.find(raw(object))); known {
		return int32(desired)
	}
	return unknownDesired
}

// Cache holds the workloads with a version label, and of each the fields that are read.
func (k *kind) Cache(stamped labels.Selector) map[client.Object]cache.ByObject {
	return map[client.Object]cache.ByObject{k.New(): {Label: stamped, Transform: k.Slim}}
}

// HoldWith returns the values that hold a rollout and are computed from the workload before the release.
func (k *kind) HoldWith(old, updated map[string]any) (string, error) {
	return k.lever.holdWith(old, updated)
}

// withOptions returns the kind with exactly the optional interfaces that are declared. Each combination needs a type.
func (k *kind) withOptions(parks bool) Kind {
	paces, pauses := k.lever.partition != nil, len(k.lever.fields) > 0
	switch {
	case k.pods.isLayered():
		return k.withLayer(paces, pauses, parks)
	case k.pods.by == appv1alpha1.PodsByNone:
		return k.withUnits(paces, pauses, parks)
	case parks:
		return struct {
			*kind
			*parking
		}{k, &parking{k.lever}}
	case paces:
		return struct {
			*kind
			*pacing
		}{k, &k.lever}
	case pauses:
		return struct {
			*kind
			*holding
		}{k, &k.lever.holding}
	default:
		return k
	}
}

func (k *kind) withLayer(paces, pauses, parks bool) Kind {
	switch {
	case parks:
		return struct {
			*kind
			layered
			*parking
		}{k, layered{}, &parking{k.lever}}
	case paces:
		return struct {
			*kind
			layered
			*pacing
		}{k, layered{}, &k.lever}
	case pauses:
		return struct {
			*kind
			layered
			*holding
		}{k, layered{}, &k.lever.holding}
	default:
		return struct {
			*kind
			layered
		}{k, layered{}}
	}
}

func (k *kind) withUnits(paces, pauses, parks bool) Kind {
	switch {
	case parks:
		return struct {
			*kind
			*listing
			*parking
		}{k, &k.units, &parking{k.lever}}
	case paces:
		return struct {
			*kind
			*listing
			*pacing
		}{k, &k.units, &k.lever}
	case pauses:
		return struct {
			*kind
			*listing
			*holding
		}{k, &k.units, &k.lever.holding}
	default:
		return struct {
			*kind
			*listing
		}{k, &k.units}
	}
}
