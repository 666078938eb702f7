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
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/calendar"
)

// OfFreeze returns the last beginning and the last end of a ChangeFreeze with a calendar, of those that happened at a time or later, and since it was
// created, oldest first.
func OfFreeze(freeze *appv1alpha1.ChangeFreeze, times calendar.Calendar, since, now time.Time) (found []Event) {
	state, created := times.At(now), freeze.CreationTimestamp.UTC()
	add := func(name appv1alpha1.SubscribedEvent, at, until time.Time) {
		if at.Before(since) {
			return
		}
		found = append(found, Event{
			ID: IDOf(freeze.UID, 0, created, name, at.Unix()), Name: name, At: at, Until: until, Namespace: freeze.Namespace, Began: created,
			Workload: appv1alpha1.WorkloadReference{
				APIVersion: appv1alpha1.GroupVersion.String(), Kind: "ChangeFreeze", Name: freeze.Name, UID: freeze.UID,
			},
			Reason: string(freeze.Spec.Action), Message: freeze.Spec.Reason,
		})
	}
	if state.Ended.After(created) {
		add(appv1alpha1.NotifyFreezeEnded, state.Ended, time.Time{})
	}
	if state.Active {
		began := state.Since
		if began.Before(created) {
			began = created
		}
		add(appv1alpha1.NotifyFreezeStarted, began, state.Until)
	}
	return found
}
