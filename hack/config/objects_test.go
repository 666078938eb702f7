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

package config

import (
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

func TestObjectsHaveTheDocumentedNames(t *testing.T) {
	objects := shipped(t, "default")
	for name, kinds := range map[string][]string{
		"altershieldoperator-system":                                 {"Namespace"},
		"changepods.app.ops.cloud.alipay.com":                        {"CustomResourceDefinition"},
		"changeworkloads.app.ops.cloud.alipay.com":                   {"CustomResourceDefinition"},
		"opsconfiginfoes.app.ops.cloud.alipay.com":                   {"CustomResourceDefinition"},
		"controlledkinds.app.ops.cloud.alipay.com":                   {"CustomResourceDefinition"},
		"changefreezes.app.ops.cloud.alipay.com":                     {"CustomResourceDefinition"},
		"breakglasses.app.ops.cloud.alipay.com":                      {"CustomResourceDefinition"},
		"altershieldoperator-controller-manager":                     {"ServiceAccount", "Deployment", "PodDisruptionBudget"},
		"altershieldoperator-leader-election-role":                   {"Role"},
		"altershieldoperator-leader-election-rolebinding":            {"RoleBinding"},
		"altershieldoperator-manager-role":                           {"ClusterRole"},
		"altershieldoperator-manager-rolebinding":                    {"ClusterRoleBinding"},
		"altershieldoperator-metrics-reader":                         {"ClusterRole"},
		"altershieldoperator-kinds-role":                             {"ClusterRole"},
		"altershieldoperator-kinds-rolebinding":                      {"ClusterRoleBinding"},
		"altershieldoperator-proxy-role":                             {"ClusterRole"},
		"altershieldoperator-proxy-rolebinding":                      {"ClusterRoleBinding"},
		"altershieldoperator-controller-manager-metrics-service":     {"Service"},
		"altershieldoperator-webhook-service":                        {"Service"},
		"altershieldoperator-callback-service":                       {"Service"},
		"altershieldoperator-mutating-webhook-configuration":         {"MutatingWebhookConfiguration"},
		"altershieldoperator-validating-webhook-configuration":       {"ValidatingWebhookConfiguration"},
		"altershieldoperator-kinds-mutating-webhook-configuration":   {"MutatingWebhookConfiguration"},
		"altershieldoperator-kinds-validating-webhook-configuration": {"ValidatingWebhookConfiguration"},
		"altershieldoperator-kinds-webhooks":                         {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
		"altershieldoperator-gate-opening":                           {"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"},
		"releasepolicies.app.ops.cloud.alipay.com":                   {"CustomResourceDefinition"},
		"verificationpolicies.app.ops.cloud.alipay.com":              {"CustomResourceDefinition"},
		"verificationsources.app.ops.cloud.alipay.com":               {"CustomResourceDefinition"},
		"changesubscriptions.app.ops.cloud.alipay.com":               {"CustomResourceDefinition"},
		"releasegates.app.ops.cloud.alipay.com":                      {"CustomResourceDefinition"},
		"changeapprovals.app.ops.cloud.alipay.com":                   {"CustomResourceDefinition"},
		"changeverdicts.app.ops.cloud.alipay.com":                    {"CustomResourceDefinition"},
		"changerecords.app.ops.cloud.alipay.com":                     {"CustomResourceDefinition"},
		"webhook-server-cert":                                        {"Secret"},
	} {
		for _, kind := range kinds {
			find(t, objects, kind, name)
		}
	}
	withCertManager := shipped(t, "overlays/cert-manager")
	find(t, withCertManager, "Certificate", "altershieldoperator-serving-cert")
	find(t, withCertManager, "Issuer", "altershieldoperator-selfsigned-issuer")
}

// manager uninstall removes cluster-scoped objects by name.
func TestObjectsAreInTheNamespaceOrHaveTheOperatorsName(t *testing.T) {
	for _, dir := range kustomizations(t) {
		if dir == "crd" || strings.HasPrefix(dir, "rbac") || dir == "manager" || dir == "webhook" || dir == "network-policy" {
			continue // parts of base
		}
		t.Run(dir, func(t *testing.T) {
			g := NewWithT(t)
			for _, o := range shipped(t, dir) {
				switch {
				case o.GetNamespace() != "":
					g.Expect(o.GetNamespace()).To(Equal(system), "%s %s", o.GetKind(), o.GetName())
				case o.GetKind() == "Namespace":
					g.Expect(o.GetName()).To(Equal(system))
				case o.GetKind() == "CustomResourceDefinition":
					g.Expect(o.GetName()).To(HaveSuffix(".app.ops.cloud.alipay.com"))
				default:
					g.Expect(o.GetName()).To(HavePrefix("altershieldoperator-"), o.GetKind())
				}
			}
		})
	}
}

func TestObjectsAreLabelled(t *testing.T) {
	everything := composed(t, `
resources: ["{config}/default", "{config}/prometheus"]
components: ["{config}/components/server", "{config}/components/callback-tls"]
`)
	for _, objects := range [][]object{everything, shipped(t, "overlays/cert-manager")} {
		for _, o := range objects {
			NewWithT(t).Expect(o.GetLabels()).To(And(
				HaveKeyWithValue("app.kubernetes.io/name", "altershield-operator"),
				HaveKeyWithValue("app.kubernetes.io/part-of", "altershield"),
				HaveKeyWithValue("app.kubernetes.io/managed-by", "kustomize"),
				Not(HaveKey("app.kubernetes.io/version")), // it would be outdated: the image's tag is set last
			), "%s %s", o.GetKind(), o.GetName())
		}
		manager := managerOf(t, objects)
		NewWithT(t).Expect(manager.Spec.Template.Labels).To(Equal(manager.Labels))
		NewWithT(t).Expect(manager.Spec.Selector.MatchLabels).To(Equal(map[string]string{"app.kubernetes.io/name": "altershield-operator"}))
	}
}

func TestServicesLeadToThePortsOfTheManager(t *testing.T) {
	objects := shipped(t, "default")
	pod := managerOf(t, objects).Spec.Template
	for name, c := range map[string]struct{ port, target int32 }{
		"altershieldoperator-webhook-service":                    {443, 1443},
		"altershieldoperator-callback-service":                   {8080, 8080},
		"altershieldoperator-controller-manager-metrics-service": {8443, 8089},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			service := as[corev1.Service](t, find(t, objects, "Service", name))
			g.Expect(service.Spec.Selector).NotTo(BeEmpty())
			g.Expect(labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(pod.Labels))).To(BeTrue())
			g.Expect(service.Spec.Ports).To(HaveLen(1))
			g.Expect(service.Spec.Ports[0].Port).To(Equal(c.port))
			g.Expect(portNamed(pod.Spec, service.Spec.Ports[0].TargetPort.StrVal)).To(Equal(c.target))
		})
	}
	NewWithT(t).Expect(ofKind(objects, "Service")).To(HaveLen(3))
}

