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

// Package podhealth judges by the status of pods whether those of a release are worse than the pods before them. It has no I/O and no
// clock.
package podhealth

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

const (
	// settle is how long the first trouble of a pod waits for the same one of others: where a dependency fails, the pods of a release may be
	// the first to notice.
	settle = 4 * time.Second
	// unreadyFor is how long a pod has to be unready to have lost its readiness: a longer rest than of a slow garbage collection.
	unreadyFor = 30 * time.Second
	// unreadyPods is how many pods of a large release have to lose their readiness, unreadyShare which share of a small one.
	unreadyPods, unreadyShare = 2, 0.1
	// twice is how many restarts of one pod fail it where no old pod ever restarted: the first may be an accident.
	twice = 2
	// commonWorkloads is how many other workloads with the same trouble make it a common cause.
	commonWorkloads = 3
	// level is the probability of a false alarm by restarts: half of the budget of a release, the other half is that of its metrics.
	level = statistics.DefaultBudget / 2
)

// Pod is what the status of a pod shows.
type Pod struct {
	Name string
	UID  types.UID
	// Since is when the pod finished, for a new one, else when it was created.
	Since time.Time
	// Restarts is how often its containers failed and restarted, or are about to, since then.
	Restarts int32
	// OutOfMemory names a container that ran out of memory when it ended last, Ended one that ended last with the exit code Code.
	OutOfMemory, Ended string
	Code               int32
	// EndedAt is when a container ended last.
	EndedAt time.Time
	// Unready is when the pod stopped to be ready, zero for one that is.
	Unready time.Time
}

// IsTroubled reports whether a pod shows any signal.
func (p *Pod) IsTroubled() bool { return p.Restarts > 0 || p.OutOfMemory != "" || !p.Unready.IsZero() }

// Scene is what a release is judged by.
type Scene struct {
	// New are the pods of the release that finished.
	New []Pod
	// Old are the pods that don't run the release and still exist. Their trouble counts if it is from after Began.
	Old []Pod
	// Before is what the old pods had been through when the release began.
	Before appv1alpha1.OldPods
	// Others are how many other workloads, of the namespace or of the nodes of the new pods, have a trouble since the release began.
	Others map[appv1alpha1.PodSignal]int
	// Began is when the release began.
	Began time.Time
}

// Finding is what a check found.
type Finding struct {
	Verdict appv1alpha1.CheckVerdict
	Reason  string
	Message string
	// Pods are the pods in trouble.
	Pods []appv1alpha1.CheckedPod
	// Again is the time after which the verdict may change without an event, 0 for never.
	Again time.Duration
}

// Signals are all signals, in the order in which they are judged.
func Signals() []appv1alpha1.PodSignal {
	return []appv1alpha1.PodSignal{appv1alpha1.SignalOOMKilled, appv1alpha1.SignalRestarts, appv1alpha1.SignalReadinessLost}
}

// Judge judges the pods of a release by signals, all of them if there are none. The first signal that fails decides, and then one with a
// common cause. The same arguments give the same finding.
func Judge(scene *Scene, signals []appv1alpha1.PodSignal, now time.Time) Finding {
	result := Finding{Verdict: appv1alpha1.CheckPass, Reason: appv1alpha1.ReasonCheckPassed}
	for _, signal := range Signals() {
		if len(signals) > 0 && !slices.Contains(signals, signal) {
			continue
		}
		found := scene.judge(signal, now)
		if result.Again == 0 || found.Again > 0 && found.Again < result.Again {
			result.Again = found.Again
		}
		worse := found.Verdict == appv1alpha1.CheckFail && result.Verdict != appv1alpha1.CheckFail ||
			found.Verdict == appv1alpha1.CheckInconclusive && result.Verdict == appv1alpha1.CheckPass
		if worse {
			found.Again = result.Again
			result = found
		}
	}
	return result
}

func (s *Scene) judge(signal appv1alpha1.PodSignal, now time.Time) Finding {
	switch signal {
	case appv1alpha1.SignalOOMKilled:
		return s.outOfMemory(now)
	case appv1alpha1.SignalRestarts:
		return s.restarts(now)
	default:
		return s.readinessLost(now)
	}
}

// outOfMemory fails if a new pod ran out of memory and none of the old ones did.
func (s *Scene) outOfMemory(now time.Time) Finding {
	var found Finding
	for i := range s.New {
		if pod := &s.New[i]; pod.OutOfMemory != "" && found.blames(pod, now) {
			found.add(pod, fmt.Sprintf("container %s ran out of memory (OOMKilled)", pod.OutOfMemory))
		}
	}
	old := int(s.Before.OutOfMemory) + s.old(func(pod *Pod) bool { return pod.OutOfMemory != "" })
	return found.concluded("ran out of memory", old, s.Others[appv1alpha1.SignalOOMKilled])
}

