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
	// ConditionVerified on a ChangeWorkload or ChangePod is True when every pod passed, False when one failed, and Unknown
	// before that.
	ConditionVerified = "Verified"
	// ConditionSuspended on a ChangeWorkload is True while its failed pods block further releases of the workload.
	ConditionSuspended = "Suspended"
	// ConditionOrdered on a ChangeWorkload is True once AlterShield Server has the change order of the release, False if it
	// refused the order, and Unknown while the server is unreachable.
	ConditionOrdered = "Ordered"
	// ConditionRolledBack on a ChangeWorkload is True if the workload went back from this release. Its reasons are the values
	// of RollbackReason.
	ConditionRolledBack = "RolledBack"
	// ConditionParked of a ChangeWorkload is true while its release is parked. The reason is that of the park, a RollbackReason.
	ConditionParked = "Parked"
	// ConditionFirstNodes on a ChangeWorkload is Unknown while its release waits for the pods on its first nodes, True once they passed, and
	// False if the release doesn't wait for them any more. Other releases have no such condition.
	ConditionFirstNodes = "FirstNodes"
	// ConditionTried of a ChangeWorkload is true once the trial of its release was started, and false where it can't be.
	ConditionTried = "Tried"
	// ConditionEffective on an OpsConfigInfo is True if its spec is in effect.
	ConditionEffective = "Effective"
)

// Reasons of ConditionVerified on a ChangeWorkload.
const (
	// ReasonVerifying means that pods are awaited or checked.
	ReasonVerifying = "Verifying"
	// ReasonThresholdTimeout means that too few pods finished within waitTimeThreshold.
	ReasonThresholdTimeout = "ThresholdTimeout"
	// ReasonSuperseded means that another release began before this one was verified.
	ReasonSuperseded = "Superseded"
	// ReasonParked means that the release is parked.
	ReasonParked = "Parked"
	// ReasonFrozen means that the release waits for the end of a ChangeFreeze: see ConditionFrozen.
	ReasonFrozen = "Frozen"
	// ReasonFirstNodes means that the release waits for the pods on its first nodes.
	ReasonFirstNodes = "FirstNodes"
	// ReasonPaced means that the release is rolled out in steps: see ConditionPaced.
	ReasonPaced = "Paced"
	// ReasonTemplateUnseen means that the template changed without passing the webhooks. Its pods are not checked.
	ReasonTemplateUnseen = "TemplateUnseen"
	// ReasonTemplateUnstamped means that the workload went back to a template from before change control. Its pods are not checked.
	ReasonTemplateUnstamped = "TemplateUnstamped"
	// ReasonNamespaceOptedOut means that the namespace left change control. Nothing is checked until it returns.
	ReasonNamespaceOptedOut = "NamespaceOptedOut"
	// ReasonKindNotEnforced means that the mode of the kind is not Enforce. Nothing is checked until it is. Also a reason of
	// ConditionAdmitted.
	ReasonKindNotEnforced = "KindNotEnforced"
	// ReasonKindNotObserved means that the mode of the kind is no longer Observe, so that the observed release is not checked any further.
	ReasonKindNotObserved = "KindNotObserved"
	// ReasonBaseline means that the rollout was already complete when the workload was first observed, so that the release is not checked.
	ReasonBaseline = "Baseline"
	// ReasonNoReplicas means that the workload is scaled to zero. The release is checked once it is scaled up.
	ReasonNoReplicas = "NoReplicas"
	// ReasonAllPodsPassed means that every desired pod finished and passed.
	ReasonAllPodsPassed = "AllPodsPassed"
	// ReasonAwaitingRun means that no Job of the release has begun yet: it takes effect at the next run.
	ReasonAwaitingRun = "AwaitingRun"
	// ReasonRunBlocked means that a Job of an earlier release keeps the next run from beginning: the concurrency policy is Forbid.
	ReasonRunBlocked = "RunBlocked"
	// ReasonRunStuck means that pods of the Job of the release don't start, for the time after which a release is stuck.
	ReasonRunStuck = "RunStuck"
	// ReasonRunning means that the Job of the release runs. Its pods are checked once they have succeeded.
	ReasonRunning = "Running"
	// ReasonRunFailed means that the Job of the release failed, so that there is nothing to check.
	ReasonRunFailed = "RunFailed"
	// ReasonRefused means that the Job was suspended at its creation, since its pod template failed its check before.
	ReasonRefused = "Refused"
	// ReasonPodsFailed means that a pod of the release or batch has the verdict unpass. Also a reason of ConditionSuspended.
	ReasonPodsFailed = "PodsFailed"
	// ReasonWorkloadFailed means that the workload shows that the release failed, by the health expressions of its ControlledKind. Also a
	// reason of ConditionSuspended.
	ReasonWorkloadFailed = "WorkloadFailed"
)

