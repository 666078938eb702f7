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
	"encoding/hex"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Ending is what is known of the end of a release apart from its status.
type Ending struct {
	// Superseded reports whether the workload is at a later release.
	Superseded bool
	// RolledBack is the rollback that ended the release, nil where none did.
	RolledBack *appv1alpha1.Rollback
}

// EndOfEarlier returns the end of a release that another one of its workload followed.
func EndOfEarlier(earlier *appv1alpha1.ChangeWorkload, workload metav1.Object) Ending {
	release := Recorded(earlier)
	return Ending{Superseded: true, RolledBack: RollbackFrom(appv1alpha1.RollbacksOf(workload.GetAnnotations()), release)}
}

// RecordPlan is the ChangeRecord to write of a release.
type RecordPlan struct {
	Outcome appv1alpha1.ReleaseOutcome
	// Correction numbers the records of the release, 0 for the first one.
	Correction int32
}

// After decides whether the planned record follows the newest one of its release that is there, which may be newer than the status knows: it may
// stem from before a crash. Then the plan is that of the next correction.
func (p *RecordPlan) After(newest *appv1alpha1.ChangeRecord) bool {
	if !corrects(newest.Spec.Outcome, p.Outcome) || newest.Spec.Correction == appv1alpha1.MaxCorrections {
		return false
	}
	p.Correction = newest.Spec.Correction + 1
	return true
}

// PlanRecord returns the ChangeRecord to write of a release whose status is about to become next, nil where there is none to write. A release
// that had its outcome before ChangeRecords were written gets none: an upgrade would write those of all workloads at once.
func PlanRecord(workload *appv1alpha1.ChangeWorkload, next *appv1alpha1.ChangeWorkloadStatus, end Ending) *RecordPlan {
	outcome, known := outcomeOf(workload, next, end), (*appv1alpha1.RecordedOutcome)(nil)
	if next.ObservedRelease == workload.Spec.Release {
		known = next.Recorded
	}
	switch {
	case outcome == "":
		return nil
	case known == nil && (settledOutcome(workload, &workload.Status) == outcome || outcome == appv1alpha1.OutcomeSuperseded && hadMovedOn(workload)):
		return nil
	case known == nil:
		return &RecordPlan{Outcome: outcome}
	case known.Owed != "":
		return &RecordPlan{outcome, known.Corrections}
	case !corrects(known.Outcome, outcome), known.Corrections == appv1alpha1.MaxCorrections:
		return nil
	}
	return &RecordPlan{outcome, known.Corrections + 1}
}

// hadMovedOn reports whether the stored status has it already that the workload moved on from a release. The status of an observed release
// may have that before the later release is recorded, which is what ends this one.
func hadMovedOn(workload *appv1alpha1.ChangeWorkload) bool {
	return !workload.Spec.Observed && isObserved(workload) && hasReason(workload.Status.Conditions, appv1alpha1.ReasonSuperseded)
}

// corrects reports whether an outcome is worth a further record of a release: a verdict that differs, or a rollback of one without a verdict. A
// release whose failed pods are forgotten only seems superseded: its batches are removed before its ChangeWorkload. Whether one was checked
// that another took the place of changes when its namespace leaves change control.
func corrects(recorded, outcome appv1alpha1.ReleaseOutcome) bool {
	hasVerdict := recorded == appv1alpha1.OutcomeVerified || recorded == appv1alpha1.OutcomeFailed
	switch outcome {
	case appv1alpha1.OutcomeVerified, appv1alpha1.OutcomeFailed:
		return recorded != outcome
	case appv1alpha1.OutcomeRolledBack:
		return recorded != outcome && !hasVerdict
	}
	return false
}

