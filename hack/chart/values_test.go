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
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/yaml"
)

const (
	managerDeployment = "Deployment altershieldoperator-controller-manager"
	pod               = ".spec.template.spec"
	noObject          = "no object"
)

// effect is the effect of a value: it sets something at a path of an object, or removes the object.
type effect struct {
	with               []string
	object, path, want string
}

func effects() map[string]effect {
	server := func(value string) []string {
		return []string{"server.address=https://altershield:8443/api", "server.tokenSecret.name=token-of-ours", value}
	}
	args := manager + ".args"
	return map[string]effect{
		"image.repository":  {[]string{"image.repository=localhost:5000/operator"}, managerDeployment, manager + ".image", "localhost:5000/operator:latest"},
		"image.tag":         {[]string{"image.tag=v1.2.3"}, managerDeployment, manager + ".image", "altershield-operator:v1.2.3"},
		"image.digest":      {[]string{"image.tag=v1.2.3", "image.digest=" + digest}, managerDeployment, manager + ".image", "altershield-operator@" + digest},
		"image.pullPolicy":  {[]string{"image.pullPolicy=Always"}, managerDeployment, manager + ".imagePullPolicy", "Always"},
		"image.pullSecrets": {[]string{`image.pullSecrets=[{"name":"registry"}]`}, managerDeployment, pod + ".imagePullSecrets", `[{"name":"registry"}]`},
		"replicas":          {[]string{"replicas=3"}, managerDeployment, ".spec.replicas", "3"},
		"resources.requests.cpu": {[]string{"resources.requests.cpu=2"}, managerDeployment, manager + ".resources",
			`{"limits":{"memory":"1Gi"},"requests":{"cpu":2,"memory":"128Mi"}}`},
		"resources.requests.memory": {[]string{"resources.requests.memory=1Gi"}, managerDeployment, manager + ".resources.requests.memory", "1Gi"},
		"resources.limits.memory":   {[]string{"resources.limits=null"}, managerDeployment, manager + ".resources.limits", ""},
		"env":                       {[]string{`env=[{"name":"GOMEMLIMIT","value":"1GiB"}]`}, managerDeployment, manager + ".env", `[{"name":"GOMEMLIMIT","value":"1GiB"}]`},
		"extraArgs": {[]string{`extraArgs=["--zap-log-level=debug"]`}, managerDeployment, args,
			`["--leader-elect","--shutdown-delay=5s","--webhook-cert-secret=webhook-server-cert","--zap-log-level=debug"]`},
		"extraVolumes": {[]string{`extraVolumes=[{"name":"ca","configMap":{"name":"private-ca"}}]`}, managerDeployment, pod + ".volumes[1]",
			`{"configMap":{"name":"private-ca"},"name":"ca"}`},
		"extraVolumeMounts": {[]string{`extraVolumeMounts=[{"name":"ca","mountPath":"/etc/altershield/ca"}]`}, managerDeployment, manager + ".volumeMounts[1]",
			`{"mountPath":"/etc/altershield/ca","name":"ca"}`},
		"hostNetwork":    {[]string{"hostNetwork=true"}, managerDeployment, pod + "['hostNetwork','dnsPolicy']", "true ClusterFirstWithHostNet"},
		"podAnnotations": {[]string{`podAnnotations={"example.com/a":"1"}`}, managerDeployment, `.spec.template.metadata.annotations.example\.com/a`, "1"},
		"podLabels":      {[]string{`podLabels={"team":"sre"}`}, managerDeployment, ".spec.template.metadata.labels.team", "sre"},
		"nodeSelector":   {[]string{`nodeSelector={"node-role.kubernetes.io/control-plane":""}`}, managerDeployment, pod + ".nodeSelector", `{"node-role.kubernetes.io/control-plane":""}`},
		"tolerations":    {[]string{`tolerations=[{"operator":"Exists"}]`}, managerDeployment, pod + ".tolerations", `[{"operator":"Exists"}]`},
		"affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution": {[]string{`affinity={"podAntiAffinity":null,"nodeAffinity":{}}`}, managerDeployment,
			pod + ".affinity", `{"nodeAffinity":{}}`},
		"priorityClassName":         {[]string{"priorityClassName=system-cluster-critical"}, managerDeployment, pod + ".priorityClassName", "system-cluster-critical"},
		"topologySpreadConstraints": {[]string{`topologySpreadConstraints=[]`}, managerDeployment, pod + ".topologySpreadConstraints", ""},

		"server.address":          {server("server.tenant="), managerDeployment, args + "[3]", "--altershield-address=https://altershield:8443/api"},
		"server.platform":         {server("server.platform=us: #1"), managerDeployment, args + "[4]", "--altershield-platform=us: #1"},
		"server.cluster":          {server("server.cluster=east"), managerDeployment, args + "[5]", "--altershield-cluster=east"},
		"server.tenant":           {server("server.tenant=ours"), managerDeployment, args + "[7]", "--altershield-tenant=ours"},
		"server.scene":            {server("server.scene=com.example"), managerDeployment, args + "[7]", "--altershield-scene=com.example"},
		"server.failurePolicy":    {server("server.failurePolicy=fail"), managerDeployment, args + "[7]", "--altershield-failure-policy=fail"},
		"server.tokenSecret.name": {server("server.tenant="), managerDeployment, pod + ".volumes[1].secret.secretName", "token-of-ours"},
		"server.tokenSecret.key":  {server("server.tokenSecret.key=t"), managerDeployment, args + "[6]", "--altershield-token-file=/var/run/secrets/altershield/t"},
		"callback.tlsSecret":      {[]string{"callback.tlsSecret=tls"}, managerDeployment, pod + ".volumes[1].secret.secretName", "tls"},
		"webhook.certificate":     {[]string{"webhook.certificate=cert-manager"}, "Secret webhook-server-cert", "", noObject},
		"webhook.port":            {[]string{"webhook.port=10250"}, managerDeployment, manager + ".ports[0]", `{"containerPort":10250,"name":"webhook"}`},
		"webhook.failurePolicy": {[]string{"webhook.failurePolicy=Ignore"}, "MutatingWebhookConfiguration altershieldoperator-mutating-webhook-configuration",
			".webhooks[0].failurePolicy", "Ignore"},
		"crds.enabled":          {[]string{"crds.enabled=false"}, "CustomResourceDefinition changepods.app.ops.cloud.alipay.com", "", noObject},
		"networkPolicy.enabled": {[]string{"networkPolicy.enabled=false"}, "NetworkPolicy altershieldoperator-allow-webhook", "", noObject},
		"networkPolicy.serverPort": {server("networkPolicy.serverPort=8443"), "NetworkPolicy altershieldoperator-allow-server", ".spec.egress",
			`[{"ports":[{"port":8443}]}]`},
		"serviceMonitor.enabled": {[]string{"serviceMonitor.enabled=true"}, "ServiceMonitor altershieldoperator-controller-manager-metrics-monitor", ".kind", "ServiceMonitor"},
		"serviceMonitor.labels": {[]string{"serviceMonitor.enabled=true", "serviceMonitor.labels.release=p"},
			"ServiceMonitor altershieldoperator-controller-manager-metrics-monitor", ".metadata.labels.release", "p"},
		"prometheusRule.enabled":  {[]string{"prometheusRule.enabled=true"}, "PrometheusRule altershieldoperator-rules", ".kind", "PrometheusRule"},
		"prometheusRule.labels":   {[]string{"prometheusRule.enabled=true", "prometheusRule.labels.release=p"}, "PrometheusRule altershieldoperator-rules", ".metadata.labels.release", "p"},
		"dashboard.enabled":       {[]string{"dashboard.enabled=true"}, "ConfigMap altershieldoperator-dashboard", ".kind", "ConfigMap"},
		"dashboard.labels":        {[]string{"dashboard.enabled=true", "dashboard.labels.team=sre"}, "ConfigMap altershieldoperator-dashboard", ".metadata.labels.team", "sre"},
		"jobCreation.enabled":     {[]string{"jobCreation.enabled=true"}, "ClusterRole altershieldoperator-job-creation", ".kind", "ClusterRole"},
		"gates.enabled":           {[]string{"gates.enabled=true"}, "MutatingAdmissionPolicy altershieldoperator-gates", ".kind", "MutatingAdmissionPolicy"},
		"podDeletion.enabled":     {[]string{"podDeletion.enabled=true"}, "ClusterRole altershieldoperator-pod-deletion", ".kind", "ClusterRole"},
		"admissionPolicy.enabled": {[]string{"admissionPolicy.enabled=true"}, "ValidatingAdmissionPolicy altershieldoperator-suspension", ".kind", "ValidatingAdmissionPolicy"},
	}
}

