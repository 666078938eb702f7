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

package chart

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/manifests"
	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

// The life of a release on a real API server, whose nodes only pretend to run its pods.
func TestChartIsInstalledUpgradedAndUninstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	inRepository(t)
	g := NewWithT(t)
	plane := startCluster(t)
	kubectl := plane.kubectl(t)
	setting := filepath.Join(t.TempDir(), "setting.yaml")
	g.Expect(os.WriteFile(setting, []byte(`{apiVersion: app.ops.cloud.alipay.com/v1alpha1, kind: OpsConfigInfo,
  metadata: {name: blocking, namespace: elsewhere}, spec: {type: isBlockingUp, enable: true}}`), 0o600)).To(Succeed())
	before := everything(kubectl)

	helm(t, "install", "altershield", olderChart(t), "--namespace=elsewhere", "--create-namespace",
		"--set=admissionPolicy.enabled=true", "--wait", "--timeout=5m")
	g.Expect(kubectl("api-resources", "--cached=false")).To(ContainSubstring(" oldname "))

	// The operator writes this.
	kubectl("patch", "secret", "webhook-server-cert", "-n=elsewhere", `--patch={"stringData":{"ca.crt":"an authority"}}`)
	authority := kubectl("config", "view", "--raw", "-o=jsonpath={.clusters[0].cluster.certificate-authority-data}")
	kubectl("patch", "mutatingwebhookconfiguration", "altershieldoperator-mutating-webhook-configuration",
		`--patch={"webhooks":[{"name":"mdeployment.kb.io","clientConfig":{"caBundle":"`+authority+`"}}]}`)
	kubectl("apply", "--filename="+setting)

	helm(t, "upgrade", "altershield", chartDir, "--namespace=elsewhere", "--set=replicas=3,admissionPolicy.enabled=true,gates.enabled=true", "--wait", "--timeout=5m")
	g.Expect(kubectl("get", "deployment", "altershieldoperator-controller-manager", "-n=elsewhere", "-o=jsonpath={.status.readyReplicas}")).To(Equal("3"))
	g.Expect(kubectl("api-resources", "--cached=false")).NotTo(ContainSubstring(" oldname "), "an upgrade brings the CRDs, too")
	g.Expect(kubectl("get", "secret", "webhook-server-cert", "-n=elsewhere", `-o=jsonpath={.data.ca\.crt}`)).NotTo(BeEmpty())
	g.Expect(kubectl("get", "mutatingwebhookconfigurations", "-o=jsonpath={.items[*].webhooks[*].clientConfig.caBundle}")).NotTo(BeEmpty())

	plane.playHook(t)
	helm(t, "uninstall", "altershield", "--namespace=elsewhere", "--wait", "--timeout=5m")
	g.Eventually(func() []string { return added(before, everything(kubectl)) }, time.Minute, time.Second).Should(ConsistOf(
		"Namespace <none> elsewhere", "ServiceAccount elsewhere default", "ConfigMap elsewhere kube-root-ca.crt",
		"CustomResourceDefinition <none> breakglasses.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changeapprovals.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changefreezes.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changepods.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changerecords.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changeverdicts.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changeworkloads.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> controlledkinds.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> opsconfiginfoes.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> releasegates.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> releasepolicies.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> verificationpolicies.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> verificationsources.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changesubscriptions.app.ops.cloud.alipay.com",
		"APIService <none> v1alpha1.app.ops.cloud.alipay.com", "OpsConfigInfo elsewhere blocking", "ChangeWorkload elsewhere stuck",
		"ControlledKind <none> gadgets.example.com",
	))
}

// playHook does the work of the chart's hook before Helm removes a release, with the permissions of the hook: on nodes that only
// pretend to run its pod, the hook itself does nothing.
func (p testPlane) playHook(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	kubectl, dir := p.kubectl(t), t.TempDir()
	hooks, err := manifests.Decode(strings.NewReader(helm(t, "get", "hooks", "altershield", "--namespace=elsewhere")))
	g.Expect(err).NotTo(HaveOccurred())
	var args []string
	for i, object := range hooks {
		g.Expect(isHook(object)).To(BeTrue())
		if object.GetKind() == "Job" {
			g.Expect(json.Unmarshal([]byte(at(g, object, ".spec.template.spec.containers[0].args")), &args)).To(Succeed())
			g.Expect(at(g, object, ".spec.template.spec.serviceAccountName")).To(Equal(hook.Name))
			continue
		}
		text, err := object.MarshalJSON()
		g.Expect(err).NotTo(HaveOccurred())
		file := filepath.Join(dir, fmt.Sprint(i))
		g.Expect(os.WriteFile(file, text, 0o600)).To(Succeed())
		kubectl("apply", "--filename="+file)
	}
	record := filepath.Join(dir, "record.yaml")
	g.Expect(os.WriteFile(record, []byte(`{apiVersion: app.ops.cloud.alipay.com/v1alpha1, kind: ChangeWorkload, metadata: {name: stuck,
  namespace: elsewhere, finalizers: [altershield.defense.antgroup.com/change-order]}, spec: {changeWorkloadId: stuck, serviceName: sleep,
  appName: sleep, reversion: 0123456789abcdef0123456789abcdef, createTime: "2026-01-01 00:00:00", createTimeUnix: 1767225600}}`), 0o600)).To(Succeed())
	kubectl("apply", "--filename="+record)
	kind := filepath.Join(dir, "kind.yaml")
	g.Expect(os.WriteFile(kind, []byte(`{apiVersion: app.ops.cloud.alipay.com/v1alpha1, kind: ControlledKind, metadata: {name: gadgets.example.com,
  finalizers: [altershield.defense.antgroup.com/kind]}, spec: {version: v1}}`), 0o600)).To(Succeed())
	kubectl("apply", "--filename="+kind)
	leaveMidway(t, kubectl)

	kubeconfig, manager := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "manager")
	g.Expect(p.ServiceAccountKubeconfig(t.Context(), hook.Namespace, hook.Name, kubeconfig, nil)).To(Succeed())
	output, err := exec.CommandContext(t.Context(), "go", "build", "-tags=grpcnotrace", "-o", manager, ".").CombinedOutput()
	g.Expect(err).NotTo(HaveOccurred(), string(output))
	for range 2 { // the second run finds nothing to do
		command := exec.CommandContext(t.Context(), manager, args...)
		command.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
		output, err = command.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
		g.Expect(string(output)).To(ContainSubstring("AlterShield Operator is removed. Workloads keep running."))
	}
	g.Expect(string(output)).NotTo(ContainSubstring("deleted "))
	g.Expect(kubectl("get", "changeworkload", "stuck", "--namespace=elsewhere", "-o=jsonpath={.metadata.finalizers}")).To(BeEmpty())
	g.Expect(kubectl("get", "controlledkind", "gadgets.example.com", "-o=jsonpath={.metadata.finalizers}")).To(BeEmpty())
	expectRolledOut(t, kubectl)
	g.Expect(added(nil, everything(kubectl))).NotTo(ContainElement(MatchRegexp("^(Pod|ReplicaSet|Deployment|[A-Za-z]+WebhookConfiguration|(Validating|Mutating)AdmissionPolicy.*) ")))
	p.expectLeastPrivilege(t)
	kubectl("delete", "serviceaccount,role,rolebinding,networkpolicy,clusterrole,clusterrolebinding", hook.Name, "--namespace=elsewhere")
	kubectl("delete", "clusterrolebinding/"+hook.Name+"-kinds", "clusterrole/altershield-kind-widgets.example.com")
}

