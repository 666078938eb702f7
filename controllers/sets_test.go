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
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// slowRelease releases pods that take two seconds to be ready.
	slowRelease = `{"spec":{"template":{"metadata":{"annotations":{"local.altershield.io/ready-after":"2s"}}}}}`
	// setRepair is the repair of that release.
	setRepair = `{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},
		"spec":{"template":{"metadata":{"labels":{"test":"repaired"},"annotations":null}}}}`
	// missingSetImage can't be pulled.
	missingSetImage = `{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:missing"}]}}}}`
)

var _ = Describe("A StatefulSet or DaemonSet", func() {
	BeforeEach(patient)

	DescribeTable("of 20 pods is held, repaired, rolled back, and goes back when it is stuck:", slow, func(
		ctx context.Context, of func(ctx context.Context) (web webSet, changes []func(*unstructured.Unstructured)),
	) {
		permitDeletions(ctx)
		configure(ctx, "unstick", `{"spec":{"enable":true}}`)
		web, changes := of(ctx)
		all := func(version string) []string { return []string{version + " x20"} }
		web.create(ctx, changes...)
		good := web.verified(ctx)
		Expect(readyPods(ctx, web.namespace)()).To(Equal(all(good)))

		By("failing its third pod: the others stay as they are")
		web.mustChange(ctx, slowRelease)
		web.failThird(ctx)
		kept := len(podsAt(ctx, web.namespace, good))
		Expect(kept).To(And(BeNumerically(">", 0), BeNumerically("<", 18)))
		Consistently(func() int { return len(podsAt(ctx, web.namespace, good)) }).WithTimeout(5*time.Second).Should(Equal(kept),
			"more than twice as long as a pod takes to be ready")

		By("denying the next release")
		output, err := web.change(ctx, missingSetImage)
		Expect(err).To(HaveOccurred())
		Expect(output).To(HaveSuffix(fmt.Sprintf("Error from server (%[1]s web is suspended): admission webhook "+
			"\"%[1]ss.apps.altershield.defense.antgroup.com\" denied the request: %[1]s web is suspended\n", web.noun)))

		By("letting a repair through, which ends the hold")
		web.mustChange(ctx, setRepair)
		Expect(web.strategy(ctx)).To(Or(Equal("0"), Equal("RollingUpdate")))
		Expect(web.annotations(ctx)()).NotTo(HaveKey("altershield.defense.antgroup.com/held"))
		repaired := web.verified(ctx)
		Eventually(readyPods(ctx, web.namespace)).Should(Equal(all(repaired)))
		Eventually(web.labels(ctx)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))

		By("rolling it back on request")
		web.mustChange(ctx, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/rollback":"true"}}}`)
		Eventually(web.version(ctx)).Should(Equal(good))
		Eventually(readyPods(ctx, web.namespace)).Should(Equal(all(good)))
		Expect(web.verified(ctx)).To(Equal(good))

		By("releasing an image that can't be pulled, and touching nothing any more")
		web.mustChange(ctx, missingSetImage)
		bad := web.version(ctx)()
		Eventually(troubles(ctx, web.namespace, bad)).Should(ContainElement("ErrImagePull"))
		losePatience(ctx, func() {
			Eventually(web.version(ctx)).Should(Equal(good))
			Eventually(readyPods(ctx, web.namespace)).Should(Equal(all(good)))
		})
		Expect(web.verified(ctx)).To(Equal(good))
	},
		Entry("a StatefulSet, OrderedReady", func(ctx context.Context) (webSet, []func(*unstructured.Unstructured)) {
			return statefulSet(controlledNamespace(ctx), "OrderedReady", 20), nil
		}),
		Entry("a StatefulSet, Parallel", func(ctx context.Context) (webSet, []func(*unstructured.Unstructured)) {
			return statefulSet(controlledNamespace(ctx), "Parallel", 20), nil
		}),
		Entry("a DaemonSet", func(ctx context.Context) (webSet, []func(*unstructured.Unstructured)) {
			addNodes(ctx, 20)
			return daemonSet(controlledNamespace(ctx)), []func(*unstructured.Unstructured){onAddedNodes}
		}),
	)

	It("shares no record with a workload of the same name and template", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		webs := []webSet{
			{namespace, "Deployment", "deployment", `"replicas": 2,`}, statefulSet(namespace, "OrderedReady", 2), daemonSet(namespace),
		}
		for _, web := range webs {
			web.create(ctx)
		}
		version := webs[0].version(ctx)()
		records := func() map[string]string { return releases(ctx, namespace)() }
		three := map[string]string{
			"web--x--" + version: "Success", "statefulsets.web--x--" + version: "Success", "daemonsets.web--x--" + version: "Success",
		}
		Eventually(records).Should(Equal(three))
		uids := map[string]types.UID{}
		for name := range three {
			uids[name] = workload(ctx, namespace, name).UID
		}
		for i := range 5 {
			for _, web := range webs {
				web.mustChange(ctx, fmt.Sprintf(`{"metadata":{"annotations":{"note":"%d"}}}`, i))
			}
			Consistently(records).WithTimeout(time.Second).Should(Equal(three))
		}
		for name, uid := range uids {
			Expect(workload(ctx, namespace, name).UID).To(Equal(uid), "no record was made again")
		}
		output, err := kubectl(ctx, "-n", namespace, "delete", "deployment", "web")
		Expect(err).NotTo(HaveOccurred(), output)
		delete(three, "web--x--"+version)
		Eventually(records).Should(Equal(three))
		Consistently(records).Should(Equal(three))
	})

	It("is left alone if another controller manages it", func(ctx context.Context) {
		web := statefulSet(controlledNamespace(ctx), "OrderedReady", 1)
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: web.namespace, Name: "owner"}}
		Expect(kube.Create(ctx, owner)).To(Succeed())
		web.create(ctx, func(object *unstructured.Unstructured) {
			object.SetOwnerReferences([]metav1.OwnerReference{
				{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID, Controller: ptr.To(true)},
			})
		})
		web.mustChange(ctx, `{"spec":{"template":{"metadata":{"labels":{"test":"second"}}}}}`)
		Eventually(func() string { return web.show(ctx, "{.status.updatedReplicas}") }).Should(Equal("1"))
		Expect(web.labels(ctx)()).To(BeEmpty())
		Expect(web.template(ctx)).NotTo(ContainSubstring("altershield"))
		Consistently(releases(ctx, web.namespace)).Should(BeEmpty())
	})

	It("does not go back to a first release that never ran", func(ctx context.Context) {
		web := statefulSet(controlledNamespace(ctx), "Parallel", 1)
		web.create(ctx, func(object *unstructured.Unstructured) {
			Expect(unstructured.SetNestedField(object.Object, "never",
				"spec", "template", "metadata", "labels", "local.altershield.io/start")).To(Succeed())
		})
		web.mustChange(ctx, `{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"config-error"}}}}}`)
		second := web.version(ctx)()
		Eventually(readyPods(ctx, web.namespace)).Should(Equal([]string{"not ready: " + second + " x1"}), "it has taken the only pod")
		losePatience(ctx, func() {
			Eventually(toldAbout(ctx, web, "ReleaseNotRolledBack")).Should(ContainElement(
				ContainSubstring("no older revision of statefulset web still runs all its pods")))
		})
		Expect(web.version(ctx)()).To(Equal(second))
	})
})

