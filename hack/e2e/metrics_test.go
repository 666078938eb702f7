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
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1alpha1 "github.com/traas-stack/altershield-operator/apis/app/v1alpha1"
	"github.com/traas-stack/altershield-operator/hack/local/cluster"
	"github.com/traas-stack/altershield-operator/hack/node/registry"
	"github.com/traas-stack/altershield-operator/hack/prometheus"
)

// comparesMetrics suspends a release in steps whose first pod answers more requests with errors than the old pods, by what a real Prometheus
// reads from them.
func comparesMetrics(ctx context.Context) {
	kubectl(ctx, "apply", "-k", "config/gates")
	pushShop(ctx)
	namespace := controlledNamespace(ctx, "metrics")
	inSteps(ctx, namespace, appv1alpha1.ReleaseStep{Percent: 50})
	object := slowly(namespace, "shop")
	container := &object.Spec.Template.Spec.Containers[0]
	container.Image, container.Command = "shop", []string{"/shop", "--every=100"}
	verifies(ctx, object)
	visits(ctx, serve(ctx, namespace, "shop"), 10*time.Millisecond)

	By("asking a source at an address that is refused, and Prometheus")
	address := scrapes(ctx, "1s", client.InNamespace(namespace))
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", "vsrc", "prometheus", "-n", system, "--ignore-not-found")
	})
	subscribes(ctx)
	asks(ctx, "http://127.0.0.1:9090",
		"False AddressRefused the host of spec.url has a loopback address, to which the operator doesn't connect: see --source-allow-cidr")
	asks(ctx, address, "True Ready the source answers")
	fmt.Print(kubectl(ctx, "get", "vsrc", "-n", system))

	By("releasing a pod that fails each fifth request, where the old ones fail each hundredth")
	must(ctx, "bash", "-ec", inNamespace(documented("docs/verification.md", "Metrics"), namespace))
	kubectl(ctx, "patch", "vpol", "errors", "-n", namespace, "--type=merge", "-p", `{"spec":{"warmupSeconds":0,"intervalSeconds":10}}`)
	kubectl(ctx, "wait", "vpol/errors", "-n", namespace, "--for=condition=Ready", "--timeout=1m")
	seen, before, began := watchReleases(ctx, namespace), object.DeepCopy(), time.Now()
	object.Spec.Template.Spec.Containers[0].Command[1] = "--every=5"
	Expect(kube.Patch(ctx, object, client.MergeFrom(before))).To(Succeed())
	bad := recordOf(object)
	Eventually(ctx, outcome(namespace, bad)).WithTimeout(5 * time.Minute).Should(Equal("Suspend, PodsFailed"))
	figure("a release whose pod fails a fifth of its requests was suspended after %s", time.Since(began).Round(time.Second))
	fmt.Print(kubectl(ctx, "get", "cw,cpod,pods", "-n", namespace))
	found := kubectl(ctx, "get", "cw", bad, "-n", namespace, "-o", `jsonpath={.status.checks[?(@.name=="errors")].message}`)
	fmt.Println(found)
	Expect(found).To(MatchRegexp(`^\S+% on 1 new pod \(\d+ events\), \S+% on \d old pods \(x\d+.*, tolerated x1.5\)$`))
	_, most := seen.Excess()
	Expect(most).To(HaveKeyWithValue(object.Labels[versionLabel], 1), "the second step didn't begin")
	_, err := release(ctx, namespace, "shop", "denied")
	Expect(err).To(MatchError(ContainSubstring("deployment shop is suspended")))
}

// pushShop pushes the image of the application whose metrics are read.
func pushShop(ctx context.Context) {
	GinkgoHelper()
	program := filepath.Join(GinkgoT().TempDir(), "shop")
	must(ctx, "env", "CGO_ENABLED=0", "go", "build", "-o", program, "./hack/e2e/shop")
	push(ctx, registry.Image{Program: program, Paths: []string{"shop"}, References: []string{"library/shop:latest"}})
}

// asks has the VerificationSource prometheus lead to an address, and waits until its condition is as expected.
func asks(ctx context.Context, address, expected string) {
	GinkgoHelper()
	must(ctx, "bash", "-ec", strings.ReplaceAll(documented("docs/sources.md", "A first source"), "http://prometheus.monitoring:9090", address))
	hasCondition(ctx, "vsrc/prometheus", expected)
}

