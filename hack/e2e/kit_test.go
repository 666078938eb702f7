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
	"os/exec"
	"path/filepath"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/node/registry"
)

// figure prints a measurement.
func figure(format string, args ...any) { fmt.Printf("  figure: "+format+"\n", args...) }

// run runs a command in the project's folder, as a user does, and returns its output.
func run(ctx context.Context, name string, args ...string) (string, error) {
	GinkgoWriter.Printf("$ %s %s\n", name, strings.Join(args, " "))
	command := exec.CommandContext(ctx, name, args...)
	command.Dir = root
	output, err := command.CombinedOutput()
	GinkgoWriter.Printf("%s", output)
	if err != nil {
		return string(output), fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, output)
	}
	return string(output), nil
}

// must runs a command that has to succeed.
func must(ctx context.Context, name string, args ...string) string {
	GinkgoHelper()
	output, err := run(ctx, name, args...)
	Expect(err).NotTo(HaveOccurred())
	return output
}

func kubectl(ctx context.Context, args ...string) string {
	GinkgoHelper()
	return must(ctx, "kubectl", args...)
}

// tellWhatWasLeft shows the state of the operator if a spec failed.
func tellWhatWasLeft(ctx context.Context) {
	if !CurrentSpecReport().Failed() {
		return
	}
	for _, args := range [][]string{
		{"get", "nodes,pods,changeworkloads", "-A", "-o", "wide"},
		{"describe", "pods", "-n", system},
		{"logs", "-n", system, "-l", "app.kubernetes.io/name=altershield-operator", "--tail=200", "--prefix"},
		{"events", "-A"},
	} {
		output, err := run(ctx, "kubectl", args...)
		fmt.Printf("$ kubectl %s\n%s", strings.Join(args, " "), output)
		if err != nil {
			fmt.Println(err)
		}
	}
}

// controlledNamespace creates a namespace that is opted in, for one spec.
func controlledNamespace(ctx context.Context, name string) string {
	GinkgoHelper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{optIn: "enabled"}}}
	Expect(kube.Create(ctx, namespace)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(client.IgnoreNotFound(kube.Delete(ctx, namespace))).To(Succeed())
	})
	return name
}

// slowly returns a Deployment of three real containers that are replaced one by one, five seconds apart.
func slowly(namespace, name string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels},
		Spec: appsv1.DeploymentSpec{
			Replicas:        ptr.To[int32](3),
			MinReadySeconds: 5,
			Selector:        &metav1.LabelSelector{MatchLabels: labels},
			Strategy: appsv1.DeploymentStrategy{RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To[int64](1),
					Containers: []corev1.Container{{
						Name: "sleep", Image: "busybox", Command: []string{"/bin/sleep", "infinity"}, ImagePullPolicy: corev1.PullIfNotPresent,
					}},
				},
			},
		},
	}
}

// release changes the pod template of a Deployment and returns the name of the release's ChangeWorkload.
func release(ctx context.Context, namespace, name, note string) (string, error) {
	object := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"note":%q}}}}}`, note)
	if err := kube.Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch))); err != nil {
		return "", err
	}
	return recordOf(object), nil
}

// recordOf returns the name of the ChangeWorkload of a Deployment's version.
func recordOf(object *appsv1.Deployment) string {
	return object.Name + "--x--" + object.Labels["admission-webhook-altershield.antgroup.com/version"]
}

// outcome returns the status of a release, and the reason of its condition Verified.
func outcome(namespace, name string) func(context.Context) string {
	return func(ctx context.Context) string {
		var workload appv1alpha1.ChangeWorkload
		if err := kube.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &workload); err != nil {
			return err.Error()
		}
		if verified := meta.FindStatusCondition(workload.Status.Conditions, "Verified"); verified != nil {
			return string(workload.Status.Status) + ", " + verified.Reason
		}
		return string(workload.Status.Status)
	}
}

// succeeds waits until a release is verified and all pods of its Deployment belong to it.
func succeeds(ctx context.Context, namespace, name string) {
	GinkgoHelper()
	Eventually(ctx, outcome(namespace, name)).Should(Equal("Success, AllPodsPassed"), "release %s/%s", namespace, name)
}

// verifies creates a Deployment, waits until its first release is verified, and returns its record.
func verifies(ctx context.Context, object *appsv1.Deployment) string {
	GinkgoHelper()
	Expect(kube.Create(ctx, object)).To(Succeed())
	record := recordOf(object)
	succeeds(ctx, object.Namespace, record)
	return record
}

// operatorPods returns the replicas of the operator, including terminating ones.
func operatorPods(ctx context.Context) []corev1.Pod {
	GinkgoHelper()
	var list corev1.PodList
	Expect(kube.List(ctx, &list, client.InNamespace(system), client.MatchingLabels{"app.kubernetes.io/name": "altershield-operator"})).To(Succeed())
	return list.Items
}

// bothReady waits until there are exactly two replicas of the operator, both ready. A terminating one has to be gone, because
// its --shutdown-delay lets it lead until it stops.
func bothReady(ctx context.Context) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) []string {
		var states []string
		for _, pod := range operatorPods(ctx) {
			state := "ready: " + string(readiness(&pod))
			if pod.DeletionTimestamp != nil {
				state = "going"
			}
			states = append(states, state)
		}
		return states
	}).Should(Equal([]string{"ready: True", "ready: True"}))
}

func readiness(pod *corev1.Pod) corev1.ConditionStatus {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status
		}
	}
	return corev1.ConditionUnknown
}

// leader returns the name of the pod that holds the lease, "" if there is none.
func leader(ctx context.Context) string {
	var lease coordinationv1.Lease
	if err := kube.Get(ctx, client.ObjectKey{Namespace: system, Name: leaderLease}, &lease); err != nil {
		return ""
	}
	pod, _, _ := strings.Cut(ptr.Deref(lease.Spec.HolderIdentity, ""), "_")
	return pod
}

// leadingPod waits for a leader that isn't terminating.
func leadingPod(ctx context.Context) *corev1.Pod {
	GinkgoHelper()
	var pod corev1.Pod
	Eventually(ctx, func(ctx context.Context) error {
		if err := kube.Get(ctx, client.ObjectKey{Namespace: system, Name: leader(ctx)}, &pod); err != nil {
			return err
		}
		if pod.DeletionTimestamp != nil {
			return fmt.Errorf("leader %s is terminating", pod.Name)
		}
		return nil
	}).Should(Succeed())
	return &pod
}

func kubeconfig() string { return os.Getenv("KUBECONFIG") }

// push pushes an image to the registry that every image is pulled from.
func push(ctx context.Context, image registry.Image) {
	GinkgoHelper()
	crane, err := exec.LookPath(assets.Crane)
	Expect(err).NotTo(HaveOccurred())
	Expect(registry.Push(ctx, GinkgoT().TempDir(), os.Getenv("NODE_REGISTRY"), assets.Assets{Dir: filepath.Dir(crane)}, image)).To(Succeed())
}

// deploy installs the operator as a user does, and waits until its replicas run the image.
func deploy(ctx context.Context, image string) {
	GinkgoHelper()
	must(ctx, "make", "deploy", "IMG="+image)
	kubectl(ctx, "rollout", "status", "-n", system, "deployment", deployment, "--timeout=3m")
	bothReady(ctx)
}
