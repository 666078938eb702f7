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

package releasepolicy

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Validator denies ReleasePolicies with unusable fields.
type Validator struct {
	// Kinds are the kinds under change control.
	Kinds workload.Kinds
	// Namespace is the namespace of the operator.
	Namespace string
}

// Handle admits or denies a ReleasePolicy that is created or updated.
func (v *Validator) Handle(_ context.Context, request review.Request) review.Response {
	var policy appv1alpha1.ReleasePolicy
	if err := json.Unmarshal(request.Object.Raw, &policy); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding ReleasePolicy %s: %w", request.Name, err))
	}
	if !policy.DeletionTimestamp.IsZero() {
		return review.Allowed("") // an invalid one must be able to lose its finalizers
	}
	policy.Namespace = request.Namespace
	if problems := pace.Check(&policy, v.Namespace); len(problems) > 0 {
		return review.Denied(fmt.Sprintf("ReleasePolicy %s: %s", policy.Name, strings.Join(problems, "; ")))
	}
	return review.Allowed("").WithWarnings(append(
		pace.Selection(&policy).Advice(policy.Name, v.Namespace, v.Kinds.Snapshot()), advice(&policy.Spec)...)...)
}

// advice warns of steps that let no further pod run or can't be approved, and of fields without an effect.
func advice(spec *appv1alpha1.ReleasePolicySpec) (warnings []string) {
	for i := 1; i < len(spec.Steps); i++ {
		before, step := spec.Steps[i-1], spec.Steps[i]
		if step.Percent > 0 && step.Percent <= before.Percent || step.Replicas > 0 && step.Replicas <= before.Replicas {
			warnings = append(warnings, fmt.Sprintf("spec.steps[%d] lets no more pods run than spec.steps[%d]", i, i-1))
		}
	}
	for i, step := range spec.Steps {
		if of := spec.Approvers; of != nil && len(of.Groups) == 0 && len(of.Users) > 0 && int(step.Approvals) > len(of.Users) {
			warnings = append(warnings, fmt.Sprintf("spec.steps[%d] needs %d approvals, but spec.approvers.users has %d", i, step.Approvals, len(of.Users)))
		}
	}
	switch {
	case len(spec.Steps) > 0:
	case spec.StuckAfter == nil:
		warnings = append(warnings, "a ReleasePolicy without spec.steps and spec.stuckAfter has no effect")
	case spec.Deadline != nil || spec.Approvers != nil:
		warnings = append(warnings, "spec.deadline and spec.approvers have no effect without spec.steps")
	}
	return warnings
}
