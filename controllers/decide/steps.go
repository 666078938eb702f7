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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// targetOf returns the number of pods of a workload that may run a release at a step, from 1: the most of this step and those before. It is never
// 0, so that a workload without pods begins with one once it is scaled up.
func targetOf(steps []appv1alpha1.ReleaseStep, step, desired int32) int32 {
	desired = max(desired, 1)
	target := int64(1)
	for _, one := range steps[:min(int(step), len(steps))] {
		target = max(target, int64(one.Replicas), (int64(one.Percent)*int64(desired)+99)/100)
	}
	return int32(min(target, int64(desired)))
}

// reachedStep returns the step that a release has reached, whose target was that of so many desired pods: the present one, or an earlier one if
// the steps were changed so that it would let more of them run. A ReleasePolicy that is changed begins no step.
func reachedStep(steps []appv1alpha1.ReleaseStep, step, target, desired int32) int32 {
	step = min(step, int32(len(steps)))
	for step > 0 && target > 0 && targetOf(steps, step, desired) > target {
		step--
	}
	return step
}

// noLater returns when a time is over that a status may have already, and that a ReleasePolicy may have shortened since.
func noLater(stored, limit *metav1.Time) *metav1.Time {
	if stored != nil && stored.Before(limit) {
		return stored
	}
	return limit
}

// stepsDone returns a step and the number of steps, such as 2/3.
func stepsDone(steps []appv1alpha1.ReleaseStep, step int32) string {
	return fmt.Sprintf("%d/%d", step, len(steps))
}

// nextOf returns the step after a step, such as 25% or 5 pods; empty for the last one.
func nextOf(steps []appv1alpha1.ReleaseStep, step int32) string {
	if int(step) >= len(steps) {
		return ""
	}
	next := steps[step]
	if next.Replicas > 0 {
		return plural(int(next.Replicas), "pod")
	}
	return fmt.Sprintf("%d%%", next.Percent)
}

func plural(count int, noun string) string {
	if count != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", count, noun)
}
