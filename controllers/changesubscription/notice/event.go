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
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Event is what happened to a release, or to a ChangeFreeze.
type Event struct {
	// ID is the same on every replica and after a restart, so that a receiver can drop what it has already.
	ID   string
	Name appv1alpha1.SubscribedEvent
	// At is when it happened.
	At time.Time
	// Workload is the workload that was released, or the ChangeFreeze.
	Workload  appv1alpha1.WorkloadReference
	Namespace string
	// Release is the number of the release, Version its version.
	Release int64
	Version string
	// Observed reports whether the kind of the workload is only observed.
	Observed bool
	By       string
	Changes  []string
	// Counts are the numbers of pods, of a batch for its check; zero before the release was looked at.
	Counts appv1alpha1.PodCounts
	// Reason and Message say why it happened.
	Reason, Message string
	// Batch is the number of the batch that was checked; zero for other events. Failed reports whether it failed.
	Batch  int64
	Failed bool
	// Rollback is the rollback that made the release, nil for others.
	Rollback *appv1alpha1.Rollback
	// Began is when the release was recorded.
	Began time.Time
	// Free reports whether a release that recovered was not suspended.
	Free bool
	// Inferred reports whether a release recovered that has no record any more.
	Inferred bool
	// Until is the end of a ChangeFreeze that has begun, Generation that of the ChangeFreeze.
	Until      time.Time
	Generation int64
	// Prolonged reports whether a ChangeFreeze has a later end now, and had begun before.
	Prolonged bool
	// Links are the events from which this one follows.
	Links []Link
}

// IsUrgent reports whether an event is told at once, and not in a digest.
func (e *Event) IsUrgent() bool {
	switch e.Name {
	case appv1alpha1.NotifyStarted, appv1alpha1.NotifyVerified, appv1alpha1.NotifySuperseded, appv1alpha1.NotifyBatchChecked:
		return false
	}
	return true
}

// IsFailure reports whether an event is a failure of a release.
func (e *Event) IsFailure() bool {
	switch e.Name {
	case appv1alpha1.NotifySuspended, appv1alpha1.NotifyFailed, appv1alpha1.NotifyRolledBack, appv1alpha1.NotifyUnchecked:
		return true
	}
	return false
}

// IsFreeze reports whether an event is one of a ChangeFreeze. It has no release.
func (e *Event) IsFreeze() bool {
	return e.Name == appv1alpha1.NotifyFreezeStarted || e.Name == appv1alpha1.NotifyFreezeEnded
}

// Selects reports whether a subscription to events has one. A failure brings with it what ends it.
func Selects(events []appv1alpha1.SubscribedEvent, event *Event) bool {
	name := event.Name
	switch {
	case slices.Contains(events, name):
		return true
	case isNamed(name):
		return false
	case slices.Contains(events, appv1alpha1.NotifyAll):
		return true
	case slices.Contains(events, appv1alpha1.NotifyFailures):
		return event.IsFailure() || name == appv1alpha1.NotifyRecovered || name == appv1alpha1.NotifyRollbackVerified
	case name == appv1alpha1.NotifyRecovered && event.Free:
		return slices.Contains(events, appv1alpha1.NotifyFailed)
	case name == appv1alpha1.NotifyRecovered:
		return slices.Contains(events, appv1alpha1.NotifySuspended)
	}
	return false
}

// isNamed reports whether an event is told only where it is named, and isn't one of the group of all.
func isNamed(name appv1alpha1.SubscribedEvent) bool {
	switch name {
	case appv1alpha1.NotifyBatchChecked, appv1alpha1.NotifyApprovalGiven, appv1alpha1.NotifyApprovalDenied, appv1alpha1.NotifyDeleted:
		return true
	}
	return false
}

// SelectsFreezes reports whether a subscription to events hears of ChangeFreezes.
func SelectsFreezes(events []appv1alpha1.SubscribedEvent) bool {
	return Selects(events, &Event{Name: appv1alpha1.NotifyFreezeStarted}) || Selects(events, &Event{Name: appv1alpha1.NotifyFreezeEnded})
}

// IDOf returns the UUID of an event of an object, mostly the workload, of version 5. The ordinal tells apart what happens to a release repeatedly, and the
// time at which the release began releases of the same number: the count of a workload begins anew when its annotation is lost.
func IDOf(of types.UID, release int64, began time.Time, name appv1alpha1.SubscribedEvent, ordinal int64) string {
	return uuid.NewSHA1(space(), fmt.Appendf(nil, "%s/%d/%d/%s/%d", of, release, began.Unix(), name, ordinal)).String()
}

