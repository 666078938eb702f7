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
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// inProcess is a verifier that is polled for its verdicts.
func inProcess(facts *decide.CheckFacts) {
	facts.State = verifier.State{Configured: true, Name: "Rules"}
}

func TestNextCallAsksAVerifierThatDoesNotDeliver(t *testing.T) {
	for _, row := range []struct {
		name  string
		phase string
		facts decide.CheckFacts
		call  string
	}{
		{"for the verdict before the batch", "PreSubmitted", checked(inProcess), "ask PRE"},
		{"for the verdict after it", "PostSubmitted", checked(inProcess), "ask POST"},
		{"not about a release that is over", "PostSubmitted", checked(inProcess, over), ""},
		{"after the batch was reported", "PostWait", checked(inProcess), "finish"},
	} {
		t.Run(row.name, func(t *testing.T) {
			batch := newBatch(pods(1, 1), in(row.phase))
			NewWithT(t).Expect(string(decide.NextCall(&batch, row.facts, now))).To(Equal(row.call))
		})
	}
}

func TestAdvanceChangePodTakesAVerdictThatWasAskedFor(t *testing.T) {
	fail := verifier.Verdict{Outcome: "fail", Reason: "restarts: 3 of 1 tolerated"}
	undecided := verifier.Verdict{Again: 15 * time.Second}
	for _, row := range []struct {
		name    string
		options []batchOption
		answer  decide.CheckAnswer
		status  string
		message string
		reason  string
		arrived bool
	}{
		{"a pass before the batch", []batchOption{in("PreSubmitted")}, decide.CheckAnswer{Call: "ask PRE", Verdict: verifier.Verdict{Outcome: "pass"}},
			"PostWait", "", "Verifying", false},
		{"a fail before the batch", []batchOption{in("PreSubmitted")}, decide.CheckAnswer{Call: "ask PRE", Verdict: fail}, "ExecuteDone", "PreFailed", "PodsFailed", true},
		{"a fail after the batch", []batchOption{in("PostSubmitted")}, decide.CheckAnswer{Call: "ask POST", Verdict: fail}, "ExecuteDone", "PostFinish", "PodsFailed", true},
		{"a fail that the report found out", []batchOption{in("PostWait")}, decide.CheckAnswer{Call: "finish", Verdict: fail}, "ExecuteDone", "PostFinish", "PodsFailed", true},
		{"no verdict yet", []batchOption{in("PostSubmitted")}, decide.CheckAnswer{Call: "ask POST", Verdict: undecided}, "PostSubmitted", "", "Verifying", false},
		{"no answer yet", []batchOption{in("PostSubmitted")}, decide.CheckAnswer{Call: "ask POST", Err: errDown}, "PostSubmitted", "", "Verifying", false},
		{"no verdict in time", []batchOption{in("PostSubmitted"), deadlineOver}, decide.CheckAnswer{Call: "ask POST", Verdict: undecided},
			"ExecuteDone", "PostTimeout", "CheckTimeout", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			batch := newBatch(pods(1, 1), row.options...)
			batch.Status = decide.AdvanceChangePod(&batch, checked(inProcess), row.answer, now)
			g.Expect(string(batch.Status.Status)).To(Equal(row.status))
			g.Expect(batch.Status.Message).To(Equal(row.message))
			g.Expect(batch.Status.Conditions[0].Reason).To(Equal(row.reason))
			g.Expect(batch.Status.VerdictTime != nil).To(Equal(row.arrived))
			if row.reason == "PodsFailed" {
				g.Expect(decide.Judge(&batch).Failed[0].Message).To(Equal("restarts: 3 of 1 tolerated"))
				_, missed := decide.MissedCheck(&batch)
				g.Expect(missed).To(BeFalse(), "a bad verdict is not a missed check")
			}
		})
	}
}

func TestApplyVerdictGivesEachPodItsOwn(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 3), in("PostSubmitted"), result("sleep-3", "unpass", "seen by eye"))
	verdict := verifier.Verdict{Outcome: "fail", Reason: "a pod restarts", Pods: []appv1alpha1.PodSummary{
		{Pod: "sleep-2", Verdict: "pass"}, {Pod: "sleep-3", Verdict: "pass"}, {Pod: "stranger", Verdict: "unpass"},
	}}
	batch.Status, _ = decide.ApplyVerdict(&batch, verifier.Delivery{CheckID: "node-1", Stage: "POST", Verdict: verdict}, now)
	judgement := decide.Judge(&batch)
	g.Expect(namesOf(judgement.Passed)).To(Equal([]string{"sleep-2"}))
	g.Expect(namesOf(judgement.Failed)).To(Equal([]string{"sleep-1", "sleep-3"}))
	g.Expect(judgement.Failed[0].Message).To(Equal("a pod restarts"))
	g.Expect(judgement.Failed[1].Message).To(Equal("seen by eye"), "what a user failed stays failed")
}

func TestApplyVerdictLeavesABatchThatIsUndecided(t *testing.T) {
	batch := newBatch(pods(1, 1), in("PostSubmitted"))
	_, applied := decide.ApplyVerdict(&batch, verifier.Delivery{CheckID: "node-1", Stage: "POST"}, now)
	NewWithT(t).Expect(applied).To(BeFalse())
}

func TestFactsOf(t *testing.T) {
	first := newBatch(pods(1, 1)) // of release 1
	asked := verifier.State{Configured: true, Name: "Rules"}
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		state    verifier.State
		facts    decide.CheckFacts
	}{
		{"without a verifier", newWorkload(release(2)), verifier.State{}, decide.CheckFacts{}},
		{"the order is open", newWorkload(orderIn("Open", 1)), aServer(), decide.CheckFacts{State: aServer(), Order: "Open"}},
		{"the order of the release ends after the next one has begun", newWorkload(release(2), orderIn("Open", 1)), aServer(),
			decide.CheckFacts{State: aServer(), Order: "Open"}},
		{"there is no order yet", newWorkload(), aServer(), decide.CheckFacts{State: aServer()}},
		{"there is only that of an earlier release", newWorkload(orderIn("CANCEL", 0)), aServer(), decide.CheckFacts{State: aServer()}},
		{"there is only that of a later release", newWorkload(release(2), orderIn("Open", 2)), aServer(), decide.CheckFacts{State: aServer(), Over: true}},
		{"a verifier that needs no order", newWorkload(), asked, decide.CheckFacts{State: asked, Order: "Open"}},
		{"a verifier that needs no order, after the release", newWorkload(release(2)), asked, decide.CheckFacts{State: asked, Over: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.FactsOf(row.workload, &first, row.state)).To(Equal(row.facts))
		})
	}
}
