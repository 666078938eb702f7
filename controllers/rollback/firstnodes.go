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
	if request.First, request.Let, err = r.liveTurn(ctx, request); err != nil || !request.waits(object) {
		return 0, err
	}
	pods, err := bound.Pods(ctx, r.Live, object)
	if err != nil {
		return 0, err
	}
	turn := decide.Turn{
		Version: request.From.Version, Nodes: request.First, Let: request.Let, Desired: int(rollout.Desired), Unavailable: bound.MaxUnavailable(object),
		MinReadySeconds: rollout.MinReadySeconds,
	}
	next, left := turn.Next(pods, r.Clock.Now())
	for _, pod := range next {
		if err := r.deletePod(ctx, request, object, pod); err != nil {
			return 0, err
		}
	}
	if left > 0 && !request.hasEnough(pods) {
		again = turnWait
	}
	return again, nil
}

// waits reports whether the rollout of a release is paused for its first nodes, or else for a step and for nothing besides.
func (p PodRequest) waits(object client.Object) bool {
	annotations := object.GetAnnotations()
	if len(p.First) > 0 {
		selector, _ := decide.FirstNodesOf(annotations)
		return selector != nil && decide.StartsOnFirstNodes(annotations, p.From.Number)
	}
	paced := appv1alpha1.PacedOf(annotations, p.From.Number)
	return p.Let != nil && paced != nil && paced.Lever == appv1alpha1.LeverNodes && !workloadpatch.IsHeld(object)
}

// hasEnough reports whether there are all pods of the release that its step lets come: the next step brings an event.
func (p PodRequest) hasEnough(pods []corev1.Pod) bool {
	have := int32(0)
	for i := range pods {
		if pods[i].DeletionTimestamp == nil && pods[i].Labels[appv1alpha1.LabelVersion] == p.From.Version {
			have++
		}
	}
	return p.Let != nil && have >= *p.Let
}

// cause returns the cause of the deletions of a request, and its explanation.
func (p PodRequest) cause(pod *corev1.Pod) (cause, why string) {
	switch {
	case len(p.First) > 0:
		return causeFirstNodes, fmt.Sprintf("release %d starts on node %s", p.From.Number, pod.Spec.NodeName)
	case p.Let != nil:
		return causeStep, fmt.Sprintf("the step of release %d lets it come back with the release", p.From.Number)
	case p.Park:
		return causePark, fmt.Sprintf("release %d is parked, so it comes back with the template from before", p.From.Number)
	}
	return causeUnstick, "it was not ready in time and kept the rollout from going on"
}
