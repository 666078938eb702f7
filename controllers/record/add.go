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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changerecord"
	"github.com/traas-stack/altershield-operator/controllers/platform/bykind"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
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
// Removes a record that a deleted workload of the same name left.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=delete

// Reconciler creates the ChangeWorkload of each release of the workloads of one kind, and then marks the workload as processed, unless the kind
// is only observed.
type Reconciler struct {
	Kind workload.Kind
	// Kinds are all kinds under change control.
	Kinds  workload.Kinds
	Client client.Client
	// Live reads from the API server, to settle what the cache leaves open.
	Live     client.Reader
	Recorder events.Recorder
	Clock    clock.PassiveClock
	// Agreed returns the time by which pods are judged that don't run: a clock that is ahead must not delay that.
	Agreed func() time.Time
	// Tracer sends spans of what was written; nil where nothing is traced.
	Tracer   *tracing.Tracer
	Settings settings.Reader
	// Records writes the ChangeRecord of a release whose record is renewed; nil where none are written.
	Records *changerecord.Writer
	// Ordered reports whether a verifier gets the end of each release, so that records have a finalizer.
	Ordered bool
}

// Controller records the releases of the workloads of Kinds.
type Controller struct {
	Name   string
	Kinds  bykind.Kinds
	Client client.Reader
	// Reconciler creates the reconciler of a kind.
	Reconciler func(kind workload.Kind) reconcile.Reconciler
}

// SetupWithManager adds the controller to the manager.
func (c *Controller) SetupWithManager(mgr ctrl.Manager) error {
	of := bykind.Mapper{Kinds: c.Kinds, Client: c.Client}
	return bykind.NewController(mgr, c.Name, concurrency).
		WatchesRawSource(c.Kinds.Workloads(mgr, func(workload.Kind) predicate.Predicate { return marksChanged() })).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.TypedEnqueueRequestsFromMapFunc(of.Owner), builder.WithPredicates(deleted())).
		Watches(&corev1.Namespace{}, handler.TypedEnqueueRequestsFromMapFunc(of.Namespace), builder.WithPredicates(scope.CreatedOrDeleted())).
		Watches(&appv1alpha1.ControlledKind{}, handler.TypedEnqueueRequestsFromMapFunc(of.ControlledKind), builder.WithPredicates(scope.ModeChanged())).
		Complete(c.Kinds.Reconciler(c.Reconciler))
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
