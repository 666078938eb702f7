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

package changerecord

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/settings"
)

// Removes records that are too old, or too many of their workload.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changerecords,verbs=delete

// sweepInterval is the time between two looks for records that are too old or too many.
const sweepInterval = time.Hour

// Retention removes ChangeRecords by age and number, oldest first, once an hour and when its settings change.
type Retention struct {
	Client client.Client
	// Live reads from the API server: ChangeRecords are not cached.
	Live     client.Reader
	Settings settings.Reader
	// Agreed returns the current time, not ahead of the API server's: what is removed can't be brought back.
	Agreed func() time.Time
}

// SetupWithManager adds the controller to the manager.
func (r *Retention) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("changerecord").
		Watches(&appv1alpha1.OpsConfigInfo{}, handler.EnqueueRequestsFromMapFunc(func(context.Context, client.Object) []reconcile.Request { return all() }),
			builder.WithPredicates(r.Settings.Changed(appv1alpha1.ConfigChangeRecords, appv1alpha1.ConfigRecordDays))).
		WatchesRawSource(source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
			queue.Add(all()[0])
			return nil
		})).
		Complete(r)
}

// all returns the one request of the controller: all records.
func all() []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "all"}}}
}

// Reconcile removes the records that are too old or too many. It holds the metadata of one page and of one workload at a time.
func (r *Retention) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	keep, err := r.Settings.ChangeRecords(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	days, err := r.Settings.RecordDays(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	var failed []error
	sweep := &sweep{retention: r, keep: keep, age: time.Duration(days) * 24 * time.Hour}
	for next := ""; ; {
		page := newList()
		err := r.Live.List(ctx, page, client.Limit(pageSize), client.Continue(next))
		if latest := continueAtLatest(err); latest != "" && latest != next {
			next = latest
			continue
		}
		if err != nil {
			return ctrl.Result{}, fmt.Errorf("listing ChangeRecords: %w", err)
		}
		for i := range page.Items {
			// A record that can't be removed must not keep those of other workloads.
			if err := sweep.add(ctx, &page.Items[i]); err != nil {
				failed = append(failed, err)
			}
		}
		if next = page.Continue; next == "" {
			break
		}
	}
	if err := errors.Join(append(failed, sweep.end(ctx))...); err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: sweepInterval}, nil
}

// continueAtLatest returns where a list goes on whose version expired, as the removals between two pages took some minutes: the API server answers
// with a token for its latest version. Empty for other errors.
func continueAtLatest(err error) string {
	var status apierrors.APIStatus
	if !apierrors.IsResourceExpired(err) || !errors.As(err, &status) {
		return ""
	}
	return status.Status().Continue
}

// sweep goes through all ChangeRecords, in the order of their namespaces and names. Those of a workload follow each other.
type sweep struct {
	retention *Retention
	keep      int
	age       time.Duration
	namespace string
	key       string
	records   []metav1.PartialObjectMetadata
}

// add takes the next record. With the first one of a workload, those of the workload before are decided on.
func (s *sweep) add(ctx context.Context, record *metav1.PartialObjectMetadata) error {
	place, ok := decide.PlaceOf(record.Name)
	if !ok {
		return nil // a user made it
	}
	var err error
	if record.Namespace != s.namespace || place.Key != s.key {
		err = s.end(ctx)
		s.namespace, s.key = record.Namespace, place.Key
	}
	s.records = append(s.records, *record)
	return err
}

// end decides on the records of a workload, and removes those that expired.
func (s *sweep) end(ctx context.Context) error {
	uids, stored := map[string]types.UID{}, make([]decide.StoredRecord, len(s.records))
	for i := range s.records {
		uids[s.records[i].Name] = s.records[i].UID
		stored[i] = decide.StoredRecord{Name: s.records[i].Name, Created: s.records[i].CreationTimestamp.Time}
	}
	s.records = nil
	for _, name := range decide.ExpiredRecords(stored, s.keep, s.age, s.retention.Agreed()) {
		record, uid := &appv1alpha1.ChangeRecord{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}}, uids[name]
		err := s.retention.Client.Delete(ctx, record, client.Preconditions{UID: &uid}, client.DisableReadYourWritesConsistency)
		if scope.IgnoreGone(err) != nil && !scope.IsConflict(err) {
			// The ones after it stay, so that there is no gap.
			return fmt.Errorf("removing ChangeRecord %s/%s: %w", s.namespace, name, err)
		}
	}
	return nil
}
