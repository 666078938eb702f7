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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// tryAndOrder starts the trial of a release, and makes the call of the verifier, as decided. retry is the time until the next attempt of
// the latter, 0 where none is needed.
func (r *Reconciler) tryAndOrder(
	ctx context.Context, record *appv1alpha1.ChangeWorkload, scene *scene, decision *decide.Decision,
) (retry time.Duration, err error) {
	if err := r.try(ctx, record, scene, decision); err != nil {
		return 0, err
	}
	return r.order(ctx, record, decision)
}

// try starts the trial of a release that is still the present one on the API server, and applies the result to the decision.
func (r *Reconciler) try(ctx context.Context, record *appv1alpha1.ChangeWorkload, scene *scene, decision *decide.Decision) error {
	trier, ok := scene.kind.(workload.Trier)
	if !ok || !decision.Try {
		return nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(scene.kind.GroupVersionKind())
	key := client.ObjectKeyFromObject(scene.owner)
	if err := r.Live.Get(ctx, key, live); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("reading %s %s: %w", scene.Kind, key, err))
	}
	release := decide.Recorded(record)
	if live.GetUID() != scene.owner.GetUID() || live.GetDeletionTimestamp() != nil || decide.ReleaseOf(live) != release {
		return nil // its event brings the next decision
	}
	run, err := trier.Trial(live, release.Number)
	if err != nil {
		return err
	}
	name := run.GetKind() + " " + run.GetName()
	err = r.Client.Create(ctx, run, client.DisableReadYourWritesConsistency)
	if apierrors.IsAlreadyExists(err) {
		return r.answerBefore(ctx, record, scene, decision, run)
	}
	switch {
	case err == nil:
		decision.AnswerTrial(record, name, nil, r.Clock.Now())
		return nil
	case scope.IsEnding(err):
		return nil
	case !scope.IsDenied(err):
		return fmt.Errorf("creating %s in namespace %s: %w", name, record.Namespace, err)
	case scope.LacksPermission(err):
		err = fmt.Errorf("%s was not created: %s: %w", name, scope.JobCreation, err)
	}
	decision.AnswerTrial(record, name, err, r.Clock.Now())
	return nil
}

// answerBefore applies to the decision that a Job of the name of the trial exists: it was started before, unless the Job is of a deleted workload of
// the same name.
func (r *Reconciler) answerBefore(
	ctx context.Context, record *appv1alpha1.ChangeWorkload, scene *scene, decision *decide.Decision, run *unstructured.Unstructured,
) error {
	existing, name := &metav1.PartialObjectMetadata{}, run.GetKind()+" "+run.GetName()
	existing.SetGroupVersionKind(run.GroupVersionKind())
	if err := r.Live.Get(ctx, client.ObjectKeyFromObject(run), existing); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading %s in namespace %s: %w", name, record.Namespace, err)
	}
	var denied error
	if !metav1.IsControlledBy(existing, scene.owner) {
		denied = fmt.Errorf("%s was not created: one that isn't of this %s has its name: delete that, and the operator creates its own", name, scene.Kind)
	}
	decision.AnswerTrial(record, name, denied, r.Clock.Now())
	return nil
}

// reportTrial writes the Event about a trial that was started or denied.
func (r *Reconciler) reportTrial(before, after *appv1alpha1.ChangeWorkload, scene *scene) {
	tried := meta.FindStatusCondition(after.Status.Conditions, appv1alpha1.ConditionTried)
	known := meta.FindStatusCondition(before.Status.Conditions, appv1alpha1.ConditionTried)
	switch {
	case tried == nil || known != nil && known.Status == tried.Status:
	case tried.Status == metav1.ConditionTrue:
		r.Recorder.Record(events.TrialStarted(scene.owner, after, tried.Message))
	default:
		r.Recorder.Record(events.TrialDenied(scene.owner, after, tried.Message))
	}
}
