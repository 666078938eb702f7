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
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/platform/workloadpatch"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// maxBatchesAtOnce limits the batches of one reconcile, so that a verdict does not wait for those of thousands of pods.
const maxBatchesAtOnce = 50

// steer suspends the workload and pauses its rollout, or ends that, as decided. movedOn reports whether the workload has changed since the
// decision.
func (r *Reconciler) steer(
	ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision,
) (movedOn bool, err error) {
	if may, err := r.mayEnd(ctx, workload, scene, decision); err != nil || !may {
		return true, err
	}
	change := workloadpatch.Change{Pause: decision.Pause, Resume: decision.Resume, Annotate: map[string]string{}}
	if decision.Suspend {
		change.Set = map[string]string{appv1alpha1.LabelSuspend: strconv.FormatInt(r.Clock.Now().Unix(), 10)}
	}
	if decision.Lift {
		change.Remove = []string{appv1alpha1.LabelSuspend}
	}
	scene.hold(&change, &decision, strconv.FormatInt(workload.Spec.Release, 10))
	scene.pace(&change, &decision)
	scene.ask(&change, &decision)
	if change.IsEmpty() {
		return false, nil
	}
	written, err := workloadpatch.Apply(ctx, r.Client, r.Live, scene.kind, scene.owner, change)
	switch {
	case written:
		r.reportSteering(ctx, workload, scene, decision)
	case scope.IsDenied(err): // and tried again
		r.Recorder.Record(events.WorkloadNotWritten(scene.owner, workload, err))
		if decision.Status.Status == appv1alpha1.ChangeWorkloadSuspend {
			if decision.Suspend || decision.Pause {
				r.Metrics.denied.Inc()
			}
			err = errors.Join(err, r.saveDenied(ctx, workload, scene, err))
		}
	}
	return !written, err
}

// hold adds to a change the marks of a hold of a release, or removes them.
func (s *scene) hold(change *workloadpatch.Change, decision *decide.Decision, held string) {
	switch {
	case decision.Pause:
		change.Annotate[appv1alpha1.AnnotationHeld] = held
	case decision.Override:
		change.Annotate[appv1alpha1.AnnotationHeld] = held + appv1alpha1.HeldOverridden
		change.Unannotate = workloadpatch.Present(s.owner, appv1alpha1.AnnotationHeldFrom)
	case decision.Resume, decision.Unhold, decision.Lift && s.Hold != decide.NotHeld && s.Hold != decide.Held:
		change.Unannotate = workloadpatch.HoldMarks(s.owner)
	case decision.Thaw:
		change.Unannotate = workloadpatch.Present(s.owner, appv1alpha1.AnnotationFrozen)
	}
	if decision.Freeze != nil {
		change.Annotate[appv1alpha1.AnnotationFrozen] = decision.Freeze.String()
	}
	if decision.Unpark {
		change.Unannotate = append(change.Unannotate, workloadpatch.Present(s.owner, appv1alpha1.AnnotationParked)...)
	}
}

// mayEnd reports whether what can't be taken back may be done, as the end of a pause or of a pace. Where that is because the workload left
// change control, the API server has to confirm this: the cache may not show yet that it is under change control, or is again.
func (r *Reconciler) mayEnd(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) (bool, error) {
	if scene.OptedIn || !decision.IsFinal() {
		return true, nil
	}
	return scope.LeftControl(ctx, r.Live, scene.kind, workload.Namespace)
}

func (r *Reconciler) reportSteering(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) {
	if decision.Suspend {
		r.Metrics.suspended(&decision.Status, scene.Batches, r.Clock.Now())
	}
	r.reportHold(workload, scene, decision)
	if decision.Lift {
		ctrl.LoggerFrom(ctx).Info("Suspension lifted", events.Of(workload, appv1alpha1.ReasonLifted)...)
	}
}

// reportHold writes the Event about a paused or resumed rollout.
func (r *Reconciler) reportHold(workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) {
	cause := causeOfHold(scene, decision)
	switch {
	case isToldByCondition(scene, decision):
	case decision.Pause && scene.Recurs:
		r.Recorder.Record(events.ScheduleHeld(scene.owner, workload, cause))
	case decision.Pause:
		r.Recorder.Record(events.RolloutHeld(scene.owner, workload, cause))
	case decision.Override:
		r.Recorder.Record(events.RolloutResumedByUser(scene.owner, workload, cause))
	case decision.Resume && scene.NotEnforced:
		r.Recorder.Record(events.RolloutResumedByMode(scene.owner, workload))
	case decision.Resume && !scene.OptedIn:
		r.Recorder.Record(events.RolloutResumedByOptOut(scene.owner, workload))
	case decision.Resume && scene.First != nil:
		r.Recorder.Record(events.FirstNodesEnded(scene.owner, workload, decision.Status.Conditions))
	case decision.Resume:
		r.Recorder.Record(events.RolloutResumed(scene.owner, workload))
	}
}

// isToldByCondition reports whether the Event of the condition Frozen or Paced is that of the pause or its end as well.
func isToldByCondition(scene *scene, decision decide.Decision) bool {
	if decision.Pause {
		return decision.Freeze != nil
	}
	isPaced := scene.Pace.Mark != nil && !workloadpatch.IsHeld(scene.owner)
	return decision.Resume && !decision.Override && (scene.Freeze.Parked != nil || isPaced)
}

