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
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
)

func TestChangeVerdictName(t *testing.T) {
	g := NewWithT(t)
	name := decide.ChangeVerdictName("sleep--x--6a8f", 3, "77f1a9", "drift")
	g.Expect(name).To(Equal("sleep--x--6a8f--x--3-7b083f6281"))
	for _, other := range []string{
		decide.ChangeVerdictName("sleep--x--6a8f", 4, "77f1a9", "drift"), decide.ChangeVerdictName("sleep--x--6a8f", 3, "77f1a8", "drift"),
		decide.ChangeVerdictName("sleep--x--6a8f", 3, "77f1a9", "other"), decide.ChangeVerdictName("web--x--6a8f", 3, "77f1a9", "drift"),
	} {
		g.Expect(other).NotTo(Equal(name))
	}
	long := decide.ChangeVerdictName(strings.Repeat("a", 253), 9223372036854775807, "77f1a9", "drift")
	g.Expect(validation.IsDNS1123Subdomain(long)).To(BeEmpty())
	g.Expect(long).To(HaveLen(253))
}

// ofLaterDrift has a policy ask a plug-in that answers in a ChangeVerdict.
func ofLaterDrift(policy *appv1alpha1.VerificationPolicy) {
	ofDrift(policy)
	policy.Spec.Checks[0].HTTP.Answer = "Asynchronous"
}

func TestQuestionsAwaitVerdicts(t *testing.T) {
	g, policy := NewWithT(t), checking("web", "Enforce", ofLaterDrift)
	policy.Spec.Checks[0].Mode = "Warn"
	ask := func(at time.Time, options ...workloadOption) []plugin.Question {
		record := newWorkload(append(options, begun(policies(policy)))...)
		record.UID, record.Spec.CreateTimeUnix = "uid", now.Add(-5*time.Minute).Unix()
		return decide.Questions(record, &checks.Scene{New: []checks.Pod{{}}}, at)
	}
	running, success := stored("Running", "Unknown", "Verifying"), stored("Success", "True", "AllPodsPassed")
	asked, again, last := ask(now, running), ask(now.Add(15*time.Second), running), ask(now, success, entered(now.Add(-time.Hour)))
	for _, questions := range [][]plugin.Question{asked, again, last} {
		g.Expect(questions).To(HaveLen(1))
		g.Expect(questions[0].ID).To(Equal("uid/1/web/drift"))
	}
	g.Expect([]int64{asked[0].Look, again[0].Look, last[0].Look}).To(Equal([]int64{20, 21, 21}))
	g.Expect(last[0].Last).To(BeTrue())
	verdict := asked[0].Verdict
	g.Expect(verdict.Name).To(Equal(decide.ChangeVerdictName("sleep--x--"+version, 1, "web", "drift")))
	g.Expect(verdict.Namespace).To(Equal("default"))
	g.Expect(verdict.OwnerReferences).To(Equal([]metav1.OwnerReference{{
		APIVersion: "app.ops.cloud.alipay.com/v1alpha1", Kind: "ChangeWorkload", Name: "sleep--x--" + version, UID: "uid",
	}}))
	g.Expect(verdict.Spec).To(Equal(appv1alpha1.ChangeVerdictSpec{
		Workload: appv1alpha1.ReleasedWorkload{Kind: "Deployment.apps", Name: "sleep"}, Release: 1, Version: version, Policy: "shop/web", Check: "drift", Mode: "Warn",
	}))
}

func TestQuestionsNameTheKindOfTheWorkload(t *testing.T) {
	for expected, reference := range map[string]*appv1alpha1.WorkloadReference{
		"StatefulSet.apps": {APIVersion: "apps/v1", Kind: "StatefulSet"}, "WebApp.example.com": {APIVersion: "example.com/v1beta1", Kind: "WebApp"},
		"Deployment.apps": nil, // a record from before v0.2
	} {
		policy := checking("web", "Enforce", ofLaterDrift)
		record := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
		record.Spec.WorkloadRef = reference
		questions := decide.Questions(record, &checks.Scene{New: []checks.Pod{{}}}, now)
		NewWithT(t).Expect(questions[0].Verdict.Spec.Workload.Kind).To(Equal(expected))
	}
}

