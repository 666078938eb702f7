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

// Package notice decides what is told of releases: which events there are, and which messages are due. It does no I/O.
package notice

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
)

// lockOf is an incident lock from 10:00 on.
func lockOf(expires time.Duration, generation int64) *appv1alpha1.ChangeFreeze {
	return &appv1alpha1.ChangeFreeze{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "lock", UID: "f-1", CreationTimestamp: metav1.NewTime(after(0)), Generation: generation},
		Spec:       appv1alpha1.ChangeFreezeSpec{Action: "Park", Reason: "INC-7", Expires: &metav1.Duration{Duration: expires}},
	}
}

// toldLock is what is told of an incident lock.
func toldLock(until int) appv1alpha1.ToldFreeze {
	return appv1alpha1.ToldFreeze{
		Namespace: "shop", Name: "lock", UID: "f-1", CreatedAt: metav1.NewTime(after(0)), Generation: 1, StartedAt: metav1.NewTime(after(0)),
		Until: metav1.NewTime(after(until)), Action: "Park", Reason: "INC-7",
	}
}

// seen is that a freeze has been seen to be on.
func seen(freeze *appv1alpha1.ChangeFreeze, at int, generation int64) *appv1alpha1.ChangeFreeze {
	freeze.Status.ObservedGeneration = generation
	freeze.Status.Conditions = []metav1.Condition{{Type: "Active", Status: "True", LastTransitionTime: metav1.NewTime(after(at))}}
	return freeze
}

func texts(events []Event) (short []string) {
	for _, event := range events {
		text := fmt.Sprintf("%s %d", event.Name, event.At.Unix()-after(0).Unix())
		if !event.Until.IsZero() {
			text += fmt.Sprintf(" until %d", event.Until.Unix()-after(0).Unix())
		}
		if event.Prolonged {
			text = "prolonged: " + text
		}
		short = append(short, text)
	}
	return short
}

func TestOfFreezeReturnsWhatAnEditChanged(t *testing.T) {
	told := []appv1alpha1.ToldFreeze{toldLock(3600)}
	off := seen(lockOf(time.Hour, 2), 0, 1)
	off.Spec.Expires, off.Spec.Dates = nil, []appv1alpha1.FreezeDates{{TimeZone: "UTC", From: "2027-01-01T00:00", To: "2027-01-02T00:00"}}
	for name, row := range map[string]struct {
		freeze     *appv1alpha1.ChangeFreeze
		told       []appv1alpha1.ToldFreeze
		since, now int
		want       []string
	}{
		"prolonged":                           {lockOf(2*time.Hour, 2), told, 1200, 1800, []string{"prolonged: FreezeStarted 1800 until 7200"}},
		"prolonged, which was told":           {lockOf(2*time.Hour, 1), []appv1alpha1.ToldFreeze{toldLock(7200)}, 1200, 1800, nil},
		"edited otherwise":                    {lockOf(time.Hour, 2), told, 1200, 1800, nil},
		"shortened":                           {lockOf(time.Hour/2, 2), told, 0, 900, nil},
		"a later end without an edit":         {lockOf(2*time.Hour, 1), told, 1200, 1800, nil},
		"ended, with an end long ago":         {lockOf(time.Minute, 2), told, 1200, 1800, []string{"FreezeEnded 1800"}},
		"ended, with an end just now":         {lockOf(time.Minute, 2), told, 0, 90, []string{"FreezeEnded 60"}},
		"ended, to begin again later":         {off, told, 1200, 1800, []string{"FreezeEnded 1800"}},
		"ended, which was not told to begin":  {off, nil, 1200, 1800, nil},
		"turned on, in the midst of its time": {seen(lockOf(2*time.Hour, 2), 1800, 2), nil, 1200, 1801, []string{"FreezeStarted 1800 until 7200"}},
		"turned on, not seen so far":          {seen(lockOf(2*time.Hour, 2), 1800, 1), nil, 1200, 1801, nil},
		"on before the subscription":          {seen(lockOf(2*time.Hour, 1), 0, 1), nil, 1200, 1801, nil},
		"told as it began":                    {seen(lockOf(time.Hour, 1), 1, 1), told, 0, 2, nil},
		"seen late":                           {seen(lockOf(time.Hour, 1), 60, 1), nil, 0, 61, []string{"FreezeStarted 0 until 3600"}},
		"on again after one that was told":    {lockOf(time.Hour, 1), []appv1alpha1.ToldFreeze{toldLock(-1)}, 0, 1, []string{"FreezeStarted 0 until 3600"}},
	} {
		g := NewWithT(t)
		times, problems := calendar.Of(row.freeze)
		g.Expect(problems).To(BeEmpty(), name)
		events := OfFreeze(row.freeze, times, row.told, after(row.since), after(row.now))
		g.Expect(texts(events)).To(Equal(row.want), name)
		for _, event := range OfFreeze(row.freeze, times, row.told, after(row.since), after(row.now)) {
			g.Expect(event.ID).To(Equal(events[0].ID), name)
		}
	}
}

