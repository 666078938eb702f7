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

// Package controlledkind maintains the ControlledKinds: it creates those of the built-in kinds at the first start, has the webhooks called for
// the kinds that are enforced, and reports in the status of each how far it is under control.
package controlledkind

import (
	"context"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/debounce"
	"github.com/traas-stack/altershield-operator/controllers/platform/dynamic"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Creates the ControlledKinds of the built-in kinds at the first start.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=controlledkinds,verbs=create
// Adds and removes the finalizer that keeps a declared kind until the operator holds none of its rollouts.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=controlledkinds,verbs=patch
// Writes how far each kind is under control.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=controlledkinds/status,verbs=patch
// Finds out at the first start whether there are releases of an earlier installation.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads,verbs=list
// Watches its own webhook configurations: the webhooks of other kinds are called as those of Deployments, with the same CA bundle.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations;validatingwebhookconfigurations,verbs=list;watch
// Reads which ControlledKinds it has created before it creates one: the cache may lag.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=altershieldoperator-kinds-mutating-webhook-configuration,verbs=get
// Has the webhooks called for releases of the kinds that are enforced, and remembers which ControlledKinds it has created.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=mutatingwebhookconfigurations,resourceNames=altershieldoperator-kinds-mutating-webhook-configuration,verbs=update
// Has the webhooks called for releases of the kinds that are enforced.
// +kubebuilder:rbac:groups=admissionregistration.k8s.io,resources=validatingwebhookconfigurations,resourceNames=altershieldoperator-kinds-validating-webhook-configuration,verbs=update

// Names in config/. The webhooks of Deployments are in the first two configurations, those of all other kinds in the last two. The second one
// has that of ControlledKinds, too.
const (
	fixedMutating   = "altershieldoperator-mutating-webhook-configuration"
	fixedValidating = "altershieldoperator-validating-webhook-configuration"
	kindsMutating   = "altershieldoperator-kinds-mutating-webhook-configuration"
	kindsValidating = "altershieldoperator-kinds-validating-webhook-configuration"
)

// The label of all objects of the operator.
const labelName, operatorName = "app.kubernetes.io/name", "altershield-operator"

// firstRetry is the time until a failed reconcile is repeated for the first time. It doubles each time.
const firstRetry = 5 * time.Millisecond

// countsDelay is how long a change of the counts waits for others, so that a release costs no write of its own.
const countsDelay = 5 * time.Second

// Reconciler maintains all ControlledKinds at once, since they share two webhook configurations.
type Reconciler struct {
	// Kinds are the built-in kinds.
	Kinds  workload.Registry
	Client client.Client
	// Live reads from the API server, to settle what the cache leaves open.
	Live client.Reader
	// Direct creates access reviews, which aren't stored. Client can't, as it waits for each of its writes to show in the cache.
	Direct client.Writer
	Mapper meta.RESTMapper
	// Operator is the user name of the operator, for whose own writes the webhooks aren't called.
	Operator string
	Clock    clock.PassiveClock

	// Declared has the declared kinds.
	Declared *Catalog
	// Runner runs the declared kinds that are enforced.
	Runner Runner

	// permissions are the reviewed permissions by the name of the ControlledKind.
	permissions map[string]permission
	// ended are the ControlledKinds that left change control after their kind had run, by name.
	ended map[string]types.UID
}

// Runner runs declared kinds, with a cache and controllers for each.
type Runner interface {
	// Start runs a kind until it is stopped.
	Start(kind workload.Kind) error
	// Stop ends the kind of a ControlledKind and returns once it has ended.
	Stop(controlledKind string)
	// State returns the state of the kind of a ControlledKind.
	State(controlledKind string) dynamic.State
	// Started returns the names of the ControlledKinds whose kinds were started.
	Started() []string
	// Changes returns a source of a request each time that a kind has synced or failed.
	Changes(mgr ctrl.Manager) source.Source
	// Watch returns a source of the workloads of every kind that runs.
	Watch(of func(kind workload.Kind) dynamic.Handling) source.Source
}

// Watch restricts the cache of a manager to the operator's own webhook configurations, as those of others may be many and large, and to the
// names of the CustomResourceDefinitions.
func Watch(options *cache.Options) {
	own := cache.ByObject{Label: labels.SelectorFromSet(labels.Set{labelName: operatorName})}
	options.ByObject[&admissionregistrationv1.MutatingWebhookConfiguration{}] = own
	options.ByObject[&admissionregistrationv1.ValidatingWebhookConfiguration{}] = own
	options.ByObject[definitions()] = cache.ByObject{Transform: scope.Transform(slimDefinition)}
}

// SetupWithManager adds the reconciler to the manager. Every event is mapped to the same request.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	atOnce := handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return []reconcile.Request{{}} })
	controlled := ctrl.NewControllerManagedBy(mgr).
		Named("controlledkind").
		WithOptions(controller.Options{RateLimiter: retries()}).
		WatchesRawSource(source.Func(func(_ context.Context, q queue) error {
			r.Declared.onChange(func() { q.Add(reconcile.Request{}) })
			return nil
		})).
		WatchesRawSource(r.Runner.Changes(mgr)).
		WatchesRawSource(r.Runner.Watch(func(workload.Kind) dynamic.Handling {
			return dynamic.Handling{Handler: debounce.Single(countsDelay), Predicates: []predicate.Predicate{heldChanged()}}
		})).
		Watches(&appv1alpha1.ControlledKind{}, atOnce, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&admissionregistrationv1.MutatingWebhookConfiguration{}, atOnce).
		Watches(&admissionregistrationv1.ValidatingWebhookConfiguration{}, atOnce).
		Watches(&appv1alpha1.ChangeWorkload{}, debounce.Single(countsDelay), builder.WithPredicates(settledChanged()))
	for _, kind := range r.Kinds {
		controlled.Watches(kind.New(), debounce.Single(countsDelay), builder.WithPredicates(heldChanged()))
	}
	return controlled.Complete(r)
}

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// retries returns when a failed reconcile is repeated: as all kinds have the same request, the fault of one must not put off the others for longer
// than the reviews of their permissions.
func retries() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, reviewAgain)
}

// settledChanged passes records that appear, are settled, or go.
func settledChanged() predicate.Predicate {
	settled := func(object client.Object) bool {
		record, ok := object.(*appv1alpha1.ChangeWorkload)
		return ok && decide.IsSettled(record)
	}
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool { return settled(e.ObjectOld) != settled(e.ObjectNew) }}
}

// heldChanged passes workloads that come under change control or go, are released, or whose rollout is held or resumed.
func heldChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return isHeld(e.ObjectOld) != isHeld(e.ObjectNew) || decide.ReleaseOf(e.ObjectOld) != decide.ReleaseOf(e.ObjectNew)
	}}
}
