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
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

type policyOption = func(*appv1alpha1.VerificationPolicy)

// checking is a policy with one check, of the health of pods.
func checking(name, mode string, options ...policyOption) appv1alpha1.VerificationPolicy {
	policy := appv1alpha1.VerificationPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name), Generation: 4}}
	policy.Spec.Mode = appv1alpha1.CheckMode(mode)
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "pods", Type: "PodHealth"}}
	for _, option := range options {
		option(&policy)
	}
	return policy
}

func watching(seconds int32) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) { policy.Spec.WatchSeconds = seconds }
}

func baking(seconds int32) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) { policy.Spec.BakeSeconds = seconds }
}

func checkMode(mode string) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) { policy.Spec.Checks[0].Mode = appv1alpha1.CheckMode(mode) }
}

// by has a policy check by a rule instead of the health of pods.
func by(expression string) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "own", Type: "Rule", Rule: &appv1alpha1.RuleCheck{Expression: expression}}}
	}
}

// compiling compiles rules.
func compiling(t *testing.T) seenOption {
	rules, err := rule.NewCompiler()
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	return func(seen *decide.Observation) { seen.Verification.Rules = rules }
}

// under has policies check pods that have been ready for five minutes and never failed.
func under(policies ...appv1alpha1.VerificationPolicy) seenOption {
	return func(seen *decide.Observation) {
		seen.Verification.Policies = policies
		seen.Verification.Pods = &checks.Scene{Began: now.Add(-6 * time.Minute)}
		for _, pod := range pods(1, 5) {
			seen.Verification.Pods.New = append(seen.Verification.Pods.New, checks.Pod{
				Name: pod.Pod, UID: types.UID(pod.Pod), Since: now.Add(-5 * time.Minute),
			})
		}
	}
}

// crashing has a pod restart twice.
func crashing(pod int) seenOption {
	return func(seen *decide.Observation) {
		life := &seen.Verification.Pods.New[pod-1]
		life.Restarts, life.Ended, life.Code, life.EndedAt = 2, "main", 1, now.Add(-time.Minute)
	}
}

// realPods are pods with UIDs, as those that are checked.
func realPods(from, to int) []appv1alpha1.PodSummary {
	all := pods(from, to)
	for i := range all {
		all[i].UID = types.UID(all[i].Pod)
	}
	return all
}

// ran are pods whose batch is done.
func ran(from, to int) seenOption {
	return func(seen *decide.Observation) {
		finished(realPods(from, to))(seen)
		batches(newBatch(realPods(from, to), done))(seen)
	}
}

// begunWith has a release checked by policies from its beginning, whose rules are compiled.
func begunWith(t *testing.T, policies []appv1alpha1.VerificationPolicy) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		workload.Status.Verification = decide.Decide(newWorkload(), see(5, under(policies...), compiling(t)), now).Status.Verification
	}
}

// begun has a release checked by policies from its beginning, with these results.
func begun(policies []appv1alpha1.VerificationPolicy, results ...appv1alpha1.CheckResult) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		decision := decide.Decide(newWorkload(), see(5, under(policies...)), now)
		workload.Status.Verification, workload.Status.Checks = decision.Status.Verification, decision.Status.Checks
		if len(results) > 0 {
			workload.Status.Checks = results
		}
	}
}

func policies(all ...appv1alpha1.VerificationPolicy) []appv1alpha1.VerificationPolicy { return all }

// told by its check: its policy, name, mode, verdict, reason and message, with the pods that failed.
func toldChecks(checks []appv1alpha1.CheckResult) []string {
	var all []string
	for _, check := range checks {
		line := check.Policy + " " + check.Name + ": " + string(check.Mode) + " " + string(check.Verdict) + " " + check.Reason + " " + check.Message
		for _, pod := range check.Pods {
			line += "; " + pod.Pod
		}
		all = append(all, line)
	}
	return all
}

func TestDecideRecordsThePoliciesOfANewRelease(t *testing.T) {
	g := NewWithT(t)
	old := appv1alpha1.OldPods{Pods: 5, Seconds: 500, Restarts: 2}
	decision := decide.Decide(newWorkload(), see(5, under(checking("web", "Enforce", baking(30)), checking("late", "Observe")), func(seen *decide.Observation) {
		seen.Verification.OldPods = old
	}), now)
	g.Expect(decision.Status.Verification.Progress).To(Equal("0/2"))
	g.Expect(decision.Status.Verification.OldPods).To(Equal(old))
	g.Expect(decision.Status.Verification.Policies).To(HaveLen(2))
	g.Expect(decision.Status.Verification.Policies[0]).To(Equal(appv1alpha1.AppliedPolicy{
		Policy: "shop/web", UID: "web", Generation: 4, VerificationTerms: appv1alpha1.VerificationTerms{
			Mode: "Enforce", BakeSeconds: 30, Checks: []appv1alpha1.VerificationCheck{{Name: "pods", Type: "PodHealth"}},
		},
	}))
	g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements("shop/web pods: Enforce Pending  ", "shop/late pods: Observe Pending  "))
	g.Expect(decision.WriteStatus).To(BeTrue())
	without := decide.Decide(newWorkload(), see(5), now)
	g.Expect(without.Status.Verification).To(BeNil())
	g.Expect(without.Status.Checks).To(BeEmpty())
}

func TestDecideChecksAReleaseByARule(t *testing.T) {
	few, missing := checking("web", "Enforce", by("newPods.size() < 3")), checking("web", "Enforce", by("oldPods[0].ready"))
	for _, row := range []struct {
		name     string
		policy   appv1alpha1.VerificationPolicy
		pods     int
		status   string
		progress string
		check    string
		failed   int32
	}{
		{"that is true", few, 2, "Running", "0/1", "shop/web own: Enforce Pending  ", 0},
		{"that becomes false", few, 3, "Suspend", "0/1, own Fail", "shop/web own: Enforce Fail CheckFailed the expression is false: newPods.size() < 3; sleep-1; sleep-2; sleep-3", 3},
		{"that can't be evaluated", missing, 2, "Running", "0/1", "shop/web own: Enforce Inconclusive EvaluationError evaluating the expression: index out of bounds: 0", 0},
		{"that can't be evaluated for all pods", missing, 5, "Success", "0/1", "shop/web own: Enforce Inconclusive EvaluationError evaluating the expression: index out of bounds: 0", 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begunWith(t, policies(row.policy)))
			seen := see(5, under(row.policy), ran(1, row.pods), compiling(t), func(seen *decide.Observation) {
				seen.Verification.Pods.New = seen.Verification.Pods.New[:row.pods]
			})
			decision := decide.Decide(workload, seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Suspend).To(Equal(row.status == "Suspend"))
			g.Expect(decision.Status.Verification.Progress).To(Equal(row.progress))
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(decision.Status.Counts.Failed).To(Equal(row.failed))
		})
	}
}

