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
	"cmp"
	"context"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/traas-stack/altershield-operator/hack/local/assets"
	"github.com/traas-stack/altershield-operator/hack/local/process"
)

// patience is long enough for a busy machine.
const patience = 2 * time.Minute

func TestCluster(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	dir := t.TempDir()
	options := Options{Dir: dir, Assets: programs, AuditLog: true, Log: t.Output()}
	g.Expect(options.Ports.pick()).To(Succeed())
	cluster, err := Start(t.Context(), options)
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() { _ = cluster.Stop(t.Context()) }) // in case the test fails before it stops the cluster
	clients, err := kubernetes.NewForConfig(cluster.Config())
	g.Expect(err).NotTo(HaveOccurred())

	t.Run("runs a Deployment", func(t *testing.T) { runsADeployment(t, clients) })
	t.Run("plays slow and stuck pods", func(t *testing.T) { playsSlowAndStuckPods(t, clients) })
	t.Run("plays pods that can't start", func(t *testing.T) { playsPodsThatCannotStart(t, clients) })
	t.Run("crashes a pod on demand", func(t *testing.T) { crashesAPodOnDemand(t, clients) })
	t.Run("gives a service account its own rights", func(t *testing.T) { limitsServiceAccounts(t, cluster) })
	t.Run("is kept when it is started again", func(t *testing.T) {
		g := NewWithT(t)
		again, err := Start(t.Context(), options)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again.Started()).To(BeZero())
	})
	t.Run("has its objects when its API server was away", func(t *testing.T) {
		g := NewWithT(t)
		g.Expect(cluster.StopPart(t.Context(), "kube-apiserver")).To(Succeed())
		_, err := clients.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		g.Expect(err).To(MatchError(ContainSubstring("connection refused")))
		g.Expect(cluster.StopPart(t.Context(), "kube-apiserver")).To(MatchError(ContainSubstring("it is not running")))
		g.Expect(cluster.StartPart(t.Context(), "kube-apiserver")).To(Succeed())
		_, err = clients.CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{})
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(process.Dead(cluster.Processes()...)).To(Succeed())
		g.Expect(cluster.StartPart(t.Context(), "kubelet")).To(MatchError(ContainSubstring("no such part")))
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

func TestStartFailsWithItsReasonAndLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("needs a control plane")
	}
	g := NewWithT(t)
	programs, err := assets.Ensure(t.Context(), os.Stderr)
	g.Expect(err).NotTo(HaveOccurred())
	stranger := httptest.NewServer(http.NotFoundHandler())
	defer stranger.Close()
	taken := stranger.Listener.Addr().(*net.TCPAddr).Port

	dir := t.TempDir()
	_, err = Start(t.Context(), Options{Dir: dir, Assets: programs, Ports: Ports{APIServer: taken}, Log: t.Output()})
	g.Expect(err).To(MatchError(And(
		ContainSubstring("kube-apiserver: it has exited"),
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
	uneven := sleepers("uneven", 10)
	uneven.Spec.Template.Annotations = map[string]string{"local.altershield.io/ready-after": "2-7s"}
	stuck := sleepers("stuck", 1)
	stuck.Spec.Template.Labels["local.altershield.io/start"] = "never"
	for _, deployment := range []*appsv1.Deployment{slow, uneven, stuck} {
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
	g.Eventually(readyReplicas(ctx, clients, "uneven")).WithTimeout(patience).Should(BeEquivalentTo(10))
	pods, err = podsOf(ctx, clients, "uneven")()
	g.Expect(err).NotTo(HaveOccurred())
	for _, pod := range pods {
		uid := 0
		for _, character := range pod.UID {
			uid += int(character)
		}
		g.Expect(readySince(pod).Sub(pod.Status.StartTime.Time)).To(BeNumerically(">=", time.Duration(2+uid%6)*time.Second))
	}
}

func playsPodsThatCannotStart(t *testing.T, clients kubernetes.Interface) {
	for name, test := range map[string]struct {
		start, setup, sleep string // the label's value, and the images of the pod's init container and its container
		says                []string
	}{
		"missing-image": {sleep: "busybox:missing", says: []string{
			`Pending; setup Completed; sleep waits: ErrImagePull (failed to pull and unpack image "busybox:missing": not found)`,
			`Pending; setup Completed; sleep waits: ImagePullBackOff (Back-off pulling image "busybox:missing")`,
		}},
		"missing-init-image": {setup: "busybox:missing", says: []string{
			`Pending; setup waits: ErrImagePull (failed to pull and unpack image "busybox:missing": not found); sleep waits: PodInitializing ()`,
			`Pending; setup waits: ImagePullBackOff (Back-off pulling image "busybox:missing"); sleep waits: PodInitializing ()`,
		}},
		"config-error": {start: "config-error", says: []string{
			`Pending; sleep waits: CreateContainerConfigError (secret "absent" not found)`,
		}},
		"init": {start: "init", says: []string{
			"Pending; setup waits: CrashLoopBackOff (back-off 5s restarting failed container=setup pod=init_default(UID)) " +
				"after Error 1, restarts: 1; sleep waits: PodInitializing ()",
			"Pending; setup waits: CrashLoopBackOff (back-off 5s restarting failed container=setup pod=init_default(UID)) " +
				"after Error 1, restarts: 2; sleep waits: PodInitializing ()",
		}},
		"crash": {start: "crash", says: []string{
			"Running; ready; setup Completed; sleep runs",
			"Running; setup Completed; sleep waits: CrashLoopBackOff " +
				"(back-off 5s restarting failed container=sleep pod=crash_default(UID)) after Error 1, restarts: 1",
			"Running; ready; setup Completed; sleep runs after Error 1, restarts: 2",
			"Running; setup Completed; sleep waits: CrashLoopBackOff " +
				"(back-off 5s restarting failed container=sleep pod=crash_default(UID)) after Error 1, restarts: 2",
		}},
		"crash-at-once": {start: "crash-at-once", says: []string{
			"Running; setup Completed; sleep waits: CrashLoopBackOff " +
				"(back-off 5s restarting failed container=sleep pod=crash-at-once_default(UID)) after Error 1, restarts: 1",
			"Running; setup Completed; sleep waits: CrashLoopBackOff " +
				"(back-off 5s restarting failed container=sleep pod=crash-at-once_default(UID)) after Error 1, restarts: 2",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			pod := twoContainers(name)
			pod.Labels["local.altershield.io/start"] = test.start
			pod.Spec.InitContainers[0].Image = cmp.Or(test.setup, "busybox")
			pod.Spec.Containers[0].Image = cmp.Or(test.sleep, "busybox")
			story := follow(t, clients, pod)
			var says []string
			for range test.says {
				says = append(says, story.next(t.Context(), patience))
			}
			g.Expect(says).To(Equal(test.says))
		})
	}
}

func crashesAPodOnDemand(t *testing.T, clients kubernetes.Interface) {
	g := NewWithT(t)
	ctx := t.Context()
	label := func(crash string) {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"local.altershield.io/crash":%s}}}`, crash)
		_, err := clients.CoreV1().Pods(metav1.NamespaceDefault).Patch(ctx, "crash-now", types.MergePatchType, patch, metav1.PatchOptions{})
		g.Expect(err).NotTo(HaveOccurred())
	}
	story := follow(t, clients, twoContainers("crash-now"))
	g.Expect(story.next(ctx, patience)).To(Equal("Running; ready; setup Completed; sleep runs"))

	label(`"now"`)
	g.Expect(story.next(ctx, patience)).To(Equal("Running; setup Completed; sleep waits: CrashLoopBackOff " +
		"(back-off 5s restarting failed container=sleep pod=crash-now_default(UID)) after Error 1, restarts: 1"))
	g.Expect(story.next(ctx, 6*time.Second)).To(BeEmpty(), "longer than the back-off")

	label("null")
	g.Expect(story.next(ctx, patience)).To(Equal("Running; ready; setup Completed; sleep runs after Error 1, restarts: 2"))
}

// story is the sequence of states of a pod.
type story struct {
	events <-chan watch.Event
	last   string
}

// follow creates a pod and returns its story. The pod is deleted at the end of the test, which must succeed.
func follow(t *testing.T, clients kubernetes.Interface, pod *corev1.Pod) *story {
	g := NewWithT(t)
	pods := clients.CoreV1().Pods(metav1.NamespaceDefault)
	watcher, err := pods.Watch(t.Context(), metav1.ListOptions{FieldSelector: "metadata.name=" + pod.Name})
	g.Expect(err).NotTo(HaveOccurred())
	_, err = pods.Create(t.Context(), pod, metav1.CreateOptions{})
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(func() {
		watcher.Stop()
		ctx := context.WithoutCancel(t.Context())
		g.Expect(pods.Delete(ctx, pod.Name, metav1.DeleteOptions{})).To(Succeed())
		g.Eventually(podsOf(ctx, clients, pod.Name)).WithTimeout(patience).Should(BeEmpty())
	})
	return &story{events: watcher.ResultChan()}
}

// next waits for a change of the pod's status and returns it. It returns "" after the timeout.
func (s *story) next(ctx context.Context, timeout time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return ""
		case event := <-s.events:
			pod, ok := event.Object.(*corev1.Pod)
			if !ok {
				return fmt.Sprintf("the watch ended: %+v", event)
			}
			if said := says(pod); len(pod.Status.ContainerStatuses) > 0 && said != s.last {
				s.last = said
				return said
			}
		}
	}
}

// says describes a pod's status, independently of the pod's name.
func says(pod *corev1.Pod) string {
	words := []string{string(pod.Status.Phase)}
	if !readySince(*pod).IsZero() {
		words = append(words, "ready")
	}
	for _, status := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
		words = append(words, status.Name+" "+containerSays(status))
	}
	return strings.ReplaceAll(strings.Join(words, "; "), string(pod.UID), "UID")
}

func containerSays(status corev1.ContainerStatus) string {
	said := "runs"
	if terminated := status.State.Terminated; terminated != nil {
		said = terminated.Reason
	}
	if waiting := status.State.Waiting; waiting != nil {
		said = fmt.Sprintf("waits: %s (%s)", waiting.Reason, waiting.Message)
	}
	if last := status.LastTerminationState.Terminated; last != nil {
		said += fmt.Sprintf(" after %s %d, restarts: %d", last.Reason, last.ExitCode, status.RestartCount)
	}
	return said
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

func twoContainers(name string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: "setup", Image: "busybox"}},
			Containers:     []corev1.Container{{Name: "sleep", Image: "busybox"}},
		},
	}
}
