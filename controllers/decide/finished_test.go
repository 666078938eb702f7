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
	"cmp"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// podAt is a running pod; its Finished label and its condition Ready are there unless they are empty or nil.
func podAt(name, label string, readySince *time.Time, changes ...func(*corev1.Pod)) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Status: corev1.PodStatus{Phase: "Running"}}
	if label != "" {
		pod.Labels = map[string]string{"altershield.defense.antgroup.com/operate-finished": label}
	}
	if readySince != nil {
		pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(*readySince)}}
	}
	for _, change := range changes {
		change(&pod)
	}
	return pod
}

func evicted(pod *corev1.Pod) { pod.Status.Phase = corev1.PodFailed }

// indexed sets the label of a pod with the number in its name.
func indexed(pod *corev1.Pod) {
	pod.Labels = map[string]string{"apps.kubernetes.io/pod-index": strings.TrimPrefix(pod.Name, "a-")}
}

func ago(seconds int) *time.Time {
	at := now.Add(-time.Duration(seconds) * time.Second)
	return &at
}

func TestFinishedPods(t *testing.T) {
	batch := appv1alpha1.ChangePod{Spec: appv1alpha1.ChangePodSpec{PodInfos: []appv1alpha1.PodSummary{{Pod: "batched", FinishTimeUnix: 1795255100}}}}
	for _, row := range []struct {
		name          string
		pods          []corev1.Pod
		minReady      int32
		first, end    int64
		byLabel       []string
		byReady       []string
		readyFinished int64
		wait          time.Duration
	}{
		{name: "a labelled pod counts", pods: []corev1.Pod{podAt("a", "1795255190", nil)}, byLabel: []string{"a"}, byReady: []string{"a"}, readyFinished: 1795255190},
		{name: "a pod that is ready counts where pods are not labelled", pods: []corev1.Pod{podAt("a", "", ago(10))}, byReady: []string{"a"}, readyFinished: 1795255190},
		{name: "a pod in a batch counts, ready or not", pods: []corev1.Pod{podAt("batched", "", nil)}, byLabel: []string{"batched"}, byReady: []string{"batched"}, readyFinished: 1795255100},
		{name: "a pod in a batch that is ready again keeps its time", pods: []corev1.Pod{podAt("batched", "", ago(0))}, byLabel: []string{"batched"}, byReady: []string{"batched"}, readyFinished: 1795255100},
		{name: "a pod that is not ready doesn't count", pods: []corev1.Pod{podAt("a", "", nil)}},
		{name: "an evicted pod doesn't count", pods: []corev1.Pod{podAt("a", "1795255190", ago(10), evicted), podAt("batched", "", ago(10), evicted)}},
		{name: "a pod doesn't count before minReadySeconds", pods: []corev1.Pod{podAt("a", "", ago(10))}, minReady: 30, wait: 20 * time.Second},
		{name: "the wait is that of the next pod", pods: []corev1.Pod{podAt("a", "", ago(5)), podAt("b", "", ago(10)), podAt("c", "", ago(7))}, minReady: 30, wait: 20 * time.Second},
		{name: "a pod counts from the end of minReadySeconds", pods: []corev1.Pod{podAt("a", "", ago(40))}, minReady: 30, byReady: []string{"a"}, readyFinished: 1795255190},
		{name: "a labelled pod waits for nothing", pods: []corev1.Pod{podAt("a", "1795255190", ago(10))}, minReady: 30, byLabel: []string{"a"}, byReady: []string{"a"}, readyFinished: 1795255190},
		{name: "of numbered pods those count that are desired", first: 2, end: 4, byReady: []string{"a-3", "a-2", "b"}, readyFinished: 1795255180,
			pods: []corev1.Pod{podAt("a-4", "", ago(25), indexed), podAt("a-3", "", ago(20), indexed), podAt("a-2", "", ago(15), indexed),
				podAt("a-1", "", ago(10), indexed), podAt("b", "", ago(5))}},
		{name: "no numbered pod counts that leaves before its minReadySeconds", end: 2, minReady: 30, pods: []corev1.Pod{podAt("a-2", "", ago(10), indexed)}},
		{name: "pods come in the order in which they finished", pods: []corev1.Pod{podAt("b", "", ago(10)), podAt("c", "1795255180", nil), podAt("a", "", ago(10))},
			byLabel: []string{"c"}, byReady: []string{"c", "a", "b"}, readyFinished: 1795255180},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			names := func(labelled bool) (names []string, first int64, wait time.Duration) {
				rule := decide.FinishRule{Labelled: labelled, Of: decide.Rollout{MinReadySeconds: row.minReady, First: row.first, End: row.end}}
				finished, wait := decide.FinishedPods("sleep", row.pods, []appv1alpha1.ChangePod{batch}, rule, now)
				for _, pod := range finished {
					names, first = append(names, pod.Pod), cmp.Or(first, pod.FinishTimeUnix)
				}
				return names, first, wait
			}
			labelled, _, wait := names(true)
			g.Expect(labelled).To(Equal(row.byLabel))
			g.Expect(wait).To(BeZero(), "the event of the label comes")
			ready, first, wait := names(false)
			g.Expect(ready).To(Equal(row.byReady))
			g.Expect(first).To(Equal(row.readyFinished))
			g.Expect(wait).To(Equal(row.wait))
		})
	}
}

func TestFinishRuleMayFinish(t *testing.T) {
	for _, row := range []struct {
		name             string
		pod              corev1.Pod
		byLabel, byReady bool
	}{
		{"a labelled pod", podAt("a", "1795255190", nil), true, true},
		{"a ready pod", podAt("a", "", ago(10)), false, true},
		{"a pod that is not ready", podAt("a", "", nil), false, false},
		{"an evicted pod", podAt("a", "1795255190", ago(10), evicted), false, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			g.Expect(decide.FinishRule{Labelled: true}.MayFinish(&row.pod)).To(Equal(row.byLabel))
			g.Expect(decide.FinishRule{Of: decide.Rollout{MinReadySeconds: 30}}.MayFinish(&row.pod)).To(Equal(row.byReady))
		})
	}
}
