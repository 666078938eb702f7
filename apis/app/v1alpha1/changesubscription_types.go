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
	"k8s.io/apimachinery/pkg/types"
)

// Reasons of ConditionReady of a ChangeSubscription, besides ReasonReady, ReasonOtherNamespace, ReasonAddressRefused and ReasonBadSecret.
const (
	// ReasonReceiverUnavailable means that the receiver doesn't answer, or asks to try again. Messages wait.
	ReasonReceiverUnavailable = "ReceiverUnavailable"
	// ReasonReceiverThrottled means that the receiver takes no further messages for some time. Messages wait.
	ReasonReceiverThrottled = "ReceiverThrottled"
	// ReasonReceiverRefused means that the receiver refused a message, which was dropped.
	ReasonReceiverRefused = "ReceiverRefused"
	// ReasonSubscriptionInvalid means that the spec is unusable.
	ReasonSubscriptionInvalid = "Invalid"
	// ReasonSubscriptionSuspended means that spec.suspend is set.
	ReasonSubscriptionSuspended = "Suspended"
)

// SubscribedEvent is what happens to a release or a ChangeFreeze, or a group of such events.
//
// +kubebuilder:validation:Enum=All;Failures;ReleaseStarted;ReleaseBypassed;ReleaseVerified;RollbackVerified;ReleaseSuspended;ReleaseRecovered;ReleaseFailed;ReleaseRolledBack;ReleaseUnchecked;ReleaseSuperseded;ReleaseFrozen;ApprovalAwaited;FreezeStarted;FreezeEnded;BatchChecked;ApprovalGiven;ApprovalDenied;WorkloadDeleted
type SubscribedEvent string

const (
	// NotifyAll is the group of all events but BatchChecked, ApprovalGiven, ApprovalDenied and WorkloadDeleted, which are told where they are named.
	NotifyAll SubscribedEvent = "All"
	// NotifyFailures is the group of ReleaseSuspended, ReleaseFailed, ReleaseRolledBack and ReleaseUnchecked, and of what ends them: ReleaseRecovered
	// and RollbackVerified.
	NotifyFailures SubscribedEvent = "Failures"
	// NotifyStarted means that a release was recorded.
	NotifyStarted SubscribedEvent = "ReleaseStarted"
	// NotifyBypassed means that a release passed a suspension by the label ignored-suspend, or by a BreakGlass.
	NotifyBypassed SubscribedEvent = "ReleaseBypassed"
	// NotifyVerified means that every pod of a release passed.
	NotifyVerified SubscribedEvent = "ReleaseVerified"
	// NotifyRollbackVerified means the same of a release that a rollback made.
	NotifyRollbackVerified SubscribedEvent = "RollbackVerified"
	// NotifySuspended means that a release failed, and that further releases of its workload are denied.
	NotifySuspended SubscribedEvent = "ReleaseSuspended"
	// NotifyRecovered means that the suspension has ended.
	NotifyRecovered SubscribedEvent = "ReleaseRecovered"
	// NotifyFailed means that a release failed, and that its workload isn't suspended, as the setting or the mode of the kind says.
	NotifyFailed SubscribedEvent = "ReleaseFailed"
	// NotifyRolledBack means that the workload went back from a release.
	NotifyRolledBack SubscribedEvent = "ReleaseRolledBack"
	// NotifyUnchecked means that AlterShield Server refused a release, which isn't checked.
	NotifyUnchecked SubscribedEvent = "ReleaseUnchecked"
	// NotifySuperseded means that another release took the place of one before it was verified.
	NotifySuperseded SubscribedEvent = "ReleaseSuperseded"
	// NotifyFrozen means that a release waits for the end of a ChangeFreeze.
	NotifyFrozen SubscribedEvent = "ReleaseFrozen"
	// NotifyApprovalAwaited means that the next step of a release needs approvals.
	NotifyApprovalAwaited SubscribedEvent = "ApprovalAwaited"
	// NotifyFreezeStarted means that a ChangeFreeze has begun, for a namespace of the subscription, or is prolonged.
	NotifyFreezeStarted SubscribedEvent = "FreezeStarted"
	// NotifyFreezeEnded means that it has ended: by itself, by an edit, or with its deletion.
	NotifyFreezeEnded SubscribedEvent = "FreezeEnded"
	// NotifyBatchChecked means that a batch of pods of a release passed its check, or failed it.
	NotifyBatchChecked SubscribedEvent = "BatchChecked"
	// NotifyApprovalGiven means that a user approved a release.
	NotifyApprovalGiven SubscribedEvent = "ApprovalGiven"
	// NotifyApprovalDenied means that a user denied a release its next step.
	NotifyApprovalDenied SubscribedEvent = "ApprovalDenied"
	// NotifyDeleted means that a workload was deleted before its release was verified.
	NotifyDeleted SubscribedEvent = "WorkloadDeleted"
)

