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

// The keys below are a wire contract with users, dashboards and the documents: none may be renamed. Each names its one
// writer; the webhooks restore a key that anybody else changes.

// Labels.
const (
	// LabelOptIn on a Namespace puts its Deployments under change control. Written by users.
	LabelOptIn = "admission-webhook-altershield"
	// OptInEnabled is the value of LabelOptIn that opts a namespace in.
	OptInEnabled = "enabled"

	// LabelVersion holds the release version, 32 hex digits, on a Deployment, on its pod template and so on its
	// ReplicaSets and Pods; ChangeWorkloads and ChangePods carry it as well. Written by the mutating webhook.
	LabelVersion = "admission-webhook-altershield.antgroup.com/version"

	// LabelDefenseStatus on a Deployment says that the ChangeWorkload of its current release exists. Written by the
	// Deployment reconciler, dropped by the mutating webhook when a release begins.
	LabelDefenseStatus = "altershield.defense.antgroup.com/defense-status"
	// DefenseStatusProcessed is the only value of LabelDefenseStatus.
	DefenseStatusProcessed = "processed"

	// LabelOperateFinished on a Pod holds the Unix second at which the pod was seen finished, the documents' "Finished
	// Label". Written by the Pod reconciler.
	LabelOperateFinished = "altershield.defense.antgroup.com/operate-finished"

	// LabelSuspend on a Deployment holds the Unix second of its suspension; while it is there releases are denied.
	// Written by the ChangeWorkload reconciler.
	LabelSuspend = "altershield.defense.antgroup.com/suspend"

	// LabelIgnoredSuspend on a Deployment lets one release through a suspension. Written by users; consumed by the
	// mutating webhook when it admits that release, or by the Deployment reconciler, once a release, where nothing is suspended.
	LabelIgnoredSuspend = "altershield.defense.antgroup.com/ignored-suspend"
	// IgnoredSuspendTrue is the value of LabelIgnoredSuspend that has an effect.
	IgnoredSuspendTrue = "true"

	// LabelDeploymentName names the Deployment on ChangeWorkloads and ChangePods. A label value holds 63 characters, so
	// a longer name is shortened: the spec has it whole. Written by their creators.
	LabelDeploymentName = "app.kubernetes.io/deployment-name"

	// LabelBatchOf on a ChangePod holds the UID of its ChangeWorkload and the number of its release, as <uid>.<number>: by it
	// the batches of a release are removed in one request. Written by the ChangeWorkload reconciler when it opens a batch.
	LabelBatchOf = "altershield.defense.antgroup.com/batch-of"
)

// Annotations.
const (
	// AnnotationRelease counts the releases of a Deployment from 1, so that a version released again (A, B, A) is told
	// from its first release. Written by the mutating webhook.
	AnnotationRelease = "altershield.defense.antgroup.com/release"

	// AnnotationIgnoredSuspendBy records the last release that went through a suspension: a JSON object with the user,
	// the time (RFC 3339), the version and the number of the release. Written by the mutating webhook.
	AnnotationIgnoredSuspendBy = "altershield.defense.antgroup.com/ignored-suspend-by"

	// AnnotationIgnoredSuspendRemoved on a Deployment holds the number of the release at which LabelIgnoredSuspend was removed
	// unused. A client that sets it again and again is not answered again before the next release. Written by the Deployment
	// reconciler.
	AnnotationIgnoredSuspendRemoved = "altershield.defense.antgroup.com/ignored-suspend-removed"

	// AnnotationReleasedBy on a Deployment holds a ReleaseRecord in JSON: who made its present release, and what changed.
	// Written by the mutating webhook.
	AnnotationReleasedBy = "altershield.defense.antgroup.com/released-by"

	// AnnotationRollback on a Deployment asks for a rollback: RollbackNewest, or the version to go back to. Written by users,
	// consumed by the rollback Runnable.
	AnnotationRollback = "altershield.defense.antgroup.com/rollback"
	// RollbackNewest asks for the newest verified version other than the present one.
	RollbackNewest = "true"
	// AnnotationRollbackBy on a Deployment holds the name of the user who wrote AnnotationRollback. Written by the mutating
	// webhook, consumed with it.
	AnnotationRollbackBy = "altershield.defense.antgroup.com/rollback-by"
	// AnnotationRollbacks on a Deployment holds a JSON list of Rollback, newest first, one for each version that it went back
	// from: what was rolled back, why, and until when it is refused. Written with each rollback.
	AnnotationRollbacks = "altershield.defense.antgroup.com/rollbacks"

	// AnnotationStuckAfter on a Deployment is how long its pods may take to run before its release goes back, as a Go duration; 0
	// is never. Without it the setting ConfigStuckRollback holds. Written by users.
	AnnotationStuckAfter = "altershield.defense.antgroup.com/stuck-after"

	// AnnotationHeld on a Deployment holds the number of the release whose rollout the operator paused, so that its pause is
	// told from a user's; HeldOverridden follows the number once a user has resumed that rollout. Written by the
	// ChangeWorkload reconciler, dropped by the mutating webhook when a release begins.
	AnnotationHeld = "altershield.defense.antgroup.com/held"
	// HeldOverridden means that a user resumed the rollout: it is not held again.
	HeldOverridden = "-overridden"
)

// FinalizerOrder on a ChangeWorkload keeps its record until AlterShield Server was told how the release ended, for a
// minute at most. Set when the record is created, removed by the ChangeWorkload reconciler.
const FinalizerOrder = "altershield.defense.antgroup.com/change-order"

// SystemNamespace is where the operator runs and where it looks for OpsConfigInfo objects, unless told otherwise.
const SystemNamespace = "altershieldoperator-system"
