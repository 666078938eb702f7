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

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/lab"
)

// uncontrolled is a StatefulSet in a namespace that has opted in: v0.1 knows Deployments alone.
const uncontrolled = "uncontrolled"

func (r *run) createUncontrolled(ctx context.Context) error {
	like := lab.Deployment(controlled, uncontrolled, replicas)
	set := &appsv1.StatefulSet{
		ObjectMeta: like.ObjectMeta,
		Spec:       appsv1.StatefulSetSpec{Replicas: like.Spec.Replicas, Selector: like.Spec.Selector, Template: like.Spec.Template},
	}
	if err := r.lab.Kube.Create(ctx, set); err != nil {
		return fmt.Errorf("creating a StatefulSet: %w", err)
	}
	return nil
}

// observes checks that an upgrade turned nothing on: kinds other than Deployments and the policy builtin only observe.
func (r *run) observes(ctx context.Context) error {
	return lab.Until(ctx, patience, "kinds and policies that only observe", func(ctx context.Context) error {
		var kinds appv1alpha1.ControlledKindList
		var policies appv1alpha1.VerificationPolicyList
		for _, list := range []client.ObjectList{&kinds, &policies} {
			if err := r.lab.Kube.List(ctx, list); err != nil {
				return err
			}
		}
		if len(kinds.Items) < 2 || len(policies.Items) != 1 {
			return fmt.Errorf("there are %d ControlledKinds and %d VerificationPolicies", len(kinds.Items), len(policies.Items))
		}
		for _, kind := range kinds.Items {
			want := appv1alpha1.ModeObserve
			if kind.Name == "deployments.apps" {
				want = appv1alpha1.ModeEnforce
			}
			if kind.Spec.Mode != want {
				return fmt.Errorf("ControlledKind %s has the mode %s, not %s", kind.Name, kind.Spec.Mode, want)
			}
		}
		if mode := policies.Items[0].Spec.Mode; mode != appv1alpha1.CheckObserve {
			return fmt.Errorf("VerificationPolicy %s has the mode %s, not Observe", policies.Items[0].Name, mode)
		}
		return nil
	})
}