func TestDecideFailsPodsWhereFailWhenAgrees(t *testing.T) {
	both := func(failWhen string) appv1alpha1.VerificationPolicy {
		policy := checking("web", "Enforce")
		policy.Spec.FailWhen = failWhen
		policy.Spec.Checks = append(policy.Spec.Checks, appv1alpha1.VerificationCheck{
			Name: "few", Type: "Rule", Rule: &appv1alpha1.RuleCheck{Expression: "newPods.size() < 3"}, Mode: "Observe",
		})
		return policy
	}
	const failed = "shop/web pods: Enforce Fail CheckFailed 1 pod of the release restarted; sleep-2"
	for _, row := range []struct {
		name, failWhen string
		pods           int
		status         string
		enforced       []bool
		few            string
	}{
		{"none", "", 2, "Suspend", []bool{true, false}, "shop/web few: Observe Pending  "},
		{"one that agrees", "checks.pods == 'Fail'", 2, "Suspend", []bool{true, false}, "shop/web few: Observe Pending  "},
		{"one that waits for another check", "checks.pods == 'Fail' && checks.few == 'Fail'", 2, "Running", []bool{false, false}, "shop/web few: Observe Pending  "},
		{"one that another check may still excuse", "checks.pods == 'Fail' && checks.few != 'Pass'", 2, "Running", []bool{false, false}, "shop/web few: Observe Pending  "},
		{"one that no other check can excuse", "checks.pods == 'Fail' && checks.few in ['Pass', 'Fail', 'Inconclusive', 'Skipped']", 2, "Suspend", []bool{true, false},
			"shop/web few: Observe Pending  "},
		{"one that another check fulfils", "checks.pods == 'Fail' && checks.few == 'Fail'", 3, "Suspend", []bool{true, false},
			"shop/web few: Observe Fail CheckFailed the expression is false: newPods.size() < 3; sleep-1; sleep-2; sleep-3"},
		{"one that can't be evaluated", "checks.missing == 'Fail'", 2, "Suspend", []bool{true, false}, "shop/web few: Observe Pending  "},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			policy := both(row.failWhen)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begunWith(t, policies(policy)))
			seen := see(5, under(policy), ran(1, row.pods), compiling(t), crashing(2), func(seen *decide.Observation) {
				seen.Verification.Pods.New = seen.Verification.Pods.New[:row.pods]
			})
			decision := decide.Decide(workload, seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(failed, row.few))
			g.Expect([]bool{decision.Status.Checks[0].Enforced, decision.Status.Checks[1].Enforced}).To(Equal(row.enforced))
			g.Expect(decision.Status.Verification.Progress).To(Equal("0/2, pods Fail"))
			g.Expect(decision.Status.Verification.WouldFail).To(Equal(map[bool]string{true: "few"}[strings.Contains(row.few, "Fail")]))
			batch := newBatch(realPods(1, row.pods), done)
			workload.Status = decision.Status
			g.Expect(decide.ChecksFailed(workload, &batch)).To(HaveLen(map[string]int{"Suspend": 1, "Running": 0}[row.status]))
		})
	}
}

func TestDecideFailsAReleaseByTheSignalsOfItsPolicyAlone(t *testing.T) {
	for signal, status := range map[appv1alpha1.PodSignal]string{"Restarts": "Suspend", "ReadinessLost": "Running"} {
		t.Run(string(signal), func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Enforce")
			policy.Spec.Checks[0].PodHealth = &appv1alpha1.PodHealthCheck{Signals: []appv1alpha1.PodSignal{signal}}
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begunWith(t, policies(policy)))
			g.Expect(string(decide.Decide(workload, see(5, under(policy), ran(1, 2), crashing(1)), now).Status.Status)).To(Equal(status))
		})
	}
}

func TestDecideKeepsAFailureThatCounted(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce")
	policy.Spec.FailWhen = "checks.pods == 'Pass'" // as where another check recovered since
	workload := newWorkload(stored("Suspend", "False", "PodsFailed"), begunWith(t, policies(policy)))
	workload.Status.Checks = []appv1alpha1.CheckResult{{
		Policy: "shop/web", Name: "pods", Type: "PodHealth", Mode: "Enforce", Verdict: "Fail", Since: metav1.NewTime(now), Enforced: true,
	}}
	decision := decide.Decide(workload, see(5, under(policy), ran(1, 3), compiling(t)), now)
	g.Expect(decision.Status.Checks).To(HaveLen(1))
	g.Expect(decision.Status.Checks[0].Enforced).To(BeTrue())
}

func TestDecideHasNoFailureCountWhoseModeWasLoweredBefore(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce")
	policy.Spec.FailWhen = "checks.pods == 'Fail' && checks.few == 'Fail'"
	policy.Spec.Checks = append(policy.Spec.Checks, appv1alpha1.VerificationCheck{
		Name: "few", Type: "Rule", Rule: &appv1alpha1.RuleCheck{Expression: "newPods.size() < 3"},
	})
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begunWith(t, policies(policy)))
	workload.Status.Checks = []appv1alpha1.CheckResult{
		{Policy: "shop/web", Name: "pods", Type: "PodHealth", Mode: "Enforce", Verdict: "Fail", Since: metav1.NewTime(now)},
	}
	policy.Spec.Mode = "Observe"
	decision := decide.Decide(workload, see(5, under(policy), ran(1, 3), compiling(t)), now)
	g.Expect(string(decision.Status.Status)).To(Equal("Running"))
	g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(HavePrefix("shop/web pods: Enforce Fail"), HavePrefix("shop/web few: Observe Fail")))
	g.Expect(decision.Status.Checks[0].Enforced).To(BeFalse())
}

func TestDecideNamesThePoliciesThatAReleaseHasNoRoomFor(t *testing.T) {
	g := NewWithT(t)
	of := func(checks int) policyOption {
		return func(policy *appv1alpha1.VerificationPolicy) {
			policy.Spec.Checks = slices.Repeat(policy.Spec.Checks, checks)
			for i := range policy.Spec.Checks {
				policy.Spec.Checks[i].Name = fmt.Sprintf("pods-%d", i)
			}
		}
	}
	all := policies(checking("a", "Observe", of(16)), checking("b", "Observe", of(15)), checking("c", "Observe", of(2)), checking("d", "Observe"))
	status := decide.Decide(newWorkload(), see(5, under(all...)), now).Status
	g.Expect(status.Verification.LeftOut).To(HaveExactElements("shop/c"))
	g.Expect(status.Verification.Policies).To(HaveLen(3))
	g.Expect(status.Checks).To(HaveLen(32))
	g.Expect(status.Verification.Progress).To(Equal("0/32, policies left out: 1"))
	for len(all) < 12 {
		all = append(all, checking(fmt.Sprintf("small-%d", len(all)), "Observe"))
	}
	status = decide.Decide(newWorkload(), see(5, under(all[3:]...)), now).Status
	g.Expect(status.Verification.Policies).To(HaveLen(8))
	g.Expect(status.Verification.LeftOut).To(HaveExactElements("shop/small-11"))
}

// ofErrors has a policy look at the errors of the pods, every 15 seconds and for two minutes.
func ofErrors(policy *appv1alpha1.VerificationPolicy) {
	check := &appv1alpha1.RatioCheck{}
	check.Threshold = &appv1alpha1.RatioThreshold{Max: "1%", Consecutive: 3, MinEvents: 20}
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "errors", Type: "Ratio", Ratio: check}}
	policy.Spec.IntervalSeconds, policy.Spec.BakeSeconds = 15, 120
}

// reading has the counters of the pods sleep-1 and sleep-2 at the last looks, with so many of a thousand events bad.
func reading(bad float64) seenOption {
	return func(seen *decide.Observation) {
		readings := measure.Readings{PodLabel: "pod", Answers: make([][]measure.Series, 2)}
		for _, pod := range []string{"sleep-1", "sleep-2"} {
			for query, each := range []float64{bad, 1000} {
				series := measure.Series{Labels: map[string]string{"pod": pod}}
				for look := range 6 {
					series.Values = append(series.Values, each*float64(look))
				}
				readings.Answers[query] = append(readings.Answers[query], series)
			}
		}
		for look := range 6 {
			readings.Moments = append(readings.Moments, now.Add(time.Duration(look-5)*15*time.Second))
		}
		seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "errors"}: readings}
	}
}

