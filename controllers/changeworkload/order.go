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

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// order makes the decided call of the verifier once it is the release's turn, and applies the answer to the decision. retry is the time
// until the next attempt, 0 where none is needed.
func (r *Reconciler) order(ctx context.Context, workload *appv1alpha1.ChangeWorkload, decision *decide.Decision) (retry time.Duration, err error) {
	announcer, ok := r.Verifier.(verifier.Announcer)
	if !ok || decision.Order == (decide.OrderPlan{}) {
		return 0, nil
	}
	key := client.ObjectKeyFromObject(workload)
	if !r.turns.take(key) {
		return 0, nil
	}
	defer r.turns.give()
	ctx = r.Tracer.InRelease(ctx, workload)
	var release verifier.Release
	var answer decide.OrderAnswer
	if decision.Order.Close != "" {
		release = ordered(announcer, decide.OwedRelease(workload))
		answer.Err = announcer.Close(ctx, release, decision.Order.Close)
	} else {
		if err := r.keep(ctx, workload); err != nil {
			return 0, err
		}
		release = ordered(announcer, decide.RecordedRelease(workload))
		release.Pass = decision.Status.BreakGlass
		answer.OrderID, answer.Err = announcer.Open(ctx, release)
	}
	if decision.AnswerOrder(workload, r.verifier(), release, answer, r.Clock.Now()) {
		return r.backoff.When(key), nil
	}
	r.backoff.Forget(key)
	return 0, nil
}

// ordered returns a release with its order, which may not be open yet.
func ordered(announcer verifier.Announcer, release verifier.Release) verifier.Release {
	if release.Order == "" {
		release.Order = announcer.OrderID(release)
	}
	return release
}

// verifier returns the state of the verifier for decisions.
func (r *Reconciler) verifier() verifier.State { return verifier.StateOf(r.Verifier, r.FailClosed) }

// keep adds the finalizer by which the record of a release outlives its order. Records that were created while no verifier was
// configured have none.
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

// letGo closes the order of a release whose record is being deleted, and removes the finalizer then or after some time.
func (r *Reconciler) letGo(ctx context.Context, workload *appv1alpha1.ChangeWorkload) (ctrl.Result, error) {
	before := workload.DeepCopy()
	if !controllerutil.RemoveFinalizer(workload, appv1alpha1.FinalizerOrder) {
		return ctrl.Result{}, nil
	}
	key := client.ObjectKeyFromObject(workload)
	announcer, announced := r.Verifier.(verifier.Announcer)
	if state, left := decide.Farewell(before, announced, r.Clock.Now()); state != "" {
		if !r.turns.take(key) {
			return ctrl.Result{}, nil
		}
		defer r.turns.give()
		release := ordered(announcer, decide.OwedRelease(before))
		err := announcer.Close(r.Tracer.InRelease(ctx, workload), release, state)
		if decide.IsWorthRetrying(err) {
			ctrl.LoggerFrom(ctx).Info("Failed to close a change order", "verifier", announcer.Name(), "order", release.Order, "reason", err.Error())
			if left > 0 {
				return ctrl.Result{RequeueAfter: min(r.backoff.When(key), left)}, nil
			}
		}
	}
	r.backoff.Forget(key)
	err := r.Client.Patch(ctx, workload, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if scope.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retryWait}, nil
	}
	if scope.IgnoreGone(err) != nil {
		return ctrl.Result{}, fmt.Errorf("removing the finalizer of ChangeWorkload %s: %w", key, err)
	}
	return ctrl.Result{}, nil
}

// reportOrder writes the Event about an order that was refused, or is not accepted yet.
func (r *Reconciler) reportOrder(before, after *appv1alpha1.ChangeWorkload, scene *scene) {
	state := orderState(after)
	if state == orderState(before) {
		return
	}
	switch state {
	case appv1alpha1.OrderRefused:
		r.Recorder.Record(events.OrderRefused(scene.owner, after))
	case appv1alpha1.OrderPending:
		r.Recorder.Record(events.ServerUnavailable(scene.owner, after))
	}
}

func orderState(workload *appv1alpha1.ChangeWorkload) appv1alpha1.OrderState {
	if workload.Status.Order == nil {
		return ""
	}
	return workload.Status.Order.State
}
