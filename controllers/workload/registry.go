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

package workload

import (
	"context"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Registry holds kinds under change control. They are found by group and kind, never by version.
type Registry []Kind

// Objects returns an empty object of each kind in the cache of the manager. Declared kinds, which are untyped, have caches of their own.
func (r Registry) Objects() []client.Object {
	objects := make([]client.Object, 0, len(r))
	for _, kind := range r {
		object := kind.New()
		if _, untyped := object.(runtime.Unstructured); !untyped {
			objects = append(objects, object)
		}
	}
	return objects
}

// Layers returns an empty object of each type that is a layer of a kind.
func (r Registry) Layers() []client.Object {
	var layers []client.Object
	for _, kind := range r {
		layered, ok := kind.(Layered)
		if !ok {
			continue
		}
		layer := layered.Layer()
		known := slices.ContainsFunc(layers, func(other client.Object) bool { return reflect.TypeOf(other) == reflect.TypeOf(layer) })
		if !known { // kinds may share one
			layers = append(layers, layer)
		}
	}
	return layers
}

// Types returns an empty object of each type that is in the cache of the manager: of the kinds and of their layers, which may be kinds.
func (r Registry) Types() []client.Object {
	objects := r.Objects()
	return append(objects, slices.DeleteFunc(r.Layers(), func(layer client.Object) bool {
		return slices.ContainsFunc(objects, func(object client.Object) bool { return reflect.TypeOf(object) == reflect.TypeOf(layer) })
	})...)
}

// Run returns the run that an object is, be it a workload or between a workload and its pods; nil if it is none.
func (r Registry) Run(object client.Object) *decide.Run {
	for _, kind := range r {
		if once, ok := kind.(Once); ok && reflect.TypeOf(kind.New()) == reflect.TypeOf(object) {
			return once.Run(object)
		}
		if layered, ok := kind.(Layered); ok && reflect.TypeOf(layered.Layer()) == reflect.TypeOf(object) {
			return layered.Revision(object).Run
		}
	}
	return nil
}

// Of returns the kind in an owner reference, of any version; nil if it isn't under change control.
func (r Registry) Of(owner *metav1.OwnerReference) Kind {
	return r.ByGroupKind(schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind())
}

// NumberedBy returns the controller of a pod that numbers its pods, as a StatefulSet does; nil where it has none.
func (r Registry) NumberedBy(pod *corev1.Pod) *metav1.OwnerReference {
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil {
		return nil
	}
	if _, numbers := r.Of(owner).(Parker); !numbers {
		return nil
	}
	return owner
}

// ByGroupKind returns the kind of this name; nil where it isn't under change control.
func (r Registry) ByGroupKind(name schema.GroupKind) Kind {
	for _, kind := range r {
		if kind.GroupVersionKind().GroupKind() == name {
			return kind
		}
	}
	return nil
}

// Named returns the kind with a name in any case: of the kind, of its resource, or of its ControlledKind, as kinds of several groups may
// share the others. It returns nil if none is under change control.
func (r Registry) Named(name string) Kind {
	for _, kind := range r {
		if strings.EqualFold(name, kind.GroupVersionKind().Kind) || strings.EqualFold(name, kind.Resource()) ||
			strings.EqualFold(name, ControlledKindName(kind)) {
			return kind
		}
	}
	return nil
}

// OwnerOf returns the workload of a pod, or of an object between a workload and its pods; nil if there is none under change control.
func (r Registry) OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*Owner, error) {
	for _, kind := range r {
		if owner, err := kind.OwnerOf(ctx, cache, object); err != nil || owner != nil {
			return owner, err
		}
	}
	return nil, nil
}
