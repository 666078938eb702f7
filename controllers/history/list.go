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

package history

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// List lists the kept revisions of a workload, newest release first. It leaves out unreadable ones.
func (k *Keeper) List(ctx context.Context, kind workload.Kind, object client.Object) ([]Revision, error) {
	owned, err := k.owned(ctx, kind, object)
	if err != nil {
		return nil, err
	}
	var revisions []Revision
	for i := range owned {
		revision, err := revisionOf(kind, &owned[i])
		if err != nil {
			ctrl.LoggerFrom(ctx).V(1).Info("Skipping an unreadable ControllerRevision", "revision", client.ObjectKeyFromObject(&owned[i]), "reason", err.Error())
			continue
		}
		revisions = append(revisions, revision)
	}
	return revisions, nil
}

// Prune deletes the kept revisions of versions that failed since, and all but the newest retain revisions, among them that of release, but never
// the last one for a release that isn't kept. The error wraps ErrNotKept if a retry doesn't help.
func (k *Keeper) Prune(ctx context.Context, kind workload.Kind, object client.Object, release decide.Release, retain int, failed []string) error {
	// The watch cache of the API server is cheap to read. If it lags, the rest is pruned next time.
	owned, err := k.owned(ctx, kind, object, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: "0"}})
	if err != nil {
		return markFinal(err)
	}
	for _, revision := range prunable(owned, release.Version, retain, failed) {
		if err := k.remove(ctx, revision); err != nil {
			return markFinal(err)
		}
	}
	return nil
}

// owned lists the revisions that a workload controls, newest release first. Revisions with the same label may belong to another
// workload, or to a deleted one of the same name.
func (k *Keeper) owned(ctx context.Context, kind workload.Kind, object client.Object, options ...client.ListOption) ([]appsv1.ControllerRevision, error) {
	var list appsv1.ControllerRevisionList
	options = append(options, client.InNamespace(object.GetNamespace()),
		workload.RecordLabel(kind, object.GetName()))
	if err := k.Live.List(ctx, &list, options...); err != nil {
		return nil, fmt.Errorf("listing the ControllerRevisions of %s %s: %w", kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	owned := slices.DeleteFunc(list.Items, func(revision appsv1.ControllerRevision) bool {
		return !isOwned(&revision, object) || revision.DeletionTimestamp != nil
	})
	slices.SortFunc(owned, func(a, b appsv1.ControllerRevision) int {
		return cmp.Or(cmp.Compare(b.Revision, a.Revision), b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return owned, nil
}
