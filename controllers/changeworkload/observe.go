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
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
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
	// stale reports whether the cache does not show all ChangePods yet, or the pods can't be listed again before finishing.
	stale bool
	// lost reports whether ChangePods are gone.
	lost bool
	// finish decides which pods have finished; finishing is the time until the next ready one does, 0 for none.
	finish    decide.FinishRule
	finishing time.Duration
}

// observe returns nil where the workload is gone: then the garbage collector removes the ChangeWorkload. Everything except the records
// comes from the cache, which is enough as workloadpatch.Apply writes to the workload at this release only.
func (r *Reconciler) observe(ctx context.Context, workload *appv1alpha1.ChangeWorkload, records records) (*scene, error) {
	result, err := r.ownerOf(ctx, workload)
	if err != nil || result == nil {
		return nil, err
	}
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
	release := decide.Release{Version: workload.Spec.Reversion, Number: workload.Spec.Release}
	present := result.present(workload, release)
	rollbacks := appv1alpha1.RollbacksOf(result.owner.GetAnnotations())
	result.RolledBack = decide.RollbackFrom(rollbacks, release)
	if made := decide.RollbackTo(rollbacks, release.Number); result.Current && made != nil {
		result.Unstamped = made.Unstamped
	}
	result.Kind, result.Rollout = result.kind.GroupVersionKind().Kind, result.kind.Rollout(result.owner)
	result.Hold = decide.HoldOf(result.owner, result.Paused, workload.Spec.Release)
	result.Parked = appv1alpha1.ParkOf(result.owner.GetAnnotations(), workload.Spec.Release)
	result.Suspended = decide.IsSuspended(result.owner)
	result.Trial = result.owner.GetAnnotations()[appv1alpha1.AnnotationTrial] == appv1alpha1.TrialTrue
	result.Refused = result.owner.GetAnnotations()[appv1alpha1.AnnotationRefused]
	result.Verifier = r.verifier()
	if err := r.observeBatches(ctx, workload, records, result); err != nil {
		return nil, err
	}
	if err := r.observeFreeze(ctx, workload, records, result); err != nil {
		return nil, err
	}
	if err := r.observeFirst(ctx, workload, result); err != nil {
		return nil, err
	}
	result.finish.Of = result.Rollout
	result.finish.Labelled = result.finish.Labelled && !result.Observed
	if result.Current {
		if err := r.observeProgress(ctx, workload, result); err != nil {
			return nil, err
		}
	}
	result.WentBack = !result.Current &&
		decide.WentBack(append(result.Others, *workload), present.Version)
	return result, nil
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
	for i := range changePods {
		result.highest = max(result.highest, decide.ChangePodNumber(changePods[i].Name))
		switch {
		case !metav1.IsControlledBy(&changePods[i], workload):
		case changePods[i].Spec.Release == workload.Spec.Release:
			result.Batches = append(result.Batches, changePods[i])
		case changePods[i].Spec.Release < workload.Spec.Release:
			result.earlier = append(result.earlier, changePods[i])
		}
	}
	result.Earlier = len(result.earlier) > 0
	result.LastNumber = max(r.numbers.raise(recordOf(workload), result.highest), workload.Status.LastChangePod)
	result.lost = int64(len(result.Batches)) < decide.NumbersGiven(workload, result.LastNumber)
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

// observeProgress observes what the workload shows of its release, and its finished units or pods.
func (r *Reconciler) observeProgress(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) error {
	health, reason := workload.HealthOf(result.kind, result.owner)
	if health == workload.HealthFailed {
		result.Fault = reason
	}
	lister, ok := result.kind.(workload.Lister)
	kind, observed := result.kind.(workload.Observed)
	switch {
	case observed && !ok:
		return r.listPods(ctx, kind, record, result)
	case !ok:
		return r.observePods(ctx, record, result)
	}
	complete := health == workload.HealthCurrent
	result.Finished = decide.FinishedUnits(lister.Units(result.owner), result.Batches, complete, r.Clock.Now())
	return nil
}

// observePods lists the finished pods of the release by the revision of this workload: another workload may have the same template and
// labels.
func (r *Reconciler) observePods(ctx context.Context, workload *appv1alpha1.ChangeWorkload, result *scene) error {
	revisions, err := result.kind.Revisions(ctx, r.Client, result.owner)
	if err != nil {
		return err
	}
	revision, unseen := decide.StampedRevision(revisions, workload.Spec.Reversion)
	if revision == nil {
		return nil
	}
	result.Unseen, result.Run = unseen, revision.Run
	pods, err := index.PodsOf(ctx, r.Client, workload.Namespace, revision.Pods)
	if err != nil {
		return err
	}
	if result.First != nil {
		for i := range pods {
			result.First.Of[pods[i].UID] = pods[i].Spec.NodeName
		}
	}
	if err := r.observeRun(ctx, *revision, pods, result); err != nil {
		return err
	}
	result.Finished, result.finishing = decide.FinishedPods(result.owner.GetName(), pods, result.Batches, result.finish, r.Clock.Now())
	return nil
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
	if threshold > 0 { // the annotation does not switch it on; the rollback controller reports an invalid one
		threshold, _ = decide.StuckAfter(result.owner.GetAnnotations(), threshold)
	}
	if threshold == 0 {
		return nil
	}
	patience := decide.Patience{Threshold: threshold, Batched: decide.BatchedPods(result.Batches)}
	result.Stuck = decide.FindStuck(run, pods, patience, r.Clock.Now())
	isSuspended := result.Paused && !result.Recurs // as a Job, which has no pods
	if result.Stuck.Next == 0 && (result.Stuck.Message != "" || len(pods) == 0 && !isSuspended) {
		result.Stuck.Next = threshold
	}
	return nil
}
