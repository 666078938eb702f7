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
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// newPolicy has the steps 1 pod with a soak of 5m, 25%, and 100% with one approval.
func newPolicy(options ...func(*appv1alpha1.ReleasePolicySpec)) *appv1alpha1.ReleasePolicy {
	policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "steps"}}
	policy.Spec.Steps = []appv1alpha1.ReleaseStep{
		{Replicas: 1, Soak: &metav1.Duration{Duration: 5 * time.Minute}}, {Percent: 25}, {Percent: 100, Approvals: 1},
	}
	for _, option := range options {
		option(&policy.Spec)
	}
	return policy
}

// inSteps is a release that the webhook has marked as paced.
func inSteps(lever appv1alpha1.Lever, options ...func(*appv1alpha1.ReleasePolicySpec)) seenOption {
	return func(seen *decide.Observation) {
		seen.Rolling = true
		seen.Pace.Mark = &appv1alpha1.Paced{Release: 1, Policy: "default/steps", Lever: lever}
		seen.Pace.Policy = newPolicy(options...)
	}
}

func withPace(change func(*decide.Pace)) seenOption {
	return func(seen *decide.Observation) { change(&seen.Pace) }
}

// atStep is a release at a step, whose target is a number of pods, as a status shows it.
func atStep(step, target int32, reason string, options ...func(*appv1alpha1.ReleasePace)) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		stored("Running", "Unknown", "Paced")(workload)
		workload.Spec.WorkloadRef = &appv1alpha1.WorkloadReference{UID: "d-1"}
		workload.Spec.ReleasedBy = "alice"
		workload.Status.Pace = &appv1alpha1.ReleasePace{Policy: "default/steps", Lever: "Gates", Step: step, Target: target, Progress: "x"}
		for _, option := range options {
			option(workload.Status.Pace)
		}
		workload.Status.Conditions = append(workload.Status.Conditions, metav1.Condition{Type: "Paced", Status: "True", Reason: reason})
	}
}

// paceEnded is a release whose pace has ended, as a status shows it.
func paceEnded(reason string) workloadOption {
	return func(workload *appv1alpha1.ChangeWorkload) {
		atStep(2, 5, "StepRunning")(workload)
		workload.Status.Conditions[1] = metav1.Condition{Type: "Paced", Status: "False", Reason: reason}
	}
}

func approval(user string, options ...func(*appv1alpha1.ChangeApproval)) appv1alpha1.ChangeApproval {
	result := appv1alpha1.ChangeApproval{ObjectMeta: metav1.ObjectMeta{Name: "by-" + user}, Spec: appv1alpha1.ChangeApprovalSpec{
		Version: version, Release: 1, Decision: "Approve", ApprovedBy: user, UID: "d-1",
	}}
	for _, option := range options {
		option(&result)
	}
	return result
}

func ofGroup(group string) func(*appv1alpha1.ChangeApproval) {
	return func(approval *appv1alpha1.ChangeApproval) { approval.Spec.Groups = []string{group} }
}

func approved(approvals ...appv1alpha1.ChangeApproval) seenOption {
	return withPace(func(pace *decide.Pace) { pace.Approvals = approvals })
}

func goOn(step int32) seenOption {
	return withPace(func(pace *decide.Pace) {
		pace.GoOn = &appv1alpha1.GoOn{Release: 1, Step: step, User: "carol", Reason: "the night is quiet"}
	})
}

func soakUntil(at time.Time) func(*appv1alpha1.ReleasePace) {
	return func(pace *appv1alpha1.ReleasePace) { pace.SoakUntil = &metav1.Time{Time: at} }
}

func stepDeadline(at time.Time) func(*appv1alpha1.ReleasePace) {
	return func(pace *appv1alpha1.ReleasePace) { pace.Deadline = &metav1.Time{Time: at} }
}

func policyUntil(at time.Time) func(*appv1alpha1.ReleasePace) {
	return func(pace *appv1alpha1.ReleasePace) { pace.PolicyUntil = &metav1.Time{Time: at} }
}

func limit(then appv1alpha1.DeadlineAction) func(*appv1alpha1.ReleasePolicySpec) {
	return func(spec *appv1alpha1.ReleasePolicySpec) {
		spec.Deadline = &appv1alpha1.StepDeadline{PerStep: metav1.Duration{Duration: 30 * time.Second}, Then: then}
	}
}

func onFail(what appv1alpha1.OnFail) func(*appv1alpha1.ReleasePolicySpec) {
	return func(spec *appv1alpha1.ReleasePolicySpec) { spec.OnFail = what }
}

func TestDecideRollsOutAReleaseInSteps(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(atStep(0, 0, "")), seen: see(20, inSteps("Gates")), now: now}
	s.workload.Status = appv1alpha1.ChangeWorkloadStatus{}
	look := func(step int32, progress, next string, target, let int32, condition string) decide.Decision {
		t.Helper()
		decision := s.decide()
		pace := s.workload.Status.Pace
		g.Expect(*pace).To(HaveField("Step", step))
		g.Expect(*pace).To(HaveField("Progress", progress))
		g.Expect(*pace).To(HaveField("Next", next))
		g.Expect(*pace).To(HaveField("Target", target))
		g.Expect(decision.Let).To(Equal(let), "let")
		g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal(condition))
		return decision
	}
	g.Expect(s.decide().Let).To(BeZero(), "the status shows the step first")
	look(1, "1/3", "25%", 1, 1, "True StepRunning")
	g.Expect(conditionOf(s.workload.Status, "Verified")).To(Equal("Unknown Paced"))
	g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(Equal("step 1 of 3: 1 of 20 pods; 0 of them passed"))

	finished(pods(1, 1))(&s.seen)
	g.Expect(sizes(s.decide().Batches)).To(HaveExactElements(1))
	s.check()
	g.Expect(look(1, "1/3", "25%", 1, 1, "True Soaking").Wait).To(Equal(5 * time.Minute))
	g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(Equal("step 1 of 3: 1 of 20 pods; soaks until 2026-11-21T10:05:00Z"))

	s.now = now.Add(5 * time.Minute)
	decision := look(2, "2/3", "100%", 5, 1, "True StepRunning")
	g.Expect(decision.IsFinal()).To(BeTrue())
	look(2, "2/3", "100%", 5, 5, "True StepRunning")
	finished(pods(2, 5))(&s.seen)
	s.decide()
	s.check()
	look(2, "2/3", "100%", 5, 5, "True AwaitingApproval")
	g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(Equal(
		"step 2 of 3 is done; step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1"))
	g.Expect(decide.IsInProgress(s.workload)).To(BeFalse())
	g.Expect(s.workload.Status.Pace.ApprovalSince.Time).To(BeTemporally("==", s.now))
	waits := s.now
	s.now = s.now.Add(time.Minute)
	approved(approval("bob", func(approval *appv1alpha1.ChangeApproval) { approval.Spec.Decision = "Deny" }))(&s.seen)
	look(2, "2/3", "100%", 5, 5, "True ApprovalDenied")
	g.Expect(s.workload.Status.Pace.ApprovalSince.Time).To(BeTemporally("==", waits), "it still waits")

	approved(approval("alice"), approval("bob"))(&s.seen)
	look(3, "3/3", "", 20, 5, "True StepRunning")
	g.Expect(s.workload.Status.Pace.ApprovedBy).To(HaveExactElements("bob"))
	g.Expect(s.workload.Status.Pace.ApprovalSince).To(BeNil())
	g.Expect(decide.IsInProgress(s.workload)).To(BeTrue())
	finished(pods(6, 20))(&s.seen)
	look(3, "3/3", "", 20, 20, "True StepRunning")
	s.check()
	decision = s.decide()
	g.Expect(decision.Verified).To(BeTrue())
	g.Expect(decision.Unpace).To(BeFalse(), "the status shows the end first")
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("False AllSteps"))
	g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(Equal("all 3 steps are done"))
	decision = s.decide()
	g.Expect(decision.Unpace).To(BeTrue())
	g.Expect(decision.Let).To(BeEquivalentTo(decide.LetAll))
	s.seen.Pace.Mark = nil
	decision = s.decide()
	g.Expect(decision.IsFinal()).To(BeFalse())
	g.Expect(conditionOf(s.workload.Status, "Verified")).To(Equal("True AllPodsPassed"))
}

