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

package decide_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func end(ago, after time.Duration) *corev1.ContainerStateTerminated {
	return &corev1.ContainerStateTerminated{StartedAt: metav1.NewTime(now.Add(-ago - after)), FinishedAt: metav1.NewTime(now.Add(-ago))}
}

// ended is a pod whose container terminated with status 0 this long ago, as kubelets show it for most of a back-off.
func ended(ago time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "sleep", RestartCount: 5, State: corev1.ContainerState{Terminated: end(ago, 0)}}}
	}
}

// endedBefore sets the last termination of the container.
func endedBefore(ago time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses[0].RestartCount = 5
		pod.Status.ContainerStatuses[0].LastTerminationState.Terminated = end(ago, 0)
	}
}

// runningAgain is a pod whose container has been running for this long, after a run of this length that ended this long ago.
func runningAgain(run, ago, took time.Duration) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Status.Phase = corev1.PodRunning
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "sleep", RestartCount: 5,
			State:                corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(now.Add(-run))}},
			LastTerminationState: corev1.ContainerState{Terminated: end(ago, took)},
		}}
	}
}

// stoppedFirst sets the first stop of the container of the pod.
func stoppedFirst(ago time.Duration) map[decide.Container]time.Time {
	return map[decide.Container]time.Time{{Pod: "p-1", Name: "sleep"}: now.Add(-ago)}
}

func TestFindStuckCountsACrashLoopFromItsFirstStop(t *testing.T) {
	const found = "pod sleep-1: container sleep ended with exit code 0, 5 restarts"
	for _, row := range []struct {
		name    string
		state   func(*corev1.Pod)
		stopped map[decide.Container]time.Time
		message string
		next    time.Duration
	}{
		{"while its container is at its end", ended(5 * time.Second), stoppedFirst(2 * time.Minute), found, 0},
		{"while its container is at its end, and not before", ended(5 * time.Second), stoppedFirst(119 * time.Second), "", time.Second},
		{"although its container runs at the moment", runningAgain(0, 40*time.Second, 0), stoppedFirst(2 * time.Minute), found, 0},
		{"although its container runs at the moment, and not before", runningAgain(0, 40*time.Second, 0), stoppedFirst(90 * time.Second), "", 30 * time.Second},
		{"although its container runs for as long as it did before", runningAgain(31*time.Second, 40*time.Second, 30*time.Second), stoppedFirst(3 * time.Minute), found, 0},
		{"but not when it runs for longer than before", runningAgain(32*time.Second, 40*time.Second, 30*time.Second), stoppedFirst(3 * time.Minute), "", 88 * time.Second},
		{"but not when it stopped once and runs", runningAgain(119*time.Second, 2*time.Minute, time.Hour), stoppedFirst(2 * time.Minute), "", time.Second},
		{"but not when it ran for the whole time", runningAgain(2*time.Minute, 3*time.Minute, time.Hour), stoppedFirst(4 * time.Minute), "", 0},
		{"but not when it was not seen to stop before", runningAgain(0, 3*time.Minute, 0), nil, "", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			pod := podOfAge(time.Hour, row.state)
			pod.UID = "p-1"
			stuck := decide.FindStuck(decide.Revision{}, []corev1.Pod{pod}, decide.Patience{Threshold: 2 * time.Minute, Stopped: row.stopped}, now)
			g.Expect(stuck.Message).To(Equal(row.message))
			g.Expect(stuck.Next).To(Equal(row.next))
		})
	}
}

func TestFindStuckTellsOfTheContainerThatIsInTrouble(t *testing.T) {
	g := NewWithT(t)
	pod := podOfAge(time.Hour, ended(2*time.Minute))
	calm := podOfAge(time.Hour, runningAgain(30*time.Minute, 40*time.Minute, 0))
	calm.Status.ContainerStatuses[0].Name = "proxy"
	pod.Status.InitContainerStatuses = calm.Status.ContainerStatuses
	g.Expect(decide.FindStuck(decide.Revision{}, []corev1.Pod{pod}, aMinute, now).Message).To(Equal("pod sleep-1: container sleep ended with exit code 0, 5 restarts"))
}

func TestFindStuckCountsFromTheFirstContainerThatStopped(t *testing.T) {
	g := NewWithT(t)
	pod := podOfAge(time.Hour, ended(50*time.Second))
	pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: "proxy", State: corev1.ContainerState{Terminated: end(20*time.Second, 0)}})
	g.Expect(decide.FindStuck(decide.Revision{}, []corev1.Pod{pod}, aMinute, now)).To(Equal(decide.StuckPods{Next: 10 * time.Second}))
}

