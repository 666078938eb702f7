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
// Package releasegate keeps the ReleaseGate of each namespace, by which new pods of verified versions come without a gate.
package releasegate

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Fills the cache with the ReleaseGates, by which the webhooks of every replica add gates.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=releasegates,verbs=list;watch
// Creates the ReleaseGate of a namespace in which releases are paced, and keeps the verified versions in it.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=releasegates,verbs=create;patch
// Removes the ReleaseGate of a namespace without paced releases.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=releasegates,verbs=delete

// recheck is the interval at which the pods with the gate label are looked for that keep a ReleaseGate.
const recheck = 5 * time.Minute

// Reconciler keeps the ReleaseGate of each namespace.
type Reconciler struct {
	Client client.Client
	// Namespace is the namespace of the operator, whose ReleasePolicies may select other namespaces.
	Namespace string
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("releasegate").
		For(&appv1alpha1.ReleaseGate{}, builder.WithPredicates(named())).
		Watches(&appv1alpha1.ReleasePolicy{}, handler.EnqueueRequestsFromMapFunc(r.ofPolicy), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(ofNamespace), builder.WithPredicates(predicate.LabelChangedPredicate{})).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.EnqueueRequestsFromMapFunc(ofRelease), builder.WithPredicates(verifiedChanged())).
		Complete(r)
}

// named passes the ReleaseGates of the operator's name: others have no effect.
func named() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == appv1alpha1.ReleaseGateName })
}

func in(namespace string) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: namespace, Name: appv1alpha1.ReleaseGateName}}}
}

func ofNamespace(_ context.Context, object client.Object) []reconcile.Request {
	return in(object.GetName())
}

func ofRelease(_ context.Context, object client.Object) []reconcile.Request {
	return in(object.GetNamespace())
}

// ofPolicy maps a policy to its namespace, or to all of them if it is in that of the operator: it may have selected others before.
func (r *Reconciler) ofPolicy(ctx context.Context, object client.Object) []reconcile.Request {
	if object.GetNamespace() != r.Namespace {
		return in(object.GetNamespace())
	}
	var namespaces corev1.NamespaceList
	var gates appv1alpha1.ReleaseGateList
	for _, list := range []client.ObjectList{&namespaces, &gates} {
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to list what a ReleasePolicy concerns", "releasePolicy", client.ObjectKeyFromObject(object))
			return nil
		}
	}
	var requests []reconcile.Request
	for i := range namespaces.Items {
		requests = append(requests, in(namespaces.Items[i].Name)...)
	}
	for i := range gates.Items {
		requests = append(requests, in(gates.Items[i].Namespace)...)
	}
	return requests
}

// verifiedChanged passes releases that begin to be paced or cease to be, or whose verified versions change.
func verifiedChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*appv1alpha1.ChangeWorkload)
		after, also := e.ObjectNew.(*appv1alpha1.ChangeWorkload)
		return ok && also && (decide.IsSettled(before) != decide.IsSettled(after) || before.Status.Status != after.Status.Status ||
			(before.Status.Pace == nil) != (after.Status.Pace == nil) || hasEnded(before) != hasEnded(after) ||
			!equality.Semantic.DeepEqual(before.Status.VerifiedVersions, after.Status.VerifiedVersions) ||
			!equality.Semantic.DeepEqual(gatedFrom(before), gatedFrom(after)))
	}}
}

func hasEnded(record *appv1alpha1.ChangeWorkload) bool {
	return meta.IsStatusConditionFalse(record.Status.Conditions, appv1alpha1.ConditionPaced)
}

// Reconcile creates, updates or deletes the ReleaseGate of a namespace.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var gate appv1alpha1.ReleaseGate
	err := r.Client.Get(ctx, request.NamespacedName, &gate)
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("reading ReleaseGate %s: %w", request, err)
	}
	exists := err == nil
	needed, lookAgain, err := r.isNeeded(ctx, request.Namespace, exists)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case needed:
		return ctrl.Result{RequeueAfter: lookAgain}, r.keep(ctx, request.NamespacedName, &gate, exists)
	case !exists:
		return ctrl.Result{}, nil
	}
	if err := r.Client.Delete(ctx, &gate, client.Preconditions{UID: &gate.UID}); scope.IgnoreGone(err) != nil {
		return ctrl.Result{}, fmt.Errorf("deleting ReleaseGate %s: %w", request, err)
	}
	return ctrl.Result{}, nil
}

// isNeeded reports whether a namespace needs a ReleaseGate: a ReleasePolicy with steps concerns it, or it has one, and a release that is still
// paced or pods with the gate label, whose end is looked for after some time.
func (r *Reconciler) isNeeded(ctx context.Context, namespace string, exists bool) (needed bool, lookAgain time.Duration, err error) {
	optedIn, err := scope.OptedIn(ctx, r.Client, namespace)
	if err != nil {
		return false, 0, err
	}
	if optedIn {
		policies := pace.Reader{Namespaces: r.Client, Policies: r.Client, Namespace: r.Namespace}
		if paces, err := policies.PacesNamespace(ctx, namespace); err != nil || paces {
			return paces, 0, err
		}
	}
	if !exists {
		return false, 0, nil
	}
	var pods corev1.PodList
	err = r.Client.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{appv1alpha1.LabelGate},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return false, 0, fmt.Errorf("listing the pods with a gate in namespace %s: %w", namespace, err)
	}
	if len(pods.Items) > 0 {
		return true, recheck, nil
	}
	var records appv1alpha1.ChangeWorkloadList
	err = r.Client.List(ctx, &records, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return false, 0, fmt.Errorf("listing the ChangeWorkloads in namespace %s: %w", namespace, err)
	}
	return slices.ContainsFunc(records.Items, func(record appv1alpha1.ChangeWorkload) bool { return decide.IsPaced(&record) }), 0, nil
}

// keep creates a ReleaseGate, or updates it if what it lists changed.
func (r *Reconciler) keep(ctx context.Context, key client.ObjectKey, gate *appv1alpha1.ReleaseGate, exists bool) error {
	var records appv1alpha1.ChangeWorkloadList
	if err := r.Client.List(ctx, &records, client.InNamespace(key.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return fmt.Errorf("listing the ChangeWorkloads in namespace %s: %w", key.Namespace, err)
	}
	before, verified := gate.DeepCopy(), Verified(gate.Spec.Verified, records.Items)
	gate.Spec.Verified, gate.Spec.GatedFrom = verified, GatedFrom(verified, records.Items)
	switch {
	case !exists:
		gate.Namespace, gate.Name = key.Namespace, key.Name
		if err := r.Client.Create(ctx, gate); err != nil && !apierrors.IsAlreadyExists(err) && !scope.IsEnding(err) {
			return fmt.Errorf("creating ReleaseGate %s: %w", key, err)
		}
	case !equality.Semantic.DeepEqual(before.Spec, gate.Spec):
		if err := r.Client.Patch(ctx, gate, client.MergeFrom(before)); scope.IgnoreGone(err) != nil {
			return fmt.Errorf("updating ReleaseGate %s: %w", key, err)
		}
	}
	return nil
}
