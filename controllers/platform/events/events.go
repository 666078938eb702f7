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

package events

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Event is one Event. The functions below make all of those that the operator writes.
type Event struct {
	// Regarding is the object that the Event is about.
	Regarding runtime.Object
	// Related is the ChangeWorkload of the release in question, or a deleted pod; nil for the release that the workload is at.
	Related runtime.Object
	// Type is Normal or Warning.
	Type string
	// Reason is one of the reasons in the API package.
	Reason string
	// Action is what the operator was doing.
	Action string
	// Note is the message. The recorder shortens it.
	Note string
}

// Actions of the operator.
const (
	actionRecord    = "Record"
	actionVerify    = "Verify"
	actionKeep      = "Keep"
	actionRollBack  = "RollBack"
	actionAdmit     = "Admit"
	actionConfigure = "Configure"
	actionNotify    = "Notify"
)

// ReleaseRecorded reports that a release began, with its author and changes.
func ReleaseRecorded(workload client.Object, release decide.Release) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeNormal, Reason: appv1alpha1.EventReleaseRecorded, Action: actionRecord,
		Note: decide.ReleaseNote(workload.GetAnnotations(), release),
	}
}

// ReleaseNotRecorded reports that the API server rejected the ChangeWorkload of a version.
func ReleaseNotRecorded(workload client.Object, version string, err error) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseNotRecorded, Action: actionRecord,
		Note: fmt.Sprintf("release %s is not checked: the operator did not set its label %s; the next change of the pod template is checked again: %v",
			version, appv1alpha1.LabelVersion, err),
	}
}

// RecordNameTaken reports that the ChangeWorkload of a release has the name of one that another workload has.
func RecordNameTaken(workload client.Object, taken *appv1alpha1.ChangeWorkload, by *metav1.OwnerReference) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseNotRecorded, Action: actionRecord,
		Note: fmt.Sprintf("release %s is not checked: its record %s belongs to %s %s, which has the same name and pod template: rename one of them",
			taken.Spec.Reversion, taken.Name, strings.ToLower(by.Kind), by.Name),
	}
}

// SuspensionIgnored reports that a release was admitted although the workload was suspended.
func SuspensionIgnored(workload client.Object, used appv1alpha1.IgnoredSuspend) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventSuspensionIgnored, Action: actionRecord,
		Note: fmt.Sprintf("%s used ignored-suspend to let release %s through at %s", used.User, used.Version, used.Time.UTC().Format(time.RFC3339)),
	}
}

// IgnoredSuspendRemoved reports that the label ignored-suspend was removed from a workload that is not suspended.
func IgnoredSuspendRemoved(workload client.Object) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeNormal, Reason: appv1alpha1.EventIgnoredSuspendRemoved, Action: actionRecord,
		Note: fmt.Sprintf("removed the label %s: the %s is not suspended. "+
			"The operator removes it once per release: delete it from the manifest that sets it", appv1alpha1.LabelIgnoredSuspend, kindOf(workload)),
	}
}

// ReleaseSucceeded reports that a release is verified, and how many of its pods passed without a check.
func ReleaseSucceeded(workload client.Object, released *appv1alpha1.ChangeWorkload, unchecked int) Event {
	note := fmt.Sprintf("release %s is verified: %d of %d pods passed",
		released.Spec.Reversion, released.Status.Counts.Passed, released.Status.Counts.Desired)
	if unchecked > 0 {
		note += fmt.Sprintf(", %d of them unchecked", unchecked)
	}
	return Event{
		Regarding: workload, Related: released, Type: corev1.EventTypeNormal, Reason: appv1alpha1.EventReleaseSucceeded, Action: actionVerify,
		Note: note,
	}
}

// ReleaseSuspended reports that pods of a release failed, so that further releases are denied.
func ReleaseSuspended(workload client.Object, released *appv1alpha1.ChangeWorkload) Event {
	return warning(workload, released, appv1alpha1.EventReleaseSuspended, decide.FailureOf(&released.Status))
}

