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

package declared

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrlcache "sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// maxOwners is how many controller references are followed.
const maxOwners = 5

// OwnerOf returns the workload of a pod, or of an object between a workload and its pods.
func (k *kind) OwnerOf(ctx context.Context, cache client.Reader, object client.Object) (*workload.Owner, error) {
	var owner client.Object
	var err error
	version := object.GetLabels()[appv1alpha1.LabelVersion]
	switch k.pods.by {
	case appv1alpha1.PodsByOwner:
		owner, version, err = k.follow(ctx, cache, object)
	case appv1alpha1.PodsByLabel:
		owner, err = k.named(ctx, cache, object.GetNamespace(), object.GetLabels()[k.pods.key])
	case appv1alpha1.PodsBySelector:
		owner, err = k.selecting(ctx, cache, object)
	}
	if err != nil || owner == nil || !k.Controls(owner) { // the pods of one that is left alone may be those of the object that controls it
		return nil, err
	}
	if k.pods.revision != "" {
		version = ""
		if label, value := k.pods.release(owner); value != "" && object.GetLabels()[label] == value {
			version = owner.GetLabels()[appv1alpha1.LabelVersion]
		}
	}
	return &workload.Owner{Kind: k.self, Object: owner, Version: version}, nil
}

// follow follows the controller references to a workload. The version is that of the ReplicaSet on the way if it has one: the label of a pod may have
// been changed. Other objects have pods of several versions.
func (k *kind) follow(ctx context.Context, cache client.Reader, object client.Object) (client.Object, string, error) {
	version := object.GetLabels()[appv1alpha1.LabelVersion]
	for range maxOwners {
		reference := metav1.GetControllerOfNoCopy(object)
		if reference == nil {
			return nil, "", nil
		}
		named := schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind)
		isWorkload := named.GroupKind() == k.definition.GroupVersionKind.GroupKind()
		owner := k.New()
		if !isWorkload {
			if !slices.Contains(k.pods.through, named.GroupKind()) {
				return nil, "", nil
			}
			owner = layers()[named.GroupKind()].object()
		}
		found, err := index.Controller(ctx, cache, object, named, owner)
		switch {
		case isNotCached(err):
			return nil, "", nil
		case err != nil || !found:
			return nil, "", err
		case isWorkload:
			return owner, version, nil
		}
		if stamped := owner.GetLabels()[appv1alpha1.LabelVersion]; stamped != "" && named.GroupKind() == replicaSets() {
			version = stamped
		}
		object = owner
	}
	return nil, "", nil
}

// isNotCached reports whether a kind was not read because the operator doesn't cache it.
func isNotCached(err error) bool {
	var missing *ctrlcache.ErrResourceNotCached
	return errors.As(err, &missing)
}

func (k *kind) named(ctx context.Context, cache client.Reader, namespace, name string) (client.Object, error) {
	if name == "" {
		return nil, nil
	}
	owner := k.New()
	err := cache.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, owner, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", k.definition.GroupVersionKind.Kind, namespace, name, err)
	}
	return owner, nil
}

// selecting returns the workload whose selector matches a pod, nil if several do.
func (k *kind) selecting(ctx context.Context, cache client.Reader, object client.Object) (client.Object, error) {
	if _, isPod := object.(*corev1.Pod); !isPod {
		return nil, nil
	}
	workloads, err := index.List(ctx, cache, k.self, client.InNamespace(object.GetNamespace()))
	if err != nil {
		return nil, fmt.Errorf("listing the objects of kind %s in namespace %s: %w", k.definition.GroupVersionKind.Kind, object.GetNamespace(), err)
	}
	var owner client.Object
	for _, candidate := range workloads {
		selector, err := k.selectorOf(candidate)
		if err != nil || !selector.Matches(labels.Set(object.GetLabels())) {
			continue // an invalid selector matches nothing
		}
		if owner != nil {
			return nil, nil
		}
		owner = candidate
	}
	return owner, nil
}
