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
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// checked are the facts for a batch with an open order at a server that answers.
func checked(changes ...func(*decide.CheckFacts)) decide.CheckFacts {
	facts := decide.CheckFacts{State: aServer(), Order: "Open"}
	for _, change := range changes {
		change(&facts)
	}
	return facts
}

func ordered(state appv1alpha1.OrderState) func(*decide.CheckFacts) {
	return func(facts *decide.CheckFacts) { facts.Order = state }
}

func switchedOff(facts *decide.CheckFacts)      { facts.SwitchedOff = true }
func unconfigured(facts *decide.CheckFacts)     { facts.Configured = false }
func asked(facts *decide.CheckFacts)            { facts.Asked = true }
func over(facts *decide.CheckFacts)             { facts.Order, facts.Over = "", true }
func justBegun(facts *decide.CheckFacts)        { facts.Since = now }
func failureFails(facts *decide.CheckFacts)     { facts.FailClosed = true }
func opened(batch *appv1alpha1.ChangePod)       { batch.Spec.CreateTimeUnix = now.Unix() }
func deadlineOver(batch *appv1alpha1.ChangePod) { batch.Status.Deadline = &metav1.Time{Time: now} }

// in is a batch in a phase of its check, which may wait two minutes from now.
func in(phase string) batchOption {
	return func(batch *appv1alpha1.ChangePod) {
		batch.Status.Status = appv1alpha1.ChangePodPhase(phase)
		batch.Status.PreTimeoutThreshold, batch.Status.PostTimeoutThreshold = 120, 120
		batch.Status.Deadline = &metav1.Time{Time: now.Add(2 * time.Minute)}
		if phase != "PreWait" {
			batch.Status.ChangePodID = "node-1"
		}
	}
}

// doneWith is a batch of the check node-1 that is done, with a message.
func doneWith(message string) batchOption {
	return func(batch *appv1alpha1.ChangePod) {
		in("ExecuteDone")(batch)
		batch.Status.Message, batch.Status.Deadline = message, nil
	}
}

func TestNextCallFollowsFromThePhase(t *testing.T) {
	for _, row := range []struct {
		name    string
		options []batchOption
		facts   decide.CheckFacts
		call    string
	}{
		{"a new batch begins its check", []batchOption{opened}, checked(), "begin"},
		{"a batch that waited begins its check", []batchOption{in("PreWait")}, checked(), "begin"},
		{"nothing begins before the order is open", []batchOption{opened}, checked(ordered("Pending")), ""},
		{"nothing begins before the order is known", []batchOption{opened}, checked(ordered("")), ""},
		{"nothing begins under a refused order", []batchOption{opened}, checked(ordered("Refused")), ""},
		{"nothing begins after the release has ended", []batchOption{opened}, checked(ordered("CANCEL")), ""},
		{"nothing begins while checks are switched off", []batchOption{opened}, checked(switchedOff), ""},
		{"nothing begins two minutes after the batch was opened", []batchOption{openedAt(now.Add(-2 * time.Minute))}, checked(asked), ""},
		{"but without a call, the server is not to blame", []batchOption{openedAt(now.Add(-2 * time.Minute))}, checked(), "begin"},
		{"nothing begins after the deadline", []batchOption{in("PreWait"), deadlineOver}, checked(asked), ""},
		{"but not without a call since the operator came back", []batchOption{in("PreWait"), deadlineOver}, checked(), "begin"},
		{"nothing is asked of a release that is over", []batchOption{in("PostWait")}, checked(over), ""},
		{"a verdict that is awaited comes by itself", []batchOption{in("PreSubmitted")}, checked(), ""},
		{"a verdict that did not come is asked for", []batchOption{in("PreSubmitted"), deadlineOver}, checked(), "ask PRE"},
		{"a batch that may go on is reported", []batchOption{in("PostWait")}, checked(), "finish"},
		{"a batch is reported after its release has ended: the server waits for it", []batchOption{in("PostWait")}, checked(ordered("SUCCESS")), "finish"},
		{"a batch isn't reported while checks are switched off", []batchOption{in("PostWait")}, checked(switchedOff), ""},
		{"a report without an answer may have arrived", []batchOption{in("PostWait"), deadlineOver}, checked(asked), "ask POST"},
		{"a batch that was not reported is reported late", []batchOption{in("PostWait"), deadlineOver}, checked(), "finish"},
		{"one that isn't reported any more is asked about", []batchOption{in("PostWait"), deadlineOver}, checked(switchedOff), "ask POST"},
		{"the second verdict comes by itself, too", []batchOption{in("PostSubmitted")}, checked(), ""},
		{"the second verdict is asked for at its deadline", []batchOption{in("PostSubmitted"), deadlineOver}, checked(), "ask POST"},
		{"nothing is asked about a batch that is done", []batchOption{doneWith("PostFinish")}, checked(), ""},
		{"there is no call without a server", []batchOption{in("PostWait")}, checked(unconfigured), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			batch := newBatch(pods(1, 1), row.options...)
			NewWithT(t).Expect(string(decide.NextCall(&batch, row.facts, now))).To(Equal(row.call))
		})
	}
}

