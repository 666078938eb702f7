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
	"math"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// LetAll lets all pods of a release run.
const LetAll = math.MaxInt32

// maxPasses and maxApprovers are the longest lists of a status, as the API limits them.
const maxPasses, maxApprovers = 20, 10

// PolicyWait is for how long a release waits for a ReleasePolicy once none selects its workload any more: one that is deleted may be
// created again in a moment, and a pace that ends doesn't begin again.
const PolicyWait = 30 * time.Second

// attended is for how long a leader has to be there before the time of a step, or that for which a check is awaited, counts as over: the pods that it
// finds have yet to be checked.
const attended = 30 * time.Second

// endedUnattended reports whether a time was over while no leader was there, or none reached the API server, or right after that.
func endedUnattended(end, since, now time.Time) bool {
	return !now.Before(end) && end.Before(since.Add(attended))
}

// Pace is what is known of the steps of a release.
type Pace struct {
	// Mark is the record of the webhook that the release is paced; nil if it isn't, or if the pace has ended.
	Mark *appv1alpha1.Paced
	// Policy is the ReleasePolicy that concerns the workload now; nil if there is none with steps.
	Policy *appv1alpha1.ReleasePolicy
	// Approvals are the ChangeApprovals of the release.
	Approvals []appv1alpha1.ChangeApproval
	// GoOn is the request of a user that the release goes on; nil if there is none.
	GoOn *appv1alpha1.GoOn
	// End is the ordinal after those of the pods that the workload is to have; 0 if its pods have none.
	End int32
	// Obstacle is why the pods can't be held back, such as "no gates are installed"; empty if they can.
	Obstacle string
	// Undeletable is why the operator can't delete pods of other versions, in whose place those of the step come; empty if it can, or needn't.
	Undeletable string
	// Since is since when this process leads and reaches the API server: before, no pod may have been checked.
	Since time.Time
}

// steps returns the steps of the release. That of a new workload has the last one alone, as there are no other pods to protect.
func (p *Pace) steps() []appv1alpha1.ReleaseStep {
	steps := p.Policy.Spec.Steps
	if p.Mark == nil || !p.Mark.New {
		return steps
	}
	return []appv1alpha1.ReleaseStep{{Percent: 100, Soak: steps[len(steps)-1].Soak}}
}

// gatedFrom returns the first ordinal whose pods get a gate before they start, nil if there is none: those below have been there all the time
// since the release began. Pods that a workload loses by scaling down are additional ones when they come back.
func (p *Pace) gatedFrom(known *int32) *int32 {
	switch from := p.Mark.GatedFrom; {
	case from == nil:
		return nil
	case known != nil:
		return ptr.To(min(*known, p.End))
	default:
		return ptr.To(min(*from, p.End))
	}
}

// hasSteps reports whether a ReleasePolicy with steps concerns the workload.
func (p *Pace) hasSteps() bool { return p.Policy != nil && len(p.Policy.Spec.Steps) > 0 }

// policyUntil returns until when a release waits for a ReleasePolicy with steps, nil if there is one. The time begins once the release isn't frozen any
// more: what is gone meanwhile may be back by then.
func (p *Pace) policyUntil(stored *metav1.Time, frozen bool, now time.Time) *metav1.Time {
	if frozen || p.hasSteps() {
		return nil
	}
	return noLater(stored, afterWindow(now, PolicyWait))
}

// isPaced reports whether the release of a status is rolled out in steps.
func isPaced(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionPaced)
}

// IsPaced reports whether a release is rolled out in steps.
func IsPaced(workload *appv1alpha1.ChangeWorkload) bool {
	return isPaced(&workload.Status) && isObserved(workload)
}

// StoredPace returns the condition Paced of the present release as it is stored, nil if there is none. Effects follow it rather than the next
// status, so that users see a step before its pods.
func StoredPace(workload *appv1alpha1.ChangeWorkload) *metav1.Condition {
	if !isObserved(workload) {
		return nil
	}
	return meta.FindStatusCondition(workload.Status.Conditions, appv1alpha1.ConditionPaced)
}

// pacing is a release that is rolled out in steps.
type pacing struct {
	*appv1alpha1.ReleasePace
	status   *appv1alpha1.ChangeWorkloadStatus
	workload *appv1alpha1.ChangeWorkload
	tally    tally
	seen     *Observation
	now      time.Time
	// ask is what to ask the rollback controller for, moved reports whether a step began or the pace ended.
	ask   appv1alpha1.OnFail
	moved bool
}

