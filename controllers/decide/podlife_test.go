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
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/podhealth"
)

type lifeOption = func(*corev1.Pod)

// living is a ready pod that was created ten minutes ago.
func living(name string, options ...lifeOption) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), CreationTimestamp: metav1.NewTime(now.Add(-10 * time.Minute))}}
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-9 * time.Minute))}}
	for _, option := range options {
		option(&pod)
	}
	return pod
}

// crashedBy has its container main end so long ago, after so many restarts in all, the last of which brought it back.
func crashedBy(restarts, code int32, why string, ago time.Duration) lifeOption {
	return func(pod *corev1.Pod) {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{
			Name: "main", RestartCount: restarts, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(ranAgain(ago))}},
			LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
				ExitCode: code, Reason: why, FinishedAt: metav1.NewTime(now.Add(-ago)),
			}},
		}}
	}
}

// ranAgain is when a container that ended so long ago ran again.
func ranAgain(ago time.Duration) time.Time { return now.Add(-ago).Add(10 * time.Second) }

// down keeps the container down.
func down(pod *corev1.Pod) {
	pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "CrashLoopBackOff"}}
}

// besides has another container end so long ago, which runs again.
func besides(code int32, ago time.Duration) lifeOption {
	return func(pod *corev1.Pod) {
		other := living("other", crashedBy(1, code, "Error", ago)).Status.ContainerStatuses[0]
		other.Name = "side"
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, other)
	}
}

func lost(ago time.Duration) lifeOption {
	return func(pod *corev1.Pod) {
		pod.Status.Conditions[0].Status, pod.Status.Conditions[0].LastTransitionTime = "False", metav1.NewTime(now.Add(-ago))
	}
}

// letIn has the operator's gate let traffic to a pod so long ago.
func letIn(ago time.Duration) lifeOption {
	return func(pod *corev1.Pod) {
		pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "altershield.defense.antgroup.com/verified"}}
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: "altershield.defense.antgroup.com/verified", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-ago)),
		})
	}
}

func containersReady(pod *corev1.Pod) {
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: "ContainersReady", Status: "True", LastTransitionTime: metav1.NewTime(now.Add(-8 * time.Minute))})
}

// gateOf adds a readiness gate of somebody else, with the status of its condition, empty for none.
func gateOf(kind corev1.PodConditionType, status corev1.ConditionStatus) lifeOption {
	return func(pod *corev1.Pod) {
		pod.Spec.ReadinessGates = append(pod.Spec.ReadinessGates, corev1.PodReadinessGate{ConditionType: kind})
		if status != "" {
			pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: kind, Status: status})
		}
	}
}

// started has a pod that was created ten minutes ago be started so long ago.
func started(ago time.Duration) lifeOption {
	return func(pod *corev1.Pod) { pod.Status.StartTime = ptr.To(metav1.NewTime(now.Add(-ago))) }
}

func leaving(pod *corev1.Pod) { pod.DeletionTimestamp = &metav1.Time{Time: now} }

// since is the summary of a pod that finished five minutes ago.
func since(name string, restarts int32) appv1alpha1.PodSummary {
	return appv1alpha1.PodSummary{Pod: name, UID: types.UID(name), FinishTimeUnix: now.Add(-5 * time.Minute).Unix(), Restarts: restarts}
}

