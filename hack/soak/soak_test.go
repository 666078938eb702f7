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

package main

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/soak/history"
	"github.com/traas-stack/altershield-operator/hack/soak/invariant"
	"github.com/traas-stack/altershield-operator/hack/soak/plan"
)

func TestOutcomeIsOneOfAFewWords(t *testing.T) {
	g := NewWithT(t)
	denied := &apierrors.StatusError{ErrStatus: metav1.Status{Code: http.StatusForbidden, Message: `admission webhook "vdeployment.kb.io" denied the request: deployment sleep is suspended`}}
	g.Expect(outcome(nil)).To(Equal("done"))
	g.Expect(outcome(denied)).To(Equal("denied"))
	g.Expect(outcome(errNothing)).To(Equal("no object"))
	g.Expect(outcome(apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, "x"))).To(Equal("no object"))
	g.Expect(outcome(apierrors.NewAlreadyExists(schema.GroupResource{Resource: "pods"}, "x"))).To(Equal("conflict"))
	g.Expect(outcome(errors.New(`failed calling webhook "mdeployment.kb.io"`))).To(Equal("no webhook"))
	g.Expect(outcome(errors.New("something else"))).To(Equal("failed: something else"))
}

func TestChangeOfARepairBringsTheLabelWithItsTemplate(t *testing.T) {
	g := NewWithT(t)
	g.Expect(changeOf(plan.Action{Kind: plan.Repair, Template: plan.Template{Note: "7", Start: "never"}})).To(MatchJSON(`{
		"metadata": {"labels": {"altershield.defense.antgroup.com/ignored-suspend": "true"}},
		"spec": {"template": {"metadata": {
			"annotations": {"note": "7", "local.altershield.io/ready-after": null}, "labels": {"local.altershield.io/start": "never"}
		}}}
	}`))
}

func TestFailNewestFailsAPodOrAnOrder(t *testing.T) {
	g := NewWithT(t)
	order := appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart--x--1"}, Spec: appv1alpha1.ChangePodSpec{Order: true}}
	batch := appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "cart--x--2", CreationTimestamp: metav1.Unix(1800000000, 0)}}
	batch.Spec.PodInfos = []appv1alpha1.PodSummary{{Pod: "cart-a"}, {Pod: "cart-b"}}
	a := &actor{lab: &lab.Lab{Kube: fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(&order, &batch).WithStatusSubresource(&order).Build()}}
	failed := func(name string) (pods []string) {
		var found appv1alpha1.ChangePod
		g.Expect(a.lab.Kube.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, &found)).To(Succeed())
		for _, result := range found.Status.PodResults {
			pods = append(pods, result.Pod)
		}
		return pods
	}
	g.Expect(a.failNewest(t.Context(), []appv1alpha1.ChangePod{order, batch})).To(Succeed())
	g.Expect(failed("cart--x--2")).To(HaveExactElements("cart-a"))
	g.Expect(a.failNewest(t.Context(), []appv1alpha1.ChangePod{order})).To(Succeed())
	g.Expect(failed("cart--x--1")).To(HaveExactElements("change order"))
}

func TestDeleteOneDeletesTheObjectAtTheIndexModuloTheirNumber(t *testing.T) {
	g := NewWithT(t)
	batch := func(name string) *appv1alpha1.ChangePod {
		return &appv1alpha1.ChangePod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
	}
	a := &actor{lab: &lab.Lab{Kube: fake.NewClientBuilder().WithScheme(testkit.Scheme()).WithObjects(batch("a"), batch("b")).Build()}}
	var left appv1alpha1.ChangePodList
	g.Expect(a.deleteOne(t.Context(), &left, 3, client.InNamespace("shop"))).To(Succeed())
	g.Expect(a.lab.Kube.List(t.Context(), &left)).To(Succeed())
	g.Expect(left.Items).To(ConsistOf(HaveField("Name", "a")))
	g.Expect(a.deleteOne(t.Context(), &left, 0, client.InNamespace("bank"))).To(MatchError(errNothing))
}

func TestOutcomesCountReleasesByTheirEnd(t *testing.T) {
	g := NewWithT(t)
	record := func(status appv1alpha1.ChangeWorkloadPhase, reason string) history.Write {
		return history.Write{Workload: &history.Workload{UID: "cw", Release: 1, Observed: 1, Status: status, Verified: reason}}
	}
	template := func(user, template string) history.Write {
		return history.Write{User: user, Released: &history.Released{UID: "cart", Template: template}}
	}
	g.Expect(outcomes([]history.Write{
		record("Running", "Verifying"), template("admin", "a"), template("admin", "b"), template("operator", "a"), record("Suspend", "PodsFailed"),
	}, "operator")).To(Equal(map[string]int{"Suspend PodsFailed": 1, "(made by a rollback)": 1}))
}

func TestWatchRecoveredNamesAnOutageFromWhichTheOperatorIsNotBack(t *testing.T) {
	g, w := NewWithT(t), &watch{lame: map[int]lameness{}}
	back := w.outage()
	g.Expect(w.recovered().Violations).To(BeEmpty(), "it lasts")
	back()
	g.Expect(w.recovered().Violations).To(ConsistOf(ContainSubstring("after the time without it that began at ")))
	delete(w.lame, 0)
	g.Expect(w.recovered()).To(Equal(invariant.Result{Observations: 1}))
}

