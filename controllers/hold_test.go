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
	"encoding/json"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var _ = Describe("A rollout whose third pod fails", func() {
	const held = "altershield.defense.antgroup.com/held"

	oneByOne := func(deployment *appsv1.Deployment) {
		deployment.Spec.Strategy = appsv1.DeploymentStrategy{
			Type:          appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0))},
		}
	}
	// rolling begins to replace twenty pods one by one, a second each.
	rolling := func(ctx context.Context) (namespace string) {
		GinkgoHelper()
		namespace = controlledNamespace(ctx)
		Expect(kube.Create(ctx, sleep(namespace, replicas(20), oneByOne))).To(Succeed())
		verified(ctx, namespace, "sleep")
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type=merge", "-p",
			`{"spec":{"template":{"metadata":{"labels":{"test":"bad"},"annotations":{"local.altershield.io/ready-after":"1s"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		return namespace
	}
	failThird := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		third := currentName(ctx, namespace, "sleep") + "--x--3"
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(third))
		fail(ctx, namespace, third)
		Eventually(labelsOf(ctx, namespace)).Should(HaveKey("altershield.defense.antgroup.com/suspend"))
	}
	// old is the number of pods that should keep the previous version.
	old := func(ctx context.Context, namespace string) func() int {
		return func() int {
			var replicaSets appsv1.ReplicaSetList
			if err := kube.List(ctx, &replicaSets, client.InNamespace(namespace), client.MatchingLabels{"test": "123"}); err != nil || len(replicaSets.Items) != 1 {
				return -1
			}
			return int(*replicaSets.Items[0].Spec.Replicas)
		}
	}
	repair := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type=merge", "-p",
			`{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},"spec":{"template":{"metadata":{"labels":{"test":"repaired"},"annotations":null}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
	}
	// allAtOnce lets the rest of a resumed rollout be replaced together.
	allAtOnce := func(ctx context.Context, namespace string) {
		GinkgoHelper()
		output, err := kubectl(ctx, "-n", namespace, "patch", "deployment", "sleep", "--type=merge", "-p", `{"spec":{"strategy":{"rollingUpdate":{"maxSurge":20}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
	}
	spec := func(ctx context.Context, namespace string) func() appsv1.DeploymentSpec {
		return func() appsv1.DeploymentSpec { return get(ctx, namespace, "sleep").Spec }
	}

	It("is held: the other pods keep the version before until a repair", func(ctx context.Context) {
		namespace := rolling(ctx)
		failThird(ctx, namespace)
		deployment := get(ctx, namespace, "sleep")
		Expect(deployment.Spec.Paused).To(BeTrue())
		Expect(deployment.Annotations).To(HaveKeyWithValue(held, "2"))
		Eventually(func() []string { return eventReasons(ctx, namespace) }).Should(ContainElement("RolloutHeld"))
		Eventually(func() bool {
			seen := get(ctx, namespace, "sleep")
			return seen.Status.ObservedGeneration >= seen.Generation
		}).Should(BeTrue(), "the deployment controller has seen the pause")
		kept := old(ctx, namespace)()
		Expect(kept).To(BeNumerically(">", 0))
		Consistently(old(ctx, namespace)).WithTimeout(2*time.Second).Should(Equal(kept), "twice as long as a pod takes to be ready")

		output, err := kubectl(ctx, "-n", namespace, "scale", "deployment", "sleep", "--replicas=22")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(spec(ctx, namespace)().Paused).To(BeTrue(), "an autoscaler may go on")
		output, err = kubectl(ctx, "-n", namespace, "scale", "deployment", "sleep", "--replicas=20")
		Expect(err).NotTo(HaveOccurred(), output)

		repair(ctx, namespace)
		Expect(spec(ctx, namespace)().Paused).To(BeFalse(), "the same admission ends the pause")
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey(held))
		verified(ctx, namespace, "sleep")
		Eventually(labelsOf(ctx, namespace)).ShouldNot(HaveKey("altershield.defense.antgroup.com/suspend"))
	})

	It("continues when the verdict is withdrawn", func(ctx context.Context) {
		namespace := rolling(ctx)
		failThird(ctx, namespace)
		Expect(spec(ctx, namespace)().Paused).To(BeTrue())
		third := currentName(ctx, namespace, "sleep") + "--x--3"
		output, err := kubectl(ctx, "-n", namespace, "patch", "changepod", "--subresource=status", third, "--type=merge", "-p", `{"status":{"podResults":null}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() bool { return spec(ctx, namespace)().Paused }).Should(BeFalse())
		allAtOnce(ctx, namespace)
		verified(ctx, namespace, "sleep")
		Eventually(func() map[string]string { return get(ctx, namespace, "sleep").Annotations }).ShouldNot(HaveKey(held))
		Expect(spec(ctx, namespace)().Paused).To(BeFalse())
		Eventually(old(ctx, namespace)).Should(BeZero())
	})

	It("is not held where a user has paused it, and their pause stays", slow, func(ctx context.Context) {
		namespace := rolling(ctx)
		third := currentName(ctx, namespace, "sleep") + "--x--3"
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(third))
		output, err := kubectl(ctx, "-n", namespace, "rollout", "pause", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		failThird(ctx, namespace)
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey(held))
		repair(ctx, namespace)
		Expect(spec(ctx, namespace)().Paused).To(BeTrue())
		output, err = kubectl(ctx, "-n", namespace, "rollout", "resume", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		verified(ctx, namespace, "sleep")
	})

	It("is not held again after a user has resumed it", slow, func(ctx context.Context) {
		namespace := rolling(ctx)
		failThird(ctx, namespace)
		output, err := kubectl(ctx, "-n", namespace, "rollout", "resume", "deployment", "sleep")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() map[string]string { return get(ctx, namespace, "sleep").Annotations }).Should(HaveKeyWithValue(held, "2-overridden"))
		allAtOnce(ctx, namespace)
		Eventually(old(ctx, namespace)).Should(BeZero())
		Expect(labelsOf(ctx, namespace)()).To(HaveKey("altershield.defense.antgroup.com/suspend"), "releases are denied all the same")
	})

	It("is not held while blocking is off", slow, func(ctx context.Context) {
		configure(ctx, "blocking", `{"spec":{"enable":false}}`)
		namespace := rolling(ctx)
		third := currentName(ctx, namespace, "sleep") + "--x--3"
		Eventually(func() []string { return names(ctx, namespace) }).Should(ContainElement(third))
		fail(ctx, namespace, third)
		Eventually(releases(ctx, namespace)).Should(HaveKeyWithValue(currentName(ctx, namespace, "sleep"), "Suspend"))
		allAtOnce(ctx, namespace)
		Eventually(old(ctx, namespace)).Should(BeZero())
		Expect(spec(ctx, namespace)().Paused).To(BeFalse())
	})

	It("goes on when its namespace is opted out, and is held again if it still rolls when that returns", slow, func(ctx context.Context) {
		namespace := rolling(ctx)
		failThird(ctx, namespace)
		kept := old(ctx, namespace)()
		Expect(kept).To(BeNumerically(">", 1))
		output, err := kubectl(ctx, "label", "namespace", namespace, "admission-webhook-altershield-")
		Expect(err).NotTo(HaveOccurred(), output)
		Eventually(func() bool { return spec(ctx, namespace)().Paused }).Should(BeFalse())
		Expect(get(ctx, namespace, "sleep").Annotations).NotTo(HaveKey(held))
		Expect(labelsOf(ctx, namespace)()).To(HaveKey("altershield.defense.antgroup.com/suspend"), "it counts again when the namespace returns")
		Eventually(notes(ctx, namespace, "RolloutResumed")).Should(ContainElement(HaveSuffix("the rollout continues: the namespace was opted out of change control")))
		Eventually(old(ctx, namespace)).Should(BeNumerically("<", kept))

		optIn(ctx, namespace)
		Eventually(func() bool { return spec(ctx, namespace)().Paused }).Should(BeTrue())
		Expect(get(ctx, namespace, "sleep").Annotations).To(HaveKeyWithValue(held, "2"))
	})

	DescribeTable("goes on without the operator by the commands of docs/operate.md,", slow, func(ctx context.Context, opening int, after func(context.Context, string)) {
		namespace := rolling(ctx)
		Expect(kube.Create(ctx, sleep(namespace, alone("mine"), func(deployment *appsv1.Deployment) {
			deployment.Spec.Paused, deployment.Spec.Template.Labels["test"] = true, "mine"
		}))).To(Succeed())
		failThird(ctx, namespace)
		commands := documented("Releases without the operator", namespace)
		Expect(commands).To(HaveLen(4))
		Expect(manager.Stop(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { restartAs(ctx, settings) }) // which restores the webhook configurations

		bash(ctx, commands[opening])
		Eventually(func() error {
			_, err := release(ctx, namespace, "mended")
			return err
		}).Should(Succeed(), "the API server takes a moment to call no webhook any more")
		Expect(old(ctx, namespace)()).To(BeNumerically(">", 0), "it is paused")
		Expect(bash(ctx, commands[2])).To(Equal("-n " + namespace + " deployment/sleep\ndeployment.apps/sleep resumed\n"))
		allAtOnce(ctx, namespace)
		Eventually(old(ctx, namespace)).Should(BeZero())
		output, err := kubectl(ctx, "-n", namespace, "rollout", "status", "deployment", "sleep", "--timeout=3m")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(bash(ctx, commands[2])).To(BeEmpty(), "nothing is left to resume")
		Expect(get(ctx, namespace, "mine").Spec.Paused).To(BeTrue())
		after(ctx, namespace)
	},
		Entry("of one namespace, whose suspension is then removed", 0, func(ctx context.Context, namespace string) {
			bash(ctx, documented("Releases without the operator", namespace)[3])
			Expect(labelsOf(ctx, namespace)()).NotTo(HaveKey("altershield.defense.antgroup.com/suspend"))
		}),
		Entry("of all, and is not paused again by one that is back", 1, func(ctx context.Context, namespace string) {
			restartAs(ctx, settings)
			Eventually(func() map[string]string { return get(ctx, namespace, "sleep").Annotations }).Should(HaveKeyWithValue(held, "2-overridden"))
			output, err := release(ctx, namespace, "more")
			Expect(err).To(HaveOccurred())
			Expect(output).To(ContainSubstring(denial), "the suspension counts again")
			repair(ctx, namespace)
			verified(ctx, namespace, "sleep")
		}),
	)

	It("goes on without the operator where it rests at a step, by the commands of docs/operate.md", slow, func(ctx context.Context) {
		namespace := pacedNamespace(ctx, one, "")
		web := deployment(namespace, 4)
		web.create(ctx)
		web.verified(ctx)
		web.released(ctx, "second")
		Eventually(web.step(ctx)).Should(Equal("1/2 True AwaitingApproval"))
		Eventually(func() string { return web.show(ctx, "{.spec.paused}") }).Should(Equal("true"))
		commands := documented("Releases without the operator", namespace)
		Expect(manager.Stop(ctx)).To(Succeed())
		DeferCleanup(func(ctx context.Context) { restartAs(ctx, settings) }) // which restores the webhook configurations

		bash(ctx, commands[0])
		Eventually(func() error {
			_, err := web.change(ctx, `{"spec": {"template": {"metadata": {"labels": {"test": "third"}}}}}`)
			return err
		}).Should(Succeed(), "the API server takes a moment to call no webhook any more")
		Expect(bash(ctx, commands[2])).To(Equal("-n " + namespace + " deployment/web\ndeployment.apps/web resumed\n"))
		output, err := kubectl(ctx, "-n", namespace, "rollout", "status", "deployment", "web", "--timeout=3m")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(bash(ctx, commands[2])).To(BeEmpty(), "nothing is left to resume")
	})

	It("stays held under server-side apply that does not speak of the pause", func(ctx context.Context) {
		namespace := rolling(ctx)
		failThird(ctx, namespace)
		manifest := get(ctx, namespace, "sleep")
		applied, err := json.Marshal(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": namespace, "name": "sleep"},
			"spec": map[string]any{"replicas": 20, "selector": manifest.Spec.Selector, "template": manifest.Spec.Template},
		})
		Expect(err).NotTo(HaveOccurred())
		output, err := kubectlWith(ctx, string(applied), "apply", "--server-side", "--force-conflicts", "--field-manager=git", "-f", "-")
		Expect(err).NotTo(HaveOccurred(), output)
		Expect(spec(ctx, namespace)().Paused).To(BeTrue())
		paused, err := json.Marshal(map[string]any{
			"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"namespace": namespace, "name": "sleep"},
			"spec": map[string]any{"paused": false},
		})
		Expect(err).NotTo(HaveOccurred())
		output, err = kubectlWith(ctx, string(paused), "apply", "--server-side", "--field-manager=paused", "-f", "-")
		Expect(err).To(HaveOccurred(), "server-side apply of paused: false names the manager of the field")
		Expect(output).To(ContainSubstring("altershield-operator"))
	})
})

// names returns the ChangePods of a namespace.
func names(ctx context.Context, namespace string) []string {
	var result []string
	for _, changePod := range changePods(ctx, namespace) {
		result = append(result, changePod.Name)
	}
	return result
}
