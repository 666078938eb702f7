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
	"slices"

	"k8s.io/apimachinery/pkg/types"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// tally has the pods of a release by the progress of their check.
type tally struct {
	preparing, checking, passed, failed []appv1alpha1.PodSummary
	// claimed is the number of finished pods in batches, unchecked the number of pods that passed without a check.
	claimed, unchecked int
}

// count recounts the pods from the batches. A failed pod counts even if it is gone: deleting it must not lift a suspension. A passed pod
// counts only while it exists: its successor has to pass as well. unpassed are pods that failed a check and whose batches don't show it yet.
func count(seen Observation, unpassed []appv1alpha1.CheckedPod) tally {
	var result tally
	finished := seen.remaining()
	known := make(judged, len(finished))
	if seen.OrderCheck != nil {
		result.failed = Judge(seen.OrderCheck).Failed
	}
	for i := range seen.Batches {
		judgement := Judge(&seen.Batches[i])
		result.checking = append(result.checking, judgement.Checking...)
		result.failed = append(result.failed, judgement.Failed...)
		for _, pod := range judgement.Checking {
			known.note(pod, "", false)
		}
		_, unchecked := MissedCheck(&seen.Batches[i])
		for _, pod := range judgement.Passed {
			known.note(pod, appv1alpha1.VerdictPass, unchecked)
		}
		for _, pod := range judgement.Failed {
			known.note(pod, appv1alpha1.VerdictUnpass, false)
		}
	}
	for _, pod := range unpassed {
		summary := summaryOf(finished, pod)
		result.failed = append(result.failed, summary)
		if known.of(summary) != nil { // another one waits for its batch
			known.note(summary, appv1alpha1.VerdictUnpass, false)
		}
	}
	if len(unpassed) > 0 {
		result.checking = slices.DeleteFunc(result.checking, func(pod appv1alpha1.PodSummary) bool { return known.of(pod).verdict == appv1alpha1.VerdictUnpass })
	}
	for _, pod := range finished {
		entry := known.of(pod)
		if entry == nil {
			result.preparing = append(result.preparing, pod)
			continue
		}
		result.claimed++
		if entry.verdict == appv1alpha1.VerdictPass {
			result.passed = append(result.passed, pod)
			if entry.unchecked {
				result.unchecked++
			}
		}
	}
	if seen.Runs && result.claimed >= int(seen.Desired) {
		result.preparing = nil // of a later run
	}
	return result
}

// summaryOf returns the summary of a pod that failed a check.
func summaryOf(finished []appv1alpha1.PodSummary, pod appv1alpha1.CheckedPod) appv1alpha1.PodSummary {
	summary := appv1alpha1.PodSummary{Pod: pod.Pod, UID: pod.UID}
	if i := slices.IndexFunc(finished, func(other appv1alpha1.PodSummary) bool { return other.UID == pod.UID }); i >= 0 {
		summary = finished[i]
	}
	summary.Verdict, summary.Message = appv1alpha1.VerdictUnpass, pod.Message
	return summary
}

// isComplete reports whether all desired pods passed.
func (t tally) isComplete(desired int32) bool { return desired > 0 && len(t.passed) >= int(desired) }

// judged has the verdicts on pods in batches, by the names of the pods.
type judged map[string]judgedPod

type judgedPod struct {
	uid       types.UID
	verdict   appv1alpha1.Verdict // empty while the pod is being checked
	unchecked bool
	// before is the entry of an earlier pod of the name.
	before *judgedPod
}

// note adds the verdict of the next batch on a pod.
func (j judged) note(pod appv1alpha1.PodSummary, verdict appv1alpha1.Verdict, unchecked bool) {
	entry := judgedPod{uid: pod.UID, verdict: verdict, unchecked: unchecked}
	if last, present := j[pod.Pod]; present {
		entry.before = &last
	}
	j[pod.Pod] = entry
}

// of returns the last entry of a pod, nil where it is in no batch.
func (j judged) of(pod appv1alpha1.PodSummary) *judgedPod {
	last, present := j[pod.Pod]
	if !present {
		return nil
	}
	for entry := &last; entry != nil; entry = entry.before {
		if isSame(entry.uid, pod.UID) {
			return entry
		}
	}
	return nil
}

// isSame reports whether two pods of one name are the same, by their UIDs. Summaries of an operator before v0.2 have none, so that only
// the name counts.
func isSame(a, b types.UID) bool { return a == b || a == "" || b == "" }

// describeFailed sets only the failed pods in the status of a superseded release. The removal of its other pods is no result of its
// check.
func (t tally) describeFailed(status *appv1alpha1.ChangeWorkloadStatus) {
	room := appv1alpha1.MaxStatusPods
	status.DefenseCheckFailPods = take(t.failed, &room)
	status.Counts.Failed = int32(len(t.failed))
}

// describe sets the pods and counts of a status: failed pods first, and at most MaxStatusPods.
func (t tally) describe(status *appv1alpha1.ChangeWorkloadStatus, desired int32) {
	room := appv1alpha1.MaxStatusPods
	status.DefenseCheckFailPods = take(t.failed, &room)
	status.DefenseCheckingPods = take(t.checking, &room)
	status.DefensePreparingPods = take(t.preparing, &room)
	status.DefenseCheckPassPods = take(t.passed, &room)
	status.Counts = appv1alpha1.PodCounts{
		Desired:   desired,
		Preparing: int32(len(t.preparing)),
		Checking:  int32(len(t.checking)),
		Passed:    int32(len(t.passed)),
		Failed:    int32(len(t.failed)),
	}
}

func take(pods []appv1alpha1.PodSummary, room *int) []appv1alpha1.PodSummary {
	taken := pods[:min(len(pods), *room)]
	*room -= len(taken)
	return taken
}

func (t tally) progress(desired int32) string {
	return fmt.Sprintf("%d of %d pods passed, %d being checked, %d waiting for their batch",
		len(t.passed), desired, len(t.checking), len(t.preparing))
}

// success describes a verified release, with the pods that passed without a check.
func (t tally) success() string {
	if t.unchecked == 0 {
		return "every desired pod finished and passed"
	}
	return fmt.Sprintf("every desired pod finished and passed; %d of %d were not checked: kubectl get changepods -o wide shows why",
		t.unchecked, len(t.passed))
}

func (t tally) timeout(workload *appv1alpha1.ChangeWorkload, desired int32) string {
	return fmt.Sprintf("fewer than %d further pods finished within %d seconds; %s",
		workload.Spec.CountThreshold, workload.Spec.WaitTimeThreshold, t.progress(desired))
}
