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

// Package index finds the objects of a release in the cache. It goes by owner reference, not by label: two workloads may share all
// labels, and no label can hold a name of 253 characters.
package index

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

const (
	byOwner          = "metadata.controller.uid"
	byChangeWorkload = "spec.changeWorkloadId"
	byCheck          = "status.changePodId"
	byOrder          = "status.order.bizExecOrderId"
	byProgress       = "inProgress"
	byFreeze         = "frozen"
	byPace           = "paced"
	byRecord         = "metadata.ownerReferences.uid"
)

// Setup registers the indexes for workloads of the kinds. Without them the queries of this package fail.
func Setup(ctx context.Context, indexer client.FieldIndexer, kinds workload.Registry) error {
	for _, object := range append(kinds.Types(), &corev1.Pod{}, &appv1alpha1.ChangeWorkload{}) {
		if err := indexer.IndexField(ctx, object, byOwner, ownerUID); err != nil {
			return fmt.Errorf("indexing %T by %s: %w", object, byOwner, err)
		}
	}
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangePod{}, byChangeWorkload, changeWorkloadID); err != nil {
		return fmt.Errorf("indexing ChangePods by %s: %w", byChangeWorkload, err)
	}
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangePod{}, byCheck, checkID); err != nil {
		return fmt.Errorf("indexing ChangePods by %s: %w", byCheck, err)
	}
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangeWorkload{}, byOrder, orderID); err != nil {
		return fmt.Errorf("indexing ChangeWorkloads by %s: %w", byOrder, err)
	}
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangeWorkload{}, byProgress, of(decide.IsInProgress)); err != nil {
		return fmt.Errorf("indexing ChangeWorkloads by %s: %w", byProgress, err)
	}
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangeWorkload{}, byFreeze, of(decide.IsFrozen)); err != nil {
		return fmt.Errorf("indexing ChangeWorkloads by %s: %w", byFreeze, err)
	}
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangeWorkload{}, byPace, of(decide.IsPaced)); err != nil {
		return fmt.Errorf("indexing ChangeWorkloads by %s: %w", byPace, err)
	}
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangeVerdict{}, byRecord, ownerUIDs); err != nil {
		return fmt.Errorf("indexing ChangeVerdicts by %s: %w", byRecord, err)
	}
	return nil
}

func ownerUIDs(object client.Object) (uids []string) {
	for _, owner := range object.GetOwnerReferences() {
		uids = append(uids, string(owner.UID))
	}
	return uids
}

func ownerUID(object client.Object) []string {
	owner := metav1.GetControllerOfNoCopy(object)
	if owner == nil {
		return nil
	}
	return []string{string(owner.UID)}
}

func changeWorkloadID(object client.Object) []string {
	changePod, ok := object.(*appv1alpha1.ChangePod)
	if !ok {
		return nil
	}
	return []string{changePod.Spec.ChangeWorkloadID}
}

func checkID(object client.Object) []string {
	changePod, ok := object.(*appv1alpha1.ChangePod)
	if !ok || changePod.Status.ChangePodID == "" {
		return nil // or a callback without an id would find it
	}
	return []string{changePod.Status.ChangePodID}
}

func orderID(object client.Object) []string {
	workload, ok := object.(*appv1alpha1.ChangeWorkload)
	if !ok || workload.Status.Order == nil {
		return nil
	}
	return []string{workload.Status.Order.BizExecOrderID}
}

// of returns an index of the ChangeWorkloads that something is true of. Those that a deleted workload left don't count.
func of(is func(*appv1alpha1.ChangeWorkload) bool) client.IndexerFunc {
	return func(object client.Object) []string {
		record, ok := object.(*appv1alpha1.ChangeWorkload)
		return []string{strconv.FormatBool(ok && metav1.GetControllerOfNoCopy(record) != nil && is(record))}
	}
}

// ReleasesInProgress lists the ChangeWorkloads in all namespaces whose pods are awaited or checked. They are shared with the cache
// and must not be changed.
func ReleasesInProgress(ctx context.Context, reader client.Reader) ([]appv1alpha1.ChangeWorkload, error) {
	return listBy(ctx, reader, byProgress)
}

// FrozenReleases lists the ChangeWorkloads in all namespaces that wait for the end of a ChangeFreeze. They are shared with the cache
// and must not be changed.
func FrozenReleases(ctx context.Context, reader client.Reader) ([]appv1alpha1.ChangeWorkload, error) {
	return listBy(ctx, reader, byFreeze)
}

