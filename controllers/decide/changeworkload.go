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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// Observation is what was seen of a release and its Deployment.
type Observation struct {
	// OptedIn reports whether the namespace is under change control.
	OptedIn bool
	// Current reports whether the Deployment is still at this release.
	Current bool
	// Superseded reports whether the Deployment is at a later release. One at an earlier release is shown late.
	Superseded bool
	// Desired is the number of pods that the Deployment wants.
	Desired int32
	// Paused reports whether the Deployment is paused.
	Paused bool
	// Unseen reports whether the template was changed while no webhook looked: no pod of this release comes up any more.
	Unseen bool
	// Rolling reports whether pods of other versions are still being replaced.
	Rolling bool
	// Hold says how far the operator holds the rollout of this release.
	Hold Hold
	// Suspended reports whether releases of the Deployment are denied.
	Suspended bool
	// Blocking reports whether a failed pod suspends its Deployment.
	Blocking bool
	// WentBack reports whether the Deployment moved on from this release to a version that was verified before.
	WentBack bool
	// RolledBack is the rollback that ended this release, nil where none did.
	RolledBack *appv1alpha1.Rollback
	// Templates is how many pod templates of verified versions are kept, 0 where none are.
	Templates int
	// Records is how many ChangeWorkloads of older releases are kept, 0 where none are.
	Records int
	// Verifier is what is known of what checks the batches.
	Verifier verifier.State
	// Finished are the finished pods of this release, without those that are being replaced, in the order in which they go into
	// batches.
	Finished []appv1alpha1.PodSummary
	// Earlier reports whether there are batches of earlier releases of the version.
	Earlier bool
	// Batches are the batches of this release.
	Batches []appv1alpha1.ChangePod
	// LastNumber is the highest number that a ChangePod of this ChangeWorkload was seen to have.
	LastNumber int64
	// Others are the ChangeWorkloads of the Deployment's other versions.
	Others []appv1alpha1.ChangeWorkload
}

// Decision is what is to be made true.
type Decision struct {
	// Status is the status of the ChangeWorkload.
	Status appv1alpha1.ChangeWorkloadStatus
	// WriteStatus reports whether Status differs from the one stored in a way that has to be written now.
	WriteStatus bool
	// Batches are the batches to open.
	Batches [][]appv1alpha1.PodSummary
	// Unchecked is how many pods of a verified release passed because nobody could be asked.
	Unchecked int
	// Order is what to tell the verifier; AnswerOrder takes its answer.
	Order OrderPlan
	// Suspend reports whether the Deployment has to be suspended.
	Suspend bool
	// Lift reports whether the suspension of the Deployment has to be lifted.
	Lift bool
	// Pause reports whether the rollout has to be paused, Resume that the operator's pause has to end, Override that a user has
	// ended it.
	Pause, Resume, Override bool
	// Verified reports whether the release is verified and was not before, Keep that its pod template is to be kept.
	Verified, Keep bool
	// Prune are the ChangeWorkloads of older releases that have done their duty.
	Prune []appv1alpha1.ChangeWorkload
	// Clear reports whether the batches of earlier releases of the version have done theirs.
	Clear bool
	// Wait is when to look again, 0 if nothing but an event can change the decision.
	Wait time.Duration
}

// IsFinal reports whether a decision can't be taken back: a release that counts as verified closes its order and is a target of
// rollbacks, a suspension that is lifted lets other releases in, a rollout that goes on replaces the pods that still serve, and
// what is removed is gone.
func (d *Decision) IsFinal() bool {
	return d.Verified || d.Lift || d.Resume || d.Clear || len(d.Prune) > 0
}

// Decide recounts a release from what was seen and says what to do. A repeated call on the same facts decides the same.
func Decide(workload *appv1alpha1.ChangeWorkload, seen Observation, now time.Time) Decision {
	status := startOf(workload, seen)
	status.LastChangePod = max(status.LastChangePod, seen.LastNumber)
	tally := count(seen)
	var decision Decision
	switch {
	case status.Status == appv1alpha1.ChangeWorkloadFailed:
		// The server refused the order: nothing is checked until the version changes.
	case !seen.OptedIn:
		keepUnverified(&status, appv1alpha1.ReasonNamespaceOptedOut,
			"the namespace is not labelled admission-webhook-altershield=enabled: its releases are not checked")
	case len(tally.failed) > 0:
		decision.suspend(&status, workload, tally, seen, now)
	case !seen.Current:
		if status.Status == appv1alpha1.ChangeWorkloadSuspend {
			status.Status = appv1alpha1.ChangeWorkloadRunning // the verdict was taken back
		}
		keepUnverified(&status, appv1alpha1.ReasonSuperseded, "the Deployment has moved on to another release")
	case wasVerified(&status),
		seen.Desired > 0 && len(tally.passed) >= int(seen.Desired):
		decision.succeed(&status, workload, seen, tally)
	case seen.Desired == 0:
		status.Status, status.WaitDeadline = appv1alpha1.ChangeWorkloadSuccess, nil
		setVerified(&status, metav1.ConditionUnknown, appv1alpha1.ReasonNoReplicas,
			"the Deployment has no replicas; the release is checked once it is scaled up")
	default:
		status.Status = waitingPhase(status.Status)
		decision.await(&status, workload, tally, seen, now)
	}
	setRolledBack(&status, seen.RolledBack)
	decision.forget(&status, workload, seen)
	decision.hold(seen, len(tally.failed) > 0)
	switch {
	case !seen.Current:
		tally.describeFailed(&status)
	case !isSettled(workload, &status):
		tally.describe(&status, seen.Desired)
	}
	decision.Order = planOrder(workload, &status, seen)
	decision.finish(workload, status, now)
	return decision
}

