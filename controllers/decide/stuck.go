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
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// StuckPods are pods that don't run although their time is over, or that could not be created in that time.
type StuckPods struct {
	// First is when the time of the first of them was over.
	First time.Time
	// Message says what they wait for, and names a pod for each trouble; empty where there are none.
	Message string
	// Next is how long until the time of another pod that doesn't run is over, or a container has run for long enough to forget that
	// it stopped; 0 where there is none.
	Next time.Duration
	// Pods are those that are there.
	Pods []*corev1.Pod
}

// FindStuck looks at now for pods of a revision, as the cache holds them, that have not come to run in time or crash again and
// again, and for those that could not be created for that long.
func FindStuck(revision Revision, pods []corev1.Pod, patience Patience, now time.Time) StuckPods {
	var stuck StuckPods
	named := map[string]string{}
	for i := range pods {
		pod := &pods[i]
		deadline, idle := patience.deadline(pod, now)
		if !idle {
			stuck.wait(patience.calm(pod).Sub(now))
			continue
		}
		if !stuck.note(deadline, now) {
			continue
		}
		stuck.Pods = append(stuck.Pods, pod)
		if text := patience.trouble(pod, now); len(named) < maxNamedPods || named[text] != "" {
			named[text] = min(cmp.Or(named[text], pod.Name), pod.Name)
		}
	}
	stuck.Message = stuckMessage(named, len(stuck.Pods))
	if failure := revision.Failure; failure != nil && stuck.note(patience.end(failure.Since), now) {
		if stuck.Message != "" {
			stuck.Message += "; "
		}
		stuck.Message += "pods can't be created: " + failure.Message
	}
	return stuck
}

// note remembers a deadline, and reports whether it is over.
func (s *StuckPods) note(deadline, now time.Time) bool {
	if left := deadline.Sub(now); left > 0 {
		s.wait(left)
		return false
	}
	if s.First.IsZero() || deadline.Before(s.First) {
		s.First = deadline
	}
	return true
}

// wait has the next look after left at the latest, unless that is over.
func (s *StuckPods) wait(left time.Duration) {
	if left > 0 && (s.Next == 0 || left < s.Next) {
		s.Next = left
	}
}

// stuckMessage names a pod for each trouble, always the same one.
func stuckMessage(named map[string]string, count int) string {
	var parts []string
	for text, pod := range named {
		parts = append(parts, fmt.Sprintf("pod %s: %s", pod, text))
	}
	slices.Sort(parts)
	message := strings.Join(parts, "; ")
	if more := count - len(parts); more > 0 {
		message += fmt.Sprintf(" (and %d more)", more)
	}
	return message
}