var _ = Describe("A parked release of a StatefulSet", func() {
	BeforeEach(patient)

	It("leaves the pods of the version before and its own template, until a repair", func(ctx context.Context) {
		permitDeletions(ctx)
		web := statefulSet(controlledNamespace(ctx), "OrderedReady", 10)
		enforced(ctx, "statefulsets.apps")
		apply := func(manifest string) {
			GinkgoHelper()
			output, err := kubectlWith(ctx, manifest, "apply", "-f", "-")
			Expect(err).NotTo(HaveOccurred(), output)
		}
		apply(web.manifest("web:1", "", ""))
		good := web.verified(ctx)
		file := web.manifest("web:2", "", `, "annotations": {"local.altershield.io/ready-after": "2s"}`)
		apply(file)
		web.failThird(ctx)
		bad, template := web.version(ctx)(), web.template(ctx)

		web.mustChange(ctx, `{"metadata":{"annotations":{"altershield.defense.antgroup.com/rollback":"park"}}}`)
		Eventually(func() string {
			return reason(workload(ctx, web.namespace, web.record(ctx)).Status.Conditions, "Parked")
		}).Should(Equal("Requested"))
		Eventually(readyPods(ctx, web.namespace)).Should(Equal([]string{good + " x10"}))
		Consistently(readyPods(ctx, web.namespace)).Should(Equal([]string{good + " x10"}))
		Expect(web.version(ctx)()).To(Equal(bad))
		Expect(web.template(ctx)).To(Equal(template))
		Expect(web.show(ctx, "{.status.updatedReplicas}")).To(BeElementOf("", "0"))

		By("applying the file of the bad release again, which changes nothing")
		output, err := kubectlWith(ctx, file, "diff", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(BeEmpty())
		before := web.get(ctx)
		dry := &unstructured.Unstructured{}
		Expect(dry.UnmarshalJSON([]byte(file))).To(Succeed())
		Expect(kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(dry), client.DryRunAll, client.FieldOwner("git"), client.ForceOwnership)).To(Succeed())
		Expect(dry.Object["spec"]).To(Equal(before.Object["spec"]))
		Expect(dry.GetGeneration()).To(Equal(before.GetGeneration()))

		By("repairing it")
		apply(web.manifest("web:3", `, "labels": {"altershield.defense.antgroup.com/ignored-suspend": "true"}`, ""))
		repaired := web.verified(ctx)
		Eventually(readyPods(ctx, web.namespace)).Should(Equal([]string{repaired + " x10"}))
		Expect(web.annotations(ctx)()).NotTo(HaveKey("altershield.defense.antgroup.com/parked"))
		Expect(web.strategy(ctx)).To(Equal("0"))
	})
})

// toldAbout returns the notes of the Events about a set with a reason.
func toldAbout(ctx context.Context, web webSet, reason string) func() []string {
	return toldOf(ctx, web.namespace, func(event eventsv1.Event) (string, bool) {
		return event.Note, event.Reason == reason && event.Regarding.Kind == web.kind
	})
}