func TestDecideChecksAReleaseByItsMetrics(t *testing.T) {
	success := func(ago time.Duration) []workloadOption {
		return []workloadOption{stored("Success", "True", "AllPodsPassed"), entered(now.Add(-ago))}
	}
	running := []workloadOption{stored("Running", "Unknown", "Verifying")}
	for name, row := range map[string]struct {
		mode     string
		workload []workloadOption
		bad      float64
		status   string
		checks   string
		again    time.Duration
	}{
		"that has more errors": {"Enforce", running, 32, "Suspend",
			"shop/web errors: Enforce Fail CheckFailed 3.2% on 2 new pods (192 events), at most 1% is allowed; sleep-1; sleep-2", time.Minute},
		"that has no errors so far":          {"Enforce", running, 2, "Running", "shop/web errors: Enforce Pending  ", 15 * time.Second},
		"that was verified":                  {"Enforce", success(0), 2, "Success", "shop/web errors: Enforce Pass CheckPassed 0.2% on 2 new pods (20 events), at most 1% is allowed", 0},
		"that was verified without waiting":  {"Observe", success(time.Minute), 2, "Success", "shop/web errors: Observe Pending  ", 15 * time.Second},
		"whose looks at it end":              {"Observe", success(2 * time.Minute), 2, "Success", "shop/web errors: Observe Pass CheckPassed 0.2% on 2 new pods (20 events), at most 1% is allowed", 0},
		"whose looks at it end between two":  {"Observe", success(110 * time.Second), 2, "Success", "shop/web errors: Observe Pending  ", 10 * time.Second},
		"that has more errors, but observed": {"Observe", success(time.Minute), 32, "Success", "shop/web errors: Observe Fail CheckFailed 3.2% on 2 new pods (192 events), at most 1% is allowed; sleep-1; sleep-2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", row.mode, ofErrors)
			workload := newWorkload(append(row.workload, begun(policies(policy)))...)
			decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), reading(row.bad), func(seen *decide.Observation) {
				seen.Verification.Pods.New = seen.Verification.Pods.New[:2]
				seen.Verification.Pods.Began = now.Add(-5 * time.Minute)
			}), now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.checks))
			g.Expect(decision.Wait).To(Equal(row.again))
		})
	}
}

func TestDecideEndsALookThatTellsNothing(t *testing.T) {
	for name, row := range map[string]struct {
		warmup int32
		seen   seenOption
	}{
		"without counters": {0, func(seen *decide.Observation) {
			seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "errors"}: {}}
		}},
		"in the warm-up": {3600, reading(32)},
	} {
		t.Run(name, func(t *testing.T) {
			policy := checking("web", "Observe", ofErrors)
			policy.Spec.WarmupSeconds = row.warmup
			workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-time.Hour)), begun(policies(policy)))
			decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), row.seen), now)
			NewWithT(t).Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(HavePrefix("shop/web errors: Observe Inconclusive NoData ")))
		})
	}
}

func TestDecideTellsThatMetricsWereNeverAskedFor(t *testing.T) {
	withoutPods := func(seen *decide.Observation) { seen.Verification.Pods.New = nil }
	const notAsked = "Observe Inconclusive NotAsked no pod of the release finished, or it is suspended"
	policy := checking("web", "Observe", ofErrors)
	policy.Spec.Checks = append(policy.Spec.Checks,
		appv1alpha1.VerificationCheck{Name: "alerts", Type: "Alerts", Alerts: &appv1alpha1.AlertsCheck{}},
		appv1alpha1.VerificationCheck{Name: "own", Type: "Query", Query: &appv1alpha1.QueryCheck{Max: "1", Consecutive: 1}})
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-time.Hour)), begun(policies(policy)))
	decision := decide.Decide(workload, see(0, under(policy), withoutPods), now)
	NewWithT(t).Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements("shop/web errors: "+notAsked, "shop/web alerts: "+notAsked, "shop/web own: "+notAsked))
}

func TestDecideFailsAReleaseOfWhichNothingIsKnownOnlyIfItsPolicyWantsThat(t *testing.T) {
	away := func(seen *decide.Observation) {
		seen.Verification.Readings = map[decide.CheckID]measure.Readings{
			{Policy: "shop/web", Name: "errors"}: {Reason: "SourceUnavailable", Message: "no answer"},
		}
	}
	silent := func(seen *decide.Observation) {
		seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "errors"}: {Moments: []time.Time{now}}}
	}
	for name, row := range map[string]struct {
		onInconclusive appv1alpha1.InconclusiveFallback
		onError        appv1alpha1.CheckFallback
		entered        time.Duration
		seen           seenOption
		verdict        string
	}{
		"nothing is known":                    {"", "", time.Hour, silent, "Inconclusive NoData"},
		"nothing is known, which fails":       {"Fail", "Pass", time.Hour, silent, "Fail NoData"},
		"the source is away":                  {"Fail", "Pass", time.Hour, away, "Inconclusive SourceUnavailable"},
		"the source is away, which fails":     {"", "Fail", time.Hour, away, "Fail SourceUnavailable"},
		"the source is away, but not the end": {"Fail", "Fail", time.Minute, away, "Pending "},
		"nothing is known, but it isn't over": {"Fail", "Fail", time.Minute, silent, "Pending "},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Observe", ofErrors)
			policy.Spec.Checks[0].OnInconclusive, policy.Spec.Checks[0].OnError = row.onInconclusive, row.onError
			workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-row.entered)), begun(policies(policy)))
			decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), row.seen), now)
			result := decision.Status.Checks[0]
			g.Expect(string(result.Verdict) + " " + result.Reason).To(Equal(row.verdict))
			g.Expect(result.Pods).To(HaveLen(map[bool]int{true: 5}[result.Verdict == "Fail"]))
		})
	}
}

func TestDecideMakesTheLastLookAgainForAMinuteWithoutAnAnswer(t *testing.T) {
	for name, row := range map[string]struct {
		interval     int32
		after, leads time.Duration
		reason       string
		verdict      string
		again        time.Duration
	}{
		"at the end":                         {15, 0, time.Hour, "SourceUnavailable", "Pending ", 15 * time.Second},
		"where the source is asked too much": {15, 0, time.Hour, "SourceThrottled", "Pending ", 15 * time.Second},
		"where a part of the source is away": {15, 0, time.Hour, "PartialAnswer", "Pending ", 15 * time.Second},
		"where it couldn't make the query":   {15, 0, time.Hour, "QueryFailed", "Pending ", 15 * time.Second},
		"until the minute is over":           {15, 50 * time.Second, time.Hour, "SourceUnavailable", "Pending ", 10 * time.Second},
		"but not after a minute":             {15, time.Minute, time.Hour, "SourceUnavailable", "Inconclusive SourceUnavailable", 0},
		"but not where none will come":       {15, 0, time.Hour, "BadQuery", "Inconclusive BadQuery", 0},
		"until the next look":                {300, 200 * time.Second, time.Hour, "SourceUnavailable", "Pending ", 100 * time.Second},
		"but not after it":                   {300, 300 * time.Second, time.Hour, "SourceUnavailable", "Inconclusive SourceUnavailable", 0},
		"after a leader comes late":          {15, 5 * time.Minute, time.Second, "SourceUnavailable", "Pending ", 15 * time.Second},
		"until its minute is over":           {15, 5 * time.Minute, 50 * time.Second, "SourceUnavailable", "Pending ", 10 * time.Second},
		"but not after its minute":           {15, 5 * time.Minute, time.Minute, "SourceUnavailable", "Inconclusive SourceUnavailable", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Observe", ofErrors)
			policy.Spec.IntervalSeconds, policy.Spec.BakeSeconds = row.interval, 120
			workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-2*time.Minute-row.after)), begun(policies(policy)))
			decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), leadsFor(row.leads), func(seen *decide.Observation) {
				seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "errors"}: {Reason: row.reason, Message: "no answer"}}
			}), now)
			g.Expect(string(decision.Status.Checks[0].Verdict) + " " + decision.Status.Checks[0].Reason).To(Equal(row.verdict))
			g.Expect(decision.Wait).To(Equal(row.again))
		})
	}
}

