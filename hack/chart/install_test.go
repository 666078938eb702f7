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
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

// The life of a release in a real API server, whose nodes only say that they run its pods.
func TestAReleaseIsInstalledUpgradedAndUninstalled(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	inRepository(t)
	g := NewWithT(t)
	kubectl := startCluster(t)
	setting := filepath.Join(t.TempDir(), "setting.yaml")
	g.Expect(os.WriteFile(setting, []byte(`{apiVersion: app.ops.cloud.alipay.com/v1alpha1, kind: OpsConfigInfo,
  metadata: {name: blocking, namespace: elsewhere}, spec: {type: isBlockingUp, enable: true}}`), 0o600)).To(Succeed())
	before := everything(kubectl)

	helm(t, "install", "altershield", olderChart(t), "--namespace=elsewhere", "--create-namespace",
		"--set=admissionPolicy.enabled=true", "--wait", "--timeout=5m")
	g.Expect(kubectl("api-resources", "--cached=false")).To(ContainSubstring(" oldname "))

	// What the operator writes.
	kubectl("patch", "secret", "webhook-server-cert", "-n=elsewhere", `--patch={"stringData":{"ca.crt":"an authority"}}`)
	authority := kubectl("config", "view", "--raw", "-o=jsonpath={.clusters[0].cluster.certificate-authority-data}")
	kubectl("patch", "mutatingwebhookconfiguration", "altershieldoperator-mutating-webhook-configuration",
		`--patch={"webhooks":[{"name":"mdeployment.kb.io","clientConfig":{"caBundle":"`+authority+`"}}]}`)
	kubectl("apply", "--filename="+setting)

	helm(t, "upgrade", "altershield", chartDir, "--namespace=elsewhere", "--set=replicas=3,admissionPolicy.enabled=true", "--wait", "--timeout=5m")
	g.Expect(kubectl("get", "deployment", "altershieldoperator-controller-manager", "-n=elsewhere", "-o=jsonpath={.status.readyReplicas}")).To(Equal("3"))
	g.Expect(kubectl("api-resources", "--cached=false")).NotTo(ContainSubstring(" oldname "), "an upgrade brings the CRDs, too")
	g.Expect(kubectl("get", "secret", "webhook-server-cert", "-n=elsewhere", `-o=jsonpath={.data.ca\.crt}`)).NotTo(BeEmpty())
	g.Expect(kubectl("get", "mutatingwebhookconfigurations", "-o=jsonpath={.items[*].webhooks[*].clientConfig.caBundle}")).NotTo(BeEmpty())

	helm(t, "uninstall", "altershield", "--namespace=elsewhere", "--wait", "--timeout=5m")
	g.Eventually(func() []string { return added(before, everything(kubectl)) }, time.Minute, time.Second).Should(ConsistOf(
		"Namespace <none> elsewhere", "ServiceAccount elsewhere default", "ConfigMap elsewhere kube-root-ca.crt",
		"CustomResourceDefinition <none> changepods.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> changeworkloads.app.ops.cloud.alipay.com",
		"CustomResourceDefinition <none> opsconfiginfoes.app.ops.cloud.alipay.com",
		"APIService <none> v1alpha1.app.ops.cloud.alipay.com", "OpsConfigInfo elsewhere blocking",
	))
}

// startCluster has kubectl and Helm work on a cluster of the test's own.
func startCluster(t *testing.T) (kubectl func(args ...string) string) {
	t.Helper()
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), io.Discard)
	g.Expect(err).NotTo(HaveOccurred())
	plane, err := cluster.Start(t.Context(), cluster.Options{Dir: t.TempDir(), Assets: programs})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(plane.Stop(context.Background())).To(Succeed()) })
	t.Setenv("KUBECONFIG", plane.Kubeconfig())
	return func(args ...string) string {
		t.Helper()
		output, err := exec.CommandContext(t.Context(), plane.Kubectl(), args...).CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), string(output))
		return string(output)
	}
}

// olderChart is the chart before a change of a CRD.
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

// everything is what the cluster has, apart from what it remembers for a while.
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
