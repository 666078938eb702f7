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
package pace

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// missing is for how long gates that were there may be missing before paced releases go on without.
const missing = 30 * time.Second

// InEffect is what a ReleasePolicy does now.
type InEffect struct {
	// Workloads are those that it concerns.
	Workloads []appv1alpha1.MatchedWorkload
	// Paced is how many releases it rolls out in steps.
	Paced int32
	// Gates is the reason of the condition Gated: what adds gates to pods.
	Gates string
}

// Status returns the status of a ReleasePolicy. system is the namespace of the operator.
func Status(policy *appv1alpha1.ReleasePolicy, system string, is InEffect, now time.Time) appv1alpha1.ReleasePolicyStatus {
	status := appv1alpha1.ReleasePolicyStatus{
		ObservedGeneration: policy.Generation, Workloads: int32(len(is.Workloads)), Paced: is.Paced,
		Matched: firstMatched(is.Workloads), Conditions: policy.DeepCopy().Status.Conditions,
	}
	set := func(kind string, value metav1.ConditionStatus, reason, message string) {
		meta.SetStatusCondition(&status.Conditions, metav1.Condition{
			Type: kind, Status: value, Reason: reason, Message: message, ObservedGeneration: policy.Generation, LastTransitionTime: metav1.NewTime(now),
		})
	}
	if problems := Check(policy, system); len(problems) > 0 {
		set(appv1alpha1.ConditionReady, metav1.ConditionFalse, appv1alpha1.ReasonPolicyInvalid, strings.Join(problems, "; "))
	} else {
		set(appv1alpha1.ConditionReady, metav1.ConditionTrue, appv1alpha1.ReasonPolicyValid, "the policy is in effect")
	}
	if len(policy.Spec.Steps) == 0 {
		meta.RemoveStatusCondition(&status.Conditions, appv1alpha1.ConditionGated)
		return status
	}
	switch is.Gates {
	case appv1alpha1.ReasonGatedByPolicy:
		set(appv1alpha1.ConditionGated, metav1.ConditionTrue, is.Gates, "the API server adds gates to the pods of paced releases")
	case appv1alpha1.ReasonGatedByWebhook:
		set(appv1alpha1.ConditionGated, metav1.ConditionTrue, is.Gates, "a webhook adds gates to the pods of paced releases: while no replica of the operator answers, "+
			"pods come without; on Kubernetes 1.36 or later, apply config/gates")
	default:
		if until := gatedUntil(policy, now); now.Before(until) {
			set(appv1alpha1.ConditionGated, metav1.ConditionUnknown, appv1alpha1.ReasonGatesMissing, "what adds gates to pods was not found any more: "+
				"paced releases that need gates go on to all pods unless it is back by "+until.UTC().Format(time.RFC3339))
			break
		}
		set(appv1alpha1.ConditionGated, metav1.ConditionFalse, appv1alpha1.ReasonNotGated, "neither the MutatingAdmissionPolicy nor the webhook that adds gates is installed: "+
			"releases that need gates aren't paced; apply config/default or config/gates")
	}
	return status
}

// gatedUntil returns until when gates count as there that aren't found: they may be installed anew just now, and a pace that ends doesn't begin
// again. It is zero where there were none.
func gatedUntil(policy *appv1alpha1.ReleasePolicy, now time.Time) time.Time {
	gated := meta.FindStatusCondition(policy.Status.Conditions, appv1alpha1.ConditionGated)
	switch {
	case gated == nil || gated.Status == metav1.ConditionFalse:
		return time.Time{}
	case gated.Status == metav1.ConditionTrue:
		return now.Add(missing)
	}
	return gated.LastTransitionTime.Add(missing)
}

// firstMatched returns the first workloads by namespace, kind and name.
func firstMatched(workloads []appv1alpha1.MatchedWorkload) []appv1alpha1.MatchedWorkload {
	sorted := slices.SortedFunc(slices.Values(workloads), func(a, b appv1alpha1.MatchedWorkload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return sorted[:min(len(sorted), appv1alpha1.MaxMatched)]
}

// PacesNamespace reports whether a usable ReleasePolicy with steps concerns an opted-in namespace.
func (r Reader) PacesNamespace(ctx context.Context, namespace string) (bool, error) {
	for _, in := range slices.Compact([]string{namespace, r.Namespace}) {
		var list appv1alpha1.ReleasePolicyList
		if err := r.Policies.List(ctx, &list, client.InNamespace(in), client.UnsafeDisableDeepCopy, client.DisableReadYourWritesConsistency); err != nil {
			return false, fmt.Errorf("listing the ReleasePolicies in namespace %s: %w", in, err)
		}
		for i := range list.Items {
			if policy := &list.Items[i]; len(policy.Spec.Steps) > 0 && len(Check(policy, r.Namespace)) == 0 {
				if concerned, err := Selection(policy).HasNamespace(ctx, r.Namespaces, namespace); err != nil || concerned {
					return concerned, err
				}
			}
		}
	}
	return false, nil
}
