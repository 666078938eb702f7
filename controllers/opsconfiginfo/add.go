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

// Package opsconfiginfo maintains the OpsConfigInfo objects: it creates missing settings, and reports in the status of each object whether
// it is in effect. Package settings reads their values.
package opsconfiginfo

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/settings"
)

// Creates missing settings with their defaults.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=opsconfiginfoes,verbs=create,namespace=system
// Writes whether each setting is in effect.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=opsconfiginfoes/status,verbs=patch

// Reconciler creates missing settings and writes the status of OpsConfigInfos.
type Reconciler struct {
	Client   client.Client
	Recorder events.Recorder
	Clock    clock.PassiveClock
	// Namespace is where the operator reads its settings.
	Namespace string
}

// SetupWithManager adds the reconciler to the manager.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("opsconfiginfo").
		For(&appv1alpha1.OpsConfigInfo{}).
		WatchesRawSource(source.Func(r.settings)).
		Complete(r)
}

// settings enqueues every setting when the controller starts, so that missing ones are created.
func (r *Reconciler) settings(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
	for name := range settings.Defaults() {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Namespace: r.Namespace, Name: name}})
	}
	return nil
}