// portNamed returns a port of a container, 0 if there is none with this name.
func portNamed(pod corev1.PodSpec, name string) int32 {
	for _, container := range pod.Containers {
		for _, port := range container.Ports {
			if port.Name == name {
				return port.ContainerPort
			}
		}
	}
	return 0
}

func TestWebhooksCallTheServiceAndLeaveTheOperatorsNamespaceAlone(t *testing.T) {
	for _, overlay := range []string{"default", filepath.Join("overlays", "cert-manager"), "local"} {
		objects := shipped(t, overlay)
		mutating := as[admissionv1.MutatingWebhookConfiguration](t,
			find(t, objects, "MutatingWebhookConfiguration", "altershieldoperator-mutating-webhook-configuration")).Webhooks
		validating := as[admissionv1.ValidatingWebhookConfiguration](t,
			find(t, objects, "ValidatingWebhookConfiguration", "altershieldoperator-validating-webhook-configuration")).Webhooks
		NewWithT(t).Expect(mutating).To(HaveLen(5))
		NewWithT(t).Expect(mutating[0].Name).To(Equal("mdeployment.kb.io"))
		NewWithT(t).Expect(mutating[1].Name).To(Equal("mpod.kb.io"))
		NewWithT(t).Expect(mutating[1].FailurePolicy).To(HaveValue(Equal(admissionv1.Ignore)), "pods come without a gate rather than not at all")
		NewWithT(t).Expect(validating).To(HaveLen(5))
		NewWithT(t).Expect(validating[0].Name).To(Equal("vdeployment.kb.io"))
		for _, c := range []struct {
			client   admissionv1.WebhookClientConfig
			selector *metav1.LabelSelector
		}{
			{mutating[0].ClientConfig, mutating[0].NamespaceSelector},
			{mutating[1].ClientConfig, mutating[1].NamespaceSelector},
			{validating[0].ClientConfig, validating[0].NamespaceSelector},
		} {
			g := NewWithT(t)
			g.Expect(c.client.CABundle).To(BeEmpty(), "applying it again would take the operator's away")
			g.Expect(c.client.Service.Namespace).To(Equal(system))
			g.Expect(c.client.Service.Name).To(Equal("altershieldoperator-webhook-service"))
			selector, err := metav1.LabelSelectorAsSelector(c.selector)
			g.Expect(err).NotTo(HaveOccurred())
			for namespace, called := range map[string]bool{"shop": true, "kube-system": false, system: false} {
				g.Expect(selector.Matches(labels.Set{
					"admission-webhook-altershield": "enabled", "kubernetes.io/metadata.name": namespace,
				})).To(Equal(called), namespace)
			}
			g.Expect(selector.Matches(labels.Set{"kubernetes.io/metadata.name": "shop"})).To(BeFalse(), "not opted in")
		}
	}
}

