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
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var _ = Describe("A kind in the mode Observe", slow, func() {
	BeforeEach(func(ctx context.Context) {
		patient(ctx)
		configure(ctx, "release-history", `{"spec":{"enable":true}}`)
	})

	It("has the releases of StatefulSets recorded and checked, and nothing written to them", func(ctx context.Context) {
		const kind = "statefulsets.apps"
		inMode(ctx, kind, "Observe")
		DeferCleanup(func(ctx context.Context) { inMode(ctx, kind, "Enforce") })
		namespace := newNamespace(ctx, nil)
		web := statefulSet(namespace, "Parallel", 3)
		output, err := kubectlWith(ctx, web.manifest("web:1", "", ""), "apply", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string { return web.show(ctx, "{.status.readyReplicas}") }).Should(Equal("3"))

		By("leaving the release alone that was complete before")
		Eventually(func() time.Duration { return time.Since(web.get(ctx).GetCreationTimestamp().Time) }).Should(BeNumerically(">", 31*time.Second))
		output, err = kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield=enabled")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(observations(ctx, namespace)).Should(Equal([]string{"Success Baseline 0/3"}))
		Expect(changePods(ctx, namespace)).To(BeEmpty())

		By("checking the next one")
		web.mustChange(ctx, ofTemplate("2"))
		Eventually(observations(ctx, namespace)).Should(Equal([]string{"Success Baseline 0/3", "Success AllPodsPassed 3/3"}))
		output, err = kubectl(ctx, "get", "changeworkloads", "-n", namespace, "-o", "wide")
		Expect(err).NotTo(HaveOccurred())
		Expect(output).To(ContainSubstring("OBSERVED"))
		web.mustChange(ctx, `{"spec":{"replicas":4}}`)
		Eventually(func() string { return web.show(ctx, "{.status.readyReplicas}") }).Should(Equal("4"))

		By("failing the one after that, without a consequence")
		web.mustChange(ctx, ofTemplate("3"))
		failed := func() string {
			list := recorded(ctx, namespace)
			return list[len(list)-1].Name
		}
		Eventually(func() int { return len(recorded(ctx, namespace)) }).Should(Equal(3))
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(failed() + "--x--1"))
		fail(ctx, namespace, failed()+"--x--1")
		Eventually(func() string { return string(workload(ctx, namespace, failed()).Status.Status) }).Should(Equal("Suspend"))
		suspended := conditionOf(workload(ctx, namespace, failed()).Status.Conditions, "Suspended")
		Expect(suspended.Status).To(Equal(metav1.ConditionFalse))
		Expect(suspended.Reason + ": " + suspended.Message).To(Equal(
			"Observing: the mode of the kind StatefulSet is Observe: with Enforce the release would have been suspended"))
		Eventually(func() string { return web.show(ctx, "{.status.updatedReplicas} {.status.readyReplicas}") }).Should(Equal("4 4"))
		web.mustChange(ctx, ofTemplate("4"))
		Eventually(observations(ctx, namespace)).Should(ContainElement("Success AllPodsPassed 4/4"))

		By("writing nothing to the StatefulSet or its pods")
		Expect(writtenTo(namespace)).To(BeEmpty())
		Expect(web.labels(ctx)()).To(BeEmpty())
		Expect(web.annotations(ctx)()).To(Or(BeEmpty(), HaveLen(1)), "that of kubectl")
		Expect(hasOperatorFields(web.get(ctx))).To(BeFalse())
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		for i := range pods.Items {
			Expect(hasOperatorFields(&pods.Items[i])).To(BeFalse())
		}

		By("enforcing the kind: the next release is stamped")
		inMode(ctx, kind, "Enforce")
		attempts := 0
		Eventually(func() string {
			attempts++
			web.mustChange(ctx, ofTemplate(fmt.Sprintf("enforced-%d", attempts)))
			return web.version(ctx)()
		}).ShouldNot(BeEmpty(), "the API server takes a moment to call the webhooks")
		web.verified(ctx)
		for _, record := range recorded(ctx, namespace) {
			Expect(record.Spec.Observed).To(Equal(record.Spec.Reversion != web.version(ctx)()))
		}
	})

	It("has the units of a declared kind checked", func(ctx context.Context) {
		const name = "kubernetesclusters.ecs.yun.com"
		DeferCleanup(func(ctx context.Context) {
			output, err := kubectl(ctx, "delete", "--ignore-not-found", "--timeout=1m", "controlledkind/"+name, "crd/"+name, "clusterrole/altershield-kind-"+name)
			Expect(err).NotTo(HaveOccurred(), output)
		})
		for _, file := range []string{"kubernetescluster/crd.yaml", "kinds/kubernetescluster.yaml"} {
			output, err := kubectl(ctx, "apply", "-f", "../config/samples/"+file)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		inMode(ctx, name, "Observe")
		namespace := controlledNamespace(ctx)
		output, err := kubectl(ctx, "apply", "-n", namespace, "-f", "../config/samples/kubernetescluster/cluster.yaml")
		Expect(err).NotTo(HaveOccurred(), output)
		// phase sets a phase that begins within a second, and waits until it has.
		phase := func(phase string) {
			began := time.Now().Add(time.Second)
			output, err := kubectl(ctx, "patch", "kubernetescluster", "-n", namespace, "dev", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
				`{"status":{"phase":%q,"lastTransitionTime":%q}}`, phase, began.UTC().Format(time.RFC3339)))
			Expect(err).NotTo(HaveOccurred(), output)
			Eventually(time.Now).Should(BeTemporally(">", began.Add(time.Second)))
		}
		Eventually(observations(ctx, namespace)).Should(HaveLen(1))
		phase("Running")
		Eventually(observations(ctx, namespace)).Should(Equal([]string{"Success AllPodsPassed 3/3"}))
		By("failing the next release")
		output, err = kubectl(ctx, "patch", "kubernetescluster", "-n", namespace, "dev", "--type=json", "-p",
			`[{"op":"add","path":"/spec/cluster/nodeList/-","value":{"ip":"10.0.0.14"}}]`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(observations(ctx, namespace)).Should(HaveLen(2))
		phase("Failed")
		Eventually(observations(ctx, namespace)).Should(ContainElement(HavePrefix("Suspend WorkloadFailed")))
		Expect(writtenTo(namespace)).To(BeEmpty())
		cluster := &unstructured.Unstructured{}
		cluster.SetGroupVersionKind(schema.GroupVersionKind{Group: "ecs.yun.com", Version: "v1", Kind: "KubernetesCluster"})
		Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "dev"}, cluster)).To(Succeed())
		Expect(hasOperatorFields(cluster)).To(BeFalse())
	})
})

