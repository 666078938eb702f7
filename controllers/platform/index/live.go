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

package index

import (
	"context"
	"fmt"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
)

// Live returns a reader of the API server that also finds objects by their controller, as the cache does. It is for one look: it lists the
// objects of a type in a namespace once.
func Live(api client.Reader) client.Reader {
	return &liveReader{Reader: api, listed: map[listing][]runtime.Object{}}
}

type liveReader struct {
	client.Reader
	listed map[listing][]runtime.Object
}

// listing is what was listed.
type listing struct {
	of                  reflect.Type
	namespace, selector string
}

// List lists objects. Those of other controllers are removed from what the API server sends.
func (r *liveReader) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	asked := (&client.ListOptions{}).ApplyOptions(options)
	if asked.FieldSelector == nil {
		return r.Reader.List(ctx, list, options...)
	}
	owner, known := asked.FieldSelector.RequiresExactMatch(byOwner)
	if !known {
		return r.Reader.List(ctx, list, options...)
	}
	items, err := r.all(ctx, list, asked)
	if err != nil {
		return err
	}
	var found []runtime.Object
	for _, item := range items {
		if object, ok := item.(client.Object); ok && slices.Equal(ownerUID(object), []string{owner}) {
			found = append(found, item)
		}
	}
	return meta.SetList(list, found)
}

// all returns the objects of the type of a list, of all controllers.
func (r *liveReader) all(ctx context.Context, list client.ObjectList, asked *client.ListOptions) ([]runtime.Object, error) {
	key := listing{of: reflect.TypeOf(list), namespace: asked.Namespace}
	if asked.LabelSelector != nil {
		key.selector = asked.LabelSelector.String()
	}
	if known, found := r.listed[key]; found {
		return known, nil
	}
	if err := r.Reader.List(ctx, list, &client.ListOptions{Namespace: asked.Namespace, LabelSelector: asked.LabelSelector, Raw: fromMemory()}); err != nil {
		return nil, err
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return nil, fmt.Errorf("reading %T: %w", list, err)
	}
	r.listed[key] = items
	return items, nil
}

// fromMemory lets the API server answer a list from its own cache.
func fromMemory() *metav1.ListOptions { return &metav1.ListOptions{ResourceVersion: "0"} }

// LivePodsOfVersion lists the Pods of a version on the API server, which doesn't answer from its cache: for what can't be taken back.
func LivePodsOfVersion(ctx context.Context, live client.Reader, namespace, version string) ([]corev1.Pod, error) {
	selected := labels.Set{appv1alpha1.LabelVersion: version}
	var pods corev1.PodList
	if err := live.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(selected)); err != nil {
		return nil, fmt.Errorf("listing the Pods with %s in namespace %s: %w", selected, namespace, err)
	}
	return pods.Items, nil
}

// Lists the pods of an observed release, which the cache doesn't hold, as they have no version label.
// +kubebuilder:rbac:groups="",resources=pods,verbs=list

// LivePodsOf lists the Pods of a revision on the API server.
func LivePodsOf(ctx context.Context, live client.Reader, namespace string, revision decide.PodsOf) ([]corev1.Pod, error) {
	selector := labels.Everything()
	if revision.Label != "" {
		selector = labels.SelectorFromSet(labels.Set{revision.Label: revision.Value})
	}
	if revision.Selector != nil {
		requirements, selects := revision.Selector.Requirements()
		if !selects {
			return nil, nil
		}
		selector = selector.Add(requirements...)
	}
	var pods corev1.PodList
	if err := live.List(ctx, &pods, &client.ListOptions{Namespace: namespace, LabelSelector: selector, Raw: fromMemory()}); err != nil {
		return nil, fmt.Errorf("listing the Pods with %s in namespace %s: %w", selector, namespace, err)
	}
	return slices.DeleteFunc(pods.Items, func(pod corev1.Pod) bool { return !revision.Match(&pod) }), nil
}