// Reasons of ConditionSuspended.
const (
	// ReasonBlockingDisabled means that a pod failed while the setting "blocking" is off.
	ReasonBlockingDisabled = "BlockingDisabled"
	// ReasonObserving means that a pod failed while the mode of the kind is Observe. Also the reason of the condition Ready of a
	// ControlledKind that is observed.
	ReasonObserving = "Observing"
	// ReasonWorkloadNotWritten means that a pod failed, and the API server denied the write that suspends the workload.
	ReasonWorkloadNotWritten = EventWorkloadNotWritten
	// ReasonLifted means that the suspension has ended.
	ReasonLifted = "Lifted"
)

// Reasons of ConditionParked that is false, besides ReasonSuperseded.
const (
	// ReasonResumed means that the rollout of a parked release goes on.
	ReasonResumed = "Resumed"
)

// Reasons of ConditionFirstNodes that is false, besides ReasonSuperseded, ReasonResumed, ReasonPodsFailed and ReasonNotControlled.
const (
	// ReasonNoFirstNodes means that the first nodes can't be read, or that none has a pod of the workload.
	ReasonNoFirstNodes = "NoFirstNodes"
	// ReasonWithdrawn means that the annotation was removed.
	ReasonWithdrawn = "Withdrawn"
	// ReasonDeadlineExceeded means that no further pod on the first nodes passed in time.
	ReasonDeadlineExceeded = "DeadlineExceeded"
	// ReasonNotControlled means that the workload left change control.
	ReasonNotControlled = "NotControlled"
)

// Reasons of ConditionTried.
const (
	// ReasonTrialStarted means that a Job of the release was created.
	ReasonTrialStarted = "TrialStarted"
	// ReasonTrialDenied means that the API server denied its creation. The release is checked at the next run.
	ReasonTrialDenied = "TrialDenied"
)

// Reasons of ConditionVerified on a ChangePod.
const (
	// ReasonPodsPassed means that the check passed every pod of the batch.
	ReasonPodsPassed = "PodsPassed"
	// ReasonCheckNotConfigured means that no AlterShield Server is configured. The pods count as passed.
	ReasonCheckNotConfigured = "CheckNotConfigured"
	// ReasonCheckSwitchedOff means that checks are switched off at AlterShield Server. The pods count as passed.
	ReasonCheckSwitchedOff = "CheckSwitchedOff"
	// ReasonBaking means that VerificationPolicies check the pods for a while before the batch passes.
	ReasonBaking = "Baking"
	// ReasonAwaitingCheck means that the batch waits for a check of a VerificationPolicy that can't tell yet. On a ChangeWorkload, also as a reason
	// of ConditionPaced: a check before the first pod, or after the last one, has yet to pass.
	ReasonAwaitingCheck = "AwaitingCheck"
	// ReasonAwaitingOrder means that the batch waits for the change order of its release. On a ChangeWorkload, also as a reason of ConditionPaced:
	// the change order has yet to pass its check.
	ReasonAwaitingOrder = "AwaitingOrder"
	// ReasonServerUnavailable means that AlterShield Server was not reached in time. Also a reason of ConditionOrdered.
	ReasonServerUnavailable = "ServerUnavailable"
	// ReasonUnauthorized means that AlterShield Server doesn't accept the platform or the token. Also a reason of ConditionOrdered.
	ReasonUnauthorized = "Unauthorized"
	// ReasonCheckRefused means that AlterShield Server refused to check the batch.
	ReasonCheckRefused = "CheckRefused"
	// ReasonCheckTimeout means that the verdict didn't arrive in time.
	ReasonCheckTimeout = "CheckTimeout"
	// ReasonReleaseEnded means that the release ended before the batch was checked.
	ReasonReleaseEnded = "ReleaseEnded"
	// ReasonCheckWithdrawn means that the batch was not checked, and a user withdrew the failure that followed from that.
	ReasonCheckWithdrawn = "CheckWithdrawn"
	// ReasonUnknownPods means that podResults fails pods that are not in the batch. The batch counts as failed.
	ReasonUnknownPods = "UnknownPods"
)

