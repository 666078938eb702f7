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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// newOrderCheck was opened at now, and not reconciled yet.
func newOrderCheck(options ...batchOption) *appv1alpha1.ChangePod {
	check := newBatch(nil, append([]batchOption{opened}, options...)...)
	check.Name, check.Spec.Order = "sleep--x--"+version+"--x--1", true
	return &check
}

// betweenSteps is the check of an order that passed before the first step.
func betweenSteps(batch *appv1alpha1.ChangePod) {
	in("PostWait")(batch)
	batch.Status.Deadline = nil
}

// byServer is the check of an order in a phase, and of a release that a server checks as a whole.
func byServer(options ...batchOption) seenOption {
	return func(seen *decide.Observation) {
		seen.Verifier = orderServer()
		if options != nil {
			seen.OrderCheck = newOrderCheck(options...)
		}
	}
}

func orderServer() verifier.State {
	state := aServer()
	state.ChecksOrders = true
	return state
}

func due(facts *decide.CheckFacts) { facts.Due = true }

func TestDecideChecksTheOrderBeforeTheFirstStepAndAfterTheLast(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(), seen: see(2, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) {
		spec.Steps = []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}
	}), byServer()), now: now}
	look := func(condition, message string) decide.Decision {
		t.Helper()
		decision := s.decide()
		g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal(condition))
		g.Expect(messageOf(s.workload.Status.Conditions, "Paced")).To(Equal(message))
		return decision
	}
	var facts decide.CheckFacts
	advance := func(answer decide.CheckAnswer) string {
		s.workload.Status.Order = &appv1alpha1.ChangeOrder{Release: 1, State: "Open"}
		facts = decide.FactsOf(s.workload, s.seen.OrderCheck, s.seen.Verifier)
		g.Expect(decide.NextCall(s.seen.OrderCheck, facts, s.now)).To(Equal(answer.Call))
		s.seen.OrderCheck.Status = decide.AdvanceChangePod(s.seen.OrderCheck, facts, answer, s.now)
		return string(s.seen.OrderCheck.Status.Status)
	}
	deliver := func(stage appv1alpha1.CheckStage) {
		status, applied := decide.ApplyVerdict(s.seen.OrderCheck, verifier.Delivery{
			CheckID: "node-1", Stage: stage, Verdict: verifier.Verdict{Outcome: "pass"},
		}, s.now)
		g.Expect(applied).To(BeTrue())
		s.seen.OrderCheck.Status = status
	}

	decision := look("True AwaitingOrder", "step 1 of 2 waits until the change order passes its check")
	g.Expect(decision.OpenOrderCheck).To(BeTrue())
	g.Expect(decision.Let).To(BeZero())
	s.seen.OrderCheck = newOrderCheck()
	decision = look("True AwaitingOrder", "step 1 of 2 waits until the change order passes its check")
	g.Expect(decision.OpenOrderCheck).To(BeFalse(), "there is one")
	g.Expect(advance(decide.CheckAnswer{Call: "begin", CheckID: "node-1"})).To(Equal("PreSubmitted"))
	g.Expect(messageOf(s.seen.OrderCheck.Status.Conditions, "Verified")).To(Equal("the check before the rollout is under way"))
	look("True AwaitingOrder", "step 1 of 2 waits until the change order passes its check")

	deliver("PRE")
	g.Expect(messageOf(s.seen.OrderCheck.Status.Conditions, "Verified")).To(Equal("the check after the rollout follows its last step"))
	look("True StepRunning", "step 1 of 2: 1 of 2 pods; 0 of them passed")
	s.now = now.Add(time.Hour)
	g.Expect(advance(decide.CheckAnswer{})).To(Equal("PostWait"), "there is no deadline between the stages")
	g.Expect(decide.CheckWait(s.seen.OrderCheck, s.now)).To(BeZero())
	finished(pods(1, 1))(&s.seen)
	s.decide()
	s.check()
	look("True StepRunning", "step 2 of 2: 2 of 2 pods; 1 of them passed")
	finished(pods(2, 2))(&s.seen)
	s.decide()
	g.Expect(decide.AwaitsOrder(s.workload)).To(BeFalse())
	s.check()

	decision = look("True AwaitingOrder", "step 2 of 2 is done; the change order has yet to pass its check after it")
	g.Expect(decision.Verified || decision.OpenOrderCheck).To(BeFalse())
	g.Expect(conditionOf(s.workload.Status, "Verified")).To(Equal("Unknown AwaitingOrder"))
	g.Expect(decide.AwaitsOrder(s.workload)).To(BeTrue())
	g.Expect(decide.IsInProgress(s.workload)).To(BeTrue())
	g.Expect(advance(decide.CheckAnswer{})).To(Equal("PostWait"))
	g.Expect(s.seen.OrderCheck.Status.Deadline.Time).To(Equal(s.now.Add(2*time.Minute)), "from here on")
	g.Expect(advance(decide.CheckAnswer{Call: "finish"})).To(Equal("PostSubmitted"))
	deliver("POST")
	g.Expect(conditionOf(appv1alpha1.ChangeWorkloadStatus{Conditions: s.seen.OrderCheck.Status.Conditions}, "Verified")).To(Equal("True PodsPassed"))
	g.Expect(messageOf(s.seen.OrderCheck.Status.Conditions, "Verified")).To(Equal("the change order passed"))
	g.Expect(s.seen.OrderCheck.Status.PodResults).To(HaveExactElements(appv1alpha1.PodSummary{Pod: "change order", Verdict: "pass"}))

	decision = look("False AllSteps", "all 2 steps are done")
	g.Expect(decision.Verified).To(BeTrue())
	g.Expect(decision.Order.Close).To(BeEquivalentTo("SUCCESS"))
	g.Expect(s.workload.Status.Counts).To(Equal(appv1alpha1.PodCounts{Desired: 2, Passed: 2}), "the order is no pod")
}

