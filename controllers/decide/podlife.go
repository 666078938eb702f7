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
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/podhealth"
)

const outOfMemory = "OOMKilled"

// NewPods returns what the pods of a release show since they finished. Pods that are being replaced, by an eviction for example, aren't
// finished and don't count.
func NewPods(pods []corev1.Pod, finished []appv1alpha1.PodSummary) []checks.Pod {
	summaries := make(Batched, len(finished))
	for _, summary := range finished {
		summaries[podID{summary.Pod, summary.UID}] = summary
	}
	var lives []checks.Pod
	for i := range pods {
		if summary, found := summaries.of(&pods[i]); found {
			life := lifeOf(&pods[i], time.Unix(summary.FinishTimeUnix, 0))
			if life.Restarts = ends(&pods[i]) - summary.Restarts; life.Restarts <= 0 || life.Ended == "" {
				life.Restarts, life.OutOfMemory, life.Ended, life.Code = 0, "", "", 0
			}
			lives = append(lives, life)
		}
	}
	return lives
}

// NoteFirst notes which of the new pods replace one of the same name that finished in the release, by its batches: as in a StatefulSet.
func NoteFirst(pods []checks.Pod, batches []appv1alpha1.ChangePod) {
	places := make(map[string]int, len(pods))
	for i := range pods {
		places[pods[i].Name] = i
	}
	for i := range batches {
		for _, summary := range batches[i].Spec.PodInfos {
			place, found := places[summary.Pod]
			if !found || summary.UID == pods[place].UID || summary.UID == "" || summary.FinishTimeUnix == 0 {
				continue
			}
			at, first := time.Unix(summary.FinishTimeUnix, 0), &pods[place].First
			if first.IsZero() || at.Before(*first) {
				*first = at
			}
		}
	}
}

// OtherPods returns what pods that don't run a release show since it began.
func OtherPods(pods []corev1.Pod, began time.Time) []checks.Pod {
	var lives []checks.Pod
	for i := range pods {
		if !isReplaced(&pods[i]) {
			lives = append(lives, lifeSince(&pods[i], began))
		}
	}
	return lives
}

// lifeSince returns what a pod shows since a time: at most one restart, as only the last one is known.
func lifeSince(pod *corev1.Pod, began time.Time) checks.Pod {
	life := lifeOf(pod, began)
	life.Since = life.Created
	if life.Ended != "" && !life.EndedAt.Before(began) {
		life.Restarts = 1
	} else {
		life.OutOfMemory, life.Ended, life.Code = "", "", 0
	}
	if life.Unready.Before(began) || !wasReady(pod, life.Unready) {
		life.Unready = time.Time{}
	}
	return life
}

// longestBackOff is how long the kubelet keeps a container down at most that crashes in a loop.
const longestBackOff = 5 * time.Minute

// SharedTroubles returns the signals that a pod of another workload shows at the same time as the new pods of a release that began at a time.
// The cause may be older than the release: a pod that it keeps crashing may have ended before, and be down until now.
func SharedTroubles(pod *corev1.Pod, of podhealth.Troubles, began, now time.Time) []appv1alpha1.PodSignal {
	if isReplaced(pod) || len(pod.Status.ContainerStatuses) == 0 && len(pod.Status.InitContainerStatuses) == 0 && IsReady(pod) {
		return nil
	}
	life := lifeSince(pod, began.Add(-longestBackOff))
	return of.Shared(&life, now)
}

// lifeOf returns what a pod shows since a time, except how often it restarted. The last end of its containers counts whatever its time, which a clock
// of another machine tells: its callers know by the number of restarts whether it is new.
func lifeOf(pod *corev1.Pod, since time.Time) checks.Pod {
	life := checks.Pod{Name: pod.Name, UID: pod.UID, Node: pod.Spec.NodeName, IP: pod.Status.PodIP, Labels: pod.Labels, Ready: IsReady(pod), Since: since, Created: pod.CreationTimestamp.Time}
	last := time.Time{}
	for _, status := range containersOf(pod) {
		if at := lastStop(status); at.After(last) {
			last = at
		}
	}
	for _, status := range containersOf(pod) {
		end := lastEnd(status)
		if end == nil || end.ExitCode == 0 || end.FinishedAt.Time.Before(since) && end.FinishedAt.Time.Before(last) {
			continue
		}
		if at := end.FinishedAt.Time; life.Ended == "" || at.After(life.EndedAt) {
			life.Ended, life.Code, life.EndedAt, life.RanAgain = status.Name, end.ExitCode, at, ranSince(status)
		}
		if end.Reason == outOfMemory {
			life.OutOfMemory = status.Name
		}
	}
	if !life.Ready {
		life.Unready = unreadySince(pod)
		life.Ready = isJustLetIn(pod)
	}
	return life
}

