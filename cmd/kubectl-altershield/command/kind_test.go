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

package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/cmd/kubectl-altershield/command"
)

const (
	clusterKind = "../../../config/samples/kinds/kubernetescluster.yaml"
	cloneSetCRD = "../../../controllers/workload/declared/testdata/crds/clonesets.yaml"
	devCluster  = `
apiVersion: ecs.yun.com/v1
kind: KubernetesCluster
metadata: {name: dev, namespace: infra}
spec:
  cluster:
    kubeVersion: v1.30.2
    masterList: [{ip: 10.0.0.1}]
    nodeList: [{ip: 10.0.0.2}, {ip: 10.0.0.3}]
status: {phase: Running, lastTransitionTime: "2026-11-21T09:00:00Z"}
`
)

func TestKindInferPrintsWhatACRDSuggests(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	text := b.run("kind", "infer", cloneSetCRD, "--kubeconfig=/nonexistent").expects(g, command.OK)
	g.Expect(text).To(HavePrefix("# Check whether spec.updateStrategy.partition counts the old pods (Old) or is the first index that is updated (FirstIndex).\napiVersion: "))
	g.Expect(text).To(ContainSubstring("\n---\napiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\n"))
	crd, err := os.ReadFile(cloneSetCRD)
	g.Expect(err).NotTo(HaveOccurred())
	b.in = string(crd)
	g.Expect(b.run("kind", "infer", "-", "--version", "v1alpha1").expects(g, command.OK)).To(Equal(text))
	g.Expect(b.run("kind", "infer", cloneSetCRD, "-o", "name").expects(g, command.OK)).To(Equal("controlledkind/clonesets.apps.kruise.io\n"))

	var shown struct {
		Kind, APIVersion            string
		Notes                       []string
		ControlledKind, ClusterRole map[string]any
	}
	g.Expect(json.Unmarshal([]byte(b.run("kind", "infer", cloneSetCRD, "-o", "json").expects(g, command.OK)), &shown)).To(Succeed())
	g.Expect([]string{shown.Kind, shown.APIVersion}).To(Equal([]string{"InferredKind", "cli.altershield/v1"}))
	g.Expect(shown.Notes).To(HaveLen(1))
	g.Expect(shown.ControlledKind).To(And(HaveKeyWithValue("kind", "ControlledKind"), Not(HaveKey("status"))))
	g.Expect(shown.ClusterRole).To(HaveKeyWithValue("kind", "ClusterRole"))
}

func TestKindTestShowsWhatARequestDoes(t *testing.T) {
	old := filepath.Join(t.TempDir(), "old.yaml")
	NewWithT(t).Expect(os.WriteFile(old, []byte(devCluster), 0o600)).To(Succeed())
	for name, row := range map[string]struct {
		updated, out string
		code         command.Code
	}{
		"a node more": {strings.Replace(devCluster, "{ip: 10.0.0.3}", "{ip: 10.0.0.3}, {ip: 10.0.0.4}", 1), `✔ update of KubernetesCluster dev
  mode      Observe: nothing is written, held or denied. With Enforce:
  release   yes, version c5c603f552d1204a8d4e596f413aec93; changed: /spec/cluster/nodeList
  pods      none; reported instead: 10.0.0.2, 10.0.0.3, 10.0.0.4
  hold      not supported; only the next release is denied
  health    InProgress (spec.health.current is false)
  rules     passed
`, command.OK},
		"another master": {strings.Replace(devCluster, "10.0.0.1}", "10.0.0.9}", 1), `✖ update of KubernetesCluster dev  would be DENIED
  mode      Observe: nothing is written, held or denied. With Enforce:
  release   no
  pods      none; reported instead: 10.0.0.2, 10.0.0.3
  hold      not supported; only the next release is denied
  health    Current (spec.health.current is true)
  rule      spec.cluster.masterList: spec.cluster.masterList is immutable
`, command.Denied},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			b := newBench(t)
			b.in = row.updated
			g.Expect(b.run("kind", "test", "--kind", clusterKind, "-f", "-", "--old", old, "--kubeconfig=/nonexistent").expects(g, row.code)).To(Equal(row.out))
		})
	}
}

func TestKindTestAsJSON(t *testing.T) {
	g := NewWithT(t)
	b := newBench(t)
	b.in = devCluster
	var shown map[string]any
	g.Expect(json.Unmarshal([]byte(b.run("kind", "test", "--kind", clusterKind, "--old", "-", "-o", "json").expects(g, command.Denied)), &shown)).To(Succeed())
	g.Expect(shown).To(And(HaveKeyWithValue("kind", "KindTrial"), HaveKeyWithValue("apiVersion", "cli.altershield/v1"), HaveKeyWithValue("verdict", "Denied"),
		HaveKeyWithValue("operation", "deletion"), HaveKeyWithValue("objectKind", "KubernetesCluster"), HaveKeyWithValue("name", "dev"),
		HaveKeyWithValue("mode", "Observe"), HaveKeyWithValue("health", "Current"), Not(HaveKey("release"))))
	g.Expect(shown["violations"].([]any)[0]).To(And(HaveKeyWithValue("rule", "said-so"), HaveKeyWithValue("message", HavePrefix("name the cluster"))))
	g.Expect(b.run("kind", "test", "--kind", clusterKind, "-f", "-", "-o", "name").expects(g, command.OK)).To(Equal("Admitted\n"))
}

func TestKindNamesWhatIsWrong(t *testing.T) {
	g := NewWithT(t)
	g.Expect(newBench(t).run("kind").expects(g, command.OK)).To(ContainSubstring("kind VERB [flags]"))
	for line, row := range map[string]struct {
		code    command.Code
		problem string
	}{
		"kind none":                 {command.Usage, `there is no verb "none"; --help lists the verbs`},
		"freeze none":               {command.Usage, `there is no verb "none"; --help lists the verbs`},
		"none":                      {command.Usage, `there is no verb "none"; --help lists the verbs`},
		"kind infer":                {command.Usage, "accepts 1 arg(s), received 0"},
		"kind infer none":           {command.Failed, "open none: no such file or directory"},
		"kind test -f x":            {command.Usage, "--kind is needed, and -f, --old or both"},
		"kind test --kind x":        {command.Usage, "--kind is needed, and -f, --old or both"},
		"kind test --kind x -f -":   {command.Failed, "there is no object in -"},
		"kind test --kind x -f x a": {command.Usage, "accepts 0 arg(s), received 1"},
	} {
		answer := newBench(t).run(split(line)...)
		g.Expect(answer.code).To(Equal(row.code), line)
		g.Expect(answer.err).To(ContainSubstring(row.problem), line)
	}
}

func TestAClosedPipeEndsKindAndReplay(t *testing.T) {
	b := newBench(t, past(3, 1767225600))
	b.in, b.out = devCluster, broken{}
	for _, line := range []string{"kind infer " + cloneSetCRD, "kind test --kind " + clusterKind + " -f -", "replay web --policy " + podsPolicy(t)} {
		answer := b.run(split(line)...)
		NewWithT(t).Expect(answer.code).To(Equal(command.Failed), line)
		NewWithT(t).Expect(answer.err).To(ContainSubstring("broken pipe"), line)
	}
}
