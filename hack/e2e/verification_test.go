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
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// checksPods releases containers that get into trouble after they were ready, while only the VerificationPolicy builtin checks them.
func checksPods(ctx context.Context) {
	for _, trouble := range []struct {
		namespace, commands, message string
		change                       func(*corev1.Container)
	}{
		{"out-of-memory", "sleep 10; tail /dev/zero", "container sleep ran out of memory (OOMKilled)", func(container *corev1.Container) {
			container.Resources.Limits = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("32Mi")}
		}},
		{"unready", "touch /ready; sleep 10; rm /ready; sleep 3600", "not ready since 20", func(container *corev1.Container) {
			container.ReadinessProbe = &corev1.Probe{
				ProbeHandler:  corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"/bin/cat", "/ready"}}},
				PeriodSeconds: 1, FailureThreshold: 1,
			}
		}},
		{"crashing-late", "sleep 10; exit 3", "after the pod was ready; container sleep ended with exit code 3", func(*corev1.Container) {}},
	} {
		By("releasing pods that are " + trouble.namespace)
		namespace := controlledNamespace(ctx, trouble.namespace)
		object := slowly(namespace, "sleep")
		verifies(ctx, object)
		before := object.DeepCopy()
		container := &object.Spec.Template.Spec.Containers[0]
		container.Command = []string{"/bin/sh", "-c", trouble.commands}
		trouble.change(container)
		Expect(kube.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
		bad := recordOf(object)
		Eventually(ctx, outcome(namespace, bad)).Should(Equal("Suspend, PodsFailed"))
		fmt.Print(kubectl(ctx, "get", "cw,cpod,pods", "-n", namespace))
		Expect(kubectl(ctx, "get", "cw", bad, "-n", namespace, "-o", "jsonpath={.status.verification.progress}")).To(Equal("0/1, pods Fail"))
		Expect(kubectl(ctx, "get", "cw", bad, "-n", namespace, "-o", "jsonpath={.status.checks[0].pods[0].message}")).To(ContainSubstring(trouble.message))
		_, err := release(ctx, namespace, "sleep", "denied")
		Expect(err).To(MatchError(ContainSubstring("deployment sleep is suspended")))
	}
}

// runsScripts checks two releases by a Job each, which exits with 0 and with 1.
func runsScripts(ctx context.Context) {
	kubectl(ctx, "apply", "-f", "config/components/job-creation/role.yaml")
	namespace := controlledNamespace(ctx, "scripts")
	Expect(kube.Create(ctx, &appv1alpha1.VerificationPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "smoke"},
		Spec: appv1alpha1.VerificationPolicySpec{VerificationTerms: appv1alpha1.VerificationTerms{
			Mode: "Enforce", BakeSeconds: 60, IntervalSeconds: 10, Checks: []appv1alpha1.VerificationCheck{{Name: "smoke", Type: "Job", Job: &appv1alpha1.JobCheck{
				Image: "busybox", Command: []string{"/bin/sh", "-c", "echo release $(RELEASE) is good"},
				Env: []appv1alpha1.JobVariable{{Name: "RELEASE", Value: "$release"}}, TimeoutSeconds: 60,
			}}},
		}},
	})).To(Succeed())
	object := slowly(namespace, "sleep")
	Expect(kube.Create(ctx, object)).To(Succeed())
	result := func(ctx context.Context, record string) string {
		return kubectl(ctx, "get", "cw", record, "-n", namespace, "-o", `jsonpath={range .status.checks[?(@.name=="smoke")]}{.verdict}, {.reason}, {.message}{end}`)
	}
	good := recordOf(object)
	succeeds(ctx, namespace, good)
	Expect(result(ctx, good)).To(MatchRegexp(`^Pass, CheckPassed, Job sleep-smoke-1-\w{10}: exit code 0$`))

	kubectl(ctx, "patch", "vpol", "smoke", "-n", namespace, "--type=json", "-p",
		`[{"op":"replace","path":"/spec/checks/0/job/command/2","value":"echo release $(RELEASE) is bad; exit 1"}]`)
	bad, err := release(ctx, namespace, "sleep", "bad")
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, outcome(namespace, bad)).Should(Equal("Suspend, PodsFailed"))
	Expect(result(ctx, bad)).To(MatchRegexp(`^Fail, CheckFailed, Job sleep-smoke-2-\w{10}: exit code 1: release 2 is bad$`))
	fmt.Print(kubectl(ctx, "get", "cw,jobs,pods", "-n", namespace))
	Expect(kubectl(ctx, "get", "jobs", "-n", namespace, "-o", "jsonpath={.items[*].metadata.name}")).To(HavePrefix("sleep-smoke-2-"), "the Job of the release before is gone")
}

