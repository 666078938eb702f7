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
	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestReconcileOpensTheCheckOfTheOrderBeforeTheBatches(t *testing.T) {
	g := NewWithT(t)
	p := newPlane(t, append(inSteps(), gatedPod("a", "gated")), nil)
	server := testkit.NewServer(t)
	p.Verifier = server.Client(t, p.Clock)
	paced := func() string {
		t.Helper()
		p.reconcile()
		var found appv1alpha1.ChangeWorkload
		g.Expect(p.api.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &found)).To(Succeed())
		return meta.FindStatusCondition(found.Status.Conditions, "Paced").Reason
	}
	g.Expect(paced()).To(Equal("AwaitingOrder"))
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}}))
	g.Expect(server.Calls()).To(HaveExactElements("submitChangeExecOrder"))
	p.numbers = newNumbers() // of another leader
	for _, phase := range []appv1alpha1.ChangePodPhase{"", "PreWait", "PreSubmitted"} {
		p.advance(phase)
		g.Expect(paced()).To(Equal("AwaitingOrder"))
		g.Expect(p.running()).To(BeEmpty())
	}
	g.Expect(p.checks()).To(HaveLen(1))

	p.advance("PostWait")
	g.Expect(paced()).To(Equal("StepRunning"))
	g.Expect(paced()).To(Equal("StepRunning"))
	g.Expect(p.running()).To(ConsistOf("a"))
	g.Expect(p.api.Create(t.Context(), finishedPod(7))).To(Succeed())
	p.reconcile()
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}, "2": {"sleep-1-7"}}))
}

func TestReconcileOpensNoSecondCheckOfAnOrderThatTheCacheDoesNotShow(t *testing.T) {
	g := NewWithT(t)
	cached := inSteps()
	check := passedBatch(1)
	check.Spec.Order, check.Spec.PodInfos, check.Status = true, []appv1alpha1.PodSummary{}, appv1alpha1.ChangePodStatus{}
	p := newPlane(t, append([]client.Object{check}, cached...), cached)
	p.Verifier = testkit.NewServer(t).Client(t, p.Clock)
	for range 3 {
		p.reconcile()
	}
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}}))
}

func TestReconcileChecksAnOrderAgainWhoseCheckAUserRemoved(t *testing.T) {
	g := NewWithT(t)
	p, server := orderedPlane(t)
	g.Expect(p.api.Delete(t.Context(), passedBatch(1))).To(Succeed())
	p.settle()
	g.Expect(p.checks()).To(BeEmpty(), "the cache may be behind")
	p.Clock = clocktesting.NewFakePassiveClock(p.Clock.Now().Add(cacheLag))
	p.settle()
	g.Expect(p.checks()).To(Equal(map[string][]string{"2": {"order"}}))
	g.Expect(p.paced()).To(Equal("0/2 True AwaitingOrder"))
	g.Expect(p.running()).To(BeEmpty())
	g.Expect(server.Calls()).To(BeEmpty())
}

func TestReconcileOfAReleaseThatLeavesItsStepsWhileItsOrderIsChecked(t *testing.T) {
	for _, row := range []struct {
		name  string
		leave func(*testing.T, *plane)
		paced string
	}{
		{"its policy is deleted", func(_ *testing.T, p *plane) { p.losePolicy() }, "0/2 False PolicyRemoved"},
		{"its mark is removed", func(t *testing.T, p *plane) {
			deployment := p.deployment()
			delete(deployment.Annotations, "altershield.defense.antgroup.com/paced")
			NewWithT(t).Expect(p.api.Update(t.Context(), deployment)).To(Succeed())
		}, "0/2 False Resumed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			p, _ := orderedPlane(t)
			row.leave(t, p)
			p.settle()
			g.Expect(p.paced()).To(Equal(row.paced))
			g.Expect(p.running()).To(ConsistOf("a", "b"))
			g.Expect(p.deployment().Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
			g.Expect(p.deployment().Spec.Paused).To(BeFalse())
			g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}}))
		})
	}
	t.Run("it is verified once its order passed", func(t *testing.T) {
		g := NewWithT(t)
		p, server := orderedPlane(t)
		p.losePolicy()
		p.settle()
		p.finish()
		p.settle()
		g.Expect(p.verified()).To(Equal("Running AwaitingOrder"))
		g.Expect(server.Calls()).To(BeEmpty())
		p.judge("PostFinish", "pass")
		p.settle()
		g.Expect(p.verified()).To(Equal("Success AllPodsPassed"))
		g.Expect(server.Calls()).To(HaveExactElements("finishChangeExecOrderAction"))
	})
}

func TestReconcileOfAReleaseThatIsSupersededWhileItsOrderIsChecked(t *testing.T) {
	g := NewWithT(t)
	p, server := orderedPlane(t)
	deployment := p.deployment()
	deployment.Labels["admission-webhook-altershield.antgroup.com/version"] = older
	deployment.Annotations["altershield.defense.antgroup.com/release"] = "3"
	g.Expect(p.api.Update(t.Context(), deployment)).To(Succeed())
	later := recordAt(3, older, "", "")
	later.Status = appv1alpha1.ChangeWorkloadStatus{}
	g.Expect(p.api.Create(t.Context(), later)).To(Succeed())
	p.settle()
	g.Expect(p.paced()).To(Equal("0/2 False Superseded"))
	g.Expect(p.verified()).To(Equal("Running Superseded"))
	g.Expect(p.found().Status.Order.State).To(BeEquivalentTo("CANCEL"))
	g.Expect(server.Calls()).To(HaveExactElements("finishChangeExecOrderAction"))
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}}))
	g.Expect(p.running()).To(BeEmpty())
}

