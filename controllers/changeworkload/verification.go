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
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/measure"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/plugin"
	"github.com/traas-stack/altershield-operator/controllers/looks"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/source"
	"github.com/traas-stack/altershield-operator/controllers/verification"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// observeVerification observes what the checks of VerificationPolicies depend on. Policies are looked for when a release begins, even if the
// cache shows its workload as it was before: they aren't looked for again. And they are looked for while they check it.
func (r *Reconciler) observeVerification(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) error {
	asked, questions, err := r.observeChecks(ctx, record, result)
	if err != nil {
		return err
	}
	seen, looking := &result.Verification, make([]decide.CheckID, 0, len(asked)+len(questions))
	for i := range asked {
		looking = append(looking, asked[i].CheckID)
	}
	for i := range questions {
		looking = append(looking, checkOf(&questions[i]))
	}
	r.Looks.Keep(client.ObjectKeyFromObject(record), looking...)
	seen.Awaited = map[decide.CheckID]bool{}
	if err := r.observeMetrics(record, result, asked); err != nil {
		return err
	}
	return r.observeAnswers(ctx, record, seen, questions)
}

func checkOf(asked *plugin.Question) decide.CheckID {
	return decide.CheckID{Policy: asked.Policy, Name: asked.Check}
}

// observeChecks observes the policies and the pods, and returns the checks that look at metrics now, and what others are asked.
func (r *Reconciler) observeChecks(
	ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene,
) (asked []decide.AskedCheck, questions []plugin.Question, err error) {
	begins, now := record.Status.ObservedRelease != record.Spec.Release, result.now
	checked := result.Current && result.OptedIn && len(decide.WatchedPolicies(record, now)) > 0
	if result.Observed || !begins && !checked {
		return nil, nil, nil
	}
	seen, reader := &result.Verification, verification.Reader{Client: r.Client, Namespace: r.Settings.Namespace}
	seen.Rules, seen.Since = r.Rules, r.Since()
	if seen.Policies, err = reader.Of(ctx, result.kind, result.owner); err != nil || len(seen.Policies) == 0 {
		return nil, nil, err
	}
	if _, units := result.kind.(workload.Lister); units || result.Runs {
		return nil, nil, nil
	}
	seen.Pods = &checks.Scene{
		Version: record.Spec.Reversion, Number: record.Spec.Release, Began: time.Unix(record.Spec.CreateTimeUnix, 0),
		Kind: result.Kind, Namespace: record.Namespace, Name: result.owner.GetName(), Replicas: result.Desired,
		UID: result.owner.GetUID(), Labels: result.owner.GetLabels(),
		New: decide.NewPods(result.pods, result.Finished),
	}
	decide.NoteFirst(seen.Pods.New, result.Batches)
	if verification := record.Status.Verification; verification != nil && !begins {
		seen.Pods.Before = verification.OldPods
	}
	asked, questions = decide.AskedChecks(record, seen.Pods, now), decide.Questions(record, seen.Pods, now)
	compares := len(asked)+len(questions) > 0 || decide.HasRules(record.Status.Verification, seen.Policies)
	return asked, questions, r.observeOldPods(ctx, record, result, begins, compares)
}

// observeOldPods observes the pods that don't run the release, if it begins, is compared with them, or would fail.
func (r *Reconciler) observeOldPods(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene, begins, compares bool) error {
	seen := &result.Verification
	fails := decide.MayFail(record, seen.Pods, result.now)
	if fails {
		if err := r.observeNodes(ctx, seen.Pods); err != nil {
			return err
		}
		fails = decide.MayFail(record, seen.Pods, result.now)
	}
	if !begins && !fails && !compares {
		return nil
	}
	old, err := r.oldPods(ctx, record, result)
	if err != nil {
		return err
	}
	if begins {
		seen.OldPods = decide.OldPodsOf(old, result.now)
	}
	if compares || fails {
		seen.Pods.Old = decide.OtherPods(old, seen.Pods.Began)
	}
	if fails {
		return r.observeCauses(ctx, record, result, old)
	}
	return nil
}