// awaitsVerdicts has a plug-in check releases that only takes the questions: no verdict is reported on the first release, its service account
// fails the second one, and the return to the first version removes the earlier ChangeVerdict of that.
func awaitsVerdicts(ctx context.Context) {
	namespace := controlledNamespace(ctx, "verdicts")
	commands, _, found := strings.Cut(documented("docs/plugins.md", "Answers that take longer"), "kubectl get changeverdicts")
	Expect(found).To(BeTrue())
	DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "vsrc", "drift", "-n", system, "--ignore-not-found") })
	must(ctx, "bash", "-ec", strings.ReplaceAll(inNamespace(commands, namespace), "http://drift.platform:8080", takesQuestions()))
	kubectl(ctx, "wait", "vsrc/drift", "-n", system, "--for=condition=Ready", "--timeout=1m")
	kubectl(ctx, "patch", "vpol", "drift", "-n", namespace, "--type=merge", "-p", `{"spec":{"mode":"Observe","bakeSeconds":20,"intervalSeconds":10}}`)

	By("reporting no verdict on the first release")
	first := verifies(ctx, slowly(namespace, "model"))
	Eventually(ctx, verdictOf(namespace, first)).WithTimeout(2 * time.Minute).Should(MatchRegexp(`^Fail NoVerdict no verdict was reported in ChangeVerdict model--x--`))
	Expect(verdictsOn(ctx, namespace)).To(Equal("1  ;"))

	By("failing the second one as the service account of the plug-in")
	kubectl(ctx, "patch", "vpol", "drift", "-n", namespace, "--type=merge", "-p", `{"spec":{"mode":"Enforce"}}`)
	second, err := release(ctx, namespace, "model", "drifts")
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, func() string { return verdictsOn(ctx, namespace) }).Should(ContainSubstring("2  ;"))
	const account = "system:serviceaccount:platform:drift"
	pending := kubectl(ctx, "get", "cv", "-n", namespace, "-o", "jsonpath={.items[?(@.spec.release==2)].metadata.name}")
	kubectl(ctx, "patch", "cv", pending, "-n", namespace, "--subresource=status", "--type=merge", "--as="+account,
		"-p", `{"status":{"verdict":"Fail","reason":"Drift","message":"psi 0.31"}}`)
	Eventually(ctx, outcome(namespace, second)).Should(Equal("Suspend, PodsFailed"))
	Expect(verdictOf(namespace, second)(ctx)).To(Equal("Fail CheckFailed " + account + " reports Fail: Drift: psi 0.31"))
	fmt.Print(kubectl(ctx, "get", "cv,cw", "-n", namespace))

	By("returning to the first version")
	_, err = run(ctx, "kubectl", "patch", "deployment", "model", "-n", namespace, "--type=json", "-p", `[{"op":"remove","path":"/spec/template/metadata/annotations"}]`)
	Expect(err).NotTo(HaveOccurred())
	Eventually(ctx, func() string { return verdictsOn(ctx, namespace) }).Should(And(ContainSubstring("3  ;"), Not(ContainSubstring("1  ;"))))
	kubectl(ctx, "patch", "vpol", "drift", "-n", namespace, "--type=merge", "-p", `{"spec":{"mode":"Observe"}}`)
	succeeds(ctx, namespace, first)
}

// takesQuestions returns the address of a plug-in that takes each question.
func takesQuestions() string {
	GinkgoHelper()
	listener, err := net.Listen("tcp", net.JoinHostPort(os.Getenv("NODE_ADDRESS"), "0"))
	Expect(err).NotTo(HaveOccurred())
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) { writer.WriteHeader(http.StatusAccepted) }))
	Expect(server.Listener.Close()).To(Succeed())
	server.Listener = listener
	server.Start()
	DeferCleanup(server.Close)
	return server.URL
}

// verdictOf returns the result of the check drift of a release.
func verdictOf(namespace, record string) func(context.Context) string {
	return func(ctx context.Context) string {
		told, _ := run(ctx, "kubectl", "get", "cw", record, "-n", namespace, "-o", "jsonpath={.status.checks[?(@.name=='drift')]['verdict','reason','message']}")
		return told
	}
}

// verdictsOn lists the releases that have a ChangeVerdict, each with the verdict and the reporter.
func verdictsOn(ctx context.Context, namespace string) string {
	told, _ := run(ctx, "kubectl", "get", "cv", "-n", namespace, "-o", "jsonpath={range .items[*]}{.spec.release} {.status.verdict} {.status.reporter};{end}")
	return told
}
