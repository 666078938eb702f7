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
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// LabelAggregateToKinds on a ClusterRole grants its rules to the operator if it is true. Declared kinds need this. Written by users.
const LabelAggregateToKinds = "altershield.defense.antgroup.com/aggregate-to-kinds"

// AnnotationHoldWith on a workload is a JSON object with the field values that hold the rollout of its release, if they are computed
// from the workload before the release. Written by the mutating webhook with the release.
const AnnotationHoldWith = "altershield.defense.antgroup.com/hold-with"

// Conditions of a ControlledKind.
const (
	// ConditionServed: the API server serves the resource in the declared version.
	ConditionServed = "Served"
	// ConditionPermitted: the operator has every permission that the kind takes.
	ConditionPermitted = "Permitted"
	// ConditionSynced: the cache holds the objects of the kind.
	ConditionSynced = "Synced"
	// ConditionAdmitted: the webhooks are called for the kind.
	ConditionAdmitted = "Admitted"
	// ConditionStampable: a pod template of the kind keeps the version label.
	ConditionStampable = "Stampable"
	// ConditionReady: all other conditions that the mode requires are True.
	ConditionReady = "Ready"
)

// ControlledKindMode selects how much the operator does with the workloads of a kind.
//
// +kubebuilder:validation:Enum=Observe;Enforce
type ControlledKindMode string

const (
	// ModeObserve records and checks releases, and writes nothing to a workload.
	ModeObserve ControlledKindMode = "Observe"
	// ModeEnforce also denies, holds and rolls back releases.
	ModeEnforce ControlledKindMode = "Enforce"
)

// PodsBy selects how the pods of a workload are found.
//
// +kubebuilder:validation:Enum=Owner;Label;Selector;None
type PodsBy string

const (
	// PodsByOwner follows controller references.
	PodsByOwner PodsBy = "Owner"
	// PodsByLabel finds pods by a label that holds the name of the workload.
	PodsByLabel PodsBy = "Label"
	// PodsBySelector finds pods by the label selector of the workload.
	PodsBySelector PodsBy = "Selector"
	// PodsByNone is for a kind without pods.
	PodsByNone PodsBy = "None"
)

// IdentityBy selects how pods of different releases are distinguished.
//
// +kubebuilder:validation:Enum=Stamp;Revision
type IdentityBy string

const (
	// IdentityByStamp uses the version label, which the operator sets in the pod templates.
	IdentityByStamp IdentityBy = "Stamp"
	// IdentityByRevision uses a label that the controller of the kind sets on its pods.
	IdentityByRevision IdentityBy = "Revision"
)

// PartitionCounts defines the meaning of the number in a partition field.
//
// +kubebuilder:validation:Enum=Old;FirstIndex
type PartitionCounts string

const (
	// PartitionCountsOld is the number of pods that stay at the previous revision.
	PartitionCountsOld PartitionCounts = "Old"
	// PartitionCountsFirstIndex is the lowest index that is updated.
	PartitionCountsFirstIndex PartitionCounts = "FirstIndex"
)

// UndoPolicy defines how releases of a kind are rolled back.
//
// +kubebuilder:validation:Enum=Content;None
type UndoPolicy string

const (
	// UndoContent restores the templates and fields of an earlier release.
	UndoContent UndoPolicy = "Content"
	// UndoNone never rolls back.
	UndoNone UndoPolicy = "None"
)

// OwnedPolicy defines how objects are treated that another object controls.
//
// +kubebuilder:validation:Enum=Skip;Control
type OwnedPolicy string

const (
	// OwnedSkip ignores them.
	OwnedSkip OwnedPolicy = "Skip"
	// OwnedControl treats them as workloads.
	OwnedControl OwnedPolicy = "Control"
)

// RuleOperation is an operation that a rule applies to.
//
// +kubebuilder:validation:Enum=CREATE;UPDATE;DELETE
type RuleOperation string

