//go:build e2e

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

package e2e_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
)

// followsTheReadme runs the commands of the README as they are printed there, with another registry.
func followsTheReadme(ctx context.Context) {
	must(ctx, "env", "INSECURE=1", "PLATFORMS=linux/"+runtime.GOARCH, "bash", "-ec", documented("README.md", "Install"))
	bothReady(ctx)
	output, err := run(ctx, "bash", "-ec", documented("README.md", "One release, one denial"))
	Expect(err).To(HaveOccurred(), "the last command is denied")
	Expect(output).To(ContainSubstring("sleep--x--c6c45d23c098bdf181853a85b60b5d74   Success"))
	Expect(output).To(HaveSuffix(`Error from server (deployment sleep is suspended): admission webhook "vdeployment.kb.io" ` +
		"denied the request: deployment sleep is suspended\n"))

	must(ctx, "make", "undeploy")
	kubectl(ctx, "delete", "deployment", "sleep", "--timeout=1m")
	kubectl(ctx, "label", "namespace", "default", optIn+"-")
}

// documented returns the commands in a section of a page as one script.
func documented(page, section string) string {
	GinkgoHelper()
	content, err := os.ReadFile(filepath.Join(root, page))
	Expect(err).NotTo(HaveOccurred())
	_, text, found := strings.Cut(string(content), "\n## "+section+"\n")
	Expect(found).To(BeTrue(), "section %s of %s", section, page)
	text, _, _ = strings.Cut(text, "\n## ")
	var script strings.Builder
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		script.WriteString(block[1])
	}
	return strings.ReplaceAll(script.String(), "registry.example.com", os.Getenv("NODE_REGISTRY"))
}

func installs(ctx context.Context) {
	deploy(ctx, previous)
	fmt.Print(kubectl(ctx, "get", "pods", "-n", system, "-o", "wide"))

	var namespace corev1.Namespace
	Expect(kube.Get(ctx, client.ObjectKey{Name: system}, &namespace)).To(Succeed())
	Expect(namespace.Labels).To(HaveKeyWithValue("pod-security.kubernetes.io/enforce", "restricted"))
	nodes := map[string]bool{}
	for _, pod := range operatorPods(ctx) {
		nodes[pod.Spec.NodeName] = true
	}
	Expect(nodes).To(HaveLen(2), "each replica should be on a node of its own")

	By("applying the same again, which changes nothing written by the operator")
	before := certificates(ctx)
	deploy(ctx, previous)
	Expect(certificates(ctx)).To(Equal(before))
}

func walksThrough(ctx context.Context) {
	output := must(ctx, "go", "run", "./hack/demo", "--cluster", kubeconfig())
	Expect(output).To(ContainSubstring("Every step went as documented."))
	kubectl(ctx, "delete", "deployment", "sleep", "--wait")
}

func takesBackACrashLoop(ctx context.Context) {
	namespace := controlledNamespace(ctx, "crashing")
	good := verifies(ctx, slowly(namespace, "sleep"))

	// The container exits with status 0 as soon as it has started.
	patch := `{"spec":{"template":{"spec":{"containers":[{"name":"sleep","command":["/bin/sleep","0"]}]}}}}`
	kubectl(ctx, "patch", "deployment", "sleep", "-n", namespace, "-p", patch)
	Eventually(ctx, func(ctx context.Context) int32 {
		var pods corev1.PodList
		Expect(kube.List(ctx, &pods, client.InNamespace(namespace))).To(Succeed())
		var most int32
		for _, pod := range pods.Items {
			most = max(most, restarts(ctx, &pod))
		}
		return most
	}).Should(BeNumerically(">=", 2))
	fmt.Print(kubectl(ctx, "get", "pods", "-n", namespace))
	// By default pods may take two minutes to run; the time is shortened only after the crash loop was seen.
	patience(ctx, "20s")
	DeferCleanup(patience, "2m")
	Eventually(ctx, func(ctx context.Context) string { return recordOf(theDeployment(ctx, namespace, "sleep")) }).Should(Equal(good))
	succeeds(ctx, namespace, good)
	var warnings string
	Eventually(ctx, func(ctx context.Context) string { // Events come after what they tell
		warnings = kubectl(ctx, "events", "-n", namespace, "--for", "deployment/sleep", "--types=Warning")
		return warnings
	}).Should(ContainSubstring("ReleaseRolledBack"))
	fmt.Print(warnings)

	By("denying the same again and again")
	for range 2 {
		_, err := run(ctx, "kubectl", "patch", "deployment", "sleep", "-n", namespace, "-p", patch)
		Expect(err).To(MatchError(ContainSubstring("deployment sleep refuses version")))
	}
}