// space is the namespace of the UUIDs: that of the API group as a DNS name.
func space() uuid.UUID {
	return uuid.NewSHA1(uuid.NameSpaceDNS, []byte(appv1alpha1.GroupVersion.Group))
}

// Beginnings are the times at which the releases of workloads began, earliest first, by the UID of the workload.
type Beginnings map[types.UID][]Beginning

// Beginning is when a release began.
type Beginning struct {
	unix, release int64
	of            *appv1alpha1.ChangeWorkload
}

func (b Beginning) compare(other Beginning) int {
	return cmp.Or(cmp.Compare(b.unix, other.unix), cmp.Compare(b.release, other.release))
}

// BeginningsOf returns those of all ChangeWorkloads.
func BeginningsOf(releases []appv1alpha1.ChangeWorkload) Beginnings {
	all := Beginnings{}
	for i := range releases {
		uid := releases[i].Workload().UID
		all[uid] = append(all[uid], beginningOf(&releases[i]))
	}
	for _, of := range all {
		slices.SortFunc(of, Beginning.compare)
	}
	return all
}

func beginningOf(release *appv1alpha1.ChangeWorkload) Beginning {
	return Beginning{release.Spec.CreateTimeUnix, release.Spec.Release, release}
}

// next returns when the next release of the workload of a release began, and whether there is one.
func (b Beginnings) next(release *appv1alpha1.ChangeWorkload) (time.Time, bool) {
	own := beginningOf(release)
	for _, other := range b[release.Workload().UID] {
		if other.compare(own) > 0 {
			return time.Unix(other.unix, 0), true
		}
	}
	return time.Time{}, false
}

// Of returns the events of the present release of a ChangeWorkload that happened at a time or later, oldest first. That it was superseded is known
// when the next release has begun.
func Of(workload *appv1alpha1.ChangeWorkload, begun Beginnings, since time.Time) []Event {
	if workload.Spec.Baseline {
		return nil
	}
	found := &finder{workload: workload, begun: begun, since: since}
	began := time.Unix(workload.Spec.CreateTimeUnix, 0)
	found.link(found.add(appv1alpha1.NotifyStarted, began, 0, "", ""))
	if workload.Spec.IgnoredSuspend {
		found.link(found.add(
			appv1alpha1.NotifyBypassed, began, began.Unix(), "IgnoredSuspend", "the release passed a suspension by the label "+appv1alpha1.LabelIgnoredSuspend))
	}
	if workload.Status.ObservedRelease == workload.Spec.Release {
		found.addOfStatus(&workload.Status)
	}
	slices.SortStableFunc(found.events, Compare)
	return found.events
}

// Compare orders events by time. Times are of whole seconds: of those of a release at the same one, the beginning comes first, then the checks of
// batches, and then what became of the release by them.
func Compare(a, b Event) int {
	return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Release, b.Release), cmp.Compare(a.rank(), b.rank()))
}

func (e *Event) rank() int {
	switch e.Name {
	case appv1alpha1.NotifyStarted, appv1alpha1.NotifyBypassed:
		return 0
	case appv1alpha1.NotifyBatchChecked:
		return 1
	}
	return 2
}

// finder collects the events of a release.
type finder struct {
	workload *appv1alpha1.ChangeWorkload
	begun    Beginnings
	since    time.Time
	events   []Event
}

