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
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Native lists the revisions that the workload's own controller keeps; none if the kind has no such history.
func (k *Keeper) Native(ctx context.Context, kind workload.Kind, object client.Object) ([]decide.Revision, error) {
	restorer, ok := kind.(workload.Restorer)
	if !ok {
		return nil, nil
	}
	return restorer.History(ctx, k.Live, object)
}

// Revisions lists the revisions of a workload whose release has a version, as the cache holds them. Where that leaves open which one is that of the
// release, those with the version are as the API server has them. The object may be a slim one from the cache.
func (k *Keeper) Revisions(ctx context.Context, kind workload.Kind, object client.Object, version string) ([]decide.Revision, error) {
	cached, err := kind.Revisions(ctx, k.Client, object)
	if err != nil {
		return nil, err
	}
	layered, ok := kind.(workload.Layered)
	if _, unseen := decide.StampedRevision(cached, version); !ok || !unseen {
		return cached, nil
	}
	live, err := k.ofVersion(ctx, kind, layered, object, version)
	if err != nil {
		return nil, err
	}
	others := slices.DeleteFunc(cached, func(revision decide.Revision) bool { return revision.Version == version })
	return append(others, live...), nil
}

// Stamped returns the revision of the template that was stamped with a version, and whether the newest one has another, as the API server has them:
// see decide.StampedRevision.
func (k *Keeper) Stamped(ctx context.Context, kind workload.Kind, object client.Object, version string) (stamped *decide.Revision, unseen bool, err error) {
	layered, ok := kind.(workload.Layered)
	if !ok {
		return nil, false, nil
	}
	revisions, err := k.ofVersion(ctx, kind, layered, object, version)
	stamped, unseen = decide.StampedRevision(revisions, version)
	return stamped, unseen, err
}

// ofVersion lists the revisions of a workload that carry a version on the API server, with their templates. It doesn't look at their pods, of which
// there may be thousands.
func (k *Keeper) ofVersion(
	ctx context.Context, kind workload.Kind, layered workload.Layered, object client.Object, version string,
) ([]decide.Revision, error) {
	layer, err := apiutil.GVKForObject(layered.Layer(), scheme.Scheme)
	if err != nil {
		return nil, fmt.Errorf("naming the kind %T: %w", layered.Layer(), err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(layer.GroupVersion().WithKind(layer.Kind + "List"))
	if err := k.Live.List(ctx, list, client.InNamespace(object.GetNamespace()), client.MatchingLabels{appv1alpha1.LabelVersion: version}); err != nil {
		return nil, fmt.Errorf("listing the revisions of %s %s: %w", kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(object), err)
	}
	var revisions []decide.Revision
	for i := range list.Items {
		item := &list.Items[i]
		if !metav1.IsControlledBy(item, object) { // another workload may have the same pod template
			continue
		}
		revision, err := workload.StoredRevision(layered, item)
		if err != nil {
			return nil, err
		}
		revisions = append(revisions, revision)
	}
	return revisions, nil
}

// ByVersion returns the contents of the revisions that carry a version. It leaves out a version whose template was changed
// bypassing the webhooks, and never verified.
func ByVersion(kind workload.Kind, revisions []decide.Revision) map[string]workload.Content {
	contents := map[string]workload.Content{}
	for _, revision := range revisions {
		if revision.Version == "" { // from before change control
			continue
		}
		if stamped, unseen := decide.StampedRevision(revisions, revision.Version); !unseen && stamped.Template != nil {
			contents[revision.Version] = workload.TemplateContent(kind, stamped.Template)
		}
	}
	return contents
}

// Contents returns the contents of a workload by version: the kept ones, and those of its own controller.
func (k *Keeper) Contents(ctx context.Context, kind workload.Kind, object client.Object) (map[string]workload.Content, error) {
	native, err := k.Native(ctx, kind, object)
	if err != nil {
		return nil, err
	}
	kept, err := k.List(ctx, kind, object)
	if err != nil {
		return nil, err
	}
	contents := ByVersion(kind, native)
	for _, revision := range kept {
		contents[revision.Version] = revision.Content
	}
	return contents, nil
}

// checkStamped returns an error that wraps ErrNotKept if the content of a workload doesn't belong to its version. If another version
// is computed for the content, as a library update may marshal it differently, the history of its own controller decides.
func (k *Keeper) checkStamped(ctx context.Context, kind workload.Kind, live *unstructured.Unstructured, version string) error {
	content := workload.ContentOf(kind, live.Object)
	if computed, err := workload.VersionOf(kind, content); err == nil && computed == version {
		return nil
	}
	if !workload.IsTemplate(kind) {
		return fmt.Errorf("%w: the content of %s %s/%s doesn't belong to version %s, it was changed without a release: release it again",
			ErrNotKept, live.GetKind(), live.GetNamespace(), live.GetName(), version)
	}
	native, err := k.Native(ctx, kind, live)
	if err != nil {
		return markFinal(err)
	}
	if !ByVersion(kind, native)[version].Equal(content) {
		return fmt.Errorf("%w: the pod template of %s %s/%s doesn't belong to version %s, or no ReplicaSet has it: release it again",
			ErrNotKept, live.GetKind(), live.GetNamespace(), live.GetName(), version)
	}
	return nil
}