// patience sets how long the pods of a release may take to run.
func patience(ctx context.Context, content string) {
	GinkgoHelper()
	kubectl(ctx, "patch", "opsconfiginfo", "stuck-rollback", "-n", system, "--type=merge", "-p", fmt.Sprintf(`{"spec":{"content":%q}}`, content))
}

func theDeployment(ctx context.Context, namespace, name string) *appsv1.Deployment {
	GinkgoHelper()
	var object appsv1.Deployment
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &object)).To(Succeed())
	return &object
}

// isRemoved is the last spec.
func isRemoved(ctx context.Context) {
	namespace := controlledNamespace(ctx, "staying")
	verifies(ctx, slowly(namespace, "sleep"))
	before := incarnations(ctx, namespace)
	sets := []set{}
	for _, failing := range []string{"shop", "failed"} {
		controlledNamespace(ctx, failing)
		sets = append(sets, statefulSet(failing, "web", appsv1.ParallelPodManagement), daemonSet(failing, "web"))
	}
	create(ctx, sets)
	fail(ctx, sets)
	holds(ctx, sets)
	paced := controlledNamespace(ctx, "midway")
	inSteps(ctx, paced, appv1alpha1.ReleaseStep{Percent: 50, Approvals: 1})
	parted := setsOfEachKind(paced)
	create(ctx, parted)
	stepOne(ctx, parted)

	output := must(ctx, "make", "undeploy")
	fmt.Print(output)

	By("leaving no objects of the operator behind")
	Expect(kubectl(ctx, "get", "namespaces", "-o", "name")).NotTo(ContainSubstring(system))
	Expect(kubectl(ctx, "get", "mutatingwebhookconfigurations,validatingwebhookconfigurations,"+
		"mutatingadmissionpolicies,mutatingadmissionpolicybindings,validatingadmissionpolicies,validatingadmissionpolicybindings", "-o", "name")).
		NotTo(ContainSubstring("altershieldoperator"))
	Expect(kubectl(ctx, "get", "crds,clusterroles,clusterrolebindings", "-o", "name")).NotTo(ContainSubstring("alter"))
	Expect(kubectl(ctx, "api-resources", "-o", "name")).NotTo(ContainSubstring("app.ops.cloud.alipay.com"))

	By("leaving no release in the middle of its steps")
	for _, s := range parted {
		runsAtOnce(ctx, s)
	}
	kubectl(ctx, "delete", "namespace", paced, "--timeout=2m")

	By("leaving the workloads unchanged: running, changeable, deletable")
	Expect(incarnations(ctx, namespace)).To(Equal(before))
	_, err := release(ctx, namespace, "sleep", "without the operator")
	Expect(err).NotTo(HaveOccurred())
	kubectl(ctx, "rollout", "status", "-n", namespace, "deployment", "sleep", "--timeout=2m")
	kubectl(ctx, "delete", "namespace", namespace, "--timeout=2m")

	By("leaving no rollout stopped, once the commands that it printed and those of the pages are run")
	for line := range strings.Lines(output) {
		if strings.HasPrefix(line, "  kubectl -n failed ") {
			must(ctx, "bash", "-ec", line)
		}
	}
	fmt.Print(must(ctx, "bash", "-ec", documented("docs/statefulsets.md", "Hold")+documented("docs/daemonsets.md", "Hold")))
	for _, s := range sets {
		Expect(s.strategy(ctx)).To(Equal(s.rolling))
		kubectl(ctx, "rollout", "status", "-n", s.GetNamespace(), s.noun, s.GetName(), "--timeout=2m")
	}
	kubectl(ctx, "delete", "namespace", "shop", "failed", "--timeout=2m")

	By("removing it once more, which has no effect")
	Expect(must(ctx, "make", "undeploy")).NotTo(ContainSubstring("deleted "))
}

