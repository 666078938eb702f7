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
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

const (
	versionLabel = "admission-webhook-altershield.antgroup.com/version"
	firstVersion = "c6c45d23c098bdf181853a85b60b5d74"
	// missingImage can't be pulled.
	missingImage = `{"spec":{"template":{"spec":{"containers":[{"name":"sleep","image":"busybox:missing"}]}}}}`
)

// patchSleep changes the Deployment sleep by a strategic merge patch, as a user would.
func patchSleep(ctx context.Context, namespace, patch string) (string, error) {
	return kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "-p", patch)
}

// patient turns off rollbacks of releases whose pods don't run: good ones take long on a slow machine.
func patient(ctx context.Context) {
	GinkgoHelper()
	configure(ctx, "stuck-rollback", `{"spec":{"enable":false}}`)
}

// losePatience causes a rollback of releases that don't run at once.
func losePatience(ctx context.Context, rolledBack func()) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", system, "patch", "opsconfiginfo", "stuck-rollback", "--type=merge", "-p", `{"spec":{"enable":true,"content":"1s"}}`)
	Expect(err).NotTo(HaveOccurred(), output)
	rolledBack()
	output, err = kubectl(ctx, "-n", system, "patch", "opsconfiginfo", "stuck-rollback", "--type=merge", "-p", `{"spec":{"enable":false}}`)
	Expect(err).NotTo(HaveOccurred(), output)
	Eventually(func() bool { return settingSeen(ctx, "stuck-rollback") }).Should(BeTrue())
}

// podsAt returns the pods of a version.
func podsAt(ctx context.Context, namespace, version string) []corev1.Pod {
	GinkgoHelper()
	var pods corev1.PodList
	Expect(kube.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{versionLabel: version})).To(Succeed())
	return pods.Items
}

// scaleUp returns the Event by which cluster-autoscaler announces a node to a pod.
func scaleUp(pod *corev1.Pod) *corev1.Event {
	return &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: pod.Namespace, GenerateName: pod.Name + "."},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Type:           corev1.EventTypeNormal, Reason: "TriggeredScaleUp", Message: "pod triggered scale-up: [{group 1->2 (max: 9)}]",
		Source: corev1.EventSource{Component: "cluster-autoscaler"}, FirstTimestamp: metav1.Now(), LastTimestamp: metav1.Now(), Count: 1,
	}
}

// troubles returns the waiting reasons in the statuses of a version's pods, each once.
func troubles(ctx context.Context, namespace, version string) func() []string {
	return func() []string {
		var reasons []string
		for _, pod := range podsAt(ctx, namespace, version) {
			for _, condition := range pod.Status.Conditions {
				if condition.Type == "PodScheduled" && condition.Status == "False" {
					reasons = append(reasons, condition.Reason)
				}
			}
			for _, status := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
				if status.State.Waiting != nil {
					reasons = append(reasons, status.State.Waiting.Reason)
				}
				if status.State.Terminated != nil {
					reasons = append(reasons, status.State.Terminated.Reason)
				}
			}
		}
		slices.Sort(reasons)
		return slices.Compact(reasons)
	}
}

// goesBad verifies the sample, makes a bad release, and returns its version.
func goesBad(ctx context.Context, namespace, patch string, changes ...func(*appsv1.Deployment)) (bad string) {
	GinkgoHelper()
	Expect(kube.Create(ctx, sleep(namespace, changes...))).To(Succeed())
	verified(ctx, namespace, "sleep")
	output, err := patchSleep(ctx, namespace, patch)
	Expect(err).NotTo(HaveOccurred(), output)
	return released(ctx, namespace)()
}

// released returns the current version of the Deployment sleep.
func released(ctx context.Context, namespace string) func() string {
	return func() string { return labelsOf(ctx, namespace)()[versionLabel] }
}

// backAtFirst waits until the sample is back at its first version, with all pods.
func backAtFirst(ctx context.Context, namespace string) {
	GinkgoHelper()
	Eventually(released(ctx, namespace)).Should(Equal(firstVersion))
	Eventually(releases(ctx, namespace)).Should(Equal(map[string]string{first: "Success"}))
	Eventually(readyPods(ctx, namespace)).Should(Equal([]string{firstVersion + " x5"}))
	Eventually(labelsOf(ctx, namespace)).Should(HaveKeyWithValue("altershield.defense.antgroup.com/defense-status", "processed"))
	deployment := get(ctx, namespace, "sleep")
	Expect(deployment.Spec.Template.Labels).To(HaveKeyWithValue("test", "123"))
	Expect(deployment.Spec.Paused).To(BeFalse())
}

// readyPods counts the ready pods of each version, and other pods.
func readyPods(ctx context.Context, namespace string) func() []string {
	return func() []string {
		var pods corev1.PodList
		if err := kube.List(ctx, &pods, client.InNamespace(namespace)); err != nil {
			return []string{err.Error()}
		}
		counts := map[string]int{}
		for _, pod := range pods.Items {
			if isReady(&pod) {
				counts[pod.Labels[versionLabel]]++
			} else {
				counts["not ready: "+pod.Labels[versionLabel]]++
			}
		}
		var result []string
		for version, count := range counts {
			result = append(result, fmt.Sprintf("%s x%d", version, count))
		}
		slices.Sort(result)
		return result
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
		return condition.Type == "Ready" && condition.Status == "True"
	})
}

// rollbacksOf returns the rollbacks recorded on the Deployment sleep.
func rollbacksOf(ctx context.Context, namespace string) []appv1alpha1.Rollback {
	GinkgoHelper()
	return appv1alpha1.RollbacksOf(get(ctx, namespace, "sleep").Annotations)
}

// notes returns the notes of the Events about Deployments with this reason. A repeated Event counts once.
func notes(ctx context.Context, namespace, reason string) func() []string {
	return toldOf(ctx, namespace, func(event eventsv1.Event) (string, bool) {
		return event.Note, event.Reason == reason && event.Regarding.Kind == "Deployment"
	})
}

// twoVerified releases the sample and then its repair, and waits for both to be verified.
func twoVerified(ctx context.Context, namespace string, changes ...func(*appsv1.Deployment)) (second string) {
	GinkgoHelper()
	Expect(kube.Create(ctx, sleep(namespace, changes...))).To(Succeed())
	verified(ctx, namespace, "sleep")
	return repairVerified(ctx, namespace)
}

// repairVerified releases the repair of the sample and waits until it is verified and the record of the release before
// is removed, which happens after the verification.
func repairVerified(ctx context.Context, namespace string) (version string) {
	GinkgoHelper()
	output, err := release(ctx, namespace, "1234")
	Expect(err).NotTo(HaveOccurred(), output)
	version = verified(ctx, namespace, "sleep").Spec.Reversion
	Eventually(releases(ctx, namespace)).Should(HaveLen(1))
	return version
}

// revisions returns the kept templates of a namespace as shown by kubectl: name, controller and revision.
func revisions(ctx context.Context, namespace string) []string {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", namespace, "get", "controllerrevisions", "--no-headers")
	Expect(err).NotTo(HaveOccurred(), output)
	var rows []string
	for line := range strings.Lines(output) {
		if fields := strings.Fields(line); !strings.HasPrefix(line, "No resources found") {
			rows = append(rows, strings.Join(fields[:3], " "))
		}
	}
	slices.Sort(rows)
	return rows
}
