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
}

// scheduleOf returns when a policy looks at a release. It is the same for each leader.
func scheduleOf(policy *appv1alpha1.AppliedPolicy, workload *appv1alpha1.ChangeWorkload) Schedule {
	seconds := max(uint32(policy.IntervalSeconds), 1)
	offset := crc32.ChecksumIEEE([]byte(workload.UID)) % seconds
	return Schedule{Interval: time.Duration(seconds) * time.Second, Offset: time.Duration(offset) * time.Second}
}

// Last returns the time of the last look that isn't after a time.
func (s Schedule) Last(at time.Time) time.Time {
	return at.Add(-s.Offset).Truncate(s.Interval).Add(s.Offset)
}
