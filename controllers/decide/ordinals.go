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
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// labelPodIndex is the label of a numbered pod with its ordinal.
const labelPodIndex = "apps.kubernetes.io/pod-index"

// Ordinals describes how the controller of a workload with numbered pods, such as a StatefulSet, replaces them.
type Ordinals struct {
	// Label is the label of a pod with its revision.
	Label string
	// Current is the revision that was last rolled out completely, Update that of the present template.
	Current, Update string
	// Start is the first ordinal, Replicas the number of pods.
	Start, Replicas int32
	// Partition is the number of pods that come back with Current when they are deleted. Others come back with Update.
	Partition int32
	// UserPartition is the partition that a user has set, also while the operator holds the rollout.
	UserPartition int32
	// Ordered reports whether the controller waits for each pod to be ready before it replaces another.
	Ordered bool
	// Observed reports whether the revisions are those of the present spec.
	Observed bool
}

// ParkBar is why a park of a release would not bring back the version before.
type ParkBar string

const (
	// ParkFree means that nothing bars a park.
	ParkFree ParkBar = ""
	// ParkComplete means that the rollout is complete: deleted pods come back with the release.
	ParkComplete ParkBar = "complete"
	// ParkPartition means that a user has set a partition: the last complete rollout may be older than the version before.
	ParkPartition ParkBar = "partition"
	// ParkResumed means that a user resumed the rollout of the release after the operator had held it.
	ParkResumed ParkBar = "resumed"
)

// BarOf returns what bars a park.
func (o Ordinals) BarOf(hold Hold) ParkBar {
	switch {
	case hold == Resumed || hold == Overridden:
		return ParkResumed
	case o.UserPartition > 0:
		return ParkPartition
	case o.IsRolledOut():
		return ParkComplete
	}
	return ParkFree
}

// IsRolledOut reports whether the release was rolled out completely, so that all pods come back with it. A park of it is over: there is no other
// revision any more with which pods come back, as after a scale to no pods.
func (o Ordinals) IsRolledOut() bool { return o.Observed && o.Current == o.Update }

// IsBehind reports whether a pod has another revision than Current, with which it comes back while its release is parked.
func (o Ordinals) IsBehind(pod *corev1.Pod) bool { return o.revision(pod) != o.Current }

// NextParked returns the pod to delete next while a release is parked: one that isn't ready, or else the one with the lowest ordinal. It
// returns nil while another pod is coming back. left is the number of pods that have yet to come back.
func (o Ordinals) NextParked(pods []corev1.Pod) (next *corev1.Pod, left int) {
	ordered, moving := o.ordered(pods)
	for _, pod := range ordered {
		if !o.IsBehind(pod) {
			continue
		}
		left++
		if next == nil || isServing(next) && !isServing(pod) {
			next = pod
		}
	}
	if next == nil || moving || !o.Observed {
		return nil, left
	}
	end := int64(o.Start) + int64(o.Replicas)
	if o.Ordered && !isServing(next) {
		end = ordinalOf(next) // the pods above may wait for this one
	}
	if o.isComing(ordered, end) {
		return nil, left
	}
	return next, left
}

// isComing reports whether a pod below an ordinal is missing, or came back and isn't ready.
func (o Ordinals) isComing(ordered []*corev1.Pod, end int64) bool {
	want := int64(o.Start)
	for _, pod := range ordered {
		at := ordinalOf(pod)
		if at >= end {
			break
		}
		if at != want || !IsReady(pod) && !o.IsBehind(pod) {
			return true
		}
		want++
	}
	return want < end
}

// NextStuck returns the pod to delete so that an ordered rollout goes on: the unready one with the lowest ordinal, which blocks all
// others, if it would come back with another revision. A pod of the present release has to have failed for that. wait is the time left
// for that pod, 0 where nothing but an event can change the answer.
func (o Ordinals) NextStuck(pods []corev1.Pod, failed bool, patience Patience, now time.Time) (next *corev1.Pod, wait time.Duration) {
	ordered, moving := o.ordered(pods)
	first := slices.IndexFunc(ordered, func(pod *corev1.Pod) bool { return !isServing(pod) })
	if moving || !o.Ordered || !o.Observed || first < 0 {
		return nil, 0
	}
	next = ordered[first]
	if ordinalOf(next) != int64(o.Start)+int64(first) || !o.isObsolete(next, failed) || !isCounted(next) {
		return nil, 0
	}
	if left := patience.readyBy(next).Sub(now); left > 0 {
		return nil, left
	}
	return next, 0
}

