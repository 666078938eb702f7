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
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

func TestApplyVerdictCountsOnceAndAtItsStage(t *testing.T) {
	for _, row := range []struct {
		name    string
		options []batchOption
		stage   string
		passed  bool
		// status and message are empty where the verdict changes nothing.
		status, message string
	}{
		{"a pass before the batch lets it go on", []batchOption{in("PreSubmitted")}, "PRE", true, "PostWait", ""},
		{"a fail before the batch is an explicit fail", []batchOption{in("PreSubmitted")}, "PRE", false, "ExecuteDone", "PreFailed"},
		{"a pass after the batch ends it", []batchOption{in("PostSubmitted")}, "POST", true, "ExecuteDone", "PostFinish"},
		{"a fail after the batch ends it", []batchOption{in("PostSubmitted")}, "POST", false, "ExecuteDone", "PostFinish"},
		{"a verdict that overtakes the answer to the report counts", []batchOption{in("PostWait")}, "POST", false, "ExecuteDone", "PostFinish"},
		{"a second pass before the batch is stale", []batchOption{in("PostWait")}, "PRE", true, "", ""},
		{"a fail before the batch after a pass is stale", []batchOption{in("PostSubmitted")}, "PRE", false, "", ""},
		{"a verdict after the batch comes too early before it", []batchOption{in("PreSubmitted")}, "POST", false, "", ""},
		{"a second verdict is stale", []batchOption{doneWith("PostFinish")}, "POST", false, "", ""},
		{"a late fail before the batch still counts", []batchOption{doneWith("PreTimeout")}, "PRE", false, "ExecuteDone", "PreFailed"},
		{"a late pass before the batch changes nothing", []batchOption{doneWith("PreTimeout")}, "PRE", true, "", ""},
		{"a late fail after the batch still counts", []batchOption{doneWith("PostTimeout")}, "POST", false, "ExecuteDone", "PostFinish"},
		{"a late pass after the batch still counts", []batchOption{doneWith("PostTimeout")}, "POST", true, "ExecuteDone", "PostFinish"},
		{"a verdict for a report that was given up still counts", []batchOption{doneWith("PostFailed")}, "POST", false, "ExecuteDone", "PostFinish"},
		{"a batch that was failed before it keeps its end", []batchOption{doneWith("PreFailed")}, "PRE", false, "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			batch := newBatch(pods(1, 2), row.options...)
			verdict := verifier.Delivery{CheckID: "node-1", Stage: appv1alpha1.CheckStage(row.stage), Verdict: verifier.Verdict{Outcome: outcome(row.passed), Reason: "error rate: 5xx above 1%"}}
			status, applied := decide.ApplyVerdict(&batch, verdict, now)
			if row.status == "" {
				g.Expect(applied).To(BeFalse())
				g.Expect(status).To(Equal(batch.Status))
				return
			}
			g.Expect(applied).To(BeTrue())
			g.Expect(string(status.Status)).To(Equal(row.status))
			g.Expect(status.Message).To(Equal(row.message))
			g.Expect(status.VerdictTime.Time).To(BeTemporally("==", now))
			g.Expect(batch.Status.VerdictTime).To(BeNil(), "the batch itself stays as it was read")
			batch.Status = status
			switch {
			case row.status != "ExecuteDone":
				g.Expect(status.PodResults).To(BeEmpty())
			case row.passed:
				g.Expect(decide.Judge(&batch).Passed).To(HaveLen(2))
				g.Expect(status.Conditions).To(haveCondition("Verified", "True", "PodsPassed"))
			default:
				g.Expect(namesOf(decide.Judge(&batch).Failed)).To(Equal([]string{"sleep-1", "sleep-2"}))
				g.Expect(messageOf(status.Conditions, "Verified")).To(Equal(
					"pod sleep-1 failed its check: error rate: 5xx above 1%; pod sleep-2 failed its check: error rate: 5xx above 1%"))
			}
			_, again := decide.ApplyVerdict(&batch, verdict, now)
			g.Expect(again).To(BeFalse(), "the same verdict once more is stale")
		})
	}
}