const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestValuesHaveTheirEffects(t *testing.T) {
	inRepository(t)
	for name, e := range effects() {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			rendered := render(t, "altershieldoperator-system", e.with...)
			if e.want == noObject {
				g.Expect(rendered).NotTo(HaveKey(e.object))
				return
			}
			g.Expect(at(g, rendered[e.object], e.path)).To(Equal(e.want))
		})
	}
}

func TestEffectsAreTestedOfEveryValue(t *testing.T) {
	inRepository(t)
	g := NewWithT(t)
	text, err := os.ReadFile("config/chart/values.yaml")
	g.Expect(err).NotTo(HaveOccurred())
	values := map[string]any{}
	g.Expect(yaml.Unmarshal(text, &values)).To(Succeed())
	g.Expect(slices.Collect(maps.Keys(effects()))).To(ConsistOf(leaves("", values)))
}

func leaves(prefix string, values map[string]any) []string {
	var paths []string
	for key, value := range values {
		if below, isMap := value.(map[string]any); isMap && len(below) > 0 {
			paths = append(paths, leaves(prefix+key+".", below)...)
		} else {
			paths = append(paths, prefix+key)
		}
	}
	return paths
}

func TestPodDisruptionBudgetIsLeftOutOfASingleReplica(t *testing.T) {
	inRepository(t)
	g := NewWithT(t)
	budget := "PodDisruptionBudget altershieldoperator-controller-manager"
	g.Expect(render(t, "altershieldoperator-system")).To(HaveKey(budget))
	g.Expect(render(t, "altershieldoperator-system", "replicas=1")).NotTo(HaveKey(budget))
}

