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

// Package verification finds the VerificationPolicies that concern a workload.
package verification

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

// Fills the cache with the policies by which releases are checked.
// +kubebuilder:rbac:groups=app.ops.cloud.alipay.com,resources=verificationpolicies,verbs=list;watch

// Reader finds VerificationPolicies.
type Reader struct {
	// Client reads namespaces and policies from the cache.
	Client client.Reader
	// Namespace is the namespace of the operator. VerificationPolicies there may select other namespaces.
	Namespace string
}

// Of returns the VerificationPolicies that concern a workload: those in the namespace of the operator first, and the oldest first. One with
// an unusable spec concerns none.
func (r Reader) Of(ctx context.Context, kind workload.Typed, object client.Object) ([]appv1alpha1.VerificationPolicy, error) {
	own := object.GetNamespace()
	var found []appv1alpha1.VerificationPolicy
	for _, namespace := range slices.Compact([]string{r.Namespace, own}) {
		var list appv1alpha1.VerificationPolicyList
		err := r.Client.List(ctx, &list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency)
		if err != nil {
			return nil, fmt.Errorf("listing the VerificationPolicies in namespace %s: %w", namespace, err)
		}
		slices.SortFunc(list.Items, func(a, b appv1alpha1.VerificationPolicy) int {
			return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
		})
		for i := range list.Items {
			policy := &list.Items[i]
			if len(Problems(policy, r.Namespace)) > 0 || !concern.Selects(policy.Spec.Workloads, kind, object) {
				continue
			}
			concerned, err := Selection(policy).HasNamespace(ctx, r.Client, own)
			if err != nil {
				return nil, err
			}
			if concerned {
				found = append(found, *policy)
			}
		}
	}
	return found, nil
}

// Problems returns why a policy concerns no workload, each with its place; none if it is usable.
func Problems(policy *appv1alpha1.VerificationPolicy, operatorNamespace string) []string {
	problems := Selection(policy).Problems(operatorNamespace)
	if policy.Namespace == operatorNamespace {
		return problems
	}
	for i := range policy.Spec.Checks {
		// Without such a check every bad verdict counts, so that one in a lower mode would loosen what the platform has set up.
		if policy.Spec.Checks[i].Type == appv1alpha1.CheckServer {
			problems = append(problems, fmt.Sprintf("spec.checks[%d].type: only a VerificationPolicy in namespace %s may have checks of the type Server", i, operatorNamespace))
		}
	}
	return problems
}

// Selection returns how a policy selects workloads.
func Selection(policy *appv1alpha1.VerificationPolicy) concern.Selection {
	return concern.Selection{
		Kind: "VerificationPolicy", Namespace: policy.Namespace, Namespaces: policy.Spec.NamespaceSelector, Workloads: policy.Spec.Workloads,
	}
}
