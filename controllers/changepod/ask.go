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
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
)

// Verifier checks batches of pods. The verdict comes later, by another way than the answer. Errors that wrap
// decide.ErrRefused are final, others are worth another attempt.
type Verifier interface {
	// SwitchedOff says that the verifier doesn't want to be asked: everything passes.
	SwitchedOff() bool
	// BeginCheck asks for the check before a batch and returns the id of the check. Asking twice begins two checks.
	BeginCheck(ctx context.Context, batch decide.Batch) (checkID string, err error)
	// FinishCheck says that a batch has taken effect and asks for the check after it.
	FinishCheck(ctx context.Context, batch decide.Batch, checkID string) error
	// Passed says whether a stage is known to have passed; false says nothing.
	Passed(ctx context.Context, batch decide.Batch, checkID string, stage appv1alpha1.CheckStage) (bool, error)
}

// scene is a batch with what its check depends on.
type scene struct {
	workload *appv1alpha1.ChangeWorkload
	facts    decide.CheckFacts
	batch    decide.Batch
}

// observe is nil where the release's record is gone or going: then the batch goes as well.
func (r *Reconciler) observe(ctx context.Context, changePod *appv1alpha1.ChangePod) (*scene, error) {
	workload := &appv1alpha1.ChangeWorkload{}
	key := client.ObjectKey{Namespace: changePod.Namespace, Name: changePod.Spec.ChangeWorkloadID}
	err := r.Client.Get(ctx, key, workload)
	if apierrors.IsNotFound(err) || err == nil && (!metav1.IsControlledBy(changePod, workload) || workload.DeletionTimestamp != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ChangeWorkload %s: %w", key, err)
	}
	result := &scene{workload: workload}
	if r.Verifier == nil {
		return result, nil
	}
	result.facts.Verifier = decide.Verifier{Configured: true, SwitchedOff: r.Verifier.SwitchedOff(), FailClosed: r.FailClosed}
	result.facts.Asked = r.backoff.NumRequeues(client.ObjectKeyFromObject(changePod)) > 0
	result.facts.Since = r.began()
	order := workload.Status.Order
	if order == nil || order.Release != changePod.Spec.Release {
		result.facts.Over = workload.Spec.Release != changePod.Spec.Release
		return result, nil
	}
	result.facts.Order = order.State
	result.batch = decide.Batch{Order: decide.AnnouncedOrder(r.Cluster, workload), Pods: changePod.Spec.PodInfos}
	return result, nil
}

// ask puts a question to the verifier.
func (r *Reconciler) ask(ctx context.Context, call decide.CheckCall, changePod *appv1alpha1.ChangePod, scene *scene) decide.CheckAnswer {
	answer, batch := decide.CheckAnswer{Call: call}, scene.batch
	if call != decide.CallNone {
		ctx = r.Tracer.InBatch(ctx, scene.workload, changePod)
	}
	id := changePod.Status.ChangePodID
	switch call {
	case decide.CallBegin:
		answer.CheckID, answer.Err = r.begin(ctx, changePod, scene)
	case decide.CallFinish:
		// Once the check after the batch is over, saying again that it can begin would wipe out its end.
		if mayHaveFinished(changePod, scene.facts) {
			if answer.Passed, answer.Err = r.Verifier.Passed(ctx, batch, id, appv1alpha1.StagePost); answer.Passed || answer.Err != nil {
				return answer
			}
		}
		answer.Err = r.Verifier.FinishCheck(ctx, batch, id)
	case decide.CallPollPre:
		answer.Passed, answer.Err = r.Verifier.Passed(ctx, batch, id, appv1alpha1.StagePre)
	case decide.CallPollPost:
		answer.Passed, answer.Err = r.Verifier.Passed(ctx, batch, id, appv1alpha1.StagePost)
	}
	return answer
}

// begunCheck is a check whose id could not be saved yet.
type begunCheck struct {
	changePod types.UID
	id        string
}

// begin begins a check, but not again where only its id could not be saved.
func (r *Reconciler) begin(ctx context.Context, changePod *appv1alpha1.ChangePod, scene *scene) (checkID string, err error) {
	if check, known := r.begun.Load(client.ObjectKeyFromObject(changePod)); known {
		if begun, ok := check.(begunCheck); ok && begun.changePod == changePod.UID {
			return begun.id, nil
		}
	}
	siblings, err := index.ChangePodsOf(ctx, r.Client, changePod.Namespace, scene.workload.Name)
	if err != nil {
		return "", err
	}
	return r.Verifier.BeginCheck(ctx, decide.BatchOf(scene.batch.Order, scene.workload, siblings, changePod))
}

// mayHaveFinished says that the batch may have been reported before: by an attempt without an answer, or by the leader
// before this one.
func mayHaveFinished(changePod *appv1alpha1.ChangePod, facts decide.CheckFacts) bool {
	mayGoOnSince := time.Unix(changePod.Status.UpdateTimeUnix, 0)
	if verdict := changePod.Status.VerdictTime; verdict != nil {
		mayGoOnSince = verdict.Time
	}
	return facts.Asked || mayGoOnSince.Before(facts.Since)
}
