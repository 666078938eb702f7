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

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// scene is the release with everything around it that a decision depends on.
type scene struct {
	decide.Observation
	deployment *appsv1.Deployment
	// earlier are the ChangePods of earlier releases of the version.
	earlier []appv1alpha1.ChangePod
	// highest is the highest number of a ChangePod that was seen.
	highest int64
	// stale says that the cache has yet to show ChangePods that exist.
	stale bool
	// lost says that ChangePods are gone.
	lost bool
	// finish decides which pods have finished; finishing is when the next one does that is ready for too short a time, 0 for none.
	finish    decide.FinishRule
	finishing time.Duration
}

// observe is nil where the Deployment is gone: then the garbage collector removes the ChangeWorkload. All but the records comes
// from the cache: mark.Apply writes on the Deployment of this release alone.
func (r *Reconciler) observe(ctx context.Context, workload *appv1alpha1.ChangeWorkload, records records) (*scene, error) {
	result := &scene{deployment: &appsv1.Deployment{}}
	owner := metav1.GetControllerOfNoCopy(workload)
	if owner == nil {
		return nil, nil
	}
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: workload.Namespace, Name: owner.Name}, result.deployment)
	if apierrors.IsNotFound(err) || err == nil && (result.deployment.UID != owner.UID || result.deployment.DeletionTimestamp != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Deployment %s/%s: %w", workload.Namespace, owner.Name, err)
	}
	if result.OptedIn, err = scope.OptedIn(ctx, r.Client, workload.Namespace); err != nil {
		return nil, err
	}
	if err := r.observeSettings(ctx, result); err != nil {
		return nil, err
	}
	release := decide.Release{Version: workload.Spec.Reversion, Number: workload.Spec.Release}
	present := decide.ReleaseOf(result.deployment)
	result.Current, result.Superseded = present == release, present.Number > release.Number
	result.RolledBack = decide.RollbackFrom(appv1alpha1.RollbacksOf(result.deployment.Annotations), release)
	result.Desired = ptr.Deref(result.deployment.Spec.Replicas, 1)
	result.Paused = result.deployment.Spec.Paused
	result.Rolling = decide.IsRolling(result.deployment)
	result.Hold = decide.HoldOf(result.deployment, workload.Spec.Release)
	result.Suspended = decide.IsSuspended(result.deployment)
	result.Verifier = r.verifier()
	if err := r.observeBatches(ctx, workload, records, result); err != nil {
		return nil, err
	}
	result.finish.MinReadySeconds = result.deployment.Spec.MinReadySeconds
	if result.Current {
		if err := r.observePods(ctx, workload, result); err != nil {
			return nil, err
		}
	}
	if err := observeOthers(ctx, workload, records, result); err != nil {
		return nil, err
	}
	result.WentBack = !result.Current &&
		decide.WentBack(append(result.Others, *workload), present.Version)
	return result, nil
}

func (r *Reconciler) observeSettings(ctx context.Context, result *scene) (err error) {
	if result.Blocking, err = r.Settings.Blocking(ctx); err != nil {
		return err
	}
	if result.Templates, err = r.Settings.Templates(ctx); err != nil {
		return err
	}
	if result.finish.Labelled, err = r.Settings.LabelsFinished(ctx); err != nil {
		return err
	}
	result.Records, err = r.Settings.Records(ctx)
	return err
}

// observeBatches finds the ChangePods of the release and the highest number given so far. ChangePods that an earlier
// object of the same name left count for the number alone.
func (r *Reconciler) observeBatches(ctx context.Context, workload *appv1alpha1.ChangeWorkload, records records, result *scene) error {
	changePods, err := records.batches(ctx, workload)
	if err != nil {
		return err
	}
	for i := range changePods {
		result.highest = max(result.highest, decide.ChangePodNumber(changePods[i].Name))
		switch {
		case !metav1.IsControlledBy(&changePods[i], workload):
		case changePods[i].Spec.Release == workload.Spec.Release:
			result.Batches = append(result.Batches, changePods[i])
		case changePods[i].Spec.Release < workload.Spec.Release:
			result.earlier = append(result.earlier, changePods[i])
		}
	}
	result.Earlier = len(result.earlier) > 0
	result.LastNumber = max(r.numbers.raise(recordOf(workload), result.highest), workload.Status.LastChangePod)
	result.lost = int64(len(result.Batches)) < decide.NumbersGiven(workload, result.LastNumber)
	return nil
}

// cacheLag is how long the cache may take to show a ChangePod before the API server is asked whether it is still there.
const cacheLag = time.Second

// isStale reports whether the cache lags behind our own writes. Otherwise a missing ChangePod was deleted by hand.
func (r *Reconciler) isStale(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene) (bool, error) {
	if scene.highest == scene.LastNumber || decide.NumbersGiven(workload, scene.LastNumber) == 0 {
		return false, nil
	}
	if opened := r.numbers.opened(recordOf(workload), scene.LastNumber); !opened.IsZero() && r.Clock.Since(opened) < cacheLag {
		return true, nil
	}
	newest := client.ObjectKey{Namespace: workload.Namespace, Name: decide.ChangePodName(workload.Name, scene.LastNumber)}
	err := r.Live.Get(ctx, newest, &appv1alpha1.ChangePod{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ChangePod %s: %w", newest, err)
	}
	return err == nil, nil
}

// observePods lists the finished pods of the release, by the ReplicaSet of this Deployment alone: another one may have
// the same template and the same labels.
func (r *Reconciler) observePods(ctx context.Context, workload *appv1alpha1.ChangeWorkload, result *scene) error {
	replicaSets, err := index.ReplicaSetsOf(ctx, r.Client, workload.Namespace, result.deployment.UID)
	if err != nil {
		return err
	}
	replicaSet, unseen := decide.StampedReplicaSet(replicaSets, workload.Spec.Reversion)
	if replicaSet == nil {
		return nil
	}
	result.Unseen = unseen
	pods, err := index.PodsOf(ctx, r.Client, workload.Namespace, replicaSet.UID)
	if err != nil {
		return err
	}
	result.Finished, result.finishing = decide.FinishedPods(result.deployment.Name, pods, result.Batches, result.finish, r.Clock.Now())
	return nil
}

func observeOthers(ctx context.Context, workload *appv1alpha1.ChangeWorkload, records records, result *scene) error {
	workloads, err := records.workloads(ctx, result.deployment)
	if err != nil {
		return err
	}
	for i := range workloads {
		if workloads[i].UID != workload.UID {
			result.Others = append(result.Others, workloads[i])
		}
	}
	return nil
}
