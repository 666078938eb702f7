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
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// ReplayedChecks returns the checks of a past release with these pods that looked at metrics at a time, all at each look: there is no hurry, so the
// queries are sent one after another.
func ReplayedChecks(workload *appv1alpha1.ChangeWorkload, pods *checks.Scene, now time.Time) []AskedCheck {
	return askedChecks(workload, pods, nil, now)
}

// ReplayedLooks returns when a policy looked at a past release after a time, until another one, which is the last look.
func ReplayedLooks(workload *appv1alpha1.ChangeWorkload, policy *appv1alpha1.AppliedPolicy, after, until time.Time) (times []time.Time) {
	schedule := scheduleOf(policy, workload)
	for at := schedule.Last(after).Add(schedule.Interval); at.Before(until); at = at.Add(schedule.Interval) {
		times = append(times, at)
	}
	return append(times, until)
}

// Replay makes the checks of a release once more, as they were made at a time, and returns their results. The workload is what was known
// then. Nothing else is decided about it.
func Replay(workload *appv1alpha1.ChangeWorkload, seen Verification, now time.Time) []appv1alpha1.CheckResult {
	status := workload.Status.DeepCopy()
	seen.Replayed = true
	verify(status, workload, Observation{Kind: workload.WorkloadKind(), Current: true, OptedIn: true, Verification: seen}, now)
	return status.Checks
}
