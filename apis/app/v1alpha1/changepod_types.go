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

// ChangePodSpec names the pods of one batch. It is complete when the object is created and never changes.
//
// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="the pods of a batch can't be changed"
type ChangePodSpec struct {
	// changeWorkloadId is the name of the ChangeWorkload that the batch belongs to.
	ChangeWorkloadID string `json:"changeWorkloadId"`
	// release is the release of the ChangeWorkload that the batch belongs to.
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:default=1
	// +optional
	Release int64 `json:"release,omitempty"`
	// createTime is when the batch was opened, in UTC, as 2006-01-02 15:04:05.
	CreateTime string `json:"createTime"`
	// createTimeUnix is createTime in Unix seconds.
	CreateTimeUnix int64 `json:"createTimeUnix"`
	// podInfos are the pods of the batch.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	PodInfos []PodSummary `json:"podInfos"`
}

// ChangePodStatus says how far the check of a batch is.
type ChangePodStatus struct {
	// status is the phase of the check; empty until it is first looked at.
	// +optional
	Status ChangePodPhase `json:"status,omitempty"`
	// message is the last phase before ExecuteDone: PreFailed, PreTimeout, PostFinish, PostFailed or PostTimeout.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Message string `json:"message,omitempty"`
	// changePodId is the id that AlterShield Server gave to the check of this batch.
	// +optional
	ChangePodID string `json:"changePodId,omitempty"`
	// podResults has the verdict of each checked pod. A verdict set here by hand counts like one of the server.
	// +kubebuilder:validation:MaxItems=500
	// +listType=atomic
	// +optional
	PodResults []PodSummary `json:"podResults,omitempty"`
	// preSubmitTime is when the check before the batch was submitted, in UTC, as 2006-01-02 15:04:05.
	// +optional
	PreSubmitTime string `json:"preSubmitTime,omitempty"`
	// preSubmitTimeUnix is preSubmitTime in Unix seconds.
	// +optional
	PreSubmitTimeUnix int64 `json:"preSubmitTimeUnix,omitempty"`
	// postSubmitTime is when the check after the batch was submitted, in UTC, as 2006-01-02 15:04:05.
	// +optional
	PostSubmitTime string `json:"postSubmitTime,omitempty"`
	// postSubmitTimeUnix is postSubmitTime in Unix seconds.
	// +optional
	PostSubmitTimeUnix int64 `json:"postSubmitTimeUnix,omitempty"`
	// preTimeoutThreshold is how long the check before the batch may take, in seconds.
	// +optional
	PreTimeoutThreshold int32 `json:"preTimeoutThreshold,omitempty"`
	// postTimeOutThreshold is how long the check after the batch may take, in seconds.
	// +optional
	PostTimeoutThreshold int32 `json:"postTimeOutThreshold,omitempty"`
	// deadline is when the present wait ends: of PreWait and PostWait for the server to take the check, of PreSubmitted and
	// PostSubmitted for its verdict. Absent once the batch is done.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// verdictTime is when the verdict of AlterShield Server that decided the batch arrived.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Format=date-time
	// +kubebuilder:validation:Pattern=`^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{6}(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$`
	// +optional
	VerdictTime *metav1.MicroTime `json:"verdictTime,omitempty"`
	// updateTime is when the status was last written by the operator, in UTC, as 2006-01-02 15:04:05.
	// +optional
	UpdateTime string `json:"updateTime,omitempty"`
	// updateTimeUnix is updateTime in Unix seconds.
	// +optional
	UpdateTimeUnix int64 `json:"updateTimeUnix,omitempty"`
	// conditions has Verified.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ChangePod is one batch of pods of a release under check.
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

	// spec names the pods of the batch.
	// +required
	Spec ChangePodSpec `json:"spec"`
	// status says how far the check is.
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