// A row has what is seen of a release at a step, and what the next status has.
type paceRow struct {
	name      string
	before    workloadOption
	seen      decide.Observation
	condition string
	message   string
	step      int32
	wait      time.Duration
}

func testPace(t *testing.T, rows []paceRow) {
	t.Helper()
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before), row.seen, now)
			g.Expect(conditionOf(decision.Status, "Paced")).To(Equal(row.condition))
			g.Expect(messageOf(decision.Status.Conditions, "Paced")).To(Equal(row.message))
			if row.condition != "" {
				g.Expect(decision.Status.Pace.Step).To(Equal(row.step))
			}
			if row.wait > 0 {
				g.Expect(decision.Wait).To(Equal(row.wait))
			}
		})
	}
}

func TestDecidePaceWaits(t *testing.T) {
	running := "step 1 of 3: 1 of 20 pods; 0 of them passed"
	at0, at1 := atStep(0, 0, "OnHold"), atStep(1, 1, "StepRunning")
	frozenMark := func(seen *decide.Observation) { parkedBy(friday())(seen) }
	testPace(t, []paceRow{
		{"for the end of a freeze", at0, see(20, inSteps("Gates"), frozenMark), "True OnHold", "the release is frozen: see the condition Frozen", 0, time.Hour},
		{"for the end of a freeze that begins later", at1, see(20, inSteps("Gates"), passed(1, 1), withFreeze(func(freeze *decide.Freeze) {
			freeze.InForce = friday()
			freeze.InForce.Holds = true
		})), "True OnHold", "the release is frozen: ChangeFreeze ops/friday is on until 2026-11-21T11:00:00Z: no releases on Friday evening", 1, time.Hour},
		{"for the end of a freeze that begins once all of its pods are there", atStep(3, 20, "Soaking", soakUntil(now)), see(20, inSteps("Gates"), passed(1, 20), func(seen *decide.Observation) {
			seen.Rolling = false
			seen.Freeze.InForce = friday()
			seen.Freeze.InForce.Holds = true
		}), "True OnHold", "the release is frozen: ChangeFreeze ops/friday is on until 2026-11-21T11:00:00Z: no releases on Friday evening", 3, time.Hour},
		{"for a user who paused it, also in a freeze", at1, see(20, inSteps("Gates"), paused, withFreeze(func(freeze *decide.Freeze) {
			freeze.InForce = friday()
			freeze.InForce.Holds = true
		})), "True OnHold", "the Deployment is paused: run kubectl rollout resume", 1, time.Hour},
		{"for its first nodes", at0, see(20, inSteps("Nodes"), hold("held"), paused, func(seen *decide.Observation) {
			seen.First = &decide.First{Asked: true, Nodes: []string{"a"}, Of: map[types.UID]string{}}
		}), "True OnHold", "the release waits for its first nodes: see the condition FirstNodes", 0, 0},
		{"for a user who paused it", at1, see(20, inSteps("Gates"), paused), "True OnHold", "the Deployment is paused: run kubectl rollout resume", 1, 0},
		{"for a pod of a StatefulSet", at1, see(0, inSteps("Partition"), paused, hold("step"), func(seen *decide.Observation) { seen.Idle = "its partition keeps all of its pods as they are" }),
			"True OnHold", "the Deployment has no pods for the release: its partition keeps all of its pods as they are", 1, 0},
		{"for replicas", at1, see(0, inSteps("Gates")), "True OnHold", "the Deployment has no replicas", 1, 0},
		{"for a template of the webhooks", at1, see(20, inSteps("Gates"), unseen), "True OnHold", "the pod template was changed without the admission webhooks", 1, 0},
		{"for a pod to pass", at1, see(20, inSteps("Gates"), finished(pods(1, 1))), "True StepRunning", running, 1, 0},
		{"for the soak", at1, see(20, inSteps("Gates"), passed(1, 1)), "True Soaking", "step 1 of 3: 1 of 20 pods; soaks until 2026-11-21T10:05:00Z", 1, 5 * time.Minute},
		{"for the rest of the soak", atStep(1, 1, "Soaking", soakUntil(now.Add(time.Second))), see(20, inSteps("Gates"), passed(1, 1)),
			"True Soaking", "step 1 of 3: 1 of 20 pods; soaks until 2026-11-21T10:00:01Z", 1, time.Second},
		{"no longer than the soak of the present policy", atStep(1, 1, "Soaking", soakUntil(now.Add(time.Hour))), see(20, inSteps("Gates"), passed(1, 1)),
			"True Soaking", "step 1 of 3: 1 of 20 pods; soaks until 2026-11-21T10:05:00Z", 1, 5 * time.Minute},
		{"no longer than the soak", atStep(1, 1, "Soaking", soakUntil(now)), see(20, inSteps("Gates"), passed(1, 1)),
			"True StepRunning", "step 2 of 3: 5 of 20 pods; 1 of them passed", 2, 0},
		{"for the soak that goes on if a pod is gone", atStep(2, 5, "Soaking", soakUntil(now.Add(time.Minute))), see(20, inSteps("Gates", soaksAt(2)), passed(1, 4)),
			"True StepRunning", "step 2 of 3: 5 of 20 pods; 4 of them passed; soaks until 2026-11-21T10:01:00Z", 2, 0},
		{"for that pod alone at the end of the soak", atStep(2, 5, "Soaking", soakUntil(now)), see(20, inSteps("Gates", soaksAt(2)), passed(1, 4)),
			"True StepRunning", "step 2 of 3: 5 of 20 pods; 4 of them passed", 2, 0},
		{"for the soak anew if all its pods are gone", atStep(1, 1, "Soaking", soakUntil(now)), see(20, inSteps("Gates")), "True StepRunning", running, 1, 0},
		{"for more pods once it is scaled up", atStep(2, 5, "AwaitingApproval"), see(40, inSteps("Gates"), passed(1, 5)),
			"True StepRunning", "step 2 of 3: 10 of 40 pods; 5 of them passed", 2, 0},
		{"for fewer pods once it is scaled down", atStep(2, 5, "StepRunning"), see(9, inSteps("Gates"), passed(1, 3)),
			"True AwaitingApproval", "step 2 of 3 is done; step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1", 2, 0},
		{"for nothing if every step has the same pods", at1, see(1, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) {
			spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 25}, {Percent: 100}}
		}), passed(1, 1)), "False AllSteps", "all 3 steps are done", 3, 0},
		{"nowhere if the policy has fewer steps now", atStep(3, 20, "StepRunning"), see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) {
			spec.Steps = []appv1alpha1.ReleaseStep{{Percent: 100}}
		}), passed(1, 19)), "True StepRunning", "step 1 of 1: 20 of 20 pods; 19 of them passed", 1, 0},
	})
}