// awaitPace sets the progress of a release through its steps. onHold is what it waits for besides, empty for nothing. Once the pace has ended,
// it never begins again for this release.
func (d *Decision) awaitPace(
	status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, tally tally, seen Observation, onHold string, now time.Time,
) {
	known, mark := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionPaced), seen.Pace.Mark
	switch {
	case known == nil && mark == nil:
		setUnpaced(status, workload, seen)
		return
	case known != nil && known.Status == metav1.ConditionFalse:
		d.leaveSuperseded(status, known, seen, now)
		return
	case !seen.Current && !seen.Superseded: // the cache shows an earlier release
		return
	}
	if status.Pace == nil {
		status.Pace = &appv1alpha1.ReleasePace{}
	}
	if mark != nil {
		status.Pace.Policy, status.Pace.Lever = mark.Policy, mark.Lever
		status.Pace.GatedFrom = seen.Pace.gatedFrom(status.Pace.GatedFrom)
	}
	frozen := isFrozen(status) || seen.isToFreeze(status, workload)
	status.Pace.PolicyUntil = seen.Pace.policyUntil(status.Pace.PolicyUntil, frozen, now)
	pace := pacing{ReleasePace: status.Pace, status: status, workload: workload, tally: tally, seen: &seen, now: now}
	reason, message := seen.endOfPace(status, frozen, now)
	switch {
	case reason != "":
		pace.end(reason, message)
	case !seen.Pace.hasSteps():
		pace.awaitPolicy(frozen, onHold)
	default:
		pace.Policy = seen.Pace.Policy.Namespace + "/" + seen.Pace.Policy.Name
		pace.meetGoOn()
		pace.Step = reachedStep(pace.steps(), pace.Step, pace.Target, pace.basis())
		pace.aim()
		switch {
		case len(tally.failed) > 0 || seen.Fault != "":
			pace.fail()
		case onHold != "":
			pace.Deadline = nil
			pace.wait(appv1alpha1.ReasonPaceOnHold, onHold)
		default:
			pace.run()
		}
	}
	d.Ask, d.moved = pace.ask, pace.moved
}

// leaveSuperseded ends the pace of a superseded release for good as the workload leaves change control: then its template may come back, which is
// no release, so that no pods of another one replace those that wait at gates.
func (d *Decision) leaveSuperseded(status *appv1alpha1.ChangeWorkloadStatus, known *metav1.Condition, seen Observation, now time.Time) {
	if known.Reason != appv1alpha1.ReasonSuperseded || seen.OptedIn {
		return
	}
	reason, message := seen.endOfPace(status, false, now)
	setCondition(status, appv1alpha1.ConditionPaced, metav1.ConditionFalse, reason, message)
	d.moved = true
}

// awaitPolicy waits for a ReleasePolicy at the step, for no further pods than are desired now.
func (p *pacing) awaitPolicy(frozen bool, onHold string) {
	p.Deadline, p.Target, p.Desired = nil, min(p.Target, max(p.seen.Desired, 1)), min(p.basis(), p.seen.Desired)
	message := p.seen.awaitedPolicy(p.status)
	if frozen {
		message = fmt.Sprintf("%s; %s: the release goes on to all pods unless one is back by %s after the freeze", onHold, p.seen.noPolicy(), PolicyWait)
	}
	p.wait(appv1alpha1.ReasonPaceOnHold, message)
}

// basis returns the number of desired pods from which the target was computed. Earlier builds of v0.2 didn't store it.
func (p *pacing) basis() int32 { return cmp.Or(p.Desired, p.status.Counts.Desired) }

// aim sets the target by the pods that are desired now. Additional pods get a full deadline.
func (p *pacing) aim() {
	steps, before := p.steps(), p.Target
	p.Target, p.Desired = 0, p.seen.Desired
	if p.Step > 0 {
		p.Target = targetOf(steps, p.Step, p.seen.Desired)
	}
	if p.Target > before {
		p.Deadline = nil
	}
	p.Progress, p.Next = stepsDone(steps, p.Step), nextOf(steps, p.Step)
}

func (p *pacing) steps() []appv1alpha1.ReleaseStep { return p.seen.Pace.steps() }

