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
	"encoding/json"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// numbersOf returns the numbers of a result as the API server gets them.
func numbersOf(t *testing.T, result appv1alpha1.CheckResult) string {
	encoded, err := json.Marshal(result.Numbers)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return string(encoded)
}

// twoPods has two new pods, since before the readings.
func twoPods(seen *decide.Observation) {
	seen.Verification.Pods.New, seen.Verification.Pods.Began = seen.Verification.Pods.New[:2], now.Add(-5*time.Minute)
}

func TestDecideWritesNumbersWithTheVerdict(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", ofErrors)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
	decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), reading(2), twoPods), now)
	g.Expect(numbersOf(t, decision.Status.Checks[0])).To(Equal(`null`), "nothing is written before")
	g.Expect(decision.Status.Checks).To(Equal(workload.Status.Checks))

	const failed = `{"new":"0.032","threshold":"0.01","podsSeen":6,"podsWanted":6}`
	workload.Status = decide.Decide(workload, see(5, under(policy), ran(1, 2), reading(32), twoPods), now).Status
	g.Expect(numbersOf(t, workload.Status.Checks[0])).To(Equal(failed))
	batch := newBatch(realPods(1, 2), done)
	batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, verifier.State{}), decide.CheckAnswer{}, now)
	g.Expect(batch.Status.Checks).To(HaveLen(1))
	g.Expect(numbersOf(t, batch.Status.Checks[0])).To(Equal(failed), "of the ChangePod")

	later := decide.Decide(workload, see(5, under(policy), ran(1, 2), reading(64), twoPods, suspended), now.Add(15*time.Second))
	g.Expect(numbersOf(t, later.Status.Checks[0])).To(Equal(failed), "a failure stands as it was found")
}

func TestDecideKeepsTheNumbersOfAMessageWhileACheckHolds(t *testing.T) {
	policy := func(onTimeout string) appv1alpha1.VerificationPolicy {
		return checking("web", "Enforce", ofErrors, baking(20), func(policy *appv1alpha1.VerificationPolicy) {
			check := &policy.Spec.Checks[0]
			check.OnInconclusive, check.TimeoutSeconds, check.OnTimeout = "Hold", 60, appv1alpha1.CheckFallback(onTimeout)
			check.Ratio.Threshold.Consecutive = 60
		})
	}
	const before, found = `{"new":"0.5"}`, `{"new":"0.002","threshold":"0.01","podsSeen":10,"podsWanted":10}`
	for name, row := range map[string]struct {
		onTimeout, reason string
		left              time.Duration
		seen              seenOption
		check, numbers    string
	}{
		"for the same reason":           {"Pass", "LowTraffic", time.Minute, reading(2), "Inconclusive LowTraffic before", before},
		"for another reason":            {"Pass", "NoData", time.Minute, reading(2), "Inconclusive LowTraffic 0.2% on 2 new pods (20 events), at most 1% is allowed", found},
		"while a look is under way":     {"Pass", "LowTraffic", time.Minute, lookIsUnderWay, "Inconclusive LowTraffic before", before},
		"until its time is over":        {"Pass", "LowTraffic", 0, reading(2), "Inconclusive HoldTimeout it could not tell within 60 seconds: 0.2% on 2 new pods (20 events), at most 1% is allowed", found},
		"until then, and fails":         {"Fail", "LowTraffic", 0, reading(2), "Fail HoldTimeout it could not tell within 60 seconds: 0.2% on 2 new pods (20 events), at most 1% is allowed", found},
		"until then, without a new one": {"Fail", "LowTraffic", 0, lookIsUnderWay, "Fail HoldTimeout it could not tell within 60 seconds: before", before},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			known := appv1alpha1.CheckResult{
				Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Enforce", Verdict: "Inconclusive", Reason: row.reason, Message: "before",
				Numbers: &appv1alpha1.CheckNumbers{New: "0.5"}, HeldUntil: decide.StoredTime(now.Add(row.left)),
			}
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy(row.onTimeout)), known), batchesOf(5), deadline(now.Add(time.Hour)))
			result := decide.Decide(workload, see(5, under(policy(row.onTimeout)), twoPods, waitsSince(90), row.seen), now).Status.Checks[0]
			g.Expect(string(result.Verdict) + " " + result.Reason + " " + result.Message).To(Equal(row.check))
			g.Expect(numbersOf(t, result)).To(Equal(row.numbers))
		})
	}
}

func TestDecideGivesAFailureWithoutAVerdictTheNumbersBehindIt(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", ofErrors)
	policy.Spec.Checks[0].OnInconclusive, policy.Spec.Checks[0].Ratio.Threshold.Consecutive = "Fail", 60
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-time.Hour)), begun(policies(policy)))
	result := decide.Decide(workload, see(5, under(policy), ran(1, 2), reading(2), twoPods), now).Status.Checks[0]
	g.Expect(string(result.Verdict) + " " + result.Reason).To(Equal("Fail LowTraffic"))
	g.Expect(numbersOf(t, result)).To(Equal(`{"new":"0.002","threshold":"0.01","podsSeen":10,"podsWanted":10}`))
}