// SinkType is the format of messages, and how their receiver answers.
//
// +kubebuilder:validation:Enum=CDEvents;DingTalk;Feishu;WeCom;Slack;Teams;Plain
type SinkType string

const (
	// SinkCDEvents is a receiver of CDEvents as CloudEvents in JSON.
	SinkCDEvents SinkType = "CDEvents"
	// SinkDingTalk is a custom robot of DingTalk.
	SinkDingTalk SinkType = "DingTalk"
	// SinkFeishu is a custom bot of Feishu or Lark.
	SinkFeishu SinkType = "Feishu"
	// SinkWeCom is a robot of a WeCom group.
	SinkWeCom SinkType = "WeCom"
	// SinkSlack is an incoming webhook of Slack, or of what has its API.
	SinkSlack SinkType = "Slack"
	// SinkTeams is a workflow of Microsoft Teams that takes Adaptive Cards.
	SinkTeams SinkType = "Teams"
	// SinkPlain is a receiver of JSON with the text of the message.
	SinkPlain SinkType = "Plain"
)

// NotificationLanguage is the language of messages.
//
// +kubebuilder:validation:Enum=en;zh
type NotificationLanguage string

const (
	// LanguageEnglish is English.
	LanguageEnglish NotificationLanguage = "en"
	// LanguageChinese is Chinese in simplified characters.
	LanguageChinese NotificationLanguage = "zh"
)

const (
	// SinkURLKey is the key of the Secret of a sink with the address of the receiver.
	SinkURLKey = "url"
	// SinkSecretKey is the key with the key of signatures; for the types CDEvents and Plain it may have several, one a line.
	SinkSecretKey = "secret"
	// MaxToldFailures is the most failures whose end a ChangeSubscription waits for.
	MaxToldFailures = 64
	// MaxOpenReleases is the most releases of whose workloads a ChangeSubscription tells that they are deleted.
	MaxOpenReleases = 64
	// MaxToldFreezes is the most ChangeFreezes whose end a ChangeSubscription waits for.
	MaxToldFreezes = 64
	// MaxDelivered is the most events that the status of a ChangeSubscription lists as delivered.
	MaxDelivered = 256
)

// SubscriptionSink is where messages are sent.
type SubscriptionSink struct {
	// type is CDEvents, DingTalk, Feishu, WeCom, Slack, Teams or Plain.
	Type SinkType `json:"type"`
	// secretRef names a Secret in the namespace of the operator. Its key url is the address of the receiver, which must be https and often is a
	// credential. Its key secret is the key of signatures of the types CDEvents, DingTalk, Feishu and Plain; without it messages aren't signed. For CDEvents and
	// Plain it may have several, one a line, while they change.
	SecretRef SourceSecret `json:"secretRef"`
	// caBundle has the certificates of the authorities of the receiver, in PEM. Without it, the public authorities are trusted.
	// +kubebuilder:validation:MaxLength=65536
	// +optional
	CABundle string `json:"caBundle,omitempty"`
}

