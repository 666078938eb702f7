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

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	first  = "sleep--x--c6c45d23c098bdf181853a85b60b5d74"
	second = "sleep--x--6a8ff823a5011291b0f02a1d83c2222d"
	denial = `Error from server (deployment sleep is suspended): admission webhook "vdeployment.kb.io" denied the request: deployment sleep is suspended`
)

var _ = Describe("The documents' walkthrough", func() {
	It("records, checks, suspends and repairs a release", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		By("recording the release and checking each pod by itself")
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success"}))
		Expect(endsOf(ctx, namespace)).To(Equal([]string{
			first + "--x--1 ExecuteDone/PreFailed",
			first + "--x--2 ExecuteDone/PreFailed",
			first + "--x--3 ExecuteDone/PreFailed",
			first + "--x--4 ExecuteDone/PreFailed",
			first + "--x--5 ExecuteDone/PreFailed",
		}))
		Eventually(labelsOf(ctx, namespace)).Should(Equal(map[string]string{
			"app": "sleep",
			"admission-webhook-altershield.antgroup.com/version": "c6c45d23c098bdf181853a85b60b5d74",
			"altershield.defense.antgroup.com/defense-status":    "processed",
		}))
		expectFinishedPods(ctx, namespace, 5)

		By("suspending the release after a verdict set by hand")
		fail(ctx, namespace, first+"--x--1")
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend"}))
		Expect(labelsOf(ctx, namespace)()["altershield.defense.antgroup.com/suspend"]).To(MatchRegexp(`^\d{10}$`))
		failed := workload(ctx, namespace, first).Status.DefenseCheckFailPods
		Expect(failed).To(HaveLen(1))
		Expect(failed[0].Verdict).To(BeEquivalentTo("unpass"))
		Expect(failed[0].Message).To(Equal("find error"))

		By("denying the next release and nothing else")
		Eventually(denialOf(ctx, namespace, "test")).Should(And(HaveSuffix(denial+"\n"),
			ContainSubstring("failed its check: find error"), ContainSubstring("altershield.defense.antgroup.com/ignored-suspend=true")))
		for _, command := range [][]string{
			{"scale", "deployment", "sleep", "--replicas=6"},
			{"annotate", "deployment", "sleep", "team=shop"},
			{"label", "deployment", "sleep", "tier=web"},
		} {
			output, err := kubectl(ctx, append([]string{"-n", namespace}, command...)...)
			Expect(err).NotTo(HaveOccurred(), output)
		}
		Eventually(func() int32 { return get(ctx, namespace, "sleep").Status.ReadyReplicas }).Should(BeEquivalentTo(6),
			"the deployment controller's own updates pass")

		By("letting a repair through and lifting the suspension when it succeeded")
		repairSleep(ctx, namespace, 6)
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{second: "Success"}))
		Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
		Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/ignored-suspend"))
		Eventually(func() []string { return eventReasons(ctx, namespace) }).Should(ContainElements("ReleaseSucceeded", "ReleaseSuspended", "SuspensionIgnored"))

		By("letting normal releases through again")
		output, err := release(ctx, namespace, "test")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("lists both releases while the repair runs", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type", "merge", "-p",
			`{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		repair := currentName(ctx, namespace, "sleep")
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend", repair: "Running"}))
		Expect(labelsOf(ctx, namespace)()).To(HaveKey("altershield.defense.antgroup.com/suspend"), "it is not verified yet")
		output, err = release(ctx, namespace, "test")
		Expect(err).To(HaveOccurred(), "the label was good for one release")
		Expect(output).To(ContainSubstring(denial))
	})

	It("ends in the same state when the manager is killed after every step", slow, func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		restart := func() {
			Expect(manager.Kill(ctx)).To(Succeed())
			Expect(manager.Start(ctx)).To(Succeed())
		}
		Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
		restart()
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success"}))
		expectEveryPodOnce(ctx, namespace, 5)
		restart()
		Consistently(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success"}))
		fail(ctx, namespace, first+"--x--1")
		restart()
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Suspend"}))
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
		repairSleep(ctx, namespace, 5)
		restart()
		Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{second: "Success"}))
		Eventually(labelsOf(ctx, namespace)).Should(Equal(map[string]string{
			"app": "sleep",
			"admission-webhook-altershield.antgroup.com/version": "6a8ff823a5011291b0f02a1d83c2222d",
			"altershield.defense.antgroup.com/defense-status":    "processed",
		}))
		Eventually(func() []string { return endsOf(ctx, namespace) }).Should(HaveLen(5))
		expectEveryPodOnce(ctx, namespace, 5)
	})
})

func repairSleep(ctx context.Context, namespace string, count int32) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type", "merge", "-p", fmt.Sprintf(
		`{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"replicas":%d,"template":{"metadata":{"labels":{"test":"1234"}}}}}`, count))
	Expect(err).NotTo(HaveOccurred(), output)
}

// endsOf returns the state of each ChangePod of a namespace.
func endsOf(ctx context.Context, namespace string) []string {
	var result []string
	for _, changePod := range changePods(ctx, namespace) {
		result = append(result, fmt.Sprintf("%s %s/%s", changePod.Name, changePod.Status.Status, changePod.Status.Message))
	}
	slices.Sort(result)
	return result
}

// expectEveryPodOnce checks that every pod is in one ChangePod, and that all ChangePods have ended.
func expectEveryPodOnce(ctx context.Context, namespace string, pods int) {
	GinkgoHelper()
	claims := map[string]int{}
	for _, changePod := range changePods(ctx, namespace) {
		Expect(changePod.Status.Status).To(BeEquivalentTo("ExecuteDone"), changePod.Name)
		for _, pod := range changePod.Spec.PodInfos {
			claims[pod.Pod]++
		}
	}
	Expect(claims).To(HaveLen(pods))
	for pod, count := range claims {
		Expect(count).To(Equal(1), pod)
	}
}

func expectFinishedPods(ctx context.Context, namespace string, count int) {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, client.InNamespace(namespace),
		client.HasLabels{"altershield.defense.antgroup.com/operate-finished"})).To(Succeed())
	Expect(pods.Items).To(HaveLen(count))
	for _, pod := range pods.Items {
		Expect(pod.Labels["altershield.defense.antgroup.com/operate-finished"]).To(MatchRegexp(`^\d{10}$`))
	}
}

// eventReasons returns the reasons of the Events about the Deployments of a namespace.
func eventReasons(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", namespace, "get", "events.events.k8s.io", "-o",
		`jsonpath={range .items[?(@.regarding.kind=="Deployment")]}{.reason}{"\n"}{end}`)
	Expect(err).NotTo(HaveOccurred(), output)
	return strings.Fields(output)
}