// What isn't sent, for as long as its source wants, is no try.
func TestDecideMakesTheLastLookAgainOnceItsSourceMayBeAsked(t *testing.T) {
	ofPlugin := func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.Checks[0] = appv1alpha1.VerificationCheck{Name: "errors", Type: "HTTP", HTTP: &appv1alpha1.HTTPCheck{}}
	}
	for name, row := range map[string]struct {
		interval int32
		after    time.Duration
		unsent   bool
		verdict  string
		again    time.Duration
	}{
		"after a minute":                      {15, 90 * time.Second, true, "Pending ", 15 * time.Second},
		"but not if it was asked since":       {15, 90 * time.Second, false, "Inconclusive SourceThrottled", 0},
		"for a minute after the longest time": {15, 350 * time.Second, true, "Pending ", 10 * time.Second},
		"but not after that":                  {15, 6 * time.Minute, true, "Inconclusive SourceThrottled", 0},
		"until the look after it":             {300, 500 * time.Second, true, "Pending ", 100 * time.Second},
		"but not after that look":             {300, 10 * time.Minute, true, "Inconclusive SourceThrottled", 0},
	} {
		for _, kind := range []policyOption{ofErrors, ofPlugin} {
			policy, id := checking("web", "Observe", kind), decide.CheckID{Policy: "shop/web", Name: "errors"}
			t.Run(name+" "+string(policy.Spec.Checks[0].Type), func(t *testing.T) {
				g := NewWithT(t)
				policy.Spec.IntervalSeconds, policy.Spec.BakeSeconds = row.interval, 120
				workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-2*time.Minute-row.after)), begun(policies(policy)))
				decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), func(seen *decide.Observation) {
					seen.Verification.Readings = map[decide.CheckID]measure.Readings{id: {Reason: "SourceThrottled", Unsent: row.unsent}}
					seen.Verification.Answers = map[decide.CheckID]plugin.Answer{id: {Verdict: "Inconclusive", Reason: "SourceThrottled", Broken: true, Unsent: row.unsent}}
				}), now)
				g.Expect(string(decision.Status.Checks[0].Verdict) + " " + decision.Status.Checks[0].Reason).To(Equal(row.verdict))
				g.Expect(decision.Wait).To(Equal(row.again))
			})
		}
	}
}

// lookIsUnderWay has the look of the only check under way.
func lookIsUnderWay(seen *decide.Observation) {
	policy := seen.Verification.Policies[0]
	seen.Verification.Awaited = map[decide.CheckID]bool{{Policy: policy.Namespace + "/" + policy.Name, Name: policy.Spec.Checks[0].Name}: true}
}

func TestDecideWaitsForALookThatIsUnderWay(t *testing.T) {
	success := func(ago time.Duration) []workloadOption {
		return []workloadOption{stored("Success", "True", "AllPodsPassed"), entered(now.Add(-ago))}
	}
	failing := func(policy *appv1alpha1.VerificationPolicy) {
		ofErrors(policy)
		policy.Spec.Checks[0].OnInconclusive, policy.Spec.Checks[0].OnError = "Fail", "Fail"
	}
	early := appv1alpha1.CheckResult{Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Observe", Verdict: "Pass", Reason: "PassedEarly"}
	for name, row := range map[string]struct {
		workload []workloadOption
		known    []appv1alpha1.CheckResult
		check    string
	}{
		"while a release goes on": {[]workloadOption{stored("Running", "Unknown", "Verifying")}, nil, "shop/web errors: Observe Pending  "},
		"at the end":              {success(2 * time.Minute), nil, "shop/web errors: Observe Pending  "},
		"long after it":           {success(time.Hour), nil, "shop/web errors: Observe Pending  "},
		"after an early pass":     {success(time.Minute), []appv1alpha1.CheckResult{early}, "shop/web errors: Observe Pass PassedEarly "},
	} {
		t.Run(name, func(t *testing.T) {
			g, policy := NewWithT(t), checking("web", "Observe", failing)
			workload := newWorkload(append(row.workload, begun(policies(policy), row.known...))...)
			decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), lookIsUnderWay), now)
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.check))
			g.Expect(decision.Wait).To(Equal(15*time.Second), "the next look")
		})
	}
}

// The other check of the policy is looked at until the end.
func TestDecideKeepsAnEarlyPassWhereTheSourceIsAwayInTheEnd(t *testing.T) {
	policy := checking("web", "Observe", ofErrors)
	policy.Spec.Checks = append(policy.Spec.Checks, appv1alpha1.VerificationCheck{Name: "late", Type: "Ratio", Ratio: policy.Spec.Checks[0].Ratio})
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-time.Hour)), begun(policies(policy), appv1alpha1.CheckResult{
		Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Observe", Verdict: "Pass", Reason: "PassedEarly",
	}, appv1alpha1.CheckResult{Policy: "shop/web", Name: "late", Type: "Ratio", Mode: "Observe", Verdict: "Pending"}))
	away := measure.Readings{Reason: "SourceUnavailable", Message: "no answer"}
	decision := decide.Decide(workload, see(5, under(policy), ran(1, 2), func(seen *decide.Observation) {
		seen.Verification.Readings = map[decide.CheckID]measure.Readings{{Policy: "shop/web", Name: "errors"}: away, {Policy: "shop/web", Name: "late"}: away}
	}), now)
	NewWithT(t).Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(
		"shop/web errors: Observe Pass PassedEarly ", "shop/web late: Observe Inconclusive SourceUnavailable no answer"))
}

// toOldPods compares errors with those of the old pods.
func toOldPods() *appv1alpha1.RatioCheck {
	check := &appv1alpha1.RatioCheck{}
	check.Comparison = &appv1alpha1.RatioComparison{Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5}
	return check
}

// Four looks are enough evidence for two comparisons, whatever else is checked, and too little for three.
func TestDecideDividesTheFalseAlarmsAmongComparisons(t *testing.T) {
	for compared, verdict := range map[int]string{2: "Fail", 3: "Pending"} {
		t.Run(fmt.Sprint(compared), func(t *testing.T) {
			policy := checking("web", "Observe", ofErrors)
			for i := range compared {
				policy.Spec.Checks = append(policy.Spec.Checks, appv1alpha1.VerificationCheck{Name: fmt.Sprint("compared-", i), Type: "Ratio",
					Ratio: toOldPods()})
			}
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
			decision := decide.Decide(workload, see(5, under(policy), ran(1, 1), reading(32), func(seen *decide.Observation) {
				read := seen.Verification.Readings[decide.CheckID{Policy: "shop/web", Name: "errors"}]
				old := read.Answers[0][1].Values // the bad events of sleep-2
				for i := range old {
					old[i] /= 16
				}
				read.Moments = read.Moments[:5]
				seen.Verification.Readings[decide.CheckID{Policy: "shop/web", Name: "compared-0"}] = read
				seen.Verification.Pods.Old = seen.Verification.Pods.New[1:2]
				seen.Verification.Pods.New = seen.Verification.Pods.New[:1]
				seen.Verification.Pods.Began = now.Add(-5 * time.Minute)
			}), now)
			NewWithT(t).Expect(string(decision.Status.Checks[1].Verdict)).To(Equal(verdict), decision.Status.Checks[1].Message)
		})
	}
}

