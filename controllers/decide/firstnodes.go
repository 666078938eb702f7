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
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// firstNodesTime is how long a release waits for a further pod on its first nodes, besides minReadySeconds: as long as a Deployment waits
// for progress by default.
const firstNodesTime = 10 * time.Minute

// First is what is known of the first nodes of a release.
type First struct {
	// Asked reports whether the workload still asks for them.
	Asked bool
	// Nodes are their names, nil once the status has them.
	Nodes []string
	// Obstacle is why the release can't start on them, empty where it can.
	Obstacle string
	// Of has the nodes of the release's pods, by the UIDs of the pods.
	Of map[types.UID]string
}

// FirstNodesOf returns the selector of the nodes that get the releases of a workload first, nil where it has none.
func FirstNodesOf(annotations map[string]string) (labels.Selector, error) {
	value := annotations[appv1alpha1.AnnotationFirstNodes]
	if value == "" {
		return nil, nil
	}
	selector, err := labels.Parse(value)
	if err != nil {
		return nil, fmt.Errorf("the annotation %s must be a label selector of nodes such as zone=a: %w", appv1alpha1.AnnotationFirstNodes, err)
	}
	return selector, nil
}

// StartsOnFirstNodes reports whether the webhook paused the rollout of a release until the pods on its first nodes pass.
func StartsOnFirstNodes(annotations map[string]string, release int64) bool {
	return isMarked(annotations, release, appv1alpha1.HeldFirstNodes)
}

// StartsHeld reports whether the webhook may have paused the rollout of a release, until the pods on its first nodes pass, or for a freeze.
func StartsHeld(annotations map[string]string, release int64) bool {
	return StartsOnFirstNodes(annotations, release) || appv1alpha1.FrozenOf(annotations, release) != nil
}

// NeedsFirstNodes reports whether the first nodes of a release have yet to be selected.
func NeedsFirstNodes(workload *appv1alpha1.ChangeWorkload) bool {
	status := &workload.Status
	return status.ObservedRelease != workload.Spec.Release || meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionFirstNodes) == nil
}

// AwaitedFirstNodes returns the first nodes of a release that waits for them, nil where it doesn't.
func AwaitedFirstNodes(workload *appv1alpha1.ChangeWorkload) []string {
	if !isObserved(workload) || workload.Status.FirstNodes == nil || isFrozen(&workload.Status) ||
		!awaitsFirst(&workload.Status) {
		return nil
	}
	return workload.Status.FirstNodes.Nodes
}

func awaitsFirst(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return meta.IsStatusConditionPresentAndEqual(status.Conditions, appv1alpha1.ConditionFirstNodes, metav1.ConditionUnknown)
}

// awaitFirst sets the progress on the first nodes, and reports whether the release waits for them. Once it doesn't, it never does again.
func awaitFirst(status *appv1alpha1.ChangeWorkloadStatus, tally tally, seen Observation, now time.Time) (waits bool) {
	known := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionFirstNodes)
	if known == nil && seen.First == nil || known != nil && known.Status != metav1.ConditionUnknown {
		return false
	}
	if known != nil && !seen.Current && !seen.Superseded { // the cache shows an earlier release
		return true
	}
	if reason, message := endOfFirst(status, tally, seen); reason != "" {
		setCondition(status, appv1alpha1.ConditionFirstNodes, metav1.ConditionFalse, reason, message)
		return false
	}
	limit := seen.firstNodesLimit()
	if status.FirstNodes == nil {
		status.FirstNodes = &appv1alpha1.FirstNodes{Nodes: seen.First.Nodes, Deadline: *afterWindow(now, limit)}
	}
	first := status.FirstNodes
	if passed := passedOn(first.Nodes, tally, seen.First); passed > first.Passed {
		first.Passed, first.Deadline = passed, *afterWindow(now, limit)
	}
	progress := fmt.Sprintf("pods on %d of %d first nodes passed", first.Passed, len(first.Nodes))
	switch {
	case int(first.Passed) >= len(first.Nodes) || len(tally.passed) >= int(seen.Desired):
		setCondition(status, appv1alpha1.ConditionFirstNodes, metav1.ConditionTrue, appv1alpha1.ReasonAllPodsPassed,
			progress+": the rollout goes on to the other nodes")
	case !now.Before(first.Deadline.Time):
		setCondition(status, appv1alpha1.ConditionFirstNodes, metav1.ConditionFalse, appv1alpha1.ReasonDeadlineExceeded,
			fmt.Sprintf("%s, and no further one within %s: the rollout goes on to all nodes", progress, limit))
	default:
		setCondition(status, appv1alpha1.ConditionFirstNodes, metav1.ConditionUnknown, appv1alpha1.ReasonVerifying,
			progress+": the other nodes keep the previous version")
		waits = true
	}
	return waits
}

// beginsFirst reports whether a paced release begins with its first nodes, given those of its status before.
func beginsFirst(status *appv1alpha1.ChangeWorkloadStatus, before *appv1alpha1.FirstNodes) bool {
	return isPaced(status) && before == nil && status.FirstNodes != nil
}

// pausesForFirst reports whether the rollout of a release stays paused for its first nodes: while it waits for them, and until the stored
// status shows why it doesn't any more. Once the rollout goes on, nothing else shows whether the operator or a user resumed it.
func pausesForFirst(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus) bool {
	known := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionFirstNodes) != nil
	return known && (NeedsFirstNodes(workload) || awaitsFirst(&workload.Status))
}

