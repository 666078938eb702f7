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

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Judgement has the pods of a batch by their verdicts.
type Judgement struct {
	// Checking are pods whose check is not over.
	Checking []appv1alpha1.PodSummary
	// Passed are pods that passed, or that were not checked.
	Passed []appv1alpha1.PodSummary
	// Failed are pods with the verdict unpass.
	Failed []appv1alpha1.PodSummary
	// Unknown are those of Failed that are not in the batch.
	Unknown []appv1alpha1.PodSummary
}

// Judge returns the pods of a batch by their verdicts. An unpass counts at once, also if a user wrote it and if its pod is not in the
// batch: a mistyped name must not let a release pass. Nothing else fails a pod.
func Judge(changePod *appv1alpha1.ChangePod) Judgement {
	var unpassed map[string]appv1alpha1.PodSummary // nearly every batch has none
	for _, result := range changePod.Status.PodResults {
		if result.Verdict != appv1alpha1.VerdictUnpass {
			continue
		}
		if unpassed == nil {
			unpassed = map[string]appv1alpha1.PodSummary{}
		}
		unpassed[result.Pod] = result
	}
	var judgement Judgement
	for _, pod := range CheckedBy(changePod) {
		result, failed := unpassed[pod.Pod]
		switch {
		case failed && isSame(result.UID, pod.UID):
			pod.Verdict, pod.Message = result.Verdict, result.Message
			judgement.Failed = append(judgement.Failed, pod)
			delete(unpassed, pod.Pod)
		case changePod.Status.Status == appv1alpha1.ChangePodExecuteDone:
			judgement.Passed = append(judgement.Passed, pod)
		default:
			judgement.Checking = append(judgement.Checking, pod)
		}
	}
	for _, result := range changePod.Status.PodResults {
		if _, unknown := unpassed[result.Pod]; unknown && result.Verdict == appv1alpha1.VerdictUnpass {
			judgement.Failed = append(judgement.Failed, result)
			judgement.Unknown = append(judgement.Unknown, result)
			delete(unpassed, result.Pod)
		}
	}
	return judgement
}

// FailureArrived returns the arrival of the last verdict that failed one of these batches of a release, zero where no verifier gave one.
func FailureArrived(status *appv1alpha1.ChangeWorkloadStatus, batches []appv1alpha1.ChangePod) time.Time {
	var arrived time.Time
	for i := range batches {
		batch := &batches[i]
		if at := batch.Status.VerdictTime; at != nil && at.After(arrived) && (len(Judge(batch).Failed) > 0 || failedByServer(status, batch)) {
			arrived = at.Time
		}
	}
	return arrived
}