// outcomeOf returns the outcome of a release, empty while it has none. Failed pods count more than the rollback from them: the record of the
// release that the workload went back with names this one.
func outcomeOf(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, end Ending) appv1alpha1.ReleaseOutcome {
	settled := settledOutcome(workload, status)
	switch {
	case workload.Spec.Baseline:
		return ""
	case settled != "":
		return settled
	case !end.Superseded:
		return ""
	case end.RolledBack != nil:
		return appv1alpha1.OutcomeRolledBack
	case status.ObservedRelease == workload.Spec.Release && leftControl(status):
		return appv1alpha1.OutcomeUnchecked
	}
	return appv1alpha1.OutcomeSuperseded
}

// settledOutcome returns the outcome that a release has while its workload is still at it, empty where it has none.
func settledOutcome(workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus) appv1alpha1.ReleaseOutcome {
	switch {
	case status.ObservedRelease != workload.Spec.Release: // it is the status of an earlier release
		return ""
	case status.Status == appv1alpha1.ChangeWorkloadSuspend:
		return appv1alpha1.OutcomeFailed
	case wasVerified(status):
		return appv1alpha1.OutcomeVerified
	case status.Status == appv1alpha1.ChangeWorkloadFailed, hasReason(status.Conditions, appv1alpha1.ReasonTemplateUnstamped):
		return appv1alpha1.OutcomeUnchecked
	}
	return ""
}

// leftControl reports whether a release isn't checked because its workload left change control.
func leftControl(status *appv1alpha1.ChangeWorkloadStatus) bool {
	return hasReason(status.Conditions,
		appv1alpha1.ReasonNamespaceOptedOut, appv1alpha1.ReasonKindNotEnforced, appv1alpha1.ReasonKindNotObserved)
}

// RecordFacts is what a ChangeRecord has beside the status of its release.
type RecordFacts struct {
	// End is the end of the release.
	End Ending
	// Batches are the batches of the release.
	Batches []appv1alpha1.ChangePod
	// Unchecked is how many pods passed without a check.
	Unchecked int
	// Approvals are the ChangeApprovals of the release.
	Approvals []appv1alpha1.ChangeApproval
	// Images are the images of a pod of the release.
	Images []appv1alpha1.RecordedImage
	// Number is the number in the name of the record, 0 for that of the release.
	Number int64
	// Previous is the record before, nil for the first one; PreviousHash is its hash.
	Previous     *appv1alpha1.ChangeRecord
	PreviousHash string
}

// NewChangeRecord returns the ChangeRecord of a release.
func NewChangeRecord(
	workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, plan RecordPlan, facts RecordFacts, now time.Time,
) *appv1alpha1.ChangeRecord {
	spec, of, labels := &workload.Spec, workload.Workload(), map[string]string{}
	maps.Copy(labels, workload.Labels)
	key := RecordKey(of.UID, spec.Observed)
	labels[appv1alpha1.LabelRecordOf] = key
	trace := TraceID(of.UID, spec.Release)
	if status.ObservedRelease != spec.Release {
		status = &appv1alpha1.ChangeWorkloadStatus{}
	}
	record := &appv1alpha1.ChangeRecord{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: workload.Namespace, Name: ChangeRecordName(key, cmp.Or(facts.Number, spec.Release), plan.Correction), Labels: labels,
		},
		Spec: appv1alpha1.ChangeRecordSpec{
			Workload: of, Release: spec.Release, Correction: plan.Correction, Version: spec.Reversion, Observed: spec.Observed,
			ReleasedBy: Shorten(spec.ReleasedBy, appv1alpha1.MaxRecordedText), ReleaseReason: spec.ReleaseReason,
			StartedAt: metav1.NewTime(time.Unix(spec.CreateTimeUnix, 0)), EndedAt: metav1.NewTime(endedAt(status, plan.Outcome, now).Truncate(time.Second)),
			CommitTime: spec.CommitTime, Outcome: plan.Outcome, Changes: shortened(spec.Changes), Images: facts.Images,
			Pods: appv1alpha1.RecordedPods{
				Desired: status.Counts.Desired, Passed: status.Counts.Passed, Failed: status.Counts.Failed, Unchecked: int32(facts.Unchecked),
			},
			FailedPods: recordedPods(status.DefenseCheckFailPods), LongestBatchSeconds: longestBatch(facts.Batches),
			Approvals: recordedApprovals(facts.Approvals), BreakGlass: recordedBypass(status.BreakGlass), IgnoredSuspend: spec.IgnoredSuspend,
			Rollback: spec.Rollback, TraceID: hex.EncodeToString(trace[:]),
		},
	}
	if status.ObservedRelease == spec.Release {
		record.Spec.Batches = NumbersGiven(workload, status.LastChangePod)
	}
	if status.Pace != nil {
		record.Spec.Passes = status.Pace.Passes
	}
	if order := status.Order; order != nil && order.Release == spec.Release {
		record.Spec.OrderID = order.BizExecOrderID
	}
	record.Spec.Reason, record.Spec.Message = reasonOf(workload, status, plan.Outcome, facts.End)
	follow(&record.Spec, facts.Previous, facts.PreviousHash, facts.Previous != nil && IsRecordOf(facts.Previous, workload))
	record.Spec.FailingSince = failingSince(&record.Spec, facts.Previous, facts.End)
	return record
}

