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
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

var (
	_ = Describe("Unusual releases", unusualReleases)
	_ = Describe("Objects touched by hand", touchedByHand)

	_ = Describe("With every rollback switched on", slow, func() {
		BeforeEach(func(ctx context.Context) {
			configure(ctx, "stuck-rollback", `{"spec":{"content":"1m"}}`) // good releases take longer on a slow machine
			configure(ctx, "suspended-rollback", `{"spec":{"enable":true}}`)
		})
		Context("unusual releases", unusualReleases)
		Context("objects touched by hand", touchedByHand)
	})
)

func unusualReleases() {
	It("of a Deployment with the longest name that its pods allow", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		long := strings.Repeat("n", 242)
		Expect(kube.Create(ctx, sleep(namespace, named(long), replicas(2)))).To(Succeed())
		Eventually(func() []string { return statuses(ctx, namespace) }).Should(Equal([]string{"Success"}))
		var list appv1alpha1.ChangeWorkloadList
		Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
		Expect(list.Items[0].Spec.AppName).To(Equal(long))
		Expect(list.Items[0].Name).To(HaveSuffix("--x--c6c45d23c098bdf181853a85b60b5d74"))
		Expect(changePods(ctx, namespace)).To(HaveLen(2))
	})

	It("of a Deployment with a name of 253 characters, whose pods Kubernetes can't make", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, named(strings.Repeat("n", 253))))).To(Succeed())
		Eventually(func() []string { return statuses(ctx, namespace) }).Should(Equal([]string{"Running"}))
	})

	It("with no replicas, checked once they are there", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(0)))).To(Succeed())
		Eventually(func() string { return reasonOf(ctx, namespace, first) }).Should(Equal("NoReplicas"))
		Expect(releases(ctx, namespace)()).To(Equal(map[string]string{first: "Success"}))
		output, err := kubectl(ctx, "-n", namespace, "scale", "deployment", "sleep", "--replicas=2")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
		Expect(changePods(ctx, namespace)).To(HaveLen(2))
	})

	It("of two Deployments with the same template, whose pods don't mix", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, named("one"), replicas(3)))).To(Succeed())
		Expect(kube.Create(ctx, sleep(namespace, named("two"), replicas(3)))).To(Succeed())
		verified(ctx, namespace, "one")
		verified(ctx, namespace, "two")
		Expect(changePods(ctx, namespace)).To(HaveLen(6))
		for _, changePod := range changePods(ctx, namespace) {
			deployment := strings.SplitN(changePod.Name, "--x--", 2)[0]
			Expect(podsOf(ctx, namespace, deployment+"-")).To(HaveKey(changePod.Spec.PodInfos[0].Pod))
		}
	})

	It("of a Deployment that is deleted in the middle leave nothing behind", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, oncePerNode))).To(Succeed())
		Eventually(func() int { return len(changePods(ctx, namespace)) }).Should(Equal(4))
		Expect(kube.Delete(ctx, get(ctx, namespace, "sleep"))).To(Succeed())
		Eventually(releases(ctx, namespace)).Should(BeEmpty())
		Eventually(func() []appv1alpha1.ChangePod { return changePods(ctx, namespace) }).Should(BeEmpty())
	})

	It("of a Deployment that was deleted and created again begin like the first", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		for range 2 {
			Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
			verified(ctx, namespace, "sleep")
			Expect(endsOf(ctx, namespace)).To(Equal([]string{first + "--x--1 ExecuteDone/PreFailed", first + "--x--2 ExecuteDone/PreFailed"}))
			Expect(kube.Delete(ctx, get(ctx, namespace, "sleep"))).To(Succeed())
			Eventually(func() int { return len(changePods(ctx, namespace)) }).Should(BeZero())
		}
	})

	It("of a paused Deployment wait until it is resumed", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, func(d *appsv1.Deployment) { d.Spec.Paused = true }))).To(Succeed())
		Eventually(func() string { return reasonOf(ctx, namespace, first) }).Should(Equal("DeploymentPaused"))
		Expect(workload(ctx, namespace, first).Status.WaitDeadline).To(BeNil())
		output, err := kubectl(ctx, "-n", namespace, "rollout", "resume", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("with the strategy Recreate", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, func(d *appsv1.Deployment) {
			d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
		}))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{second: "Success"}))
	})

	It("whose pods must be ready for a while are not finished before", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1), func(d *appsv1.Deployment) {
			d.Spec.MinReadySeconds, d.Spec.ProgressDeadlineSeconds = 3600, ptr.To[int32](7200)
		}))).To(Succeed())
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.ReadyReplicas }).Should(BeEquivalentTo(1))
		Consistently(func() []appv1alpha1.ChangePod { return changePods(ctx, namespace) }).Should(BeEmpty())
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type", "merge", "-p", `{"spec":{"minReadySeconds":0}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("back to an earlier version are checked anew", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		By("leaving the next release unfinished")
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type", "merge", "-p",
			`{"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		stuck := currentName(ctx, namespace, "sleep")
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success", stuck: "Running"}))
		output, err = kubectl(ctx, "-n", namespace, "rollout", "undo", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success"}))
		again := workload(ctx, namespace, first)
		Expect(again.Spec.Release).To(BeEquivalentTo(3))
		Expect(again.Status.ObservedRelease).To(BeEquivalentTo(3))
		Eventually(func() map[string]bool { return podsOf(ctx, namespace, "sleep-") }).Should(HaveLen(5), "the stuck pods go")
		checked := map[string]bool{}
		for _, changePod := range changePods(ctx, namespace) {
			if changePod.Spec.Release == 3 {
				checked[changePod.Spec.PodInfos[0].Pod] = true
			}
		}
		Expect(checked).To(Equal(podsOf(ctx, namespace, "sleep-")), "every pod was checked again")
	})

	It("that follow each other at once leave only the last", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		for _, value := range []string{"a", "b", "1234"} {
			output, err := release(ctx, namespace, value)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{second: "Success"}))
		Expect(workload(ctx, namespace, second).Spec.Release).To(BeEquivalentTo(4))
	})

	It("in a namespace that is opted out stop, and go on when it returns", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, oncePerNode))).To(Succeed())
		name := currentName(ctx, namespace, "sleep")
		Eventually(func() int { return len(changePods(ctx, namespace)) }).Should(Equal(4))
		output, err := kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string { return reasonOf(ctx, namespace, name) }).Should(Equal("NamespaceOptedOut"))
		output, err = kubectl(ctx, "-n", namespace, "scale", "deployment", "sleep", "--replicas=4")
		Expect(err).NotTo(HaveOccurred(), output)
		Consistently(releases(ctx, namespace)).Should(Equal(map[string]string{name: "Running"}))
		optIn(ctx, namespace)
		verified(ctx, namespace, "sleep")
	})

	It("that no webhook saw are not taken for the release before them", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, oncePerNode))).To(Succeed())
		name := currentName(ctx, namespace, "sleep")
		Eventually(func() int { return len(changePods(ctx, namespace)) }).Should(Equal(4))
		output, err := kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string {
			output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--dry-run=server", "--type", "merge", "-p",
				`{"spec":{"template":{"metadata":{"labels":{"test":"unseen"}}}}}`, "-o", `jsonpath={.metadata.annotations.altershield\.defense\.antgroup\.com/release}`)
			Expect(err).NotTo(HaveOccurred(), output)
			return output
		}).Should(Equal("1"), "the API server has yet to stop calling the webhook")
		output, err = kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type", "merge", "-p",
			`{"spec":{"replicas":4,"strategy":{"type":"Recreate","rollingUpdate":null},"template":{"metadata":{"labels":{"test":"unseen"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.UpdatedReplicas }).Should(BeEquivalentTo(4))
		optIn(ctx, namespace)
		Eventually(func() string { return reasonOf(ctx, namespace, name) }).Should(Equal("TemplateUnseen"))
		Consistently(func() int { return len(changePods(ctx, namespace)) }).Should(Equal(4))
		output, err = release(ctx, namespace, "seen")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("whose version was forged without the webhooks are reported, and the next one is checked", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() string {
			output, err := kubectl(ctx, "-n", namespace, "label", "--overwrite", "deployment", "sleep", "admission-webhook-altershield.antgroup.com/version=Mine_2")
			Expect(err).NotTo(HaveOccurred(), output)
			return get(ctx, namespace, "sleep").Labels[versionLabel]
		}).Should(Equal("Mine_2"), "the API server has yet to stop calling the webhook")
		optIn(ctx, namespace)
		Eventually(notes(ctx, namespace, "ReleaseNotRecorded")).Should(ConsistOf(HavePrefix("release Mine_2 is not checked: the operator did not set its label " +
			"admission-webhook-altershield.antgroup.com/version; the next change of the pod template is checked again: ")))
		output, err = release(ctx, namespace, "next")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("restarted by kubectl rollout restart are checked like any other", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "-n", namespace, "rollout", "restart", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(currentName(ctx, namespace, "sleep")).NotTo(Equal(first))
		verified(ctx, namespace, "sleep")
	})

	It("don't begin when a verified Deployment is scaled", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(2)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "-n", namespace, "scale", "deployment", "sleep", "--replicas=4")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.ReadyReplicas }).Should(BeEquivalentTo(4))
		Consistently(func() int { return len(changePods(ctx, namespace)) }).Should(Equal(2))
	})
}

