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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
)

// ofDrift has a policy ask a plug-in, every 15 seconds and for two minutes.
func ofDrift(policy *appv1alpha1.VerificationPolicy) {
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "drift", Type: "HTTP", HTTP: &appv1alpha1.HTTPCheck{}}}
	policy.Spec.IntervalSeconds, policy.Spec.BakeSeconds = 15, 120
}

// failingWithoutAnswer has a policy fail what can't be asked.
func failingWithoutAnswer(policy *appv1alpha1.VerificationPolicy) {
	policy.Spec.Checks[0].OnError = "Fail"
}

func answering(answer plugin.Answer) seenOption {
	return func(seen *decide.Observation) {
		seen.Verification.Answers = map[decide.CheckID]plugin.Answer{{Policy: "shop/web", Name: "drift"}: answer}
	}
}

func TestDecideChecksAReleaseByAnswers(t *testing.T) {
	success := func(ago time.Duration) []workloadOption {
		return []workloadOption{stored("Success", "True", "AllPodsPassed"), entered(now.Add(-ago))}
	}
	running := []workloadOption{stored("Running", "Unknown", "Verifying")}
	passes := answering(plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "no drift"})
	fails := answering(plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "drift", Pods: []appv1alpha1.CheckedPod{{Pod: "sleep-2", UID: "2"}}})
	away := answering(plugin.Broken("SourceUnavailable", "HTTP 500"))
	for name, row := range map[string]struct {
		mode     string
		policy   policyOption
		workload []workloadOption
		seen     seenOption
		status   string
		checks   string
		again    time.Duration
	}{
		"that fails":                    {"Enforce", ofDrift, running, fails, "Suspend", "shop/web drift: Enforce Fail CheckFailed drift; sleep-2", time.Minute},
		"that passes so far":            {"Enforce", ofDrift, running, passes, "Running", "shop/web drift: Enforce Pending  ", 15 * time.Second},
		"of which nothing is known yet": {"Enforce", ofDrift, running, away, "Running", "shop/web drift: Enforce Pending  ", 15 * time.Second},
		"before anybody was asked":      {"Enforce", ofDrift, running, func(*decide.Observation) {}, "Running", "shop/web drift: Enforce Pending  ", time.Minute},
		"that was verified":             {"Observe", ofDrift, success(time.Minute), passes, "Success", "shop/web drift: Observe Pending  ", 15 * time.Second},
		"that passes at the end":        {"Observe", ofDrift, success(2 * time.Minute), passes, "Success", "shop/web drift: Observe Pass CheckPassed no drift", 0},
		"without an answer at the end":  {"Observe", ofDrift, success(2 * time.Minute), away, "Success", "shop/web drift: Observe Pending  ", 15 * time.Second},
		"without one of the API server": {"Observe", ofDrift, success(2 * time.Minute), answering(plugin.Broken("ReadFailed", "no endpoints")), "Success",
			"shop/web drift: Observe Pending  ", 15 * time.Second},
		"of which nothing is known":  {"Observe", ofDrift, success(3 * time.Minute), away, "Success", "shop/web drift: Observe Inconclusive SourceUnavailable HTTP 500", 0},
		"that was never asked about": {"Observe", ofDrift, success(2 * time.Minute), func(*decide.Observation) {}, "Success", "shop/web drift: Observe Inconclusive NotAsked no pod of the release finished, or it is suspended", 0},
		"that needs an answer": {"Observe", func(policy *appv1alpha1.VerificationPolicy) { ofDrift(policy); failingWithoutAnswer(policy) }, success(3 * time.Minute), away,
			"Success", "shop/web drift: Observe Fail SourceUnavailable HTTP 500; sleep-1; sleep-2", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", row.mode, row.policy)
			decision := decide.Decide(newWorkload(append(row.workload, begun(policies(policy)))...), see(5, under(policy), ran(1, 2), row.seen, func(seen *decide.Observation) {
				seen.Verification.Pods.New = seen.Verification.Pods.New[:2]
			}), now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.checks))
			g.Expect(decision.Wait).To(Equal(row.again))
		})
	}
}

