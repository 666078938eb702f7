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
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// checks returns the ChangePods on the API server, by their numbers: with their pods, or as "order".
func (p *plane) checks() map[string][]string {
	p.t.Helper()
	var list appv1alpha1.ChangePodList
	NewWithT(p.t).Expect(p.api.List(p.t.Context(), &list)).To(Succeed())
	checks := map[string][]string{}
	for _, changePod := range list.Items {
		number := changePod.Name[len("sleep--x--"+version+"--x--"):]
		if changePod.Spec.Order {
			checks[number] = []string{"order"}
		}
		for _, pod := range changePod.Spec.PodInfos {
			checks[number] = append(checks[number], pod.Pod)
		}
	}
	return checks
}

// advance writes the phase of the check of the order.
func (p *plane) advance(phase appv1alpha1.ChangePodPhase) {
	p.t.Helper()
	var check appv1alpha1.ChangePod
	g := NewWithT(p.t)
	g.Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version + "--x--1"}, &check)).To(Succeed())
	check.Status.Status = phase
	g.Expect(p.api.Status().Update(p.t.Context(), &check)).To(Succeed())
}

// losePolicy deletes the ReleasePolicy, and lets the time pass for which its release waits for another one.
func (p *plane) losePolicy() {
	p.t.Helper()
	NewWithT(p.t).Expect(p.api.DeleteAllOf(p.t.Context(), &appv1alpha1.ReleasePolicy{}, client.InNamespace("default"))).To(Succeed())
	p.settle()
	p.Clock = clocktesting.NewFakePassiveClock(p.Clock.Now().Add(30 * time.Second))
}

// inSteps is the Deployment sleep, whose second release has just begun and is rolled out in steps, with its surroundings.
func inSteps() []client.Object {
	policy := &appv1alpha1.ReleasePolicy{}
	policy.Namespace, policy.Name = "default", "web"
	policy.Spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
	objects := pacedSleep(func(deployment *appsv1.Deployment) { deployment.Spec.Strategy.Type = "RollingUpdate" })
	objects[0].SetLabels(map[string]string{"admission-webhook-altershield": "enabled"})
	record := recordAt(2, version, "", "")
	record.Status = appv1alpha1.ChangeWorkloadStatus{}
	return append(objects, policy, record, testkit.ControlledKind("deployments.apps", "Enforce"))
}

// orderedPlane is the Deployment sleep of two pods, whose second release has just begun and waits for its order.
func orderedPlane(t *testing.T, changes ...func(*appsv1.Deployment)) (*plane, *testkit.Server) {
	t.Helper()
	objects := inSteps()
	deployment := objects[1].(*appsv1.Deployment)
	deployment.Spec.Replicas = ptr.To[int32](2)
	deployment.Status.Replicas, deployment.Status.UpdatedReplicas = 3, 1
	for _, change := range changes {
		change(deployment)
	}
	p := newPlane(t, append(objects, gatedPod("a", "gated"), gatedPod("b", "gated")), nil)
	server := testkit.NewServer(t)
	p.Verifier = server.Client(t, p.Clock)
	p.reconcile()
	p.advance("PreSubmitted")
	g := NewWithT(t)
	g.Expect(p.paced()).To(Equal("0/2 True AwaitingOrder"))
	g.Expect(p.running()).To(BeEmpty())
	g.Expect(server.Calls()).To(HaveExactElements("submitChangeExecOrder"))
	return p, server
}

// settle reconciles until nothing changes any more.
func (p *plane) settle() {
	p.t.Helper()
	for range 5 {
		p.reconcile()
	}
}

// found returns the ChangeWorkload of the present release.
func (p *plane) found() *appv1alpha1.ChangeWorkload {
	p.t.Helper()
	var found appv1alpha1.ChangeWorkload
	NewWithT(p.t).Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version}, &found)).To(Succeed())
	return &found
}

// paced returns the step of the release, and why it waits.
func (p *plane) paced() string {
	p.t.Helper()
	record := p.found()
	paced := meta.FindStatusCondition(record.Status.Conditions, "Paced")
	return fmt.Sprintf("%s %s %s", record.Status.Pace.Progress, paced.Status, paced.Reason)
}

// verified returns the status of the release, and its reason.
func (p *plane) verified() string {
	p.t.Helper()
	record := p.found()
	return fmt.Sprintf("%s %s", record.Status.Status, meta.FindStatusCondition(record.Status.Conditions, "Verified").Reason)
}

// finish has both pods of the release run and pass their checks.
func (p *plane) finish() {
	p.t.Helper()
	g := NewWithT(p.t)
	for i, name := range []string{"a", "b"} {
		g.Expect(p.api.Delete(p.t.Context(), gatedPod(name, "gated"))).To(Succeed())
		g.Expect(p.api.Create(p.t.Context(), finishedPod(i+2))).To(Succeed())
		g.Expect(p.api.Create(p.t.Context(), passedBatch(i+2))).To(Succeed())
	}
}

// judge ends the check of the order with a verdict on it.
func (p *plane) judge(message string, verdict appv1alpha1.Verdict) {
	p.t.Helper()
	var check appv1alpha1.ChangePod
	g := NewWithT(p.t)
	g.Expect(p.api.Get(p.t.Context(), client.ObjectKey{Namespace: "default", Name: "sleep--x--" + version + "--x--1"}, &check)).To(Succeed())
	check.Status.Status, check.Status.Message = "ExecuteDone", message
	check.Status.PodResults = []appv1alpha1.PodSummary{{Pod: "change order", Verdict: verdict, Message: "budget: spent"}}
	g.Expect(p.api.Status().Update(p.t.Context(), &check)).To(Succeed())
}
