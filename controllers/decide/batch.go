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

// plan has the batches to open now, and the deadline of the next one.
type plan struct {
	batches [][]appv1alpha1.PodSummary
	// reachedThreshold reports whether enough pods finished for a batch, late whether the deadline has passed.
	reachedThreshold, late bool
	// timedOut reports whether the deadline passed before enough pods finished.
	timedOut bool
	// deadline is when the finished pods make a smaller batch, nil while no batch is expected.
	deadline *metav1.Time
}

// planBatches plans a batch for every countThreshold finished pods. The last batch of a release needs only the pods that are still
// missing, and at the deadline the finished pods make a smaller batch. While no pods are awaited, those that run are not checked.
func planBatches(deadline *metav1.Time, workload *appv1alpha1.ChangeWorkload, tally tally, seen Observation, now time.Time) plan {
	if seen.Desired <= 0 { // no step of the release has begun
		return plan{}
	}
	window := time.Duration(workload.Spec.WaitTimeThreshold) * time.Second
	due := latest(deadline, newestBatch(seen.Batches), window)
	result := plan{late: due != nil && !now.Before(due.Time)}
	waiting, missing := tally.preparing, int(seen.Desired)-tally.claimed
	size := max(int(workload.Spec.CountThreshold), 1)
	enough := size
	if seen.Runs { // its pods are checked once all have succeeded, also if one batch can't hold them
		enough = missing
	}
	for len(waiting) > 0 && len(waiting) >= min(enough, missing) {
		batch := waiting[:min(size, len(waiting))]
		result.batches = append(result.batches, split(batch, seen.Verifier.Fits)...)
		waiting, missing = waiting[len(batch):], missing-len(batch)
		result.reachedThreshold = true
	}
	// A paused workload creates no pods, so only pods that have finished already need a deadline. A run ends by itself, in its time.
	if missing <= 0 || seen.Runs || seen.Paused && len(waiting) == 0 {
		return result
	}
	if result.reachedThreshold {
		result.deadline = afterWindow(now, window)
		return result
	}
	if result.deadline = due; due == nil {
		result.deadline = afterWindow(now, window)
	}
	if !result.late {
		return result
	}
	result.timedOut = true
	if len(waiting) > 0 {
		result.batches = append(result.batches, split(waiting, seen.Verifier.Fits)...)
		result.deadline = afterWindow(now, window)
	}
	return result
}

// split divides pods into batches that each fit into one request to the verifier.
func split(pods []appv1alpha1.PodSummary, fits func([]appv1alpha1.PodSummary) int) [][]appv1alpha1.PodSummary {
	if fits == nil {
		return [][]appv1alpha1.PodSummary{pods}
	}
	var batches [][]appv1alpha1.PodSummary
	for len(pods) > 0 {
		size := max(fits(pods), 1)
		batches, pods = append(batches, pods[:size]), pods[size:]
	}
	return batches
}

// wait returns the time until the deadline, 0 where it has passed: then only another finished pod can change the plan.
func (p plan) wait(now time.Time) time.Duration {
	if p.deadline == nil {
		return 0
	}
	return max(p.deadline.Sub(now), 0)
}

// latest returns the stored deadline, extended by later batches: each starts the wait for the next.
func latest(stored *metav1.Time, newest time.Time, window time.Duration) *metav1.Time {
	if stored == nil {
		return nil
	}
	if byBatch := newest.Add(window); !newest.IsZero() && byBatch.After(stored.Time) {
		return &metav1.Time{Time: byBatch}
	}
	return stored
}

func newestBatch(batches []appv1alpha1.ChangePod) time.Time {
	var newest time.Time
	for i := range batches {
		if created := time.Unix(batches[i].Spec.CreateTimeUnix, 0); created.After(newest) {
			newest = created
		}
	}
	return newest
}

// afterWindow returns the end of a window from now, rounded up to the second: the API server stores whole seconds.
func afterWindow(now time.Time, window time.Duration) *metav1.Time {
	return &metav1.Time{Time: now.Add(window + time.Second - 1).Truncate(time.Second)}
}

// BatchOf returns the batch of a ChangePod for the verifier, given its release and the other ChangePods of the record.
func BatchOf(
	release verifier.Release, workload *appv1alpha1.ChangeWorkload, siblings []appv1alpha1.ChangePod, changePod *appv1alpha1.ChangePod,
) verifier.Batch {
	own, before, claimed := ChangePodNumber(changePod.Name), 0, len(changePod.Spec.PodInfos)
	for i := range siblings {
		if siblings[i].Spec.Release == changePod.Spec.Release && !siblings[i].Spec.Order && ChangePodNumber(siblings[i].Name) < own {
			before++
			claimed += len(siblings[i].Spec.PodInfos)
		}
	}
	size := max(int(workload.Spec.CountThreshold), 1)
	missing := max(int(workload.Status.Counts.Desired)-claimed, 0)
	return verifier.Batch{
		Release: release,
		Number:  before,
		Total:   before + 1 + (missing+size-1)/size,
		Last:    missing == 0,
		Pods:    changePod.Spec.PodInfos,
	}
}
