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

package changepod_test

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

// The first steps of most stories.
var (
	submitted = step{calls: []string{testkit.BeginCheck}, state: "PreSubmitted  Verifying", wait: 120 * time.Second}
	reported  = step{do: hears("PRE", true), calls: []string{testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second}
	verified  = step{do: hears("POST", true), state: "ExecuteDone PostFinish PodsPassed pass+pass"}
)

func TestReconcile(t *testing.T) {
	for _, story := range []struct {
		name  string
		order appv1alpha1.OrderState
		with  []func(*bench)
		steps []step
		// event is the start of the only Event; empty: there is none.
		event string
	}{
		{name: "a batch passes both checks", order: "Open", steps: []step{submitted, reported, verified, {state: "ExecuteDone PostFinish PodsPassed pass+pass"}}},
		{name: "the check before the batch fails", order: "Open", steps: []step{submitted,
			{do: hears("PRE", false), state: "ExecuteDone PreFailed PodsFailed unpass+unpass"}}},
		{name: "the check after the batch fails", order: "Open", steps: []step{submitted, reported,
			{do: hears("POST", false), state: "ExecuteDone PostFinish PodsFailed unpass+unpass"}}},

		{name: "there is no verifier", with: []func(*bench){unconfigured}, steps: []step{{state: "ExecuteDone PreFailed CheckNotConfigured"}}},
		{name: "the checks are switched off", order: "Open", with: []func(*bench){switchedOff}, steps: []step{{state: "ExecuteDone PreFailed CheckSwitchedOff"}}},
		{name: "the checks are switched off between the two", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); switchedOff(b) }, state: "ExecuteDone PostFailed CheckSwitchedOff"}}},
		{name: "the server is taken away before the first verdict", order: "Open", steps: []step{submitted,
			{do: unconfigured, state: "ExecuteDone PreTimeout CheckNotConfigured"}}},
		{name: "the server is taken away before the second verdict", order: "Open", steps: []step{submitted, reported,
			{do: unconfigured, state: "ExecuteDone PostTimeout CheckNotConfigured"}}},

		{name: "a batch waits for the order of its release", order: "Pending", steps: []step{
			{state: "PreWait  AwaitingOrder", wait: 120 * time.Second},
			{after: 30 * time.Second, state: "PreWait  AwaitingOrder", wait: 90 * time.Second},
			{do: orderIs("Open"), calls: []string{testkit.BeginCheck}, state: "PreSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "a release whose order isn't known yet", steps: []step{{state: "  Verifying", wait: 120 * time.Second}}},
		{name: "the order doesn't open in time", order: "Pending", event: "Warning BatchNotChecked", steps: []step{
			{state: "PreWait  AwaitingOrder", wait: 120 * time.Second},
			{after: 120 * time.Second, state: "ExecuteDone PreFailed ServerUnavailable"}}},
		{name: "a leader that begins late gives the order its time", order: "Pending", steps: []step{
			{state: "PreWait  AwaitingOrder", wait: 120 * time.Second},
			{after: 120 * time.Second, do: (*bench).restart, state: "PreWait  AwaitingOrder", wait: 5 * time.Second}}},
		{name: "the order is refused", order: "Refused", event: "Warning BatchNotChecked", steps: []step{{state: "ExecuteDone PreFailed OrderRefused"}}},
		{name: "the order is closed before the check", order: "CANCEL", steps: []step{{state: "ExecuteDone PreFailed ReleaseEnded"}}},

		{name: "the server is down at the start of the check", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, testkit.Dropped)}, steps: []step{
			{calls: []string{testkit.BeginCheck}, state: "PreWait  ServerUnavailable", wait: 200 * time.Millisecond},
			{calls: []string{testkit.BeginCheck}, state: "PreWait  ServerUnavailable", wait: 400 * time.Millisecond},
			{do: answers(testkit.BeginCheck, begun), calls: []string{testkit.BeginCheck}, state: "PreSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "the server answers 500", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, "500")}, steps: []step{waits}},
		{name: "the server answers with an empty body", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, "200")}, steps: []step{waits}},
		{name: "the server answers with a page of HTML", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, "<html></html>")}, steps: []step{waits}},
		{name: "the server is overloaded", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, busy)}, steps: []step{waits}},
		{name: "the server has an error", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, broken)}, steps: []step{waits}},
		{name: "the token is wrong", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, unknown)}, steps: []step{
			{calls: []string{testkit.BeginCheck}, state: "PreWait  Unauthorized", wait: 200 * time.Millisecond}}},
		{name: "the server refuses the check", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, refused)}, event: "Warning BatchNotChecked",
			steps: []step{{calls: []string{testkit.BeginCheck}, state: "ExecuteDone PreFailed CheckRefused"}, {state: "ExecuteDone PreFailed CheckRefused"}}},
		{name: "the batch is too long for the server", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, tooLong)}, event: "Warning BatchNotChecked",
			steps: []step{{calls: []string{testkit.BeginCheck}, state: "ExecuteDone PreFailed CheckRefused"}}},
		{name: "the server refuses the check, and the policy is fail", order: "Open", with: []func(*bench){failClosed, answers(testkit.BeginCheck, refused)},
			event: "Warning BatchNotChecked", steps: []step{{calls: []string{testkit.BeginCheck}, state: "ExecuteDone PreFailed PodsFailed unpass+unpass"}}},
		{name: "the server is down until the deadline", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, testkit.Dropped)}, event: "Warning BatchNotChecked",
			steps: []step{waits, {after: 120 * time.Second, state: "ExecuteDone PreFailed ServerUnavailable"}}},
		{name: "a leader that begins after the deadline asks once", order: "Open", with: []func(*bench){answers(testkit.BeginCheck, testkit.Dropped)},
			steps: []step{waits, {after: 120 * time.Second, do: func(b *bench) { b.restart(); b.server.Answers(testkit.BeginCheck, begun) },
				calls: []string{testkit.BeginCheck}, state: "PreSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "a leader that begins after the deadline gives the server its time, once", order: "Open", event: "Warning BatchNotChecked", steps: []step{
			{after: time.Hour, do: answers(testkit.BeginCheck, testkit.Dropped), calls: []string{testkit.BeginCheck}, state: "PreWait  ServerUnavailable", wait: 200 * time.Millisecond},
			{after: 119 * time.Second, calls: []string{testkit.BeginCheck}, state: "PreWait  ServerUnavailable", wait: 400 * time.Millisecond},
			{after: time.Second, do: (*bench).restart, calls: []string{testkit.BeginCheck}, state: "PreWait  ServerUnavailable", wait: 200 * time.Millisecond},
			{after: 200 * time.Millisecond, state: "ExecuteDone PreFailed ServerUnavailable"}}},
		{name: "a leader that begins after the deadline of the report gives the server its time", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.clock.SetTime(b.clock.Now().Add(time.Hour)); b.restart() },
				calls: []string{testkit.PollCheck}, state: "PostWait  Verifying", wait: time.Second},
			{after: 5 * time.Second, do: answers(testkit.FinishCheck, testkit.Dropped), calls: []string{testkit.PollCheck, testkit.FinishCheck},
				state: "PostWait  ServerUnavailable", wait: 200 * time.Millisecond},
			{after: 119 * time.Second, do: answers(testkit.FinishCheck, testkit.Taken), calls: []string{testkit.PollCheck, testkit.FinishCheck},
				state: "PostSubmitted  Verifying", wait: 120 * time.Second}}},

		{name: "the verdict before the batch is lost, and a poll finds it", order: "Open", steps: []step{submitted,
			{after: 119 * time.Second, state: "PreSubmitted  Verifying", wait: time.Second},
			{after: time.Second, do: answers(testkit.PollCheck, passed), calls: []string{testkit.PollCheck}, state: "PostWait  Verifying", wait: 120 * time.Second},
			{calls: []string{testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "no verdict before the batch", order: "Open", event: "Warning BatchNotChecked", steps: []step{submitted,
			{after: 120 * time.Second, calls: []string{testkit.PollCheck}, state: "ExecuteDone PreTimeout CheckTimeout"}}},
		{name: "a bad verdict before the batch comes after its deadline", order: "Open", event: "Warning BatchNotChecked", steps: []step{submitted,
			{after: 120 * time.Second, calls: []string{testkit.PollCheck}, state: "ExecuteDone PreTimeout CheckTimeout"},
			{do: hears("PRE", false), state: "ExecuteDone PreFailed PodsFailed unpass+unpass"}}},
		{name: "the verdict after the batch is lost, and a poll finds it", order: "Open", steps: []step{submitted, reported,
			{after: 120 * time.Second, do: answers(testkit.PollCheck, passed), calls: []string{testkit.PollCheck}, state: "ExecuteDone PostFinish PodsPassed pass+pass"}}},
		{name: "a polled fail is no verdict: the server also answers it for running checks", order: "Open", event: "Warning BatchNotChecked", steps: []step{submitted, reported,
			{after: 120 * time.Second, do: answers(testkit.PollCheck, failed), calls: []string{testkit.PollCheck}, state: "ExecuteDone PostTimeout CheckTimeout"}}},
		{name: "no verdict after the batch, and the policy is fail", order: "Open", with: []func(*bench){failClosed}, event: "Warning BatchNotChecked", steps: []step{
			submitted, reported,
			{after: 120 * time.Second, do: answers(testkit.PollCheck, testkit.Dropped), calls: []string{testkit.PollCheck}, state: "ExecuteDone PostTimeout PodsFailed unpass+unpass"},
			{do: hears("POST", true), state: "ExecuteDone PostFinish PodsPassed pass+pass"}}},
		{name: "a bad verdict after the batch comes after its deadline", order: "Open", event: "Warning BatchNotChecked", steps: []step{submitted, reported,
			{after: 120 * time.Second, calls: []string{testkit.PollCheck}, state: "ExecuteDone PostTimeout CheckTimeout"},
			{do: hears("POST", false), state: "ExecuteDone PostFinish PodsFailed unpass+unpass"}}},

		{name: "the server is down when the batch is reported", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.server.Answers(testkit.FinishCheck, testkit.Dropped) },
				calls: []string{testkit.FinishCheck}, state: "PostWait  ServerUnavailable", wait: 200 * time.Millisecond},
			{do: answers(testkit.FinishCheck, testkit.Taken), calls: []string{testkit.PollCheck, testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "the report arrived, and only its answer was lost: it is not sent again", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.server.Answers(testkit.FinishCheck, testkit.Dropped) },
				calls: []string{testkit.FinishCheck}, state: "PostWait  ServerUnavailable", wait: 200 * time.Millisecond},
			{do: answers(testkit.PollCheck, passed), calls: []string{testkit.PollCheck}, state: "ExecuteDone PostFinish PodsPassed pass+pass"}}},
		{name: "the leader before may have reported the batch", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.clock.SetTime(b.clock.Now().Add(time.Minute)); b.restart() },
				calls: []string{testkit.PollCheck}, state: "PostWait  Verifying", wait: time.Second},
			{after: 5 * time.Second, calls: []string{testkit.PollCheck, testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "the leader before reported the batch, and its bad verdict arrives late", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.clock.SetTime(b.clock.Now().Add(time.Minute)); b.restart() },
				calls: []string{testkit.PollCheck}, state: "PostWait  Verifying", wait: time.Second},
			{after: time.Second, do: hears("POST", false), state: "ExecuteDone PostFinish PodsFailed unpass+unpass"}}},
		{name: "the leader before reported the batch, and its good verdict is found", order: "Open", steps: []step{submitted,
			{do: func(b *bench) {
				b.hears("PRE", true, "")
				b.clock.SetTime(b.clock.Now().Add(time.Minute))
				b.restart()
				b.server.Answers(testkit.PollCheck, passed)
			}, calls: []string{testkit.PollCheck}, state: "ExecuteDone PostFinish PodsPassed pass+pass"}}},
		{name: "the report was due long before the leader began, and a poll fails", order: "Open", steps: []step{submitted,
			{do: func(b *bench) {
				b.hears("PRE", true, "")
				b.clock.SetTime(b.clock.Now().Add(time.Hour))
				b.restart()
				b.server.Answers(testkit.PollCheck, testkit.Dropped)
			}, calls: []string{testkit.PollCheck}, state: "PostWait  Verifying", wait: time.Second},
			{after: 5 * time.Second, do: answers(testkit.PollCheck, failed), calls: []string{testkit.PollCheck, testkit.FinishCheck},
				state: "PostSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "the report was due long before the leader began", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.clock.SetTime(b.clock.Now().Add(time.Hour)); b.restart() },
				calls: []string{testkit.PollCheck}, state: "PostWait  Verifying", wait: time.Second},
			{after: 5 * time.Second, calls: []string{testkit.PollCheck, testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second}}},
		{name: "the check before the batch still runs at the server", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.server.Answers(testkit.FinishCheck, running) },
				calls: []string{testkit.FinishCheck}, state: "PostWait  Verifying", wait: 200 * time.Millisecond}}},
		{name: "the report is refused", order: "Open", event: "Warning BatchNotChecked", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.server.Answers(testkit.FinishCheck, refused) },
				calls: []string{testkit.FinishCheck}, state: "ExecuteDone PostFailed CheckRefused"}}},
		{name: "the batch can't be reported in time", order: "Open", event: "Warning BatchNotChecked", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); b.server.Answers(testkit.FinishCheck, busy) },
				calls: []string{testkit.FinishCheck}, state: "PostWait  ServerUnavailable", wait: 200 * time.Millisecond},
			{after: 120 * time.Second, calls: []string{testkit.PollCheck}, state: "ExecuteDone PostFailed ServerUnavailable"}}},

		{name: "a verdict that came before its check was known", order: "Open", steps: []step{submitted, reported,
			{do: func(b *bench) { b.keeps("POST", "unpass") }, state: "ExecuteDone PostFinish PodsFailed unpass+unpass"}}},
		{name: "a bad verdict is kept that came after the deadline", order: "Open", event: "Warning BatchNotChecked", steps: []step{submitted, reported,
			{after: 120 * time.Second, calls: []string{testkit.PollCheck}, state: "ExecuteDone PostTimeout CheckTimeout"},
			{do: func(b *bench) { b.keeps("POST", "unpass") }, state: "ExecuteDone PostFinish PodsFailed unpass+unpass"},
			{do: byHand(), state: "ExecuteDone PostFinish PodsPassed"}}},
		{name: "both verdicts came before their check was known", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.keeps("PRE", "pass") }, state: "PostWait  Verifying"},
			{calls: []string{testkit.FinishCheck}, state: "PostSubmitted  Verifying", wait: 120 * time.Second},
			{do: func(b *bench) { b.keeps("POST", "pass") }, state: "ExecuteDone PostFinish PodsPassed pass+pass"}}},

		{name: "another release took over before the check", order: "Open", steps: []step{
			{do: overtaken, state: "ExecuteDone PreFailed ReleaseEnded"}}},
		{name: "another release took over during the check before the batch", order: "Open", steps: []step{submitted,
			{do: overtaken, state: "ExecuteDone PreTimeout ReleaseEnded"}}},
		{name: "another release took over before the report", order: "Open", steps: []step{submitted,
			{do: func(b *bench) { b.hears("PRE", true, ""); overtaken(b) }, state: "ExecuteDone PostFailed ReleaseEnded"}}},
		{name: "another release took over during the check after the batch", order: "Open", steps: []step{submitted, reported,
			{do: overtaken, state: "ExecuteDone PostTimeout ReleaseEnded"}}},

		{name: "a pod is failed by hand and passed again", order: "Open", steps: []step{submitted, reported, verified,
			{do: byHand("sleep-1"), state: "ExecuteDone PostFinish PodsFailed unpass"},
			{do: byHand(), state: "ExecuteDone PostFinish PodsPassed"}}},
		{name: "a pod that isn't in the batch is failed by hand", order: "Open", steps: []step{submitted, reported, verified,
			{do: byHand("sleep-3"), state: "ExecuteDone PostFinish UnknownPods unpass"}}},
		{name: "a pod that is failed by hand during the check stays failed", order: "Open", steps: []step{submitted,
			{do: byHand("sleep-1"), state: "PreSubmitted  PodsFailed unpass", wait: 120 * time.Second},
			{do: hears("PRE", true), calls: []string{testkit.FinishCheck}, state: "PostSubmitted  PodsFailed unpass", wait: 120 * time.Second},
			{do: hears("POST", true), state: "ExecuteDone PostFinish PodsFailed unpass+pass"}}},
		{name: "a phase that is passed through was written by hand", order: "Open", steps: []step{
			{do: func(b *bench) { b.write(func(status *appv1alpha1.ChangePodStatus) { status.Status = "PreTimeout" }) }, state: "ExecuteDone PreTimeout CheckWithdrawn"}},
			event: "Warning BatchNotChecked"},
	} {
		t.Run(story.name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			b := newBench(t, story.order, story.with...)
			for number, step := range story.steps {
				b.clock.SetTime(b.clock.Now().Add(step.after))
				if step.do != nil {
					step.do(b)
				}
				result, err := b.reconcile()
				g.Expect(err).NotTo(HaveOccurred(), "step %d", number+1)
				g.Expect(b.server.Calls()).To(Equal(step.calls), "step %d", number+1)
				g.Expect(b.state()).To(Equal(step.state), "step %d", number+1)
				g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: step.wait}), "step %d", number+1)
			}
			if story.event == "" {
				g.Expect(b.events()).To(BeEmpty())
			} else {
				g.Expect(b.events()).To(ConsistOf(HavePrefix(story.event)))
			}
		})
	}
}

