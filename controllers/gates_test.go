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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	gateLabel = "altershield.defense.antgroup.com/gate"
	podGate   = "altershield.defense.antgroup.com/verified"
	// Versions that the ReleaseGate of the specs lists, and doesn't.
	verifiedVersion   = "c6c45d23c098bdf181853a85b60b5d74"
	unverifiedVersion = "6a8ff823a5011291b0f02a1d83c2222d"
	// numberedVersion is an unverified version of a StatefulSet of 20 pods.
	numberedVersion = "8d777f385d3dfec8815d20f7496026dc"
)

var _ = Describe("Gates of pods, without the operator,", Ordered, ContinueOnFailure, func() {
	var namespace, without, outside string

	// The operator would remove a ReleaseGate without a ReleasePolicy.
	BeforeAll(func(ctx context.Context) {
		Expect(manager.Stop(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { Expect(manager.Start(ctx)).To(Succeed()) })
		namespace, without, outside = controlledNamespace(ctx), controlledNamespace(ctx), newNamespace(ctx, nil)
		for _, name := range []string{namespace, outside} {
			Expect(kube.Create(ctx, &appv1alpha1.ReleaseGate{
				ObjectMeta: metav1.ObjectMeta{Namespace: name, Name: "altershield"},
				Spec: appv1alpha1.ReleaseGateSpec{
					Verified: map[string]string{verifiedVersion: "Deployment.apps/web"}, GatedFrom: map[string]int32{numberedVersion: 20},
				},
			})).To(Succeed())
		}
	})

	Context("which the API server adds,", Ordered, func() {
		BeforeAll(func(ctx context.Context) {
			needsGatePolicy()
			Eventually(gatesOf(ctx, newPod(namespace, "start"))).Should(Equal("start: altershield.defense.antgroup.com/verified"))
		})

		DescribeTable("are added", func(ctx context.Context, gate string, change func(*corev1.Pod), expected string) {
			pod := newPod(namespace, gate)
			if change != nil {
				change(pod)
			}
			Expect(gatesOf(ctx, pod)()).To(Equal(expected))
		},
			Entry("to start", "start", nil, "start: altershield.defense.antgroup.com/verified"),
			Entry("to be ready", "ready", nil, "ready: altershield.defense.antgroup.com/verified"),
			Entry("beside others to start", "start", func(pod *corev1.Pod) {
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "example.com/quota"}}
			}, "start: example.com/quota start: altershield.defense.antgroup.com/verified"),
			Entry("beside others to be ready", "ready", func(pod *corev1.Pod) {
				pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "example.com/balancer"}}
			}, "ready: example.com/balancer ready: altershield.defense.antgroup.com/verified"),
			Entry("once to start", "start", func(pod *corev1.Pod) {
				pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: podGate}}
			}, "start: altershield.defense.antgroup.com/verified"),
			Entry("once to be ready", "ready", func(pod *corev1.Pod) {
				pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: podGate}}
			}, "ready: altershield.defense.antgroup.com/verified"),
			Entry("not to a pod of a verified version", "start", func(pod *corev1.Pod) { pod.Labels[versionLabel] = verifiedVersion }, ""),
			Entry("not to one of a verified version that is to be ready", "ready", func(pod *corev1.Pod) { pod.Labels[versionLabel] = verifiedVersion }, ""),
			Entry("to start, to a pod that a StatefulSet gained", "start", ordinal("20"), "start: altershield.defense.antgroup.com/verified"),
			Entry("to start and to be ready, to such a pod", "ready", ordinal("20"),
				"start: altershield.defense.antgroup.com/verified ready: altershield.defense.antgroup.com/verified"),
			Entry("not to a pod that it had before", "start", ordinal("19"), ""),
			Entry("to be ready, to a pod that it had before", "ready", ordinal("19"), "ready: altershield.defense.antgroup.com/verified"),
			Entry("to start, where it isn't known which it had", "start", func(pod *corev1.Pod) { pod.Labels["apps.kubernetes.io/pod-index"] = "19" },
				"start: altershield.defense.antgroup.com/verified"),
			Entry("to start, to a pod whose ordinal is none", "start", ordinal("x"), "start: altershield.defense.antgroup.com/verified"),
			Entry("to start, to a pod without an ordinal", "start", func(pod *corev1.Pod) { pod.Labels[versionLabel] = numberedVersion },
				"start: altershield.defense.antgroup.com/verified"),
			Entry("not for another value of the label", "never", nil, ""),
			Entry("not to a pod without the label", "start", func(pod *corev1.Pod) { delete(pod.Labels, gateLabel) }, ""),
			Entry("not to a pod without a version, which nothing would let start", "start", func(pod *corev1.Pod) { delete(pod.Labels, versionLabel) }, ""),
			Entry("not to a pod that nothing controls", "start", func(pod *corev1.Pod) { pod.OwnerReferences = nil }, ""),
			Entry("not to a pod on a given node, which must have none", "start", func(pod *corev1.Pod) { pod.Spec.NodeName = "node-1" }, ""),
			Entry("not where there is no ReleaseGate", "start", func(pod *corev1.Pod) { pod.Namespace = without }, ""),
			Entry("not in a namespace that isn't opted in", "start", func(pod *corev1.Pod) { pod.Namespace = outside }, ""),
		)

		It("follow the ReleaseGate", func(ctx context.Context) {
			gate := &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: without, Name: "altershield"}}
			pod := newPod(without, "start")
			Expect(kube.Create(ctx, gate)).To(Succeed())
			Eventually(gatesOf(ctx, pod)).Should(Equal("start: altershield.defense.antgroup.com/verified"), "an empty one has no verified version")
			Expect(kube.Patch(ctx, gate, client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"verified":{%q:"a"}}}`, unverifiedVersion)))).To(Succeed())
			Eventually(gatesOf(ctx, pod)).Should(BeEmpty())
			Expect(kube.Patch(ctx, gate, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"verified":null}}`)))).To(Succeed())
			Eventually(gatesOf(ctx, pod)).Should(Equal("start: altershield.defense.antgroup.com/verified"))
			Expect(kube.Delete(ctx, gate)).To(Succeed())
			Eventually(gatesOf(ctx, pod)).Should(BeEmpty())
		})
	})

	It("are in policies with which the API server finds nothing wrong", func(ctx context.Context) {
		var policy admissionregistrationv1.ValidatingAdmissionPolicy
		Eventually(func(g Gomega) {
			g.Expect(kube.Get(ctx, client.ObjectKey{Name: "altershieldoperator-gate-opening"}, &policy)).To(Succeed())
			g.Expect(policy.Status.TypeChecking).NotTo(BeNil())
		}).Should(Succeed())
		Expect(policy.Status.TypeChecking.ExpressionWarnings).To(BeEmpty())
	})

	Context("with pods that wait", Ordered, func() {
		BeforeAll(func(ctx context.Context) {
			mayEdit(ctx, namespace, dev)
			for _, gate := range []string{"start", "ready"} {
				Expect(kube.Create(ctx, gatedSet(namespace, gate))).To(Succeed())
				Eventually(waiting(ctx, namespace, gate)).Should(HaveLen(2))
			}
		})

		DescribeTable("are opened by", func(ctx context.Context, user string, groups []string, gate, patch, denied string) {
			config := plane.Config()
			config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
			of, err := client.New(config, client.Options{Scheme: kube.Scheme()})
			Expect(err).NotTo(HaveOccurred())
			pod := &waiting(ctx, namespace, gate)()[0]
			change := client.RawPatch(types.StrategicMergePatchType, []byte(patch))
			if gate == "ready" {
				err = of.Status().Patch(ctx, pod, change, &client.SubResourcePatchOptions{PatchOptions: client.PatchOptions{DryRun: []string{metav1.DryRunAll}}})
			} else {
				err = of.Patch(ctx, pod, change, client.DryRunAll)
			}
			if denied == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(denied, pod.Name)))
		},
			Entry("not a user who may edit pods", dev, nil, "start", opensStart, onlyTheOperator),
			Entry("not an administrator", "root", masters, "start", opensStart, onlyTheOperator),
			Entry("not an administrator: readiness", "root", masters, "ready", opensReady, onlyTheOperator),
			Entry("nobody who first removes the label", dev, nil, "start", `{"metadata":{"labels":{"altershield.defense.antgroup.com/gate":null}}}`, onlyTheOperator),
			Entry("the operator", theOperator, masters, "start", opensStart, ""),
			Entry("the operator: readiness", theOperator, masters, "ready", opensReady, ""),
			Entry("nobody else, who may write other conditions", "root", masters, "ready", `{"status":{"conditions":[{"type":"example.com/balancer","status":"True"}]}}`, ""),
			Entry("nobody else, who may label a pod", dev, nil, "start", `{"metadata":{"labels":{"a":"b"}}}`, ""),
			Entry("a node, which reports all conditions of its pods", "system:node:node-1", []string{"system:nodes", "system:masters"}, "ready", opensReady, ""),
		)

		It("are opened by the documented commands", func(ctx context.Context) {
			restored(ctx, &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: "altershieldoperator-gate-opening"}})
			commands := blocks("pace.md", "Open the gates by hand")
			Expect(commands).To(HaveLen(1))
			// The API server notices a moment later that the policy isn't bound any more.
			deletion, others, found := strings.Cut(commands[0], "\n")
			Expect(found).To(BeTrue())
			bash(ctx, deletion)
			Eventually(func() error {
				return kube.Patch(ctx, &waiting(ctx, namespace, "start")()[0], client.RawPatch(types.StrategicMergePatchType, []byte(opensStart)), client.DryRunAll)
			}).Should(Succeed())
			Consistently(readyIn(ctx, namespace)).Should(BeZero())
			bash(ctx, others)
			Expect(waiting(ctx, namespace, "start")()).To(BeEmpty())
			Expect(waiting(ctx, namespace, "ready")()).To(BeEmpty())
			Eventually(readyIn(ctx, namespace)).Should(Equal(4))
			Eventually(gatesOf(ctx, newPod(namespace, "start"))).Should(BeEmpty())
		})
	})
})

