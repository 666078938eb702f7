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

// Package pace finds the ReleasePolicies that concern a workload.
package pace

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/concern"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Fills the cache with the policies, which the webhooks of every replica read.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=releasepolicies,verbs=list;watch

// Reader finds ReleasePolicies.
type Reader struct {
	// Namespaces reads namespaces from the cache, Policies reads ReleasePolicies, from the cache or from the API server.
	Namespaces, Policies client.Reader
	// Namespace is the namespace of the operator. ReleasePolicies there may select other namespaces.
	Namespace string
}

// Of returns the ReleasePolicy that concerns a workload, nil if there is none: one in the namespace of the workload rather than one in that
// of the operator, and of those the one that selects the workload most specifically, or else the oldest. One with an unusable spec concerns
// none. It is shared with the cache and must not be changed.
func (r Reader) Of(ctx context.Context, kind workload.Typed, object client.Object) (*appv1alpha1.ReleasePolicy, error) {
	own := object.GetNamespace()
	var found []*appv1alpha1.ReleasePolicy
	for _, namespace := range slices.Compact([]string{own, r.Namespace}) {
		var list appv1alpha1.ReleasePolicyList
		err := r.Policies.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
		if err != nil {
			return nil, fmt.Errorf("listing the ReleasePolicies in namespace %s: %w", namespace, err)
		}
		for i := range list.Items {
			policy := &list.Items[i]
			if len(Check(policy, r.Namespace)) > 0 || specificity(policy, kind, object) < 0 {
				continue
			}
			concerned, err := Selection(policy).HasNamespace(ctx, r.Namespaces, own)
			if err != nil {
				return nil, err
			}
			if concerned {
				found = append(found, policy)
			}
		}
	}
	if len(found) == 0 {
		return nil, nil
	}
	return slices.MinFunc(found, func(a, b *appv1alpha1.ReleasePolicy) int {
		return cmp.Or(
			-cmp.Compare(isIn(a, own), isIn(b, own)),
			-cmp.Compare(specificity(a, kind, object), specificity(b, kind, object)),
			a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
			cmp.Compare(a.Name, b.Name),
		)
	}), nil
}

// Check returns why the spec of a policy is unusable, each with its place; none if it is usable.
func Check(policy *appv1alpha1.ReleasePolicy, operatorNamespace string) (problems []string) {
	return Selection(policy).Problems(operatorNamespace)
}

// Selection returns how a policy selects workloads.
func Selection(policy *appv1alpha1.ReleasePolicy) concern.Selection {
	return concern.Selection{
		Kind: "ReleasePolicy", Namespace: policy.Namespace, Namespaces: policy.Spec.NamespaceSelector, Workloads: policy.Spec.Workloads,
	}
}

// Levels of specificity; a selector with labels counts as byLabels and one more for each label and expression.
const (
	byNothing = iota
	byKind
	byLabels
	byName = 1000
)

// specificity returns how specifically a policy selects a workload, negative if it doesn't.
func specificity(policy *appv1alpha1.ReleasePolicy, kind workload.Typed, object client.Object) int {
	if len(policy.Spec.Workloads) == 0 {
		return byNothing
	}
	most := -1
	for _, selected := range policy.Spec.Workloads {
		if !concern.Selects([]appv1alpha1.WorkloadSelector{selected}, kind, object) {
			continue
		}
		level := byKind
		switch {
		case selected.Name != "":
			level = byName
		case selected.Selector != nil:
			level = byLabels + len(selected.Selector.MatchLabels) + len(selected.Selector.MatchExpressions)
		}
		most = max(most, level)
	}
	return most
}

// isIn returns 1 if a policy is in a namespace, else 0.
func isIn(policy *appv1alpha1.ReleasePolicy, namespace string) int {
	if policy.Namespace == namespace {
		return 1
	}
	return 0
}
