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

package view

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// EventList is the Events of a workload and of its records in one time line.
type EventList struct {
	Kind       string  `json:"kind"`
	APIVersion string  `json:"apiVersion"`
	Items      []Event `json:"items"`
	Notes      []Note  `json:"notes,omitempty"`
}

// Event is one Event.
type Event struct {
	Time    *metav1.Time `json:"time,omitempty"`
	Type    string       `json:"type"`
	Reason  string       `json:"reason"`
	Object  string       `json:"object"`
	Message string       `json:"message"`
	Count   int32        `json:"count"`
}

// EventsOf returns those Events in the order of their times that are about a workload or its records, rather than about deleted objects of the
// same names.
func EventsOf(events []corev1.Event, facts Facts) EventList {
	list := EventList{Kind: "EventList", APIVersion: APIVersion, Items: []Event{}, Notes: facts.Notes}
	for i := range events {
		event := &events[i]
		if !isAbout(event, facts) {
			continue
		}
		shown := Event{
			Time: timeOfEvent(event), Type: event.Type, Reason: event.Reason, Message: event.Message, Count: max(event.Count, 1),
			Object: event.InvolvedObject.Kind + "/" + event.InvolvedObject.Name,
		}
		if event.Series != nil {
			shown.Count = event.Series.Count
		}
		list.Items = append(list.Items, shown)
	}
	slices.SortStableFunc(list.Items, func(a, b Event) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.Reason, b.Reason))
	})
	return list
}

func isAbout(event *corev1.Event, facts Facts) bool {
	of := event.InvolvedObject
	if of.Kind == "ChangeWorkload" {
		return slices.ContainsFunc(facts.Records, func(record appv1alpha1.ChangeWorkload) bool {
			return record.Name == of.Name && (of.UID == "" || of.UID == record.UID)
		})
	}
	return of.UID == "" || facts.Workload == nil || of.UID == facts.Workload.GetUID()
}

// EventsSince returns those of a list that an earlier one doesn't have, or has with another count.
func EventsSince(list, earlier EventList) EventList {
	known := map[eventKey]bool{}
	for _, event := range earlier.Items {
		known[keyOf(event)] = true
	}
	list.Items = slices.DeleteFunc(slices.Clone(list.Items), func(event Event) bool { return known[keyOf(event)] })
	return list
}

// eventKey identifies an Event as it is shown.
type eventKey struct {
	seconds                       int64
	kind, reason, object, message string
	count                         int32
}

func keyOf(event Event) eventKey {
	return eventKey{event.Time.Unix(), event.Type, event.Reason, event.Object, event.Message, event.Count}
}

// timeOfEvent returns when an Event was seen last: its fields depend on the library that wrote it.
func timeOfEvent(event *corev1.Event) *metav1.Time {
	switch {
	case event.Series != nil && !event.Series.LastObservedTime.IsZero():
		return timeOf(event.Series.LastObservedTime.Time)
	case !event.LastTimestamp.IsZero():
		return timeOf(event.LastTimestamp.Time)
	case !event.EventTime.IsZero():
		return timeOf(event.EventTime.Time)
	}
	at := metav1.NewTime(event.CreationTimestamp.UTC())
	return &at
}