// ControlledKindSpec defines how a kind is controlled. A path leads to a field, such as spec.template, spec.groups[*].template or
// metadata.annotations['example.com/step']. Expressions are CEL.
//
// +kubebuilder:validation:XValidation:rule="!has(self.builtIn) || !self.builtIn || !(has(self.version) || has(self.release) || has(self.pods) || has(self.units) || has(self.counts) || has(self.health) || has(self.hold) || has(self.pace) || has(self.undo) || has(self.immutable) || has(self.rules) || has(self.owned))",message="only mode can be set for a built-in kind"
// +kubebuilder:validation:XValidation:rule="!has(self.units) || has(self.pods) && self.pods.by == 'None'",message="units require pods.by None"
type ControlledKindSpec struct {
	// builtIn indicates that the kind is built into the operator. Only mode can be set.
	// +optional
	BuiltIn bool `json:"builtIn,omitempty"`
	// mode is Observe to record and check releases without writing to any workload, or Enforce to also deny, hold and roll back
	// releases.
	// +kubebuilder:default=Observe
	// +optional
	Mode ControlledKindMode `json:"mode,omitempty"`
	// version is the API version that the paths refer to. Defaults to the storage version.
	// +kubebuilder:validation:MaxLength=63
	// +optional
	Version string `json:"version,omitempty"`
	// release defines which changes are a release.
	// +optional
	Release *ReleaseContent `json:"release,omitempty"`
	// pods defines how the pods of a workload are found. Defaults to Owner, or to None if the kind has no pod templates.
	// +optional
	Pods *PodSource `json:"pods,omitempty"`
	// units are elements of the workload that are reported in place of pods. Defaults to the workload itself.
	// +optional
	Units *UnitSource `json:"units,omitempty"`
	// counts are paths to numbers of pods. They default to those of the scale subresource of the CRD, to status.updatedReplicas and
	// to status.readyReplicas.
	// +optional
	Counts *CountPaths `json:"counts,omitempty"`
	// health are expressions over object and release {time, number, version}. By default the conditions Stalled, Reconciling and
	// Ready and the counts decide. Without any of them the health is unknown.
	// +optional
	Health *HealthRules `json:"health,omitempty"`
	// hold are fields that are set together to stop a rollout. Their previous values are restored afterwards.
	// +kubebuilder:validation:MaxItems=8
	// +listType=atomic
	// +optional
	Hold []HoldField `json:"hold,omitempty"`
	// pace are fields that limit the progress of a rollout.
	// +optional
	Pace *PaceLevers `json:"pace,omitempty"`
	// undo is Content to roll back by restoring the templates and fields of an earlier release, or None to never roll back.
	// Defaults to Content.
	// +optional
	Undo UndoPolicy `json:"undo,omitempty"`
	// immutable are paths of fields that must not change.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Immutable []string `json:"immutable,omitempty"`
	// rules are expressions that must be true for a request to be admitted.
	// +kubebuilder:validation:MaxItems=32
	// +listType=map
	// +listMapKey=name
	// +optional
	Rules []ControlledKindRule `json:"rules,omitempty"`
	// owned is Skip to ignore objects that another object controls, or Control to treat them as workloads. Defaults to Skip.
	// +optional
	Owned OwnedPolicy `json:"owned,omitempty"`
}

// ReleaseContent defines which changes of a workload are a release.
type ReleaseContent struct {
	// templates are paths to pod templates. Without templates and fields, the pod templates in the schema of the CRD are used.
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Templates []string `json:"templates,omitempty"`
	// fields are paths of other fields whose change is a release. Defaults to spec if there are no pod templates.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Fields []string `json:"fields,omitempty"`
	// ignore are paths below templates or fields whose change is not a release.
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MaxLength=512
	// +listType=atomic
	// +optional
	Ignore []string `json:"ignore,omitempty"`
	// when is an expression over object and oldObject. If it is false, a change is not a release.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	When string `json:"when,omitempty"`
	// identity defines how the pods of a release are distinguished. Defaults to the version label.
	// +optional
	Identity *PodIdentity `json:"identity,omitempty"`
}

// PodIdentity defines how pods of different releases are distinguished.
//
// +kubebuilder:validation:XValidation:rule="(self.by == 'Revision') == has(self.label) && (self.by == 'Revision') == has(self.path)",message="Revision requires label and path, Stamp allows neither"
type PodIdentity struct {
	// by is Stamp for the version label, which the operator sets in the pod templates, or Revision for a label that the
	// controller of the kind sets on its pods.
	By IdentityBy `json:"by"`
	// label is the key of that label.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Label string `json:"label,omitempty"`
	// path leads to the value of the label for the current release, such as status.updateRevision.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Path string `json:"path,omitempty"`
}

// PodSource defines how the pods of a workload are found.
//
// +kubebuilder:validation:XValidation:rule="has(self.key) == (self.by == 'Label')",message="key is required for Label and not allowed otherwise"
// +kubebuilder:validation:XValidation:rule="has(self.path) == (self.by == 'Selector')",message="path is required for Selector and not allowed otherwise"
// +kubebuilder:validation:XValidation:rule="!has(self.through) || self.by == 'Owner'",message="through is only allowed for Owner"
type PodSource struct {
	// by is Owner to follow controller references, Label for pods with a label that holds the name of the workload, Selector for
	// pods that match its label selector, or None for a kind without pods.
	By PodsBy `json:"by"`
	// through are the kinds between a workload and its pods. Defaults to ReplicaSet.apps, StatefulSet.apps and Job.batch.
	// +kubebuilder:validation:MaxItems=5
	// +kubebuilder:validation:items:Enum=Deployment.apps;ReplicaSet.apps;StatefulSet.apps;DaemonSet.apps;Job.batch
	// +listType=set
	// +optional
	Through []string `json:"through,omitempty"`
	// key is the key of the label that holds the name of the workload.
	// +kubebuilder:validation:MaxLength=317
	// +optional
	Key string `json:"key,omitempty"`
	// path leads to the label selector.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Path string `json:"path,omitempty"`
}