func TestAskedChecks(t *testing.T) {
	enforce := checking("web", "Enforce", ofErrors)
	running := stored("Running", "Unknown", "Verifying")
	known := func(verdict string) appv1alpha1.CheckResult {
		return appv1alpha1.CheckResult{
			Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Enforce", Verdict: appv1alpha1.CheckVerdict(verdict), Since: metav1.NewTime(now),
		}
	}
	for name, row := range map[string]struct {
		workload *appv1alpha1.ChangeWorkload
		pods     []checks.Pod
		asked    int
	}{
		"while a release goes on":       {newWorkload(running, begun(policies(enforce))), []checks.Pod{{Name: "sleep-1"}}, 1},
		"before a pod has finished":     {newWorkload(running, begun(policies(enforce))), nil, 0},
		"of no policy":                  {newWorkload(running), []checks.Pod{{Name: "sleep-1"}}, 0},
		"that look at no metrics":       {newWorkload(running, begun(policies(checking("web", "Enforce")))), []checks.Pod{{Name: "sleep-1"}}, 0},
		"that passed early":             {newWorkload(running, begun(policies(enforce), known("Pass"))), []checks.Pod{{Name: "sleep-1"}}, 1},
		"that failed":                   {newWorkload(running, begun(policies(enforce), known("Fail"))), []checks.Pod{{Name: "sleep-1"}}, 0},
		"while a release is suspended":  {newWorkload(stored("Suspend", "False", "PodsFailed"), begun(policies(enforce))), []checks.Pod{{Name: "sleep-1"}}, 0},
		"after it was verified":         {newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now), begun(policies(enforce), known("Pass"))), []checks.Pod{{Name: "sleep-1"}}, 0},
		"at the end of one not decided": {newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now), begun(policies(enforce), known("Pending"))), []checks.Pod{{Name: "sleep-1"}}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			asked := decide.AskedChecks(row.workload, &checks.Scene{New: row.pods}, now)
			g.Expect(asked).To(HaveLen(row.asked))
			for _, check := range asked {
				g.Expect(check.CheckID).To(Equal(decide.CheckID{Policy: "shop/web", Name: "errors"}))
				g.Expect(check.Schedule).To(Equal(decide.Schedule{Interval: 15 * time.Second}))
			}
		})
	}
}

func TestAskedChecksAreSpreadOverTheInterval(t *testing.T) {
	g, policy := NewWithT(t), checking("web", "Enforce", ofErrors)
	looks := map[time.Duration]int{}
	for i := range 150 {
		workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
		workload.UID = types.UID(fmt.Sprintf("5a6d0b5e-8c6c-4f0a-9b7e-%012d", i))
		asked := decide.AskedChecks(workload, &checks.Scene{New: []checks.Pod{{Name: "sleep-1"}}}, now)
		g.Expect(asked).To(HaveLen(1))
		looks[asked[0].Offset]++
		last := asked[0].Last(now)
		g.Expect(now.Sub(last)).To(And(BeNumerically(">=", 0), BeNumerically("<", 15*time.Second)))
		g.Expect(last.Add(-asked[0].Offset)).To(Equal(last.Truncate(15*time.Second)), "the present time is a multiple of 15 s")
		seen := see(5, under(policy), ran(1, 2), reading(2), func(seen *decide.Observation) { seen.Verification.Pods.Began = now.Add(-5 * time.Minute) })
		g.Expect(decide.Decide(workload, seen, now).Wait).To(Equal(last.Add(15*time.Second).Sub(now)), "the time of the next look")
	}
	g.Expect(looks).To(HaveLen(15))
	g.Expect(looks).To(HaveEach(BeNumerically("<=", 20)), "releases that look in the same second, 10 on average")
}

func TestMayFailLooksForACauseOfTroubleOnlyWhereItCounts(t *testing.T) {
	for _, row := range []struct {
		name   string
		policy appv1alpha1.VerificationPolicy
		known  []appv1alpha1.CheckedPod
		may    bool
	}{
		{"the health of pods", checking("web", "Enforce"), nil, true},
		{"a rule", checking("web", "Enforce", by("false")), nil, false},
		{"one that has 99 pods", checking("web", "Enforce"), make([]appv1alpha1.CheckedPod, 99), true},
		{"one that has 100 pods", checking("web", "Enforce"), make([]appv1alpha1.CheckedPod, 100), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			seen := see(5, under(row.policy), compiling(t), crashing(2))
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(checking("web", "Enforce"))))
			workload.Status.Verification.Policies[0].Checks = row.policy.Spec.Checks
			workload.Status.Checks = []appv1alpha1.CheckResult{{Policy: "shop/web", Name: "pods", Type: "PodHealth", Verdict: "Fail", Pods: row.known}}
			NewWithT(t).Expect(decide.MayFail(workload, seen.Verification.Pods, now)).To(Equal(row.may))
		})
	}
}

func TestHasRules(t *testing.T) {
	g := NewWithT(t)
	health, ruled := checking("web", "Enforce"), checking("web", "Enforce", by("true"))
	applied := func(policy appv1alpha1.VerificationPolicy) *appv1alpha1.ReleaseVerification {
		return &appv1alpha1.ReleaseVerification{Policies: []appv1alpha1.AppliedPolicy{{VerificationTerms: policy.Spec.VerificationTerms}}}
	}
	g.Expect(decide.HasRules(nil, policies(health))).To(BeFalse())
	g.Expect(decide.HasRules(nil, policies(health, ruled))).To(BeTrue())
	g.Expect(decide.HasRules(applied(health), policies(health))).To(BeFalse())
	g.Expect(decide.HasRules(applied(ruled), policies(health))).To(BeTrue(), "a release keeps the checks that it began with")
}

