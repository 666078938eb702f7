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

// AnnotationBuiltInKinds on the MutatingWebhookConfiguration of the kinds holds the names of the ControlledKinds of built-in kinds that the
// operator has created, so that it doesn't create a deleted one again. Written by the ControlledKind reconciler.
const AnnotationBuiltInKinds = "altershield.defense.antgroup.com/built-in-kinds"

// Reasons of the conditions of a ControlledKind.
const (
	// ReasonServed and ReasonNotServed: the API server serves the resource, or doesn't.
	ReasonServed    = "Served"
	ReasonNotServed = "NotServed"
	// ReasonPermitted and ReasonPermissionMissing: the operator has all permissions, or lacks some.
	ReasonPermitted         = "Permitted"
	ReasonPermissionMissing = "PermissionMissing"
	// ReasonWebhooksConfigured means that the webhooks are called for releases of the kind.
	ReasonWebhooksConfigured = "WebhooksConfigured"
	// ReasonConfigurationMissing means that a webhook configuration of the operator is missing.
	ReasonConfigurationMissing = "ConfigurationMissing"
	// ReasonCABundleMissing means that the webhook configuration of Deployments has no CA bundle yet, from which the others get theirs.
	ReasonCABundleMissing = "CABundleMissing"
	// ReasonConfigurationDenied means that the API server denied the change of a webhook configuration.
	ReasonConfigurationDenied = "ConfigurationDenied"
	// ReasonReady means that releases of the kind are controlled.
	ReasonReady = "Ready"
	// ReasonDeclarationInvalid means that the declaration doesn't fit the CRD, or has a path or expression that can't be compiled.
	ReasonDeclarationInvalid = "DeclarationInvalid"
	// ReasonSynced and ReasonSyncing: the cache holds the workloads, or is being filled.
	ReasonSynced  = "Synced"
	ReasonSyncing = "Syncing"
	// ReasonLabelsKept and ReasonLabelsPruned: the API server keeps the version label of pod templates, or drops it.
	ReasonLabelsKept   = "LabelsKept"
	ReasonLabelsPruned = "LabelsPruned"
	// ReasonReleasing means that the kind leaves change control: the rollouts that the operator holds are being resumed.
	ReasonReleasing = "Releasing"
	// ReasonKindNotSupported means that this version of the operator doesn't control the kind.
	ReasonKindNotSupported = "KindNotSupported"
)