func touchedByHand() {
	It("an unpass for a pod that doesn't exist suspends, and the ChangePod shows it", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		verified(ctx, namespace, "sleep")
		failPod(ctx, namespace, first+"--x--1", "sleep-5c698f4449-fsb27")
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend"}))
		Eventually(func() string { return changePodReason(ctx, namespace, first+"--x--1") }).Should(Equal("UnknownPods"))
	})

	// One object that can't be decoded would prevent the operator from listing its kind.
	It("a time that the operator couldn't read is refused", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		condition := func(since string) string {
			return `{"conditions":[{"type":"Verified","status":"True","reason":"AllPodsPassed","message":"","lastTransitionTime":"` + since + `"}]}`
		}
		for _, row := range []struct{ kind, name, patch, field string }{
			{"changepod", first + "--x--1", `{"verdictTime":"2026-11-21T10:00:00Z"}`, "status.verdictTime"},
			{"changepod", first + "--x--1", `{"deadline":"2026-11-21t10:00:00z"}`, "status.deadline"},
			{"changeworkload", first, `{"waitDeadline":"2026-11-21T10:00:00+99:00"}`, "status.waitDeadline"},
			{"changeworkload", first, `{"earlyVerdicts":[{"changePodId":"a","stage":"PRE","verdict":"pass","time":"2026-11-21T10:00:00Z"}]}`, "status.earlyVerdicts[0].time"},
			{"changepod", first + "--x--1", condition("2026-11-21t10:00:00Z"), "status.conditions[0].lastTransitionTime"},
			{"changeworkload", first, condition("2026-11-21T10:00:00+99:00"), "status.conditions[0].lastTransitionTime"},
		} {
			output, err := kubectl(ctx, "-n", namespace, "patch", row.kind, row.name, "--subresource=status", "--type", "merge", "-p", `{"status":`+row.patch+`}`)
			Expect(err).To(HaveOccurred(), row.patch)
			Expect(output).To(ContainSubstring(row.field + ": Invalid value"))
		}
		output, err := release(ctx, namespace, "1234")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("a failed pod that is deleted leaves the Deployment suspended", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		pod := workload(ctx, namespace, first).Status.DefenseCheckFailPods[0].Pod
		output, err := kubectl(ctx, "-n", namespace, "delete", "pod", pod)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.ReadyReplicas }).Should(BeEquivalentTo(5))
		Consistently(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend"}))
		Expect(labelsOf(ctx, namespace)()).To(HaveKey("altershield.defense.antgroup.com/suspend"))
	})

	It("a verdict that is withdrawn lifts the suspension", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		output, err := kubectl(ctx, "-n", namespace, "patch", "changepod", first+"--x--1", "--subresource=status", "--type", "merge", "-p", `{"status":{"podResults":[]}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
		verified(ctx, namespace, "sleep")
	})

	It("a ChangePod that is deleted is replaced under a new number", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, oncePerNode))).To(Succeed())
		name := currentName(ctx, namespace, "sleep")
		Eventually(func() []string { return endsOf(ctx, namespace) }).Should(HaveLen(4))
		for number := 4; number < 7; number++ {
			newest := metav1.ObjectMeta{Namespace: namespace, Name: name + "--x--" + string(rune('0'+number))}
			Expect(kube.Delete(ctx, &appv1alpha1.ChangePod{ObjectMeta: newest})).To(Succeed())
			Eventually(func() []string { return endsOf(ctx, namespace) }).Should(
				ContainElement(name + "--x--" + string(rune('1'+number)) + " ExecuteDone/PreFailed"))
		}
		Eventually(func() []string { return endsOf(ctx, namespace) }).Should(And(HaveLen(4), HaveEach(HaveSuffix(" ExecuteDone/PreFailed"))))
		expectEveryPodOnce(ctx, namespace, 4)
	})

	It("a ChangeWorkload that is deleted is recorded and checked again", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		before := verified(ctx, namespace, "sleep")
		Expect(kube.Delete(ctx, before)).To(Succeed())
		Eventually(func() bool {
			var again appv1alpha1.ChangeWorkload
			err := kube.Get(ctx, client.ObjectKeyFromObject(before), &again)
			return err == nil && again.UID != before.UID && again.Status.Status == "Success"
		}).Should(BeTrue())
		Eventually(func() []string { return endsOf(ctx, namespace) }).Should(HaveLen(5))
		for _, end := range endsOf(ctx, namespace) {
			Expect(end).To(MatchRegexp(`--x--(6|7|8|9|10) ExecuteDone/PreFailed$`), "numbers are not used again")
		}
	})

	It("a suspended ChangeWorkload that is deleted keeps releases out until its pods passed again", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		Expect(kube.Delete(ctx, workload(ctx, namespace, first))).To(Succeed())
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success"}))
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
	})

	It("a status of a ChangeWorkload that is forged is recounted", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		output, err := kubectl(ctx, "-n", namespace, "patch", "changeworkload", first, "--subresource=status", "--type", "merge", "-p", `{"status":{"status":"Success","defenseCheckFailPods":[]}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend"}))
		Eventually(func() int { return len(workload(ctx, namespace, first).Status.DefenseCheckFailPods) }).WithTimeout(time.Minute).Should(Equal(1))
	})

	It("garbage in a status is refused by the API server", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(1)))).To(Succeed())
		verified(ctx, namespace, "sleep")
		for _, patch := range []string{
			`{"status":{"status":"Nonsense"}}`,
			`{"status":{"podResults":[{"pod":"p","verdict":"maybe"}]}}`,
			`{"status":{"podResults":[{"verdict":"unpass"}]}}`,
		} {
			_, err := kubectl(ctx, "-n", namespace, "patch", "changepod", first+"--x--1", "--subresource=status", "--type", "merge", "-p", patch)
			Expect(err).To(HaveOccurred(), patch)
		}
		output, err := kubectl(ctx, "-n", namespace, "patch", "changepod", first+"--x--1", "--type", "merge", "-p", `{"spec":{"podInfos":[{"pod":"other"}]}}`)
		Expect(err).To(HaveOccurred())
		Expect(output).To(ContainSubstring("the pods of a batch can't be changed"))
	})
}

func statuses(ctx context.Context, namespace string) []string {
	var result []string
	for _, status := range releases(ctx, namespace)() {
		result = append(result, status)
	}
	return result
}

func changePodReason(ctx context.Context, namespace, name string) string {
	var object appv1alpha1.ChangePod
	if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object); err != nil {
		return err.Error()
	}
	return reason(object.Status.Conditions, "Verified")
}
