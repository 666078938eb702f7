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

package runnable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

// retryWait is how long to wait after a conflict.
const retryWait = 50 * time.Millisecond

// Reconcile rolls a workload back where that is decided.
func (r *Rollback) Reconcile(ctx context.Context, key ctrl.Request) (ctrl.Result, error) {
	object := r.Kind.New()
	err := r.Client.Get(ctx, key.NamespacedName, object)
	if apierrors.IsNotFound(err) {
		r.obstacles.forget(key.NamespacedName)
		r.stops.forget(key.NamespacedName)
		r.policies.forget(key.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading %s %s: %w", r.Kind.GroupVersionKind().Kind, key, err)
	}
	if object.GetDeletionTimestamp() != nil {
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, object)
	if err != nil {
		return ctrl.Result{}, err
	}
	if r.obstacles.warn(object, seen.Unusable) {
		r.Recorder.Record(events.StuckAfterUnusable(object, seen.Unusable, seen.Patience.Threshold))
	}
	decision := Decide(seen)
	wait := decision.Wait
	for _, request := range decision.Requests {
		request.Kind, request.Workload = r.Kind, key.NamespacedName
		over, again, err := r.try(ctx, object, seen, request)
		if scope.IsConflict(err) {
			return ctrl.Result{RequeueAfter: retryWait}, nil
		}
		if over || err != nil {
			return ctrl.Result{}, err
		}
		wait = decide.Sooner(wait, again)
	}
	if decision.Delete {
		again, err := r.delete(ctx, object, seen)
		if scope.IsConflict(err) {
			again, err = retryWait, nil
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		wait = decide.Sooner(wait, again)
	}
	if decision.Forgive != "" {
		if err := r.forgive(ctx, object, seen.Rollbacks, decision.Forgive); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// try makes one rollback. over reports whether to stop trying others, because it was made or the workload has changed; again is the time
// until the next attempt, 0 where an event brings it.
func (r *Rollback) try(
	ctx context.Context, object client.Object, seen Observation, request rollback.Request,
) (over bool, again time.Duration, err error) {
	asked := attempt{object.GetUID(), seen.Release, purposeOf(request)}
	if obstacle := rollback.ObstacleOf(object, seen.OptedIn, request); obstacle != nil { // needs no call
		return r.stop(ctx, object, asked, request, obstacle)
	}
	if left := r.obstacles.backoff(request.Workload, asked, seen.WayBack, r.Clock.Now()); left > 0 {
		return false, left, nil
	}
	if request.Park {
		err = r.Roller.Park(ctx, request)
	} else {
		_, err = r.Roller.RollBack(ctx, request)
	}
	var obstacle *rollback.Obstacle
	var notStuck *rollback.NotStuck
	switch {
	case errors.As(err, &obstacle):
		return r.stop(ctx, object, asked, request, obstacle)
	case errors.As(err, &notStuck):
		return false, notStuck.Again, nil
	case apierrors.IsNotFound(err):
		return true, 0, nil
	}
	return err == nil, 0, err
}

// stop reports an obstacle, once. A request of a user is turned down each time, unless that is denied, too. That of a ReleasePolicy stays while its
// rollback is denied or reverted: nobody would repeat it.
func (r *Rollback) stop(
	ctx context.Context, object client.Object, asked attempt, request rollback.Request, obstacle *rollback.Obstacle,
) (over bool, again time.Duration, err error) {
	if obstacle.Reason == rollback.ObstacleMovedOn {
		return true, 0, nil // its event brings the next decision
	}
	stays := request.Reason != appv1alpha1.RollbackRequested || request.ByPolicy() && isDenied(obstacle.Reason)
	news := !stays && obstacle.Reason == rollback.ObstacleReverted // that rollback took the request away
	if !stays && !news {
		if news, err = r.turnDown(ctx, object, request); err != nil && !scope.IsDenied(err) {
			return false, 0, err
		}
	}
	if stays || err != nil {
		news = r.obstacles.add(request.Workload, asked, obstacle.Reason, r.Clock.Now())
		if endsUnseen(obstacle.Reason) {
			again = unseenTime
		}
	}
	if news {
		r.Metrics.obstacles.WithLabelValues(r.Kind.GroupVersionKind().Kind, request.CountedAs()).Inc()
		report := events.ReleaseNotRolledBack
		if request.Park {
			report = events.ReleaseNotParked
		}
		r.Recorder.Record(report(object, asked.release, obstacle, request.Message))
	}
	return false, again, err
}

// delete deletes the next pod of a parked release, the next ones on the first nodes of a release, or one that keeps the workload from going
// on. It reports an obstacle once, and returns when to try again.
func (r *Rollback) delete(ctx context.Context, object client.Object, seen Observation) (again time.Duration, err error) {
	key, asked := client.ObjectKeyFromObject(object), attempt{object.GetUID(), seen.Release, deletion}
	obstacle := rollback.DataObstacleOf(object, r.Kind) // needs no call
	if obstacle == nil {
		if left := r.obstacles.backoff(key, asked, false, r.Clock.Now()); left > 0 {
			return left, nil
		}
		again, err = r.Roller.DeletePod(ctx, rollback.PodRequest{
			Kind: r.Kind, Workload: key, From: seen.Release, Failed: seen.Failures != "", Park: seen.Parked, Turn: seen.Turn, Patience: seen.Patience,
		})
	}
	if obstacle == nil && !errors.As(err, &obstacle) {
		return again, err
	}
	if r.obstacles.add(key, asked, obstacle.Reason, r.Clock.Now()) {
		r.Recorder.Record(events.PodNotDeleted(object, seen.Release, obstacle))
	}
	return obstacleTime, nil
}

// turnDown removes a request that can't be met, unless it has changed: otherwise it would roll a later release back.
func (r *Rollback) turnDown(ctx context.Context, object client.Object, request rollback.Request) (done bool, err error) {
	change := workloadpatch.Change{
		Unannotate: []string{appv1alpha1.AnnotationRollback}, Given: map[string]string{appv1alpha1.AnnotationRollback: request.Annotation},
	}
	if _, present := object.GetAnnotations()[appv1alpha1.AnnotationRollbackBy]; present {
		change.Unannotate = append(change.Unannotate, appv1alpha1.AnnotationRollbackBy)
	}
	return workloadpatch.Apply(ctx, r.Client, r.Live, r.Kind, object, change)
}

// forgive drops the rollback of a version that was verified afterwards.
func (r *Rollback) forgive(ctx context.Context, object client.Object, known []appv1alpha1.Rollback, version string) error {
	left := slices.DeleteFunc(slices.Clone(known), func(rollback appv1alpha1.Rollback) bool { return rollback.Version == version })
	change := workloadpatch.Change{Unannotate: []string{appv1alpha1.AnnotationRollbacks}}
	if len(left) > 0 {
		recorded, err := json.Marshal(left)
		if err != nil {
			return fmt.Errorf("encoding the rollbacks of %s: %w", client.ObjectKeyFromObject(object), err)
		}
		change = workloadpatch.Change{Annotate: map[string]string{appv1alpha1.AnnotationRollbacks: string(recorded)}}
	}
	_, err := workloadpatch.Apply(ctx, r.Client, r.Live, r.Kind, object, change)
	return err
}
