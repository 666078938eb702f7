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
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
// Looks whether a StatefulSet that runs the pods of a declared kind has its next release, before pods of the superseded one are replaced.
// +kubebuilder:rbac:groups=apps,resources=statefulsets,verbs=get

// returnWait is the time after which pods at gates of a superseded release are looked at again that come back with another revision once their
// StatefulSet has it. The cache may not hold that, and so there may be no event.
const returnWait = 5 * time.Second

// opensSuperseded reports whether the record of a release that is superseded opens the gates of its pods: it was rolled out in steps, or it
// wasn't, but its template may have the gate label from an earlier release of the version that was.
func opensSuperseded(record *appv1alpha1.ChangeWorkload) bool {
	paced := decide.StoredPace(record)
	return record.Status.Pace != nil || paced != nil && paced.Status == metav1.ConditionFalse && paced.Reason != appv1alpha1.ReasonSuperseded
}

// observeSuperseded looks for closed gates of such a release: its pods serve until those of the next one replace them.
func (r *Reconciler) observeSuperseded(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) error {
	revisions, err := r.History.Revisions(ctx, result.kind, result.owner, record.Spec.Reversion)
	if err != nil {
		return err
	}
	for i := range revisions {
		if pods := &revisions[i].Pods; pods.Label == appv1alpha1.LabelVersion { // the kind shows the present release only
			revisions[i].Version, pods.Value = record.Spec.Reversion, record.Spec.Reversion
		}
	}
	waiting, err := r.observeGates(ctx, record, result, revisions)
	_, numbers := result.kind.(workload.Parker)
	if !numbers && slices.ContainsFunc(waiting, func(pod corev1.Pod) bool { return r.Kinds.Snapshot().NumberedBy(&pod) != nil }) {
		result.finishing = returnWait
	}
	return err
}

// observeGates looks for closed gates of the pods of a release: those of several revisions, if the template was changed without the
// webhooks. It returns the pods that wait at one. Pods of the version with other gates are from before the release: a controller that numbers its
// pods may replace none while some of them wait at a gate, and their record is that of the release.
func (r *Reconciler) observeGates(
	ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene, revisions []decide.Revision,
) (waiting []corev1.Pod, err error) {
	var of []decide.PodsOf
	var going time.Duration // until the next pod counts as lost, which no event shows
	stamped, unseen := decide.StampedRevision(revisions, record.Spec.Reversion)
	for _, revision := range revisions {
		if revision.Version != record.Spec.Reversion {
			continue
		}
		pods, err := index.PodsOf(ctx, r.Client, record.Namespace, revision.Pods)
		if err != nil {
			return nil, err
		}
		var gated []corev1.Pod
		for i := range pods {
			if isGated(pods[i]) {
				gated = append(gated, pods[i])
			}
		}
		if !unseen && isEarlier(revision, *stamped) {
			result.stray = append(result.stray, gated...)
			continue
		}
		of, waiting = append(of, revision.Pods), append(waiting, gated...)
		for i := range pods {
			going = decide.Sooner(going, decide.LostIn(&pods[i], result.now))
		}
	}
	if len(waiting) > 0 {
		result.gated, result.finishing = of, decide.Sooner(result.finishing, going)
	}
	return waiting, nil
}

// isEarlier reports whether a revision has the version of another one, and is from before it.
func isEarlier(revision, than decide.Revision) bool {
	return revision.Version == than.Version && revision.Number < than.Number
}