func TestReconcileOfAnOrderThatFailsBeforeTheFirstStep(t *testing.T) {
	g := NewWithT(t)
	p, server := orderedPlane(t)
	p.judge("PreFailed", "unpass")
	p.settle()
	g.Expect(p.paced()).To(Equal("0/2 True StepFailed"))
	g.Expect(p.verified()).To(Equal("Suspend PodsFailed"))
	g.Expect(p.running()).To(BeEmpty())
	suspended := p.deployment()
	g.Expect(suspended.Labels).To(HaveKey("altershield.defense.antgroup.com/suspend"))
	g.Expect(suspended.Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/held", "2"))
	g.Expect(suspended.Spec.Paused).To(BeTrue())
	g.Expect(p.found().Status.DefenseCheckFailPods).To(HaveExactElements(
		appv1alpha1.PodSummary{Namespace: "default", Pod: "change order", Verdict: "unpass", Message: "budget: spent"}))

	p.judge("PreFailed", "pass")
	p.settle()
	g.Expect(p.paced()).To(Equal("1/2 True StepRunning"))
	g.Expect(p.running()).To(ConsistOf("a"))
	g.Expect(server.Calls()).To(BeEmpty())
}

func TestReconcileOfAnOrderThatTheServerRefuses(t *testing.T) {
	for _, row := range []struct {
		policy     string
		failClosed bool
		paced      string
		running    []string
		checks     int
	}{
		{"pass", false, "False OrderRefused", []string{"a", "b"}, 0},
		{"fail", true, "True AwaitingOrder", nil, 1},
	} {
		t.Run(row.policy, func(t *testing.T) {
			g := NewWithT(t)
			p := newPlane(t, append(inSteps(), gatedPod("a", "gated"), gatedPod("b", "gated")), nil)
			server := testkit.NewServer(t)
			server.Answers("submitChangeExecOrder", `{"success":false,"resultCode":"101","msg":"no such scene"}`)
			p.Verifier, p.FailClosed = server.Client(t, p.Clock), row.failClosed
			p.settle()
			g.Expect(p.paced()).To(HaveSuffix(row.paced))
			g.Expect(p.checks()).To(HaveLen(row.checks))
			g.Expect(p.running()).To(ConsistOf(row.running))
		})
	}
}

func TestReconcileChecksNoPodThatGetsNoTrafficBeforeItsOrderPassed(t *testing.T) {
	g := NewWithT(t)
	p, _ := orderedPlane(t, func(deployment *appsv1.Deployment) {
		deployment.Annotations["altershield.defense.antgroup.com/paced"] = `{"release":2,"policy":"default/web","lever":"Gates","traffic":"Before"}`
	})
	unready := gatedPod("c", "unready")
	unready.Labels["altershield.defense.antgroup.com/operate-finished"] = "1795250001"
	g.Expect(p.api.Create(t.Context(), unready)).To(Succeed())
	p.settle()
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}}))
	g.Expect(p.running()).To(BeEmpty())
	p.advance("PostWait")
	p.settle()
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}, "2": {"c"}}))
}

func TestReconcileResumesARolloutThatStartsPausedOnceItsOrderPassed(t *testing.T) {
	g := NewWithT(t)
	p, _ := orderedPlane(t, func(deployment *appsv1.Deployment) {
		deployment.Annotations["altershield.defense.antgroup.com/paced"] = `{"release":2,"policy":"default/web","lever":"Gates","traffic":"Before","rests":true}`
		deployment.Spec.Paused = true
	})
	p.settle()
	g.Expect(p.checks()).To(Equal(map[string][]string{"1": {"order"}}))
	g.Expect(p.deployment().Spec.Paused).To(BeTrue())
	p.advance("PostWait")
	p.settle()
	g.Expect(p.deployment().Spec.Paused).To(BeFalse())
	g.Expect(p.deployment().Annotations).To(HaveKeyWithValue("altershield.defense.antgroup.com/paced",
		`{"release":2,"policy":"default/web","lever":"Gates","traffic":"Before"}`))
}

func TestVerdictChangedPassesTheProgressOfAnOrder(t *testing.T) {
	for _, row := range []struct {
		name   string
		order  bool
		phase  appv1alpha1.ChangePodPhase
		passes bool
	}{
		{"an order goes on", true, "PostWait", true},
		{"an order stays", true, "PreSubmitted", false},
		{"a batch goes on", false, "PostWait", false},
		{"a batch is done", false, "ExecuteDone", true},
	} {
		t.Run(row.name, func(t *testing.T) {
			before := &appv1alpha1.ChangePod{Spec: appv1alpha1.ChangePodSpec{Order: row.order}}
			before.Status.Status = "PreSubmitted"
			after := before.DeepCopy()
			after.Status.Status = row.phase
			NewWithT(t).Expect(verdictChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(row.passes))
		})
	}
}
