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

package changesubscription

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
)

// readAgain is the time after which a workload that no cache has is read again.
const readAgain = idle

// found are the labels of a workload.
type found struct {
	labels labels.Set
	// there is false for a workload that is gone, or that the operator may not read.
	there bool
}

// read are the labels of workloads that no cache has, as the API server had them. The zero value is empty.
type read struct {
	mutex sync.Mutex
	known map[types.UID]recent
}

// recent is what was read recently.
type recent struct {
	found
	until time.Time
}

// labelsOf returns the labels of a workload: those in the cache of its kind, those in the cache of its kind that is only observed, or those that the API
// server has. A leader has no cache of a declared kind in its first seconds, and nothing of a workload that lost its version label.
func (s *search) labelsOf(ctx context.Context, of *appv1alpha1.WorkloadReference, namespace string) (found, error) {
	key, named := client.ObjectKey{Namespace: namespace, Name: of.Name}, schema.FromAPIVersionAndKind(of.APIVersion, of.Kind)
	if kind := s.Kinds.Snapshot().ByGroupKind(of.GroupKind()); kind != nil {
		named = kind.GroupVersionKind()
		switch object, err := s.cached(ctx, kind, key); {
		case err != nil:
			return found{}, fmt.Errorf("reading %s %s for spec.selector: %w", of.Kind, key, err)
		case object != nil:
			return found{object.GetLabels(), true}, nil
		}
	}
	return s.readLabels(ctx, named, key, of.UID)
}

// cached returns a workload as the cache of its kind has it, or that of the kind where it is only observed, nil if neither does.
func (s *search) cached(ctx context.Context, kind workload.Kind, key client.ObjectKey) (client.Object, error) {
	for _, object := range []client.Object{kind.New(), observed.Of(kind).New()} {
		err := s.Client.Get(ctx, key, object, client.UnsafeDisableDeepCopy)
		if err == nil || !apierrors.IsNotFound(err) {
			return object, err
		}
	}
	return nil, nil
}

// readLabels returns the labels of a workload that no cache has.
func (r *Reconciler) readLabels(ctx context.Context, kind schema.GroupVersionKind, key client.ObjectKey, uid types.UID) (found, error) {
	if known, isRecent := r.read.of(uid, r.Clock.Now()); isRecent {
		return known, nil
	}
	var object metav1.PartialObjectMetadata
	object.SetGroupVersionKind(kind)
	err := r.Workloads.Get(ctx, key, &object)
	if err != nil && !apierrors.IsNotFound(err) && !meta.IsNoMatchError(err) && !scope.LacksPermission(err) {
		return found{}, fmt.Errorf("reading %s %s for spec.selector: %w", kind.Kind, key, err)
	}
	seen := found{object.GetLabels(), err == nil}
	r.read.keep(uid, seen, r.Clock.Now())
	return seen, nil
}

func (r *read) of(uid types.UID, now time.Time) (found, bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	known := r.known[uid]
	return known.found, now.Before(known.until)
}

func (r *read) keep(uid types.UID, seen found, now time.Time) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	maps.DeleteFunc(r.known, func(_ types.UID, old recent) bool { return !now.Before(old.until) })
	if r.known == nil {
		r.known = map[types.UID]recent{}
	}
	r.known[uid] = recent{seen, now.Add(readAgain)}
}
