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

package render_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/render"
	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/view"
)

// diagnosis is what doctor may find.
func diagnosis() view.Diagnosis {
	found := view.Diagnosis{Problems: 9, Items: []view.Finding{
		{Topic: "APIServer", Result: "OK", Symptom: "ServerSupported", Values: []string{"v1.36.1", "1.30"}},
		{Topic: "Lease", Result: "Problem", Symptom: "LeaseStale", Values: []string{"manager-\x1b[31mabc", "5m0s"}, Help: "kubectl logs -n altershieldoperator-system deployment/altershieldoperator-controller-manager"},
		{Topic: "Policies", Result: "Unknown", Symptom: "MayNotRead", Values: []string{"list validatingadmissionpolicies.admissionregistration.k8s.io"}},
		{Topic: "Namespaces", Result: "Note", Symptom: "NeverStamped", Values: []string{"2", "shop/old, shop/older"}},
	}}
	for i := range 8 {
		found.Items = append(found.Items, view.Finding{
			Topic: "Suspended", Result: "Problem", Symptom: "SuspendedLong", Values: []string{fmt.Sprintf("shop/web-%d", i), "4h0m0s"},
			Help: fmt.Sprintf("kubectl altershield why deployment/web-%d -n shop", i),
		})
	}
	found.Items = append(found.Items, view.Finding{Topic: "Rights", Result: "OK", Symptom: "RightsAll", Values: []string{"shop"}})
	return found
}

func TestDiagnosisWithoutProblems(t *testing.T) {
	g := NewWithT(t)
	fine := view.Diagnosis{Items: diagnosis().Items[:1]}
	g.Expect(render.Diagnosis(fine, style)).To(Equal("✔ API server  version v1.36.1, at least 1.30\nno problems\n"))
	g.Expect(render.Diagnosis(fine, render.Style{Now: now, ASCII: true})).To(HavePrefix("+ API server  "))
	g.Expect(render.Late("2m0s", style)).To(Equal("problems remain after 2m0s"))
}

func TestDiagnosisBlamesNoWebhookWhereDeploymentsAreNotEnforced(t *testing.T) {
	unstamped := func(result view.Result, symptom view.Symptom) string {
		return render.Diagnosis(view.Diagnosis{Items: []view.Finding{{Topic: "Trial", Result: result, Symptom: symptom, Values: []string{"shop"}}}}, style)
	}
	g := NewWithT(t)
	g.Expect(unstamped("Problem", "TrialUnstamped")).To(HavePrefix("✖ trial release  a dry run of a new Deployment in namespace shop comes back without a version: the webhook isn't called\n"))
	g.Expect(unstamped("Note", "TrialNotEnforced")).To(HavePrefix("! trial release  a dry run of a new Deployment in namespace shop comes back without a version: Deployments are not enforced\n"))
}

func TestDiagnosisCountsOne(t *testing.T) {
	g := NewWithT(t)
	one := view.Diagnosis{Items: []view.Finding{
		{Topic: "Operator", Result: "OK", Symptom: "OperatorReady", Values: []string{"1", "1"}},
		{Topic: "Operator", Result: "Problem", Symptom: "OperatorNotReady", Values: []string{"0", "1"}},
		{Topic: "Endpoints", Result: "OK", Symptom: "EndpointsReady", Values: []string{"1"}},
		{Topic: "Namespaces", Result: "Note", Symptom: "NeverStamped", Values: []string{"1", "shop/old"}},
	}}
	g.Expect(render.Diagnosis(one, style)).To(And(
		ContainSubstring("ready pods: 1 of 1\n"), ContainSubstring("ready pods: 0 of 1\n"), ContainSubstring("addresses that answer the webhooks: 1\n"),
		ContainSubstring("1 of the Deployments there will come under change control with their next release: shop/old\n"),
	))
}

func TestDiagnosisShowsFiveOfTheSame(t *testing.T) {
	text := render.Diagnosis(diagnosis(), style)
	NewWithT(t).Expect(text).To(And(ContainSubstring("shop/web-4"), Not(ContainSubstring("shop/web-5")), ContainSubstring("            and 3 more\n✔ your rights")))
}

func TestVersionWarnsOfVersionsFarApart(t *testing.T) {
	g := NewWithT(t)
	version := view.Version{Version: "v0.4.0", Commit: "abc", Go: "go1.26", Skew: "TooFar", Operator: &view.OperatorVersion{Namespace: "system", Image: "x:v0.2.0"}}
	g.Expect(render.Version(version, style)).To(Equal("kubectl-altershield v0.4.0 (commit abc, go1.26)\noperator x:v0.2.0 in namespace system\n" +
		"! they are more than one minor version apart: install the plugin of the operator's version\n"))
	g.Expect(render.Version(view.Version{Unknown: "no\nrights"}, render.Style{Language: "zh"})).To(HaveSuffix("不知道 Operator 的版本：no rights\n"))
}
