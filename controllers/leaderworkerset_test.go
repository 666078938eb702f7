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

package controllers_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/e2e/supplies"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

const (
	// leaderWorkerSets is the ControlledKind of the sample.
	leaderWorkerSets = "leaderworkersets.leaderworkerset.x-k8s.io"
	// groups is a LeaderWorkerSet of four groups, each of a leader and a worker.
	groups = `
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: web}
spec:
  replicas: 4
  leaderWorkerTemplate:
    size: 2
    leaderTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: leader, image: "web:1"}]}}
    workerTemplate: {spec: {terminationGracePeriodSeconds: 0, containers: [{name: worker, image: "web:1"}]}}
`
	// nextGroups releases leaders and workers that take two seconds to be ready.
	nextGroups = `{"spec":{"leaderWorkerTemplate":{
		"leaderTemplate":{"metadata":{"annotations":{"local.altershield.io/ready-after":"2s"}},"spec":{"containers":[{"name":"leader","image":"web:2"}]}},
		"workerTemplate":{"metadata":{"annotations":{"local.altershield.io/ready-after":"2s"}},"spec":{"containers":[{"name":"worker","image":"web:2"}]}}}}}`
)

// The controller of LeaderWorkerSets is the real one, built from its module.
var _ = Describe("A LeaderWorkerSet", slow, Serial, func() {
	BeforeEach(runLeaderWorkerSets)

	It("is checked by its leaders, held by its partition, and goes on once the verdict is withdrawn", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		set := func(path string) string {
			GinkgoHelper()
			output, err := kubectl(ctx, "-n", namespace, "get", "leaderworkerset", "web", "-o", "jsonpath="+path)
			Expect(err).NotTo(HaveOccurred(), output)
			return output
		}
		status := func() map[string]string { return releases(ctx, namespace)() }
		record := func() string {
			return "leaderworkersets.web--x--" + set("{.metadata.labels.admission-webhook-altershield\\.antgroup\\.com/version}")
		}
		leaders := func(image string) func() int {
			return func() int {
				output, err := kubectl(ctx, "-n", namespace, "get", "pods", "-l", "leaderworkerset.sigs.k8s.io/worker-index=0",
					"-o", `jsonpath={.items[*].spec.containers[0].image}`)
				if err != nil {
					return -1
				}
				return strings.Count(output, image)
			}
		}
		output, err := kubectlWith(ctx, groups, "apply", "-n", namespace, "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		first := record()
		Eventually(status).Should(HaveKeyWithValue(first, "Success"))
		Expect(workload(ctx, namespace, first).Status.Counts.Passed).To(BeEquivalentTo(4), "the leaders are checked")

		By("failing the first leader of the next release")
		output, err = kubectl(ctx, "-n", namespace, "patch", "leaderworkerset", "web", "--type=merge", "-p", nextGroups)
		Expect(err).NotTo(HaveOccurred(), output)
		second := record()
		Expect(second).NotTo(Equal(first))
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(second + "--x--1"))
		fail(ctx, namespace, second+"--x--1")
		Eventually(func() string { return set("{.metadata.annotations.altershield\\.defense\\.antgroup\\.com/held}") }).Should(Equal("2"))
		Expect(strconv.Atoi(set("{.spec.rolloutStrategy.rollingUpdateConfiguration.partition}"))).To(BeNumerically(">=", 4))
		old := leaders("web:1")
		Consistently(old).WithTimeout(10*time.Second).Should(BeNumerically(">", 0), "the groups that were not replaced yet stay")

		By("denying the next release")
		output, err = kubectl(ctx, "-n", namespace, "patch", "leaderworkerset", "web", "--type=merge", "-p", strings.ReplaceAll(nextGroups, "web:2", "web:3"))
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("leaderworkerset web is suspended"))

		By("withdrawing the verdict")
		output, err = kubectl(ctx, "-n", namespace, "patch", "changepod", "--subresource=status", second+"--x--1", "--type=json",
			"-p", `[{"op":"replace","path":"/status/podResults/0/verdict","value":"pass"}]`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(leaders("web:2")).Should(Equal(4))
		Eventually(status).Should(HaveKeyWithValue(second, "Success"))
		Expect(set("{.spec.rolloutStrategy.rollingUpdateConfiguration.partition}")).To(BeElementOf("", "0"))
	})
})

// runLeaderWorkerSets runs the controller of LeaderWorkerSets and brings them under change control, for a spec.
func runLeaderWorkerSets(ctx context.Context) {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	program, certs := filepath.Join(dir, "lws"), filepath.Join(dir, "certs")
	source, err := gomodule.Build(ctx, supplies.LeaderWorkerSets, supplies.Controller, program)
	Expect(err).NotTo(HaveOccurred())
	ca, err := cluster.NewServingCert(certs)
	Expect(err).NotTo(HaveOccurred())
	var webhooks, probe int
	Expect(cluster.FreePorts(&webhooks, &probe)).To(Succeed())
	config := filepath.Join(source, "config", "default")
	Expect(plane.Install(ctx, config, cluster.WebhookEndpoint{Port: webhooks, CABundle: ca})).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		output, err := kubectl(ctx, "delete", "--ignore-not-found", "-k", config)
		Expect(err).NotTo(HaveOccurred(), output)
	})
	health := net.JoinHostPort("127.0.0.1", strconv.Itoa(probe))
	configuration := filepath.Join(dir, "config.yaml")
	Expect(os.WriteFile(configuration, fmt.Appendf(nil, `
apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
webhook: {host: 127.0.0.1, port: %d, certDir: %s}
metrics: {bindAddress: "0"}
health: {healthProbeBindAddress: %q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
`, webhooks, certs, health), 0o600)).To(Succeed())
	running, err := process.Start(process.Spec{
		Dir: dir, Name: "lws", Argv: []string{program, "--config=" + configuration, "--kubeconfig=" + plane.Kubeconfig()},
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func(ctx context.Context) { Expect(running.Stop(ctx, 10*time.Second)).To(Succeed()) })
	Eventually(func() (string, error) {
		response, err := http.Get("http://" + health + "/readyz")
		if err != nil {
			return "", err
		}
		return response.Status, response.Body.Close()
	}).Should(Equal("200 OK"), "%v", running.Ended())

	const sample = "../config/samples/kinds/leaderworkerset.yaml"
	output, err := kubectl(ctx, "apply", "-f", sample)
	Expect(err).NotTo(HaveOccurred(), output)
	DeferCleanup(func(ctx context.Context) {
		output, err := kubectl(ctx, "delete", "controlledkind", leaderWorkerSets, "--timeout=1m")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = kubectl(ctx, "delete", "--ignore-not-found", "-f", sample)
		Expect(err).NotTo(HaveOccurred(), output)
	})
	output, err = kubectl(ctx, "patch", "controlledkind", leaderWorkerSets, "--type=merge", "-p", `{"spec":{"mode":"Enforce"}}`)
	Expect(err).NotTo(HaveOccurred(), output)
	enforced(ctx, leaderWorkerSets)
}