func TestQuestions(t *testing.T) {
	policy, passed := checking("web", "Enforce", ofDrift), appv1alpha1.CheckResult{Policy: "shop/web", Name: "drift", Type: "HTTP", Mode: "Enforce", Verdict: "Pass"}
	policy.Spec.Checks = append(policy.Spec.Checks, appv1alpha1.VerificationCheck{Name: "tested", Type: "Condition", Mode: "Observe", Condition: &appv1alpha1.ConditionCheck{Kind: "SmokeTest"}},
		appv1alpha1.VerificationCheck{Name: "pods", Type: "PodHealth"})
	running, success := stored("Running", "Unknown", "Verifying"), stored("Success", "True", "AllPodsPassed")
	for name, row := range map[string]struct {
		workload *appv1alpha1.ChangeWorkload
		at       time.Time
		pods     []checks.Pod
		expected []string
	}{
		"at a look":                    {newWorkload(running, begun(policies(policy))), now.Add(10 * time.Second), []checks.Pod{{}}, []string{"uid/1/web/drift/21 Enforce false", "uid/1/web/tested/21 Observe false"}},
		"between two":                  {newWorkload(running, begun(policies(policy))), now.Add(24 * time.Second), []checks.Pod{{}}, []string{"uid/1/web/drift/21 Enforce false", "uid/1/web/tested/21 Observe false"}},
		"at the next one":              {newWorkload(running, begun(policies(policy))), now.Add(25 * time.Second), []checks.Pod{{}}, []string{"uid/1/web/drift/22 Enforce false", "uid/1/web/tested/22 Observe false"}},
		"at the last one":              {newWorkload(success, entered(now), begun(policies(policy))), now, []checks.Pod{{}}, []string{"uid/1/web/drift/21 Enforce true", "uid/1/web/tested/21 Observe true"}},
		"that passed":                  {newWorkload(success, entered(now), begun(policies(policy), passed)), now, []checks.Pod{{}}, nil},
		"before a pod has finished":    {newWorkload(running, begun(policies(policy))), now, nil, nil},
		"while a release is suspended": {newWorkload(stored("Suspend", "False", "PodsFailed"), begun(policies(policy))), now, []checks.Pod{{}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			row.workload.UID, row.workload.Spec.CreateTimeUnix = "uid", now.Add(-5*time.Minute+time.Second).Unix()
			var told []string
			for _, asked := range decide.Questions(row.workload, &checks.Scene{New: row.pods}, row.at) {
				told = append(told, asked.ID+" "+string(asked.Mode)+" "+map[bool]string{true: "true", false: "false"}[asked.Last])
				g.Expect(asked.Policy).To(Equal("shop/web"))
				g.Expect(asked.ID).To(ContainSubstring("/" + asked.Check + "/"))
				g.Expect(asked.HTTP != nil).To(Equal(asked.Check == "drift"))
				g.Expect(asked.Condition != nil).To(Equal(asked.Check == "tested"))
				g.Expect(asked.Job).To(BeNil())
				g.Expect(asked.Run).To(Equal(plugin.Run{}))
				g.Expect(asked.Until).To(Equal(row.at.Add(-10*time.Second).Truncate(15*time.Second).Add(25*time.Second)), "10 s after a multiple of the interval, by its UID")
			}
			g.Expect(told).To(Equal(row.expected))
		})
	}
}

// ofSmoke has a policy run a Job.
func ofSmoke(policy *appv1alpha1.VerificationPolicy) {
	policy.Spec.Checks = []appv1alpha1.VerificationCheck{{Name: "smoke", Type: "Job", Job: &appv1alpha1.JobCheck{}}}
	policy.Spec.IntervalSeconds, policy.Spec.BakeSeconds = 15, 120
}

func TestQuestionsIdentifyAJob(t *testing.T) {
	policy := checking("web", "Enforce", ofSmoke)
	ask := func(name string, change func(*appv1alpha1.ChangeWorkload), at time.Time) plugin.Run {
		g := NewWithT(t)
		workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
		workload.Name, workload.UID, workload.Spec.Release, workload.Status.ObservedRelease = "record", "uid", 3, 3
		workload.Labels = map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.db", "team": "a"}
		change(workload)
		questions := decide.Questions(workload, &checks.Scene{Name: name, New: []checks.Pod{{}}}, at)
		g.Expect(questions).To(HaveLen(1))
		g.Expect(questions[0].Job).NotTo(BeNil())
		return questions[0].Run
	}
	same := func(*appv1alpha1.ChangeWorkload) {}
	g, run := NewWithT(t), ask("db.main", same, now)
	g.Expect(run).To(Equal(plugin.Run{
		Name: "db-main-smoke-3-65f5147fff", Record: "record", UID: "uid", Release: "uid.3", Labels: map[string]string{"altershield.defense.antgroup.com/workload": "statefulsets.db"},
	}))
	g.Expect(ask("db.main", same, now.Add(time.Hour))).To(Equal(run), "the same at each look")
	g.Expect(ask("db.main", func(workload *appv1alpha1.ChangeWorkload) { workload.UID = "other" }, now).Name).To(HavePrefix("db-main-smoke-3-"))
	g.Expect(ask("db.main", func(workload *appv1alpha1.ChangeWorkload) { workload.UID = "other" }, now).Name).NotTo(Equal(run.Name))
	g.Expect(ask("db.main", func(workload *appv1alpha1.ChangeWorkload) {
		workload.Spec.Release, workload.Status.ObservedRelease = 4, 4
	}, now).Name).To(HavePrefix("db-main-smoke-4-"))
	g.Expect(ask("db.main", func(workload *appv1alpha1.ChangeWorkload) { workload.Status.Verification.Policies[0].UID = "other" }, now).Name).NotTo(Equal(run.Name))
	long := ask(strings.Repeat("a", 51)+".b", same, now).Name
	g.Expect(long).To(HavePrefix(strings.Repeat("a", 51) + "-"))
	g.Expect(len(long)).To(BeNumerically("<=", 63))
	g.Expect(long).NotTo(ContainSubstring("--"))
}

