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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

func TestDenialAdvice(t *testing.T) {
	const bypass = "to let a repair through, set the label altershield.defense.antgroup.com/ignored-suspend=true on the Deployment in the same update"
	failing := func(workload *appv1alpha1.ChangeWorkload) {
		stored("Suspend", "False", "PodsFailed")(workload)
		workload.Status.DefenseCheckFailPods = pods(2, 2)
		workload.Status.DefenseCheckFailPods[0].Message = "find error"
	}
	waits := func(reason, kind, message string) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) {
			stored("Running", "Unknown", reason)(workload)
			if kind != "Verified" {
				workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: kind, Status: "True"})
			}
			workload.Status.Conditions[len(workload.Status.Conditions)-1].Message = message
		}
	}
	success := stored("Success", "True", "AllPodsPassed")
	seeSleep := "pod sleep-2 failed its check: find error (see: kubectl describe changeworkload -n default sleep--x--c6c45d23c098bdf181853a85b60b5d74)"
	for _, row := range []struct {
		name      string
		workloads []appv1alpha1.ChangeWorkload
		version   string
		advice    []string
	}{
		{"names the failed pod, how to see more and how to get a repair in",
			[]appv1alpha1.ChangeWorkload{other(version, 1, failing)}, version, []string{seeSleep, bypass}},
		{"names the verified version to go back to",
			[]appv1alpha1.ChangeWorkload{other(version, 2, failing), other(older, 1, success)}, version,
			[]string{seeSleep, bypass, "going back to a verified version needs no label: 0123456789abcdef0123456789abcdef"}},
		{"names the verified versions that are remembered",
			[]appv1alpha1.ChangeWorkload{other(version, 2, failing, remembering(older, "b"))}, version,
			[]string{seeSleep, bypass, "going back to a verified version needs no label: 0123456789abcdef0123456789abcdef, b"}},
		{"has the repair that is being checked",
			[]appv1alpha1.ChangeWorkload{other(version, 1, failing), other(repair, 2, stored("Running", "Unknown", "Verifying"))}, repair,
			[]string{"release 6a8ff823a5011291b0f02a1d83c2222d is being checked; the suspension is lifted when it succeeds", seeSleep, bypass}},
		{"has a repair that is frozen",
			[]appv1alpha1.ChangeWorkload{other(version, 1, failing), other(repair, 2, waits("Frozen", "Frozen", "ChangeFreeze ops/friday is on until 2026-11-21T11:00:00Z"))}, repair,
			[]string{"release 6a8ff823a5011291b0f02a1d83c2222d isn't verified yet: ChangeFreeze ops/friday is on until 2026-11-21T11:00:00Z; " +
				"the suspension is lifted when it succeeds", seeSleep, bypass}},
		{"has a repair that waits in its steps",
			[]appv1alpha1.ChangeWorkload{other(version, 1, failing), other(repair, 2, waits("Paced", "Paced", "step 2 of 3 needs 1 approval (0 given)"))}, repair,
			[]string{"release 6a8ff823a5011291b0f02a1d83c2222d isn't verified yet: step 2 of 3 needs 1 approval (0 given); " +
				"the suspension is lifted when it succeeds", seeSleep, bypass}},
		{"has a repair that a user has paused",
			[]appv1alpha1.ChangeWorkload{other(version, 1, failing), other(repair, 2, waits("DeploymentPaused", "Verified", "the Deployment is paused: run kubectl rollout resume"))}, repair,
			[]string{"release 6a8ff823a5011291b0f02a1d83c2222d isn't verified yet: the Deployment is paused: run kubectl rollout resume; " +
				"the suspension is lifted when it succeeds", seeSleep, bypass}},
		{"has a repair that was not observed yet, of a version with an earlier release",
			[]appv1alpha1.ChangeWorkload{other(version, 2, failing), other(repair, 1, stored("Running", "Unknown", "Superseded"), release(3))}, repair,
			[]string{"release 6a8ff823a5011291b0f02a1d83c2222d is being checked; the suspension is lifted when it succeeds", seeSleep, bypass}},
		{"has a repair that is not checked",
			[]appv1alpha1.ChangeWorkload{other(version, 1, failing), other(repair, 2, stored("Failed", "Unknown", "OrderRefused"), func(workload *appv1alpha1.ChangeWorkload) {
				workload.Status.Conditions[0].Message = "AlterShield Server refused the change order"
			})}, repair,
			[]string{"release 6a8ff823a5011291b0f02a1d83c2222d is not checked: AlterShield Server refused the change order; " +
				"the suspension is lifted when a release succeeds", seeSleep, bypass}},
		{"leaves out versions that are neither failed, current nor verified",
			[]appv1alpha1.ChangeWorkload{other(version, 2, failing), other(older, 1, stored("Running", "Unknown", "Superseded"))}, version,
			[]string{seeSleep, bypass}},
		{"leaves out a version that only had no pods to check",
			[]appv1alpha1.ChangeWorkload{other(version, 2, failing), other(older, 1, stored("Success", "Unknown", "NoReplicas"))}, version,
			[]string{seeSleep, bypass}},
		{"names each verified version once",
			[]appv1alpha1.ChangeWorkload{other(version, 3, failing, remembering(older)), other(older, 1, success)}, version,
			[]string{seeSleep, bypass, "going back to a verified version needs no label: 0123456789abcdef0123456789abcdef"}},
		{"doesn't send back to the version whose pods failed just now",
			[]appv1alpha1.ChangeWorkload{other(version, 3, failing), other(repair, 2, failing, remembering(version))}, version,
			[]string{seeSleep, "pod sleep-2 failed its check: find error (see: kubectl describe changeworkload -n default sleep--x--6a8ff823a5011291b0f02a1d83c2222d)", bypass}},
		{"doesn't speak of what failed before the newest verified release",
			[]appv1alpha1.ChangeWorkload{other(repair, 1, failing), other(older, 2, success), other(version, 3, failing)}, version,
			[]string{seeSleep, bypass, "going back to a verified version needs no label: 0123456789abcdef0123456789abcdef"}},
		{"doesn't send back to the version that is being checked again",
			[]appv1alpha1.ChangeWorkload{other(version, 1, failing), other(older, 2, stored("Running", "Unknown", "Verifying"), remembering(older, "b"))}, older,
			[]string{"release 0123456789abcdef0123456789abcdef is being checked; the suspension is lifted when it succeeds", seeSleep, bypass,
				"going back to a verified version needs no label: b"}},
		{"names ten verified versions at most, those with a record first",
			[]appv1alpha1.ChangeWorkload{other(version, 9, failing, remembering("j", "i", "h", "g", "f", "e", "d", "c", "b", "a")), other("z", 8, success), other("h", 7, success)}, version,
			[]string{seeSleep, bypass, "going back to a verified version needs no label: z, h, j, i, g, f, e, d, c, b"}},
		{"has the way for a repair although nothing is known",
			nil, version, []string{bypass}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(decide.DenialAdvice("Deployment", row.workloads, row.version, nil, now)).To(Equal(row.advice))
		})
	}
}