// ChangeSubscriptionSpec defines what is told, and to whom.
//
// +kubebuilder:validation:XValidation:rule="!has(self.digestSeconds) || self.digestSeconds == 0 || self.sink.type != 'CDEvents'",message="digestSeconds is not for type CDEvents, whose events are sent one by one"
type ChangeSubscriptionSpec struct {
	// events are what is told: events by name, Failures for failures and what ends them, or All. ReleaseSuspended brings ReleaseRecovered with it.
	// BatchChecked, ApprovalGiven, ApprovalDenied and WorkloadDeleted are told by name only.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=20
	// +listType=set
	Events []SubscribedEvent `json:"events"`
	// namespaceSelector selects the namespaces of workloads by their labels; all of them by default.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// selector selects workloads by their labels; all of them by default. It doesn't select ChangeFreezes.
	// +optional
	Selector *metav1.LabelSelector `json:"selector,omitempty"`
	// sink is where messages are sent.
	Sink SubscriptionSink `json:"sink"`
	// environment is the name of the cluster or the stage in messages.
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([a-zA-Z0-9._-]*[a-zA-Z0-9])?$`
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:default=default
	// +optional
	Environment string `json:"environment,omitempty"`
	// language is that of messages to people: en or zh.
	// +kubebuilder:default=en
	// +optional
	Language NotificationLanguage `json:"language,omitempty"`
	// linkBase is the address of a page about releases. Messages link to <linkBase>/<namespace>/<kind>/<name>, with the kind in lower case.
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^https?://[^/?#@ ]+(/[^?#@ ]*)?$')",message="linkBase is http or https, with a host, and without user info, query and fragment"
	// +optional
	LinkBase string `json:"linkBase,omitempty"`
	// digestSeconds is how long ReleaseStarted, ReleaseVerified, ReleaseSuperseded and BatchChecked are collected for one message. 0 sends them
	// one by one. Other events are sent at once.
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3600
	// +optional
	DigestSeconds int32 `json:"digestSeconds,omitempty"`
	// suspend ends the messages. What happens meanwhile isn't told later.
	// +optional
	Suspend bool `json:"suspend,omitempty"`
}

// ToldRelease identifies a release whose record may be gone by the time at which its end is told.
type ToldRelease struct {
	// namespace is that of the workload.
	Namespace string `json:"namespace"`
	// workload is the workload that was released.
	Workload WorkloadReference `json:"workload"`
	// release is the number of the release.
	Release int64 `json:"release"`
	// version is the version of the release.
	Version string `json:"version"`
	// startedAt is when the release was recorded.
	StartedAt metav1.Time `json:"startedAt"`
	// observed indicates that the kind of the workload is only observed.
	// +optional
	Observed bool `json:"observed,omitempty"`
}

// ToldFailure is the failure of a release that was told. Its end is to be told, also if the record of the release is gone by then.
type ToldFailure struct {
	ToldRelease `json:",inline"`
	// suspended indicates that the workload was suspended.
	// +optional
	Suspended bool `json:"suspended,omitempty"`
}

// ToldFreeze is a ChangeFreeze that is on. Its beginning was told, or was before the subscription, or isn't subscribed to. That it is prolonged or ends is
// to be told, also if it is deleted by then.
type ToldFreeze struct {
	// namespace is that of the ChangeFreeze.
	Namespace string `json:"namespace"`
	// name is its name.
	Name string `json:"name"`
	// uid is its UID.
	UID types.UID `json:"uid"`
	// createdAt is when it was created.
	CreatedAt metav1.Time `json:"createdAt"`
	// generation is that which was told.
	Generation int64 `json:"generation"`
	// startedAt is when it began.
	StartedAt metav1.Time `json:"startedAt"`
	// until is the end that was told.
	Until metav1.Time `json:"until"`
	// action is Park, Deny or Warn.
	Action FreezeAction `json:"action"`
	// reason is why releases are frozen.
	// +optional
	Reason string `json:"reason,omitempty"`
}

// ChangeSubscriptionStatus is the observed state of a subscription, and what was told already.
type ChangeSubscriptionStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// toldUntil is the time before which nothing is told any more.
	// +optional
	ToldUntil *metav1.Time `json:"toldUntil,omitempty"`
	// delivered are the IDs of the last events since then that were delivered or dropped, oldest first.
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=36
	// +listType=atomic
	// +optional
	Delivered []string `json:"delivered,omitempty"`
	// toldFailures are the failures of releases that were told, and whose end was not yet, oldest first.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	ToldFailures []ToldFailure `json:"toldFailures,omitempty"`
	// openReleases are the releases that are not verified, oldest first, where WorkloadDeleted is told: with the workload their records go.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	OpenReleases []ToldRelease `json:"openReleases,omitempty"`
	// toldFreezes are the ChangeFreezes that are on and whose end is to be told, oldest first.
	// +kubebuilder:validation:MaxItems=64
	// +listType=atomic
	// +optional
	ToldFreezes []ToldFreeze `json:"toldFreezes,omitempty"`
	// pending is the number of events that wait.
	// +optional
	Pending int32 `json:"pending"`
	// dropped is the number of events that could not be delivered.
	// +optional
	Dropped int64 `json:"dropped"`
	// lastSentTime is when the receiver took a message last.
	// +optional
	LastSentTime *metav1.Time `json:"lastSentTime,omitempty"`
	// failingSince is when the receiver began to fail; absent while it doesn't.
	// +optional
	FailingSince *metav1.Time `json:"failingSince,omitempty"`
	// failures is the number of failures since then.
	// +optional
	Failures int32 `json:"failures,omitempty"`
	// retryTime is when the next message is sent; absent while the receiver doesn't fail.
	// +optional
	RetryTime *metav1.Time `json:"retryTime,omitempty"`
	// conditions contains Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ChangeSubscription tells a chat or another receiver what happens to releases. Subscriptions have an effect in the namespace of the operator only.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=changesubscriptions,singular=changesubscription,shortName=csub,categories=altershield
// +kubebuilder:printcolumn:name="SINK",type=string,JSONPath=`.spec.sink.type`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="REASON",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="PENDING",type=integer,JSONPath=`.status.pending`
// +kubebuilder:printcolumn:name="DROPPED",type=integer,JSONPath=`.status.dropped`
// +kubebuilder:printcolumn:name="LAST SENT",type=date,JSONPath=`.status.lastSentTime`
// +kubebuilder:printcolumn:name="MESSAGE",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ChangeSubscription struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is told, and to whom.
	// +required
	Spec ChangeSubscriptionSpec `json:"spec"`
	// status is the observed state of the subscription.
	// +optional
	Status ChangeSubscriptionStatus `json:"status,omitzero"`
}

// ChangeSubscriptionList is a list of ChangeSubscriptions.
//
// +kubebuilder:object:root=true
type ChangeSubscriptionList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ChangeSubscription `json:"items"`
}
