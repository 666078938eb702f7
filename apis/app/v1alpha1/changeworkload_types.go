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

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// MaxStatusPods caps the pods in all lists of a status together, so that the object stays far below etcd's limit of
// 1.5 MB at any number of replicas. The counts stay exact.
const MaxStatusPods = 500

// ChangeWorkloadSpec identifies the release of a workload and configures its check.
//
// +kubebuilder:validation:XValidation:rule="self.changeWorkloadId == oldSelf.changeWorkloadId && self.appName == oldSelf.appName && self.serviceName == oldSelf.serviceName && self.reversion == oldSelf.reversion && (!has(oldSelf.workloadRef) || has(self.workloadRef) && self.workloadRef == oldSelf.workloadRef)",message="changeWorkloadId, appName, serviceName, reversion and workloadRef can't be changed"
type ChangeWorkloadSpec struct {
	// changeWorkloadId is the object's own name.
	// +kubebuilder:validation:MaxLength=253
	ChangeWorkloadID string `json:"changeWorkloadId"`
	// serviceName is the full name of the workload.
	// +kubebuilder:validation:MaxLength=253
	ServiceName string `json:"serviceName"`
	// appName is the full name of the workload.
	// +kubebuilder:validation:MaxLength=253
	AppName string `json:"appName"`
	// workloadRef is the workload that was released. Records from before v0.2 have none: their workload is the Deployment named
	// in appName.
	// +optional
	WorkloadRef *WorkloadReference `json:"workloadRef,omitempty"`
	// reversion is the release version: the value of the version label, 32 hex digits.
	// +kubebuilder:validation:Pattern=`^[0-9a-f]{32}$`
	Reversion string `json:"reversion"`
	// release numbers the releases of the workload, from 1. It increases when the same version is released again, which
	// repeats the check.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	// +optional
	Release int64 `json:"release,omitempty"`
	// countThreshold is the number of finished pods that form a batch.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	// +kubebuilder:default=1
	// +optional
	CountThreshold int32 `json:"countThreshold,omitempty"`
	// waitTimeThreshold is the longest wait of a batch for countThreshold pods, in seconds.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=60
	// +optional
	WaitTimeThreshold int32 `json:"waitTimeThreshold,omitempty"`
	// createTime is the time at which the release was recorded, in UTC, as 2006-01-02 15:04:05.
	CreateTime string `json:"createTime"`
	// createTimeUnix is createTime in Unix seconds.
	CreateTimeUnix int64 `json:"createTimeUnix"`
	// observed indicates that the kind of the workload was in the mode Observe when the release was recorded: nothing is written to
	// the workload, and the release has no author. Its number is at least the metadata.generation of the workload.
	// +optional
	Observed bool `json:"observed,omitempty"`
	// baseline indicates that the rollout was already complete when the workload was first observed, so that the release is not
	// checked.
	// +optional
	Baseline bool `json:"baseline,omitempty"`
	// releasedBy is the user name of the release's author. For a rollback it is the user who requested it, or the operator.
	// +optional
	ReleasedBy string `json:"releasedBy,omitempty"`
	// changes lists the changes of the pod template, one per line. Values that may be secret are not shown.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Changes []string `json:"changes,omitempty"`
	// releaseReason is why the release was made, as its author or the user who requested the rollback says.
	// +kubebuilder:validation:MaxLength=256
	// +optional
	ReleaseReason string `json:"releaseReason,omitempty"`
	// ignoredSuspend indicates that the release was admitted by the label ignored-suspend.
	// +optional
	IgnoredSuspend bool `json:"ignoredSuspend,omitempty"`
	// rollback describes the rollback that made this release; absent for other releases.
	// +optional
	Rollback *Rollback `json:"rollback,omitempty"`
	// commitTime is when the commit was made that the release deploys, from the annotation commit-time of the workload; absent without one.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	CommitTime *metav1.Time `json:"commitTime,omitempty"`
	// earlier is an earlier release of this version whose order may be open at AlterShield Server although the status doesn't
	// have it; absent if there is none.
	// +optional
	Earlier *RecordedRelease `json:"earlier,omitempty"`
}

// Workload returns the released workload. Records from before v0.2 are of Deployments, and have the UID in their owner reference alone.
func (w *ChangeWorkload) Workload() WorkloadReference {
	if reference := w.Spec.WorkloadRef; reference != nil {
		return *reference
	}
	of := WorkloadReference{APIVersion: "apps/v1", Kind: "Deployment", Name: w.Spec.AppName}
	if owner := metav1.GetControllerOfNoCopy(w); owner != nil {
		of.UID = owner.UID
	}
	return of
}