// restarts compares the restarts of the new pods with those of the old ones. An application that restarts now and then may.
func (s *Scene) restarts(now time.Time) Finding {
	var found Finding
	var news, recent statistics.Lives
	again := false
	for i := range s.New {
		pod := &s.New[i]
		news.Minutes += minutes(pod.Since, now)
		if pod.Restarts == 0 || !found.blames(pod, now) {
			continue
		}
		news.Events += float64(pod.Restarts)
		again = again || pod.Restarts >= twice
		found.add(pod, fmt.Sprintf("%s after the pod was ready; container %s ended with exit code %d",
			times(pod.Restarts, "restart"), pod.Ended, pod.Code))
	}
	if len(found.Pods) == 0 {
		return found.concluded("", 0, 0)
	}
	for i := range s.Old {
		recent.Events += float64(s.Old[i].Restarts)
		recent.Minutes += minutes(latest(s.Old[i].Since, s.Began), now)
	}
	olds := statistics.Lives{Events: float64(s.Before.Restarts), Minutes: float64(s.Before.Seconds) / 60}
	others := s.Others[appv1alpha1.SignalRestarts]
	judged := statistics.Rare(news, olds, recent, others, level)
	never := olds.Events == 0 && recent.Events == 0
	switch {
	case again && never:
		return found.concluded("restarted", 0, others)
	case judged.Verdict == statistics.Fail:
		found.Message = fmt.Sprintf("%s in %.0f pod-minutes, %s in %.0f on old pods", times(int32(news.Events), "restart"),
			math.Ceil(news.Minutes), times(int32(olds.Events), "restart"), math.Ceil(olds.Minutes))
		return found.concluded("restarted", 0, others)
	case judged.Reason == statistics.CommonCause:
		return found.concluded("restarted", int(recent.Events), others)
	}
	return Finding{Verdict: appv1alpha1.CheckPass, Reason: appv1alpha1.ReasonCheckPassed, Again: found.Again}
}

// readinessLost fails if enough of the new pods stopped to be ready, and no old one did.
func (s *Scene) readinessLost(now time.Time) Finding {
	var found Finding
	for i := range s.New {
		pod := &s.New[i]
		if lost := pod.Unready; !lost.IsZero() && found.settled(lost.Add(unreadyFor), now) {
			found.add(pod, "not ready since "+lost.UTC().Format(time.RFC3339))
		}
	}
	if count := len(found.Pods); count < unreadyPods && float64(count) <= unreadyShare*float64(len(s.New)) {
		found.Pods = nil
	}
	old := s.old(func(pod *Pod) bool { return pod.Unready.After(s.Began) && now.Sub(pod.Unready) >= unreadyFor })
	return found.concluded("stopped being ready", old, s.Others[appv1alpha1.SignalReadinessLost])
}

// old counts old pods in a trouble.
func (s *Scene) old(inTrouble func(*Pod) bool) int {
	count := 0
	for i := range s.Old {
		if inTrouble(&s.Old[i]) {
			count++
		}
	}
	return count
}

// blames reports whether the trouble of a pod counts: at once if it is not the first one.
func (f *Finding) blames(pod *Pod, now time.Time) bool {
	return pod.Restarts >= twice || f.settled(pod.EndedAt.Add(settle), now)
}

// settled reports whether a time has come, and has the release judged again then if not.
func (f *Finding) settled(at, now time.Time) bool {
	left := at.Sub(now)
	if left > 0 && (f.Again == 0 || left < f.Again) {
		f.Again = left
	}
	return left <= 0
}

func (f *Finding) add(pod *Pod, message string) {
	f.Pods = append(f.Pods, appv1alpha1.CheckedPod{Pod: pod.Name, UID: pod.UID, Message: message})
}

// concluded returns the verdict on the pods that were found. old is how many old pods have the same trouble, others how many workloads.
func (f Finding) concluded(what string, old, others int) Finding {
	if len(f.Pods) == 0 {
		return Finding{Verdict: appv1alpha1.CheckPass, Reason: appv1alpha1.ReasonCheckPassed, Again: f.Again}
	}
	slices.SortFunc(f.Pods, func(a, b appv1alpha1.CheckedPod) int { return strings.Compare(a.Pod, b.Pod) })
	summary := fmt.Sprintf("%s of the release %s", times(int32(len(f.Pods)), "pod"), what)
	if f.Message != "" {
		summary += ": " + f.Message
	}
	switch {
	case old > 0:
		f.cause(summary + ", as old pods do")
	case others >= commonWorkloads:
		f.cause(fmt.Sprintf("%s, as pods of %d other workloads do", summary, others))
	default:
		f.Verdict, f.Reason, f.Message = appv1alpha1.CheckFail, appv1alpha1.ReasonCheckFailed, summary
	}
	return f
}

// cause blames a common cause: no pod fails.
func (f *Finding) cause(message string) {
	f.Verdict, f.Reason, f.Message, f.Pods = appv1alpha1.CheckInconclusive, appv1alpha1.ReasonCommonCause, message, nil
}

func minutes(since, now time.Time) float64 { return max(now.Sub(since).Minutes(), 0) }

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func times(count int32, noun string) string {
	if count != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", count, noun)
}
