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
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// retryWait is how long to wait for a cache that is behind.
const retryWait = 50 * time.Millisecond

// Reconcile recounts the release, decides, and acts: labels are written before the status, so that a repetition after a crash is
// harmless, and Events after it, so that they report saved states only.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.prepare()
	if r.turns.isCalled(request.NamespacedName) {
		defer r.turns.pass(request.NamespacedName)
	}
	var workload appv1alpha1.ChangeWorkload
	if err := r.newest.Get(ctx, request.NamespacedName, &workload); err != nil {
		if apierrors.IsNotFound(err) {
			r.Looks.Keep(request.NamespacedName)
		}
		return ctrl.Result{}, client.IgnoreNotFound(fmt.Errorf("reading ChangeWorkload %s: %w", request, err))
	}
	if workload.DeletionTimestamp != nil {
		r.Looks.Keep(request.NamespacedName)
		return r.letGo(ctx, &workload)
	}
	r.Delivery.Seen(workload.Namespace)
	scene, decision, err := r.decide(ctx, &workload)
	if err != nil || scene == nil {
		return ctrl.Result{}, err
	}
	if scene.stale {
		return ctrl.Result{RequeueAfter: max(scene.unlisted, retryWait)}, nil
	}
	movedOn, err := r.steer(ctx, &workload, scene, decision)
	switch {
	case scope.IsConflict(err):
		return ctrl.Result{RequeueAfter: retryWait}, nil
	case err != nil:
		return ctrl.Result{}, err
	case movedOn:
		return ctrl.Result{}, nil // the event of the workload brings the next decision
	}
	retry, err := r.tryAndOrder(ctx, &workload, scene, &decision)
	if scope.IsConflict(err) {
		return ctrl.Result{RequeueAfter: retryWait}, nil
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	opened, err := r.carryOut(ctx, &workload, scene, decision)
	if err != nil {
		return ctrl.Result{}, err
	}
	if opened < len(decision.Checks()) {
		return ctrl.Result{RequeueAfter: retryWait}, nil
	}
	retry = decide.Sooner(retry, recordWait(&workload))
	return ctrl.Result{RequeueAfter: decide.Sooner(scene.finishing, decide.Sooner(decision.Wait, retry))}, nil
}

// carryOut opens batches and gates, labels pods, saves the decision, and returns how many batches were opened.
func (r *Reconciler) carryOut(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) (opened int, err error) {
	opened, openErr := r.openBatches(ctx, workload, scene, decision)
	podsErr := errors.Join(r.labelPods(ctx, workload, scene), r.openGates(ctx, workload, scene, decision), r.returnStray(ctx, workload, scene))
	saveErr := r.save(ctx, workload, scene, decision)
	// A batch that can't be opened, because of a quota for example, must not stop the others.
	if err := errors.Join(openErr, podsErr, saveErr); err != nil {
		return opened, err
	}
	return opened, r.forget(ctx, workload, scene, decision)
}

// saveDenied saves that a release failed whose workload can't be suspended or held, since the API server denied the write to it.
func (r *Reconciler) saveDenied(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, denied error) error {
	scene.Denied = denied.Error()
	decision := decide.Decide(workload, scene.Observation, scene.now)
	decision.Suspend = false // reported once it is
	return r.save(ctx, workload, scene, decision)
}

// decide decides by the cache, and confirms irreversible decisions by live reads: the watches of a new leader start one by one, so that it
// may see a suspended workload before the failure of its release. Nothing is decided where the scene is nil or stale.
func (r *Reconciler) decide(ctx context.Context, workload *appv1alpha1.ChangeWorkload) (*scene, decide.Decision, error) {
	if wait := r.listWait(workload); wait > 0 {
		return &scene{stale: true, unlisted: wait}, decide.Decision{}, nil
	}
	now := r.Clock.Now()
	scene, err := r.observe(ctx, workload, cachedRecords{r.Client, r.newest}, now)
	if err != nil || scene == nil {
		return nil, decide.Decision{}, err
	}
	if scene.stale, err = r.isStale(ctx, workload, scene); err != nil || scene.stale {
		return scene, decide.Decision{}, err
	}
	decision := decide.Decide(workload, scene.Observation, now)
	if !decision.IsFinal() {
		return scene, decision, nil
	}
	key := client.ObjectKeyFromObject(workload)
	if err := r.newest.GetLive(ctx, key, workload); err != nil {
		return nil, decide.Decision{}, client.IgnoreNotFound(fmt.Errorf("reading ChangeWorkload %s: %w", key, err))
	}
	if workload.DeletionTimestamp != nil {
		return nil, decide.Decision{}, nil // its event brings the next decision
	}
	if scene, err = r.observe(ctx, workload, liveRecords{r.Live}, now); err != nil || scene == nil {
		return nil, decide.Decision{}, err
	}
	return scene, decide.Decide(workload, scene.Observation, now), nil
}