// endedAt returns when an outcome was known: a verdict may have its record long after it, if that could not be written at once.
func endedAt(status *appv1alpha1.ChangeWorkloadStatus, outcome appv1alpha1.ReleaseOutcome, now time.Time) time.Time {
	verified := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionVerified)
	isVerdict := outcome == appv1alpha1.OutcomeVerified || outcome == appv1alpha1.OutcomeFailed
	if !isVerdict || verified == nil || verified.LastTransitionTime.IsZero() || verified.LastTransitionTime.After(now) {
		return now
	}
	return verified.LastTransitionTime.Time
}

// follow sets what a record takes from the one before, which it may correct.
func follow(spec *appv1alpha1.ChangeRecordSpec, previous *appv1alpha1.ChangeRecord, hash string, corrects bool) {
	spec.Type = appv1alpha1.TypeRelease
	if previous != nil {
		before := &previous.Spec
		spec.Previous = &appv1alpha1.PreviousRecord{Name: previous.Name, SHA256: hash}
		if corrects {
			spec.Type, spec.FromVersion = before.Type, before.FromVersion
			return
		}
		spec.FromVersion = before.Version
		if stillFailing(before) != nil {
			spec.Type = appv1alpha1.TypeRepair
		}
	}
	if spec.IgnoredSuspend {
		spec.Type = appv1alpha1.TypeRepair
	}
	if spec.Rollback != nil {
		spec.Type, spec.FromVersion = appv1alpha1.TypeRollback, spec.Rollback.Version
	}
}

// reasonOf returns the reason of an outcome, and its message.
func reasonOf(
	workload *appv1alpha1.ChangeWorkload, status *appv1alpha1.ChangeWorkloadStatus, outcome appv1alpha1.ReleaseOutcome, end Ending,
) (reason, message string) {
	verified := meta.FindStatusCondition(status.Conditions, appv1alpha1.ConditionVerified)
	switch {
	case outcome == appv1alpha1.OutcomeRolledBack:
		reason, message = string(end.RolledBack.Reason), end.RolledBack.Message
	case outcome == appv1alpha1.OutcomeSuperseded, verified == nil:
		reason, message = appv1alpha1.ReasonSuperseded, "the "+workload.WorkloadKind()+" has moved on to another release"
	default:
		reason, message = verified.Reason, verified.Message
	}
	return Shorten(reason, maxReason), Shorten(message, appv1alpha1.MaxRecordedText)
}

// maxReason is the maximum length of a reason in the CRD.
const maxReason = 64

// PodOf returns a pod of a release, nil where no pod has finished.
func PodOf(status *appv1alpha1.ChangeWorkloadStatus) *appv1alpha1.PodSummary {
	for _, pods := range [][]appv1alpha1.PodSummary{
		status.DefenseCheckPassPods, status.DefenseCheckFailPods, status.DefenseCheckingPods, status.DefensePreparingPods,
	} {
		if len(pods) > 0 {
			return &pods[0]
		}
	}
	return nil
}

