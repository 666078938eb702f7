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

package decide

import (
	"cmp"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Decision is what to do about a release.
type Decision struct {
	// Status is the status of the ChangeWorkload.
	Status appv1alpha1.ChangeWorkloadStatus
	// WriteStatus reports whether Status has to be written now.
	WriteStatus bool
	// Batches are the batches to open.
	Batches [][]appv1alpha1.PodSummary
	// OpenOrderCheck reports whether to open the check of the order, before the batches.
	OpenOrderCheck bool
	// Unchecked is how many pods of the release passed without a check.
	Unchecked int
	// Order is what to announce to the verifier; AnswerOrder takes its answer.
	Order OrderPlan
	// Suspend reports whether the workload has to be suspended.
	Suspend bool
	// Lift reports whether the suspension of the workload has to be lifted.
	Lift bool
	// Try reports whether a trial has to be started; AnswerTrial takes its result.
	Try bool
	// Pause reports whether the rollout has to be paused, or kept paused if a step has paused it; Resume whether the operator's pause has
	// to end, Override whether a user has ended it.
	Pause, Resume, Override bool
	// Unhold reports whether to forget a pause for the first nodes, or for a freeze, that a user has ended: the rollout may be paused again.
	// That of a paced release may be forgotten while its steps keep the rollout paused.
	Unhold bool
	// Unpark reports whether the mark that the release is parked has to be removed, as no pod is failed any more.
	Unpark bool
	// Let is how many pods of the release may run, LetAll for all. Rest reports whether its rollout has to be paused because a step waits, for
	// one with gates with Rests in the mark until the pause ends; Unpace whether the mark that the release is paced has to be removed, and the fields
	// restored that the operator overwrote for it.
	Let          int32
	Rest, Unpace bool
	// Passed are the pods of the release that passed their check and still exist.
	Passed sets.Set[types.UID]
	// Ask is what to ask the rollback controller for; empty for nothing.
	Ask appv1alpha1.OnFail
	// Freeze is the mark to write if a freeze begins to hold the release, or takes over one that is parked. Thaw reports whether the mark has to be removed.
	Freeze *appv1alpha1.Frozen
	Thaw   bool
	// Verified reports whether the release is verified and was not before, Keep whether its pod template has to be kept.
	Verified, Keep bool
	// Prune are the ChangeWorkloads of older releases to remove.
	Prune []appv1alpha1.ChangeWorkload
	// Clear reports whether to remove the batches of earlier releases of the version.
	Clear bool
	// Wait is when to look again, 0 if nothing but an event can change the decision.
	Wait time.Duration
	// moved reports whether a step of the release began, or its first nodes, or the pace ended.
	moved bool
}

// IsFinal reports whether a decision is irreversible: a verified release closes its order and becomes a target of rollbacks, a lifted
// suspension admits other releases, a resumed rollout replaces pods that still serve, as does a step, a trial runs, a rollback is
// asked for, and removed records are gone.
func (d *Decision) IsFinal() bool {
	return d.Verified || d.Lift || d.Resume || d.Clear || d.Try || d.moved || d.Unpace || d.Ask != "" || len(d.Prune) > 0
}

// Decide recounts a release from an observation and decides what to do. The same arguments give the same decision.
func Decide(workload *appv1alpha1.ChangeWorkload, seen Observation, now time.Time) Decision {
	seen = seen.prepared(now)
	status := startOf(workload, seen)
	status.LastChangePod = max(status.LastChangePod, seen.LastNumber)
	var decision Decision
	checkAgain := verify(&status, workload, seen, now)
	tally := count(seen, unpassed(&status, seen.checked()))
	decision.Unchecked = tally.unchecked
	seen.Fault = faultOf(&status, seen)
	failed := len(tally.failed) > 0 || seen.Fault != ""
	if seen.Freeze.Pass != nil {
		status.BreakGlass = seen.Freeze.Pass
	}
	frozen := awaitThaw(&status, seen, failed)
	nodes, first, startFirst := status.FirstNodes, false, seen.awaitsStartFirst(&status, workload)
	switch {
	case frozen:
		putOffFirst(&status, seen)
	case !startFirst:
		first = awaitFirst(&status, tally, seen, now)
	}
	onHold := seen.isOnHold(&status, workload, frozen, first)
	decision.awaitPace(&status, workload, tally, seen, onHold, now)
	decision.moved = decision.moved || beginsFirst(&status, nodes)
	decision.judge(&status, workload, tally, seen, failed, now)
	if checkAgain > 0 {
		decision.lookIn(checkAgain)
	}
	if !frozen {
		decision.try(&status, seen)
	}
	setRolledBack(&status, seen)
	setParked(&status, seen)
	decision.forget(&status, workload, seen)
	parked := startFirst || pausesForFreeze(workload, seen, frozen)
	waits := parked || pausesForFirst(workload, &status)
	decision.hold(&status, workload, seen, failed, waits, seen.rests(workload, &status, tally))
	decision.thaw(seen, frozen, parked)
	decision.let(workload, &status, tally, seen, seen.stops(failed, cmp.Or(onHold, seen.awaitedPolicy(&status))))
	decision.lookAtPace(&status, now)
	decision.lookAgain(workload, &status, seen, frozen, first, now)
	decision.observeAgain(workload, &status, seen, now)
	switch {
	case !seen.Current:
		tally.describeFailed(&status)
	case !isSettled(workload, &status):
		tally.describe(&status, seen.Desired)
	}
	concludeChecks(&status, now)
	decision.Order = planOrder(workload, &status, seen)
	decision.OpenOrderCheck = seen.opensOrderCheck(&status)
	if !isObserved(workload) && delaysBatches(&status) {
		decision.Batches = nil // a batch that doesn't find the policies in the status would neither bake nor wait for a check
	}
	decision.finish(workload, status, now)
	return decision
}

// judge sets the status of a release by its pods, and decides what follows.
func (d *Decision) judge(
	status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, tally tally, seen Observation, failed bool, now time.Time,
) {
	switch {
	case status.Status == appv1alpha1.ChangeWorkloadFailed:
		// The verifier refused the order: the release is not checked.
	case !seen.OptedIn:
		reason, message := seen.outOfControl()
		keepUnverified(status, reason, message)
	case workload.Spec.Baseline:
		status.Status, status.WaitDeadline = appv1alpha1.ChangeWorkloadSuccess, nil
		setVerified(status, metav1.ConditionTrue, appv1alpha1.ReasonBaseline,
			"the rollout was complete when the "+seen.Kind+" was first observed: its pods are not checked")
	case failed:
		d.suspend(status, workload, tally, seen, now)
	case !seen.Current:
		if status.Status == appv1alpha1.ChangeWorkloadSuspend {
			status.Status = appv1alpha1.ChangeWorkloadRunning // the verdict was withdrawn
		}
		keepUnverified(status, appv1alpha1.ReasonSuperseded, "the "+seen.Kind+" has moved on to another release")
	case wasVerified(status), tally.isComplete(seen.Desired) && !isPaced(status) && seen.leftOf(status, tally) == "":
		d.succeed(status, workload, seen, tally)
	case seen.Desired == 0:
		status.Status, status.WaitDeadline = appv1alpha1.ChangeWorkloadSuccess, nil
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonNoReplicas,
			seen.noPods()+"; the release is checked once it has some")
	case seen.Unstamped:
		status.Status, status.WaitDeadline = appv1alpha1.ChangeWorkloadSuccess, nil
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonTemplateUnstamped,
			"the "+seen.Kind+" went back to a pod template from before change control; its pods are not checked")
	default:
		status.Status = waitingPhase(status.Status)
		d.await(status, workload, tally, seen, now)
	}
}