func TestDecideChecksARelease(t *testing.T) {
	enforce, observe, warn := checking("web", "Enforce"), checking("web", "Observe"), checking("web", "Warn")
	failed := appv1alpha1.CheckResult{
		Policy: "shop/web", Name: "pods", Type: "PodHealth", Mode: "Enforce", Verdict: "Fail", Reason: "CheckFailed", Message: "found",
		Since: metav1.NewTime(now), Pods: []appv1alpha1.CheckedPod{{Pod: "sleep-2", UID: "sleep-2", Message: "crashed"}}, Enforced: true,
	}
	success := stored("Success", "True", "AllPodsPassed")
	running := stored("Running", "Unknown", "Verifying")
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		status   string
		suspend  bool
		progress string
		checks   []string
	}{
		{"that found nothing so far", newWorkload(running, begun(policies(enforce))), see(5, under(enforce)),
			"Running", false, "0/1", []string{"shop/web pods: Enforce Pending  "}},
		{"whose pods all passed", newWorkload(running, begun(policies(enforce))), see(5, under(enforce), ran(1, 5)),
			"Success", false, "1/1", []string{"shop/web pods: Enforce Pass CheckPassed "}},
		{"whose pod crashes", newWorkload(running, begun(policies(enforce))), see(5, under(enforce), ran(1, 3), crashing(2)),
			"Suspend", true, "0/1, pods Fail", []string{"shop/web pods: Enforce Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"whose last pod crashes as it passes", newWorkload(running, begun(policies(enforce))), see(5, under(enforce), ran(1, 5), crashing(5)),
			"Suspend", true, "0/1, pods Fail", []string{"shop/web pods: Enforce Fail CheckFailed 1 pod of the release restarted; sleep-5"}},
		{"whose pod crashes before its batch", newWorkload(running, begun(policies(enforce)), batchesOf(5)),
			see(5, under(enforce), finished(realPods(1, 2)), crashing(2)),
			"Suspend", true, "0/1, pods Fail", []string{"shop/web pods: Enforce Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"that a policy only observes", newWorkload(running, begun(policies(observe))), see(5, under(observe), ran(1, 5), crashing(2)),
			"Success", false, "0/1, pods Fail", []string{"shop/web pods: Observe Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"that a check only warns of", newWorkload(running, begun(policies(checking("web", "Enforce", checkMode("Warn"))))),
			see(5, under(checking("web", "Enforce", checkMode("Warn"))), ran(1, 5), crashing(2)),
			"Success", false, "0/1, pods Fail", []string{"shop/web pods: Warn Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"of whose policy a check can't do more", newWorkload(running, begun(policies(checking("web", "Observe", checkMode("Enforce"))))),
			see(5, under(checking("web", "Observe", checkMode("Enforce"))), ran(1, 5), crashing(2)),
			"Success", false, "0/1, pods Fail", []string{"shop/web pods: Observe Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"that failed before", newWorkload(stored("Suspend", "False", "PodsFailed"), begun(policies(enforce), failed)),
			see(5, under(enforce), ran(1, 3), suspended),
			"Suspend", false, "0/1, pods Fail", []string{"shop/web pods: Enforce Fail CheckFailed found; sleep-2"}},
		{"of which one more pod fails", newWorkload(stored("Suspend", "False", "PodsFailed"), begun(policies(enforce), failed)),
			see(5, under(enforce), ran(1, 3), suspended, crashing(3)),
			"Suspend", false, "0/1, pods Fail", []string{"shop/web pods: Enforce Fail CheckFailed found; sleep-2; sleep-3"}},
		{"with a common cause", newWorkload(running, begun(policies(enforce))), see(5, under(enforce), ran(1, 3), crashing(2), func(seen *decide.Observation) {
			seen.Verification.Pods.Others = map[appv1alpha1.PodSignal]int{"Restarts": 3}
		}), "Running", false, "0/1", []string{
			"shop/web pods: Enforce Inconclusive CommonCause 1 pod of the release restarted, as pods of 3 other workloads do"}},
		{"of a kind without pods", newWorkload(running, begun(policies(enforce))), see(5, under(enforce), ran(1, 5), func(seen *decide.Observation) {
			seen.Kind, seen.Verification.Pods = "Job", nil
		}), "Success", false, "0/1", []string{"shop/web pods: Enforce Skipped NoPods a Job has no pods that keep running"}},
		{"that was verified before its pod crashed", newWorkload(success, entered(now.Add(-time.Minute)), begun(policies(checking("web", "Enforce", watching(90))))),
			see(5, under(checking("web", "Enforce", watching(90))), ran(1, 5), crashing(2)),
			"Suspend", true, "0/1, pods Fail", []string{"shop/web pods: Enforce Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"that isn't watched any more", newWorkload(success, entered(now.Add(-time.Minute)), begun(policies(checking("web", "Enforce", watching(60))))),
			see(5, under(checking("web", "Enforce", watching(60))), ran(1, 5), crashing(2)),
			"Success", false, "1/1", []string{"shop/web pods: Enforce Pass CheckPassed "}},
		{"that isn't watched any more, so that nobody looks for policies", newWorkload(success, entered(now.Add(-time.Minute)),
			begun(policies(checking("web", "Enforce", watching(60))))), see(5, under(), ran(1, 5)),
			"Success", false, "1/1", []string{"shop/web pods: Enforce Pass CheckPassed "}},
		{"whose policy was deleted", newWorkload(running, begun(policies(enforce))), see(5, under(), ran(1, 3), crashing(2)),
			"Running", false, "0/0", nil},
		{"whose policy was deleted after it failed", newWorkload(stored("Suspend", "False", "PodsFailed"), begun(policies(enforce), failed)),
			see(5, under(), ran(1, 3), suspended),
			"Suspend", false, "0/1, pods Fail", []string{"shop/web pods: Enforce Fail CheckFailed found; sleep-2"}},
		{"whose policy was loosened", newWorkload(running, begun(policies(enforce))), see(5, under(warn), ran(1, 3), crashing(2)),
			"Running", false, "0/1, pods Fail", []string{"shop/web pods: Warn Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"whose policy was tightened", newWorkload(running, begun(policies(observe))), see(5, under(enforce), ran(1, 3), crashing(2)),
			"Running", false, "0/1, pods Fail", []string{"shop/web pods: Observe Fail CheckFailed 1 pod of the release restarted; sleep-2"}},
		{"of which another policy knows nothing", newWorkload(running, begun(policies(enforce))), see(5, under(enforce, checking("new", "Enforce")), ran(1, 3)),
			"Running", false, "0/1", []string{"shop/web pods: Enforce Pending  "}},
		{"that began without policies", newWorkload(running), see(5, under(enforce), ran(1, 3), crashing(2)), "Running", false, "", nil},
		{"that was superseded", newWorkload(running, begun(policies(enforce))), see(5, under(enforce), ran(1, 3), crashing(2), moved),
			"Running", false, "0/1", []string{"shop/web pods: Enforce Pending  "}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Suspend).To(Equal(row.suspend))
			g.Expect(toldChecks(decision.Status.Checks)).To(Equal(row.checks))
			if row.progress != "" {
				g.Expect(decision.Status.Verification.Progress).To(Equal(row.progress))
			}
			if row.status == "Suspend" {
				g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(HavePrefix("pod sleep-"))
			}
		})
	}
}

func entered(at time.Time) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.EntryTimeUnix = at.Unix() }
}

func TestDecideOpensTheBatchOfAPodThatFailedACheck(t *testing.T) {
	g := NewWithT(t)
	enforce := checking("web", "Enforce")
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(enforce)))
	decision := decide.Decide(workload, see(5, under(enforce), finished(realPods(1, 2)), crashing(2)), now)
	g.Expect(sizes(decision.Batches)).To(Equal([]int{1, 1}))
	g.Expect(decision.Status.Counts.Failed).To(BeEquivalentTo(1))
	g.Expect(decision.Status.DefenseCheckFailPods).To(HaveLen(1))
	g.Expect(decision.Status.DefenseCheckFailPods[0].IP).To(Equal("10.244.1.198"))
	g.Expect(decision.Status.DefenseCheckFailPods[0].Message).To(Equal("2 restarts after the pod was ready; container main ended with exit code 1"))
}

func TestDecideLooksAgainAtAPodThatIsNotReady(t *testing.T) {
	g := NewWithT(t)
	enforce := checking("web", "Enforce")
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(enforce)))
	decision := decide.Decide(workload, see(5, under(enforce), ran(1, 3), func(seen *decide.Observation) {
		seen.Verification.Pods.New[0].Unready = now.Add(-10 * time.Second)
	}), now)
	g.Expect(decision.Wait).To(Equal(20 * time.Second))
}

// crashed is a release in which a pod failed the check of a policy.
func crashed(mode string, pod int) *appv1alpha1.ChangeWorkload {
	policy := checking("web", mode, baking(30))
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
	workload.Status = decide.Decide(workload, see(5, under(policy), ran(1, 3), crashing(pod)), now).Status
	return workload
}

