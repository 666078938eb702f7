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

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// recordRetry is the time until another attempt to write a ChangeRecord.
const recordRetry = time.Minute

// record writes the ChangeRecord of a release that has its outcome, and notes it in the status of the decision. The error is news: it wasn't
// noted before. It holds nothing back.
func (r *Reconciler) record(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision *decide.Decision) error {
	recorded, err := r.Records.Record(ctx, workload, &decision.Status, decide.RecordFacts{
		End:     decide.Ending{Superseded: !scene.Current && scene.Superseded, RolledBack: scene.RolledBack},
		Batches: scene.Batches, Unchecked: decision.Unchecked,
	})
	if known := workload.Status.Recorded; err != nil && known != nil && known.Owed != "" && workload.Status.ObservedRelease == workload.Spec.Release {
		return nil
	}
	decision.NoteRecord(recorded, r.Clock.Now())
	return err
}

// recordWait returns the time until another attempt to write the ChangeRecord of a release, 0 where none is owed.
func recordWait(workload *appv1alpha1.ChangeWorkload) time.Duration {
	if recorded := workload.Status.Recorded; recorded != nil && recorded.Owed != "" {
		return recordRetry
	}
	return 0
}

// recorded returns those of the records of older releases that may be removed. One whose ChangeRecord can't be written now stays, unless the
// API server denies it.
func (r *Reconciler) recorded(ctx context.Context, scene *scene, older []appv1alpha1.ChangeWorkload) []appv1alpha1.ChangeWorkload {
	var removable []appv1alpha1.ChangeWorkload
	for i := range older {
		record := &older[i]
		_, err := r.Records.Record(ctx, record, &record.Status, decide.RecordFacts{End: decide.EndOfEarlier(record, scene.owner)})
		if err != nil {
			ctrl.LoggerFrom(ctx).Info("Failed to record a release whose ChangeWorkload is to be removed", "record", client.ObjectKeyFromObject(record), "reason", err.Error())
		}
		if scope.IsDenied(err) {
			r.Recorder.Record(events.RecordNotWritten(scene.owner, record, err))
		}
		if err == nil || scope.IsDenied(err) {
			removable = append(removable, *record)
		}
	}
	return removable
}
