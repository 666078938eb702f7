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
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// scene is a release with all that a decision depends on.
type scene struct {
	decide.Observation
	kind workload.Kind
	// owner is the workload that was released.
	owner client.Object
	// earlier are the ChangePods of earlier releases of the version.
	earlier []appv1alpha1.ChangePod
	// highest is the highest number of a ChangePod.
	highest int64
	// newest reports whether this is the last recorded release of the workload.
	newest bool
	// stale reports whether the cache does not show all ChangePods yet, or the pods can't be listed again yet: unlisted is the time until they can.
	stale    bool
	unlisted time.Duration
	// lost reports whether ChangePods are gone.
	lost bool
	// revision is that of the release, nil if the cache shows none; pods are its pods.
	revision *decide.Revision
	pods     []corev1.Pod
	// unlabelled are pods of the release that lack its version label, which the operator sets.
	unlabelled []corev1.Pod
	// gated are the pods of the release, if the cache shows closed gates among them.
	gated []decide.PodsOf
	// stray are pods of earlier releases that wait at gates, and have no record that could return them.
	stray []corev1.Pod
	// finish decides which pods have finished; finishing is the time until the next ready one does, 0 for none.
	finish    decide.FinishRule
	finishing time.Duration
	// now is when all this was seen, and the time of the decision: what counts from some time on does so for both of them or for none.
	now time.Time
}

// observe returns nil where the workload is gone: then the garbage collector removes the ChangeWorkload. Everything except the records
// comes from the cache, which is enough as workloadpatch.Apply writes to the workload at this release only.
func (r *Reconciler) observe(ctx context.Context, workload *appv1alpha1.ChangeWorkload, records records, now time.Time) (*scene, error) {
	result, err := r.ownerOf(ctx, workload)
	if err != nil || result == nil {
		return nil, err
	}
	result.now = now
	if err := r.observeControl(ctx, result); err != nil {
		return nil, err
	}
	if err := r.observeSettings(ctx, result); err != nil {
		return nil, err
	}
	others, err := records.others(ctx, result.kind, result.owner, workload)
	if err != nil {
		return nil, err
	}
	result.newest = decide.IsNewest(workload, others)
	result.Others, result.Observations = decide.SameMode(workload, others)
	release := decide.Recorded(workload)
	present := result.present(workload, release)
	result.read(release)
	result.Verifier = r.verifier()
	if err := r.observeBatches(ctx, workload, records, result); err != nil {
		return nil, err
	}
	if err := r.observeWaits(ctx, workload, records, result); err != nil {
		return nil, err
	}
	result.finish.Of = result.Rollout
	result.finish.Labelled = result.finish.Labelled && !result.Observed
	if err := r.observeProgress(ctx, workload, result); err != nil {
		return nil, err
	}
	if err := r.observeVerification(ctx, workload, result); err != nil {
		return nil, err
	}
	result.WentBack = !result.Current &&
		decide.WentBack(append(result.Others, *workload), present.Version)
	return result, nil
}

// read sets what the workload itself shows of a release.
func (s *scene) read(release decide.Release) {
	annotations := s.owner.GetAnnotations()
	rollbacks := appv1alpha1.RollbacksOf(annotations)
	s.RolledBack = decide.RollbackFrom(rollbacks, release)
	if made := decide.RollbackTo(rollbacks, release.Number); s.Current && made != nil {
		s.Unstamped = made.Unstamped && made.To == release.Version // otherwise another webhook changed the template, which was stamped then
	}
	s.Kind, s.Rollout = s.kind.GroupVersionKind().Kind, s.kind.Rollout(s.owner)
	if pauser, pauses := s.kind.(workload.Pauser); !pauses || !s.Paused && len(pauser.Pause(s.owner)) == 0 {
		s.Rolling = false // it can't be stopped, as one of a declared kind without hold
	}
	s.Hold = decide.HoldOf(s.owner, s.Paused, release.Number)
	if ordinals, _ := workload.OrdinalsOf(s.kind, s.owner); !ordinals.IsRolledOut() {
		s.Parked = appv1alpha1.ParkOf(annotations, release.Number)
	}
	s.Suspended = decide.IsSuspended(s.owner)
	s.Trial = annotations[appv1alpha1.AnnotationTrial] == appv1alpha1.TrialTrue
	s.Refused = annotations[appv1alpha1.AnnotationRefused]
}

// observeWaits observes what the rollout may wait for.
func (r *Reconciler) observeWaits(ctx context.Context, workload *appv1alpha1.ChangeWorkload, records records, result *scene) error {
	if err := r.observeFreeze(ctx, workload, records, result); err != nil {
		return err
	}
	if err := r.observeFirst(ctx, workload, result); err != nil {
		return err
	}
	return r.observePace(ctx, workload, records, result)
}

