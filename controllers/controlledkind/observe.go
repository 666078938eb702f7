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

package controlledkind

import (
	"context"
	"fmt"
	"slices"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	"github.com/traas-stack/altershield-operator/controllers/workload/observed"
)

// observe observes a kind. It sets the fault if that fails.
func (r *Reconciler) observe(ctx context.Context, controlled *appv1alpha1.ControlledKind) observation {
	var seen observation
	if controlled.Spec.BuiltIn {
		seen = r.observeBuiltIn(controlled)
	} else {
		seen = r.observeDeclared(controlled)
	}
	if seen.fault != nil || seen.kind == nil || !seen.served {
		return seen
	}
	reviewed, err := r.review(ctx, controlled, seen.kind)
	if err != nil {
		seen.fault = err
		return seen
	}
	seen.missing = reviewed.missing
	if !reviewed.until.IsZero() {
		seen.reviewIn = reviewed.until.Sub(r.Clock.Now())
	}
	holds := controllerutil.ContainsFinalizer(controlled, appv1alpha1.FinalizerKind)
	switch {
	case (holds || workload.IsEnforced(controlled)) && (!seen.declared || seen.synced):
		seen.counts, seen.fault = r.count(ctx, seen.kind)
	case holds:
		seen.counts = controlled.Status.Counts // the last that are known: its fields can't be changed while they hold rollouts
	case workload.IsObserved(controlled) && seen.synced:
		seen.counts, seen.fault = r.countObserved(ctx, observed.Of(seen.kind))
	}
	return seen
}

func (r *Reconciler) observeBuiltIn(controlled *appv1alpha1.ControlledKind) observation {
	kind := r.Kinds.OfControlledKind(controlled.Name)
	if kind == nil {
		return observation{}
	}
	name := kind.GroupVersionKind()
	_, err := r.Mapper.RESTMapping(name.GroupKind(), name.Version)
	if err != nil && !meta.IsNoMatchError(err) {
		return observation{kind: kind, fault: fmt.Errorf("finding out whether %s is served: %w", controlled.Name, err)}
	}
	return observation{kind: kind, served: err == nil, synced: r.Runner.State(controlled.Name).Synced}
}

// observeDeclared observes a declared kind, which the catalog knows.
func (r *Reconciler) observeDeclared(controlled *appv1alpha1.ControlledKind) observation {
	found, _ := r.Declared.of(controlled.Name)
	seen := observation{declared: true, declaration: found, served: found.served != ""}
	if found.kind != nil {
		seen.kind, seen.unstampable = found.kind, found.kind.Unstampable()
		seen.synced = r.Runner.State(controlled.Name).Synced
	}
	return seen
}

// isCompiled reports whether the catalog knows all declared kinds. Until then, the webhooks of one would end.
func (r *Reconciler) isCompiled(list []appv1alpha1.ControlledKind) bool {
	return !slices.ContainsFunc(list, func(controlled appv1alpha1.ControlledKind) bool {
		_, known := r.Declared.of(controlled.Name)
		return !controlled.Spec.BuiltIn && !known
	})
}

// permission is the result of a review.
type permission struct {
	// of is the ControlledKind: one that is created again has the same generation, and may lack its ClusterRole.
	of         types.UID
	generation int64
	// writes reports whether those to write were reviewed.
	writes  bool
	missing []string
	// until is when it is to be reviewed again; zero for never.
	until time.Time
}

// review returns the operator's permissions for a kind. It asks the API server once per generation, and again as long as some are missing.
// Those for a built-in kind come with the operator, those for a declared one may go at any time.
func (r *Reconciler) review(ctx context.Context, controlled *appv1alpha1.ControlledKind, kind workload.Kind) (permission, error) {
	writes := !workload.IsObserved(controlled) || controllerutil.ContainsFinalizer(controlled, appv1alpha1.FinalizerKind)
	known, found := r.permissions[controlled.Name]
	isKnown := found && known.of == controlled.UID && known.generation == controlled.Generation && known.writes == writes
	if isKnown && (known.until.IsZero() || r.Clock.Now().Before(known.until)) {
		return known, nil
	}
	needed, err := r.needs(kind, writes)
	if err != nil {
		return permission{}, err
	}
	known = permission{of: controlled.UID, generation: controlled.Generation, writes: writes}
	for i := range needed {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &needed[i]}}
		if err := r.Direct.Create(ctx, review); err != nil {
			return permission{}, fmt.Errorf("reviewing the operator's permissions for %s: %w", controlled.Name, err)
		}
		if !review.Status.Allowed {
			known.missing = append(known.missing, describe(needed[i]))
		}
	}
	if after := reviewAfter(controlled, len(known.missing) > 0, r.Clock.Now()); after > 0 {
		known.until = r.Clock.Now().Add(after)
	}
	if r.permissions == nil {
		r.permissions = map[string]permission{}
	}
	r.permissions[controlled.Name] = known
	return known, nil
}