func TestApplyVerdictIsForOneCheckAlone(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1), in("PostSubmitted"))
	for _, id := range []string{"node-2", ""} {
		_, applied := decide.ApplyVerdict(&batch, verifier.Delivery{CheckID: id, Stage: "POST", Verdict: verifier.Verdict{Outcome: "fail"}}, now)
		g.Expect(applied).To(BeFalse())
	}
	batch.Status.ChangePodID = ""
	_, applied := decide.ApplyVerdict(&batch, verifier.Delivery{Stage: "POST", Verdict: verifier.Verdict{Outcome: "fail"}}, now)
	g.Expect(applied).To(BeFalse(), "an empty id matches no batch")
}

func TestApplyVerdictKeepsAPodFailedThatAUserFailed(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 2), in("PostSubmitted"), result("sleep-2", "unpass", "seen by eye"), result("stranger", "unpass", "typed"))
	batch.Status, _ = decide.ApplyVerdict(&batch, verifier.Delivery{CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "pass"}}, now)
	judgement := decide.Judge(&batch)
	g.Expect(namesOf(judgement.Passed)).To(Equal([]string{"sleep-1"}))
	g.Expect(namesOf(judgement.Failed)).To(Equal([]string{"sleep-2", "stranger"}))
	g.Expect(judgement.Failed[0].Message).To(Equal("seen by eye"))
}

func TestApplyVerdictReplacesAFailureByPolicy(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1), in("PostSubmitted"), deadlineOver)
	batch.Status = decide.AdvanceChangePod(&batch, checked(failureFails), decide.CheckAnswer{Call: "ask POST"}, now)
	g.Expect(decide.Judge(&batch).Failed).To(HaveLen(1))
	batch.Status, _ = decide.ApplyVerdict(&batch, verifier.Delivery{CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "pass"}}, now)
	g.Expect(decide.Judge(&batch).Passed).To(HaveLen(1))
	g.Expect(batch.Status.Conditions).To(haveCondition("Verified", "True", "PodsPassed"))
}

func TestApplyVerdictShortensTheReason(t *testing.T) {
	g := NewWithT(t)
	batch := newBatch(pods(1, 1), in("PostSubmitted"))
	verdict := verifier.Delivery{CheckID: "node-1", Stage: "POST", Verdict: verifier.Verdict{Outcome: "fail", Reason: strings.Repeat("发", 1000)}}
	status, _ := decide.ApplyVerdict(&batch, verdict, now)
	g.Expect(len(status.PodResults[0].Message)).To(BeNumerically("<=", 1024))
	g.Expect(status.PodResults[0].Message).To(HaveSuffix("发..."))
}

func TestEarlyVerdictIsFoundOnTheChangeWorkload(t *testing.T) {
	early := func(id, stage, verdict string) appv1alpha1.EarlyVerdict {
		return appv1alpha1.EarlyVerdict{
			ChangePodID: id, Stage: appv1alpha1.CheckStage(stage), Verdict: appv1alpha1.Verdict(verdict), Message: "why", Time: metav1.NewMicroTime(now),
		}
	}
	for _, row := range []struct {
		name  string
		early []appv1alpha1.EarlyVerdict
		found bool
		want  verifier.Delivery
	}{
		{"a pass", []appv1alpha1.EarlyVerdict{early("node-7", "PRE", "unpass"), early("node-1", "PRE", "pass")}, true,
			verifier.Delivery{CheckID: "node-1", Stage: "PRE", Verdict: verifier.Verdict{Outcome: "pass", Reason: "why"}}},
		{"a fail", []appv1alpha1.EarlyVerdict{early("node-1", "PRE", "unpass")}, true,
			verifier.Delivery{CheckID: "node-1", Stage: "PRE", Verdict: verifier.Verdict{Outcome: "fail", Reason: "why"}}},
		{"of another check", []appv1alpha1.EarlyVerdict{early("node-7", "PRE", "unpass")}, false, verifier.Delivery{}},
		{"of a stage that is not awaited", []appv1alpha1.EarlyVerdict{early("node-1", "POST", "unpass")}, false, verifier.Delivery{}},
		{"none", nil, false, verifier.Delivery{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload()
			workload.Status.EarlyVerdicts = row.early
			batch := newBatch(pods(1, 1), in("PreSubmitted"))
			verdict, found := decide.EarlyVerdict(workload, &batch)
			g.Expect(found).To(Equal(row.found))
			g.Expect(verdict).To(Equal(row.want))
		})
	}
}
