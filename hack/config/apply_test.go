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
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
)

const defaultConfig = sources + "/default"

func TestDefaultConfigIsTakenByAnAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	plane, err := cluster.Start(t.Context(), cluster.Options{Dir: t.TempDir(), Assets: programs, Log: t.Output()})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { g.Expect(plane.Stop(context.WithoutCancel(t.Context()))).To(Succeed()) })
	kubectl := func(command string) string {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), plane.Kubectl(), strings.Fields(command)...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig())
		output, err := cmd.CombinedOutput()
		g.Expect(err).NotTo(HaveOccurred(), "%s: %s", command, output)
		return string(output)
	}
	g.Expect(kubectl("apply -k "+defaultConfig)).NotTo(ContainSubstring("Warning"), "of Pod Security, or of something deprecated")
	kubectl("-n altershieldoperator-system rollout status deployment/altershieldoperator-controller-manager --timeout=3m")

	for name, apply := range map[string]string{
		"applied again":               "apply -k " + defaultConfig,
		"applied again by the server": "apply --server-side --force-conflicts -k " + defaultConfig,
	} {
		t.Run("what the operator writes stays when it is "+name, func(t *testing.T) {
			g := NewWithT(t)
			kubectl(`-n altershieldoperator-system patch secret webhook-server-cert --type=merge -p {"data":{"tls.key":"a2V5"}}`)
			kubectl(`patch mutatingwebhookconfiguration altershieldoperator-mutating-webhook-configuration --type=json -p ` +
				`[{"op":"add","path":"/webhooks/0/clientConfig/caBundle","value":"Y2E="}]`)
			kubectl(apply)
			g.Expect(kubectl("-n altershieldoperator-system get secret webhook-server-cert -o jsonpath={.type}{.data}")).
				To(Equal(`Opaque{"tls.key":"a2V5"}`))
			g.Expect(kubectl("get mutatingwebhookconfiguration altershieldoperator-mutating-webhook-configuration " +
				"-o jsonpath={.webhooks[0].clientConfig.caBundle}")).To(Equal("Y2E="))
		})
	}
	t.Run("a cluster can go over from cert-manager, whose Secret has another type", func(*testing.T) {
		kubectl("-n altershieldoperator-system delete secret webhook-server-cert")
		kubectl("-n altershieldoperator-system create secret generic webhook-server-cert --type=kubernetes.io/tls " +
			"--from-literal=tls.crt=c --from-literal=tls.key=k")
		kubectl("apply -k " + defaultConfig)
	})
}
