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

// Package history keeps the pod templates of verified versions, so that a workload can go back to them. They are
// ControllerRevisions that the workload owns, and that are removed with it.
package history

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Finds the pod templates that are kept of verified versions.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list
// Keeps the pod template of a verified version.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=create
// Renews what is kept of a version that was released and verified again.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=patch
// Removes the oldest pod templates, and those of versions that failed since.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=delete

// ErrNotKept means that the history can't be kept as asked for, however often that is tried.
var ErrNotKept = errors.New("the template history is not kept")

// Keeper keeps the history of workloads. Nothing watches ControllerRevisions: it reads them from the API server.
type Keeper struct {
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
}

// Keep keeps the template of a release that was verified: nothing if the workload, which may be a slim one from the cache,
// is no longer at that release. It may be repeated. The error wraps ErrNotKept where there is no point in that.
func (k *Keeper) Keep(ctx context.Context, kind workload.Kind, object client.Object, release decide.Release) error {
	live, err := k.read(ctx, kind, object)
	if err != nil || live == nil || !isAt(live, release) {
		return err
	}
	if err := k.checkStamped(ctx, kind, live, release.Version); err != nil {
		return err
	}
	revision, err := newRevision(kind, live, release)
	if err != nil {
		return err
	}
	return markFinal(k.write(ctx, live, revision))
}

// markFinal tells what the API server refuses each time, by a quota say, from what may work the next time.
func markFinal(err error) error {
	if scope.IsDenied(err) {
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return err
}

// read reads a workload whole: the cache holds no templates, and our types not every field. It returns nil where the workload
// is gone or going.
func (k *Keeper) read(ctx context.Context, kind workload.Kind, object client.Object) (*unstructured.Unstructured, error) {
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(kind.GroupVersionKind())
	err := k.Live.Get(ctx, client.ObjectKeyFromObject(object), live)
	if apierrors.IsNotFound(err) || err == nil && (live.GetUID() != object.GetUID() || live.GetDeletionTimestamp() != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	return live, nil
}

func (k *Keeper) write(ctx context.Context, live *unstructured.Unstructured, revision *appsv1.ControllerRevision) error {
	// Not recorded for later reads: that would make the cache watch a kind that nobody reads from it.
	err := k.Client.Create(ctx, revision, client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return k.writeAgain(ctx, live, revision)
	}
	if err != nil {
		return fmt.Errorf("creating ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return nil
}

// writeAgain makes what is kept of a version already that of its newest release. What another workload of the same name
// left goes first, if the garbage collector hasn't removed it yet: then the error asks for another attempt.
func (k *Keeper) writeAgain(ctx context.Context, live *unstructured.Unstructured, wanted *appsv1.ControllerRevision) error {
	var existing appsv1.ControllerRevision
	key := client.ObjectKeyFromObject(wanted)
	if err := k.Live.Get(ctx, key, &existing); err != nil {
		return fmt.Errorf("reading ControllerRevision %s: %w", key, err)
	}
	switch {
	case existing.DeletionTimestamp != nil: // a finalizer holds it, for who knows how long
		return fmt.Errorf("%w: ControllerRevision %s is still being deleted", ErrNotKept, key)
	case !metav1.IsControlledBy(&existing, live):
		if err := k.remove(ctx, &existing); err != nil {
			return err
		}
		return fmt.Errorf("ControllerRevision %s was not of this %s: it was removed, and the template is to be kept once more", key, live.GetKind())
	}
	if !sameContent(&existing, wanted) { // it can't be changed
		if err := k.remove(ctx, &existing); err != nil {
			return err
		}
		if err := k.Client.Create(ctx, wanted, client.DisableReadYourWritesConsistency); err != nil {
			return fmt.Errorf("creating ControllerRevision %s anew: %w", key, err)
		}
		return nil
	}
	before := existing.DeepCopy()
	existing.Revision = wanted.Revision
	existing.Labels = labels.Merge(existing.Labels, wanted.Labels)
	existing.Annotations = labels.Merge(existing.Annotations, wanted.Annotations)
	if equality.Semantic.DeepEqual(before, &existing) {
		return nil
	}
	if err := k.Client.Patch(ctx, &existing, client.MergeFrom(before), client.DisableReadYourWritesConsistency); err != nil {
		return fmt.Errorf("renewing ControllerRevision %s: %w", key, err)
	}
	return nil
}

// remove leaves a revision alone that somebody changed meanwhile: the error asks for another decision. A template of a version
// that failed would stay otherwise until the next release is verified.
func (k *Keeper) remove(ctx context.Context, revision *appsv1.ControllerRevision) error {
	err := k.Client.Delete(ctx, revision, client.DisableReadYourWritesConsistency,
		client.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return nil
}
