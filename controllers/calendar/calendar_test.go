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

import (
	"testing"
	"time"
	_ "time/tzdata"

	. "github.com/onsi/gomega"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	location, err := time.LoadLocation(name)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return location
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	parsed, err := time.Parse(time.RFC3339, text)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return parsed
}

func TestTimesOf(t *testing.T) {
	for _, row := range []struct{ name, zone, reading, first, last string }{
		{"a usual day", "Asia/Shanghai", "2026-12-24T16:00:00Z", "2026-12-24T08:00:00Z", "2026-12-24T08:00:00Z"},
		{"skipped in spring", "Europe/Berlin", "2026-03-29T02:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"},
		{"just before the clocks go forward", "Europe/Berlin", "2026-03-29T01:59:00Z", "2026-03-29T00:59:00Z", "2026-03-29T00:59:00Z"},
		{"just after they went forward", "Europe/Berlin", "2026-03-29T03:00:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:00:00Z"},
		{"twice in autumn", "Europe/Berlin", "2026-10-25T02:30:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"},
		{"just after it was shown twice", "Europe/Berlin", "2026-10-25T03:00:00Z", "2026-10-25T02:00:00Z", "2026-10-25T02:00:00Z"},
		{"a change of half an hour", "Australia/Lord_Howe", "2026-10-04T02:15:00Z", "2026-10-03T15:30:00Z", "2026-10-03T15:30:00Z"},
		{"a midnight that is skipped", "Africa/Cairo", "2026-04-24T00:00:00Z", "2026-04-23T22:00:00Z", "2026-04-23T22:00:00Z"},
		{"west of Greenwich", "America/New_York", "2026-11-01T01:30:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:30:00Z"},
		{"a whole day that was skipped", "Pacific/Apia", "2011-12-30T12:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},
	} {
		t.Run(row.name, func(t *testing.T) {
			first, last := timesOf(at(t, row.reading), zone(t, row.zone))
			g := NewWithT(t)
			g.Expect(first).To(BeTemporally("==", at(t, row.first)))
			g.Expect(last).To(BeTemporally("==", at(t, row.last)))
		})
	}
}

// fridays is each Friday from 16:00 to midnight.
func fridays(zone *time.Location) window {
	return window{days: [7]bool{time.Friday: true}, start: 16 * time.Hour, end: 24 * time.Hour, zone: zone}
}

func TestCalendarAt(t *testing.T) {
	shanghai, berlin := zone(t, "Asia/Shanghai"), zone(t, "Europe/Berlin")
	saturdays := window{days: [7]bool{time.Saturday: true}, start: 0, end: 24 * time.Hour, zone: shanghai}
	nights := window{days: [7]bool{true, true, true, true, true, true, true}, start: 22 * time.Hour, end: 6 * time.Hour, zone: berlin}
	always := window{days: nights.days, start: 0, end: 24 * time.Hour, zone: berlin}
	twoToThree := window{days: nights.days, start: 2 * time.Hour, end: 3 * time.Hour, zone: berlin}
	christmas := Span{at(t, "2026-12-23T16:00:00Z"), at(t, "2027-01-01T16:00:00Z")}
	for _, row := range []struct {
		name     string
		calendar Calendar
		now      string
		// until is empty for a calendar that isn't active, next if nothing comes.
		until, next string
	}{
		{"empty", Calendar{}, "2026-11-23T00:00:00Z", "", ""},
		{"before a window", Calendar{windows: []window{fridays(shanghai)}}, "2026-11-27T07:59:59Z", "", "2026-11-27T08:00:00Z"},
		{"at its start", Calendar{windows: []window{fridays(shanghai)}}, "2026-11-27T08:00:00Z", "2026-11-27T16:00:00Z", "2026-12-04T08:00:00Z"},
		{"at its end", Calendar{windows: []window{fridays(shanghai)}}, "2026-11-27T16:00:00Z", "", "2026-12-04T08:00:00Z"},
		{"several windows: any of them", Calendar{windows: []window{fridays(shanghai), saturdays}}, "2026-11-27T09:00:00Z", "2026-11-28T16:00:00Z", "2026-12-04T08:00:00Z"},
		{"over midnight, on the second day", Calendar{windows: []window{nights}}, "2026-11-24T03:00:00Z", "2026-11-24T05:00:00Z", "2026-11-24T21:00:00Z"},
		{"over the change in autumn, nine hours", Calendar{windows: []window{nights}}, "2026-10-24T20:00:00Z", "2026-10-25T05:00:00Z", "2026-10-25T21:00:00Z"},
		{"over the change in spring, seven hours", Calendar{windows: []window{nights}}, "2026-03-28T21:00:00Z", "2026-03-29T04:00:00Z", "2026-03-29T20:00:00Z"},
		{"all of it skipped", Calendar{windows: []window{twoToThree}}, "2026-03-29T01:00:00Z", "", "2026-03-30T00:00:00Z"},
		{"shown twice", Calendar{windows: []window{twoToThree}}, "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z", "2026-10-26T01:00:00Z"},
		{"dates, long before", Calendar{spans: []Span{christmas}}, "2026-01-01T00:00:00Z", "", "2026-12-23T16:00:00Z"},
		{"dates, within", Calendar{spans: []Span{christmas}}, "2026-12-31T00:00:00Z", "2027-01-01T16:00:00Z", ""},
		{"dates, after", Calendar{spans: []Span{christmas}}, "2027-01-01T16:00:00Z", "", ""},
		{"a window within dates", Calendar{windows: []window{fridays(shanghai)}, spans: []Span{christmas}}, "2026-12-25T09:00:00Z", "2027-01-01T16:00:00Z", "2027-01-08T08:00:00Z"},
		{"always: as far as it looks", Calendar{windows: []window{always}}, "2026-11-23T12:00:00Z", "2026-12-08T23:00:00Z", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g, state := NewWithT(t), row.calendar.At(at(t, row.now))
			g.Expect(state.Active).To(Equal(row.until != ""))
			for name, expected := range map[string]struct {
				text string
				time time.Time
			}{"until": {row.until, state.Until}, "next": {row.next, state.Next}} {
				if expected.text == "" {
					g.Expect(expected.time).To(BeZero(), name)
				} else {
					g.Expect(expected.time).To(BeTemporally("==", at(t, expected.text)), name)
				}
			}
		})
	}
}

