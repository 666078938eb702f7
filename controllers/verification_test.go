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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var _ = Describe("The VerificationPolicy builtin", func() {
	BeforeEach(patient)

	It("is there from the beginning", func(ctx context.Context) {
		Eventually(func() string { return shownPolicy(ctx, system, "builtin") }).Should(MatchRegexp(`^builtin Enforce 0 300 \d+ \d+ True$`))
	})

	It("suspends the Deployment by the commands of docs/verification.md", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		commands := strings.Join(append(blocks("verification.md", "With no configuration"), blocks("verification.md", "Your first policy in five minutes")...), "")
		output := bash(ctx, strings.ReplaceAll(commands, "-n default", "-n "+namespace))
		Expect(output).To(MatchRegexp(`(?m)^changeworkload\S+sleep--x--\S+ +Suspend .* 1/3, pods Fail$`))
		Expect(output).To(MatchRegexp(`(?m)^verificationpolicy\S+observe-first +Observe +300 +600 +1 +`))
	})

	DescribeTable("suspends the Deployment of a verified release", func(ctx context.Context, trouble func(context.Context, []corev1.Pod), why string) {
		namespace := controlledNamespace(ctx)
		second := twoVerified(ctx, namespace)
		Expect(checksOf(ctx, namespace)).To(Equal("1/1"))
		trouble(ctx, podsAt(ctx, namespace, second))
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue("sleep--x--"+second, "Suspend"))
		Expect(checksOf(ctx, namespace)).To(Equal("0/1, pods Fail"))
		Expect(labelsOf(ctx, namespace)()).To(HaveKey("altershield.defense.antgroup.com/suspend"))
		Eventually(notes(ctx, namespace, "ReleaseSuspended")).Should(ContainElement(ContainSubstring(why)))
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ContainElement(And(
			HavePrefix("sleep-"), ContainSubstring(why), HaveSuffix(" (VerificationPolicy "+system+"/builtin pods)"))))

		output, err := release(ctx, namespace, "denied")
		Expect(err).To(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("suspend"))
	},
		Entry("whose pod crashes in a loop", crash("now", 1), "after the pod was ready; container sleep ended with exit code 1"),
		Entry("whose pod runs out of memory", slow, crash("oom", 1), "container sleep ran out of memory (OOMKilled)"),
		Entry("two of whose pods stop being ready", notReadyFor(31*time.Second, 2), "not ready since 20"),
	)

})

