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
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// controlledNamespace creates an opted-in namespace for one spec.
func controlledNamespace(ctx context.Context) string {
	GinkgoHelper()
	return newNamespace(ctx, map[string]string{"admission-webhook-altershield": "enabled"})
}

func newNamespace(ctx context.Context, labels map[string]string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "spec-", Labels: labels}}
	Expect(kube.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, namespace))).To(Succeed())
	})
	return namespace.Name
}

// sleep returns the sample of the documents.
func sleep(namespace string, changes ...func(*appsv1.Deployment)) *appsv1.Deployment {
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sleep", Labels: map[string]string{"app": "sleep"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](5),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "sleep"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "sleep", "test": "123"}},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{
					Name: "sleep", Image: "busybox", Command: []string{"/bin/sleep", "infinity"}, ImagePullPolicy: corev1.PullIfNotPresent,
				}}},
			},
		},
	}
	for _, change := range changes {
		change(deployment)
	}
	return deployment
}

func replicas(count int32) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Spec.Replicas = ptr.To(count) }
}

func named(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) { d.Name = name }
}

// alone gives the Deployment a name and its own pods.
func alone(name string) func(*appsv1.Deployment) {
	return func(d *appsv1.Deployment) {
		d.Name = name
		d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}
		d.Spec.Template.Labels["app"] = name
	}
}

// kubectl runs a command as a cluster admin.
func kubectl(ctx context.Context, args ...string) (string, error) {
	command := exec.CommandContext(ctx, plane.Kubectl(), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig())
	output, err := command.CombinedOutput()
	return string(output), err
}

// kubectlWith runs a command with a manifest on its standard input.
func kubectlWith(ctx context.Context, manifest string, args ...string) (string, error) {
	command := exec.CommandContext(ctx, plane.Kubectl(), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig())
	command.Stdin = strings.NewReader(manifest)
	output, err := command.CombinedOutput()
	return string(output), err
}

// documented returns the commands of a section of docs/operate.md, block by block, with a namespace in place of shop.
func documented(section, namespace string) []string {
	GinkgoHelper()
	var commands []string
	for _, block := range blocks("operate.md", section) {
		commands = append(commands, regexp.MustCompile(`\bshop\b`).ReplaceAllString(block, namespace))
	}
	return commands
}

// blocks returns the commands of a section of a page, block by block.
func blocks(name, section string) []string {
	GinkgoHelper()
	page, err := os.ReadFile(filepath.Join("..", "docs", name))
	Expect(err).NotTo(HaveOccurred())
	_, text, found := strings.Cut(string(page), "\n## "+section+"\n")
	Expect(found).To(BeTrue())
	text, _, _ = strings.Cut(text, "\n## ")
	var commands []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		commands = append(commands, block[1])
	}
	return commands
}

// bash runs commands as a cluster admin who has kubectl, and returns what they print.
func bash(ctx context.Context, commands string) string {
	GinkgoHelper()
	command := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	command.Dir = ".."
	command.Env = append(os.Environ(), "KUBECONFIG="+plane.Kubeconfig(), "PATH="+filepath.Dir(plane.Kubectl())+":"+os.Getenv("PATH"))
	output, err := command.CombinedOutput()
	Expect(err).NotTo(HaveOccurred(), string(output))
	return string(output)
}

// release changes the label test of the pod template.
func release(ctx context.Context, namespace, value string) (string, error) {
	return kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type", "merge", "-p",
		fmt.Sprintf(`{"spec":{"template":{"metadata":{"labels":{"test":%q}}}}}`, value))
}

// denialOf returns what a denied release tells its author, for Eventually: the reason comes from a status that is written after the label that denies,
// and the webhook reads it from its cache.
func denialOf(ctx context.Context, namespace, value string) func() string {
	return func() string {
		GinkgoHelper()
		output, err := release(ctx, namespace, value)
		Expect(err).To(HaveOccurred(), output)
		return output
	}
}

// known waits until the operator has seen an object of its own as it is now, by the generation in its status. Releases follow it from then on.
func known(ctx context.Context, kind, namespace, name string) {
	GinkgoHelper()
	Eventually(func() bool {
		output, err := kubectl(ctx, "-n", namespace, "get", kind, name, "-o", "jsonpath={.metadata.generation} {.status.observedGeneration}")
		present, observed, _ := strings.Cut(output, " ")
		return err == nil && observed == present
	}).Should(BeTrue())
}

func get(ctx context.Context, namespace, name string) *appsv1.Deployment {
	GinkgoHelper()
	var deployment appsv1.Deployment
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &deployment)).To(Succeed())
	return &deployment
}

