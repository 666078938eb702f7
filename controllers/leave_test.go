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
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/widget"
)

// atFirstSteps returns a namespace with a workload of four pods for each lever, all at the first step of a release.
func atFirstSteps(ctx context.Context) (webs []*inStep) {
	GinkgoHelper()
	patient(ctx)
	permitDeletions(ctx)
	addNodes(ctx, 4)
	namespace := pacedNamespace(ctx, one, "")
	for _, set := range []webSet{deployment(namespace, 4), statefulSet(namespace, "Parallel", 4), daemonSet(namespace)} {
		web := &inStep{webSet: set}
		web.create(ctx, func(object *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(object.Object, set.noun, "spec", "template", "metadata", "labels", "of")).To(Succeed()) // or all have one version
			if set.kind == "DaemonSet" {
				onAddedNodes(object)
			}
		})
		webs = append(webs, web)
	}
	for _, web := range webs {
		web.old = web.verified(ctx)
		web.next = web.released(ctx, "second")
	}
	for _, web := range webs {
		Eventually(web.step(ctx)).Should(Equal("1/2 True AwaitingApproval"))
		Eventually(web.ready(ctx)).Should(atFirst)
	}
	return webs
}

var _ = Describe("Releases in steps, of each lever,", func() {
	// changes returns a command of kubectl that changes the namespace of workloads.
	changes := func(args ...string) func(context.Context, []*inStep) {
		return func(ctx context.Context, webs []*inStep) {
			GinkgoHelper()
			output, err := kubectl(ctx, append([]string{"-n", webs[0].namespace}, args...)...)
			Expect(err).NotTo(HaveOccurred(), output)
		}
	}

	DescribeTable("leave nothing parked, paused, gated or parted", func(ctx context.Context, leave func(context.Context, []*inStep), ended string) {
		webs := atFirstSteps(ctx)
		leave(ctx, webs)
		for _, web := range webs {
			Eventually(web.ready(ctx)).Should(rolledOut, web.kind)
			web.isFree(ctx)
			if ended != "" {
				Eventually(web.step(ctx)).Should(HaveSuffix(ended), web.kind)
			}
		}
	},
		Entry("when their ReleasePolicy is deleted", changes("delete", "releasepolicy", "careful"), "False PolicyRemoved"),
		Entry("when their ReleasePolicy has no steps any more", slow,
			changes("patch", "releasepolicy", "careful", "--type=merge", "-p", `{"spec":{"steps":null}}`), "False PolicyRemoved"),
		Entry("when their namespace is opted out", slow, func(ctx context.Context, webs []*inStep) {
			changes("label", "namespace", webs[0].namespace, "admission-webhook-altershield-")(ctx, webs)
		}, "False NotControlled"),
		Entry("when their kinds are only observed", slow, observeKinds, "False NotControlled"),
		Entry("when the operator was away in mid-step", slow, func(ctx context.Context, webs []*inStep) {
			Expect(manager.Stop(ctx)).To(Succeed())
			Expect(manager.Start(ctx)).To(Succeed())
			for _, web := range webs {
				Eventually(web.step(ctx)).Should(Equal("1/2 True AwaitingApproval"))
				web.mustApprove(ctx, "bob")
			}
		}, "False AllSteps"),
		Entry("when the operator is left for an earlier version, as documented", slow, Serial, func(ctx context.Context, webs []*inStep) {
			Expect(manager.Stop(ctx)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { restartAs(ctx, settings) })
			commands := strings.Join(blocks("install.md", "Go back"), "")
			Expect(commands).To(HavePrefix("bin/manager uninstall"))
			Expect(bash(ctx, strings.ReplaceAll(commands, "bin/manager", filepath.Join(shared, "manager")))).To(And(ContainSubstring("Deployment "+webs[0].namespace+"/web: its release is rolled out at once"), Not(ContainSubstring("PAUSED"))))
		}, ""),
	)

	It("leave nothing when their workloads are deleted", slow, func(ctx context.Context) {
		webs := atFirstSteps(ctx)
		namespace := webs[0].namespace
		verified := func() int {
			var gate appv1alpha1.ReleaseGate
			Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "altershield"}, &gate)).To(Succeed())
			return len(gate.Spec.Verified)
		}
		Eventually(verified).Should(Equal(3))
		for _, web := range webs {
			changes("delete", web.noun, "web")(ctx, webs)
		}
		Eventually(releases(ctx, namespace)).Should(BeEmpty())
		Eventually(func() int { return len(changePods(ctx, namespace)) }).Should(BeZero())
		Eventually(running(ctx, namespace)).Should(BeEmpty())
		Eventually(func() []string { return closedGates(ctx, namespace) }).Should(BeEmpty())
		Eventually(verified).Should(BeZero())
	})
})