// lookAgain sets when to look at a release again that waits for its first nodes or the end of a freeze, or that a freeze is about to hold.
func (d *Decision) lookAgain(
	workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, seen Observation, frozen, first bool, now time.Time,
) {
	if first {
		d.lookIn(status.FirstNodes.Deadline.Sub(now))
	}
	if frozen {
		d.lookIn(thawWait(status, now))
		return
	}
	if next := seen.Freeze.NextHold; !next.IsZero() && (IsInProgress(workload) || MayFreeze(workload) && (first || seen.mayPause())) {
		d.lookIn(leastWait(next.Sub(now)))
	}
	if isPaced(status) && seen.isToFreeze(status, workload) { // it isn't parked, as nothing is left to pause
		d.lookIn(leastWait(seen.Freeze.InForce.Until.Sub(now)))
	}
}

// startOf returns the status to continue from. A version that is released again starts with a new status, which keeps the numbers of
// its ChangePods, the verified versions, its own among them, and what the verifier has yet to receive.
func startOf(workload *appv1alpha1.ChangeWorkload, seen Observation) appv1alpha1.ChangeWorkloadStatus {
	status := *workload.Status.DeepCopy()
	if status.ObservedRelease == workload.Spec.Release {
		restoreVerified(&status)
		return status
	}
	verified := status.VerifiedVersions
	if wasVerified(&status) {
		verified = rememberFirst(workload.Spec.Reversion, verified)
	}
	return appv1alpha1.ChangeWorkloadStatus{
		ObservedRelease:  workload.Spec.Release,
		FirstChangePod:   firstNumber(max(status.LastChangePod, seen.LastNumber), seen),
		LastChangePod:    status.LastChangePod,
		VerifiedVersions: verified,
		Order:            status.Order,
		EarlyVerdicts:    status.EarlyVerdicts,
		Verification:     beginVerification(seen),
	}
}

