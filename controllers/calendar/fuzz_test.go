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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

func FuzzTheWindowsOfAFreeze(f *testing.F) {
	f.Add("16:00", "24:00", "Asia/Shanghai", "Fri", "2026-12-24T00:00", "2027-01-02T00:00", int64(1_795_747_000))
	f.Add("22:00", "06:00", "Europe/Berlin", "Sat", "2026-10-25T02:30", "2026-10-25T03:00", int64(1_792_888_200))
	f.Add("02:00", "03:00", "Europe/Berlin", "Sun", "2026-03-29T02:00", "2026-03-29T02:30", int64(1_774_746_000))
	f.Add("00:00", "24:00", "Pacific/Apia", "Fri", "2011-12-30T00:00", "2011-12-31T00:00", int64(1_325_200_000))
	f.Add("02:00", "02:00", "Australia/Lord_Howe", "Sun", "0000-01-01T00:00", "9999-12-31T23:59", int64(0))
	f.Fuzz(func(t *testing.T, from, to, zone, day, first, last string, seconds int64) {
		calendar, problems := Of(&appv1alpha1.ChangeFreeze{
			ObjectMeta: metav1.ObjectMeta{Name: "freeze"},
			Spec: appv1alpha1.ChangeFreezeSpec{
				Windows: []appv1alpha1.FreezeWindow{{Days: []appv1alpha1.Weekday{appv1alpha1.Weekday(day)}, From: from, To: to, TimeZone: zone}},
				Dates:   []appv1alpha1.FreezeDates{{From: first, To: last, TimeZone: zone}},
			},
		})
		now := time.Unix(seconds%10_000_000_000, 0).UTC()
		state := calendar.At(now)
		if len(problems) > 0 {
			if state != (State{}) {
				t.Errorf("a freeze with the problems %v is in the state %+v", problems, state)
			}
			return
		}
		switch {
		case state.Active && (state.Since.After(now) || !state.Until.After(now)):
			t.Errorf("at %s it is on from %s to %s", now, state.Since, state.Until)
		case state.Active && !calendar.At(state.Until.Add(-time.Second)).Active:
			t.Errorf("at %s it is on until %s, and off a second earlier", now, state.Until)
		case !state.Active && (!state.Since.IsZero() || !state.Until.IsZero()):
			t.Errorf("at %s it is off, and on from %s to %s", now, state.Since, state.Until)
		case state.Ended.After(now):
			t.Errorf("at %s it ended at %s", now, state.Ended)
		case !state.Next.IsZero() && (!state.Next.After(now) || !calendar.At(state.Next).Active):
			t.Errorf("at %s the next one begins at %s, when it is off", now, state.Next)
		}
	})
}
