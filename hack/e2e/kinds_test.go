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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/e2e/supplies"
	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/node/registry"
)

// controlsOtherKinds records runs, releases to a node first, and declares a kind by the commands of its page. The CronJob runs meanwhile.
func controlsOtherKinds(ctx context.Context) {
	namespace := controlledNamespace(ctx, "kinds")
	kubectl(ctx, "wait", "--for=condition=Ready", "controlledkind/cronjobs.batch", "controlledkind/jobs.batch", "controlledkind/daemonsets.apps", "--timeout=1m")
	once := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "migrate"}, Spec: batchv1.JobSpec{Template: briefly("migrate")}}
	minutely := &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "backup"},
		Spec: batchv1.CronJobSpec{
			Schedule: "* * * * *", JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: briefly("backup")}},
		},
	}
	runs := map[string]client.Object{"jobs.migrate--x--": once, "cronjobs.backup--x--": minutely}
	for _, object := range runs {
		Expect(kube.Create(ctx, object)).To(Succeed())
	}
	releasesToANodeFirst(ctx, namespace)
	declaresAKind(ctx)
	By("checking a Job, and the next run of a CronJob")
	for record, object := range runs {
		succeeds(ctx, namespace, record+object.GetLabels()[versionLabel])
	}
}

// freezes parks a release by an incident lock, and starts it by a BreakGlass, which keeps the evidence.
func freezes(ctx context.Context) {
	namespace := controlledNamespace(ctx, "frozen")
	verifies(ctx, slowly(namespace, "sleep"))
	kubectl(ctx, "apply", "-n", namespace, "-f", "config/samples/freezes/incident-lock.yaml")
	kubectl(ctx, "wait", "-n", namespace, "--for=condition=Active", "changefreeze/incident-99", "--timeout=1m")
	kubectl(ctx, "set", "env", "-n", namespace, "deployment/sleep", "NEXT=true")
	frozen := recordOf(theDeployment(ctx, namespace, "sleep"))
	Eventually(ctx, outcome(namespace, frozen)).Should(Equal("Running, Frozen"))
	Expect(theDeployment(ctx, namespace, "sleep").Spec.Paused).To(BeTrue())
	kubectl(ctx, "rollout", "resume", "-n", namespace, "deployment/sleep")
	Expect(theDeployment(ctx, namespace, "sleep").Spec.Paused).To(BeTrue(), "it stays parked")

	kubectl(ctx, "apply", "-n", namespace, "-f", "config/samples/freezes/break-glass.yaml")
	kubectl(ctx, "rollout", "resume", "-n", namespace, "deployment/sleep")
	succeeds(ctx, namespace, frozen)
	kubectl(ctx, "wait", "-n", namespace, "--for=jsonpath={.status.uses[0].release}=2", "breakglass/inc-99", "--timeout=1m")
	fmt.Print(kubectl(ctx, "get", "changefreezes,breakglasses", "-n", namespace))
}

// briefly returns a pod template of a real container that ends.
func briefly(name string) corev1.PodTemplateSpec {
	template := slowly("", name).Spec.Template
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	template.Spec.Containers[0].Command = []string{"/bin/sleep", "1"}
	return template
}

// releasesToANodeFirst releases a DaemonSet to one of the two nodes, and to the other once the pod there has passed.
func releasesToANodeFirst(ctx context.Context, namespace string) {
	GinkgoHelper()
	By("releasing a DaemonSet to one node first")
	permitDeletions(ctx)
	var nodes corev1.NodeList
	Expect(kube.List(ctx, &nodes)).To(Succeed())
	s := daemonSet(namespace, "agent")
	s.SetAnnotations(map[string]string{"altershield.defense.antgroup.com/first-nodes": "kubernetes.io/hostname=" + nodes.Items[0].Name})
	create(ctx, []set{s})
	Expect(s.patch(ctx, template("next", ""))).To(Succeed())
	Expect(s.strategy(ctx)).To(Equal(s.held))
	succeeds(ctx, namespace, s.record(ctx))
	settles(ctx, s)
	Expect(s.strategy(ctx)).To(Equal(s.rolling))
	Expect(kubectl(ctx, "get", "changeworkload", s.record(ctx), "-n", namespace, "-o", "jsonpath={.status.firstNodes.nodes}")).
		To(Equal(`["` + nodes.Items[0].Name + `"]`))
	Expect(kubectl(ctx, "events", "-n", namespace, "--for", "daemonset/agent")).To(And(
		ContainSubstring("PodDeleted"), ContainSubstring("FirstNodesPassed"), Not(ContainSubstring("FirstNodesSkipped"))))
}

// declaresAKind declares, controls and removes a kind by the commands of the page.
func declaresAKind(ctx context.Context) {
	GinkgoHelper()
	By("declaring a kind by the commands of its page")
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", "--ignore-not-found", "--timeout=1m", "crd/kubernetesclusters.ecs.yun.com", "namespace/infra",
			"clusterrole/altershield-kind-kubernetesclusters.ecs.yun.com")
	})
	const page = "docs/declaring-kinds.md"
	var output strings.Builder
	for _, section := range []string{"Put it under control", "Release, failure, denial", "Remove it"} {
		output.WriteString(must(ctx, "bash", "-ec", documented(page, section)))
	}
	Expect(output.String()).To(And(
		ContainSubstring("controlledkind.app.ops.cloud.alipay.com/kubernetesclusters.ecs.yun.com condition met"),
		ContainSubstring("denied the request: kubernetescluster dev: spec.cluster.masterList is immutable"),
		ContainSubstring("denied the request: kubernetescluster dev: an operation is in progress"),
		ContainSubstring("denied the request: kubernetescluster dev is suspended"),
		ContainSubstring(`controlledkind.app.ops.cloud.alipay.com "kubernetesclusters.ecs.yun.com" deleted`),
	))
}

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
