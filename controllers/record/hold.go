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

package record

import (
	"context"
	"errors"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/freeze"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/podgate"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
)

// leave lets the rollout of a release go on that is held or paced and left change control while it has no record: before it was recorded, or since
// its record was removed. A recorded release is left to the ChangeWorkload reconciler. That of an observed one holds nothing.
func (r *Reconciler) leave(ctx context.Context, owner client.Object, release decide.Release) error {
	if !startsSteered(owner, release) && !workloadpatch.IsHeld(owner) {
		return nil
	}
	known, err := r.find(ctx, owner, release.Version)
	if err != nil || known != nil && known.Spec.Release == release.Number && !known.Spec.Observed && metav1.IsControlledBy(known, owner) {
		return err
	}
	left, err := scope.LeftControl(ctx, r.Live, r.Kind, owner.GetNamespace()) // a resumed rollout is irreversible
	if err != nil || !left {
		return err
	}
	return r.letGo(ctx, owner, release, "it left change control")
}

// startsSteered reports whether the webhook may have paused the rollout of a release, or paces it.
func startsSteered(owner client.Object, release decide.Release) bool {
	return decide.StartsHeld(owner.GetAnnotations(), release.Number) || appv1alpha1.PacedOf(owner.GetAnnotations(), release.Number) != nil
}

// letGo ends the hold of a release, and its pace. The mark of a hold that a user has ended goes as well: later, it would make the pause of a user
// one of the operator.
func (r *Reconciler) letGo(ctx context.Context, owner client.Object, release decide.Release, cause string) error {
	annotations := owner.GetAnnotations()
	paced := appv1alpha1.PacedOf(annotations, release.Number) != nil
	if paced {
		if err := r.openGates(ctx, owner, release, cause); err != nil {
			return err
		}
	}
	change := workloadpatch.LetGo(r.Kind, owner)
	written, err := workloadpatch.Apply(ctx, r.Client, r.Live, r.Kind, owner, change)
	switch {
	case written && appv1alpha1.FrozenOf(annotations, release.Number) != nil:
		r.Recorder.Record(events.FreezeLeft(owner, release, cause))
	case written && paced:
		r.Recorder.Record(events.StepsLeft(owner, release, cause))
	case written && change.Resume && decide.StartsOnFirstNodes(annotations, release.Number):
		r.Recorder.Record(events.FirstNodesSkipped(owner, release, cause))
	case written && change.Resume:
		r.Recorder.Record(events.HoldLeft(owner, release, cause))
	}
	return err
}

// openGates opens the gates of the pods of a release: those of several revisions, if the template was changed without the webhooks. No other attempt
// need follow, so the API server doesn't answer from its cache.
func (r *Reconciler) openGates(ctx context.Context, owner client.Object, release decide.Release, cause string) error {
	revisions, err := r.Kind.Revisions(ctx, r.Client, owner)
	if err != nil {
		return err
	}
	revisions = slices.DeleteFunc(revisions, func(revision decide.Revision) bool { return revision.Version != release.Version })
	if len(revisions) == 0 {
		return nil
	}
	pods, err := index.LivePodsOfVersion(ctx, r.Live, owner.GetNamespace(), release.Version)
	if err != nil {
		return err
	}
	var failed []error
	for i := range pods {
		pod := &pods[i]
		if slices.ContainsFunc(revisions, func(revision decide.Revision) bool { return revision.Pods.Match(pod) }) {
			failed = append(failed, podgate.Open(ctx, r.Client, pod, cause, r.Agreed()))
		}
	}
	return errors.Join(failed...)
}

// unrecorded lets a release go on whose record is denied: without one, nothing else would. A freeze that is on still holds it.
func (r *Reconciler) unrecorded(ctx context.Context, owner client.Object, release decide.Release) error {
	if of := freeze.ReleaseOf(owner.GetAnnotations(), release.Number); of.Parked != nil {
		found, err := freeze.Reader{Namespaces: r.Client, Freezes: r.Live, Namespace: r.Settings.Namespace}.Of(ctx, r.Kind, owner, r.Clock.Now())
		if err != nil || of.InForce(found) != nil {
			return err
		}
	}
	const cause = "it can't be recorded"
	switch {
	case !startsSteered(owner, release): // it goes on, but its further pods come with the gates of its template, too
		return r.openGates(ctx, owner, release, cause)
	case appv1alpha1.PacedOf(owner.GetAnnotations(), release.Number) == nil && !r.Kind.Rollout(owner).Paused:
		return nil
	}
	return r.letGo(ctx, owner, release, cause)
}