// fail waits at the step, and asks once for what the ReleasePolicy has for a release that fails, after the end of a user's pause.
func (p *pacing) fail() {
	p.SoakUntil, p.Deadline = nil, nil
	failure := Failures(p.tally.failed)
	if failure == "" {
		failure = p.seen.Fault
	}
	message := p.describe() + ": no further pods come: " + failure
	if onFail := p.seen.Pace.Policy.Spec.OnFail; onFail == appv1alpha1.OnFailPark || onFail == appv1alpha1.OnFailUndo {
		message += fmt.Sprintf("; onFail is %s", onFail)
		if p.seen.isPausedByUser() { // the request would be dropped, or met although the verdict was withdrawn before the pause ends
			message += fmt.Sprintf(", once the %s isn't paused any more: %s", p.seen.Kind, p.seen.Resume)
		} else {
			p.askFor(onFail)
		}
	}
	p.wait(appv1alpha1.ReasonStepFailed, message)
}

// askFor asks the rollback controller once. A write that was denied asked for nothing.
func (p *pacing) askFor(what appv1alpha1.OnFail) {
	if p.Asked != what && p.seen.Denied == "" {
		p.Asked, p.ask = what, what
	}
}

// run goes on as far as the steps are done and the next ones may begin.
func (p *pacing) run() {
	last := int32(len(p.steps()))
	until, asked := p.goOn(), p.Asked
	p.Asked = ""
	for {
		reason, message := p.awaited(until, asked)
		if reason == "" && p.Step < last {
			reason, message = p.gate()
		}
		switch {
		case reason != "":
			p.wait(reason, message)
			return
		case p.Step < last:
			p.begin()
		case until > last:
			p.end(appv1alpha1.ReasonPacePassed, p.seen.Pace.GoOn.User+" let the release go on to all pods")
			return
		case p.isLate():
			p.end(appv1alpha1.ReasonStepDeadline, "the last step didn't end in time: deadline.then is GoOn")
			return
		case p.seen.awaitsOrder() || p.seen.awaitsOrderPre():
			p.wait(appv1alpha1.ReasonAwaitingOrder, p.present()+" is done; the change order has yet to pass its check after it")
			return
		case awaitedCheck(p.status, appv1alpha1.PhaseAfter) != "":
			p.wait(appv1alpha1.ReasonAwaitingCheck, p.present()+" is done; the release waits for "+awaitedCheck(p.status, appv1alpha1.PhaseAfter))
			return
		default:
			p.end(appv1alpha1.ReasonAllSteps, fmt.Sprintf("all %s are done", plural(int(last), "step")))
			return
		}
	}
}

// goOn returns the step to which a user lets the release go on, one more than there are for the end of the pace, and 0 for none. It records the
// request of each user once it has an effect.
func (p *pacing) goOn() int32 {
	asked := p.seen.Pace.GoOn
	if asked == nil || p.WentOn > 0 {
		return 0
	}
	until, to := min(asked.Step, int32(len(p.steps()))), strconv.Itoa(int(asked.Step))
	if asked.Step == 0 {
		until, to = int32(len(p.steps()))+1, appv1alpha1.GoOnAll
	}
	pass := appv1alpha1.PacePass{To: to, User: asked.User, Reason: Shorten(asked.Reason, appv1alpha1.MaxRecordedText), Time: metav1.NewTime(p.now.Truncate(time.Second))}
	if until > p.Step && !slices.ContainsFunc(p.Passes, isSamePass(pass)) {
		p.Passes = append(p.Passes, pass)
		p.Passes = p.Passes[max(0, len(p.Passes)-maxPasses):]
	}
	return until
}

// meetGoOn notes whether the step began to which a user lets the release go on. If the ReleasePolicy is changed after that, the release may be
// at the step before again.
func (p *pacing) meetGoOn() {
	asked := p.seen.Pace.GoOn
	if asked == nil || asked.Step != p.WentOn {
		p.WentOn = 0
	}
	if asked != nil && p.Step > 0 && p.Step >= min(asked.Step, int32(len(p.steps()))) {
		p.WentOn = asked.Step
	}
}

