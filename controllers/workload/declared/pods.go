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
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// podSource defines how the pods of a workload are found.
type podSource struct {
	by      appv1alpha1.PodsBy
	through []schema.GroupKind
	// key is the label with the name of the workload.
	key string
	// selector leads to the label selector.
	selector Path
	// revision is the label that distinguishes pods of different releases, and current leads to its value. If it is empty, the version
	// label is used.
	revision string
	current  Path
}

// isLayered reports whether there is a ReplicaSet for each release.
func (s podSource) isLayered() bool {
	return slices.Equal(s.through, []schema.GroupKind{replicaSets()})
}

// release returns the label of the pods of the current release, and its value. Until the controller of a workload has observed its present
// generation, its status may have that of the release before.
func (s podSource) release(object client.Object) (label, value string) {
	if s.revision == "" {
		return appv1alpha1.LabelVersion, object.GetLabels()[appv1alpha1.LabelVersion]
	}
	if workload.IsBehind(object) {
		return s.revision, ""
	}
	value, _ = s.current.find(raw(object)).(string)
	return s.revision, value
}

// LabelsPods reports whether the operator sets the version label on pods, as their controller doesn't: it has a label of its own by release.
func (k *kind) LabelsPods() bool { return k.pods.by != appv1alpha1.PodsByNone && k.pods.revision != "" }

// Revisions returns the revision of the current release, and earlier ones only if there is a ReplicaSet for each.
func (k *kind) Revisions(ctx context.Context, cache client.Reader, object client.Object) ([]decide.Revision, error) {
	if k.pods.isLayered() {
		return layered{}.revisions(ctx, cache, object)
	}
	label, value := k.pods.release(object)
	if k.pods.by == appv1alpha1.PodsByNone || value == "" {
		return nil, nil
	}
	release := decide.ReleaseOf(object)
	revision := decide.Revision{Version: release.Version, Number: release.Number, Created: object.GetCreationTimestamp().Time}
	if record, found := appv1alpha1.ReleaseRecordOf(object.GetAnnotations()); found && record.Release == release.Number {
		revision.Created = record.Time.Time
	}
	ready, _ := number(k.counts.ready.find(raw(object)))
	desired, _ := number(k.counts.desired.find(raw(object)))
	revision.Healthy = desired > 0 && ready >= desired
	pods, err := k.podsOf(ctx, cache, object)
	if err != nil {
		return nil, err
	}
	pods.Label, pods.Value = label, value
	revision.Pods = pods
	return []decide.Revision{revision}, nil
}

// Identify returns the revision of the current release of a workload: by the label of its controller if it is declared, and otherwise with all pods
// that were created since the release began.
func (k *kind) Identify(
	ctx context.Context, live client.Reader, object *unstructured.Unstructured, version string, since time.Time,
) (*decide.Revision, error) {
	if k.pods.by == appv1alpha1.PodsByNone {
		return nil, nil
	}
	pods, err := k.podsOf(ctx, index.Live(live), object)
	if err != nil {
		return nil, err
	}
	if k.pods.revision == "" {
		pods.Since = since
	} else if pods.Label, pods.Value = k.pods.release(object); pods.Value == "" {
		return nil, nil
	}
	return &decide.Revision{Version: version, Created: since, Pods: pods}, nil
}

// podsOf returns the criteria for the pods of a workload, without those of the release.
func (k *kind) podsOf(ctx context.Context, cache client.Reader, object client.Object) (decide.PodsOf, error) {
	if k.pods.by != appv1alpha1.PodsByOwner {
		selector, err := k.selectorOf(object)
		return decide.PodsOf{Selector: selector}, err
	}
	found := decide.PodsOf{Owner: object.GetUID()}
	owners := []types.UID{object.GetUID()}
	for range maxOwners {
		below, err := k.between(ctx, cache, object.GetNamespace(), owners)
		if err != nil || len(below) == 0 {
			return found, err
		}
		found.Through, owners = append(found.Through, below...), below
	}
	return found, nil
}

// between lists the objects between a workload and its pods that owners control.
func (k *kind) between(ctx context.Context, cache client.Reader, namespace string, owners []types.UID) ([]types.UID, error) {
	var found []types.UID
	for _, through := range k.pods.through {
		for _, owner := range owners {
			list := layers()[through].list()
			if err := index.Owned(ctx, cache, list, namespace, owner); isNotCached(err) {
				continue
			} else if err != nil {
				return nil, err
			}
			if err := meta.EachListItem(list, func(item runtime.Object) error {
				object, err := meta.Accessor(item)
				if err == nil {
					found = append(found, object.GetUID())
				}
				return err
			}); err != nil {
				return nil, fmt.Errorf("reading the objects that %s controls: %w", owner, err)
			}
		}
	}
	return found, nil
}

// PodsChanged reports whether an update of a workload changes which pods belong to it, or to its present release.
func (k *kind) PodsChanged(before, after client.Object) bool {
	if k.pods.revision != "" {
		_, was := k.pods.release(before)
		if _, is := k.pods.release(after); was != is {
			return true
		}
	}
	selects := k.pods.by == appv1alpha1.PodsBySelector
	return selects && !equality.Semantic.DeepEqual(k.pods.selector.find(raw(before)), k.pods.selector.find(raw(after)))
}

// DescribePods describes how the pods of the current release of a workload are found.
func (k *kind) DescribePods(object client.Object) string {
	label, value := k.pods.release(object)
	ofRelease := fmt.Sprintf("the label %s=%s", label, value)
	if value == "" {
		ofRelease = fmt.Sprintf("the label %s, whose value isn't known yet", label)
	}
	switch k.pods.by {
	case appv1alpha1.PodsByLabel:
		return fmt.Sprintf("those with the label %s=%s, limited to the release by %s", k.pods.key, object.GetName(), ofRelease)
	case appv1alpha1.PodsBySelector:
		return fmt.Sprintf("those that %s selects, limited to the release by %s", k.pods.selector, ofRelease)
	case appv1alpha1.PodsByNone:
		return "none"
	default:
		through := make([]string, len(k.pods.through))
		for i, named := range k.pods.through {
			through[i] = named.String()
		}
		return fmt.Sprintf("those that it controls, directly or through %s, limited to the release by %s", strings.Join(through, ", "), ofRelease)
	}
}

// selectorOf returns the selector of the pods of a workload.
func (k *kind) selectorOf(object client.Object) (labels.Selector, error) {
	if k.pods.by == appv1alpha1.PodsByLabel {
		return labels.SelectorFromSet(labels.Set{k.pods.key: object.GetName()}), nil
	}
	var declared metav1.LabelSelector
	switch value := k.pods.selector.find(raw(object)).(type) {
	case string: // as in status.selector, for the subresource scale
		if value == "" {
			return labels.Nothing(), nil // it would match every pod of the namespace
		}
		selector, err := labels.Parse(value)
		if err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", k.pods.selector, client.ObjectKeyFromObject(object), err)
		}
		return selector, nil
	case map[string]any:
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(value, &declared); err != nil {
			return nil, fmt.Errorf("reading %s of %s: %w", k.pods.selector, client.ObjectKeyFromObject(object), err)
		}
	}
	if len(declared.MatchLabels)+len(declared.MatchExpressions) == 0 {
		return labels.Nothing(), nil
	}
	selector, err := metav1.LabelSelectorAsSelector(&declared)
	if err != nil {
		return nil, fmt.Errorf("reading %s of %s: %w", k.pods.selector, client.ObjectKeyFromObject(object), err)
	}
	return selector, nil
}