// Reasons of ConditionOrdered.
const (
	// ReasonOrderOpen means that AlterShield Server has the order.
	ReasonOrderOpen = "OrderOpen"
	// ReasonOrderRefused means that AlterShield Server refused the order. Also a reason of ConditionVerified.
	ReasonOrderRefused = "OrderRefused"
	// ReasonOrderUnfinished means that the release has ended, and its order is not closed yet.
	ReasonOrderUnfinished = "OrderUnfinished"
	// ReasonOrderFinished means that the release has ended, and its order is closed.
	ReasonOrderFinished = "OrderFinished"
	// ReasonOrderUnknown means that the release has ended, and AlterShield Server doesn't know the order.
	ReasonOrderUnknown = "OrderUnknown"
)

// Reasons of ConditionEffective.
const (
	// ReasonInEffect means that the spec is in effect.
	ReasonInEffect = "InEffect"
	// ReasonOtherNamespace means that the object is in another namespace than the operator, which ignores it.
	ReasonOtherNamespace = "OtherNamespace"
	// ReasonUnknownName means that no setting has this name.
	ReasonUnknownName = "UnknownName"
	// ReasonUnusableSpec means that type or content is unusable. The last usable value stays in effect.
	ReasonUnusableSpec = "UnusableSpec"
)