func TestDecideKeepsTheNumbersOfAPhaseWithItsMessage(t *testing.T) {
	queried := func(phase, onTimeout string) appv1alpha1.VerificationPolicy {
		return checking("web", "Enforce", func(policy *appv1alpha1.VerificationPolicy) {
			policy.Spec.Checks = []appv1alpha1.VerificationCheck{{
				Name: "own", Type: "Query", Query: &appv1alpha1.QueryCheck{Max: "2", Consecutive: 1}, OnTimeout: appv1alpha1.CheckFallback(onTimeout),
			}}
		}, made(phase))
	}
	value := func(value float64) seenOption {
		return func(seen *decide.Observation) {
			seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "own"}: {
				Moments: []time.Time{now}, Answers: [][]measure.Series{{{Values: []float64{value}}}},
			}}
		}
	}
	const before, three = `{"new":"0.5"}`, `{"new":"3","threshold":"2"}`
	for name, row := range map[string]struct {
		phase, onTimeout string
		reason           string
		left             time.Duration
		seen             seenOption
		check, numbers   string
	}{
		"while it fails":                       {"Before", "Pass", "AwaitingCheck", time.Minute, value(3), "Pending CheckFailed 3 is above 2", three},
		"until it passes":                      {"Before", "Pass", "AwaitingCheck", time.Minute, value(1), "Pass CheckPassed 1", `{"new":"1","threshold":"2"}`},
		"while a look is under way":            {"Before", "Pass", "AwaitingCheck", time.Minute, lookIsUnderWay, "Pending CheckFailed before", before},
		"but not while something else holds":   {"Before", "Pass", "OnHold", time.Minute, value(3), "Pending  ", `null`},
		"at the end of its time":               {"Before", "Pass", "AwaitingCheck", 0, value(3), "Inconclusive HoldTimeout it didn't pass within 60 seconds: 3 is above 2", three},
		"at the end of its time, which fails":  {"Before", "Fail", "AwaitingCheck", 0, value(3), "Fail HoldTimeout it didn't pass within 60 seconds: 3 is above 2", three},
		"at the end without a new answer":      {"Before", "Fail", "AwaitingCheck", 0, lookIsUnderWay, "Fail HoldTimeout it didn't pass within 60 seconds: before", before},
		"as it fails after the last pod":       {"After", "Fail", "AwaitingCheck", time.Minute, value(3), "Fail CheckFailed 3 is above 2 in 1 look running", three},
		"at the end without one, after it":     {"After", "Fail", "AwaitingCheck", 0, lookIsUnderWay, "Fail HoldTimeout it didn't pass within 60 seconds: before", before},
		"at the end without one, which passes": {"After", "Pass", "AwaitingCheck", 0, lookIsUnderWay, "Inconclusive HoldTimeout it didn't pass within 60 seconds: before", before},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy, known := queried(row.phase, row.onTimeout), phased(row.phase, "Pending", "CheckFailed", "before", now.Add(row.left))
			known.Name, known.Type, known.Numbers = "own", "Query", &appv1alpha1.CheckNumbers{New: "0.5"}
			state, pods := atStep(0, 0, row.reason), noNewPods
			if row.phase == "After" {
				state, pods = stored("Running", "Unknown", row.reason), ran(1, 5)
			}
			seen := see(5, under(policy), pods, row.seen)
			if row.phase == "Before" {
				inSteps("Gates")(&seen)
			}
			result := decide.Decide(newWorkload(state, begun(policies(policy), known)), seen, now).Status.Checks[0]
			g.Expect(string(result.Verdict) + " " + result.Reason + " " + result.Message).To(Equal(row.check))
			g.Expect(numbersOf(t, result)).To(Equal(row.numbers))
		})
	}
}

// A look that finds the same as the one before writes nothing.
func TestDecideWritesNoNumbersWithoutAnotherMessage(t *testing.T) {
	policy := checking("web", "Enforce", func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "own", Type: "Query", Query: &appv1alpha1.QueryCheck{Max: "2", Consecutive: 1}}}
	}, made("Before"))
	known := phased("Before", "Pending", "CheckFailed", "3 is above 2", now.Add(time.Minute))
	known.Name, known.Type, known.Numbers = "own", "Query", &appv1alpha1.CheckNumbers{New: "3.0000001"}
	seen := see(5, under(policy), noNewPods, inSteps("Gates"), func(seen *decide.Observation) {
		seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "own"}: {
			Moments: []time.Time{now}, Answers: [][]measure.Series{{{Values: []float64{3}}}},
		}}
	})
	result := decide.Decide(newWorkload(atStep(0, 0, "AwaitingCheck"), begun(policies(policy), known)), seen, now).Status.Checks[0]
	NewWithT(t).Expect(result).To(Equal(known))
}

// A status is at most 16 KiB larger for as many checks as a release may have.
func TestResultsOf32ChecksWithNumbersAreAtMost16KiB(t *testing.T) {
	g := NewWithT(t)
	var results []appv1alpha1.CheckResult
	for i := range appv1alpha1.MaxCheckResults {
		results = append(results, appv1alpha1.CheckResult{
			Policy: "payments/checkout", Name: fmt.Sprintf("errors-%02d", i), Type: "Ratio", Mode: "Enforce", Verdict: "Inconclusive", Reason: "LowTraffic",
			Message: "0.214% on 100 new pods (48 events), 0.203% on 100 old pods (x1.05, tolerated x1.5), x5.43 would have been found",
			Numbers: &appv1alpha1.CheckNumbers{
				New: "0.00214286", Old: "0.00203061", Ratio: "1.05528", Evidence: "4.57218e-05", Threshold: "3200", MinimumDetectable: "5.43217",
				PodsSeen: new(int32(23971)), PodsWanted: new(int32(24000)), OldPodsSeen: new(int32(23971)), OldPodsWanted: new(int32(24000)),
			},
			Since: metav1.NewTime(now),
		})
	}
	encoded, err := json.Marshal(results)
	g.Expect(err).NotTo(HaveOccurred())
	t.Logf("%d results: %d bytes", len(results), len(encoded))
	g.Expect(len(encoded)).To(BeNumerically("<=", 16<<10))
}
