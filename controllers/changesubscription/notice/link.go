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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Kinds of links, as CDEvents calls them.
const (
	// LinkTrigger is a link to what caused an event.
	LinkTrigger = "TRIGGER"
	// LinkRelated is a link to what an event is an answer to.
	LinkRelated = "RELATED"
)

// Link is a link to another event.
type Link struct {
	Kind string
	// ID is that of the other event.
	ID string
}

// link links an event to what it follows from, as far as the records still show that: the rollback of a release to its suspension, the release that a
// rollback made to the rollback, and a repair to the suspension that it passed. An event that was not added is nil.
func (f *finder) link(event *Event) {
	if event == nil {
		return
	}
	kind, cause := LinkTrigger, ""
	switch spec := &f.workload.Spec; {
	case event.Name == appv1alpha1.NotifyRolledBack:
		cause = transitionID(f.workload, appv1alpha1.NotifySuspended, appv1alpha1.ConditionSuspended)
	case spec.Rollback != nil:
		cause = f.before(func(earlier *appv1alpha1.ChangeWorkload) string {
			if earlier.Spec.Release != spec.Rollback.Release {
				return ""
			}
			return transitionID(earlier, appv1alpha1.NotifyRolledBack, appv1alpha1.ConditionRolledBack)
		})
	case spec.IgnoredSuspend:
		kind, cause = LinkRelated, f.before(func(earlier *appv1alpha1.ChangeWorkload) string {
			return transitionID(earlier, appv1alpha1.NotifySuspended, appv1alpha1.ConditionSuspended)
		})
	}
	if cause != "" {
		event.Links = []Link{{Kind: kind, ID: cause}}
	}
}

// before returns the first ID that a function returns for the earlier releases of the workload, the newest of them first.
func (f *finder) before(id func(*appv1alpha1.ChangeWorkload) string) string {
	own, all := beginningOf(f.workload), f.begun[f.workload.Workload().UID]
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].compare(own) >= 0 {
			continue
		}
		if found := id(all[i].of); found != "" {
			return found
		}
	}
	return ""
}

// transitionID returns the ID of an event of a release that happened when a condition became true, empty where it isn't.
func transitionID(release *appv1alpha1.ChangeWorkload, name appv1alpha1.SubscribedEvent, kind string) string {
	changed := condition(&release.Status, kind)
	if changed.Status != metav1.ConditionTrue || release.Status.ObservedRelease != release.Spec.Release {
		return ""
	}
	began := time.Unix(release.Spec.CreateTimeUnix, 0)
	return IDOf(release.Workload().UID, release.Spec.Release, began, name, changed.LastTransitionTime.Unix())
}
