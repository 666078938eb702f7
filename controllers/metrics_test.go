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
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var _ = Describe("Metrics", func() {
	It("are for authorized readers, and count releases", func(ctx context.Context) {
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		_, err := release(ctx, namespace, "test")
		Expect(err).To(HaveOccurred())

		status, _ := scrape(ctx, "")
		Expect(status).To(Equal(http.StatusUnauthorized))

		Expect(kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}})).To(Succeed())
		config, err := plane.ServiceAccountConfig(ctx, namespace, "reader")
		Expect(err).NotTo(HaveOccurred())
		status, _ = scrape(ctx, config.BearerToken)
		Expect(status).To(Equal(http.StatusForbidden))

		_, text := scrape(ctx, metricsToken(ctx))
		Expect(text).To(MatchRegexp(`altershield_releases_total\{status="Success"\} [1-9]`))
		Expect(text).To(MatchRegexp(`altershield_releases_total\{status="Suspend"\} [1-9]`))
		Expect(text).To(MatchRegexp(`altershield_batches_opened_total [1-9]`))
		Expect(text).To(MatchRegexp(`altershield_admission_decisions_total\{decision="denied"\} [1-9]`))
		Expect(text).To(MatchRegexp(`altershield_build_info\{commit="unknown",go_version="go1\.[^"]+",version="dev"\} 1`))
	})
})

// An alert on a metric with a wrong name would never fire.
var _ = Describe("Alerts and the dashboards", Ordered, func() {
	checkedByServer("--leader-elect")

	It("ask for metrics that the operator exposes, such as what is suspended, in progress, frozen and paced now", func(ctx context.Context) {
		patient(ctx)
		namespace := controlledNamespace(ctx)
		suspended(ctx, namespace)
		output, err := patchSleep(ctx, namespace, `{"metadata":{"labels":{"altershield.defense.antgroup.com/ignored-suspend":"true"}},
			"spec":{"template":{"metadata":{"labels":{"local.altershield.io/start":"never"}}}}}`)
		Expect(err).NotTo(HaveOccurred(), output)
		metricsShow(ctx, fmt.Sprintf(`altershield_deployments_suspended{workload_namespace=%q} 1`, namespace))
		metricsShow(ctx, fmt.Sprintf(`altershield_releases_in_progress{workload_namespace=%q} 1`, namespace))
		frozen := controlledNamespace(ctx)
		Expect(bash(ctx, "kubectl apply -f config/samples/freezes/incident-lock.yaml -n "+frozen)).NotTo(BeEmpty())
		Expect(bash(ctx, "kubectl wait --for=condition=Active changefreeze/incident-99 -n "+frozen)).NotTo(BeEmpty())
		Expect(kube.Create(ctx, sleep(frozen))).To(Succeed())
		metricsShow(ctx, fmt.Sprintf(`altershield_releases_frozen{reason="ChangeFreeze",workload_namespace=%q} 1`, frozen))
		paced := pacedNamespace(ctx, threeSteps, "")
		web := deployment(paced, 2)
		web.create(ctx)
		web.verified(ctx)
		web.released(ctx, "second")
		metricsShow(ctx, fmt.Sprintf(`altershield_releases_paced{reason="AwaitingApproval",workload_namespace=%q} 1`, paced))
		newDingTalk().subscribe(ctx, frozen)
		metricsShow(ctx, `altershield_notifications_pending{subscription="shop"} 0`)
		sourceOf(ctx, "http://127.0.0.1:9")
		metricsShow(ctx, `altershield_source_requests_total{code="OK",source="prometheus"} 0`)
		asked := operatorMetrics("rules.yaml", "dashboard.json", "dashboard-releases.json", "dashboard-dora.json")
		Expect(len(asked)).To(BeNumerically(">", 30))
		_, text := scrape(ctx, metricsToken(ctx))
		var exposed []string
		for _, line := range regexp.MustCompile(`(?m)^([a-z_]+)[{ ]`).FindAllStringSubmatch(text, -1) {
			exposed = append(exposed, line[1])
		}
		Expect(exposed).To(ContainElements(asked))
	})
})

// operatorMetrics returns the metrics of the operator in files of config/prometheus. make check-alerts checks the others.
func operatorMetrics(files ...string) []string {
	GinkgoHelper()
	var names []string
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join("..", "config", "prometheus", file))
		Expect(err).NotTo(HaveOccurred())
		names = append(names, regexp.MustCompile(`\b(?:altershield|controller_runtime|workqueue|rest_client|leader_election|process)_[a-z_]+`).
			FindAllString(string(text), -1)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// scrape reads the manager's metrics with a bearer token.
func scrape(ctx context.Context, token string) (status int, text string) {
	GinkgoHelper()
	reader := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: authority()}}}
	defer reader.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+manager.MetricsAddress()+"/metrics", nil)
	Expect(err).NotTo(HaveOccurred())
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := reader.Do(request)
	Expect(err).NotTo(HaveOccurred())
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	Expect(err).NotTo(HaveOccurred())
	return response.StatusCode, string(body)
}

// metricsToken returns the bearer token of an account that may read the metrics.
func metricsToken(ctx context.Context) string {
	GinkgoHelper()
	namespace := newNamespace(ctx, nil)
	Expect(kube.Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "reader"}})).To(Succeed())
	output, err := kubectl(ctx, "create", "clusterrolebinding", namespace, "--clusterrole=altershieldoperator-metrics-reader",
		"--serviceaccount="+namespace+":reader")
	Expect(err).NotTo(HaveOccurred(), output)
	DeferCleanup(func(ctx context.Context) {
		output, err := kubectl(ctx, "delete", "clusterrolebinding", namespace)
		Expect(err).NotTo(HaveOccurred(), output)
	})
	config, err := plane.ServiceAccountConfig(ctx, namespace, "reader")
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() int { // the authorizer learns of the binding a moment later
		status, _ := scrape(ctx, config.BearerToken)
		return status
	}).Should(Equal(http.StatusOK))
	return config.BearerToken
}

// metricsShow waits until the metrics contain a line.
func metricsShow(ctx context.Context, line string) {
	GinkgoHelper()
	token := metricsToken(ctx)
	Eventually(func() string {
		_, shown := scrape(ctx, token)
		return shown
	}).Should(ContainSubstring("\n" + line + "\n"))
}

// authority returns the CA of the manager's certificate.
func authority() *x509.CertPool {
	GinkgoHelper()
	certificate, err := os.ReadFile(filepath.Join(settings.Dir, "serving-certs", "ca.crt"))
	Expect(err).NotTo(HaveOccurred())
	pool := x509.NewCertPool()
	Expect(pool.AppendCertsFromPEM(certificate)).To(BeTrue())
	return pool
}
