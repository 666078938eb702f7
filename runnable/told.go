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
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

const (
	// restTime is how long a rollback that met an obstacle is not tried again: pods that crash again and again would have the API
	// server asked each time.
	restTime = time.Minute
	// deniedTime is how long until a rollback that was denied is tried again: no event tells that a policy has changed.
	deniedTime = 10 * time.Minute
)

// told remembers of each Deployment which obstacles its present release met, so that one Event says it, however often the pods
// crash, and the API server isn't asked each time. A restarted operator says it once more.
// The zero value remembers nothing yet.
type told struct {
	mutex sync.Mutex
	of    map[client.ObjectKey]remarks
	// unusable is what was said of annotations that have no effect.
	unusable map[client.ObjectKey]string
}

type remarks struct {
	release decide.Release
	said    []remark
}

type remark struct {
	asked    appv1alpha1.RollbackReason
	obstacle rollback.ObstacleReason
	// at is when the obstacle was met last.
	at time.Time
}

// attempt is a rollback of a release for a reason.
type attempt struct {
	release decide.Release
	asked   appv1alpha1.RollbackReason
}

// meet remembers an obstacle, and says whether it is met for the first time.
func (t *told) meet(deployment client.ObjectKey, tried attempt, obstacle rollback.ObstacleReason, now time.Time) (first bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	known := t.of[deployment]
	if known.release != tried.release {
		known = remarks{release: tried.release}
	}
	at := slices.IndexFunc(known.said, func(said remark) bool { return said.asked == tried.asked && said.obstacle == obstacle })
	if at >= 0 {
		known.said[at].at = now
		return false
	}
	known.said = append(known.said, remark{tried.asked, obstacle, now})
	if t.of == nil {
		t.of = map[client.ObjectKey]remarks{}
	}
	t.of[deployment] = known
	return true
}

// rest is how long to leave a rollback alone that met an obstacle a while ago. wayBack says that there is a healthy ReplicaSet
// to go back to by now.
func (t *told) rest(deployment client.ObjectKey, tried attempt, wayBack bool, now time.Time) time.Duration {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	var rest time.Duration
	if known := t.of[deployment]; known.release == tried.release {
		for _, said := range known.said {
			over := wayBack && said.obstacle == rollback.ObstacleNoHealthyReplicaSet
			if said.asked == tried.asked && !over && !isCached(said.obstacle) {
				rest = max(rest, said.at.Add(restTime).Sub(now))
			}
		}
	}
	return rest
}

// isCached reports whether the cache tells of an obstacle, and of its end, without a call.
func isCached(obstacle rollback.ObstacleReason) bool {
	return slices.Contains([]rollback.ObstacleReason{
		rollback.ObstaclePaused, rollback.ObstacleRecreate, rollback.ObstacleIsRollback, rollback.ObstacleAlreadyRolledBack,
		rollback.ObstacleNotControlled, rollback.ObstacleNoUser,
	}, obstacle)
}

// warn remembers why an annotation has no effect, nil where there is no such one, and reports whether that is news.
func (t *told) warn(deployment client.ObjectKey, unusable error) (first bool) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if unusable == nil {
		delete(t.unusable, deployment)
		return false
	}
	first = t.unusable[deployment] != unusable.Error()
	if t.unusable == nil {
		t.unusable = map[client.ObjectKey]string{}
	}
	t.unusable[deployment] = unusable.Error()
	return first
}

func (t *told) forget(deployment client.ObjectKey) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	delete(t.of, deployment)
	delete(t.unusable, deployment)
}
