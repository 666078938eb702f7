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

// failed are finished pods of one batch of which one has the verdict unpass.
func failed(from, to int, pod string) seenOption {
	return func(seen *decide.Observation) {
		finished(pods(from, to))(seen)
		batches(newBatch(pods(from, to), done, result(pod, "unpass", "find error")))(seen)
	}
}

// suspendedBefore gives the workload the status of a release whose pods failed while blocking was on.
func suspendedBefore(workload *appv1alpha1.ChangeWorkload) {
	stored("Suspend", "False", "PodsFailed")(workload)
	workload.Status.Counts = appv1alpha1.PodCounts{Desired: 5, Passed: 4, Failed: 1}
	workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{
		Type: "Suspended", Status: "True", Reason: "PodsFailed", ObservedGeneration: 3, LastTransitionTime: metav1.NewTime(now),
	})
}

func withoutConditions(workload *appv1alpha1.ChangeWorkload) { workload.Status.Conditions = nil }

func TestDecideOutcome(t *testing.T) {
	running := stored("Running", "Unknown", "Verifying")
	success := stored("Success", "True", "AllPodsPassed")
	noPods := stored("Success", "Unknown", "NoReplicas")
	for _, row := range []struct {
		name        string
		workload    *appv1alpha1.ChangeWorkload
		seen        decide.Observation
		status      string
		verified    metav1.ConditionStatus
		reason      string
		suspend     bool
		lift, prune bool
		batches     []int
	}{
		{"all desired pods passed: it succeeds", newWorkload(running), see(5, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"more pods than desired passed: it succeeds", newWorkload(running), see(5, passed(1, 6)),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"all desired pods passed after a timeout: it succeeds", newWorkload(stored("TimeOutPreThreshold", "Unknown", "ThresholdTimeout")),
			see(5, passed(1, 5)), "Success", "True", "AllPodsPassed", false, false, false, nil},
		{"one desired pod is missing: it runs", newWorkload(running), see(5, passed(1, 4)),
			"Running", "Unknown", "Verifying", false, false, false, nil},
		{"one pod is still being checked: it runs", newWorkload(running), see(5, passed(1, 4), finished(pods(5, 5)), batches(newBatch(pods(5, 5)))),
			"Running", "Unknown", "Verifying", false, false, false, nil},
		{"a pod that passed is gone: its successor has to pass as well", newWorkload(running),
			see(5, batches(newBatch(pods(1, 5), done)), finished(pods(2, 6))),
			"Running", "Unknown", "Verifying", false, false, false, []int{1}},
		{"it succeeds while the Deployment is suspended: the suspension is lifted", newWorkload(running), see(5, suspended, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, true, false, nil},
		{"it succeeds beside older versions: they are removed", newWorkload(running, release(2)), see(5, passed(1, 5), others(other(older, 1))),
			"Success", "True", "AllPodsPassed", false, false, true, nil},
		{"it runs beside older versions: they stay", newWorkload(running, release(2)), see(5, suspended, passed(1, 4), others(other(older, 1))),
			"Running", "Unknown", "Verifying", false, false, false, nil},
		{"it succeeds by what was seen before a newer release was recorded: that release stays", newWorkload(running),
			see(5, passed(1, 5), others(other(repair, 2))), "Success", "True", "AllPodsPassed", false, false, false, nil},

		{"a pod failed: it suspends", newWorkload(running), see(5, failed(1, 5, "sleep-2")),
			"Suspend", "False", "PodsFailed", true, false, false, nil},
		{"a pod failed before the others finished: it suspends at once", newWorkload(running), see(5, failed(1, 1, "sleep-1")),
			"Suspend", "False", "PodsFailed", true, false, false, nil},
		{"a pod failed and others finish: they are checked all the same", newWorkload(running), see(5, failed(1, 1, "sleep-1"), finished(pods(2, 4))),
			"Suspend", "False", "PodsFailed", true, false, false, []int{1, 1, 1}},
		{"a pod failed and too few others finish in time: it stays suspended", newWorkload(batchesOf(10), running, deadline(now)),
			see(25, failed(1, 10, "sleep-1"), finished(pods(11, 12))), "Suspend", "False", "PodsFailed", true, false, false, []int{2}},
		{"a pod failed while the Deployment is suspended: nothing more is needed", newWorkload(running), see(5, suspended, failed(1, 5, "sleep-2")),
			"Suspend", "False", "PodsFailed", false, false, false, nil},
		{"a pod failed while blocking is off: the Deployment isn't suspended", newWorkload(running), see(5, blockingOff, failed(1, 5, "sleep-2")),
			"Suspend", "False", "PodsFailed", false, false, false, nil},
		{"blocking is turned on after a pod failed: the Deployment is suspended", newWorkload(stored("Suspend", "False", "PodsFailed")),
			see(5, failed(1, 5, "sleep-2")), "Suspend", "False", "PodsFailed", true, false, false, nil},
		{"blocking is turned off after the suspension: the Deployment isn't freed", newWorkload(suspendedBefore),
			see(5, blockingOff, suspended, failed(1, 5, "sleep-2")), "Suspend", "False", "PodsFailed", false, false, false, nil},
		{"a verdict is patched after Success: it suspends", newWorkload(success), see(5, failed(1, 5, "sleep-2")),
			"Suspend", "False", "PodsFailed", true, false, false, nil},
		{"a pod that failed counts although it is gone", newWorkload(running),
			see(5, batches(newBatch(pods(1, 1), done, result("sleep-1", "unpass", "find error"))), passed(2, 6)),
			"Suspend", "False", "PodsFailed", true, false, false, nil},
		{"a failed pod counts although the Deployment was scaled to nothing", newWorkload(suspendedBefore),
			see(0, suspended, batches(newBatch(pods(1, 5), done, result("sleep-1", "unpass", "find error")))),
			"Suspend", "False", "PodsFailed", false, false, false, nil},
		{"a verdict for a pod that no batch holds counts", newWorkload(success),
			see(5, finished(pods(1, 5)), batches(newBatch(pods(1, 5), done, result("slep-2", "unpass", "find error")))),
			"Suspend", "False", "PodsFailed", true, false, false, nil},
		{"a failed release doesn't remove older versions", newWorkload(running, release(2)), see(5, failed(1, 5, "sleep-2"), others(other(older, 1))),
			"Suspend", "False", "PodsFailed", true, false, false, nil},
		{"the verdict is corrected: it succeeds and lifts", newWorkload(suspendedBefore), see(5, suspended, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, true, false, nil},
		{"the verdict is corrected before all pods passed: it runs and lifts nothing", newWorkload(suspendedBefore), see(5, suspended, passed(1, 4)),
			"Running", "Unknown", "Verifying", false, false, false, nil},

		{"the condition of a verified release was removed by hand: it comes back", newWorkload(success, withoutConditions), see(5, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"the condition was removed while the namespace is opted out: it comes back", newWorkload(success, withoutConditions), see(5, optedOut, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"the condition was removed after the Deployment moved on: it comes back", newWorkload(success, withoutConditions), see(5, moved, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"the condition of a verified release was changed by hand: it comes back", newWorkload(stored("Success", "False", "PodsFailed")), see(5, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"pods join after Success: they aren't checked", newWorkload(success), see(8, passed(1, 5), finished(pods(6, 8))),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"pods leave after Success: it stays", newWorkload(success), see(5, passed(1, 2)),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"replicas go to 0 after Success: it stays", newWorkload(success), see(0),
			"Success", "True", "AllPodsPassed", false, false, false, nil},
		{"a crash came between Success and lifting: it lifts", newWorkload(success), see(5, suspended, passed(1, 5)),
			"Success", "True", "AllPodsPassed", false, true, false, nil},

		{"no pods are wanted: it succeeds provisionally, and neither lifts nor prunes", newWorkload(release(2)), see(0, suspended, others(other(older, 1))),
			"Success", "Unknown", "NoReplicas", false, false, false, nil},
		{"no pods are wanted still: nothing changes", newWorkload(noPods), see(0, suspended),
			"Success", "Unknown", "NoReplicas", false, false, false, nil},
		{"pods are wanted after all: it runs", newWorkload(noPods), see(3, suspended),
			"Running", "Unknown", "Verifying", false, false, false, nil},
		{"pods are wanted after all and passed: it succeeds and lifts", newWorkload(noPods), see(3, suspended, passed(1, 3)),
			"Success", "True", "AllPodsPassed", false, true, false, nil},

		{"it went back to before change control: its pods carry no version to be checked by", newWorkload(release(2)), see(3, unstamped, suspended, others(other(older, 1))),
			"Success", "Unknown", "TemplateUnstamped", false, false, false, nil},
		{"it went back to before change control still: nothing changes", newWorkload(stored("Success", "Unknown", "TemplateUnstamped")), see(3, unstamped, suspended),
			"Success", "Unknown", "TemplateUnstamped", false, false, false, nil},

		{"the server refused it: nothing is checked", newWorkload(stored("Failed", "Unknown", "Refused")), see(5, finished(pods(1, 5))),
			"Failed", "Unknown", "Refused", false, false, false, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(string(decision.Status.Status)).To(Equal(row.status))
			g.Expect(decision.Status.Conditions).To(haveCondition("Verified", row.verified, row.reason))
			g.Expect(decision.Suspend).To(Equal(row.suspend), "suspend")
			g.Expect(decision.Lift).To(Equal(row.lift), "lift")
			pruned := []string{}
			if row.prune {
				pruned = []string{older}
			}
			g.Expect(versionsOf(decision.Prune)).To(Equal(pruned), "prune")
			g.Expect(sizes(decision.Batches)).To(HaveExactElements(row.batches), "batches")
			if row.status == "Success" {
				g.Expect(decision.Status.WaitDeadline).To(BeNil())
			}
		})
	}
}

func TestDecisionIsFinal(t *testing.T) {
	success := stored("Success", "True", "AllPodsPassed")
	held := func(seen *decide.Observation) { seen.Hold, seen.Paused = decide.Held, true }
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		final    bool
	}{
		{"a release is verified", newWorkload(), see(5, passed(1, 5)), true},
		{"a verified release stays so", newWorkload(success), see(5, passed(1, 5)), false},
		{"a suspension is lifted after a crash", newWorkload(success), see(5, suspended, passed(1, 5)), true},
		{"an older record goes after a crash", newWorkload(release(2), success), see(5, passed(1, 5), others(other(older, 1))), true},
		{"batches of an earlier release go", newWorkload(success), see(5, passed(1, 5), func(seen *decide.Observation) { seen.Earlier = true }), true},
		{"a hold ends", newWorkload(suspendedBefore), see(5, suspended, held, passed(1, 4)), true},
		{"a pod fails", newWorkload(), see(5, failed(1, 5, "sleep-2")), false},
		{"a pod is awaited", newWorkload(), see(5, passed(1, 4)), false},
		{"no pods are wanted", newWorkload(), see(0, suspended), false},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := decide.Decide(row.workload, row.seen, now)
			NewWithT(t).Expect(decision.IsFinal()).To(Equal(row.final))
		})
	}
}

func TestStanding(t *testing.T) {
	for _, row := range []struct{ phase, reason, standing string }{
		{"Success", "AllPodsPassed", "Success"},
		{"Success", "NoReplicas", "Running"},
		{"Success", "TemplateUnstamped", "Running"},
		{"Running", "Verifying", "Running"},
		{"Suspend", "PodsFailed", "Suspend"},
	} {
		t.Run(row.phase+" "+row.reason, func(t *testing.T) {
			workload := newWorkload(stored(row.phase, "Unknown", row.reason))
			NewWithT(t).Expect(string(decide.Standing(&workload.Status))).To(Equal(row.standing))
		})
	}
}

func TestDecideSetsTheConditionSuspended(t *testing.T) {
	for _, row := range []struct {
		name     string
		workload *appv1alpha1.ChangeWorkload
		seen     decide.Observation
		status   metav1.ConditionStatus
		reason   string
		message  string
	}{
		{"a failed pod keeps releases out", newWorkload(), see(5, failed(1, 5, "sleep-2")),
			"True", "PodsFailed", "further releases of the Deployment are denied until a repair or a verified version succeeds"},
		{"a failed pod keeps none out while blocking is off", newWorkload(), see(5, blockingOff, failed(1, 5, "sleep-2")),
			"False", "BlockingDisabled", `the OpsConfigInfo "blocking" is off: further releases of the Deployment are not denied`},
		{"turning blocking off doesn't free the Deployment", newWorkload(suspendedBefore), see(5, blockingOff, suspended, failed(1, 5, "sleep-2")),
			"True", "PodsFailed", "further releases of the Deployment are denied until a repair or a verified version succeeds"},
		{"a corrected verdict ends it", newWorkload(suspendedBefore), see(5, suspended, passed(1, 5)),
			"False", "Lifted", "the release has no failed pods"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(row.workload, row.seen, now)
			g.Expect(decision.Status.Conditions).To(haveCondition("Suspended", row.status, row.reason))
			g.Expect(messageOf(decision.Status.Conditions, "Suspended")).To(Equal(row.message))
		})
	}
	t.Run("a release that was never suspended doesn't speak of it", func(t *testing.T) {
		decision := decide.Decide(newWorkload(), see(5, suspended, passed(1, 5)), now)
		NewWithT(t).Expect(decision.Status.Conditions).To(HaveLen(1))
	})
}

func TestDecideNamesAFailedPodWithItsReason(t *testing.T) {
	g := NewWithT(t)
	decision := decide.Decide(newWorkload(), see(5, failed(1, 5, "sleep-2")), now)
	g.Expect(messageOf(decision.Status.Conditions, "Verified")).To(Equal("pod sleep-2 failed its check: find error"))
	g.Expect(namesOf(decision.Status.DefenseCheckFailPods)).To(HaveExactElements("sleep-2"))
	g.Expect(decision.Status.DefenseCheckFailPods[0].Message).To(Equal("find error"))
	g.Expect(string(decision.Status.DefenseCheckFailPods[0].Verdict)).To(Equal("unpass"))
}

// The documented walkthrough: five pods pass one by one, a verdict is patched by hand, and later withdrawn.
func TestDecideFollowsTheDocumentedWalkthrough(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(), seen: see(5), now: now}
	for pod := 1; pod <= 5; pod++ {
		s.now = s.now.Add(time.Second)
		finished(pods(pod, pod))(&s.seen)
		g.Expect(sizes(s.decide().Batches)).To(HaveExactElements(1))
		s.check()
	}
	s.decide()
	g.Expect(string(s.workload.Status.Status)).To(Equal("Success"))
	g.Expect(s.workload.Status.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 5, Passed: 5}))
	g.Expect(s.workload.Status.EntryTime).To(Equal("2026-11-21 10:00:05"))

	s.now = now.Add(time.Hour)
	result("sleep-1", "unpass", "find error")(&s.seen.Batches[0])
	g.Expect(s.decide().Suspend).To(BeTrue())
	g.Expect(string(s.workload.Status.Status)).To(Equal("Suspend"))
	g.Expect(s.workload.Status.EntryTime).To(Equal("2026-11-21 11:00:00"))
	g.Expect(s.workload.Status.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 5, Passed: 4, Failed: 1}))

	s.seen.Batches[0].Status.PodResults = nil
	g.Expect(s.decide().Lift).To(BeTrue())
	g.Expect(string(s.workload.Status.Status)).To(Equal("Success"))
	g.Expect(s.workload.Status.Conditions).To(haveCondition("Suspended", "False", "Lifted"))
}
