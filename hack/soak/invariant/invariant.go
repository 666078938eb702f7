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

// Package invariant checks invariants of all writes to a cluster while the operator runs. The checkers are
// pure functions of a history.
package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/traas-stack/altershield-operator/hack/soak/history"
)

// Result is the result of a checker.
type Result struct {
	// Observations is the number of times that the invariant could have been violated.
	Observations int
	// Violations has a sentence for each violation.
	Violations []string
}

func (r *Result) violated(format string, args ...any) {
	r.Violations = append(r.Violations, fmt.Sprintf(format, args...))
}

// System is the context of a history.
type System struct {
	// Operator is the operator's user.
	Operator string
	// OptedIn are the namespaces under change control, Own is the operator's namespace.
	OptedIn []string
	Own     string
	// Guarded are the namespaces in which only Overriders may ignore the suspension of a Deployment: the policies cover no other kinds.
	Guarded, Overriders []string
	// Approving are the namespaces with steps that need an approval.
	Approving []string
	// Down are the times at which the API server or the operator was stopped, slow or had to catch up. The operator is not expected to
	// act during these.
	Down []Interval
}

// Interval is an interval of time. Without an end it lasts.
type Interval struct{ From, To time.Time }

// awake returns how much time the operator had to act between two times.
func (s System) awake(from, to time.Time) time.Duration {
	left := to.Sub(from)
	for _, down := range slices.SortedFunc(slices.Values(s.Down), func(a, b Interval) int { return a.From.Compare(b.From) }) {
		begin, end := down.From, down.To
		if end.IsZero() || end.After(to) {
			end = to
		}
		if begin.Before(from) {
			begin = from
		}
		if end.After(begin) {
			left -= end.Sub(begin)
			from = end // an overlap with the next one counts once
		}
	}
	return left
}

// slowWrite is how long the API server may take for a write while it isn't slow.
const slowWrite = time.Second

// Slow returns the times at which the API server was slow, as on a busy machine, by writes in any order. They don't overlap.
func Slow(writes []history.Write) []Interval {
	slow := slices.DeleteFunc(slices.Clone(writes), func(write history.Write) bool { return write.Time.Sub(write.Asked) <= slowWrite })
	slices.SortFunc(slow, func(a, b history.Write) int { return a.Asked.Compare(b.Asked) })
	var intervals []Interval
	for _, write := range slow {
		last := len(intervals) - 1
		switch {
		case last < 0 || write.Asked.After(intervals[last].To):
			intervals = append(intervals, Interval{From: write.Asked, To: write.Time})
		case write.Time.After(intervals[last].To):
			intervals[last].To = write.Time
		}
	}
	return intervals
}

// Until returns the writes that were stored up to a moment, sorted: those up to the last one that was answered by then. The answer to an earlier one may have come later.
func Until(moment time.Time, writes []history.Write) []history.Write {
	var last int64
	for _, write := range writes {
		if !write.Time.After(moment) {
			last = max(last, write.Revision)
		}
	}
	stored := slices.DeleteFunc(slices.Clone(writes), func(write history.Write) bool { return write.Revision > last })
	Sort(stored)
	return stored
}

// Sort sorts writes in the order in which they were made.
func Sort(writes []history.Write) {
	slices.SortStableFunc(writes, func(a, b history.Write) int {
		return cmp.Or(cmp.Compare(a.Revision, b.Revision), a.Time.Compare(b.Time))
	})
}

func at(write history.Write) string {
	return fmt.Sprintf("%s %s/%s at %s by %s (revision %d)", write.Resource, write.Namespace, write.Name,
		write.Time.UTC().Format("15:04:05.000"), write.User, write.Revision)
}
