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

package deployment

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Reads earlier pod templates: the cache holds none.
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list
// Finds the orphaned ReplicaSet that a created Deployment adopts.
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list

// History lists the ReplicaSets that a Deployment controls. The object must have a selector.
func (k Kind) History(ctx context.Context, live client.Reader, deployment client.Object) ([]decide.Revision, error) {
	selector, err := selectorOf(deployment)
	if err != nil {
		return nil, fmt.Errorf("reading the selector of Deployment %s/%s: %w", deployment.GetNamespace(), deployment.GetName(), err)
	}
	items, err := list(ctx, live, deployment.GetNamespace(), selector)
	if err != nil {
		return nil, fmt.Errorf("listing the ReplicaSets of Deployment %s/%s: %w", deployment.GetNamespace(), deployment.GetName(), err)
	}
	var revisions []decide.Revision
	for _, item := range items {
		if !metav1.IsControlledBy(&item, deployment) { // another Deployment may have the same selector
			continue
		}
		revision, err := workload.StoredRevision(k, &item)
		if err != nil {
			return nil, err
		}
		revision.Pods.Label, revision.Pods.Value = appsv1.DefaultDeploymentUniqueLabelKey, item.GetLabels()[appsv1.DefaultDeploymentUniqueLabelKey]
		revisions = append(revisions, revision)
	}
	return revisions, nil
}

// Finds the ReplicaSet of an observed release, whose pods have no version label.
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list

// Identify returns the newest ReplicaSet with a version of a Deployment.
func (k Kind) Identify(
	ctx context.Context, live client.Reader, deployment *unstructured.Unstructured, version string, _ time.Time,
) (*decide.Revision, error) {
	revisions, err := k.History(ctx, live, deployment)
	if err != nil {
		return nil, err
	}
	newest, err := decide.IdentifyByTemplate(revisions, version)
	if err != nil {
		return nil, fmt.Errorf("reading the ReplicaSets of Deployment %s/%s: %w", deployment.GetNamespace(), deployment.GetName(), err)
	}
	return newest, nil
}

// Orphans lists the ReplicaSets with a version that have no controller and that a created Deployment selects.
func (k Kind) Orphans(ctx context.Context, live client.Reader, created client.Object, version string) ([]decide.Revision, error) {
	selector, err := selectorOf(created)
	if err != nil {
		return nil, fmt.Errorf("reading the selector: %w", err)
	}
	stamped, _ := labels.SelectorFromSet(labels.Set{appv1alpha1.LabelVersion: version}).Requirements()
	items, err := list(ctx, live, created.GetNamespace(), selector.Add(stamped...))
	if err != nil {
		return nil, fmt.Errorf("listing the ReplicaSets with version %s in namespace %s: %w", version, created.GetNamespace(), err)
	}
	var orphans []decide.Revision
	for _, item := range items {
		if metav1.GetControllerOf(&item) != nil {
			continue
		}
		orphan, err := workload.StoredRevision(k, &item)
		if err != nil {
			return nil, err
		}
		orphans = append(orphans, orphan)
	}
	return orphans, nil
}

// list lists ReplicaSets with all fields, also those that our types lack.
func list(ctx context.Context, live client.Reader, namespace string, selector labels.Selector) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	err := live.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector})
	return list.Items, err
}

func selectorOf(object client.Object) (labels.Selector, error) {
	selector := &metav1.LabelSelector{}
	switch deployment := object.(type) {
	case *appsv1.Deployment:
		selector = deployment.Spec.Selector
	case *unstructured.Unstructured:
		raw, _, err := unstructured.NestedMap(deployment.Object, "spec", "selector")
		if err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw, selector); err != nil {
			return nil, err
		}
	}
	return metav1.LabelSelectorAsSelector(selector)
}
