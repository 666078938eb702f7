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
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/e2e/supplies"
	"github.com/traas-stack/altershield-operator/hack/local/gomodule"
	"github.com/traas-stack/altershield-operator/hack/node/registry"
	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
)

const (
	// fewest and most are the numbers of pods between which a workload is scaled. Its load is for more than the most.
	fewest, most = 3, 6
	autoscaler   = "system:serviceaccount:kube-system:horizontal-pod-autoscaler"
	// looks is in how long an autoscaler looks at its workload twice.
	looks = 30 * time.Second
)

// autoscales has a HorizontalPodAutoscaler scale each of some workloads up and down by their CPU: between releases, while a failed release is
// held, and while a release waits at its first step. Then these go on under load.
func autoscales(ctx context.Context) {
	deploy(ctx, current)
	kubectl(ctx, "apply", "-k", "config/gates")
	servesMetrics(ctx)
	pushShop(ctx)
	free, failing, waiting := controlledNamespace(ctx, "free"), controlledNamespace(ctx, "failing"), controlledNamespace(ctx, "waiting")
	namespaces := []string{free, failing, waiting}
	inSteps(ctx, waiting, appv1alpha1.ReleaseStep{Percent: 50, Approvals: 1})
	failed, paced := busySets(failing), busySets(waiting)
	all := slices.Concat(busySets(free), failed, paced)
	create(ctx, all)
	old := versionsOf(ctx, paced)
	var addresses []string
	for _, s := range all {
		addresses = append(addresses, serve(ctx, s.GetNamespace(), s.noun+"-web"))
	}
	seen := watchReleases(ctx, waiting)
	fail(ctx, failed)
	stepOne(ctx, paced)
	for _, s := range failed {
		Eventually(ctx, outcome(failing, s.record(ctx))).Should(Equal("Suspend, PodsFailed"), s.String())
		Eventually(ctx, s.strategy).Should(Equal(s.held), s.String())
	}
	released := releasesIn(ctx, namespaces)
	for _, s := range all {
		Expect(kube.Create(ctx, scalesByCPU(s))).To(Succeed())
	}

	By("scaling up under load, and down after it")
	calm := load(ctx, addresses)
	scalesTo(ctx, all, most)
	endsItsWrites(ctx, namespaces)
	Expect(releasesIn(ctx, namespaces)).To(Equal(released), "to scale is no release")
	calm()
	scalesTo(ctx, all, fewest)
	endsItsWrites(ctx, namespaces)
	Expect(releasesIn(ctx, namespaces)).To(Equal(released), "to scale is no release")

	By("going on with releases under load")
	load(ctx, addresses)
	must(ctx, "bash", "-ec", inNamespace(documented("docs/pace.md", "Approvals"), waiting))
	for _, s := range paced {
		_, err := s.approve(ctx, "--as", "bob", "--as-group", "release-managers")
		Expect(err).NotTo(HaveOccurred(), s.String())
	}
	for _, s := range failed {
		Expect(s.patch(ctx, template("mended", `"altershield.defense.antgroup.com/ignored-suspend":"true"`))).To(Succeed())
	}
	scalesTo(ctx, all, most)
	for _, s := range all {
		succeeds(ctx, s.GetNamespace(), s.record(ctx))
		Eventually(ctx, s.strategy).Should(Equal(s.rolling), s.String())
		settles(ctx, s)
	}
	endsItsWrites(ctx, namespaces)
	excess, _ := seen.Excess(old...)
	Expect(excess).To(BeEmpty())
	fmt.Print(kubectl(ctx, "get", "horizontalpodautoscalers,changeworkloads", "-A"))
}

// servesMetrics installs metrics-server as its users do, and waits until it serves. It can't check the certificates of these kubelets.
func servesMetrics(ctx context.Context) {
	GinkgoHelper()
	program := filepath.Join(GinkgoT().TempDir(), "metrics-server")
	source, err := gomodule.Build(ctx, supplies.MetricsServer, supplies.Server, program)
	Expect(err).NotTo(HaveOccurred())
	// The name of the image in manifests/base of the module.
	push(ctx, registry.Image{Program: program, Paths: []string{"metrics-server"}, References: []string{"k8s-staging-metrics-server/metrics-server:master"}})
	kubectl(ctx, "apply", "-k", filepath.Join(source, "manifests", "base"))
	kubectl(ctx, "patch", "deployment", "metrics-server", "-n", "kube-system", "--type=json",
		"-p", `[{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--kubelet-insecure-tls"}]`)
	kubectl(ctx, "rollout", "status", "-n", "kube-system", "deployment", "metrics-server", "--timeout=3m")
	kubectl(ctx, "wait", "--for=condition=Available", "apiservice/v1beta1.metrics.k8s.io", "--timeout=1m")
}