// PodsFailed reports that pods of a release failed while the setting "blocking" is off, or while the kind is observed.
func PodsFailed(workload client.Object, released *appv1alpha1.ChangeWorkload) Event {
	return warning(workload, released, appv1alpha1.EventPodsFailed, decide.FailureOf(&released.Status))
}

// RolloutHeld reports that the operator paused the rollout of a release, for a cause such as "a pod failed".
func RolloutHeld(workload client.Object, released *appv1alpha1.ChangeWorkload, cause string) Event {
	return warning(workload, released, appv1alpha1.EventRolloutHeld,
		"the rollout is paused because "+cause+"; pods that are not replaced yet keep the previous version")
}

// ScheduleHeld reports that the operator suspended the schedule of a workload, for a cause such as "a pod failed".
func ScheduleHeld(workload client.Object, released *appv1alpha1.ChangeWorkload, cause string) Event {
	return warning(workload, released, appv1alpha1.EventRolloutHeld, "the schedule is suspended because "+cause+"; no further Job begins")
}

// TrialStarted reports that a release is tried before its schedule goes on.
func TrialStarted(workload client.Object, released *appv1alpha1.ChangeWorkload, message string) Event {
	event := warning(workload, released, appv1alpha1.EventTrialStarted, message)
	event.Type = corev1.EventTypeNormal
	return event
}

// TrialDenied reports that a release can't be tried.
func TrialDenied(workload client.Object, released *appv1alpha1.ChangeWorkload, message string) Event {
	return warning(workload, released, appv1alpha1.EventTrialDenied, message+"; the release is checked at the next run")
}

// RolloutResumed reports that the operator resumed a rollout because no pod is failed any more.
func RolloutResumed(workload client.Object, released *appv1alpha1.ChangeWorkload) Event {
	event := warning(workload, released, appv1alpha1.EventRolloutResumed, "the rollout continues: the release has no failed pods any more")
	event.Type = corev1.EventTypeNormal
	return event
}

// RolloutResumedByUser reports that a user resumed a rollout that the operator had paused.
func RolloutResumedByUser(workload client.Object, released *appv1alpha1.ChangeWorkload, cause string) Event {
	return warning(workload, released, appv1alpha1.EventRolloutResumed, "a user resumed the rollout although "+cause+"; it is not paused again")
}

// RolloutResumedByMode reports that the operator resumed a rollout because releases of its kind are no longer controlled.
func RolloutResumedByMode(workload client.Object, released *appv1alpha1.ChangeWorkload) Event {
	return warning(workload, released, appv1alpha1.EventRolloutResumed, "the rollout continues: the mode of its kind is no longer Enforce")
}

// RolloutResumedByOptOut reports that the operator resumed a rollout because its namespace was opted out.
func RolloutResumedByOptOut(workload client.Object, released *appv1alpha1.ChangeWorkload) Event {
	return warning(workload, released, appv1alpha1.EventRolloutResumed, "the rollout continues: the namespace was opted out of change control")
}

// HoldLeft reports that the operator resumed the rollout of a release, which has no record.
func HoldLeft(workload client.Object, release decide.Release, cause string) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventRolloutResumed, Action: actionRecord,
		Note: fmt.Sprintf("release %d, version %s, goes on: %s", release.Number, release.Version, cause),
	}
}

// FirstNodesEnded reports that the rollout of a release goes on beyond its first nodes, with the conditions of the release.
func FirstNodesEnded(workload client.Object, released *appv1alpha1.ChangeWorkload, conditions []metav1.Condition) Event {
	ended := meta.FindStatusCondition(conditions, appv1alpha1.ConditionFirstNodes)
	switch {
	case ended == nil || ended.Reason == appv1alpha1.ReasonPodsFailed:
		return RolloutResumed(workload, released) // a failed verdict was withdrawn
	case ended.Status == metav1.ConditionTrue:
		event := warning(workload, released, appv1alpha1.EventFirstNodesPassed, ended.Message)
		event.Type = corev1.EventTypeNormal
		return event
	}
	return warning(workload, released, appv1alpha1.EventFirstNodesSkipped, ended.Message)
}

