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
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Open returns the last releases of workloads that are not verified, and those noted before that have no record any more. A release without pods to check
// is no longer open.
func (b Beginnings) Open(noted []appv1alpha1.ToldRelease) (open []appv1alpha1.ToldRelease) {
	for _, releases := range b {
		last := releases[len(releases)-1].of
		isObserved := last.Status.ObservedRelease == last.Spec.Release
		if last.Spec.Baseline || isObserved && last.Status.Status == appv1alpha1.ChangeWorkloadSuccess {
			continue
		}
		open = append(open, appv1alpha1.ToldRelease{
			Namespace: last.Namespace, Workload: last.Workload(), Release: last.Spec.Release, Version: last.Spec.Reversion,
			StartedAt: metav1.Unix(last.Spec.CreateTimeUnix, 0), Observed: last.Spec.Observed,
		})
	}
	for _, release := range noted {
		if len(b[release.Workload.UID]) == 0 {
			open = append(open, release)
		}
	}
	return open
}

// OfDeleted returns that the workload of an open release was deleted.
func OfDeleted(open *appv1alpha1.ToldRelease, now time.Time) Event {
	event := eventOf(open, appv1alpha1.NotifyDeleted, now)
	event.Reason, event.Message = "WorkloadDeleted", "the "+open.Workload.Kind+" was deleted before the release was verified"
	return event
}

// NoteOpen notes the open releases that a subscription selects.
func NoteOpen(status *appv1alpha1.ChangeSubscriptionStatus, open []appv1alpha1.ToldRelease) {
	slices.SortFunc(open, func(a, b appv1alpha1.ToldRelease) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt.Time), cmp.Compare(a.Workload.UID, b.Workload.UID))
	})
	status.OpenReleases = open[max(0, len(open)-appv1alpha1.MaxOpenReleases):]
}

// IsAmong reports whether an event is about one of some releases.
func (e *Event) IsAmong(releases []appv1alpha1.ToldRelease) bool {
	return slices.ContainsFunc(releases, func(release appv1alpha1.ToldRelease) bool { return e.isOf(&release) })
}

// noteDeleted notes that the end of an open release was told.
func noteDeleted(status *appv1alpha1.ChangeSubscriptionStatus, event *Event) {
	if event.Name == appv1alpha1.NotifyDeleted {
		status.OpenReleases = slices.DeleteFunc(status.OpenReleases, func(open appv1alpha1.ToldRelease) bool { return event.isOf(&open) })
	}
}