func causeOfHold(scene *scene, decision decide.Decision) string {
	switch {
	case decision.Status.Status == appv1alpha1.ChangeWorkloadSuspend:
		return "a pod failed"
	case scene.Refused != "":
		return "its pod template failed its check before"
	case scene.Recurs:
		return "the release is tried"
	}
	return "the release is parked"
}

// openBatches creates ChangePods with all their pods, that of the order without pods, and returns how many of the decision's checks are
// open. If a number is taken, the cache lags: the existing ChangePod has the same pods, or others that the cache will show as claimed.
func (r *Reconciler) openBatches(
	ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision,
) (opened int, err error) {
	checks := decision.Checks()
	if len(checks) > 0 && scene.lost {
		// The garbage collector may be removing them with their workload, which the cache may not show yet.
		if there, err := scope.IsThere(ctx, r.Live, scene.kind, scene.owner); err != nil || !there {
			return len(checks), err
		}
	}
	number := decision.Status.LastChangePod
	for _, pods := range checks[:min(len(checks), maxBatchesAtOnce)] {
		number++
		changePod, err := r.newChangePod(scene.kind, workload, number, pods, decide.HasServerCheck(decision.Status.Verification))
		if err != nil {
			return opened, err
		}
		err = r.Client.Create(ctx, changePod)
		switch {
		case scope.IsEnding(err):
			return len(checks), nil
		case apierrors.IsAlreadyExists(err):
			return opened, r.removeLeftover(ctx, workload, changePod)
		case err != nil:
			return opened, fmt.Errorf("creating ChangePod %s/%s: %w", changePod.Namespace, changePod.Name, err)
		}
		r.numbers.open(recordOf(workload), number, r.Clock.Now())
		if !changePod.Spec.Order {
			r.Metrics.batches.Inc()
		}
		ctrl.LoggerFrom(ctx).Info("Batch opened", append(events.Of(workload, "BatchOpened"), "changePod", changePod.Name, "pods", len(pods))...)
		opened++
	}
	return opened, nil
}

func (r *Reconciler) newChangePod(
	kind workload.Kind, record *appv1alpha1.ChangeWorkload, number int64, pods []appv1alpha1.PodSummary, serverCheck bool,
) (*appv1alpha1.ChangePod, error) {
	labels := workload.RecordLabels(kind, record.Spec.AppName, record.Spec.Reversion)
	labels[appv1alpha1.LabelBatchOf] = decide.BatchOfLabel(record.UID, record.Spec.Release)
	changePod := &appv1alpha1.ChangePod{
		ObjectMeta: metav1.ObjectMeta{Namespace: record.Namespace, Name: decide.ChangePodName(record.Name, number), Labels: labels},
		Spec: appv1alpha1.ChangePodSpec{
			ChangeWorkloadID: record.Name,
			Release:          record.Spec.Release,
			Order:            len(pods) == 0,
			ServerCheck:      serverCheck,
			PodInfos:         pods,
		},
	}
	changePod.Spec.CreateTime, changePod.Spec.CreateTimeUnix = decide.Stamp(r.Clock.Now())
	if err := controllerutil.SetControllerReference(record, changePod, r.Client.Scheme()); err != nil {
		return nil, fmt.Errorf("making ChangeWorkload %s the owner of ChangePod %s/%s: %w", record.Name, changePod.Namespace, changePod.Name, err)
	}
	return changePod, nil
}

// writeStatus saves the status of a decision, and then writes Events, metrics and traces.
func (r *Reconciler) writeStatus(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) error {
	if !decision.WriteStatus {
		return nil
	}
	before := workload.DeepCopy()
	workload.Status = decision.Status
	// The number is not remembered here: the cache may have shown the object of an earlier release of the version again.
	workload.Status.LastChangePod = max(decision.Status.LastChangePod, r.numbers.raise(recordOf(workload), 0))
	if err := r.Client.Status().Patch(ctx, workload, client.MergeFrom(before)); err != nil {
		return scope.IgnoreGone(fmt.Errorf("writing the status of ChangeWorkload %s/%s: %w", workload.Namespace, workload.Name, err))
	}
	r.newest.Seen(workload)
	r.report(before, workload, scene, decision)
	r.reportDelivery(before, workload, scene, decision)
	r.reportOrder(before, workload, scene)
	r.reportTrial(before, workload, scene)
	r.reportFreeze(before, workload, scene)
	r.reportPace(before, workload, scene)
	r.reportChecks(before, workload, scene)
	r.Tracer.Changed(before, workload, scene.owner, scene.Batches, r.Clock.Now())
	return nil
}

// report writes the Event about a verified or failed release, and counts its phase.
func (r *Reconciler) report(before, after *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) {
	phase := decide.Standing(&after.Status)
	entered := phase != decide.Standing(&before.Status) || before.Status.ObservedRelease != after.Status.ObservedRelease
	if entered && !after.Spec.Baseline {
		r.Metrics.entered(phase)
	}
	if !scene.Current || !entered && !decision.Suspend || after.Spec.Baseline {
		return
	}
	switch {
	case phase == appv1alpha1.ChangeWorkloadSuccess:
		r.Recorder.Record(events.ReleaseSucceeded(scene.owner, after, decision.Unchecked))
	case phase == appv1alpha1.ChangeWorkloadSuspend && meta.IsStatusConditionTrue(after.Status.Conditions, appv1alpha1.ConditionSuspended):
		r.Recorder.Record(events.ReleaseSuspended(scene.owner, after))
	case phase == appv1alpha1.ChangeWorkloadSuspend:
		r.Recorder.Record(events.PodsFailed(scene.owner, after))
	}
}