var _ = Describe("A ReleasePolicy", func() {
	DescribeTable("is denied with", func(ctx context.Context, spec, denial string) {
		namespace := controlledNamespace(ctx)
		manifest := fmt.Sprintf(`{"apiVersion": "app.ops.cloud.alipay.com/v1alpha1", "kind": "ReleasePolicy",
			"metadata": {"namespace": %q, "name": "careful"}, "spec": %s}`, namespace, spec)
		output, err := kubectlWith(ctx, manifest, "create", "--dry-run=server", "-f", "-")
		Expect(err).To(HaveOccurred(), output)
		Expect(output).To(ContainSubstring(denial))
	},
		Entry("replicas and a percentage", `{"steps":[{"replicas":1,"percent":5},{"percent":100}]}`, "a step has replicas or percent"),
		Entry("neither", `{"steps":[{},{"percent":100}]}`, "a step has replicas or percent"),
		Entry("more than all pods", `{"steps":[{"percent":101}]}`, "spec.steps[0].percent in body should be less than or equal to 100"),
		Entry("fewer than none", `{"steps":[{"replicas":-1},{"percent":100}]}`, "spec.steps[0].replicas in body should be greater than or equal to 1"),
		Entry("a last step of some pods", `{"steps":[{"percent":25}]}`, "the last step must be percent: 100"),
		Entry("a soak that is none", `{"steps":[{"percent":100,"soak":"5"}]}`, "spec.steps[0]"),
		Entry("a negative soak", `{"steps":[{"percent":100,"soak":"-5m"}]}`, "soak is up to 168h"),
		Entry("no time for a step", `{"steps":[{"percent":100}],"deadline":{"perStep":"0s"}}`, "perStep is from 10s to 168h"),
		Entry("no time to run", `{"stuckAfter":"-1s"}`, "stuckAfter is 0s (never) or at least 1s"),
		Entry("other namespaces", `{"stuckAfter":"1m","namespaceSelector":{}}`, "ReleasePolicy careful: spec.namespaceSelector: only a ReleasePolicy in namespace altershieldoperator-system may select other namespaces"),
		Entry("a selector that is none", `{"stuckAfter":"1m","workloads":[{"kind":"Deployment.apps","selector":{"matchExpressions":[{"key":"a","operator":"Is"}]}}]}`,
			`ReleasePolicy careful: spec.workloads[0].selector: "Is" is not a valid label selector operator`),
		Entry("steps beyond count", `{"steps":[`+strings.Repeat(`{"replicas":1},`, 20)+`{"percent":100}]}`, "must have at most 20 items"),
	)

	It("brings a ReleaseGate to its namespace, and shows what it concerns and what adds gates", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "apply", "-n", namespace, "-f", "../config/samples/pace/careful.yaml")
		Expect(err).NotTo(HaveOccurred(), output)
		shown := func() appv1alpha1.ReleasePolicyStatus {
			var policy appv1alpha1.ReleasePolicy
			Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "careful"}, &policy)).To(Succeed())
			return policy.Status
		}
		by := "Webhook"
		if gatesByPolicy() {
			by = "MutatingAdmissionPolicy"
		}
		Eventually(shown).Should(And(
			HaveField("Matched", ConsistOf(appv1alpha1.MatchedWorkload{Kind: "Deployment.apps", Namespace: namespace, Name: "sleep"})),
			HaveField("Conditions", ConsistOf(HaveField("Reason", "Valid"), HaveField("Reason", by))),
		))
		gate := client.ObjectKey{Namespace: namespace, Name: "altershield"}
		Eventually(func() error { return kube.Get(ctx, gate, &appv1alpha1.ReleaseGate{}) }).Should(Succeed())
		Expect(kube.Delete(ctx, &appv1alpha1.ReleaseGate{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "altershield"}})).To(Succeed())
		Eventually(func() error { return kube.Get(ctx, gate, &appv1alpha1.ReleaseGate{}) }).Should(Succeed(), "it comes back")

		withoutGatePolicy(ctx)
		output, err = kubectl(ctx, "patch", "-n", namespace, "rp", "careful", "--type=merge", "-p", `{"spec":{"capacity":"AsDeclared"}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(shown).Should(HaveField("Conditions", ContainElement(HaveField("Reason", "Webhook"))))
		for gate, expected := range map[string]string{
			"start": "start: altershield.defense.antgroup.com/verified", "ready": "ready: altershield.defense.antgroup.com/verified", "never": "",
		} {
			Eventually(gatesOf(ctx, newPod(namespace, gate))).Should(Equal(expected), "by the webhook")
		}

		output, err = kubectl(ctx, "delete", "-n", namespace, "rp", "careful")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() bool { return apierrors.IsNotFound(kube.Get(ctx, gate, &appv1alpha1.ReleaseGate{})) }).Should(BeTrue())
	})
})