func TestAdvanceChangePodFailsPodsByChecks(t *testing.T) {
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		batch    appv1alpha1.ChangePod
		results  []string
		verified string
	}{
		{"of a batch that is done", crashed("Enforce", 2), newBatch(realPods(1, 3), done),
			[]string{"sleep-2 unpass 2 restarts after the pod was ready; container main ended with exit code 1 (VerificationPolicy shop/web pods)"},
			"Verified is False: PodsFailed"},
		{"of a batch that bakes", crashed("Enforce", 2), newBatch(realPods(1, 3), openedAt(now)),
			[]string{"sleep-2 unpass 2 restarts after the pod was ready; container main ended with exit code 1 (VerificationPolicy shop/web pods)"},
			"Verified is False: PodsFailed"},
		{"of another batch", crashed("Enforce", 4), newBatch(realPods(1, 3), done), nil, "Verified is True: CheckNotConfigured"},
		{"that only warn", crashed("Warn", 2), newBatch(realPods(1, 3), done), nil, "Verified is True: CheckNotConfigured"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			facts := decide.FactsOf(row.workload, &row.batch, verifier.State{})
			status := decide.AdvanceChangePod(&row.batch, facts, decide.CheckAnswer{}, now)
			var results []string
			for _, pod := range status.PodResults {
				results = append(results, pod.Pod+" "+string(pod.Verdict)+" "+pod.Message)
			}
			g.Expect(results).To(Equal(row.results))
			g.Expect(told(status.Conditions, "Verified")).To(Equal(row.verified))
			if len(row.results) == 0 {
				return
			}
			g.Expect(status.VerdictTime.Time).To(BeTemporally("==", now))
			row.batch.Status = status
			g.Expect(decide.ChecksFailed(row.workload, &row.batch)).To(BeEmpty(), "each pod fails once")
			row.batch.Status.PodResults[0].Verdict = "pass" // by a user
			facts = decide.FactsOf(row.workload, &row.batch, verifier.State{})
			status = decide.AdvanceChangePod(&row.batch, facts, decide.CheckAnswer{}, now)
			g.Expect(status.PodResults[0].Verdict).To(BeEquivalentTo("pass"), "a verdict that a user took back stays so")
		})
	}
}

// failedTimes is a release in which one pod failed so many checks at once.
func failedTimes(checks, pod int) *appv1alpha1.ChangeWorkload {
	workload := crashed("Enforce", pod)
	failed := workload.Status.Checks[0]
	workload.Status.Checks = nil
	for i := range checks {
		failed.Name = fmt.Sprintf("check-%d", i)
		workload.Status.Checks = append(workload.Status.Checks, failed)
	}
	return workload
}

func TestAdvanceChangePodShowsNoMoreFailedChecksThanAStatusHolds(t *testing.T) {
	g := NewWithT(t)
	workload, batch, other := failedTimes(10, 2), newBatch(realPods(1, 3), done), newBatch(realPods(4, 5), done)
	batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, verifier.State{}), decide.CheckAnswer{}, now)
	g.Expect(batch.Status.Checks).To(HaveLen(8), "the API server rejects more")
	g.Expect(decide.ChecksFailed(workload, &batch)).To(BeEmpty(), "each pod fails once, also by a check that isn't shown")

	seen := see(5, under(checking("web", "Enforce")), finished(realPods(1, 5)), batches(batch, other))
	failed := decide.Decide(failedTimes(10, 4), seen, now).Status.DefenseCheckFailPods
	g.Expect(namesOf(failed)).To(ConsistOf("sleep-2", "sleep-4"), "a pod of another batch counts")
}

func TestDecideCountsAPodOnceThatFailsSeveralChecks(t *testing.T) {
	g := NewWithT(t)
	seen := see(5, under(checking("web", "Enforce")), finished(realPods(1, 5)), batches(newBatch(realPods(1, 5), done)))
	status := decide.Decide(failedTimes(2, 4), seen, now).Status
	g.Expect(status.Counts.Failed).To(BeEquivalentTo(1))
	g.Expect(namesOf(status.DefenseCheckFailPods)).To(Equal([]string{"sleep-4"}))
}

func TestDecideCountsAPodThatAUserLetPass(t *testing.T) {
	g := NewWithT(t)
	workload, batch := crashed("Enforce", 2), newBatch(realPods(1, 5), done)
	facts := decide.FactsOf(workload, &batch, verifier.State{})
	batch.Status = decide.AdvanceChangePod(&batch, facts, decide.CheckAnswer{}, now)
	seen := see(5, under(checking("web", "Enforce")), finished(realPods(1, 5)), batches(batch), crashing(2), suspended)
	g.Expect(string(decide.Decide(workload, seen, now).Status.Status)).To(Equal("Suspend"))
	seen.Batches[0].Status.PodResults[0].Verdict = "pass"
	g.Expect(string(decide.Decide(workload, seen, now).Status.Status)).To(Equal("Success"))
}

func TestAdvanceChangePodBakesABatch(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", baking(30))
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
	batch := newBatch(realPods(1, 2), openedAt(now))
	advance := func(at time.Time) {
		batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, verifier.State{}), decide.CheckAnswer{}, at)
	}
	advance(now)
	g.Expect(string(batch.Status.Status)).To(Equal("PostWait"))
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is Unknown: Baking"))
	g.Expect(messageOf(batch.Status.Conditions, "Verified")).To(Equal("the pods are checked by VerificationPolicies until 2026-11-21T10:00:30Z"))
	g.Expect(decide.CheckWait(&batch, now.Add(10*time.Second))).To(Equal(20 * time.Second))
	before := batch.Status
	advance(now.Add(29 * time.Second))
	g.Expect(batch.Status).To(Equal(before), "nothing is written meanwhile")
	advance(now.Add(30 * time.Second))
	g.Expect(string(batch.Status.Status)).To(Equal("ExecuteDone"))
	g.Expect(batch.Status.Message).To(Equal("PostFinish"))
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is True: PodsPassed"))
}

func TestNextCallWaitsUntilABatchIsBaked(t *testing.T) {
	g := NewWithT(t)
	policy := checking("web", "Enforce", baking(30))
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), orderIn("Open", 1), begun(policies(policy)))
	batch := newBatch(realPods(1, 2), openedAt(now), func(batch *appv1alpha1.ChangePod) {
		batch.Status = appv1alpha1.ChangePodStatus{Status: "PostWait", ChangePodID: "7", Deadline: &metav1.Time{Time: now.Add(2 * time.Minute)}}
	})
	facts := decide.FactsOf(workload, &batch, aServer())
	g.Expect(string(decide.NextCall(&batch, facts, now.Add(29*time.Second)))).To(BeEmpty())
	batch.Status = decide.AdvanceChangePod(&batch, facts, decide.CheckAnswer{}, now)
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is Unknown: Baking"))
	g.Expect(decide.CheckWait(&batch, now)).To(Equal(30*time.Second), "then the server is asked")
	later := now.Add(30 * time.Second)
	g.Expect(string(decide.NextCall(&batch, facts, later))).To(Equal("finish"))
	batch.Status = decide.AdvanceChangePod(&batch, facts, decide.CheckAnswer{Call: "finish", Err: errors.New("connection refused")}, later)
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is Unknown: ServerUnavailable"))
	g.Expect(batch.Status.Deadline.Time).To(BeTemporally("==", later.Add(2*time.Minute)), "the server has its full time")
}

func TestFactsOfBakeOnlyWhatIsEnforced(t *testing.T) {
	for _, row := range []struct {
		name   string
		policy appv1alpha1.VerificationPolicy
		baked  time.Time
	}{
		{"an enforced check", checking("web", "Enforce", baking(30)), now.Add(30 * time.Second)},
		{"a check that warns", checking("web", "Warn", baking(30)), time.Time{}},
		{"a check of an enforced policy that warns", checking("web", "Enforce", baking(30), checkMode("Warn")), time.Time{}},
		{"no bake", checking("web", "Enforce"), time.Time{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(row.policy)))
			batch := newBatch(realPods(1, 2), openedAt(now))
			g.Expect(decide.FactsOf(workload, &batch, aServer()).BakedUntil).To(BeTemporally("==", row.baked))
			workload.Spec.Release = 2
			g.Expect(decide.FactsOf(workload, &batch, aServer()).BakedUntil).To(BeTemporally("==", row.baked), "by the release that the status describes")
			workload.Status.ObservedRelease = 2
			g.Expect(decide.FactsOf(workload, &batch, aServer()).BakedUntil).To(BeZero())
		})
	}
}