// Whoever changes a ReleasePolicy begins no step of a release that is under way: the steps begin as before, with their approvals.
func TestDecidePaceFollowsAPolicyThatIsChanged(t *testing.T) {
	at := func(step, target int32) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) {
			atStep(step, target, "StepRunning")(workload)
			workload.Status.Counts.Desired = 20
		}
	}
	steps := func(steps ...appv1alpha1.ReleaseStep) seenOption {
		return inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps = steps })
	}
	one, quarter, approved := appv1alpha1.ReleaseStep{Replicas: 1}, appv1alpha1.ReleaseStep{Percent: 25}, appv1alpha1.ReleaseStep{Percent: 100, Approvals: 1}
	testPace(t, []paceRow{
		{"without the present step", at(2, 5), see(20, steps(one, approved), passed(1, 5)), "True AwaitingApproval",
			"step 1 of 2 is done; step 2 of 2 needs 1 approval (0 given): create a ChangeApproval of release 1", 1, 0},
		{"without the steps before", at(2, 5), see(20, steps(approved), passed(1, 5)), "True AwaitingApproval",
			"step 1 of 1 needs 1 approval (0 given): create a ChangeApproval of release 1", 0, 0},
		{"with more pods in the present step", at(1, 1), see(20, steps(appv1alpha1.ReleaseStep{Percent: 50, Approvals: 1}, approved), passed(1, 1)),
			"True AwaitingApproval", "step 1 of 2 needs 1 approval (0 given): create a ChangeApproval of release 1", 0, 0},
		{"with fewer pods in the present step", at(2, 10), see(20, steps(one, quarter, approved), passed(1, 4)), "True StepRunning",
			"step 2 of 3: 5 of 20 pods; 4 of them passed", 2, 0},
		{"with another step before", at(1, 5), see(20, steps(one, quarter, approved), passed(1, 5)), "True AwaitingApproval",
			"step 2 of 3 is done; step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1", 2, 0},
		{"and not where it is only scaled up", at(2, 5), see(40, steps(one, quarter, approved), passed(1, 5)), "True StepRunning",
			"step 2 of 3: 10 of 40 pods; 5 of them passed", 2, 0},
		{"and not where it is only scaled down", at(2, 5), see(10, steps(one, quarter, approved), passed(1, 2)), "True StepRunning",
			"step 2 of 3: 3 of 10 pods; 2 of them passed", 2, 0},
	})
}

func TestDecidePaceShowsThePermissionThatItLacks(t *testing.T) {
	lacks := withPace(func(pace *decide.Pace) { pace.Undeletable = "the operator may not" })
	at := func(reason string, options ...func(*appv1alpha1.ReleasePace)) workloadOption {
		return atStep(2, 5, reason, options...)
	}
	late := stepDeadline(now)
	testPace(t, []paceRow{
		{"while pods are to be replaced", at("StepRunning"), see(20, inSteps("Nodes"), hold("step"), paused, passed(1, 1), lacks), "True PermissionMissing",
			"step 2 of 3: 5 of 20 pods; 1 of them passed; no other pod is replaced: the operator may not", 2, time.Minute},
		{"but not once all are there", at("PermissionMissing"), see(20, inSteps("Nodes"), hold("step"), paused, passed(1, 4), finished(pods(5, 5)), lacks), "True StepRunning",
			"step 2 of 3: 5 of 20 pods; 4 of them passed", 2, 0},
		{"and once it is granted", at("PermissionMissing"), see(20, inSteps("Nodes"), hold("step"), paused, passed(1, 1)), "True StepRunning", "step 2 of 3: 5 of 20 pods; 1 of them passed", 2, 0},
		{"also when its time is over", at("PermissionMissing", late), see(20, inSteps("Nodes", limit("Hold")), hold("step"), paused, passed(1, 1), lacks), "True StepDeadline",
			"step 2 of 3: 5 of 20 pods; 1 of them passed; no other pod is replaced: the operator may not, not all by 2026-11-21T10:00:00Z", 2, 0},
	})
}

func TestDecidePaceNeedsApprovals(t *testing.T) {
	done := atStep(2, 5, "AwaitingApproval")
	needs := "step 2 of 3 is done; step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1"
	on := "step 3 of 3: 20 of 20 pods; 5 of them passed"
	row := func(name string, approvals []appv1alpha1.ChangeApproval, condition, message string, options ...seenOption) paceRow {
		seen := see(20, inSteps("Gates"), passed(1, 5), approved(approvals...))
		for _, option := range options {
			option(&seen)
		}
		step := int32(2)
		if condition == "True StepRunning" {
			step = 3
		}
		return paceRow{name, done, seen, condition, message, step, 0}
	}
	list := func(approvals ...appv1alpha1.ChangeApproval) []appv1alpha1.ChangeApproval { return approvals }
	denies := func(approval *appv1alpha1.ChangeApproval) {
		approval.Spec.Decision, approval.Spec.Reason = "Deny", "not on Friday"
	}
	only := func(approvers appv1alpha1.Approvers) seenOption {
		return withPace(func(pace *decide.Pace) { pace.Policy.Spec.Approvers = &approvers })
	}
	const robot = "system:serviceaccount:ci:robot"
	testPace(t, []paceRow{
		row("of somebody", nil, "True AwaitingApproval", needs),
		row("of a second person", list(approval("bob")), "True StepRunning", on),
		row("not of the author", list(approval("alice")), "True AwaitingApproval", needs),
		row("not of an unknown user", list(approval("")), "True AwaitingApproval", needs),
		row("not of another release", list(approval("bob", func(approval *appv1alpha1.ChangeApproval) { approval.Spec.Release = 2 })), "True AwaitingApproval", needs),
		row("not of another version", list(approval("bob", func(approval *appv1alpha1.ChangeApproval) { approval.Spec.Version = older })), "True AwaitingApproval", needs),
		row("not of an earlier Deployment", list(approval("bob", func(approval *appv1alpha1.ChangeApproval) { approval.Spec.UID = "d-0" })), "True AwaitingApproval", needs),
		row("not withdrawn ones", list(approval("bob", func(approval *appv1alpha1.ChangeApproval) { approval.DeletionTimestamp = &metav1.Time{Time: now} })), "True AwaitingApproval", needs),
		row("that nobody denies", list(approval("bob"), approval("dave", denies)), "True ApprovalDenied", "step 3 of 3 is denied by ChangeApproval by-dave of dave: not on Friday"),
		row("not of a service account", list(approval(robot)), "True AwaitingApproval", needs),
		row("of a service account that is named", list(approval(robot)), "True StepRunning", on, only(appv1alpha1.Approvers{Users: []string{robot}})),
		row("of a user who is named", list(approval("bob")), "True StepRunning", on, only(appv1alpha1.Approvers{Users: []string{"bob"}})),
		row("not of another user than those", list(approval("bob")), "True AwaitingApproval", needs, only(appv1alpha1.Approvers{Users: []string{"dave"}})),
		row("of a user of a group", list(approval("bob", ofGroup("sre"))), "True StepRunning", on, only(appv1alpha1.Approvers{Groups: []string{"sre"}})),
		row("not of a user of a group that the policy named before", list(approval("bob", ofGroup("sre"))), "True AwaitingApproval", needs, only(appv1alpha1.Approvers{Groups: []string{"managers"}})),
		row("not of a user who approved before the policy named groups", list(approval("bob")), "True AwaitingApproval", needs, only(appv1alpha1.Approvers{Groups: []string{"sre"}})),
		row("not of a service account of a group", list(approval(robot, ofGroup("sre"))), "True AwaitingApproval", needs, only(appv1alpha1.Approvers{Groups: []string{"sre"}})),
		row("that a user denied whom the policy named before", list(approval("bob"), approval("eve", denies)), "True ApprovalDenied",
			"step 3 of 3 is denied by ChangeApproval by-eve of eve: not on Friday", only(appv1alpha1.Approvers{Users: []string{"bob"}})),
		row("not denied by an unknown user", list(approval("bob"), approval("", denies)), "True StepRunning", on, only(appv1alpha1.Approvers{Users: []string{"bob"}})),
		{"not of an author with a long name", func(workload *appv1alpha1.ChangeWorkload) {
			done(workload)
			workload.Spec.ReleasedBy = strings.Repeat("b", 300)
		}, see(20, inSteps("Gates"), passed(1, 5), approved(approval(strings.Repeat("b", 250)+"..."))), "True AwaitingApproval", needs, 2, 0},
		row("of a user with a long name who is named", list(approval(strings.Repeat("木", 83)+"...")), "True StepRunning", on,
			only(appv1alpha1.Approvers{Users: []string{strings.Repeat("木", 85)}})),
		row("of two persons, not of one twice", list(approval("bob"), approval("bob")), "True AwaitingApproval",
			"step 2 of 3 is done; step 3 of 3 needs 2 approvals (1 given): create a ChangeApproval of release 1", withPace(func(pace *decide.Pace) { pace.Policy.Spec.Steps[2].Approvals = 2 })),
		row("not by a BreakGlass", nil, "True StepRunning", on, withFreeze(func(freeze *decide.Freeze) {
			freeze.Pass = &appv1alpha1.BreakGlassPass{User: "bob", Overrides: []appv1alpha1.BreakGlassOverride{"Approval"}}
		})),
		row("by a BreakGlass for a freeze all the same", nil, "True AwaitingApproval", needs, withFreeze(func(freeze *decide.Freeze) {
			freeze.Pass = &appv1alpha1.BreakGlassPass{User: "bob", Overrides: []appv1alpha1.BreakGlassOverride{"Freeze"}}
		})),
		{"before the first step", atStep(0, 0, "OnHold"), see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps[0].Approvals = 1 })),
			"True AwaitingApproval", "step 1 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1", 0, 0},
		{"not for pods that were let before", atStep(3, 20, "StepRunning"), see(20, inSteps("Gates"), passed(1, 5)), "True StepRunning", on, 3, 0},
	})
}

