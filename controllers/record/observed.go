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

package record

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/events"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// observe records the release of a workload whose kind is in the mode Observe. Nothing marks the workload as released: its content is compared
// with its newest record.
func (r *Reconciler) observe(ctx context.Context, kind workload.Observed, owner client.Object) (ctrl.Result, error) {
	seen := kind.Sighting(owner)
	if owner.GetDeletionTimestamp() != nil || seen.Version == "" || !workload.Controls(kind, owner) {
		return ctrl.Result{}, nil
	}
	observed, err := scope.Observed(ctx, r.Client, kind, owner.GetNamespace())
	if err != nil || !observed {
		return ctrl.Result{}, err
	}
	known, err := r.find(ctx, owner, seen.Version)
	if err != nil {
		return ctrl.Result{}, err
	}
	records, err := r.records(ctx, owner, known)
	if err != nil {
		return ctrl.Result{}, err
	}
	release, baseline, isNew := decide.ObserveRelease(seen, records, r.Clock.Now())
	if !isNew {
		return ctrl.Result{}, nil
	}
	recorded, result, err := r.write(ctx, owner, known, entry{Release: release, observed: true, baseline: baseline})
	if err == nil && recorded && !baseline {
		r.Recorder.Record(events.ReleaseRecorded(owner, release))
		r.Tracer.Recorded(r.Kind.GroupVersionKind().Kind, kind.At(owner, release, r.Clock.Now()), r.Clock.Now())
	}
	return settle(result, err)
}

// records lists the ChangeWorkloads of a workload. The list may lag behind the operator's own writes; the known one doesn't.
func (r *Reconciler) records(ctx context.Context, owner client.Object, known *appv1alpha1.ChangeWorkload) ([]appv1alpha1.ChangeWorkload, error) {
	records, err := index.RecordsOf(ctx, r.Client, owner.GetNamespace(), owner.GetUID())
	if err != nil || known == nil || !metav1.IsControlledBy(known, owner) {
		return records, err
	}
	records = slices.DeleteFunc(records, func(record appv1alpha1.ChangeWorkload) bool { return record.Name == known.Name })
	return append(records, *known), nil
}