// busySets returns a Deployment and a StatefulSet of so few pods that work for each visit.
func busySets(namespace string) []set {
	object := slowly(namespace, "deployment-web")
	object.Name, object.Labels = "web", nil
	const rolling = `{"rollingUpdate":{"maxSurge":1,"maxUnavailable":0},"type":"RollingUpdate"}`
	sets := []set{{object, "deployment", rolling, rolling + "true"}, statefulSet(namespace, "web", appsv1.ParallelPodManagement)}
	for _, template := range []*corev1.PodTemplateSpec{&object.Spec.Template, &sets[1].Object.(*appsv1.StatefulSet).Spec.Template} {
		container := &template.Spec.Containers[0]
		container.Image, container.Command = "shop", []string{"/shop", "--work=5ms"}
		container.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}
		container.ReadinessProbe = &corev1.Probe{
			ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: "/ready", Port: intstr.FromInt32(80)}},
			PeriodSeconds: 5, TimeoutSeconds: 5,
		}
	}
	return sets
}

// scalesByCPU returns an autoscaler that scales a set down without waiting for five minutes.
func scalesByCPU(s set) *autoscalingv2.HorizontalPodAutoscaler {
	return &autoscalingv2.HorizontalPodAutoscaler{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.GetNamespace(), Name: s.noun},
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: kindOf[s.noun], Name: s.GetName()},
			MinReplicas:    ptr.To[int32](fewest), MaxReplicas: most,
			Metrics: []autoscalingv2.MetricSpec{{Type: autoscalingv2.ResourceMetricSourceType, Resource: &autoscalingv2.ResourceMetricSource{
				Name: corev1.ResourceCPU, Target: autoscalingv2.MetricTarget{Type: autoscalingv2.UtilizationMetricType, AverageUtilization: ptr.To[int32](40)},
			}}},
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{ScaleDown: &autoscalingv2.HPAScalingRules{StabilizationWindowSeconds: ptr.To[int32](0)}},
		},
	}
}

// load visits each of these addresses twenty times a second.
func load(ctx context.Context, addresses []string) (stop func()) {
	var stops []func()
	for _, address := range addresses {
		stops = append(stops, visits(ctx, address, 50*time.Millisecond))
	}
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// scalesTo waits until each set has so many pods, as its autoscaler wants it. A Deployment in the middle of a rollout may have one more.
func scalesTo(ctx context.Context, sets []set, replicas int) {
	GinkgoHelper()
	began := time.Now()
	for _, s := range sets {
		Eventually(ctx, func(g Gomega, ctx context.Context) {
			g.Expect(kube.Get(ctx, client.ObjectKeyFromObject(s), s.Object)).To(Succeed())
			versions, _ := s.pods(ctx)
			g.Expect(s.size()).To(Equal(replicas))
			g.Expect(len(versions)).To(BeElementOf(replicas, replicas+1))
		}).WithTimeout(patient).Should(Succeed(), "%s/%s", s.GetNamespace(), s)
	}
	figure("%d workloads were scaled to %d pods within %s", len(sets), replicas, time.Since(began).Round(time.Second))
	for _, s := range sets {
		used := kubectl(ctx, "top", "pods", "-n", s.GetNamespace(), "-l", "app="+s.noun+"-web")
		Expect(used).To(MatchRegexp(`(?m)^web-\S+ +\d+m +\d+Mi`), "by metrics-server")
		fmt.Print(used)
		fmt.Print(kubectl(ctx, "get", "pods", "-n", s.GetNamespace(), "-l", "app="+s.noun+"-web", "-L", versionLabel))
	}
}

// releasesIn returns the records and the workloads of some namespaces, with their labels, of which one is the version.
func releasesIn(ctx context.Context, namespaces []string) string {
	GinkgoHelper()
	var all string
	for _, namespace := range namespaces {
		all += kubectl(ctx, "get", "changeworkloads,deployments,statefulsets", "-n", namespace, "-o", `jsonpath={range .items[*]}{.kind}/{.metadata.name} {.metadata.labels}{"\n"}{end}`)
	}
	return all
}

// endsItsWrites checks that neither the operator nor an autoscaler writes anything more, apart from the figures in the status of the autoscaler.
func endsItsWrites(ctx context.Context, namespaces []string) {
	GinkgoHelper()
	Eventually(ctx, func() ([]string, error) { return writesSince(time.Now().Add(-looks), namespaces) }).WithTimeout(patient).WithPolling(5 * time.Second).Should(BeEmpty())
}

// writesSince describes what the operator and the autoscalers wrote into some namespaces since a time. It fails while a line is being logged.
func writesSince(since time.Time, namespaces []string) (writes []string, err error) {
	log, err := os.ReadFile(filepath.Join(os.Getenv("NODE_STATE"), "audit.log"))
	if err != nil {
		return nil, err
	}
	for _, user := range []string{operator, autoscaler} {
		asked, err := audit.Read(bytes.NewReader(log), user)
		if err != nil {
			return nil, err
		}
		for _, request := range asked {
			object := request.ObjectRef
			if request.RequestReceivedTimestamp.After(since) && slices.Contains([]string{"create", "update", "patch", "delete"}, request.Verb) &&
				object != nil && slices.Contains(namespaces, object.Namespace) && object.Resource != "horizontalpodautoscalers" && object.Resource != "events" {
				writes = append(writes, fmt.Sprintf("%s: %s %s/%s %s/%s", user, request.Verb, object.Resource, object.Subresource, object.Namespace, object.Name))
			}
		}
	}
	return writes, nil
}