func TestIsVerifiedIsFalseOnceThePodsOfAVersionFailed(t *testing.T) {
	workloads := []appv1alpha1.ChangeWorkload{
		other(older, 3, stored("Suspend", "False", "PodsFailed")),
		other(version, 2, stored("Suspend", "False", "PodsFailed"), remembering(older)),
	}
	NewWithT(t).Expect(decide.IsVerified(workloads, older)).To(BeFalse())
}

func TestDenialAdviceNamesNoRefusedVersion(t *testing.T) {
	g := NewWithT(t)
	workloads := []appv1alpha1.ChangeWorkload{other(version, 2, stored("Suspend", "False", "PodsFailed"), remembering(older, "b"))}
	rollbacks := []appv1alpha1.Rollback{refusedUntil(rollback(older, 1, "b"), now.Add(time.Hour))}
	g.Expect(decide.DenialAdvice("Deployment", workloads, version, rollbacks, now)).To(ContainElement("going back to a verified version needs no label: b"))
	g.Expect(decide.DenialAdvice("Deployment", workloads, version, rollbacks, now.Add(time.Hour))).To(ContainElement(
		"going back to a verified version needs no label: 0123456789abcdef0123456789abcdef, b"), "once its refusal is over")
}

func TestDenialAdviceHasNoEmptyReason(t *testing.T) {
	g := NewWithT(t)
	takenBack := other(version, 1, stored("Suspend", "False", "PodsFailed"))
	for _, advice := range decide.DenialAdvice("Deployment", []appv1alpha1.ChangeWorkload{takenBack}, repair, nil, now) {
		g.Expect(advice).NotTo(HavePrefix(" "), "an older release stays Suspend although no pod of it is failed any more")
	}
}

