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

package settings

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// Reader reads the settings in effect. A missing object has its default, an invalid one its last valid value.
type Reader struct {
	Client client.Reader
	// Namespace is the namespace of the settings.
	Namespace string
}

// Blocking reports whether a failed check suspends the workload.
func (r Reader) Blocking(ctx context.Context) (bool, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigBlocking)
	return value.Enable, err
}

// BatchSize returns the number of pods in a batch, from 1 to 500.
func (r Reader) BatchSize(ctx context.Context) (int32, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigBranch)
	return batchSize(value), err
}

// StuckThreshold returns how long the pods of a release may fail to run before it is rolled back, 0 for never.
func (r Reader) StuckThreshold(ctx context.Context) (time.Duration, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigStuckRollback)
	return period(value), err
}

// RollsBackSuspended reports whether suspended releases are rolled back without a request.
func (r Reader) RollsBackSuspended(ctx context.Context) (bool, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigSuspendedRollback)
	return value.Enable, err
}

// ParksSuspended reports whether suspended releases are parked without a request.
func (r Reader) ParksSuspended(ctx context.Context) (bool, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigPark)
	return value.Enable, err
}

// Unsticks reports whether pods that keep a workload from going on are deleted.
func (r Reader) Unsticks(ctx context.Context) (bool, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigUnstick)
	return value.Enable, err
}

// Quarantine returns how long a version is denied after its rollback, 0 for not at all.
func (r Reader) Quarantine(ctx context.Context) (time.Duration, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigRefusal)
	return period(value), err
}

// Templates returns how many verified pod templates of a workload are kept, from 0 to 100.
func (r Reader) Templates(ctx context.Context) (int, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigTemplateHistory)
	return retention(value, maxHistory), err
}

// Records returns how many ChangeWorkloads of past releases of a workload are kept, from 0 to 100.
func (r Reader) Records(ctx context.Context) (int, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigReleaseHistory)
	return retention(value, maxHistory), err
}

// ChangeRecords returns how many ChangeRecords of a workload are kept, from 0 to 1000. At 0 none are written.
func (r Reader) ChangeRecords(ctx context.Context) (int, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigChangeRecords)
	return retention(value, maxChangeRecords), err
}

// RecordDays returns for how many days ChangeRecords are kept, from 1 to 400.
func (r Reader) RecordDays(ctx context.Context) (int, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigRecordDays)
	if days := retention(value, maxRecordDays); days > 0 {
		return days, err
	}
	return maxRecordDays, err
}

// LabelsFinished reports whether pods that completed their release get the Finished label.
func (r Reader) LabelsFinished(ctx context.Context) (bool, error) {
	value, err := r.read(ctx, appv1alpha1.ConfigFinishedLabel)
	return value.Enable, err
}

// Changed passes the settings of these names.
func (r Reader) Changed(names ...string) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(object client.Object) bool {
		return object.GetNamespace() == r.Namespace && slices.Contains(names, object.GetName())
	})
}

func (r Reader) read(ctx context.Context, name string) (appv1alpha1.ConfigValue, error) {
	var object appv1alpha1.OpsConfigInfo
	err := r.Client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: name}, &object, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return InEffect(name, nil), nil
	}
	if err != nil {
		return appv1alpha1.ConfigValue{}, fmt.Errorf("reading OpsConfigInfo %s/%s: %w", r.Namespace, name, err)
	}
	return InEffect(name, &object), nil
}
