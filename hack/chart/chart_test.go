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

// Package chart tests the Helm chart in config/chart.
package chart

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestChartRendersTheObjectsOfKustomize(t *testing.T) {
	inRepository(t)
	for dir, values := range map[string][]string{
		"config/default":                       {},
		"config/overlays/cert-manager":         {"webhook.certificate=cert-manager"},
		"hack/chart/variants/server":           {"server.address=http://altershield.altershield.svc:8080", "server.tokenSecret.name=altershield-token"},
		"hack/chart/variants/prometheus":       {"serviceMonitor.enabled=true", "prometheusRule.enabled=true", "dashboard.enabled=true"},
		"hack/chart/variants/admission-policy": {"admissionPolicy.enabled=true"},
		"hack/chart/variants/gates":            {"gates.enabled=true"},
		"hack/chart/variants/fail-open":        {"webhook.failurePolicy=Ignore"},
		"hack/chart/variants/callback-tls":     {"callback.tlsSecret=callback-server-cert"},
		"hack/chart/variants/pod-deletion":     {"podDeletion.enabled=true"},
		"hack/chart/variants/job-creation":     {"jobCreation.enabled=true"},
	} {
		t.Run(dir, func(t *testing.T) {
			g := NewWithT(t)
			wanted := kustomize(t, dir)
			g.Expect(wanted).To(HaveKey("Namespace altershieldoperator-system"))
			delete(wanted, "Namespace altershieldoperator-system")
			rendered := render(t, "altershieldoperator-system", values...)
			maps.DeleteFunc(rendered, func(_ string, object *unstructured.Unstructured) bool { return isHook(object) })

			g.Expect(names(rendered)).To(ConsistOf(names(wanted)))
			for name, object := range wanted {
				g.Expect(ofHelm(rendered[name])).To(Equal(object), name)
			}
		})
	}
}

// isHook reports whether an object exists only while the release is uninstalled.
func isHook(object *unstructured.Unstructured) bool {
	return object.GetAnnotations()["helm.sh/hook"] == "pre-delete"
}

// ofHelm removes intended differences of the chart from an object.
func ofHelm(object *unstructured.Unstructured) *unstructured.Unstructured {
	relabel(object.Object)
	if annotations := object.GetAnnotations(); annotations["helm.sh/resource-policy"] != "" {
		delete(annotations, "helm.sh/resource-policy")
		object.SetAnnotations(annotations)
	}
	return object
}

func relabel(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		if tree["app.kubernetes.io/managed-by"] == "Helm" {
			tree["app.kubernetes.io/managed-by"] = "kustomize"
		}
		for _, child := range tree {
			relabel(child)
		}
	case []any:
		for _, child := range tree {
			relabel(child)
		}
	}
}

func TestChartMayBeInAnyNamespace(t *testing.T) {
	inRepository(t)
	g := NewWithT(t)
	text := helm(t, "template", chartDir, "--namespace", "elsewhere", "--set", "webhook.certificate=cert-manager,"+
		"serviceMonitor.enabled=true,prometheusRule.enabled=true,admissionPolicy.enabled=true")
	g.Expect(text).NotTo(ContainSubstring("altershieldoperator-system"))

	elsewhere := render(t, "elsewhere")
	g.Expect(at(g, elsewhere["Deployment altershieldoperator-controller-manager"], manager+".args")).To(ContainSubstring(`"--namespace=elsewhere"`))
	g.Expect(elsewhere).NotTo(HaveKey("NetworkPolicy altershieldoperator-default-deny"), "it would cut off what else is in the namespace")
}

func TestCustomResourceDefinitionsOutliveTheRelease(t *testing.T) {
	inRepository(t)
	g := NewWithT(t)
	definitions := 0
	for name, object := range render(t, "altershieldoperator-system") {
		if object.GetKind() == "CustomResourceDefinition" {
			g.Expect(object.GetAnnotations()).To(HaveKeyWithValue("helm.sh/resource-policy", "keep"), name)
			definitions++
		}
	}
	g.Expect(definitions).To(Equal(14))
}

func TestChartPassesHelmLint(t *testing.T) {
	inRepository(t)
	helm(t, "lint", "--strict", chartDir)
	helm(t, "lint", "--strict", chartDir, "--set", "webhook.certificate=cert-manager,callback.tlsSecret=c,serviceMonitor.enabled=true,"+
		"prometheusRule.enabled=true,admissionPolicy.enabled=true,"+
		"server.address=http://altershield,server.tokenSecret.name=t")
}
