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

package decide

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// thawTime is how long a release that goes on after a freeze keeps others waiting at most, if it isn't verified before.
const thawTime = 30 * time.Minute

// Freeze is what is known of the freezes that concern a release.
type Freeze struct {
	// Parked is the freeze that parked the release; nil if it isn't parked.
	Parked *appv1alpha1.Frozen
	// InForce is the freeze that is on now; nil if none is.
	InForce *InForce
	// NextHold is when a freeze begins that holds releases under way; zero if none is known.
	NextHold time.Time
	// Pass is how the release passed by a BreakGlass; nil if it didn't.
	Pass *appv1alpha1.BreakGlassPass
	// Ahead is how many releases parked by the same freeze go on before this one. Free is when fewer do at the latest.
	Ahead int32
	Free  time.Time
	// Left is the freeze that parked the release and that is on, but doesn't freeze it any more, as <namespace>/<name>; empty if none is.
	Left string
}

// end tells why the release doesn't wait for the freeze itself any more.
func (f *Freeze) end() string {
	if f.Left != "" {
		return fmt.Sprintf("ChangeFreeze %s doesn't freeze the release any more", f.Left)
	}
	return "the freeze has ended"
}

// InForce is a ChangeFreeze that is on.
type InForce struct {
	// By is the ChangeFreeze, as <namespace>/<name>. Reason is its reason, which may be empty.
	By, Reason string
	// Since and Until are its times.
	Since, Until time.Time
	// Holds reports whether it holds the release if that is under way.
	Holds bool
	// Concurrent is how many parked releases of a namespace go on at a time when it ends.
	Concurrent int32
}

// Sentence describes the freeze to users.
func (f *InForce) Sentence() string {
	text := fmt.Sprintf("ChangeFreeze %s is on until %s", f.By, f.Until.UTC().Format(time.RFC3339))
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	return text
}

// Mark returns the mark on a workload whose release the freeze parks.
func (f *InForce) Mark(release int64) *appv1alpha1.Frozen {
	return &appv1alpha1.Frozen{Release: release, By: []string{f.By}, Concurrent: f.Concurrent}
}

// takenOver returns the mark of a parked release for which the freeze that is on doesn't stand yet, or lets another number go on at its end; nil if
// the mark stays.
func (f *Freeze) takenOver() *appv1alpha1.Frozen {
	parked, inForce := f.Parked, f.InForce
	if inForce == nil || slices.Contains(parked.By, inForce.By) && parked.Concurrent == inForce.Concurrent {
		return nil
	}
	mark := inForce.Mark(parked.Release)
	mark.By = append(mark.By, slices.DeleteFunc(slices.Clone(parked.By), func(by string) bool { return by == inForce.By })...)
	return mark
}

// thaw removes the mark of a parked release that goes on, and renews that of one which another freeze has taken over.
func (d *Decision) thaw(seen Observation, frozen, parked bool) {
	if seen.Freeze.Parked == nil || !seen.Current {
		return
	}
	d.Thaw = !parked // the pods on the first nodes are replaced after that
	if frozen {
		d.Freeze = seen.Freeze.takenOver()
	}
}

// isPassed reports whether the release passed the freeze that is on, or the last one, by a BreakGlass.
func (f *Freeze) isPassed() bool {
	return passesFreezes(f.Pass) && (f.InForce == nil || !f.Pass.Time.Time.Before(f.InForce.Since))
}

func passesFreezes(pass *appv1alpha1.BreakGlassPass) bool {
	return pass != nil && slices.Contains(pass.Overrides, appv1alpha1.OverrideFreeze)
}

// parkedBy returns the freeze whose end a parked release waits for: of several, the one that was on last.
func parkedBy(status *appv1alpha1.ChangeWorkloadStatus, parked *appv1alpha1.Frozen) string {
	if status.Frozen != nil {
		return status.Frozen.By
	}
	return parked.By[0]
}

// ParkedBy returns the freeze whose end a parked release waits for, as parkedBy does.
func ParkedBy(workload *appv1alpha1.ChangeWorkload, parked *appv1alpha1.Frozen) string {
	if !isObserved(workload) {
		return parked.By[0]
	}
	return parkedBy(&workload.Status, parked)
}

// isFrozen reports whether the release of a status waits for the end of a freeze.
func isFrozen(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return status.Frozen != nil && meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionFrozen)
}

// IsFrozen reports whether a release waits for the end of a freeze.
func IsFrozen(workload *appv1alpha1.ChangeWorkload) bool {
	return isFrozen(&workload.Status) && isObserved(workload)
}

