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
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	psaapi "k8s.io/pod-security-admission/api"
	psapolicy "k8s.io/pod-security-admission/policy"
)

// everyManager returns the operator's Deployments in all combinations of config/.
func everyManager(t *testing.T) map[string]*appsv1.Deployment {
	t.Helper()
	return map[string]*appsv1.Deployment{
		"default":      managerOf(t, shipped(t, "default")),
		"cert-manager": managerOf(t, shipped(t, filepath.Join("overlays", "cert-manager"))),
		"components": managerOf(t, composed(t, `
resources: ["{config}/default"]
components: ["{config}/components/server", "{config}/components/callback-tls"]
`)),
		"cert-manager, components": managerOf(t, composed(t, `
resources: ["{config}/overlays/cert-manager"]
components: ["{config}/components/callback-tls", "{config}/components/server"]
`)),
	}
}

func TestPodsMeetTheRestrictedProfileThatTheNamespaceEnforces(t *testing.T) {
	namespace := find(t, shipped(t, "default"), "Namespace", system)
	for _, mode := range []string{"enforce", "audit", "warn"} {
		NewWithT(t).Expect(namespace.GetLabels()).To(HaveKeyWithValue("pod-security.kubernetes.io/"+mode, "restricted"))
	}
	evaluator, err := psapolicy.NewEvaluator(psapolicy.DefaultChecks(), nil)
	NewWithT(t).Expect(err).NotTo(HaveOccurred())
	restricted := psaapi.LevelVersion{Level: psaapi.LevelRestricted, Version: psaapi.LatestVersion()}
	for name, manager := range everyManager(t) {
		pod := manager.Spec.Template
		for _, result := range evaluator.EvaluatePod(restricted, &pod.ObjectMeta, &pod.Spec) {
			NewWithT(t).Expect(result.Allowed).To(BeTrue(), "%s: %s: %s", name, result.ForbiddenReason, result.ForbiddenDetail)
		}
	}
}

func TestManagerCanWriteNothingButItsCertificate(t *testing.T) {
	for name, manager := range everyManager(t) {
		g := NewWithT(t)
		g.Expect(manager.Spec.Template.Spec.Containers).To(HaveLen(1))
		container := manager.Spec.Template.Spec.Containers[0]
		g.Expect(*container.SecurityContext.ReadOnlyRootFilesystem).To(BeTrue())
		volumes := map[string]corev1.VolumeSource{}
		for _, volume := range manager.Spec.Template.Spec.Volumes {
			volumes[volume.Name] = volume.VolumeSource
		}
		g.Expect(container.VolumeMounts).NotTo(BeEmpty())
		for _, mount := range container.VolumeMounts {
			if mount.ReadOnly {
				continue
			}
			g.Expect(mount.MountPath).To(Equal("/tmp/k8s-webhook-server/serving-certs"), name)
			g.Expect(volumes[mount.Name].EmptyDir.Medium).To(Equal(corev1.StorageMediumMemory), "keys don't belong on a disk")
		}
	}
}

func TestManagerAlwaysHasOneReplica(t *testing.T) {
	g := NewWithT(t)
	objects := shipped(t, "default")
	manager := managerOf(t, objects)
	g.Expect(*manager.Spec.Replicas).To(BeEquivalentTo(2))
	g.Expect(manager.Spec.Template.Spec.Containers[0].Args).To(ContainElement("--leader-elect"))
	g.Expect(*manager.Spec.Strategy.RollingUpdate.MaxUnavailable).To(Equal(intstr.FromInt32(0)))

	budget := as[policyv1.PodDisruptionBudget](t, find(t, objects, "PodDisruptionBudget", "altershieldoperator-controller-manager"))
	g.Expect(*budget.Spec.MinAvailable).To(Equal(intstr.FromInt32(1)), "less than there are, or no node could be drained")
	g.Expect(budget.Spec.Selector).To(Equal(manager.Spec.Selector))
	// Only one: the scheduler ignores all constraints on nodes that lack the label of one of them.
	g.Expect(manager.Spec.Template.Spec.TopologySpreadConstraints).To(HaveLen(1))
	spread := manager.Spec.Template.Spec.TopologySpreadConstraints[0]
	g.Expect(spread.TopologyKey).To(Equal("kubernetes.io/hostname"))
	g.Expect(spread.LabelSelector).To(Equal(manager.Spec.Selector))
	g.Expect(spread.WhenUnsatisfiable).To(Equal(corev1.ScheduleAnyway))
	apart := manager.Spec.Template.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution
	g.Expect(apart).To(HaveLen(1))
	g.Expect(apart[0].PodAffinityTerm.TopologyKey).To(Equal("topology.kubernetes.io/zone"))
	g.Expect(apart[0].PodAffinityTerm.LabelSelector).To(Equal(manager.Spec.Selector))
}