func TestQuestionsAskNothingAfterAVerdict(t *testing.T) {
	for name, row := range map[string]struct {
		verdict, reason string
		held            bool
		asked           int
	}{
		"that is awaited": {"Pending", "", false, 1}, "Pass": {"Pass", "CheckPassed", false, 0}, "Fail": {"Fail", "CheckFailed", false, 0},
		"Inconclusive": {"Inconclusive", "Undecided", false, 0}, "that was not given": {"Inconclusive", "NoVerdict", false, 0},
		"for which pods wait": {"Inconclusive", "NoVerdict", true, 1}, "for which pods waited": {"Inconclusive", "HoldTimeout", true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			policy := checking("web", "Enforce", ofLaterDrift)
			result := appv1alpha1.CheckResult{
				Policy: "shop/web", Name: "drift", Type: "HTTP", Mode: "Enforce", Verdict: appv1alpha1.CheckVerdict(row.verdict), Reason: row.reason,
			}
			if row.held {
				result.HeldUntil = &metav1.Time{Time: now}
			}
			record := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy), result))
			NewWithT(t).Expect(decide.Questions(record, &checks.Scene{New: []checks.Pod{{}}}, now)).To(HaveLen(row.asked))
		})
	}
}

func TestDecideEndsACheckByAVerdict(t *testing.T) {
	pass := plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "bob reports Pass", Final: true}
	undecided := plugin.Answer{Verdict: "Inconclusive", Reason: "Undecided", Message: "bob reports Inconclusive", Final: true}
	none := plugin.Answer{Verdict: "Inconclusive", Reason: "NoVerdict", Message: "no verdict"}
	known := func(verdict, reason string) appv1alpha1.CheckResult {
		return appv1alpha1.CheckResult{
			Policy: "shop/web", Name: "drift", Type: "HTTP", Mode: "Observe", Verdict: appv1alpha1.CheckVerdict(verdict), Reason: reason, Message: "known",
		}
	}
	mustDecide := func(policy *appv1alpha1.VerificationPolicy) {
		ofLaterDrift(policy)
		policy.Spec.Checks[0].OnInconclusive = "Fail"
	}
	running, success := stored("Running", "Unknown", "Verifying"), []workloadOption{stored("Success", "True", "AllPodsPassed"), entered(now.Add(-2 * time.Minute))}
	for name, row := range map[string]struct {
		policy   policyOption
		workload []workloadOption
		known    []appv1alpha1.CheckResult
		seen     seenOption
		checks   string
		again    time.Duration
	}{
		"that passes":                      {ofLaterDrift, []workloadOption{running}, nil, answering(pass), "Pass CheckPassed bob reports Pass", time.Minute},
		"that can't tell":                  {ofLaterDrift, []workloadOption{running}, nil, answering(undecided), "Inconclusive Undecided bob reports Inconclusive", time.Minute},
		"that must not be undecided":       {mustDecide, []workloadOption{running}, nil, answering(undecided), "Fail Undecided bob reports Inconclusive; sleep-1; sleep-2", time.Minute},
		"that is still awaited":            {ofLaterDrift, []workloadOption{running}, nil, answering(none), "Pending  ", 15 * time.Second},
		"that is missing at the end":       {ofLaterDrift, success, nil, answering(none), "Inconclusive NoVerdict no verdict", 0},
		"whose object is gone":             {ofLaterDrift, []workloadOption{running}, []appv1alpha1.CheckResult{known("Pass", "CheckPassed")}, func(*decide.Observation) {}, "Pass CheckPassed known", time.Minute},
		"whose object is gone, at the end": {ofLaterDrift, success, []appv1alpha1.CheckResult{known("Inconclusive", "Undecided")}, func(*decide.Observation) {}, "Inconclusive Undecided known", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g, policy := NewWithT(t), checking("web", "Observe", row.policy)
			decision := decide.Decide(newWorkload(append(row.workload, begun(policies(policy), row.known...))...), see(5, under(policy), ran(1, 2), row.seen, func(seen *decide.Observation) {
				seen.Verification.Pods.New = seen.Verification.Pods.New[:2]
			}), now)
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements("shop/web drift: Observe " + row.checks))
			g.Expect(decision.Wait).To(Equal(row.again))
		})
	}
}
