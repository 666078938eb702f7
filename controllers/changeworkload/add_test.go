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

package changeworkload

import (
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload/daemonset"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func TestHasFailedIsTrueOfABatchWithABadVerdict(t *testing.T) {
	g := NewWithT(t)
	changePod := &appv1alpha1.ChangePod{}
	changePod.Spec.PodInfos = []appv1alpha1.PodSummary{{Pod: "web-1"}}
	g.Expect(hasFailed(changePod)).To(BeFalse(), "a batch without a verdict")
	changePod.Status.Status = "ExecuteDone"
	changePod.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "web-1", Verdict: "pass"}}
	g.Expect(hasFailed(changePod)).To(BeFalse(), "a batch that passed")
	changePod.Status.PodResults[0].Verdict = "unpass"
	g.Expect(hasFailed(changePod)).To(BeTrue())
	judged := &appv1alpha1.ChangePod{Status: appv1alpha1.ChangePodStatus{ServerResults: changePod.Status.PodResults}}
	g.Expect(hasFailed(judged)).To(BeTrue(), "a batch whose verdict a check judges")
	g.Expect(verdictChanged().Update(event.UpdateEvent{ObjectOld: &appv1alpha1.ChangePod{}, ObjectNew: judged})).To(BeTrue())
	g.Expect(verdictChanged().Update(event.UpdateEvent{ObjectOld: judged, ObjectNew: judged})).To(BeFalse())
}

// selecting is a kind whose workloads get other pods with each write.
type selecting struct{ daemonset.Kind }

func (selecting) PodsChanged(before, after client.Object) bool {
	return before.GetResourceVersion() != after.GetResourceVersion()
}

func TestReleaseChangedPassesWorkloadsThatHaveOtherPods(t *testing.T) {
	g := NewWithT(t)
	before, after := &appsv1.DaemonSet{}, &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "2"}}
	g.Expect(releaseChanged(selecting{}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeTrue())
	g.Expect(releaseChanged(selecting{}).Update(event.UpdateEvent{ObjectOld: after, ObjectNew: after})).To(BeFalse())
	g.Expect(releaseChanged(daemonset.Kind{}).Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(BeFalse())
}

func TestFinishChanged(t *testing.T) {
	ready := []corev1.PodCondition{{Type: "Ready", Status: "True"}}
	going := metav1.Now()
	labels := map[string]string{"altershield.defense.antgroup.com/operate-finished": "1795255200"}
	unfinished := &corev1.Pod{Status: corev1.PodStatus{Phase: "Running"}}
	finished := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: corev1.PodStatus{Phase: "Running"}}
	evicted := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: corev1.PodStatus{Phase: "Failed"}}
	leaving := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels, DeletionTimestamp: &going}, Status: corev1.PodStatus{Phase: "Running"}}
	isReady := &corev1.Pod{Status: corev1.PodStatus{Phase: "Running", Conditions: ready}}
	labelledLater := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Status: isReady.Status}
	for _, row := range []struct {
		name          string
		before, after *corev1.Pod
		passes        bool
		unlabelled    bool
	}{
		{"it finishes", unfinished, finished, true, true},
		{"it is evicted after it finished", finished, evicted, true, true},
		{"it is deleted after it finished", finished, leaving, true, true},
		{"it stays finished", finished, finished, false, false},
		{"it stays evicted", evicted, evicted, false, false},
		{"it is evicted before it finished", unfinished, evicted, false, false},
		{"it becomes ready", unfinished, isReady, false, true},
		{"it becomes unready", isReady, unfinished, false, true},
		{"it is labelled after it became ready", isReady, labelledLater, true, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			for label, passes := range map[bool]bool{true: row.passes, false: row.unlabelled} {
				changed := newPlane(t, []client.Object{labelSetting(label)}, nil).finishChanged()
				g.Expect(changed.Update(event.UpdateEvent{ObjectOld: row.before, ObjectNew: row.after})).To(Equal(passes), "labelled: %t", label)
			}
		})
	}
}

func TestReleaseChangedPassesTheStartAndTheEndOfARollout(t *testing.T) {
	g, changed := NewWithT(t), releaseChanged(deployment.Kind{})
	before, rolling, further := &appsv1.Deployment{}, &appsv1.Deployment{}, &appsv1.Deployment{}
	before.Status = appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 4}
	rolling.Status = appsv1.DeploymentStatus{Replicas: 4}
	further.Status = appsv1.DeploymentStatus{Replicas: 4, UpdatedReplicas: 3}
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: rolling})).To(BeTrue(), "a freeze may have to hold it")
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: rolling, ObjectNew: further})).To(BeFalse())
	g.Expect(changed.Update(event.UpdateEvent{ObjectOld: further, ObjectNew: before})).To(BeTrue())
}