var _ = Describe("A VerificationPolicy that looks at the health of pods", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)

	It("lets a release restart as often as the one before", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		checkedBy(ctx, namespace, "Enforce", 0)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		old := verified(ctx, namespace, "sleep").Spec.Reversion
		By("crashing every pod of the version before, which is only observed now")
		checkedBy(ctx, namespace, "Observe", 0)
		crash("now", 5)(ctx, podsAt(ctx, namespace, old))
		Eventually(troubles(ctx, namespace, old)).Should(ContainElement("CrashLoopBackOff"))
		uncrash(ctx, podsAt(ctx, namespace, old))
		Eventually(readyPods(ctx, namespace)).Should(Equal([]string{old + " x5"}))

		checkedBy(ctx, namespace, "Enforce", 0)
		second := repairVerified(ctx, namespace)
		record := workload(ctx, namespace, "sleep--x--"+second)
		Expect(record.Status.Verification.OldPods.Pods).To(BeNumerically(">=", 4), "the Deployment removes one at once")
		Expect(record.Status.Verification.OldPods.Restarts).To(BeNumerically(">=", 4))
		crash("now", 1)(ctx, podsAt(ctx, namespace, second))
		Eventually(troubles(ctx, namespace, second)).Should(ContainElement("CrashLoopBackOff"))
		Consistently(releases(ctx, namespace)).WithTimeout(5 * time.Second).Should(Equal(map[string]string{"sleep--x--" + second: "Success"}))
	})

	It("only says what it found in the modes Observe and Warn", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		checkedBy(ctx, namespace, "Warn", 0)
		second := twoVerified(ctx, namespace)
		crash("now", 1)(ctx, podsAt(ctx, namespace, second))
		Eventually(func() string { return checksOf(ctx, namespace) }).Should(Equal("0/1, pods Fail"))
		Eventually(notes(ctx, namespace, "CheckFailed")).Should(ConsistOf(And(
			ContainSubstring("check pods of VerificationPolicy " + namespace + "/own failed, which only warns: 1 pod of the release restarted"))))
		Expect(releases(ctx, namespace)()).To(Equal(map[string]string{"sleep--x--" + second: "Success"}))
		Expect(failedPods(ctx, namespace)).To(BeEmpty())
		Eventually(func() string { return shownPolicy(ctx, namespace, "own") }).Should(Equal("own Warn 0 600 1 1 True"))
		output, err := release(ctx, namespace, "warned")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("Warning: the last release of deployment sleep failed check pods of VerificationPolicy " + namespace + "/own, which only warns: " +
			"1 pod of the release restarted"))
	})

	It("suspends the Deployment of a release that breaks a rule", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output := ruledBy(ctx, namespace, "newPods.all(p, p.ready && p.node != '' && p.labels['app'] == 'sleep') && newPods.size() < 2",
			"string(newPods.size()) + ' new pods beside ' + string(oldPods.size()) + ' old ones'")
		Expect(output).To(ContainSubstring("created"))
		known(ctx, "vpol", namespace, "ruled")
		_, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() string { return checksOf(ctx, namespace) }).Should(HavePrefix("0/1, own Fail\n"), "beside the record of the release before")
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ContainElement(
			MatchRegexp(`^sleep-\S+ [2-5] new pods beside [0-5] old ones \(VerificationPolicy ` + namespace + `/ruled own\)$`)))
		output, err = release(ctx, namespace, "denied")
		Expect(err).To(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("suspend"))
	})

	It("is denied where an expression has a mistake", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(ruledBy(ctx, namespace, "newPods.all(p, p.nde != '')", "''")).To(ContainSubstring(
			"VerificationPolicy ruled: spec.checks[0].rule.expression: line 1, column 17: undefined field 'nde'"))
		Expect(ruledBy(ctx, namespace, "", "''")).To(ContainSubstring("spec.checks[0].rule.expression"))
		output, _ := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
			"metadata": {"namespace": %q, "name": "empty"}, "spec": {"checks": [{"name": "own", "type": "Rule"}]}}`, namespace), "apply", "-f", "-")
		Expect(output).To(ContainSubstring("rule is needed for type Rule, and for it only"))
		output, _ = kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
			"metadata": {"namespace": %q, "name": "both"}, "spec": {"checks": [{"name": "pods", "type": "PodHealth"}], "failWhen": "checks.pod == 'Fail'"}}`,
			namespace), "apply", "-f", "-")
		Expect(output).To(ContainSubstring("VerificationPolicy both: spec.failWhen: no check is named pod, only pods"))
		spread := strings.ReplaceAll(strings.Join(blocks("verification.md", "Rules of your own"), ""), "-n default", "-n "+namespace)
		Expect(bash(ctx, spread)).To(HaveSuffix("newPods.size() < 3 || newPods.map(p, p.node).distinct().size() >= 2"))
	})

	It("runs a Job once a release, whose exit code decides", slow, func(ctx context.Context) {
		bash(ctx, "kubectl apply -f config/components/job-creation/role.yaml")
		namespace := controlledNamespace(ctx)
		output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
			"metadata": {"namespace": %q, "name": "own"}, "spec": {"mode": "Enforce", "bakeSeconds": 30, "intervalSeconds": 10, "checks": [
			{"name": "smoke", "type": "Job", "job": {"image": "busybox", "timeoutSeconds": 600, "env": [{"name": "RELEASE", "value": "$release"}]}}]}}`, namespace), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("spec.checks[0].job is Inconclusive if it takes longer than bakeSeconds and watchSeconds"))
		known(ctx, "vpol", namespace, "own")
		jobs := func() string {
			output, _ := kubectl(ctx, "-n", namespace, "get", "jobs", "-o",
				`jsonpath={range .items[*]}{.metadata.labels.altershield\.defense\.antgroup\.com/check} {.spec.template.spec.containers[0].env[0].value}{.metadata.labels.admission-webhook-altershield\.antgroup\.com/version};{end}`)
			return output
		}
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		first := verified(ctx, namespace, "sleep")
		Expect(first.Status.Verification.Progress).To(Equal("1/1"))
		Expect(first.Status.Checks[0].Message).To(MatchRegexp(`^Job sleep-smoke-1-\w{10}: exit code 0$`))
		Expect(jobs()).To(Equal("smoke 1;"), "it has no version, so it is not under change control")
		Expect(releases(ctx, namespace)()).To(Equal(map[string]string{first.Name: "Success"}))

		By("running a script that fails")
		output, err = kubectl(ctx, "-n", namespace, "patch", "vpol", "own", "--type=json", "-p", `[{"op":"replace","path":"/spec/checks/0/job/image","value":"busybox:missing"}]`)
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vpol", namespace, "own")
		output, err = release(ctx, namespace, "2")
		Expect(err).NotTo(HaveOccurred(), output)
		var pods corev1.PodList
		Eventually(func() []corev1.Pod {
			Expect(kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{"altershield.defense.antgroup.com/check": "smoke"})).To(Succeed())
			return pods.Items
		}).Should(HaveExactElements(HaveField("Spec.Containers", HaveExactElements(HaveField("Env", HaveExactElements(HaveField("Value", "2")))))))
		Expect(jobs()).To(Equal("smoke 2;"), "the Job of the release before is gone")
		output, err = kubectl(ctx, "-n", namespace, "patch", "pod", pods.Items[0].Name, "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Failed","containerStatuses":[
			{"name":"check","image":"busybox","imageID":"","ready":false,"restartCount":0,"state":{"terminated":{"exitCode":1,"reason":"Error","message":"no healthz\n","startedAt":"2026-01-01T00:00:00Z","finishedAt":"2026-01-01T00:00:01Z"}}}]}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ContainElement(
			MatchRegexp(`^sleep-\S+ Job sleep-smoke-2-\w{10}: exit code 1: no healthz \(VerificationPolicy ` + namespace + `/own smoke\)$`)))
		output, err = release(ctx, namespace, "denied")
		Expect(err).To(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("suspend"))
	})

	It("delays a batch until its pods have been checked for long enough, and fails it meanwhile", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		checkedBy(ctx, namespace, "Enforce", 5)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		Eventually(func() int { return len(changePods(ctx, namespace)) }).Should(Equal(5))
		Eventually(batches(ctx, namespace)).Should(ContainElement("PostWait Baking"))
		verified(ctx, namespace, "sleep")
		for _, batch := range changePods(ctx, namespace) {
			Expect(batch.Status.Message).To(Equal("PostFinish"))
			Expect(reason(batch.Status.Conditions, "Verified")).To(Equal("PodsPassed"))
			Expect(batch.Status.UpdateTimeUnix-batch.Spec.CreateTimeUnix).To(BeNumerically(">=", 5), batch.Name)
		}
	})
})

// withoutBuiltIn has the policy builtin concern no workload during a spec.
func withoutBuiltIn(ctx context.Context) {
	GinkgoHelper()
	selectNamespaces := func(ctx context.Context, selector string) {
		output, err := kubectl(ctx, "-n", system, "patch", "vpol", "builtin", "--type=merge", "-p", `{"spec":{"namespaceSelector":`+selector+`}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vpol", system, "builtin")
	}
	selectNamespaces(ctx, `{"matchLabels":{"checked":"builtin"}}`)
	DeferCleanup(selectNamespaces, `{"matchLabels":null}`)
}

