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
	"encoding/json"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// observeWait is how long to wait for the controller of a workload to see its spec.
const observeWait = time.Second

// Park records that a release is parked. The ChangeWorkload reconciler then holds its rollout, after which DeletePod deletes its pods. The
// error is an Obstacle where the release can't be parked, and NotStuck where it is to be tried again.
func (r *Roller) Park(ctx context.Context, request Request) error {
	scene, err := r.observe(ctx, request)
	if err != nil {
		return err
	}
	ordinals, _ := workload.OrdinalsOf(request.Kind, scene.object) // the obstacles have seen it
	if !ordinals.Observed {
		return &NotStuck{Again: observeWait}
	}
	if obstacle := currentObstacle(request.phrase(), ordinals, scene.past, scene.revisions, r.Clock.Now()); obstacle != nil {
		return obstacle
	}
	made := appv1alpha1.Park{
		Release: scene.past.Release.Number, Reason: request.Reason, Message: decide.Shorten(request.Message, maxMessage), User: request.User,
		Time: metav1.NewTime(r.Clock.Now().Truncate(time.Second)),
	}
	written, err := r.recordPark(ctx, request, scene, made)
	if scope.IsDenied(err) {
		return &Obstacle{ObstacleDenied, fmt.Sprintf("%s can't be parked, since the API server denied it: %s", request.phrase(), err)}
	}
	if err != nil {
		return err
	}
	if !written {
		return &Obstacle{ObstacleMovedOn, request.phrase() + " has changed meanwhile"}
	}
	r.Metrics.parks.WithLabelValues(request.Kind.GroupVersionKind().Kind, request.CountedAs()).Inc()
	r.Recorder.Record(events.ReleaseParked(scene.object, scene.past.Release, made))
	return nil
}

// recordPark writes the record of a park, and removes the request for it.
func (r *Roller) recordPark(ctx context.Context, request Request, scene *scene, made appv1alpha1.Park) (written bool, err error) {
	recorded, err := json.Marshal(made)
	if err != nil {
		return false, fmt.Errorf("encoding the record: %w", err)
	}
	change := workloadpatch.Change{Annotate: map[string]string{appv1alpha1.AnnotationParked: string(recorded)}}
	if request.Annotation != "" {
		change.Given = map[string]string{appv1alpha1.AnnotationRollback: request.Annotation}
		change.Unannotate = workloadpatch.Present(scene.object, appv1alpha1.AnnotationRollback, appv1alpha1.AnnotationRollbackBy, appv1alpha1.AnnotationRollbackReason)
	}
	return workloadpatch.Apply(ctx, r.Client, r.Live, request.Kind, scene.object, change)
}

// parkObstacle returns the obstacle to a park that the workload alone shows.
func parkObstacle(object client.Object, release decide.Release, request Request) *Obstacle {
	phrase := workload.Phrase(request.Kind, object.GetName())
	ordinals, ok := workload.OrdinalsOf(request.Kind, object)
	if !ok {
		return &Obstacle{ObstacleNotParkable, phrase + " can't be parked: only StatefulSets with the strategy RollingUpdate can"}
	}
	if appv1alpha1.ParkOf(object.GetAnnotations(), release.Number) != nil {
		return &Obstacle{ObstacleParked, fmt.Sprintf("release %d of %s is or was parked already", release.Number, phrase)}
	}
	return barObstacle(phrase, object, release, ordinals, request.Kind)
}

// barObstacle returns the obstacle because of which parked pods would not come back with the version before.
func barObstacle(phrase string, object client.Object, release decide.Release, ordinals decide.Ordinals, kind workload.Kind) *Obstacle {
	switch ordinals.BarOf(decide.HoldOf(object, kind.Rollout(object).Paused, release.Number)) {
	case decide.ParkComplete:
		return &Obstacle{ObstacleComplete, fmt.Sprintf(
			"the rollout of %s is complete, so its pods would come back with the same template: roll it back instead", phrase)}
	case decide.ParkPartition:
		return &Obstacle{ObstaclePartition, fmt.Sprintf(
			"%s has a partition of %d set by a user, so its pods would come back with the last complete rollout, which may be older than the version before",
			phrase, ordinals.UserPartition)}
	case decide.ParkResumed:
		return &Obstacle{ObstacleResumed, fmt.Sprintf("a user resumed the rollout of release %d of %s", release.Number, phrase)}
	}
	return nil
}

// currentObstacle returns the obstacle that the version with which pods come back was not verified, or is refused. The first revision of a
// StatefulSet may never have been rolled out completely.
func currentObstacle(phrase string, ordinals decide.Ordinals, past decide.Past, revisions []decide.Revision, now time.Time) *Obstacle {
	for _, revision := range revisions {
		if revision.Pods.Value == ordinals.Current && past.IsBad(revision.Version, now) {
			return &Obstacle{ObstacleNoVerifiedVersion, fmt.Sprintf(
				"the pods of %s would come back with version %s, which was not verified or is refused", phrase, revision.Version)}
		}
	}
	return nil
}
