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

// The settings of the operator: the name of the OpsConfigInfo in the operator's namespace, and its type.
const (
	// ConfigBlocking decides whether a failed pod suspends its workload.
	ConfigBlocking = "blocking"
	// TypeBlocking is the type of ConfigBlocking.
	TypeBlocking = "isBlockingUp"
	// ConfigBranch decides whether finished pods are checked in batches, and of what size.
	ConfigBranch = "branch"
	// TypeBranch is the type of ConfigBranch.
	TypeBranch = "isBranch"
	// ConfigStuckRollback decides whether a release whose pods don't run is rolled back, and after how long.
	ConfigStuckRollback = "stuck-rollback"
	// TypeStuckRollback is the type of ConfigStuckRollback.
	TypeStuckRollback = "isStuckRollback"
	// ConfigSuspendedRollback decides whether a suspended release is rolled back automatically.
	ConfigSuspendedRollback = "suspended-rollback"
	// TypeSuspendedRollback is the type of ConfigSuspendedRollback.
	TypeSuspendedRollback = "isSuspendedRollback"
	// ConfigPark decides whether a suspended release is parked automatically.
	ConfigPark = "park"
	// TypePark is the type of ConfigPark.
	TypePark = "isPark"
	// ConfigUnstick decides whether a pod is deleted that keeps its workload from going on to another version.
	ConfigUnstick = "unstick"
	// TypeUnstick is the type of ConfigUnstick.
	TypeUnstick = "isUnstick"
	// ConfigRefusal decides whether a version that was rolled back is quarantined, and for how long.
	ConfigRefusal = "refusal"
	// TypeRefusal is the type of ConfigRefusal.
	TypeRefusal = "isRefusal"
	// ConfigTemplateHistory decides whether the pod templates of verified versions are kept, and how many.
	ConfigTemplateHistory = "template-history"
	// TypeTemplateHistory is the type of ConfigTemplateHistory.
	TypeTemplateHistory = "isTemplateHistory"
	// ConfigReleaseHistory decides whether the ChangeWorkloads of past releases are kept, and how many.
	ConfigReleaseHistory = "release-history"
	// TypeReleaseHistory is the type of ConfigReleaseHistory.
	TypeReleaseHistory = "isReleaseHistory"
	// ConfigChangeRecords decides whether ChangeRecords are written, and how many are kept of each workload.
	ConfigChangeRecords = "change-records"
	// TypeChangeRecords is the type of ConfigChangeRecords.
	TypeChangeRecords = "isChangeRecords"
	// ConfigRecordDays decides for how many days ChangeRecords are kept.
	ConfigRecordDays = "record-days"
	// TypeRecordDays is the type of ConfigRecordDays.
	TypeRecordDays = "isRecordDays"
	// ConfigFinishedLabel decides whether finished pods are labelled. Otherwise their condition Ready decides alone.
	ConfigFinishedLabel = "finished-label"
	// TypeFinishedLabel is the type of ConfigFinishedLabel.
	TypeFinishedLabel = "isFinishedLabel"
)

// OpsConfigInfoSpec is one setting.
//
// +kubebuilder:validation:XValidation:rule="!(self.type == 'isBranch' && self.enable) || (has(self.content) && self.content.matches('^([1-9]|[1-9][0-9]|[1-4][0-9][0-9]|500)$'))",message="content must be a whole number from 1 to 500 while isBranch is enabled: the number of pods in a batch"
// +kubebuilder:validation:XValidation:rule="!(self.type in ['isStuckRollback', 'isRefusal'] && self.enable) || (has(self.content) && self.content.matches('^[1-9][0-9]{0,4}[smh]$'))",message="content must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h while isStuckRollback or isRefusal is enabled"
// +kubebuilder:validation:XValidation:rule="!(self.type in ['isTemplateHistory', 'isReleaseHistory'] && self.enable) || (has(self.content) && self.content.matches('^([1-9]|[1-9][0-9]|100)$'))",message="content must be a whole number from 1 to 100 while isTemplateHistory or isReleaseHistory is enabled: how many are kept of each workload"
// +kubebuilder:validation:XValidation:rule="!(self.type == 'isChangeRecords' && self.enable) || (has(self.content) && self.content.matches('^([1-9][0-9]{0,2}|1000)$'))",message="content must be a whole number from 1 to 1000 while isChangeRecords is enabled: how many ChangeRecords are kept of each workload"
// +kubebuilder:validation:XValidation:rule="!(self.type == 'isRecordDays' && self.enable) || (has(self.content) && self.content.matches('^([1-9]|[1-9][0-9]|[1-3][0-9][0-9]|400)$'))",message="content must be a whole number from 1 to 400 while isRecordDays is enabled: for how many days ChangeRecords are kept"
type OpsConfigInfoSpec struct {
	// type identifies the setting: isBlockingUp, isBranch, isStuckRollback, isSuspendedRollback, isPark, isUnstick,
	// isRefusal, isTemplateHistory, isReleaseHistory, isChangeRecords, isRecordDays or isFinishedLabel.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Type string `json:"type"`
	// enable switches the setting on.
	// +kubebuilder:default=false
	// +optional
	Enable bool `json:"enable"`
	// content is the value of the setting, if it has one: the number of pods in a batch for isBranch, a duration such as 2m
	// for isStuckRollback and isRefusal, the number kept of each workload for isTemplateHistory, isReleaseHistory and isChangeRecords, a number
	// of days for isRecordDays.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Content string `json:"content,omitempty"`
	// remark is a free-form note.
	// +kubebuilder:validation:MaxLength=1024
	// +optional
	Remark string `json:"remark,omitempty"`
}

// ConfigValue is the value of a setting.
type ConfigValue struct {
	// enable indicates whether the setting is on.
	// +optional
	Enable bool `json:"enable"`
	// content is the value of the setting, if it has one.
	// +optional
	Content string `json:"content,omitempty"`
}

// OpsConfigInfoStatus reports whether a setting is in effect.
type OpsConfigInfoStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// effective is the last usable value. It stays in effect while the spec is unusable.
	// +optional
	Effective *ConfigValue `json:"effective,omitempty"`
	// conditions contains Effective.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// OpsConfigInfo is one setting of the operator. A change takes effect without a restart.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=opsconfiginfoes,singular=opsconfiginfo,shortName=opscfg,categories=altershield
// +kubebuilder:printcolumn:name="TYPE",type=string,JSONPath=`.spec.type`,priority=1
// +kubebuilder:printcolumn:name="ENABLE",type=boolean,JSONPath=`.spec.enable`,priority=1
// +kubebuilder:printcolumn:name="CONTENT",type=string,JSONPath=`.spec.content`,priority=1
// +kubebuilder:printcolumn:name="EFFECTIVE",type=string,JSONPath=`.status.conditions[?(@.type=="Effective")].reason`,priority=1
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
type OpsConfigInfo struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the setting.
	// +required
	Spec OpsConfigInfoSpec `json:"spec"`
	// status reports whether the setting is in effect.
	// +optional
	Status OpsConfigInfoStatus `json:"status,omitzero"`
}

// OpsConfigInfoList is a list of OpsConfigInfos.
//
// +kubebuilder:object:root=true
type OpsConfigInfoList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []OpsConfigInfo `json:"items"`
}