func TestDecidePaceGoesOnByRequest(t *testing.T) {
	free := func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps[2].Approvals = 0 }
	late := atStep(1, 1, "StepDeadline", stepDeadline(now.Add(-time.Second)))
	testPace(t, []paceRow{
		{"past checks that are open", atStep(1, 1, "StepRunning"), see(20, inSteps("Gates"), goOn(2)), "True StepRunning", "step 2 of 3: 5 of 20 pods; 0 of them passed", 2, 0},
		{"past the soak", atStep(1, 1, "Soaking", soakUntil(now.Add(time.Hour))), see(20, inSteps("Gates"), passed(1, 1), goOn(2)),
			"True StepRunning", "step 2 of 3: 5 of 20 pods; 1 of them passed", 2, 0},
		{"past the deadline", late, see(20, inSteps("Gates", limit("Hold")), goOn(2)), "True StepRunning", "step 2 of 3: 5 of 20 pods; 0 of them passed", 2, 30 * time.Second},
		{"several steps at once", atStep(0, 0, "OnHold"), see(20, inSteps("Gates", free), goOn(3)), "True StepRunning", "step 3 of 3: 20 of 20 pods; 0 of them passed", 3, 0},
		{"not past a step that is done", atStep(2, 5, "StepRunning"), see(20, inSteps("Gates"), goOn(2)), "True StepRunning", "step 2 of 3: 5 of 20 pods; 0 of them passed", 2, 0},
		{"not past approvals", atStep(1, 1, "StepRunning"), see(20, inSteps("Gates"), goOn(3)), "True AwaitingApproval",
			"step 2 of 3 isn't done, as 0 of its 5 pods passed, but carol lets the release go on; step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1", 2, 0},
		{"not past a failure", atStep(1, 1, "StepFailed"), see(20, inSteps("Gates"), failed(1, 1, "sleep-1"), goOn(3)), "True StepFailed",
			"step 1 of 3: 1 of 20 pods: no further pods come: pod sleep-1 failed its check: find error", 1, 0},
		{"to all pods", atStep(1, 1, "StepRunning"), see(20, inSteps("Gates", free), goOn(0)), "False WentOn", "carol let the release go on to all pods", 3, 0},
		{"to all pods, but not past approvals", atStep(1, 1, "StepRunning"), see(20, inSteps("Gates"), goOn(0)), "True AwaitingApproval",
			"step 2 of 3 isn't done, as 0 of its 5 pods passed, but carol lets the release go on; step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1", 2, 0},
		{"past the soak, but not past approvals", atStep(2, 5, "Soaking", soakUntil(now.Add(time.Minute))), see(20, inSteps("Gates", soaksAt(2)), passed(1, 5), goOn(3)),
			"True AwaitingApproval", "step 2 of 3 soaks until 2026-11-21T10:01:00Z, but carol lets the release go on; " +
				"step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1", 2, 0},
		{"to the last step only", atStep(1, 1, "StepRunning"), see(20, inSteps("Gates", free), goOn(7)), "True StepRunning", "step 3 of 3: 20 of 20 pods; 0 of them passed", 3, 0},
	})
	t.Run("begins no step that is enlarged later", func(t *testing.T) {
		for _, to := range []int32{2, 3, 7} {
			g := NewWithT(t)
			s := &story{t: t, workload: newWorkload(atStep(1, 1, "StepRunning")), seen: see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) {
				spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 25}, {Percent: 50}}[:min(to, 3)]
			}), goOn(to)), now: now}
			s.decide()
			reached := s.workload.Status.Pace.Step
			g.Expect(reached).To(Equal(min(to, 3)))
			s.decide()
			g.Expect(s.workload.Status.Pace.WentOn).To(Equal(to), "a user sees that the request was met")
			s.seen.Pace.Policy.Spec.Steps[reached-1].Percent = 80
			for range 2 {
				s.decide()
				g.Expect(s.workload.Status.Pace.Step).To(Equal(reached-1), "its pods have yet to pass")
			}
			s.seen.Pace.GoOn = nil
			s.decide()
			goOn(to)(&s.seen)
			s.decide()
			g.Expect(s.workload.Status.Pace.Step).To(Equal(reached), "it is asked for again")
		}
	})
	t.Run("is recorded once", func(t *testing.T) {
		g := NewWithT(t)
		s := &story{t: t, workload: newWorkload(atStep(1, 1, "StepRunning")), seen: see(20, inSteps("Gates"), goOn(2)), now: now}
		s.decide()
		s.now = now.Add(time.Minute)
		s.decide()
		goOn(0)(&s.seen)
		s.decide()
		g.Expect(s.workload.Status.Pace.Passes).To(HaveLen(2))
		g.Expect(s.workload.Status.Pace.Passes[0]).To(And(HaveField("To", "2"), HaveField("User", "carol"), HaveField("Reason", "the night is quiet"), HaveField("Time.Time", BeTemporally("==", now))))
		g.Expect(s.workload.Status.Pace.Passes[1]).To(HaveField("To", "all"))
	})
	t.Run("is recorded also after 20 others", func(t *testing.T) {
		g := NewWithT(t)
		s := &story{t: t, workload: newWorkload(atStep(1, 1, "StepRunning")), seen: see(20, inSteps("Gates"), goOn(2)), now: now}
		for i := range 20 {
			s.workload.Status.Pace.Passes = append(s.workload.Status.Pace.Passes, appv1alpha1.PacePass{To: "2", User: fmt.Sprint("user-", i)})
		}
		before := s.workload.DeepCopy()
		s.decide()
		passes := s.workload.Status.Pace.Passes
		g.Expect(passes).To(HaveLen(20))
		g.Expect(passes[0]).To(HaveField("User", "user-1"), "the oldest one makes place")
		g.Expect(passes[19]).To(And(HaveField("To", "2"), HaveField("User", "carol")))
		g.Expect(decide.NewPasses(&before.Status, &s.workload.Status)).To(Equal(passes[19:]))
		s.decide()
		g.Expect(s.workload.Status.Pace.Passes).To(Equal(passes))
	})
	t.Run("is recorded of each user", func(t *testing.T) {
		g := NewWithT(t)
		s := &story{t: t, workload: newWorkload(atStep(2, 5, "AwaitingApproval")), seen: see(20, inSteps("Gates"), passed(1, 5), goOn(0)), now: now}
		s.decide()
		s.seen.Pace.GoOn = nil
		s.decide()
		s.seen.Pace.GoOn = &appv1alpha1.GoOn{Release: 1, User: "dave"}
		free(&s.seen.Pace.Policy.Spec)
		s.decide()
		g.Expect(s.workload.Status.Conditions).To(ContainElement(HaveField("Message", "dave let the release go on to all pods")))
		g.Expect(s.workload.Status.Pace.Passes).To(HaveExactElements(HaveField("User", "carol"), HaveField("User", "dave")))
	})
}

