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

// StuckPods are pods that are not running although their time is over, or that could not be created in that time.
type StuckPods struct {
	// First is the earliest deadline that has passed.
	First time.Time
	// Message describes what they wait for, with one pod for each trouble; empty where no pod is stuck.
	Message string
	// Next is the time until the next deadline, or until a container has run long enough for its stops to be forgotten; 0 where there
	// is none.
	Next time.Duration
	// Pods are the stuck pods that exist.
	Pods []*corev1.Pod
}

// FindStuck returns the pods of a revision, given as the cache holds them, that did not start in time or crash repeatedly, and whether
// pods could not be created for as long.
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
		stuck.Message += failure.Message
	}
	return stuck
}

// note takes a deadline into account, and reports whether it has passed.
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

// wait limits Next to left, unless that is over.
func (s *StuckPods) wait(left time.Duration) {
	if left > 0 && (s.Next == 0 || left < s.Next) {
		s.Next = left
	}
}

// stuckMessage describes each trouble with a pod. The order is stable.
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