func TestPodHasTimeToEndGracefully(t *testing.T) {
	g := NewWithT(t)
	pod := managerOf(t, shipped(t, "default")).Spec.Template.Spec
	g.Expect(pod.Containers[0].Args).To(ContainElement("--shutdown-delay=5s"))
	// The other two are the default of --graceful-shutdown-timeout and the time for the last traces.
	g.Expect(*pod.TerminationGracePeriodSeconds).To(BeNumerically(">", 5+30+3))
}

func TestProbesAskThePortOfTheProbes(t *testing.T) {
	g := NewWithT(t)
	pod := managerOf(t, shipped(t, "default")).Spec.Template.Spec
	container := pod.Containers[0]
	g.Expect(portNamed(pod, "probes")).To(BeEquivalentTo(8088))
	for path, probe := range map[string]*corev1.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		g.Expect(probe.HTTPGet.Path).To(Equal(path))
		g.Expect(probe.HTTPGet.Port).To(Equal(intstr.FromString("probes")))
	}
	g.Expect(container.StartupProbe.HTTPGet).To(Equal(container.LivenessProbe.HTTPGet))
}

func TestMemoryLimitIsKnownToTheGarbageCollector(t *testing.T) {
	g := NewWithT(t)
	container := managerOf(t, shipped(t, "default")).Spec.Template.Spec.Containers[0]
	g.Expect(container.Env).To(HaveLen(1))
	g.Expect(container.Env[0].Name).To(Equal("GOMEMLIMIT"))
	soft, err := resource.ParseQuantity(container.Env[0].Value[:len(container.Env[0].Value)-1]) // Go writes MiB, Kubernetes Mi
	g.Expect(err).NotTo(HaveOccurred())
	hard := container.Resources.Limits[corev1.ResourceMemory]
	g.Expect(float64(soft.Value()) / float64(hard.Value())).To(And(BeNumerically("<", 0.95), BeNumerically(">", 0.8)))
	g.Expect(container.Resources.Requests.Memory().Cmp(hard)).To(BeNumerically("<=", 0))
}

func TestCertificateComesFromOnePlace(t *testing.T) {
	const flag = "--webhook-cert-secret=webhook-server-cert"
	t.Run("the operator", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(managerOf(t, shipped(t, "default")).Spec.Template.Spec.Containers[0].Args).To(ContainElement(flag))
	})
	t.Run("cert-manager", func(t *testing.T) {
		g := NewWithT(t)
		objects := shipped(t, filepath.Join("overlays", "cert-manager"))
		pod := managerOf(t, objects).Spec.Template.Spec
		g.Expect(pod.Containers[0].Args).NotTo(ContainElement(ContainSubstring("cert")))
		g.Expect(pod.Volumes).To(HaveExactElements(HaveField("Secret.SecretName", "webhook-server-cert")))
		g.Expect(ofKind(objects, "Secret")).To(BeEmpty())
		for _, kind := range []string{"mutating", "validating"} {
			name := strings.ToUpper(kind[:1]) + kind[1:] + "WebhookConfiguration"
			g.Expect(find(t, objects, name, "altershieldoperator-"+kind+"-webhook-configuration").GetAnnotations()).To(
				HaveKeyWithValue("cert-manager.io/inject-ca-from", system+"/altershieldoperator-serving-cert"))
			kinds := find(t, objects, name, "altershieldoperator-kinds-"+kind+"-webhook-configuration")
			g.Expect(kinds.GetAnnotations()).To(BeEmpty(), "the operator copies the CA of the others")
			g.Expect(kinds.Object).To(HaveLen(3), "apiVersion, kind and metadata: applying it again removes no webhook")
			g.Expect(ofKind(objects, name)).To(HaveLen(2))
		}
		certificate := find(t, objects, "Certificate", "altershieldoperator-serving-cert").Object["spec"].(map[string]any)
		g.Expect(certificate["secretName"]).To(Equal("webhook-server-cert"))
		var names []any
		for _, service := range ofKind(objects, "Service") {
			names = append(names, service.GetName()+"."+system+".svc")
		}
		g.Expect(names).NotTo(BeEmpty())
		g.Expect(certificate["dnsNames"]).To(ConsistOf(names...))
	})
}

