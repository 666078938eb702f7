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

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// The limits of a ChangeRecord keep it below 16 kB; most have 1 to 2 kB. Those of the texts are in the CRD as well.
const (
	// MaxRecordedPods is the most failed pods that a ChangeRecord names.
	MaxRecordedPods = 5
	// MaxRecordedImages is the most images that it lists.
	MaxRecordedImages = 10
	// MaxRecordedApprovals is the most approvals that it lists.
	MaxRecordedApprovals = 10
	// MaxRecordedText is the most bytes of a text in it.
	MaxRecordedText = 256
	// MaxCorrections is the most ChangeRecords that correct the first one of a release.
	MaxCorrections = 9
)

// ReleaseOutcome is how a release ended.
//
// +kubebuilder:validation:Enum=Verified;Failed;RolledBack;Superseded;Unchecked
type ReleaseOutcome string

const (
	// OutcomeVerified means that every desired pod finished and passed.
	OutcomeVerified ReleaseOutcome = "Verified"
	// OutcomeFailed means that a pod failed its check, or the workload itself showed that the release failed. The record of the release that
	// went back from it names it.
	OutcomeFailed ReleaseOutcome = "Failed"
	// OutcomeRolledBack means that the workload went back from the release before a pod failed its check.
	OutcomeRolledBack ReleaseOutcome = "RolledBack"
	// OutcomeSuperseded means that another release took its place before it was verified.
	OutcomeSuperseded ReleaseOutcome = "Superseded"
	// OutcomeUnchecked means that the release wasn't checked.
	OutcomeUnchecked ReleaseOutcome = "Unchecked"
)

// ReleaseType is why a release was made.
//
// +kubebuilder:validation:Enum=Release;Repair;Rollback
type ReleaseType string

const (
	// TypeRelease is a release of its own.
	TypeRelease ReleaseType = "Release"
	// TypeRepair is a release of a workload that fails, as the one before failed or was rolled back, or one that passed a suspension.
	TypeRepair ReleaseType = "Repair"
	// TypeRollback is a release made by a rollback.
	TypeRollback ReleaseType = "Rollback"
)

// ChangeRecordSpec is what happened in a release. It can't be changed. No field may ever get a default: that would change the hash of older
// records.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="a ChangeRecord can't be changed: what a later verdict corrects is in a further record of the release"
type ChangeRecordSpec struct {
	// workload is the workload that was released, in the namespace of the ChangeRecord.
	Workload WorkloadReference `json:"workload"`
	// release is the number of the release.
	// +kubebuilder:validation:Minimum=1
	Release int64 `json:"release"`
	// correction numbers the further records of the release, from 1; absent for the first one. The newest record of a release counts.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=9
	// +optional
	Correction int32 `json:"correction,omitempty"`
	// version is the version of the release, 32 hex digits.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	Version string `json:"version"`
	// fromVersion is the version that the workload was at before; absent if no record tells.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	// +optional
	FromVersion string `json:"fromVersion,omitempty"`
	// type is Release, Repair or Rollback.
	Type ReleaseType `json:"type"`
	// observed indicates that the kind of the workload was in the mode Observe: nothing was written to the workload.
	// +optional
	Observed bool `json:"observed,omitempty"`
	// releasedBy is the user name of the author. For a rollback it is the user who requested it, or the operator.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ReleasedBy string `json:"releasedBy,omitempty"`
	// releaseReason is why the release was made, as its author or the user who requested the rollback said.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ReleaseReason string `json:"releaseReason,omitempty"`
	// startedAt is when the release was recorded.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	StartedAt metav1.Time `json:"startedAt"`
	// endedAt is when the outcome was known.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	EndedAt metav1.Time `json:"endedAt"`
	// commitTime is when the commit was made that the release deployed, from the annotation commit-time of the workload; absent without one.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	CommitTime *metav1.Time `json:"commitTime,omitempty"`
	// failingSince is when the workload began to fail, if it still did when the release ended: the first bad verdict, or the rollback of a
	// release without one. It is kept until a release is verified, or isn't checked.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	FailingSince *metav1.Time `json:"failingSince,omitempty"`
	// outcome is Verified, Failed, RolledBack, Superseded or Unchecked.
	Outcome ReleaseOutcome `json:"outcome"`
	// reason is the reason of the outcome, in CamelCase.
	// +kubebuilder:validation:MaxLength=64
	// +optional
	Reason string `json:"reason,omitempty"`
	// message explains the outcome.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
	// changes lists the changes of the pod template, one per line. Values that may be secret are not shown.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Changes []string `json:"changes,omitempty"`
	// images are the images of a pod of the release; absent if it had none.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Images []RecordedImage `json:"images,omitempty"`
	// pods are the numbers of pods.
	Pods RecordedPods `json:"pods"`
	// failedPods are the first pods that failed.
	// +kubebuilder:validation:MaxItems=5
	// +listType=atomic
	// +optional
	FailedPods []RecordedPod `json:"failedPods,omitempty"`
	// batches is the number of ChangePods of the release: the batches in which its pods were checked, and the check of its order.
	// +optional
	Batches int64 `json:"batches,omitempty"`
	// longestBatchSeconds is how long the longest check of a batch took.
	// +optional
	LongestBatchSeconds int64 `json:"longestBatchSeconds,omitempty"`
	// approvals are the decisions of approvers, in the order of their times.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	Approvals []RecordedApproval `json:"approvals,omitempty"`
	// breakGlass is how the release passed by a BreakGlass; absent if it didn't.
	// +optional
	BreakGlass *RecordedBypass `json:"breakGlass,omitempty"`
	// ignoredSuspend indicates that the release passed a suspension by the label ignored-suspend.
	// +optional
	IgnoredSuspend bool `json:"ignoredSuspend,omitempty"`
	// passes are the last 20 steps that users let the release pass, oldest first.
	// +kubebuilder:validation:MaxItems=20
	// +listType=atomic
	// +optional
	Passes []PacePass `json:"passes,omitempty"`
	// rollback is the rollback that made the release; absent for other releases.
	// +optional
	Rollback *Rollback `json:"rollback,omitempty"`
	// orderId identifies the change order of the release at AlterShield Server; absent if it had none.
	// +kubebuilder:validation:MaxLength=128
	// +optional
	OrderID string `json:"orderId,omitempty"`
	// traceId is the ID of the trace of the release, 32 hex digits.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	TraceID string `json:"traceId"`
	// previous is the record before this one; absent for the first record of a workload.
	// +optional
	Previous *PreviousRecord `json:"previous,omitempty"`
}

