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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appsv1 "k8s.io/api/apps/v1"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const system = "altershieldoperator-system"

// configure patches the spec of a setting and restores the default after the spec.
func configure(ctx context.Context, name, patch string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", system, "patch", "opsconfiginfo", name, "--type", "merge", "-p", patch)
	Expect(err).NotTo(HaveOccurred(), output)
	Eventually(func() bool { return settingSeen(ctx, name) }).Should(BeTrue())
	DeferCleanup(func(ctx context.Context) {
		output, err := kubectl(ctx, "-n", system, "delete", "opsconfiginfo", name)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() bool { return settingSeen(ctx, name) }).Should(BeTrue())
	})
}

// settingSeen reports whether the operator's cache has the current setting.
func settingSeen(ctx context.Context, name string) bool {
	var setting appv1alpha1.OpsConfigInfo
	err := kube.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, &setting)
	return err == nil && setting.DeletionTimestamp == nil && setting.Status.ObservedGeneration == setting.Generation
}

func finishedPods(ctx context.Context, namespace string) int {
	var pods corev1.PodList
	if err := kube.List(ctx, &pods, client.InNamespace(namespace), client.HasLabels{"altershield.defense.antgroup.com/operate-finished"}); err != nil {
		return -1
	}
	return len(pods.Items)
}

