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

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/history"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	kinds "github.com/traas-stack/altershield-operator/controllers/workload"
)

// save writes the status of the decision. It keeps the template of a verified release first: that is not repeated once the status is
// written. A template that the API server rejects does not stop the release.
func (r *Reconciler) save(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene, decision decide.Decision) error {
	var notKept error
	if decision.Keep && kinds.MayUndo(scene.kind) {
		notKept = r.keepTemplate(ctx, workload, scene)
	}
	if notKept != nil && !errors.Is(notKept, history.ErrNotKept) {
		return notKept
	}
	notRecorded := r.record(ctx, workload, scene, &decision)
	if err := r.writeStatus(ctx, workload, scene, decision); err != nil {
		return err
	}
	r.Looks.Counted(client.ObjectKeyFromObject(workload)) // not before: a decision that isn't saved is made again, by the same looks
	if notRecorded != nil {
		r.Recorder.Record(events.RecordNotWritten(scene.owner, workload, notRecorded))
	}
	if notKept != nil {
		r.Recorder.Record(events.HistoryNotKept(scene.owner, workload, notKept))
	}
	return nil
}

// keepTemplate keeps the template of a verified release, and removes those beyond the limit. It does the latter also where the new one
// was rejected: a quota may have no room for it until the limit is lowered.
func (r *Reconciler) keepTemplate(ctx context.Context, workload *appv1alpha1.ChangeWorkload, scene *scene) error {
	release := decide.Recorded(workload)
	err := r.History.Keep(ctx, scene.kind, scene.owner, release)
	if err != nil && !errors.Is(err, history.ErrNotKept) {
		return err
	}
	pruneErr := r.History.Prune(ctx, scene.kind, scene.owner, release, scene.Templates, decide.FailedVersions(scene.Others))
	if pruneErr != nil && !errors.Is(pruneErr, history.ErrNotKept) {
		return pruneErr
	}
	return errors.Join(err, pruneErr)
}