// waits is a first call that fails.
var waits = step{calls: []string{testkit.BeginCheck}, state: "PreWait  ServerUnavailable", wait: 200 * time.Millisecond}

const begun = `{"success":true,"resultCode":"000","msg":null,"domain":{"nodeId":"node-1","skipCheck":false,"url":"node-1"}}`

// overtaken sets the record to the next release, whose order is not open yet.
func overtaken(b *bench) {
	b.t.Helper()
	g := NewWithT(b.t)
	b.record.Spec.Release = 2
	g.Expect(b.kube.Update(b.t.Context(), b.record)).To(Succeed())
	before := b.record.DeepCopy()
	b.record.Status.Order = &appv1alpha1.ChangeOrder{BizExecOrderID: "default/" + b.record.Namespace + "/sleep/0123456789/2", Release: 2, State: "Pending"}
	g.Expect(b.kube.Status().Patch(b.t.Context(), b.record, client.MergeFrom(before))).To(Succeed())
}

// byHand fails these pods, and no other.
func byHand(pods ...string) func(*bench) {
	return func(b *bench) {
		b.write(func(status *appv1alpha1.ChangePodStatus) {
			status.PodResults = nil
			for _, pod := range pods {
				status.PodResults = append(status.PodResults, appv1alpha1.PodSummary{Pod: pod, Verdict: "unpass", Message: "find error"})
			}
		})
	}
}

