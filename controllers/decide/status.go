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

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	// progressInterval is how often lists and counts are written while nothing else changes. A write costs the cluster as much as a
	// pod of the release, and the ChangePods show the same at any time.
	progressInterval = 2 * time.Minute
	// maxVerifiedVersions is the number of versions that a ChangeWorkload remembers for its workload.
	maxVerifiedVersions = 10
)

// hasReason reports whether the condition Verified has one of the reasons.
func hasReason(conditions []metav1.Condition, reasons ...string) bool {
	verified := meta.FindStatusCondition(conditions, appv1alpha1.ConditionVerified)
	return verified != nil && slices.Contains(reasons, verified.Reason)
}

func setVerified(status *appv1alpha1.ChangeWorkloadStatus, value metav1.ConditionStatus, reason, message string) {
	setCondition(status, appv1alpha1.ConditionVerified, value, reason, message)
}

// keepUnverified sets why a release that is not verified yet is not checked; a settled one keeps its condition.
func keepUnverified(status *appv1alpha1.ChangeWorkloadStatus, reason, message string) {
	status.WaitDeadline = nil
	if status.Status != appv1alpha1.ChangeWorkloadSuccess && status.Status != appv1alpha1.ChangeWorkloadSuspend {
		setVerified(status, metav1.ConditionUnknown, reason, message)
	}
}

func setSuspended(status *appv1alpha1.ChangeWorkloadStatus, suspended bool, reason string, seen Observation) {
	if suspended {
		message := "further releases of the " + seen.Kind + " are denied until a repair or a verified version succeeds"
		if seen.isOnce() {
			message = "a " + seen.Kind + " with the same pod template is suspended at its creation"
		}
		switch {
		case seen.Hold != Held:
		case isFrozen(status): // it can't be resumed
			message += "; its rollout is frozen: see the condition Frozen"
		default:
			message += "; its rollout is paused: " + seen.Resume + " to continue it anyway"
		}
		setCondition(status, appv1alpha1.ConditionSuspended, metav1.ConditionTrue, reason, message)
		return
	}
	if seen.Observed {
		setCondition(status, appv1alpha1.ConditionSuspended, metav1.ConditionFalse, appv1alpha1.ReasonObserving,
			"the mode of the kind "+seen.Kind+" is Observe: with Enforce the release would have been suspended")
		return
	}
	if seen.Denied != "" && seen.Blocking {
		setCondition(status, appv1alpha1.ConditionSuspended, metav1.ConditionFalse, appv1alpha1.ReasonWorkloadNotWritten,
			"further releases of the "+seen.Kind+" are not denied yet, as it can't be suspended: "+shortText(seen.Denied))
		return
	}
	setCondition(status, appv1alpha1.ConditionSuspended, metav1.ConditionFalse, appv1alpha1.ReasonBlockingDisabled,
		`the OpsConfigInfo "blocking" is off: further releases of the `+seen.Kind+" are not denied")
}

func liftSuspended(status *appv1alpha1.ChangeWorkloadStatus) {
	if meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionSuspended) != nil {
		setCondition(status, appv1alpha1.ConditionSuspended, metav1.ConditionFalse, appv1alpha1.ReasonLifted,
			"the release has no failed pods")
	}
}

// endSuspended ends the suspension by a release whose pods stay failed.
func endSuspended(status *appv1alpha1.ChangeWorkloadStatus, kind string) {
	if meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionSuspended) {
		setCondition(status, appv1alpha1.ConditionSuspended, metav1.ConditionFalse, appv1alpha1.ReasonLifted,
			"the "+kind+" has moved on and is no longer suspended")
	}
}

// wasLifted reports whether the suspension by a release has ended.
func wasLifted(status *appv1alpha1.ChangeWorkloadStatus) bool {
	suspended := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionSuspended)
	return suspended != nil && suspended.Reason == appv1alpha1.ReasonLifted
}