// awaited returns what the present step waits for, empty if it is done.
func (p *pacing) awaited(until int32, asked appv1alpha1.OnFail) (reason, message string) {
	switch {
	case p.Step == 0:
		return "", ""
	case len(p.tally.passed) < int(p.Target):
		return p.awaitPods(until, asked)
	}
	p.Deadline = nil
	if soak := p.steps()[p.Step-1].Soak; soak == nil || soak.Duration <= 0 {
		p.SoakUntil = nil
	} else {
		p.SoakUntil = noLater(p.SoakUntil, afterWindow(p.now, soak.Duration))
	}
	if p.Step < until || p.SoakUntil == nil || !p.now.Before(p.SoakUntil.Time) {
		return "", ""
	}
	return appv1alpha1.ReasonSoaking, p.describe() + "; soaks until " + p.SoakUntil.UTC().Format(time.RFC3339)
}

// awaitPods returns that the present step waits for pods to pass, empty if it doesn't wait for them any more.
func (p *pacing) awaitPods(until int32, asked appv1alpha1.OnFail) (reason, message string) {
	message = fmt.Sprintf("%s; %d of them passed", p.describe(), len(p.tally.passed))
	limit := p.seen.Pace.Policy.Spec.Deadline
	p.renew(limit)
	if p.SoakUntil != nil && p.now.Before(p.SoakUntil.Time) {
		message += "; soaks until " + p.SoakUntil.UTC().Format(time.RFC3339)
	}
	lacks := p.seen.Pace.Undeletable != "" && p.tally.claimed+len(p.tally.preparing) < int(p.Target)
	if lacks {
		message += "; no other pod is replaced: " + p.seen.Pace.Undeletable
	}
	isInTime := p.Deadline == nil || p.now.Before(p.Deadline.Time)
	switch {
	case p.Step < until, p.isLate():
		return "", ""
	case isInTime && lacks:
		return appv1alpha1.ReasonPermissionMissing, message
	case isInTime:
		return appv1alpha1.ReasonStepRunning, message
	case limit.Then == appv1alpha1.DeadlineUndo:
		p.Asked = asked
		p.askFor(appv1alpha1.OnFailUndo)
		message += "; the release is to be rolled back"
	}
	return appv1alpha1.ReasonStepDeadline, message + ", not all by " + p.Deadline.UTC().Format(time.RFC3339)
}

// renew sets the times of a step whose pods haven't all passed. Its soak goes on while some of those that passed are left.
func (p *pacing) renew(limit *appv1alpha1.StepDeadline) {
	if p.SoakUntil != nil && len(p.tally.passed) == 0 {
		p.SoakUntil, p.Deadline = nil, nil
	}
	if limit == nil || p.isUnattended() {
		p.Deadline = nil
	}
	if limit != nil {
		p.Deadline = noLater(p.Deadline, afterWindow(p.now, limit.PerStep.Duration))
	}
}

// isUnattended reports whether the time of the present step was over unattended, so that its pods couldn't pass.
func (p *pacing) isUnattended() bool {
	ran := waitsFor(p.status, appv1alpha1.ReasonStepRunning) || waitsFor(p.status, appv1alpha1.ReasonPermissionMissing)
	return ran && p.Deadline != nil && endedUnattended(p.Deadline.Time, p.seen.Pace.Since, p.now)
}

// isLate reports whether the present step didn't end in time, and the next one is to begin then.
func (p *pacing) isLate() bool {
	limit := p.seen.Pace.Policy.Spec.Deadline
	return limit != nil && limit.Then == appv1alpha1.DeadlineGoOn && p.Deadline != nil && !p.now.Before(p.Deadline.Time)
}

// gate returns what keeps the next step from beginning, empty for nothing. The checks before the first pod are asked last, so that what they find
// isn't old when it comes.
func (p *pacing) gate() (reason, message string) {
	next := fmt.Sprintf("step %d of %d", p.Step+1, len(p.steps()))
	if p.Step == 0 && p.seen.awaitsOrderPre() {
		return appv1alpha1.ReasonAwaitingOrder, next + " waits until the change order passes its check"
	}
	if reason, message = p.awaitedApprovals(next); reason != "" || p.Step > 0 {
		return reason, message
	}
	if check := awaitedCheck(p.status, appv1alpha1.PhaseBefore); check != "" {
		return appv1alpha1.ReasonAwaitingCheck, next + ": the release waits for " + check
	}
	return "", ""
}

