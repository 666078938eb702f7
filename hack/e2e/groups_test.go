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
	"encoding/json"
	"fmt"
	"net"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/e2e/supplies"
	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/node/registry"
)

const (
	// groups is the noun of LeaderWorkerSets, whose pods come in groups.
	groups = "leaderworkerset"
	// controlledGroups is the ControlledKind of the sample.
	controlledGroups = "controlledkind/leaderworkersets.leaderworkerset.x-k8s.io"
)

// groupSet returns a LeaderWorkerSet of eight groups of a leader and a worker. The leaders are its pods: they stand for their groups.
func groupSet(namespace, name string) set {
	GinkgoHelper()
	object := &unstructured.Unstructured{}
	Expect(json.Unmarshal(fmt.Appendf(nil, `{
		"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "metadata": {"namespace": %q, "name": %q},
		"spec": {"replicas": 8, "leaderWorkerTemplate": {"size": 2, "leaderTemplate": %s, "workerTemplate": %s}}}`,
		namespace, name, member(groups+"-"+name), member("worker")), &object.Object)).To(Succeed())
	return set{Object: object, noun: groups}
}

// member returns the template of a real container in JSON.
func member(app string) string {
	GinkgoHelper()
	content, err := json.Marshal(slowly("", app).Spec.Template)
	Expect(err).NotTo(HaveOccurred())
	return string(content)
}

// groupTemplate returns a patch of the annotation note of leaders and workers.
func groupTemplate(note string) string {
	member := fmt.Sprintf(`{"metadata":{"annotations":{"note":%q}}}`, note)
	return fmt.Sprintf(`{"spec":{"leaderWorkerTemplate":{"leaderTemplate":%s,"workerTemplate":%s}}}`, member, member)
}

// controlsGroups installs the real controller of LeaderWorkerSets as its users do, and brings them under change control, until the end of the
// spec.
func controlsGroups(ctx context.Context) {
	GinkgoHelper()
	program := filepath.Join(GinkgoT().TempDir(), "manager")
	source, err := gomodule.Build(ctx, supplies.LeaderWorkerSets, supplies.Controller, program)
	Expect(err).NotTo(HaveOccurred())
	// The name of the image in config/manager of the module. Its pods may not run as root.
	push(ctx, registry.Image{
		Program: program, Paths: []string{"manager"}, References: []string{"k8s-staging-images/lws/lws:release-0.9"}, User: "65532",
	})
	installation := filepath.Join(source, "config", "default")
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", "--ignore-not-found", "--timeout=5m", "-k", installation)
	})
	kubectl(ctx, "apply", "--server-side", "-k", installation)
	kubectl(ctx, "rollout", "status", "-n", "lws-system", "deployment", "lws-controller-manager", "--timeout=3m")
	// Its pods are ready before they have the certificate of their webhooks.
	Eventually(ctx, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := kube.List(ctx, &pods, client.InNamespace("lws-system")); err != nil {
			return err
		}
		for _, pod := range pods.Items {
			connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", net.JoinHostPort(pod.Status.PodIP, "9443"))
			if err != nil {
				return err
			}
			if err := connection.Close(); err != nil {
				return err
			}
		}
		return nil
	}).Should(Succeed())

	const sample = "config/samples/kinds/leaderworkerset.yaml"
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", controlledGroups, "--timeout=1m")
		kubectl(ctx, "delete", "--ignore-not-found", "-f", sample)
	})
	kubectl(ctx, "apply", "-f", sample)
	kubectl(ctx, "patch", controlledGroups, "--type=merge", "-p", `{"spec":{"mode":"Enforce"}}`)
	Eventually(ctx, func(ctx context.Context) string {
		return kubectl(ctx, "get", controlledGroups, "-o", `jsonpath={.metadata.generation} {.status.observedGeneration} {.status.conditions[?(@.type=="Ready")].reason}`)
	}).Should(Equal("2 2 Ready"))
}