func TestDecidePaceWaitsForTheOrder(t *testing.T) {
	const first, last = "step 1 of 3 waits until the change order passes its check", "step 3 of 3 is done; the change order has yet to pass its check after it"
	at0, at3 := atStep(0, 0, "OnHold"), atStep(3, 20, "StepRunning")
	failed := result("change order", "unpass", "budget: spent")
	began := "step 1 of 3: 1 of 20 pods; 0 of them passed"
	late := withPace(func(pace *decide.Pace) { limit("GoOn")(&pace.Policy.Spec) })
	testPace(t, []paceRow{
		{"before its check", at0, see(20, inSteps("Gates"), byServer()), "True AwaitingOrder", first, 0, 0},
		{"before its check is reconciled", at0, see(20, inSteps("Gates"), byServer(opened)), "True AwaitingOrder", first, 0, 0},
		{"while its server is away", at0, see(20, inSteps("Gates"), byServer(in("PreWait"))), "True AwaitingOrder", first, 0, 0},
		{"while it is checked", at0, see(20, inSteps("Gates"), byServer(in("PreSubmitted"))), "True AwaitingOrder", first, 0, 0},
		{"also if a user lets the release go on", at0, see(20, inSteps("Gates"), byServer(in("PreSubmitted")), goOn(0)), "True AwaitingOrder", first, 0, 0},
		{"before approvals", at0, see(20, inSteps("Gates", func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps[0].Approvals = 1 }), byServer(in("PreSubmitted"))),
			"True AwaitingOrder", first, 0, 0},
		{"after the end of a freeze", at0, see(20, inSteps("Gates"), byServer(), parkedBy(friday())), "True OnHold", "the release is frozen: see the condition Frozen", 0, 0},
		{"no longer once it passed", at0, see(20, inSteps("Gates"), byServer(betweenSteps)), "True StepRunning", began, 1, 0},
		{"no longer once it is excused", at0, see(20, inSteps("Gates"), byServer(doneWith("PreTimeout"))), "True StepRunning", began, 1, 0},
		{"not if it failed", at0, see(20, inSteps("Gates"), byServer(doneWith("PreFailed"), failed)), "True StepFailed",
			"step 0 of 3: 0 of 20 pods: no further pods come: the change order failed its check: budget: spent", 0, 0},
		{"not without a server that checks orders", at0, see(20, inSteps("Gates"), func(seen *decide.Observation) { seen.Verifier = aServer() }), "True StepRunning", began, 1, 0},
		{"not between the steps", atStep(1, 1, "Soaking", soakUntil(now)), see(20, inSteps("Gates"), byServer(betweenSteps), passed(1, 1)),
			"True StepRunning", "step 2 of 3: 5 of 20 pods; 1 of them passed", 2, 0},
		{"after the last step", at3, see(20, inSteps("Gates"), byServer(betweenSteps), passed(1, 20)), "True AwaitingOrder", last, 3, 0},
		{"after the last step, whose pods passed", at3, see(20, inSteps("Gates"), byServer(betweenSteps), passed(1, 19)),
			"True StepRunning", "step 3 of 3: 20 of 20 pods; 19 of them passed", 3, 0},
		{"after the last step while it is checked", at3, see(20, inSteps("Gates"), byServer(in("PostSubmitted")), passed(1, 20)), "True AwaitingOrder", last, 3, 0},
		{"after the last step if a user removed its check", at3, see(20, inSteps("Gates"), byServer(), passed(1, 20)), "True AwaitingOrder", last, 3, 0},
		{"after the last step no longer once it passed", at3, see(20, inSteps("Gates"), byServer(doneWith("PostFinish")), passed(1, 20)),
			"False AllSteps", "all 3 steps are done", 3, 0},
		{"after the last step not if it failed", at3, see(20, inSteps("Gates"), byServer(doneWith("PostFinish"), failed), passed(1, 20)), "True StepFailed",
			"step 3 of 3: 20 of 20 pods: no further pods come: the change order failed its check: budget: spent", 3, 0},
		{"otherwise than as a step once a user let it go on", at3, see(20, inSteps("Gates"), byServer(betweenSteps), passed(1, 20), goOn(0)),
			"False WentOn", "carol let the release go on to all pods", 3, 0},
		{"otherwise than as a step once it is late", atStep(3, 20, "StepRunning", stepDeadline(now)),
			see(20, inSteps("Gates"), late, byServer(betweenSteps), passed(1, 19)), "False StepDeadline", "the last step didn't end in time: deadline.then is GoOn", 3, 0},
	})
}