func TestFindStuckDoesNotCountTime(t *testing.T) {
	late := podOfAge(10*time.Minute, unschedulable)
	late.UID = "p-1"
	for _, row := range []struct {
		name     string
		patience decide.Patience
		next     time.Duration
	}{
		{"in which the operator saw nothing", decide.Patience{Threshold: time.Minute, Since: now.Add(-50 * time.Second)}, 10 * time.Second},
		{"in which something else kept the pod from running", decide.Patience{Threshold: time.Minute, Excused: map[types.UID]time.Time{"p-1": now.Add(7 * time.Minute)}}, 7 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(decide.FindStuck(decide.Revision{}, []corev1.Pod{late}, row.patience, now)).To(Equal(decide.StuckPods{Next: row.next}))
			over := decide.FindStuck(decide.Revision{}, []corev1.Pod{late}, row.patience, now.Add(row.next))
			g.Expect(over.Message).To(Equal("pod sleep-1: Unschedulable: 0/4 nodes are available"))
			g.Expect(over.First).To(Equal(now.Add(row.next)))
			g.Expect(over.Pods).To(ConsistOf(HaveField("Name", "sleep-1")))
		})
	}
	g := NewWithT(t)
	g.Expect(decide.FindStuck(withoutQuota(time.Hour), nil, decide.Patience{Threshold: time.Minute, Since: now.Add(-50 * time.Second)}, now)).
		To(Equal(decide.StuckPods{Next: 10 * time.Second}), "nor pods that could not be created")
}

func TestFirstStops(t *testing.T) {
	for _, row := range []struct {
		name    string
		state   func(*corev1.Pod)
		known   map[decide.Container]time.Time
		stopped map[decide.Container]time.Time
	}{
		{"has the end of a container", ended(5 * time.Second), nil, stoppedFirst(5 * time.Second)},
		{"has the last end of a container that waits", crashLooping(5 * time.Second), nil, stoppedFirst(5 * time.Second)},
		{"has the last end of a container that runs again", runningAgain(time.Second, 5*time.Second, 0), nil, stoppedFirst(5 * time.Second)},
		{"keeps the first end", ended(5 * time.Second), stoppedFirst(time.Minute), stoppedFirst(time.Minute)},
		{"keeps it while the container hasn't run for the threshold", runningAgain(119*time.Second, 3*time.Minute, 0), stoppedFirst(time.Hour), stoppedFirst(time.Hour)},
		{"forgets it once the container has", runningAgain(2*time.Minute, 3*time.Minute, 0), stoppedFirst(time.Hour), nil},
		{"forgets it once the container is another", ended(5 * time.Second), map[decide.Container]time.Time{{Pod: "p-1", Name: "gone"}: now}, stoppedFirst(5 * time.Second)},
		{"knows nothing of a container that never ran", waiting("ErrImagePull", ""), nil, nil},
		{"knows nothing of a pod that runs", inPhase(corev1.PodRunning), stoppedFirst(time.Minute), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			pod := podOfAge(time.Hour, row.state)
			pod.UID = "p-1"
			stops := decide.FirstStops(row.known, []corev1.Pod{pod}, 2*time.Minute, now)
			if row.stopped == nil {
				NewWithT(t).Expect(stops).To(BeEmpty())
				return
			}
			NewWithT(t).Expect(stops).To(Equal(row.stopped))
		})
	}
}

func TestStuckAfter(t *testing.T) {
	const unusable = "annotation altershield.defense.antgroup.com/stuck-after must be 0 (never) or a duration of at least 1s, such as 90s or 10m, not "
	for _, row := range []struct {
		value     string
		threshold time.Duration
		fault     string
	}{
		{"90s", 90 * time.Second, ""},
		{"10m", 10 * time.Minute, ""},
		{"1h30m", 90 * time.Minute, ""},
		{"0", 0, ""},
		{"0s", 0, ""},
		{"1s", time.Second, ""},
		{"999ms", 2 * time.Minute, unusable + `"999ms"`},
		{"-5m", 2 * time.Minute, unusable + `"-5m"`},
		{"90", 2 * time.Minute, unusable + `"90"`},
		{"soon", 2 * time.Minute, unusable + `"soon"`},
		{"", 2 * time.Minute, unusable + `""`},
	} {
		t.Run(row.value, func(t *testing.T) {
			g := NewWithT(t)
			threshold, err := decide.StuckAfter(map[string]string{"altershield.defense.antgroup.com/stuck-after": row.value}, 2*time.Minute)
			g.Expect(threshold).To(Equal(row.threshold))
			if row.fault == "" {
				g.Expect(err).NotTo(HaveOccurred())
			} else {
				g.Expect(err).To(MatchError(row.fault))
			}
		})
	}
	NewWithT(t).Expect(decide.StuckAfter(nil, 2*time.Minute)).To(Equal(2 * time.Minute))
}

func TestFindStuckExcusesPodsThatAreInABatch(t *testing.T) {
	for _, row := range []struct {
		name    string
		batched string
		message string
	}{
		{"a pod of another batch has not finished", "sleep-2", "pod sleep-1: pending"},
		{"a pod of a batch has finished", "sleep-1", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			patience := aMinute
			patience.Batched = decide.BatchedPods([]appv1alpha1.ChangePod{newBatch([]appv1alpha1.PodSummary{{Pod: row.batched}})})
			pod := podOfAge(time.Hour, func(pod *corev1.Pod) { pod.Status.Phase = corev1.PodPending })
			NewWithT(t).Expect(decide.FindStuck(decide.Revision{}, []corev1.Pod{pod}, patience, now).Message).To(Equal(row.message))
		})
	}
}