// isJustLetIn reports whether a pod that the operator's gate let in has yet to become ready, as its containers are and nobody else's gate is closed: its
// kubelet hasn't seen that.
func isJustLetIn(pod *corev1.Pod) bool {
	closed := func(gate corev1.PodReadinessGate) bool { return trueCondition(pod, gate.ConditionType) == nil }
	return trueCondition(pod, corev1.ContainersReady) != nil && !letIn(pod).IsZero() && unreadySince(pod).Equal(letIn(pod)) &&
		!slices.ContainsFunc(pod.Spec.ReadinessGates, closed)
}

// unreadySince returns when a pod stopped to be ready, zero where that is unknown. One that the operator's gate let in counts from then: until the
// kubelet has seen that, its condition is still the one from its start.
func unreadySince(pod *corev1.Pod) time.Time {
	for i := range pod.Status.Conditions {
		condition := &pod.Status.Conditions[i]
		if condition.Status == corev1.ConditionFalse && condition.Type == readinessOf(pod) {
			return laterOf(condition.LastTransitionTime.Time, letIn(pod))
		}
	}
	return time.Time{}
}

// letIn returns when the operator's gate let traffic to a pod, zero where it didn't.
func letIn(pod *corev1.Pod) time.Time {
	if opened := trueCondition(pod, appv1alpha1.PodGate); opened != nil {
		return opened.LastTransitionTime.Time
	}
	return time.Time{}
}

// wasReady reports whether a pod that isn't ready since a time was so before. One that still starts up isn't ready since the kubelet took it over:
// it sets the condition and the start time together, in whole seconds. A pod without a start time counts from its creation.
func wasReady(pod *corev1.Pod, unready time.Time) bool {
	start := pod.CreationTimestamp.Time
	if pod.Status.StartTime != nil {
		start = pod.Status.StartTime.Time
	}
	return unready.After(start.Add(time.Second))
}

// readinessOf returns the condition that shows whether a pod is ready: its containers are, while it waits for traffic at the operator's gate.
func readinessOf(pod *corev1.Pod) corev1.PodConditionType {
	if Gated(pod) == GateUnready {
		return corev1.ContainersReady
	}
	return corev1.PodReady
}

// ends returns how often containers of a pod ended: each was restarted since, except for those that don't run now.
func ends(pod *corev1.Pod) int32 {
	count := Restarts(pod)
	for _, status := range containersOf(pod) {
		if isStopped(status) && lastEnd(status) != nil {
			count++
		}
	}
	return count
}

// restartsAt returns how often the containers of a pod had been restarted when it finished.
func restartsAt(pod *corev1.Pod, finished time.Time) int32 {
	count := ends(pod)
	for _, status := range containersOf(pod) {
		if end := lastEnd(status); end != nil && end.FinishedAt.After(finished) {
			count--
		}
	}
	return count
}

// OldPodsOf returns what pods have been through in their whole lives.
func OldPodsOf(pods []corev1.Pod, now time.Time) appv1alpha1.OldPods {
	var old appv1alpha1.OldPods
	for i := range pods {
		pod := &pods[i]
		if isReplaced(pod) {
			continue
		}
		old.Pods++
		old.Seconds += max(int64(now.Sub(pod.CreationTimestamp.Time)/time.Second), 0)
		old.Restarts += int64(ends(pod))
		if life := lifeOf(pod, pod.CreationTimestamp.Time); life.OutOfMemory != "" {
			old.OutOfMemory++
		}
	}
	return old
}

// TroubleOf counts what an event of a pod may change for the checks of its release: it grows with each end of a container.
func TroubleOf(pod *corev1.Pod) (ended int32, unready bool) {
	return ends(pod), !IsReady(pod) && !isReplaced(pod) && !unreadySince(pod).IsZero()
}