// reviewAfter returns after what time permissions for a kind are reviewed again, 0 for never.
func reviewAfter(controlled *appv1alpha1.ControlledKind, isMissing bool, now time.Time) time.Duration {
	switch {
	case isMissing && now.Sub(controlled.CreationTimestamp.Time) < reviewAgain:
		return reviewSoon
	case isMissing:
		return reviewAgain
	case !controlled.Spec.BuiltIn:
		return reviewGranted
	}
	return 0
}

// needs returns the permissions that the operator needs for a kind, in all namespaces. It writes to the workloads unless it only observes them.
func (r *Reconciler) needs(kind workload.Kind, writes bool) ([]authorizationv1.ResourceAttributes, error) {
	var needed []authorizationv1.ResourceAttributes
	add := func(group, resource, subresource string, verbs ...string) {
		for _, verb := range verbs {
			needed = append(needed, authorizationv1.ResourceAttributes{Group: group, Resource: resource, Subresource: subresource, Verb: verb})
		}
	}
	group := kind.GroupVersionKind().Group
	add(group, kind.Resource(), "", "get", "list", "watch")
	if writes {
		add(group, kind.Resource(), "", "patch")
		add(group, kind.Resource(), "finalizers", "update")
	}
	if layered, ok := kind.(workload.Layered); ok {
		layer, err := apiutil.GVKForObject(layered.Layer(), r.Client.Scheme())
		if err != nil {
			return nil, fmt.Errorf("naming the kind %T: %w", layered.Layer(), err)
		}
		mapping, err := r.Mapper.RESTMapping(layer.GroupKind(), layer.Version)
		if err != nil {
			return nil, fmt.Errorf("finding the resource of %s: %w", layer.Kind, err)
		}
		add(layer.Group, mapping.Resource.Resource, "", "list", "watch")
	}
	return needed, nil
}

// describe returns a permission as in "patch statefulsets.apps".
func describe(permission authorizationv1.ResourceAttributes) string {
	resource := permission.Resource + "." + permission.Group
	if permission.Subresource != "" {
		resource += "/" + permission.Subresource
	}
	return permission.Verb + " " + resource
}

// count counts the workloads of a kind in the cache.
func (r *Reconciler) count(ctx context.Context, kind workload.Kind) (appv1alpha1.ControlledKindCounts, error) {
	var counts appv1alpha1.ControlledKindCounts
	workloads, err := index.List(ctx, r.Client, kind)
	if err != nil {
		return counts, fmt.Errorf("counting the workloads of kind %s: %w", kind.GroupVersionKind().Kind, err)
	}
	var records appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &records, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return counts, fmt.Errorf("listing the ChangeWorkloads: %w", err)
	}
	settled := map[types.UID]decide.Release{}
	for i := range records.Items {
		record := &records.Items[i]
		owner := metav1.GetControllerOfNoCopy(record)
		if owner == nil || record.Spec.Observed || !decide.IsSettled(record) {
			continue
		}
		if release := decide.Recorded(record); release.Number > settled[owner.UID].Number {
			settled[owner.UID] = release
		}
	}
	for _, object := range workloads {
		if !workload.Controls(kind, object) {
			continue
		}
		counts.Objects++
		if settled[object.GetUID()] != decide.ReleaseOf(object) {
			counts.Releases++
		}
		if isHeld(object) {
			counts.Held++
		}
	}
	return counts, nil
}

// countObserved counts the workloads of a kind in the mode Observe, which its cache holds of all namespaces.
func (r *Reconciler) countObserved(ctx context.Context, kind workload.Observed) (appv1alpha1.ControlledKindCounts, error) {
	var counts appv1alpha1.ControlledKindCounts
	workloads, err := index.List(ctx, r.Client, kind)
	if err != nil {
		return counts, fmt.Errorf("counting the workloads of kind %s: %w", kind.GroupVersionKind().Kind, err)
	}
	var namespaces corev1.NamespaceList // the cache holds those that are opted in
	if err := r.Client.List(ctx, &namespaces, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
		return counts, fmt.Errorf("listing the namespaces that are opted in: %w", err)
	}
	optedIn := sets.New[string]()
	for i := range namespaces.Items {
		optedIn.Insert(namespaces.Items[i].Name)
	}
	for _, object := range workloads {
		if !optedIn.Has(object.GetNamespace()) || !workload.Controls(kind, object) {
			continue
		}
		counts.Objects++
		records, err := index.RecordsOf(ctx, r.Client, object.GetNamespace(), object.GetUID())
		if err != nil {
			return counts, err
		}
		if newest := decide.Newest(records); newest != nil && !decide.IsSettled(newest) {
			counts.Releases++
		}
	}
	return counts, nil
}

// isHeld reports whether the operator holds or paces the rollout of a workload.
func isHeld(object client.Object) bool {
	return workloadpatch.IsHeld(object) || appv1alpha1.PacedOf(object.GetAnnotations(), decide.ReleaseOf(object).Number) != nil
}
