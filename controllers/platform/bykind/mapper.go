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

package bykind

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Mapper maps other objects to workloads of kinds.
type Mapper struct {
	Kinds  workload.Kinds
	Client client.Reader
}

// Owner maps an object to the workload that controls it.
func (m Mapper) Owner(_ context.Context, object client.Object) []Request {
	owner, kind := ControllerOf(m.Kinds, object)
	if kind == nil {
		return nil
	}
	return []Request{{kind.GroupVersionKind().GroupKind(), client.ObjectKey{Namespace: object.GetNamespace(), Name: owner.Name}}}
}

// ControllerOf returns the reference to the workload that controls an object, and its kind; the kind is nil if that is none of the kinds.
func ControllerOf(kinds workload.Kinds, object client.Object) (*metav1.OwnerReference, workload.Kind) {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return nil, nil
	}
	return owner, kinds.Snapshot().Of(owner)
}

// Namespace maps a namespace to the workloads in it.
func (m Mapper) Namespace(ctx context.Context, namespace client.Object) []Request {
	return m.list(ctx, m.Kinds.Snapshot(), namespace.GetName())
}

// Beside maps an object to the workloads in its namespace.
func (m Mapper) Beside(ctx context.Context, object client.Object) []Request {
	return m.list(ctx, m.Kinds.Snapshot(), object.GetNamespace())
}

// ControlledKind maps a ControlledKind to the workloads of its kind.
func (m Mapper) ControlledKind(ctx context.Context, controlled client.Object) []Request {
	kind := m.Kinds.Snapshot().OfControlledKind(controlled.GetName())
	if kind == nil {
		return nil
	}
	return m.list(ctx, workload.Registry{kind}, "")
}

// All maps any object to all workloads.
func (m Mapper) All(ctx context.Context, _ client.Object) []Request {
	return m.list(ctx, m.Kinds.Snapshot(), "")
}

// list returns the workloads under change control in a namespace, or in all if it is empty.
func (m Mapper) list(ctx context.Context, kinds workload.Registry, namespace string) []Request {
	var requests []Request
	for _, kind := range kinds {
		workloads, err := index.List(ctx, m.Client, kind, client.InNamespace(namespace))
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list the workloads under change control", "kind", kind.GroupVersionKind().Kind, "namespace", namespace)
			continue
		}
		for _, object := range workloads {
			requests = append(requests, Of(kind, object))
		}
	}
	return requests
}