func TestReconcileBeginsNoSecondCheckWhereOnlyTheFirstOneCouldNotBeSaved(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "Open")
	b.patchFails = errors.New("the API server is restarting")
	_, err := b.reconcile()
	g.Expect(err).To(MatchError("writing the status of ChangePod " + b.batch.String() + ": the API server is restarting"))
	g.Expect(b.server.Calls()).To(Equal([]string{testkit.BeginCheck}))
	_, err = b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.server.Calls()).To(BeEmpty())
	g.Expect(b.read().Status.ChangePodID).To(Equal("node-1"))
}

func TestReconcileBeginsNoSecondCheckWhereTheBatchCouldNotBeReadAfterAConflict(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "Open")
	b.meanwhile = func() {
		b.write(func(status *appv1alpha1.ChangePodStatus) { status.UpdateTimeUnix++ })
		b.readFails = errors.New("the API server is restarting")
	}
	_, err := b.reconcile()
	g.Expect(err).To(MatchError("writing the status of ChangePod " + b.batch.String() + ": the API server is restarting"))
	g.Expect(b.server.Calls()).To(Equal([]string{testkit.BeginCheck}))
	_, err = b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.server.Calls()).To(BeEmpty())
	g.Expect(b.read().Status.ChangePodID).To(Equal("node-1"))
}

