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

package webhooks

import (
	"context"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// firstNodes reports whether a release is to start on the nodes of an annotation, and warns where it can't. Where the nodes can't be read
// here, the ChangeWorkload reconciler reads them, and lets the rollout go on if it can't either.
func (d *defaulter) firstNodes(ctx context.Context, released marks) (first bool, warnings []string) {
	selector, err := decide.FirstNodesOf(released.annotations)
	switch _, bound := d.kind.(workload.NodeBound); {
	case !bound || selector == nil && err == nil:
		return false, nil
	case err != nil:
		return false, onAllNodes(err.Error())
	}
	nodes, err := scope.Nodes(ctx, d.past.live, selector, 1)
	switch {
	case apierrors.IsForbidden(err):
		return true, onAllNodes("the operator may list nodes only with " + scope.PodDeletion)
	case err != nil:
		ctrl.LoggerFrom(ctx).Error(err, "Failed to look for the first nodes of a release")
	case len(nodes) == 0:
		return false, onAllNodes(fmt.Sprintf("no node matches the annotation %s: %s", appv1alpha1.AnnotationFirstNodes, selector))
	}
	return true, nil
}

func onAllNodes(cause string) []string { return []string{"the release starts on all nodes: " + cause} }

// selectorAdvice warns of an annotation that is set without a release, or with the first one, and that no release can start by.
func selectorAdvice(kind workload.Kind, old, updated marks) []string {
	_, bound := kind.(workload.NodeBound)
	if !bound || old.annotations[appv1alpha1.AnnotationFirstNodes] == updated.annotations[appv1alpha1.AnnotationFirstNodes] {
		return nil
	}
	if _, err := decide.FirstNodesOf(updated.annotations); err != nil {
		return []string{"releases start on all nodes: " + err.Error()}
	}
	return nil
}

// pauseAdvice warns that a release doesn't start on some nodes because a user has paused its rollout.
func pauseAdvice(stamped marks) []string {
	if !stamped.first || decide.StartsOnFirstNodes(stamped.annotations, stamped.release().Number) {
		return nil
	}
	return []string{fmt.Sprintf("the annotation %s has no effect, since a user has paused the rollout", appv1alpha1.AnnotationFirstNodes)}
}

// startOnFirstNodes pauses the rollout of a release that is to start on some nodes.
func (m *marks) startOnFirstNodes(release int64) {
	if m.first && !m.paused { // the pause of a user stays
		m.paused = true
		m.annotations[appv1alpha1.AnnotationHeld] = strconv.FormatInt(release, 10) + appv1alpha1.HeldFirstNodes
	}
}