// MayFreeze reports whether a freeze that begins may hold a release: one that is in progress, that waits while its rollout or its schedule may
// go on, or that failed or isn't checked and may go on all the same.
func MayFreeze(workload *appv1alpha1.ChangeWorkload) bool {
	return IsInProgress(workload) || workload.Status.Status == appv1alpha1.ChangeWorkloadSuspend || hasReason(workload.Status.Conditions,
		appv1alpha1.ReasonAwaitingRun, appv1alpha1.ReasonRunBlocked, appv1alpha1.ReasonRunning, appv1alpha1.ReasonRunStuck, appv1alpha1.ReasonRunFailed,
		appv1alpha1.ReasonFirstNodes, appv1alpha1.ReasonPaced, appv1alpha1.ReasonOrderRefused)
}

// awaitThaw sets whether the release waits for the end of a freeze, and until when at most.
func awaitThaw(status *appv1alpha1.ChangeWorkloadStatus, seen Observation, failed bool) (waits bool) {
	parked := seen.Freeze.Parked
	if parked == nil && !isFrozen(status) {
		return false
	}
	if isFrozen(status) && !seen.Current && !seen.Superseded { // the cache shows an earlier release
		return true
	}
	reason, message := endOfFreeze(parked, seen, failed)
	switch inForce := seen.Freeze.InForce; {
	case reason != "":
		setCondition(status, appv1alpha1.ConditionFrozen, metav1.ConditionFalse, reason, message)
		switch {
		case status.Frozen != nil:
			status.Frozen.Until = nil
		case reason == appv1alpha1.ReasonThawed: // it was parked and let go on while no leader observed it: others wait for it all the same
			status.Frozen = &appv1alpha1.FrozenRelease{By: parkedBy(status, parked)}
		}
		return false
	case inForce != nil:
		status.Frozen = &appv1alpha1.FrozenRelease{By: inForce.By, Until: StoredTime(inForce.Until)}
		setCondition(status, appv1alpha1.ConditionFrozen, metav1.ConditionTrue, appv1alpha1.ReasonChangeFreeze, inForce.Sentence())
	default:
		status.Frozen = &appv1alpha1.FrozenRelease{By: parkedBy(status, parked), Until: StoredTime(seen.Freeze.Free)}
		setCondition(status, appv1alpha1.ConditionFrozen, metav1.ConditionTrue, appv1alpha1.ReasonThawing, fmt.Sprintf(
			"%s; of the releases that it parked in this namespace, %d go on at a time", seen.Freeze.end(), parked.Concurrent))
	}
	return true
}

// pausesForFreeze reports whether the rollout of a release stays paused for a freeze: while it waits for its end, and until the stored status
// shows why it doesn't any more. The releases that go on later count those that do.
func pausesForFreeze(workload *appv1alpha1.ChangeWorkload, seen Observation, frozen bool) bool {
	return frozen || seen.Freeze.Parked != nil && (!isObserved(workload) ||
		!meta.IsStatusConditionFalse(workload.Status.Conditions, appv1alpha1.ConditionFrozen))
}

// thawWait returns how long a frozen release waits at most.
func thawWait(status *appv1alpha1.ChangeWorkloadStatus, now time.Time) time.Duration {
	if status.Frozen.Until == nil { // those ahead are about to go on
		return thawTime
	}
	return leastWait(status.Frozen.Until.Sub(now))
}

// leastWait returns a wait that is long enough to be one: a time of whole seconds may be over just before what it stands for.
func leastWait(wait time.Duration) time.Duration { return max(wait, time.Second) }

// endOfFreeze returns why a release doesn't wait for the end of a freeze any more, empty while it does.
func endOfFreeze(parked *appv1alpha1.Frozen, seen Observation, failed bool) (reason, message string) {
	switch {
	case !seen.Current:
		return appv1alpha1.ReasonSuperseded, "the " + seen.Kind + " has moved on to another release"
	case !seen.OptedIn || seen.Observed:
		return appv1alpha1.ReasonNotControlled, "the " + seen.Kind + " left change control"
	case (parked == nil || !seen.Paused) && seen.Freeze.isPassed():
		return appv1alpha1.ReasonBreakGlass, seen.Freeze.Pass.User + " let the release go on by a BreakGlass"
	case parked == nil || !seen.Paused:
		return appv1alpha1.ReasonResumed, "a user resumed the rollout"
	case seen.Freeze.InForce != nil || seen.Freeze.Ahead >= max(parked.Concurrent, 1):
		return "", ""
	case seen.Hold == Held && seen.staysPaused(failed) != "":
		return appv1alpha1.ReasonThawed, seen.Freeze.end() + "; the rollout stays paused, as " + seen.staysPaused(failed)
	case seen.Hold.IsHeld():
		return appv1alpha1.ReasonThawed, seen.Freeze.end() + ": the rollout goes on"
	}
	return appv1alpha1.ReasonThawed, seen.Freeze.end() + "; the " + seen.Kind + " is paused by a user"
}