func TestNewPodsShowWhatHappenedSinceTheyFinished(t *testing.T) {
	finish := now.Add(-5 * time.Minute)
	for name, row := range map[string]struct {
		pod      corev1.Pod
		restarts int32
		expected checks.Pod
	}{
		"nothing":                {living("a"), 0, checks.Pod{}},
		"a restart":              {living("a", crashedBy(1, 1, "Error", time.Minute)), 0, checks.Pod{Restarts: 1, Ended: "main", Code: 1, EndedAt: now.Add(-time.Minute), RanAgain: ranAgain(time.Minute)}},
		"a restart before":       {living("a", crashedBy(3, 1, "Error", 8*time.Minute)), 3, checks.Pod{EndedAt: now.Add(-8 * time.Minute), RanAgain: ranAgain(8 * time.Minute)}},
		"one more than before":   {living("a", crashedBy(4, 1, "Error", time.Minute)), 3, checks.Pod{Restarts: 1, Ended: "main", Code: 1, EndedAt: now.Add(-time.Minute), RanAgain: ranAgain(time.Minute)}},
		"an end as it should be": {living("a", crashedBy(2, 0, "Completed", time.Minute)), 0, checks.Pod{}},
		"a container that is down": {living("a", crashedBy(1, 2, "Error", time.Minute), down), 0,
			checks.Pod{Restarts: 2, Ended: "main", Code: 2, EndedAt: now.Add(-time.Minute)}},
		"out of memory": {living("a", crashedBy(1, 137, "OOMKilled", time.Minute)), 0,
			checks.Pod{Restarts: 1, Ended: "main", Code: 137, OutOfMemory: "main", EndedAt: now.Add(-time.Minute), RanAgain: ranAgain(time.Minute)}},
		"out of memory before": {living("a", crashedBy(1, 137, "OOMKilled", 8*time.Minute)), 1, checks.Pod{EndedAt: now.Add(-8 * time.Minute), RanAgain: ranAgain(8 * time.Minute)}},
		"out of memory before, another container since": {living("a", crashedBy(1, 137, "OOMKilled", 8*time.Minute), besides(1, time.Minute)), 1,
			checks.Pod{Restarts: 1, Ended: "side", Code: 1, EndedAt: now.Add(-time.Minute), RanAgain: ranAgain(time.Minute)}},
		"out of memory before, another one ended as it should since": {
			living("a", crashedBy(1, 137, "OOMKilled", 8*time.Minute), besides(0, time.Minute)), 1, checks.Pod{}},
		"not ready": {living("a", lost(time.Minute)), 0, checks.Pod{Unready: now.Add(-time.Minute)}},
		"let in, which the kubelet hasn't seen yet": {living("a", lost(9*time.Minute), letIn(time.Second)), 0, checks.Pod{Unready: now.Add(-time.Second)}},
		"let in with ready containers, which it hasn't seen yet": {living("a", lost(9*time.Minute), letIn(time.Second), containersReady), 0,
			checks.Pod{Ready: true, Unready: now.Add(-time.Second)}},
		"let in with ready containers while another gate has yet to open": {
			living("a", lost(9*time.Minute), letIn(time.Second), containersReady, gateOf("example.com/registered", "False")), 0,
			checks.Pod{Unready: now.Add(-time.Second)}},
		"let in with ready containers while another gate was never told of": {
			living("a", lost(9*time.Minute), letIn(time.Second), containersReady, gateOf("example.com/registered", "")), 0,
			checks.Pod{Unready: now.Add(-time.Second)}},
		"let in with ready containers, and by another gate": {
			living("a", lost(9*time.Minute), letIn(time.Second), containersReady, gateOf("example.com/registered", "True")), 0,
			checks.Pod{Ready: true, Unready: now.Add(-time.Second)}},
		"not ready although its containers are": {living("a", lost(time.Minute), letIn(3*time.Minute), containersReady), 0,
			checks.Pod{Unready: now.Add(-time.Minute)}},
		"not ready since it was let in":                    {living("a", lost(9*time.Minute), letIn(time.Minute)), 0, checks.Pod{Unready: now.Add(-time.Minute)}},
		"not ready any more some time after it was let in": {living("a", lost(time.Minute), letIn(3*time.Minute)), 0, checks.Pod{Unready: now.Add(-time.Minute)}},
	} {
		t.Run(name, func(t *testing.T) {
			row.expected.Name, row.expected.UID, row.expected.Since, row.expected.Created = "a", "a", time.Unix(finish.Unix(), 0), finish.Add(-5*time.Minute)
			row.expected.Ready = row.expected.Ready || row.expected.Unready.IsZero()
			lives := decide.NewPods([]corev1.Pod{row.pod, living("unfinished")}, []appv1alpha1.PodSummary{since("a", row.restarts), since("gone", 0)})
			NewWithT(t).Expect(lives).To(Equal([]checks.Pod{row.expected}))
		})
	}
}

func TestFinishedPodsCountRestartsBeforeTheyFinished(t *testing.T) {
	for name, row := range map[string]struct {
		pod      corev1.Pod
		expected int32
	}{
		"none":                     {living("a"), 0},
		"before it was ready":      {living("a", crashedBy(2, 1, "Error", 9*time.Minute+time.Second)), 2},
		"the last one after it":    {living("a", crashedBy(3, 1, "Error", time.Minute)), 2},
		"also that keeps it down":  {living("a", crashedBy(1, 1, "Error", time.Minute), down), 1},
		"also of one with a label": {living("a", crashedBy(3, 1, "Error", time.Minute), func(pod *corev1.Pod) { pod.Labels = map[string]string{} }), 2},
	} {
		t.Run(name, func(t *testing.T) {
			finished, _ := decide.FinishedPods("sleep", []corev1.Pod{row.pod}, nil, decide.FinishRule{}, now)
			g := NewWithT(t)
			g.Expect(finished).To(HaveLen(1))
			g.Expect(finished[0].Restarts).To(Equal(row.expected))
		})
	}
	g := NewWithT(t)
	batch := newBatch([]appv1alpha1.PodSummary{since("a", 1)})
	finished, _ := decide.FinishedPods("sleep", []corev1.Pod{living("a", crashedBy(9, 1, "Error", time.Minute))}, []appv1alpha1.ChangePod{batch}, decide.FinishRule{}, now)
	g.Expect(finished[0].Restarts).To(BeEquivalentTo(1), "as the batch has it")
}

func TestOldPodsOfAddsUpTheirLives(t *testing.T) {
	old := decide.OldPodsOf([]corev1.Pod{
		living("a", crashedBy(2, 1, "Error", time.Minute)), living("b", crashedBy(1, 137, "OOMKilled", 8*time.Minute), down), living("c"), living("d", leaving),
	}, now)
	NewWithT(t).Expect(old).To(Equal(appv1alpha1.OldPods{Pods: 3, Seconds: 1800, Restarts: 4, OutOfMemory: 1}))
}