// expectLeastPrivilege compares the requests of the hook with its permissions.
func (p testPlane) expectLeastPrivilege(t *testing.T) {
	t.Helper()
	g := NewWithT(t)
	log, err := os.Open(p.AuditLog())
	g.Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	asked, err := audit.Read(log, hookUser)
	g.Expect(err).NotTo(HaveOccurred())
	reader, err := client.New(p.Config(), client.Options{})
	g.Expect(err).NotTo(HaveOccurred())
	objects, err := grant.List(t.Context(), reader)
	g.Expect(err).NotTo(HaveOccurred())
	granted := objects.Of(hook)
	g.Expect(granted).NotTo(BeEmpty())
	g.Expect(audit.Forbidden(asked)).To(BeEmpty())
	g.Expect(audit.Unused(granted, asked, readAgain())).To(BeEmpty())
}

// testPlane is a cluster of the test's own.
type testPlane struct{ *cluster.Cluster }

// hook is the account of the chart's pre-delete hook.
var hook = types.NamespacedName{Namespace: "elsewhere", Name: "altershieldoperator-uninstall"}

const hookUser = "system:serviceaccount:elsewhere:altershieldoperator-uninstall"

// startCluster makes Helm use a cluster of the test's own.
func startCluster(t *testing.T) testPlane {
	t.Helper()
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), io.Discard)
	g.Expect(err).NotTo(HaveOccurred())
	plane, err := cluster.Start(t.Context(), cluster.Options{Dir: t.TempDir(), Assets: programs, AuditLog: true, AuditReadsOf: hookUser})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(plane.Stop(context.Background())).To(Succeed()) })
	t.Setenv("KUBECONFIG", plane.Kubeconfig())
	return testPlane{plane}
}

// kubectl runs kubectl commands that have to succeed.
func (p testPlane) kubectl(t *testing.T) func(args ...string) string {
	return func(args ...string) string {
		t.Helper()
		output, err := exec.CommandContext(t.Context(), p.Kubectl(), args...).CombinedOutput()
		NewWithT(t).Expect(err).NotTo(HaveOccurred(), string(output))
		return string(output)
	}
}

// olderChart returns the chart before a change of a CRD.
func olderChart(t *testing.T) string {
	t.Helper()
	g := NewWithT(t)
	dir := filepath.Join(t.TempDir(), "chart")
	g.Expect(os.CopyFS(dir, os.DirFS(chartDir))).To(Succeed())
	definition := filepath.Join(dir, "files", "crds.yaml")
	text, err := os.ReadFile(definition)
	g.Expect(err).NotTo(HaveOccurred())
	older := strings.Replace(string(text), "    - opscfg\n", "    - oldname\n", 1)
	g.Expect(older).NotTo(Equal(string(text)))
	g.Expect(os.WriteFile(definition, []byte(older), 0o600)).To(Succeed())
	return dir
}

// everything returns the objects of the cluster, apart from those that expire.
func everything(kubectl func(args ...string) string) []string {
	kinds := slices.DeleteFunc(strings.Fields(kubectl("api-resources", "--verbs=list", "--output=name", "--cached=false")), func(kind string) bool {
		return strings.HasPrefix(kind, "events") || strings.HasPrefix(kind, "componentstatuses")
	})
	list := kubectl("get", strings.Join(kinds, ","), "--all-namespaces", "--no-headers", "--output=custom-columns=:.kind,:.metadata.namespace,:.metadata.name")
	var objects []string
	for object := range strings.Lines(list) {
		objects = append(objects, strings.Join(strings.Fields(object), " "))
	}
	return objects
}

func added(before, after []string) []string {
	return slices.DeleteFunc(after, func(object string) bool { return slices.Contains(before, object) })
}