func TestDecideAwaitsTheOrder(t *testing.T) {
	paced, atEnd, ended := atStep(3, 20, "StepRunning"), atStep(3, 20, "AwaitingOrder"), paceEnded("WentOn")
	for _, row := range []struct {
		name     string
		before   workloadOption
		seen     decide.Observation
		opens    bool
		verified string
	}{
		{"it opens its check", atStep(0, 0, ""), see(20, inSteps("Gates"), byServer()), true, "Unknown Paced"},
		{"it doesn't before the end of a freeze", atStep(0, 0, ""), see(20, inSteps("Gates"), byServer(), parkedBy(friday())), false, "Unknown Frozen"},
		{"it doesn't of a release that the cache doesn't show yet", atStep(0, 0, "AwaitingOrder"), see(20, inSteps("Gates"), byServer(), moved), false, "Unknown Superseded"},
		{"it doesn't without steps", newWorkloadStored, see(20, byServer()), false, "Unknown Verifying"},
		{"it doesn't for a server that checks only batches", atStep(0, 0, ""), see(20, inSteps("Gates"), func(seen *decide.Observation) { seen.Verifier = aServer() }), false, "Unknown Paced"},
		{"it doesn't twice", atStep(0, 0, ""), see(20, inSteps("Gates"), byServer(opened)), false, "Unknown Paced"},
		{"it opens another one if a user removed the first", paced, see(20, inSteps("Gates"), byServer(), passed(1, 20)), true, "Unknown AwaitingOrder"},
		{"its check is due after the last step", atEnd, see(20, inSteps("Gates"), byServer(betweenSteps), passed(1, 20)), false, "Unknown AwaitingOrder"},
		{"not before that", paced, see(20, inSteps("Gates"), byServer(betweenSteps), passed(1, 19)), false, "Unknown Paced"},
		{"its check is due at the end of a release whose pace ended before", ended, see(20, byServer(betweenSteps), passed(1, 20)), false, "Unknown AwaitingOrder"},
		{"not before all pods passed", ended, see(20, byServer(betweenSteps), passed(1, 19)), false, "Unknown Verifying"},
		{"it is over then", ended, see(20, byServer(doneWith("PostFinish")), passed(1, 20)), false, "True AllPodsPassed"},
		{"a release whose pace ended doesn't wait for a removed check", ended, see(20, byServer(), passed(1, 20)), false, "True AllPodsPassed"},
		{"a failed order fails the release", ended, see(20, byServer(doneWith("PostFinish"), result("change order", "unpass", "")), passed(1, 20)), false, "False PodsFailed"},
		{"so does any name", ended, see(20, byServer(doneWith("PostFinish"), result("sleep", "unpass", "")), passed(1, 20)), false, "False PodsFailed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before), row.seen, now)
			g.Expect(decision.OpenOrderCheck).To(Equal(row.opens))
			g.Expect(conditionOf(decision.Status, "Verified")).To(Equal(row.verified))
		})
	}
}