// Under a new leader a batch is past its deadline at its first call.
func TestReconcileGivesNoCheckUpWhereOnlyItsAcceptanceCouldNotBeSaved(t *testing.T) {
	lead := func(b *bench) { b.clock.SetTime(b.clock.Now().Add(time.Hour)); b.restart() }
	for _, row := range []struct {
		name  string
		steps []step
		calls []string
		state string
	}{
		{"before the batch", []step{{do: lead}}, []string{testkit.BeginCheck}, "PreSubmitted  Verifying"},
		{"after it", []step{submitted, {do: func(b *bench) { b.hears("PRE", true, ""); lead(b) }, calls: []string{testkit.PollCheck},
			state: "PostWait  Verifying", wait: time.Second}, {after: 5 * time.Second}}, []string{testkit.PollCheck, testkit.FinishCheck}, "PostSubmitted  Verifying"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, "Open", failClosed)
			for _, step := range row.steps {
				b.clock.SetTime(b.clock.Now().Add(step.after))
				if step.do != nil {
					step.do(b)
				}
				if step.state != "" {
					_, err := b.reconcile()
					g.Expect(err).NotTo(HaveOccurred())
					g.Expect(b.state()).To(Equal(step.state))
					g.Expect(b.server.Calls()).To(Equal(step.calls))
				}
			}
			b.patchFails = errors.New("the API server is restarting")
			_, err := b.reconcile()
			g.Expect(err).To(MatchError(ContainSubstring("the API server is restarting")))
			g.Expect(b.server.Calls()).To(Equal(row.calls))
			_, err = b.reconcile()
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(b.server.Calls()).To(BeEmpty())
			g.Expect(b.state()).To(Equal(row.state))
		})
	}
}