// ofTemplate releases pods with another label.
func ofTemplate(value string) string {
	return fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"test":%q}}}}}`, value)
}

// inMode sets the mode of a kind, and waits until it has its effect.
func inMode(ctx context.Context, kind, mode string) {
	GinkgoHelper()
	ready := map[string]string{"Observe": "Observing", "Enforce": "Ready"}[mode]
	Eventually(func() string {
		output, _ := kubectl(ctx, "patch", "controlledkind", kind, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"mode":%q}}`, mode))
		return output
	}).Should(ContainSubstring("patched"))
	Eventually(func() string {
		var controlled appv1alpha1.ControlledKind
		if err := kube.Get(ctx, client.ObjectKey{Name: kind}, &controlled); err != nil {
			return err.Error()
		}
		condition := conditionOf(controlled.Status.Conditions, "Ready")
		return fmt.Sprintf("%t %s %s", condition.ObservedGeneration == controlled.Generation, condition.Status, condition.Reason)
	}).Should(Equal("true True " + ready))
}

func conditionOf(conditions []metav1.Condition, kind string) metav1.Condition {
	for _, condition := range conditions {
		if condition.Type == kind {
			return condition
		}
	}
	return metav1.Condition{}
}

// recorded returns the ChangeWorkloads of a namespace by their release.
func recorded(ctx context.Context, namespace string) []appv1alpha1.ChangeWorkload {
	GinkgoHelper()
	var list appv1alpha1.ChangeWorkloadList
	Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	slices.SortFunc(list.Items, func(a, b appv1alpha1.ChangeWorkload) int { return int(a.Spec.Release - b.Spec.Release) })
	return list.Items
}

// observations returns the progress of the observed releases of a namespace, oldest first.
func observations(ctx context.Context, namespace string) func() []string {
	return func() []string {
		var found []string
		for _, record := range recorded(ctx, namespace) {
			if record.Spec.Observed && record.Spec.ReleasedBy == "" {
				found = append(found, fmt.Sprintf("%s %s %d/%d", record.Status.Status, reason(record.Status.Conditions, "Verified"),
					record.Status.Counts.Passed, record.Status.Counts.Desired))
			}
		}
		return found
	}
}

// writtenTo returns the operator's writes to the objects of a namespace other than its own.
func writtenTo(namespace string) []string {
	GinkgoHelper()
	var found []string
	for _, request := range requests() {
		object := request.ObjectRef
		if object == nil || object.Namespace != namespace || slices.Contains([]string{"get", "list", "watch"}, request.Verb) ||
			object.APIGroup == appv1alpha1.GroupVersion.Group || object.Resource == "events" {
			continue
		}
		found = append(found, strings.Join([]string{request.Verb, object.Resource, object.Name}, " "))
	}
	return found
}

// hasOperatorFields reports whether the operator owns fields of an object.
func hasOperatorFields(object client.Object) bool {
	return slices.ContainsFunc(object.GetManagedFields(), func(entry metav1.ManagedFieldsEntry) bool {
		return strings.Contains(entry.Manager, "altershield")
	})
}