// hasCondition waits until the first condition of an object in the operator's namespace is as expected.
func hasCondition(ctx context.Context, object, expected string) {
	GinkgoHelper()
	Eventually(ctx, func(ctx context.Context) (string, error) {
		return run(ctx, "kubectl", "get", object, "-n", system, "-o", "jsonpath={.status.conditions[0]['status','reason','message']}")
	}).Should(Equal(expected))
}

// subscribes creates a ChangeSubscription that sends nothing, as no chat is there, and waits until its status shows that.
func subscribes(ctx context.Context) {
	GinkgoHelper()
	commands := documented("docs/notifications.md", "A first subscription")
	must(ctx, "bash", "-ec", strings.ReplaceAll(commands, "  environment: production\n", "  environment: production\n  suspend: true\n"))
	DeferCleanup(func(ctx context.Context) {
		kubectl(ctx, "delete", "csub/shop", "secret/dingtalk", "-n", system, "--ignore-not-found")
	})
	hasCondition(ctx, "csub/shop", "False Suspended spec.suspend is set")
}

// scrapes returns the address of a real Prometheus that reads some pods once in each interval. Debian's doesn't discover them at the API server.
func scrapes(ctx context.Context, interval string, some ...client.ListOption) string {
	GinkgoHelper()
	discovery := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		var pods corev1.PodList
		if err := kube.List(request.Context(), &pods, some...); err != nil {
			http.Error(writer, err.Error(), http.StatusInternalServerError)
			return
		}
		type group struct {
			Targets []string          `json:"targets"`
			Labels  map[string]string `json:"labels"`
		}
		groups := []group{}
		for _, pod := range pods.Items {
			if pod.Status.PodIP != "" {
				groups = append(groups, group{[]string{net.JoinHostPort(pod.Status.PodIP, "80")}, map[string]string{"namespace": pod.Namespace, "pod": pod.Name}})
			}
		}
		writer.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(writer).Encode(groups)
	}))
	DeferCleanup(discovery.Close)
	programs, err := prometheus.Ensure(ctx, GinkgoWriter)
	Expect(err).NotTo(HaveOccurred())
	port, err := cluster.FreePort()
	Expect(err).NotTo(HaveOccurred())
	programs.Listen = net.JoinHostPort(os.Getenv("NODE_ADDRESS"), strconv.Itoa(port))
	address, stop, err := programs.StartConfigured(ctx, GinkgoT().TempDir(), fmt.Sprintf(`{scrape_configs: [{
		job_name: pods, scrape_interval: %[1]s, scrape_timeout: %[1]s, http_sd_configs: [{url: %[2]q, refresh_interval: %[1]s}]}]}`, interval, discovery.URL))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
	return address
}

// serve creates a Service for the pods of an app, and returns its address once they answer.
func serve(ctx context.Context, namespace, app string) (address string) {
	GinkgoHelper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: app}}
	service.Spec.Selector, service.Spec.Ports = map[string]string{"app": app}, []corev1.ServicePort{{Port: 80}}
	Expect(kube.Create(ctx, service)).To(Succeed())
	address = "http://" + net.JoinHostPort(service.Spec.ClusterIP, "80") + "/"
	Eventually(ctx, func() (string, error) { return visitOnce(ctx, address) }).Should(Equal("200 OK"))
	return address
}

// visits sends a request to an address once in each interval, until it is stopped or the spec ends.
func visits(ctx context.Context, address string, interval time.Duration) (stop func()) {
	visiting, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var done sync.WaitGroup
	done.Go(func() {
		wait.NonSlidingUntilWithContext(visiting, func(ctx context.Context) {
			_, _ = visitOnce(ctx, address) // failures are counted by the pods
		}, interval)
	})
	stop = func() {
		cancel()
		done.Wait()
	}
	DeferCleanup(stop)
	return stop
}

// visitOnce returns the status of an answer. Each visit has a connection of its own, which kube-proxy leads to one of the pods.
func visitOnce(ctx context.Context, address string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Close = true
	response, err := (&http.Client{Timeout: 5 * time.Second}).Do(request)
	if err != nil {
		return "", err
	}
	return response.Status, response.Body.Close()
}
