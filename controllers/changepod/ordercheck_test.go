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

package changepod

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	begins, finishes, polls = testkit.BeginOrder, testkit.FinishCheck, testkit.PollCheck
	noOrderStep             = `{"success":false,"resultCode":"101","msg":"illegal start notify request type","domain":null}`
	stageRuns               = `{"success":false,"resultCode":"103","msg":"402:unsupported operation in PRE_AOP_SUBMIT","domain":null}`
	stagePassed             = `{"success":true,"resultCode":"000","msg":null,"domain":{"finished":true,"verdict":{"verdict":"pass"}}}`
	stageFailed             = `{"success":true,"resultCode":"000","msg":null,"domain":{"finished":true,"verdict":{"verdict":"fail"}}}`
)

// orderBench is the check of an order on a fake API server, with a stub of AlterShield Server.
type orderBench struct {
	*Reconciler
	t      *testing.T
	check  *appv1alpha1.ChangePod
	clock  *clocktesting.FakePassiveClock
	server *testkit.Server
	// fails is what the next write of the status fails with.
	fails error
}

func newOrderBench(t *testing.T) *orderBench {
	t.Helper()
	g, b := NewWithT(t), &orderBench{t: t, server: testkit.NewServer(t)}
	b.Reconciler, b.check, b.clock = newAsked(t, nil, appv1alpha1.ChangePodSpec{Order: true, PodInfos: []appv1alpha1.PodSummary{}})
	b.Verifier = b.server.Client(t, b.clock)
	metrics, err := NewMetrics(prometheus.NewRegistry())
	g.Expect(err).NotTo(HaveOccurred())
	b.Metrics = metrics
	b.Client = interceptor.NewClient(b.Client.(client.WithWatch), interceptor.Funcs{
		SubResourcePatch: func(
			ctx context.Context, kube client.Client, part string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
		) error {
			if err := b.fails; err != nil {
				b.fails = nil
				return err
			}
			return kube.SubResource(part).Patch(ctx, object, patch, options...)
		},
	})
	b.record(func(record *appv1alpha1.ChangeWorkload) {
		record.Status.ObservedRelease, record.Status.Order = 1, &appv1alpha1.ChangeOrder{BizExecOrderID: "o-1", Release: 1, State: "Open"}
	})
	return b
}

// record changes the ChangeWorkload of the release.
func (b *orderBench) record(change func(*appv1alpha1.ChangeWorkload)) {
	b.t.Helper()
	g, record := NewWithT(b.t), &appv1alpha1.ChangeWorkload{}
	g.Expect(b.Live.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: "web--x--1"}, record)).To(Succeed())
	change(record)
	status := record.Status
	g.Expect(b.Client.Update(b.t.Context(), record)).To(Succeed())
	record.Status = status
	g.Expect(b.Client.Status().Update(b.t.Context(), record)).To(Succeed())
}

// hears applies a verdict as a callback does.
func (b *orderBench) hears(stage appv1alpha1.CheckStage, outcome verifier.Outcome) {
	b.t.Helper()
	verdict := verifier.Verdict{Outcome: outcome, Reason: "budget: spent"}
	status, applied := decide.ApplyVerdict(b.read(), verifier.Delivery{CheckID: "node-0", Stage: stage, Verdict: verdict}, b.clock.Now())
	NewWithT(b.t).Expect(applied).To(BeTrue())
	b.check.Status = status
	NewWithT(b.t).Expect(b.Client.Status().Update(b.t.Context(), b.check)).To(Succeed())
}

func (b *orderBench) read() *appv1alpha1.ChangePod {
	b.t.Helper()
	NewWithT(b.t).Expect(b.Live.Get(b.t.Context(), client.ObjectKeyFromObject(b.check), b.check)).To(Succeed())
	return b.check
}

