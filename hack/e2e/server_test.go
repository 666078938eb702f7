//go:build e2e

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

package e2e_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/altershield"
)

const token = "a token of the platform"

// asksTheServer runs a test server on the nodes' own address, where the operator's pods reach it. Its callbacks pass through the Service.
func asksTheServer(ctx context.Context) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(os.Getenv("NODE_ADDRESS"), "0"))
	Expect(err).NotTo(HaveOccurred())
	var callbacks corev1.Service
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: system, Name: "altershieldoperator-callback-service"}, &callbacks)).To(Succeed())
	server := altershield.New(altershield.Options{
		Token:       token,
		CallbackURL: "http://" + net.JoinHostPort(callbacks.Spec.ClusterIP, "8080") + "/openapi/altershield/callback",
	})
	serving, stop := context.WithCancel(context.WithoutCancel(ctx))
	served := make(chan error, 1)
	go func() { served <- server.Serve(serving, listener) }()
	DeferCleanup(func(ctx context.Context) {
		deploy(ctx, previous)
		stop()
		Expect(<-served).To(Succeed())
		server.Close()
	})

	kubectl(ctx, "create", "secret", "generic", "altershield-token", "-n", system, "--from-literal=token="+token)
	kubectl(ctx, "apply", "-k", withServer(listener.Addr().String()))
	kubectl(ctx, "rollout", "status", "-n", system, "deployment", deployment, "--timeout=3m")
	bothReady(ctx)

	By("verifying a release that the server has checked")
	namespace := controlledNamespace(ctx, "checked")
	object := slowly(namespace, "sleep")
	verifies(ctx, object)
	Expect(kubectl(ctx, "get", "changepods", "-n", namespace)).To(And(ContainSubstring("PostFinish"), Not(ContainSubstring("Failed"))))

	By("suspending a release that the server fails")
	server.AddRule(altershield.Rule{Name: "error rate", Message: "5xx above 1%", Stage: altershield.StagePost, Verdict: altershield.VerdictFail})
	record, err := release(ctx, namespace, "sleep", "bad")
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, outcome(namespace, record)).Should(Equal("Suspend, PodsFailed"))
	_, err = release(ctx, namespace, "sleep", "worse")
	Expect(err).To(MatchError(ContainSubstring("deployment sleep is suspended")))
	fmt.Print(kubectl(ctx, "get", "changeworkloads", "-n", namespace, "-o", "wide"))

	By("rolling it back on request")
	server.ClearRules()
	kubectl(ctx, "annotate", "deployment", "sleep", "-n", namespace, "altershield.defense.antgroup.com/rollback=true")
	succeeds(ctx, namespace, recordOf(object))
}

// withServer returns a user's kustomization: config/default with the component for AlterShield Server.
func withServer(address string) string {
	GinkgoHelper()
	dir := filepath.Join(root, "bin", "e2e", "server")
	Expect(os.MkdirAll(dir, 0o755)).To(Succeed())
	colon := strings.LastIndex(previous, ":")
	name, tag := previous[:colon], previous[colon+1:]
	content := fmt.Sprintf(`apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../../../config/default]
components: [../../../config/components/server]
images:
- {name: altershield-operator, newName: %s, newTag: %s}
patches:
- target: {kind: Deployment, name: %s}
  patch: |-
    - {op: add, path: /spec/template/spec/containers/0/args/-, value: "--altershield-address=http://%s"}
`, name, tag, deployment, address)
	Expect(os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(content), 0o644)).To(Succeed())
	return dir
}
