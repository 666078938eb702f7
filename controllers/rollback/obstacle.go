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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// ObstacleReason is the reason why a Deployment can't be rolled back, in CamelCase.
type ObstacleReason string

const (
	// ObstaclePaused means that a user has paused the Deployment.
	ObstaclePaused ObstacleReason = "Paused"
	// ObstacleRecreate means that the strategy is Recreate, so no older pods are left.
	ObstacleRecreate ObstacleReason = "RecreateStrategy"
	// ObstacleNoHealthyReplicaSet means that no older ReplicaSet still runs all its pods.
	ObstacleNoHealthyReplicaSet ObstacleReason = "NoHealthyReplicaSet"
	// ObstacleNoVerifiedVersion means that no other version was verified, or its template is gone.
	ObstacleNoVerifiedVersion ObstacleReason = "NoVerifiedVersion"
	// ObstacleUnknownVersion means that the requested version was not verified, is the present one, or is refused.
	ObstacleUnknownVersion ObstacleReason = "UnknownVersion"
	// ObstacleAlreadyRolledBack means that the version was rolled back automatically before, which is done only once.
	ObstacleAlreadyRolledBack ObstacleReason = "AlreadyRolledBack"
	// ObstacleIsRollback means that the release is a rollback itself.
	ObstacleIsRollback ObstacleReason = "IsRollback"
	// ObstacleNotControlled means that the Deployment is not under change control.
	ObstacleNotControlled ObstacleReason = "NotControlled"
	// ObstacleNoUser means that the user who requested the rollback is unknown.
	ObstacleNoUser ObstacleReason = "NoUser"
	// ObstacleSameTemplate means that the Deployment already has the template of the target.
	ObstacleSameTemplate ObstacleReason = "SameTemplate"
	// ObstacleDenied means that the API server denied the template, because of a newer policy for example.
	ObstacleDenied ObstacleReason = "Denied"
	// ObstacleMovedOn means that the Deployment is at another release now.
	ObstacleMovedOn ObstacleReason = "MovedOn"
)

// Obstacle is the error for a Deployment that can't be rolled back. Another attempt would fail likewise.
type Obstacle struct {
	// Reason is machine-readable.
	Reason ObstacleReason
	// Message is human-readable.
	Message string
}

func (o *Obstacle) Error() string { return o.Message }

// ObstacleOf returns the obstacle to a rollback of a workload that does not depend on the target, nil where there is none. It needs only
// the workload from the cache, and whether its namespace is under change control.
func ObstacleOf(workload metav1.Object, rollout decide.Rollout, optedIn bool, request Request) *Obstacle {
	name, release := workload.GetName(), decide.ReleaseOf(workload)
	switch {
	case release.Version == "" || !optedIn || workload.GetDeletionTimestamp() != nil:
		return &Obstacle{ObstacleNotControlled, fmt.Sprintf(
			"deployment %s is not under change control: label its namespace admission-webhook-altershield=enabled and release it once", name)}
	case request.Annotation != "" && request.Annotation != workload.GetAnnotations()[appv1alpha1.AnnotationRollback]:
		return &Obstacle{ObstacleMovedOn, fmt.Sprintf("deployment %s has another rollback request now, or none", name)}
	case request.From != decide.Release{} && request.From != release:
		return &Obstacle{ObstacleMovedOn, fmt.Sprintf("deployment %s is at another release now", name)}
	case request.Reason == appv1alpha1.RollbackRequested && request.User == "":
		return &Obstacle{ObstacleNoUser, fmt.Sprintf(
			"the user who asked for the rollback of deployment %s is unknown, because the webhooks did not see the annotation: set it again", name)}
	case rollout.Paused && decide.HoldOf(workload, rollout.Paused, release.Number) != decide.Held:
		return &Obstacle{ObstaclePaused, fmt.Sprintf(
			"deployment %s is paused by a user, so a rollback would have no effect: run kubectl rollout resume", name)}
	case request.Reason == appv1alpha1.RollbackPodsNotRunning && rollout.Recreate:
		return &Obstacle{ObstacleRecreate, fmt.Sprintf("the strategy of deployment %s is Recreate, so no older ReplicaSet is running", name)}
	}
	return repetition(name, release, appv1alpha1.RollbacksOf(workload.GetAnnotations()), request)
}

// repetition returns the obstacle to a rollback that follows another one. It prevents endless rollbacks: after a rollback, only a user who
// names the version can roll back.
func repetition(deployment string, release decide.Release, rollbacks []appv1alpha1.Rollback, request Request) *Obstacle {
	if request.To == "" && decide.RollbackTo(rollbacks, release.Number) != nil {
		return &Obstacle{ObstacleIsRollback, fmt.Sprintf(
			"release %d of deployment %s is a rollback itself: name the version to go back to", release.Number, deployment)}
	}
	if request.Reason == appv1alpha1.RollbackRequested {
		return nil
	}
	for i := range rollbacks {
		if rollbacks[i].Version == release.Version && rollbacks[i].IsSound() && rollbacks[i].IsAutomatic() {
			return &Obstacle{ObstacleAlreadyRolledBack, fmt.Sprintf(
				"version %s of deployment %s was rolled back before; the operator rolls a version back automatically only once", release.Version, deployment)}
		}
	}
	return nil
}
