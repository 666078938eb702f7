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

package routers

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// maxParked is the number of verdicts that a ChangeWorkload keeps.
	maxParked = 100
	// parkedFor is the time for which they are kept.
	parkedFor = 10 * time.Minute
)

// await returns the ChangePod of a check. It waits for it, as the server may call back before the ID of the check is saved, but not
// after the caller is gone. It returns nil if the ChangePod doesn't appear in time.
func (c *callbacks) await(ctx context.Context, check string, within time.Duration, gone <-chan struct{}) (*appv1alpha1.ChangePod, error) {
	arrived, forget := c.arrivals.expect(check)
	defer forget()
	// This read comes second, so that no ChangePod is missed in between.
	changePod, err := index.ChangePodByCheck(ctx, c.client, check)
	if changePod != nil || err != nil {
		return changePod, err
	}
	waiting, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	select {
	case <-arrived:
		return index.ChangePodByCheck(ctx, c.client, check)
	case <-gone:
	case <-waiting.Done():
	}
	return nil, nil
}

// apply writes a verdict to the status of its ChangePod.
func (c *callbacks) apply(ctx context.Context, changePod *appv1alpha1.ChangePod, delivery verifier.Delivery) outcome {
	key := client.ObjectKeyFromObject(changePod)
	var applied bool
	var err error
	if decide.Awaits(changePod, delivery.Stage) {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		applied, err = c.write(attempt, changePod, delivery)
		cancel()
	}
	if !applied && !scope.IsGone(err) {
		// The cache may lag.
		err = persist(ctx, func(ctx context.Context) error {
			current := &appv1alpha1.ChangePod{}
			if err := c.live.Get(ctx, key, current); err != nil {
				return err
			}
			var err error
			applied, err = c.write(ctx, current, delivery)
			return err
		})
	}
	switch {
	case scope.IgnoreGone(err) != nil:
		return notSaved(fmt.Errorf("writing the status of ChangePod %s: %w", key, err))
	case !applied:
		return taken(statusStale, key, "the verdict changes nothing: it is already known, or came too late")
	}
	c.metrics.decided(changePod.Spec.PodInfos, delivery, c.clock.Now())
	saved := taken(statusApplied, key, "the verdict is saved")
	release := decide.Release{Version: changePod.Labels[appv1alpha1.LabelVersion], Number: changePod.Spec.Release}
	kind, name := "Deployment", changePod.Labels[appv1alpha1.LabelDeploymentName]
	if name == "" {
		kind, name = "workload", changePod.Labels[appv1alpha1.LabelWorkload]
	}
	saved.about = append([]any{"namespace", key.Namespace}, events.Release(kind, name, release, "VerdictArrived")...)
	return saved
}

// write applies a verdict to the ChangePod as it was read. A conflict means that it has changed since.
func (c *callbacks) write(ctx context.Context, read *appv1alpha1.ChangePod, delivery verifier.Delivery) (applied bool, err error) {
	now := c.clock.Now()
	status, applies := decide.ApplyVerdict(read, delivery, now)
	if !applies {
		return false, nil
	}
	changed := read.DeepCopy()
	changed.Status = status
	if err := c.client.Status().Patch(ctx, changed, lockedMergeFrom(read)); err != nil {
		return false, err
	}
	c.tracer.Checked(ctx, c.client, read, changed, now)
	return true, nil
}

// park saves a verdict whose ChangePod is missing in the ChangeWorkload of its release, from which the ChangePod reconciler takes
// it.
func (c *callbacks) park(ctx context.Context, delivery verifier.Delivery) outcome {
	unknown := taken(statusUnknown, client.ObjectKey{}, "no ChangePod has the check "+delivery.CheckID)
	workload, err := index.ChangeWorkloadByOrder(ctx, c.client, delivery.Order)
	switch {
	case err != nil:
		return notSaved(err)
	case workload == nil:
		return unknown
	}
	key := client.ObjectKeyFromObject(workload)
	err = persist(ctx, func(ctx context.Context) error { return c.writeParked(ctx, key, delivery) })
	switch {
	case scope.IsGone(err):
		return unknown
	case err != nil:
		return notSaved(fmt.Errorf("parking a verdict in ChangeWorkload %s: %w", key, err))
	}
	// The reconciler may have saved the ID of the check without having seen the parked verdict.
	changePod, err := index.ChangePodByCheck(ctx, c.client, delivery.CheckID)
	if err == nil && changePod != nil {
		brief, cancel := context.WithTimeout(ctx, persistPause) // the verdict is saved anyway
		defer cancel()
		if applied := c.apply(brief, changePod, delivery); applied.status != statusFailed {
			return applied
		}
	}
	return taken(statusParked, key, "the verdict is kept until its ChangePod is known")
}

// writeParked adds a verdict to the parked ones of a ChangeWorkload. A conflict means that it has changed meanwhile.
func (c *callbacks) writeParked(ctx context.Context, key client.ObjectKey, delivery verifier.Delivery) error {
	workload := &appv1alpha1.ChangeWorkload{}
	if err := c.live.Get(ctx, key, workload); err != nil {
		return err
	}
	parked, added := withParked(workload.Status.EarlyVerdicts, delivery, c.clock.Now())
	if !added {
		return nil
	}
	changed := workload.DeepCopy()
	changed.Status.EarlyVerdicts = parked
	return c.client.Status().Patch(ctx, changed, lockedMergeFrom(workload))
}

// withParked adds a verdict that arrives now to the parked ones, unless there is one of the same check and stage. It drops expired
// ones, and beyond the maximum the oldest.
func withParked(kept []appv1alpha1.EarlyVerdict, delivery verifier.Delivery, now time.Time) (result []appv1alpha1.EarlyVerdict, added bool) {
	for _, early := range kept {
		if now.Sub(early.Time.Time) > parkedFor {
			continue
		}
		if early.ChangePodID == delivery.CheckID && early.Stage == delivery.Stage {
			return kept, false
		}
		result = append(result, early)
	}
	arrived := appv1alpha1.EarlyVerdict{
		ChangePodID: delivery.CheckID, Stage: delivery.Stage, Verdict: appv1alpha1.VerdictPass, Message: delivery.Verdict.Reason, Time: metav1.NewMicroTime(now),
	}
	if delivery.Verdict.Outcome == verifier.Fail {
		arrived.Verdict = appv1alpha1.VerdictUnpass
	}
	result = append(result, arrived)
	return result[max(len(result)-maxParked, 0):], true
}

// lockedMergeFrom returns a patch that fails if the object has changed since it was read.
func lockedMergeFrom(read client.Object) client.Patch {
	return client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})
}

const (
	// persistPause is the pause between two attempts to write.
	persistPause = 250 * time.Millisecond
	// attemptTimeout bounds an attempt if the API server doesn't answer.
	attemptTimeout = 5 * time.Second
)

// persist retries a write until it succeeds, its object is gone, or ctx has ended: the API server may be restarting. It retries
// sooner after a conflict.
func persist(ctx context.Context, write func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, persistPause, true, func(ctx context.Context) (done bool, err error) {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		last = retry.RetryOnConflict(conflictBackoff(), func() error { return write(attempt) })
		return last == nil || scope.IsGone(last), nil
	})
	if err != nil && last == nil {
		return err
	}
	return last
}

// conflictBackoff leaves time for other writers before the next attempt, about a third of a second in all.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Steps: 8, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5}
}