// FirstNodesSkipped reports that the rollout of a release, which has no record, doesn't wait for its first nodes.
func FirstNodesSkipped(workload client.Object, release decide.Release, cause string) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventFirstNodesSkipped, Action: actionRecord,
		Note: fmt.Sprintf("release %d, version %s, goes on to all nodes: %s", release.Number, release.Version, cause),
	}
}

// ReleaseFrozen reports that a release waits for the end of a freeze.
func ReleaseFrozen(workload client.Object, released *appv1alpha1.ChangeWorkload, message string) Event {
	return warning(workload, released, appv1alpha1.EventReleaseFrozen, "it waits: "+message)
}

// ReleaseThawed reports that a frozen release goes on, or doesn't wait any more for another reason.
func ReleaseThawed(workload client.Object, released *appv1alpha1.ChangeWorkload, message string) Event {
	event := warning(workload, released, appv1alpha1.EventReleaseThawed, message)
	event.Type = corev1.EventTypeNormal
	return event
}

// FreezeLeft reports that a frozen release, which has no record, goes on.
func FreezeLeft(workload client.Object, release decide.Release, cause string) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseThawed, Action: actionRecord,
		Note: fmt.Sprintf("release %d, version %s, goes on: %s", release.Number, release.Version, cause),
	}
}

// StepBegun reports that a release begins a step.
func StepBegun(workload client.Object, released *appv1alpha1.ChangeWorkload, message string) Event {
	event := warning(workload, released, appv1alpha1.EventStepBegun, message)
	event.Type = corev1.EventTypeNormal
	return event
}

// StepLate reports that a step of a release didn't end in time.
func StepLate(workload client.Object, released *appv1alpha1.ChangeWorkload, message string) Event {
	return warning(workload, released, appv1alpha1.EventStepDeadline, message)
}

// CheckFailed reports that a release failed a check that only warns.
func CheckFailed(workload client.Object, released *appv1alpha1.ChangeWorkload, failed *appv1alpha1.CheckResult) Event {
	return warning(workload, released, appv1alpha1.EventCheckFailed,
		fmt.Sprintf("check %s of VerificationPolicy %s failed, which only warns: %s", failed.Name, failed.Policy, failed.Message))
}

// CheckHolds reports that the pods of a release wait for a check that can't tell, or the release for one before or after its pods.
func CheckHolds(workload client.Object, released *appv1alpha1.ChangeWorkload, held *appv1alpha1.CheckResult) Event {
	waits := "its pods wait"
	switch held.Phase {
	case appv1alpha1.PhaseBefore:
		waits = "its first pod waits"
	case appv1alpha1.PhaseAfter:
		waits = "all pods passed, it waits"
	}
	return warning(workload, released, appv1alpha1.EventCheckHolds, fmt.Sprintf("%s for check %s of VerificationPolicy %s until %s: %s",
		waits, held.Name, held.Policy, held.HeldUntil.UTC().Format(time.RFC3339), held.Message))
}

// HoldTimedOut reports that they waited for as long as its policy lets them.
func HoldTimedOut(workload client.Object, released *appv1alpha1.ChangeWorkload, held *appv1alpha1.CheckResult) Event {
	holds, then := "holds its pods no longer", "its pods pass"
	switch isPhased := held.Phase != ""; {
	case isPhased && held.Verdict == appv1alpha1.CheckFail:
		holds, then = "holds it no longer", "it fails"
	case isPhased:
		holds, then = "holds it no longer", "it goes on"
	case held.Verdict == appv1alpha1.CheckFail:
		then = "the check fails its pods"
	}
	return warning(workload, released, appv1alpha1.EventHoldTimeout, fmt.Sprintf("check %s of VerificationPolicy %s %s, %s: %s",
		held.Name, held.Policy, holds, then, held.Message))
}

// ApprovalAwaited reports that the next step of a release needs approvals.
func ApprovalAwaited(workload client.Object, released *appv1alpha1.ChangeWorkload, message string) Event {
	event := warning(workload, released, appv1alpha1.EventApprovalAwaited, message)
	event.Type = corev1.EventTypeNormal
	return event
}