var (
	errDown    = errors.New("connection refused")
	errRefused = fmt.Errorf("101: no such scene: %w", verifier.ErrRefused)
)

func TestAdvanceChangePodMovesOnByTheAnswers(t *testing.T) {
	begun := decide.CheckAnswer{Call: "begin", CheckID: "node-1"}
	for _, row := range []struct {
		name    string
		options []batchOption
		facts   decide.CheckFacts
		answer  decide.CheckAnswer
		status  string
		message string
		verdict string
		reason  string
		text    string
	}{
		{"the check before the batch begins", []batchOption{opened}, checked(), begun,
			"PreSubmitted", "", "Unknown", "Verifying", "the check before the batch is under way"},
		{"a server that is down makes it wait", []batchOption{opened}, checked(), decide.CheckAnswer{Call: "begin", Err: errDown},
			"PreWait", "", "Unknown", "ServerUnavailable", "connection refused"},
		{"an order that is not open yet makes it wait", []batchOption{opened}, checked(ordered("Pending")), decide.CheckAnswer{},
			"PreWait", "", "Unknown", "AwaitingOrder", "AlterShield Server has not accepted the change order of the release yet"},
		{"a server that doesn't know the operator makes it wait", []batchOption{opened}, checked(),
			decide.CheckAnswer{Call: "begin", Err: fmt.Errorf("102: authentication request fail: %w", verifier.ErrUnauthorized)},
			"PreWait", "", "Unknown", "Unauthorized", "102: authentication request fail: unauthorized"},
		{"a server that is back ends the wait", []batchOption{in("PreWait"), waitsFor("ServerUnavailable", "connection refused")}, checked(), begun,
			"PreSubmitted", "", "Unknown", "Verifying", "the check before the batch is under way"},
		{"a refused check passes", []batchOption{opened}, checked(), decide.CheckAnswer{Call: "begin", Err: errRefused},
			"ExecuteDone", "PreFailed", "True", "CheckRefused", "101: no such scene: refused: the pods count as passed"},
		{"a refused check fails by policy", []batchOption{opened}, checked(failureFails), decide.CheckAnswer{Call: "begin", Err: errRefused},
			"ExecuteDone", "PreFailed", "False", "PodsFailed", "pod sleep-1 failed its check: not checked, and the failure policy is fail: 101: no such scene: refused"},
		{"a server that stays down lets the batch pass, with the cause", []batchOption{in("PreWait"), deadlineOver, waitsFor("ServerUnavailable", "connection refused")}, checked(asked), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "ServerUnavailable", "AlterShield Server did not accept the check in time: connection refused: the pods count as passed"},
		{"a refused order lets the batch pass", []batchOption{in("PreWait")}, checked(ordered("Refused")), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "OrderRefused", "AlterShield Server refused the change order of the release: the pods count as passed"},
		{"a release that has ended needs no check, whatever the policy", []batchOption{opened}, checked(ordered("ROLLBACK"), failureFails), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "ReleaseEnded", "the release ended before the batch was checked"},
		{"checks that are switched off pass, whatever the policy", []batchOption{opened}, checked(switchedOff, failureFails), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "CheckSwitchedOff", "AlterShield Server has switched its checks off: the pods count as passed"},
		{"an order that stays away lets the batch pass", []batchOption{in("PreWait"), deadlineOver, waitsFor("AwaitingOrder", "no order")}, checked(ordered("Pending")), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "ServerUnavailable", "AlterShield Server did not accept the check in time: no order: the pods count as passed"},
		{"but not right after the operator came back", []batchOption{in("PreWait"), deadlineOver, waitsFor("AwaitingOrder", "no order")}, checked(ordered("Pending"), justBegun), decide.CheckAnswer{},
			"PreWait", "", "Unknown", "AwaitingOrder", "no order"},
		{"a release that is over ends the wait for its order", []batchOption{opened}, checked(over, failureFails), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "ReleaseEnded", "the release ended before the batch was checked"},
		{"and for the verdict before the batch", []batchOption{in("PreSubmitted")}, checked(over, failureFails), decide.CheckAnswer{},
			"ExecuteDone", "PreTimeout", "True", "ReleaseEnded", "the release ended before the batch was checked"},
		{"and for its report", []batchOption{in("PostWait")}, checked(over, failureFails), decide.CheckAnswer{},
			"ExecuteDone", "PostFailed", "True", "ReleaseEnded", "the release ended before the batch was checked"},
		{"and for the verdict after it", []batchOption{in("PostSubmitted")}, checked(over, failureFails), decide.CheckAnswer{},
			"ExecuteDone", "PostTimeout", "True", "ReleaseEnded", "the release ended before the batch was checked"},
		{"a timeout after the release has ended fails nothing, whatever the policy", []batchOption{in("PostSubmitted"), deadlineOver}, checked(ordered("CANCEL"), failureFails), decide.CheckAnswer{Call: "ask POST"},
			"ExecuteDone", "PostTimeout", "True", "ReleaseEnded", "the release ended before the batch was checked"},
		{"a missed pass before the batch is picked up", []batchOption{in("PreSubmitted"), deadlineOver}, checked(), decide.CheckAnswer{Call: "ask PRE", Verdict: verifier.Verdict{Outcome: "pass"}},
			"PostWait", "", "Unknown", "Verifying", "the batch is about to be checked"},
		{"a polled fail before the batch is no verdict", []batchOption{in("PreSubmitted"), deadlineOver}, checked(), decide.CheckAnswer{Call: "ask PRE"},
			"ExecuteDone", "PreTimeout", "True", "CheckTimeout", "the check before the batch gave no verdict within 120 seconds: the pods count as passed"},
		{"no answer to a poll is a timeout", []batchOption{in("PreSubmitted"), deadlineOver}, checked(), decide.CheckAnswer{Call: "ask PRE", Err: errDown},
			"ExecuteDone", "PreTimeout", "True", "CheckTimeout", "the check before the batch gave no verdict within 120 seconds: the pods count as passed"},
		{"a server that is removed from the configuration ends the check", []batchOption{in("PreSubmitted")}, checked(unconfigured), decide.CheckAnswer{},
			"ExecuteDone", "PreTimeout", "True", "CheckNotConfigured", "no AlterShield Server is configured: the pods count as passed"},
		{"the check after the batch begins", []batchOption{in("PostWait")}, checked(), decide.CheckAnswer{Call: "finish"},
			"PostSubmitted", "", "Unknown", "Verifying", "the check after the batch is under way"},
		{"a report that had arrived before and passed is the end", []batchOption{in("PostWait")}, checked(), decide.CheckAnswer{Call: "finish", Verdict: verifier.Verdict{Outcome: "pass"}},
			"ExecuteDone", "PostFinish", "True", "PodsPassed", "no pod failed"},
		{"a server that is down at the report makes it wait", []batchOption{in("PostWait")}, checked(), decide.CheckAnswer{Call: "finish", Err: errDown},
			"PostWait", "", "Unknown", "ServerUnavailable", "connection refused"},
		{"a check before the batch that still runs makes the report wait quietly", []batchOption{in("PostWait")}, checked(), decide.CheckAnswer{Call: "finish", Err: verifier.ErrNotYet},
			"PostWait", "", "Unknown", "Verifying", "the batch is about to be checked"},
		{"a refused report passes", []batchOption{in("PostWait")}, checked(), decide.CheckAnswer{Call: "finish", Err: errRefused},
			"ExecuteDone", "PostFailed", "True", "CheckRefused", "101: no such scene: refused: the pods count as passed"},
		{"a report without an answer until its deadline passes", []batchOption{in("PostWait"), deadlineOver}, checked(asked), decide.CheckAnswer{Call: "ask POST"},
			"ExecuteDone", "PostFailed", "True", "ServerUnavailable", "AlterShield Server did not accept the check in time: the pods count as passed"},
		{"switching off ends a check before its report", []batchOption{in("PostWait")}, checked(switchedOff), decide.CheckAnswer{},
			"ExecuteDone", "PostFailed", "True", "CheckSwitchedOff", "AlterShield Server has switched its checks off: the pods count as passed"},
		{"a missed pass after the batch is picked up", []batchOption{in("PostSubmitted"), deadlineOver}, checked(), decide.CheckAnswer{Call: "ask POST", Verdict: verifier.Verdict{Outcome: "pass"}},
			"ExecuteDone", "PostFinish", "True", "PodsPassed", "no pod failed"},
		{"a polled fail after the batch is no verdict", []batchOption{in("PostSubmitted"), deadlineOver}, checked(), decide.CheckAnswer{Call: "ask POST"},
			"ExecuteDone", "PostTimeout", "True", "CheckTimeout", "the check after the batch gave no verdict within 120 seconds: the pods count as passed"},
		{"a timeout fails by policy", []batchOption{in("PostSubmitted"), deadlineOver}, checked(failureFails), decide.CheckAnswer{Call: "ask POST"},
			"ExecuteDone", "PostTimeout", "False", "PodsFailed", "pod sleep-1 failed its check: not checked, and the failure policy is fail: the check after the batch gave no verdict within 120 seconds"},
		{"a server that is removed ends the check after the batch", []batchOption{in("PostSubmitted")}, checked(unconfigured), decide.CheckAnswer{},
			"ExecuteDone", "PostTimeout", "True", "CheckNotConfigured", "no AlterShield Server is configured: the pods count as passed"},
		{"the answer to another question counts for nothing", []batchOption{in("PostWait")}, checked(), decide.CheckAnswer{Call: "ask PRE", Verdict: verifier.Verdict{Outcome: "pass"}},
			"PostWait", "", "Unknown", "Verifying", "the batch is about to be checked"},
		{"a phase that a user set ends the check", []batchOption{in("PostFailed")}, checked(), decide.CheckAnswer{},
			"ExecuteDone", "PostFailed", "True", "CheckWithdrawn", "the batch was not checked, and no pod failed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			batch := newBatch(pods(1, 1), row.options...)
			status := decide.AdvanceChangePod(&batch, row.facts, row.answer, now)
			g.Expect(string(status.Status)).To(Equal(row.status))
			g.Expect(status.Message).To(Equal(row.message))
			g.Expect(status.Conditions).To(haveCondition("Verified", metav1.ConditionStatus(row.verdict), row.reason))
			g.Expect(messageOf(status.Conditions, "Verified")).To(Equal(row.text))
			if row.status == "ExecuteDone" {
				g.Expect(status.Deadline).To(BeNil())
			}
			g.Expect(status.Conditions[0].LastTransitionTime.Time).To(BeTemporally("==", now), "the API server requires it")
		})
	}
}

