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
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
)

type ratioOption func(*appv1alpha1.RatioCheck)

// ofRatios has a policy look every 15 seconds at so many ratios of counters, numbered from a number.
func ofRatios(count, from int, options ...ratioOption) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) {
		policy.Spec.IntervalSeconds, policy.Spec.BakeSeconds, policy.Spec.Checks = 15, 120, nil
		for i := range count {
			check := &appv1alpha1.RatioCheck{
				Total: appv1alpha1.MetricSelector{Metric: fmt.Sprintf("requests_%d", from+i)}, Bad: appv1alpha1.MetricSelector{Matchers: []string{`code="500"`}},
			}
			check.Threshold = &appv1alpha1.RatioThreshold{Max: "1%", Consecutive: 3, MinEvents: 20}
			for _, option := range options {
				option(check)
			}
			policy.Spec.Checks = append(policy.Spec.Checks, appv1alpha1.VerificationCheck{Name: fmt.Sprintf("ratio-%d", i), Type: "Ratio", Ratio: check})
		}
	}
}

// ofTwo has the bad events a metric of their own.
func ofTwo(check *appv1alpha1.RatioCheck) { check.Bad.Metric = "errors_of_" + check.Total.Metric }

func against(baseline string) ratioOption {
	return func(check *appv1alpha1.RatioCheck) {
		check.Threshold, check.Comparison = nil, &appv1alpha1.RatioComparison{
			Baseline: appv1alpha1.RatioBaseline(baseline), Tolerance: "1.5", MinDelta: "0.5%", MinEvents: 5,
		}
	}
}

// every has a policy look in another interval.
func every(seconds int32) policyOption {
	return func(policy *appv1alpha1.VerificationPolicy) { policy.Spec.IntervalSeconds = seconds }
}

func TestAskedChecksAskAtMostTwelveQueriesAtALook(t *testing.T) {
	for name, row := range map[string]struct {
		policies []appv1alpha1.VerificationPolicy
		// most is the largest number of checks that look at once, in is at which look of how many each one does.
		most, in int
	}{
		"twelve ratios of a metric":                   {policies(checking("web", "Enforce", ofRatios(12, 0))), 12, 1},
		"thirteen":                                    {policies(checking("web", "Enforce", ofRatios(13, 0))), 12, 2},
		"as many as a release has":                    {policies(checking("web", "Enforce", ofRatios(16, 0)), checking("api", "Enforce", ofRatios(16, 16))), 12, 3},
		"six ratios of two metrics":                   {policies(checking("web", "Enforce", ofRatios(6, 0, ofTwo))), 6, 1},
		"seven":                                       {policies(checking("web", "Enforce", ofRatios(7, 0, ofTwo))), 6, 2},
		"four that are compared with the past":        {policies(checking("web", "Enforce", ofRatios(4, 0, against("Before")))), 4, 1},
		"five":                                        {policies(checking("web", "Enforce", ofRatios(5, 0, against("Before")))), 4, 2},
		"twelve that are compared with old pods":      {policies(checking("web", "Enforce", ofRatios(12, 0, against("Auto")))), 12, 1},
		"two policies with the same queries":          {policies(checking("web", "Enforce", ofRatios(12, 0)), checking("api", "Enforce", ofRatios(12, 0))), 24, 1},
		"two policies that look at different times":   {policies(checking("web", "Enforce", ofRatios(12, 0)), checking("api", "Enforce", ofRatios(12, 12), every(20))), 24, 1},
		"a matcher that can't be parsed asks nothing": {policies(checking("web", "Enforce", ofRatios(12, 0), unparsed)), 13, 1},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(row.policies))
			most, looks := 0, map[decide.CheckID]int{}
			for look := range 12 * row.in {
				count := 0
				for _, asked := range decide.AskedChecks(workload, &checks.Scene{New: []checks.Pod{{Name: "sleep-1"}}}, now.Add(time.Duration(look)*15*time.Second)) {
					if !asked.Waits {
						count++
						looks[asked.CheckID]++
					}
				}
				most = max(most, count)
			}
			g.Expect(most).To(Equal(row.most))
			for id, count := range looks {
				g.Expect(count).To(Equal(12), "of %s, at every look of %d", id.Name, row.in)
			}
		})
	}
}

