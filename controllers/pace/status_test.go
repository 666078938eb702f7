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
package pace_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
)

const system = "altershieldoperator-system"

// policyWith returns a usable ReleasePolicy with a step, changed.
func policyWith(namespace string, changes ...func(*appv1alpha1.ReleasePolicy)) *appv1alpha1.ReleasePolicy {
	policy := &appv1alpha1.ReleasePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "careful", Generation: 4},
		Spec:       appv1alpha1.ReleasePolicySpec{Steps: []appv1alpha1.ReleaseStep{{Replicas: 1}, {Percent: 100}}},
	}
	for _, change := range changes {
		change(policy)
	}
	return policy
}

func withoutSteps(policy *appv1alpha1.ReleasePolicy) { policy.Spec.Steps = nil }

// ofTier makes a policy select the namespaces of a tier.
func ofTier(tier string) func(*appv1alpha1.ReleasePolicy) {
	return func(policy *appv1alpha1.ReleasePolicy) {
		policy.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tier": tier}}
	}
}

// gated gives a policy the condition Gated, which has been so for a time.
func gated(status metav1.ConditionStatus, since time.Duration) func(*appv1alpha1.ReleasePolicy) {
	return func(policy *appv1alpha1.ReleasePolicy) {
		policy.Status.Conditions = []metav1.Condition{{Type: "Gated", Status: status, LastTransitionTime: metav1.NewTime(testkit.Now().Add(-since))}}
	}
}

func TestStatusConditions(t *testing.T) {
	const byPolicy = "Gated True MutatingAdmissionPolicy the API server adds gates to the pods of paced releases"
	missing := func(until string) string {
		return "Gated Unknown Missing what adds gates to pods was not found any more: paced releases that need gates go on to all pods unless it is back by " + until
	}
	for _, row := range []struct {
		name     string
		policy   *appv1alpha1.ReleasePolicy
		gates    string
		expected []string
	}{
		{"usable, gates by the API server", policyWith("shop"), "MutatingAdmissionPolicy", []string{"Ready True Valid the policy is in effect", byPolicy}},
		{"gates by the webhook", policyWith("shop"), "Webhook", []string{"Ready True Valid the policy is in effect",
			"Gated True Webhook a webhook adds gates to the pods of paced releases: while no replica of the operator answers, pods come without; " +
				"on Kubernetes 1.36 or later, apply config/gates"}},
		{"no gates", policyWith("shop"), "NotInstalled", []string{"Ready True Valid the policy is in effect",
			"Gated False NotInstalled neither the MutatingAdmissionPolicy nor the webhook that adds gates is installed: " +
				"releases that need gates aren't paced; apply config/default or config/gates"}},
		{"gates that were there before", policyWith("shop", gated("True", 0)), "NotInstalled", []string{missing("2026-11-21T10:00:30Z"), "Ready True Valid the policy is in effect"}},
		{"gates that have been missing for a moment", policyWith("shop", gated("Unknown", 29*time.Second)), "NotInstalled", []string{missing("2026-11-21T10:00:01Z"), "Ready True Valid the policy is in effect"}},
		{"gates that have been missing for long", policyWith("shop", gated("Unknown", 30*time.Second)), "NotInstalled", []string{
			"Gated False NotInstalled neither the MutatingAdmissionPolicy nor the webhook that adds gates is installed: " +
				"releases that need gates aren't paced; apply config/default or config/gates", "Ready True Valid the policy is in effect"}},
		{"gates that are back", policyWith("shop", gated("Unknown", 29*time.Second)), "MutatingAdmissionPolicy", []string{byPolicy, "Ready True Valid the policy is in effect"}},
		{"without steps it needs none", policyWith("shop", withoutSteps, func(policy *appv1alpha1.ReleasePolicy) {
			policy.Status.Conditions = []metav1.Condition{{Type: "Gated", Status: "True"}}
		}), "Webhook", []string{"Ready True Valid the policy is in effect"}},
		{"it selects namespaces, elsewhere", policyWith("shop", ofTier("prod")), "MutatingAdmissionPolicy", []string{
			"Ready False Invalid spec.namespaceSelector: only a ReleasePolicy in namespace altershieldoperator-system may select other namespaces", byPolicy}},
		{"it selects namespaces", policyWith(system, ofTier("prod")), "MutatingAdmissionPolicy", []string{"Ready True Valid the policy is in effect", byPolicy}},
	} {
		t.Run(row.name, func(t *testing.T) {
			status := pace.Status(row.policy, system, pace.InEffect{Gates: row.gates}, testkit.Now())
			var shown []string
			for _, condition := range status.Conditions {
				shown = append(shown, fmt.Sprintf("%s %s %s %s", condition.Type, condition.Status, condition.Reason, condition.Message))
				NewWithT(t).Expect(condition.ObservedGeneration).To(BeEquivalentTo(4))
			}
			NewWithT(t).Expect(shown).To(Equal(row.expected))
			NewWithT(t).Expect(status.ObservedGeneration).To(BeEquivalentTo(4))
		})
	}
}

func TestStatusListsTheFirstWorkloads(t *testing.T) {
	g := NewWithT(t)
	var workloads []appv1alpha1.MatchedWorkload
	for i := range 150 {
		workloads = append(workloads, appv1alpha1.MatchedWorkload{Kind: "Deployment.apps", Namespace: "shop", Name: fmt.Sprintf("web-%03d", 149-i)})
	}
	workloads = append(workloads, appv1alpha1.MatchedWorkload{Kind: "StatefulSet.apps", Namespace: "bar", Name: "db"})
	status := pace.Status(policyWith("shop"), system, pace.InEffect{Workloads: workloads, Paced: 3}, testkit.Now())
	g.Expect(status.Workloads).To(BeEquivalentTo(151))
	g.Expect(status.Paced).To(BeEquivalentTo(3))
	g.Expect(status.Matched).To(HaveLen(100))
	g.Expect(status.Matched[0].Name).To(Equal("db"), "by namespace first")
	g.Expect(status.Matched[1].Name).To(Equal("web-000"))
	g.Expect(status.Matched[99].Name).To(Equal("web-098"))
	g.Expect(workloads[0].Name).To(Equal("web-149"), "what was handed in is unchanged")
}

func TestReaderPacesNamespace(t *testing.T) {
	for _, row := range []struct {
		name     string
		policies []client.Object
		expected bool
	}{
		{"no policy", nil, false},
		{"one in the namespace", []client.Object{policyWith("shop")}, true},
		{"one without steps", []client.Object{policyWith("shop", withoutSteps)}, false},
		{"one that is unusable", []client.Object{policyWith("shop", ofTier("prod"))}, false},
		{"one of another namespace", []client.Object{policyWith("bar")}, false},
		{"one of the operator's namespace alone", []client.Object{policyWith(system)}, false},
		{"one of all such namespaces", []client.Object{policyWith(system, ofTier("prod"))}, true},
		{"one of other namespaces", []client.Object{policyWith(system, ofTier("dev"))}, false},
		{"the second one", []client.Object{policyWith("shop", withoutSteps), policyWith(system, ofTier("prod"))}, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			shop := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"tier": "prod"}}}
			kube := testkit.NewFake(t, append(row.policies, shop)...)
			paces, err := pace.Reader{Namespaces: kube, Policies: kube, Namespace: system}.PacesNamespace(t.Context(), "shop")
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(paces).To(Equal(row.expected))
		})
	}
}
