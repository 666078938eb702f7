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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/verifier"
)

// scene is what a batch depends on besides itself. Of a batch that is done it has only what came since: the record with a late verdict, and what
// the checks of VerificationPolicies say.
type scene struct {
	workload *appv1alpha1.ChangeWorkload
	facts    decide.CheckFacts
	batch    verifier.Batch
}

// observe returns nil where the record of a batch that isn't done is gone or being deleted: then the batch is removed as well. It does where the record
// is behind the batch: batches are opened before the status of their release is saved.
func (r *Reconciler) observe(ctx context.Context, changePod *appv1alpha1.ChangePod) (*scene, error) {
	workload := &appv1alpha1.ChangeWorkload{}
	key := client.ObjectKey{Namespace: changePod.Namespace, Name: changePod.Spec.ChangeWorkloadID}
	err := r.Client.Get(ctx, key, workload)
	if changePod.Status.Status == appv1alpha1.ChangePodExecuteDone && (err == nil || apierrors.IsNotFound(err)) {
		done := &scene{}
		if metav1.IsControlledBy(changePod, workload) {
			done.workload = workload
			done.facts.Failed, done.facts.Unjudged = decide.ChecksFailed(workload, changePod), decide.IsUnjudged(workload, changePod)
		}
		return done, nil
	}
	if apierrors.IsNotFound(err) || err == nil && (!metav1.IsControlledBy(changePod, workload) || workload.DeletionTimestamp != nil) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading ChangeWorkload %s: %w", key, err)
	}
	if workload.Status.ObservedRelease < changePod.Spec.Release {
		return nil, nil // the cache has yet to show the checks of the release, without which the batch would pass
	}
	facts := decide.FactsOf(workload, changePod, verifier.StateOf(r.Verifier, r.FailClosed))
	facts.Asked = r.backoff.NumRequeues(client.ObjectKeyFromObject(changePod)) > 0
	facts.Since = r.began
	return &scene{
		workload: workload, facts: facts, batch: verifier.Batch{Release: decide.AnnouncedRelease(workload), Pods: changePod.Spec.PodInfos},
	}, nil
}
