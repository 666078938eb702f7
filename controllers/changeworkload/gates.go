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
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/podgate"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Lists the pods of a paced release on the API server before more of them run.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// observeSuperseded looks for closed gates of a release that was rolled out in steps: its pods serve until those of the next one replace
// them.
func (r *Reconciler) observeSuperseded(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) error {
	revisions, err := result.kind.Revisions(ctx, r.Client, result.owner)
	if err != nil {
		return err
	}
	return r.observeGates(ctx, record, result, revisions)
}

// observeGates looks for closed gates of the pods of a release: those of several revisions, if the template was changed without the
// webhooks.
func (r *Reconciler) observeGates(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene, revisions []decide.Revision) error {
	var of []decide.PodsOf
	closed := false
	for _, revision := range revisions {
		if revision.Version != record.Spec.Reversion {
			continue
		}
		pods, err := index.PodsOf(ctx, r.Client, record.Namespace, revision.Pods)
		if err != nil {
			return err
		}
		of, closed = append(of, revision.Pods), closed || slices.ContainsFunc(pods, isGated)
	}
	if closed {
		result.gated = of
	}
	return nil
}

func isGated(pod corev1.Pod) bool { return decide.Gated(&pod) != decide.GateOpen }

// openGates opens as many gates of a release as decided. An open gate can't be closed, so the workload and its pods are read from the API
// server: no more pods run than decided, not even beside those that are being deleted.
func (r *Reconciler) openGates(ctx context.Context, record *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) error {
	if !scene.mayHaveToOpen(decision) {
		return nil
	}
	ordinals, may, err := r.mayOpen(ctx, record, scene)
	if err != nil || !may {
		return err
	}
	if ordinals != nil && !ordinals.Observed && decision.Let != decide.LetAll {
		return nil // the controller may replace more pods than the partition lets it now; its next status brings the next decision
	}
	pods, err := r.livePods(ctx, record, scene.gated)
	if err != nil {
		return err
	}
	why := whyOpened(record)
	if surplus := scene.surplus(ordinals, pods, decision); len(surplus) > 0 {
		return r.returnPods(ctx, record, surplus, why)
	}
	coming := int32(0)
	if ordinals != nil && scene.Current {
		coming = ordinals.Coming(pods)
	}
	var failed []error
	opened := decide.PodsToOpen(pods, decision.Let, coming, decision.Passed)
	for _, pod := range opened {
		failed = append(failed, podgate.Open(ctx, r.Client, pod, why, r.Clock.Now()))
	}
	if len(opened) > 0 {
		ctrl.LoggerFrom(ctx).Info("Gates opened", append(events.Of(record, "GatesOpened"), "pods", len(opened))...)
	}
	return errors.Join(failed...)
}

// whyOpened describes the step of a release to users.
func whyOpened(record *appv1alpha1.ChangeWorkload) string {
	why := fmt.Sprintf("release %d", record.Spec.Release)
	if paced := record.Status.Pace; paced != nil {
		why += ", step " + paced.Progress
	}
	return why
}

// mayHaveToOpen reports whether gates are closed that are to be opened, or whose pods may be surplus.
func (s *scene) mayHaveToOpen(decision decide.Decision) bool {
	_, numbered := workload.OrdinalsOf(s.kind, s.owner)
	return len(s.gated) > 0 && (s.Current || s.Superseded) && (decision.Let > 0 || numbered)
}

// surplus returns the pods at gates that are to come back with another revision, while no further pods of the release come.
func (s *scene) surplus(ordinals *decide.Ordinals, pods []corev1.Pod, decision decide.Decision) []*corev1.Pod {
	if ordinals == nil || s.Current && !decision.Rest && decision.Let > 0 {
		return nil
	}
	return ordinals.PodsToReturn(pods)
}

// returnPods has pods that wait at gates replaced by others.
func (r *Reconciler) returnPods(ctx context.Context, record *appv1alpha1.ChangeWorkload, pods []*corev1.Pod, why string) error {
	var failed []error
	for _, pod := range pods {
		failed = append(failed, podgate.Return(ctx, r.Client, pod, why))
	}
	ctrl.LoggerFrom(ctx).Info("Pods beyond the step returned", append(events.Of(record, "PodsReturned"), "pods", len(pods))...)
	return errors.Join(failed...)
}

// mayOpen reports whether the API server has the workload as the decision was made for it: at this release, paced as the cache shows, and
// in or out of change control. It returns how its pods are replaced, nil if they have no ordinals.
func (r *Reconciler) mayOpen(ctx context.Context, record *appv1alpha1.ChangeWorkload, scene *scene) (*decide.Ordinals, bool, error) {
	present, key := scene.kind.New(), client.ObjectKeyFromObject(scene.owner)
	if err := r.Live.Get(ctx, key, present); err != nil {
		return nil, false, client.IgnoreNotFound(fmt.Errorf("reading %s %s: %w", scene.Kind, key, err))
	}
	release := record.Spec.Release
	marked := appv1alpha1.PacedOf(present.GetAnnotations(), release) != nil
	if present.GetUID() != scene.owner.GetUID() || decide.ReleaseOf(present) != decide.ReleaseOf(scene.owner) ||
		marked != (appv1alpha1.PacedOf(scene.owner.GetAnnotations(), release) != nil) {
		return nil, false, nil // its event brings the next decision
	}
	if marked && workloadpatch.IsHeld(present) && !workloadpatch.IsHeld(scene.owner) {
		return nil, false, nil // a pod failed meanwhile, or a freeze began
	}
	var ordinals *decide.Ordinals
	if known, ok := workload.OrdinalsOf(scene.kind, present); ok {
		ordinals = &known
	}
	if scene.OptedIn {
		return ordinals, true, nil
	}
	left, err := scope.LeftControl(ctx, r.Live, scene.kind, record.Namespace)
	return ordinals, left, err
}

// livePods lists the pods of a release on the API server, which doesn't answer from its cache.
func (r *Reconciler) livePods(ctx context.Context, record *appv1alpha1.ChangeWorkload, of []decide.PodsOf) ([]corev1.Pod, error) {
	pods, err := index.LivePodsOfVersion(ctx, r.Live, record.Namespace, record.Spec.Reversion)
	return slices.DeleteFunc(pods, func(pod corev1.Pod) bool {
		return !slices.ContainsFunc(of, func(revision decide.PodsOf) bool { return revision.Match(&pod) })
	}), err
}