// Reasons of Events.
const (
	// EventReleaseRecorded on a workload reports the start of a release, with its author and changes.
	EventReleaseRecorded = "ReleaseRecorded"
	// EventReleaseNotRecorded on a workload reports that its release can't be recorded, so it is not checked.
	EventReleaseNotRecorded = "ReleaseNotRecorded"
	// EventReleaseRolledBack on a workload reports a rollback and its reason.
	EventReleaseRolledBack = "ReleaseRolledBack"
	// EventReleaseNotRolledBack on a workload reports an obstacle to a rollback, automatic or requested.
	EventReleaseNotRolledBack = "ReleaseNotRolledBack"
	// EventReleaseParked on a workload reports that its release is parked.
	EventReleaseParked = "ReleaseParked"
	// EventReleaseNotParked on a workload reports that its release could not be parked.
	EventReleaseNotParked = "ReleaseNotParked"
	// EventPodDeleted on a workload reports that the operator deleted one of its pods, which its controller replaces.
	EventPodDeleted = "PodDeleted"
	// EventPodNotDeleted on a workload reports that the operator could not delete one of its pods.
	EventPodNotDeleted = "PodNotDeleted"
	// EventStuckAfterUnusable on a workload reports an unusable value of AnnotationStuckAfter.
	EventStuckAfterUnusable = "StuckAfterUnusable"
	// EventReleaseRefused on a workload reports the denial of a quarantined version.
	EventReleaseRefused = "ReleaseRefused"
	// EventHistoryNotKept on a workload reports that the template of a verified release could not be kept.
	EventHistoryNotKept = "HistoryNotKept"
	// EventRecordNotWritten on a workload reports that the ChangeRecord of a release could not be written.
	EventRecordNotWritten = "RecordNotWritten"
	// EventWorkloadNotWritten on a workload reports that the API server denied what the operator writes to it to suspend, hold or go on with a
	// release.
	EventWorkloadNotWritten = "WorkloadNotWritten"
	// EventReleaseSucceeded on a workload reports that the release is verified.
	EventReleaseSucceeded = "ReleaseSucceeded"
	// EventReleaseSuspended on a workload reports that a pod failed and further releases are denied.
	EventReleaseSuspended = "ReleaseSuspended"
	// EventRolloutHeld on a workload reports that the rollout of a suspended release was paused: no further pod is replaced.
	EventRolloutHeld = "RolloutHeld"
	// EventRolloutResumed on a workload reports that the operator ended its pause.
	EventRolloutResumed = "RolloutResumed"
	// EventFirstNodesPassed on a DaemonSet reports that the pods on the first nodes of its release passed, so the rollout goes on.
	EventFirstNodesPassed = "FirstNodesPassed"
	// EventFirstNodesSkipped on a DaemonSet reports that the rollout of its release goes on to all nodes, and the reason.
	EventFirstNodesSkipped = "FirstNodesSkipped"
	// EventReleaseFrozen on a workload reports that its release waits for the end of a ChangeFreeze.
	EventReleaseFrozen = "ReleaseFrozen"
	// EventReleaseThawed on a workload reports that its release doesn't wait for the end of a ChangeFreeze any more, and why.
	EventReleaseThawed = "ReleaseThawed"
	// EventStepBegun on a workload reports that its paced release begins a step.
	EventStepBegun = "StepBegun"
	// EventStepDeadline on a workload reports that a step of its release didn't end in time.
	EventStepDeadline = "StepDeadline"
	// EventCheckFailed on a workload reports that its release failed a check of a VerificationPolicy that only warns.
	EventCheckFailed = "CheckFailed"
	// EventCheckHolds on a workload reports that the pods of its release wait for a check of a VerificationPolicy that can't tell.
	EventCheckHolds = "CheckHolds"
	// EventHoldTimeout on a workload reports that they waited for as long as the policy lets them, and what follows.
	EventHoldTimeout = "HoldTimeout"
	// EventStepsEnded on a workload reports that its release isn't rolled out in steps any more, and why.
	EventStepsEnded = "StepsEnded"
	// EventApprovalAwaited on a workload reports that the next step of its release needs approvals.
	EventApprovalAwaited = "ApprovalAwaited"
	// EventBreakGlassUsed on a workload reports a release that passed by a BreakGlass, who made it, and what would have stopped it.
	EventBreakGlassUsed = "BreakGlassUsed"
	// EventTrialStarted on a CronJob reports the Job by which its release is tried.
	EventTrialStarted = "TrialStarted"
	// EventTrialDenied on a CronJob reports that its release can't be tried.
	EventTrialDenied = "TrialDenied"
	// EventPodsFailed on a workload reports a failed pod while blocking is off, or while its kind is observed.
	EventPodsFailed = "PodsFailed"
	// EventSuspensionIgnored on a workload reports a release that passed a suspension, and its author.
	EventSuspensionIgnored = "SuspensionIgnored"
	// EventIgnoredSuspendRemoved on a workload reports that the label ignored-suspend was removed, since nothing is suspended.
	EventIgnoredSuspendRemoved = "IgnoredSuspendRemoved"
	// EventOrderRefused on a workload reports that AlterShield Server refused the change order, so the release is not checked.
	EventOrderRefused = "OrderRefused"
	// EventServerUnavailable on a workload reports that AlterShield Server didn't accept the change order, which is sent again.
	EventServerUnavailable = "ServerUnavailable"
	// EventBatchNotChecked on a ChangeWorkload reports a batch that was not checked, the reason, and whether it counts as passed.
	EventBatchNotChecked = "BatchNotChecked"
	// EventNotificationsDropped on a ChangeSubscription reports events that its receiver didn't take.
	EventNotificationsDropped = "NotificationsDropped"
	// EventConfigRestored on an OpsConfigInfo reports that it was created with its documented default.
	EventConfigRestored = "ConfigRestored"
	// EventConfigIgnored on an OpsConfigInfo reports that it has no effect.
	EventConfigIgnored = "ConfigIgnored"
)

// ReasonPaused returns the reason of ConditionVerified on a ChangeWorkload whose workload is paused, so that no pod of this release
// starts: DeploymentPaused, StatefulSetPaused.
func ReasonPaused(kind string) string { return kind + "Paused" }