// waitsFor is why a batch waits.
func waitsFor(reason, message string) batchOption {
	return func(batch *appv1alpha1.ChangePod) {
		batch.Status.Conditions = []metav1.Condition{{
			Type: "Verified", Status: "Unknown", Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(now),
		}}
	}
}

func TestAdvanceChangePodStoresTheDeadlineOfEachCheckWait(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1), openedAt(now.Add(-20*time.Second)))
	g.Expect(decide.CheckWait(&batch, now)).To(Equal(100*time.Second), "from its creation, before it is written to")

	down := decide.CheckAnswer{Call: "begin", Err: errDown}
	batch.Status = decide.AdvanceChangePod(&batch, checked(), down, now)
	g.Expect(batch.Status.Deadline.Time).To(BeTemporally("==", now.Add(100*time.Second)))
	g.Expect(decide.AdvanceChangePod(&batch, checked(), down, now.Add(time.Second))).To(Equal(batch.Status), "another failure is no news")

	later := now.Add(30 * time.Second)
	batch.Status = decide.AdvanceChangePod(&batch, checked(), decide.CheckAnswer{Call: "begin", CheckID: "node-1"}, later)
	g.Expect(batch.Status.ChangePodID).To(Equal("node-1"))
	g.Expect(batch.Status.PreSubmitTime).To(Equal("2026-11-21 10:00:30"))
	g.Expect(batch.Status.PreSubmitTimeUnix).To(Equal(later.Unix()))
	g.Expect(batch.Status.PreTimeoutThreshold).To(BeEquivalentTo(120))
	g.Expect(batch.Status.Deadline.Time).To(BeTemporally("==", later.Add(120*time.Second)))
	g.Expect(decide.CheckWait(&batch, later.Add(time.Minute))).To(Equal(time.Minute))

	status, applied := decide.ApplyVerdict(&batch, verifier.Delivery{CheckID: "node-1", Stage: "PRE", Verdict: verifier.Verdict{Outcome: "pass"}}, later)
	g.Expect(applied).To(BeTrue())
	g.Expect(status.Deadline.Time).To(BeTemporally("==", later.Add(120*time.Second)))
	batch.Status = status
	batch.Status = decide.AdvanceChangePod(&batch, checked(), decide.CheckAnswer{Call: "finish"}, later.Add(time.Minute))
	g.Expect(batch.Status.PostSubmitTime).To(Equal("2026-11-21 10:01:30"))
	g.Expect(batch.Status.PostTimeoutThreshold).To(BeEquivalentTo(120))
	g.Expect(batch.Status.Deadline.Time).To(BeTemporally("==", later.Add(3*time.Minute)))
	g.Expect(decide.CheckWait(&batch, later.Add(time.Hour))).To(Equal(5*time.Second), "a batch that waits for its release beyond its deadline")

	batch.Status, _ = decide.ApplyVerdict(&batch, verifier.Delivery{CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "pass"}}, later)
	g.Expect(batch.Status.Deadline).To(BeNil())
	g.Expect(decide.CheckWait(&batch, later)).To(BeZero())
}