// In every variant the webhooks of the operator's own kinds are called in all of the cluster. The failure of those that validate is ignored. A
// BreakGlass isn't created without its author.
func TestWebhooksOfTheOperatorsKindsAreTheSameInEachVariant(t *testing.T) {
	failing := composed(t, `
resources: ["{config}/default"]
components: ["{config}/components/fail-open"]
`)
	for variant, objects := range map[string][]object{
		"default": shipped(t, "default"), "overlays/cert-manager": shipped(t, filepath.Join("overlays", "cert-manager")), "local": shipped(t, "local"), "fail-open": failing,
	} {
		g := NewWithT(t)
		webhooks := map[string]admissionv1.ValidatingWebhook{}
		for _, webhook := range as[admissionv1.ValidatingWebhookConfiguration](t,
			find(t, objects, "ValidatingWebhookConfiguration", "altershieldoperator-validating-webhook-configuration")).Webhooks {
			webhooks[webhook.Name] = webhook
		}
		for _, webhook := range as[admissionv1.MutatingWebhookConfiguration](t,
			find(t, objects, "MutatingWebhookConfiguration", "altershieldoperator-mutating-webhook-configuration")).Webhooks {
			webhooks[webhook.Name] = admissionv1.ValidatingWebhook{
				ClientConfig: webhook.ClientConfig, Rules: webhook.Rules, FailurePolicy: webhook.FailurePolicy, SideEffects: webhook.SideEffects,
				NamespaceSelector: webhook.NamespaceSelector, MatchConditions: webhook.MatchConditions,
			}
		}
		policy := admissionv1.Fail
		if variant == "fail-open" {
			policy = admissionv1.Ignore
		}
		g.Expect(webhooks["vdeployment.kb.io"].FailurePolicy).To(HaveValue(Equal(policy)), variant)
		g.Expect(webhooks["mdeployment.kb.io"].FailurePolicy).To(HaveValue(Equal(policy)), variant)
		for name, called := range map[string]struct {
			resource string
			policy   admissionv1.FailurePolicyType
		}{
			"vcontrolledkind.kb.io":     {"controlledkinds", admissionv1.Ignore},
			"vchangefreeze.kb.io":       {"changefreezes", admissionv1.Ignore},
			"vreleasepolicy.kb.io":      {"releasepolicies", admissionv1.Ignore},
			"vverificationpolicy.kb.io": {"verificationpolicies", admissionv1.Ignore},
			"mbreakglass.kb.io":         {"breakglasses", admissionv1.Fail},
			"mchangeapproval.kb.io":     {"changeapprovals", admissionv1.Fail},
			"mchangeverdict.kb.io":      {"changeverdicts/status", admissionv1.Fail},
		} {
			webhook, where := webhooks[name], variant+", "+name
			g.Expect(webhook.FailurePolicy).To(HaveValue(Equal(called.policy)), where)
			g.Expect(webhook.SideEffects).To(HaveValue(Equal(admissionv1.SideEffectClassNone)), where)
			g.Expect(webhook.NamespaceSelector).To(BeNil(), where)
			g.Expect(webhook.MatchConditions).To(BeEmpty(), where)
			g.Expect(webhook.ClientConfig.Service.Namespace).To(Equal(system), where)
			g.Expect(webhook.ClientConfig.Service.Name).To(Equal("altershieldoperator-webhook-service"), where)
			g.Expect(webhook.ClientConfig.CABundle).To(BeEmpty(), where)
			g.Expect(webhook.Rules).To(HaveLen(1), where)
			g.Expect(webhook.Rules[0].Resources).To(HaveExactElements(called.resource), where)
		}
	}
}

