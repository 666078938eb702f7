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

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// observeFirst observes the first nodes of a release that starts on them. They are selected once, by live reads: the cache holds neither
// nodes nor pods from before change control.
func (r *Reconciler) observeFirst(ctx context.Context, record *appv1alpha1.ChangeWorkload, result *scene) error {
	bound, ok := result.kind.(workload.NodeBound)
	annotations := result.owner.GetAnnotations()
	if !ok || !result.Current || !decide.StartsOnFirstNodes(annotations, record.Spec.Release) {
		return nil
	}
	selector, err := decide.FirstNodesOf(annotations)
	result.First = &decide.First{Asked: selector != nil || err != nil, Of: map[types.UID]string{}}
	switch {
	case err != nil:
		result.First.Obstacle = err.Error()
	case selector != nil && result.OptedIn && decide.NeedsFirstNodes(record):
		return r.selectFirst(ctx, bound, selector, result)
	}
	return nil
}

// selectFirst selects the nodes that have a pod of the workload.
func (r *Reconciler) selectFirst(ctx context.Context, kind workload.NodeBound, selector labels.Selector, result *scene) error {
	selected, err := scope.Nodes(ctx, r.Live, selector, 0)
	if apierrors.IsForbidden(err) {
		result.First.Obstacle = "the operator may list nodes only with " + scope.PodDeletion
		return nil
	}
	if err != nil {
		return err
	}
	whole, key := result.kind.New(), client.ObjectKeyFromObject(result.owner)
	if err := r.Live.Get(ctx, key, whole); err != nil {
		return fmt.Errorf("reading %s %s: %w", result.Kind, key, err)
	}
	pods, err := kind.Pods(ctx, r.Live, whole)
	if err != nil {
		return err
	}
	nodes := slices.DeleteFunc(selected, func(node string) bool {
		return !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return pod.Spec.NodeName == node })
	})
	if len(nodes) == 0 {
		result.First.Obstacle = fmt.Sprintf("no node with a pod of the %s matches %s", result.Kind, selector)
		return nil
	}
	slices.Sort(nodes)
	result.First.Nodes = nodes[:min(len(nodes), appv1alpha1.MaxStatusPods)]
	return nil
}
