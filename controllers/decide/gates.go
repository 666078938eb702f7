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
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// GateState is the state of the operator's gate on a pod.
type GateState string

const (
	// GateOpen is a pod without a gate, or with one that is open.
	GateOpen GateState = ""
	// GateUnstarted is a pod that isn't scheduled before its gate is removed.
	GateUnstarted GateState = "unstarted"
	// GateUnready is a pod that gets no traffic before its gate is opened.
	GateUnready GateState = "unready"
)

// Gated returns the state of the operator's gate on a pod.
func Gated(pod *corev1.Pod) GateState {
	switch {
	case slices.ContainsFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool { return gate.Name == appv1alpha1.PodGate }):
		return GateUnstarted
	case hasReadinessGate(pod) && trueCondition(pod, appv1alpha1.PodGate) == nil:
		return GateUnready
	}
	return GateOpen
}

func hasReadinessGate(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ReadinessGates, func(gate corev1.PodReadinessGate) bool {
		return gate.ConditionType == appv1alpha1.PodGate
	})
}

// lostAfter is how long after its grace period a pod that is being deleted still counts as running. Then its node doesn't answer, which may last until
// somebody removes the node.
const lostAfter = time.Minute

// LostIn returns in what time a pod counts as lost with its node, 0 for one that isn't being deleted or does already.
func LostIn(pod *corev1.Pod, now time.Time) time.Duration {
	if pod.DeletionTimestamp == nil {
		return 0
	}
	return max(0, pod.DeletionTimestamp.Add(lostAfter).Sub(now))
}

// PodsToOpen returns the pods of a release whose gates to open now, the oldest first, so that at most let pods run, and get traffic. Pods that
// are being deleted count while they exist, unless they are lost, and coming further ones that come without a gate. Of pods that wait for traffic, only those
// that passed their check get it, unless all may run.
func PodsToOpen(pods []corev1.Pod, let, coming int32, passed sets.Set[types.UID], now time.Time) []*corev1.Pod {
	var unstarted, unready []*corev1.Pod
	toStart, toServe := int(let)-int(coming), int(let)
	for i := range pods {
		pod := &pods[i]
		isGoing := pod.DeletionTimestamp != nil
		if podEnded(pod) || isGoing && LostIn(pod, now) == 0 {
			continue
		}
		switch gate := Gated(pod); {
		case gate == GateOpen:
			toStart--
			toServe--
		case gate == GateUnready:
			toStart--
			if !isGoing && (let == LetAll || passed.Has(pod.UID)) {
				unready = append(unready, pod)
			}
		case !isGoing:
			unstarted = append(unstarted, pod)
		}
	}
	return slices.Concat(oldest(unstarted, toStart), oldest(unready, toServe))
}

// oldest returns the oldest of some pods, at most so many.
func oldest(pods []*corev1.Pod, count int) []*corev1.Pod {
	slices.SortFunc(pods, func(a, b *corev1.Pod) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	return pods[:min(max(count, 0), len(pods))]
}

// PodsToReturn returns the pods of a release that wait at a gate before they start although none further comes for now, and that come back with
// another revision: those that a workload gained while pods were replaced. Otherwise they would be missing, and a controller that waits for
// each pod would neither create nor replace another.
func (o Ordinals) PodsToReturn(pods []corev1.Pod) []*corev1.Pod {
	var surplus []*corev1.Pod
	for i := range pods {
		pod := &pods[i]
		if Gated(pod) == GateUnstarted && pod.DeletionTimestamp == nil && !podEnded(pod) && o.Observed && o.revision(pod) != o.successor(pod) {
			surplus = append(surplus, pod)
		}
	}
	return surplus
}

// podEnded reports whether no container of a pod runs any more.
func podEnded(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
