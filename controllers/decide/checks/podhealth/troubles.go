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

package podhealth

import (
	"slices"
	"time"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// sameTime is how far apart the troubles of a common cause are at most. Pods notice at different times that a dependency is away, by their
// probes, timeouts and retries: most of them within a minute.
const sameTime = 2 * time.Minute

// afterReboot is for how long what happens to a pod comes from its node that has just become ready: it starts all of its pods at once.
const afterReboot = 2 * time.Minute

// trouble is from when to when a pod is in trouble.
type trouble struct{ from, to time.Time }

// Troubles are those of the new pods of a release, by their signals.
type Troubles map[appv1alpha1.PodSignal][]trouble

// TroublesOf returns the troubles of the new pods of a release that don't come from their nodes.
func TroublesOf(release *checks.Scene, now time.Time) Troubles {
	troubles, pods := Troubles{}, blamed(release)
	for i := range pods {
		for _, signal := range Signals() {
			if found := troubleOf(&pods[i], signal, now); found != nil {
				troubles[signal] = append(troubles[signal], *found)
			}
		}
	}
	return troubles
}

// Shared returns the signals of another pod whose trouble comes at the same time as that of a new pod, within two minutes. One that is over for
// longer, or comes later, excuses nothing: in the hours of a release something happens to some pods anyway. Nor does a pod that isn't ready for a
// moment.
func (t Troubles) Shared(other *checks.Pod, now time.Time) []appv1alpha1.PodSignal {
	var shared []appv1alpha1.PodSignal
	for _, signal := range Signals() {
		passes := signal == appv1alpha1.SignalReadinessLost && now.Sub(other.Unready) < unreadyBeside
		if of := troubleOf(other, signal, now); of != nil && !passes && slices.ContainsFunc(t[signal], of.meets) {
			shared = append(shared, signal)
		}
	}
	return shared
}

// troubleOf returns the trouble of a pod that a signal is about, nil if it has none.
//
// A pod stops being ready when the cause comes, even if it stays so for hours. A container that crashes in a loop has only its last end, which may
// be any time ago up to the longest back-off of the kubelet, five minutes: so it is in trouble until it runs again. While a database is down, the
// pods that it keeps crashing are in trouble at the same time, whatever their back-off, and still are once it is back: they run again after it is.
func troubleOf(pod *checks.Pod, signal appv1alpha1.PodSignal, now time.Time) *trouble {
	ended := trouble{from: pod.EndedAt, to: pod.RanAgain}
	if pod.RanAgain.IsZero() {
		ended.to = now
	}
	switch {
	case signal == appv1alpha1.SignalOOMKilled && pod.OutOfMemory != "", signal == appv1alpha1.SignalRestarts && pod.Restarts > 0:
		return &ended
	case signal == appv1alpha1.SignalReadinessLost && !pod.Unready.IsZero():
		return &trouble{from: pod.Unready, to: pod.Unready}
	}
	return nil
}

// meets reports whether two troubles are at the same time.
func (t trouble) meets(other trouble) bool {
	return !t.from.After(other.to.Add(sameTime)) && !other.from.After(t.to.Add(sameTime))
}

// blamed returns the new pods of a release, without the trouble that comes from their nodes.
func blamed(release *checks.Scene) []checks.Pod {
	if len(release.Nodes) == 0 {
		return release.New
	}
	pods := slices.Clone(release.New)
	for i := range pods {
		pod := &pods[i]
		node, isRead := release.Nodes[pod.Node]
		if !isRead {
			continue
		}
		if comesFrom(node, pod, pod.EndedAt) {
			pod.Restarts, pod.OutOfMemory = 0, ""
		}
		if comesFrom(node, pod, pod.Unready) {
			pod.Unready = time.Time{}
		}
	}
	return pods
}

// comesFrom reports whether a trouble of a pod comes from its node: from one that isn't ready, whose pods lose their readiness with it, or
// from one that became ready after the pod had finished, as after a reboot. Where the pod finished on a ready node, its release is to blame.
func comesFrom(node checks.Node, pod *checks.Pod, began time.Time) bool {
	return !node.Ready || node.Since.After(pod.Since) && began.Before(node.Since.Add(afterReboot))
}