func TestOfFreezeReturnsTheEndByAnEditAlsoWhereTheCalendarHadAnEndBeforeTheBeginning(t *testing.T) {
	g := NewWithT(t)
	lock := lockOf(time.Hour, 2)
	lock.Spec.Expires, lock.Spec.Dates = nil, []appv1alpha1.FreezeDates{{TimeZone: "UTC", From: "2026-11-21T10:00", To: "2026-11-21T10:10"}}
	told := toldLock(7200)
	told.StartedAt = metav1.NewTime(after(900))
	times, problems := calendar.Of(lock)
	g.Expect(problems).To(BeEmpty())
	g.Expect(texts(OfFreeze(lock, times, []appv1alpha1.ToldFreeze{told}, after(0), after(1000)))).To(Equal([]string{"FreezeEnded 600", "FreezeEnded 1000"}))
}

func TestOfGoneFreezesReturnsTheEndsOfThoseThatAreDeleted(t *testing.T) {
	g := NewWithT(t)
	gone, there := func(types.UID) bool { return false }, func(uid types.UID) bool { return uid == "f-1" }
	told := []appv1alpha1.ToldFreeze{toldLock(3600)}
	g.Expect(OfGoneFreezes(told, there, after(1800))).To(BeEmpty())
	unlocked := OfGoneFreezes(told, gone, after(1800))
	g.Expect(texts(unlocked)).To(Equal([]string{"FreezeEnded 1800"}))
	g.Expect(unlocked[0].Workload.Kind + " " + unlocked[0].Namespace + "/" + unlocked[0].Workload.Name + ": " + unlocked[0].Reason + ", " + unlocked[0].Message).To(
		Equal("ChangeFreeze shop/lock: Park, INC-7"))
	g.Expect(OfGoneFreezes(told, gone, after(1900))[0].ID).To(Equal(unlocked[0].ID), "once")
	ended := OfGoneFreezes(told, gone, after(7200))
	g.Expect(texts(ended)).To(Equal([]string{"FreezeEnded 3600"}), "at its own end, if that was earlier")
	lock := lockOf(time.Hour, 1)
	times, _ := calendar.Of(lock)
	g.Expect(ended[0].ID).To(Equal(OfFreeze(lock, times, told, after(0), after(3700))[0].ID), "which may wait to be told")
}

func TestDeliverNotesTheFreezesWhoseEndIsToBeTold(t *testing.T) {
	g := NewWithT(t)
	var status appv1alpha1.ChangeSubscriptionStatus
	lock := lockOf(time.Hour, 1)
	times, _ := calendar.Of(lock)
	Deliver(&status, OfFreeze(lock, times, nil, after(0), after(1)))
	g.Expect(status.ToldFreezes).To(Equal([]appv1alpha1.ToldFreeze{toldLock(3600)}))
	Deliver(&status, OfGoneFreezes(status.ToldFreezes, func(types.UID) bool { return false }, after(2)))
	g.Expect(status.ToldFreezes).To(BeEmpty())
	status.ToldFreezes = []appv1alpha1.ToldFreeze{toldLock(3600)}
	longer := lockOf(2*time.Hour, 2)
	times, _ = calendar.Of(longer)
	Deliver(&status, OfFreeze(longer, times, status.ToldFreezes, after(0), after(1800)))
	prolonged := toldLock(7200)
	prolonged.Generation = 2
	g.Expect(status.ToldFreezes).To(Equal([]appv1alpha1.ToldFreeze{prolonged}), "one that is prolonged began when it did")
	earlier := freezeEvent(toldLock(0), "FreezeEnded", after(-60), 0)
	Deliver(&status, []Event{earlier})
	g.Expect(status.ToldFreezes).To(HaveLen(1), "the end of an earlier time isn't that of this one")
	status.ToldFreezes = nil
	times, _ = calendar.Of(lock)
	for i := range 70 {
		other := lockOf(time.Hour, 1)
		other.UID = types.UID(fmt.Sprint("f-", i))
		Deliver(&status, OfFreeze(other, times, nil, after(0), after(1)))
	}
	g.Expect(status.ToldFreezes).To(HaveLen(64))
	g.Expect(status.ToldFreezes[0].UID).To(BeEquivalentTo("f-6"), "the oldest go")
}
