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

package declared

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/workload"
)

// policyPrefix starts the name of a policy. Uninstalling the operator removes objects whose names start with altershieldoperator-.
const policyPrefix = "altershieldoperator-rules-"

// Operations returns the operations that rules apply to.
func (r ruling) Operations() []appv1alpha1.RuleOperation {
	var operations []appv1alpha1.RuleOperation
	if len(r.immutable) > 0 {
		operations = append(operations, "UPDATE")
	}
	for _, rule := range r.rules {
		operations = append(operations, rule.operations...)
	}
	slices.Sort(operations)
	return slices.Compact(operations)
}

// Policy renders the rules of a kind as a policy, which is enforced while the operator is down, and its binding for the namespaces that
// are opted in. It returns nil if there are no rules.
func Policy(compiled Kind) (*admissionregistrationv1.ValidatingAdmissionPolicy, *admissionregistrationv1.ValidatingAdmissionPolicyBinding) {
	operations := compiled.Operations()
	if len(operations) == 0 {
		return nil, nil
	}
	kind := compiled.GroupVersionKind()
	rules := &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionregistrationv1.RuleWithOperations{Rule: admissionregistrationv1.Rule{
			APIGroups: []string{kind.Group}, APIVersions: []string{kind.Version}, Resources: []string{compiled.Resource()},
		}},
	}}}
	for _, operation := range operations {
		rules.ResourceRules[0].Operations = append(rules.ResourceRules[0].Operations, admissionregistrationv1.OperationType(operation))
	}
	meta := metav1.ObjectMeta{Name: policyPrefix + compiled.Resource() + "." + kind.Group}
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionregistrationv1.Fail), MatchConstraints: rules, Validations: compiled.validations(),
		},
	}
	if workload.LeavesOwned(compiled) {
		policy.Spec.MatchConditions = []admissionregistrationv1.MatchCondition{{Name: "is-not-owned", Expression: workload.NotOwned}}
	}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: meta,
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: meta.Name, ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
		},
	}
	if compiled.Namespaced() {
		binding.Spec.MatchResources = &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
			MatchLabels: map[string]string{appv1alpha1.LabelOptIn: appv1alpha1.OptInEnabled},
		}}
	}
	return policy, binding
}

func (r ruling) validations() []admissionregistrationv1.Validation {
	var validations []admissionregistrationv1.Validation
	for _, path := range r.immutable {
		validations = append(validations, admissionregistrationv1.Validation{
			Expression: fmt.Sprintf("request.operation != 'UPDATE' || %s == %s", optional(varObject, path), optional(varOldObject, path)),
			Message:    immutableMessage(path),
		})
	}
	all := r.Operations()
	for _, rule := range r.rules {
		expression := rule.expression.Text
		if on := slices.Sorted(slices.Values(rule.operations)); !slices.Equal(on, all) {
			var others []string
			for _, operation := range on {
				others = append(others, fmt.Sprintf("request.operation != '%s'", operation))
			}
			expression = fmt.Sprintf("%s || (%s)", strings.Join(others, " && "), expression)
		}
		validations = append(validations, admissionregistrationv1.Validation{Expression: expression, Message: rule.message})
	}
	return validations
}

// MayChange returns a condition that compares the content of two objects. It compares whole lists, and ignored fields as well.
func (c *content) MayChange() string {
	var conditions []string
	for _, path := range slices.Concat(c.templates, c.fields) {
		if all := slices.IndexFunc(path.steps, func(step step) bool { return step.all }); all >= 0 {
			path = Path{path.steps[:all]}
		}
		condition := fmt.Sprintf("%s != %s", optional(varObject, path), optional(varOldObject, path))
		if !slices.Contains(conditions, condition) {
			conditions = append(conditions, condition)
		}
	}
	return "oldObject == null || " + strings.Join(conditions, " || ")
}

// MayBreak returns a condition that compares the immutable fields. It is always true if there are rules for updates.
func (r ruling) MayBreak() string {
	if slices.ContainsFunc(r.rules, func(rule rule) bool { return slices.Contains(rule.operations, "UPDATE") }) {
		return "true"
	}
	if len(r.immutable) == 0 {
		return "false"
	}
	var conditions []string
	for _, path := range r.immutable {
		conditions = append(conditions, fmt.Sprintf("%s != %s", optional(varObject, path), optional(varOldObject, path)))
	}
	return strings.Join(conditions, " || ")
}

// optional returns the expression that selects a field which may be missing.
func optional(variable string, path Path) string {
	identifier := regexp.MustCompile(`^[a-z][a-zA-Z0-9]*$`)
	// Keywords and reserved words of CEL.
	reserved := []string{
		"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
		"package", "namespace", "return", "var", "void", "while",
	}
	selected := variable
	for _, step := range path.steps {
		if identifier.MatchString(step.name) && !slices.Contains(reserved, step.name) {
			selected += ".?" + step.name
		} else {
			selected += "[?" + strconv.Quote(step.name) + "]"
		}
	}
	return selected
}
