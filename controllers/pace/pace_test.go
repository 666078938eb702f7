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
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/pace"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

// named returns a ReleasePolicy for all workloads of its namespace.
func named(namespace, name string, changes ...func(*appv1alpha1.ReleasePolicy)) *appv1alpha1.ReleasePolicy {
	policy := &appv1alpha1.ReleasePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	for _, change := range changes {
		change(policy)
	}
	return policy
}

// of makes a policy select workloads.
func of(workloads ...appv1alpha1.WorkloadSelector) func(*appv1alpha1.ReleasePolicy) {
	return func(policy *appv1alpha1.ReleasePolicy) { policy.Spec.Workloads = workloads }
}

// across makes a policy select namespaces.
func across(labels map[string]string) func(*appv1alpha1.ReleasePolicy) {
	return func(policy *appv1alpha1.ReleasePolicy) {
		policy.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
}

func labelled(labels ...string) appv1alpha1.WorkloadSelector {
	selected := appv1alpha1.WorkloadSelector{Kind: "Deployment.apps", Selector: &metav1.LabelSelector{MatchLabels: map[string]string{}}}
	for _, label := range labels {
		selected.Selector.MatchLabels[label] = "a"
	}
	return selected
}

func TestReaderFindsTheNearestAndMostSpecificPolicy(t *testing.T) {
	kind := appv1alpha1.WorkloadSelector{Kind: "Deployment.apps"}
	web := appv1alpha1.WorkloadSelector{Kind: "Deployment.apps", Name: "web"}
	older := func(policy *appv1alpha1.ReleasePolicy) { policy.CreationTimestamp = metav1.NewTime(time.Unix(1, 0)) }
	newer := func(policy *appv1alpha1.ReleasePolicy) { policy.CreationTimestamp = metav1.NewTime(time.Unix(2, 0)) }
	prod := across(map[string]string{"tier": "prod"})
	for _, row := range []struct {
		name     string
		policies []client.Object
		found    string
	}{
		{"none", nil, ""},
		{"one of all workloads", []client.Object{named("shop", "a")}, "shop/a"},
		{"none of another namespace", []client.Object{named("other", "a")}, ""},
		{"none of the operator's namespace without a selector", []client.Object{named("system", "a")}, ""},
		{"one of the operator's namespace", []client.Object{named("system", "a", prod)}, "system/a"},
		{"none for other namespaces", []client.Object{named("system", "a", across(map[string]string{"tier": "dev"}))}, ""},
		{"none of another namespace that selects some", []client.Object{named("other", "a", prod)}, ""},
		{"none that selects others in its own namespace", []client.Object{named("shop", "a", prod)}, ""},
		{"the nearest", []client.Object{named("system", "a", prod, of(web)), named("shop", "b")}, "shop/b"},
		{"by kind rather than all", []client.Object{named("shop", "a"), named("shop", "b", of(kind))}, "shop/b"},
		{"by labels rather than kind", []client.Object{named("shop", "a", of(kind)), named("shop", "b", of(labelled("app")))}, "shop/b"},
		{"by an empty selector rather than kind", []client.Object{named("shop", "a", of(kind)), named("shop", "b", of(labelled()))}, "shop/b"},
		{"by more labels", []client.Object{named("shop", "a", of(labelled("app"))), named("shop", "b", of(labelled("app", "team")))}, "shop/b"},
		{"by name rather than labels", []client.Object{named("shop", "a", of(labelled("app", "team"))), named("shop", "b", of(web))}, "shop/b"},
		{"by the best of its selectors", []client.Object{named("shop", "a", of(labelled("app"))), named("shop", "b", of(kind, web))}, "shop/b"},
		{"none for others", []client.Object{named("shop", "a", of(appv1alpha1.WorkloadSelector{Kind: "StatefulSet.apps"}, labelled("else")))}, ""},
		{"the older of two", []client.Object{named("shop", "a", newer), named("shop", "b", older)}, "shop/b"},
		{"the first of two by name", []client.Object{named("shop", "b"), named("shop", "a")}, "shop/a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := NewWithT(t)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", Labels: map[string]string{"tier": "prod"}}}
			kube := testkit.NewFake(t, append(row.policies, namespace)...)
			reader := pace.Reader{Namespaces: kube, Policies: kube, Namespace: "system"}
			policy, err := reader.Of(t.Context(), deployment.Kind{}, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: "web", Labels: map[string]string{"app": "a", "team": "a"},
			}})
			g.Expect(err).NotTo(HaveOccurred())
			if row.found == "" {
				g.Expect(policy).To(BeNil())
				return
			}
			g.Expect(policy.Namespace + "/" + policy.Name).To(Equal(row.found))
		})
	}
}

func TestCheck(t *testing.T) {
	broken := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Is"}}}
	for _, row := range []struct {
		name     string
		policy   *appv1alpha1.ReleasePolicy
		problems []string
	}{
		{"a policy of its namespace", named("shop", "a", of(labelled("app"))), nil},
		{"a policy of all namespaces", named("system", "a", across(nil)), nil},
		{"a policy of a user for other namespaces", named("shop", "a", across(nil)),
			[]string{"spec.namespaceSelector: only a ReleasePolicy in namespace system may select other namespaces"}},
		{"selectors that can't be read", named("system", "a", of(labelled("app"), appv1alpha1.WorkloadSelector{Kind: "Deployment.apps", Selector: broken}),
			func(policy *appv1alpha1.ReleasePolicy) { policy.Spec.NamespaceSelector = broken }),
			[]string{`spec.namespaceSelector: "Is" is not a valid label selector operator`, `spec.workloads[1].selector: "Is" is not a valid label selector operator`}},
	} {
		t.Run(row.name, func(t *testing.T) {
			NewWithT(t).Expect(pace.Check(row.policy, "system")).To(Equal(row.problems))
		})
	}
}
