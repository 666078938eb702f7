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

// Package history keeps the contents of verified versions, so that a workload can go back to them. They are kept in
// ControllerRevisions that the workload owns.
package history

import (
	"context"
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Reads the kept pod templates of verified versions.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=get;list
// Keeps the pod template of a verified version.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=create
// Updates the kept pod template of a version that was verified again.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=patch
// Removes the oldest kept pod templates, and those of versions that failed since.
// +kubebuilder:rbac:groups=apps,resources=controllerrevisions,verbs=delete

// ErrNotKept means that the history can't be kept. A retry doesn't help.
var ErrNotKept = errors.New("the template history is not kept")

// Keeper keeps the history of workloads. It reads ControllerRevisions from the API server, as they aren't cached.
type Keeper struct {
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
}

// Keep keeps the content of a verified release, unless the workload has moved on to another one. The object may be a slim one from
// the cache. Keep may be repeated; the error wraps ErrNotKept if that doesn't help.
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
	return markFinal(k.write(ctx, kind, live, revision))
}

// markFinal wraps ErrNotKept around permanent errors of the API server, such as an exceeded quota.
func markFinal(err error) error {
	if scope.IsDenied(err) {
		return fmt.Errorf("%w: %w", ErrNotKept, err)
	}
	return err
}

// read reads the full workload, as the cache holds no templates and our types lack fields. It returns nil if the workload is deleted
// or being deleted.
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

func (k *Keeper) write(ctx context.Context, kind workload.Kind, live *unstructured.Unstructured, revision *appsv1.ControllerRevision) error {
	// The write isn't recorded for later reads: the cache would watch a kind that isn't read from it.
	err := k.Client.Create(ctx, revision, client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return k.writeAgain(ctx, kind, live, revision)
	}
	if err != nil {
		return fmt.Errorf("creating ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return nil
}

// writeAgain updates the existing revision of a version to its newest release. It deletes one that belonged to another workload of the
// same name, if the garbage collector hasn't done so yet, and then returns an error that causes another attempt.
func (k *Keeper) writeAgain(ctx context.Context, kind workload.Kind, live *unstructured.Unstructured, wanted *appsv1.ControllerRevision) error {
	var existing appsv1.ControllerRevision
	key := client.ObjectKeyFromObject(wanted)
	if err := k.Live.Get(ctx, key, &existing); err != nil {
		return fmt.Errorf("reading ControllerRevision %s: %w", key, err)
	}
	switch {
	case existing.DeletionTimestamp != nil: // a finalizer may hold it for long
		return fmt.Errorf("%w: ControllerRevision %s is still being deleted", ErrNotKept, key)
	case !isOwned(&existing, live):
		if err := k.remove(ctx, &existing); err != nil {
			return err
		}
		return fmt.Errorf("ControllerRevision %s belonged to another %s: it was deleted, retry to keep the template", key, live.GetKind())
	}
	if !sameContent(kind, &existing, wanted) { // the data is immutable
		if err := k.remove(ctx, &existing); err != nil {
			return err
		}
		if err := k.Client.Create(ctx, wanted, client.DisableReadYourWritesConsistency); err != nil {
			return fmt.Errorf("recreating ControllerRevision %s: %w", key, err)
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
		return fmt.Errorf("updating ControllerRevision %s: %w", key, err)
	}
	return nil
}

// remove deletes a revision unless it has changed since it was read. The error then causes another decision; otherwise the template of
// a failed version would stay until the next release is verified.
func (k *Keeper) remove(ctx context.Context, revision *appsv1.ControllerRevision) error {
	err := k.Client.Delete(ctx, revision, client.DisableReadYourWritesConsistency,
		client.Preconditions{UID: &revision.UID, ResourceVersion: &revision.ResourceVersion})
	if scope.IgnoreGone(err) != nil {
		return fmt.Errorf("removing ControllerRevision %s/%s: %w", revision.Namespace, revision.Name, err)
	}
	return nil
}