func TestDecideChecksTheOrderBeforeTheFirstNodes(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(), seen: see(20, inSteps("Nodes"), hold("held"), paused, byServer(), func(seen *decide.Observation) {
		seen.First = &decide.First{Asked: true, Nodes: []string{"a"}, Of: map[types.UID]string{}}
	}), now: now}
	decision := s.decide()
	g.Expect(decision.OpenOrderCheck).To(BeTrue())
	g.Expect(decision.Unhold || decision.Resume).To(BeFalse(), "it stays paused for its first nodes")
	g.Expect(s.workload.Status.Conditions).NotTo(ContainElement(HaveField("Type", "FirstNodes")))
	s.seen.OrderCheck = newOrderCheck(in("PreSubmitted"))
	s.decide()
	g.Expect(decide.AwaitedFirstNodes(s.workload)).To(BeNil())

	s.seen.OrderCheck = newOrderCheck(betweenSteps)
	s.decide()
	g.Expect(decide.AwaitedFirstNodes(s.workload)).To(HaveExactElements("a"))
	g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal("True OnHold"))

	s.workload, s.seen.OrderCheck, s.seen.Hold = newWorkload(), newOrderCheck(in("PreSubmitted")), decide.Resumed
	s.decide()
	g.Expect(conditionOf(s.workload.Status, "FirstNodes")).To(Equal("False Resumed"))
}

func TestDecideAwaitsTheApprovalsOfTheFirstStepBeforeTheFirstNodes(t *testing.T) {
	approvals := func(spec *appv1alpha1.ReleasePolicySpec) { spec.Steps[0].Approvals = 1 }
	onFirst := func(seen *decide.Observation) {
		seen.Hold, seen.Paused = decide.Held, true
		seen.First = &decide.First{Asked: true, Nodes: []string{"a"}, Of: map[types.UID]string{}}
	}
	denied := approval("carol", func(approval *appv1alpha1.ChangeApproval) { approval.Spec.Decision = "Deny" })
	noPolicy := withPace(func(pace *decide.Pace) { pace.Policy = nil })
	for _, row := range []struct {
		name   string
		seen   decide.Observation
		starts bool
		paced  string
	}{
		{"none is given", see(20, inSteps("Nodes", approvals), onFirst), false, "True AwaitingApproval"},
		{"that of the author", see(20, inSteps("Nodes", approvals), onFirst, approved(approval("alice"))), false, "True AwaitingApproval"},
		{"one is denied", see(20, inSteps("Nodes", approvals), onFirst, approved(approval("bob"), denied)), false, "True ApprovalDenied"},
		{"a user who lets it go on gives none", see(20, inSteps("Nodes", approvals), onFirst, goOn(1)), false, "True AwaitingApproval"},
		{"its policy is gone for a moment", see(20, inSteps("Nodes", approvals), onFirst, noPolicy), false, "True OnHold"},
		{"it is given", see(20, inSteps("Nodes", approvals), onFirst, approved(approval("bob"))), true, "True OnHold"},
		{"it passed them by a BreakGlass", see(20, inSteps("Nodes", approvals), onFirst, passedAt(now, "Approval")), true, "True OnHold"},
		{"a later step needs one", see(20, inSteps("Nodes"), onFirst), true, "True OnHold"},
		{"it is that of a new workload", see(20, inSteps("Nodes", approvals), onFirst, withPace(func(pace *decide.Pace) { pace.Mark.New = true })), true, "True OnHold"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			s := &story{t: t, workload: newWorkload(atStep(0, 0, "AwaitingApproval")), seen: row.seen, now: now}
			for range 2 {
				decision := s.decide()
				g.Expect(decision.Unhold || decision.Resume).To(BeFalse(), "it stays paused for its first nodes")
				g.Expect(decide.AwaitedFirstNodes(s.workload) != nil).To(Equal(row.starts))
				g.Expect(conditionOf(s.workload.Status, "Paced")).To(Equal(row.paced))
			}
		})
	}
}