// PacedReleases lists the ChangeWorkloads in all namespaces whose releases are rolled out in steps. They are shared with the cache and must
// not be changed.
func PacedReleases(ctx context.Context, reader client.Reader) ([]appv1alpha1.ChangeWorkload, error) {
	return listBy(ctx, reader, byPace)
}

// listBy lists the ChangeWorkloads for which an index is true.
func listBy(ctx context.Context, reader client.Reader, field string) ([]appv1alpha1.ChangeWorkload, error) {
	var list appv1alpha1.ChangeWorkloadList
	err := reader.List(ctx, &list, client.MatchingFields{field: "true"}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing the ChangeWorkloads by %s: %w", field, err)
	}
	return list.Items, nil
}

// ChangePodByCheck returns the ChangePod whose check has this id at the verifier; nil if the cache shows none. It is shared with
// the cache and must not be changed.
func ChangePodByCheck(ctx context.Context, reader client.Reader, check string) (*appv1alpha1.ChangePod, error) {
	var list appv1alpha1.ChangePodList
	err := reader.List(ctx, &list, client.MatchingFields{byCheck: check}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("finding the ChangePod of check %q: %w", check, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// ChangeWorkloadByOrder returns the ChangeWorkload whose change order has this id; nil if the cache shows none. It is shared with
// the cache and must not be changed.
func ChangeWorkloadByOrder(ctx context.Context, reader client.Reader, order string) (*appv1alpha1.ChangeWorkload, error) {
	var list appv1alpha1.ChangeWorkloadList
	err := reader.List(ctx, &list, client.MatchingFields{byOrder: order}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("finding the ChangeWorkload of order %q: %w", order, err)
	}
	if len(list.Items) == 0 {
		return nil, nil
	}
	return &list.Items[0], nil
}

// ChangeWorkloadsOf lists the ChangeWorkloads that the workload with this UID controls, without those of releases that were only observed. They
// are shared with the cache and must not be changed.
func ChangeWorkloadsOf(ctx context.Context, reader client.Reader, namespace string, owner types.UID) ([]appv1alpha1.ChangeWorkload, error) {
	records, err := RecordsOf(ctx, reader, namespace, owner)
	return slices.DeleteFunc(records, isObserved), err
}

func isObserved(record appv1alpha1.ChangeWorkload) bool { return record.Spec.Observed }

// RecordsOf lists all ChangeWorkloads that the workload with this UID controls. They are shared with the cache and must not be changed.
func RecordsOf(ctx context.Context, reader client.Reader, namespace string, owner types.UID) ([]appv1alpha1.ChangeWorkload, error) {
	var list appv1alpha1.ChangeWorkloadList
	if err := Owned(ctx, reader, &list, namespace, owner); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// LiveChangeWorkloadsOf lists the ChangeWorkloads that a workload controls on the API server, without those of releases that were only observed.
func LiveChangeWorkloadsOf(ctx context.Context, live client.Reader, kind workload.Kind, owner client.Object) ([]appv1alpha1.ChangeWorkload, error) {
	records, err := LiveRecordsOf(ctx, live, kind, owner)
	return slices.DeleteFunc(records, isObserved), err
}

// LiveRecordsOf lists all ChangeWorkloads that a workload controls on the API server. It finds them by label, as the API server has no
// indexes.
func LiveRecordsOf(ctx context.Context, live client.Reader, kind workload.Kind, owner client.Object) ([]appv1alpha1.ChangeWorkload, error) {
	var list appv1alpha1.ChangeWorkloadList
	err := live.List(ctx, &list, client.InNamespace(owner.GetNamespace()),
		workload.RecordLabel(kind, owner.GetName()))
	if err != nil {
		return nil, fmt.Errorf("listing the ChangeWorkloads of %s %s on the API server: %w", kind.GroupVersionKind().Kind, client.ObjectKeyFromObject(owner), err)
	}
	return slices.DeleteFunc(list.Items, func(workload appv1alpha1.ChangeWorkload) bool {
		return !metav1.IsControlledBy(&workload, owner)
	}), nil
}

// PodsOf lists the Pods of a revision. They are shared with the cache: don't modify them.
func PodsOf(ctx context.Context, reader client.Reader, namespace string, revision decide.PodsOf) ([]corev1.Pod, error) {
	var list corev1.PodList
	if revision.Selector != nil {
		err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: revision.Selector},
			client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
		if err != nil {
			return nil, fmt.Errorf("listing the Pods with %s in namespace %s: %w", revision.Selector, namespace, err)
		}
	} else if err := Owned(ctx, reader, &list, namespace, revision.Owner); err != nil {
		return nil, err
	}
	for _, owner := range revision.Through {
		var owned corev1.PodList
		if err := Owned(ctx, reader, &owned, namespace, owner); err != nil {
			return nil, err
		}
		list.Items = append(list.Items, owned.Items...)
	}
	if revision.Label == "" { // they are all of the revision
		return list.Items, nil
	}
	var pods []corev1.Pod
	for i := range list.Items {
		if revision.Match(&list.Items[i]) {
			pods = append(pods, list.Items[i])
		}
	}
	return pods, nil
}

// ChangePodsOf lists the ChangePods that name this ChangeWorkload. Some may belong to a deleted object of the same name, until the
// garbage collector removes them. They are shared with the cache and must not be changed.
func ChangePodsOf(ctx context.Context, reader client.Reader, namespace, changeWorkload string) ([]appv1alpha1.ChangePod, error) {
	var list appv1alpha1.ChangePodList
	err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byChangeWorkload: changeWorkload},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing the ChangePods of ChangeWorkload %s/%s: %w", namespace, changeWorkload, err)
	}
	return list.Items, nil
}

// ChangeVerdictsOf lists the ChangeVerdicts whose owner is this ChangeWorkload, shared with the cache. The list may lag behind the operator's own
// writes.
func ChangeVerdictsOf(ctx context.Context, reader client.Reader, record *appv1alpha1.ChangeWorkload) ([]appv1alpha1.ChangeVerdict, error) {
	var list appv1alpha1.ChangeVerdictList
	err := reader.List(ctx, &list, client.InNamespace(record.Namespace), client.MatchingFields{byRecord: string(record.UID)},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing the ChangeVerdicts of ChangeWorkload %s/%s: %w", record.Namespace, record.Name, err)
	}
	return list.Items, nil
}

// Owned lists the objects that an owner controls, shared with the cache. It doesn't wait for the operator's own writes, or a list for
// one workload would wait for writes to all others; the callers tolerate a list that lags.
func Owned(ctx context.Context, reader client.Reader, list client.ObjectList, namespace string, owner types.UID) error {
	options := []client.ListOption{
		client.InNamespace(namespace), client.MatchingFields{byOwner: string(owner)},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency,
	}
	if err := reader.List(ctx, list, options...); err != nil {
		return fmt.Errorf("listing %T in namespace %s by owner %s: %w", list, namespace, owner, err)
	}
	return nil
}

// List lists the workloads of a kind. They are shared with the cache and must not be changed.
func List(ctx context.Context, reader client.Reader, kind workload.Kind, options ...client.ListOption) ([]client.Object, error) {
	list := kind.NewList()
	options = append(options, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err := reader.List(ctx, list, options...); err != nil {
		return nil, err
	}
	found := make([]client.Object, 0, meta.LenList(list))
	err := meta.EachListItem(list, func(item runtime.Object) error {
		object, ok := item.(client.Object)
		if !ok {
			return fmt.Errorf("%T is not an API object", item)
		}
		found = append(found, object)
		return nil
	})
	return found, err
}

// Controller reads the controller of an object into owner if it is of this kind and under change control. The owner is shared with
// the cache and must not be changed.
func Controller(ctx context.Context, reader client.Reader, object client.Object, kind schema.GroupVersionKind, owner client.Object) (found bool, err error) {
	reference := metav1.GetControllerOfNoCopy(object)
	if reference == nil || schema.FromAPIVersionAndKind(reference.APIVersion, reference.Kind).GroupKind() != kind.GroupKind() {
		return false, nil
	}
	// This runs for each event, and waiting for a slow write of our own would delay all of them.
	err = reader.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: reference.Name}, owner,
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the %s that owns %s/%s: %w", kind.Kind, object.GetNamespace(), object.GetName(), err)
	}
	return owner.GetUID() == reference.UID, nil
}

// OwnerOf returns the workload of a kind that controls an object of its revisions: a pod, or one between the workload and its pods.
func OwnerOf(ctx context.Context, reader client.Reader, kind workload.Kind, object client.Object) (*workload.Owner, error) {
	owner := kind.New()
	if found, err := Controller(ctx, reader, object, kind.GroupVersionKind(), owner); err != nil || !found || !workload.Controls(kind, owner) {
		return nil, err
	}
	return &workload.Owner{Kind: kind, Object: owner, Version: object.GetLabels()[appv1alpha1.LabelVersion]}, nil
}
