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

package v1alpha1

// The keys below are a wire contract with users, dashboards and the documents: none may be renamed. Each comment names the
// only writer; the webhooks undo changes by others.

// Labels.
const (
	// LabelOptIn on a Namespace puts its workloads under change control: those of the kinds in the mode Enforce. Written by users.
	LabelOptIn = "admission-webhook-altershield"
	// OptInEnabled is the value of LabelOptIn that opts a namespace in.
	OptInEnabled = "enabled"

	// LabelVersion holds the release version, 32 hex digits, on a workload and on its pod template, and so on its Pods and what
	// it controls them through. ChangeWorkloads and ChangePods carry it as well. Written by the mutating webhook; on the Pods of a kind with the
	// identity Revision by the ChangeWorkload reconciler.
	LabelVersion = "admission-webhook-altershield.antgroup.com/version"

	// LabelDefenseStatus on a workload means that the ChangeWorkload of its current release exists. Written by the
	// workload reconciler, dropped by the mutating webhook when a release begins.
	LabelDefenseStatus = "altershield.defense.antgroup.com/defense-status"
	// DefenseStatusProcessed is the only value of LabelDefenseStatus.
	DefenseStatusProcessed = "processed"

	// LabelOperateFinished on a Pod holds the time at which the pod was seen finished, in Unix seconds (the documents'
	// "Finished Label"). Written by the Pod reconciler.
	LabelOperateFinished = "altershield.defense.antgroup.com/operate-finished"

	// LabelSuspend on a workload holds the time of its suspension, in Unix seconds. While it is set, releases are denied.
	// Written by the ChangeWorkload reconciler.
	LabelSuspend = "altershield.defense.antgroup.com/suspend"

	// LabelIgnoredSuspend on a workload lets one release through a suspension. Written by users; removed by the mutating
	// webhook when it admits that release, or by the workload reconciler, once per release, if nothing is suspended.
	LabelIgnoredSuspend = "altershield.defense.antgroup.com/ignored-suspend"
	// IgnoredSuspendTrue is the value of LabelIgnoredSuspend that has an effect.
	IgnoredSuspendTrue = "true"

	// LabelDeploymentName names the Deployment on its ChangeWorkloads, ChangePods, ChangeRecords and kept templates, and on the Jobs of its
	// checks. A name of more than 63 characters is shortened; the spec of the records has the full name. Written by their creators.
	LabelDeploymentName = "app.kubernetes.io/deployment-name"

	// LabelWorkload names the workload on the same objects of every other kind, as <plural>.<name>, shortened like LabelDeploymentName. Written
	// by their creators.
	LabelWorkload = "altershield.defense.antgroup.com/workload"

	// LabelGate on a pod template, and so on its pods, asks for a gate at their creation: GateStart or GateReady. It is outside the version.
	// Written by the mutating webhook with a release.
	LabelGate = "altershield.defense.antgroup.com/gate"

	// LabelBatchOf on a ChangePod holds the UID of its ChangeWorkload and the number of its release, as <uid>.<number>, so
	// that one request deletes the batches of a release. Written by the ChangeWorkload reconciler when it opens a batch.
	LabelBatchOf = "altershield.defense.antgroup.com/batch-of"

	// LabelRecordOf on a ChangeRecord identifies its workload by a hash of its UID and mode, so that the records of a workload are found. Written by
	// the operator when it creates the ChangeRecord.
	LabelRecordOf = "altershield.defense.antgroup.com/record-of"

	// LabelCheck on a Job and on its pod names the check of a VerificationPolicy, of the type Job. Written by the ChangeWorkload reconciler when
	// it creates the Job.
	LabelCheck = "altershield.defense.antgroup.com/check"
	// LabelCheckOf on a Job of a check and on its pod holds the release, as LabelBatchOf does. Written with LabelCheck.
	LabelCheckOf = "altershield.defense.antgroup.com/check-of"
)