func TestReportNamesWhatWasViolated(t *testing.T) {
	g := NewWithT(t)
	var out strings.Builder
	r := report{
		actions: map[plan.Kind]map[string]int{"release": {"done": 2, "denied": 1}},
		results: []named{{"it holds", invariant.Result{Observations: 5, Violations: []string{"it doesn't"}}}},
		process: [][]invariant.Process{
			{{Name: "manager-1", Pid: 7, Leads: true, Goroutines: 280, Heap: 9 << 20}, {Name: "manager-2", Pid: 8, Goroutines: 90}},
			{{Name: "manager-1", Pid: 7, Leads: true, Goroutines: 281, Heap: 10 << 20}, {Name: "manager-2", Pid: 9, Goroutines: 91}},
		},
	}
	g.Expect(r.write(&out)).To(Succeed())
	g.Expect(r.violations()).To(Equal(1))
	g.Expect(out.String()).To(And(MatchRegexp(`release +3 +1 denied, 2 done`), MatchRegexp(`it holds +5 +1`),
		MatchRegexp(`manager-1, the leader: goroutines +280 +281`), MatchRegexp(`manager-2: goroutines +- +91`)))
}

func TestSettledOnceARunningReleaseNamesWhatItWaitsFor(t *testing.T) {
	g := NewWithT(t)
	const version = "c6c45d23c098bdf181853a85b60b5d74"
	deployment := &unstructured.Unstructured{Object: map[string]any{"kind": "Deployment", "metadata": map[string]any{
		"namespace": "shop", "name": "cart", "uid": "cart",
		"labels":      map[string]any{"admission-webhook-altershield.antgroup.com/version": version},
		"annotations": map[string]any{"altershield.defense.antgroup.com/release": "2"},
	}}}
	present := invariant.Present{Workload: deployment}
	settled := func(release int64, status appv1alpha1.ChangeWorkloadPhase, reason string, more ...metav1.Condition) string {
		controller := true
		present.Records = []appv1alpha1.ChangeWorkload{{
			ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "cart", Controller: &controller}}},
			Spec:       appv1alpha1.ChangeWorkloadSpec{Reversion: version, Release: release},
			Status: appv1alpha1.ChangeWorkloadStatus{ObservedRelease: release, Status: status,
				Conditions: append(more, metav1.Condition{Type: "Verified", Reason: reason})},
		}}
		return invariant.Settled(present)
	}
	g.Expect(settled(2, "Success", "AllPodsPassed")).To(BeEmpty())
	g.Expect(settled(2, "Suspend", "PodsFailed")).To(BeEmpty())
	g.Expect(settled(2, "Running", "DeploymentPaused")).To(BeEmpty())
	g.Expect(settled(2, "TimeOutPreThreshold", "ThresholdTimeout")).To(BeEmpty())
	g.Expect(settled(2, "Running", "Paced", metav1.Condition{Type: "Paced", Reason: "StepDeadline"})).To(BeEmpty())
	g.Expect(settled(2, "Running", "Paced", metav1.Condition{Type: "Paced", Reason: "AwaitingApproval"})).To(ContainSubstring("is Running: AwaitingApproval"))
	g.Expect(settled(2, "Running", "WebAppPaused")).To(ContainSubstring("is Running: WebAppPaused"), "no user pauses one")
	g.Expect(settled(2, "Running", "Frozen")).To(ContainSubstring("is Running: Frozen"))
	g.Expect(settled(2, "Running", "Verifying")).To(ContainSubstring("is Running: Verifying"))
	g.Expect(settled(1, "Success", "AllPodsPassed")).To(ContainSubstring("is at release 2, the spec of its ChangeWorkload at 1"))
	g.Expect(invariant.Settled(invariant.Present{Workload: deployment})).To(ContainSubstring("has no ChangeWorkload of release 2"))

	gated := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "cart-1", Labels: map[string]string{"app": "cart", "admission-webhook-altershield.antgroup.com/version": version}}}
	gated.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "altershield.defense.antgroup.com/verified"}}
	present.Pods = []corev1.Pod{gated}
	g.Expect(settled(2, "Success", "AllPodsPassed")).To(Equal("release 2 of Deployment shop/cart isn't paced, but pod cart-1 waits at its gate"))
	g.Expect(settled(2, "TimeOutPreThreshold", "ThresholdTimeout")).To(Equal("release 2 of Deployment shop/cart isn't paced, but pod cart-1 waits at its gate"))
	g.Expect(settled(2, "TimeOutPreThreshold", "ThresholdTimeout", metav1.Condition{Type: "Paced", Status: "True", Reason: "StepRunning"})).To(BeEmpty())
	g.Expect(settled(2, "Suspend", "PodsFailed")).To(BeEmpty())
	present.Pods, present.Paused = nil, true
	g.Expect(settled(2, "Success", "AllPodsPassed")).To(BeEmpty(), "a user paused it")
	_ = unstructured.SetNestedField(deployment.Object, "2", "metadata", "annotations", "altershield.defense.antgroup.com/held")
	g.Expect(settled(2, "Success", "AllPodsPassed")).To(Equal("release 2 of Deployment shop/cart is verified, but the operator holds its rollout"))
	g.Expect(settled(2, "Success", "NoReplicas")).To(BeEmpty(), "its steps go on once it has some")
}