func TestManagerServesTheWebhooksAtThePortOfItsContainer(t *testing.T) {
	inRepository(t)
	g := NewWithT(t)
	rendered := render(t, "altershieldoperator-system", "webhook.port=10250")
	g.Expect(at(g, rendered[managerDeployment], manager+".args")).To(ContainSubstring(`"--webhook-port=10250"`))
}

func TestPodLabelsCannotTakeThePodsFromTheirServices(t *testing.T) {
	inRepository(t)
	g := NewWithT(t)
	rendered := render(t, "altershieldoperator-system", `podLabels={"app.kubernetes.io/name":"mine"}`)
	g.Expect(at(g, rendered[managerDeployment], `.spec.template.metadata.labels.app\.kubernetes\.io/name`)).To(Equal("altershield-operator"))
}

func TestValuesThatAreBadAreRefused(t *testing.T) {
	inRepository(t)
	tooLong := strings.Repeat("t", 65)
	for value, message := range map[string]string{
		"replica=3":                      "at '': additional properties 'replica' not allowed",
		"image.name=x":                   "at '/image': additional properties 'name' not allowed",
		"image.repository=":              "at '/image/repository'",
		"image.repository=x@sha256":      "at '/image/repository'",
		"image.repository=h:5000/x:v1":   "at '/image/repository'",
		"image.tag=a b":                  "at '/image/tag'",
		"image.digest=sha256:0":          "at '/image/digest'",
		"image.pullPolicy=Sometimes":     "at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'",
		`image.pullSecrets=["registry"]`: "at '/image/pullSecrets/0': got string, want object",
		"replicas=-1":                    "at '/replicas': minimum: got -1, want 0",
		"replicas=two":                   "at '/replicas': got string, want integer",
		"resources=small":                "at '/resources': got string, want object",
		`env=[{"value":"x"}]`:            "at '/env/0': missing property 'name'",
		`extraArgs=["zap"]`:              "at '/extraArgs/0'",
		`extraVolumes=[{"secret":{}}]`:   "at '/extraVolumes/0': missing property 'name'",
		`extraVolumeMounts=[{}]`:         "at '/extraVolumeMounts/0': missing properties 'name', 'mountPath'",
		"hostNetwork=1":                  "at '/hostNetwork': got number, want boolean",
		`podLabels={"a":1}`:              "at '/podLabels/a': got number, want string",
		"server=null":                    "at '': missing property 'server'",
		"server.address=altershield":     "at '/server/address'",
		"server.address=http://x":        "at '/server/tokenSecret/name': minLength: got 0, want 1",
		"server.platform=":               "at '/server/platform': minLength: got 0, want 1",
		"server.cluster=East":            "at '/server/cluster'",
		"server.tenant=" + tooLong:       "at '/server/tenant': maxLength: got 65, want 64",
		"server.failurePolicy=maybe":     "at '/server/failurePolicy': value must be one of '', 'pass', 'fail'",
		"server.tokenSecret.key=a/b":     "at '/server/tokenSecret/key'",
		"callback.tlsSecret=My Secret":   "at '/callback/tlsSecret'",
		"webhook.certificate=mine":       "at '/webhook/certificate': value must be one of 'self', 'cert-manager'",
		"webhook.port=0":                 "at '/webhook/port': minimum: got 0, want 1",
		"webhook.port=8080":              "at '/webhook/port': 'not' failed",
		"webhook.failurePolicy=fail":     "at '/webhook/failurePolicy': value must be one of 'Fail', 'Ignore'",
		"crds.enabled=maybe":             "at '/crds/enabled': got string, want boolean",
		"networkPolicy.serverPort=0":     "at '/networkPolicy/serverPort': minimum: got 0, want 1",
		"prometheusRule.enabled=1":       "at '/prometheusRule/enabled': got number, want boolean",
		"admissionPolicy=true":           "at '/admissionPolicy': got boolean, want object",
		"serviceMonitor=true":            "at '/serviceMonitor': got boolean, want object",
	} {
		t.Run(value, func(t *testing.T) {
			g := NewWithT(t)
			_, problems, err := tryHelm(t, append([]string{"template", chartDir}, flagsOf([]string{value})...)...)
			g.Expect(err).To(HaveOccurred())
			g.Expect(problems).To(ContainSubstring(message))
		})
	}
}

func TestNotesTellWhatChecksReleases(t *testing.T) {
	inRepository(t)
	install := []string{"install", "altershield-operator", chartDir, "--dry-run=client", "--namespace", "altershieldoperator-system", "--set", "crds.enabled=false"}
	g := NewWithT(t)
	g.Expect(helm(t, install...)).To(ContainSubstring("VerificationPolicies alone check their releases, since server.address is empty."))
	g.Expect(helm(t, install...)).To(ContainSubstring("pod-security.kubernetes.io/enforce=restricted"))
	g.Expect(helm(t, append(install, "--set", "hostNetwork=true")...)).NotTo(ContainSubstring("pod-security.kubernetes.io"), "the namespace would admit no pod")
	with := helm(t, append(install, "--set", "server.address=http://altershield:8080,server.tokenSecret.name=token")...)
	g.Expect(with).To(ContainSubstring("AlterShield Server at http://altershield:8080 checks their releases"))
	g.Expect(with).NotTo(ContainSubstring("VerificationPolicies alone"))
}

func TestChartMayBePartOfAnother(t *testing.T) {
	inRepository(t)
	helm(t, "template", chartDir, "--set", "global.anything=x")
}