func TestDecidePaceDeadline(t *testing.T) {
	late := atStep(1, 1, "StepRunning", stepDeadline(now))
	last := atStep(3, 20, "StepRunning", stepDeadline(now))
	running := "step 1 of 3: 1 of 20 pods; 0 of them passed"
	leads := func(since time.Duration) seenOption {
		return withPace(func(pace *decide.Pace) { pace.Since = now.Add(-since) })
	}
	testPace(t, []paceRow{
		{"begins with the step", atStep(1, 1, "StepRunning"), see(20, inSteps("Gates", limit("Hold"))), "True StepRunning", running, 1, 30 * time.Second},
		{"is waited for", atStep(1, 1, "StepRunning", stepDeadline(now.Add(time.Second))), see(20, inSteps("Gates", limit("Hold"))), "True StepRunning", running, 1, time.Second},
		{"is no later than that of the present policy", atStep(1, 1, "StepRunning", stepDeadline(now.Add(time.Hour))), see(20, inSteps("Gates", limit("Hold"))),
			"True StepRunning", running, 1, 30 * time.Second},
		{"holds", late, see(20, inSteps("Gates", limit("Hold"))), "True StepDeadline", running + ", not all by 2026-11-21T10:00:00Z", 1, 0},
		{"rolls back", late, see(20, inSteps("Gates", limit("Undo"))), "True StepDeadline", running + "; the release is to be rolled back, not all by 2026-11-21T10:00:00Z", 1, 0},
		{"lets it go on", late, see(20, inSteps("Gates", limit("GoOn"))), "True StepRunning", "step 2 of 3: 5 of 20 pods; 0 of them passed", 2, 30 * time.Second},
		{"lets it wait for approvals", atStep(2, 5, "StepRunning", stepDeadline(now)), see(20, inSteps("Gates", limit("GoOn")), passed(1, 4)), "True AwaitingApproval",
			"step 2 of 3 didn't end in time; step 3 of 3 needs 1 approval (0 given): create a ChangeApproval of release 1", 2, 0},
		{"lets it go on from the last step", last, see(20, inSteps("Gates", limit("GoOn")), passed(1, 19)), "False StepDeadline", "the last step didn't end in time: deadline.then is GoOn", 3, 0},
		{"is over if the pods pass later", late, see(20, inSteps("Gates", limit("Hold")), passed(1, 1)), "True Soaking", "step 1 of 3: 1 of 20 pods; soaks until 2026-11-21T10:05:00Z", 1, 5 * time.Minute},
		{"begins anew for additional pods", atStep(2, 5, "StepRunning", stepDeadline(now)), see(40, inSteps("Gates", limit("Hold"))), "True StepRunning", "step 2 of 3: 10 of 40 pods; 0 of them passed", 2, 30 * time.Second},
		{"begins anew if all pods that soaked are gone", atStep(1, 1, "Soaking", soakUntil(now), stepDeadline(now)), see(20, inSteps("Gates", limit("Hold"))), "True StepRunning", running, 1, 30 * time.Second},
		{"begins anew if it passed while no leader was there", atStep(1, 1, "StepRunning", stepDeadline(now.Add(-time.Minute))), see(20, inSteps("Gates", limit("Undo")), leads(time.Second)),
			"True StepRunning", running, 1, 30 * time.Second},
		{"begins anew if it passes right after that", atStep(1, 1, "StepRunning", stepDeadline(now)), see(20, inSteps("Gates", limit("Undo")), leads(29*time.Second)),
			"True StepRunning", running, 1, 30 * time.Second},
		{"stays while it isn't over then", atStep(1, 1, "StepRunning", stepDeadline(now.Add(time.Second))), see(20, inSteps("Gates", limit("Undo")), leads(time.Second)),
			"True StepRunning", running, 1, time.Second},
		{"was over before that", atStep(1, 1, "StepDeadline", stepDeadline(now.Add(-time.Minute))), see(20, inSteps("Gates", limit("Hold")), leads(time.Second)),
			"True StepDeadline", running + ", not all by 2026-11-21T09:59:00Z", 1, 0},
		{"passed since", atStep(1, 1, "StepRunning", stepDeadline(now.Add(-time.Second))), see(20, inSteps("Gates", limit("Hold")), leads(time.Minute)),
			"True StepDeadline", running + ", not all by 2026-11-21T09:59:59Z", 1, 0},
		{"is gone with that of the policy", late, see(20, inSteps("Gates")), "True StepRunning", running, 1, 0},
	})
	t.Run("doesn't run during a freeze", func(t *testing.T) {
		decision := decide.Decide(newWorkload(late), see(20, inSteps("Gates", limit("Undo")), parkedBy(friday())), now)
		NewWithT(t).Expect(decision.Status.Pace.Deadline).To(BeNil())
		NewWithT(t).Expect(decision.Ask).To(BeEmpty())
	})
	t.Run("asks once to roll back", func(t *testing.T) {
		g := NewWithT(t)
		s := &story{t: t, workload: newWorkload(late), seen: see(20, inSteps("Gates", limit("Undo"))), now: now}
		g.Expect(string(s.decide().Ask)).To(Equal("Undo"))
		g.Expect(string(s.workload.Status.Pace.Asked)).To(Equal("Undo"))
		g.Expect(s.decide().Ask).To(BeEmpty())
	})
}

func TestDecidePaceFailure(t *testing.T) {
	for _, row := range []struct{ onFail, ask string }{{"Hold", ""}, {"Park", "Park"}, {"Undo", "Undo"}} {
		t.Run("asks once for "+row.onFail, func(t *testing.T) {
			g := NewWithT(t)
			s := &story{t: t, workload: newWorkload(atStep(2, 5, "StepRunning", soakUntil(now))), now: now,
				seen: see(20, inSteps("Gates", onFail(appv1alpha1.OnFail(row.onFail))), failed(1, 5, "sleep-2"))}
			decision := s.decide()
			g.Expect(string(decision.Ask)).To(Equal(row.ask))
			g.Expect(decision.IsFinal()).To(Equal(row.ask != ""))
			g.Expect(decision.Let).To(BeZero())
			g.Expect(decision.Pause).To(BeTrue())
			g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True StepFailed"))
			decision = s.decide()
			g.Expect(decision.Ask).To(BeEmpty())
			g.Expect(string(s.workload.Status.Pace.Asked)).To(Equal(row.ask))

			s.seen.Batches[0].Status.PodResults = nil
			decision = s.decide()
			g.Expect(decision.Let).To(BeEquivalentTo(5), "the verdict is withdrawn: it goes on at the same step")
			g.Expect(s.workload.Status.Pace.Step).To(BeEquivalentTo(2))
			g.Expect(s.workload.Status.Pace.Asked).To(BeEmpty())
		})
	}
}