// awaitedApprovals returns that the next step needs approvals, empty if it has them.
func (p *pacing) awaitedApprovals(next string) (reason, message string) {
	needed := p.approvalsNeeded()
	if needed == 0 {
		return "", ""
	}
	users, denial := approvalsOf(p.workload, &p.seen.Pace)
	switch {
	case denial != nil:
		message = fmt.Sprintf("%s is denied by ChangeApproval %s of %s", next, denial.Name, denial.Spec.ApprovedBy)
		if denial.Spec.Reason != "" {
			message += ": " + denial.Spec.Reason
		}
		return appv1alpha1.ReasonApprovalDenied, message
	case len(users) < needed:
		message = fmt.Sprintf("%s needs %s (%d given): create a ChangeApproval of release %d", next, plural(needed, "approval"), len(users), p.workload.Spec.Release)
		if p.Step > 0 {
			message = fmt.Sprintf("%s %s; %s", p.present(), p.ended(), message)
		}
		return appv1alpha1.ReasonAwaitingApproval, message
	}
	return "", ""
}

// lacksApprovals reports whether the first step of a paced release has yet to be approved. Without a policy it isn't known whether it has to.
func (o *Observation) lacksApprovals(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload) bool {
	switch {
	case status.Pace != nil && status.Pace.Step > 0:
		return false
	case !o.Pace.hasSteps():
		return true
	}
	first := pacing{ReleasePace: &appv1alpha1.ReleasePace{}, status: status, workload: workload, seen: o}
	reason, _ := first.awaitedApprovals("")
	return reason != ""
}

// ended returns how the present step ended. Approvers mustn't take it for one that passed if it didn't.
func (p *pacing) ended() string {
	passed := len(p.tally.passed) >= int(p.Target)
	switch {
	case p.isLate():
		return "didn't end in time"
	case passed && (p.SoakUntil == nil || !p.now.Before(p.SoakUntil.Time)):
		return "is done"
	case passed:
		return fmt.Sprintf("soaks until %s, but %s lets the release go on", p.SoakUntil.UTC().Format(time.RFC3339), p.seen.Pace.GoOn.User)
	}
	return fmt.Sprintf("isn't done, as %d of its %s passed, but %s lets the release go on", len(p.tally.passed), plural(int(p.Target), "pod"), p.seen.Pace.GoOn.User)
}

// approvalsNeeded returns how many approvals the next step needs.
func (p *pacing) approvalsNeeded() int {
	if pass := p.status.BreakGlass; pass != nil && slices.Contains(pass.Overrides, appv1alpha1.OverrideApproval) {
		return 0
	}
	return int(p.steps()[p.Step].Approvals)
}

// begin begins the next step.
func (p *pacing) begin() {
	p.ApprovedBy = nil
	if p.approvalsNeeded() > 0 {
		users, _ := approvalsOf(p.workload, &p.seen.Pace)
		p.ApprovedBy = users[:min(len(users), maxApprovers)]
	}
	p.Step++
	p.Since, p.SoakUntil, p.Deadline, p.ApprovalSince = &metav1.Time{Time: p.now.Truncate(time.Second)}, nil, nil, nil
	p.moved = true
	p.aim()
}

// wait sets what the release waits for.
func (p *pacing) wait(reason, message string) {
	since := p.ApprovalSince
	p.ApprovalSince = nil
	if reason == appv1alpha1.ReasonAwaitingApproval || reason == appv1alpha1.ReasonApprovalDenied {
		p.ApprovalSince = noLater(since, &metav1.Time{Time: p.now.Truncate(time.Second)})
	}
	setCondition(p.status, appv1alpha1.ConditionPaced, metav1.ConditionTrue, reason, message)
}

// end sets why the release isn't rolled out in steps any more. One that is present as the workload leaves change control may go to all pods, which tells it
// from one that was superseded in its steps.
func (p *pacing) end(reason, message string) {
	if reason == appv1alpha1.ReasonNotControlled && p.seen.Current {
		p.Target = max(p.Target, p.Desired)
	}
	p.SoakUntil, p.Deadline, p.PolicyUntil, p.ApprovalSince, p.Next = nil, nil, nil, nil, ""
	p.moved = true
	setCondition(p.status, appv1alpha1.ConditionPaced, metav1.ConditionFalse, reason, message)
}

// describe describes the present step.
func (p *pacing) describe() string {
	return fmt.Sprintf("%s: %d of %s", p.present(), p.Target, plural(int(p.seen.Desired), "pod"))
}

func (p *pacing) present() string { return fmt.Sprintf("step %d of %d", p.Step, len(p.steps())) }
