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

package decide

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// FinishRule decides which pods completed their release.
type FinishRule struct {
	// Labelled is the setting "finished-label": a pod counts once it has the label. Otherwise it counts once it was ready for long
	// enough. Labelled pods and those in a batch count either way, so that switching the setting loses none.
	Labelled bool
	// Of is the rollout of the workload.
	Of Rollout
}

// FinishedPods returns the desired pods of a release that completed it, in the order in which they did. wait is the time until another one
// does, 0 where only an event can change the result.
func FinishedPods(
	deployment string, pods []corev1.Pod, batches []appv1alpha1.ChangePod, rule FinishRule, now time.Time,
) (finished []appv1alpha1.PodSummary, wait time.Duration) {
	batched := BatchedPods(batches)
	for i := range pods {
		pod := &pods[i]
		summary := Summarize(deployment, pod)
		known, isBatched := batched.of(pod)
		switch {
		case isReplaced(pod), !rule.Of.Wants(pod):
			continue
		case IsFinished(pod):
		case isBatched:
			summary.FinishTimeUnix = known.FinishTimeUnix
		case rule.Labelled:
			continue
		default:
			done, left := PodFinished(pod, rule.Of, now)
			if !done {
				if left > 0 && (wait == 0 || left < wait) {
					wait = left
				}
				continue
			}
			summary.FinishTimeUnix = rule.finishedAt(pod).Unix()
		}
		if summary.Restarts = known.Restarts; !isBatched {
			summary.Restarts = restartsAt(pod, time.Unix(summary.FinishTimeUnix, 0))
		}
		finished = append(finished, summary)
	}
	slices.SortFunc(finished, func(a, b appv1alpha1.PodSummary) int {
		return cmp.Or(cmp.Compare(a.FinishTimeUnix, b.FinishTimeUnix), cmp.Compare(a.Pod, b.Pod))
	})
	return finished, wait
}

// FinishedUnits returns the units of a release that completed it: all of them once the release is complete, before and afterwards those in a
// batch.
func FinishedUnits(units []appv1alpha1.PodSummary, batches []appv1alpha1.ChangePod, complete bool, now time.Time) []appv1alpha1.PodSummary {
	batched := BatchedPods(batches)
	var finished []appv1alpha1.PodSummary
	for _, unit := range units {
		known, isBatched := batched[podID{unit.Pod, unit.UID}]
		switch {
		case isBatched:
			unit.FinishTimeUnix = known.FinishTimeUnix
		case complete:
			unit.FinishTimeUnix = now.Unix()
		default:
			continue
		}
		finished = append(finished, unit)
	}
	return finished
}

// finishedAt returns when a pod completed its release.
func (r FinishRule) finishedAt(pod *corev1.Pod) time.Time {
	if HasSucceeded(pod) {
		return succeededAt(pod)
	}
	return finishTime(readyCondition(pod), r.Of.MinReadySeconds)
}

// MayFinish reports whether a pod counts as finished, or will without a further event.
func (r FinishRule) MayFinish(pod *corev1.Pod) bool {
	return IsFinished(pod) || !r.Labelled && (IsReady(pod) || HasSucceeded(pod))
}

// Batched are the pods in batches.
type Batched map[podID]appv1alpha1.PodSummary

type podID struct {
	name string
	uid  types.UID
}

// BatchedPods returns the pods in batches.
func BatchedPods(batches []appv1alpha1.ChangePod) Batched {
	pods := make(Batched, len(batches))
	for i := range batches {
		for _, pod := range batches[i].Spec.PodInfos {
			pods[podID{pod.Pod, pod.UID}] = pod
		}
	}
	return pods
}

// of returns the summary of a pod. Batches of an operator before v0.2 have its name alone.
func (b Batched) of(pod *corev1.Pod) (appv1alpha1.PodSummary, bool) {
	if summary, found := b[podID{pod.Name, pod.UID}]; found {
		return summary, true
	}
	summary, found := b[podID{name: pod.Name}]
	return summary, found
}
