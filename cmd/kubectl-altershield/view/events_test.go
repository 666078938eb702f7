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

package view_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

func TestEventsAreOfTheWorkloadAndItsRecordsInTheOrderOfTheirTimes(t *testing.T) {
	g := NewWithT(t)
	at := func(minutes int) time.Time { return now.Add(time.Duration(minutes) * time.Minute) }
	event := func(kind, name, reason string, change func(*corev1.Event)) corev1.Event {
		created := corev1.Event{InvolvedObject: corev1.ObjectReference{Kind: kind, Name: name}, Type: "Normal", Reason: reason, Message: "it"}
		change(&created)
		return created
	}
	list := view.EventsOf([]corev1.Event{
		event("Deployment", "web", "Series", func(e *corev1.Event) {
			e.Series = &corev1.EventSeries{Count: 3, LastObservedTime: metav1.NewMicroTime(at(-1))}
		}),
		event("Deployment", "web", "Last", func(e *corev1.Event) { e.LastTimestamp, e.Count = metav1.NewTime(at(-4)), 2 }),
		event("ChangeWorkload", "web--x--1", "Own", func(e *corev1.Event) { e.EventTime = metav1.NewMicroTime(at(-3)) }),
		event("ChangeWorkload", "cart--x--1", "Other", func(*corev1.Event) {}),
		event("Deployment", "web", "Created", func(e *corev1.Event) { e.CreationTimestamp = metav1.NewTime(at(-2)) }),
	}, view.Facts{Records: []appv1alpha1.ChangeWorkload{{ObjectMeta: metav1.ObjectMeta{Name: "web--x--1"}}}})
	type line struct {
		reason, object string
		count          int32
	}
	var lines []line
	for _, shown := range list.Items {
		lines = append(lines, line{shown.Reason, shown.Object, shown.Count})
	}
	g.Expect(lines).To(Equal([]line{
		{"Last", "Deployment/web", 2}, {"Own", "ChangeWorkload/web--x--1", 1}, {"Created", "Deployment/web", 1}, {"Series", "Deployment/web", 3},
	}))
	g.Expect(list.Kind).To(Equal("EventList"))
}

func TestEventsSinceAreThoseThatCameOrCameAgain(t *testing.T) {
	at := metav1.NewTime(now)
	known := view.Event{Time: &at, Reason: "A", Object: "Deployment/web", Message: "m", Count: 1}
	again, other := known, known
	again.Count, other.Reason = 2, "B"
	since := view.EventsSince(view.EventList{Items: []view.Event{known, again, other}}, view.EventList{Items: []view.Event{known}})
	NewWithT(t).Expect(since.Items).To(Equal([]view.Event{again, other}))
}