// firstNumber returns the lowest number of the ChangePods of a release, or that of the next one. A release that starts has some
// already if the status could not be written after they were opened.
func firstNumber(last int64, seen Observation) int64 {
	first := last + 1
	for i := range seen.Batches {
		first = min(first, ChangePodNumber(seen.Batches[i].Name))
	}
	if seen.OrderCheck != nil {
		first = min(first, ChangePodNumber(seen.OrderCheck.Name))
	}
	return first
}

// NumbersGiven returns how many numbers the batches of a release have, if last is the highest one. It includes those of earlier
// releases until the status has the first number of this release.
func NumbersGiven(workload *appv1alpha1.ChangeWorkload, last int64) int64 {
	if !isObserved(workload) {
		return last
	}
	return last - max(workload.Status.FirstChangePod, 1) + 1
}

// faultOf returns the fault that a workload shows of a release, empty for a verified one. Once the workload has moved on from the release, it
// shows another one: then the last fault counts. So it does until the workload shows its present generation, as the pause of a failed rollout
// is one: otherwise the pause would end the fault, and the resumed rollout show it again.
func faultOf(status *appv1alpha1.ChangeWorkloadStatus, seen Observation) string {
	switch verified := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionVerified); {
	case wasVerified(status):
		return ""
	case seen.Current && (seen.Fault != "" || !seen.Behind):
		return seen.Fault
	case verified != nil && verified.Reason == appv1alpha1.ReasonWorkloadFailed:
		return verified.Message
	default:
		return ""
	}
}

// suspend denies further releases because pods of this one failed, or its workload shows that it did. Once the workload has moved on from
// the release, its failed pods count until the suspension ends.
func (d *Decision) suspend(
	status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, tally tally, seen Observation, now time.Time,
) {
	status.Status = appv1alpha1.ChangeWorkloadSuspend
	reason, message := appv1alpha1.ReasonPodsFailed, Failures(tally.failed)
	if message == "" {
		reason, message = appv1alpha1.ReasonWorkloadFailed, seen.Fault
	}
	setVerified(status, metav1.ConditionFalse, reason, message)
	switch {
	case seen.Current:
		d.Suspend = seen.Blocking && !seen.Suspended && !seen.isOnce()
		setSuspended(status, seen.Suspended || seen.Blocking && (!d.Suspend || seen.Denied == ""), reason, seen)
		d.await(status, workload, tally, seen, now)
	case !seen.Suspended && seen.Records > 0: // without kept records this one is about to be removed
		endSuspended(status, seen.Kind)
	}
}