// StepsEnded reports that a release isn't rolled out in steps any more. That is normal only once all of them are done.
func StepsEnded(workload client.Object, released *appv1alpha1.ChangeWorkload, ended *metav1.Condition) Event {
	event := warning(workload, released, appv1alpha1.EventStepsEnded, ended.Message)
	if ended.Reason == appv1alpha1.ReasonAllSteps {
		event.Type = corev1.EventTypeNormal
	}
	return event
}

// StepsLeft reports that a release, which has no record, isn't rolled out in steps.
func StepsLeft(workload client.Object, release decide.Release, cause string) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventStepsEnded, Action: actionRecord,
		Note: fmt.Sprintf("release %d, version %s, goes on to all pods: %s", release.Number, release.Version, cause),
	}
}

// BreakGlassUsed reports that a release passed by a BreakGlass.
func BreakGlassUsed(workload client.Object, released *appv1alpha1.ChangeWorkload, pass *appv1alpha1.BreakGlassPass) Event {
	return warning(workload, released, appv1alpha1.EventBreakGlassUsed, fmt.Sprintf(
		"%s used BreakGlass %s to let it through, although %s", pass.User, pass.Name, strings.Join(pass.Would, "; ")))
}

// OrderRefused reports that the verifier refused the change order of a release.
func OrderRefused(workload client.Object, released *appv1alpha1.ChangeWorkload) Event {
	return warning(workload, released, appv1alpha1.EventOrderRefused, decide.OrderTrouble(released))
}

// ServerUnavailable reports that the verifier has not accepted the change order of a release yet.
func ServerUnavailable(workload client.Object, released *appv1alpha1.ChangeWorkload) Event {
	return warning(workload, released, appv1alpha1.EventServerUnavailable, decide.OrderTrouble(released))
}

// HistoryNotKept reports that the pod template of a verified release could not be kept.
func HistoryNotKept(workload client.Object, released *appv1alpha1.ChangeWorkload, err error) Event {
	event := warning(workload, released, appv1alpha1.EventHistoryNotKept, err.Error())
	event.Action = actionKeep
	return event
}

// RecordNotWritten reports that the ChangeRecord of a release could not be written.
func RecordNotWritten(workload client.Object, released *appv1alpha1.ChangeWorkload, err error) Event {
	event := warning(workload, released, appv1alpha1.EventRecordNotWritten, err.Error())
	event.Action = actionKeep
	return event
}

// WorkloadNotWritten reports that the API server denied what the operator writes to a workload for its release.
func WorkloadNotWritten(workload client.Object, released *appv1alpha1.ChangeWorkload, err error) Event {
	return warning(workload, released, appv1alpha1.EventWorkloadNotWritten, "it can't be suspended, held or let go on: "+err.Error())
}

// NotificationsDropped reports that a receiver took some messages neither at once nor later.
func NotificationsDropped(subscription *appv1alpha1.ChangeSubscription, count int, why string) Event {
	return Event{
		Regarding: subscription, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventNotificationsDropped, Action: actionNotify,
		Note: fmt.Sprintf("%d of its events could not be delivered: %s", count, why),
	}
}

// warning returns a warning about the checks of a release.
func warning(workload client.Object, released *appv1alpha1.ChangeWorkload, reason, note string) Event {
	return Event{
		Regarding: workload, Related: released, Type: corev1.EventTypeWarning, Reason: reason, Action: actionVerify,
		Note: fmt.Sprintf("release %s: %s", released.Spec.Reversion, note),
	}
}

// BatchNotChecked reports that a batch of a release ended without a check. It has no related object, so that the batches of a
// release become one series of Events.
func BatchNotChecked(released *appv1alpha1.ChangeWorkload, changePod, cause string) Event {
	return Event{
		Regarding: released, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventBatchNotChecked, Action: actionVerify,
		Note: changePod + ": " + cause,
	}
}

// ReleaseRolledBack reports that a release was rolled back.
func ReleaseRolledBack(workload client.Object, made appv1alpha1.Rollback) Event {
	note := fmt.Sprintf("release %d, version %s, goes back to version %s: %s", made.Release, made.Version, made.To, made.Message)
	if made.RefusedUntil != nil {
		note += fmt.Sprintf("; the version is refused until %s", made.RefusedUntil.UTC().Format(time.RFC3339))
	}
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseRolledBack, Action: actionRollBack, Note: note,
	}
}

