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

package changeworkload

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Verifier hears of the releases whose batches it checks. Errors that wrap decide.ErrRefused are final, others are
// worth another attempt.
type Verifier interface {
	// SwitchedOff says that the verifier doesn't want to be asked: everything passes.
	SwitchedOff() bool
	// Fits returns how many of these pods, from the first on, one batch may hold.
	Fits(pods []appv1alpha1.PodSummary) int
	// OpenOrder announces a release and returns the verifier's own id of it. It may be repeated.
	OpenOrder(ctx context.Context, order decide.Order) (id string, err error)
	// CloseOrder tells how a release ended. It may be repeated.
	CloseOrder(ctx context.Context, order decide.Order, state appv1alpha1.OrderState) error
}

// verifier is what a decision has to know of the verifier.
func (r *Reconciler) verifier() decide.Verifier {
	if r.Verifier == nil {
		return decide.Verifier{}
	}
	return decide.Verifier{Configured: true, SwitchedOff: r.Verifier.SwitchedOff(), FailClosed: r.FailClosed, Fits: r.Verifier.Fits}
}

// order tells the verifier what the decision says once it is the release's turn, and puts its answer into the decision. retry is
// when to try again, 0 where that is not needed.
func (r *Reconciler) order(ctx context.Context, workload *appv1alpha1.ChangeWorkload, decision *decide.Decision) (retry time.Duration, err error) {
	if decision.Order == (decide.OrderPlan{}) {
		return 0, nil
	}
	key := client.ObjectKeyFromObject(workload)
	if !r.turns.take(key) {
		return 0, nil
	}
	defer r.turns.give()
	ctx = r.Tracer.InRelease(ctx, workload)
	order := decide.OrderOf(r.Cluster, workload)
	var answer decide.OrderAnswer
	if decision.Order.Close != "" {
		order = decide.OwedOrder(r.Cluster, workload)
		answer.Err = r.Verifier.CloseOrder(ctx, order, decision.Order.Close)
	} else {
		if err := r.keep(ctx, workload); err != nil {
			return 0, err
		}
		answer.OrderID, answer.Err = r.Verifier.OpenOrder(ctx, order)
	}
	if decision.AnswerOrder(workload, r.verifier(), order, answer, r.Clock.Now()) {
		return r.backoff.When(key), nil
	}
	r.backoff.Forget(key)
	return 0, nil
}

// keep makes sure that the record of a release outlives its order. Records that were created while no verifier was
// configured have no finalizer.
func (r *Reconciler) keep(ctx context.Context, workload *appv1alpha1.ChangeWorkload) error {
	before := workload.DeepCopy()
	if !controllerutil.AddFinalizer(workload, appv1alpha1.FinalizerOrder) {
		return nil
	}
	if err := r.Client.Patch(ctx, workload, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("adding the finalizer of ChangeWorkload %s/%s: %w", workload.Namespace, workload.Name, err)
	}
	return nil
}

// letGo tells the verifier of the end of a release whose record is being deleted, for a while, and then lets the record go.
func (r *Reconciler) letGo(ctx context.Context, workload *appv1alpha1.ChangeWorkload) (ctrl.Result, error) {
	before := workload.DeepCopy()
	if !controllerutil.RemoveFinalizer(workload, appv1alpha1.FinalizerOrder) {
		return ctrl.Result{}, nil
	}
	key := client.ObjectKeyFromObject(workload)
	if state, left := decide.Farewell(before, r.Verifier != nil, r.Clock.Now()); state != "" {
		if !r.turns.take(key) {
			return ctrl.Result{}, nil
		}
		defer r.turns.give()
		order := decide.OwedOrder(r.Cluster, before)
		err := r.Verifier.CloseOrder(r.Tracer.InRelease(ctx, workload), order, state)
		if decide.IsWorthRetrying(err) {
			ctrl.LoggerFrom(ctx).Info("AlterShield Server wasn't told of the end of a release", "order", order.ID, "reason", err.Error())
			if left > 0 {
				return ctrl.Result{RequeueAfter: min(r.backoff.When(key), left)}, nil
			}
		}
	}
	r.backoff.Forget(key)
	err := r.Client.Patch(ctx, workload, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retryWait}, nil
	}
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("removing the finalizer of ChangeWorkload %s: %w", key, err)
	}
	return ctrl.Result{}, nil
}

// tellOrder reports on the Deployment that its release can't be announced, or not yet.
func (r *Reconciler) tellOrder(before, after *appv1alpha1.ChangeWorkload, scene *scene) {
	state, reason := orderState(after), ""
	if state == orderState(before) {
		return
	}
	switch state {
	case appv1alpha1.OrderRefused:
		reason = appv1alpha1.EventOrderRefused
	case appv1alpha1.OrderPending:
		reason = appv1alpha1.EventServerUnavailable
	default:
		return
	}
	r.Recorder.Eventf(scene.deployment, after, corev1.EventTypeWarning, reason, "Verify", "%s",
		decide.EventNote(fmt.Sprintf("release %s: %s", after.Spec.Reversion, decide.OrderTrouble(after))))
}

func orderState(workload *appv1alpha1.ChangeWorkload) appv1alpha1.OrderState {
	if workload.Status.Order == nil {
		return ""
	}
	return workload.Status.Order.State
}