// incarnations returns the pods of a namespace by UID, with the restarts of their containers.
func incarnations(ctx context.Context, namespace string) map[string]string {
	GinkgoHelper()
	var list corev1.PodList
	Expect(kube.List(ctx, &list, client.InNamespace(namespace))).To(Succeed())
	result := map[string]string{}
	for _, pod := range list.Items {
		var restarts []string
		for _, container := range pod.Status.ContainerStatuses {
			restarts = append(restarts, fmt.Sprintf("%s started anew %d times", container.Name, container.RestartCount))
		}
		result[pod.Name] = string(pod.UID) + ": " + strings.Join(restarts, ", ")
	}
	return result
}

// certificates returns the data written by the operator: its Secret, and the authority in each webhook configuration.
func certificates(ctx context.Context) []string {
	GinkgoHelper()
	var secret corev1.Secret
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: system, Name: secretName}, &secret)).To(Succeed())
	return append(authorities(ctx), string(secret.Data["ca.crt"]), string(secret.Data[corev1.TLSCertKey]))
}

// isDown stops the operator and checks which requests fail.
func isDown(ctx context.Context) {
	controlled := controlledNamespace(ctx, "down")
	other := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "elsewhere"}}
	Expect(kube.Create(ctx, other)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(kube.Delete(ctx, other)).To(Succeed()) })
	for _, namespace := range []string{controlled, other.Name} {
		Expect(kube.Create(ctx, slowly(namespace, "sleep"))).To(Succeed())
	}
	Expect(kube.Create(ctx, slowly(controlled, "leaving"))).To(Succeed())
	recorded := recordOf(theDeployment(ctx, controlled, "sleep"))
	succeeds(ctx, controlled, recorded)

	kubectl(ctx, "scale", "-n", system, "deployment", deployment, "--replicas=0")
	Eventually(ctx, operatorPods).Should(BeEmpty())
	kubectl(ctx, "wait", "-n", system, "--for=delete", "pod", "-l", "app.kubernetes.io/name=altershield-operator", "--timeout=2m")

	_, err := release(ctx, controlled, "sleep", "while it is down")
	Expect(err).To(MatchError(ContainSubstring(`failed calling webhook "mdeployment.kb.io"`)))
	kubectl(ctx, "scale", "-n", controlled, "deployment", "sleep", "--replicas=4")
	kubectl(ctx, "annotate", "-n", controlled, "deployment", "sleep", "team=shop")
	kubectl(ctx, "rollout", "status", "-n", controlled, "deployment", "sleep", "--timeout=2m")
	kubectl(ctx, "delete", "-n", controlled, "deployment", "leaving", "--timeout=1m")
	_, err = release(ctx, other.Name, "sleep", "in a namespace that isn't opted in")
	Expect(err).NotTo(HaveOccurred())
	kubectl(ctx, "rollout", "status", "-n", other.Name, "deployment", "sleep", "--timeout=2m")

	By("starting it again, by an update of its own Deployment")
	deploy(ctx, current)
	next, err := release(ctx, controlled, "sleep", "once it is back")
	Expect(err).NotTo(HaveOccurred())
	succeeds(ctx, controlled, next)
}