// Annotations.
const (
	// AnnotationRelease numbers the releases of a workload from 1. It distinguishes two releases of the same version
	// (A, B, A). Written by the mutating webhook.
	AnnotationRelease = "altershield.defense.antgroup.com/release"

	// AnnotationIgnoredSuspendBy on a workload holds an IgnoredSuspend in JSON: the last release that passed a suspension.
	// Written by the mutating webhook.
	AnnotationIgnoredSuspendBy = "altershield.defense.antgroup.com/ignored-suspend-by"

	// AnnotationIgnoredSuspendRemoved on a workload holds the number of the release at which LabelIgnoredSuspend was removed
	// unused. It is not removed again before the next release, even if a client sets it repeatedly. Written by the workload
	// reconciler, and by the mutating webhook with a release.
	AnnotationIgnoredSuspendRemoved = "altershield.defense.antgroup.com/ignored-suspend-removed"

	// AnnotationReleasedBy on a workload holds a ReleaseRecord in JSON: the author and the changes of its current release.
	// Written by the mutating webhook.
	AnnotationReleasedBy = "altershield.defense.antgroup.com/released-by"

	// AnnotationRollback on a workload requests a rollback: RollbackNewest, or the version to go back to; or a park: RollbackPark.
	// Written by users, and by the ChangeWorkload reconciler for a ReleasePolicy; removed by the rollback controller.
	AnnotationRollback = "altershield.defense.antgroup.com/rollback"
	// RollbackNewest requests the newest verified version other than the current one.
	RollbackNewest = "true"
	// RollbackPark requests that the release is parked: its rollout is held and its pods come back with the earlier template.
	RollbackPark = "park"
	// AnnotationRollbackBy on a workload holds the name of the user who wrote AnnotationRollback, or of the ReleasePolicy. Written by the mutating
	// webhook, or with AnnotationRollback by the ChangeWorkload reconciler; removed with AnnotationRollback.
	AnnotationRollbackBy = "altershield.defense.antgroup.com/rollback-by"
	// RollbackByPolicy precedes the name of the ReleasePolicy that requested a rollback, in place of a user.
	RollbackByPolicy = "ReleasePolicy "
	// AnnotationRollbacks on a workload holds a JSON list of Rollback, newest first, one for each version that was rolled
	// back. Written by the operator with each rollback.
	AnnotationRollbacks = "altershield.defense.antgroup.com/rollbacks"

	// AnnotationStuckAfter on a workload overrides the setting ConfigStuckRollback: how long its pods may take to run before
	// its release is rolled back, as a Go duration; 0 means never. Written by users.
	AnnotationStuckAfter = "altershield.defense.antgroup.com/stuck-after"

	// AnnotationAllowDataRollback on a workload whose pods have volumes of their own permits rollbacks, which don't take back the
	// data, and deletions of its pods. Written by users.
	AnnotationAllowDataRollback = "altershield.defense.antgroup.com/allow-data-rollback"
	// AllowDataRollbackTrue is the value of AnnotationAllowDataRollback that has an effect.
	AllowDataRollbackTrue = "true"

	// AnnotationTrial on a CronJob asks for a trial of each of its releases: one Job runs at once and is checked, and the schedule is
	// suspended until then. Written by users.
	AnnotationTrial = "altershield.defense.antgroup.com/trial"
	// TrialTrue is the value of AnnotationTrial that has an effect.
	TrialTrue = "true"

	// AnnotationRefused on a Job names the ChangeWorkload in which its pod template failed its check before, so that the Job was
	// suspended at its creation. Written by the mutating webhook.
	AnnotationRefused = "altershield.defense.antgroup.com/refused"

	// AnnotationHeld on a workload holds the number of the release whose rollout the operator paused, which distinguishes its
	// pause from a user's. HeldOverridden follows the number once a user has resumed that rollout. Written by the ChangeWorkload
	// reconciler, and by the mutating webhook for a release that it holds from its beginning; dropped by the webhook when a release begins.
	AnnotationHeld = "altershield.defense.antgroup.com/held"
	// AnnotationHeldFrom on a workload holds, in JSON, the fields that the operator overwrote to hold its rollout; none where the
	// kind needs none to let it go on. Written and removed with AnnotationHeld.
	AnnotationHeldFrom = "altershield.defense.antgroup.com/held-from"
	// AnnotationParked on a workload holds a Park in JSON: its release is to be held, and the pods of the release are deleted one at
	// a time. Written by the rollback controller; removed by the mutating webhook when a release begins, and by the ChangeWorkload reconciler when the
	// verdict of a release that was parked for it is withdrawn.
	AnnotationParked = "altershield.defense.antgroup.com/parked"
	// AnnotationFrozen on a workload holds a Frozen in JSON: its release waits for the end of a ChangeFreeze. Written by the mutating
	// webhook with the release, or by the ChangeWorkload reconciler when it holds a release under way; removed by that reconciler, and by the
	// webhook where a user ends the pause of a release in steps.
	AnnotationFrozen = "altershield.defense.antgroup.com/frozen"
	// AnnotationBreakGlass on a workload holds a BreakGlassMark in JSON: its release passed by a BreakGlass. Written by the mutating webhook.
	AnnotationBreakGlass = "altershield.defense.antgroup.com/break-glass"
	// AnnotationPaced on a workload holds a Paced in JSON: its release is rolled out in steps. Written by the mutating webhook with the
	// release, and when a user changes a field that the steps keep; by the ChangeWorkload reconciler when it pauses the rollout at a step, and
	// removed by it at the end of the steps.
	AnnotationPaced = "altershield.defense.antgroup.com/paced"
	// AnnotationGoOn on a workload lets its paced release go on: <release>:<step>, or <release>:all. Written by users.
	AnnotationGoOn = "altershield.defense.antgroup.com/go-on"
	// AnnotationGoOnBy on a workload holds the name of the user who wrote AnnotationGoOn. Written by the mutating webhook.
	AnnotationGoOnBy = "altershield.defense.antgroup.com/go-on-by"
	// AnnotationReason on a workload is why a user made a release, or asked for a rollback or to go on. Written by that user, in the same
	// update. The mutating webhook moves it to what it was given for: to the record of the release, or to the reason of the request. One
	// that no release and no request came with stays until the next release, unless a user has paused the workload.
	AnnotationReason = "altershield.defense.antgroup.com/reason"
	// AnnotationGoOnReason and AnnotationRollbackReason on a workload hold the value of AnnotationGoOn or AnnotationRollback, a space, and why
	// a user wrote it. Written by the mutating webhook. They are void for other values.
	AnnotationGoOnReason     = "altershield.defense.antgroup.com/go-on-reason"
	AnnotationRollbackReason = "altershield.defense.antgroup.com/rollback-reason"
	// AnnotationPauseReason on a workload is why a user paused its rollout, or resumed it. Written by that user with the pause.
	// The mutating webhook removes it with the next release, unless a user has paused the workload.
	AnnotationPauseReason = "altershield.defense.antgroup.com/pause-reason"
	// AnnotationCommitTime on a workload is when the commit was made that its release deploys, in RFC 3339. The lead time is measured from it.
	// Written by users, with the release.
	AnnotationCommitTime = "altershield.defense.antgroup.com/commit-time"
	// AnnotationGateOpened on a pod holds the time at which its scheduling gate was removed, in Unix seconds. Written by what
	// opens the gate, with the removal.
	AnnotationGateOpened = "altershield.defense.antgroup.com/gate-opened"
	// PodGate is the name of the scheduling gate, and the condition type of the readiness gate, of pods of a paced release.
	PodGate = "altershield.defense.antgroup.com/verified"
	// HeldOverridden means that a user resumed the rollout. It is not held again.
	HeldOverridden = "-overridden"
	// HeldFirstNodes follows the number of a release whose rollout waits for the pods on its first nodes. Written by the mutating
	// webhook with the release.
	HeldFirstNodes = "-first-nodes"

	// AnnotationFirstNodes on a DaemonSet is a label selector of the nodes that get each release first: the rollout goes on to the others
	// once the pods there have passed. Written by users.
	AnnotationFirstNodes = "altershield.defense.antgroup.com/first-nodes"
)