// The rollback controller drops requests for a workload that a user has paused.
func TestDecidePaceFailureAsksAfterTheEndOfAPause(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(atStep(1, 1, "StepRunning")), now: now,
		seen: see(20, inSteps("Gates", onFail("Undo")), failed(1, 1, "sleep-1"), paused)}
	g.Expect(s.decide().Ask).To(BeEmpty())
	g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(HaveSuffix(
		"; onFail is Undo, once the Deployment isn't paused any more: run kubectl rollout resume"))
	g.Expect(s.decide().Ask).To(BeEmpty())
	s.seen.Paused = false
	g.Expect(string(s.decide().Ask)).To(Equal("Undo"))
	g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(HaveSuffix("; onFail is Undo"))
	s.seen.Paused, s.seen.Hold = true, "held"
	g.Expect(s.decide().Ask).To(BeEmpty())
	g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(HaveSuffix("; onFail is Undo"))
}

func TestDecidePaceEnds(t *testing.T) {
	at := atStep(2, 5, "StepRunning")
	gone := withPace(func(pace *decide.Pace) { pace.Policy = nil })
	testPace(t, []paceRow{
		{"with the next release", at, see(20, moved, later), "False Superseded", "the Deployment has moved on to another release", 2, 0},
		{"not if the cache is behind", at, see(20, moved), "True StepRunning", "", 2, 0},
		{"with change control", at, see(20, inSteps("Gates"), optedOut), "False NotControlled", "the Deployment left change control", 2, 0},
		{"with change control although there is a next release", at, see(20, moved, later, optedOut), "False NotControlled", "the Deployment left change control", 2, 0},
		{"with change control after the next release", paceEnded("Superseded"), see(20, moved, later, notEnforced), "False NotControlled", "the Deployment left change control", 2, 0},
		{"with the next release also after it", paceEnded("Superseded"), see(20, moved, later), "False Superseded", "", 2, 0},
		{"with its policy", atStep(2, 5, "OnHold", policyUntil(now)), see(20, inSteps("Gates"), gone), "False PolicyRemoved", "no ReleasePolicy with steps selects the Deployment any more", 2, 0},
		{"with the steps of its policy", atStep(2, 5, "OnHold", policyUntil(now)), see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps = nil })),
			"False PolicyRemoved", "no ReleasePolicy with steps selects the Deployment any more", 2, 0},
		{"with its lever", at, see(20, inSteps("Gates"), withPace(func(pace *decide.Pace) { pace.Obstacle = "no gates are installed" })),
			"False NoLever", "no gates are installed: the rollout goes on to all pods", 2, 0},
		{"with its lever, but not while it is frozen", at, see(20, inSteps("Gates"), parkedBy(friday()), withPace(func(pace *decide.Pace) { pace.Obstacle = "no gates are installed" })),
			"True OnHold", "the release is frozen: see the condition Frozen", 2, time.Hour},
		{"with its mark", at, see(20), "False Resumed", "the annotation altershield.defense.antgroup.com/paced was removed", 2, 0},
		{"if a user resumes it after a failure", at, see(20, inSteps("Gates"), hold("resumed"), failed(1, 1, "sleep-1")), "False Resumed", "a user resumed the rollout", 2, 0},
		{"if a user has resumed it after a failure", at, see(20, inSteps("Gates"), hold("overridden")), "False Resumed", "a user resumed the rollout", 2, 0},
		{"not if a user resumes it from a freeze", at, see(20, inSteps("Gates"), parkedBy(nil), hold("resumed")), "True StepRunning", "step 2 of 3: 5 of 20 pods; 0 of them passed", 2, 0},
		{"if a user resumes it from a freeze by a BreakGlass that passes its steps", at, see(20, inSteps("Gates"), withFreeze(func(freeze *decide.Freeze) {
			freeze.Pass = &appv1alpha1.BreakGlassPass{Name: "inc-7", User: "bob", Overrides: []appv1alpha1.BreakGlassOverride{"Freeze", "Pace"}}
		})), "False BreakGlass", "bob rolled the release out at once by BreakGlass inc-7", 2, 0},
		{"if nothing keeps a DaemonSet from replacing its pods", at, see(20, inSteps("Nodes")), "False Resumed", "a user resumed the rollout", 2, 0},
		{"with its order", func(workload *appv1alpha1.ChangeWorkload) {
			at(workload)
			workload.Status.Status = "Failed"
		}, see(20, inSteps("Gates")), "False OrderRefused", "the release is not checked: the rollout goes on to all pods", 2, 0},
		{"for ever", paceEnded("PolicyRemoved"), see(20, inSteps("Gates")), "False PolicyRemoved", "", 2, 0},
	})
}

// Afterwards it is a target of rollbacks again, unlike one that another release had superseded in its steps.
func TestDecidePaceLetsThePresentReleaseGoToAllPodsWithChangeControl(t *testing.T) {
	for name, row := range map[string]struct {
		before workloadOption
		seen   decide.Observation
		found  bool
	}{
		"it is the present one":      {atStep(2, 5, "StepRunning"), see(20, inSteps("Gates"), optedOut), true},
		"it is superseded meanwhile": {atStep(2, 5, "StepRunning"), see(20, moved, later, optedOut), false},
		"it was superseded before":   {paceEnded("Superseded"), see(20, moved, later, optedOut), false},
	} {
		t.Run(name, func(t *testing.T) {
			record := newWorkload(row.before)
			record.Status.Pace.Target, record.Status.Pace.Desired = 5, 20
			decision := decide.Decide(record, row.seen, now)
			g := NewWithT(t)
			g.Expect(conditionOf(decision.Status, "Paced")).To(Equal("False NotControlled"))
			record.Status = decision.Status
			past := decide.Past{Release: decide.Release{Version: "b", Number: 9}, Workloads: []appv1alpha1.ChangeWorkload{*record}}
			found := past.HealthyOlder([]decide.Revision{sameTemplate(broken("b", 7)), running(record.Spec.Reversion, 6)}, now)
			g.Expect(found != nil).To(Equal(row.found))
		})
	}
}