// unparsed adds a check with a matcher that is none.
func unparsed(policy *appv1alpha1.VerificationPolicy) {
	check := policy.Spec.Checks[0].DeepCopy()
	check.Name, check.Ratio.Bad.Matchers = "unparsed", []string{"code"}
	policy.Spec.Checks = append(policy.Spec.Checks, *check)
}

// The last looks are in turn as well: a release whose watch ends would ask everything at once.
func TestAskedChecksHaveTheirLastLookInTurn(t *testing.T) {
	g, policy := NewWithT(t), checking("web", "Observe", ofRatios(13, 0))
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-2*time.Minute)), begun(policies(policy)))
	askedAt := func(at time.Time) (last, other, waiting int) {
		for _, asked := range decide.AskedChecks(workload, &checks.Scene{New: []checks.Pod{{Name: "sleep-1"}}}, at) {
			switch {
			case asked.Waits:
				waiting++
			case asked.Ended:
				last++
			default:
				other++
			}
		}
		return last, other, waiting
	}
	last, other, waiting := askedAt(now.Add(-15 * time.Second))
	g.Expect([]int{last, last + other + waiting}).To(Equal([]int{0, 13}))
	last, other, waiting = askedAt(now)
	g.Expect([]int{last, other, waiting}).To(Or(Equal([]int{12, 0, 1}), Equal([]int{1, 0, 12})), "the watch ended")
	then, other, waiting := askedAt(now.Add(15 * time.Second))
	g.Expect([]int{then, other, waiting}).To(Equal([]int{13 - last, 0, last}))
}

func TestDecideLeavesACheckThatWaitsForItsTurnUndecided(t *testing.T) {
	g, policy := NewWithT(t), checking("web", "Observe", ofRatios(13, 0))
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-2*time.Minute)), begun(policies(policy)))
	decideAt := func(at time.Time) (verdicts map[string]int, wait time.Duration) {
		seen := see(5, under(policy), ran(1, 2))
		seen.Verification.Readings, seen.Verification.Awaited = map[decide.CheckID]measure.Readings{}, map[decide.CheckID]bool{}
		for _, asked := range decide.AskedChecks(workload, seen.Verification.Pods, at) {
			if asked.Waits {
				seen.Verification.Awaited[asked.CheckID] = true
			} else {
				seen.Verification.Readings[asked.CheckID] = measure.Readings{}
			}
		}
		decision := decide.Decide(workload, seen, at)
		workload.Status, verdicts = decision.Status, map[string]int{}
		for _, result := range decision.Status.Checks {
			verdicts[string(result.Verdict)+result.Reason]++
		}
		return verdicts, decision.Wait
	}
	verdicts, wait := decideAt(now)
	g.Expect(verdicts).To(Or(Equal(map[string]int{"InconclusiveNoData": 12, "Pending": 1}), Equal(map[string]int{"InconclusiveNoData": 1, "Pending": 12})))
	g.Expect(wait).To(Equal(15*time.Second), "the next turn")
	verdicts, _ = decideAt(now.Add(15 * time.Second))
	g.Expect(verdicts).To(Equal(map[string]int{"InconclusiveNoData": 13}))
}

// A replay reads the past one query after another, and its watch ends with the past.
func TestReplayedChecksWaitForNoTurn(t *testing.T) {
	g, policy := NewWithT(t), checking("web", "Observe", ofRatios(13, 0))
	workload := newWorkload(stored("Success", "True", "AllPodsPassed"), entered(now.Add(-2*time.Minute)), begun(policies(policy)))
	seen := see(5, under(policy), ran(1, 2)).Verification
	seen.Readings = map[decide.CheckID]measure.Readings{}
	for _, asked := range decide.ReplayedChecks(workload, seen.Pods, now) {
		g.Expect([]bool{asked.Waits, asked.Ended}).To(Equal([]bool{false, true}))
		seen.Readings[asked.CheckID] = measure.Readings{}
	}
	g.Expect(seen.Readings).To(HaveLen(13))
	g.Expect(toldChecks(decide.Replay(workload, seen, now))).To(And(HaveLen(13), HaveEach(ContainSubstring("Observe Inconclusive NoData"))))
}