// RecordedImage is the image of a container.
type RecordedImage struct {
	// container is the name of the container.
	// +kubebuilder:validation:MaxLength=63
	Container string `json:"container"`
	// image is the image as the pod names it.
	// +kubebuilder:validation:MaxLength=256
	Image string `json:"image"`
	// digest is the digest of the image that ran, such as sha256:9f86d0...; absent if the pod doesn't tell.
	// +kubebuilder:validation:MaxLength=136
	// +optional
	Digest string `json:"digest,omitempty"`
}

// RecordedPods are the numbers of pods of a release.
type RecordedPods struct {
	// desired is the number of replicas of the workload.
	Desired int32 `json:"desired"`
	// passed is the number of pods that passed.
	Passed int32 `json:"passed"`
	// failed is the number of pods that failed.
	Failed int32 `json:"failed"`
	// unchecked is the number of pods that passed without a check.
	// +optional
	Unchecked int32 `json:"unchecked,omitempty"`
}

// RecordedPod is a pod that failed.
type RecordedPod struct {
	// name is the name of the pod.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// message is the reason of the verdict.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Message string `json:"message,omitempty"`
}

// RecordedApproval is the decision of an approver.
type RecordedApproval struct {
	// user is the approver.
	// +kubebuilder:validation:MaxLength=256
	User string `json:"user"`
	// decision is Approve or Deny.
	Decision ApprovalDecision `json:"decision"`
	// reason is the reason that the approver gave.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	Reason string `json:"reason,omitempty"`
	// time is when the decision was made.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	Time metav1.Time `json:"time"`
}

// RecordedBypass is how a release passed by a BreakGlass. The BreakGlass has what would have stopped it.
type RecordedBypass struct {
	// name is the name of the BreakGlass.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// user is the user who made the release, or let it go on.
	// +kubebuilder:validation:MaxLength=253
	User string `json:"user"`
	// overrides are what the release passed.
	// +kubebuilder:validation:MaxItems=4
	// +listType=atomic
	// +optional
	Overrides []BreakGlassOverride `json:"overrides,omitempty"`
}

// PreviousRecord identifies the record before another one.
type PreviousRecord struct {
	// name is the name of the ChangeRecord.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// sha256 is the hash of its namespace, name and spec, as hex digits.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{64}$`
	SHA256 string `json:"sha256"`
}

// ChangeRecord is the record of one release that stays: what was released, by whom, and how it ended. The operator writes it once, when the
// outcome of the release is known. Each record has the hash of the one before, so that one that was edited or removed shows. It has no owner:
// it outlives the workload, and is removed by age and number alone.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=changerecords,singular=changerecord,shortName=cr,categories=altershield
// +kubebuilder:printcolumn:name="WORKLOAD",type=string,JSONPath=`.spec.workload.name`
// +kubebuilder:printcolumn:name="RELEASE",type=integer,JSONPath=`.spec.release`
// +kubebuilder:printcolumn:name="OUTCOME",type=string,JSONPath=`.spec.outcome`
// +kubebuilder:printcolumn:name="TYPE",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="BY",type=string,JSONPath=`.spec.releasedBy`
// +kubebuilder:printcolumn:name="PODS",type=integer,JSONPath=`.spec.pods.desired`
// +kubebuilder:printcolumn:name="FAILED",type=integer,JSONPath=`.spec.pods.failed`
// +kubebuilder:printcolumn:name="ENDED",type=date,JSONPath=`.spec.endedAt`
// +kubebuilder:printcolumn:name="KIND",type=string,priority=1,JSONPath=`.spec.workload.kind`
// +kubebuilder:printcolumn:name="VERSION",type=string,priority=1,JSONPath=`.spec.version`
// +kubebuilder:printcolumn:name="CORRECTION",type=integer,priority=1,JSONPath=`.spec.correction`
// +kubebuilder:printcolumn:name="MESSAGE",type=string,priority=1,JSONPath=`.spec.message`
type ChangeRecord struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what happened in the release.
	// +required
	Spec ChangeRecordSpec `json:"spec"`
}

// ChangeRecordList is a list of ChangeRecords.
//
// +kubebuilder:object:root=true
type ChangeRecordList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangeRecord `json:"items"`
}

// RecordedOutcome is what the ChangeRecord of a release has.
type RecordedOutcome struct {
	// outcome is the outcome in the newest record of the release.
	Outcome ReleaseOutcome `json:"outcome"`
	// corrections is the number of records that correct the first one.
	// +optional
	Corrections int32 `json:"corrections,omitempty"`
	// owed is why the record could not be written yet; absent once it is. The operator tries again every minute.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Owed string `json:"owed,omitempty"`
}
