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

package decide

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Rollout is the state of the rollout of a workload.
type Rollout struct {
	// Desired is the number of desired pods.
	Desired int32
	// First and End are the ordinals of the desired pods, from the first to the one after the last. End is 0 where pods have none.
	First, End int64
	// Kept is how many pods a user keeps at the version before by the partition of a declared kind: they aren't desired.
	Kept int32
	// Idle is why no pod is desired, where that isn't for want of replicas: "no node is to run one".
	Idle string
	// MinReadySeconds is how long a pod has to be ready to be finished.
	MinReadySeconds int32
	// Rolling reports whether there are still pods of other versions.
	Rolling bool
	// Paused reports whether the rollout is paused.
	Paused bool
	// Resume is the advice to users on how to resume a paused rollout, such as "run kubectl rollout resume".
	Resume string
	// Recreate reports whether all older pods end before newer ones start.
	Recreate bool
	// Runs reports whether the pods end by themselves, as those of a Job. One Run of the release is checked, its pods in one batch.
	Runs bool
	// Recurs reports whether runs start by a schedule, as those of a CronJob: the release begins with the next one.
	Recurs bool
	// Blocker names the run that keeps the next one from beginning, as Job backup-29384; empty where none does.
	Blocker string
}

// KeepBack leaves out the pods that a user keeps at the version before by a partition: they aren't desired.
func (r *Rollout) KeepBack(pods int32) {
	if r.Desired > 0 && r.Desired <= pods {
		r.Idle = "its partition keeps all of its pods as they are"
	}
	r.Desired = max(r.Desired-pods, 0)
}

// Wants reports whether a pod is one of those that are desired: neither one that leaves as the workload is scaled down, nor one that a user
// keeps at the version before by a partition. Pods without an ordinal are.
func (r *Rollout) Wants(pod *corev1.Pod) bool {
	index, known := IndexOf(pod)
	return r.End == 0 || !known || int64(index) >= r.First && int64(index) < r.End
}

// Revision is a pod template of a workload with its pods, as kept by the controller of the workload: a ReplicaSet of a Deployment, for example.
type Revision struct {
	// Version is the stamped version; empty for a template from before the workload came under change control.
	Version string
	// Number orders the revisions of a workload: the newest has the highest.
	Number int64
	// Created is when the revision was first released.
	Created time.Time
	// Gate is the gate label of its pods, empty if they have none.
	Gate string
	// Pods finds the pods of the revision.
	Pods PodsOf
	// Healthy reports whether there are pods, all of them ready.
	Healthy bool
	// Presumed reports whether there is no ready pod to show that: the controller of the workload names the revision as the last complete one.
	Presumed bool
	// Unready are its pods that aren't ready, where it would be healthy without them.
	Unready []*corev1.Pod
	// Run is the run that the pods belong to, nil where they don't end by themselves.
	Run *Run
	// Failure is why its pods can't run, nil where there is no such reason.
	Failure *Failure
	// Template is the pod template; nil where the revision comes from the cache, which holds none.
	Template podtemplate.Template
}

// PodsOf distinguishes the pods of one revision from others.
type PodsOf struct {
	// Owner controls the pods.
	Owner types.UID
	// Through control pods as well: what is between a workload and its pods.
	Through []types.UID
	// Selector finds the pods by their labels, in place of an owner.
	Selector labels.Selector
	// Label is a label with the value Value on each of them; empty where Owner controls no others.
	Label, Value string
	// Since is when the first of them was created; zero where others don't count by their age.
	Since time.Time
}

// Match reports whether a pod is one of the revision.
func (p PodsOf) Match(pod metav1.Object) bool {
	if p.Label != "" && pod.GetLabels()[p.Label] != p.Value || pod.GetCreationTimestamp().Time.Before(p.Since) {
		return false
	}
	if p.Selector != nil {
		return p.Selector.Matches(labels.Set(pod.GetLabels()))
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && (owner.UID == p.Owner || slices.Contains(p.Through, owner.UID))
}

// Failure is why the pods of a revision can't run: they can't be created because of a quota for example, or their run failed.
type Failure struct {
	// Since is when that began.
	Since   time.Time
	Message string
}