// shownPolicy returns how kubectl shows a policy.
func shownPolicy(ctx context.Context, namespace, name string) string {
	output, _ := kubectl(ctx, "-n", namespace, "get", "vpol", name, "--no-headers")
	return strings.Join(strings.Fields(output), " ")
}

// checkedBy has a policy of the namespace check the health of pods, or replaces its mode.
func checkedBy(ctx context.Context, namespace, mode string, bake int) {
	GinkgoHelper()
	output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
		"metadata": {"namespace": %q, "name": "own"},
		"spec": {"mode": %q, "bakeSeconds": %d, "watchSeconds": 600, "checks": [{"name": "pods", "type": "PodHealth"}]}}`, namespace, mode, bake), "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	known(ctx, "vpol", namespace, "own")
}

// ruledBy applies a policy with an enforced rule, and returns the output.
func ruledBy(ctx context.Context, namespace, expression, message string) string {
	GinkgoHelper()
	output, _ := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
		"metadata": {"namespace": %q, "name": "ruled"}, "spec": {"mode": "Enforce", "bakeSeconds": 0, "checks": [
			{"name": "own", "type": "Rule", "rule": {"expression": %q, "messageExpression": %q}}]}}`, namespace, expression, message), "apply", "-f", "-")
	return output
}

// crash crashes so many pods.
func crash(how string, count int) func(context.Context, []corev1.Pod) {
	return func(ctx context.Context, pods []corev1.Pod) {
		GinkgoHelper()
		for _, pod := range pods[:count] {
			labelPod(ctx, pod, fmt.Sprintf(`%q`, how))
		}
	}
}

func uncrash(ctx context.Context, pods []corev1.Pod) {
	GinkgoHelper()
	for _, pod := range pods {
		labelPod(ctx, pod, "null")
	}
}

func labelPod(ctx context.Context, pod corev1.Pod, crash string) {
	GinkgoHelper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{"local.altershield.io/crash":%s}}}`, crash)
	Expect(kube.Patch(ctx, &pod, client.RawPatch("application/merge-patch+json", []byte(patch)))).To(Succeed())
}

// notReadyFor has so many pods be unready for a time already.
func notReadyFor(lost time.Duration, count int) func(context.Context, []corev1.Pod) {
	return func(ctx context.Context, pods []corev1.Pod) {
		GinkgoHelper()
		for _, pod := range pods[:count] {
			before := pod.DeepCopy()
			for i := range pod.Status.Conditions {
				if condition := &pod.Status.Conditions[i]; condition.Type == corev1.PodReady {
					condition.Status, condition.LastTransitionTime = corev1.ConditionFalse, metav1.NewTime(time.Now().Add(-lost))
				}
			}
			Expect(kube.Status().Patch(ctx, &pod, client.MergeFrom(before))).To(Succeed())
		}
	}
}

// checksOf returns what kubectl shows in the column CHECKS of the only release of a namespace.
func checksOf(ctx context.Context, namespace string) string {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", namespace, "get", "cw", "-o", "custom-columns=CHECKS:.status.verification.progress", "--no-headers")
	Expect(err).NotTo(HaveOccurred(), output)
	return strings.TrimSpace(output)
}

// failedPods returns the pods with the verdict unpass, with their messages.
func failedPods(ctx context.Context, namespace string) []string {
	var failed []string
	for _, batch := range changePods(ctx, namespace) {
		for _, result := range batch.Status.PodResults {
			if result.Verdict == appv1alpha1.VerdictUnpass {
				failed = append(failed, result.Pod+": "+result.Message)
			}
		}
	}
	return failed
}