func TestFactsOfBakeUntilAllEnforcedChecksPassedEarly(t *testing.T) {
	passed := func(name, kind string) appv1alpha1.CheckResult {
		return appv1alpha1.CheckResult{Policy: "shop/web", Name: name, Type: appv1alpha1.CheckType(kind), Mode: "Enforce", Verdict: "Pass"}
	}
	holding := func(policy *appv1alpha1.VerificationPolicy) { policy.Spec.Checks[0].OnInconclusive = "Hold" }
	errors := checking("web", "Enforce", ofErrors)
	both, warns, holds := checking("web", "Enforce", ofErrors), checking("web", "Enforce", ofErrors), checking("web", "Enforce", ofErrors, holding)
	both.Spec.Checks = append(both.Spec.Checks, appv1alpha1.VerificationCheck{Name: "pods", Type: "PodHealth"})
	warns.Spec.Checks = append(warns.Spec.Checks, appv1alpha1.VerificationCheck{Name: "pods", Type: "PodHealth", Mode: "Warn"})
	other := checking("other", "Enforce", baking(30))
	for name, row := range map[string]struct {
		policies []appv1alpha1.VerificationPolicy
		results  []appv1alpha1.CheckResult
		baked    time.Time
	}{
		"none did":                       {policies(errors), nil, now.Add(2 * time.Minute)},
		"the only one did":               {policies(errors), []appv1alpha1.CheckResult{passed("errors", "Ratio")}, now},
		"one of two did":                 {policies(both), []appv1alpha1.CheckResult{passed("errors", "Ratio")}, now.Add(2 * time.Minute)},
		"the other only warns":           {policies(warns), []appv1alpha1.CheckResult{passed("errors", "Ratio")}, now},
		"one of another policy did":      {policies(errors, other), []appv1alpha1.CheckResult{passed("errors", "Ratio")}, now.Add(30 * time.Second)},
		"each batch waits for it anyway": {policies(holds), []appv1alpha1.CheckResult{passed("errors", "Ratio")}, now.Add(2 * time.Minute)},
	} {
		t.Run(name, func(t *testing.T) {
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(row.policies, row.results...))
			batch := newBatch(realPods(1, 2), openedAt(now))
			NewWithT(t).Expect(decide.FactsOf(workload, &batch, aServer()).BakedUntil).To(BeTemporally("==", row.baked))
		})
	}
}

func TestAdvanceChangePodPassesABatchWhoseChecksPassedEarly(t *testing.T) {
	g, policy := NewWithT(t), checking("web", "Enforce", ofErrors)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy), appv1alpha1.CheckResult{
		Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Enforce", Verdict: "Pass",
	}))
	batch := newBatch(realPods(1, 2), openedAt(now))
	batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, verifier.State{}), decide.CheckAnswer{}, now)
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is True: PodsPassed"), "no server is needed")
	g.Expect(batch.Status.PodResults).To(HaveEach(HaveField("Verdict", BeEquivalentTo("pass"))))
}

func TestWatchedPoliciesLookAtThePodsThatTheyHaveNotSeenForTheirTime(t *testing.T) {
	passed := func(ago time.Duration) appv1alpha1.CheckResult {
		return appv1alpha1.CheckResult{
			Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Enforce", Verdict: "Pass", Since: metav1.NewTime(now.Add(-ago)),
		}
	}
	pending := appv1alpha1.CheckResult{
		Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Enforce", Verdict: "Inconclusive", Since: metav1.NewTime(now),
	}
	for name, row := range map[string]struct {
		result  appv1alpha1.CheckResult
		ago     time.Duration
		watched int
		// mode is that of the check, empty for that of the policy.
		mode appv1alpha1.CheckMode
	}{
		"as early as a minute before":    {passed(2 * time.Minute), time.Minute, 1, ""},
		"until bakeSeconds later":        {passed(4 * time.Minute), 2 * time.Minute, 0, ""},
		"not after a pass in time":       {passed(time.Minute), time.Minute, 0, ""},
		"not after one that came by now": {passed(0), time.Minute, 0, ""},
		"not where it had its time":      {pending, time.Minute, 0, ""},
		"where it only observes":         {pending, time.Minute, 1, "Observe"},
	} {
		t.Run(name, func(t *testing.T) {
			policy := checking("web", "Enforce", ofErrors)
			policy.Spec.Checks[0].Mode = row.mode
			workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-row.ago)), begun(policies(policy), row.result))
			NewWithT(t).Expect(decide.WatchedPolicies(workload, now)).To(HaveLen(row.watched))
		})
	}
}

func TestAdvanceChangePodAsksTheServerWhenTheChecksPassedEarly(t *testing.T) {
	g, policy := NewWithT(t), checking("web", "Enforce", ofErrors)
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
	batch := newBatch(realPods(1, 2), openedAt(now), func(batch *appv1alpha1.ChangePod) {
		batch.Status = appv1alpha1.ChangePodStatus{Status: "PostWait", ChangePodID: "7", Deadline: &metav1.Time{Time: now.Add(2 * time.Minute)}, PostTimeoutThreshold: 120}
	})
	batch.Status = decide.AdvanceChangePod(&batch, decide.FactsOf(workload, &batch, aServer()), decide.CheckAnswer{}, now)
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is Unknown: Baking"))
	workload.Status.Checks = []appv1alpha1.CheckResult{{Policy: "shop/web", Name: "errors", Type: "Ratio", Mode: "Enforce", Verdict: "Pass"}}
	facts, later := decide.FactsOf(workload, &batch, aServer()), now.Add(40*time.Second)
	g.Expect(string(decide.NextCall(&batch, facts, later))).To(Equal("finish"))
	batch.Status = decide.AdvanceChangePod(&batch, facts, decide.CheckAnswer{Call: "finish", Err: errors.New("connection refused")}, later)
	g.Expect(told(batch.Status.Conditions, "Verified")).To(Equal("Verified is Unknown: ServerUnavailable"))
	g.Expect(batch.Status.Deadline.Time).To(BeTemporally("==", later.Add(2*time.Minute)), "the server has its full time")
}

func TestDecideOpensNoBatchBeforeItsStatusHasThePolicies(t *testing.T) {
	g := NewWithT(t)
	bakes := see(5, under(checking("web", "Enforce", baking(30))), finished(realPods(1, 2)))
	g.Expect(decide.Decide(newWorkload(), bakes, now).Batches).To(BeEmpty())
	workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(checking("web", "Enforce", baking(30)))))
	g.Expect(decide.Decide(workload, bakes, now).Batches).To(HaveLen(2))
	g.Expect(decide.Decide(newWorkload(), see(5, under(checking("web", "Enforce")), finished(realPods(1, 2))), now).Batches).To(HaveLen(2))
}

func TestDecideCountsAPodThatFailsBeforeItsBatchShowsItOnce(t *testing.T) {
	g := NewWithT(t)
	enforce := checking("web", "Enforce")
	seen := see(5, under(enforce), finished(realPods(1, 3)), batches(newBatch(realPods(1, 3), in("PostWait"))), crashing(2))
	status := decide.Decide(newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(enforce))), seen, now).Status
	g.Expect(namesOf(status.DefenseCheckFailPods)).To(HaveExactElements("sleep-2"))
	g.Expect(namesOf(status.DefenseCheckingPods)).To(HaveExactElements("sleep-1", "sleep-3"))
	g.Expect(status.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 5, Checking: 2, Failed: 1}))
}
