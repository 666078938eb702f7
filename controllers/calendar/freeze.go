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
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/validation/field"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Formats of the times of a ChangeFreeze.
const (
	dayLength  = 24 * time.Hour
	timeOfDay  = "15:04"
	dateFormat = "2006-01-02T15:04"
	// midnight is the end of a day, which is no time of a day.
	midnight = "24:00"
)

// Of returns the calendar of a ChangeFreeze. Without windows and dates, the freeze is on from its creation until it expires. Bad fields are
// returned with their places.
func Of(freeze *appv1alpha1.ChangeFreeze) (Calendar, field.ErrorList) {
	spec, path := &freeze.Spec, field.NewPath("spec")
	var calendar Calendar
	var problems field.ErrorList
	for i := range spec.Windows {
		window, found := windowOf(&spec.Windows[i], path.Child("windows").Index(i))
		calendar.windows, problems = append(calendar.windows, window), append(problems, found...)
	}
	for i := range spec.Dates {
		span, found := datesOf(&spec.Dates[i], path.Child("dates").Index(i))
		calendar.spans, problems = append(calendar.spans, span), append(problems, found...)
	}
	if spec.Expires != nil {
		created := freeze.CreationTimestamp.Time
		calendar.spans = append(calendar.spans, Span{created, created.Add(spec.Expires.Duration)})
	}
	if len(problems) > 0 {
		return Calendar{}, problems
	}
	return calendar, nil
}

func windowOf(declared *appv1alpha1.FreezeWindow, path *field.Path) (window, field.ErrorList) {
	zone, problems := zoneOf(declared.TimeZone, path)
	start, err := clockOf(declared.From)
	if err != nil {
		problems = append(problems, field.Invalid(path.Child("from"), declared.From, "must be a time of day such as 16:00"))
	}
	end, err := clockOf(declared.To)
	if err != nil {
		problems = append(problems, field.Invalid(path.Child("to"), declared.To, "must be a time of day such as 18:30, or 24:00"))
	}
	found := window{start: start, end: end, zone: zone}
	for _, day := range declared.Days {
		weekday, known := weekdayOf(day)
		if !known {
			problems = append(problems, field.Invalid(path.Child("days"), day, "must be a day such as Mon"))
			continue
		}
		found.days[weekday] = true
	}
	if len(declared.Days) == 0 {
		found.days = [7]bool{true, true, true, true, true, true, true}
	}
	return found, problems
}

func datesOf(declared *appv1alpha1.FreezeDates, path *field.Path) (Span, field.ErrorList) {
	zone, problems := zoneOf(declared.TimeZone, path)
	start, err := time.Parse(dateFormat, declared.From)
	if err != nil {
		problems = append(problems, field.Invalid(path.Child("from"), declared.From, "must be a date and a time such as 2026-12-24T00:00"))
	}
	end, err := time.Parse(dateFormat, declared.To)
	if err != nil {
		problems = append(problems, field.Invalid(path.Child("to"), declared.To, "must be a date and a time such as 2027-01-02T00:00"))
	}
	if len(problems) > 0 {
		return Span{}, problems
	}
	span := spanOf(start, end, zone)
	// A status has its times in UTC, with years of four digits.
	if span.Start.UTC().Year() < 0 {
		problems = append(problems, field.Invalid(path.Child("from"), declared.From, "must not be before the year 0000 in UTC either, such as 0000-01-02T00:00"))
	}
	if span.End.UTC().Year() > 9999 {
		problems = append(problems, field.Invalid(path.Child("to"), declared.To, "must be before the year 10000 in UTC too, such as 9999-12-31T00:00"))
	}
	if !span.End.After(span.Start) {
		problems = append(problems, field.Invalid(path.Child("to"), declared.To, "must be after from, "+declared.From))
	}
	return span, problems
}

// zoneOf returns a time zone. An unknown one is an error: another zone in its place would move the freeze.
func zoneOf(name string, path *field.Path) (*time.Location, field.ErrorList) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || name == "Local" {
		return time.UTC, field.ErrorList{field.Invalid(path.Child("timeZone"), name,
			"must be a name of the IANA time zone database such as Asia/Shanghai or UTC")}
	}
	return zone, nil
}

// clockOf returns a time of day since midnight.
func clockOf(text string) (time.Duration, error) {
	if text == midnight {
		return dayLength, nil
	}
	parsed, err := time.Parse(timeOfDay, text)
	if err != nil {
		return 0, fmt.Errorf("reading the time %q: %w", text, err)
	}
	return time.Duration(parsed.Hour())*time.Hour + time.Duration(parsed.Minute())*time.Minute, nil
}

// weekdayOf returns the weekday of an abbreviation such as Mon.
func weekdayOf(day appv1alpha1.Weekday) (time.Weekday, bool) {
	for weekday := time.Sunday; weekday <= time.Saturday; weekday++ {
		if weekday.String()[:3] == string(day) {
			return weekday, true
		}
	}
	return 0, false
}