// labelsOf reads the labels of the Deployment sleep, for Eventually and Consistently.
func labelsOf(ctx context.Context, namespace string) func() map[string]string {
	return func() map[string]string {
		var deployment appsv1.Deployment
		if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "sleep"}, &deployment); err != nil {
			return nil
		}
		return deployment.Labels
	}
}

// releases maps each ChangeWorkload of a namespace to its status.
func releases(ctx context.Context, namespace string) func() map[string]string {
	return func() map[string]string {
		var list appv1alpha1.ChangeWorkloadList
		if err := kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return nil
		}
		result := map[string]string{}
		for _, workload := range list.Items {
			result[workload.Name] = string(workload.Status.Status)
		}
		return result
	}
}

func workload(ctx context.Context, namespace, name string) *appv1alpha1.ChangeWorkload {
	GinkgoHelper()
	var object appv1alpha1.ChangeWorkload
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object)).To(Succeed())
	return &object
}

// currentName returns the name of the ChangeWorkload of the Deployment's current version.
func currentName(ctx context.Context, namespace, deployment string) string {
	GinkgoHelper()
	return deployment + "--x--" + get(ctx, namespace, deployment).Labels["admission-webhook-altershield.antgroup.com/version"]
}

// verified waits until the current release of a Deployment is at Success with every pod passed, and returns it. Earlier releases of
// its version don't count.
func verified(ctx context.Context, namespace, deployment string) *appv1alpha1.ChangeWorkload {
	GinkgoHelper()
	name, number := currentName(ctx, namespace, deployment), "1"
	if counted, found := get(ctx, namespace, deployment).Annotations["altershield.defense.antgroup.com/release"]; found {
		number = counted
	}
	var object appv1alpha1.ChangeWorkload
	Eventually(func() string {
		object = appv1alpha1.ChangeWorkload{}
		if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object); err != nil {
			return err.Error()
		}
		return fmt.Sprintf("release %d: %s %s", object.Status.ObservedRelease, object.Status.Status, reason(object.Status.Conditions, "Verified"))
	}).Should(Equal("release " + number + ": Success AllPodsPassed"))
	return &object
}

// reasonOf returns the reason of a release's Verified condition.
func reasonOf(ctx context.Context, namespace, name string) string {
	var object appv1alpha1.ChangeWorkload
	if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object); err != nil {
		return err.Error()
	}
	return reason(object.Status.Conditions, "Verified")
}

func reason(conditions []metav1.Condition, kind string) string {
	for _, condition := range conditions {
		if condition.Type == kind {
			return condition.Reason
		}
	}
	return ""
}

func changePods(ctx context.Context, namespace string) []appv1alpha1.ChangePod {
	var list appv1alpha1.ChangePodList
	if err := kube.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil
	}
	return list.Items
}

// podsPerBatch returns the sizes of the ChangePods of a namespace, largest first.
func podsPerBatch(ctx context.Context, namespace string) []int {
	var sizes []int
	for _, changePod := range changePods(ctx, namespace) {
		sizes = append(sizes, len(changePod.Spec.PodInfos))
	}
	slices.Sort(sizes)
	slices.Reverse(sizes)
	return sizes
}

// fail sets the verdict of the first pod of a ChangePod to unpass, as the documents do by hand.
func fail(ctx context.Context, namespace, changePod string) {
	GinkgoHelper()
	var object appv1alpha1.ChangePod
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: changePod}, &object)).To(Succeed())
	failPod(ctx, namespace, changePod, object.Spec.PodInfos[0].Pod)
}

func failPod(ctx context.Context, namespace, changePod, pod string) {
	GinkgoHelper()
	output, err := kubectl(ctx, "-n", namespace, "patch", "changepod", "--subresource=status", changePod, "--type", "merge", "-p",
		fmt.Sprintf(`{"status":{"podResults":[{"app":"sleep","namespace":%q,"pod":%q,"workSpace":"default","verdict":"unpass","message":"find error"}],"message":"PostFinish"}}`, namespace, pod))
	Expect(err).NotTo(HaveOccurred(), output)
}

// suspended creates the sample, lets it succeed and then fails its first pod.
func suspended(ctx context.Context, namespace string) {
	GinkgoHelper()
	Expect(kube.Create(ctx, sleep(namespace))).To(Succeed())
	name := verified(ctx, namespace, "sleep").Name
	fail(ctx, namespace, name+"--x--1")
	Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(name, "Suspend"))
	Expect(labelsOf(ctx, namespace)()).To(HaveKey("altershield.defense.antgroup.com/suspend"))
}