// state is the status of the check with the reason of its condition Verified.
func (b *orderBench) state() string {
	b.t.Helper()
	status := b.read().Status
	words := []string{string(status.Status), status.Message}
	for _, condition := range status.Conditions {
		words = append(words, condition.Reason)
	}
	for _, result := range status.PodResults {
		words = append(words, result.Pod+"="+string(result.Verdict))
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

// restart replaces the reconciler by that of another leader, which begins now.
func (b *orderBench) restart() {
	b.Reconciler = &Reconciler{
		Client: b.Client, Live: b.Live, Clock: b.Clock, Verifier: b.Verifier, FailClosed: b.FailClosed, Recorder: b.Recorder, Metrics: b.Metrics,
	}
}

func TestReconcileOfAnOrder(t *testing.T) {
	type doing = func(*orderBench)
	type orderStep struct {
		after time.Duration
		do    doing
		calls []string
		state string
		wait  time.Duration
	}
	const window = 120 * time.Second
	answers := func(call, answer string) doing { return func(b *orderBench) { b.server.Answers(call, answer) } }
	hears := func(stage appv1alpha1.CheckStage, outcome verifier.Outcome) doing {
		return func(b *orderBench) { b.hears(stage, outcome) }
	}
	due := func(b *orderBench) {
		b.record(func(record *appv1alpha1.ChangeWorkload) {
			record.Status.Conditions = []metav1.Condition{
				{Type: "Verified", Status: "Unknown", Reason: "AwaitingOrder", LastTransitionTime: metav1.NewTime(b.clock.Now())},
			}
		})
	}
	order := func(state appv1alpha1.OrderState) doing {
		return func(b *orderBench) {
			b.record(func(record *appv1alpha1.ChangeWorkload) { record.Status.Order.State = state })
		}
	}
	overtaken := func(b *orderBench) {
		b.record(func(record *appv1alpha1.ChangeWorkload) {
			record.Spec.Release, record.Status.Order = 2, &appv1alpha1.ChangeOrder{BizExecOrderID: "o-2", Release: 2, State: "Open"}
		})
	}
	failClosed := func(b *orderBench) { b.FailClosed = true }
	submitted := orderStep{calls: []string{begins}, state: "PreSubmitted Verifying", wait: window}
	between := orderStep{do: hears("PRE", "pass"), state: "PostWait Verifying"}
	isDue := orderStep{do: due, state: "PostWait Verifying", wait: window}
	reported := orderStep{calls: []string{finishes}, state: "PostSubmitted Verifying", wait: window}
	for name, steps := range map[string][]orderStep{
		"it passes both checks": {submitted, between, {after: 24 * time.Hour, state: "PostWait Verifying"}, isDue, reported,
			{do: hears("POST", "pass"), state: "ExecuteDone PostFinish PodsPassed change order=pass"}},
		"it fails the first one": {submitted, {do: hears("PRE", "fail"), state: "ExecuteDone PreFailed PodsFailed change order=unpass"}},
		"it fails the second one": {submitted, between, isDue, reported,
			{do: hears("POST", "fail"), state: "ExecuteDone PostFinish PodsFailed change order=unpass"}},

		"the order isn't open yet": {{do: order("Pending"), state: "PreWait AwaitingOrder", wait: window},
			{do: order("Open"), calls: []string{begins}, state: "PreSubmitted Verifying", wait: window}},
		"the order isn't opened in time": {{do: order("Pending"), state: "PreWait AwaitingOrder", wait: window},
			{after: window, state: "ExecuteDone PreFailed ServerUnavailable"}},
		"the order is refused":             {{do: order("Refused"), state: "ExecuteDone PreFailed OrderRefused"}},
		"the scene has no step for orders": {{do: answers(begins, noOrderStep), calls: []string{begins}, state: "ExecuteDone PreFailed CheckRefused"}},
		"the scene has no step for orders, and the policy is fail": {{do: func(b *orderBench) { failClosed(b); b.server.Answers(begins, noOrderStep) },
			calls: []string{begins}, state: "ExecuteDone PreFailed PodsFailed change order=unpass"}},
		"the server is away, and comes back": {{do: answers(begins, testkit.Dropped), calls: []string{begins}, state: "PreWait ServerUnavailable", wait: 200 * time.Millisecond},
			{do: answers(begins, `{"success":true,"domain":{"nodeId":"node-0"}}`), calls: []string{begins}, state: "PreSubmitted Verifying", wait: window}},
		"the server stays away": {{do: answers(begins, testkit.Dropped), calls: []string{begins}, state: "PreWait ServerUnavailable", wait: 200 * time.Millisecond},
			{after: window, state: "ExecuteDone PreFailed ServerUnavailable"}},
		"no verdict comes before the rollout, and a poll finds none": {submitted,
			{after: window, calls: []string{polls}, state: "ExecuteDone PreTimeout CheckTimeout"}},
		"no verdict comes before the rollout, and the policy is fail": {{do: failClosed, calls: []string{begins}, state: "PreSubmitted Verifying", wait: window},
			{after: window, calls: []string{polls}, state: "ExecuteDone PreTimeout PodsFailed change order=unpass"}},
		"a poll finds the pass before the rollout": {submitted, {after: window, do: answers(polls, stagePassed), calls: []string{polls}, state: "PostWait Verifying"}, isDue,
			reported},
		"a polled fail is no verdict": {submitted,
			{after: window, do: answers(polls, stageFailed), calls: []string{polls}, state: "ExecuteDone PreTimeout CheckTimeout"}},
		"a poll finds the pass after the rollout": {submitted, between, isDue, reported,
			{after: window, do: answers(polls, stagePassed), calls: []string{polls}, state: "ExecuteDone PostFinish PodsPassed change order=pass"}},
		"no verdict comes after the rollout": {submitted, between, isDue, reported,
			{after: window, calls: []string{polls}, state: "ExecuteDone PostTimeout CheckTimeout"}},
		"the first check still runs at the server": {submitted, between, isDue,
			{do: answers(finishes, stageRuns), calls: []string{finishes}, state: "PostWait Verifying", wait: 200 * time.Millisecond},
			{do: answers(finishes, testkit.Taken), calls: []string{polls, finishes}, state: "PostSubmitted Verifying", wait: window}},
		"the report may have arrived": {submitted, between, isDue,
			{do: answers(finishes, testkit.Dropped), calls: []string{finishes}, state: "PostWait ServerUnavailable", wait: 200 * time.Millisecond},
			{do: answers(polls, stagePassed), calls: []string{polls}, state: "ExecuteDone PostFinish PodsPassed change order=pass"}},

		"another leader begins before the order is checked": {{do: (*orderBench).restart, calls: []string{begins}, state: "PreSubmitted Verifying", wait: window}},
		"another leader begins during the first check": {submitted, {after: time.Minute, do: (*orderBench).restart, state: "PreSubmitted Verifying", wait: time.Minute},
			between},
		"another leader begins between the steps": {submitted, between, {after: 24 * time.Hour, do: (*orderBench).restart, state: "PostWait Verifying"}, isDue,
			{calls: []string{polls}, state: "PostWait Verifying", wait: time.Second},
			{after: 5 * time.Second, calls: []string{polls, finishes}, state: "PostSubmitted Verifying", wait: window}},
		"a verdict arrives before the id of its check is saved": {submitted, {do: func(b *orderBench) {
			b.record(func(record *appv1alpha1.ChangeWorkload) {
				record.Status.EarlyVerdicts = []appv1alpha1.EarlyVerdict{
					{ChangePodID: "node-0", Stage: "PRE", Verdict: "unpass", Message: "spent", Time: metav1.NowMicro()},
				}
			})
		}, state: "ExecuteDone PreFailed PodsFailed change order=unpass"}},

		"another release takes over before the check":       {{do: overtaken, state: "ExecuteDone PreFailed ReleaseEnded"}},
		"another release takes over during the first check": {submitted, {do: overtaken, state: "ExecuteDone PreTimeout ReleaseEnded"}},
		"another release takes over between the steps": {submitted, between,
			{do: overtaken, state: "ExecuteDone PostFailed ReleaseEnded"}},
		"another release takes over during the second check": {submitted, between, isDue, reported,
			{do: overtaken, state: "ExecuteDone PostTimeout ReleaseEnded"}},
		"the order is closed between the steps": {submitted, between,
			{do: order("CANCEL"), state: "ExecuteDone PostFailed ReleaseEnded"}},
		"the server is taken away between the steps": {submitted, between,
			{do: func(b *orderBench) { b.Verifier = nil }, state: "ExecuteDone PostFailed CheckNotConfigured"}},
		"another verifier, which checks only batches, takes over between the steps": {submitted, between,
			{do: func(b *orderBench) { b.Verifier = &rules{} }, state: "ExecuteDone PostFailed CheckNotConfigured"}},
	} {
		t.Run(name, func(t *testing.T) {
			g, b := NewWithT(t), newOrderBench(t)
			for number, step := range steps {
				b.clock.SetTime(b.clock.Now().Add(step.after))
				if step.do != nil {
					step.do(b)
				}
				result, err := b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.check)})
				g.Expect(err).NotTo(HaveOccurred(), "step %d", number+1)
				g.Expect(b.server.Calls()).To(Equal(step.calls), "step %d", number+1)
				g.Expect(b.state()).To(Equal(step.state), "step %d", number+1)
				g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: step.wait}), "step %d", number+1)
			}
		})
	}
}

func TestReconcileBeginsNoSecondCheckOfAnOrderThatCouldNotBeSaved(t *testing.T) {
	g, b := NewWithT(t), newOrderBench(t)
	b.fails = errors.New("the API server is restarting")
	_, err := b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.check)})
	g.Expect(err).To(MatchError(ContainSubstring("the API server is restarting")))
	g.Expect(b.server.Calls()).To(HaveExactElements(begins))
	_, err = b.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(b.check)})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.server.Calls()).To(BeEmpty())
	g.Expect(b.read().Status.ChangePodID).To(Equal("node-0"))
}
