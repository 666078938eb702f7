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
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var _ = Describe("kubectl altershield", Ordered, func() {
	var plugin installed

	BeforeAll(func(ctx context.Context) { plugin = install(ctx) })

	It("shows a verified and a suspended release, and what would be let in, by the documented commands", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		run := func(section string) string {
			GinkgoHelper()
			var commands string
			for _, block := range blocks("plugin.md", section) {
				commands += regexp.MustCompile(`\bshop\b`).ReplaceAllString(block, namespace)
			}
			return bash(ctx, "export LANG=C.UTF-8 PATH="+plugin.programs+":$PATH\n"+commands)
		}
		var output string
		Eventually(func() string {
			output = run("A release, and its wait")
			return output
		}).Should(MatchRegexp(`(?m)^Deployment sleep  5 wanted · 5 ready · 0 old · 5 new$`), "the deployment controller counts them, too")
		Expect(output).To(ContainSubstring("release 1  ✔ Success  5✔ of 5  verified\n"))
		Expect(output).To(MatchRegexp(`release 1 c6c45d2 → file -\n  metadata.labels\[test\]: 123 -> test\n`))

		output = run("A failure")
		Expect(output).To(ContainSubstring("✖ Suspend"))
		Expect(output).To(ContainSubstring("wait exits with 10\n"))
		Expect(output).To(MatchRegexp(`batches 1 +✖ failed  sleep-\S+  find error`))
		Expect(output).To(MatchRegexp(`ways out +repair \(you may\): kubectl altershield repair deployment/sleep`))

		before := get(ctx, namespace, "sleep")
		output = run("Would this be let in?")
		Expect(output).To(ContainSubstring("✖ " + namespace + "/sleep would be DENIED: admission webhook \"vdeployment.kb.io\" denied the request: deployment sleep is suspended\n"))
		Expect(output).To(ContainSubstring("why exits with 4\n"))
		Expect(get(ctx, namespace, "sleep")).To(Equal(before), "nothing has changed")
		Expect(releases(ctx, namespace)()).To(HaveLen(1))
		file, err := os.ReadFile(filepath.Join("..", "config", "samples", "sleep.yaml"))
		Expect(err).NotTo(HaveOccurred())
		applied, err := kubectlWith(ctx, strings.Replace(string(file), `"123"`, `"test"`, 1), "apply", "-n", namespace, "-f", "-")
		Expect(err).To(HaveOccurred())
		Expect(applied).To(ContainSubstring(`admission webhook "vdeployment.kb.io" denied the request: deployment sleep is suspended`), "the very sentence")

		output = run("The past")
		Expect(output).To(MatchRegexp(`(?m)^1 +c6c45d2 +✖ Suspend`))
		Expect(output).To(ContainSubstring("ReleaseSuspended"))

		output = run("Acting")
		Expect(output).To(MatchRegexp(`is repaired: release 1 c6c45d2 → release 2 \S+\n  spec.containers\[sleep\].image: busybox -> busybox:1.36\n`))
		Expect(output).To(ContainSubstring("nothing was changed: this was a dry run\n"))
		Expect(output).To(ContainSubstring("release 2  ✔ Success"))
		Expect(output).To(ContainSubstring("paused; kubectl altershield resume deployment/sleep -n " + namespace + " lets it go on\n"))
		Expect(output).To(MatchRegexp(`(?m)^VerificationPolicy +altershieldoperator-system +builtin +mode: `))
		Expect(output).To(MatchRegexp(`(?m)^branch +(on|off) \(`))

		output = run("Policies and kinds")
		Expect(output).To(MatchRegexp(`(?m)^` + namespace + `/sleep  release 2  new pods: 5$`))
		Expect(output).To(MatchRegexp(`(?m)^\S+ +PodHealth +○ Skipped +NotStored +the past status of pods is not stored$`))
		Expect(output).To(ContainSubstring("kind: ControlledKind\n"))
		Expect(output).To(ContainSubstring("✔ creation of KubernetesCluster dev\n"))
	})

	It("shows a rolled-back release and a StatefulSet", func(ctx context.Context) {
		web := statefulSet(controlledNamespace(ctx), "Parallel", 2)
		web.create(ctx)
		web.verified(ctx)
		Eventually(func() string { return plugin.succeeds(ctx, "status", "sts/web", "-n", web.namespace) }).Should(ContainSubstring("StatefulSet web  2 wanted · 2 ready"))
		Expect(plugin.succeeds(ctx, "wait", web.namespace+"/web")).To(ContainSubstring("✔ Success  2✔ of 2  verified"))

		bad := goesBad(ctx, web.namespace, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/stuck-after":"3s"}},
			"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`)
		output, code := plugin.run(ctx, "", "wait", "sleep", "-n", web.namespace)
		Expect(code).To(Equal(11), output)
		Expect(output).To(ContainSubstring("release 2  ↩ RolledBack"))
		Eventually(released(ctx, web.namespace)).Should(Equal(firstVersion))
		verified(ctx, web.namespace, "sleep")
		Expect(plugin.succeeds(ctx, "history", "sleep", "-n", web.namespace)).To(MatchRegexp(`(?m)^2 +%s +↩ RolledBack`, bad[:7]))
		Expect(plugin.succeeds(ctx, "why", "sleep", "-n", web.namespace)).To(ContainSubstring("refused until"))

		var list struct {
			Kind  string
			Items []struct{ Kind, Workload, State string }
		}
		Expect(json.Unmarshal([]byte(plugin.succeeds(ctx, "list", "-n", web.namespace, "--all", "-o", "json")), &list)).To(Succeed())
		Expect(list.Kind).To(Equal("ReleaseList"))
		Expect(list.Items).To(ConsistOf(
			struct{ Kind, Workload, State string }{"Deployment", "sleep", "RolledBack"}, struct{ Kind, Workload, State string }{"StatefulSet", "web", "Success"},
		))
	})

	It("waits for what comes, and names the right that lacks", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := patchSleep(ctx, namespace, `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		output, code := plugin.run(ctx, "", "wait", "sleep", "-n", namespace, "--timeout=3s")
		Expect(code).To(Equal(124), output)
		Expect(plugin.succeeds(ctx, "diff", "sleep", "-n", namespace)).To(MatchRegexp(`release 1 c6c45d2 → release 2 \S+\n  metadata.labels\[local.altershield.io/start\]: added`))
		output, code = plugin.run(ctx, "", "list", "-n", namespace, "--as=nobody")
		Expect(code).To(Equal(1))
		Expect(output).To(Equal("error: you (nobody) may not list changeworkloads.app.ops.cloud.alipay.com in namespace " + namespace +
			": ask an administrator for this right, or name another namespace with -n\n"))
		var list appv1alpha1.ChangeWorkloadList
		Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items).To(HaveLen(2))
	})

	It("finds the installation sound by the documented commands, and names a broken caBundle and a missing policy", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		deployment := sleep(namespace)
		deployment.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "DB_LOGIN", Value: "hunter2"}}
		Expect(kube.Create(ctx, deployment)).To(Succeed())
		Eventually(notes(ctx, namespace, "ReleaseRecorded")).Should(HaveLen(1))
		file := filepath.Join(GinkgoT().TempDir(), "report.zip")
		commands := regexp.MustCompile(`\bshop\b`).ReplaceAllString(strings.Join(blocks("plugin.md", "The installation"), ""), namespace)
		commands = strings.ReplaceAll(commands, "report.zip", file)
		output := bash(ctx, "export LANG=C.UTF-8 PATH="+plugin.programs+":$PATH\n"+commands)
		Expect(output).To(ContainSubstring("a dry run of a new Deployment in namespace " + namespace + " comes back stamped\n"))
		Expect(output).To(MatchRegexp(`(?m)^✔ leader +\S+, renewed \ds ago$`))
		Expect(output).To(ContainSubstring("all 14 have the fields that this plugin knows\n"))
		Expect(output).To(ContainSubstring("no problems\n"))
		Expect(output).To(ContainSubstring("operator not known: there is no Deployment"), "here it runs outside the cluster")
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "altershield-doctor"}, &appsv1.Deployment{})).NotTo(Succeed(), "the dry run left nothing")
		report := readZip(file)
		Expect(report).To(HaveKeyWithValue("doctor.txt", ContainSubstring("no problems\n")))
		Expect(report).To(HaveKeyWithValue("workloads/deployments.json", ContainSubstring(`"name": "sleep"`)))
		Expect(report).To(HaveKeyWithValue("events.json", ContainSubstring("ReleaseRecorded")))
		for name, text := range report {
			Expect(text).NotTo(ContainSubstring("hunter2"), name)
		}

		policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-gate-opening"}}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(policy), policy)).To(Succeed())
		Expect(kube.Delete(ctx, policy.DeepCopy())).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(kube.Create(ctx, &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: policy.Name, Labels: policy.Labels}, Spec: policy.Spec})).To(Succeed())
			Expect(plugin.succeeds(ctx, "doctor", "-n", namespace, "--wait=1m")).To(HaveSuffix("no problems\n"))
		})
		configuration := &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-mutating-webhook-configuration"}}
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(configuration), configuration)).To(Succeed())
		trusted := configuration.DeepCopy()
		broken := trusted.DeepCopy()
		broken.Webhooks[0].ClientConfig.CABundle = []byte("no certificate")
		Expect(kube.Patch(ctx, broken, client.MergeFrom(trusted))).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Eventually(func() error {
				present := &admissionregistrationv1.MutatingWebhookConfiguration{}
				if err := kube.Get(ctx, client.ObjectKeyFromObject(trusted), present); err != nil {
					return err
				}
				present.Webhooks[0].ClientConfig.CABundle = trusted.Webhooks[0].ClientConfig.CABundle
				return kube.Update(ctx, present)
			}).Should(Succeed())
		})
		output, code := plugin.run(ctx, "", "doctor", "-n", namespace)
		Expect(code).To(Equal(3), output)
		Expect(output).To(MatchRegexp(`(?m)^✖ policies +the ValidatingAdmissionPolicy altershieldoperator-gate-opening is missing\n +kubectl apply -k config/default$`))
		Expect(output).To(MatchRegexp(`(?m)^✖ webhooks +mdeployment.kb.io has an unusable caBundle: no certificate in PEM$`))
		Expect(output).To(MatchRegexp(`(?m)^✖ trial release +a dry run of a new Deployment in namespace ` + namespace + ` failed: .*mdeployment.kb.io`))
		Expect(output).To(MatchRegexp(`problems: \d\n$`))
	})
})
