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
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// trialRetry is how long to wait before a trial that could not be started is tried again: a granted permission causes no event.
const trialRetry = time.Minute

// runLag is how long after the end of a run the cache may take to show all of its pods.
const runLag = time.Minute

// Run is a set of pods that end by themselves, those of a Job.
type Run struct {
	// Name names it in messages, as Job backup-29384.
	Name string
	// Complete reports whether it ended with success, by Succeeded of its pods, and Ended when.
	Complete  bool
	Succeeded int32
	Ended     time.Time
	// There is how many of its pods that succeeded still exist.
	There int
	// Failure is why it ended without success, nil where it did not.
	Failure *Failure
}

// RunsOf reduces the runs of a workload, each of them a Revision, to one of each version, which has a record: that by which the release
// is judged, and for each other version one that can be gone back to. since is when the release began, as earlier runs may have its
// version, too.
func RunsOf(runs []Revision, release Release, since time.Time) []Revision {
	var versions []Revision
	at := map[string]int{}
	for _, run := range runs {
		isCurrent := run.Version == release.Version
		if run.Version == "" || isCurrent && run.Created.Before(since.Truncate(time.Second)) {
			continue
		}
		known, found := at[run.Version]
		switch {
		case !found:
			at[run.Version] = len(versions)
			versions = append(versions, run)
		case isCurrent && isJudgedBefore(&run, &versions[known]),
			!isCurrent && (run.Healthy && !versions[known].Healthy || run.Healthy == versions[known].Healthy && isOlder(&versions[known], &run)):
			versions[known] = run
		}
	}
	return versions
}

// isJudgedBefore reports whether a release is judged by run a rather than b: by the first one that completed, as others may be stuck, and
// before that by the first one that did not fail. A run that failed has no result to check; the last one is shown.
func isJudgedBefore(a, b *Revision) bool {
	aFailed, bFailed := a.Failure != nil, b.Failure != nil
	switch {
	case a.Healthy != b.Healthy:
		return a.Healthy
	case a.Healthy && !a.Run.Ended.Equal(b.Run.Ended):
		return a.Run.Ended.Before(b.Run.Ended)
	case aFailed != bFailed:
		return bFailed
	}
	return isOlder(a, b) != aFailed
}

// desiredPods returns how many pods of a release are checked. Of pods that end by themselves, those count that the run needed, without
// those that were removed before their check, and once it was removed, those in batches.
func (o *Observation) desiredPods(now time.Time) int32 {
	switch {
	case !o.Runs:
	case o.Run == nil && len(o.Batches) > 0:
		return int32(len(BatchedPods(o.Batches)))
	case o.Run != nil && o.Run.Complete:
		if left := o.leftOfRun(); left > 0 && o.Run.lag(now) <= 0 {
			return min(o.Run.Succeeded, int32(left))
		}
		return o.Run.Succeeded
	}
	return o.Desired
}

// leftOfRun returns how many pods of a run exist or are in batches.
func (o *Observation) leftOfRun() int { return o.Run.There + len(o.remaining()) - len(o.Finished) }

// lag returns how long the cache may take yet to show all pods of a run.
func (r *Run) lag(now time.Time) time.Duration {
	if !r.Complete {
		return 0
	}
	return r.Ended.Add(runLag).Sub(now)
}

// runWait returns when to look at a run again, 0 if nothing but an event can change the decision.
func (o *Observation) runWait(now time.Time) time.Duration {
	wait := o.Stuck.Next
	if o.Run != nil {
		wait = Sooner(wait, max(o.Run.lag(now), 0))
	}
	return wait
}

