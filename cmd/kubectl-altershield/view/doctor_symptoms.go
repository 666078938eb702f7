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

package view

// Topic is what doctor examines. The values are a contract.
type Topic string

const (
	// TopicServer is the version of the API server.
	TopicServer Topic = "APIServer"
	// TopicClock is the clock of this machine.
	TopicClock Topic = "Clock"
	// TopicCRDs are the definitions of the operator's kinds.
	TopicCRDs Topic = "CRDs"
	// TopicOperator is the Deployment of the operator, and its version.
	TopicOperator Topic = "Operator"
	// TopicLease is the leader of the operator.
	TopicLease Topic = "Lease"
	// TopicWebhooks are the webhook configurations.
	TopicWebhooks Topic = "Webhooks"
	// TopicEndpoints are the pods that answer the webhooks.
	TopicEndpoints Topic = "Endpoints"
	// TopicPolicies are the admission policies.
	TopicPolicies Topic = "Policies"
	// TopicNamespaces are the namespaces under change control.
	TopicNamespaces Topic = "Namespaces"
	// TopicTrial is a release that is tried by a dry run.
	TopicTrial Topic = "Trial"
	// TopicObjects are settings, policies, freezes, sources and kinds.
	TopicObjects Topic = "Objects"
	// TopicOrder is AlterShield Server.
	TopicOrder Topic = "Server"
	// TopicSuspended are suspended workloads.
	TopicSuspended Topic = "Suspended"
	// TopicFinalizers are objects that stay after their deletion.
	TopicFinalizers Topic = "Finalizers"
	// TopicRights are the rights of the user.
	TopicRights Topic = "Rights"
)

// Symptom is what a finding says. The values are a contract; package render has a sentence for each.
type Symptom string

// Symptoms, topic by topic.
const (
	// MayNotRead means that the user lacks a right, CanNotRead that the API server failed, KindAbsent that it doesn't have the kind.
	MayNotRead Symptom = "MayNotRead"
	CanNotRead Symptom = "CanNotRead"
	KindAbsent Symptom = "KindAbsent"

	// ServerSupported and those below it are about the version of the API server.
	ServerSupported Symptom = "ServerSupported"
	ServerTooOld    Symptom = "ServerTooOld"
	ServerUnknown   Symptom = "ServerUnknown"

	// ClocksAgree and those below it are about the clock of this machine.
	ClocksAgree  Symptom = "ClocksAgree"
	ClocksDiffer Symptom = "ClocksDiffer"
	ClockUnknown Symptom = "ClockUnknown"

	// CRDsCurrent and those below it are about CustomResourceDefinitions.
	CRDsCurrent       Symptom = "CRDsCurrent"
	CRDMissing        Symptom = "CRDMissing"
	CRDNotEstablished Symptom = "CRDNotEstablished"
	CRDOlder          Symptom = "CRDOlder"
	CRDNewer          Symptom = "CRDNewer"

	// OperatorReady and those below it are about the pods of the operator.
	OperatorReady    Symptom = "OperatorReady"
	OperatorNotReady Symptom = "OperatorNotReady"
	OperatorMissing  Symptom = "OperatorMissing"
	OperatorOutside  Symptom = "OperatorOutside"

	// VersionsFit and those below it compare the versions of the plugin and of the operator.
	VersionsFit    Symptom = "VersionsFit"
	VersionSkew    Symptom = "VersionSkew"
	VersionUnknown Symptom = "VersionUnknown"

	// LeaseFresh and those below it are about the leader.
	LeaseFresh   Symptom = "LeaseFresh"
	LeaseStale   Symptom = "LeaseStale"
	LeaseAhead   Symptom = "LeaseAhead"
	LeaseFree    Symptom = "LeaseFree"
	LeaseMissing Symptom = "LeaseMissing"

	// WebhooksTrusted and those below it are about webhooks and their caBundle.
	WebhooksTrusted Symptom = "WebhooksTrusted"
	WebhooksMissing Symptom = "WebhooksMissing"
	BundleMissing   Symptom = "BundleMissing"
	BundleBroken    Symptom = "BundleBroken"
	BundleExpired   Symptom = "BundleExpired"

	// EndpointsReady and those below it are about the Service of the webhooks.
	EndpointsReady   Symptom = "EndpointsReady"
	EndpointsNone    Symptom = "EndpointsNone"
	EndpointsOutside Symptom = "EndpointsOutside"

	// PoliciesInstalled and those below it are about admission policies.
	PoliciesInstalled Symptom = "PoliciesInstalled"
	PolicyMissing     Symptom = "PolicyMissing"
	PolicyUnbound     Symptom = "PolicyUnbound"
	PoliciesOptional  Symptom = "PoliciesOptional"

	// NamespacesIn and those below it are about what is under change control.
	NamespacesIn         Symptom = "NamespacesIn"
	NamespacesNone       Symptom = "NamespacesNone"
	NamespaceMislabelled Symptom = "NamespaceMislabelled"
	NeverStamped         Symptom = "NeverStamped"

	// TrialStamped and those below it are about a trial release.
	TrialStamped     Symptom = "TrialStamped"
	TrialAnswered    Symptom = "TrialAnswered"
	TrialUnstamped   Symptom = "TrialUnstamped"
	TrialNotEnforced Symptom = "TrialNotEnforced"
	TrialFailed      Symptom = "TrialFailed"
	TrialDenied      Symptom = "TrialDenied"
	TrialNowhere     Symptom = "TrialNowhere"

	// ObjectsFine and those below it are about objects with a condition.
	ObjectsFine    Symptom = "ObjectsFine"
	ObjectNotReady Symptom = "ObjectNotReady"
	ObjectUnseen   Symptom = "ObjectUnseen"

	// OrdersFine and those below it are about AlterShield Server and the checks of batches.
	OrdersFine     Symptom = "OrdersFine"
	OrderNotOpen   Symptom = "OrderNotOpen"
	BatchUnchecked Symptom = "BatchNotChecked"

	// BlockingOff and those below it are about suspended workloads.
	BlockingOff      Symptom = "BlockingOff"
	SuspendedNone    Symptom = "SuspendedNone"
	SuspendedLong    Symptom = "SuspendedLong"
	SuspensionDenied Symptom = "SuspensionDenied"

	// FinalizersNone and FinalizerHangs are about deleted objects.
	FinalizersNone Symptom = "FinalizersNone"
	FinalizerHangs Symptom = "FinalizerHangs"

	// RightsAll and RightsSome are about what the user may do.
	RightsAll  Symptom = "RightsAll"
	RightsSome Symptom = "RightsSome"
)
