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

// Condition types.
const (
	// ConditionVerified on a ChangeWorkload or ChangePod: True when every pod passed, False when one failed, Unknown
	// while that is open.
	ConditionVerified = "Verified"
	// ConditionSuspended on a ChangeWorkload: True while its failed pods keep further releases of the Deployment out.
	ConditionSuspended = "Suspended"
	// ConditionOrdered on a ChangeWorkload: True once AlterShield Server has the change order of the release, False when it
	// refused it, Unknown while it can't be reached.
	ConditionOrdered = "Ordered"
	// ConditionRolledBack on a ChangeWorkload: True when the Deployment went back from this release. Its reasons are those of
	// RollbackReason.
	ConditionRolledBack = "RolledBack"
	// ConditionEffective on an OpsConfigInfo: True when the operator acts by it as it stands.
	ConditionEffective = "Effective"
)

// Reasons of ConditionVerified on a ChangeWorkload.
const (
	// ReasonVerifying: pods are awaited or checked.
	ReasonVerifying = "Verifying"
	// ReasonThresholdTimeout: too few pods finished within waitTimeThreshold.
	ReasonThresholdTimeout = "ThresholdTimeout"
	// ReasonDeploymentPaused: the Deployment is paused, so no pod of this release comes up.
	ReasonDeploymentPaused = "DeploymentPaused"
	// ReasonSuperseded: the Deployment has moved on to another release before this one was verified.
	ReasonSuperseded = "Superseded"
	// ReasonTemplateUnseen: the template was changed while no webhook looked; its pods are not checked.
	ReasonTemplateUnseen = "TemplateUnseen"
	// ReasonNamespaceOptedOut: the namespace left change control, so nothing is checked until it returns.
	ReasonNamespaceOptedOut = "NamespaceOptedOut"
	// ReasonNoReplicas: the Deployment wants no pods; the release is checked once it is scaled up.
	ReasonNoReplicas = "NoReplicas"
	// ReasonAllPodsPassed: every desired pod finished and passed.
	ReasonAllPodsPassed = "AllPodsPassed"
	// ReasonPodsFailed: a pod of the release or batch has the verdict unpass. Also a reason of ConditionSuspended.
	ReasonPodsFailed = "PodsFailed"
)

// Reasons of ConditionSuspended.
const (
	// ReasonBlockingDisabled: a pod failed, but the OpsConfigInfo "blocking" is off.
	ReasonBlockingDisabled = "BlockingDisabled"
	// ReasonLifted: the suspension has ended.
	ReasonLifted = "Lifted"
)

// Reasons of ConditionVerified on a ChangePod.
const (
	// ReasonPodsPassed: the check passed every pod of the batch.
	ReasonPodsPassed = "PodsPassed"
	// ReasonCheckNotConfigured: no AlterShield Server is configured; the pods count as passed.
	ReasonCheckNotConfigured = "CheckNotConfigured"
	// ReasonCheckSwitchedOff: AlterShield Server has switched its checks off; the pods count as passed.
	ReasonCheckSwitchedOff = "CheckSwitchedOff"
	// ReasonAwaitingOrder: the batch waits for the change order of its release.
	ReasonAwaitingOrder = "AwaitingOrder"
	// ReasonServerUnavailable: AlterShield Server could not be reached, or not in time. Also a reason of ConditionOrdered.
	ReasonServerUnavailable = "ServerUnavailable"
	// ReasonUnauthorized: AlterShield Server doesn't know the platform or the token. Also a reason of ConditionOrdered.
	ReasonUnauthorized = "Unauthorized"
	// ReasonCheckRefused: AlterShield Server refused to check the batch.
	ReasonCheckRefused = "CheckRefused"
	// ReasonCheckTimeout: the verdict didn't come in time.
	ReasonCheckTimeout = "CheckTimeout"
	// ReasonReleaseEnded: the release ended before the batch was checked.
	ReasonReleaseEnded = "ReleaseEnded"
	// ReasonCheckWithdrawn: the batch was not checked, and the failure that followed from that was withdrawn by hand.
	ReasonCheckWithdrawn = "CheckWithdrawn"
	// ReasonUnknownPods: podResults fail pods that the batch doesn't hold; the batch counts as failed.
	ReasonUnknownPods = "UnknownPods"
)

