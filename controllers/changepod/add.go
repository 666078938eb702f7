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

// Package changepod checks batches of pods, and releases as a whole.
package changepod

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/client-go/util/workqueue"
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
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	"github.com/traas-stack/altershield-operator/controllers/platform/retry"
	"github.com/traas-stack/altershield-operator/controllers/platform/tracing"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	concurrency = 20
	// Failed calls of the verifier are repeated after these pauses.
	firstRetry, lastRetry = 200 * time.Millisecond, 5 * time.Second
)

// Reads a batch again that was written meanwhile, or for which the cache is behind.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods,verbs=get
// Writes the progress and the outcome of the check of a batch.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changepods/status,verbs=patch

// Reconciler writes the status of ChangePods.
type Reconciler struct {
	Client client.Client
	// Live reads from the API server where the cache is behind.
	Live     client.Reader
	Recorder events.Recorder
	Metrics  *Metrics
	Clock    clock.PassiveClock
	// Tracer sends spans of what was written; nil where nothing is traced.
	Tracer *tracing.Tracer
	// Verifier checks the batches; nil where there is none.
	Verifier verifier.Verifier
	// FailClosed makes unchecked batches count as failed.
	FailClosed bool

	prepared sync.Once
	newest   *monotonic.Reader
	// accepted has an unsavedAnswer for each key of a ChangePod for which the verifier accepted a call that is not saved yet.
	accepted sync.Map
	backoff  workqueue.TypedRateLimiter[client.ObjectKey]
	// began is when this process became the leader and began to reconcile.
	began time.Time
}

// prepare initializes the private fields, at the first reconcile.
func (r *Reconciler) prepare() {
	r.prepared.Do(func() {
		r.newest = monotonic.NewReader(r.Client, r.Live)
		r.backoff = workqueue.NewTypedItemExponentialFailureRateLimiter[client.ObjectKey](firstRetry, lastRetry)
		r.began = r.Clock.Now()
	})
}

// SetupWithManager adds the reconciler to the manager. It watches ChangeWorkloads because they have the release, its order, whether its
// check after the last step is due, verdicts that arrived before the id of their check was saved, the pods that failed a check of a
// VerificationPolicy, and the checks that hold them.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("changepod").
		For(&appv1alpha1.ChangePod{}).
		Watches(&appv1alpha1.ChangeWorkload{}, handler.EnqueueRequestsFromMapFunc(r.concerned), builder.WithPredicates(checkChanged())).
		WithOptions(controller.Options{MaxConcurrentReconciles: concurrency, RateLimiter: retry.Limiter[ctrl.Request]()}).
		Complete(r)
}

// checkChanged passes changes of a ChangeWorkload that its batches depend on.
func checkChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, isOld := e.ObjectOld.(*appv1alpha1.ChangeWorkload)
			after, isNew := e.ObjectNew.(*appv1alpha1.ChangeWorkload)
			return isOld && isNew && (before.Status.ObservedRelease != after.Status.ObservedRelease ||
				!equality.Semantic.DeepEqual(before.Status.Order, after.Status.Order) ||
				decide.AwaitsOrder(before) != decide.AwaitsOrder(after) || !equality.Semantic.DeepEqual(before.Status.Checks, after.Status.Checks) ||
				!equality.Semantic.DeepEqual(before.Status.Verification, after.Status.Verification) || decide.IsHeld(before) != decide.IsHeld(after) ||
				!equality.Semantic.DeepEqual(before.Status.EarlyVerdicts, after.Status.EarlyVerdicts))
		},
		DeleteFunc: func(event.DeleteEvent) bool { return false },
	}
}

// concerned maps a ChangeWorkload to its batches that are not done, whose pods failed a check that they don't show yet, whose bad verdict of the
// verifier no check judges any more, or for which it keeps a late verdict.
func (r *Reconciler) concerned(ctx context.Context, workload client.Object) []reconcile.Request {
	record, ok := workload.(*appv1alpha1.ChangeWorkload)
	if !ok {
		return nil
	}
	changePods, err := index.ChangePodsOf(ctx, r.Client, workload.GetNamespace(), workload.GetName())
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the ChangePods of a ChangeWorkload", "changeWorkload", client.ObjectKeyFromObject(workload))
		return nil
	}
	var requests []reconcile.Request
	for i := range changePods {
		changePod := &changePods[i]
		_, isLate := decide.EarlyVerdict(record, changePod)
		if isLate || changePod.Status.Status != appv1alpha1.ChangePodExecuteDone || len(decide.ChecksFailed(record, changePod)) > 0 ||
			decide.FailedAtServer(changePod) && decide.IsUnjudged(record, changePod) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(changePod)})
		}
	}
	return requests
}