func TestMissedCheckNotesABatchThatWasNotChecked(t *testing.T) {
	for _, row := range []struct {
		facts  decide.CheckFacts
		answer decide.CheckAnswer
		note   string
	}{
		{checked(), decide.CheckAnswer{Call: "begin", Err: errRefused}, "101: no such scene: refused: the pods count as passed"},
		{checked(ordered("Refused")), decide.CheckAnswer{}, "AlterShield Server refused the change order of the release: the pods count as passed"},
		{checked(switchedOff), decide.CheckAnswer{}, ""},
		{checked(unconfigured), decide.CheckAnswer{}, ""},
		{checked(ordered("CANCEL")), decide.CheckAnswer{}, ""},
		{checked(), decide.CheckAnswer{Call: "begin", CheckID: "node-1"}, ""},
	} {
		g := NewWithT(t)
		batch := newBatch(pods(1, 1), opened)
		batch.Status = decide.AdvanceChangePod(&batch, row.facts, row.answer, now)
		note, missed := decide.MissedCheck(&batch)
		g.Expect(note).To(Equal(row.note))
		g.Expect(missed).To(Equal(row.note != ""))
	}
	bad := newBatch(pods(1, 1), in("PreSubmitted"))
	bad.Status, _ = decide.ApplyVerdict(&bad, verifier.Delivery{CheckID: "node-1", Stage: "PRE", Verdict: verifier.Verdict{Outcome: "fail"}}, now)
	_, missedBefore := decide.MissedCheck(&bad)
	NewWithT(t).Expect(missedBefore).To(BeFalse(), "a bad verdict before the batch is not a missed check")
	finished := newBatch(pods(1, 1), in("PostSubmitted"))
	finished.Status, _ = decide.ApplyVerdict(&finished, verifier.Delivery{CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "fail"}}, now)
	_, missed := decide.MissedCheck(&finished)
	NewWithT(t).Expect(missed).To(BeFalse(), "a verdict is not a missed check")
}

func TestAdvanceChangePodReportsAFailureByPolicyThatAUserWithdrew(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1), opened)
	batch.Status = decide.AdvanceChangePod(&batch, checked(failureFails), decide.CheckAnswer{Call: "begin", Err: errRefused}, now)
	g.Expect(decide.Judge(&batch).Failed).To(HaveLen(1))
	batch.Status.PodResults[0].Verdict = "pass"
	batch.Status = decide.AdvanceChangePod(&batch, checked(failureFails), decide.CheckAnswer{}, now)
	g.Expect(batch.Status.Conditions).To(haveCondition("Verified", "True", "CheckWithdrawn"))
}
