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
	"net/http"
	"net/http/httptest"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
)

var _ = Describe("A VerificationPolicy that looks at metrics", func() {
	BeforeEach(patient)
	BeforeEach(withoutBuiltIn)

	It("suspends a Deployment in its first step whose new pod has more errors than the old ones", slow, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, `[{"replicas": 1}, {"percent": 100}]`, "")
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		old := verified(ctx, namespace, "sleep").Spec.Reversion
		sourceOf(ctx, scraped(ctx))
		commands := strings.Join(blocks("verification.md", "Metrics")[:1], "")
		bash(ctx, strings.ReplaceAll(commands, "-n default", "-n "+namespace))
		output, err := kubectl(ctx, "-n", namespace, "patch", "vpol", "errors", "--type=merge", "-p", `{"spec":{"warmupSeconds":0,"intervalSeconds":10}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vpol", namespace, "errors")

		_, err = release(ctx, namespace, "failing")
		Expect(err).NotTo(HaveOccurred())
		Eventually(func() []string { return failedPods(ctx, namespace) }).Should(ConsistOf(MatchRegexp(
			`^sleep-\S+ \S+% on 1 new pod \(\d+ events\), \S+% on [45] old pods \(x\d+.*, tolerated x1.5\) \(VerificationPolicy ` + namespace + `/errors errors\)$`)))
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(running(ctx, namespace)()).To(runAtLeast(5, old, released(ctx, namespace)(), 1), "the first step has one new pod")
	})

	DescribeTable("judges a release by a real Prometheus, by the commands of docs/metrics.md:", slow,
		func(ctx context.Context, section, name, patch, pods string, suspended types.GomegaMatcher, result string) {
			namespace := pacedNamespace(ctx, `[{"replicas": 1}, {"percent": 100}]`, "")
			Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
			verified(ctx, namespace, "sleep")
			address := scraped(ctx)
			sourceOf(ctx, address)
			scrapedLong(ctx, address, 5)
			bash(ctx, strings.ReplaceAll(blocks("metrics.md", section)[0], "-n default", "-n "+namespace))
			output, err := kubectl(ctx, "-n", namespace, "patch", "vpol", name, "--type=merge", "-p", patch)
			Expect(err).NotTo(HaveOccurred(), output)
			known(ctx, "vpol", namespace, name)

			output, err = release(ctx, namespace, pods)
			Expect(err).NotTo(HaveOccurred(), output)
			Eventually(func() string { return resultIn(ctx, namespace) }).Should(Equal(result))
			Eventually(labelsOf(ctx, namespace)).Should(suspended)
		},
		Entry("Latency that fails in the first step", "Slow requests", "latency", `{"spec":{"warmupSeconds":0,"intervalSeconds":10}}`, "slow", HaveKey(suspendLabel),
			"Suspend PodsFailed, Fail CheckFailed: slower than 0.5 s: 12% on 1 new pod (N events), 1% on 5 old pods (x12, tolerated x1.5)"),
		Entry("Latency that passes", "Slow requests", "latency", `{"spec":{"warmupSeconds":0,"intervalSeconds":10,"bakeSeconds":60}}`, "fine", Not(HaveKey(suspendLabel)),
			"Success AllPodsPassed, Pass PassedEarly: slower than 0.5 s: 1% on 1 new pod (N events), 1% on 5 old pods (x1, tolerated x1.5)"),
		Entry("Gauge that fails", "Values of pods", "queue", `{"spec":{"warmupSeconds":0,"intervalSeconds":10,"bakeSeconds":0,"watchSeconds":20}}`, "queueing", HaveKey(suspendLabel),
			"Suspend PodsFailed, Fail CheckFailed: work_queue_depth: 41 on 5 new pods, 12 on 5 old pods (medians; x3.42, tolerated x1.5)"),
		Entry("Gauge that passes", "Values of pods", "queue", `{"spec":{"warmupSeconds":0,"intervalSeconds":10,"bakeSeconds":0,"watchSeconds":20}}`, "fine", Not(HaveKey(suspendLabel)),
			"Success AllPodsPassed, Pass CheckPassed: work_queue_depth: 12 on 5 new pods, 12 on 5 old pods (medians; x1, tolerated x1.5), x1.83 would have been found"),
	)

	It("is inconclusive, and fails nothing, while its source doesn't answer", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		away := httptest.NewServer(http.NotFoundHandler())
		DeferCleanup(away.Close)
		sourceOf(ctx, away.URL)
		output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
			"metadata": {"namespace": %q, "name": "slo"}, "spec": {"mode": "Enforce", "bakeSeconds": 0, "checks": [{"name": "errors", "type": "Ratio",
			"ratio": {"sourceRef": {"name": "prometheus"}, "total": {"metric": "requests_total"}, "bad": {"metric": "errors_total"}, "threshold": {"max": "1%%"}}}]}}`,
			namespace), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vpol", namespace, "slo")
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Eventually(func() string {
			output, _ := kubectl(ctx, "-n", namespace, "get", "cw", "-o", `jsonpath={.items[0].status.checks[0]['verdict','reason']}`)
			return output
		}).Should(Equal("Inconclusive SourceUnavailable"), "a minute after the release was verified")
		Expect(failedPods(ctx, namespace)).To(BeEmpty())
	})

	It("looks at queries, alerts and conditions, and says which would have failed", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		sourceOf(ctx, scraped(ctx))
		output, err := kubectl(ctx, "-n", system, "patch", "vsrc", "prometheus", "--type=merge", "-p", `{"spec":{"prometheus":{"enforceNamespace":true}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vsrc", system, "prometheus")
		output, err = kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
			"metadata": {"namespace": %q, "name": "own"}, "spec": {"mode": "Observe", "bakeSeconds": 25, "warmupSeconds": 0, "intervalSeconds": 10, "checks": [
			{"name": "share", "type": "Query", "query": {"sourceRef": {"name": "prometheus"}, "max": "0.01", "consecutive": 1,
				"query": "sum(http_requests_total{code=\"500\",pod=~\"$newPods\"}) / sum(http_requests_total{pod=~\"$newPods\"})"}},
			{"name": "quiet", "type": "Alerts", "alerts": {"sourceRef": {"name": "prometheus"}}},
			{"name": "progressing", "type": "Condition", "condition": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "$workload", "type": "Progressing"}},
			{"name": "tested", "type": "Condition", "condition": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "$workload-tests", "type": "Available"}}
			]}}`, namespace), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		known(ctx, "vpol", namespace, "own")
		verdicts := func(version string) func() string {
			return func() string {
				output, _ := kubectl(ctx, "-n", namespace, "get", "cw", "sleep--x--"+version, "-o", `jsonpath={range .status.checks[*]}{.name} {.verdict} {.reason};{end}`)
				return output
			}
		}
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		first := verified(ctx, namespace, "sleep").Spec.Reversion
		Eventually(verdicts(first)).Should(Equal(
			"share Pass CheckPassed;quiet Pass CheckPassed;progressing Pass CheckPassed;tested Inconclusive ObjectMissing;"))

		output, err = release(ctx, namespace, "failing")
		Expect(err).NotTo(HaveOccurred(), output)
		second := verified(ctx, namespace, "sleep").Spec.Reversion
		Eventually(verdicts(second)).Should(HavePrefix("share Fail CheckFailed;quiet "))
		Expect(failedPods(ctx, namespace)).To(BeEmpty(), "the policy only observes")
	})

	It("is Ready by the commands of docs/verification.md, docs/metrics.md and docs/plugins.md", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		DeferCleanup(func(ctx context.Context) {
			bash(ctx, "kubectl delete -n "+system+" --ignore-not-found secret/placement-key vsrc/placement; kubectl delete clusterrole altershield-reads-smoketests --ignore-not-found")
		})
		sourceOf(ctx, "http://127.0.0.1:9090") // a policy is Ready where its sources exist, whether they answer or not
		var commands []string
		for _, section := range []string{"Slow requests", "Values of pods", "Alerts", "Queries of your own"} {
			commands = append(commands, blocks("metrics.md", section)...)
		}
		commands = append(commands, blocks("verification.md", "Before and after")...)
		commands = append(commands, blocks("plugins.md", "A first plug-in")...)
		commands = append(commands, blocks("plugins.md", "Conditions")...)
		commands = append(commands, blocks("plugins.md", "Jobs")...)
		bash(ctx, strings.ReplaceAll(strings.Join(commands, ""), "-n default", "-n "+namespace))
		bash(ctx, "kubectl wait -n "+namespace+" vpol --all --for=condition=Ready --timeout=1m")
		output, err := kubectl(ctx, "-n", namespace, "get", "vpol", "-o", "jsonpath={.items[*].metadata.name}")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(strings.Fields(output)).To(HaveLen(8))
	})

	It("is denied where a matcher is none", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "VerificationPolicy",
			"metadata": {"namespace": %q, "name": "slo"}, "spec": {"checks": [{"name": "errors", "type": "Ratio",
			"ratio": {"sourceRef": {"name": "prometheus"}, "total": {"metric": "requests_total"}, "bad": {"matchers": ["code=5.."]}, "threshold": {"max": "1%%"}}}]}}`,
			namespace), "apply", "-f", "-")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring(`VerificationPolicy slo: spec.checks[0].ratio.bad.matchers[0]: "code=5.." is not one label matcher, such as code=~"5.."`))
	})
})
