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

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
)

const (
	// obstacleTime is how long a rollback that met an obstacle is not tried again: each restart of a crashing pod would cause live reads.
	obstacleTime = time.Minute
	// unseenTime is how long a rollback is not tried again that met an obstacle whose end causes no event.
	unseenTime = 10 * time.Minute
)

// obstacleLog remembers the obstacles that the present release of each workload met, so that each is reported once, and the API server
// is not called at each crash of a pod. A restarted operator reports them again. The zero value is empty.
type obstacleLog struct {
	mutex sync.Mutex
	of    map[client.ObjectKey]reported
	// unusable has the reported errors of annotations.
	unusable map[client.ObjectKey]unusable
}

// Both know the UID of the workload: it may be deleted and created again between two looks.
type (
	reported struct {
		of      types.UID
		release decide.Release
		met     []entry
	}
	unusable struct {
		of      types.UID
		message string
	}
)

type entry struct {
	asked    purpose
	obstacle rollback.ObstacleReason
	// at is when the obstacle was last met.
	at time.Time
}

// attempt is a rollback or park of a release for a reason, or a deletion of one of its workload's pods.
type attempt struct {
	of      types.UID
	release decide.Release
	asked   purpose
}

// purpose distinguishes the attempts of a release.
type purpose string

// deletion is the purpose of attempts to delete a pod.
const deletion purpose = "Deletion"

// purposeOf returns the purpose of a rollback or park.
func purposeOf(request rollback.Request) purpose {
	if request.Park {
		return "Park" + purpose(request.Reason)
	}
	return purpose(request.Reason)
}

// add remembers an obstacle, and reports whether it is new.
func (l *obstacleLog) add(workload client.ObjectKey, tried attempt, obstacle rollback.ObstacleReason, now time.Time) (first bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	known := l.of[workload]
	if known.of != tried.of || known.release != tried.release {
		known = reported{of: tried.of, release: tried.release}
	}
	at := slices.IndexFunc(known.met, func(met entry) bool { return met.asked == tried.asked && met.obstacle == obstacle })
	if at >= 0 {
		known.met[at].at = now
		return false
	}
	known.met = append(known.met, entry{tried.asked, obstacle, now})
	if l.of == nil {
		l.of = map[client.ObjectKey]reported{}
	}
	l.of[workload] = known
	return true
}

// backoff returns how long not to try a rollback that met an obstacle. wayBack reports whether there is a healthy revision to go back to.
func (l *obstacleLog) backoff(workload client.ObjectKey, tried attempt, wayBack bool, now time.Time) time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	var left time.Duration
	if known := l.of[workload]; known.of == tried.of && known.release == tried.release {
		for _, met := range known.met {
			over := wayBack && met.obstacle == rollback.ObstacleNoHealthyReplicaSet
			if met.asked == tried.asked && !over && !isCached(met.obstacle) {
				left = max(left, met.at.Add(obstacleTime).Sub(now))
			}
		}
	}
	return left
}

// endsUnseen reports whether the end of an obstacle causes no event: that of a policy or webhook, or of an older ReplicaSet from before change
// control, which the cache doesn't hold.
func endsUnseen(obstacle rollback.ObstacleReason) bool {
	return isDenied(obstacle) || obstacle == rollback.ObstacleNoHealthyReplicaSet
}

// isDenied reports whether a policy or webhook prevented a rollback.
func isDenied(obstacle rollback.ObstacleReason) bool {
	return obstacle == rollback.ObstacleDenied || obstacle == rollback.ObstacleReverted
}

// isCached reports whether an obstacle, and its end, can be seen in the cache.
func isCached(obstacle rollback.ObstacleReason) bool {
	return slices.Contains([]rollback.ObstacleReason{
		rollback.ObstaclePaused, rollback.ObstacleRecreate, rollback.ObstacleIsRollback, rollback.ObstacleAlreadyRolledBack,
		rollback.ObstacleNotControlled, rollback.ObstacleNoUser, rollback.ObstacleData, rollback.ObstacleNotParkable, rollback.ObstacleNotReversible,
		rollback.ObstacleParked, rollback.ObstacleComplete, rollback.ObstaclePartition, rollback.ObstacleResumed,
	}, obstacle)
}

// warn remembers the error of an annotation, or that there is none, and reports whether the error is new.
func (l *obstacleLog) warn(workload client.Object, problem error) (first bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := client.ObjectKeyFromObject(workload)
	if problem == nil {
		delete(l.unusable, key)
		return false
	}
	told := unusable{workload.GetUID(), problem.Error()}
	first = l.unusable[key] != told
	if l.unusable == nil {
		l.unusable = map[client.ObjectKey]unusable{}
	}
	l.unusable[key] = told
	return first
}

func (l *obstacleLog) forget(workload client.ObjectKey) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	delete(l.of, workload)
	delete(l.unusable, workload)
}
