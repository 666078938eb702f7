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

package changepod

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Reconcile advances the check of a batch, by an early verdict or by a call of the verifier. It writes the status once, and reports the
// outcome after that.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.prepare()
	changePod := &appv1alpha1.ChangePod{}
	err := r.newest.Get(ctx, request.NamespacedName, changePod)
	if apierrors.IsNotFound(err) || err == nil && changePod.DeletionTimestamp != nil {
		r.forget(request.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading ChangePod %s: %w", request, err)
	}
	scene, err := r.observe(ctx, changePod)
	if err != nil || scene == nil {
		return ctrl.Result{RequeueAfter: orphanWait(changePod)}, err
	}
	now := r.Clock.Now()
	if taken, err := r.takeEarly(ctx, changePod, scene, now); taken || err != nil {
		return ctrl.Result{}, err
	}
	answer := r.ask(ctx, changePod, scene, now)
	before := changePod.DeepCopy()
	if err := r.advance(ctx, changePod, scene, answer, now); err != nil {
		return ctrl.Result{}, err
	}
	r.report(ctx, before, changePod, scene)
	return ctrl.Result{RequeueAfter: r.wait(changePod, answer, now)}, nil
}

// orphanWait returns when to look again for the record of a release that is not in the cache. Either the garbage collector removed it, and
// will remove the batch, or the cache is behind.
func orphanWait(changePod *appv1alpha1.ChangePod) time.Duration {
	if metav1.GetControllerOfNoCopy(changePod) == nil {
		return 0 // it was orphaned on purpose, by --cascade=orphan
	}
	return 5 * time.Second
}

// takeEarly applies a verdict that arrived before the id of its check was saved, if there is one.
func (r *Reconciler) takeEarly(ctx context.Context, changePod *appv1alpha1.ChangePod, scene *scene, now time.Time) (taken bool, err error) {
	if scene.workload == nil {
		return false, nil
	}
	early, found := decide.EarlyVerdict(scene.workload, changePod)
	if !found {
		return false, nil
	}
	err = r.save(ctx, changePod, func(current *appv1alpha1.ChangePod) appv1alpha1.ChangePodStatus {
		status, _ := decide.ApplyVerdict(current, early, now)
		return status
	})
	if err == nil {
		ctrl.LoggerFrom(ctx).Info("Early verdict applied", append(events.Of(scene.workload, "VerdictArrived"), "stage", early.Stage)...)
	}
	return true, err
}

// advance writes the next status of a batch, given the answer.
func (r *Reconciler) advance(ctx context.Context, changePod *appv1alpha1.ChangePod, scene *scene, answer decide.CheckAnswer, now time.Time) error {
	err := r.save(ctx, changePod, func(current *appv1alpha1.ChangePod) appv1alpha1.ChangePodStatus {
		return decide.AdvanceChangePod(current, scene.facts, answer, now)
	})
	if err != nil {
		r.remember(changePod, answer)
		return err
	}
	r.accepted.Delete(client.ObjectKeyFromObject(changePod))
	return nil
}

// save writes the status that next returns, and repeats that after a conflict. Verdicts arrive at any time, from the verifier or from
// users: neither they nor an answer of the verifier must get lost.
func (r *Reconciler) save(
	ctx context.Context, changePod *appv1alpha1.ChangePod, next func(*appv1alpha1.ChangePod) appv1alpha1.ChangePodStatus,
) error {
	attempt := 0
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if attempt++; attempt > 1 {
			var current appv1alpha1.ChangePod // a failed read empties it, and what is remembered of the batch goes by its key
			if err := r.newest.GetLive(ctx, client.ObjectKeyFromObject(changePod), &current); err != nil {
				return err
			}
			*changePod = current
		}
		status := next(changePod)
		if equality.Semantic.DeepEqual(changePod.Status, status) {
			return nil
		}
		before, now := changePod.DeepCopy(), r.Clock.Now()
		changePod.Status = status
		if err := r.Client.Status().Patch(ctx, changePod, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return err
		}
		r.newest.Seen(changePod)
		r.Tracer.Checked(ctx, r.Client, before, changePod, now)
		return nil
	})
	if scope.IgnoreGone(err) != nil {
		return fmt.Errorf("writing the status of ChangePod %s/%s: %w", changePod.Namespace, changePod.Name, err)
	}
	return nil
}

// wait returns the time until the deadline, or until the next call of the verifier.
func (r *Reconciler) wait(changePod *appv1alpha1.ChangePod, answer decide.CheckAnswer, now time.Time) time.Duration {
	key, wait := client.ObjectKeyFromObject(changePod), decide.CheckWait(changePod, now)
	again := answer.Verdict.Again
	if answer.Err != nil && wait > 0 {
		again = r.backoff.When(key)
	} else {
		r.backoff.Forget(key)
	}
	if again > 0 {
		return min(wait, again)
	}
	return wait
}

// report logs a batch that ended other than by a callback, and reports one that should have been checked and was not.
func (r *Reconciler) report(ctx context.Context, before, after *appv1alpha1.ChangePod, scene *scene) {
	if before.Status.Status == after.Status.Status || after.Status.Status != appv1alpha1.ChangePodExecuteDone {
		return
	}
	cause, missed := decide.MissedCheck(after)
	if !missed {
		ctrl.LoggerFrom(ctx).Info("Batch done", events.Of(scene.workload, verifiedReason(after))...)
		return
	}
	r.Metrics.missed.WithLabelValues(after.Status.Message).Inc()
	r.Recorder.Record(events.BatchNotChecked(scene.workload, after.Name, cause))
}

func verifiedReason(changePod *appv1alpha1.ChangePod) string {
	if verified := meta.FindStatusCondition(changePod.Status.Conditions, appv1alpha1.ConditionVerified); verified != nil {
		return verified.Reason
	}
	return ""
}