func TestCalendarAtSinceTheFirstOfSpansThatTouch(t *testing.T) {
	everyDay := window{days: [7]bool{true, true, true, true, true, true, true}, end: 24 * time.Hour, zone: time.UTC}
	weekend := everyDay
	weekend.days = [7]bool{time.Saturday: true, time.Sunday: true, time.Monday: true}
	friday := window{days: [7]bool{time.Friday: true}, start: 16 * time.Hour, end: 24 * time.Hour, zone: time.UTC}
	for _, row := range []struct {
		name     string
		calendar Calendar
		since    string
	}{
		{"from Friday evening to Monday", Calendar{windows: []window{friday, weekend}}, "2026-11-27T16:00:00Z"},
		{"from dates to each weekend", Calendar{windows: []window{weekend}, spans: []Span{{at(t, "2026-09-01T00:00:00Z"), at(t, "2026-11-28T00:00:00Z")}}}, "2026-09-01T00:00:00Z"},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.calendar.At(at(t, "2026-11-30T12:00:00Z")).Since).To(BeTemporally("==", at(t, row.since)))
		})
	}
	always := Calendar{windows: []window{everyDay}}.At(at(t, "2026-11-30T12:00:00Z"))
	NewWithT(t).Expect(always.Active).To(BeTrue())
	NewWithT(t).Expect(always.Since).To(BeZero(), "every day")
}

func TestCalendarAtHasTheEndOfTheSpanBefore(t *testing.T) {
	christmas := Span{at(t, "2026-12-23T16:00:00Z"), at(t, "2027-01-01T16:00:00Z")}
	weekly := Calendar{windows: []window{fridays(time.UTC)}}
	for _, row := range []struct {
		name       string
		calendar   Calendar
		now, ended string
	}{
		{"in the next one", weekly, "2026-11-27T17:00:00Z", "2026-11-21T00:00:00Z"},
		{"at the end", weekly, "2026-11-28T00:00:00Z", "2026-11-28T00:00:00Z"},
		{"just before it", weekly, "2026-11-27T23:59:59Z", "2026-11-21T00:00:00Z"},
		{"long after", Calendar{spans: []Span{christmas}}, "2028-01-01T00:00:00Z", "2027-01-01T16:00:00Z"},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(row.calendar.At(at(t, row.now)).Ended).To(BeTemporally("==", at(t, row.ended)))
		})
	}
	NewWithT(t).Expect(Calendar{spans: []Span{christmas}}.At(at(t, "2026-12-24T00:00:00Z")).Ended).To(BeZero())
}

// TestCalendarAtIsTheWallClock compares a window with the wall clock for two years in zones with unusual changes. The window is on Sundays at
// the time of most changes: its start or its end is skipped, or shown twice.
func TestCalendarAtIsTheWallClock(t *testing.T) {
	const step = 5 * time.Minute
	for _, name := range []string{"Europe/Berlin", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "Africa/Casablanca"} {
		for _, times := range [][2]time.Duration{{90 * time.Minute, 210 * time.Minute}, {60 * time.Minute, 130 * time.Minute}} {
			t.Run(name, func(t *testing.T) {
				g, location := NewWithT(t), zone(t, name)
				start, end := times[0], times[1]
				calendar := Calendar{windows: []window{{days: [7]bool{time.Sunday: true}, start: start, end: end, zone: location}}}
				// reading is the time of the day on a Sunday. It is false on other days.
				reading := func(at time.Time) (time.Duration, bool) {
					local := at.In(location)
					return time.Duration(local.Hour())*time.Hour + time.Duration(local.Minute())*time.Minute, local.Weekday() == time.Sunday
				}
				// expected reports whether the clock has shown the start or more on this day, and will show less than the end.
				expected := func(now time.Time) (begun, goesOn bool) {
					for away := time.Duration(0); away <= 3*time.Hour; away += step {
						before, isSunday := reading(now.Add(-away))
						begun = begun || isSunday && before >= start
						after, isSunday := reading(now.Add(away))
						goesOn = goesOn || isSunday && after < end
					}
					return begun, goesOn
				}
				for now := at(t, "2026-01-01T00:00:00Z"); now.Year() < 2028; {
					is, wait := false, time.Hour
					if clock, isSunday := reading(now); isSunday && clock < 6*time.Hour {
						begun, goesOn := expected(now)
						is, wait = begun && goesOn, step
					}
					if calendar.At(now).Active != is {
						g.Expect(now).To(BeNil(), "%s is in the window: %t", now.In(location), is)
					}
					now = now.Add(wait)
				}
			})
		}
	}
}
