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

package verificationpolicy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/decide"
	"github.com/traas-stack/altershield-operator/controllers/decide/checks/rule"
	"github.com/traas-stack/altershield-operator/controllers/platform/bounded"
	"github.com/traas-stack/altershield-operator/controllers/verification"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// Validator denies VerificationPolicies with unusable fields.
type Validator struct {
	// Kinds are the kinds under change control.
	Kinds workload.Kinds
	// Namespace is the namespace of the operator.
	Namespace string
	Rules     *rule.Compiler
	// Live lists VerificationSources on the API server, at a limited rate: only the leader watches them.
	Live client.Reader
}

// Handle admits or denies a VerificationPolicy that is created or updated.
func (v *Validator) Handle(ctx context.Context, request review.Request) review.Response {
	var policy appv1alpha1.VerificationPolicy
	if err := json.Unmarshal(request.Object.Raw, &policy); err != nil {
		return review.Errored(http.StatusBadRequest, fmt.Errorf("decoding VerificationPolicy %s: %w", request.Name, err))
	}
	if !policy.DeletionTimestamp.IsZero() {
		return review.Allowed("") // an invalid one must be able to lose its finalizers
	}
	policy.Namespace = request.Namespace
	selection := verification.Selection(&policy)
	if problems := append(verification.Problems(&policy, v.Namespace), problems(&policy, v.Rules)...); len(problems) > 0 {
		return review.Denied(fmt.Sprintf("VerificationPolicy %s: %s", policy.Name, strings.Join(problems, "; ")))
	}
	warnings := append(selection.Advice(policy.Name, v.Namespace, v.Kinds.Snapshot()), advice(&policy)...)
	if policy.Namespace != v.Namespace {
		warnings = append(warnings, v.unconfined(ctx, &policy)...)
	}
	return review.Allowed("").WithWarnings(warnings...)
}

// unconfined warns of queries that their source doesn't answer for a policy of another namespace than the operator's.
func (v *Validator) unconfined(ctx context.Context, policy *appv1alpha1.VerificationPolicy) (warnings []string) {
	isQuery := func(check appv1alpha1.VerificationCheck) bool { return check.Query != nil }
	if !slices.ContainsFunc(policy.Spec.Checks, isQuery) {
		return nil
	}
	var sources appv1alpha1.VerificationSourceList
	if err := v.Live.List(ctx, &sources, client.InNamespace(v.Namespace)); err != nil {
		if errors.Is(err, bounded.ErrTooManyReads) {
			return nil // a flood of reviews must not flood the log
		}
		ctrl.LoggerFrom(ctx).Error(err, "Failed to list the VerificationSources that may answer a query", "verificationPolicy", client.ObjectKeyFromObject(policy))
		return nil
	}
	confined := map[string]bool{}
	for i := range sources.Items {
		spec := &sources.Items[i].Spec
		confined[sources.Items[i].Name] = spec.Prometheus != nil && spec.Prometheus.EnforceNamespace
	}
	for i := range policy.Spec.Checks {
		if query := policy.Spec.Checks[i].Query; query != nil && !confined[query.SourceRef.Name] {
			warnings = append(warnings, fmt.Sprintf("spec.checks[%d].query is answered only by a source with spec.prometheus.enforceNamespace", i))
		}
	}
	return warnings
}

// problems returns why the expressions and matchers of a policy are unusable, each with its place; none if all are usable.
func problems(policy *appv1alpha1.VerificationPolicy, rules *rule.Compiler) (found []string) {
	for i := range policy.Spec.Checks {
		check := &policy.Spec.Checks[i]
		if check.Rule != nil {
			for _, problem := range rules.Problems(check.Rule) {
				found = append(found, fmt.Sprintf("spec.checks[%d].rule.%s", i, problem))
			}
		}
		if measured := decide.Measured(check); measured != nil {
			for _, problem := range measured.Problems() {
				found = append(found, fmt.Sprintf("spec.checks[%d].%s.%s", i, field(check.Type), problem))
			}
		}
	}
	if spec := &policy.Spec; spec.FailWhen != "" {
		names := make([]string, len(spec.Checks))
		for i := range spec.Checks {
			names[i] = spec.Checks[i].Name
		}
		for _, problem := range rules.FailWhenProblems(spec.FailWhen, names) {
			found = append(found, "spec.failWhen: "+problem)
		}
	}
	return found
}

// advice warns of modes without an effect, and of checks without the time to fail or to end.
func advice(policy *appv1alpha1.VerificationPolicy) (warnings []string) {
	spec := &policy.Spec
	for i := range spec.Checks {
		check := &spec.Checks[i]
		if short := shortOfTime(spec, check); short != "" {
			warnings = append(warnings, fmt.Sprintf("spec.checks[%d].%s %s", i, field(check.Type), short))
		}
		if decide.LowerMode(spec.Mode, check.Mode) != check.Mode && check.Mode != "" {
			warnings = append(warnings, fmt.Sprintf("spec.checks[%d].mode has no effect: the mode of the policy, %s, is lower than %s", i, spec.Mode, check.Mode))
		}
		if mode, held := decide.LowerMode(spec.Mode, check.Mode), heldBy(check); held != "" && mode != appv1alpha1.CheckEnforce {
			warnings = append(warnings, fmt.Sprintf("spec.checks[%d] holds no %s: its mode is %s, not Enforce", i, held, mode))
		}
	}
	return warnings
}

// shortOfTime returns what becomes of a check that has too little time to fail or to end, empty for one that has enough.
func shortOfTime(spec *appv1alpha1.VerificationPolicySpec, check *appv1alpha1.VerificationCheck) string {
	time, measured := decide.LookSeconds(&spec.VerificationTerms), decide.Measured(check)
	switch {
	case decide.IsPhased(check.Phase):
		if check.Job != nil && check.Job.TimeoutSeconds > check.TimeoutSeconds {
			return fmt.Sprintf("has no verdict in time if it takes longer than timeoutSeconds of the check, %d: its own is %d", check.TimeoutSeconds, check.Job.TimeoutSeconds)
		}
	case measured != nil:
		if needed := spec.WarmupSeconds + (measured.LeastLooks(spec.IntervalSeconds)+1)*spec.IntervalSeconds; time < needed {
			return fmt.Sprintf("never fails: it needs %d seconds, and bakeSeconds and watchSeconds give it %d", needed, time)
		}
	case check.Job != nil && check.Job.TimeoutSeconds > time:
		return fmt.Sprintf("is Inconclusive if it takes longer than bakeSeconds and watchSeconds give it, %d: timeoutSeconds is %d", time, check.Job.TimeoutSeconds)
	}
	return ""
}

// heldBy returns what waits for a check that can't tell, empty for nothing.
func heldBy(check *appv1alpha1.VerificationCheck) string {
	switch {
	case decide.IsPhased(check.Phase):
		return "release"
	case check.OnInconclusive == appv1alpha1.InconclusiveHold:
		return "pods"
	}
	return ""
}

// field returns the field that configures a check of a type.
func field(check appv1alpha1.CheckType) string { return strings.ToLower(string(check)) }
