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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/statistics"
)

const (
	// settle is how long the first trouble of a pod waits for the same one of others: where a dependency fails, the pods of a release may be
	// the first to notice.
	settle = 4 * time.Second
	// unreadyFor is how long a pod has to be unready to have lost its readiness: a longer rest than of a slow garbage collection.
	unreadyFor = 30 * time.Second
	// unreadyBeside is how long old pods and those of other workloads have to be: a period of their probes less, as they may notice a cause later.
	unreadyBeside = unreadyFor - 10*time.Second
	// unreadyPods is how many pods of a large release have to lose their readiness, unreadyShare which share of a small one.
	unreadyPods, unreadyShare = 2, 0.1
	// twice is how many restarts of one pod fail it where no old pod ever restarted: the first may be an accident.
	twice = 2
	// commonWorkloads is how many other workloads with the same trouble make it a common cause.
	commonWorkloads = 3
	// level is the probability of a false alarm by restarts: half of the budget of a release, the other half is that of its metrics.
	level = statistics.DefaultBudget / 2
)

// Signals are all signals, in the order in which they are judged.
func Signals() []appv1alpha1.PodSignal {
	return []appv1alpha1.PodSignal{appv1alpha1.SignalOOMKilled, appv1alpha1.SignalRestarts, appv1alpha1.SignalReadinessLost}
}

// Judge judges the pods of a release by signals, all of them if there are none. The first signal that fails decides, and then one with a
// common cause. Trouble that comes from the nodes of pods doesn't count. The same arguments give the same finding.
func Judge(release *checks.Scene, signals []appv1alpha1.PodSignal, now time.Time) checks.Finding {
	seen := *release
	seen.New = blamed(release)
	result, by := checks.Passed(0), judge{&seen}
	for _, signal := range Signals() {
		if len(signals) > 0 && !slices.Contains(signals, signal) {
			continue
		}
		found := by.signal(signal, now)
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

// judge judges a release by one signal.
type judge struct{ *checks.Scene }

// findings is what is found of one signal.
type findings struct{ checks.Finding }

func (s judge) signal(signal appv1alpha1.PodSignal, now time.Time) checks.Finding {
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
func (s judge) outOfMemory(now time.Time) checks.Finding {
	var found findings
	for i := range s.New {
		if pod := &s.New[i]; pod.OutOfMemory != "" && found.blames(pod, now) {
			found.add(pod, fmt.Sprintf("container %s ran out of memory (OOMKilled)", pod.OutOfMemory))
		}
	}
	old := int(s.Before.OutOfMemory) + s.old(func(pod *checks.Pod) bool { return pod.OutOfMemory != "" })
	return found.concluded("ran out of memory", old, s.Others[appv1alpha1.SignalOOMKilled])
}

// restarts compares the restarts of the new pods with those of the old ones. An application that restarts now and then may.
func (s judge) restarts(now time.Time) checks.Finding {
	var found findings
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
		found.Numbers = checks.NumbersOfLevel(judged)
		return found.concluded("restarted", 0, others)
	case judged.Reason == statistics.CommonCause:
		found.Numbers = checks.NumbersOfLevel(judged)
		return found.concluded("restarted", int(recent.Events), others)
	}
	return checks.Passed(found.Again)
}

// readinessLost fails if enough of the new pods stopped to be ready, and no old one did at the same time.
func (s judge) readinessLost(now time.Time) checks.Finding {
	var found findings
	for i := range s.New {
		pod := &s.New[i]
		if lost := pod.Unready; !lost.IsZero() && found.settled(lost.Add(unreadyFor), now) {
			found.add(pod, "not ready since "+lost.UTC().Format(time.RFC3339))
		}
	}
	if count := len(found.Pods); count < unreadyPods && float64(count) <= unreadyShare*float64(len(s.New)) {
		found.Pods = nil
	}
	troubles := TroublesOf(s.Scene, now)
	old := s.old(func(pod *checks.Pod) bool {
		return slices.Contains(troubles.Shared(pod, now), appv1alpha1.SignalReadinessLost)
	})
	return found.concluded("stopped being ready", old, s.Others[appv1alpha1.SignalReadinessLost])
}

// old counts old pods in a trouble.
func (s judge) old(inTrouble func(*checks.Pod) bool) int {
	count := 0
	for i := range s.Old {
		if inTrouble(&s.Old[i]) {
			count++
		}
	}
	return count
}

// blames reports whether the trouble of a pod counts: at once if it is not the first one.
func (f *findings) blames(pod *checks.Pod, now time.Time) bool {
	return pod.Restarts >= twice || f.settled(pod.EndedAt.Add(settle), now)
}

// settled reports whether a time has come, and has the release judged again then if not.
func (f *findings) settled(at, now time.Time) bool {
	left := at.Sub(now)
	if left > 0 && (f.Again == 0 || left < f.Again) {
		f.Again = left
	}
	return left <= 0
}

func (f *findings) add(pod *checks.Pod, message string) {
	f.Pods = append(f.Pods, appv1alpha1.CheckedPod{Pod: pod.Name, UID: pod.UID, Message: message})
}

// concluded returns the verdict on the pods that were found. old is how many old pods have the same trouble, others how many workloads.
func (f findings) concluded(what string, old, others int) checks.Finding {
	if len(f.Pods) == 0 {
		return checks.Passed(f.Again)
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
	return f.Finding
}

// cause blames a common cause: no pod fails.
func (f *findings) cause(message string) {
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