// As a step, the first nodes begin by what the API server shows: an approval may have been withdrawn.
func TestDecisionIsFinalWhenTheFirstNodesOfAPacedReleaseBegin(t *testing.T) {
	g := NewWithT(t)
	s := &story{t: t, workload: newWorkload(atStep(0, 0, "AwaitingApproval")), seen: see(20, inSteps("Nodes"), hold("held"), func(seen *decide.Observation) {
		seen.First = &decide.First{Asked: true, Nodes: []string{"a"}, Of: map[types.UID]string{}}
	}), now: now}
	begins := s.decide()
	g.Expect(begins.IsFinal()).To(BeTrue())
	goesOn := s.decide()
	g.Expect(goesOn.IsFinal()).To(BeFalse())
}

func newWorkloadStored(workload *appv1alpha1.ChangeWorkload) {
	stored("Running", "Unknown", "Verifying")(workload)
}

func TestDecideCountsTheNumberOfTheOrderCheck(t *testing.T) {
	g := NewWithT(t)
	seen := see(20, inSteps("Gates"), byServer(opened))
	seen.LastNumber = 1
	decision := decide.Decide(newWorkload(), seen, now)
	g.Expect(decision.Status.FirstChangePod).To(BeEquivalentTo(1), "it was opened, and the status could not be written")
	g.Expect(decision.Status.LastChangePod).To(BeEquivalentTo(1))
}

func TestDecideOpensNoBatchBeforeTheFirstStep(t *testing.T) {
	running := finished(pods(1, 2)) // they get no traffic
	for _, row := range []struct {
		name   string
		before workloadOption
		seen   seenOption
		opened int
	}{
		{"while the order is checked", atStep(0, 0, "AwaitingOrder"), byServer(in("PreSubmitted")), 0},
		{"before the first step is stored", atStep(0, 0, "AwaitingOrder"), byServer(betweenSteps), 0},
		{"after that", atStep(1, 1, "StepRunning"), byServer(betweenSteps), 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			decision := decide.Decide(newWorkload(row.before), see(20, inSteps("Gates"), row.seen, running), now)
			g.Expect(decision.Batches).To(HaveLen(row.opened))
			g.Expect(decision.Status.Status).To(BeEquivalentTo("Running"))
		})
	}
}

func TestBatchOfDoesNotCountTheOrderCheck(t *testing.T) {
	batch := newBatch(pods(1, 1))
	batch.Name = "sleep--x--" + version + "--x--2"
	got := decide.BatchOf(verifier.Release{}, newWorkload(), []appv1alpha1.ChangePod{*newOrderCheck(), batch}, &batch)
	NewWithT(t).Expect(got.Number).To(BeZero())
}

func TestAnswerOrderOpensNoOrderCheckOfARefusedOrder(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(atStep(0, 0, ""))
	decision := decide.Decide(workload, see(20, inSteps("Gates"), byServer()), now)
	g.Expect(decision.OpenOrderCheck && decision.Order.Open).To(BeTrue())
	decision.AnswerOrder(workload, orderServer(), verifier.Release{Number: 1}, decide.OrderAnswer{Err: verifier.ErrRefused}, now)
	g.Expect(decision.OpenOrderCheck).To(BeFalse())
}

