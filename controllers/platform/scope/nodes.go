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

package scope

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/decide/checks"
)

// Finds out whether the trouble of a pod comes from its node, which its release doesn't cause.
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get

// ReadNode returns whether a node is ready. One that is gone isn't. Nodes are not watched.
func ReadNode(ctx context.Context, live client.Reader, name string) (checks.Node, error) {
	var node corev1.Node
	if err := live.Get(ctx, client.ObjectKey{Name: name}, &node); client.IgnoreNotFound(err) != nil {
		return checks.Node{}, fmt.Errorf("reading node %s: %w", name, err)
	}
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue {
			return checks.Node{Ready: true, Since: condition.LastTransitionTime.Time}, nil
		}
	}
	return checks.Node{}, nil
}

// PodDeletion is the optional role without which the operator may neither delete pods nor select nodes.
const PodDeletion = "the ClusterRole of config/components/pod-deletion (chart: podDeletion.enabled)"

// PodDeletions is how to permit the operator to delete pods.
const PodDeletions = "the operator may delete pods only with " + PodDeletion

// Nodes returns the names of the nodes that a selector matches, up to a limit. The operator may list nodes only with PodDeletion.
func Nodes(ctx context.Context, live client.Reader, selector labels.Selector, limit int64) ([]string, error) {
	var found metav1.PartialObjectMetadataList
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("NodeList"))
	if err := live.List(ctx, &found, client.MatchingLabelsSelector{Selector: selector}, client.Limit(limit)); err != nil {
		return nil, fmt.Errorf("listing nodes: %w", err)
	}
	names := make([]string, 0, len(found.Items))
	for i := range found.Items {
		names = append(names, found.Items[i].Name)
	}
	return names, nil
}
