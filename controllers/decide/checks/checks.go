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

// Package checks has what the checks of VerificationPolicies judge a release by, and what they find. Each type of check has a package
// of its own below it. They have no I/O and no clock.
package checks

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Pod is what the status of a pod shows.
type Pod struct {
	Name     string
	UID      types.UID
	Node, IP string
	Labels   map[string]string
	Ready    bool
	// Since is when the pod finished, for a new one, else when it was created.
	Since, Created time.Time
	// First is when another pod of the name finished in the release before this one, zero if none did: what a new pod of a StatefulSet replaces.
	First time.Time
	// Restarts is how often its containers failed and restarted, or are about to, since then.
	Restarts int32
	// OutOfMemory names a container that ran out of memory when it ended last, Ended one that ended last with the exit code Code.
	OutOfMemory, Ended string
	Code               int32
	// EndedAt is when a container ended last, RanAgain when it ran again, zero while it doesn't.
	EndedAt, RanAgain time.Time
	// Unready is when the pod stopped to be ready, zero for one that is. It is set for one that is about to be, which the operator's gate let in.
	Unready time.Time
}

// IsTroubled reports whether a pod shows any signal.
func (p *Pod) IsTroubled() bool { return p.Restarts > 0 || p.OutOfMemory != "" || !p.Unready.IsZero() }

// Node is whether a node is ready, and since when it is.
type Node struct {
	Ready bool
	Since time.Time
}

// Scene is what a release is judged by.
type Scene struct {
	// Version and Number are those of the release.
	Version string
	Number  int64
	// Kind, Namespace and Name are those of the workload, Replicas is how many pods of the release it should run.
	Kind, Namespace, Name string
	Replicas              int32
	// UID and Labels are those of the workload.
	UID    types.UID
	Labels map[string]string
	// New are the pods of the release that finished.
	New []Pod
	// Old are the pods that don't run the release and still exist. Their trouble counts if it is from after Began.
	Old []Pod
	// Before is what the old pods had been through when the release began.
	Before appv1alpha1.OldPods
	// Others are how many other workloads, of the namespace or of the nodes of the new pods, are in a trouble at the same time as these pods.
	Others map[appv1alpha1.PodSignal]int
	// Nodes are those of the new pods in trouble, by name. They are read where a release would fail.
	Nodes map[string]Node
	// Began is when the release began.
	Began time.Time
}

// Finding is what a check found.
type Finding struct {
	Verdict appv1alpha1.CheckVerdict
	Reason  string
	Message string
	// Numbers are those behind the message, nil for none.
	Numbers *appv1alpha1.CheckNumbers
	// Final reports whether a Pass ends the check. Else nothing was found so far.
	Final bool
	// Broken reports whether the check is Inconclusive as it could not be made, not for what it found.
	Broken bool
	// Pods are the pods in trouble.
	Pods []appv1alpha1.CheckedPod
	// Again is the time after which the verdict may change without an event, 0 for never.
	Again time.Duration
}

// Passed returns that nothing was found, which may change after a time without an event, 0 for never.
func Passed(again time.Duration) Finding {
	return Finding{Verdict: appv1alpha1.CheckPass, Reason: appv1alpha1.ReasonCheckPassed, Again: again}
}
