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

package rollback

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// The causes of deletions in the metrics.
const causePark, causeUnstick, causeFirstNodes, causeStep = "Park", "Unstick", "FirstNodes", "Step"

// turnWait is how long to wait at most for a pod that comes back: the cache holds none from before change control.
const turnWait = 5 * time.Second

// PodRequest asks for the deletion of one pod of a workload, which comes back with another version.
type PodRequest struct {
	// Kind is the kind of the workload, Workload its name.
	Kind     workload.Kind
	Workload client.ObjectKey
	// From is the release of the workload.
	From decide.Release
	// Failed reports whether pods of the release failed their check.
	Failed bool
	// Park reports whether all pods of a parked release are deleted in turn. Otherwise only a pod is that keeps the workload from going on.
	Park bool
	// Turn reports whether pods of other versions are deleted as the record of the release says: see TurnOf.
	Turn bool
	// Patience is how long such a pod may take to become ready.
	Patience decide.Patience
}

// DeletePod deletes the next pod, if its turn has come, after reading everything from the API server. again is the time until the next
// attempt, 0 where an event brings it. The error is an Obstacle where the pod can't be deleted.
func (r *Roller) DeletePod(ctx context.Context, request PodRequest) (again time.Duration, err error) {
	_, object, err := r.read(ctx, Request{Kind: request.Kind, Workload: request.Workload})
	if err != nil {
		return 0, client.IgnoreNotFound(err)
	}
	if decide.ReleaseOf(object) != request.From || object.GetDeletionTimestamp() != nil {
		return 0, nil // its event brings the next decision
	}
	if request.Turn {
		return r.deleteNext(ctx, request, object)
	}
	ordinals, ok := workload.OrdinalsOf(request.Kind, object)
	if !ok {
		return 0, nil
	}
	if !ordinals.Observed {
		return observeWait, nil
	}
	if stopped, err := r.stopped(ctx, request, object, ordinals); err != nil || stopped {
		return 0, err
	}
	next, again, err := r.next(ctx, request, object, ordinals)
	if err != nil || next == nil {
		return again, err
	}
	if obstacle := DataObstacleOf(object, request.Kind); obstacle != nil {
		return 0, obstacle
	}
	why := reason{causeUnstick, "it was not ready in time and kept the rollout from going on"}
	if request.Park {
		why = reason{causePark, fmt.Sprintf("release %d is parked, so it comes back with the template from before", request.From.Number)}
	}
	return turnWait, r.deletePod(ctx, request.Kind, object, next, why)
}

// stopped reports whether the release is not parked any more, or the namespace was opted out. The error is an Obstacle where a pod of a
// parked release that is deleted could come back with the wrong version.
func (r *Roller) stopped(ctx context.Context, request PodRequest, object client.Object, ordinals decide.Ordinals) (bool, error) {
	release, annotations := request.From, object.GetAnnotations()
	if out, err := scope.OptedOut(ctx, r.Live, object.GetNamespace()); err != nil || out {
		return out, err
	}
	if !request.Park {
		return false, nil
	}
	if held := decide.HoldOf(object, request.Kind.Rollout(object).Paused, release.Number) == decide.Held; !held || appv1alpha1.ParkOf(annotations, release.Number) == nil {
		return true, nil
	}
	if obstacle := barObstacle(workload.Phrase(request.Kind, object.GetName()), object, release, ordinals, request.Kind); obstacle != nil {
		return false, obstacle
	}
	return false, r.checkCurrent(ctx, request, object, ordinals)
}

// checkCurrent returns an Obstacle where a pod must not come back with the last complete version.
func (r *Roller) checkCurrent(ctx context.Context, request PodRequest, object client.Object, ordinals decide.Ordinals) error {
	workloads, err := index.LiveChangeWorkloadsOf(ctx, r.Live, request.Kind, object)
	if err != nil {
		return err
	}
	revisions, err := r.History.Native(ctx, request.Kind, object)
	if err != nil {
		return err
	}
	past := decide.Past{Release: request.From, Workloads: workloads, Rollbacks: appv1alpha1.RollbacksOf(object.GetAnnotations())}
	phrase := workload.Phrase(request.Kind, object.GetName())
	if obstacle := currentObstacle(phrase, ordinals, past, revisions, r.Clock.Now()); obstacle != nil {
		return obstacle
	}
	return nil
}

// next returns the pod to delete, nil where none is to be deleted now. The error is an Obstacle where a stuck pod would come back with the wrong
// version.
func (r *Roller) next(
	ctx context.Context, request PodRequest, object client.Object, ordinals decide.Ordinals,
) (pod *corev1.Pod, again time.Duration, err error) {
	parker, ok := request.Kind.(workload.Parker)
	if !ok {
		return nil, 0, nil
	}
	pods, err := parker.Pods(ctx, r.Live, object)
	if err != nil {
		return nil, 0, err
	}
	if !request.Park {
		pod, again = ordinals.NextStuck(pods, request.Failed, request.Patience, r.Agreed())
		if pod != nil && ordinals.ReturnsToCurrent(pod) {
			err = r.checkCurrent(ctx, request, object, ordinals)
		}
		return pod, again, err
	}
	pod, left := ordinals.NextParked(pods)
	if pod == nil && left > 0 {
		again = turnWait
	}
	return pod, again, nil
}

// reason says why a pod is deleted: the cause for metrics, and a text for users.
type reason struct{ cause, text string }

// deletePod deletes a pod as it was read: one that became ready meanwhile stays.
func (r *Roller) deletePod(ctx context.Context, kind workload.Kind, object client.Object, pod *corev1.Pod, why reason) error {
	err := r.Client.Delete(ctx, pod, client.DisableReadYourWritesConsistency, // the cache may not hold it
		client.Preconditions{UID: &pod.UID, ResourceVersion: ptr.To(pod.ResourceVersion)})
	switch {
	case scope.IsDenied(err):
		message := fmt.Sprintf("the API server denied the deletion of pod %s: %s", pod.Name, err)
		if scope.LacksPermission(err) {
			message += "; " + scope.PodDeletions
		}
		return &Obstacle{ObstacleDenied, message}
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		return fmt.Errorf("deleting pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	r.Metrics.pods.WithLabelValues(kind.GroupVersionKind().Kind, why.cause).Inc()
	r.Recorder.Record(events.PodDeleted(object, pod, why.text))
	return nil
}
