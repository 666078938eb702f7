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
	"encoding/json"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	review "sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

func TestValidator(t *testing.T) {
	steps := func(steps ...appv1alpha1.ReleaseStep) appv1alpha1.ReleasePolicySpec {
		return appv1alpha1.ReleasePolicySpec{Steps: steps}
	}
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Is"}}}
	for _, row := range []struct {
		name     string
		spec     appv1alpha1.ReleasePolicySpec
		denial   string
		warnings []string
	}{
		{"steps", steps(appv1alpha1.ReleaseStep{Replicas: 1}, appv1alpha1.ReleaseStep{Percent: 25}, appv1alpha1.ReleaseStep{Percent: 100}), "", nil},
		{"a step that lets no more pods run", steps(appv1alpha1.ReleaseStep{Replicas: 2}, appv1alpha1.ReleaseStep{Replicas: 1}, appv1alpha1.ReleaseStep{Percent: 100}), "",
			[]string{"spec.steps[1] lets no more pods run than spec.steps[0]"}},
		{"two steps of all pods", steps(appv1alpha1.ReleaseStep{Percent: 100}, appv1alpha1.ReleaseStep{Percent: 100, Approvals: 1}), "",
			[]string{"spec.steps[1] lets no more pods run than spec.steps[0]"}},
		{"nothing", appv1alpha1.ReleasePolicySpec{}, "", []string{"a ReleasePolicy without spec.steps and spec.stuckAfter has no effect"}},
		{"no steps", appv1alpha1.ReleasePolicySpec{StuckAfter: &metav1.Duration{Duration: time.Minute}}, "", nil},
		{"a deadline without steps", appv1alpha1.ReleasePolicySpec{StuckAfter: &metav1.Duration{Duration: time.Minute}, Deadline: &appv1alpha1.StepDeadline{}}, "",
			[]string{"spec.deadline and spec.approvers have no effect without spec.steps"}},
		{"kinds that aren't under change control", appv1alpha1.ReleasePolicySpec{StuckAfter: &metav1.Duration{Duration: time.Minute}, Workloads: []appv1alpha1.WorkloadSelector{
			{Kind: "Deployment.apps"}, {Kind: "Deployment"}, {Kind: "Gadget.example.com"}}}, "", []string{
			"ReleasePolicy careful concerns no Deployment: the kind isn't under change control",
			"ReleasePolicy careful concerns no Gadget.example.com: the kind isn't under change control",
		}},
		{"more approvals than approvers", appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{{Replicas: 1, Approvals: 1}, {Percent: 100, Approvals: 2}},
			Approvers: &appv1alpha1.Approvers{Users: []string{"bob"}}}, "", []string{"spec.steps[1] needs 2 approvals, but spec.approvers.users has 1"}},
		{"approvers of groups", appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{{Percent: 100, Approvals: 2}},
			Approvers: &appv1alpha1.Approvers{Users: []string{"bob"}, Groups: []string{"managers"}}}, "", nil},
		{"other namespaces", appv1alpha1.ReleasePolicySpec{NamespaceSelector: &metav1.LabelSelector{}},
			"ReleasePolicy careful: spec.namespaceSelector: only a ReleasePolicy in namespace system may select other namespaces", nil},
		{"a selector that can't be read", appv1alpha1.ReleasePolicySpec{Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Selector: broken}}},
			`ReleasePolicy careful: spec.workloads[0].selector: "Is" is not a valid label selector operator`, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			raw, err := json.Marshal(&appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Name: "careful"}, Spec: row.spec})
			g.Expect(err).NotTo(HaveOccurred())
			response := (&Validator{Kinds: testkit.Kinds(), Namespace: "system"}).Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
				Operation: "CREATE", Namespace: "shop", Name: "careful", Object: runtime.RawExtension{Raw: raw},
			}})
			g.Expect(response.Allowed).To(Equal(row.denial == ""))
			g.Expect(response.Warnings).To(Equal(row.warnings))
			if row.denial != "" {
				g.Expect(response.Result.Message).To(Equal(row.denial))
			}
		})
	}
}

func TestValidatorLetsAnInvalidPolicyGoThatIsDeleted(t *testing.T) {
	handle := func(metadata string) review.Response {
		return (&Validator{Kinds: testkit.Kinds(), Namespace: "system"}).Handle(t.Context(), review.Request{AdmissionRequest: admissionv1.AdmissionRequest{
			Operation: "UPDATE", Namespace: "shop", Name: "careful", Object: runtime.RawExtension{Raw: []byte(`{"metadata":{` + metadata + `},"spec":{"namespaceSelector":{}}}`)},
		}})
	}
	g := NewWithT(t)
	g.Expect(handle(`"name":"careful"`).Allowed).To(BeFalse())
	g.Expect(handle(`"name":"careful","deletionTimestamp":"2026-11-27T15:00:00Z"`).Allowed).To(BeTrue())
}

func TestValidatorWarnsOfAPolicyOfTheOperatorsNamespace(t *testing.T) {
	g := NewWithT(t)
	request := review.Request{AdmissionRequest: admissionv1.AdmissionRequest{Operation: "CREATE", Namespace: "system", Name: "careful", Object: runtime.RawExtension{
		Raw: []byte(`{"metadata":{"name":"careful"},"spec":{"stuckAfter":"1m"}}`)}}}
	g.Expect((&Validator{Kinds: testkit.Kinds(), Namespace: "system"}).Handle(t.Context(), request).Warnings).To(HaveExactElements(
		"ReleasePolicy careful concerns only workloads in namespace system: to select others, set spec.namespaceSelector"))
}
