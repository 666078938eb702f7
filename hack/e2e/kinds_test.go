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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
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
	object := slowly(namespace, "sleep")
	Expect(kube.Create(ctx, object)).To(Succeed())
	succeeds(ctx, namespace, recordOf(object))
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
