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
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// labelSetting is the setting by which finished pods are labelled, or not.
func labelSetting(enable bool) *appv1alpha1.OpsConfigInfo {
	return &appv1alpha1.OpsConfigInfo{
		ObjectMeta: metav1.ObjectMeta{Namespace: "altershieldoperator-system", Name: "finished-label"},
		Spec:       appv1alpha1.OpsConfigInfoSpec{Type: "isFinishedLabel", Enable: enable},
	}
}

// readyPod is the pod sleep-1-<number> without the Finished label, ready for this long.
func readyPod(p *plane, number int, since time.Duration) *corev1.Pod {
	pod := finishedPod(number)
	delete(pod.Labels, "altershield.defense.antgroup.com/operate-finished")
	pod.Status.Conditions = []corev1.PodCondition{{Type: "Ready", Status: "True", LastTransitionTime: metav1.NewTime(p.Clock.Now().Add(-since))}}
	return pod
}

// setReady changes the condition Ready of the pod sleep-1-<number>.
func (p *plane) setReady(number int, ready corev1.ConditionStatus) {
	p.t.Helper()
	g, pod := NewWithT(p.t), finishedPod(number)
	g.Expect(p.api.Get(p.t.Context(), client.ObjectKeyFromObject(pod), pod)).To(Succeed())
	pod.Status.Conditions[0].Status = ready
	g.Expect(p.api.Status().Update(p.t.Context(), pod)).To(Succeed())
}

// label switches the setting "finished-label".
func (p *plane) label(enable bool) {
	p.t.Helper()
	g, setting := NewWithT(p.t), labelSetting(enable)
	g.Expect(p.api.Get(p.t.Context(), client.ObjectKeyFromObject(setting), setting)).To(Succeed())
	setting.Spec.Enable = enable
	g.Expect(p.api.Update(p.t.Context(), setting)).To(Succeed())
}

// batched are the pods of the batches that the API server has.
func (p *plane) batched() []string {
	p.t.Helper()
	var list appv1alpha1.ChangePodList
	NewWithT(p.t).Expect(p.api.List(p.t.Context(), &list)).To(Succeed())
	var names []string
	for i := range list.Items {
		for _, pod := range list.Items[i].Spec.PodInfos {
			names = append(names, pod.Pod)
		}
	}
	return names
}

func TestReconcileBatchesReadyPodsWithoutLabels(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(2), labelSetting(false), recordAt(2, version, "Running", "Verifying")), nil)
	g.Expect(p.api.Create(t.Context(), readyPod(p, 1, time.Second))).To(Succeed())
	p.reconcile()
	g.Expect(p.batched()).To(HaveExactElements("sleep-1-1"))
	p.pass(1)

	p.setReady(1, corev1.ConditionFalse)
	g.Expect(p.api.Create(t.Context(), readyPod(p, 2, time.Second))).To(Succeed())
	p.reconcile()
	g.Expect(p.batched()).To(HaveExactElements("sleep-1-1", "sleep-1-2"))
	p.pass(2)
	p.reconcile()
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success"}), "a pod that was in a batch has finished, whatever it does now")
}

func TestReconcileLooksAgainAtTheEndOfMinReadySeconds(t *testing.T) {
	g := NewWithT(t)
	slow := func(deployment *appsv1.Deployment) { deployment.Spec.MinReadySeconds = 30 }
	p := newPlane(t, append(sleepOf(2, slow), labelSetting(false), recordAt(2, version, "Running", "Verifying")), nil)
	g.Expect(p.api.Create(t.Context(), readyPod(p, 1, 10*time.Second))).To(Succeed())
	g.Expect(p.reconcile().RequeueAfter).To(Equal(20 * time.Second))
	g.Expect(p.batched()).To(BeEmpty())
	g.Expect(p.api.Create(t.Context(), readyPod(p, 2, 30*time.Second))).To(Succeed())
	g.Expect(p.reconcile().RequeueAfter).To(Equal(20 * time.Second))
	g.Expect(p.batched()).To(HaveExactElements("sleep-1-2"))
}

func TestReconcileLosesNothingWhenTheSettingIsSwitched(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(sleepOf(3), labelSetting(true), finishedPod(1), recordAt(2, version, "Running", "Verifying")), nil)
	g.Expect(p.api.Create(t.Context(), readyPod(p, 2, time.Second))).To(Succeed())
	p.reconcile()
	g.Expect(p.batched()).To(HaveExactElements("sleep-1-1"), "by their label alone")
	p.pass(1)

	p.label(false)
	g.Expect(p.unsettledOnes(t.Context(), nil)).To(HaveLen(1), "the release is looked at")
	p.reconcile()
	g.Expect(p.batched()).To(HaveExactElements("sleep-1-1", "sleep-1-2"), "the labelled one still counts")
	p.pass(2)

	p.label(true)
	g.Expect(p.api.Create(t.Context(), finishedPod(3))).To(Succeed())
	p.reconcile()
	p.pass(3)
	p.reconcile()
	g.Expect(p.statuses()).To(Equal(map[string]string{version: "Success"}), "the one without a label still counts")
	g.Expect(p.unsettledOnes(t.Context(), nil)).To(BeEmpty())
}

func TestFinishChangedPassesPodsThatComeOrGo(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, []client.Object{labelSetting(false)}, nil)
	pod := readyPod(p, 1, 0)
	g.Expect(p.finishChanged().Create(event.CreateEvent{Object: pod})).To(BeTrue())
	g.Expect(p.finishChanged().Delete(event.DeleteEvent{Object: pod})).To(BeTrue())
	p.label(true)
	g.Expect(p.finishChanged().Create(event.CreateEvent{Object: pod})).To(BeFalse())
	g.Expect(p.finishChanged().Delete(event.DeleteEvent{Object: pod})).To(BeFalse())
}