// observeKinds has the kinds of releases only observed, until the spec ends.
func observeKinds(ctx context.Context, webs []*inStep) {
	GinkgoHelper()
	for _, web := range webs {
		kind, mode := web.noun+"s.apps", func(mode string) []string {
			return []string{"patch", "controlledkind", web.noun + "s.apps", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"mode":%q}}`, mode)}
		}
		output, err := kubectl(ctx, mode("Observe")...)
		Expect(err).NotTo(HaveOccurred(), output)
		DeferCleanup(func(ctx context.Context) {
			output, err := kubectl(ctx, mode("Enforce")...)
			Expect(err).NotTo(HaveOccurred(), output)
			enforced(ctx, kind)
		})
	}
}

const (
	widgets    = "widgets.example.com"
	widgetKind = widget.Definition + `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: widgets.example.com}
spec:
  version: v1
  mode: Enforce
  release: {templates: [spec.template]}
  pods: {by: Owner}
  counts: {desired: spec.replicas}
  hold: [{path: spec.paused, value: true}]
`
)

var _ = Describe("A paced release of a declared kind", slow, Serial, func() {
	It("leaves no pod at its gate when the ControlledKind is deleted", func(ctx context.Context) {
		DeferCleanup(func(ctx context.Context) {
			remove(ctx, "controlledkind/"+widgets, "crd/"+widgets, "clusterrole/altershield-kind-"+widgets)
		})
		apply(ctx, widgetKind)
		enforced(ctx, widgets)
		namespace := pacedNamespace(ctx, one, "")
		release := func(image string) *unstructured.Unstructured {
			GinkgoHelper()
			output, err := kubectlWith(ctx, fmt.Sprintf(`{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"namespace": %q, "name": "web"}, "spec": {
				"replicas": 2, "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "web", "image": %q}]}}}}`, namespace, image), "apply", "-f", "-")
			Expect(err).NotTo(HaveOccurred(), output)
			web := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": "Widget"}}
			Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "web"}, web)).To(Succeed())
			return web
		}
		start := func(web *unstructured.Unstructured, count int) (version string) { // as its controller does
			GinkgoHelper()
			for range count {
				Expect(kube.Create(ctx, podOf(web))).To(Succeed())
			}
			return web.GetLabels()[versionLabel]
		}
		first := start(release("web:1"), 2)
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue("widgets.web--x--"+first, "Success"))
		web := release("web:2")
		next := start(web, 2)
		Eventually(running(ctx, namespace)).Should(Equal(map[string]int{first: 2, next: 1}))
		Consistently(func() []string { return closedGates(ctx, namespace) }).Should(HaveLen(1))

		By("deleting its ControlledKind")
		remove(ctx, "controlledkind/"+widgets)
		Expect(closedGates(ctx, namespace)).To(BeEmpty(), "the kind ends after its gates")
		Expect(apierrors.IsNotFound(kube.Get(ctx, client.ObjectKey{Name: widgets}, &appv1alpha1.ControlledKind{}))).To(BeTrue())
		start(web, 1)
		Eventually(running(ctx, namespace)).Should(Equal(map[string]int{first: 2, next: 3}), "a later pod comes free")
		Expect(kube.Get(ctx, client.ObjectKeyFromObject(web), web)).To(Succeed())
		Expect(web.GetAnnotations()).NotTo(HaveKey("altershield.defense.antgroup.com/paced"))
		Eventually(func() string {
			return reason(workload(ctx, namespace, "widgets.web--x--"+next).Status.Conditions, "Paced")
		}).Should(Equal("NotControlled"))
	})
})

// podOf returns a pod of an object with a pod template.
func podOf(web *unstructured.Unstructured) *corev1.Pod {
	GinkgoHelper()
	template, _, err := unstructured.NestedMap(web.Object, "spec", "template")
	Expect(err).NotTo(HaveOccurred())
	pod := &corev1.Pod{}
	Expect(runtime.DefaultUnstructuredConverter.FromUnstructured(template, pod)).To(Succeed())
	pod.Namespace, pod.GenerateName = web.GetNamespace(), "web-"
	pod.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: web.GetAPIVersion(), Kind: web.GetKind(), Name: web.GetName(), UID: web.GetUID(), Controller: ptr.To(true)},
	}
	return pod
}