// remaining returns the finished pods of a release. Those that ended by themselves count after their removal, too: nothing replaces them.
func (o *Observation) remaining() []appv1alpha1.PodSummary {
	if !o.Runs {
		return o.Finished
	}
	pods := o.Finished
	there := map[podID]bool{}
	for _, pod := range o.Finished {
		there[podID{pod.Pod, pod.UID}] = true
	}
	for i := range o.Batches {
		for _, pod := range o.Batches[i].Spec.PodInfos {
			if id := (podID{pod.Pod, pod.UID}); !there[id] {
				there[id] = true
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// isTried reports whether the release runs once, at once, before its schedule goes on.
func (o *Observation) isTried(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return o.Trial && o.Recurs && o.Current && o.OptedIn && !wasVerified(status)
}

// RefusedBy returns the ChangeWorkload, of those of a namespace, in which a version of a kind failed its check, and for which it is
// refused; empty where its last check passed, or where there was none.
func RefusedBy(records []appv1alpha1.ChangeWorkload, kind, version string) string {
	var last *appv1alpha1.ChangeWorkload
	for i := range records {
		record := &records[i]
		if record.Spec.WorkloadRef == nil || record.Spec.WorkloadRef.Kind != kind || record.Spec.Reversion != version || record.Spec.Observed {
			continue
		}
		refuses := meta.IsStatusConditionTrue(record.Status.Conditions, appv1alpha1.ConditionSuspended)
		if (refuses || IsSettled(record)) && (last == nil || record.Spec.CreateTimeUnix >= last.Spec.CreateTimeUnix) {
			last = record
		}
	}
	if last == nil || IsSettled(last) {
		return ""
	}
	return last.Name
}

// isOnTrial reports whether the trial of the release has begun, and has no verdict yet.
func (o *Observation) isOnTrial(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return o.isTried(status) && (o.Run != nil || len(o.Batches) > 0)
}

// isFreeTrial reports whether a trial that failed doesn't suspend its workload, so that the schedule goes on.
func (o *Observation) isFreeTrial() bool { return o.Recurs && !o.Blocking && !o.Suspended }

// isOnce reports whether the workload is one release, so that none is denied.
func (o *Observation) isOnce() bool { return o.Runs && !o.Recurs }

// try decides whether to start the trial of a release. It starts once: after the removal of its run, the next one is checked.
func (d *Decision) try(status *appv1alpha1.ChangeWorkloadStatus, seen Observation) {
	switch {
	case !seen.isTried(status) || meta.IsStatusConditionTrue(status.Conditions, appv1alpha1.ConditionTried):
	case seen.Run != nil:
		setTried(status, seen.Run.Name)
	default:
		d.Try = len(seen.Batches) == 0
	}
}

func setTried(status *appv1alpha1.ChangeWorkloadStatus, run string) {
	setCondition(status, appv1alpha1.ConditionTried, metav1.ConditionTrue, appv1alpha1.ReasonTrialStarted,
		run+" runs the release; the schedule is suspended until its pods are checked")
}

// AnswerTrial applies the result of the start of a trial to the decision.
func (d *Decision) AnswerTrial(workload *appv1alpha1.ChangeWorkload, name string, denied error, now time.Time) {
	status := d.Status
	if denied == nil {
		setTried(&status, name)
	} else {
		setCondition(&status, appv1alpha1.ConditionTried, metav1.ConditionFalse, appv1alpha1.ReasonTrialDenied, shortText(denied.Error()))
		d.Wait = trialRetry
	}
	d.finish(workload, status, now)
}

// describeRun sets why a release whose pods end by themselves isn't verified yet.
func (o *Observation) describeRun(status *appv1alpha1.ChangeWorkloadStatus, now time.Time) {
	waits := o.Run == nil && len(o.Batches) == 0 // for its first run
	switch run := o.Run; {
	case o.Refused != "" && o.Paused:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonRefused, fmt.Sprintf(
			"the %s is suspended, because its pod template failed its check in %s: %s to run it all the same", o.Kind, o.Refused, o.Resume))
	case run != nil && run.Failure != nil:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonRunFailed, run.Failure.Message+o.afterFailure())
	case o.Paused && o.Hold != Held && (waits || o.isSuspendedJob()):
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonPaused(o.Kind),
			fmt.Sprintf("the %s is suspended: %s to run this release", o.Kind, o.Resume))
	case waits:
		reason, message := o.awaitedRun()
		setVerified(status, metav1.ConditionUnknown, reason, message)
	case o.Stuck.Message != "":
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonRunStuck, run.Name+" is stuck: "+o.Stuck.Message+o.whileStuck())
	case run != nil && !run.Complete:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonRunning, run.Name+" runs; its pods are checked once they have succeeded")
	default:
		setVerified(status, metav1.ConditionUnknown, appv1alpha1.ReasonVerifying, o.checksOfRun(now))
	}
}

// isSuspendedJob reports whether the workload is a run that has yet to end, so that a pause keeps it from running.
func (o *Observation) isSuspendedJob() bool { return o.isOnce() && o.Run != nil && !o.Run.Complete }

// awaitedRun returns why a release waits for its first run.
func (o *Observation) awaitedRun() (reason, message string) {
	if o.Blocker != "" {
		return appv1alpha1.ReasonRunBlocked,
			"the next run doesn't begin before " + o.Blocker + " ends, as concurrencyPolicy is Forbid; delete that Job if it is stuck"
	}
	return appv1alpha1.ReasonAwaitingRun, "the release takes effect at the next run, whose pods are checked"
}

// whileStuck returns what doesn't happen before a stuck run ends.
func (o *Observation) whileStuck() string {
	if o.Blocker != o.Run.Name {
		return ""
	}
	return "; no other run begins before it ends, as concurrencyPolicy is Forbid: release a fix, and delete that Job"
}

// checksOfRun returns how far the checks of a run are that has completed.
func (o *Observation) checksOfRun(now time.Time) string {
	if o.Run == nil || o.leftOfRun() > 0 || o.Run.lag(now) > 0 {
		return "waiting for pods or checking them: kubectl get changepods shows each batch"
	}
	removed := o.Run.Name + " completed, but its pods were removed before they could be checked"
	if o.Recurs {
		removed += "; the next run is checked once that Job is removed"
	}
	return removed
}

// afterFailure returns what follows a failed run.
func (o *Observation) afterFailure() string {
	switch {
	case !o.Recurs:
		return ""
	case o.Hold == Held:
		return "; the schedule stays suspended until the next release, or until this run is deleted"
	}
	return "; the next run is checked instead"
}
