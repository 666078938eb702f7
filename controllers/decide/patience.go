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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Patience is how long the pods of a release may take to run, and which time doesn't count.
type Patience struct {
	// Threshold is how long they may take.
	Threshold time.Duration
	// Since is when the operator began to lead, or had the API server back: what took long before that may be no fault of the pods.
	Since time.Time
	// Stopped is when containers that crash stopped first, as FirstStops has it.
	Stopped map[Container]time.Time
	// Excused is until when pods don't count, as something else keeps them from running.
	Excused map[types.UID]time.Time
	// Batched are the pods in the batches of the release: they completed it, labelled or not.
	Batched Batched
}

// Container names a container of a pod.
type Container struct {
	Pod  types.UID
	Name string
}

// maxShownValue is how many bytes are shown of a value that can't be used.
const maxShownValue = 64

// StuckAfter returns the threshold for a Deployment with these annotations, given that of the setting. The error is that the
// annotation can't be used; then the setting holds.
func StuckAfter(annotations map[string]string, setting time.Duration) (time.Duration, error) {
	value, given := annotations[appv1alpha1.AnnotationStuckAfter]
	if !given {
		return setting, nil
	}
	threshold, err := time.ParseDuration(value)
	if err != nil || threshold != 0 && threshold < time.Second {
		return setting, fmt.Errorf("annotation %s must be 0 (never) or a duration of at least 1s, such as 90s or 10m, not %q",
			appv1alpha1.AnnotationStuckAfter, Shorten(value, maxShownValue))
	}
	return threshold, nil
}

// FirstStops returns when each container that crashes stopped first. A status has its last stop alone: known is what the look
// before found. Once a container has run for threshold, its next stop is another trouble.
func FirstStops(known map[Container]time.Time, pods []corev1.Pod, threshold time.Duration, now time.Time) map[Container]time.Time {
	stops := map[Container]time.Time{}
	for i := range pods {
		for _, status := range containersOf(&pods[i]) {
			end := lastStop(status)
			if end.IsZero() || ranFor(status, now) >= threshold {
				continue
			}
			container := Container{Pod: pods[i].UID, Name: status.Name}
			if first, seen := known[container]; seen {
				end = first
			}
			stops[container] = end
		}
	}
	return stops
}

// deadline is when a pod should be running; idle is false for one that runs, and for one that is not counted.
func (p *Patience) deadline(pod *corev1.Pod, now time.Time) (deadline time.Time, idle bool) {
	var since time.Time
	switch {
	case !isCounted(pod):
		return time.Time{}, false
	case pod.Status.Phase != corev1.PodRunning:
		since, idle = p.begin(pod), !p.hasFinished(pod)
	default:
		for _, status := range containersOf(pod) {
			if began, stopped := p.stoppedSince(pod, status, now); stopped && (!idle || began.Before(since)) {
				since, idle = began, true
			}
		}
	}
	return laterOf(p.end(since), p.Excused[pod.UID]), idle
}

// end is when a time is over that began then.
func (p *Patience) end(began time.Time) time.Time {
	return laterOf(began, p.Since).Add(p.Threshold)
}

// begin is when the time of a pod began that has not run yet. One that was scheduled only after its time was kept back, by a
// scheduling gate say: its time begins then.
func (p *Patience) begin(pod *corev1.Pod) time.Time {
	created := pod.CreationTimestamp.Time
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue && condition.LastTransitionTime.After(created.Add(p.Threshold)) {
			return condition.LastTransitionTime.Time
		}
	}
	return created
}

// stoppedSince is when the trouble of a container of a pod that runs began: with its first stop, where it ever ran. In a pod that
// completed its release something else is the matter with a container that doesn't come up again, or that stopped later. The
// pods of a release that crashes soon may be ready for a moment, too: what stops within twice the threshold is not excused.
func (p *Patience) stoppedSince(pod *corev1.Pod, status *corev1.ContainerStatus, now time.Time) (since time.Time, stopped bool) {
	if !p.isTroubled(pod, status, now) {
		return time.Time{}, false
	}
	stop := lastStop(status)
	if stop.IsZero() {
		return p.begin(pod), !p.hasFinished(pod)
	}
	if first, seen := p.Stopped[Container{Pod: pod.UID, Name: status.Name}]; seen {
		stop = first
	}
	return stop, !p.hasFinished(pod) || !stop.After(pod.CreationTimestamp.Add(2*p.Threshold))
}

// hasFinished reports whether a pod is known to have completed its release.
func (p *Patience) hasFinished(pod *corev1.Pod) bool {
	_, batched := p.Batched.of(pod)
	return batched || IsFinished(pod)
}

// isTroubled reports whether a container doesn't run, or stopped more than once and has not run for longer yet than the last time.
func (p *Patience) isTroubled(pod *corev1.Pod, status *corev1.ContainerStatus, now time.Time) bool {
	first, seen := p.Stopped[Container{Pod: pod.UID, Name: status.Name}]
	return isStopped(status) || seen && lastStop(status).After(first) && isLooping(status, p.Threshold, now)
}

// calm is when a container of a pod that runs will have run for long enough to forget that it stopped, zero where none did.
func (p *Patience) calm(pod *corev1.Pod) time.Time {
	var calm time.Time
	for _, status := range containersOf(pod) {
		if _, seen := p.Stopped[Container{Pod: pod.UID, Name: status.Name}]; seen && status.State.Running != nil {
			calm = laterOf(calm, status.State.Running.StartedAt.Add(p.Threshold))
		}
	}
	return calm
}

func laterOf(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