func TestServiceMonitorVerifiesTheCertificate(t *testing.T) {
	g := NewWithT(t)
	monitor := find(t, shipped(t, "prometheus"), "ServiceMonitor", "altershieldoperator-controller-manager-metrics-monitor")
	spec := monitor.Object["spec"].(map[string]any)
	service := find(t, shipped(t, "default"), "Service", "altershieldoperator-controller-manager-metrics-service")
	for key, value := range spec["selector"].(map[string]any)["matchLabels"].(map[string]any) {
		g.Expect(service.GetLabels()).To(HaveKeyWithValue(key, value))
	}
	endpoint := spec["endpoints"].([]any)[0].(map[string]any)
	g.Expect(endpoint["scheme"]).To(Equal("https"))
	g.Expect(endpoint["port"]).To(Equal(as[corev1.Service](t, service).Spec.Ports[0].Name))
	g.Expect(endpoint["tlsConfig"]).To(Equal(map[string]any{
		"serverName": service.GetName() + "." + system + ".svc",
		"ca":         map[string]any{"secret": map[string]any{"name": "webhook-server-cert", "key": "ca.crt"}},
	}))
}

func TestNetworkPoliciesAdmitToEveryPortAndDenyTheRest(t *testing.T) {
	g := NewWithT(t)
	objects := shipped(t, "default")
	pod := managerOf(t, objects).Spec.Template.Spec
	open := map[string]bool{}
	for _, o := range ofKind(objects, "NetworkPolicy") {
		policy := as[networkingv1.NetworkPolicy](t, o)
		if policy.Name == "altershieldoperator-default-deny" {
			g.Expect(policy.Spec.PodSelector.MatchLabels).To(BeEmpty())
			g.Expect(policy.Spec.PolicyTypes).To(ConsistOf(networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress))
			g.Expect(append([]any{}, policy.Spec.Ingress, policy.Spec.Egress)).To(HaveEach(BeEmpty()))
			continue
		}
		g.Expect(policy.Spec.PodSelector.MatchLabels).To(Equal(map[string]string{"app.kubernetes.io/name": "altershield-operator"}), policy.Name)
		for _, rule := range policy.Spec.Ingress {
			for _, port := range rule.Ports {
				open[port.Port.StrVal] = len(rule.From) == 0
			}
		}
	}
	g.Expect(open).To(Equal(map[string]bool{"webhook": true, "callback": false, "metrics": false}), "true: to anybody")
	for name := range open {
		g.Expect(portNamed(pod, name)).NotTo(BeZero(), name)
	}
}

func TestImageIsSetByItsName(t *testing.T) {
	g := NewWithT(t)
	objects := composed(t, `
resources: ["{config}/default"]
images: [{name: altershield-operator, newName: registry.example.com:5000/operator, newTag: v1}]
`)
	g.Expect(managerOf(t, objects).Spec.Template.Spec.Containers[0].Image).To(Equal("registry.example.com:5000/operator:v1"))
}

func TestComponentsNameTheSecretsThatTheirCommentsCreate(t *testing.T) {
	g := NewWithT(t)
	manager := everyManager(t)["components"]
	for component, secret := range map[string]string{"server": "altershield-token", "callback-tls": "callback-server-cert"} {
		comment, err := os.ReadFile(filepath.Join(sources, "components", component, "kustomization.yaml"))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(string(comment)).To(MatchRegexp(`(?m)^#   kubectl -n altershieldoperator-system create secret \w+ ` + secret + " "))
		g.Expect(manager.Spec.Template.Spec.Volumes).To(ContainElement(And(
			HaveField("Secret", Not(BeNil())), HaveField("Secret.SecretName", secret))), component)
	}
}