func TestAdvanceChangePodOfAnOrder(t *testing.T) {
	for _, row := range []struct {
		name    string
		options []batchOption
		facts   decide.CheckFacts
		answer  decide.CheckAnswer
		status  string
		message string
		verdict metav1.ConditionStatus
		reason  string
		text    string
	}{
		{"a server that stays away lets the rollout begin", []batchOption{in("PreWait"), deadlineOver}, checked(asked), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "ServerUnavailable", "AlterShield Server did not accept the check in time: the change order counts as passed"},
		{"it doesn't by policy", []batchOption{in("PreWait"), deadlineOver}, checked(asked, failureFails), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "False", "PodsFailed", "the change order failed its check: not checked, and the failure policy is fail: AlterShield Server did not accept the check in time"},
		{"a scene without a step for orders lets the rollout begin", nil, checked(), decide.CheckAnswer{Call: "begin", Err: errRefused},
			"ExecuteDone", "PreFailed", "True", "CheckRefused", "101: no such scene: refused: the change order counts as passed"},
		{"checks that are switched off pass", nil, checked(switchedOff), decide.CheckAnswer{},
			"ExecuteDone", "PreFailed", "True", "CheckSwitchedOff", "AlterShield Server has switched its checks off: the change order counts as passed"},
		{"a verdict that doesn't come lets the rollout begin", []batchOption{in("PreSubmitted"), deadlineOver}, checked(), decide.CheckAnswer{Call: "ask PRE"},
			"ExecuteDone", "PreTimeout", "True", "CheckTimeout", "the check before the rollout gave no verdict within 120 seconds: the change order counts as passed"},
		{"a pass that is polled waits for the last step", []batchOption{in("PreSubmitted"), deadlineOver}, checked(),
			decide.CheckAnswer{Call: "ask PRE", Verdict: verifier.Verdict{Outcome: "pass"}},
			"PostWait", "", "Unknown", "Verifying", "the check after the rollout follows its last step"},
		{"a switch changes nothing between the steps", []batchOption{betweenSteps}, checked(switchedOff), decide.CheckAnswer{},
			"PostWait", "", "Unknown", "Verifying", "the check after the rollout follows its last step"},
		{"the check after the last step gets its deadline", []batchOption{betweenSteps}, checked(due), decide.CheckAnswer{},
			"PostWait", "", "Unknown", "Verifying", "the rollout is about to be checked"},
		{"the end of the release ends the wait for the last step", []batchOption{betweenSteps}, checked(ordered("CANCEL")), decide.CheckAnswer{},
			"ExecuteDone", "PostFailed", "True", "ReleaseEnded", "the release ended before the rollout was checked"},
		{"so does a later release", []batchOption{betweenSteps}, checked(over), decide.CheckAnswer{},
			"ExecuteDone", "PostFailed", "True", "ReleaseEnded", "the release ended before the rollout was checked"},
		{"so does another server", []batchOption{betweenSteps}, checked(unconfigured), decide.CheckAnswer{},
			"ExecuteDone", "PostFailed", "True", "CheckNotConfigured", "no AlterShield Server is configured: the change order counts as passed"},
		{"a server that is down makes it wait after the last step", []batchOption{in("PostWait")}, checked(due), decide.CheckAnswer{Call: "finish", Err: errors.New("no answer")},
			"PostWait", "", "Unknown", "ServerUnavailable", "no answer"},
		{"the check after the last step is under way", []batchOption{in("PostWait")}, checked(due), decide.CheckAnswer{Call: "finish"},
			"PostSubmitted", "", "Unknown", "Verifying", "the check after the rollout is under way"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			check := newOrderCheck(row.options...)
			status := decide.AdvanceChangePod(check, row.facts, row.answer, now)
			g.Expect(string(status.Status)).To(Equal(row.status))
			g.Expect(status.Message).To(Equal(row.message))
			g.Expect(status.Conditions).To(haveCondition("Verified", row.verdict, row.reason))
			g.Expect(messageOf(status.Conditions, "Verified")).To(Equal(row.text))
		})
	}
}

func TestApplyVerdictFailsAnOrder(t *testing.T) {
	g := NewWithT(t)
	check := newOrderCheck(in("PreSubmitted"))
	status, applied := decide.ApplyVerdict(check, verifier.Delivery{
		CheckID: "node-1", Stage: "PRE", Verdict: verifier.Verdict{Outcome: "fail", Reason: "budget: spent"},
	}, now)
	g.Expect(applied).To(BeTrue())
	g.Expect(status.Message).To(Equal("PreFailed"))
	g.Expect(status.PodResults).To(HaveExactElements(appv1alpha1.PodSummary{Pod: "change order", Verdict: "unpass", Message: "budget: spent"}))
	g.Expect(messageOf(status.Conditions, "Verified")).To(Equal("the change order failed its check: budget: spent"))
}

func TestFactsOfAnOrder(t *testing.T) {
	g := NewWithT(t)
	workload := newWorkload(stored("Running", "Unknown", "AwaitingOrder"))
	g.Expect(decide.FactsOf(workload, newOrderCheck(), orderServer())).To(And(HaveField("Due", true), HaveField("Configured", true)))
	g.Expect(decide.FactsOf(workload, newOrderCheck(), aServer()).Configured).To(BeFalse(), "it checks only batches")
	workload.Spec.Release = 2
	g.Expect(decide.FactsOf(workload, newOrderCheck(), orderServer()).Due).To(BeFalse())
}