// ownerOf returns a scene with the workload that was released, nil where that is gone or being deleted.
func (r *Reconciler) ownerOf(ctx context.Context, record *appv1alpha1.ChangeWorkload) (*scene, error) {
	reference := metav1.GetControllerOfNoCopy(record)
	if reference == nil {
		return nil, nil
	}
	kind := r.Kinds.Snapshot().Of(reference)
	if kind == nil {
		return nil, nil
	}
	found := &scene{kind: kind}
	if record.Spec.Observed {
		if err := r.observeMode(ctx, found); err != nil || found.NotEnforced {
			found.owner = there(found.kind, record, reference)
			return found, err
		}
	}
	owner := found.kind.New()
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: record.Namespace, Name: reference.Name}, owner)
	if apierrors.IsNotFound(err) || err == nil && (owner.GetUID() != reference.UID || owner.GetDeletionTimestamp() != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s %s/%s: %w", reference.Kind, record.Namespace, reference.Name, err)
	}
	found.owner = owner
	return found, nil
}

// observeControl observes whether the workload is under change control, or still observed.
func (r *Reconciler) observeControl(ctx context.Context, result *scene) error {
	if !result.Observed {
		enforced, err := workload.Enforced(ctx, r.Client, result.kind)
		if err != nil {
			return err
		}
		result.NotEnforced = !enforced
	}
	if result.NotEnforced {
		return nil
	}
	var err error
	result.OptedIn, err = scope.OptedIn(ctx, r.Client, result.owner.GetNamespace())
	return err
}

func (r *Reconciler) observeSettings(ctx context.Context, result *scene) (err error) {
	if result.Blocking, err = r.Settings.Blocking(ctx); err != nil {
		return err
	}
	if result.Templates, err = r.Settings.Templates(ctx); err != nil {
		return err
	}
	if result.finish.Labelled, err = r.Settings.LabelsFinished(ctx); err != nil {
		return err
	}
	result.Records, err = r.Settings.Records(ctx)
	return err
}

// observeBatches reads the ChangePods of the release and the highest number so far. ChangePods of an earlier object of the same name
// count for the number only.
func (r *Reconciler) observeBatches(ctx context.Context, workload *appv1alpha1.ChangeWorkload, records records, result *scene) error {
	changePods, err := records.batches(ctx, result.kind, workload)
	if err != nil {
		return err
	}
	present := int64(0)
	for i := range changePods {
		changePod := &changePods[i]
		result.highest = max(result.highest, decide.ChangePodNumber(changePod.Name))
		switch {
		case !metav1.IsControlledBy(changePod, workload):
		case changePod.Spec.Release == workload.Spec.Release && changePod.Spec.Order:
			result.OrderCheck = changePod
			present++
		case changePod.Spec.Release == workload.Spec.Release:
			result.Batches = append(result.Batches, *changePod)
			present++
		case changePod.Spec.Release < workload.Spec.Release:
			result.earlier = append(result.earlier, *changePod)
		}
	}
	result.Earlier = len(result.earlier) > 0
	result.LastNumber = max(r.numbers.raise(recordOf(workload), result.highest), workload.Status.LastChangePod)
	result.lost = present < decide.NumbersGiven(workload, result.LastNumber)
	return nil
}

// cacheLag is how long the cache may take to show a new ChangePod before a live read.
const cacheLag = time.Second

// isStale reports whether the cache lags behind the operator's own writes. Otherwise a user deleted a missing ChangePod.
func (r *Reconciler) isStale(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene) (bool, error) {
	if scene.highest == scene.LastNumber || decide.NumbersGiven(workload, scene.LastNumber) == 0 {
		return false, nil
	}
	if opened := r.numbers.opened(recordOf(workload), scene.LastNumber); !opened.IsZero() && r.Clock.Since(opened) < cacheLag {
		return true, nil
	}
	newest := client.ObjectKey{Namespace: workload.Namespace, Name: decide.ChangePodName(workload.Name, scene.LastNumber)}
	err := r.Live.Get(ctx, newest, &appv1alpha1.ChangePod{})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ChangePod %s: %w", newest, err)
	}
	return err == nil, nil
}

// present observes whether the workload is at the release, and returns the release that it is at.
func (s *scene) present(record *appv1alpha1.ChangeWorkload, release decide.Release) decide.Release {
	kind, observed := s.kind.(workload.Observed)
	if !observed {
		present := decide.ReleaseOf(s.owner)
		s.Current, s.Superseded = present == release, present.Number > release.Number
		return present
	}
	present := decide.Release{Version: kind.Sighting(s.owner).Version}
	s.Superseded = !s.newest || s.NotEnforced
	s.Current = !s.Superseded && (present.Version == release.Version || present.Version == "")
	if s.Current {
		s.owner = kind.At(s.owner, release, time.Unix(record.Spec.CreateTimeUnix, 0))
	}
	return present
}