func TestSharedTroublesAreThoseAtTheTimeOfNewPods(t *testing.T) {
	crashed := checks.Pod{Restarts: 1, OutOfMemory: "main", EndedAt: now.Add(-time.Minute), RanAgain: ranAgain(time.Minute), Unready: now.Add(-time.Minute)}
	troubles := podhealth.TroublesOf(&checks.Scene{New: []checks.Pod{crashed}}, now)
	for name, row := range map[string]struct {
		pod      corev1.Pod
		expected []appv1alpha1.PodSignal
	}{
		"of a healthy pod":                  {living("a"), nil},
		"a restart":                         {living("a", crashedBy(1, 1, "Error", time.Minute)), []appv1alpha1.PodSignal{"Restarts"}},
		"a restart before":                  {living("a", crashedBy(1, 1, "Error", 200*time.Second)), nil},
		"a crash before that keeps it down": {living("a", crashedBy(1, 1, "Error", 200*time.Second), down), []appv1alpha1.PodSignal{"Restarts"}},
		"a crash long before the release":   {living("a", crashedBy(1, 1, "Error", 8*time.Minute), down), nil},
		"out of memory":                     {living("a", crashedBy(1, 137, "OOMKilled", time.Minute)), []appv1alpha1.PodSignal{"OOMKilled", "Restarts"}},
		"readiness":                         {living("a", lost(time.Minute)), []appv1alpha1.PodSignal{"ReadinessLost"}},
		"readiness before":                  {living("a", lost(200*time.Second)), nil},
		"readiness that it never had":       {living("a", lost(time.Minute), started(61*time.Second)), nil},
		"readiness that it had":             {living("a", lost(time.Minute), started(62*time.Second)), []appv1alpha1.PodSignal{"ReadinessLost"}},
		"readiness for a moment":            {living("a", lost(19*time.Second)), nil},
		"of a pod that is being deleted":    {living("a", lost(time.Minute), leaving), nil},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(decide.SharedTroubles(&row.pod, troubles, now.Add(-2*time.Minute), now)).To(Equal(row.expected))
		})
	}
}

func TestNewPodsShowWhereTheyRun(t *testing.T) {
	pod := living("a", func(pod *corev1.Pod) {
		pod.Spec.NodeName, pod.Status.PodIP, pod.Labels = "n1", "10.0.0.7", map[string]string{"zone": "a"}
	})
	lives := decide.NewPods([]corev1.Pod{pod}, []appv1alpha1.PodSummary{since("a", 0)})
	NewWithT(t).Expect(lives).To(HaveExactElements(And(HaveField("Node", "n1"), HaveField("IP", "10.0.0.7"), HaveField("Labels", map[string]string{"zone": "a"}))))
}

func TestOtherPodsShowOneRestartAtMost(t *testing.T) {
	g := NewWithT(t)
	lives := decide.OtherPods([]corev1.Pod{
		living("a", crashedBy(7, 1, "Error", time.Minute)), living("b", crashedBy(7, 1, "Error", time.Hour)), living("c", leaving),
	}, now.Add(-2*time.Minute))
	g.Expect(lives).To(HaveLen(2))
	g.Expect(lives[0].Restarts).To(BeEquivalentTo(1))
	g.Expect(lives[1].IsTroubled()).To(BeFalse())
	lives = decide.OtherPods([]corev1.Pod{
		living("a", lost(time.Minute)), living("b", lost(time.Minute), started(time.Minute)),
	}, now.Add(-2*time.Minute))
	g.Expect(lives[0].IsTroubled()).To(BeTrue())
	g.Expect(lives[1].IsTroubled()).To(BeFalse(), "it still starts up")
	lives = decide.OtherPods([]corev1.Pod{living("a", crashedBy(1, 137, "OOMKilled", 8*time.Minute), besides(1, time.Minute))}, now.Add(-2*time.Minute))
	g.Expect(lives[0].Restarts).To(BeEquivalentTo(1))
	g.Expect(lives[0].OutOfMemory).To(BeEmpty(), "which was before the release")
}

func TestNoteFirstTellsOfPodsOfTheReleaseThatWereReplaced(t *testing.T) {
	pods := []checks.Pod{{Name: "db-0", UID: "0"}, {Name: "db-1", UID: "1c"}, {Name: "db-2", UID: "2"}}
	summary := func(name, uid string, finished int64) appv1alpha1.PodSummary {
		return appv1alpha1.PodSummary{Pod: name, UID: types.UID(uid), FinishTimeUnix: finished}
	}
	decide.NoteFirst(pods, []appv1alpha1.ChangePod{
		newBatch([]appv1alpha1.PodSummary{summary("db-0", "0", 50), summary("db-1", "1b", 200)}), newBatch([]appv1alpha1.PodSummary{summary("db-1", "1a", 100)}),
		newBatch([]appv1alpha1.PodSummary{summary("db-1", "1c", 10), summary("db-2", "old", 0)}),
	})
	NewWithT(t).Expect(pods).To(Equal([]checks.Pod{{Name: "db-0", UID: "0"}, {Name: "db-1", UID: "1c", First: time.Unix(100, 0)}, {Name: "db-2", UID: "2"}}))
}