// addOfStatus adds the events that the status of the release shows.
func (f *finder) addOfStatus(status *appv1alpha1.ChangeWorkloadStatus) {
	if pass := status.BreakGlass; pass != nil {
		// Until the release was recorded, nothing showed that it had passed.
		at := latest(pass.Time.Time, time.Unix(f.workload.Spec.CreateTimeUnix, 0))
		f.add(appv1alpha1.NotifyBypassed, at, pass.Time.Unix(), appv1alpha1.ReasonBreakGlass, pass.User+" used the BreakGlass "+pass.Name)
	}
	verified := condition(status, appv1alpha1.ConditionVerified)
	suspended := condition(status, appv1alpha1.ConditionSuspended)
	f.addFailure(status, suspended, verified)
	rolledBack := condition(status, appv1alpha1.ConditionRolledBack)
	isRolledBack := rolledBack.Status == metav1.ConditionTrue
	if isRolledBack {
		f.link(f.addTransition(appv1alpha1.NotifyRolledBack, rolledBack, rolledBack.Reason, rolledBack.Message))
	}
	switch {
	case decide.IsSettled(f.workload) && f.workload.Spec.Rollback != nil:
		f.link(f.addTransition(appv1alpha1.NotifyRollbackVerified, verified, verified.Reason, verified.Message))
	case decide.IsSettled(f.workload):
		f.link(f.addTransition(appv1alpha1.NotifyVerified, verified, verified.Reason, verified.Message))
	case status.Status == appv1alpha1.ChangeWorkloadFailed:
		f.add(appv1alpha1.NotifyUnchecked, time.Unix(status.EntryTimeUnix, 0), status.EntryTimeUnix, verified.Reason, verified.Message)
	case verified.Reason == appv1alpha1.ReasonSuperseded && !isRolledBack && suspended.Type == "": // one that failed may look so while it is removed
		// Such a condition may have the time of an earlier reason, and the status is written for others later.
		if at, hasNext := f.begun.next(f.workload); hasNext {
			f.add(appv1alpha1.NotifySuperseded, at, 0, verified.Reason, verified.Message)
		}
	}
	if frozen := condition(status, appv1alpha1.ConditionFrozen); frozen.Status == metav1.ConditionTrue {
		f.addTransition(appv1alpha1.NotifyFrozen, frozen, frozen.Reason, frozen.Message)
	}
	if paced := condition(status, appv1alpha1.ConditionPaced); paced.Reason == appv1alpha1.ReasonAwaitingApproval && status.Pace != nil && status.Pace.ApprovalSince != nil {
		f.add(appv1alpha1.NotifyApprovalAwaited, status.Pace.ApprovalSince.Time, int64(status.Pace.Step), paced.Reason, paced.Message)
	}
}

// addFailure adds that a release failed, or that this has ended. While a release isn't suspended, its condition keeps the time of its first
// failure: what follows has that of its phase.
func (f *finder) addFailure(status *appv1alpha1.ChangeWorkloadStatus, suspended, verified metav1.Condition) {
	at := suspended.LastTransitionTime.Time
	entered := time.Unix(status.EntryTimeUnix, 0)
	isLater := entered.After(at)
	switch {
	case suspended.Status == metav1.ConditionTrue:
		f.addTransition(appv1alpha1.NotifySuspended, suspended, verified.Reason, verified.Message)
	case suspended.Reason == appv1alpha1.ReasonLifted && status.Status == appv1alpha1.ChangeWorkloadSuccess && isLater:
		if added := f.add(appv1alpha1.NotifyRecovered, entered, entered.Unix(), suspended.Reason, suspended.Message); added != nil {
			added.Free = true
		}
	case suspended.Reason == appv1alpha1.ReasonLifted:
		f.addTransition(appv1alpha1.NotifyRecovered, suspended, suspended.Reason, suspended.Message)
	case suspended.Type != "" && status.Status == appv1alpha1.ChangeWorkloadSuspend: // otherwise its verdict was withdrawn
		if isLater {
			at = entered
		}
		f.add(appv1alpha1.NotifyFailed, at, at.Unix(), verified.Reason, verified.Message)
	}
}

// condition returns a condition of a release, an empty one where it has none.
func condition(status *appv1alpha1.ChangeWorkloadStatus, kind string) metav1.Condition {
	if found := meta.FindStatusCondition(status.Conditions, kind); found != nil {
		return *found
	}
	return metav1.Condition{}
}

// addTransition adds an event that happened when a condition changed, and returns it as add does.
func (f *finder) addTransition(name appv1alpha1.SubscribedEvent, changed metav1.Condition, reason, message string) *Event {
	return f.add(name, changed.LastTransitionTime.Time, changed.LastTransitionTime.Unix(), reason, message)
}

// add returns the event that it added, nil if it happened too long ago.
func (f *finder) add(name appv1alpha1.SubscribedEvent, at time.Time, ordinal int64, reason, message string) *Event {
	if at.Before(f.since) {
		return nil
	}
	spec, of := &f.workload.Spec, f.workload.Workload()
	began := time.Unix(spec.CreateTimeUnix, 0).UTC()
	event := Event{
		ID: IDOf(of.UID, spec.Release, began, name, ordinal), Name: name, At: at.UTC(), Workload: of, Namespace: f.workload.Namespace,
		Release: spec.Release, Version: spec.Reversion, Observed: spec.Observed, By: spec.ReleasedBy, Changes: spec.Changes,
		Reason: reason, Message: message, Rollback: spec.Rollback, Began: began,
	}
	if f.workload.Status.ObservedRelease == spec.Release {
		event.Counts = f.workload.Status.Counts
	}
	f.events = append(f.events, event)
	return &f.events[len(f.events)-1]
}
