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
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/traas-stack/altershield-operator/hack/altershield"
	"github.com/traas-stack/altershield-operator/hack/collector"
)

// collected receives the traces of the manager.
var collected *collector.Collector

// traced restarts the manager with a collector, for the specs of an Ordered container.
func traced() {
	BeforeAll(func(ctx context.Context) {
		listener := listen()
		collected = collector.Start(listener)
		DeferCleanup(func() { collected.Stop() })
		traced := manager.Options()
		traced.Args = append(slices.Clone(traced.Args), "--traces-endpoint="+listener.Addr().String(), "--traces-insecure")
		restartAs(ctx, traced)
	})
}

func listen() net.Listener {
	GinkgoHelper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(func() { _ = listener.Close() })
	return listener
}

// traceID returns the ID of the trace of a release of the Deployment sleep, computed as in docs/tracing.md.
func traceID(ctx context.Context, namespace string, release int) string {
	GinkgoHelper()
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", get(ctx, namespace, "sleep").UID, release))
	return hex.EncodeToString(sum[:])[:32]
}

// arrived returns the spans of a trace.
func arrived(id string) []collector.Span {
	return slices.DeleteFunc(collected.Spans(), func(span collector.Span) bool { return span.Trace != id })
}

// tree returns the spans of a trace, each with its parents before it, and each once, as calls may be repeated.
func tree(id string) func() []string {
	return func() []string {
		byID := map[string]collector.Span{}
		for _, span := range arrived(id) {
			byID[span.ID] = span
		}
		var paths []string
		for _, span := range byID {
			path := span.Name
			for span.Parent != "" {
				span = byID[span.Parent]
				path = span.Name + " > " + path
			}
			paths = append(paths, path)
		}
		slices.Sort(paths)
		return slices.Compact(paths)
	}
}

// rootOf waits for the span of a release and returns it. It must arrive only once.
func rootOf(id string) collector.Span {
	GinkgoHelper()
	var roots []collector.Span
	Eventually(func() []collector.Span {
		roots = slices.DeleteFunc(arrived(id), func(span collector.Span) bool { return span.Parent != "" })
		return roots
	}).Should(HaveLen(1))
	return roots[0]
}