// UnitSource is a list in a workload whose elements are reported in place of pods.
type UnitSource struct {
	// list is the path of the list.
	// +kubebuilder:validation:MaxLength=512
	List string `json:"list"`
	// name is the field of an element that holds its name.
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// CountPaths are paths to numbers of pods.
type CountPaths struct {
	// desired is the number of pods that the workload wants.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Desired string `json:"desired,omitempty"`
	// total is the number of pods.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Total string `json:"total,omitempty"`
	// updated is the number of pods of the current release.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Updated string `json:"updated,omitempty"`
	// ready is the number of ready pods.
	// +kubebuilder:validation:MaxLength=512
	// +optional
	Ready string `json:"ready,omitempty"`
}

// HealthRules are conditions. The first one that is true decides, in the order failed, inProgress, current.
type HealthRules struct {
	// current is true if the release is complete.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Current string `json:"current,omitempty"`
	// inProgress is true while the release is rolled out.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	InProgress string `json:"inProgress,omitempty"`
	// failed is true if the release failed.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	Failed string `json:"failed,omitempty"`
}

// HoldField is a field that is set to stop a rollout.
type HoldField struct {
	// path leads to the field.
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`
	// value is the value that the field is set to.
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`
	// cel is an expression that computes the value, over object and old, the workload before the release.
	// +kubebuilder:validation:MaxLength=4096
	// +optional
	CEL string `json:"cel,omitempty"`
}

// PaceLevers are fields that limit the progress of a rollout.
type PaceLevers struct {
	// partition is a field that keeps a number of pods at the previous revision.
	// +optional
	Partition *PartitionField `json:"partition,omitempty"`
}

// PartitionField is a field that keeps a number of pods at the previous revision. Without hold, it also holds rollouts.
type PartitionField struct {
	// path leads to the field.
	// +kubebuilder:validation:MaxLength=512
	Path string `json:"path"`
	// counts is Old if the number counts the pods that stay at the previous revision, or FirstIndex if it is the lowest index that
	// is updated.
	Counts PartitionCounts `json:"counts"`
	// park indicates that deleted pods return at the previous revision while the partition is raised.
	// +optional
	Park bool `json:"park,omitempty"`
}

// ControlledKindRule is an expression that must be true for a request to be admitted.
type ControlledKindRule struct {
	// name identifies the rule.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// operations are the operations that the rule applies to.
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=3
	// +listType=set
	Operations []RuleOperation `json:"operations"`
	// expression is a condition over object, oldObject and request.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=4096
	Expression string `json:"expression"`
	// message is the reason of a denial.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message"`
}

// ControlledKindStatus is the observed state of a kind.
type ControlledKindStatus struct {
	// observedGeneration is the generation that this status describes.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// counts are numbers of workloads.
	// +optional
	Counts ControlledKindCounts `json:"counts,omitzero"`
	// conditions are Served, Permitted, Synced, Admitted, Stampable and Ready.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// ControlledKindCounts are numbers of workloads of a kind.
type ControlledKindCounts struct {
	// objects is the number of workloads under change control.
	// +optional
	Objects int32 `json:"objects"`
	// releases is the number of releases that are not verified yet.
	// +optional
	Releases int32 `json:"releases"`
	// held is the number of rollouts that the operator holds or paces.
	// +optional
	Held int32 `json:"held"`
}

// ControlledKind is a kind of workloads under change control. It is named like its CRD: <plural>.<group>.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:path=controlledkinds,singular=controlledkind,shortName=ck,scope=Cluster,categories=altershield
// +kubebuilder:validation:XValidation:rule="self.metadata.name.contains('.')",message="a ControlledKind is named like its CRD, <plural>.<group>, such as clonesets.apps.kruise.io"
// +kubebuilder:validation:XValidation:rule="(has(self.spec.builtIn) && self.spec.builtIn) == (self.metadata.name in ['deployments.apps', 'statefulsets.apps', 'daemonsets.apps', 'cronjobs.batch', 'jobs.batch'])",message="builtIn is true for deployments.apps, statefulsets.apps, daemonsets.apps, cronjobs.batch and jobs.batch, and for no other kind"
// +kubebuilder:printcolumn:name="MODE",type=string,JSONPath=`.spec.mode`
// +kubebuilder:printcolumn:name="BUILT-IN",type=boolean,JSONPath=`.spec.builtIn`
// +kubebuilder:printcolumn:name="READY",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="OBJECTS",type=integer,JSONPath=`.status.counts.objects`
// +kubebuilder:printcolumn:name="RELEASES",type=integer,JSONPath=`.status.counts.releases`
// +kubebuilder:printcolumn:name="AGE",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="REASON",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="MESSAGE",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type ControlledKind struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines how the kind is controlled.
	// +required
	Spec ControlledKindSpec `json:"spec"`
	// status is the observed state of the kind.
	// +optional
	Status ControlledKindStatus `json:"status,omitzero"`
}

// ControlledKindList is a list of ControlledKinds.
//
// +kubebuilder:object:root=true
type ControlledKindList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ControlledKind `json:"items"`
}