// firstNodesLimit returns how long a release waits for a further pod on its first nodes.
func (o *Observation) firstNodesLimit() time.Duration {
	return firstNodesTime + time.Duration(o.MinReadySeconds)*time.Second
}

// putOffFirst has a frozen release wait for its first nodes from the end of the freeze.
func putOffFirst(status *appv1alpha1.ChangeWorkloadStatus, seen Observation) {
	if status.FirstNodes != nil && status.Frozen.Until != nil {
		status.FirstNodes.Deadline = *afterWindow(status.Frozen.Until.Time, seen.firstNodesLimit())
	}
}

// endOfFirst returns why a release doesn't wait for its first nodes any more, empty while it does.
func endOfFirst(status *appv1alpha1.ChangeWorkloadStatus, tally tally, seen Observation) (reason, message string) {
	switch {
	case !seen.Current:
		return appv1alpha1.ReasonSuperseded, "the " + seen.Kind + " has moved on to another release"
	case seen.First == nil || seen.Hold != Held:
		return appv1alpha1.ReasonResumed, "a user resumed the rollout"
	case !seen.OptedIn:
		return appv1alpha1.ReasonNotControlled, "the " + seen.Kind + " left change control"
	case len(tally.failed) > 0:
		return appv1alpha1.ReasonPodsFailed, "the rollout stays paused: " + Failures(tally.failed)
	case seen.Fault != "":
		return appv1alpha1.ReasonPodsFailed, "the rollout stays paused: " + seen.Fault
	case status.Status == appv1alpha1.ChangeWorkloadFailed:
		return appv1alpha1.ReasonOrderRefused, "the release is not checked: the rollout goes on to all nodes"
	case !seen.First.Asked:
		return appv1alpha1.ReasonWithdrawn, "the annotation " + appv1alpha1.AnnotationFirstNodes + " was removed: the rollout goes on to all nodes"
	case status.FirstNodes == nil && seen.First.Obstacle != "":
		return appv1alpha1.ReasonNoFirstNodes, seen.First.Obstacle + ": the rollout goes on to all nodes"
	}
	return "", ""
}

// passedOn returns the number of nodes with a pod that passed.
func passedOn(nodes []string, tally tally, first *First) (passed int32) {
	on := make(map[string]bool, len(tally.passed))
	for _, pod := range tally.passed {
		on[first.Of[pod.UID]] = true
	}
	for _, node := range nodes {
		if on[node] {
			passed++
		}
	}
	return passed
}

// Turn is the state of a rollout that replaces pods on some nodes only.
type Turn struct {
	// Version is the version of the release, Nodes are the nodes whose pods are replaced: all of them if there are none and Let is set.
	Version string
	Nodes   []string
	// Of finds its pods among those of the version, which may have other gates; nil if all of them are its own.
	Of *PodsOf
	// Let is how many pods of the release there may be, with those to come in place of missing and deleted ones; nil for no limit.
	Let *int32
	// Desired is the number of pods on all nodes, Unavailable how many of them may be unavailable at a time.
	Desired, Unavailable int
	// MinReadySeconds is how long a pod has to be ready to be available.
	MinReadySeconds int32
}

// Has reports whether a pod is one of the release.
func (t Turn) Has(pod *corev1.Pod) bool {
	return pod.Labels[appv1alpha1.LabelVersion] == t.Version && (t.Of == nil || t.Of.Match(pod))
}

// Next returns the pods to delete next: those of other revisions that aren't available, and others as long as few enough are unavailable.
// left is the number of pods of other revisions on the nodes.
func (t Turn) Next(pods []corev1.Pod, now time.Time) (next []*corev1.Pod, left int) {
	state := t.survey(pods, now)
	for _, pod := range state.old {
		isAvailable, ended := state.available[pod], podEnded(pod)
		switch {
		case pod.DeletionTimestamp != nil, isAvailable && state.unavailable >= t.Unavailable:
			continue
		case t.Let != nil && !ended && state.coming >= int(*t.Let):
			continue
		case isAvailable:
			state.unavailable++
		}
		if !ended {
			state.coming++
		}
		next = append(next, pod)
	}
	return next, len(state.old)
}

// survey is what a Turn finds.
type survey struct {
	// old are the pods of other revisions on its nodes, in the order in which they are replaced.
	old []*corev1.Pod
	// available are the pods that serve.
	available map[*corev1.Pod]bool
	// unavailable is how many pods are missing or don't serve, coming how many there are of the release, or will be in place of others.
	unavailable, coming int
}

func (t Turn) survey(pods []corev1.Pod, now time.Time) survey {
	found := survey{available: map[*corev1.Pod]bool{}, unavailable: max(t.Desired-len(pods), 0), coming: max(t.Desired, len(pods))}
	for i := range pods {
		pod := &pods[i]
		finished, _ := PodFinished(pod, Rollout{MinReadySeconds: t.MinReadySeconds}, now)
		if found.available[pod] = finished && Gated(pod) == GateOpen; !found.available[pod] {
			found.unavailable++
		}
		if t.Has(pod) {
			continue
		}
		if pod.DeletionTimestamp == nil && !podEnded(pod) {
			found.coming-- // it stays
		}
		if t.Let != nil && len(t.Nodes) == 0 || slices.Contains(t.Nodes, pod.Spec.NodeName) {
			found.old = append(found.old, pod)
		}
	}
	slices.SortFunc(found.old, func(a, b *corev1.Pod) int {
		if found.available[a] != found.available[b] { // those that don't serve go first
			if found.available[b] {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(a.Spec.NodeName, b.Spec.NodeName), cmp.Compare(a.Name, b.Name))
	})
	return found
}