var _ = Describe("The trace of a release", Ordered, ContinueOnFailure, func() {
	checkedByServer()
	traced()

	It("has everything that became of it, in its time", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		id, root := traceID(ctx, namespace, 1), "release "+namespace+"/sleep"
		Eventually(tree(id)).Should(HaveExactElements(
			root,
			root+" > POST /openapi/v1/exe/finishChangeExecOrderAction",
			root+" > POST /openapi/v1/exe/submitChangeExecOrder",
			root+" > batch 1",
			root+" > batch 1 > POST /openapi/v1/exe/submitChangeExecBatchStartNotify",
			root+" > batch 1 > POST /openapi/v1/exe/submitChangeFinishNotify",
			root+" > batch 1 > check POST",
			root+" > batch 1 > check PRE",
			root+" > batch 2",
			root+" > batch 2 > POST /openapi/v1/exe/submitChangeExecBatchStartNotify",
			root+" > batch 2 > POST /openapi/v1/exe/submitChangeFinishNotify",
			root+" > batch 2 > check POST",
			root+" > batch 2 > check PRE",
			root+" > check pods",
			root+" > record",
		))
		release := rootOf(id)
		Expect(release.Attributes).To(And(
			HaveKeyWithValue("altershield.release.outcome", "Success"), HaveKeyWithValue("altershield.pods.passed", "2"),
			HaveKeyWithValue("k8s.namespace.name", namespace), HaveKeyWithValue("altershield.release.version", firstVersion),
		))
		spans := map[string]collector.Span{}
		for _, span := range arrived(id) {
			spans[span.ID] = span
		}
		for _, span := range spans {
			Expect(span.End).To(BeTemporally(">=", span.Start), span.Name)
			Expect(span.Failure).To(BeEmpty(), span.Name)
			if parent, found := spans[span.Parent]; found {
				Expect(span.Start).To(BeTemporally(">=", parent.Start), span.Name)
				Expect(span.End).To(BeTemporally("<=", parent.End), span.Name)
			}
		}
	})

	It("goes on when the operator restarts in mid-release", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		node := awaited(ctx, namespace, "POST")
		restartAs(ctx, manager.Options())
		id, root := traceID(ctx, namespace, 1), "release "+namespace+"/sleep"
		Eventually(func() []collector.Span { return arrived(id) }).Should(ContainElement(HaveField("Name", "check PRE")), "sent when it stopped")
		Expect(arrived(id)).NotTo(ContainElement(HaveField("Name", root)), "the release is not over")
		Expect(post(ctx, callbackOf(node, "POST", "pass")).body).To(ContainSubstring("the verdict is saved"))
		verified(ctx, namespace, "sleep")
		Eventually(tree(id)).Should(ContainElements(
			root, root+" > record", root+" > batch 1", root+" > batch 1 > check PRE", root+" > batch 1 > check POST"))
		Expect(rootOf(id).Attributes).To(HaveKeyWithValue("altershield.release.outcome", "Success"))
	})

	It("includes a suspension, and denials after it have their own", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		server.AddRule(altershield.Rule{Name: "error rate", Message: "password=secret", Stage: "POST", Deployment: namespace + "/sleep", Verdict: "FAIL"})
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		_, err := release(ctx, namespace, "1234")
		Expect(err).To(HaveOccurred())
		id, root := traceID(ctx, namespace, 1), "release "+namespace+"/sleep"
		Eventually(tree(id)).Should(ContainElements(root, root+" > suspend", root+" > batch 1", root+" > batch 1 > check POST"))
		Expect(rootOf(id).Failure).To(Equal("Suspend"))
		for _, span := range arrived(id) {
			Expect(fmt.Sprint(span)).NotTo(ContainSubstring("secret"), "messages of rules are not for everyone")
		}
		Eventually(collected.Spans).Should(ContainElement(And(
			HaveField("Name", "deny release "+namespace+"/sleep"), HaveField("Links", HaveExactElements(id)), HaveField("Trace", Not(Equal(id))))))
	})

	It("includes a rollback, and that of the release which it made has a link to it", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		// It applies to the next callback only. Clearing it might happen before that callback is written.
		server.SetFault(altershield.Fault{Kind: altershield.FaultCallbackLost, Remaining: 1})
		output, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(steps(ctx, namespace)).Should(ContainElement("PreSubmitted "))
		output, err = kubectl(ctx, "-n", namespace, "annotate", "deployment", "sleep", "altershield.defense.antgroup.com/rollback=true")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(released(ctx, namespace)).Should(Equal(firstVersion))
		verified(ctx, namespace, "sleep")
		left, back, root := traceID(ctx, namespace, 2), traceID(ctx, namespace, 3), "release "+namespace+"/sleep"
		Eventually(tree(left)).Should(ContainElements(root, root+" > roll back"))
		Expect(rootOf(left).Failure).To(Equal("RolledBack"))
		Eventually(tree(back)).Should(ContainElement(root))
		Expect(rootOf(back).Links).To(HaveExactElements(left))
		Expect(rootOf(back).Attributes).To(HaveKeyWithValue("altershield.release.outcome", "Success"))
		Expect(rootOf(traceID(ctx, namespace, 1)).Attributes).To(HaveKeyWithValue("altershield.release.outcome", "Success"))
	})
})

var _ = Describe("Tracing", slow, Ordered, ContinueOnFailure, func() {
	AfterAll(func(ctx context.Context) { restartAs(ctx, settings) })

	// connections counts connections, without responding.
	connections := func() (address string, count *atomic.Int32) {
		listener, count := listen(), &atomic.Int32{}
		go func() {
			for {
				if _, err := listener.Accept(); err != nil {
					return
				}
				count.Add(1)
			}
		}()
		return listener.Addr().String(), count
	}

	It("is off without its flag, whatever the environment", func(ctx context.Context) {
		address, count := connections()
		GinkgoT().Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+address)
		restartAs(ctx, settings)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		restartAs(ctx, settings) // sends the remaining spans
		Expect(count.Load()).To(BeZero())
	})

	It("delays nothing when the collector doesn't respond, and logs the loss", func(ctx context.Context) {
		address, count := connections()
		deaf := settings
		deaf.Args = append(slices.Clone(settings.Args), "--traces-endpoint="+address, "--traces-insecure")
		restartAs(ctx, deaf)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(manager.Stop(ctx)).To(Succeed())
		Expect(count.Load()).To(BeNumerically(">", 0))
		written, err := os.ReadFile(manager.LogPath())
		Expect(err).NotTo(HaveOccurred())
		Expect(string(written)).To(MatchRegexp("Failed to send (the last )?spans of releases to --traces-endpoint"), "it came to its end by itself")
	})
})
