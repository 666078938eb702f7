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

// Package record records the releases of workloads.
package record

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/settings"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const concurrency = 5

// Creates the record of each release.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=create
// Renews the record of a version that is released again.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=patch
// Removes a record that a deleted Deployment of the same name left.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=delete

// Reconciler creates the ChangeWorkload of each release of the workloads of one kind, and then marks the workload as processed.
type Reconciler struct {
	Kind workload.Kind
	// Kinds are all kinds under change control.
	Kinds  workload.Kinds
	Client client.Client
	// Live reads from the API server, to settle what the cache leaves open.
	Live     client.Reader
	Recorder events.Recorder
	Clock    clock.PassiveClock
	// Tracer sends spans of what was written; nil where nothing is traced.
	Tracer   *tracing.Tracer
	Settings settings.Reader
	// Ordered reports whether a verifier gets the end of each release, so that records have a finalizer.
	Ordered bool
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(workload.Noun(r.Kind)).
		For(r.Kind.New(), builder.WithPredicates(marksChanged())).
		Owns(&appv1alpha1.ChangeWorkload{}, builder.WithPredicates(deleted())).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.inNamespace), builder.WithPredicates(scope.OptInChanged())).
		Watches(&appv1alpha1.ControlledKind{}, handler.EnqueueRequestsFromMapFunc(r.ofKind), builder.WithPredicates(scope.ModeChanged())).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency}).
		Complete(r)
}

// marksChanged skips the status updates of a rollout, which are most events of a workload.
func marksChanged() predicate.Predicate {
	return predicate.Or(predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
}

// deleted passes deletions only: the release of a removed ChangeWorkload is recorded again.
func deleted() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

func (r *Reconciler) inNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	return index.Requests(ctx, r.Client, r.Kind, namespace.GetName())
}

// ofKind returns all workloads when the mode of their kind changes.
func (r *Reconciler) ofKind(ctx context.Context, controlled client.Object) []reconcile.Request {
	if controlled.GetName() != workload.ControlledKindName(r.Kind) {
		return nil
	}
	return index.Requests(ctx, r.Client, r.Kind, "")
}