// A ReleasePolicy that is deleted may be created again in a moment.
func TestDecideWaitsForAPolicyThatIsGone(t *testing.T) {
	gone := withPace(func(pace *decide.Pace) { pace.Policy = nil })
	until := func(at string) string {
		return "no ReleasePolicy with steps selects the Deployment any more: the release goes on to all pods unless one is back by " + at
	}
	at := atStep(2, 5, "AwaitingApproval")
	testPace(t, []paceRow{
		{"at its step", at, see(20, inSteps("Gates"), gone, passed(1, 5), approved(approval("bob"))), "True OnHold", until("2026-11-21T10:00:30Z"), 2, 30 * time.Second},
		{"before its first step is stored", stored("Running", "Unknown", "Verifying"), see(20, inSteps("Gates"), gone), "True OnHold", until("2026-11-21T10:00:30Z"), 0, 30 * time.Second},
		{"with steps", at, see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps = nil })), "True OnHold", until("2026-11-21T10:00:30Z"), 2, 30 * time.Second},
		{"for no longer", atStep(2, 5, "OnHold", policyUntil(now.Add(time.Second))), see(20, inSteps("Gates"), gone), "True OnHold", until("2026-11-21T10:00:01Z"), 2, time.Second},
		{"during a freeze until its end", at, see(20, inSteps("Gates"), gone, parkedBy(friday())), "True OnHold", "the release is frozen: see the condition Frozen; " +
			"no ReleasePolicy with steps selects the Deployment any more: the release goes on to all pods unless one is back by 30s after the freeze", 2, time.Hour},
	})
	for _, lever := range []appv1alpha1.Lever{"Gates", "Partition", "Nodes"} {
		t.Run("and goes on with it: "+string(lever), func(t *testing.T) {
			g := NewWithT(t)
			s := &story{t: t, workload: newWorkload(atStep(2, 5, "StepRunning", stepDeadline(now))), seen: see(20, inSteps(lever), hold("step"), paused), now: now}
			policy := s.seen.Pace.Policy
			gone(&s.seen)
			decision := s.decide()
			g.Expect(decision.Let).To(BeEquivalentTo(map[appv1alpha1.Lever]int{"Gates": 5}[lever]), "as on any hold")
			g.Expect(decision.WriteStatus).To(BeTrue())
			s.now = now.Add(29 * time.Second)
			decision = s.decide()
			g.Expect(decision.WriteStatus).To(BeFalse(), "it is written once")
			g.Expect(decision.Unpace).To(BeFalse())
			s.seen.Pace.Policy = policy
			s.decide()
			g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True StepRunning"))
			g.Expect(s.workload.Status.Pace).To(And(HaveField("Step", BeEquivalentTo(2)), HaveField("Target", BeEquivalentTo(5)), HaveField("PolicyUntil", BeNil()), HaveField("Deadline", BeNil())))
			s.now = now.Add(time.Hour)
			gone(&s.seen)
			s.decide()
			g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True OnHold"), "the next time counts anew")
			s.now = now.Add(time.Hour + 30*time.Second)
			decision = s.decide()
			g.Expect(decision.IsFinal()).To(BeTrue())
			g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("False PolicyRemoved"))
			g.Expect(s.workload.Status.Pace.PolicyUntil).To(BeNil())
		})
	}
	t.Run("during a freeze for as long as that", func(t *testing.T) {
		g := NewWithT(t)
		s := &story{t: t, workload: newWorkload(atStep(2, 5, "OnHold", policyUntil(now.Add(10*time.Second)))), seen: see(20, inSteps("Gates"), gone, parkedBy(friday())), now: now}
		for range 3 {
			s.decide()
			g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True OnHold"))
			g.Expect(s.workload.Status.Pace.PolicyUntil).To(BeNil())
			s.now = s.now.Add(29 * time.Minute)
		}
		parkedBy(nil)(&s.seen)
		s.decide()
		g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(Equal(until("2026-11-21T11:27:30Z")))
		s.now = s.now.Add(30 * time.Second)
		s.decide()
		g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("False PolicyRemoved"))
	})
	t.Run("while a freeze that has nothing to pause is on", func(t *testing.T) {
		g := NewWithT(t)
		decision := decide.Decide(newWorkload(atStep(2, 5, "OnHold", policyUntil(now))), see(20, inSteps("Gates"), gone, withFreeze(func(freeze *decide.Freeze) {
			freeze.InForce = friday()
			freeze.InForce.Holds = true
		})), now)
		g.Expect(conditionOf(decision.Status, "Paced")).To(Equal("True OnHold"))
		g.Expect(decision.Unpace).To(BeFalse())
	})
	t.Run("with fewer pods if it is scaled down", func(t *testing.T) {
		decision := decide.Decide(newWorkload(at), see(3, inSteps("Gates"), gone), now)
		NewWithT(t).Expect(decision.Status.Pace.Target).To(BeEquivalentTo(3))
	})
	for name, meanwhile := range map[string][]int32{"up": {40}, "down and up": {3, 20}} {
		t.Run("and stays at its step if it is scaled meanwhile: "+name, func(t *testing.T) {
			s := &story{t: t, workload: newWorkload(atStep(2, 5, "StepRunning")), seen: see(20, inSteps("Gates")), now: now}
			s.decide()
			policy := s.seen.Pace.Policy
			gone(&s.seen)
			for _, desired := range meanwhile {
				s.seen.Desired = desired
				s.decide()
			}
			s.seen.Pace.Policy = policy
			s.decide()
			NewWithT(t).Expect(s.workload.Status.Pace).To(And(
				HaveField("Step", BeEquivalentTo(2)), HaveField("Target", BeEquivalentTo((meanwhile[len(meanwhile)-1]+3)/4))))
		})
	}
	t.Run("and follows the rule of a changed policy if it is back with other steps", func(t *testing.T) {
		record := newWorkload(atStep(2, 5, "OnHold", policyUntil(now.Add(time.Second))))
		record.Status.Counts.Desired = 20
		decision := decide.Decide(record, see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) {
			spec.Steps[1].Percent = 50
		})), now)
		NewWithT(t).Expect(decision.Status.Pace).To(And(HaveField("Step", BeEquivalentTo(1)), HaveField("Target", BeEquivalentTo(1))))
	})
}

func TestDecideShowsWhyAReleaseIsNotPaced(t *testing.T) {
	noGates := func(pace *decide.Pace) { pace.Policy, pace.Obstacle = newPolicy(), "no gates are installed" }
	verified := func(workload *appv1alpha1.ChangeWorkload) {
		stored("Running", "Unknown", "Verifying")(workload)
		workload.Status.VerifiedVersions = []string{version}
	}
	elsewhere := other(older, 2)
	elsewhere.Status.VerifiedVersions = []string{version}
	running := stored("Running", "Unknown", "Verifying")
	for _, row := range []struct {
		name      string
		before    workloadOption
		seen      decide.Observation
		condition string
	}{
		{"without a policy", running, see(5), ""},
		{"without a lever", running, see(5, withPace(noGates)), "False NoLever"},
		{"of a verified version", verified, see(5, withPace(func(pace *decide.Pace) { pace.Policy = newPolicy() })), "False VersionVerified"},
		{"of a version that another record knows as verified", running, see(5, others(elsewhere), withPace(func(pace *decide.Pace) { pace.Policy = newPolicy() })), "False VersionVerified"},
		{"by a BreakGlass", running, see(5, withPace(noGates), withFreeze(func(freeze *decide.Freeze) {
			freeze.Pass = &appv1alpha1.BreakGlassPass{User: "bob", Overrides: []appv1alpha1.BreakGlassOverride{"Pace"}}
		})), "False BreakGlass"},
		{"from before the policy", running, see(5, withPace(noGates), withPace(func(pace *decide.Pace) { pace.Policy.CreationTimestamp = metav1.NewTime(now) })), ""},
		{"that is only observed", running, see(5, withPace(noGates), func(seen *decide.Observation) { seen.Observed = true }), ""},
		{"that is verified", stored("Success", "True", "AllPodsPassed"), see(5, passed(1, 5), withPace(noGates)), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before), row.seen, now)
			g.Expect(conditionOf(decision.Status, "Paced")).To(Equal(row.condition))
			g.Expect(decision.Status.Pace).To(BeNil())
			g.Expect(decision.Let).To(BeEquivalentTo(decide.LetAll))
		})
	}
}

func TestDecidePaceTarget(t *testing.T) {
	number := func(replicas int32) appv1alpha1.ReleaseStep { return appv1alpha1.ReleaseStep{Replicas: replicas} }
	percent := func(percent int32) appv1alpha1.ReleaseStep { return appv1alpha1.ReleaseStep{Percent: percent} }
	for _, row := range []struct {
		name          string
		steps         []appv1alpha1.ReleaseStep
		step, desired int32
		target        int32
		next          string
	}{
		{"a number", []appv1alpha1.ReleaseStep{number(2), number(1), percent(100)}, 1, 20, 2, "1 pod"},
		{"a number of pods, at most all", []appv1alpha1.ReleaseStep{number(5), percent(100)}, 1, 3, 3, "100%"},
		{"a percentage, rounded up", []appv1alpha1.ReleaseStep{percent(25), percent(100)}, 1, 7, 2, "100%"},
		{"a percentage of few pods", []appv1alpha1.ReleaseStep{percent(1), percent(100)}, 1, 3, 1, "100%"},
		{"not less than before", []appv1alpha1.ReleaseStep{percent(50), number(1), percent(100)}, 2, 20, 10, "100%"},
		{"one pod of none", []appv1alpha1.ReleaseStep{percent(25), number(5), percent(100)}, 1, 0, 1, "5 pods"},
		{"all", []appv1alpha1.ReleaseStep{number(1), percent(100)}, 2, 100000, 100000, ""},
		{"none before the first step", []appv1alpha1.ReleaseStep{percent(25), percent(100)}, 0, 20, 0, "25%"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(atStep(row.step, 0, "OnHold")),
				see(row.desired, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps = row.steps }), parkedBy(friday())), now)
			g.Expect(decision.Status.Pace.Target).To(Equal(row.target))
			g.Expect(decision.Status.Pace.Next).To(Equal(row.next))
		})
	}
}

