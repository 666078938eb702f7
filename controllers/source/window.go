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

package source

import "time"

// MaxSteps is the largest number of steps of a window. A query with more costs the source more than they tell.
const MaxSteps = 60

// Window is a time of which a query returns samples, from Start to End, one at each Step.
type Window struct {
	Start, End time.Time
	Step       time.Duration
	// Fixed reports whether it is the same at each look, or at many of them.
	Fixed bool
}

// Align returns the window from a time to another one whose steps are multiples of a duration of at least a second, each later by an offset,
// so that all who look in the same step ask the same. It has at most 60 steps: the step is a multiple of the given one in a longer window.
func Align(start, end time.Time, step, offset time.Duration) Window {
	if end.Before(start) {
		start = end
	}
	step = max(step.Truncate(time.Second), time.Second)
	start, end = start.Add(-offset), end.Add(-offset)
	for times := (end.Sub(start)-1)/(MaxSteps*step) + 1; ; times++ {
		window := Window{Start: start.Truncate(times * step).Add(offset), End: end.Truncate(times * step).Add(offset), Step: times * step}
		if window.End.Sub(window.Start) <= MaxSteps*window.Step {
			return window
		}
	}
}

// Windows returns the windows from a time to another one: one, unless that has at least twice as long steps as one of what is recent. Then it is that,
// after one of what was before, which is mostly the same at the next look.
func Windows(start, recent, end time.Time, step, offset time.Duration) []Window {
	whole := Align(start, end, step, offset)
	if !recent.After(start) {
		return []Window{whole}
	}
	last := Align(recent, end, step, offset)
	if 2*last.Step > whole.Step {
		return []Window{whole}
	}
	before := Align(start, last.Start, step, offset)
	if before.End.Equal(last.Start) {
		before.End = before.End.Add(-before.Step)
	}
	if before.End.Before(before.Start) {
		return []Window{last}
	}
	before.Fixed = true
	return []Window{before, last}
}

// Moments returns the times of the steps.
func (w Window) Moments() []time.Time {
	moments := make([]time.Time, w.steps())
	for i := range moments {
		moments[i] = w.Start.Add(time.Duration(i) * w.Step)
	}
	return moments
}

// steps returns how many there are.
func (w Window) steps() int { return int(w.End.Sub(w.Start)/w.Step) + 1 }

// stepAt returns the step that a sample at a time is of, -1 if it is of none. Some sources move a window to multiples of its step, so that it begins and
// ends earlier by less than one: what they return is of the next step. The one step of an instant is at any: sources round its time.
func (w Window) stepAt(at time.Time) int {
	since := at.Sub(w.Start)
	switch {
	case w.Start.Equal(w.End):
		return 0
	case since <= -w.Step || at.After(w.End):
		return -1
	default:
		return int((since + w.Step - 1) / w.Step)
	}
}

// instant returns the window of one time.
func instant(at time.Time) Window { return Window{Start: at, End: at, Step: time.Second} }
