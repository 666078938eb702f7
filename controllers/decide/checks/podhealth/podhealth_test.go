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

package podhealth_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/podhealth"
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

const day = 24 * 60 * 60

// pods returns healthy pods that have lived for a time.
func pods(count int, lived time.Duration) []checks.Pod {
	all := make([]checks.Pod, count)
	for i := range all {
		name := fmt.Sprintf("web-%d", i)
		all[i] = checks.Pod{Name: name, UID: types.UID(name), Since: now.Add(-lived)}
	}
	return all
}

// scene returns a release with three new pods that finished five minutes ago, and ten old ones that lived for a day.
func scene(changes ...func(*checks.Scene)) *checks.Scene {
	result := &checks.Scene{
		New: pods(3, 5*time.Minute), Old: pods(7, 24*time.Hour), Before: appv1alpha1.OldPods{Pods: 10, Seconds: 10 * day},
		Others: map[appv1alpha1.PodSignal]int{}, Began: now.Add(-6 * time.Minute),
	}
	for _, change := range changes {
		change(result)
	}
	return result
}

func restarted(of []checks.Pod, pod int, restarts int32, ago time.Duration) {
	of[pod].Restarts, of[pod].Ended, of[pod].Code, of[pod].EndedAt = restarts, "main", 1, now.Add(-ago)
}

func newRestarted(pod int, restarts int32, ago time.Duration) func(*checks.Scene) {
	return func(s *checks.Scene) { restarted(s.New, pod, restarts, ago) }
}

func oldRestarted(pod int, restarts int32, ago time.Duration) func(*checks.Scene) {
	return func(s *checks.Scene) { restarted(s.Old, pod, restarts, ago) }
}

func newOutOfMemory(pod int, ago time.Duration) func(*checks.Scene) {
	return func(s *checks.Scene) {
		restarted(s.New, pod, 1, ago)
		s.New[pod].OutOfMemory, s.New[pod].Code = "main", 137
	}
}

func newUnready(pod int, ago time.Duration) func(*checks.Scene) {
	return func(s *checks.Scene) { s.New[pod].Unready = now.Add(-ago) }
}

func before(old appv1alpha1.OldPods) func(*checks.Scene) {
	return func(s *checks.Scene) { s.Before = old }
}

func others(signal appv1alpha1.PodSignal, count int) func(*checks.Scene) {
	return func(s *checks.Scene) { s.Others[signal] = count }
}

// onNode has a new pod run on a node.
func onNode(pod int, node checks.Node) func(*checks.Scene) {
	return func(s *checks.Scene) {
		s.New[pod].Node = fmt.Sprintf("node-%d", pod)
		if s.Nodes == nil {
			s.Nodes = map[string]checks.Node{}
		}
		s.Nodes[s.New[pod].Node] = node
	}
}

// readyFor is a node that has been ready for a time.
func readyFor(ago time.Duration) checks.Node { return checks.Node{Ready: true, Since: now.Add(-ago)} }

func many(count int) func(*checks.Scene) {
	return func(s *checks.Scene) { s.New = pods(count, 5*time.Minute) }
}

