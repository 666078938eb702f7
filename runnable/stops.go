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

package runnable

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// stops remembers the first stops of crashing containers for each workload. The zero value is empty.
type stops struct {
	memory[map[decide.Container]time.Time]
}

// note updates the first stops from the present pods, and returns them.
func (s *stops) note(workload client.ObjectKey, pods []corev1.Pod, threshold time.Duration, now time.Time) (first map[decide.Container]time.Time) {
	s.update(workload, func(known map[decide.Container]time.Time) (map[decide.Container]time.Time, bool) {
		first = decide.FirstStops(known, pods, threshold, now)
		return first, len(first) > 0
	})
	return first
}
