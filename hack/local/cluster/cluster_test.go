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

package cluster

import (
	"context"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// patience is for a machine that does other things too.
const patience = 2 * time.Minute

func TestCluster(t *testing.T) {
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	options := Options{Dir: dir, Assets: programs, AuditLog: true, Log: t.Output()}
	g.Expect(options.Ports.pick()).To(Succeed())
	cluster, err := Start(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = cluster.Stop(t.Context()) }) // if the test fails before it has stopped the cluster
	clients, err := kubernetes.NewForConfig(cluster.Config())
	g.Expect(err).NotTo(HaveOccurred())

	t.Run("runs a Deployment", func(t *testing.T) { runsADeployment(t, clients) })
	t.Run("plays slow and stuck pods", func(t *testing.T) { playsSlowAndStuckPods(t, clients) })
	t.Run("gives a service account its own rights", func(t *testing.T) { limitsServiceAccounts(t, cluster) })
	t.Run("is kept when it is started again", func(t *testing.T) {
		g := NewWithT(t)
		again, err := Start(t.Context(), options)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Started()).To(BeZero())
	})
	t.Run("logs writes only", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(os.ReadFile(cluster.AuditLog())).To(And(ContainSubstring(`"verb":"create"`), Not(ContainSubstring(`"verb":"get"`))))
	})

	g.Expect(cluster.Stop(t.Context())).To(Succeed())
	for _, p := range cluster.processes {
		g.Expect(p.Alive()).To(BeFalse(), p.Name)
		g.Expect(process.Find(dir, p.Name)).To(BeNil(), p.Name)
	}
}

func TestAFailedStartSaysWhyAndLeavesNothing(t *testing.T) {
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	taken := stranger.Listener.Addr().(*net.TCPAddr).Port

	dir := t.TempDir()
	_, err = Start(t.Context(), Options{Dir: dir, Assets: programs, Ports: Ports{APIServer: taken}, Log: t.Output()})
	g.Expect(err).To(MatchError(And(
		ContainSubstring("kube-apiserver: it has ended"),
		ContainSubstring(process.LogPath(dir, assets.APIServer)),
		ContainSubstring("address already in use"))))
	g.Expect(StopIn(t.Context(), dir)).To(BeEmpty())
}

func runsADeployment(t *testing.T, clients kubernetes.Interface) {
	g := NewWithT(t)
	ctx := t.Context()
	deployments := clients.AppsV1().Deployments(metav1.NamespaceDefault)
	_, err := deployments.Create(ctx, sleepers("sleep", 3), metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Eventually(readyReplicas(ctx, clients, "sleep")).WithTimeout(patience).Should(BeEquivalentTo(3))
	pods := podsOf(ctx, clients, "sleep")
	g.Expect(pods()).To(HaveLen(3))

	background := metav1.DeletePropagationBackground
	g.Expect(deployments.Delete(ctx, "sleep", metav1.DeleteOptions{PropagationPolicy: &background})).To(Succeed())
	g.Eventually(pods).WithTimeout(patience).Should(BeEmpty())
}

func playsSlowAndStuckPods(t *testing.T, clients kubernetes.Interface) {
	g := NewWithT(t)
	ctx := t.Context()
	slow := sleepers("slow", 1)
	slow.Spec.Template.Annotations = map[string]string{"local.altershield.io/ready-after": "2s"}
	stuck := sleepers("stuck", 1)
	stuck.Spec.Template.Labels["local.altershield.io/start"] = "never"
	for _, deployment := range []*appsv1.Deployment{slow, stuck} {
		_, err := clients.AppsV1().Deployments(metav1.NamespaceDefault).Create(ctx, deployment, metav1.CreateOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	g.Eventually(podsOf(ctx, clients, "stuck")).WithTimeout(patience).Should(ConsistOf(
		HaveField("Status.ContainerStatuses", ConsistOf(HaveField("State.Waiting.Reason", "ErrImagePull")))))
	g.Eventually(readyReplicas(ctx, clients, "slow")).WithTimeout(patience).Should(BeEquivalentTo(1))
	g.Expect(readyReplicas(ctx, clients, "stuck")()).To(BeZero())
	pods, err := podsOf(ctx, clients, "slow")()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pods).To(HaveLen(1))
	// Times in a status are whole seconds.
	g.Expect(readySince(pods[0]).Sub(pods[0].Status.StartTime.Time)).To(BeNumerically(">=", 2*time.Second))
}

func readySince(pod corev1.Pod) time.Time {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady && condition.Status == corev1.ConditionTrue {
			return condition.LastTransitionTime.Time
		}
	}
	return time.Time{}
}

func limitsServiceAccounts(t *testing.T, cluster *Cluster) {
	g := NewWithT(t)
	ctx := t.Context()
	config, err := cluster.ServiceAccountConfig(ctx, metav1.NamespaceDefault, "default")
	g.Expect(err).NotTo(HaveOccurred())
	clients, err := kubernetes.NewForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = clients.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{})
	g.Expect(err).To(MatchError(apierrors.IsForbidden, "IsForbidden"))
	g.Expect(err).To(MatchError(ContainSubstring("system:serviceaccount:default:default")))

	_, err = cluster.ServiceAccountConfig(ctx, metav1.NamespaceDefault, "nobody")
	g.Expect(err).To(MatchError(ContainSubstring("service account default/nobody")))
}

func readyReplicas(ctx context.Context, clients kubernetes.Interface, name string) func() (int32, error) {
	return func() (int32, error) {
		deployment, err := clients.AppsV1().Deployments(metav1.NamespaceDefault).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return 0, err
		}
		return deployment.Status.ReadyReplicas, nil
	}
}

func podsOf(ctx context.Context, clients kubernetes.Interface, app string) func() ([]corev1.Pod, error) {
	return func() ([]corev1.Pod, error) {
		list, err := clients.CoreV1().Pods(metav1.NamespaceDefault).List(ctx, metav1.ListOptions{LabelSelector: "app=" + app})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
}

func sleepers(name string, replicas int32) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas,
			Selector: &metav1.LabelSelector{MatchLabels: maps.Clone(labels)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "sleep", Image: "busybox"}}},
			},
		},
	}
}
