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

package calendar

import "time"

// around a change of the clocks, the offsets from UTC before and after it are those this much earlier and later: longer than the largest
// change, of a day, and shorter than the time between two.
const apart = 36 * time.Hour

// spanOf returns the span between two readings of the wall clock of a zone, which are given in UTC. A reading that the clocks skip is the time
// at which they skip it. Of one that they show twice, the first begins and the second ends the span, so that it is as long as possible.
func spanOf(start, end time.Time, zone *time.Location) Span {
	first, _ := timesOf(start, zone)
	_, last := timesOf(end, zone)
	return Span{Start: first, End: last}
}

// timesOf returns the first and the last time at which the wall clock of a zone shows a reading, which is given in UTC.
func timesOf(reading time.Time, zone *time.Location) (first, last time.Time) {
	before, after := offset(reading.Add(-apart), zone), offset(reading.Add(apart), zone)
	early, late := reading.Add(-max(before, after)), reading.Add(-min(before, after))
	shownEarly, shownLate := shows(early, reading, zone), shows(late, reading, zone)
	switch {
	case shownEarly && shownLate:
		return early, late
	case shownEarly:
		return early, early
	case shownLate:
		return late, late
	}
	skipped, _ := late.In(zone).ZoneBounds() // late has the offset from before the change, so it is after it
	return skipped, skipped
}

func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}

// shows reports whether the wall clock of a zone shows a reading at a time.
func shows(at, reading time.Time, zone *time.Location) bool {
	return at.Add(offset(at, zone)).Equal(reading)
}
