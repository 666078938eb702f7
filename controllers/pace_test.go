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
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// pacedKind is a workload of 20 pods of a kind.
type pacedKind struct {
	// lever is what holds back its pods.
	lever string
	// prepare readies the cluster, unless it is nil.
	prepare func(ctx context.Context)
	of      func(namespace string) webSet
	changes []func(*unstructured.Unstructured)
}

// pacedKinds returns entries for all kinds. All but the Deployment have labels.
func pacedKinds(others Labels) []TableEntry {
	return []TableEntry{
		Entry("a Deployment", pacedKind{lever: "Gates", of: func(namespace string) webSet { return deployment(namespace, 20) }}),
		Entry("a StatefulSet", others, pacedKind{lever: "Partition", of: func(namespace string) webSet { return statefulSet(namespace, "Parallel", 20) }}),
		Entry("a DaemonSet", others, pacedKind{
			lever: "Nodes", prepare: func(ctx context.Context) { addNodes(ctx, 20) }, of: daemonSet, changes: []func(*unstructured.Unstructured){onAddedNodes},
		}),
		Entry("a LeaderWorkerSet", slow, pacedKind{
			lever: "Partition", prepare: runLeaderWorkerSets, of: func(namespace string) webSet { return groupSet(namespace, 20) },
		}),
	}
}

// create creates a workload in a namespace that has everything it needs.
func (k pacedKind) create(ctx context.Context, namespace string) webSet {
	GinkgoHelper()
	if k.prepare != nil {
		k.prepare(ctx)
	}
	web := k.of(namespace)
	web.create(ctx, k.changes...)
	return web
}

var _ = Describe("A paced release", func() {
	pacedReleases(Label())

	// The webhook adds no gates meanwhile.
	DescribeTable("keeps to its step if a StatefulSet is scaled up while its pods are being replaced and the operator is away:", slow, scaledWhileReplaced,
		Entry("one by one", "OrderedReady", true),
		Entry("all at once", "Parallel", true),
	)
})

// All clusters before Kubernetes 1.36 work like this.
var _ = Describe("A paced release whose pods get their gates from the webhook", Ordered, ContinueOnFailure, func() {
	BeforeAll(func(ctx context.Context) {
		withoutGatePolicy(ctx)
	})
	pacedReleases(slow)
})

