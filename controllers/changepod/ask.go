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

package changepod

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// ask makes the call that is due, if any.
func (r *Reconciler) ask(ctx context.Context, changePod *appv1alpha1.ChangePod, scene *scene, now time.Time) decide.CheckAnswer {
	answer := decide.CheckAnswer{Call: decide.NextCall(changePod, scene.facts, now)}
	if accepted, known := r.acceptedFor(changePod); known && accepted.Call == answer.Call {
		return accepted
	}
	if answer.Call != decide.CallNone {
		ctx = r.Tracer.InBatch(ctx, scene.workload, changePod)
	}
	id := changePod.Status.ChangePodID
	switch answer.Call {
	case decide.CallBegin:
		answer.CheckID, answer.Err = r.begin(ctx, changePod, scene)
	case decide.CallFinish:
		answer.Verdict, answer.Err = r.finish(ctx, changePod, scene)
	case decide.CallAskPre:
		answer.Verdict, answer.Err = r.Verifier.Ask(ctx, scene.batch, id, appv1alpha1.StagePre)
	case decide.CallAskPost:
		answer.Verdict, answer.Err = r.Verifier.Ask(ctx, scene.batch, id, appv1alpha1.StagePost)
	case decide.CallAskBeforeFinish:
		// An error tells nothing: the report that follows is the attempt that counts.
		answer.Verdict, _ = r.Verifier.Ask(ctx, scene.batch, id, appv1alpha1.StagePost)
		answer.Verdict.Again = askAgain
	}
	return answer
}

// unsavedAnswer is an answer of the verifier that is not saved yet.
type unsavedAnswer struct {
	changePod types.UID
	answer    decide.CheckAnswer
}

// acceptedFor returns the answer to a call for a batch that the verifier accepted, if it could not be saved.
func (r *Reconciler) acceptedFor(changePod *appv1alpha1.ChangePod) (answer decide.CheckAnswer, known bool) {
	stored, _ := r.accepted.Load(client.ObjectKeyFromObject(changePod))
	unsaved, ok := stored.(unsavedAnswer)
	return unsaved.answer, ok && unsaved.changePod == changePod.UID
}

// begin begins a check.
func (r *Reconciler) begin(ctx context.Context, changePod *appv1alpha1.ChangePod, scene *scene) (checkID string, err error) {
	if checker, ok := r.Verifier.(verifier.OrderChecker); ok && changePod.Spec.Order {
		return checker.BeginOrder(ctx, scene.batch.Release)
	}
	siblings, err := index.ChangePodsOf(ctx, r.Client, changePod.Namespace, scene.workload.Name)
	if err != nil {
		return "", err
	}
	return r.Verifier.Begin(ctx, decide.BatchOf(scene.batch.Release, scene.workload, siblings, changePod))
}

// askAgain is the time between polls for a batch that may have been reported.
const askAgain = time.Second

// finish reports a batch. If it may have been reported before, finish polls the verdict first: reporting a finished stage again would
// reset it.
func (r *Reconciler) finish(ctx context.Context, changePod *appv1alpha1.ChangePod, scene *scene) (verifier.Verdict, error) {
	id := changePod.Status.ChangePodID
	if scene.facts.MayBeReported(changePod) {
		verdict, err := r.Verifier.Ask(ctx, scene.batch, id, appv1alpha1.StagePost)
		if err != nil || verdict.Outcome != verifier.Undecided {
			return verdict, err
		}
	}
	return verifier.Verdict{}, r.Verifier.Finish(ctx, scene.batch, id)
}

// remember keeps an answer that could not be saved, in memory: what the verifier accepted must not be called again, nor be given up, and
// after a failure the batch must not be reported again without a poll.
func (r *Reconciler) remember(changePod *appv1alpha1.ChangePod, answer decide.CheckAnswer) {
	key := client.ObjectKeyFromObject(changePod)
	switch {
	case answer.Call == decide.CallNone:
	case answer.Err == nil && (answer.Call == decide.CallBegin || answer.Call == decide.CallFinish):
		r.accepted.Store(key, unsavedAnswer{changePod: changePod.UID, answer: answer})
		r.backoff.Forget(key)
	default:
		r.backoff.When(key)
	}
}

// forget drops what was remembered of a removed batch.
func (r *Reconciler) forget(key client.ObjectKey) {
	r.backoff.Forget(key)
	r.accepted.Delete(key)
}