func TestReconcileDecidesAnewWhereAVerdictArrivedMeanwhile(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "Open")
	_, err := b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	b.server.Answers(testkit.PollCheck, failed)
	b.clock.SetTime(b.clock.Now().Add(120 * time.Second))
	b.meanwhile = func() { b.hears("PRE", true, "") }
	_, err = b.reconcile()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(b.state()).To(Equal("PostWait  Verifying"), "the verdict counts, not the poll that ran out of time")
}

func TestReconcileTellsThatAWebhookDeniesTheStatusWhateverItsCode(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "Open")
	b.patchFails = testkit.Denied(404)
	_, err := b.reconcile()
	g.Expect(err).To(MatchError("writing the status of ChangePod " + b.batch.String() + `: admission webhook "guard.example.com" denied the request: no`))
}

func TestReconcileLetsABatchGo(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *bench){
		"that is gone": func(t *testing.T, b *bench) {
			NewWithT(t).Expect(b.kube.Delete(t.Context(), b.read())).To(Succeed())
		},
		"that is being deleted": func(t *testing.T, b *bench) {
			g, batch := NewWithT(t), b.read()
			batch.Finalizers = []string{"example.com/wait"}
			g.Expect(b.kube.Update(t.Context(), batch)).To(Succeed())
			g.Expect(b.kube.Delete(t.Context(), batch)).To(Succeed())
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, "Open")
			leave(t, b)
			g.Expect(b.reconcile()).To(Equal(ctrl.Result{}))
			g.Expect(b.server.Calls()).To(BeEmpty())
		})
	}
}