// ReleaseNotRolledBack reports that a rollback of a release, wanted for a cause, met an obstacle.
func ReleaseNotRolledBack(workload client.Object, release decide.Release, obstacle error, cause string) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseNotRolledBack, Action: actionRollBack,
		Note: fmt.Sprintf("release %d, version %s, was not rolled back: %s (cause of the rollback: %s)",
			release.Number, release.Version, obstacle, cause),
	}
}

// ReleaseParked reports that a release is parked.
func ReleaseParked(workload client.Object, release decide.Release, made appv1alpha1.Park) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseParked, Action: actionRollBack,
		Note: fmt.Sprintf("release %d, version %s, is parked: its rollout is held and its pods come back with the template from before: %s",
			release.Number, release.Version, made.Message),
	}
}

// ReleaseNotParked reports that a park of a release, wanted for a cause, met an obstacle.
func ReleaseNotParked(workload client.Object, release decide.Release, obstacle error, cause string) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseNotParked, Action: actionRollBack,
		Note: fmt.Sprintf("release %d, version %s, was not parked: %s (cause of the park: %s)", release.Number, release.Version, obstacle, cause),
	}
}

// PodDeleted reports that a pod was deleted for a cause.
func PodDeleted(workload client.Object, pod *corev1.Pod, cause string) Event {
	return Event{
		Regarding: workload, Related: pod, Type: corev1.EventTypeNormal, Reason: appv1alpha1.EventPodDeleted, Action: actionRollBack,
		Note: fmt.Sprintf("deleted pod %s: %s", pod.Name, cause),
	}
}

// PodNotDeleted reports that a pod of a release could not be deleted.
func PodNotDeleted(workload client.Object, release decide.Release, obstacle error) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventPodNotDeleted, Action: actionRollBack,
		Note: fmt.Sprintf("release %d, version %s: %s", release.Number, release.Version, obstacle),
	}
}

// StuckAfterUnusable reports that the annotation of a workload that sets the threshold is invalid, and the threshold in use.
func StuckAfterUnusable(workload client.Object, err error, threshold time.Duration) Event {
	return Event{
		Regarding: workload, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventStuckAfterUnusable, Action: actionRollBack,
		Note: fmt.Sprintf("%s; the setting stuck-rollback applies: %s", err, threshold),
	}
}

// ReleaseRefused reports that a version that was rolled back was denied. Repetitions become one Event where both references are the
// same, whatever the note: so that of the workload has no resourceVersion, and the other one names the ChangeWorkload of the version.
func ReleaseRefused(kind workload.Kind, object client.Object, version, note string) Event {
	apiVersion, name := kind.GroupVersionKind().ToAPIVersionAndKind()
	return Event{
		Regarding: &corev1.ObjectReference{
			APIVersion: apiVersion, Kind: name, Namespace: object.GetNamespace(), Name: object.GetName(), UID: object.GetUID(),
		},
		Related: &corev1.ObjectReference{
			APIVersion: appv1alpha1.GroupVersion.String(), Kind: "ChangeWorkload", Namespace: object.GetNamespace(),
			Name: workload.RecordName(kind, object.GetName(), version),
		},
		Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventReleaseRefused, Action: actionAdmit, Note: note,
	}
}

// ConfigRestored reports that a missing setting was created.
func ConfigRestored(setting *appv1alpha1.OpsConfigInfo) Event {
	return Event{
		Regarding: setting, Type: corev1.EventTypeNormal, Reason: appv1alpha1.EventConfigRestored, Action: actionConfigure,
		Note: "created with the default",
	}
}

// ConfigIgnored reports that an OpsConfigInfo has no effect.
func ConfigIgnored(setting *appv1alpha1.OpsConfigInfo, cause string) Event {
	return Event{
		Regarding: setting, Type: corev1.EventTypeWarning, Reason: appv1alpha1.EventConfigIgnored, Action: actionConfigure, Note: cause,
	}
}