// Reasons of ConditionOrdered.
const (
	// ReasonOrderOpen: AlterShield Server has the order.
	ReasonOrderOpen = "OrderOpen"
	// ReasonOrderRefused: AlterShield Server doesn't take the order. Also a reason of ConditionVerified.
	ReasonOrderRefused = "OrderRefused"
	// ReasonOrderUnfinished: the release has ended, and AlterShield Server is still to be told.
	ReasonOrderUnfinished = "OrderUnfinished"
	// ReasonOrderFinished: the release has ended, and AlterShield Server knows how.
	ReasonOrderFinished = "OrderFinished"
	// ReasonOrderUnknown: the release has ended, and AlterShield Server doesn't know the order.
	ReasonOrderUnknown = "OrderUnknown"
)

// Reasons of ConditionEffective.
const (
	// ReasonInEffect: the operator acts by this object.
	ReasonInEffect = "InEffect"
	// ReasonOtherNamespace: the operator only reads OpsConfigInfo objects of its own namespace.
	ReasonOtherNamespace = "OtherNamespace"
	// ReasonUnknownName: no setting has this name.
	ReasonUnknownName = "UnknownName"
	// ReasonUnusableSpec: type or content can't be used; the last good value stays in effect.
	ReasonUnusableSpec = "UnusableSpec"
)

// Reasons of Events.
const (
	// EventReleaseRecorded on a Deployment: a release began; the note says whose, and what changed.
	EventReleaseRecorded = "ReleaseRecorded"
	// EventReleaseNotRecorded on a Deployment: its release can't be recorded, so it is not checked; the note says why.
	EventReleaseNotRecorded = "ReleaseNotRecorded"
	// EventReleaseRolledBack on a Deployment: it went back to an earlier version; the note says why.
	EventReleaseRolledBack = "ReleaseRolledBack"
	// EventReleaseNotRolledBack on a Deployment: its release doesn't start or failed, or somebody asked for a rollback, but it
	// can't go back; the note says why.
	EventReleaseNotRolledBack = "ReleaseNotRolledBack"
	// EventStuckAfterUnusable on a Deployment: its annotation AnnotationStuckAfter can't be used; the note says why.
	EventStuckAfterUnusable = "StuckAfterUnusable"
	// EventReleaseRefused on a Deployment: a version that was rolled back came again and was refused.
	EventReleaseRefused = "ReleaseRefused"
	// EventHistoryNotKept on a Deployment: the template of a verified release could not be kept; the note says why.
	EventHistoryNotKept = "HistoryNotKept"
	// EventReleaseSucceeded on a Deployment: the release is verified.
	EventReleaseSucceeded = "ReleaseSucceeded"
	// EventReleaseSuspended on a Deployment: a pod failed and further releases are denied.
	EventReleaseSuspended = "ReleaseSuspended"
	// EventRolloutHeld on a Deployment: the rollout of a suspended release was paused, so that no further pod is replaced.
	EventRolloutHeld = "RolloutHeld"
	// EventRolloutResumed on a Deployment: the operator ended its pause.
	EventRolloutResumed = "RolloutResumed"
	// EventPodsFailed on a Deployment: a pod failed while blocking is off.
	EventPodsFailed = "PodsFailed"
	// EventSuspensionIgnored on a Deployment: a release went through a suspension; the note says whose.
	EventSuspensionIgnored = "SuspensionIgnored"
	// EventIgnoredSuspendRemoved on a Deployment: the label ignored-suspend was removed, since nothing is suspended.
	EventIgnoredSuspendRemoved = "IgnoredSuspendRemoved"
	// EventOrderRefused on a Deployment: AlterShield Server refused the change order, so the release is not checked.
	EventOrderRefused = "OrderRefused"
	// EventServerUnavailable on a Deployment: AlterShield Server didn't take the change order; it is sent again.
	EventServerUnavailable = "ServerUnavailable"
	// EventBatchNotChecked on a ChangeWorkload: a batch was not checked; the note says why and what that counts as.
	EventBatchNotChecked = "BatchNotChecked"
	// EventConfigRestored on an OpsConfigInfo: it was created with its documented default.
	EventConfigRestored = "ConfigRestored"
	// EventConfigIgnored on an OpsConfigInfo: it has no effect; the note says why.
	EventConfigIgnored = "ConfigIgnored"
)