func TestDecideSoaksEachStep(t *testing.T) {
	soaks := func(spec *appv1alpha1.ReleasePolicySpec) {
		soak := &metav1.Duration{Duration: time.Minute}
		spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1, Soak: soak}, {Percent: 1, Soak: soak}, {Percent: 100}}
	}
	t.Run("that has no more pods than the one before", func(t *testing.T) {
		g := NewWithT(t)
		decision := decide.Decide(newWorkload(atStep(1, 1, "Soaking", soakUntil(now))), see(20, inSteps("Gates", soaks), passed(1, 1)), now)
		g.Expect(decision.Status.Pace.Step).To(BeEquivalentTo(2))
		g.Expect(decision.Status.Pace.Since.Time).To(BeTemporally("==", now))
		g.Expect(decision.Status.Pace.SoakUntil.Time).To(BeTemporally("==", now.Add(time.Minute)))
	})
	for name, interrupted := range map[string]seenOption{
		"anew after a failure":        failed(1, 1, "sleep-1"),
		"anew after its pod was gone": func(*decide.Observation) {},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			s := &story{t: t, workload: newWorkload(atStep(1, 1, "Soaking", soakUntil(now.Add(time.Second)))), seen: see(20, inSteps("Gates", soaks), interrupted), now: now}
			s.decide()
			g.Expect(s.workload.Status.Pace.SoakUntil).To(BeNil())
			s.seen, s.now = see(20, inSteps("Gates", soaks), passed(1, 1)), now.Add(time.Minute)
			s.decide()
			g.Expect(s.workload.Status.Pace.SoakUntil.Time).To(BeTemporally("==", now.Add(2*time.Minute)))
		})
	}
}

// With an autoscaler, or on nodes that come and go, a long soak would never end.
func TestDecideSoaksOnWhilePodsComeAndGo(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(atStep(2, 5, "StepRunning")), seen: see(20, inSteps("Gates", soaksAt(2)), passed(1, 5)), now: now}
	s.decide()
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True Soaking"))
	s.seen.Desired, s.now = 24, now.Add(time.Minute)
	s.decide()
	g.Expect(s.workload.Status.Pace.Target).To(BeEquivalentTo(6))
	s.seen, s.now = see(24, inSteps("Gates", soaksAt(2)), passed(1, 6)), now.Add(2*time.Minute)
	s.decide()
	g.Expect(s.workload.Status.Pace.SoakUntil.Time).To(BeTemporally("==", now.Add(5*time.Minute)))
}

// soaksAt has a step soak for five minutes.
func soaksAt(step int) func(*appv1alpha1.ReleasePolicySpec) {
	return func(spec *appv1alpha1.ReleasePolicySpec) {
		spec.Steps[step-1].Soak = &metav1.Duration{Duration: 5 * time.Minute}
	}
}

func TestDecideStoresThePaceAtOnce(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(atStep(1, 1, "StepRunning")), seen: see(20, inSteps("Gates")), now: now}
	g.Expect(s.decide().WriteStatus).To(BeTrue())
	g.Expect(s.decide().WriteStatus).To(BeFalse())
	s.seen.Pace.Policy.Spec.Steps[1].Percent = 50
	g.Expect(s.decide().WriteStatus).To(BeTrue())
	g.Expect(s.workload.Status.Pace.Next).To(Equal("50%"))
}

func TestHoldOfPacedReleases(t *testing.T) {
	for _, row := range []struct {
		name, mark, held string
		paused           bool
		hold             string
	}{
		{"a StatefulSet", `{"release":4,"lever":"Partition"}`, "", true, "step"},
		{"a StatefulSet while a step goes on", `{"release":4,"lever":"Partition"}`, "", false, ""},
		{"a DaemonSet", `{"release":4,"lever":"Nodes"}`, "", true, "step"},
		{"a Deployment that rests", `{"release":4,"lever":"Gates","rests":true}`, "", true, "step"},
		{"a Deployment that a user has paused", `{"release":4,"lever":"Gates"}`, "", true, ""},
		{"one that is held for a failure", `{"release":4,"lever":"Partition"}`, "4", true, "held"},
		{"one that a user has resumed from that", `{"release":4,"lever":"Gates","rests":true}`, "4", false, "resumed"},
		{"one that a user had resumed", `{"release":4,"lever":"Partition"}`, "4-overridden", true, "overridden"},
		{"one whose release before was held", `{"release":4,"lever":"Partition"}`, "3", true, "step"},
		{"one whose release before was paced", `{"release":3,"lever":"Partition"}`, "", true, ""},
		{"any other text", `yes`, "", true, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			deployment := &metav1.ObjectMeta{Annotations: map[string]string{"altershield.defense.antgroup.com/paced": row.mark}}
			if row.held != "" {
				deployment.Annotations["altershield.defense.antgroup.com/held"] = row.held
			}
			hold := decide.HoldOf(deployment, row.paused, 4)
			g.Expect(string(hold)).To(Equal(row.hold))
			g.Expect(hold.IsHeld()).To(Equal(row.hold == "step" || row.hold == "held"))
		})
	}
}

func TestDecideGatesPodsThatAStatefulSetGains(t *testing.T) {
	marked := func(from *int32, end int32) seenOption {
		return func(seen *decide.Observation) {
			seen.Pace.Mark.GatedFrom, seen.Pace.End = from, end
		}
	}
	known := func(from int32) workloadOption {
		return func(workload *appv1alpha1.ChangeWorkload) { workload.Status.Pace.GatedFrom = &from }
	}
	for _, row := range []struct {
		name   string
		before []workloadOption
		seen   decide.Observation
		want   *int32
	}{
		{"from those on that it had at the release", []workloadOption{atStep(0, 0, "OnHold")}, see(20, inSteps("Partition"), marked(ptr.To[int32](20), 20)), ptr.To[int32](20)},
		{"however many they are now", []workloadOption{atStep(2, 5, "StepRunning"), known(20)}, see(40, inSteps("Partition"), marked(ptr.To[int32](20), 40)), ptr.To[int32](20)},
		{"unless it had fewer since", []workloadOption{atStep(2, 5, "StepRunning"), known(20)}, see(10, inSteps("Partition"), marked(ptr.To[int32](20), 10)), ptr.To[int32](10)},
		{"which counts from then on", []workloadOption{atStep(2, 5, "StepRunning"), known(10)}, see(20, inSteps("Partition"), marked(ptr.To[int32](20), 20)), ptr.To[int32](10)},
		{"or fewer before the first step", []workloadOption{atStep(0, 0, "OnHold")}, see(10, inSteps("Partition"), marked(ptr.To[int32](20), 10)), ptr.To[int32](10)},
		{"not where nothing adds gates", []workloadOption{atStep(2, 5, "StepRunning")}, see(20, inSteps("Partition"), marked(nil, 20)), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			decision := decide.Decide(newWorkload(row.before...), row.seen, now)
			NewWithT(t).Expect(decision.Status.Pace.GatedFrom).To(Equal(row.want))
		})
	}
}
