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
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/platform/index"
	"github.com/traas-stack/altershield-operator/controllers/platform/monotonic"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Reads the records from the API server, not from the cache, before a release counts as verified, a suspension or a hold ends, or records
// are removed.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads;changepods,verbs=list

// records reads the records of the releases of a workload. The results are shared: don't modify them.
type records interface {
	// batches returns the ChangePods of this ChangeWorkload, including those of an earlier object of its name.
	batches(ctx context.Context, kind workload.Kind, record *appv1alpha1.ChangeWorkload) ([]appv1alpha1.ChangePod, error)
	// others returns the ChangeWorkloads of the workload that was released, except the given one.
	others(ctx context.Context, kind workload.Kind, owner client.Object, record *appv1alpha1.ChangeWorkload) ([]appv1alpha1.ChangeWorkload, error)
	// reader returns what they are read by.
	reader() client.Reader
}

// cachedRecords reads from the cache. What it shows of a ChangeWorkload may be older than what was seen of it before.
type cachedRecords struct {
	cache  client.Reader
	newest *monotonic.Reader
}

func (r cachedRecords) batches(ctx context.Context, _ workload.Kind, record *appv1alpha1.ChangeWorkload) ([]appv1alpha1.ChangePod, error) {
	return index.ChangePodsOf(ctx, r.cache, record.Namespace, record.Name)
}

func (r cachedRecords) others(
	ctx context.Context, _ workload.Kind, owner client.Object, own *appv1alpha1.ChangeWorkload,
) ([]appv1alpha1.ChangeWorkload, error) {
	found, err := index.RecordsOf(ctx, r.cache, owner.GetNamespace(), owner.GetUID())
	if err != nil {
		return nil, err
	}
	var others []appv1alpha1.ChangeWorkload
	for i := range found {
		record := &found[i]
		switch {
		case record.UID == own.UID, r.newest.IsGone(record):
			continue
		case r.newest.IsOld(record):
			key := client.ObjectKeyFromObject(record)
			record = &appv1alpha1.ChangeWorkload{}
			if err := r.newest.GetLive(ctx, key, record); apierrors.IsNotFound(err) || err == nil && record.UID != found[i].UID {
				continue
			} else if err != nil {
				return nil, fmt.Errorf("reading ChangeWorkload %s: %w", key, err)
			}
		}
		others = append(others, *record)
	}
	return others, nil
}

func (r cachedRecords) reader() client.Reader { return r.cache }

// liveRecords reads from the API server, by labels, as that has no indexes.
type liveRecords struct{ api client.Reader }

func (r liveRecords) batches(ctx context.Context, kind workload.Kind, record *appv1alpha1.ChangeWorkload) ([]appv1alpha1.ChangePod, error) {
	var list appv1alpha1.ChangePodList
	err := r.api.List(ctx, &list, client.InNamespace(record.Namespace), workload.RecordLabels(kind, record.Spec.AppName, record.Spec.Reversion))
	if err != nil {
		return nil, fmt.Errorf("listing the ChangePods of ChangeWorkload %s/%s: %w", record.Namespace, record.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(changePod appv1alpha1.ChangePod) bool {
		return changePod.Spec.ChangeWorkloadID != record.Name
	}), nil
}

func (r liveRecords) others(
	ctx context.Context, kind workload.Kind, owner client.Object, own *appv1alpha1.ChangeWorkload,
) ([]appv1alpha1.ChangeWorkload, error) {
	found, err := index.LiveRecordsOf(ctx, r.api, kind, owner)
	return slices.DeleteFunc(found, func(record appv1alpha1.ChangeWorkload) bool { return record.UID == own.UID }), err
}

func (r liveRecords) reader() client.Reader { return r.api }
