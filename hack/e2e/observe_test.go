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
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/traas-stack/altershield-operator/hack/permissions/audit"
	"github.com/traas-stack/altershield-operator/hack/permissions/grant"
)

const metricsService = "altershieldoperator-controller-manager-metrics-service"

func guardsItsMetrics(ctx context.Context) {
	var service corev1.Service
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: system, Name: metricsService}, &service)).To(Succeed())
	address := net.JoinHostPort(service.Spec.ClusterIP, "8443")

	status, _ := scrape(ctx, address, "")
	Expect(status).To(Equal(http.StatusUnauthorized))

	kubectl(ctx, "create", "serviceaccount", "scraper", "-n", system)
	token := scraperToken(ctx)
	status, _ = scrape(ctx, address, token)
	Expect(status).To(Equal(http.StatusForbidden))

	kubectl(ctx, "create", "clusterrolebinding", "scraper", "--clusterrole=altershieldoperator-metrics-reader", "--serviceaccount="+system+":scraper")
	Eventually(ctx, func(ctx context.Context) int {
		status, _ := scrape(ctx, address, token)
		return status
	}).Should(Equal(http.StatusOK))
	Expect(buildVersions(ctx, token)).To(HaveEach("previous"))
}

// scraperToken returns a token of the account that reads metrics.
func scraperToken(ctx context.Context) string {
	GinkgoHelper()
	clientset, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	request, err := clientset.CoreV1().ServiceAccounts(system).CreateToken(ctx, "scraper", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	Expect(err).NotTo(HaveOccurred())
	return request.Status.Token
}

// scrape reads metrics over TLS, verified with the operator's own authority.
func scrape(ctx context.Context, address, token string) (status int, body string) {
	GinkgoHelper()
	var secret corev1.Secret
	Expect(kube.Get(ctx, client.ObjectKey{Namespace: system, Name: secretName}, &secret)).To(Succeed())
	scraper, err := rest.HTTPClientFor(&rest.Config{BearerToken: token, Timeout: 10 * time.Second, TLSClientConfig: rest.TLSClientConfig{
		CAData: secret.Data["ca.crt"], ServerName: metricsService + "." + system + ".svc",
	}})
	Expect(err).NotTo(HaveOccurred())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
	Expect(err).NotTo(HaveOccurred())
	request.Close = true
	response, err := scraper.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(content)
}

// buildVersions returns the versions that the replicas report.
func buildVersions(ctx context.Context, token string) []string {
	GinkgoHelper()
	version := regexp.MustCompile(`altershield_build_info\{[^}]*version="([^"]+)"`)
	var found []string
	for _, pod := range operatorPods(ctx) {
		var body string
		Eventually(ctx, func(ctx context.Context) (status int) {
			status, body = scrape(ctx, net.JoinHostPort(pod.Status.PodIP, "8089"), token)
			return status
		}).Should(Equal(http.StatusOK)) // a replica caches a rejection for half a minute
		match := version.FindStringSubmatch(body)
		Expect(match).To(HaveLen(2), "altershield_build_info of pod %s", pod.Name)
		found = append(found, match[1])
	}
	return found
}

// restFor is how long the idle operator is watched.
const restFor = time.Minute

// rests prints the resource usage of idle replicas, as measured by the kubelet.
func rests(ctx context.Context) {
	bothReady(ctx)
	usage := func() map[string]resources {
		found := map[string]resources{}
		for _, pod := range operatorPods(ctx) {
			found[pod.Name] = used(ctx, &pod)
		}
		return found
	}
	var before map[string]resources
	Eventually(func() map[string]resources {
		before = usage()
		return before
	}).Should(And(HaveLen(2), HaveEach(Satisfy(func(seen resources) bool { return !seen.at.IsZero() }))), "kubelet should have seen both")
	Eventually(usage).WithTimeout(3 * restFor).Should(HaveEach(Satisfy(func(now resources) bool {
		return now.at.Sub(before[now.pod].at) >= restFor
	})))
	held := leader(ctx)
	for name, now := range usage() {
		role := "standby"
		if name == held {
			role = "leader"
		}
		elapsed := now.at.Sub(before[name].at)
		share := (now.cpu - before[name].cpu) / elapsed.Seconds()
		figure("at rest for %s the %s uses %.1f millicores and %.1f MiB", elapsed.Round(time.Second), role, share*1000, now.memory/(1<<20))
		// The Deployment's requests are its guaranteed resources.
		Expect(now.memory).To(BeNumerically("<", 128<<20))
	}
	fmt.Print(kubectl(ctx, "get", "pods", "-n", system))
}

// resources is the resource usage of a container.
type resources struct {
	pod string
	// cpu is in seconds since its start, memory in bytes now.
	cpu, memory float64
	at          time.Time
}

func used(ctx context.Context, pod *corev1.Pod) resources {
	GinkgoHelper()
	clientset, err := kubernetes.NewForConfig(config)
	Expect(err).NotTo(HaveOccurred())
	raw, err := clientset.CoreV1().RESTClient().Get().
		Resource("nodes").Name(pod.Spec.NodeName).SubResource("proxy").Suffix("metrics/resource").DoRaw(ctx)
	Expect(err).NotTo(HaveOccurred())
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(raw))
	Expect(err).NotTo(HaveOccurred())
	of := func(family string) *dto.Metric {
		metrics := families[family].GetMetric()
		at := slices.IndexFunc(metrics, func(metric *dto.Metric) bool {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			return labels["pod"] == pod.Name && labels["container"] == "manager"
		})
		if at < 0 {
			return nil
		}
		return metrics[at]
	}
	result := resources{pod: pod.Name, memory: of("container_memory_working_set_bytes").GetGauge().GetValue()}
	if cpu := of("container_cpu_usage_seconds_total"); cpu != nil { // with the time at which the kubelet read it
		result.cpu, result.at = cpu.GetCounter().GetValue(), time.UnixMilli(cpu.GetTimestampMs())
	}
	return result
}

func hasTheRightPermissions(ctx context.Context) {
	log, err := os.Open(filepath.Join(os.Getenv("NODE_STATE"), "audit.log"))
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	asked, err := audit.Read(log, operator)
	Expect(err).NotTo(HaveOccurred())
	Expect(audit.Forbidden(asked)).To(BeEmpty())

	objects, err := grant.List(ctx, kube)
	Expect(err).NotTo(HaveOccurred())
	granted := objects.Of(types.NamespacedName{Namespace: system, Name: deployment})
	exceptions := append(audit.Exceptions(), audit.StreamedLists()...)
	exceptions = append(exceptions, audit.Exception{
		Permission: grant.Permission{Group: "app.ops.cloud.alipay.com", Resource: "changeworkloads", Verb: "get"},
		Reason:     "A verdict that overtakes the id of its check makes the operator ask for it, which is chance here.",
	}, audit.Exception{
		Permission: grant.Permission{Resource: "events", Verb: "list"},
		Reason:     "It is used when pods of a stuck release aren't scheduled: here all are.",
	})
	Expect(audit.Unused(granted, asked, exceptions)).To(BeEmpty())
	figure("%d requests of the operator, none forbidden; each of %d permissions used or excepted with a reason", len(asked), len(granted))
}
