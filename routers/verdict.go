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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

const (
	// maxParked is how many verdicts a ChangeWorkload keeps for later.
	maxParked = 100
	// parkedFor is how long they are kept.
	parkedFor = 10 * time.Minute
)

// await finds the ChangePod of a check. It gives it time to appear, as the server may call back before its answer that
// names the check was saved, but gives up when the caller is gone. It is nil where the ChangePod doesn't come.
func (c *callbacks) await(ctx context.Context, check string, gone <-chan struct{}) (*appv1alpha1.ChangePod, error) {
	arrived, forget := c.arrivals.expect(check)
	defer forget()
	// Looking comes second, or a ChangePod that arrives in between would be missed.
	changePod, err := index.ChangePodByCheck(ctx, c.client, check)
	if changePod != nil || err != nil {
		return changePod, err
	}
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case <-arrived:
		return index.ChangePodByCheck(ctx, c.client, check)
	case <-gone:
	case <-waiting.Done():
	}
	return nil, nil
}

// apply writes what a verdict makes of the status of its ChangePod.
func (c *callbacks) apply(ctx context.Context, changePod *appv1alpha1.ChangePod, delivery verifier.Delivery) outcome {
	key := client.ObjectKeyFromObject(changePod)
	var applied bool
	var err error
	if decide.Awaits(changePod, delivery.Stage) {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		applied, err = c.write(attempt, changePod, delivery)
		cancel()
	}
	if !applied && !apierrors.IsNotFound(err) {
		// What the cache shows may be out of date.
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
	case client.IgnoreNotFound(err) != nil:
		return notSaved(fmt.Errorf("writing the status of ChangePod %s: %w", key, err))
	case !applied:
		return taken(statusStale, key, "the verdict changes nothing: it is known already, or came too late")
	}
	c.metrics.decided(changePod.Spec.PodInfos, delivery, c.clock.Now())
	saved := taken(statusApplied, key, "the verdict is saved")
	release := decide.Release{Version: changePod.Labels[appv1alpha1.LabelVersion], Number: changePod.Spec.Release}
	saved.about = append([]any{"namespace", key.Namespace}, events.Release(changePod.Labels[appv1alpha1.LabelDeploymentName], release, "VerdictArrived")...)
	return saved
}

// write applies a verdict to the ChangePod as it was read; a conflict says that it has changed since.
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

// park keeps a verdict whose ChangePod is not there with the release that it belongs to. The ChangePod reconciler takes it
// from there.
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
	err = persist(ctx, func(ctx context.Context) error { return c.writeEarly(ctx, key, delivery) })
	switch {
	case apierrors.IsNotFound(err):
		return unknown
	case err != nil:
		return notSaved(fmt.Errorf("parking a verdict in ChangeWorkload %s: %w", key, err))
	}
	// The reconciler may have saved the check without having seen the parked verdict.
	changePod, err := index.ChangePodByCheck(ctx, c.client, delivery.CheckID)
	if err == nil && changePod != nil {
		brief, cancel := context.WithTimeout(ctx, persistPause) // it is safe where it is
		defer cancel()
		if applied := c.apply(brief, changePod, delivery); applied.status != statusFailed {
			return applied
		}
	}
	return taken(statusParked, key, "the verdict is kept until its ChangePod is known")
}

// writeEarly adds a verdict to those that a ChangeWorkload keeps; a conflict says that it has changed meanwhile.
func (c *callbacks) writeEarly(ctx context.Context, key client.ObjectKey, delivery verifier.Delivery) error {
	workload := &appv1alpha1.ChangeWorkload{}
	if err := c.live.Get(ctx, key, workload); err != nil {
		return err
	}
	parked, added := withEarly(workload.Status.EarlyVerdicts, delivery, c.clock.Now())
	if !added {
		return nil
	}
	changed := workload.DeepCopy()
	changed.Status.EarlyVerdicts = parked
	return c.client.Status().Patch(ctx, changed, lockedMergeFrom(workload))
}

// withEarly adds a verdict that arrives now to those that are kept, unless its check and stage has one. What is too old or
// too much goes, the oldest first.
func withEarly(kept []appv1alpha1.EarlyVerdict, delivery verifier.Delivery, now time.Time) (result []appv1alpha1.EarlyVerdict, added bool) {
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

// lockedMergeFrom is a patch that fails where somebody else has written since read was read.
func lockedMergeFrom(read client.Object) client.Patch {
	return client.MergeFromWithOptions(read, client.MergeFromWithOptimisticLock{})
}

const (
	// persistPause is between two attempts to save what the API server didn't take.
	persistPause = 250 * time.Millisecond
	// attemptTimeout ends an attempt that the API server doesn't answer.
	attemptTimeout = 5 * time.Second
)

// persist tries a write until it succeeds, its object is gone, or ctx has ended: the API server may be restarting. Conflicts
// are tried again sooner.
func persist(ctx context.Context, write func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, persistPause, true, func(ctx context.Context) (done bool, err error) {
		attempt, cancel := context.WithTimeout(ctx, attemptTimeout)
		defer cancel()
		last = retry.RetryOnConflict(conflictBackoff(), func() error { return write(attempt) })
		return last == nil || apierrors.IsNotFound(last), nil
	})
	if err != nil && last == nil {
		return err
	}
	return last
}

// conflictBackoff is how long others get to write before the next attempt, about a third of a second in all.
func conflictBackoff() wait.Backoff {
	return wait.Backoff{Steps: 8, Duration: 10 * time.Millisecond, Factor: 1.5, Jitter: 0.5}
}