var _ = Describe("Settings", func() {
	It("come with the documented defaults, and come back when deleted", func(ctx context.Context) {
		for name, spec := range map[string]appv1alpha1.OpsConfigInfoSpec{
			"blocking":           {Type: "isBlockingUp", Enable: true, Remark: "Enabling Blockade"},
			"branch":             {Type: "isBranch", Enable: false, Content: "10", Remark: "Enabling Batch Protection"},
			"stuck-rollback":     {Type: "isStuckRollback", Enable: true, Content: "2m", Remark: "Roll back releases whose pods don't run for this long"},
			"suspended-rollback": {Type: "isSuspendedRollback", Enable: false, Remark: "Roll back suspended releases without being asked"},
			"park":               {Type: "isPark", Enable: false, Remark: "Park suspended releases of StatefulSets without being asked"},
			"unstick":            {Type: "isUnstick", Enable: false, Remark: "Delete pods that keep a StatefulSet from going on to another version"},
			"refusal":            {Type: "isRefusal", Enable: true, Content: "24h", Remark: "Refuse versions that were rolled back for this long"},
			"template-history":   {Type: "isTemplateHistory", Enable: true, Content: "10", Remark: "Keep this many verified pod templates of each workload"},
			"release-history":    {Type: "isReleaseHistory", Enable: false, Content: "5", Remark: "Keep this many ChangeWorkloads of past releases of each workload"},
			"change-records":     {Type: "isChangeRecords", Enable: true, Content: "100", Remark: "Write ChangeRecords, and keep this many of each workload"},
			"record-days":        {Type: "isRecordDays", Enable: true, Content: "90", Remark: "Keep ChangeRecords for this many days"},
			"finished-label":     {Type: "isFinishedLabel", Enable: true, Remark: "Label finished pods"},
		} {
			var setting appv1alpha1.OpsConfigInfo
			key := client.ObjectKey{Namespace: system, Name: name}
			Expect(kube.Get(ctx, key, &setting)).To(Succeed())
			Expect(setting.Spec).To(Equal(spec))
			Expect(kube.Delete(ctx, &setting)).To(Succeed())
			Eventually(func() (appv1alpha1.OpsConfigInfoSpec, error) {
				var restored appv1alpha1.OpsConfigInfo
				err := kube.Get(ctx, key, &restored)
				return restored.Spec, err
			}).Should(Equal(spec))
		}
	})

	It("refuse an enabled branch whose content is not a whole number from 1", func(ctx context.Context) {
		for _, content := range []string{"abc", "0", "-1", "1.5", "", "501"} {
			output, err := kubectl(ctx, "-n", system, "patch", "opsconfiginfo", "branch", "--type", "merge", "-p",
				`{"spec":{"enable":true,"content":"`+content+`"}}`)
			Expect(err).To(HaveOccurred(), "content %q", content)
			Expect(output).To(ContainSubstring("content must be a whole number from 1 to 500 while isBranch is enabled"))
		}
	})

	DescribeTable("refuse, while they are enabled, a content", slow, func(ctx context.Context, name, why string, contents ...string) {
		for _, content := range contents {
			output, err := kubectl(ctx, "-n", system, "patch", "opsconfiginfo", name, "--type", "merge", "-p",
				`{"spec":{"enable":true,"content":"`+content+`"}}`)
			Expect(err).To(HaveOccurred(), "content %q", content)
			Expect(output).To(ContainSubstring(why))
		}
	},
		Entry("of stuck-rollback that is no time", "stuck-rollback", "content must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h", "", "0s", "-1m", "2", "1.5h", "2d", "100000s"),
		Entry("of refusal that is no time", "refusal", "content must be a whole number of seconds, minutes or hours such as 90s, 2m or 24h", "", "0h", "forever"),
		Entry("of template-history that is no number", "template-history", "content must be a whole number from 1 to 100", "", "0", "101", "ten"),
		Entry("of release-history that is no number", "release-history", "content must be a whole number from 1 to 100", "", "0", "101", "ten"),
		Entry("of change-records that is no number", "change-records", "content must be a whole number from 1 to 1000", "", "0", "1001", "ten"),
		Entry("of record-days that is no number", "record-days", "content must be a whole number from 1 to 400", "", "0", "401", "90d"),
	)

	It("say why an object has no effect, and leave it there", slow, func(ctx context.Context) {
		namespace := newNamespace(ctx, nil)
		stray := &appv1alpha1.OpsConfigInfo{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "blocking"},
			Spec:       appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp"},
		}
		unknown := &appv1alpha1.OpsConfigInfo{
			ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "blokking"},
			Spec:       appv1alpha1.OpsConfigInfoSpec{Type: "isBlockingUp"},
		}
		for object, why := range map[*appv1alpha1.OpsConfigInfo]string{stray: "OtherNamespace", unknown: "UnknownName"} {
			Expect(kube.Create(ctx, object)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(client.IgnoreNotFound(kube.Delete(ctx, object))).To(Succeed()) })
			Eventually(func() string {
				Expect(kube.Get(ctx, client.ObjectKeyFromObject(object), object)).To(Succeed())
				return reason(object.Status.Conditions, "Effective")
			}).Should(Equal(why))
		}
	})

	It("keep the last good value while the spec can't be used", func(ctx context.Context) {
		configure(ctx, "branch", `{"spec":{"enable":true,"content":"2"}}`)
		output, err := kubectl(ctx, "-n", system, "patch", "opsconfiginfo", "branch", "--type", "merge", "-p",
			`{"spec":{"type":"isBlockingUp","content":"abc"}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string { return settingReason(ctx, "branch") }).Should(Equal("UnusableSpec"))
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(4)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(podsPerBatch(ctx, namespace)).To(Equal([]int{2, 2}))
	})

	It("batch pods, without waiting for the last batch to fill", func(ctx context.Context) {
		configure(ctx, "branch", `{"spec":{"enable":true,"content":"3"}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(7)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(podsPerBatch(ctx, namespace)).To(Equal([]int{3, 3, 1}))
	})

	It("check the pods that are there when the threshold isn't reached in time", func(ctx context.Context) {
		configure(ctx, "branch", `{"spec":{"enable":true,"content":"10"}}`)
		namespace := controlledNamespace(ctx)
		By("letting one pod of five find no node")
		Expect(kube.Create(ctx, sleep(namespace, oncePerNode))).To(Succeed())
		name := currentName(ctx, namespace, "sleep")
		Eventually(func() int { return finishedPods(ctx, namespace) }).Should(Equal(4))
		Eventually(func() *metav1.Time { return presentRecord(ctx, namespace).Status.WaitDeadline }).ShouldNot(BeNil())
		output, err := kubectl(ctx, "-n", namespace, "patch", "changeworkload", name, "--subresource=status", "--type", "merge", "-p",
			fmt.Sprintf(`{"status":{"waitDeadline":%q}}`, time.Now().UTC().Format(time.RFC3339)))
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(name, "TimeOutPreThreshold"))
		Eventually(func() []int { return podsPerBatch(ctx, namespace) }).Should(Equal([]int{4}))
		Expect(reasonOf(ctx, namespace, name)).To(Equal("ThresholdTimeout"))
		By("going on as soon as fewer pods are wanted")
		output, err = kubectl(ctx, "-n", namespace, "scale", "deployment", "sleep", "--replicas=4")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("let pods finish without a label while finished-label is off", func(ctx context.Context) {
		configure(ctx, "finished-label", `{"spec":{"enable":false}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2), func(deployment *appsv1.Deployment) { deployment.Spec.MinReadySeconds = 2 }))).To(Succeed())
		verified(ctx, namespace, "sleep")
		Expect(finishedPods(ctx, namespace)).To(BeZero())

		By("turning it on again")
		output, err := kubectl(ctx, "-n", system, "patch", "opsconfiginfo", "finished-label", "--type", "merge", "-p", `{"spec":{"enable":true}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() int { return finishedPods(ctx, namespace) }).Should(Equal(2))
	})

	It("stop new suspensions when blocking is off, and lift none", func(ctx context.Context) {
		before := controlledNamespace(ctx)
		suspended(ctx, before)
		configure(ctx, "blocking", `{"spec":{"enable":false}}`)
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		fail(ctx, namespace, first+"--x--1")
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend"}))
		Expect(reason(workload(ctx, namespace, first).Status.Conditions, "Suspended")).To(Equal("BlockingDisabled"))
		Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(labelsOf(ctx, before)()).To(HaveKey("altershield.defense.antgroup.com/suspend"))
		output, err := release(ctx, before, "test")
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring(denial))

		By("turning it on again")
		output, err = kubectl(ctx, "-n", system, "patch", "opsconfiginfo", "blocking", "--type", "merge", "-p", `{"spec":{"enable":true}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
	})
})

func settingReason(ctx context.Context, name string) string {
	var setting appv1alpha1.OpsConfigInfo
	if err := kube.Get(ctx, client.ObjectKey{Namespace: system, Name: name}, &setting); err != nil {
		return err.Error()
	}
	return reason(setting.Status.Conditions, "Effective")
}

// oncePerNode leaves one pod of five without a node: there are four.
func oncePerNode(d *appsv1.Deployment) {
	d.Spec.Template.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
			LabelSelector: d.Spec.Selector, TopologyKey: "kubernetes.io/hostname",
		}},
	}}
}