func TestBindingsAreOfARoleAndAnAccountThatAreThere(t *testing.T) {
	for _, overlay := range []string{"default", "local"} {
		objects := shipped(t, overlay)
		for _, kind := range []string{"RoleBinding", "ClusterRoleBinding"} {
			for _, o := range ofKind(objects, kind) {
				binding := as[rbacv1.RoleBinding](t, withoutKind(o))
				find(t, objects, binding.RoleRef.Kind, binding.RoleRef.Name)
				NewWithT(t).Expect(binding.Subjects).To(HaveExactElements(rbacv1.Subject{
					Kind: "ServiceAccount", Name: "altershieldoperator-controller-manager", Namespace: system,
				}), o.GetName())
			}
		}
	}
}

// withoutKind allows reading a ClusterRoleBinding as a RoleBinding, which has the same fields.
func withoutKind(o object) object {
	o = o.DeepCopy()
	delete(o.Object, "kind")
	return o
}

func TestSecretHoldsNothingThatApplyingItAgainCouldTakeAway(t *testing.T) {
	g := NewWithT(t)
	secret := find(t, shipped(t, "default"), "Secret", "webhook-server-cert")
	g.Expect(secret.Object).To(HaveLen(3), "apiVersion, kind and metadata")
	g.Expect(secret.GetNamespace()).To(Equal(system))
}

// The policy and the webhook that add gates concern the same pods.
func TestGatesAreAddedToTheSamePodsInBothWays(t *testing.T) {
	g, objects := NewWithT(t), shipped(t, "local")
	policy := as[admissionv1.MutatingAdmissionPolicy](t, find(t, objects, "MutatingAdmissionPolicy", "altershieldoperator-gates")).Spec
	webhook := as[admissionv1.MutatingWebhookConfiguration](t,
		find(t, objects, "MutatingWebhookConfiguration", "altershieldoperator-mutating-webhook-configuration")).Webhooks[1]
	g.Expect(policy.MatchConstraints.NamespaceSelector).To(Equal(webhook.NamespaceSelector))
	g.Expect(policy.MatchConstraints.ObjectSelector).To(Equal(webhook.ObjectSelector))
	g.Expect(policy.MatchConditions[0].Expression).To(Equal(webhook.MatchConditions[0].Expression))
	g.Expect(policy.ParamKind.Kind).To(Equal("ReleaseGate"))
	binding := as[admissionv1.MutatingAdmissionPolicyBinding](t, find(t, objects, "MutatingAdmissionPolicyBinding", "altershieldoperator-gates")).Spec
	g.Expect(binding.PolicyName).To(Equal("altershieldoperator-gates"))
	g.Expect(binding.ParamRef.Name).To(Equal("altershield"), "a selector would make the API server evaluate every ReleaseGate")
	g.Expect(binding.ParamRef.ParameterNotFoundAction).To(HaveValue(Equal(admissionv1.AllowAction)))
	g.Expect(ofKind(shipped(t, "default"), "MutatingAdmissionPolicy")).To(BeEmpty(), "before Kubernetes 1.36 it couldn't be applied")
}
