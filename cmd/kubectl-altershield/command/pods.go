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

package command

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/platform/scope"
	"github.com/traas-stack/altershield-operator/controllers/settings"
)

// podsOfRelease returns what selects the pods of a release of a workload.
func podsOfRelease(facts view.Facts, release *appv1alpha1.ChangeWorkload) client.MatchingLabels {
	selected := client.MatchingLabels{appv1alpha1.LabelVersion: release.Spec.Reversion}
	if facts.Workload != nil {
		own, _, _ := unstructured.NestedStringMap(facts.Workload.Object, "spec", "selector", "matchLabels")
		for label, value := range own {
			selected[label] = value
		}
	}
	return selected
}

// addPods reads pods of the present release, the first page of them, while it isn't verified, and when the operator rolls it back if they don't run.
func (c *cluster) addPods(ctx context.Context, facts *view.Facts, operator string) error {
	present := view.PresentOf(facts.Records)
	if present == nil || facts.Workload == nil || decide.IsSettled(present) {
		return nil
	}
	var list corev1.PodList
	err := c.List(ctx, &list, client.InNamespace(facts.Namespace), podsOfRelease(*facts, present), client.Limit(pageSize))
	if err = noteLack(facts, err, "pods", view.LacksPods); err != nil {
		return fmt.Errorf("listing the pods of %s: %w", view.Argument(facts.Reference), err)
	}
	for i := range list.Items {
		facts.Pods = append(facts.Pods, *scope.SlimPod(&list.Items[i]))
	}
	if !slices.ContainsFunc(facts.Pods, func(pod corev1.Pod) bool { return decide.DoesNotRun(&pod) }) {
		return nil
	}
	return c.addStuckAfter(ctx, facts, operator)
}

// addStuckAfter reads how long pods may take to run. It isn't known without the right to read settings and policies.
func (c *cluster) addStuckAfter(ctx context.Context, facts *view.Facts, operator string) error {
	threshold, err := settings.Reader{Client: c, Namespace: operator}.StuckThreshold(ctx)
	if err == nil {
		var policy *appv1alpha1.ReleasePolicy
		if policy, err = (pace.Reader{Namespaces: c, Policies: c, Namespace: operator}).Of(ctx, facts.Workload, facts.Workload); err == nil {
			facts.StuckAfter, _ = decide.PolicyStuckAfter(policy, facts.Workload.GetAnnotations(), threshold) // the operator reports an invalid annotation
		}
	}
	if lacksRight(err) {
		return nil
	}
	return err
}
