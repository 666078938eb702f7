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
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var _ = Describe("The verbs of kubectl altershield that write", Ordered, ContinueOnFailure, func() {
	var plugin installed

	BeforeAll(func(ctx context.Context) { plugin = install(ctx) })

	It("fail a pod, repair and withdraw", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		record := verified(ctx, namespace, "sleep").Name
		Expect(plugin.succeeds(ctx, "verdict", record+"--x--1", "fail", "--reason", "find error", "-y", "-n", namespace)).To(HavePrefix("changed the verdicts of changepod/" + record))
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(record, "Suspend"))
		Expect(plugin.succeeds(ctx, "why", "sleep", "-n", namespace)).To(ContainSubstring("kubectl altershield verdict " + record + "--x--1 pass -n " + namespace))

		By("withdrawing the failure")
		plugin.succeeds(ctx, "verdict", record+"--x--1", "pass", "--reason", "the probe was wrong", "-y", "-n", namespace)
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(record, "Success"))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))

		By("repairing by an image")
		plugin.succeeds(ctx, "verdict", record+"--x--1", "fail", "--reason", "find error", "-y", "-n", namespace)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		before := get(ctx, namespace, "sleep")
		output := plugin.succeeds(ctx, "repair", "sleep", "--image", "sleep=busybox:1.37", "-n", namespace, "--dry-run=server")
		Expect(output).To(MatchRegexp(`is repaired: release 1 c6c45d2 → release 2 \S+\n  spec.containers\[sleep\].image: \S+ -> busybox:1.37\n`))
		Expect(output).To(HaveSuffix("nothing was changed: this was a dry run\n"))
		Expect(get(ctx, namespace, "sleep").Generation).To(Equal(before.Generation))
		output, code := plugin.run(ctx, "y\n", "repair", "sleep", "--image", "sleep=busybox:1.37", "-n", namespace)
		Expect(code).To(BeZero(), output)
		Expect(output).To(ContainSubstring("Do you want this? [y/N] "))
		Expect(output).To(ContainSubstring("warning   deployment sleep stays suspended until this release is verified"))
		Expect(output).To(HaveSuffix("\nreleased the repair; kubectl altershield wait deployment/sleep -n " + namespace + " follows\n"))
		Expect(plugin.succeeds(ctx, "wait", "sleep", "-n", namespace)).To(ContainSubstring("✔ Success"))
		Expect(get(ctx, namespace, "sleep").Labels).NotTo(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
		Expect(get(ctx, namespace, "sleep").Annotations["altershield.defense.antgroup.com/ignored-suspend-by"]).To(ContainSubstring("admin"))
	})

	It("repair by a file, whose label never lands in what was applied, and roll back", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		file, err := kubectl(ctx, "create", "deployment", "sleep", "--image=busybox:1", "--replicas=2", "-n", namespace, "--dry-run=client", "-o", "yaml")
		Expect(err).NotTo(HaveOccurred(), file)
		output, err := kubectlWith(ctx, file, "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		record := verified(ctx, namespace, "sleep")
		plugin.succeeds(ctx, "verdict", record.Name+"--x--1", "fail", "--reason", "find error", "-y", "-n", namespace)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		output, code := plugin.run(ctx, strings.Replace(file, "busybox:1", "busybox:2", 1), "repair", "sleep", "-f", "-", "-y", "-n", namespace, "--reason", "CHG-4711")
		Expect(code).To(BeZero(), output)
		Expect(get(ctx, namespace, "sleep").Annotations["kubectl.kubernetes.io/last-applied-configuration"]).To(And(ContainSubstring("busybox:2"), Not(ContainSubstring("ignored-suspend"))))
		Expect(verified(ctx, namespace, "sleep").Spec.ReleaseReason).To(Equal("CHG-4711"))
		repaired := verified(ctx, namespace, "sleep").Spec.Reversion
		Expect(repaired).NotTo(Equal(record.Spec.Reversion))

		output, err = patchSleep(ctx, namespace, `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		plugin.succeeds(ctx, "rollback", "sleep", "-n", namespace, "-y", "--reason", "INC-99: checkout is down")
		Eventually(released(ctx, namespace)).Should(Equal(repaired))
		back := verified(ctx, namespace, "sleep")
		Expect(back.Spec.ReleaseReason).To(Equal("INC-99: checkout is down"))
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/reason"), "the record has it")
		Expect(plugin.succeeds(ctx, "history", "sleep", "-n", namespace)).To(MatchRegexp(`(?m)^\d \*? +%s .*reason: INC-99: checkout is down$`, repaired[:7]))
		Eventually(func() string { return plugin.succeeds(ctx, "export", "-n", namespace) }).Should(ContainSubstring(",INC-99: checkout is down\r\n"))
	})

	It("pause a rollout with a reason, and let it go on", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		plugin.succeeds(ctx, "hold", "sleep", "-n", namespace, "--reason", "waits for the database", "-y")
		Expect(get(ctx, namespace, "sleep").Spec.Paused).To(BeTrue())
		Expect(plugin.succeeds(ctx, "status", "sleep", "-n", namespace)).To(ContainSubstring("paused by a user: waits for the database"))
		output, code := plugin.run(ctx, "", "rollback", "sleep", "-n", namespace, "-y")
		Expect(code).To(Equal(1))
		Expect(output).To(ContainSubstring("is paused by a user"))
		plugin.succeeds(ctx, "resume", "sleep", "-n", namespace, "-y")
		Expect(get(ctx, namespace, "sleep").Spec.Paused).To(BeFalse())
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/pause-reason"))
		plugin.succeeds(ctx, "hold", "sleep", "-n", namespace, "--reason", "CHG-4711", "-y")
		plugin.succeeds(ctx, "resume", "sleep", "-n", namespace, "--reason", "CHG-4711", "-y")
		output, err := patchSleep(ctx, namespace, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/reason":"CHG-4711"}},"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(verified(ctx, namespace, "sleep").Spec.ReleaseReason).To(Equal("CHG-4711"), "the same reason again")
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey("altershield.defense.antgroup.com/pause-reason"))

		web := statefulSet(namespace, "Parallel", 2)
		web.create(ctx)
		web.verified(ctx)
		plugin.succeeds(ctx, "hold", "sts/web", "-n", namespace, "--reason", "waits for the backup", "-y")
		Expect(plugin.succeeds(ctx, "status", "sts/web", "-n", namespace)).To(ContainSubstring("paused by a user: waits for the backup"))
		web.mustChange(ctx, `{"spec":{"template":{"metadata":{"labels":{"next":""}}}}}`)
		updated := func() string { return web.show(ctx, "{.status.updatedReplicas}") }
		Eventually(updated).Should(BeEmpty(), "its controller has seen the release")
		Consistently(updated, "3s").Should(BeEmpty(), "no pod is replaced")
		Expect(web.strategy(ctx)).To(Equal("2147483647"))
		output, code = plugin.run(ctx, "", "rollback", "sts/web", "-n", namespace, "-y")
		Expect(code).To(Equal(1))
		Expect(output).To(ContainSubstring("statefulset/web is paused by a user"))
		plugin.succeeds(ctx, "resume", "sts/web", "-n", namespace, "-y")
		Expect(web.strategy(ctx)).To(Equal("0"))
		web.verified(ctx)
	})

	It("let a release in steps go on, deny and approve it", func(ctx context.Context) {
		patient(ctx)
		web := deployment(pacedNamespace(ctx, `[{"replicas":1,"soak":"1h"},{"percent":100,"approvals":1}]`, ""), 4)
		web.create(ctx)
		web.verified(ctx)
		web.mustChange(ctx, web.labelled("next", ""))
		Eventually(web.step(ctx)).Should(Equal("1/2 True Soaking"))
		Expect(plugin.succeeds(ctx, "go-on", "web", "-n", web.namespace, "-y", "--dry-run=server")).To(ContainSubstring("goes on to step 2/2"))
		plugin.succeeds(ctx, "go-on", "web", "-n", web.namespace, "-y", "--reason", "the night is quiet")
		Eventually(web.step(ctx)).Should(Equal("1/2 True AwaitingApproval"))

		as := func(user string) []string {
			return []string{"-n", web.namespace, "-y", "--as", user, "--as-group", "system:masters"}
		}
		output, code := plugin.run(ctx, "", append([]string{"approve", "web"}, "-n", web.namespace, "-y")...)
		Expect(code).To(Equal(1), output)
		Expect(output).To(ContainSubstring("admin made release 2 of deployment web, so that another user has to approve it"))
		denial := strings.TrimSpace(plugin.succeeds(ctx, append([]string{"deny", "web", "--reason", "not today", "-o", "name"}, as("carol")...)...))
		Eventually(web.step(ctx)).Should(Equal("1/2 True ApprovalDenied"))
		output, err := kubectl(ctx, "delete", denial, "-n", web.namespace)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(plugin.succeeds(ctx, append([]string{"approve", "web", "--reason", "CHG-4711"}, as("bob")...)...)).To(HavePrefix("approved; kubectl delete changeapproval/web-"))
		web.verified(ctx)
		Expect(web.present(ctx).Status.Pace.ApprovedBy).To(Equal([]string{"bob"}))
		Expect(web.present(ctx).Status.Pace.Passes[0].User).To(Equal("admin"))
		Expect(web.present(ctx).Status.Pace.Passes[0].Reason).To(Equal("the night is quiet"))
	})

	It("lock releases, and break the glass", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		plugin.succeeds(ctx, "freeze", "lock", "inc-99", "sleep", "--reason", "INC-99", "-n", namespace, "-y")
		Eventually(func() string { return plugin.succeeds(ctx, "freeze", "list", "-n", namespace) }).Should(MatchRegexp(`inc-99 +Park +yes`))
		output, err := patchSleep(ctx, namespace, `{"spec":{"template":{"metadata":{"labels":{"a":"b"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(get(ctx, namespace, "sleep").Spec.Paused).To(BeTrue())
		output, code := plugin.run(ctx, "", "resume", "sleep", "-n", namespace, "-y")
		Expect(code).To(Equal(1))
		Expect(output).To(ContainSubstring("the operator holds the rollout of deployment/sleep, no user has paused it"))
		name := strings.TrimSpace(plugin.succeeds(ctx, "break-glass", "sleep", "--override=Freeze", "--reason", "INC-99", "-n", namespace, "-y", "-o", "name"))
		plugin.succeeds(ctx, "resume", "sleep", "-n", namespace, "-y", "--override")
		verified(ctx, namespace, "sleep")
		Eventually(func() (string, error) {
			return kubectl(ctx, "get", name, "-n", namespace, "-o", "jsonpath={.status.uses[0].workload}")
		}).Should(Equal("sleep"))
		plugin.succeeds(ctx, "freeze", "unlock", "inc-99", "-n", namespace, "-y")
		var list appv1alpha1.ChangeFreezeList
		Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items).To(BeEmpty())
	})

	It("name the right that a reader lacks", func(ctx context.Context) {
		web := deployment(pacedNamespace(ctx, `[{"replicas":1,"soak":"1h"},{"percent":100,"approvals":1}]`, ""), 4)
		web.create(ctx)
		web.verified(ctx)
		first := web.record(ctx)
		web.mustChange(ctx, web.labelled("next", ""))
		Eventually(web.step(ctx)).Should(Equal("1/2 True Soaking"))
		output, err := kubectl(ctx, "create", "rolebinding", "reader", "-n", web.namespace, "--clusterrole=view", "--user=reader")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() (string, error) {
			return kubectl(ctx, "auth", "can-i", "get", "deployments", "-n", web.namespace, "--as=reader")
		}).Should(HavePrefix("yes")) // the authorizer learns of the binding a moment later
		Expect(kube.Create(ctx, sleep(web.namespace))).To(Succeed())
		for verb, right := range map[string]string{
			"rollback web -y":                 "patch deployments.apps",
			"repair web --image web=web:9 -y": "patch deployments.apps",
			"hold sleep -y":                   "patch deployments.apps",
			"resume web -y --override":        "patch deployments.apps",
			"go-on web -y":                    "patch deployments.apps",
			"approve web -y":                  "create changeapprovals.app.ops.cloud.alipay.com",
			"deny web -y":                     "create changeapprovals.app.ops.cloud.alipay.com",
			"verdict " + first + "--x--1 fail --reason r -y": "patch changepods.app.ops.cloud.alipay.com/status",
			"freeze lock x --reason r -y":                    "create changefreezes.app.ops.cloud.alipay.com",
			"break-glass web --override=Pace --reason r -y":  "create breakglasses.app.ops.cloud.alipay.com",
		} {
			output, code := plugin.run(ctx, "", append(strings.Fields(verb), "--as=reader", "-n", web.namespace)...)
			Expect(code).To(Equal(1), verb+": "+output)
			Expect(output).To(HavePrefix("error: you (reader) may not "+right), verb)
		}
	})
})