// isToFreeze reports whether a freeze that is on holds this release, which is under way. A rollback goes on.
func (o *Observation) isToFreeze(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload) bool {
	inForce := o.Freeze.InForce
	return inForce != nil && inForce.Holds && o.OptedIn && o.Freeze.Parked == nil && !o.Freeze.isPassed() &&
		workload.Spec.Rollback == nil && !wasResumed(status, inForce.Since)
}

// wasResumed reports whether a user has resumed a frozen release since a time. A transition without a time is of now.
func wasResumed(status *appv1alpha1.ChangeWorkloadStatus, since time.Time) bool {
	at := resumption(status)
	return at != nil && (at.IsZero() || !at.Time.Before(since))
}

// resumption returns when a user resumed a frozen release, nil if none did.
func resumption(status *appv1alpha1.ChangeWorkloadStatus) *metav1.Time {
	frozen := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionFrozen)
	if frozen == nil || frozen.Status != metav1.ConditionFalse || frozen.Reason != appv1alpha1.ReasonResumed {
		return nil
	}
	return &frozen.LastTransitionTime
}

// LetGo returns when a user last let a frozen release go on, by a BreakGlass or as one whom the freeze excepts; zero if none did.
func LetGo(workload *appv1alpha1.ChangeWorkload, pass *appv1alpha1.BreakGlassPass) time.Time {
	var at time.Time
	if passesFreezes(pass) {
		at = pass.Time.Time
	}
	if resumed := resumption(&workload.Status); resumed != nil && isObserved(workload) {
		at = laterOf(at, resumed.Time)
	}
	return at
}

// IsThawing reports whether others may wait at the end of a freeze for a release: the freeze parked it and it waits as well, or it is under way
// since, or it wasn't observed yet what it waits for.
func IsThawing(workload *appv1alpha1.ChangeWorkload) bool {
	status := &workload.Status
	switch {
	case workload.DeletionTimestamp != nil, metav1.GetControllerOfNoCopy(workload) == nil: // a workload that is deleted may leave it
		return false
	case !isObserved(workload):
		return true
	case status.Frozen == nil:
		return false
	}
	frozen := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionFrozen)
	return isFrozen(status) || frozen != nil && frozen.Reason == appv1alpha1.ReasonThawed && isGoingOn(status)
}

// isGoingOn reports whether the release of a status is under way: it replaces pods, runs or is about to, or its pods are checked.
func isGoingOn(status *appv1alpha1.ChangeWorkloadStatus) bool {
	verified := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionVerified)
	return verified != nil && verified.Status == metav1.ConditionUnknown && slices.Contains([]string{
		appv1alpha1.ReasonVerifying, appv1alpha1.ReasonThresholdTimeout, appv1alpha1.ReasonFirstNodes, appv1alpha1.ReasonPaced,
		appv1alpha1.ReasonRunning, appv1alpha1.ReasonAwaitingRun, appv1alpha1.ReasonRunBlocked,
	}, verified.Reason)
}

// AheadOf returns how many releases of a namespace that the same freeze parked go on before this one: those under way since it ended, and
// those that were recorded earlier and still wait, or may do so, as they weren't observed yet: the webhooks park releases while no leader is
// there. free is when one doesn't count any more at the latest that goes on by itself. The order is the same for all of them, so that no two
// decide at the same time that they are next.
func AheadOf(
	workload *appv1alpha1.ChangeWorkload, parked *appv1alpha1.Frozen, records []appv1alpha1.ChangeWorkload, now time.Time,
) (ahead int32, free time.Time) {
	by := ParkedBy(workload, parked)
	count := func(until time.Time) {
		if !now.Before(until) {
			return
		}
		ahead++
		if free.IsZero() || until.Before(free) {
			free = until
		}
	}
	for i := range records {
		other := &records[i]
		switch {
		case other.Name == workload.Name || !IsThawing(other):
		case !isObserved(other):
			if isRecordedBefore(other, workload) {
				count(time.Unix(other.Spec.CreateTimeUnix, 0).Add(thawTime))
			}
		case other.Status.Frozen.By != by:
		case isFrozen(&other.Status):
			if isRecordedBefore(other, workload) {
				ahead++
			}
		default:
			thawed := meta.FindStatusCondition(other.Status.Conditions, appv1alpha1.ConditionFrozen).LastTransitionTime
			count(thawed.Add(thawTime))
		}
	}
	return ahead, free
}

func isRecordedBefore(a, b *appv1alpha1.ChangeWorkload) bool {
	if a.Spec.CreateTimeUnix != b.Spec.CreateTimeUnix {
		return a.Spec.CreateTimeUnix < b.Spec.CreateTimeUnix
	}
	return a.Name < b.Name
}