// OwnedLabels returns the labels of a workload that only the operator writes.
func OwnedLabels() []string { return []string{LabelVersion, LabelDefenseStatus, LabelSuspend} }

// OwnedAnnotations returns the annotations of a workload that only the operator writes.
func OwnedAnnotations() []string {
	return []string{
		AnnotationBreakGlass, AnnotationFrozen, AnnotationGoOnBy, AnnotationPaced, AnnotationRelease, AnnotationIgnoredSuspendBy,
		AnnotationIgnoredSuspendRemoved, AnnotationHeld, AnnotationHeldFrom, AnnotationHoldWith,
		AnnotationParked, AnnotationRefused, AnnotationReleasedBy, AnnotationRollbackBy, AnnotationRollbacks,
	}
}

// FinalizerOrder on a ChangeWorkload keeps it until its order is closed at AlterShield Server, for a minute at most. Set when
// the ChangeWorkload is created, removed by the ChangeWorkload reconciler.
const FinalizerOrder = "altershield.defense.antgroup.com/change-order"

// FinalizerKind on a ControlledKind of a declared kind keeps it until the operator holds no rollout of the kind any more. Set while the
// mode is Enforce, and removed after that, by the ControlledKind reconciler.
const FinalizerKind = "altershield.defense.antgroup.com/kind"

// SystemNamespace is the default namespace of the operator and of its OpsConfigInfo objects.
const SystemNamespace = "altershieldoperator-system"
