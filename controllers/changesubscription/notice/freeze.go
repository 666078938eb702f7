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

package notice

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
)

// OfFreeze returns what happened to a ChangeFreeze with a calendar at a time or later, and since it was created, oldest first: its last beginning and its
// last end, and what an edit of it changed. told are the freezes that were known to be on.
func OfFreeze(freeze *appv1alpha1.ChangeFreeze, times calendar.Calendar, told []appv1alpha1.ToldFreeze, since, now time.Time) (found []Event) {
	state, created := times.At(now), freeze.CreationTimestamp.UTC()
	add := func(name appv1alpha1.SubscribedEvent, at time.Time, ordinal int64) {
		event := freezeEvent(toldOf(freeze), name, at, ordinal)
		if name == appv1alpha1.NotifyFreezeStarted {
			event.Until = state.Until
		}
		found = append(found, event)
	}
	if state.Ended.After(created) && !state.Ended.Before(since) {
		add(appv1alpha1.NotifyFreezeEnded, state.Ended, state.Ended.Unix())
	}
	before := toldFreeze(told, freeze.UID)
	if !state.Active {
		if endedByEdit(before, found, now) {
			add(appv1alpha1.NotifyFreezeEnded, now, before.StartedAt.Unix())
		}
		return found
	}
	began := latest(state.Since, created)
	switch isTold := before != nil && !before.Until.Time.Before(began); {
	case isTold && before.Generation != freeze.Generation && state.Until.Unix() > before.Until.Unix(): // the end of one that returns weekly moves by itself
		add(appv1alpha1.NotifyFreezeStarted, now, state.Until.Unix())
		found[len(found)-1].Prolonged = true
	case isTold:
	case !began.Before(since):
		add(appv1alpha1.NotifyFreezeStarted, began, began.Unix())
	default:
		if edited := turnedOn(freeze); !edited.Before(since) {
			add(appv1alpha1.NotifyFreezeStarted, edited, edited.Unix())
		}
	}
	return found
}

// endedByEdit reports whether a freeze that isn't on any more ended before the time that was told, and not by an event that was found.
func endedByEdit(told *appv1alpha1.ToldFreeze, found []Event, now time.Time) bool {
	return told != nil && told.Until.After(now) && (len(found) == 0 || !isEndOf(&found[0], told))
}

// turnedOn returns when a freeze was first seen to be on: later than the beginning in its calendar if an edit turned it on. It is zero as long as its
// status is that of another spec.
func turnedOn(freeze *appv1alpha1.ChangeFreeze) time.Time {
	active := meta.FindStatusCondition(freeze.Status.Conditions, appv1alpha1.ConditionActive)
	if active == nil || active.Status != metav1.ConditionTrue || freeze.Status.ObservedGeneration != freeze.Generation {
		return time.Time{}
	}
	return active.LastTransitionTime.UTC()
}

// OfNewlyConcerning returns the beginning of a ChangeFreeze that is on for a subscription that it concerns only now: an edit made it select another
// namespace, or a namespace has other labels.
func OfNewlyConcerning(freeze *appv1alpha1.ChangeFreeze, times calendar.Calendar, now time.Time) Event {
	event := freezeEvent(toldOf(freeze), appv1alpha1.NotifyFreezeStarted, now, freeze.Generation)
	event.Until = times.At(now).Until
	return event
}

// OfGoneFreezes returns the ends of ChangeFreezes that were told and concern a subscription no longer: they are deleted, as is an incident lock that is
// unlocked, or an edit made them unusable or select other namespaces. concerns reports whether a ChangeFreeze that can be used concerns it.
func OfGoneFreezes(told []appv1alpha1.ToldFreeze, concerns func(types.UID) bool, now time.Time) (ended []Event) {
	for i := range told {
		if concerns(told[i].UID) {
			continue
		}
		at, ordinal := now, told[i].StartedAt.Unix()
		if until := told[i].Until.UTC(); !until.After(now) { // it ended by itself, which may wait to be told
			at, ordinal = until, until.Unix()
		}
		ended = append(ended, freezeEvent(told[i], appv1alpha1.NotifyFreezeEnded, at, ordinal))
	}
	return ended
}

