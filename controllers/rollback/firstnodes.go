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
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// deleteFirst deletes the next pods on the first nodes of a release, which come back with the release, as long as its rollout waits for
// them.
func (r *Roller) deleteFirst(ctx context.Context, request PodRequest, object client.Object) (again time.Duration, err error) {
	bound, ok := request.Kind.(workload.NodeBound)
	rollout, annotations := request.Kind.Rollout(object), object.GetAnnotations()
	if selector, _ := decide.FirstNodesOf(annotations); !ok || selector == nil || !rollout.Paused ||
		!decide.StartsOnFirstNodes(annotations, request.From.Number) || appv1alpha1.FrozenOf(annotations, request.From.Number) != nil {
		return 0, nil // its event brings the next decision
	}
	if out, err := scope.OptedOut(ctx, r.Live, object.GetNamespace()); err != nil || out {
		return 0, err
	}
	pods, err := bound.Pods(ctx, r.Live, object)
	if err != nil {
		return 0, err
	}
	turn := decide.Turn{
		Version: request.From.Version, Nodes: request.First, Desired: int(rollout.Desired), Unavailable: bound.MaxUnavailable(object),
		MinReadySeconds: rollout.MinReadySeconds,
	}
	next, left := turn.Next(pods, r.Clock.Now())
	for _, pod := range next {
		if err := r.deletePod(ctx, request, object, pod); err != nil {
			return 0, err
		}
	}
	if left > 0 {
		again = turnWait
	}
	return again, nil
}

// cause returns the cause of the deletions of a request, and its explanation.
func (p PodRequest) cause(pod *corev1.Pod) (cause, why string) {
	switch {
	case len(p.First) > 0:
		return causeFirstNodes, fmt.Sprintf("release %d starts on node %s", p.From.Number, pod.Spec.NodeName)
	case p.Park:
		return causePark, fmt.Sprintf("release %d is parked, so it comes back with the template from before", p.From.Number)
	}
	return causeUnstick, "it was not ready in time and kept the rollout from going on"
}
