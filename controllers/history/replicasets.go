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

package history

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/podtemplate"
)

// Finds earlier pod templates: the cache holds none.
// +kubebuilder:rbac:groups=apps,resources=replicasets,verbs=list

// ReplicaSets are those that a Deployment controls.
type ReplicaSets struct {
	Items []appsv1.ReplicaSet
	// raw are the same as they were sent.
	raw map[types.UID]map[string]any
}

// ReplicaSets lists the ReplicaSets that a Deployment controls, of which it needs the selector.
func (k *Keeper) ReplicaSets(ctx context.Context, deployment *appsv1.Deployment) (ReplicaSets, error) {
	selector, err := metav1.LabelSelectorAsSelector(deployment.Spec.Selector)
	if err != nil {
		return ReplicaSets{}, fmt.Errorf("reading the selector of Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("ReplicaSetList"))
	if err := k.Live.List(ctx, list, client.InNamespace(deployment.Namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return ReplicaSets{}, fmt.Errorf("listing the ReplicaSets of Deployment %s/%s: %w", deployment.Namespace, deployment.Name, err)
	}
	found := ReplicaSets{raw: map[types.UID]map[string]any{}}
	for _, item := range list.Items {
		if !metav1.IsControlledBy(&item, deployment) { // another Deployment may have the same selector
			continue
		}
		var replicaSet appsv1.ReplicaSet
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(item.Object, &replicaSet); err != nil {
			return ReplicaSets{}, fmt.Errorf("decoding ReplicaSet %s/%s: %w", item.GetNamespace(), item.GetName(), err)
		}
		found.Items = append(found.Items, replicaSet)
		found.raw[replicaSet.UID] = item.Object
	}
	return found, nil
}

// Template returns the pod template of one of the ReplicaSets.
func (s ReplicaSets) Template(replicaSet *appsv1.ReplicaSet) podtemplate.Template {
	return podtemplate.Of(s.raw[replicaSet.UID])
}

// Templates returns the pod templates of those that carry a version. A version that two ReplicaSets carry is left out: its
// template was changed while no webhook looked, and nobody verified that.
func (s ReplicaSets) Templates() map[string]podtemplate.Template {
	templates := map[string]podtemplate.Template{}
	for i := range s.Items {
		version := s.Items[i].Labels[appv1alpha1.LabelVersion]
		if stamped, unseen := decide.StampedReplicaSet(s.Items, version); version != "" && !unseen {
			templates[version] = s.Template(stamped)
		}
	}
	return templates
}

// Templates returns the pod templates of a Deployment by their versions: those that are kept, and those of its ReplicaSets.
func (k *Keeper) Templates(ctx context.Context, deployment *appsv1.Deployment) (map[string]podtemplate.Template, error) {
	replicaSets, err := k.ReplicaSets(ctx, deployment)
	if err != nil {
		return nil, err
	}
	revisions, err := k.List(ctx, deployment)
	if err != nil {
		return nil, err
	}
	templates := replicaSets.Templates()
	for _, revision := range revisions {
		templates[revision.Version] = revision.Template
	}
	return templates, nil
}

// checkStamped returns an error that wraps ErrNotKept where a Deployment has another template than its version was given to.
// Its ReplicaSets settle that where the same template has another version today, for a library that marshals it differently.
func (k *Keeper) checkStamped(ctx context.Context, live *unstructured.Unstructured, version string) error {
	template := podtemplate.Of(live.Object)
	if computed, err := template.Version(); err == nil && computed == version {
		return nil
	}
	deployment := &appsv1.Deployment{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(live.Object, deployment); err != nil {
		return fmt.Errorf("%w: decoding Deployment %s/%s: %w", ErrNotKept, live.GetNamespace(), live.GetName(), err)
	}
	replicaSets, err := k.ReplicaSets(ctx, deployment)
	if err != nil {
		return markFinal(err)
	}
	if !replicaSets.Templates()[version].Equal(template) {
		return fmt.Errorf("%w: the pod template of Deployment %s/%s is not the one that version %s was given to, or no ReplicaSet has it: release it again",
			ErrNotKept, live.GetNamespace(), live.GetName(), version)
	}
	return nil
}
