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

package runnable

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/rollback"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

func (r *Rollback) observe(ctx context.Context, object client.Object) (Observation, error) {
	seen := Observation{
		Release:     decide.ReleaseOf(object),
		Requested:   object.GetAnnotations()[appv1alpha1.AnnotationRollback],
		RequestedBy: object.GetAnnotations()[appv1alpha1.AnnotationRollbackBy],
		Rollbacks:   appv1alpha1.RollbacksOf(object.GetAnnotations()),
	}
	var err error
	seen.OptedIn, err = scope.Controlled(ctx, r.Client, r.Kind, object.GetNamespace())
	if seen.OptedIn = seen.OptedIn && workload.Controls(r.Kind, object); err != nil {
		return seen, err
	}
	if err := r.observeSettings(ctx, object, &seen); err != nil {
		return seen, err
	}
	workloads, err := index.ChangeWorkloadsOf(ctx, r.Client, object.GetNamespace(), object.GetUID())
	if err != nil {
		return seen, err
	}
	for i := range workloads {
		workload := &workloads[i]
		if workload.Spec.Reversion != seen.Release.Version || workload.Spec.Release != seen.Release.Number {
			continue
		}
		seen.Verified = decide.IsSettled(workload)
		seen.Turn = rollback.TurnOf(workload) != nil
		seen.Over = seen.Verified && !r.Kind.Rollout(object).Rolling
		if workload.Status.Status == appv1alpha1.ChangeWorkloadSuspend && decide.IsSuspended(object) {
			seen.Failures = decide.FailureOf(&workload.Status)
		}
	}
	if err := r.observeOrdinals(ctx, object, &seen); err != nil {
		return seen, err
	}
	if !seen.OptedIn || seen.Over || seen.Patience.Threshold == 0 {
		r.stops.forget(client.ObjectKeyFromObject(object))
		return seen, nil
	}
	err = r.observePods(ctx, object, workloads, &seen)
	return seen, err
}

func (r *Rollback) observeSettings(ctx context.Context, object client.Object, seen *Observation) (err error) {
	if seen.OnSuspension, err = r.Settings.RollsBackSuspended(ctx); err != nil {
		return err
	}
	if _, ok := r.Kind.(workload.Parker); ok {
		if seen.ParksSuspended, err = r.Settings.ParksSuspended(ctx); err != nil {
			return err
		}
	}
	threshold, err := r.Settings.StuckThreshold(ctx)
	if err != nil {
		return err
	}
	policy, err := pace.Reader{Namespaces: r.Client, Policies: r.Client, Namespace: r.Settings.Namespace}.Of(ctx, r.Kind, object)
	if err != nil {
		return err
	}
	policy, seen.PolicyLeft = r.policies.note(object, policy, r.Clock.Now())
	seen.Patience.Threshold, seen.Unusable = decide.PolicyStuckAfter(policy, object.GetAnnotations(), threshold)
	seen.Patience.Since = r.Contact.AgreedSince()
	return nil
}

// observePods judges the pods of the release, by the revision of this workload.
func (r *Rollback) observePods(ctx context.Context, object client.Object, workloads []appv1alpha1.ChangeWorkload, seen *Observation) error {
	revisions, err := r.History.Revisions(ctx, r.Kind, object, seen.Release.Version)
	if err != nil {
		return err
	}
	revision, unseen := decide.StampedRevision(revisions, seen.Release.Version)
	if revision == nil || unseen {
		return nil
	}
	pods, err := index.PodsOf(ctx, r.Client, object.GetNamespace(), revision.Pods)
	if err != nil {
		return err
	}
	batches, err := index.ChangePodsOf(ctx, r.Client, object.GetNamespace(), workload.RecordName(r.Kind, object.GetName(), seen.Release.Version))
	if err != nil {
		return err
	}
	now := r.Contact.Agreed()
	seen.Patience.Batched = decide.BatchedPods(batches)
	seen.Patience.Stopped = r.stops.note(client.ObjectKeyFromObject(object), pods, seen.Patience.Threshold, now)
	past := decide.Past{Release: seen.Release, Workloads: workloads, Rollbacks: seen.Rollbacks}
	seen.WayBack = past.HealthyOlder(revisions, r.Clock.Now()) != nil
	seen.Stuck = decide.FindStuck(*revision, pods, seen.Patience, now)
	return nil
}

// observeOrdinals looks in the cache for pods that are to be deleted: those of a parked release, and those that keep an ordered rollout
// from going on. Pods become unready without an event that brings a decision.
func (r *Rollback) observeOrdinals(ctx context.Context, object client.Object, seen *Observation) error {
	ordinals, ok := workload.OrdinalsOf(r.Kind, object)
	if !ok || !seen.OptedIn {
		return nil
	}
	rollout := r.Kind.Rollout(object)
	held := decide.HoldOf(object, rollout.Paused, seen.Release.Number) == decide.Held
	seen.Parked = held && !ordinals.IsRolledOut() && appv1alpha1.ParkOf(object.GetAnnotations(), seen.Release.Number) != nil
	unsticks, err := r.Settings.Unsticks(ctx)
	if err != nil {
		return err
	}
	unsticks = unsticks && ordinals.Ordered && rollout.Rolling && !seen.Over && seen.Patience.Threshold > 0
	if !seen.Parked && !unsticks {
		return nil
	}
	pods, err := index.PodsOf(ctx, r.Client, object.GetNamespace(), decide.PodsOf{Owner: object.GetUID()})
	if err != nil {
		return err
	}
	if seen.Parked {
		seen.Remaining = slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return ordinals.IsBehind(&pod) })
		return nil
	}
	seen.Blocked, seen.Unblock = ordinals.StuckWait(pods, seen.Failures != "", seen.Patience, r.Contact.Agreed())
	seen.Unblock = decide.Sooner(seen.Unblock, obstacleTime)
	return nil
}