// freezeEvent returns an event of a freeze.
func freezeEvent(of appv1alpha1.ToldFreeze, name appv1alpha1.SubscribedEvent, at time.Time, ordinal int64) Event {
	created := of.CreatedAt.UTC()
	return Event{
		ID: IDOf(of.UID, 0, created, name, ordinal), Name: name, At: at, Namespace: of.Namespace, Began: created, Generation: of.Generation,
		Workload: appv1alpha1.WorkloadReference{APIVersion: appv1alpha1.GroupVersion.String(), Kind: "ChangeFreeze", Name: of.Name, UID: of.UID},
		Reason:   string(of.Action), Message: of.Reason,
	}
}

// toldOf returns what is told of a freeze whenever it begins or ends.
func toldOf(freeze *appv1alpha1.ChangeFreeze) appv1alpha1.ToldFreeze {
	return appv1alpha1.ToldFreeze{
		Namespace: freeze.Namespace, Name: freeze.Name, UID: freeze.UID, CreatedAt: freeze.CreationTimestamp, Generation: freeze.Generation,
		Action: freeze.Spec.Action, Reason: freeze.Spec.Reason,
	}
}

// toldFreeze returns what was told of a freeze, nil if nothing.
func toldFreeze(told []appv1alpha1.ToldFreeze, uid types.UID) *appv1alpha1.ToldFreeze {
	for i := range told {
		if told[i].UID == uid {
			return &told[i]
		}
	}
	return nil
}

// isEndOf reports whether an event ends a freeze that was told, and not an earlier time of it.
func isEndOf(event *Event, told *appv1alpha1.ToldFreeze) bool {
	return event.Name == appv1alpha1.NotifyFreezeEnded && event.Workload.UID == told.UID && !event.At.Before(told.StartedAt.Time)
}

// IsToldFreeze reports whether the end of a freeze is to be told.
func IsToldFreeze(status *appv1alpha1.ChangeSubscriptionStatus, uid types.UID) bool {
	return toldFreeze(status.ToldFreezes, uid) != nil
}

// IsOnAgain reports whether the last one of the events of a freeze is a beginning that was told, and the end after it as well: an edit turned the freeze
// off, and on again.
func IsOnAgain(status *appv1alpha1.ChangeSubscriptionStatus, events []Event) bool {
	last := &events[len(events)-1]
	return last.Name == appv1alpha1.NotifyFreezeStarted && !IsToldFreeze(status, last.Workload.UID) && slices.Contains(status.Delivered, last.ID)
}

// ForgetFreeze makes that the end of a freeze isn't told.
func ForgetFreeze(status *appv1alpha1.ChangeSubscriptionStatus, uid types.UID) {
	status.ToldFreezes = slices.DeleteFunc(status.ToldFreezes, func(told appv1alpha1.ToldFreeze) bool { return told.UID == uid })
}

// KeepFreeze notes until when a freeze that was told goes on by the event of its beginning: the end of one without a gap moves by itself. That is no news.
func KeepFreeze(status *appv1alpha1.ChangeSubscriptionStatus, event *Event) {
	told := toldFreeze(status.ToldFreezes, event.Workload.UID)
	if told == nil || event.Until.IsZero() {
		return
	}
	told.Generation, told.Until = event.Generation, metav1.NewTime(latest(told.Until.Time, event.Until))
}

// NoteFreeze notes that a freeze has begun or is prolonged, so that its end is told, or that it has ended. It is called for what is told, and for what a
// subscription doesn't hear.
func NoteFreeze(status *appv1alpha1.ChangeSubscriptionStatus, event *Event) {
	if !event.IsFreeze() {
		return
	}
	before := toldFreeze(status.ToldFreezes, event.Workload.UID)
	if event.Name == appv1alpha1.NotifyFreezeEnded {
		if before != nil && isEndOf(event, before) {
			ForgetFreeze(status, event.Workload.UID)
		}
		return
	}
	began := metav1.NewTime(event.At)
	if event.Prolonged && before != nil {
		began = before.StartedAt
	}
	ForgetFreeze(status, event.Workload.UID)
	status.ToldFreezes = append(status.ToldFreezes, appv1alpha1.ToldFreeze{
		Namespace: event.Namespace, Name: event.Workload.Name, UID: event.Workload.UID, CreatedAt: metav1.NewTime(event.Began), Generation: event.Generation,
		StartedAt: began, Until: metav1.NewTime(event.Until), Action: appv1alpha1.FreezeAction(event.Reason), Reason: event.Message,
	})
	if excess := len(status.ToldFreezes) - appv1alpha1.MaxToldFreezes; excess > 0 {
		status.ToldFreezes = slices.Delete(status.ToldFreezes, 0, excess)
	}
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