// pacedReleases declares specs of paced releases. All but the one of each kind have labels.
func pacedReleases(others Labels) {
	BeforeEach(patient)
	BeforeEach(permitDeletions)

	DescribeTable("runs no more pods than its step:", func(ctx context.Context, kind pacedKind) {
		namespace := pacedNamespace(ctx, threeSteps, "")
		web := kind.create(ctx, namespace)
		old := web.verified(ctx)
		seen := watchPace(ctx, namespace)
		before := writesToPods(namespace)

		By("running one pod, and waiting for an approval")
		next := web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("1/3 True AwaitingApproval"))
		Expect(web.present(ctx).Status.Pace.Lever).To(BeEquivalentTo(kind.lever))
		Consistently(running(ctx, namespace)).Should(runAtLeast(20, old, next, 1))
		output, err := kubectl(ctx, "-n", namespace, "get", "cw", web.present(ctx).Name)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(MatchRegexp(`(?m)^NAME +STATUS +CREATETIME +STEP +NEXT +CHECKS\s*\n\S+ +Running +\S+ \S+ +1/3 +25% +0/1\s*$`))

		By("running a quarter of them, and all")
		web.mustApprove(ctx, "bob")
		Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))
		Eventually(running(ctx, namespace)).Should(runAtLeast(20, old, next, 5))
		Expect(web.present(ctx).Status.Pace.ApprovedBy).To(Equal([]string{"bob"}))
		web.mustApprove(ctx, "carol")
		Expect(web.verified(ctx)).To(Equal(next))
		Eventually(running(ctx, namespace)).Should(Equal(map[string]int{next: 20}))
		Eventually(web.step(ctx)).Should(Equal("3/3 False AllSteps"))

		By("leaving nothing behind")
		Eventually(web.annotations(ctx)).ShouldNot(HaveKey("altershield.defense.antgroup.com/paced"))
		if web.kind == "Deployment" {
			Expect(web.field(ctx, "{.spec.strategy.rollingUpdate.maxUnavailable} {.spec.strategy.rollingUpdate.maxSurge} {.spec.paused}")).To(Equal("25% 25% "))
		} else {
			Expect(web.strategy(ctx)).To(BeElementOf("", "0", "RollingUpdate"))
		}
		excess, most := seen.Excess(old)
		Expect(excess).To(BeEmpty())
		Expect(most).To(HaveKeyWithValue(next, 20))
		writes := writesToPods(namespace)
		for pod, earlier := range before { // numbered pods have the names of those before
			writes[pod] = writes[pod][len(earlier):]
		}
		Expect(writes).To(HaveEach(WithTransform(func(of []string) int { return len(of) }, BeNumerically("<=", 2))), "a gate or a deletion, besides the label of each finished pod")
	}, pacedKinds(others))

	DescribeTable("that fails in its first step leaves the other pods serving, and a repair begins anew:", others, func(ctx context.Context, kind pacedKind) {
		namespace := pacedNamespace(ctx, threeSteps, "")
		web := kind.create(ctx, namespace)
		old := web.verified(ctx)
		bad := web.released(ctx, "bad")
		batch := web.record(ctx) + "--x--1"
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(batch))
		fail(ctx, namespace, batch)
		Eventually(web.step(ctx)).Should(Equal("1/3 True StepFailed"))
		Eventually(web.labels(ctx)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		Consistently(func() map[string]int { return running(ctx, namespace)() }).WithTimeout(3 * time.Second).Should(runAtLeast(20, old, bad, 1))

		web.mustChange(ctx, web.labelled("repaired", `"altershield.defense.antgroup.com/ignored-suspend": "true"`))
		repaired := web.version(ctx)()
		Eventually(web.step(ctx)).Should(Equal("1/3 True AwaitingApproval"))
		Eventually(running(ctx, namespace)).Should(HaveKeyWithValue(repaired, 1))
		output, err := web.goOn(ctx, "all")
		Expect(err).NotTo(HaveOccurred(), output)
		Consistently(web.step(ctx)).Should(Equal("1/3 True AwaitingApproval"), "nobody passes an approval that is missing")
		web.mustApprove(ctx, "bob")
		web.mustApprove(ctx, "carol")
		Expect(web.verified(ctx)).To(Equal(repaired))
		Expect(web.present(ctx).Status.Pace.Passes[0].User).To(Equal("admin"))
	}, pacedKinds(slow))

	DescribeTable("goes through its steps with a version that was released before without steps, and not verified:", func(ctx context.Context, kind pacedKind) {
		namespace := controlledNamespace(ctx)
		web := kind.create(ctx, namespace)
		before := web.released(ctx, "second")
		Eventually(func() string {
			output, err := kubectl(ctx, "-n", namespace, "get", "replicasets,controllerrevisions", "-l", "admission-webhook-altershield.antgroup.com/version="+before, "-o", "name")
			Expect(err).NotTo(HaveOccurred(), output)
			return output
		}).ShouldNot(BeEmpty())
		third := web.released(ctx, "third")
		web.scale(ctx, 4)
		Eventually(running(ctx, namespace)).Should(Equal(map[string]int{third: 4}))
		pace(ctx, namespace, `[{"replicas":1},{"percent":100,"approvals":1}]`, "")

		next := web.released(ctx, "second")
		Expect(next).To(Equal(before))
		Eventually(web.step(ctx)).Should(Equal("1/2 True AwaitingApproval"))
		Eventually(running(ctx, namespace)).Should(runAtLeast(4, third, next, 1))
		web.mustApprove(ctx, "bob")
		Expect(web.verified(ctx)).To(Equal(next))
		Eventually(running(ctx, namespace)).Should(Equal(map[string]int{next: 4}))
	},
		Entry("a Deployment", pacedKind{of: func(namespace string) webSet { return deployment(namespace, 0) }}),
		Entry("a StatefulSet", others, pacedKind{of: func(namespace string) webSet { return statefulSet(namespace, "Parallel", 0) }}),
	)

	It("counts the approvals of others than its author, for this release alone", others, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, threeSteps, "")
		web := deployment(namespace, 4)
		web.create(ctx)
		old := web.verified(ctx)
		output, err := kubectl(ctx, "-n", namespace, "--as", "alice", "--as-group", "system:masters", "patch", "deployment", "web", "--type=merge", "-p",
			`{"spec":{"template":{"metadata":{"labels":{"test":"second"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(web.step(ctx)).Should(Equal("1/3 True AwaitingApproval"))

		By("refusing the author, another release, and an earlier version")
		output, err = web.approve(ctx, "alice")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("alice made release 2 of deployment web, so that another user has to approve it"))
		for _, wrong := range []struct {
			release int64
			version string
		}{{3, web.version(ctx)()}, {2, old}} {
			output, err = web.decideAs(ctx, "bob", "Approve", wrong.release, wrong.version)
			Expect(err).To(HaveOccurred())
			Expect(strings.Count(output, "\n")).To(Equal(1), output)
			Expect(output).To(ContainSubstring("deployment web is at release 2"))
		}
		output, err = web.decideAs(ctx, "system:serviceaccount:ci:deployer", "Approve", 2, web.version(ctx)())
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("service account"))

		By("counting nothing of one that is withdrawn before the step")
		web.mustApprove(ctx, "bob")
		Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"), "of 4 pods, a quarter is the one that runs already")
		output, err = kubectl(ctx, "-n", namespace, "delete", "changeapprovals", "--all")
		Expect(err).NotTo(HaveOccurred(), output)
		Consistently(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))

		By("counting a denial until it is gone")
		output, err = web.decideAs(ctx, "dave", "Deny", 2, web.version(ctx)())
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(web.step(ctx)).Should(Equal("2/3 True ApprovalDenied"))
		web.mustApprove(ctx, "carol")
		Consistently(web.step(ctx)).Should(Equal("2/3 True ApprovalDenied"))
		output, err = kubectl(ctx, "-n", namespace, "delete", "changeapprovals", "--all")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))

		By("counting nothing for the next release")
		web.mustApprove(ctx, "bob")
		web.mustApprove(ctx, "carol")
		web.verified(ctx)
		web.released(ctx, "third")
		Eventually(web.step(ctx)).Should(Equal("1/3 True AwaitingApproval"))
		Consistently(web.step(ctx)).Should(Equal("1/3 True AwaitingApproval"))
		Eventually(func() string {
			output, _ := kubectl(ctx, "-n", namespace, "get", "changeapprovals", "-o", `jsonpath={range .items[*]}{.status.conditions[?(@.type=="Counted")].reason},{end}`)
			return output
		}).Should(Equal("Lapsed,Lapsed,"))
	})

	DescribeTable("keeps to its step while it is scaled, and while a node is drained:", slow, func(ctx context.Context, kind pacedKind, overlap int) {
		namespace := pacedNamespace(ctx, `[{"replicas":1},{"percent":25},{"percent":100,"approvals":1}]`, "")
		budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
		budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
		budget.Spec.MaxUnavailable = ptr.To(intstr.FromString("10%"))
		Expect(kube.Create(ctx, budget)).To(Succeed())
		web := kind.create(ctx, namespace)
		old := web.verified(ctx)
		seen := watchPace(ctx, namespace)
		next := web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))
		Eventually(running(ctx, namespace)).Should(runAtLeast(20, old, next, 5))

		web.scale(ctx, 40)
		Eventually(running(ctx, namespace)).Should(runAtLeast(40, old, next, 10))
		Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))

		By("draining a node")
		Eventually(func() int { return spare(ctx, budget) }).Should(BeNumerically(">=", 4))
		budgets := watchPace(ctx, namespace, &policyv1.PodDisruptionBudgetList{})
		node := onNode(ctx, namespace, next)
		DeferCleanup(func(ctx context.Context) {
			output, err := kubectl(ctx, "uncordon", node)
			Expect(err).NotTo(HaveOccurred(), output)
		})
		output, err := kubectl(ctx, "drain", node, "--pod-selector=app=web", "--ignore-daemonsets", "--timeout=3m")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(running(ctx, namespace)).Should(runAtLeast(40, old, next, 10))
		Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))
		Expect(leastSpare(budgets)).To(BeNumerically(">=", -overlap))

		web.mustApprove(ctx, "bob")
		web.verified(ctx)
		excess, _ := seen.Excess(old)
		Expect(excess).To(BeEmpty())
	},
		Entry("a Deployment", pacedKind{of: func(namespace string) webSet { return deployment(namespace, 20) }}, 0),
		// Its controller replaces the next pod without regard to disruption budgets.
		Entry("a StatefulSet", pacedKind{of: func(namespace string) webSet { return statefulSet(namespace, "Parallel", 20) }}, 1),
	)

	DescribeTable("keeps to its step if a StatefulSet is scaled up while its pods are being replaced:", slow, scaledWhileReplaced,
		Entry("one by one", "OrderedReady", false),
		Entry("all at once", "Parallel", false),
	)

	It("soaks, can be let go on, and ends when its policy is deleted or the namespace is opted out", others, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, `[{"replicas":1,"soak":"1h"},{"percent":50,"soak":"1h"},{"percent":100}]`, "")
		web := deployment(namespace, 4)
		web.create(ctx)
		web.verified(ctx)
		web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("1/3 True Soaking"))
		Eventually(func() string { return web.field(ctx, "{.spec.paused}") }).Should(Equal("true"), "its progress deadline stands still")

		By("keeping the pace when a Git-like client applies the workload again, or a user resumes it")
		output, err := kubectl(ctx, "-n", namespace, "rollout", "resume", "deployment", "web")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("Warning: deployment web is paced"))
		Consistently(web.step(ctx)).Should(Equal("1/3 True Soaking"))
		Expect(web.field(ctx, "{.spec.paused}")).To(Equal("true"))

		By("refusing a request that means nothing")
		for value, why := range map[string]string{"2": "go-on", "7:1": "release 2", "2:0": "go-on"} {
			output, err = kubectl(ctx, "-n", namespace, "annotate", "--overwrite", "deployment", "web", "altershield.defense.antgroup.com/go-on="+value)
			Expect(err).To(HaveOccurred(), value)
			Expect(output).To(ContainSubstring(why))
		}
		output, err = web.goOn(ctx, "2")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(web.step(ctx)).Should(Equal("2/3 True Soaking"))

		By("deleting the policy")
		output, err = kubectl(ctx, "-n", namespace, "delete", "releasepolicy", "careful")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(web.step(ctx)).Should(HaveSuffix("False PolicyRemoved"))
		web.verified(ctx)
		Eventually(web.annotations(ctx)).ShouldNot(HaveKey("altershield.defense.antgroup.com/paced"))
		Expect(web.field(ctx, "{.spec.paused} {.spec.strategy.rollingUpdate.maxUnavailable}")).To(Equal(" 25%"))
	})

	It("leaves nothing gated in a namespace that is opted out", others, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, threeSteps, "")
		web := deployment(namespace, 4)
		web.create(ctx)
		web.verified(ctx)
		next := web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("1/3 True AwaitingApproval"))
		output, err := kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(running(ctx, namespace)).Should(Equal(map[string]int{next: 4}))
		Eventually(web.annotations(ctx)).ShouldNot(HaveKey("altershield.defense.antgroup.com/paced"))
		Expect(web.field(ctx, "{.spec.paused} {.spec.strategy.rollingUpdate.maxUnavailable}")).To(Equal(" 25%"))
	})

	It("creates no pod before its first step is approved if its pods are checked before traffic", others, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, `[{"replicas":1,"approvals":1},{"percent":100}]`, `,"traffic":"Before"`)
		web := deployment(namespace, 4)
		web.create(ctx)
		old := web.verified(ctx)
		seen := watchPace(ctx, namespace)
		next := web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("0/2 True AwaitingApproval"))
		output, err := kubectl(ctx, "-n", namespace, "rollout", "resume", "deployment", "web")
		Expect(err).NotTo(HaveOccurred(), output)
		Consistently(running(ctx, namespace)).Should(Equal(map[string]int{old: 4}))
		Expect(seen.Most(next, exists)).To(BeZero())
		web.mustApprove(ctx, "bob")
		Expect(web.verified(ctx)).To(Equal(next))
		web.isFree(ctx)
	})

	It("gives no pod traffic before it passed", others, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, `[{"percent":100}]`, `,"traffic":"Before"`)
		web := deployment(namespace, 5)
		service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"}}
		service.Spec.Selector, service.Spec.Ports = map[string]string{"app": "web"}, []corev1.ServicePort{{Port: 80}}
		Expect(kube.Create(ctx, service)).To(Succeed())
		seen := watchPace(ctx, namespace, &appv1alpha1.ChangePodList{}, &discoveryv1.EndpointSliceList{})
		web.create(ctx)
		web.verified(ctx)
		for i := range 3 {
			next := web.released(ctx, fmt.Sprint("next-", i))
			Eventually(running(ctx, namespace)).Should(Equal(map[string]int{next: 5}))
			Expect(web.verified(ctx)).To(Equal(next))
		}
		var unverified []string
		Eventually(func() (shown int) {
			unverified, shown = seen.Unverified()
			return shown
		}).Should(BeNumerically(">=", 20))
		Expect(unverified).To(BeEmpty())
	})
}

// runAtLeast matches the pods that run of two versions: so many of the new one, and with them at least so many in all. A Deployment that
// rests may have an old one more than it needs.
func runAtLeast(all int, old, next string, count int) types.GomegaMatcher {
	return And(HaveKeyWithValue(next, count), HaveKeyWithValue(old, BeNumerically(">=", all-count)))
}

// scaledWhileReplaced scales a StatefulSet up while its pods are being replaced, and the operator may be away.
func scaledWhileReplaced(ctx context.Context, management string, away bool) {
	GinkgoHelper()
	if away {
		needsGatePolicy()
	}
	namespace := pacedNamespace(ctx, `[{"replicas":1},{"percent":25},{"percent":100,"approvals":1}]`, "")
	web := statefulSet(namespace, management, 20)
	web.create(ctx)
	old := web.verified(ctx)
	seen := watchPace(ctx, namespace)
	web.mustChange(ctx, `{"spec": {"minReadySeconds": 1, "template": {"metadata": {"labels": {"test": "second"}}}}}`)
	next := web.version(ctx)()
	Eventually(running(ctx, namespace)).WithPolling(20 * time.Millisecond).Should(HaveKeyWithValue(next, 2))
	if away {
		Expect(manager.Stop(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(manager.Start(ctx)).To(Succeed()) })
	}
	web.scale(ctx, 40)
	if away {
		Eventually(func() []corev1.Pod { return waitingIn(ctx, namespace, "start") }).ShouldNot(BeEmpty())
		Expect(manager.Start(ctx)).To(Succeed())
	}
	Eventually(web.step(ctx)).Should(Equal("2/3 True AwaitingApproval"))
	Eventually(running(ctx, namespace)).Should(Equal(map[string]int{old: 30, next: 10}), "no pod is missing")

	web.mustApprove(ctx, "bob")
	Expect(web.verified(ctx)).To(Equal(next))
	Eventually(running(ctx, namespace)).Should(Equal(map[string]int{next: 40}))
	excess, most := seen.Excess(old)
	Expect(excess).To(BeEmpty())
	Expect(most).To(HaveKeyWithValue(next, 40))
}
