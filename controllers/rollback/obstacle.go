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
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// ObstacleReason is the reason why a workload can't be rolled back, in CamelCase.
type ObstacleReason string

const (
	// ObstaclePaused means that a user has paused the rollout.
	ObstaclePaused ObstacleReason = "Paused"
	// ObstacleRecreate means that the strategy is Recreate, so no older pods are left.
	ObstacleRecreate ObstacleReason = "RecreateStrategy"
	// ObstacleData means that the pods have volumes of their own, and no annotation permits a rollback.
	ObstacleData ObstacleReason = "Data"
	// ObstacleNoHealthyReplicaSet means that no older revision still runs all its pods.
	ObstacleNoHealthyReplicaSet ObstacleReason = "NoHealthyReplicaSet"
	// ObstacleNoVerifiedVersion means that no other version was verified, or its template is gone.
	ObstacleNoVerifiedVersion ObstacleReason = "NoVerifiedVersion"
	// ObstacleUnknownVersion means that the requested version was not verified, is the present one, or is refused.
	ObstacleUnknownVersion ObstacleReason = "UnknownVersion"
	// ObstacleAlreadyRolledBack means that the version was rolled back automatically before, which is done only once.
	ObstacleAlreadyRolledBack ObstacleReason = "AlreadyRolledBack"
	// ObstacleIsRollback means that the release is a rollback itself.
	ObstacleIsRollback ObstacleReason = "IsRollback"
	// ObstacleNotControlled means that the workload is not under change control.
	ObstacleNotControlled ObstacleReason = "NotControlled"
	// ObstacleNoUser means that the user who requested the rollback is unknown.
	ObstacleNoUser ObstacleReason = "NoUser"
	// ObstacleSameTemplate means that the workload already has the template of the target.
	ObstacleSameTemplate ObstacleReason = "SameTemplate"
	// ObstacleDenied means that the API server denied the write, because of a newer policy for example.
	ObstacleDenied ObstacleReason = "Denied"
	// ObstacleReverted means that another admission webhook restored the content that the rollback replaced.
	ObstacleReverted ObstacleReason = "Reverted"
	// ObstacleNotReversible means that releases of the kind are not rolled back.
	ObstacleNotReversible ObstacleReason = "NotReversible"
	// ObstacleElements means that a list has other elements than in the release to go back to.
	ObstacleElements ObstacleReason = "OtherElements"
	// ObstacleNotParkable means that releases of the workload can't be parked.
	ObstacleNotParkable ObstacleReason = "NotParkable"
	// ObstacleParked means that the release was parked before.
	ObstacleParked ObstacleReason = "Parked"
	// ObstacleComplete means that the rollout is complete, so that pods come back with the release.
	ObstacleComplete ObstacleReason = "RolloutComplete"
	// ObstaclePartition means that a user has set a partition, so that pods may come back with another version than the one before.
	ObstaclePartition ObstacleReason = "Partition"
	// ObstacleResumed means that a user resumed the rollout of the release.
	ObstacleResumed ObstacleReason = "Resumed"
	// ObstacleMovedOn means that the workload is at another release now.
	ObstacleMovedOn ObstacleReason = "MovedOn"
)

// Obstacle is the error for a workload that can't be rolled back. Another attempt would fail likewise.
type Obstacle struct {
	// Reason is machine-readable.
	Reason ObstacleReason
	// Message is human-readable.
	Message string
}

func (o *Obstacle) Error() string { return o.Message }

