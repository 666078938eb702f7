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

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func TestOf(t *testing.T) {
	g := NewWithT(t)
	calendar, problems := Of(&appv1alpha1.ChangeFreeze{Spec: appv1alpha1.ChangeFreezeSpec{
		Windows: []appv1alpha1.FreezeWindow{
			{Days: []appv1alpha1.Weekday{"Fri"}, From: "16:00", To: "24:00", TimeZone: "Asia/Shanghai"},
			{From: "22:30", To: "06:00", TimeZone: "UTC"},
		},
		Dates: []appv1alpha1.FreezeDates{{From: "2026-12-24T00:00", To: "2027-01-02T00:00", TimeZone: "Asia/Shanghai"}},
	}})
	g.Expect(problems).To(BeEmpty())
	for now, until := range map[string]string{
		"2026-11-27T08:00:00Z": "2026-11-27T16:00:00Z", // Friday evening in Shanghai
		"2026-11-24T23:00:00Z": "2026-11-25T06:00:00Z", // each night in UTC
		"2026-12-31T12:00:00Z": "2027-01-01T16:00:00Z",
	} {
		g.Expect(calendar.At(at(t, now)).Until).To(BeTemporally("==", at(t, until)), now)
	}
	g.Expect(calendar.At(at(t, "2026-11-24T12:00:00Z")).Active).To(BeFalse())
}

func TestOfAnIncidentLock(t *testing.T) {
	g := NewWithT(t)
	calendar, problems := Of(&appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(at(t, "2026-11-24T12:00:00Z"))},
		Spec:       appv1alpha1.ChangeFreezeSpec{Expires: &metav1.Duration{Duration: 8 * time.Hour}},
	})
	g.Expect(problems).To(BeEmpty())
	g.Expect(calendar.At(at(t, "2026-11-24T12:00:00Z"))).To(Equal(
		State{Active: true, Since: at(t, "2026-11-24T12:00:00Z"), Until: at(t, "2026-11-24T20:00:00Z")}))
	g.Expect(calendar.At(at(t, "2026-11-24T20:00:00Z"))).To(Equal(State{Ended: at(t, "2026-11-24T20:00:00Z")}))
}

func TestOfTakesTheDatesThatItsMessagesName(t *testing.T) {
	for _, zone := range []string{"Etc/GMT+12", "America/New_York", "UTC", "Asia/Shanghai", "Etc/GMT-14"} {
		calendar, problems := Of(&appv1alpha1.ChangeFreeze{Spec: appv1alpha1.ChangeFreezeSpec{
			Dates: []appv1alpha1.FreezeDates{{From: "0000-01-02T00:00", To: "9999-12-31T00:00", TimeZone: zone}},
		}})
		g := NewWithT(t)
		g.Expect(problems).To(BeEmpty(), zone)
		g.Expect(calendar.At(at(t, "2026-11-21T10:00:00Z")).Until.Year()).To(Equal(9999), zone)
	}
}

func TestOfShowsTheBadField(t *testing.T) {
	window := func(window appv1alpha1.FreezeWindow) appv1alpha1.ChangeFreezeSpec {
		return appv1alpha1.ChangeFreezeSpec{Windows: []appv1alpha1.FreezeWindow{window}}
	}
	dates := func(from, to string) appv1alpha1.ChangeFreezeSpec {
		return appv1alpha1.ChangeFreezeSpec{Dates: []appv1alpha1.FreezeDates{{From: from, To: to, TimeZone: "UTC"}}}
	}
	in := func(zone, from, to string) appv1alpha1.ChangeFreezeSpec {
		return appv1alpha1.ChangeFreezeSpec{Dates: []appv1alpha1.FreezeDates{{From: from, To: to, TimeZone: zone}}}
	}
	for _, row := range []struct {
		name     string
		spec     appv1alpha1.ChangeFreezeSpec
		expected string
	}{
		{"an unknown zone", window(appv1alpha1.FreezeWindow{From: "16:00", To: "18:00", TimeZone: "Asia/Hangzhou"}),
			`spec.windows[0].timeZone: Invalid value: "Asia/Hangzhou": must be a name of the IANA time zone database such as Asia/Shanghai or UTC`},
		{"the zone of the machine", window(appv1alpha1.FreezeWindow{From: "16:00", To: "18:00", TimeZone: "Local"}),
			`spec.windows[0].timeZone: Invalid value: "Local": must be a name of the IANA time zone database such as Asia/Shanghai or UTC`},
		{"no time of day", window(appv1alpha1.FreezeWindow{From: "24:00", To: "4pm", TimeZone: "UTC"}),
			`spec.windows[0].to: Invalid value: "4pm": must be a time of day such as 18:30, or 24:00`},
		{"no weekday", window(appv1alpha1.FreezeWindow{Days: []appv1alpha1.Weekday{"friday"}, From: "16:00", To: "18:00", TimeZone: "UTC"}),
			`spec.windows[0].days: Invalid value: "friday": must be a day such as Mon`},
		{"no date", dates("2026-02-30T00:00", "2026-03-02T00:00"),
			`spec.dates[0].from: Invalid value: "2026-02-30T00:00": must be a date and a time such as 2026-12-24T00:00`},
		{"dates in the wrong order", dates("2027-01-02T00:00", "2026-12-24T00:00"),
			`spec.dates[0].to: Invalid value: "2026-12-24T00:00": must be after from, 2027-01-02T00:00`},
		{"an end that no status can have", in("America/New_York", "2026-01-01T00:00", "9999-12-31T23:59"),
			`spec.dates[0].to: Invalid value: "9999-12-31T23:59": must be before the year 10000 in UTC too, such as 9999-12-31T00:00`},
		{"a start that no status can have", in("Asia/Shanghai", "0000-01-01T00:00", "2026-01-01T00:00"),
			`spec.dates[0].from: Invalid value: "0000-01-01T00:00": must not be before the year 0000 in UTC either, such as 0000-01-02T00:00`},
	} {
		t.Run(row.name, func(t *testing.T) {
			calendar, problems := Of(&appv1alpha1.ChangeFreeze{Spec: row.spec})
			g := NewWithT(t)
			g.Expect(problems.ToAggregate()).To(MatchError(row.expected))
			g.Expect(calendar).To(Equal(Calendar{}), "a bad freeze has no effect")
		})
	}
}