// A Job that is gone is created again while its check is asked about.
func TestQuestionsKeepAJobForAsLongAsTheReleaseMayWaitForIt(t *testing.T) {
	for _, row := range []struct {
		timeout, kept int32
	}{{0, 3600}, {60, 3660}, {86400, 90000}} {
		g, policy := NewWithT(t), checking("web", "Enforce", ofSmoke)
		policy.Spec.Checks[0].OnInconclusive, policy.Spec.Checks[0].TimeoutSeconds = "Hold", row.timeout
		workload := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy)))
		scene := &checks.Scene{Name: "web", New: []checks.Pod{{}}}
		questions := decide.Questions(workload, scene, now)
		g.Expect(questions).To(HaveLen(1))
		g.Expect(plugin.Job(scene, &questions[0]).Spec.TTLSecondsAfterFinished).To(HaveValue(Equal(row.kept)))
	}
}

func TestDecideChecksAReleaseByAJobOnce(t *testing.T) {
	says := func(answer plugin.Answer) seenOption {
		return func(seen *decide.Observation) {
			seen.Verification.Answers = map[decide.CheckID]plugin.Answer{{Policy: "shop/web", Name: "smoke"}: answer}
		}
	}
	unasked := func(*decide.Observation) {}
	known := func(verdict appv1alpha1.CheckVerdict) appv1alpha1.CheckResult {
		return appv1alpha1.CheckResult{Policy: "shop/web", Name: "smoke", Type: "Job", Mode: "Enforce", Verdict: verdict, Reason: "Known", Message: "known"}
	}
	failing := func(policy *appv1alpha1.VerificationPolicy) { ofSmoke(policy); failingWithoutAnswer(policy) }
	for name, row := range map[string]struct {
		policy policyOption
		known  []appv1alpha1.CheckResult
		seen   seenOption
		status string
		checks string
		asked  int
	}{
		"that runs":         {ofSmoke, nil, says(plugin.Answer{Verdict: "Inconclusive", Reason: "JobRunning"}), "Running", "shop/web smoke: Enforce Pending  ", 1},
		"that passes":       {ofSmoke, nil, says(plugin.Answer{Verdict: "Pass", Reason: "CheckPassed", Message: "0", Final: true}), "Running", "shop/web smoke: Enforce Pass CheckPassed 0", 1},
		"that fails":        {ofSmoke, nil, says(plugin.Answer{Verdict: "Fail", Reason: "CheckFailed", Message: "1", Final: true}), "Suspend", "shop/web smoke: Enforce Fail CheckFailed 1; sleep-1; sleep-2", 1},
		"that takes long":   {ofSmoke, nil, says(plugin.Answer{Verdict: "Inconclusive", Reason: "JobTimedOut", Message: "late", Final: true}), "Running", "shop/web smoke: Enforce Inconclusive JobTimedOut late", 1},
		"that must run":     {failing, nil, says(plugin.Answer{Verdict: "Inconclusive", Reason: "JobNotStarted", Message: "no image", Broken: true, Final: true}), "Suspend", "shop/web smoke: Enforce Fail JobNotStarted no image; sleep-1; sleep-2", 1},
		"that passed":       {ofSmoke, []appv1alpha1.CheckResult{known("Pass")}, unasked, "Running", "shop/web smoke: Enforce Pass Known known", 0},
		"that told nothing": {ofSmoke, []appv1alpha1.CheckResult{known("Inconclusive")}, unasked, "Running", "shop/web smoke: Enforce Inconclusive Known known", 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			policy := checking("web", "Enforce", row.policy)
			workload, observation := newWorkload(stored("Running", "Unknown", "Verifying"), begun(policies(policy), row.known...)), see(5, under(policy), ran(1, 2), row.seen)
			observation.Verification.Pods.New = observation.Verification.Pods.New[:2]
			decision := decide.Decide(workload, observation, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(toldChecks(decision.Status.Checks)).To(HaveExactElements(row.checks))
			g.Expect(decide.Questions(workload, observation.Verification.Pods, now)).To(HaveLen(row.asked))
		})
	}
}