// observeMetrics observes the metrics of the pods that have been read, and has the others read.
func (r *Reconciler) observeMetrics(record *appv1alpha1.ChangeWorkload, result *scene, asked []decide.AskedCheck) error {
	seen, now := &result.Verification, result.now
	seen.Readings = make(map[decide.CheckID]measure.Readings, len(asked))
	for _, check := range asked {
		pods, at := seen.Pods, check.Last(now)
		look := looks.Look{
			Record: client.ObjectKeyFromObject(record), Release: pods.Number, Check: check.CheckID, Source: "VerificationSource " + check.Source(),
			At: at, Until: at.Add(check.Period()), Last: check.Ended, Waits: check.Waits,
		}
		nothing := func(last error) measure.Readings {
			return measure.Readings{Reason: appv1alpha1.ReasonSourceUnavailable, Message: source.NoAnswer(look.Source, looks.Patience, last)}
		}
		readings, there, err := looks.Read(r.Looks, look, nothing, func(ctx context.Context) (measure.Readings, error) {
			return verification.Read(ctx, r.Sources, pods, check, now)
		})
		if err != nil {
			return err
		}
		if !there {
			seen.Awaited[check.CheckID] = true
			continue
		}
		seen.Readings[check.CheckID] = readings
	}
	return nil
}

// observeAnswers observes what others answered about the pods, and has them asked.
func (r *Reconciler) observeAnswers(
	ctx context.Context, record *appv1alpha1.ChangeWorkload, seen *decide.Verification, questions []plugin.Question,
) error {
	seen.Answers = make(map[decide.CheckID]plugin.Answer, len(questions))
	for i := range questions {
		asked := &questions[i]
		answer, there, err := r.Asker.Answer(ctx, client.ObjectKeyFromObject(record), seen.Pods, asked)
		if err != nil {
			return err
		}
		if !there {
			seen.Awaited[checkOf(asked)] = true
			continue
		}
		seen.Answers[checkOf(asked)] = answer
	}
	return nil
}

// oldPods lists the pods of a workload that don't run its present release: those of other versions, and of the version with other gates than now.
func (r *Reconciler) oldPods(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) ([]corev1.Pod, error) {
	revisions, err := result.kind.Revisions(ctx, r.Client, result.owner)
	if err != nil {
		return nil, err
	}
	var old []corev1.Pod
	for _, revision := range revisions {
		if revision.Version == record.Spec.Reversion && (result.revision == nil || !isEarlier(revision, *result.revision)) {
			continue
		}
		pods, err := index.PodsOf(ctx, r.Client, record.Namespace, revision.Pods)
		if err != nil {
			return nil, err
		}
		old = append(old, pods...)
	}
	return old, nil
}

// ofVerificationPolicy maps a VerificationPolicy to the releases that it checks.
func (r *Reconciler) ofVerificationPolicy(ctx context.Context, object client.Object) []reconcile.Request {
	now := r.Clock.Now()
	return r.list(ctx, client.InNamespace(""), func(record *appv1alpha1.ChangeWorkload) bool {
		for _, uid := range decide.WatchedPolicies(record, now) {
			if uid == object.GetUID() {
				return true
			}
		}
		return false
	})
}

// verificationPolicyChanged passes changes of a VerificationPolicy, and its end. A new one concerns the next releases.
func verificationPolicyChanged() predicate.Predicate {
	return predicate.And(predicate.GenerationChangedPredicate{}, predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
	})
}

// troubleChanged reports whether a container of a finished pod ended, or the pod stopped being ready.
func troubleChanged(before, after client.Object) bool {
	old, isOld := before.(*corev1.Pod)
	updated, isNew := after.(*corev1.Pod)
	if !isOld || !isNew {
		return false
	}
	ended, unready := decide.TroubleOf(updated)
	if ended == 0 && !unready { // as nearly all pods
		return false
	}
	endedBefore, wasUnready := decide.TroubleOf(old)
	return ended != endedBefore || unready != wasUnready
}

// reportChecks writes an Event about each check of the mode Warn that failed, and about each one that holds pods, and counts the verdicts.
func (r *Reconciler) reportChecks(before, after *appv1alpha1.ChangeWorkload, scene *scene) {
	for i := range after.Status.Checks {
		result := &after.Status.Checks[i]
		switch {
		case decide.BeganToHold(before, after, result):
			r.Recorder.Record(events.CheckHolds(scene.owner, after, result))
		case decide.HoldTimedOut(before, after, result):
			r.Recorder.Record(events.HoldTimedOut(scene.owner, after, result))
		}
		if result.Verdict == appv1alpha1.CheckPending || decide.HasVerdict(before, after, result) {
			continue
		}
		r.Metrics.checked(result, decide.DecidedAfter(before, after, result))
		if result.Verdict == appv1alpha1.CheckFail && result.Mode == appv1alpha1.CheckWarn {
			r.Recorder.Record(events.CheckFailed(scene.owner, after, result))
		}
	}
}