// startOf is the status to continue from. A version that is released again starts anew, but for the numbers of its
// ChangePods, the memory of verified versions, itself among them, and what is owed to the verifier.
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
		FirstChangePod:   firstNumber(max(status.LastChangePod, seen.LastNumber), seen.Batches),
		LastChangePod:    status.LastChangePod,
		VerifiedVersions: verified,
		Order:            status.Order,
		EarlyVerdicts:    status.EarlyVerdicts,
	}
}

// firstNumber is the lowest number of the batches of a release, or that of the next one: a release that starts may have batches
// already, if the status could not be written after they were opened.
func firstNumber(last int64, batches []appv1alpha1.ChangePod) int64 {
	first := last + 1
	for i := range batches {
		first = min(first, ChangePodNumber(batches[i].Name))
	}
	return first
}

// NumbersGiven is how many numbers the batches of a release were given, if last is the highest one. Those of earlier releases count
// as well while it isn't noted where its own begin.
func NumbersGiven(workload *appv1alpha1.ChangeWorkload, last int64) int64 {
	if workload.Status.ObservedRelease != workload.Spec.Release {
		return last
	}
	return last - max(workload.Status.FirstChangePod, 1) + 1
}

// suspend keeps further releases out because of the failed pods of the present one. Those of a release that the Deployment
// moved on from do so until the suspension ends.
func (d *Decision) suspend(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, tally tally, seen Observation, now time.Time) {
	status.Status = appv1alpha1.ChangeWorkloadSuspend
	setVerified(status, metav1.ConditionFalse, appv1alpha1.ReasonPodsFailed, Failures(tally.failed))
	switch {
	case seen.Current:
		d.Suspend = seen.Blocking && !seen.Suspended
		setSuspended(status, seen.Blocking || seen.Suspended, seen)
		d.await(status, workload, tally, seen, now)
	case !seen.Suspended && seen.Records > 0: // where no record stays this one is about to be removed
		endSuspended(status)
	}
}

// succeed settles a release whose pods passed. It stays settled: pods that join later by scaling or rescheduling are
// not a release.
func (d *Decision) succeed(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, seen Observation, tally tally) {
	status.Status, status.WaitDeadline = appv1alpha1.ChangeWorkloadSuccess, nil
	if !isSettled(workload, status) {
		setVerified(status, metav1.ConditionTrue, appv1alpha1.ReasonAllPodsPassed, tally.success())
		d.Verified = true
		d.Keep = seen.Templates > 0 && !seen.Unseen // an unseen template is not that of the release
	}
	d.Unchecked = tally.unchecked
	liftSuspended(status)
	status.VerifiedVersions = rememberVerified(status.VerifiedVersions, workload.Spec.Reversion, older(workload, seen.Others))
	d.Lift = seen.Suspended
}

// await opens the batches that are due and sets the deadline of the next one.
func (d *Decision) await(status *appv1alpha1.ChangeWorkloadStatus, workload *appv1alpha1.ChangeWorkload, tally tally, seen Observation, now time.Time) {
	if seen.Desired > status.Counts.Desired {
		status.WaitDeadline = nil // pods that are wanted only now have all the time to come
	}
	plan := planBatches(status.WaitDeadline, workload, tally, seen, now)
	d.Batches = plan.batches
	status.WaitDeadline = plan.deadline
	d.Wait = plan.wait(now)
	if status.Status == appv1alpha1.ChangeWorkloadSuspend {
		return
	}
	if seen.Unseen {
		status.WaitDeadline, d.Wait = nil, 0
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonTemplateUnseen,
			"the pod template was changed without the admission webhooks, so its pods are not checked: the next change of the template is a release again")
		return
	}
	switch {
	case plan.timedOut:
		status.Status = appv1alpha1.ChangeWorkloadTimeOutPreThreshold
	case plan.reachedThreshold && !plan.late: // pods that are late once more must not make the status flap
		status.Status = appv1alpha1.ChangeWorkloadRunning
	}
	switch {
	case seen.Paused:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonDeploymentPaused,
			"the Deployment is paused: run kubectl rollout resume to create the pods of this release")
	case status.Status == appv1alpha1.ChangeWorkloadTimeOutPreThreshold:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonThresholdTimeout, tally.timeout(workload, seen.Desired))
	default:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonVerifying,
			"waiting for pods or checking them: kubectl get changepods shows each batch")
	}
}

// waitingPhase is the phase of a release that has neither failed nor succeeded.
func waitingPhase(phase appv1alpha1.ChangeWorkloadPhase) appv1alpha1.ChangeWorkloadPhase {
	if phase == appv1alpha1.ChangeWorkloadTimeOutPreThreshold {
		return phase
	}
	return appv1alpha1.ChangeWorkloadRunning
}

// isSettled reports whether a release was verified before and still is: what its pods do now is no news of it.
func isSettled(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus) bool {
	return IsSettled(workload) && status.Status == appv1alpha1.ChangeWorkloadSuccess
}