func TestJudge(t *testing.T) {
	const s = time.Second
	for name, test := range map[string]struct {
		scene   *checks.Scene
		signals []appv1alpha1.PodSignal
		verdict appv1alpha1.CheckVerdict
		reason  string
		message string
		failed  []string
		again   time.Duration
	}{
		"healthy pods": {scene: scene(), verdict: "Pass", reason: "CheckPassed"},

		"one restart where old pods lived long without any": {
			scene: scene(newRestarted(1, 1, 10*s)), verdict: "Fail", reason: "CheckFailed",
			message: "1 pod of the release restarted: 1 restart in 15 pod-minutes, 0 restarts in 14400 on old pods",
			failed:  []string{"web-1: 1 restart after the pod was ready; container main ended with exit code 1"},
		},
		"one restart waits for that of other pods": {
			scene: scene(newRestarted(1, 1, s)), verdict: "Pass", reason: "CheckPassed", again: 3 * s,
		},
		"one restart where old pods are young": {
			scene:   scene(newRestarted(1, 1, 10*s), before(appv1alpha1.OldPods{Pods: 1, Seconds: 60})),
			verdict: "Pass", reason: "CheckPassed",
		},
		"one restart where old pods restarted a lot": {
			scene:   scene(newRestarted(1, 1, 10*s), before(appv1alpha1.OldPods{Pods: 10, Seconds: 10 * day, Restarts: 50})),
			verdict: "Pass", reason: "CheckPassed",
		},
		"two restarts of a pod where old pods are young": {
			scene:   scene(newRestarted(1, 2, s), before(appv1alpha1.OldPods{Pods: 1, Seconds: 60})),
			verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release restarted",
			failed: []string{"web-1: 2 restarts after the pod was ready; container main ended with exit code 1"},
		},
		"two restarts of a pod where there was no pod before": {
			scene: scene(newRestarted(1, 2, s), before(appv1alpha1.OldPods{}), func(s *checks.Scene) { s.Old = nil }), verdict: "Fail", reason: "CheckFailed",
			message: "1 pod of the release restarted",
			failed:  []string{"web-1: 2 restarts after the pod was ready; container main ended with exit code 1"},
		},
		"two restarts of a pod where old pods restart every ten minutes": {
			scene:   scene(newRestarted(1, 2, s), before(appv1alpha1.OldPods{Pods: 10, Seconds: 36000, Restarts: 60})),
			verdict: "Pass", reason: "CheckPassed",
		},
		"restarts of old pods since the release began": {
			scene:   scene(newRestarted(1, 1, 10*s), oldRestarted(0, 1, 8*s), oldRestarted(3, 1, 7*s)),
			verdict: "Inconclusive", reason: "CommonCause", message: "1 pod of the release restarted, as old pods do",
		},
		"restarts of three other workloads": {
			scene:   scene(newRestarted(1, 2, 10*s), others(appv1alpha1.SignalRestarts, 3)),
			verdict: "Inconclusive", reason: "CommonCause", message: "1 pod of the release restarted, as pods of 3 other workloads do",
		},
		"restarts of two other workloads": {
			scene:   scene(newRestarted(1, 2, 10*s), others(appv1alpha1.SignalRestarts, 2)),
			verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release restarted",
			failed: []string{"web-1: 2 restarts after the pod was ready; container main ended with exit code 1"},
		},

		"out of memory": {
			scene: scene(newOutOfMemory(2, 5*s)), signals: []appv1alpha1.PodSignal{appv1alpha1.SignalOOMKilled}, verdict: "Fail", reason: "CheckFailed",
			message: "1 pod of the release ran out of memory", failed: []string{"web-2: container main ran out of memory (OOMKilled)"},
		},
		"out of memory, before others may be": {
			scene: scene(newOutOfMemory(2, s)), signals: []appv1alpha1.PodSignal{appv1alpha1.SignalOOMKilled}, verdict: "Pass", reason: "CheckPassed",
			again: 3 * s,
		},
		"out of memory again": {
			scene: scene(newOutOfMemory(2, s), newRestarted(2, 2, s)), verdict: "Fail", reason: "CheckFailed",
			message: "1 pod of the release ran out of memory", failed: []string{"web-2: container main ran out of memory (OOMKilled)"},
		},
		"out of memory as before the release": {
			scene:   scene(newOutOfMemory(2, 5*s), before(appv1alpha1.OldPods{Pods: 10, Seconds: 10 * day, OutOfMemory: 1, Restarts: 20})),
			verdict: "Inconclusive", reason: "CommonCause", message: "1 pod of the release ran out of memory, as old pods do",
		},
		"out of memory as other workloads": {
			scene: scene(newOutOfMemory(2, 5*s), others(appv1alpha1.SignalOOMKilled, 4)), signals: []appv1alpha1.PodSignal{appv1alpha1.SignalOOMKilled},
			verdict: "Inconclusive", reason: "CommonCause", message: "1 pod of the release ran out of memory, as pods of 4 other workloads do",
		},
		"out of memory, which isn't asked for": {
			scene: scene(newOutOfMemory(2, 5*s)), signals: []appv1alpha1.PodSignal{appv1alpha1.SignalReadinessLost}, verdict: "Pass", reason: "CheckPassed",
		},

		"readiness lost by one pod of three": {
			scene: scene(newUnready(0, 30*s)), verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release stopped being ready",
			failed: []string{"web-0: not ready since 2026-11-20T11:59:30Z"},
		},
		"readiness lost for a moment": {
			scene: scene(newUnready(0, 10*s), newUnready(1, 12*s)), verdict: "Pass", reason: "CheckPassed", again: 18 * s,
		},
		"readiness lost by one pod of ten": {
			scene: scene(many(10), newUnready(0, 40*s)), verdict: "Pass", reason: "CheckPassed",
		},
		"readiness lost by two pods of a hundred": {
			scene: scene(many(100), newUnready(0, 40*s), newUnready(7, 50*s)), verdict: "Fail", reason: "CheckFailed",
			message: "2 pods of the release stopped being ready",
			failed:  []string{"web-0: not ready since 2026-11-20T11:59:20Z", "web-7: not ready since 2026-11-20T11:59:10Z"},
		},
		"readiness lost as by an old pod": {
			scene:   scene(newUnready(0, 40*s), func(s *checks.Scene) { s.Old[1].Unready = now.Add(-35 * time.Second) }),
			verdict: "Inconclusive", reason: "CommonCause", message: "1 pod of the release stopped being ready, as old pods do",
		},
		"readiness lost, long after that of an old pod": {
			scene:   scene(newUnready(0, 40*s), func(s *checks.Scene) { s.Old[1].Unready = now.Add(-4 * time.Minute) }),
			verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release stopped being ready",
			failed: []string{"web-0: not ready since 2026-11-20T11:59:20Z"},
		},
		"readiness lost, and an old pod was never ready": {
			scene:   scene(newUnready(0, 40*s), func(s *checks.Scene) { s.Old[1].Unready = now.Add(-time.Hour) }),
			verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release stopped being ready",
			failed: []string{"web-0: not ready since 2026-11-20T11:59:20Z"},
		},
		"readiness lost with that of the nodes": {
			scene:   scene(newUnready(0, 40*s), newUnready(1, 40*s), onNode(0, checks.Node{}), onNode(1, checks.Node{})),
			verdict: "Pass", reason: "CheckPassed",
		},
		"readiness lost with a node, and on one that is ready": {
			scene:   scene(newUnready(0, 40*s), newUnready(1, 40*s), onNode(0, checks.Node{}), onNode(1, readyFor(time.Hour))),
			verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release stopped being ready",
			failed: []string{"web-1: not ready since 2026-11-20T11:59:20Z"},
		},
		"readiness lost as by an old pod, when the node of another new one was lost": {
			scene: scene(newUnready(0, 270*s), newUnready(1, 40*s), onNode(0, checks.Node{}), onNode(1, readyFor(time.Hour)),
				func(s *checks.Scene) { s.Old[1].Unready = now.Add(-270 * time.Second) }),
			verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release stopped being ready",
			failed: []string{"web-1: not ready since 2026-11-20T11:59:20Z"},
		},
		"restarts and no memory on a node that isn't ready": {
			scene: scene(newOutOfMemory(2, 10*s), newRestarted(2, 2, 10*s), onNode(2, checks.Node{})), verdict: "Pass", reason: "CheckPassed",
		},
		"a restart by a reboot": {
			scene: scene(newRestarted(1, 2, 10*s), onNode(1, readyFor(5*s))), verdict: "Pass", reason: "CheckPassed",
		},
		"a restart soon after a reboot": {
			scene: scene(newRestarted(1, 2, 10*s), onNode(1, readyFor(129*s))), verdict: "Pass", reason: "CheckPassed",
		},
		"a restart that comes later than by a reboot": {
			scene: scene(newRestarted(1, 2, 10*s), onNode(1, readyFor(130*s))), verdict: "Fail", reason: "CheckFailed",
			message: "1 pod of the release restarted", failed: []string{"web-1: 2 restarts after the pod was ready; container main ended with exit code 1"},
		},
		"a restart on a node that became ready before the pod": {
			scene: scene(newRestarted(1, 2, 250*s), onNode(1, readyFor(301*s))), verdict: "Fail", reason: "CheckFailed",
			message: "1 pod of the release restarted", failed: []string{"web-1: 2 restarts after the pod was ready; container main ended with exit code 1"},
		},

		"a failure rather than a common cause of another signal": {
			scene:   scene(newOutOfMemory(2, 5*s), newUnready(0, 40*s), others(appv1alpha1.SignalOOMKilled, 3), others(appv1alpha1.SignalRestarts, 3)),
			verdict: "Fail", reason: "CheckFailed", message: "1 pod of the release stopped being ready",
			failed: []string{"web-0: not ready since 2026-11-20T11:59:20Z"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := podhealth.Judge(test.scene, test.signals, now)
			g.Expect(string(found.Verdict)).To(Equal(string(test.verdict)))
			g.Expect(found.Reason).To(Equal(test.reason))
			g.Expect(found.Message).To(Equal(test.message))
			g.Expect(found.Again).To(Equal(test.again))
			var failed []string
			for _, pod := range found.Pods {
				failed = append(failed, pod.Pod+": "+pod.Message)
			}
			g.Expect(failed).To(Equal(test.failed))
		})
	}
}

func TestJudgeHasTheNumbersOfTheTestOfRestarts(t *testing.T) {
	const s = time.Second
	for name, row := range map[string]struct {
		scene *checks.Scene
		want  string
	}{
		"that failed":              {scene(newRestarted(1, 1, 10*s)), `{"new":"0.0666667","old":"0","pValue":"0.00311526","threshold":"0.005"}`},
		"of a common cause":        {scene(newRestarted(1, 1, 10*s), oldRestarted(2, 1, 10*s)), `{"new":"0.0666667","old":"0","pValue":"0.00311526","threshold":"0.005"}`},
		"that isn't needed":        {scene(newRestarted(1, 2, s)), `null`},
		"of pods that are healthy": {scene(), `null`},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			found := podhealth.Judge(row.scene, nil, now)
			encoded, err := json.Marshal(found.Numbers)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(encoded)).To(Equal(row.want), found.Message)
		})
	}
}