// setRolledBack sets that the release was rolled back. The condition stays when the annotation of the workload drops the rollback.
func setRolledBack(status *appv1alpha1.ChangeWorkloadStatus, seen Observation) {
	rollback := seen.RolledBack
	if rollback == nil {
		return
	}
	setCondition(status, appv1alpha1.ConditionRolledBack, metav1.ConditionTrue, string(rollback.Reason), fmt.Sprintf(
		"the %s went back to version %s (release %d) at %s: %s",
		seen.Kind, rollback.To, rollback.ToRelease, rollback.Time.UTC().Format(time.RFC3339), rollback.Message))
}

// isParked reports whether the rollout of this release is held and its pods come back with the earlier template.
func (o *Observation) isParked() bool {
	return o.Current && o.OptedIn && o.Parked != nil && o.Hold == Held
}

// setParked sets whether the release is parked, once it has been.
func setParked(status *appv1alpha1.ChangeWorkloadStatus, seen Observation) {
	switch {
	case seen.isParked():
		setCondition(status, appv1alpha1.ConditionParked, metav1.ConditionTrue, string(seen.Parked.Reason), fmt.Sprintf(
			"the rollout is held and the pods of the release are deleted one at a time to come back with the template from before; the next release ends this: %s",
			seen.Parked.Message))
	case !meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionParked):
	case !seen.Current:
		setCondition(status, appv1alpha1.ConditionParked, metav1.ConditionFalse, appv1alpha1.ReasonSuperseded,
			"the "+seen.Kind+" has moved on to another release")
	case seen.Hold.IsHeld():
		setCondition(status, appv1alpha1.ConditionParked, metav1.ConditionFalse, appv1alpha1.ReasonResumed, "no pod of the release is failed any more")
	default:
		setCondition(status, appv1alpha1.ConditionParked, metav1.ConditionFalse, appv1alpha1.ReasonResumed, "the rollout of the release goes on or is complete: pods that are deleted come back with it")
	}
}

// maxCondition is the most bytes of the message of a condition. The API server rejects a status with one of more characters, and what other
// controllers say of a workload, or a user of its first nodes, may be long.
const maxCondition = 32768

// setCondition leaves a new transition time empty: finish sets it to the time of the decision.
func setCondition(status *appv1alpha1.ChangeWorkloadStatus, kind string, value metav1.ConditionStatus, reason, message string) {
	existing := meta.FindStatusCondition(status.Conditions, kind)
	condition := metav1.Condition{Type: kind, Status: value, Reason: reason, Message: Shorten(message, maxCondition)}
	if existing == nil {
		status.Conditions = append(status.Conditions, condition)
		return
	}
	if existing.Status == value {
		condition.LastTransitionTime = existing.LastTransitionTime
	}
	*existing = condition
}

// Standing returns the phase of a release for Events, metrics and traces. A release without pods to check has the status Success, but
// is still running.
func Standing(status *appv1alpha1.ChangeWorkloadStatus) appv1alpha1.ChangeWorkloadPhase {
	if status.Status == appv1alpha1.ChangeWorkloadSuccess && isProvisional(status) {
		return appv1alpha1.ChangeWorkloadRunning
	}
	return status.Status
}

// isProvisional reports whether a release has the status Success because it has no pods to check.
func isProvisional(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return hasReason(status.Conditions, appv1alpha1.ReasonNoReplicas, appv1alpha1.ReasonTemplateUnstamped)
}

// restoreVerified restores the condition of a verified release where a user removed or changed it.
func restoreVerified(status *appv1alpha1.ChangeWorkloadStatus) {
	if wasVerified(status) && !meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionVerified) {
		setVerified(status, metav1.ConditionTrue, appv1alpha1.ReasonAllPodsPassed, "all pods of the release passed")
	}
}

// rememberVerified adds the verified versions of older ChangeWorkloads, newest first: these may be removed. A version whose last release
// failed is not verified any more.
func rememberVerified(known []string, own string, others []appv1alpha1.ChangeWorkload) []string {
	var versions, failed []string
	for _, other := range newestFirst(others) {
		if IsSettled(other) {
			versions = append(versions, other.Spec.Reversion)
		} else if hasFailed(other) {
			failed = append(failed, other.Spec.Reversion)
		}
		versions = append(versions, other.Status.VerifiedVersions...)
	}
	versions = append(versions, known...)
	return distinct(versions, append(failed, own))
}