// succeed settles a release whose pods passed. It stays settled: pods that are added later by scaling or rescheduling are not a
// release.
func (d *Decision) succeed(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, seen Observation, tally tally) {
	status.Status, status.WaitDeadline = appv1alpha1.ChangeWorkloadSuccess, nil
	if !isSettled(workload, status) {
		setVerified(status, metav1.ConditionTrue, appv1alpha1.ReasonAllPodsPassed, tally.success())
		d.Verified = true
		d.Keep = seen.Templates > 0 && !seen.Unseen // an unseen template is not that of the release
	}
	liftSuspended(status)
	status.VerifiedVersions = rememberVerified(status.VerifiedVersions, workload.Spec.Reversion, older(workload, seen.Others))
	d.Lift = seen.Suspended
}

// await opens the batches that are due and sets the deadline of the next one.
func (d *Decision) await(
	status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, tally tally, seen Observation, now time.Time,
) {
	if seen.Desired > status.Counts.Desired {
		status.WaitDeadline = nil // additional pods get a full deadline
	}
	awaited := seen
	awaited.Desired = awaitedPods(workload, status, seen.Desired)
	plan := planBatches(status.WaitDeadline, workload, tally, awaited, now)
	d.Batches = plan.batches
	status.WaitDeadline = plan.deadline
	d.Wait = plan.wait(now)
	if status.Status == appv1alpha1.ChangeWorkloadSuspend {
		return
	}
	if seen.Unseen {
		status.WaitDeadline, d.Wait = nil, 0
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonTemplateUnseen,
			"the pod template was changed without the admission webhooks, so its pods are not checked: "+
				"the next change of the template is a release again")
		return
	}
	if isFrozen(status) {
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonFrozen, "the release is frozen: see the condition Frozen")
		return
	}
	if seen.Runs {
		seen.describeRun(status, now)
		d.Wait = Sooner(d.Wait, seen.runWait(now))
		return
	}
	switch {
	case plan.timedOut:
		status.Status = appv1alpha1.ChangeWorkloadTimeOutPreThreshold
	case plan.reachedThreshold && !plan.late, // pods that are late again must not make the status flap
		isPaced(status) && plan.deadline == nil:
		status.Status = appv1alpha1.ChangeWorkloadRunning
	}
	seen.describeWait(status, workload, tally)
}

// describeWait sets the condition Verified of a release that has neither failed nor succeeded: what it waits for.
func (o *Observation) describeWait(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, tally tally) {
	switch left := o.leftOf(status, tally); {
	case o.isParked():
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonParked, "the release is parked: see the condition Parked")
	case awaitsFirst(status):
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonFirstNodes,
			"the release waits for its first nodes: see the condition FirstNodes")
	case left == appv1alpha1.ReasonAwaitingCheck:
		setVerified(status, metav1.ConditionUnknown, left,
			"every desired pod finished and passed; the release waits for "+awaitedCheck(status, appv1alpha1.PhaseAfter))
	case o.isPausedByUser(): // the operator ends its own pause now
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonPaused(o.Kind),
			fmt.Sprintf("the %s is paused: %s to create the pods of this release", o.Kind, o.Resume))
	case left == appv1alpha1.ReasonAwaitingOrder:
		setVerified(status, metav1.ConditionUnknown, left,
			"every desired pod finished and passed; the change order has yet to pass its check after the last step")
	case status.Status == appv1alpha1.ChangeWorkloadTimeOutPreThreshold:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonThresholdTimeout, tally.timeout(workload, o.Desired))
	case isPaced(status):
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonPaced,
			cmp.Or(firstHold(status), "the release is rolled out in steps: see the condition Paced"))
	default:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonVerifying,
			cmp.Or(firstHold(status), "waiting for pods or checking them: kubectl get changepods shows each batch"))
	}
}

// waitingPhase is the phase of a release that has neither failed nor succeeded.
func waitingPhase(phase appv1alpha1.ChangeWorkloadPhase) appv1alpha1.ChangeWorkloadPhase {
	if phase == appv1alpha1.ChangeWorkloadTimeOutPreThreshold {
		return phase
	}
	return appv1alpha1.ChangeWorkloadRunning
}

// isSettled reports whether a release was verified before and still is: its pods don't change that any more.
func isSettled(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus) bool {
	return IsSettled(workload) && status.Status == appv1alpha1.ChangeWorkloadSuccess
}
