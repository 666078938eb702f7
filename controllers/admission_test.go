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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("Admission", func() {
	It("takes a Deployment without labels", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, func(d *appsv1.Deployment) { d.Labels = nil }))).To(Succeed())
		verified(ctx, namespace, "sleep")
	})

	It("leaves Deployments of other namespaces and kube-system alone", func(ctx context.Context) {
		for _, namespace := range []string{newNamespace(ctx, nil), "kube-system"} {
			output, err := kubectl(ctx, "label", "--overwrite", "namespace", "kube-system", "admission-webhook-altershield=enabled")
			Expect(err).NotTo(HaveOccurred(), output)
			deployment := sleep(namespace)
			Expect(kube.Create(ctx, deployment)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, deployment)).To(Succeed()) })
			Expect(deployment.Labels).To(Equal(map[string]string{"app": "sleep"}))
			Expect(deployment.Spec.Template.Labels).NotTo(HaveKey("admission-webhook-altershield.antgroup.com/version"))
		}
	})

	It("leaves an unlabelled Deployment alone until its template changes", func(ctx context.Context) {
		namespace := newNamespace(ctx, nil)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.ReadyReplicas }).Should(BeEquivalentTo(5))
		optIn(ctx, namespace)
		for _, command := range [][]string{{"annotate", "deployment", "sleep", "a=b"}, {"label", "deployment", "sleep", "a=b"}, {"scale", "deployment", "sleep", "--replicas=4"}} {
			output, err := kubectl(ctx, append([]string{"-n", namespace}, command...)...)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		deployment := get(ctx, namespace, "sleep")
		Expect(deployment.Labels).To(Equal(map[string]string{"app": "sleep", "a": "b"}))
		Expect(replicaSets(ctx, namespace)).To(HaveLen(1), "no pod was restarted")
		Eventually(stamps(ctx, namespace)).Should(Equal("stamped")) // the API server learns of the label a moment later
		output, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(verified(ctx, namespace, "sleep").Name).To(Equal(second))
	})

	It("keeps its labels through replace, label and apply by any user", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		manifest := fmt.Sprintf(`{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"sleep","namespace":%q,"labels":{"app":"sleep"}},
			"spec":{"replicas":5,"selector":{"matchLabels":{"app":"sleep"}},"template":{"metadata":{"labels":{"app":"sleep","test":"123"}},
			"spec":{"containers":[{"name":"sleep","image":"busybox","command":["/bin/sleep","infinity"],"imagePullPolicy":"IfNotPresent"}]}}}}`, namespace)
		apply := []string{"apply", "--server-side", "--force-conflicts", "--field-manager=gitops", "-f", "-"}
		output, err := kubectlWith(ctx, manifest, apply...)
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		fail(ctx, namespace, first+"--x--1")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		before := get(ctx, namespace, "sleep")
		for _, command := range [][]string{
			apply, apply,
			{"replace", "-f", "-"},
			{"-n", namespace, "label", "deployment", "sleep", "altershield.defense.antgroup.com/suspend-"},
			{"-n", namespace, "label", "deployment", "sleep", "altershield.defense.antgroup.com/defense-status-"},
			{"-n", namespace, "label", "--overwrite", "deployment", "sleep", "admission-webhook-altershield.antgroup.com/version=forged"},
			{"-n", namespace, "annotate", "--overwrite", "deployment", "sleep", "altershield.defense.antgroup.com/release=9"},
		} {
			output, err := kubectlWith(ctx, manifest, command...)
			Expect(err).NotTo(HaveOccurred(), output)
			if command[0] == "-n" {
				Expect(output).To(ContainSubstring("Warning: not changed, since only the operator writes them: a"))
			}
			after := get(ctx, namespace, "sleep")
			Expect(after.Labels).To(Equal(before.Labels), "after kubectl %v", command)
			Expect(after.Annotations["altershield.defense.antgroup.com/release"]).To(Equal("1"))
			Expect(after.Spec.Template.Labels).To(HaveKeyWithValue("admission-webhook-altershield.antgroup.com/version", "c6c45d23c098bdf181853a85b60b5d74"))
		}
		Expect(replicaSets(ctx, namespace)).To(HaveLen(1), "no pod was restarted")

		output, err = kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = kubectlWith(ctx, manifest, apply...)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(replicaSets(ctx, namespace)).To(HaveLen(1), "apply leaves what it never set")
		Eventually(func() map[string]string {
			output, err := kubectlWith(ctx, manifest, "replace", "-f", "-")
			Expect(err).NotTo(HaveOccurred(), output)
			return get(ctx, namespace, "sleep").Spec.Template.Labels
		}).ShouldNot(HaveKey(versionLabel), "no webhook gives it back")
		Eventually(func() int { return len(replicaSets(ctx, namespace)) }).Should(Equal(2), "all pods restart")
	})

	It("changes nothing in a dry run", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace), client.DryRunAll)).To(Succeed())
		Consistently(releases(ctx, namespace)).Should(BeEmpty())
		suspended(ctx, namespace)
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--dry-run=server", "--type", "merge", "-p",
			`{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"test":"1234"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--dry-run=server", "--type", "merge", "-p",
			`{"spec":{"template":{"metadata":{"labels":{"test":"1234"}}}}}`)
		Expect(err).To(HaveOccurred(), "the dry run before bought no release")
		Expect(output).To(ContainSubstring(denial))
	})

	It("lets a suspended Deployment return to a verified version", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		fail(ctx, namespace, second+"--x--1")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))

		output, err = kubectl(ctx, "-n", namespace, "rollout", "restart", "deployment", "sleep")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("deployment sleep is suspended"))
		Expect(output).To(ContainSubstring("going back to a verified version needs no label: c6c45d23c098bdf181853a85b60b5d74"))

		output, err = kubectl(ctx, "-n", namespace, "rollout", "undo", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success"}))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
	})

	It("takes ignored-suspend away where nothing is suspended", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "-n", namespace, "label", "deployment", "sleep", "altershield.defense.antgroup.com/ignored-suspend=true")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
		Eventually(func() []string { return eventReasons(ctx, namespace) }).Should(ContainElement("IgnoredSuspendRemoved"))
	})

	It("doesn't fight about an ignored-suspend that comes back, and lets nothing through for it", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		label := []string{"-n", namespace, "label", "deployment", "sleep", "altershield.defense.antgroup.com/ignored-suspend=true"}
		output, err := kubectl(ctx, label...)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("is removed again, since the Deployment isn't suspended; remove it from the manifest that sets it"))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
		output, err = kubectl(ctx, label...)
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(output).To(ContainSubstring("has no effect, since it was already used or removed at this release"))
		Consistently(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))

		fail(ctx, namespace, first+"--x--1")
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		output, err = release(ctx, namespace, "1234")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("remove it, then set it in the update that changes the pod template"))
		output, err = kubectl(ctx, "-n", namespace, "label", "deployment", "sleep", "altershield.defense.antgroup.com/ignored-suspend-")
		Expect(err).NotTo(HaveOccurred(), output)
		output, err = kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type", "merge", "-p",
			`{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"test":"1234"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{second: "Success"}))
	})

	It("keeps the pods of an orphaned ReplicaSet whose version a created Deployment brings", func(ctx context.Context) {
		const version = "0123456789abcdef0123456789abcdef"
		namespace := newNamespace(ctx, nil)
		stamped := func(d *appsv1.Deployment) {
			d.Spec.Template.Labels["admission-webhook-altershield.antgroup.com/version"] = version
		}
		Expect(kube.Create(ctx, sleep(namespace, stamped))).To(Succeed())
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.ReadyReplicas }).Should(BeEquivalentTo(5))
		optIn(ctx, namespace)
		output, err := kubectl(ctx, "-n", namespace, "delete", "deployment", "sleep", "--cascade=orphan")
		Expect(err).NotTo(HaveOccurred(), output)

		created := sleep(namespace, stamped)
		Expect(kube.Create(ctx, created)).To(Succeed())
		Expect(created.Labels).To(HaveKeyWithValue("admission-webhook-altershield.antgroup.com/version", version))
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.ReadyReplicas }).Should(BeEquivalentTo(5))
		Expect(verified(ctx, namespace, "sleep").Name).To(Equal("sleep--x--" + version))
		Expect(replicaSets(ctx, namespace)).To(HaveLen(1), "no pod was restarted")
	})

	It("checks a Deployment that was replaced by force as a new one", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		manifest, err := kubectl(ctx, "-n", namespace, "get", "deployment", "sleep", "-o", "json")
		Expect(err).NotTo(HaveOccurred())
		output, err := kubectlWith(ctx, manifest, "replace", "--force", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		uid := get(ctx, namespace, "sleep").UID
		Eventually(func() any {
			workloads := releases(ctx, namespace)()
			if workloads[first] != "Success" {
				return workloads
			}
			return workload(ctx, namespace, first).OwnerReferences[0].UID
		}).Should(Equal(uid))
		Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
	})
})

func optIn(ctx context.Context, namespace string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "label", "--overwrite", "namespace", namespace, "admission-webhook-altershield=enabled")
	Expect(err).NotTo(HaveOccurred(), output)
}

func replicaSets(ctx context.Context, namespace string) []appsv1.ReplicaSet {
	var list appsv1.ReplicaSetList
	Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

func podsOf(ctx context.Context, namespace, replicaSetPrefix string) map[string]bool {
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
	result := map[string]bool{}
	for _, pod := range pods.Items {
		if owner := metav1.GetControllerOf(&pod); owner != nil && len(owner.Name) > len(replicaSetPrefix) &&
			owner.Name[:len(replicaSetPrefix)] == replicaSetPrefix {
			result[pod.Name] = true
		}
	}
	return result
}
