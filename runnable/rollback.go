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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/lifecycle"
	"github.com/traas-stack/altershield-operator/controllers/mark"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

// retryWait is how long to let a Deployment settle that changed while it was to be rolled back.
const retryWait = 50 * time.Millisecond

// Reconcile rolls a Deployment back if that is decided.
func (r *Rollback) Reconcile(ctx context.Context, key ctrl.Request) (ctrl.Result, error) {
	deployment := &appsv1.Deployment{}
	err := r.Client.Get(ctx, key.NamespacedName, deployment)
	if apierrors.IsNotFound(err) {
		r.told.forget(key.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("reading Deployment %s: %w", key, err)
	}
	if deployment.DeletionTimestamp != nil {
		return ctrl.Result{}, nil
	}
	seen, err := r.observe(ctx, deployment)
	if err != nil {
		return ctrl.Result{}, err
	}
	decision := Decide(seen)
	for _, request := range decision.Requests {
		request.Deployment = key.NamespacedName
		over, err := r.try(ctx, deployment, seen, request)
		if apierrors.IsConflict(err) {
			return ctrl.Result{RequeueAfter: retryWait}, nil
		}
		if over || err != nil {
			return ctrl.Result{}, err
		}
	}
	if decision.Forgive != "" {
		if err := r.forgive(ctx, deployment, seen.Rollbacks, decision.Forgive); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: decision.Wait}, nil
}

// try makes one rollback; over says that nothing else is to be tried, since it was made, or the Deployment is another by now.
func (r *Rollback) try(ctx context.Context, deployment *appsv1.Deployment, seen Observation, request rollback.Request) (over bool, err error) {
	_, err = r.Roller.RollBack(ctx, request)
	var obstacle *rollback.Obstacle
	switch {
	case err == nil:
		if request.Reason == appv1alpha1.RollbackPodsNotRunning {
			r.Metrics.delay.Observe(max(r.Clock.Now().Sub(seen.Stuck.First), 0).Seconds())
		}
		return true, nil
	case apierrors.IsNotFound(err):
		return true, nil
	case !errors.As(err, &obstacle):
		return false, err
	case obstacle.Reason == rollback.ObstacleMovedOn:
		return true, nil // its event brings the next decision
	}
	if request.Reason == appv1alpha1.RollbackRequested {
		if err := r.turnDown(ctx, deployment); err != nil {
			return false, err
		}
	} else if !r.told.first(request.Deployment, seen.Release, remark{request.Reason, obstacle.Reason}) {
		return false, nil
	}
	r.Recorder.Eventf(deployment, nil, corev1.EventTypeWarning, appv1alpha1.EventReleaseNotRolledBack, "RollBack", "%s",
		lifecycle.EventNote(fmt.Sprintf("release %d, version %s, is not rolled back: %s (it was to be, because %s)",
			seen.Release.Number, seen.Release.Version, obstacle.Message, request.Message)))
	return false, nil
}

// turnDown removes a request that can't be met: left there it would take a later release back.
func (r *Rollback) turnDown(ctx context.Context, deployment *appsv1.Deployment) error {
	change := mark.Change{Unannotate: []string{appv1alpha1.AnnotationRollback}}
	if _, present := deployment.Annotations[appv1alpha1.AnnotationRollbackBy]; present {
		change.Unannotate = append(change.Unannotate, appv1alpha1.AnnotationRollbackBy)
	}
	_, err := mark.Apply(ctx, r.Client, r.Live, deployment, change)
	return err
}

// forgive forgets the rollback of a version that was verified afterwards.
func (r *Rollback) forgive(ctx context.Context, deployment *appsv1.Deployment, known []appv1alpha1.Rollback, version string) error {
	left := slices.DeleteFunc(slices.Clone(known), func(rollback appv1alpha1.Rollback) bool { return rollback.Version == version })
	change := mark.Change{Unannotate: []string{appv1alpha1.AnnotationRollbacks}}
	if len(left) > 0 {
		recorded, err := json.Marshal(left)
		if err != nil {
			return fmt.Errorf("encoding the rollbacks of Deployment %s: %w", client.ObjectKeyFromObject(deployment), err)
		}
		change = mark.Change{Annotate: map[string]string{appv1alpha1.AnnotationRollbacks: string(recorded)}}
	}
	_, err := mark.Apply(ctx, r.Client, r.Live, deployment, change)
	return err
}