// ObstacleOf returns the obstacle to a rollback of a workload that does not depend on the target, nil where there is none. It needs only
// the workload from the cache, and whether its namespace is under change control.
func ObstacleOf(object client.Object, optedIn bool, request Request) *Obstacle {
	phrase, release, rollout := workload.Phrase(request.Kind, object.GetName()), decide.ReleaseOf(object), request.Kind.Rollout(object)
	if release.Version == "" || !optedIn || object.GetDeletionTimestamp() != nil {
		return &Obstacle{ObstacleNotControlled, fmt.Sprintf(
			"%s is not under change control: label its namespace admission-webhook-altershield=enabled and release it once", phrase)}
	}
	if !request.Park && !workload.MayUndo(request.Kind) {
		why := "its ControlledKind has undo: None"
		if _, once := request.Kind.(workload.Once); once {
			why = "a " + request.Kind.GroupVersionKind().Kind + " is one release, so there is nothing to go back to"
		}
		return &Obstacle{ObstacleNotReversible, fmt.Sprintf("%s can't be rolled back: %s", phrase, why)}
	}
	if obstacle := requestObstacle(phrase, object, release, request); obstacle != nil {
		return obstacle
	}
	switch {
	case rollout.Paused && !decide.HoldOf(object, rollout.Paused, release.Number).IsHeld():
		return &Obstacle{ObstaclePaused, fmt.Sprintf(
			"%s is paused by a user, so a rollback would have no effect: %s", phrase, rollout.Resume)}
	case request.Reason == appv1alpha1.RollbackPodsNotRunning && rollout.Recreate:
		return &Obstacle{ObstacleRecreate, fmt.Sprintf("the strategy of %s is Recreate, so no older %s is running", phrase, workload.RevisionNoun(request.Kind))}
	}
	obstacle := DataObstacleOf(object, request.Kind)
	switch {
	case obstacle != nil:
		return obstacle
	case request.Park:
		return parkObstacle(object, release, request)
	}
	return repetition(phrase, release, appv1alpha1.RollbacksOf(object.GetAnnotations()), request)
}

// requestObstacle returns the obstacle that a request is out of date, or that its user is unknown.
func requestObstacle(phrase string, object client.Object, release decide.Release, request Request) *Obstacle {
	switch {
	case request.Annotation != "" && request.Annotation != object.GetAnnotations()[appv1alpha1.AnnotationRollback]:
		return &Obstacle{ObstacleMovedOn, phrase + " has another rollback request now, or none"}
	case request.From != decide.Release{} && request.From != release:
		return &Obstacle{ObstacleMovedOn, phrase + " is at another release now"}
	case request.Reason == appv1alpha1.RollbackPodsFailed && !decide.IsSuspended(object):
		return &Obstacle{ObstacleMovedOn, phrase + " is not suspended any more"}
	case request.Reason == appv1alpha1.RollbackRequested && request.User == "":
		return &Obstacle{ObstacleNoUser, fmt.Sprintf(
			"the user who asked for the rollback of %s is unknown, because the webhooks did not see the annotation: set it again", phrase)}
	}
	return nil
}

// DataObstacleOf returns the obstacle that pods of a workload have data, nil where they have none: an earlier version may not be able to read
// what a later one wrote.
func DataObstacleOf(object client.Object, kind workload.Kind) *Obstacle {
	allowed := object.GetAnnotations()[appv1alpha1.AnnotationAllowDataRollback] == appv1alpha1.AllowDataRollbackTrue
	if allowed || !workload.HasData(kind, object) {
		return nil
	}
	return &Obstacle{ObstacleData, fmt.Sprintf(
		"%s has volumeClaimTemplates, and a rollback would not take back the data in its volumes: annotate it %s=%s if the earlier version can use the data",
		workload.Phrase(kind, object.GetName()), appv1alpha1.AnnotationAllowDataRollback, appv1alpha1.AllowDataRollbackTrue)}
}

// repetition returns the obstacle to a rollback that follows another one. It prevents endless rollbacks: after a rollback, only a user who
// names the version can roll back.
func repetition(phrase string, release decide.Release, rollbacks []appv1alpha1.Rollback, request Request) *Obstacle {
	if request.To == "" && decide.RollbackTo(rollbacks, release.Number) != nil {
		return &Obstacle{ObstacleIsRollback, fmt.Sprintf(
			"release %d of %s is a rollback itself: name the version to go back to", release.Number, phrase)}
	}
	if request.Reason == appv1alpha1.RollbackRequested {
		return nil
	}
	for i := range rollbacks {
		if rollbacks[i].Version == release.Version && rollbacks[i].IsSound() && rollbacks[i].IsAutomatic() {
			return &Obstacle{ObstacleAlreadyRolledBack, fmt.Sprintf(
				"version %s of %s was rolled back before; the operator rolls a version back automatically only once", release.Version, phrase)}
		}
	}
	return nil
}