// StuckWait returns when one of some pods of a workload will have had its time to become ready, if it would come back with another revision;
// 0 where there is none. due reports whether one had it already.
func (o Ordinals) StuckWait(pods []corev1.Pod, failed bool, patience Patience, now time.Time) (due bool, wait time.Duration) {
	if !o.Ordered {
		return false, 0
	}
	for i := range pods {
		pod := &pods[i]
		if isServing(pod) || !isCounted(pod) || !o.isObsolete(pod, failed) {
			continue
		}
		left := patience.readyBy(pod).Sub(now)
		if left <= 0 {
			return true, 0
		}
		if wait == 0 || left < wait {
			wait = left
		}
	}
	return false, wait
}

// isServing reports whether a pod is ready for its controller, as one that waits for traffic at the operator's gate isn't.
func isServing(pod *corev1.Pod) bool { return IsReady(pod) && Gated(pod) == GateOpen }

// isObsolete reports whether a pod that is deleted comes back with another revision.
func (o Ordinals) isObsolete(pod *corev1.Pod, failed bool) bool {
	revision := o.revision(pod)
	if revision == o.Update && !failed {
		return false
	}
	return revision != o.successor(pod)
}

// successor returns the revision with which a pod comes back.
func (o Ordinals) successor(pod *corev1.Pod) string {
	if o.ReturnsToCurrent(pod) {
		return o.Current
	}
	return o.Update
}

// ReturnsToCurrent reports whether a pod that is deleted comes back with Current.
func (o Ordinals) ReturnsToCurrent(pod *corev1.Pod) bool {
	return ordinalOf(pod) < int64(o.Start)+int64(o.Partition)
}

func (o Ordinals) revision(pod *corev1.Pod) string { return pod.Labels[o.Label] }

// ordered returns the pods that a workload is to have, in the order of their ordinals, and whether one of them is being replaced.
func (o Ordinals) ordered(pods []corev1.Pod) (ordered []*corev1.Pod, moving bool) {
	for i := range pods {
		if at := ordinalOf(&pods[i]); at >= int64(o.Start) && at < int64(o.Start)+int64(o.Replicas) {
			ordered = append(ordered, &pods[i])
			moving = moving || isReplaced(&pods[i])
		}
	}
	slices.SortFunc(ordered, func(a, b *corev1.Pod) int { return cmp.Compare(ordinalOf(a), ordinalOf(b)) })
	return ordered, moving
}

// ordinalOf returns the number at the end of a pod's name, or one beyond all others.
func ordinalOf(pod *corev1.Pod) int64 {
	number, err := strconv.ParseInt(pod.Name[strings.LastIndex(pod.Name, "-")+1:], 10, 32)
	if err != nil {
		return math.MaxInt64
	}
	return number
}

// readyBy returns when a pod that isn't ready has had its time: from its creation, or from when it stopped being ready.
func (p *Patience) readyBy(pod *corev1.Pod) time.Time {
	return p.end(laterOf(p.begin(pod), unreadySince(pod)))
}

// End returns the ordinal after the last one.
func (o Ordinals) End() int32 { return o.Start + o.Replicas }

// IndexOf returns the ordinal of a pod, false if its label has none.
func IndexOf(pod *corev1.Pod) (int32, bool) {
	index, err := strconv.ParseInt(pod.Labels[labelPodIndex], 10, 32)
	return int32(index), err == nil
}

// LetFrom returns how many pods a partition may let the controller of a workload replace, so that at most let pods run the release. All others
// of the release count as well, also those that wait at a gate: they came when the workload had another number of pods, or gained some while
// pods were replaced. Those without an index aren't replaced in its order.
func (o Ordinals) LetFrom(pods []corev1.Pod, let int32) int32 {
	if let == LetAll {
		return let
	}
	for free := let; free > 0; free-- {
		if free+o.beside(pods, int64(o.End()-free)) <= let {
			return free
		}
	}
	return 0
}

// beside returns how many pods have an index below first, or beyond the last ordinal.
func (o Ordinals) beside(pods []corev1.Pod, first int64) int32 {
	var count int32
	for i := range pods {
		if index, known := IndexOf(&pods[i]); known && (int64(index) < first || index >= o.End()) {
			count++
		}
	}
	return count
}

// Coming returns how many pods the controller of a workload may yet replace by those of the release, given the ones that there are.
func (o Ordinals) Coming(pods []corev1.Pod) int32 {
	first := int64(o.Start) + int64(o.Partition)
	coming := int64(o.End()) - first
	for i := range pods {
		if index, known := IndexOf(&pods[i]); known && int64(index) >= first && index < o.End() {
			coming--
		}
	}
	return int32(max(coming, 0))
}
