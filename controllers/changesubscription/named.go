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

package changesubscription

import (
	"context"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/changesubscription/notice"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
)

// findNamed returns the events that are told where they are named only: they need more than the ChangeWorkloads. It notes in the status the releases
// whose workloads are told to be deleted.
func (s *search) findNamed(
	ctx context.Context, releases []appv1alpha1.ChangeWorkload, begun notice.Beginnings, status *appv1alpha1.ChangeSubscriptionStatus,
) ([]notice.Event, error) {
	batches, err := s.findBatches(ctx, releases, status.ToldUntil.Time)
	if err != nil {
		return nil, err
	}
	approvals, err := s.findApprovals(ctx, begun, status.ToldUntil.Time)
	if err != nil {
		return nil, err
	}
	deleted, err := s.findDeleted(ctx, begun, status)
	return slices.Concat(batches, approvals, deleted), err
}

// findBatches returns the checks of batches.
func (s *search) findBatches(ctx context.Context, releases []appv1alpha1.ChangeWorkload, since time.Time) (found []notice.Event, err error) {
	if !s.names(appv1alpha1.NotifyBatchChecked) {
		return nil, nil
	}
	var batches appv1alpha1.ChangePodList
	if err := s.Client.List(ctx, &batches, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ChangePods: %w", err)
	}
	of := make(map[client.ObjectKey]*appv1alpha1.ChangeWorkload, len(releases))
	for i := range releases {
		of[client.ObjectKeyFromObject(&releases[i])] = &releases[i]
	}
	for i := range batches.Items {
		batch := &batches.Items[i]
		if release := of[client.ObjectKey{Namespace: batch.Namespace, Name: batch.Spec.ChangeWorkloadID}]; release != nil {
			found = append(found, notice.OfBatch(batch, release, since)...)
		}
	}
	return s.among(ctx, found)
}

// findApprovals returns the decisions of approvers.
func (s *search) findApprovals(ctx context.Context, begun notice.Beginnings, since time.Time) (found []notice.Event, err error) {
	if !s.names(appv1alpha1.NotifyApprovalGiven) && !s.names(appv1alpha1.NotifyApprovalDenied) {
		return nil, nil
	}
	var approvals appv1alpha1.ChangeApprovalList
	if err := s.Client.List(ctx, &approvals, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing the ChangeApprovals: %w", err)
	}
	for i := range approvals.Items {
		found = append(found, notice.OfApproval(&approvals.Items[i], begun, since)...)
	}
	return s.among(ctx, found)
}

// findDeleted returns which workloads of open releases are deleted, and notes the releases that are open now.
func (s *search) findDeleted(
	ctx context.Context, begun notice.Beginnings, status *appv1alpha1.ChangeSubscriptionStatus,
) (found []notice.Event, err error) {
	if !s.names(appv1alpha1.NotifyDeleted) {
		status.OpenReleases = nil
		return nil, nil
	}
	now := s.Clock.Now()
	var open []appv1alpha1.ToldRelease
	for _, release := range begun.Open(status.OpenReleases) {
		event := notice.OfDeleted(&release, now)
		known := event.IsAmong(status.OpenReleases) // else its deletion was told, or it wasn't selected while the workload had its labels
		selected, gone := true, false
		if !known {
			selected, err = s.selects(ctx, &event)
		}
		if err == nil && selected { // it is read from the API server if no cache has it
			gone, err = s.isGone(ctx, &release)
		}
		if err == nil && known && !gone {
			selected, err = s.selects(ctx, &event)
		}
		switch {
		case err != nil:
			return nil, err
		case !selected || gone && !known:
			continue
		case gone:
			found = append(found, event)
		}
		open = append(open, release)
	}
	notice.NoteOpen(status, open)
	return found, nil
}

// names reports whether a subscription names an event.
func (s *search) names(event appv1alpha1.SubscribedEvent) bool {
	return slices.Contains(s.events, event)
}

// isGone reports whether the workload of a release is deleted. It may have no record, or leave the cache, for other reasons.
func (s *search) isGone(ctx context.Context, release *appv1alpha1.ToldRelease) (bool, error) {
	of := &release.Workload
	kind := s.Kinds.Snapshot().ByGroupKind(of.GroupKind())
	if kind == nil {
		return false, nil
	}
	key := client.ObjectKey{Namespace: release.Namespace, Name: of.Name}
	switch object, err := s.cached(ctx, kind, key); {
	case err != nil:
		return false, fmt.Errorf("checking whether %s %s is deleted: %w", of.Kind, key, err)
	case object != nil && object.GetUID() == of.UID:
		return false, nil
	}
	named := kind.New()
	named.SetNamespace(key.Namespace)
	named.SetName(key.Name)
	named.SetUID(of.UID)
	there, err := scope.IsThere(ctx, s.Live, kind, named)
	return !there && err == nil, err
}
