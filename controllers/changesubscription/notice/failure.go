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
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// OfFailures returns the recoveries from failures that were told, and that no record shows any more: those of releases before a verified one are
// removed. While a later release isn't verified, the failure isn't over.
func OfFailures(told []appv1alpha1.ToldFailure, begun Beginnings, now time.Time) (ended []Event) {
	for i := range told {
		failure := &told[i]
		at, message := now, "the "+failure.Workload.Kind+" is gone"
		if others := begun[failure.Workload.UID]; len(others) > 0 {
			verified := endOf(failure, others)
			if verified == nil {
				continue
			}
			at, message = verified.LastTransitionTime.Time, "the "+failure.Workload.Kind+" has moved on to a release that is verified"
		}
		began := failure.StartedAt.UTC()
		ended = append(ended, Event{
			// No transition has this ordinal.
			ID:   IDOf(failure.Workload.UID, failure.Release, began, appv1alpha1.NotifyRecovered, 0),
			Name: appv1alpha1.NotifyRecovered, At: at.UTC(), Workload: failure.Workload, Namespace: failure.Namespace, Release: failure.Release,
			Version: failure.Version, Observed: failure.Observed, Began: began, Free: !failure.Suspended, Inferred: true,
			Reason: appv1alpha1.ReasonLifted, Message: message,
		})
	}
	return ended
}

// endOf returns the condition of the first verified release after one that failed, nil if there is none, or if the failed one still has its record.
func endOf(failure *appv1alpha1.ToldFailure, releases []Beginning) (verified *metav1.Condition) {
	own := Beginning{unix: failure.StartedAt.Unix(), release: failure.Release}
	for _, other := range releases {
		switch order := other.compare(own); {
		case order == 0:
			return nil
		case order > 0 && verified == nil && decide.IsSettled(other.of):
			verified = new(condition(&other.of.Status, appv1alpha1.ConditionVerified))
		}
	}
	return verified
}

// isOf reports whether an event is about the release of a workload that began at a time.
func (e *Event) isOf(workload types.UID, release int64, began time.Time) bool {
	return e.Workload.UID == workload && e.Release == release && e.Began.Unix() == began.Unix()
}

// noteFailure notes that a failure was told, so that its end is, or that its end was.
func noteFailure(status *appv1alpha1.ChangeSubscriptionStatus, event *Event) {
	suspended := event.Name == appv1alpha1.NotifySuspended
	if !suspended && event.Name != appv1alpha1.NotifyFailed && event.Name != appv1alpha1.NotifyRecovered {
		return
	}
	status.ToldFailures = slices.DeleteFunc(status.ToldFailures, func(told appv1alpha1.ToldFailure) bool {
		return event.isOf(told.Workload.UID, told.Release, told.StartedAt.Time)
	})
	if event.Name == appv1alpha1.NotifyRecovered {
		return
	}
	status.ToldFailures = append(status.ToldFailures, appv1alpha1.ToldFailure{
		Namespace: event.Namespace, Workload: event.Workload, Release: event.Release, Version: event.Version, StartedAt: metav1.NewTime(event.Began),
		Observed: event.Observed, Suspended: suspended,
	})
	if excess := len(status.ToldFailures) - appv1alpha1.MaxToldFailures; excess > 0 {
		status.ToldFailures = slices.Delete(status.ToldFailures, 0, excess)
	}
}
