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

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		event := eventOf(&failure.ToldRelease, appv1alpha1.NotifyRecovered, at)
		event.Free, event.Inferred, event.Reason, event.Message = !failure.Suspended, true, appv1alpha1.ReasonLifted, message
		ended = append(ended, event)
	}
	return ended
}

// eventOf returns an event of a release that has no record any more. No transition has its ordinal.
func eventOf(told *appv1alpha1.ToldRelease, name appv1alpha1.SubscribedEvent, at time.Time) Event {
	began := told.StartedAt.UTC()
	return Event{
		ID: IDOf(told.Workload.UID, told.Release, began, name, 0), Name: name, At: at.UTC(), Workload: told.Workload, Namespace: told.Namespace,
		Release: told.Release, Version: told.Version, Observed: told.Observed, Began: began,
	}
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

// isOf reports whether an event is about a release.
func (e *Event) isOf(told *appv1alpha1.ToldRelease) bool {
	return e.Workload.UID == told.Workload.UID && e.Release == told.Release && e.Began.Unix() == told.StartedAt.Unix()
}

// told identifies the release of an event.
func (e *Event) told() *appv1alpha1.ToldRelease {
	return &appv1alpha1.ToldRelease{
		Namespace: e.Namespace, Workload: e.Workload, Release: e.Release, Version: e.Version, StartedAt: metav1.NewTime(e.Began), Observed: e.Observed,
	}
}

// noteFailure notes that a failure was told, so that its end is, or that its end was.
func noteFailure(status *appv1alpha1.ChangeSubscriptionStatus, event *Event) {
	suspended := event.Name == appv1alpha1.NotifySuspended
	if !suspended && event.Name != appv1alpha1.NotifyFailed && event.Name != appv1alpha1.NotifyRecovered {
		return
	}
	status.ToldFailures = slices.DeleteFunc(status.ToldFailures, func(told appv1alpha1.ToldFailure) bool {
		return event.isOf(&told.ToldRelease)
	})
	if event.Name == appv1alpha1.NotifyRecovered {
		return
	}
	status.ToldFailures = append(status.ToldFailures, appv1alpha1.ToldFailure{ToldRelease: *event.told(), Suspended: suspended})
	if excess := len(status.ToldFailures) - appv1alpha1.MaxToldFailures; excess > 0 {
		status.ToldFailures = slices.Delete(status.ToldFailures, 0, excess)
	}
}