func TestIsVerifiedStaysTrueWhileAVersionIsReleasedAgainUnlessItFails(t *testing.T) {
	g := NewWithT(t)
	running := other(older, 3, stored("Running", "Unknown", "Superseded"), remembering(older))
	g.Expect(decide.IsVerified([]appv1alpha1.ChangeWorkload{running}, older)).To(BeTrue())
	failed := other(older, 3, stored("Suspend", "False", "PodsFailed"), remembering(older))
	g.Expect(decide.IsVerified([]appv1alpha1.ChangeWorkload{failed}, older)).To(BeFalse())
}

func TestWarnedAdvice(t *testing.T) {
	checked := func(results ...appv1alpha1.CheckResult) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.Checks = results }
	}
	result := func(name, mode, verdict string) appv1alpha1.CheckResult {
		return appv1alpha1.CheckResult{
			Policy: "shop/web", Name: name, Mode: appv1alpha1.CheckMode(mode), Verdict: appv1alpha1.CheckVerdict(verdict), Reason: "CheckFailed", Message: "3.2% on 2 new pods",
		}
	}
	says := func(name string) string {
		return "the last release of deployment sleep failed check " + name + " of VerificationPolicy shop/web, which only warns: 3.2% on 2 new pods " +
			"(see: kubectl describe changeworkload -n default sleep--x--c6c45d23c098bdf181853a85b60b5d74)"
	}
	success, warn := stored("Success", "True", "AllPodsPassed"), result("errors", "Warn", "Fail")
	for _, row := range []struct {
		name      string
		workloads []appv1alpha1.ChangeWorkload
		advice    []string
	}{
		{"names a check that failed and only warns", []appv1alpha1.ChangeWorkload{other(version, 2, success, checked(warn))}, []string{says("errors")}},
		{"names it while the release goes on", []appv1alpha1.ChangeWorkload{other(version, 2, stored("Running", "Unknown", "Verifying"), checked(warn))}, []string{says("errors")}},
		{"names no check that only observes, that is enforced, or that didn't fail", []appv1alpha1.ChangeWorkload{other(version, 2, success, checked(
			result("a", "Observe", "Fail"), result("b", "Enforce", "Fail"), result("c", "Warn", "Pass"), result("d", "Warn", "Inconclusive"), result("e", "Warn", "Pending"),
		))}, nil},
		{"names three checks, and counts the others", []appv1alpha1.ChangeWorkload{other(version, 2, success, checked(
			warn, result("latency", "Warn", "Fail"), result("queue", "Warn", "Fail"), result("pods", "Warn", "Fail"), result("spread", "Warn", "Fail"),
		))}, []string{says("errors"), says("latency"), says("queue"),
			"the last release of deployment sleep failed 2 more checks that only warn (see: kubectl describe changeworkload -n default sleep--x--c6c45d23c098bdf181853a85b60b5d74)"}},
		{"says nothing of the release before", []appv1alpha1.ChangeWorkload{other(version, 2, success), other(older, 1, success, checked(warn))}, nil},
		{"says nothing of an earlier release of the version", []appv1alpha1.ChangeWorkload{other(version, 1, success, checked(warn))}, nil},
		{"says nothing of what the record had before its present release", []appv1alpha1.ChangeWorkload{other(version, 2, success, checked(warn), func(workload *appv1alpha1.ChangeWorkload) {
			workload.Status.ObservedRelease = 1
		})}, nil},
		{"says nothing on the way back to a verified version", []appv1alpha1.ChangeWorkload{other(version, 2, success, checked(warn)), other(repair, 1, success)}, nil},
		{"says it again of a version that isn't verified yet", []appv1alpha1.ChangeWorkload{other(version, 2, success, checked(warn)), other(repair, 1, stored("Running", "Unknown", "Superseded"))},
			[]string{says("errors")}},
		{"says nothing of a workload without records", nil, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			advice := decide.WarnedAdvice("deployment sleep", row.workloads, decide.Release{Version: version, Number: 2}, repair)
			NewWithT(t).Expect(advice).To(Equal(row.advice))
		})
	}
}
