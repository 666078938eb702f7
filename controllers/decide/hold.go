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
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Hold is the operator's hold on a rollout.
type Hold string

const (
	// NotHeld is a rollout that the operator has not paused.
	NotHeld Hold = ""
	// Held is a rollout that the operator has paused and that is still paused.
	Held Hold = "held"
	// HeldForStep is one that it has paused only because the release is rolled out in steps.
	HeldForStep Hold = "step"
	// Resumed is a rollout that the operator has paused and that a user has resumed just now.
	Resumed Hold = "resumed"
	// Overridden is a rollout that a user resumed before: a later pause is the user's.
	Overridden Hold = "overridden"
)

// IsHeld reports whether the operator has paused the rollout and it is still paused.
func (h Hold) IsHeld() bool { return h == Held || h == HeldForStep }

// HoldOf returns the operator's hold on the rollout of a release of a workload, given whether the workload is paused.
func HoldOf(workload metav1.Object, paused bool, release int64) Hold {
	annotations := workload.GetAnnotations()
	switch marked := IsMarkedHeld(annotations, release); {
	case IsOverridden(annotations, release):
		return Overridden
	case marked && paused:
		return Held
	case marked:
		return Resumed
	case paused && isHeldForStep(workload, release):
		return HeldForStep
	}
	return NotHeld
}

// IsMarkedHeld reports whether the annotations of a workload show a hold of the rollout of a release, for another reason than its pace. They do so
// until it is seen that a user has resumed the rollout.
func IsMarkedHeld(annotations map[string]string, release int64) bool {
	return isMarked(annotations, release, "", appv1alpha1.HeldFirstNodes)
}

// IsOverridden reports whether the annotations of a workload show that a user has ended the hold of a release.
func IsOverridden(annotations map[string]string, release int64) bool {
	return isMarked(annotations, release, appv1alpha1.HeldOverridden)
}

// isMarked reports whether the number of a release is marked with one of these suffixes. The mark of an earlier release is void.
func isMarked(annotations map[string]string, release int64, suffixes ...string) bool {
	suffix, found := strings.CutPrefix(annotations[appv1alpha1.AnnotationHeld], strconv.FormatInt(release, 10))
	return found && slices.Contains(suffixes, suffix)
}

// isHeldForStep reports whether the pause of a workload is that of a paced release. Where gates hold back its pods, users may pause it as well.
func isHeldForStep(workload metav1.Object, release int64) bool {
	paced := appv1alpha1.PacedOf(workload.GetAnnotations(), release)
	return paced != nil && (paced.Lever != appv1alpha1.LeverGates || paced.Rests)
}

// hold pauses the rollout of a failed or parked release, or of one that a freeze holds, whether it failed or not, once, and resumes it when no pod is
// failed any more or its namespace is opted out. It leaves alone the pause of a user, a rollout that a user resumed, and a template that was changed
// without the webhooks, which is not the one that failed. The rollout of a release that waits, for its first nodes or the end of a freeze, stays paused,
// until the status shows why it goes on. The schedule of a release that is tried is paused from the start of the trial until it is verified.
func (d *Decision) hold(
	status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, seen Observation, failed, waits, rests bool,
) {
	fails := (failed || seen.isParkedByUser()) && seen.OptedIn
	freezes := seen.isToFreeze(status, workload)
	switch {
	case !seen.Current:
	case fails && freezes && seen.goesOn():
		d.holdFrozen(workload, seen)
	case fails:
		d.holdFailed(seen, failed, waits)
	case seen.isOnTrial(status):
		d.Pause = seen.mayPause()
		d.Override = seen.Hold == Resumed
	case seen.OptedIn && seen.Refused != "":
		d.Override = seen.Hold == Resumed
	case freezes:
		d.holdFrozen(workload, seen)
	case seen.Pace.Mark != nil:
		d.holdPaced(workload, seen, rests, waits)
	default:
		d.letRoll(seen, waits)
	}
	d.unpace(workload, seen, waits || fails && seen.Hold == Held)
	d.Unpark = seen.endsPark(failed)
}

// holdFailed also marks the pause for the first nodes as that of a failure once the stored status shows it, so that a user may end it. The pause
// for a freeze ends with that, unless the failure holds the rollout as well.
func (d *Decision) holdFailed(seen Observation, failed, waits bool) {
	failedFirst := seen.First != nil && seen.Hold == Held && !waits
	d.Pause = (seen.Blocking || seen.isToPark()) && seen.mayPause() || failedFirst
	d.Override = seen.Hold == Resumed
	wasFrozen := seen.Freeze.Parked != nil && !waits && seen.staysPaused(failed) == ""
	d.Resume = seen.Hold == Held && (seen.isFreeTrial() && !waits || wasFrozen)
}

// goesOn reports whether the rollout of a failed release would go on, or the pause of its trial end.
func (o *Observation) goesOn() bool { return o.mayPause() || o.Hold == Held && o.isFreeTrial() }

// isToPark reports whether a user, or a ReleasePolicy, wants this release to be parked.
func (o *Observation) isToPark() bool {
	return o.Parked != nil && o.Parked.Reason == appv1alpha1.RollbackRequested
}

// isParkedByUser reports whether a user wants this release to be parked. Any other park is for failed pods, and ends with the verdict.
func (o *Observation) isParkedByUser() bool {
	return o.isToPark() && !strings.HasPrefix(o.Parked.User, appv1alpha1.RollbackByPolicy)
}

// endsPark reports whether the park of this release ends, as no pod is failed any more.
func (o *Observation) endsPark(failed bool) bool {
	return o.Current && o.OptedIn && o.Parked != nil && !failed && !o.isParkedByUser()
}

// staysPaused returns why a rollout stays paused at the end of a freeze, empty if it doesn't.
func (o *Observation) staysPaused(failed bool) string {
	switch {
	case o.isParkedByUser() || failed && o.Parked != nil:
		return "the release is parked"
	case failed && (o.Blocking || o.First != nil):
		return "the release failed"
	case o.Refused != "":
		return "its pod template failed its check in " + o.Refused
	}
	return ""
}

func (d *Decision) holdFrozen(workload *appv1alpha1.ChangeWorkload, seen Observation) {
	if d.Pause = seen.mayPause(); d.Pause || seen.Hold.IsHeld() {
		d.Freeze = seen.Freeze.InForce.Mark(workload.Spec.Release)
	}
}

func (d *Decision) letRoll(seen Observation, waits bool) {
	d.Resume = seen.Hold == Held && !waits
	d.Unhold = seen.resumesElse() && !waits
}

// isPausedByUser reports whether the rollout is paused, and not by the operator.
func (o *Observation) isPausedByUser() bool { return o.Paused && !o.Hold.IsHeld() }

// mayPause reports whether the rollout can be paused: it goes on, neither a user nor the operator has paused it, except for a step, and its
// template passed the webhooks.
func (o *Observation) mayPause() bool {
	return (o.Rolling || o.Recurs) && !o.Unseen && (!o.Paused && o.Hold == NotHeld || o.Hold == HeldForStep)
}