// observeStray looks for pods of StatefulSets at gates whose release has no record that could return them: the next one came too soon. It does so
// for the present release of a kind that shows no other.
func (r *Reconciler) observeStray(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene, of decide.PodsOf) error {
	if of.Label != appv1alpha1.LabelVersion || workload.LeverOf(result.kind) != appv1alpha1.LeverGates {
		return nil
	}
	of.Label = ""
	pods, err := index.PodsOf(ctx, r.Client, record.Namespace, of)
	for i := range pods {
		version := pods[i].Labels[appv1alpha1.LabelVersion]
		if decide.Gated(&pods[i]) == decide.GateUnstarted && version != record.Spec.Reversion && r.Kinds.Snapshot().NumberedBy(&pods[i]) != nil &&
			!slices.ContainsFunc(result.Others, func(other appv1alpha1.ChangeWorkload) bool {
				return other.Spec.Reversion == version && opensSuperseded(&other)
			}) {
			result.stray, result.finishing = append(result.stray, pods[i]), decide.Sooner(result.finishing, returnWait)
		}
	}
	return err
}

// returnStray returns such pods.
func (r *Reconciler) returnStray(ctx context.Context, record *appv1alpha1.ChangeWorkload, scene *scene) error {
	pods, err := r.replaceable(ctx, scene.stray)
	if err != nil || len(pods) == 0 {
		return err
	}
	return r.returnPods(ctx, record, pods, "an earlier release")
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
	surplus, err := r.surplus(ctx, scene, ordinals, pods, decision)
	if err != nil {
		return err
	}
	if len(surplus) > 0 {
		return r.returnPods(ctx, record, surplus, why)
	}
	coming := int32(0)
	if ordinals != nil && scene.Current {
		coming = ordinals.Coming(pods)
	}
	var failed []error
	opened := decide.PodsToOpen(pods, decision.Let, coming, decision.Passed, r.Clock.Now())
	for _, pod := range opened {
		failed = append(failed, podgate.Open(ctx, r.Client, pod, why, r.Agreed()))
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
	return len(s.gated) > 0 && (s.Superseded || s.Current && (decision.Let > 0 || numbered))
}

// surplus returns the pods at gates that are to come back with another revision, while no further pods of the release come. A workload that
// doesn't number its pods may have those of StatefulSets, which replace them by pods of the next release.
func (r *Reconciler) surplus(ctx context.Context, scene *scene, ordinals *decide.Ordinals, pods []corev1.Pod, decision decide.Decision) ([]*corev1.Pod, error) {
	switch {
	case scene.Current && !decision.Rest && decision.Let > 0:
		return nil, nil
	case ordinals != nil:
		return ordinals.PodsToReturn(pods), nil
	case scene.Current:
		return nil, nil
	}
	return r.replaceable(ctx, pods)
}

// replaceable returns the pods at gates that their StatefulSets replace by those of another revision.
func (r *Reconciler) replaceable(ctx context.Context, pods []corev1.Pod) ([]*corev1.Pod, error) {
	var found []*corev1.Pod
	known := map[types.UID]decide.Ordinals{}
	for i := range pods {
		owner := r.Kinds.Snapshot().NumberedBy(&pods[i])
		if owner == nil {
			continue
		}
		ordinals, isKnown := known[owner.UID]
		if !isKnown {
			var err error
			if ordinals, err = r.liveOrdinals(ctx, pods[i].Namespace, owner); err != nil {
				return nil, err
			}
			known[owner.UID] = ordinals
		}
		found = append(found, ordinals.PodsToReturn(pods[i:i+1])...)
	}
	return found, nil
}

// liveOrdinals returns how a controller on the API server replaces its pods, as one that has observed nothing if it is gone.
func (r *Reconciler) liveOrdinals(ctx context.Context, namespace string, owner *metav1.OwnerReference) (decide.Ordinals, error) {
	kind := r.Kinds.Snapshot().Of(owner)
	object, key := kind.New(), client.ObjectKey{Namespace: namespace, Name: owner.Name}
	if err := r.Live.Get(ctx, key, object); err != nil {
		return decide.Ordinals{}, client.IgnoreNotFound(fmt.Errorf("reading %s %s: %w", owner.Kind, key, err))
	}
	if object.GetUID() != owner.UID {
		return decide.Ordinals{}, nil
	}
	ordinals, _ := workload.OrdinalsOf(kind, object)
	return ordinals, nil
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
