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
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/local/operator"
)

const (
	// gadgets is the name of the CRD of gadgets and of their ControlledKind.
	gadgets = "gadgets.example.com"
	// gadgetCRD is a kind without pods. Its status has the image that runs, and the one that failed.
	gadgetCRD = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.com}
spec:
  group: example.com
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec:
            type: object
            properties: {image: {type: string}, paused: {type: boolean}}
          status:
            type: object
            properties: {image: {type: string}, failed: {type: string}}
`
	gadgetKind = `
apiVersion: app.ops.cloud.alipay.com/v1alpha1
kind: ControlledKind
metadata: {name: gadgets.example.com}
spec:
  version: v1
  mode: Enforce
  release: {fields: [spec.image]}
  pods: {by: None}
  hold: [{path: spec.paused, value: true}]
  health:
    current: object.?status.?image.orValue('') == object.spec.image
    failed: object.?status.?failed.orValue('') == object.spec.image
`
)

var _ = Describe("A declared kind", slow, Serial, Ordered, func() {
	BeforeAll(func() {
		DeferCleanup(func(ctx context.Context) {
			remove(ctx, "controlledkind/"+gadgets, "crd/"+gadgets, "clusterrole/altershield-kind-"+gadgets)
		})
	})

	It("waits for its CRD, and for the ClusterRole that its condition shows", func(ctx context.Context) {
		Expect(apply(ctx, gadgetKind)).To(ContainSubstring("Warning: ControlledKind gadgets.example.com was admitted unchecked"))
		Eventually(gadgetConditions(ctx)).Should(ConsistOf("Served False NotServed", "Ready False NotServed"))
		apply(ctx, gadgetCRD)
		Eventually(gadgetConditions(ctx)).Should(ConsistOf("Served True Served", "Permitted False PermissionMissing", "Stampable True LabelsKept",
			"Synced False Syncing", "Admitted False PermissionMissing", "Ready False PermissionMissing"))
		shown, err := kubectl(ctx, "get", "controlledkind", gadgets, "-o", `jsonpath={.status.conditions[?(@.type=="Permitted")].message}`)
		Expect(err).NotTo(HaveOccurred(), shown)
		_, role, found := strings.Cut(shown, "apply this ClusterRole:\n")
		Expect(found).To(BeTrue(), shown)
		apply(ctx, role)
		reviewGadgets(ctx, "yes", "None")
		enforced(ctx, gadgets)

		By("revoking the permissions")
		remove(ctx, "clusterrole/altershield-kind-"+gadgets)
		reviewGadgets(ctx, "no", "Content")
		Eventually(gadgetConditions(ctx)).Should(ConsistOf("Served True Served", "Permitted False PermissionMissing", "Stampable True LabelsKept",
			"Synced True Synced", "Admitted False PermissionMissing", "Ready False PermissionMissing"))
		apply(ctx, role)
		reviewGadgets(ctx, "yes", "None")
		enforced(ctx, gadgets)
		By("looking at its counters, whose first increase an alert would miss if they appeared with it")
		metricsShow(ctx, `altershield_rollbacks_total{kind="Gadget",reason="PodsNotRunning"} 0`)
		metricsShow(ctx, `altershield_rollback_obstacles_total{kind="Gadget",reason="PodsNotRunning"} 0`)
	})

	It("leaves when its CRD is deleted during a release, unnoticed by a Deployment, and is back with its CRD", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		web := gadget{namespace}
		fails := func() {
			GinkgoHelper()
			web.apply(ctx, "web:1")
			web.status(ctx, "image", "web:1")
			// The API server permits a record of a new kind once it has discovered the kind, and the next attempt may be half a minute later.
			Eventually(releases(ctx, namespace)).WithTimeout(2 * time.Minute).Should(HaveKeyWithValue(web.record(ctx), "Success"))
			web.apply(ctx, "web:2")
			web.status(ctx, "failed", "web:2")
			Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(web.record(ctx), "Suspend"))
			web.isSuspended(ctx)
		}
		fails()
		By("waiting for the garbage collector to watch the kind, without which it removes none of its records")
		monitored(ctx)
		By("deleting the CRD")
		token := metricsToken(ctx)
		running := goroutines(ctx, token)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2), func(d *appsv1.Deployment) {
			d.Spec.Template.Annotations = map[string]string{"local.altershield.io/ready-after": "2s"}
		}))).To(Succeed())
		native := currentName(ctx, namespace, "sleep")
		remove(ctx, "crd/"+gadgets)
		Eventually(gadgetConditions(ctx)).Should(ConsistOf("Served False NotServed", "Ready False NotServed"))
		Expect(verified(ctx, namespace, "sleep").Name).To(Equal(native))
		By("waiting for what is left to go")
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{native: "Success"}), "records go with their owners")
		By("counting goroutines")
		Eventually(func() int { return goroutines(ctx, token) }).Should(BeNumerically("<=", running-10), "those of the kind, 14, are gone")
		settled := logged()
		Consistently(func() []string { return errorsIn(strings.TrimPrefix(logged(), settled)) }).WithTimeout(5 * time.Second).Should(BeEmpty())

		By("installing the CRD again")
		apply(ctx, gadgetCRD)
		enforced(ctx, gadgets)
		fails()
	})

	It("goes on after the leader is killed in mid-release", func(ctx context.Context) {
		other := settings
		other.Name = "other"
		follower, err := operator.Install(ctx, plane, other)
		Expect(err).NotTo(HaveOccurred())
		leader := manager
		DeferCleanup(func(ctx context.Context) {
			Expect(follower.Stop(ctx)).To(Succeed())
			manager = leader
			restartAs(ctx, settings)
		})
		namespace := controlledNamespace(ctx)
		Expect(follower.Start(ctx)).To(Succeed())
		manager = follower // the API server calls its webhooks from now on
		Eventually(staleWebhooks(ctx)).Should(BeEmpty())
		web := gadget{namespace}
		web.apply(ctx, "web:1")
		web.status(ctx, "image", "web:1")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(web.record(ctx), "Success"))
		web.apply(ctx, "web:2")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(web.record(ctx), "Running"))
		Expect(leader.Kill(ctx)).To(Succeed())
		web.status(ctx, "failed", "web:2")
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(web.record(ctx), "Suspend"))
		web.isSuspended(ctx)
		enforced(ctx, gadgets)
	})
})

// monitored waits until the garbage collector watches gadgets beside the operator: before, it doesn't notice that one is deleted.
func monitored(ctx context.Context) {
	GinkgoHelper()
	watches := regexp.MustCompile(`(?m)^apiserver_longrunning_requests\{.*group="example\.com".*resource="gadgets".*verb="WATCH".*\} (\d+)$`)
	Eventually(func() (number int, err error) {
		text, err := kubectl(ctx, "get", "--raw", "/metrics")
		for _, found := range watches.FindAllStringSubmatch(text, -1) {
			count, _ := strconv.Atoi(found[1])
			number += count
		}
		return number, err
	}).WithTimeout(2 * time.Minute).Should(BeNumerically(">=", 2))
}

// remove deletes objects without a namespace, in this order.
func remove(ctx context.Context, names ...string) {
	GinkgoHelper()
	for _, name := range names {
		output, err := kubectl(ctx, "delete", name, "--ignore-not-found", "--timeout=1m")
		Expect(err).NotTo(HaveOccurred(), output)
	}
}

// reviewGadgets waits until the operator may patch gadgets, or may not, and changes their ControlledKind: then its permissions are reviewed at
// once, not minutes later.
func reviewGadgets(ctx context.Context, may, undo string) {
	GinkgoHelper()
	Eventually(func() string {
		output, _ := kubectl(ctx, "auth", "can-i", "patch", gadgets, "--all-namespaces", "--as="+operator.User) // "no" is an error
		return output
	}).Should(HavePrefix(may))
	output, err := kubectl(ctx, "patch", "controlledkind", gadgets, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"undo":%q}}`, undo))
	Expect(err).NotTo(HaveOccurred(), output)
}

