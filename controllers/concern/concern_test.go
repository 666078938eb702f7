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

package concern_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/controllers/concern"
	"github.com/traas-stack/altershield-operator/controllers/testkit"
	"github.com/traas-stack/altershield-operator/controllers/workload"
	deploymentkind "github.com/traas-stack/altershield-operator/controllers/workload/deployment"
)

func tier(value string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"tier": value}}
}

// broken can't be read: the API server doesn't validate selectors.
func broken() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "tier", Operator: "Is"}}}
}

func namespace(name string, labels map[string]string) client.Object {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

func TestProblemsNameThePlacesOfASelection(t *testing.T) {
	for name, row := range map[string]struct {
		selection concern.Selection
		problems  []string
	}{
		"all workloads of its namespace": {concern.Selection{Namespace: "shop"}, nil},
		"workloads by kind":              {concern.Selection{Namespace: "shop", Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps"}}}, nil},
		"namespaces, by the platform":    {concern.Selection{Namespace: "system", Namespaces: tier("prod")}, nil},
		"namespaces, by somebody else": {concern.Selection{Kind: "VerificationPolicy", Namespace: "shop", Namespaces: &metav1.LabelSelector{}},
			[]string{"spec.namespaceSelector: only a VerificationPolicy in namespace system may select other namespaces"}},
		"by selectors that can't be read": {
			concern.Selection{Namespace: "system", Namespaces: broken(), Workloads: []appv1alpha1.WorkloadSelector{{Selector: tier("prod")}, {Selector: broken()}}},
			[]string{`spec.namespaceSelector: "Is" is not a valid label selector operator`, `spec.workloads[1].selector: "Is" is not a valid label selector operator`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(row.selection.Problems("system")).To(Equal(row.problems))
		})
	}
}

func TestAdviceTellsWhatASelectionDoesNotConcern(t *testing.T) {
	kinds := workload.Registry{deploymentkind.Kind{}}
	for name, row := range map[string]struct {
		selection concern.Selection
		warnings  []string
	}{
		"of a team": {concern.Selection{Namespace: "shop", Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps"}}}, nil},
		"of the platform, without namespaces": {concern.Selection{Kind: "VerificationPolicy", Namespace: "system"},
			[]string{"VerificationPolicy web concerns only workloads in namespace system: to select others, set spec.namespaceSelector"}},
		"of the platform, for all namespaces": {concern.Selection{Namespace: "system", Namespaces: &metav1.LabelSelector{}}, nil},
		"of a kind that isn't known": {concern.Selection{Kind: "VerificationPolicy", Namespace: "shop", Workloads: []appv1alpha1.WorkloadSelector{{Kind: "Game.example.com"}}},
			[]string{"VerificationPolicy web concerns no Game.example.com: the kind isn't under change control"}},
	} {
		t.Run(name, func(t *testing.T) {
			NewWithT(t).Expect(row.selection.Advice("web", "system", kinds)).To(Equal(row.warnings))
		})
	}
}

func TestSelects(t *testing.T) {
	g, web := NewWithT(t), deployment("shop", "web")
	g.Expect(concern.Selects(nil, deploymentkind.Kind{}, web)).To(BeTrue())
	g.Expect(concern.Selects([]appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "web"}}, deploymentkind.Kind{}, web)).To(BeTrue())
	g.Expect(concern.Selects([]appv1alpha1.WorkloadSelector{{Kind: "Deployment.apps", Name: "api"}}, deploymentkind.Kind{}, web)).To(BeFalse())
}

func TestHasNamespace(t *testing.T) {
	for name, row := range map[string]struct {
		selection concern.Selection
		of        string
		expected  bool
	}{
		"its own":                       {concern.Selection{Namespace: "shop"}, "shop", true},
		"another one":                   {concern.Selection{Namespace: "system"}, "shop", false},
		"one with the labels":           {concern.Selection{Namespace: "system", Namespaces: tier("prod")}, "shop", true},
		"one with other labels":         {concern.Selection{Namespace: "system", Namespaces: tier("dev")}, "shop", false},
		"any":                           {concern.Selection{Namespace: "system", Namespaces: &metav1.LabelSelector{}}, "shop", true},
		"one that isn't opted in":       {concern.Selection{Namespace: "system", Namespaces: &metav1.LabelSelector{}}, "elsewhere", false},
		"its own, if others are chosen": {concern.Selection{Namespace: "shop", Namespaces: tier("dev")}, "shop", false},
	} {
		t.Run(name, func(t *testing.T) {
			kube := testkit.NewFake(t, namespace("shop", map[string]string{"tier": "prod"}))
			has, err := row.selection.HasNamespace(t.Context(), kube, row.of)
			NewWithT(t).Expect(err).NotTo(HaveOccurred())
			NewWithT(t).Expect(has).To(Equal(row.expected))
		})
	}
}

func TestHasNamespaceReturnsErrors(t *testing.T) {
	kube := interceptor.NewClient(testkit.NewFake(t), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("away")
		},
	})
	_, err := concern.Selection{Namespace: "system", Namespaces: tier("prod")}.HasNamespace(t.Context(), kube, "shop")
	NewWithT(t).Expect(err).To(MatchError("reading namespace shop: away"))
}

func deployment(namespace, name string) client.Object {
	return &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func TestWorkloadsVisitsThoseUnderChangeControl(t *testing.T) {
	kube := testkit.NewFake(t, namespace("shop", nil), deployment("shop", "web"), deployment("shop", "api"), deployment("elsewhere", "web"))
	var visited []string
	err := concern.Workloads(t.Context(), kube, testkit.Kinds().Snapshot(), func(kind workload.Kind, object client.Object) error {
		visited = append(visited, kind.GroupVersionKind().Kind+" "+object.GetNamespace()+"/"+object.GetName())
		return nil
	})
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	NewWithT(t).Expect(visited).To(ConsistOf("Deployment shop/web", "Deployment shop/api"))
}

func TestWorkloadsReturnsErrors(t *testing.T) {
	away := errors.New("away")
	list := interceptor.Funcs{List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return away }}
	read := interceptor.Funcs{Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
		return away
	}}
	for name, row := range map[string]struct {
		funcs    interceptor.Funcs
		visit    error
		expected string
	}{
		"of a list":  {list, nil, "listing Deployments: "},
		"of a kind":  {read, nil, "reading ControlledKind deployments.apps: away"},
		"of a visit": {interceptor.Funcs{}, errors.New("enough"), "enough"},
	} {
		t.Run(name, func(t *testing.T) {
			kube := interceptor.NewClient(testkit.NewFake(t, namespace("shop", nil), deployment("shop", "web")), row.funcs)
			err := concern.Workloads(t.Context(), kube, testkit.Kinds().Snapshot(), func(workload.Kind, client.Object) error { return row.visit })
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(row.expected)))
		})
	}
}
