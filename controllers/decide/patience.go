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
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Patience is how long the pods of a release may take to run, and which time does not count.
type Patience struct {
	// Threshold is how long they may take.
	Threshold time.Duration
	// Since is when this process became the leader, or could reach the API server again. Earlier delays may not be the pods' fault.
	Since time.Time
	// Stopped has the first stop of each crashing container, as FirstStops returns it.
	Stopped map[Container]time.Time
	// Excused has the time until which a pod does not count, because something else keeps it from running.
	Excused map[types.UID]time.Time
	// Batched are the pods in batches of the release, which have completed it, labelled or not.
	Batched Batched
}

// Container names a container of a pod.
type Container struct {
	Pod  types.UID
	Name string
}

// maxShownValue is the most bytes of an invalid value in a message.
const maxShownValue = 64

// StuckAfter returns the threshold of a workload with these annotations, given that of the setting. It returns the setting and an
// error where the annotation is invalid.
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

// PolicyStuckAfter returns the threshold of a workload with these annotations. That of its ReleasePolicy, which may be nil, takes
// precedence over the annotation and the setting. Else the annotation counts only where the setting isn't 0. It returns the setting and an
// error where the annotation counts and is invalid.
func PolicyStuckAfter(policy *appv1alpha1.ReleasePolicy, annotations map[string]string, setting time.Duration) (time.Duration, error) {
	switch {
	case policy != nil && policy.Spec.StuckAfter != nil:
		return policy.Spec.StuckAfter.Duration, nil
	case setting == 0:
		return 0, nil
	}
	return StuckAfter(annotations, setting)
}

// FirstStops returns the first stop of each crashing container. known is the previous result: a status has the last stop alone. Once a
// container has run for threshold, its next stop is a first one again.
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

// deadline returns when a pod has to be running. idle is false for a pod that is running or not counted.
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

// Awaits returns what a pod waits for that isn't running, and when it has to be running. Both are empty for one that is running or not counted.
func (p *Patience) Awaits(pod *corev1.Pod, now time.Time) (what string, deadline time.Time) {
	deadline, idle := p.deadline(pod, now)
	if !idle {
		return "", time.Time{}
	}
	return p.trouble(pod, now), deadline
}

// end returns the end of the time that a pod has from began.
func (p *Patience) end(began time.Time) time.Time {
	return laterOf(began, p.Since).Add(p.Threshold)
}

// begin returns the start of the time of a pod that has not run yet: when the operator removed its scheduling gate. Another pod that was
// scheduled later than the threshold was held back, by a scheduling gate for example: its time starts when it is scheduled.
func (p *Patience) begin(pod *corev1.Pod) time.Time {
	created := pod.CreationTimestamp.Time
	if opened, err := strconv.ParseInt(pod.Annotations[appv1alpha1.AnnotationGateOpened], 10, 64); err == nil {
		return laterOf(created, time.Unix(opened, 0))
	}
	for _, condition := range pod.Status.Conditions {
		isScheduled := condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionTrue
		if isScheduled && condition.LastTransitionTime.After(created.Add(p.Threshold)) {
			return condition.LastTransitionTime.Time
		}
	}
	return created
}

// stoppedSince returns the start of the trouble of a container in a running pod: its first stop, if it ever ran. In a pod that completed
// its release, a container that fails to start again, or stops later, has another problem than the release. But pods of a crashing
// release may be ready for a moment, so a stop within twice the threshold counts.
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

// isTroubled reports whether a container is not running, or stopped repeatedly and has not run for longer than the last time.
func (p *Patience) isTroubled(pod *corev1.Pod, status *corev1.ContainerStatus, now time.Time) bool {
	first, seen := p.Stopped[Container{Pod: pod.UID, Name: status.Name}]
	return isStopped(status) || seen && lastStop(status).After(first) && isLooping(status, p.Threshold, now)
}

// calm returns when the containers of a running pod will have run long enough for their stops to be forgotten, zero without stops.
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
