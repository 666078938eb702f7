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
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// deleteNext deletes the next pods on the first nodes of a release, or on any nodes as far as its step lets them come back with the release, as
// long as its rollout waits for them.
func (r *Roller) deleteNext(ctx context.Context, request PodRequest, object client.Object) (again time.Duration, err error) {
	bound, ok := request.Kind.(workload.NodeBound)
	rollout := request.Kind.Rollout(object)
	if !ok || !rollout.Paused || appv1alpha1.FrozenOf(object.GetAnnotations(), request.From.Number) != nil {
		return 0, nil // its event brings the next decision
	}
	if out, err := scope.OptedOut(ctx, r.Live, object.GetNamespace()); err != nil || out {
		return 0, err
	}
	turn, err := r.liveTurn(ctx, request, object)
	if err != nil || turn == nil || !waits(object, request.From, *turn) {
		return 0, err
	}
	pods, err := bound.Pods(ctx, r.Live, object)
	if err != nil {
		return 0, err
	}
	turn.Desired, turn.Unavailable, turn.MinReadySeconds = int(rollout.Desired), bound.MaxUnavailable(object), rollout.MinReadySeconds
	next, left := turn.Next(pods, r.Clock.Now())
	for _, pod := range next {
		if err := r.deletePod(ctx, request.Kind, object, pod, reasonOf(*turn, request.From, pod)); err != nil {
			return 0, err
		}
	}
	if left > 0 && !hasEnough(*turn, pods) {
		again = turnWait
	}
	return again, nil
}

// waits reports whether the rollout of a release is paused for its first nodes, or else for a step and for nothing besides.
func waits(object client.Object, release decide.Release, turn decide.Turn) bool {
	annotations := object.GetAnnotations()
	if len(turn.Nodes) > 0 {
		selector, _ := decide.FirstNodesOf(annotations)
		return selector != nil && decide.StartsOnFirstNodes(annotations, release.Number)
	}
	paced := appv1alpha1.PacedOf(annotations, release.Number)
	return paced != nil && paced.Lever == appv1alpha1.LeverNodes && !workloadpatch.IsHeld(object)
}

// hasEnough reports whether there are all pods of the release that its step lets come: the next step brings an event.
func hasEnough(turn decide.Turn, pods []corev1.Pod) bool {
	have := int32(0)
	for i := range pods {
		if pods[i].DeletionTimestamp == nil && turn.Has(&pods[i]) {
			have++
		}
	}
	return turn.Let != nil && have >= *turn.Let
}

func reasonOf(turn decide.Turn, release decide.Release, pod *corev1.Pod) reason {
	if len(turn.Nodes) > 0 {
		return reason{causeFirstNodes, fmt.Sprintf("release %d starts on node %s", release.Number, pod.Spec.NodeName)}
	}
	return reason{causeStep, fmt.Sprintf("the step of release %d lets it come back with the release", release.Number)}
}
