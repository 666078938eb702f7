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

// Package calendar computes when freezes are on, from days, dates and times on the wall clocks of time zones.
package calendar

import (
	"slices"
	"time"
)

// days is how far back and ahead the spans of weekly windows are computed: two weeks, and the day on which a span under way may have begun.
const days = 15

// Calendar has windows that return weekly, and single spans. The zero Calendar is never active.
type Calendar struct {
	windows []window
	spans   []Span
}

// Span is the time from Start to just before End.
type Span struct {
	Start, End time.Time
}

// State is that of a Calendar at a time. Its times are in UTC.
type State struct {
	// Active reports whether the time is within a span.
	Active bool
	// Since is the start of the active span with those that lead to it without a gap. It is zero if none is active, or if windows leave no gap.
	Since time.Time
	// Until is the end of the active span with those that follow it without a gap, at most two weeks ahead where they return weekly.
	// It is zero if none is active.
	Until time.Time
	// Ended is the end of the last span before. It is zero if no span ended within two weeks and no single one earlier.
	Ended time.Time
	// Next is the start of the next span after the active one. It is zero if no span starts within two weeks and no single one later.
	Next time.Time
}

// At returns the state at a time.
func (c Calendar) At(now time.Time) State {
	var state State
	for _, span := range c.around(now) {
		switch {
		case !span.End.After(now):
			state.Ended = span.End.UTC()
		case span.Start.After(now):
			state.Next = span.Start.UTC()
			return state
		default:
			state.Active, state.Since, state.Until = true, span.Start.UTC(), span.End.UTC()
			if c.hasNoGap(now) {
				state.Since = time.Time{}
			}
		}
	}
	return state
}

// hasNoGap reports whether windows follow each other at all times, so that the start of a span is only that of the time that is looked at.
func (c Calendar) hasNoGap(now time.Time) bool {
	return len(Calendar{windows: c.windows}.around(now)) == 1
}

// around returns the spans around a time in order. Those that overlap or touch are one.
func (c Calendar) around(now time.Time) []Span {
	spans := slices.Clone(c.spans)
	for _, window := range c.windows {
		for day := -days; day <= days; day++ {
			if span := window.from(now, day); span.End.After(span.Start) {
				spans = append(spans, span)
			}
		}
	}
	slices.SortFunc(spans, func(a, b Span) int { return a.Start.Compare(b.Start) })
	var joined []Span
	for _, span := range spans {
		last := len(joined) - 1
		switch {
		case last < 0 || span.Start.After(joined[last].End):
			joined = append(joined, span)
		case span.End.After(joined[last].End):
			joined[last].End = span.End
		}
	}
	return joined
}

// window is a span that returns each week.
type window struct {
	// days are those that it begins on, by time.Weekday.
	days [7]bool
	// start and end are times since midnight on the wall clock. An end that isn't after start is that of the next day.
	start, end time.Duration
	zone       *time.Location
}

// from returns the span that begins a number of days after the day of a time. It is empty if none does, or if the clocks skip all of it.
func (w window) from(now time.Time, days int) Span {
	year, month, day := now.In(w.zone).Date()
	midnight := time.Date(year, month, day+days, 0, 0, 0, 0, time.UTC)
	if !w.days[midnight.Weekday()] {
		return Span{}
	}
	end := w.end
	if w.end <= w.start {
		end += 24 * time.Hour
	}
	return spanOf(midnight.Add(w.start), midnight.Add(end), w.zone)
}
