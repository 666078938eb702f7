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

// Package scope limits the cache to objects of controlled releases and to the fields that are read, so that memory grows with the
// controlled workloads, not with the cluster.
package scope

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Fills the cache with the namespaces that are opted in.
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list;watch
// Checks whether a namespace was opted out before a held rollout is resumed: the cache may lag.
// +kubebuilder:rbac:groups="",resources=namespaces,verbs=list
// Fills the cache with the Pods under change control.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list;watch
// Fills the cache with ChangeWorkloads and ChangePods.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=changeworkloads;changepods,verbs=list;watch
// Fills the cache with the settings. Those in other namespaces are marked as ineffective.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=opsconfiginfoes,verbs=list;watch

// CacheOptions limits the cache to opted-in namespaces, and to Pods and workloads of the kinds that carry a version.
func CacheOptions(kinds workload.Registry) (cache.Options, error) {
	versioned, err := Versioned()
	if err != nil {
		return cache.Options{}, err
	}
	optedIn := labels.SelectorFromSet(labels.Set{appv1alpha1.LabelOptIn: appv1alpha1.OptInEnabled})
	options := cache.Options{
		DefaultTransform: cache.TransformStripManagedFields(),
		// A read of a kind without a watch must fail, or it would start one on the whole cluster.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Namespace{}:               {Label: optedIn, Transform: Transform(slimNamespace)},
			&corev1.Pod{}:                     {Label: versioned, Transform: Transform(SlimPod)},
			&appv1alpha1.ChangeWorkload{}:     {},
			&appv1alpha1.ChangePod{}:          {},
			&appv1alpha1.OpsConfigInfo{}:      {},
			&appv1alpha1.ControlledKind{}:     {},
			&appv1alpha1.ChangeFreeze{}:       {},
			&appv1alpha1.BreakGlass{}:         {},
			&appv1alpha1.ReleasePolicy{}:      {},
			&appv1alpha1.ReleaseGate{}:        {},
			&appv1alpha1.ChangeApproval{}:     {},
			&appv1alpha1.ChangeVerdict{}:      {},
			&appv1alpha1.VerificationPolicy{}: {},
			&appv1alpha1.VerificationSource{}: {},
			&appv1alpha1.ChangeSubscription{}: {},
		},
	}
	known := map[reflect.Type]bool{}
	for _, kind := range kinds {
		for object, byObject := range kind.Cache(versioned) {
			if of := reflect.TypeOf(object); !known[of] { // kinds may share a type, with the same options
				known[of] = true
				options.ByObject[object] = byObject
			}
		}
	}
	return options, nil
}

// Versioned selects the objects that carry a version.
func Versioned() (labels.Selector, error) {
	stamped, err := labels.NewRequirement(appv1alpha1.LabelVersion, selection.Exists, nil)
	if err != nil {
		return nil, fmt.Errorf("selecting objects by %s: %w", appv1alpha1.LabelVersion, err)
	}
	return labels.NewSelector().Add(*stamped), nil
}

// OptedIn reports whether a namespace is under change control, which ends with its deletion. The cache holds no other namespaces.
func OptedIn(ctx context.Context, reader client.Reader, namespace string) (bool, error) {
	var object corev1.Namespace
	err := reader.Get(ctx, client.ObjectKey{Name: namespace}, &object, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading namespace %s: %w", namespace, err)
	}
	return object.DeletionTimestamp == nil, nil
}

// OptedOut reports whether a namespace that the cache doesn't show exists on the API server and isn't under change control.
func OptedOut(ctx context.Context, live client.Reader, namespace string) (bool, error) {
	var found corev1.NamespaceList
	err := live.List(ctx, &found, client.MatchingFields{"metadata.name": namespace})
	if err != nil {
		return false, fmt.Errorf("checking whether namespace %s is opted out: %w", namespace, err)
	}
	return len(found.Items) == 1 && found.Items[0].DeletionTimestamp == nil &&
		found.Items[0].Labels[appv1alpha1.LabelOptIn] != appv1alpha1.OptInEnabled, nil
}

// IsThere reports whether a workload that the cache shows still exists on the API server and isn't being deleted.
func IsThere(ctx context.Context, live client.Reader, kind workload.Kind, object client.Object) (bool, error) {
	found, err := Present(ctx, live, kind, object)
	return found != nil, err
}

// Present returns the metadata that a workload that the cache shows has on the API server, nil if it is gone or is being deleted.
func Present(ctx context.Context, live client.Reader, kind workload.Kind, object client.Object) (*metav1.PartialObjectMetadata, error) {
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(kind.GroupVersionKind())
	key := client.ObjectKeyFromObject(object)
	if err := live.Get(ctx, key, found); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("checking whether %s %s still exists: %w", kind.GroupVersionKind().Kind, key, err)
	}
	if found.UID != object.GetUID() || found.DeletionTimestamp != nil {
		return nil, nil
	}
	return found, nil
}

// JobCreation is how to permit the operator to create Jobs.
const JobCreation = "the operator may create Jobs only with the ClusterRole of config/components/job-creation (chart: jobCreation.enabled)"

// IsEnding reports whether an object could not be created because its namespace is being deleted. A retry would not help.
func IsEnding(err error) bool {
	return apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause)
}

// IsDenied reports whether the API server rejected a write because of a quota, a policy or its content. A retry would not help.
func IsDenied(err error) bool {
	if apierrors.IsForbidden(err) {
		// So an API server answers for some seconds after its start, until it has the policies and webhooks.
		return !strings.Contains(err.Error(), "not yet ready to handle request")
	}
	return apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) || isDeniedByAdmission(err)
}

// isDeniedByAdmission reports whether an admission webhook or policy denied a write. Each chooses the code of its denial, such as 401 or 409.
// Those from 500 are failures of its own.
func isDeniedByAdmission(err error) bool {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError || apierrors.IsTooManyRequests(err) {
		return false
	}
	message := status.Status().Message
	return strings.Contains(message, " denied the request") || strings.Contains(message, " denied request: ")
}

// LacksPermission reports whether a write was denied because the operator has no permission for it. A quota, an admission webhook or a policy may
// forbid it as well.
func LacksPermission(err error) bool {
	return apierrors.IsForbidden(err) && !isDeniedByAdmission(err) && strings.Contains(err.Error(), " cannot ")
}

// IsGone reports whether the object of a write is gone. Another webhook may deny with that code, too.
func IsGone(err error) bool { return apierrors.IsNotFound(err) && !IsDenied(err) }

// IgnoreGone returns the error of a write, nil if its object is gone.
func IgnoreGone(err error) error {
	if IsGone(err) {
		return nil
	}
	return err
}

// IsConflict reports whether an object has changed since it was read, so that another attempt may succeed at once.
func IsConflict(err error) bool { return apierrors.IsConflict(err) && !IsDenied(err) }
