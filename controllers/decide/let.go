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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// steers reports whether the rollout of a paced release is paused all the time, except for the pods that a step lets come.
func (p *Pace) steers() bool { return p.Mark != nil && p.Mark.Lever != appv1alpha1.LeverGates }

// storedTarget returns the target of the step that the stored status shows; 0 if it shows none.
func storedTarget(workload *appv1alpha1.ChangeWorkload) int32 {
	if StoredPace(workload) == nil || workload.Status.Pace == nil {
		return 0
	}
	return workload.Status.Pace.Target
}

// awaitedPods returns how many pods of a release are awaited now: those that its step lets run.
func awaitedPods(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, desired int32) int32 {
	if !isPaced(status) {
		return desired
	}
	return min(desired, storedTarget(workload))
}

// let sets how many pods of a release may run, and which of them passed. stops reports whether no further one comes, and those that come anew
// don't either. That of a rollout that is still held when its pace has ended waits for the end of the hold.
func (d *Decision) let(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, tally tally, seen Observation, stops bool) {
	d.Passed = sets.New[types.UID]()
	for _, pod := range tally.passed {
		d.Passed.Insert(pod.UID)
	}
	stored := StoredPace(workload)
	ended := stored != nil && stored.Status == metav1.ConditionFalse
	switch {
	case seen.OptedIn && seen.isToBePaced(workload, stored, ended):
		d.Let = 0
	case stored == nil, ended && stored.Reason != appv1alpha1.ReasonSuperseded:
		d.Let = LetAll
	case stops || status.Pace == nil || seen.RolledBack != nil:
		d.Let = 0
	default:
		d.Let = min(storedTarget(workload), status.Pace.Target)
	}
}

// isToBePaced reports whether no step of a release is stored yet, or its rollout is still held although its pace has ended.
func (o *Observation) isToBePaced(workload *appv1alpha1.ChangeWorkload, stored *metav1.Condition, ended bool) bool {
	isMarked := o.Pace.Mark != nil
	if stored == nil {
		return isMarked || !o.Current && !IsSettled(workload)
	}
	return ended && isMarked && o.Hold == Held
}

// stops reports whether no pod of a paced release is let run for now. A release under gates that is frozen keeps its pods: those that come in
// their place run.
func (o *Observation) stops(failed bool, onHold string) bool {
	return failed || o.Unseen || onHold != "" && (o.Pace.steers() || o.isParked())
}

// rests reports whether the rollout of a release is to be paused until the next step: all pods that the stored step lets run are there, none
// before the first step, however many are desired. Without the pause, pods that are added to a StatefulSet would run the release. The operator's own deletions need none.
func (o *Observation) rests(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, tally tally) bool {
	target, stored := storedTarget(workload), StoredPace(workload)
	return isPaced(status) && stored != nil && stored.Status == metav1.ConditionTrue && o.Pace.Mark != nil && o.Pace.Mark.Lever != appv1alpha1.LeverNodes &&
		target < max(o.Desired, 1) && tally.claimed+len(tally.preparing) >= int(target)
}

// holdPaced decides on the pause of a release that is marked as paced, and isn't held for anything else. waits reports whether it is about to be.
// Where a step waits at the end of a hold, the rollout stays paused: gates may keep pods from traffic only.
func (d *Decision) holdPaced(workload *appv1alpha1.ChangeWorkload, seen Observation, rests, waits bool) {
	switch {
	case waits:
	case seen.Pace.steers():
		d.Rest = rests
		d.Unhold = seen.Hold == Held || seen.resumesElse()
	default:
		d.Rest = rests && (seen.Hold == Held || seen.Hold == NotHeld && seen.mayPause())
		d.Resume = !rests && (seen.Hold == Held || seen.Hold == HeldForStep && StoredPace(workload) != nil)
		d.Unhold = rests && seen.Hold == Held || seen.resumesElse()
	}
}

// resumesElse reports whether a user has ended a pause for the first nodes, or for a freeze.
func (o *Observation) resumesElse() bool { return o.Hold == Resumed && o.waitsElse() }

// waitsElse reports whether the rollout is, or was, paused for the first nodes, or for a freeze.
func (o *Observation) waitsElse() bool { return o.First != nil || o.Freeze.Parked != nil }

// unpace removes the mark of a paced release once the stored status shows why the pace has ended, and restores the fields, unless the rollout is
// held. holds reports whether it is, for something else than its steps.
func (d *Decision) unpace(workload *appv1alpha1.ChangeWorkload, seen Observation, holds bool) {
	stored := StoredPace(workload)
	ended := stored != nil && stored.Status == metav1.ConditionFalse
	d.Unpace = seen.Current && seen.Pace.Mark != nil && ended && !holds && !d.Pause && d.Freeze == nil
}

// permissionWait is how long a release waits before it is looked at again whose pods can't be deleted: no event shows that the permission was granted.
const permissionWait = time.Minute

// lookAtPace has the next decision made when the soak of the step ends, its time is over, or a permission may have been granted.
func (d *Decision) lookAtPace(status *appv1alpha1.ChangeWorkloadStatus, now time.Time) {
	if !isPaced(status) || status.Pace == nil {
		return
	}
	if waitsFor(status, appv1alpha1.ReasonPermissionMissing) {
		d.lookIn(permissionWait)
	}
	for _, at := range []*metav1.Time{status.Pace.SoakUntil, status.Pace.Deadline, status.Pace.PolicyUntil} {
		if at != nil && at.After(now) {
			d.lookIn(at.Sub(now))
		}
	}
}