// ImagesOf returns the images of a pod, with their digests if it tells them.
func ImagesOf(pod *corev1.Pod) []appv1alpha1.RecordedImage {
	ran := map[string]string{}
	for i := range pod.Status.ContainerStatuses {
		ran[pod.Status.ContainerStatuses[i].Name] = pod.Status.ContainerStatuses[i].ImageID
	}
	containers := pod.Spec.Containers[:min(len(pod.Spec.Containers), appv1alpha1.MaxRecordedImages)]
	var images []appv1alpha1.RecordedImage
	for i := range containers {
		image := appv1alpha1.RecordedImage{
			Container: containers[i].Name, Image: Shorten(containers[i].Image, appv1alpha1.MaxRecordedText),
		}
		if digest, found := afterLast(ran[image.Container], "@"); found && len(digest) <= maxDigest {
			image.Digest = digest
		}
		images = append(images, image)
	}
	return images
}

// maxDigest is the maximum length of a digest in the CRD.
const maxDigest = 136

func recordedPods(failed []appv1alpha1.PodSummary) []appv1alpha1.RecordedPod {
	var pods []appv1alpha1.RecordedPod
	for _, pod := range failed[:min(len(failed), appv1alpha1.MaxRecordedPods)] {
		pods = append(pods, appv1alpha1.RecordedPod{Name: pod.Pod, Message: Shorten(pod.Message, appv1alpha1.MaxRecordedText)})
	}
	return pods
}

// ApprovalsOf returns the ChangeApprovals of a release. Another workload may have a release of the same number and version: one with the same pod
// template, or one of this name that was deleted.
func ApprovalsOf(workload *appv1alpha1.ChangeWorkload, approvals []appv1alpha1.ChangeApproval) []appv1alpha1.ChangeApproval {
	var own []appv1alpha1.ChangeApproval
	for i := range approvals {
		if isOfRelease(&approvals[i].Spec, workload) {
			own = append(own, approvals[i])
		}
	}
	return own
}

// recordedApprovals returns the newest decisions of approvers, oldest first.
func recordedApprovals(approvals []appv1alpha1.ChangeApproval) []appv1alpha1.RecordedApproval {
	var decisions []appv1alpha1.RecordedApproval
	for i := range approvals {
		spec := &approvals[i].Spec
		decisions = append(decisions, appv1alpha1.RecordedApproval{
			User: Shorten(spec.ApprovedBy, appv1alpha1.MaxRecordedText), Decision: cmp.Or(spec.Decision, appv1alpha1.DecisionApprove),
			Reason: Shorten(spec.Reason, appv1alpha1.MaxRecordedText), Time: approvals[i].CreationTimestamp,
		})
	}
	slices.SortFunc(decisions, func(a, b appv1alpha1.RecordedApproval) int {
		return cmp.Or(a.Time.Compare(b.Time.Time), cmp.Compare(a.User, b.User))
	})
	return decisions[max(len(decisions)-appv1alpha1.MaxRecordedApprovals, 0):]
}

func recordedBypass(pass *appv1alpha1.BreakGlassPass) *appv1alpha1.RecordedBypass {
	if pass == nil {
		return nil
	}
	return &appv1alpha1.RecordedBypass{Name: pass.Name, User: pass.User, Overrides: pass.Overrides}
}

// longestBatch returns how long the longest check of a batch took, in seconds.
func longestBatch(batches []appv1alpha1.ChangePod) int64 {
	longest := int64(0)
	for i := range batches {
		batch := &batches[i]
		if batch.Status.Status == appv1alpha1.ChangePodExecuteDone && !batch.Spec.Order {
			longest = max(longest, batch.Status.UpdateTimeUnix-batch.Spec.CreateTimeUnix)
		}
	}
	return longest
}

func shortened(texts []string) []string {
	var short []string
	for _, text := range texts {
		short = append(short, Shorten(text, appv1alpha1.MaxRecordedText))
	}
	return short
}