func TestReconcileAsksNothingAboutABatchWhoseReleaseIsGone(t *testing.T) {
	for name, leave := range map[string]func(*testing.T, *bench){
		"the record is gone": func(t *testing.T, b *bench) {
			NewWithT(t).Expect(b.kube.Delete(t.Context(), b.record)).To(Succeed())
		},
		"the record is being deleted": func(t *testing.T, b *bench) {
			g := NewWithT(t)
			b.record.Finalizers = []string{"example.com/wait"}
			g.Expect(b.kube.Update(t.Context(), b.record)).To(Succeed())
			g.Expect(b.kube.Delete(t.Context(), b.record)).To(Succeed())
		},
		"the record is another one of its name": func(t *testing.T, b *bench) {
			NewWithT(t).Expect(b.kube.Delete(t.Context(), b.record)).To(Succeed())
			testkit.Record(t, b.kube, b.record.Namespace, "Open")
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t, "Open")
			leave(t, b)
			g.Expect(b.reconcile()).To(Equal(ctrl.Result{RequeueAfter: 5 * time.Second}))
			g.Expect(b.server.Calls()).To(BeEmpty())
			g.Expect(b.state()).To(Equal(" "))
		})
	}
}

func TestReconcileIsTriedAgainWhereTheAPIServerCanNotBeRead(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t, "Open")
	b.readFails = apierrors.NewInternalError(errors.New("etcd has no leader"))
	_, err := b.reconcile()
	g.Expect(err).To(MatchError(ContainSubstring("reading ChangePod " + b.batch.String() + ": Internal error occurred: etcd has no leader")))
	g.Expect(b.server.Calls()).To(BeEmpty())
}
