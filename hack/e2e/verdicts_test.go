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
)

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
	object := slowly(namespace, "model")
	Expect(kube.Create(ctx, object)).To(Succeed())
	first := recordOf(object)
	succeeds(ctx, namespace, first)
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
