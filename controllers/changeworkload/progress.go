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

package changeworkload

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// observeProgress observes what the workload shows of its release, and its finished units or pods. Of a release that is superseded, it
// looks for closed gates only.
func (r *Reconciler) observeProgress(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) error {
	switch {
	case result.Current:
	case result.Superseded && opensSuperseded(record):
		return r.observeSuperseded(ctx, record, result)
	default:
		return nil
	}
	health, reason := workload.HealthOf(result.kind, result.owner)
	if health == workload.HealthFailed {
		result.Fault = reason
	}
	result.Behind = workload.IsBehind(result.owner)
	lister, ok := result.kind.(workload.Lister)
	kind, observed := result.kind.(workload.Observed)
	switch {
	case observed && !ok:
		return r.listPods(ctx, kind, record, result)
	case !ok:
		return r.observePods(ctx, record, result)
	}
	complete := health == workload.HealthCurrent
	result.Finished = decide.FinishedUnits(lister.Units(result.owner), result.Batches, complete, result.now)
	return nil
}

// observePods lists the finished pods of the release by the revision of this workload: another workload may have the same template and
// labels.
func (r *Reconciler) observePods(ctx context.Context, workload *appv1alpha1.ChangeWorkload, result *scene) error {
	revisions, err := r.History.Revisions(ctx, result.kind, result.owner, workload.Spec.Reversion)
	if err != nil {
		return err
	}
	revision, unseen := decide.StampedRevision(revisions, workload.Spec.Reversion)
	if revision == nil {
		return nil
	}
	result.revision, result.Unseen, result.Run = revision, unseen, revision.Run
	pods, err := index.PodsOf(ctx, r.Client, workload.Namespace, revision.Pods)
	if err != nil {
		return err
	}
	result.pods = pods
	if result.First != nil {
		for i := range pods {
			result.First.Of[pods[i].UID] = pods[i].Spec.NodeName
		}
	}
	hasOthers := slices.ContainsFunc(revisions, func(other decide.Revision) bool { return isEarlier(other, *revision) })
	if unseen || hasOthers || slices.ContainsFunc(pods, isGated) {
		if _, err := r.observeGates(ctx, workload, result, revisions); err != nil {
			return err
		}
	}
	if err := r.observeRun(ctx, *revision, pods, result); err != nil {
		return err
	}
	r.observeFinished(pods, result)
	if err := r.observeStray(ctx, workload, result, revision.Pods); err != nil {
		return err
	}
	return r.observeUnlabelled(ctx, workload, result)
}

// observeFinished observes which pods of the release have finished. Those of a run may have been removed since they succeeded.
func (r *Reconciler) observeFinished(pods []corev1.Pod, result *scene) {
	finished, finishing := decide.FinishedPods(result.owner.GetName(), pods, result.Batches, result.finish, result.now)
	result.Finished, result.finishing = finished, decide.Sooner(result.finishing, finishing)
	if result.Run == nil {
		return
	}
	for i := range pods {
		if decide.HasSucceeded(&pods[i]) {
			result.Run.There++
		}
	}
}

// observeRun looks for pods of a run that don't start. No event shows that their time is over.
func (r *Reconciler) observeRun(ctx context.Context, run decide.Revision, pods []corev1.Pod, result *scene) error {
	if run.Run == nil || run.Run.Complete || run.Run.Failure != nil {
		return nil
	}
	threshold, err := r.Settings.StuckThreshold(ctx)
	if err != nil {
		return err
	}
	// The rollback controller reports an invalid annotation.
	threshold, _ = decide.PolicyStuckAfter(result.Pace.Policy, result.owner.GetAnnotations(), threshold)
	if threshold == 0 {
		return nil
	}
	patience := decide.Patience{Threshold: threshold, Batched: decide.BatchedPods(result.Batches)}
	result.Stuck = decide.FindStuck(run, pods, patience, r.Agreed())
	isSuspended := result.Paused && !result.Recurs // as a Job, which has no pods
	if result.Stuck.Next == 0 && (result.Stuck.Message != "" || len(pods) == 0 && !isSuspended) {
		result.Stuck.Next = threshold
	}
	return nil
}