// rememberFirst prepends a version to those that are known.
func rememberFirst(version string, known []string) []string {
	return distinct(append([]string{version}, known...), nil)
}

// distinct returns each version once, up to maxVerifiedVersions, except those in without.
func distinct(versions, without []string) []string {
	var result []string
	for _, version := range versions {
		if !slices.Contains(without, version) && !slices.Contains(result, version) && len(result) < maxVerifiedVersions {
			result = append(result, version)
		}
	}
	return result
}

// finish sets the times of the status, and whether or when it is written.
func (d *Decision) finish(workload *appv1alpha1.ChangeWorkload, status appv1alpha1.ChangeWorkloadStatus, now time.Time) {
	stored := &workload.Status
	if status.Status != stored.Status || status.ObservedRelease != stored.ObservedRelease {
		status.EntryTime, status.EntryTimeUnix = Stamp(now)
	}
	for i := range status.Conditions {
		status.Conditions[i].ObservedGeneration = workload.Generation
		if status.Conditions[i].LastTransitionTime.IsZero() {
			status.Conditions[i].LastTransitionTime = metav1.NewTime(now)
		}
	}
	d.Status = status
	news := isNews(stored, &status)
	// The lists take long to compare; during a release the counts differ anyway.
	if !news && stored.Counts == status.Counts && equality.Semantic.DeepEqual(*stored, status) {
		return
	}
	due := time.Unix(stored.UpdateTimeUnix, 0).Add(progressInterval)
	if due.Sub(now) > progressInterval { // the clock went back, or a user wrote the time
		due = now
	}
	if news || !now.Before(due) {
		d.WriteStatus = true
		d.Status.UpdateTime, d.Status.UpdateTimeUnix = Stamp(now)
		return
	}
	d.lookIn(due.Sub(now))
}

// NoteRecord adds what the ChangeRecord of the release has to the status, which is then written. It has no effect if the status has it already.
// Without an outcome the status notes none.
func (d *Decision) NoteRecord(recorded *appv1alpha1.RecordedOutcome, now time.Time) {
	if recorded == nil || d.Status.Recorded != nil && *d.Status.Recorded == *recorded {
		return
	}
	if recorded.Outcome == "" {
		recorded = nil
	}
	d.Status.Recorded, d.WriteStatus = recorded, true
	d.Status.UpdateTime, d.Status.UpdateTimeUnix = Stamp(now)
}

// lookIn limits the wait for the next decision.
func (d *Decision) lookIn(left time.Duration) {
	if d.Wait == 0 || left < d.Wait {
		d.Wait = left
	}
}

// isNews reports whether a change matters to users or later decisions, other than mere progress.
func isNews(stored, next *appv1alpha1.ChangeWorkloadStatus) bool {
	if stored.Status != next.Status || stored.ObservedRelease != next.ObservedRelease ||
		stored.Counts.Failed != next.Counts.Failed || stored.Counts.Desired != next.Counts.Desired ||
		!slices.Equal(stored.VerifiedVersions, next.VerifiedVersions) || len(stored.Conditions) != len(next.Conditions) {
		return true
	}
	for _, part := range [][2]any{
		{stored.Order, next.Order}, {stored.FirstNodes, next.FirstNodes}, {stored.Frozen, next.Frozen},
		{stored.BreakGlass, next.BreakGlass}, {stored.Pace, next.Pace}, {stored.Verification, next.Verification}, {stored.Checks, next.Checks},
	} {
		if !equality.Semantic.DeepEqual(part[0], part[1]) {
			return true
		}
	}
	for _, condition := range next.Conditions {
		was := meta.FindStatusCondition(stored.Conditions, condition.Type)
		if was == nil || was.Status != condition.Status || was.Reason != condition.Reason {
			return true
		}
	}
	return false
}
