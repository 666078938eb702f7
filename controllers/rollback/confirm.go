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
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// Confirms that the pods of a release are stuck before it is rolled back: the cache may be behind.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// NotStuck is the error for a release that is not stuck: its pods are running, or still have time.
type NotStuck struct {
	// Again is when to look again, 0 where nothing but an event can change the decision.
	Again time.Duration
}

func (n *NotStuck) Error() string { return "the pods of the release are running, or still have time" }

// confirm judges the pods of a release by live reads, without those that something other than the release keeps from running. The error is
// NotStuck where the release is not stuck. count is how many pods it has.
func (r *Roller) confirm(ctx context.Context, request Request, scene *scene) (stuck decide.StuckPods, count int, err error) {
	revision, unseen := decide.StampedRevision(scene.revisions, scene.past.Release.Version)
	if revision == nil || unseen {
		return decide.StuckPods{}, 0, &NotStuck{}
	}
	patience := request.Patience
	pods, err := r.pods(ctx, request.Workload.Namespace, *revision)
	if err != nil {
		return decide.StuckPods{}, 0, err
	}
	now := r.Agreed() // the answer above has told the time of the API server
	stuck = decide.FindStuck(*revision, pods, patience, now)
	if patience.Excused, err = r.excused(ctx, stuck.Pods, patience.Threshold, now); err != nil {
		return decide.StuckPods{}, 0, err
	}
	if stuck = decide.FindStuck(*revision, pods, patience, now); stuck.Message == "" {
		return decide.StuckPods{}, 0, &NotStuck{Again: stuck.Next}
	}
	return stuck, len(pods), nil
}

// pods returns the pods of a revision from the API server as the cache would hold them.
func (r *Roller) pods(ctx context.Context, namespace string, revision decide.Revision) ([]corev1.Pod, error) {
	found, err := index.LivePodsOfVersion(ctx, r.Live, namespace, revision.Version)
	var pods []corev1.Pod
	for i := range found {
		if revision.Pods.Match(&found[i]) {
			pods = append(pods, *scope.SlimPod(&found[i]))
		}
	}
	return pods, err
}

// excused returns the times until which pods do not count. It ends at the first pod that counts: one is enough for a rollback.
func (r *Roller) excused(ctx context.Context, pods []*corev1.Pod, threshold time.Duration, now time.Time) (map[types.UID]time.Time, error) {
	surroundings := &surroundings{live: r.Live, threshold: threshold, now: now}
	excused := map[types.UID]time.Time{}
	for _, pod := range pods {
		until, err := surroundings.excuse(ctx, pod)
		if err != nil {
			return nil, err
		}
		if !until.After(now) {
			break
		}
		excused[pod.UID] = until
	}
	return excused, nil
}

// excuse counts revisions as healthy whose unready pods are all excused.
func (r *Roller) excuse(ctx context.Context, revisions []decide.Revision, threshold time.Duration, now time.Time) error {
	for i := range revisions {
		revision := &revisions[i]
		excused, err := r.excused(ctx, revision.Unready, threshold, now)
		if err != nil {
			return err
		}
		revision.Healthy = revision.Healthy || len(excused) > 0 && len(excused) == len(revision.Unready)
	}
	return nil
}
