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

package main

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/verificationpolicy"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

// policies are those that the operator has during a setup.
type policies string

const (
	// installed are those of a new installation: builtin.
	installed policies = ""
	// unchecked are none.
	unchecked policies = "unchecked"
	// paced are a ReleasePolicy of two steps, and a VerificationPolicy of three checks beside builtin.
	paced policies = "paced"
)

// apply creates the policies, and deletes those of other setups.
func (p policies) apply(ctx context.Context, l *lab.Lab) error {
	for policy, isWanted := range map[client.Object]bool{
		verificationpolicy.BuiltIn(operator.Namespace, true): p != unchecked,
		threeChecks(): p == paced,
		twoSteps():    p == paced,
	} {
		if !isWanted {
			if err := l.Kube.Delete(ctx, policy); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting the policy %s: %w", policy.GetName(), err)
			}
			continue
		}
		if err := l.Kube.Create(ctx, policy); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("creating the policy %s: %w", policy.GetName(), err)
		}
	}
	return nil
}

func threeChecks() *appv1alpha1.VerificationPolicy {
	rule := func(name, expression string) appv1alpha1.VerificationCheck {
		return appv1alpha1.VerificationCheck{Name: name, Type: appv1alpha1.CheckRule, Rule: &appv1alpha1.RuleCheck{Expression: expression}}
	}
	return &appv1alpha1.VerificationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "three-checks"},
		Spec: appv1alpha1.VerificationPolicySpec{
			NamespaceSelector: &metav1.LabelSelector{},
			VerificationTerms: appv1alpha1.VerificationTerms{Mode: appv1alpha1.CheckEnforce, BakeSeconds: 0, Checks: []appv1alpha1.VerificationCheck{
				{Name: "pods", Type: appv1alpha1.CheckPodHealth},
				rule("restarts", "newPods.all(p, p.restarts <= 1)"),
				rule("spread", "newPods.size() < 3 || newPods.map(p, p.node).distinct().size() >= 2"),
			}},
		},
	}
}

func twoSteps() *appv1alpha1.ReleasePolicy {
	return &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "two-steps"},
		Spec: appv1alpha1.ReleasePolicySpec{
			NamespaceSelector: &metav1.LabelSelector{},
			Steps:             []appv1alpha1.ReleaseStep{{Percent: 20}, {Percent: 100}},
		},
	}
}
