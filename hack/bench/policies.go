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
	"bytes"
	"context"
	_ "embed"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/controllers/verificationpolicy"
	"github.com/traas-stack/altershield-operator/hack/lab"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
	"github.com/traas-stack/altershield-operator/hack/manifests"
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

//go:embed paced.yaml
var pacedPolicies []byte

// apply creates the policies, and deletes those of other setups.
func (p policies) apply(ctx context.Context, l *lab.Lab) error {
	wanted := map[client.Object]bool{verificationpolicy.BuiltIn(operator.Namespace, true): p != unchecked}
	decoded, err := manifests.Decode(bytes.NewReader(pacedPolicies))
	if err != nil {
		return err
	}
	for _, policy := range decoded {
		wanted[policy] = p == paced
	}
	for policy, isWanted := range wanted {
		if isWanted {
			if err := l.Kube.Create(ctx, policy); err != nil && !apierrors.IsAlreadyExists(err) {
				return fmt.Errorf("creating the policy %s: %w", policy.GetName(), err)
			}
		} else if err := l.Kube.Delete(ctx, policy); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting the policy %s: %w", policy.GetName(), err)
		}
	}
	return nil
}
