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

// ChangePodSpec lists the pods of one batch. It is immutable.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the pods of a batch can't be changed"
// +kubebuilder:validation:XValidation:rule="(size(self.podInfos) == 0) == (has(self.order) && self.order)",message="a batch has pods, and the check of an order has none"
type ChangePodSpec struct {
	// changeWorkloadId is the name of the batch's ChangeWorkload.
	ChangeWorkloadID string `json:"changeWorkloadId"`
	// release is the spec.release of the ChangeWorkload to which the batch belongs.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	// +optional
	Release int64 `json:"release,omitempty"`
	// createTime is the time at which the batch was opened, in UTC, as 2006-01-02 15:04:05.
	CreateTime string `json:"createTime"`
	// createTimeUnix is createTime in Unix seconds.
	CreateTimeUnix int64 `json:"createTimeUnix"`
	// order indicates that the check is of the whole release: its stage PRE comes before the first pod, its stage POST after the last step.
	// +optional
	Order bool `json:"order,omitempty"`
	// serverCheck indicates that checks of VerificationPolicies, of the type Server, decide what follows from the verdicts of AlterShield Server:
	// these come into status.serverResults.
	// +optional
	ServerCheck bool `json:"serverCheck,omitempty"`
	// podInfos are the pods of the batch. That of an order has none.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	PodInfos []PodSummary `json:"podInfos"`
}

// ChangePodStatus is the progress of the check of a batch.
type ChangePodStatus struct {
	// status is the phase of the check; empty before the first reconcile.
	// +optional
	Status ChangePodPhase `json:"status,omitempty"`
	// message is the last phase before ExecuteDone: PreFailed, PreTimeout, PostFinish, PostFailed or PostTimeout.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// changePodId is the ID of the check at AlterShield Server.
	// +optional
	ChangePodID string `json:"changePodId,omitempty"`
	// podResults lists the verdict of each checked pod; for an order, that of "change order". A verdict set by hand counts like one from the server.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	PodResults []PodSummary `json:"podResults,omitempty"`
	// serverResults lists the verdict of AlterShield Server on each pod, or on the "change order", where spec.serverCheck is true. A pod that failed
	// stays failed. What counts is in podResults.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	ServerResults []PodSummary `json:"serverResults,omitempty"`
	// checks are the checks of VerificationPolicies that pods of the batch failed, at most 8. Each pod fails once: a verdict in podResults
	// that a user sets to pass afterwards stands.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Checks []CheckResult `json:"checks,omitempty"`
	// preSubmitTime is the time at which the check before the batch was submitted, in UTC, as 2006-01-02 15:04:05.
	// +optional
	PreSubmitTime string `json:"preSubmitTime,omitempty"`
	// preSubmitTimeUnix is preSubmitTime in Unix seconds.
	// +optional
	PreSubmitTimeUnix int64 `json:"preSubmitTimeUnix,omitempty"`
	// postSubmitTime is the time at which the check after the batch was submitted, in UTC, as 2006-01-02 15:04:05.
	// +optional
	PostSubmitTime string `json:"postSubmitTime,omitempty"`
	// postSubmitTimeUnix is postSubmitTime in Unix seconds.
	// +optional
	PostSubmitTimeUnix int64 `json:"postSubmitTimeUnix,omitempty"`
	// preTimeoutThreshold is the timeout of the check before the batch, in seconds.
	// +optional
	PreTimeoutThreshold int32 `json:"preTimeoutThreshold,omitempty"`
	// postTimeOutThreshold is the timeout of the check after the batch, in seconds.
	// +optional
	PostTimeoutThreshold int32 `json:"postTimeOutThreshold,omitempty"`
	// deadline is the end of the current wait: in PreWait and PostWait for the server to accept the check, in PreSubmitted and
	// PostSubmitted for its verdict. Absent once the batch is done.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// verdictTime is the time at which the deciding verdict of AlterShield Server arrived, or a check of a VerificationPolicy failed.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	VerdictTime *metav1.MicroTime `json:"verdictTime,omitempty"`
	// updateTime is the time at which the operator last wrote the status, in UTC, as 2006-01-02 15:04:05.
	// +optional
	UpdateTime string `json:"updateTime,omitempty"`
	// updateTimeUnix is updateTime in Unix seconds.
	// +optional
	UpdateTimeUnix int64 `json:"updateTimeUnix,omitempty"`
	// conditions contains Verified.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ChangePod is one batch of pods of a release under check, or a release as a whole.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=changepods,singular=changepod,shortName=cpod,categories=altershield
// +kubebuilder:printcolumn:name="STATUS",type=string,JSONPath=`.status.status`
// +kubebuilder:printcolumn:name="MESSAGE",type=string,JSONPath=`.status.message`
// +kubebuilder:printcolumn:name="CREATETIME",type=string,JSONPath=`.spec.createTime`
// +kubebuilder:printcolumn:name="VERIFIED",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].status`,priority=1
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Verified")].reason`,priority=1
type ChangePod struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec lists the pods of the batch.
	// +required
	Spec ChangePodSpec `json:"spec"`
	// status is the progress of the check.
	// +optional
	Status ChangePodStatus `json:"status,omitzero"`
}

// ChangePodList is a list of ChangePods.
//
// +kubebuilder:object:root=true
type ChangePodList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangePod `json:"items"`
}
