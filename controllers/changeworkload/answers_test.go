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
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/plugin"
)

func TestReconcileFailsAReleaseByACondition(t *testing.T) {
	g := NewWithT(t)
	record, policy := recordAt(2, version, "Success", "AllPodsPassed"), judged()
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "smoke", Type: "Condition", Condition: &appv1alpha1.ConditionCheck{
		APIVersion: "apps/v1", Kind: "DaemonSet", Name: "$workload-test", Type: "Passed",
	}}}
	record.Status.Verification = &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{
		{Policy: "default/own", UID: policy.UID, VerificationTerms: policy.Spec.VerificationTerms},
	}}
	record.Status.Checks = []appv1alpha1.CheckResult{{Policy: "default/own", Name: "smoke", Type: "Condition", Mode: "Observe", Verdict: "Pending"}}
	test := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: "sleep-test"},
		Status: appsv1.DaemonSetStatus{Conditions: []appsv1.DaemonSetCondition{
			{Type: "Passed", Status: corev1.ConditionFalse, Reason: "Failed", Message: "2 of 12 tests"},
		}},
	}
	p := newPlane(t, append(sleepOf(1), record, policy, finishedPod(1), passedBatch(1), test), nil)
	p.Asker = &plugin.Asker{Live: p.api, Looks: p.Looks}
	p.reconcile()
	g.Expect(<-p.woken).To(Equal(record.Name))
	p.reconcile()
	found := p.checkOf("sleep")
	g.Expect(found.Verdict).To(BeEquivalentTo("Fail"))
	g.Expect(found.Message).To(Equal("DaemonSet sleep-test: Passed is False, Failed: 2 of 12 tests"))
	g.Expect(found.Pods).To(HaveLen(1))
}

// phased has a policy ask a condition of the DaemonSet sleep-test in a phase.
func phased(phase appv1alpha1.CheckPhase) *appv1alpha1.VerificationPolicy {
	policy := judged()
	policy.Spec.Mode, policy.Spec.IntervalSeconds = "Enforce", 15
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{
		Name: "smoke", Type: "Condition", Phase: phase, TimeoutSeconds: 3600, OnTimeout: "Fail",
		Condition: &appv1alpha1.ConditionCheck{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "sleep-test", Type: "Passed"},
	}}
	return policy
}

// asking returns a plane with a DaemonSet sleep-test whose condition Passed is False, and a function that has it read anew.
func asking(t *testing.T, objects ...client.Object) (p *plane, again func(corev1.ConditionStatus)) {
	test := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sleep-test"}}
	test.Status.Conditions = []appsv1.DaemonSetCondition{{Type: "Passed", Status: "False"}}
	p = newPlane(t, append(objects, test), nil)
	p.Asker = &plugin.Asker{Live: p.api, Looks: p.Looks}
	clock := clocktesting.NewFakeClock(p.Clock.Now())
	p.Clock, p.Looks.Clock = clock, clock
	return p, func(status corev1.ConditionStatus) {
		t.Helper()
		test.Status.Conditions[0].Status = status
		NewWithT(t).Expect(p.api.Status().Update(t.Context(), test)).To(Succeed())
		clock.Step(15 * time.Second)
		p.reconcile()
		NewWithT(t).Expect(<-p.woken).To(HavePrefix("sleep--x--"))
		p.settle()
	}
}

func TestReconcileAsksBeforeTheFirstPod(t *testing.T) {
	g := NewWithT(t)
	p, again := asking(t, append(inSteps(), gatedPod("a", "gated"), phased("Before"))...)
	p.reconcile()
	g.Expect(p.paced()).To(Equal("0/2 True AwaitingCheck"))
	g.Expect(p.checks()).To(BeEmpty(), "no server checks the order")
	again("False")
	g.Expect(p.paced()).To(Equal("0/2 True AwaitingCheck"))
	g.Expect(p.running()).To(BeEmpty())
	held := p.checkOf("sleep")
	g.Expect(held.Message).To(Equal("DaemonSet sleep-test: Passed is False"))
	g.Expect(held.HeldUntil).NotTo(BeNil())
	again("True")
	g.Expect(p.paced()).To(Equal("1/2 True StepRunning"))
	g.Expect(p.running()).To(ConsistOf("a"))
	g.Expect(p.checkOf("sleep").Verdict).To(BeEquivalentTo("Pass"))
}

// A failed start is shown by a ChangePod, which is not of a server.
func TestReconcileShowsThatAReleaseMayNotStart(t *testing.T) {
	g := NewWithT(t)
	policy := phased("Before")
	policy.Spec.Checks[0].TimeoutSeconds = 20
	p, again := asking(t, append(inSteps(), gatedPod("a", "gated"), policy)...)
	p.reconcile()
	again("False")
	g.Expect(p.paced()).To(Equal("0/2 True AwaitingCheck"))
	again("False")
	again("False")
	g.Expect(p.paced()).To(Equal("0/2 True StepFailed"))
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}}))
	g.Expect(p.running()).To(BeEmpty())
	g.Expect(p.checkOf("sleep").Reason).To(Equal("HoldTimeout"))
}

func TestReconcileEndsTheWaitForACheckWhosePolicyIsDeleted(t *testing.T) {
	g := NewWithT(t)
	p, again := asking(t, append(inSteps(), gatedPod("a", "gated"), phased("Before"))...)
	p.reconcile()
	again("False")
	g.Expect(p.paced()).To(Equal("0/2 True AwaitingCheck"))
	g.Expect(p.api.DeleteAllOf(t.Context(), &appv1alpha1.VerificationPolicy{}, client.InNamespace("default"))).To(Succeed())
	p.settle()
	g.Expect(p.paced()).To(Equal("1/2 True StepRunning"))
}

func TestReconcileAsksAfterTheLastPod(t *testing.T) {
	for status, verified := range map[corev1.ConditionStatus]string{"True": "Success AllPodsPassed", "False": "Suspend PodsFailed"} {
		g := NewWithT(t)
		record := recordAt(2, version, "", "")
		record.Status.ObservedRelease = 0
		p, again := asking(t, append(sleepOf(1), record, finishedPod(1), passedBatch(1), phased("After"))...)
		p.reconcile() // once: a further one would read the condition as it is
		g.Expect(p.verified()).To(Equal("Running AwaitingCheck"))
		again("Unknown")
		g.Expect(p.verified()).To(Equal("Running AwaitingCheck"))
		again(status)
		g.Expect(p.verified()).To(Equal(verified))
	}
}
