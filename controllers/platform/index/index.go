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

// Package index finds the objects of a release in the cache: by owner reference, never by labels, because two
// Deployments may share every label and no label holds a name of 253 characters.
package index

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

const (
	byOwner          = "metadata.controller.uid"
	byChangeWorkload = "spec.changeWorkloadId"
	byCheck          = "status.changePodId"
	byOrder          = "status.order.bizExecOrderId"
	byProgress       = "inProgress"
)

// Setup registers the indexes. The queries of this package fail on a cache without them.
func Setup(ctx context.Context, indexer client.FieldIndexer) error {
	for _, object := range []client.Object{&appsv1.ReplicaSet{}, &corev1.Pod{}, &appv1alpha1.ChangeWorkload{}} {
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
	if err := indexer.IndexField(ctx, &appv1alpha1.ChangeWorkload{}, byProgress, progress); err != nil {
		return fmt.Errorf("indexing ChangeWorkloads by %s: %w", byProgress, err)
	}
	return nil
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
		return nil // an empty id would be found by a callback that names none
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

func progress(object client.Object) []string {
	workload, ok := object.(*appv1alpha1.ChangeWorkload)
	return []string{strconv.FormatBool(ok && decide.IsInProgress(workload))}
}

// ReleasesInProgress lists, of all namespaces, the ChangeWorkloads whose pods are still awaited or checked. They belong to the
// cache: don't change them.
func ReleasesInProgress(ctx context.Context, reader client.Reader) ([]appv1alpha1.ChangeWorkload, error) {
	var list appv1alpha1.ChangeWorkloadList
	err := reader.List(ctx, &list, client.MatchingFields{byProgress: "true"}, client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing the ChangeWorkloads in progress: %w", err)
	}
	return list.Items, nil
}

// ChangePodByCheck returns the ChangePod whose check has this id at the verifier, nil where the cache shows none. It is
// shared with the cache: read it only.
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

// ChangeWorkloadByOrder returns the ChangeWorkload whose change order has this id, nil where the cache shows none.
// It is shared with the cache: read it only.
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

// ChangeWorkloadsOf lists the ChangeWorkloads that the Deployment with this UID controls. They are shared with the cache: read
// them only.
func ChangeWorkloadsOf(ctx context.Context, reader client.Reader, namespace string, deployment types.UID) ([]appv1alpha1.ChangeWorkload, error) {
	var list appv1alpha1.ChangeWorkloadList
	if err := listOwned(ctx, reader, &list, namespace, deployment); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// LiveChangeWorkloadsOf lists the ChangeWorkloads that a Deployment controls on the API server, which has no index: it finds them by
// their label.
func LiveChangeWorkloadsOf(ctx context.Context, live client.Reader, deployment *appsv1.Deployment) ([]appv1alpha1.ChangeWorkload, error) {
	var list appv1alpha1.ChangeWorkloadList
	err := live.List(ctx, &list, client.InNamespace(deployment.Namespace),
		client.MatchingLabels{appv1alpha1.LabelDeploymentName: decide.LabelValue(deployment.Name)})
	if err != nil {
		return nil, fmt.Errorf("listing the ChangeWorkloads of Deployment %s/%s on the API server: %w", deployment.Namespace, deployment.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(workload appv1alpha1.ChangeWorkload) bool {
		return !metav1.IsControlledBy(&workload, deployment)
	}), nil
}

// ReplicaSetsOf lists the ReplicaSets that the Deployment with this UID controls. They are shared with the cache: read them only.
func ReplicaSetsOf(ctx context.Context, reader client.Reader, namespace string, deployment types.UID) ([]appsv1.ReplicaSet, error) {
	var list appsv1.ReplicaSetList
	if err := listOwned(ctx, reader, &list, namespace, deployment); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// PodsOf lists the Pods that the ReplicaSet with this UID controls. They are shared with the cache: read them only.
func PodsOf(ctx context.Context, reader client.Reader, namespace string, replicaSet types.UID) ([]corev1.Pod, error) {
	var list corev1.PodList
	if err := listOwned(ctx, reader, &list, namespace, replicaSet); err != nil {
		return nil, err
	}
	return list.Items, nil
}

// ChangePodsOf lists the ChangePods that name this ChangeWorkload: those of the object of today, and those that the
// garbage collector has yet to remove after an object of the same name. They are shared with the cache: read them only.
func ChangePodsOf(ctx context.Context, reader client.Reader, namespace, changeWorkload string) ([]appv1alpha1.ChangePod, error) {
	var list appv1alpha1.ChangePodList
	err := reader.List(ctx, &list, client.InNamespace(namespace), client.MatchingFields{byChangeWorkload: changeWorkload},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		return nil, fmt.Errorf("listing the ChangePods of ChangeWorkload %s/%s: %w", namespace, changeWorkload, err)
	}
	return list.Items, nil
}

// listOwned takes the cache as it is, and does not copy it. Waiting for our own writes would make one workload's list wait for the writes
// to all others; the callers tolerate a list that lags.
func listOwned(ctx context.Context, reader client.Reader, list client.ObjectList, namespace string, owner types.UID) error {
	options := []client.ListOption{
		client.InNamespace(namespace), client.MatchingFields{byOwner: string(owner)},
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency,
	}
	if err := reader.List(ctx, list, options...); err != nil {
		return fmt.Errorf("listing %T in namespace %s by owner %s: %w", list, namespace, owner, err)
	}
	return nil
}

// DeploymentRequests are the keys of the Deployments under change control in a namespace; of every one where it is empty.
func DeploymentRequests(ctx context.Context, reader client.Reader, namespace string) []reconcile.Request {
	var deployments appsv1.DeploymentList
	err := reader.List(ctx, &deployments, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing the Deployments under change control", "namespace", namespace)
		return nil
	}
	requests := make([]reconcile.Request, 0, len(deployments.Items))
	for i := range deployments.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&deployments.Items[i])})
	}
	return requests
}

// DeploymentOf follows the owner references of a Pod or a ReplicaSet to its Deployment. It is nil where they don't lead
// to a Deployment under change control, or not yet: then the event of the missing object comes later. It is shared with the
// cache: read it only.
func DeploymentOf(ctx context.Context, reader client.Reader, object client.Object) (*appsv1.Deployment, error) {
	if pod, isPod := object.(*corev1.Pod); isPod {
		replicaSet, err := ReplicaSetOf(ctx, reader, pod)
		if err != nil || replicaSet == nil {
			return nil, err
		}
		object = replicaSet
	}
	deployment := &appsv1.Deployment{}
	if found, err := getOwner(ctx, reader, object, "Deployment", deployment); err != nil || !found {
		return nil, err
	}
	return deployment, nil
}

// ReplicaSetOf is the ReplicaSet that controls a Pod, nil where none does, or none under change control. It is shared with the
// cache: read it only.
func ReplicaSetOf(ctx context.Context, reader client.Reader, pod *corev1.Pod) (*appsv1.ReplicaSet, error) {
	replicaSet := &appsv1.ReplicaSet{}
	if found, err := getOwner(ctx, reader, pod, "ReplicaSet", replicaSet); err != nil || !found {
		return nil, err
	}
	return replicaSet, nil
}

func getOwner(ctx context.Context, reader client.Reader, object client.Object, kind string, owner client.Object) (bool, error) {
	reference := metav1.GetControllerOfNoCopy(object)
	if reference == nil || reference.Kind != kind || reference.APIVersion != appsv1.SchemeGroupVersion.String() {
		return false, nil
	}
	// Not waiting for our own writes: this runs for each event, and one slow write would hold up all of them.
	err := reader.Get(ctx, client.ObjectKey{Namespace: object.GetNamespace(), Name: reference.Name}, owner,
		client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading the %s that owns %s/%s: %w", kind, object.GetNamespace(), object.GetName(), err)
	}
	return owner.GetUID() == reference.UID, nil
}
