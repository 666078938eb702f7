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
	"hash/crc32"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Schedule is when a release is looked at: at multiples of the interval, each later by the offset. All checks of a release look at the same
// time and share their queries. Other releases have other offsets: a hundred that begin together don't all ask a source at once.
type Schedule struct {
	// Interval is the time between two looks, at least a second.
	Interval time.Duration
	// Offset is shorter than the interval.
	Offset time.Duration
	// Turn is the look of so many Turns at which a check looks. It looks at each one if Turns is 0 or 1.
	Turn, Turns int
}

// scheduleOf returns when a policy looks at a release. It is the same for each leader.
func scheduleOf(policy *appv1alpha1.AppliedPolicy, workload *appv1alpha1.ChangeWorkload) Schedule {
	seconds := max(uint32(policy.IntervalSeconds), 1)
	offset := crc32.ChecksumIEEE([]byte(workload.UID)) % seconds
	return Schedule{Interval: time.Duration(seconds) * time.Second, Offset: time.Duration(offset) * time.Second}
}

// scheduleOf returns when a check looks at a release.
func (t turns) scheduleOf(policy *appv1alpha1.AppliedPolicy, check *appv1alpha1.VerificationCheck, workload *appv1alpha1.ChangeWorkload) Schedule {
	schedule, mine := scheduleOf(policy, workload), t[CheckID{policy.Policy, check.Name}]
	schedule.Turn, schedule.Turns = mine.at, mine.of
	return schedule
}

// Last returns the time of the last look that isn't after a time.
func (s Schedule) Last(at time.Time) time.Time {
	first := s.Offset + time.Duration(s.Turn)*s.Interval
	return at.Add(-first).Truncate(s.Period()).Add(first)
}

// Period returns the time between two looks of a check.
func (s Schedule) Period() time.Duration { return s.Interval * time.Duration(max(s.Turns, 1)) }

// IsTurn reports whether the last look before a time is one of the check.
func (s Schedule) IsTurn(at time.Time) bool {
	return s.Last(at).Equal(Schedule{Interval: s.Interval, Offset: s.Offset}.Last(at))
}

// end returns when a check has its last look, by when its policy stops watching: the first turn from then on.
func (s Schedule) end(watch time.Time) time.Time {
	if last := s.Last(watch); s.Turns > 1 && last.Before(watch) {
		return last.Add(s.Period())
	}
	return watch
}