// WorkloadKind returns the kind of the released workload.
func (w *ChangeWorkload) WorkloadKind() string { return w.Workload().Kind }

// WorkloadReference identifies a workload in the namespace of the referring object.
type WorkloadReference struct {
	// apiVersion is the API group and version of the workload, such as apps/v1.
	// +kubebuilder:validation:MaxLength=253
	APIVersion string `json:"apiVersion"`
	// kind is the kind of the workload, such as Deployment.
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// name is the name of the workload.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
	// uid is the UID of the workload.
	// +kubebuilder:validation:Type=string
	UID types.UID `json:"uid"`
}

// GroupKind returns the kind of the workload and its API group.
func (r WorkloadReference) GroupKind() schema.GroupKind {
	return schema.FromAPIVersionAndKind(r.APIVersion, r.Kind).GroupKind()
}

// ChangeWorkloadStatus is the progress of the check of a release.
type ChangeWorkloadStatus struct {
	// status is the state of the release; empty before the first reconcile.
	// +optional
	Status ChangeWorkloadPhase `json:"status,omitempty"`
	// observedRelease is the spec.release that this status describes.
	// +optional
	ObservedRelease int64 `json:"observedRelease,omitempty"`
	// defensePreparingPods lists finished pods that wait for their batch.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	DefensePreparingPods []PodSummary `json:"defensePreparingPods,omitempty"`
	// defenseCheckingPods lists pods whose batch is being checked.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	DefenseCheckingPods []PodSummary `json:"defenseCheckingPods,omitempty"`
	// defenseCheckPassPods lists pods that passed.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	DefenseCheckPassPods []PodSummary `json:"defenseCheckPassPods,omitempty"`
	// defenseCheckFailPods lists pods that failed. It takes precedence when the lists together reach their cap of 500.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	DefenseCheckFailPods []PodSummary `json:"defenseCheckFailPods,omitempty"`
	// counts are the exact numbers of pods, also beyond the cap of the lists.
	// +optional
	Counts PodCounts `json:"counts,omitzero"`
	// lastChangePod is the highest number given to a ChangePod; numbers are never reused.
	// +optional
	LastChangePod int64 `json:"lastChangePod,omitempty"`
	// firstChangePod is the lowest number that the current release gives to a ChangePod. Lower numbers belong to earlier
	// releases of the version.
	// +optional
	FirstChangePod int64 `json:"firstChangePod,omitempty"`
	// waitDeadline is the time at which the waiting pods form a smaller batch; absent while no batch is awaited.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	WaitDeadline *metav1.Time `json:"waitDeadline,omitempty"`
	// entryTime is the time at which the release entered its current status, in UTC, as 2006-01-02 15:04:05.
	// +optional
	EntryTime string `json:"entryTime,omitempty"`
	// entryTimeUnix is entryTime in Unix seconds.
	// +optional
	EntryTimeUnix int64 `json:"entryTimeUnix,omitempty"`
	// updateTime is the time at which the status was last written, in UTC, as 2006-01-02 15:04:05. While the status doesn't
	// change, lists and counts are written at most every two minutes.
	// +optional
	UpdateTime string `json:"updateTime,omitempty"`
	// updateTimeUnix is updateTime in Unix seconds.
	// +optional
	UpdateTimeUnix int64 `json:"updateTimeUnix,omitempty"`
	// verifiedVersions lists earlier versions of the workload that reached Success, newest first, at most ten. A suspended
	// workload may go back to them.
	// +kubebuilder:validation:MaxItems=10
	// +listType=atomic
	// +optional
	VerifiedVersions []string `json:"verifiedVersions,omitempty"`
	// order is the change order of the release at AlterShield Server; absent if no server is configured.
	// +optional
	Order *ChangeOrder `json:"order,omitempty"`
	// earlyVerdicts are verdicts of AlterShield Server that arrived before a ChangePod had the ID of their check. They are
	// applied once it has. Written by the callback router.
	// +kubebuilder:validation:MaxItems=100
	// +listType=atomic
	// +optional
	EarlyVerdicts []EarlyVerdict `json:"earlyVerdicts,omitempty"`
	// frozen is the freeze that the release waited for; absent if there was none.
	// +optional
	Frozen *FrozenRelease `json:"frozen,omitempty"`
	// breakGlass is how the release passed by a BreakGlass; absent if it didn't.
	// +optional
	BreakGlass *BreakGlassPass `json:"breakGlass,omitempty"`
	// firstNodes is the progress on the nodes that get the release first; absent if it starts on all nodes.
	// +optional
	FirstNodes *FirstNodes `json:"firstNodes,omitempty"`
	// pace is the progress of a release that is rolled out in steps; absent for other releases.
	// +optional
	Pace *ReleasePace `json:"pace,omitempty"`
	// verification is how VerificationPolicies check the release; absent if there were none when it began.
	// +optional
	Verification *ReleaseVerification `json:"verification,omitempty"`
	// checks are the results of their checks.
	// +kubebuilder:validation:MaxItems=32
	// +listType=atomic
	// +optional
	Checks []CheckResult `json:"checks,omitempty"`
	// recorded is what the ChangeRecord of the release has; absent until the release has an outcome, and where no ChangeRecords are written.
	// +optional
	Recorded *RecordedOutcome `json:"recorded,omitempty"`
	// conditions are Verified, Suspended, Ordered, RolledBack, Parked, Tried, Frozen, FirstNodes and Paced.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// PodCounts counts the pods of a release.
type PodCounts struct {
	// desired is the number of pods that the workload wants, or of what is checked in their place.
	// +optional
	Desired int32 `json:"desired"`
	// preparing is the number of finished pods that wait for their batch.
	// +optional
	Preparing int32 `json:"preparing"`
	// checking is the number of pods whose batch is being checked.
	// +optional
	Checking int32 `json:"checking"`
	// passed is the number of pods that passed.
	// +optional
	Passed int32 `json:"passed"`
	// failed is the number of pods that failed.
	// +optional
	Failed int32 `json:"failed"`
}

// FirstNodes is the progress of a release on the nodes that get it first.
type FirstNodes struct {
	// nodes are the names of the nodes, as selected when the release began.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	Nodes []string `json:"nodes"`
	// passed is the number of these nodes whose new pod passed.
	// +optional
	Passed int32 `json:"passed"`
	// deadline is the time at which the rollout goes on to all nodes unless a further pod passes before.
	Deadline metav1.Time `json:"deadline"`
}

// FrozenRelease is the freeze that a release waits for.
type FrozenRelease struct {
	// by is the ChangeFreeze, as <namespace>/<name>.
	// +kubebuilder:validation:MaxLength=507
	By string `json:"by"`
	// until is when it ends; absent once it has.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// ChangeWorkload is one release of a workload: a version of its pod template, or of the fields that its kind declares, and the checks of it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=changeworkloads,singular=changeworkload,shortName=cw,categories=altershield
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.status`
// +kubebuilder:printcolumn:name="CREATETIME",type=string,JSONPath=`.spec.createTime`
// +kubebuilder:printcolumn:name="STEP",type=string,JSONPath=`.status.pace.progress`
// +kubebuilder:printcolumn:name="NEXT",type=string,JSONPath=`.status.pace.next`
// +kubebuilder:printcolumn:name="CHECKS",type=string,JSONPath=`.status.verification.progress`
// +kubebuilder:printcolumn:name="DEPLOYMENT",type=string,JSONPath=`.spec.appName`,priority=1
// +kubebuilder:printcolumn:name="RELEASE",type=integer,JSONPath=`.spec.release`,priority=1
// +kubebuilder:printcolumn:name="DESIRED",type=integer,JSONPath=`.status.counts.desired`,priority=1
// +kubebuilder:printcolumn:name="PASSED",type=integer,JSONPath=`.status.counts.passed`,priority=1
// +kubebuilder:printcolumn:name="FAILED",type=integer,JSONPath=`.status.counts.failed`,priority=1
// +kubebuilder:printcolumn:name="OBSERVED",type=boolean,JSONPath=`.spec.observed`,priority=1
// +kubebuilder:printcolumn:name="BY",type=string,JSONPath=`.spec.releasedBy`,priority=1
// +kubebuilder:printcolumn:name="WOULD FAIL",type=string,JSONPath=`.status.verification.wouldFail`,priority=1
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].reason`,priority=1
type ChangeWorkload struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec identifies the release and configures its check.
	// +required
	Spec ChangeWorkloadSpec `json:"spec"`
	// status is the progress of the check.
	// +optional
	Status ChangeWorkloadStatus `json:"status,omitzero"`
}

// ChangeWorkloadList is a list of ChangeWorkloads.
//
// +kubebuilder:object:root=true
type ChangeWorkloadList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangeWorkload `json:"items"`
}