// apply applies a manifest and returns what kubectl prints.
func apply(ctx context.Context, manifest string) string {
	GinkgoHelper()
	output, err := kubectlWith(ctx, manifest, "apply", "-f", "-")
	Expect(err).NotTo(HaveOccurred(), output)
	return output
}

// gadgetConditions returns the conditions of the ControlledKind of gadgets.
func gadgetConditions(ctx context.Context) func() ([]string, error) {
	return func() ([]string, error) {
		var controlled appv1alpha1.ControlledKind
		err := kube.Get(ctx, client.ObjectKey{Name: gadgets}, &controlled)
		var shown []string
		for _, condition := range controlled.Status.Conditions {
			shown = append(shown, fmt.Sprintf("%s %s %s", condition.Type, condition.Status, condition.Reason))
		}
		return shown, err
	}
}

// gadget is the gadget web of a namespace.
type gadget struct{ namespace string }

func (w gadget) apply(ctx context.Context, image string) {
	GinkgoHelper()
	output, err := w.release(ctx, image)
	Expect(err).NotTo(HaveOccurred(), output)
}

func (w gadget) release(ctx context.Context, image string) (string, error) {
	return kubectlWith(ctx, fmt.Sprintf("{apiVersion: example.com/v1, kind: Gadget, metadata: {name: web}, spec: {image: %q}}", image),
		"apply", "-n", w.namespace, "-f", "-")
}

// status sets a field of the status to an image.
func (w gadget) status(ctx context.Context, field, image string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", w.namespace, "patch", "gadget", "web", "--subresource=status", "--type=merge", "-p",
		fmt.Sprintf(`{"status":{%q:%q}}`, field, image))
	Expect(err).NotTo(HaveOccurred(), output)
}

func (w gadget) get(ctx context.Context, path string) string {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", w.namespace, "get", "gadget", "web", "-o", "jsonpath="+path)
	Expect(err).NotTo(HaveOccurred(), output)
	return output
}

// record returns the name of the record of the current release.
func (w gadget) record(ctx context.Context) string {
	GinkgoHelper()
	return "gadgets.web--x--" + w.get(ctx, `{.metadata.labels.admission-webhook-altershield\.antgroup\.com/version}`)
}

// isSuspended waits until the gadget is suspended and its rollout held, and has its next release denied.
func (w gadget) isSuspended(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() string {
		return w.get(ctx, "{.metadata.annotations.altershield\\.defense\\.antgroup\\.com/held} {.spec.paused}")
	}).
		Should(Equal("2 true"))
	output, err := w.release(ctx, "web:3")
	Expect(err).To(HaveOccurred())
	Expect(output).To(ContainSubstring("gadget web is suspended"))
}

// errorsIn returns the errors in a part of the manager's log.
func errorsIn(log string) []string {
	return slices.DeleteFunc(slices.Collect(strings.Lines(log)), func(line string) bool { return !strings.Contains(line, `"level":"error"`) })
}

// goroutines returns the number of the manager's goroutines.
func goroutines(ctx context.Context, token string) int {
	GinkgoHelper()
	_, text := scrape(ctx, token)
	found := regexp.MustCompile(`(?m)^go_goroutines (\d+)$`).FindStringSubmatch(text)
	Expect(found).NotTo(BeNil())
	number, err := strconv.Atoi(found[1])
	Expect(err).NotTo(HaveOccurred())
	return number
}
